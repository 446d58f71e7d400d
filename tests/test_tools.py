"""Tool tasks: the base class inside the child, calls as models write them, programs in the published style, our own four, and
the pocket model's."""
import json, os, random, re, subprocess, sys

import pytest
from conftest import ROOT, drive

import designer
from agent import PROGRAM_HINT, BadToolCall, episode, parse_tool_calls, read_tools
from envs_examples import pocket, pocket_tools
from sandbox import EnvError

PUBLISHED = sorted((ROOT / "tests/published").glob("*.py"))
OURS = sorted((ROOT / "envs_examples/tools").glob("*.py"))
SCHEMAS = {"book": {"type": "object", "required": ["city", "nights"], "properties": {
    "city": {"type": "string"}, "nights": {"type": "integer"}, "breakfast": {"type": "boolean"}, "guests": {"type": "array"}}}}


def xml(**arguments):
    parts = "".join(f"<parameter={k}>\n{v}\n</parameter>\n" for k, v in arguments.items())
    return f"<tool_call>\n<function=book>\n{parts}</function>\n</tool_call>"


def test_xml_calls_have_the_types_of_the_schema():
    reply = xml(city="12\n34", nights="3", breakfast="true", guests='["a", "b"]')
    assert parse_tool_calls(reply, SCHEMAS) == [("book", {"city": "12\n34", "nights": 3, "breakfast": True, "guests": ["a", "b"]})]
    both = reply + '\n<tool_call>{"name": "book", "arguments": {"city": "x", "nights": 1}}</tool_call>'
    assert [c.arguments["nights"] for c in parse_tool_calls(both, SCHEMAS)] == [3, 1]


def test_only_types_that_json_spells_are_read_as_json():
    schema = {"f": {"type": "object", "properties": {"a": {"type": ["string", "null"]}, "b": {"type": "str"}, "c": {}}}}
    reply = "<tool_call><function=f>" + "".join(f"<parameter={k}>7</parameter>" for k in "abc") + "</function></tool_call>"
    assert parse_tool_calls(reply, schema) == [("f", {"a": "7", "b": "7", "c": "7"})]


@pytest.mark.parametrize("function", [
    dict(name="f", parameters=dict(properties=[])), dict(name="f", parameters=dict(properties=dict(a=[]))),
    dict(name="f", parameters=dict(properties=[["a", {}]])), dict(name=1, parameters={}), dict(name="f", parameters=[]),
    dict(name="f", parameters=dict(required=[1])), dict(name="f", parameters=dict(required=3))])
def test_malformed_schemas_are_the_programs_fault(function):
    with pytest.raises(EnvError, match="the list of tools is malformed"):
        read_tools(json.dumps([dict(type="function", function=function)]))


@pytest.mark.parametrize("reply, reason", [
    (xml(city="Bonn"), "book needs the argument 'nights'"),
    (xml(city="Bonn", nights="three"), "nights of book must be of type integer"),
    (xml(city="Bonn", nights="3", pool="yes"), "book has no argument 'pool'; it takes city, nights, breakfast, guests"),
    (xml(city="Bonn", nights="3").replace("<parameter=nights>", "nights:"), "only <parameter"),
    (xml(city="Bonn", nights="3").replace("nights>", "city>"), "twice"),
    (xml(city="Bonn", nights="3").replace("=book", "=fly"), "there is no tool 'fly'; the tools are book"),
    ('<tool_call>{"name": "book", "arguments": {"city": "Bonn"}}</tool_call>', "needs the argument 'nights'"),
    ('<tool_call>{"name": "book", "arguments": {"city": "Bonn", "nights": 2, "x": 1}}</tool_call>', "has no argument 'x'")])
def test_calls_that_must_not_run(reply, reason):
    with pytest.raises(BadToolCall, match=re.escape(reason)):
        parse_tool_calls(reply, SCHEMAS)


def lines(file, word):
    return [line.partition(": ")[2].replace("\\n", "\n") for line in file.read_text().splitlines() if line.startswith(f"# {word}:")]


@pytest.mark.parametrize("file", PUBLISHED, ids=lambda f: f.stem)
@pytest.mark.parametrize("seed", [0, 1])
def test_published_programs_play_unchanged(tiny, sandbox, file, seed):
    """Admitted as they are; their own calls, through the agent's parsing and the child, complete the task."""
    tiny.max_context = 40_000
    code = file.read_text()
    verdict = sandbox.check(code)
    assert verdict.ok, verdict.failures
    done = drive(episode(tiny, sandbox, code, seed, None, 1.0, 4000), sandbox, lines(file, "WIN"), tiny)
    assert done.error is None and done.value == 1.0, done.messages
    said = "\n".join(done.messages[::2])
    assert [text in said for text in lines(file, "SAYS")] == [True] * len(lines(file, "SAYS"))


