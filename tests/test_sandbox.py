"""The sandbox: what hostile programs may not do, what honest ones may, and what admission proves."""
import json, os, signal, subprocess, sys, time
from pathlib import Path

import pytest
from conftest import ROOT

import sandbox as module
from sandbox import EnvDied, EnvError, EnvProtocol, EnvTimeout, Limits, Sandbox, clean, parse_reply

HOSTILE = sorted((Path(__file__).parent / "hostile").glob("*.py"))
GOOD = '''
class CountEnv:
    LEVEL = 4
    def __init__(self, max_turns=5):
        self.max_turns = min(max_turns, 5)
    def reset(self, seed):
        self.n, self.t = random.Random(seed).randint(2, 10 ** 6), 0
        return f"say {self.n}", {"secret": self.n}
    def step(self, action):
        self.t += 1
        won = action == f"\\\\boxed{{{self.n}}}"
        return "yes" if won else "no", float(won), won, self.t >= self.max_turns, {}
    def hint(self):
        return f"it is {self.n}"
'''


def program(step="return 'x', 0.0, True, False, {}", reset="return 'start', {}", top=""):
    return f"{top}\nclass TestEnv:\n    def reset(self, seed):\n        {reset}\n    def step(self, action):\n        {step}\n"


def kinds(verdict):
    return [failure.kind for failure in verdict.failures]


def children_of(box):
    """Process ids below the sandbox's zygotes."""
    pids = {z.process.pid for z in box._zygotes.values()}
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) in pids and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


