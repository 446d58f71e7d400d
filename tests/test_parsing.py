"""From a model's reply to a program, an action or tool calls: every public `parse` case, and more of its kind."""
import pytest

from agent import BadToolCall, parse_action, parse_tool_calls
from designer import NoProgram, extract_code


def test_fence_spellings(cases):                                    # parse-01
    given = cases["parse-01-fence-names"]["input"]
    assert extract_code(given["model_output"]) == "class AEnv:\n    pass\n"
    for reply in given["variants"]:
        assert extract_code(reply) == "X\n", reply


def test_fence_inside_a_string(cases):                              # parse-03
    code = extract_code(cases["parse-03-fence-inside-string"]["input"]["model_output"])
    assert code.startswith("class AEnv") and code.rstrip().endswith("False, {}") and "\nup\n" in code


def test_draft_in_thinking(cases):                                  # parse-04
    reply = cases["parse-04-draft-in-think"]["input"]["model_output"]
    assert extract_code(reply) == "class FinalEnv: pass\n" and parse_action(reply) == "9"
    assert parse_action("thinking opened in the prompt \\boxed{1}</think> \\boxed{2}") == "2"
    assert parse_action("<think>never closed \\boxed{1}") is None
    with pytest.raises(NoProgram, match="thinking"):
        extract_code("<think>```python\nclass DraftEnv: pass\n```")


def test_missing_fence_end(cases):                                  # parse-06
    reply = cases["parse-06-missing-fence-end"]["input"]["model_output"]
    with pytest.raises(NoProgram, match="cut off"):
        extract_code(reply)
    assert extract_code("```python\nclass AEnv:\n    pass\n") == "class AEnv:\n    pass\n"      # it parses: recovered


def test_prose_is_not_a_program():
    for reply in ("I cannot do that.", "", "x = 1", "```\n```"):
        with pytest.raises(NoProgram):
            extract_code(reply)
    assert extract_code("class BareEnv:\n    x = 1\n") == "class BareEnv:\n    x = 1\n"


def test_environment_before_other_blocks():
    reply = "```python\nclass AEnv:\n    x = 1\n```\nUse it:\n```python\n" + "print('a long example of use')\n" * 9 + "```"
    assert extract_code(reply) == "class AEnv:\n    x = 1\n"
    assert "return (" in extract_code("```python\nclass BadEnv:\n    return (\n```")    # left for the sandbox to name


def test_boxed(cases):                                              # parse-07
    given = cases["parse-07-boxed-nested"]["input"]
    want = ["{a}, {b}", "x \\text{ if } y", "42", None, None, None, "\\}"]
    assert parse_action(given["model_output"]) == "\\frac{1}{2}"
    assert [parse_action(v) for v in given["variants"]] == want
    assert parse_action("\\boxed{1} then \\boxed{2} then \\boxed{3") == "2"


def test_broken_tool_calls_are_never_run(cases):                    # parse-09
    given = cases["parse-09-tool-json-broken"]["input"]
    for reply in [given["model_output"], *given["variants"]]:
        with pytest.raises(BadToolCall):
            parse_tool_calls(reply)
    assert parse_tool_calls("No call here, {just} text.") == []


def test_tool_arguments_of_the_wrong_shape(cases):                  # parse-10
    given = cases["parse-10-tool-args-not-object"]["input"]
    name_is_number, quoted, null, dunder = given["variants"]
    for reply in (given["model_output"], name_is_number, null, dunder):
        with pytest.raises(BadToolCall):
            parse_tool_calls(reply)
    assert parse_tool_calls(quoted) == [("move", {"dir": "up"})]


def test_no_argument_is_ever_lost():
    with pytest.raises(BadToolCall, match="twice"):
        parse_tool_calls('<tool_call>{"name": "move", "arguments": {"x": 1, "x": 2}}</tool_call>')
    with pytest.raises(BadToolCall, match="unknown keys"):
        parse_tool_calls('<tool_call>{"name": "move", "arguments": {}, "force": true}</tool_call>')
    two = '<tool_call>{"name": "a", "arguments": {}}</tool_call>\n<tool_call>{"name": "b", "arguments": {"k": [1]}}</tool_call>'
    assert parse_tool_calls(two) == [("a", {}), ("b", {"k": [1]})]
