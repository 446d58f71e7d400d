"""Held-out suites: numbers as people write them, questions from files and packages, and the table."""
import json, re, subprocess, sys

import pytest
from conftest import ROOT

from agent import HELD_OUT_SEED
from envs_examples import suites
from sandbox import EnvError


@pytest.mark.parametrize("label, answer", [
    ("33", "33.0"), ("033", "33"), ("1234", "1,234"), ("1/2", "0.5"), ("\\frac{3}{4}", "0.75"), ("\\dfrac34", "3/4"),
    ("-\\frac{1}{3}", "-1/3"), ("2\\frac12", "2.5"), ("10^{5}", "100000"), ("3\\times10^{4}", "30,000"), ("2\\sqrt{3}", "3.4641016151377544"),
    ("\\$12", "12"), ("90^\\circ", "90"), ("50\\%", "50"), ("72\\text{ cm}", "72"), ("x+1", "X + 1"), ("\\text{blue}", "\\text{blue}"),
    (" 42. ", "42"), ("+7", "7"), ("\\sqrt{2}", "\\sqrt2")])
def test_equal_answers(label, answer):
    assert suites.equal(label, answer) and suites.equal(answer, label)


@pytest.mark.parametrize("label, answer", [
    ("33", "34"), ("33", "3"), ("1/2", "1/3"), ("0.333", "1/3"), ("1234", "123"), ("2\\frac12", "\\frac{21}{2}"), ("10^5", "105"),
    ("7", "-7"), ("12", ""), ("1/0", "0"), ("x+1", "x-1"), ("33", "__import__('os')"), ("1", "1" * 99 + "^999"), ("0", "9" * 5000),
    ("4", "2+2"), ("\\text{blue}", "\\text{red}"), ("$x$", "$y$"), ("12", "1 2 3"), ("\\sqrt{2}", "1.414")])
def test_different_answers(label, answer):
    assert not suites.equal(label, answer) and not suites.equal(answer, label)


def test_questions_of_a_file(tmp_path, sandbox):
    path = tmp_path / "aime.jsonl"
    path.write_text('{"prompt": "6 * 7?", "label": "42"}\n\n{"prompt": [{"role": "user", "content": "1 + 1?"}], "label": 2}\n')
    suite = suites.load_suite(sandbox, f"qa:{path}")
    assert [(name, level) for name, _, level in suite] == [("aime/000", None), ("aime/001", None)]
    host, said = suites.Host(sandbox), []
    for _, question, _ in suite:
        env = host.make(question)
        assert env is not question and env.facts["max_turns"] == 1
        said.append((env.reset(HELD_OUT_SEED)[0], env.step("\\boxed{42.0}")[1:3], env.step("2")[1]))
    assert said == [("6 * 7?", (1.0, True), 0.0), ("1 + 1?", (0.0, True), 1.0)]
    for text, message in (("{}", '"prompt" and a "label"'), ("what", "not JSON lines"), (None, "cannot read")):
        other = tmp_path / "other.jsonl"
        other.write_text(text) if text else other.unlink(missing_ok=True)
        with pytest.raises(ValueError, match=message):
            suites.load_suite(sandbox, f"qa:{other}")


def test_an_error_of_a_package_is_an_unsound_play(sandbox):
    def broken(seed):
        raise KeyError("no data")
    host = suites.Host(sandbox)
    host.submit("key", host.make(suites.Question(broken)), "reset", 1)
    (key, result), = host.poll()
    assert key == "key" and isinstance(result, EnvError) and "no data" in str(result)


def test_reasoning_gym(sandbox):
    pytest.importorskip("reasoning_gym")
    suite = suites.load_suite(sandbox, "reasoning-gym:chain_sum,arithmetic,spell_backward")
    names = [name for name, _, _ in suite]
    assert names[0] == "chain_sum" and "spell_backward" in names and len(set(names)) == len(names) > 5
    question = suites.Host(sandbox).make(suite[0][1])
    first = question.reset(HELD_OUT_SEED)[0]
    assert first == question.reset(HELD_OUT_SEED)[0] != question.reset(HELD_OUT_SEED + 1)[0]
    import reasoning_gym
    entry = reasoning_gym.create_dataset("chain_sum", seed=HELD_OUT_SEED + 1, size=1)[0]
    assert question.step(f"\\boxed{{{entry['answer']}}}")[1] == 1.0 and question.step("\\boxed{none}")[1] < 1.0
    hard = suites.load_suite(sandbox, "reasoning-gym:logic-hard,chain_sum-hard")
    assert hard[-1][0] == "chain_sum-hard" and "zebra_puzzles-hard" in [name for name, _, _ in hard]
    numbers = re.findall(r"\d+", suites.Host(sandbox).make(hard[-1][1]).reset(1)[0])
    assert 5 <= len(numbers) <= 8 and all(4 <= len(n) <= 6 for n in numbers)            # the paper's hard sums
    with pytest.raises(ValueError, match="no task or category 'chess'"):
        suites.load_suite(sandbox, "reasoning-gym:chess")


def test_without_the_package(sandbox, monkeypatch):
    monkeypatch.setitem(sys.modules, "reasoning_gym", None)
    with pytest.raises(ValueError, match="pip install reasoning-gym"):
        suites.load_suite(sandbox, "reasoning-gym:chain_sum")


def test_the_interval_and_the_table():
    # Wilson by hand: 8 of 10, z = 1.96: (0.8 + 0.19208) / 1.38416 -+ 1.96 sqrt(0.016 + 0.009604) / 1.38416
    assert suites.interval(0.8, 10) == pytest.approx((0.49016, 0.94331), abs=1e-4)
    assert suites.interval(0.0, 10)[0] == pytest.approx(0.0, abs=1e-9) and suites.interval(1.0, 10)[1] == pytest.approx(1.0, abs=1e-9)
    told = suites.tell([("a", 3, 1.0)] * 3 + [("a", 3, 0.0)] + [("q/0", None, 1.0)] * 4 + [("q/1", None, 0.0)] * 4)
    assert told["a"]["rate"] == 0.75 and told["a"]["plays"] == 4
    assert told["q"]["rate"] == 0.5 and told["q"]["plays"] == 8         # eight plays, but of two questions
    assert (told["q"]["low"], told["q"]["high"]) == suites.interval(0.5, 2)
    assert told["all"]["rate"] == pytest.approx(4 / 6) and told["all"]["plays"] == 12
    assert suites.table(told).splitlines()[1].split() == ["a", "0.750", "0.301", "-", "0.954", "4"]


def test_on_the_command_line(pocket_dir, tmp_path):
    (tmp_path / "suite").mkdir()
    for name in ("door_3", "lift_3"):
        (tmp_path / f"suite/{name}.py").write_text((ROOT / f"envs_examples/heldout/{name}.py").read_text())
    done = subprocess.run([sys.executable, ROOT / "agent.py", "--eval", tmp_path / "suite", "--model", pocket_dir, "--plays", "3"],
                          cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[1:4]] == ["door_3", "lift_3", "all"]
    written = json.loads(next(tmp_path.glob("eval-*.json")).read_text())
    assert written["plays"] == 3 and set(written["tasks"]) == {"door_3", "lift_3", "all"} and written["tasks"]["all"]["plays"] == 6
    done = subprocess.run([sys.executable, ROOT / "agent.py", "--eval", "nowhere", "--model", pocket_dir], capture_output=True, text=True)
    assert done.returncode == 2 and "holds no environment files" in done.stderr and "Traceback" not in done.stderr