def test_there_are_ten_published_programs_as_long_as_such_programs_are():
    assert len(PUBLISHED) == 10 and all(10_000 < len(file.read_text()) < 40_000 for file in PUBLISHED)
    assert sum("_user_messages = [" in file.read_text() for file in PUBLISHED) == 5


@pytest.mark.parametrize("file", OURS, ids=lambda f: f.stem)
def test_our_tool_tasks(sandbox, file):
    code = file.read_text()
    verdict = sandbox.check(code, seeds=(3, 4))
    assert verdict.ok and verdict.witness and verdict.has_hint, verdict.failures
    hints, tasks = set(), set()
    with sandbox.make(code) as env:
        for seed in range(6):
            tasks.add(env.reset(seed=seed)[0])
            hints.add(env.hint())
            assert env.step("<answer>done</answer>")[2] is False            # nothing is won by claiming it
    assert len(hints) == 1 and len(tasks) > 1                               # the hint is a procedure: no value of a seed


TWO = '''
class CountEnv(ToolUseBaseEnv):
    def reset(self, seed=None):
        self.turn_count = 0
        self._state = {"n": 0}
        self._tools = {"add": {"description": "add", "parameters": {"type": "object", "properties": {"k": {"type": "integer"}}, "required": ["k"]}}}
        self._user_messages, self._current_msg = ["Add until 2.", "Add until 5."], 0
        self._message_criteria = [lambda s: s["n"] >= 2, lambda s: s["n"] >= 5]
        self._expected_answer = "done"
        return self._user_messages[0], {}
    def tool_add(self, k):
        self._state["n"] += k
        return str(self._state["n"])
    def solution(self):
        return "add"
'''


def test_the_base_class(sandbox):
    def call(k):
        return f'<tool_call>{{"name": "add", "arguments": {{"k": {k}}}}}</tool_call>'
    with sandbox.make(TWO) as env:
        assert env.reset(seed=0)[0] == "Add until 2."
        said, reward, terminated, truncated, _ = env.step(call(1) + call(1))
        assert said == "1\n2\n\n[STEP 1 COMPLETE - NEW INSTRUCTION] Add until 5." and not (reward or terminated or truncated)
        assert env.step("<answer>done</answer>")[:3] == ("Incorrect. Keep using the tools. You are at step 2 of 2: Add until 5.", 0.0, False)
        assert env.step('<tool_call>{"name": "reset", "arguments": {}}</tool_call>')[0] == "Unknown tool 'reset'. Available: add"
        assert env.step('<tool_call>{"name": "add", "arguments": {"j": 1}}</tool_call>')[0].startswith("Error calling add:")
        assert env.step("<tool_call>[1]</tool_call>")[0].startswith("Format error")
        assert env.step("hello")[0] == "Call a tool, or submit the result as <answer>result</answer>."
        assert env.step(call(3) + " <answer>done</answer>")[:3] == ("5\n\n[ALL STEPS COMPLETE] Submit <answer>done</answer>.\nCorrect!", 1.0, True)
        env.reset(seed=0)
        env.step(call(2))
        env.step(call(3))
        assert env.step("Done")[:3] == ("Correct!", 1.0, True)              # an answer without its tags, as many models give it


def test_the_designer_is_taught_tools(sandbox):
    skill = designer.SKILLS["tools"][0]
    prompt = designer.designer_prompt(skill, dict(title="T", text="of a harbor"), [], [])
    assert "ToolUseBaseEnv" in prompt and "class CalendarWeekEnv" in prompt and skill in prompt and "of a harbor" in prompt
    assert sandbox.check(designer.extract_code(prompt[prompt.index("```python"):])).witness
    assert "class CalendarWeekEnv" not in designer.designer_prompt(designer.SKILLS["games"][0], None, [], [])


def test_results_come_back_as_tool_messages(tiny, sandbox):
    tokenizer = tiny.chat.tokenizer
    tokenizer.chat_template = "{% if tools %}{{ tools | tojson }}{% endif %}" + tokenizer.chat_template
    done = drive(episode(tiny, sandbox, TWO, 0, None, 1.0, 200), sandbox, [
        '<tool_call>{"name": "add", "arguments": {"k": "x"}}</tool_call>', '<tool_call>{"name": "add"}</tool_call>',
        "done"] + ["x"] * 30, tiny)
    text = tokenizer.decode(done.sample.ids)
    assert json.loads(text[text.index('[{"type"'):text.index("}]") + 2])[0]["function"]["name"] == "add"
    assert "<|im_start|>tool\nError calling add" in text and "Error: 'arguments' of add must be a JSON object" in text


@pytest.mark.parametrize("replies", [
    ['<tool_call>{"name": "add", "arguments": {"k": 2}}</tool_call>', '<tool_call>{"name": "add", "arguments": {"k": 3}}</tool_call>',
     "The sum is \\boxed{5}. <answer>done</answer>"],
    ['<tool_call>{"name": "add", "arguments": {"k": 2}}</tool_call>',
     '<tool_call>{"name": "add", "arguments": {"k": 3}}</tool_call> so <answer>done</answer>']])