def gone(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.parametrize("path", HOSTILE, ids=lambda p: p.stem)
def test_hostile_programs_are_contained(path, sandbox):
    """No escape is reported, every call ends by its deadline, and a neighbour's episode is undisturbed."""
    with sandbox.make(GOOD) as neighbour, sandbox.make(path.read_text()) as env:
        observation, _ = neighbour.reset(seed=3)
        texts, begin = [], time.monotonic()
        for method, argument in [("reset", 1), ("step", "a"), ("step", "b"), ("step", "c")]:
            result = sandbox.run([(env, method, argument)])[0]
            if isinstance(result, EnvError):
                break
            texts.append(result[0])
            assert method == "reset" or type(result[1]) is float and abs(result[1]) < 1e6
        assert time.monotonic() - begin < 4 * (1.0 + 0.5)
        assert not [t for t in texts if "ESCAPED" in t], texts
        assert neighbour.step("\\boxed{%s}" % observation.split()[1])[:3] == ("yes", 1.0, True)
    deadline = time.monotonic() + 3
    while children_of(sandbox) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not children_of(sandbox)


def test_an_honest_episode(sandbox):
    with sandbox.make(GOOD) as env:
        observation, info = env.reset(seed=0)
        assert observation.startswith("say ") and info == {}        # info never leaves the process
        assert env.hint() == "it is " + observation.split()[1]
        assert env.step("\\boxed{1}") == ("no", 0.0, False, False, {})
        assert env.reset(seed=0)[0] == observation != env.reset(seed=1)[0]
        assert env.facts["max_turns"] == 5 and env.facts["level"] == 4
    with pytest.raises(EnvError, match="closed"):
        env.step("x")


def test_many_at_once_answer_in_order(sandbox):
    envs = [sandbox.make(GOOD) for _ in range(40)]
    first = sandbox.run([(e, "reset", k) for k, e in enumerate(envs)])
    want = [__import__("random").Random(k).randint(2, 10 ** 6) for k in range(40)]
    assert [o for o, _ in first] == [f"say {n}" for n in want]
    answers = sandbox.run([(e, "step", f"\\boxed{{{n}}}") for e, n in zip(envs, want)])
    assert all(r[1] == 1.0 for r in answers)
    for e in envs:
        e.close()


@pytest.mark.parametrize("top, step", [("while True: pass", ""), ("", "while True: pass"),
                                       ("", "import re; re.match(r'(a+)+$', 'a' * 40 + '!')")])
def test_a_timeout_retires_the_program_at_once(top, step):
    with Sandbox(Limits(call_seconds=0.3, load_seconds=0.3)) as box:
        code, begin = program(step or "pass", top=top), time.monotonic()
        with box.make(code) as env:
            with pytest.raises(EnvTimeout):
                env.reset(seed=0)
                env.step("x")
        assert time.monotonic() - begin < 1.4
        copies = [box.make(code) for _ in range(50)]
        begin = time.monotonic()
        assert all(isinstance(r, EnvTimeout) for r in box.run([(e, "reset", 0) for e in copies]))
        assert time.monotonic() - begin < 0.2 and not children_of(box)


@pytest.mark.parametrize("step, error, words", [
    ("raise SystemExit(0)", EnvError, "SystemExit"),
    ("raise BaseException('x')", EnvError, "BaseException: x"),
    ("import os; os._exit(0)", EnvDied, "exit code 0"),
    ("import os; os.kill(os.getpid(), 9)", EnvError, "PermissionError"),
    ("import os; os.fork()", EnvError, "PermissionError"),
    ("open('/etc/passwd').read()", EnvError, "Error"),
    ("import socket; socket.socket()", EnvError, "Error"),
    ("import subprocess; subprocess.run(['true'])", EnvError, "Error"),
    ("x = 'a' * (1 << 30); return x, 0.0, True, False, {}", EnvError, "MemoryError"),
    ("return 'x' * 30_000, 0.0, True, False, {}", EnvError, "at most 20000 characters"),
    ("return 'x', 0.0, True, {}", EnvError, "5 values .* got 4"),
    ("return 'x'", EnvError, "5 values .* got str"),
    ("return None, 0.0, True, False, {}", EnvError, "observation must be a string"),
    ("return 'x', float('nan'), True, False, {}", EnvError, "finite"),
    ("return 'x', float('-inf'), True, False, {}", EnvError, "finite"),
    ("return 'x', None, True, False, {}", EnvError, "finite"),
    ("return 'x', '1.0', True, False, {}", EnvError, "finite"),
    ("return 'x', [1.0], True, False, {}", EnvError, "not flat|finite"),
    ("return 'x', 10 ** 400, True, False, {}", EnvError, "finite"),
    ("return 'x', 0.0, 1, False, {}", EnvError, "must be bool"),
])
def test_what_a_step_may_not_do(sandbox, step, error, words):
    with sandbox.make(program(step)) as env:
        env.reset(seed=0)
        with pytest.raises(error, match=words):
            env.step("x")


def test_what_programs_may_do(sandbox):
    numpy = "import numpy as np; return np.str_('ok'), np.float64(1.0), np.bool_(True), np.bool_(False), {'n': np.int64(3)}"
    for step, want in [(numpy, ("ok", 1.0, True, False, {})), ("return 'x', True, True, False, {}", ("x", 1.0, True, False, {}))]:
        with sandbox.make(program(step)) as env:
            env.reset(seed=0)
            assert env.step("a") == want
    old = "class OldEnv:\n    def reset(self, seed): return 'bare'\n    def step(self, a): print('noise'); return str(math.pi), 0, True, False, {}\n"
    with sandbox.make("import numpy\n@dataclass\nclass P:\n    x: 'int' = 1\n" + old) as env:    # names without an import
        assert env.reset(seed=0)[0] == "bare" and env.step("a")[0].startswith("3.14")


def test_replies_are_checked_on_arrival():
    limits, nonce = Limits(), "n"

    def parse(text, method="step"):
        return parse_reply(text.encode(), nonce, method, limits)
    assert parse('{"id":"n","ok":["a",1,true,false,null]}') == ("a", 1.0, True, False, {})
    for forged in ('{"id":"m","ok":["a",1,true,false,null]}', "[]", "{", '{"id":"n","ok":' + "[" * 5000 + "]" * 5000 + "}",
                   '{"id":"n","ok":[[["a"]],1,true,false,null]}'):
        with pytest.raises(EnvProtocol):
            parse(forged)
    for bad in ("1e999", "NaN", "-Infinity", '"1"', "9" * 400):
        with pytest.raises(EnvError):
            parse('{"id":"n","ok":["a",%s,true,false,null]}' % bad)
    def facts(**changes):
        return json.dumps({"id": "n", "ok": [dict(max_turns=5, level=3, tools=None, hint=True, layers="x") | changes, "a"]})
    assert parse(facts(), "reset")[0]["max_turns"] == 5
    for changes in (dict(max_turns="x"), dict(max_turns=10 ** 7), dict(max_turns=True), dict(level=10 ** 17), dict(hint=None)):
        with pytest.raises(EnvProtocol):
            parse(facts(**changes), "reset")
    tools = parse(facts(tools='[{"name": "move", "extra": 1}]'), "reset")[0]["tools"]
    assert tools == [{"type": "function", "function": {"name": "move", "description": "", "parameters": {}}}]
    for bad in ('["look"]', '{"a": 1}', '[{"name": 3}]', "[" * 9000, '[{"name": "x", "parameters": 5}]'):
        with pytest.raises(EnvError, match="get_tools"):
            parse(facts(tools=bad), "reset")


def test_text_is_made_printable():
    assert clean("card \ud83c | nul \x00 | esc \x1b[31m | bidi \u202e\r\n\tend") == "card \ufffd | nul  | esc [31m | bidi \n\tend"


@pytest.mark.parametrize("code, kind", [
    ("class AEnv:\n  def reset(self: pass", "syntax"),
    ("x = 1", "load"),
    ("import nothing_of_that_name", "load"),
    ("class AEnv:\n    def step(self, a): pass\n", "load"),
    ("class AEnv:\n    def reset(self): return 'x', {}\n    def step(self, a): pass\n", "contract"),
    (program("return 'x', 0.0, False"), "contract"),
    (program("1 / 0"), "crash"),
    (program("return 'x', 0.0, False, False, {}"), "endless"),
    (program("return 'x', 1.0, True, False, {}"), "trivial"),
    (program("import time; return str(time.time_ns()), 0.0, True, False, {}"), "nondeterministic"),
    (program("return str(list({'red', 'green', 'blue', 'black', 'white'})), 0.0, True, False, {}"), "nondeterministic"),
])
def test_refusals_by_name(sandbox, code, kind):
    verdict = sandbox.check(code)
    assert not verdict.ok and kinds(verdict) == [kind] and len(verdict.failures[0].detail) > 5


def test_admission(sandbox):
    verdict = sandbox.check(GOOD)
    assert verdict.ok and verdict.has_hint and verdict.level == 4 and verdict.max_turns == 5 and not verdict.constant
    assert sandbox.check(program()).constant
    for path in [*(ROOT / "envs_examples/games").glob("*.py"), *(ROOT / "envs_examples/heldout").glob("*.py")]:
        assert sandbox.check(path.read_text()).ok, path


def test_example_games_are_solved_by_their_solutions(sandbox):
    for path in (ROOT / "envs_examples/games").glob("*.py"):
        namespace = {}
        exec(module.NAMESPACE + path.read_text(), namespace)        # our own files, run here to reach solution()
        env_class = [v for k, v in namespace.items() if k.endswith("Env")][-1]
        for seed in range(30):
            env = env_class()
            env.reset(seed)
            plan = env.solution()
            with sandbox.make(path.read_text()) as sealed:
                sealed.reset(seed=seed)
                assert sealed.hint() == env.hint()
                for action in [plan] if isinstance(plan, str) else plan:
                    result = sealed.step(f"\\boxed{{{action}}}")
            assert result[1:3] == (1.0, True), (path, seed)


def test_the_death_of_the_zygote_is_named(capfd):
    with Sandbox() as box:
        env = box.make(GOOD)
        env.reset(seed=0)
        left = children_of(box)
        os.kill(box._zygotes[0].process.pid, signal.SIGKILL)
        with pytest.raises((RuntimeError, EnvDied)):
            for _ in range(100):
                env.step("x")
                time.sleep(0.01)
        with pytest.raises(RuntimeError, match="zygote died"):
            for _ in range(3):
                box.make(GOOD).reset(seed=0)
    time.sleep(0.3)
    assert left and all(gone(pid) for pid in left)


def test_without_seccomp_it_refuses(monkeypatch, capsys):
    real = Sandbox.run

    def without(self, calls):
        results = real(self, calls)
        for env, _, _ in calls:
            env.facts["layers"] = "process rlimits"
        return results
    monkeypatch.setattr(Sandbox, "run", without)
    with pytest.raises(RuntimeError, match="allow_weak_sandbox"):
        Sandbox()
    Sandbox(allow_weak=True).close()
    assert "WARNING: weak sandbox" in capsys.readouterr().err


def test_command_line(tmp_path):
    def call(*words):
        return subprocess.run([sys.executable, ROOT / "sandbox.py", *map(str, words)], capture_output=True, text=True)
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    good.write_text(GOOD)
    bad.write_text(program("1 / 0"))
    assert call(good).returncode == 0
    refused = call(bad, "--json")
    assert refused.returncode == 1 and json.loads(refused.stdout)["failures"][0]["kind"] == "crash"
    assert call(tmp_path / "missing.py").returncode == call().returncode == 2