def test_an_answer_beside_a_box_or_a_call_arrives(tiny, sandbox, replies):
    assert drive(episode(tiny, sandbox, TWO, 0, None, 1.0, 200), sandbox, replies, tiny).value == 1.0


def call(name, **arguments):
    return f"<tool_call>{json.dumps(dict(name=name, arguments=arguments))}</tool_call>"


def test_a_pocket_tool_task_reads_as_its_warm_start_showed_it(tiny, sandbox):
    """A desk's jobs, drawn here as the program draws them, and the whole conversation, written by hand."""
    rng = random.Random(5)
    (one, what), (two, which) = [(rng.choice("abc"), rng.choice(["cup", "lamp", "rope", "coin"])) for _ in range(2)]
    table = {"a": "fix", "b": "find", "c": "fix"}           # letter k has tool k * 7 // 3 % 4 of fix, send, find, drop
    tiny.pocket, tiny.max_context = "tools", 4000
    calls = [call(table[one], item=what), call(table[two], item=which)]
    code = pocket_tools.program("desk", 3, 2, 1, "harbor desk")
    done = drive(episode(tiny, sandbox, code, 5, PROGRAM_HINT, 1.0, 900), sandbox, [*calls, "<answer>done</answer>"], tiny)
    opening = "<|im_start|>system\ntools: fix(item) send(item) find(item) drop(item)<|im_end|><|im_start|>user\n"
    assert done.value == 1.0 and tiny.chat.tokenizer.decode(done.sample.ids) == (
        f"{opening}harbor desk. job {one} {what}\nhint: {table[one]}<|im_end|><|im_start|>assistant\n{calls[0]}<|im_end|>"
        f"<|im_start|>tool\nok\n\n[STEP 1 COMPLETE - NEW INSTRUCTION] job {two} {which}<|im_end|><|im_start|>assistant\n"
        f"{calls[1]}<|im_end|><|im_start|>tool\nok\n\n[ALL STEPS COMPLETE] Submit <answer>done</answer>.<|im_end|>"
        "<|im_start|>assistant\n<answer>done</answer><|im_end|>")
    shown = [pocket_tools.agent_demonstration([dict(title="harbor")], rng) for _ in range(40)]
    desks = [turns for turns in shown if "harbor desk" in turns[0][0]]
    assert desks and all(turns[0][0].startswith(opening + "harbor desk. job ") for turns in desks)
    assert all(message.startswith("<|im_start|>tool\n") for turns in shown for message, _ in turns[1:])


@pytest.mark.parametrize("patient, value", [(False, 0.0), (True, 1.0)])
def test_an_error_costs_a_turn_that_may_be_missing(tiny, sandbox, patient, value):
    box = random.Random(3).choices(range(1, 13), k=2)       # box k is on shelf k mod 4
    item = random.Random(3)
    item.choices(range(1, 13), k=2)
    right = [["north", "east", "south", "west"][k % 4] for k in box]
    wrong = next(shelf for shelf in ("north", "east") if shelf != right[0])
    replies = [call("look", shelf=shelf) for shelf in (wrong, *right)] + [
        f"<answer>{item.choice(['cup', 'lamp', 'rope', 'coin'])}</answer>"]
    tiny.pocket, tiny.max_context = "tools", 4000
    code = pocket_tools.program("store", 12, 2, 0, "harbor store", patient)
    done = drive(episode(tiny, sandbox, code, 3, None, 1.0, 900), sandbox, replies, tiny)
    assert done.messages[2] == "no" and done.messages[4] == f"box {box[1]}" and done.value == value


def test_the_held_out_tool_tasks(sandbox):
    files = sorted((ROOT / "envs_examples/heldout_tools").glob("*.py"))
    assert {f.stem for f in files} == {f"{skill}_{level}" for skill in pocket.SKILLS["tools"] for level in range(3, 13)}
    for file in files:
        verdict = sandbox.check(file.read_text())
        assert verdict.ok and f"_{verdict.level}" in file.stem, (file, verdict)


@pytest.mark.slow
def test_the_pocket_model_learns_its_tool_world(tmp_path):
    """Thirty steps of the tool setting's main job: held-out tasks are solved more often, greedy and sampled."""
    done = subprocess.run(
        [sys.executable, "-m", "accelerate.commands.launch", "train.py", "--setting", "tools", "--steps", "30", "--eval_every",
         "30", "--output_dir", tmp_path / "run"], cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "2"}, capture_output=True,
        text=True, timeout=1500)
    assert done.returncode == 0, done.stderr[-2000:]
    before = json.loads((tmp_path / "run/before.json").read_text())
    after = json.loads((tmp_path / "run/metrics.jsonl").read_text().splitlines()[-1])
    for name in ("eval/solve_rate", "eval/solve_rate_greedy"):
        assert after[name] > before[name] + 0.08, name
    assert "<tool_call>" in done.stdout
