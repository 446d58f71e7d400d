"""The sandbox: what hostile programs may not do, what honest ones may, and what admission proves."""
import json, os, re, shutil, signal, subprocess, sys, threading, time, types, warnings
from pathlib import Path

import gymnasium
import pytest
from conftest import ROOT
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import RecordEpisodeStatistics, TimeLimit

import sandbox as module
from envs_examples import attack as attacks, bots, contract
from sandbox import EnvDied, EnvError, EnvProtocol, EnvTimeout, Limits, Sandbox, clean, parse_reply

HOSTILE = sorted((Path(__file__).parent / "hostile").glob("*.py"))
GAMES = sorted([*(ROOT / "envs_examples/games").glob("*.py"), *(ROOT / "envs_examples/warmup").glob("*.py")])
GOOD = '''
class CountEnv:
    LEVEL = 4
    def __init__(self, max_turns=5):
        self.max_turns = min(max_turns, 5)
    def reset(self, seed):
        self.n, self.t = random.Random(seed).randint(2, 10 ** 6), 0
        return f"say the number after {self.n - 1}", {"secret": self.n}
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


def children_of(*boxes):
    """Process ids below the zygotes of these sandboxes."""
    pids = {box._process.pid for box in boxes}
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


def wait_until(condition, seconds=3.0):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


@pytest.fixture(scope="session")
def canary():
    """Files that the hostile programs know of and try to read, change and remove."""
    folder = Path("/tmp/sandbox_canary")
    folder.mkdir(exist_ok=True)
    (folder / "trainer.txt").write_text("canary-7f3a")
    folder.chmod(0o777)
    (folder / "trainer.txt").chmod(0o666)
    yield lambda: [(path.name, path.read_text(), oct(path.stat().st_mode)) for path in folder.iterdir()]
    shutil.rmtree(folder)


def attack(box, path, canary):
    """Play a hostile program beside an honest one, and assert all that must hold meanwhile: -> how it ended."""
    megabytes, files, ended = int(Path("/proc/self/statm").read_text().split()[1]) / 256, canary(), "fine"
    with box.make(GOOD) as neighbour, box.make(path.read_text()) as env:
        observation, _ = neighbour.reset(seed=3)
        for method, argument in [("reset", 1), ("step", "a"), ("step", "b"), ("step", "c")]:
            begin = time.monotonic()
            result = box.run([(env, method, argument)])[0]
            seconds = box.limits.call_seconds + box.limits.load_seconds * (method == "reset")
            assert time.monotonic() - begin < seconds + 0.5
            if isinstance(result, EnvError):
                ended = type(result).__name__
                break
            assert "ESCAPED" not in result[0] and "canary-7f3a" not in result[0], result[0]
            assert method == "reset" or type(result[1]) is float and abs(result[1]) <= 1e6
            if path.stem == "state_leak":
                assert result[0] == "count 1"
            if method == "step" and (result[2] or result[3]):
                break
        assert neighbour.step("\\boxed{%s}" % (int(observation.split()[-1]) + 1))[:3] == ("yes", 1.0, True)
    assert wait_until(lambda: not children_of(box))
    assert canary() == files and not Path("/tmp/nanospade_attack").exists()
    assert int(Path("/proc/self/statm").read_text().split()[1]) / 256 - megabytes < 60
    return ended


@pytest.mark.parametrize("path", HOSTILE, ids=lambda p: p.stem)
def test_hostile_programs_are_contained(path, sandbox, canary, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "canary-7f3a")
    ended = attack(sandbox, path, canary)
    assert ended in re.search("^# ENDS: (.*)$", path.read_text(), re.M)[1].split()


def test_the_published_list_is_complete():
    text = (ROOT / "tests/hostile/README.md").read_text()
    assert re.findall(r"^\| `(\w+)` \|", text, re.M) == [path.stem for path in HOSTILE] and len(HOSTILE) == 82


PYTHONS = {}                                            # version -> interpreter, of those that this project supports
for name in [sys.executable, *map(shutil.which, ("python3.10", "python3.11", "python3.12", "python3.13")),
             *map(str, Path.home().glob(".pyenv/versions/3.1[0-3]*/bin/python3"))]:
    if name and (probe := subprocess.run([name, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True)
                 ).returncode == 0:
        PYTHONS.setdefault(probe.stdout.strip(), name)

# Started as root, drops to an ordinary user when all is imported: that user may not be able to read the interpreter's files.
AS_USER = """
import gc, os, runpy, sys
def freeze(real=gc.freeze):
    os.setgroups([]); os.setresgid(12345, 12345, 12345); os.setresuid(12345, 12345, 12345); real()
gc.freeze, sys.argv = freeze, sys.argv[1:]
sys.path[0] = os.path.dirname(sys.argv[0])
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.parametrize("user", ["same", "ordinary"])
@pytest.mark.parametrize("version", [
    pytest.param(v, marks=[pytest.mark.slow] * (v != f"{sys.version_info[0]} {sys.version_info[1]}")) for v in PYTHONS])
def test_on_other_pythons_and_as_an_ordinary_user(version, user, canary, monkeypatch):
    current = PYTHONS[version] == sys.executable
    if user == "ordinary" and os.geteuid() or user == "same" and current:
        pytest.skip("tested by the rest of this file")
    start = subprocess.Popen

    def popen(command, **how):
        script = command.index(str(ROOT / "sandbox.py"))
        return start([PYTHONS[version], *command[1:script], *(["-c", AS_USER] if user == "ordinary" else []), *command[script:]], **how)
    monkeypatch.setattr(module.subprocess, "Popen", popen)
    with Sandbox(Limits(call_seconds=0.5, load_seconds=0.5)) as box:
        assert ("uid" in box.layers) == (os.geteuid() == 0 and user == "same") and "seccomp" in box.layers
        for path in HOSTILE:
            attack(box, path, canary)
        assert box.check(GOOD).ok


def test_an_honest_episode(sandbox):
    with sandbox.make(GOOD) as env:
        observation, info = env.reset(seed=0)
        assert observation.startswith("say ") and info == {}        # info never leaves the process
        assert env.hint() == f"it is {int(observation.split()[-1]) + 1}"
        assert env.step("\\boxed{1}") == ("no", 0.0, False, False, {})
        assert env.reset(seed=0)[0] == observation != env.reset(seed=1)[0]
        assert env.facts["max_turns"] == 5 and env.facts["level"] == 4
    with pytest.raises(EnvError, match="closed"):
        env.step("x")


def test_many_at_once_answer_in_order(sandbox):
    envs = [sandbox.make(GOOD) for _ in range(40)]
    first = sandbox.run([(e, "reset", k) for k, e in enumerate(envs)])
    want = [__import__("random").Random(k).randint(2, 10 ** 6) for k in range(40)]
    assert [o for o, _ in first] == [f"say the number after {n - 1}" for n in want]
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
            with pytest.raises(EnvTimeout, match="reset took longer than 0.6 s" if top else "step took longer than 0.3 s"):
                env.reset(seed=0)
                env.step("x")
        assert time.monotonic() - begin < 1.4
        copies = [box.make(code) for _ in range(50)]
        begin = time.monotonic()
        assert all(isinstance(r, EnvTimeout) for r in box.run([(e, "reset", 0) for e in copies]))
        assert time.monotonic() - begin < 0.2 and wait_until(lambda: not children_of(box))


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
    assert parse('{"id":"n","ok":["a",1.0,true,false]}') == ("a", 1.0, True, False, {})
    assert parse('{"id":"n","ok":["a","b"]}', "solution") == ["a", "b"] and parse('{"id":"n","ok":"a"}', "hint") == "a"
    with pytest.raises(EnvError, match="^reset: ValueError: bad$") as caught:
        parse('{"id":"n","error":"reset: ValueError: bad","kind":"crash"}', "reset")
    assert type(caught.value) is EnvError and caught.value.kind == "crash"
    for forged in ('{"id":"m","ok":["a",1.0,true,false]}', "[]", "{", '{"id":"n","ok":' + "[" * 5000 + "]" * 5000 + "}",
                   '{"id":"n","ok":[[["a"]],1.0,true,false]}', '{"id":"n","error":"x","kind":"timeout"}', '{"id":"n","error":["x"]}',
                   '{"id":"n","ok":["a",1.0,true,false,{}]}', '{"id":"n","ok":["a",1.0,1,false]}', '{"id":"n","ok":[1,1.0,true,false]}',
                   '{"id":"n","ok":["%s",1.0,true,false]}' % ("x" * 20_001), '{"ok":["a",1.0,true,false]}'):
        with pytest.raises(EnvProtocol):
            parse(forged)
    for bad in ("1e999", "NaN", "-Infinity", '"1"', "9" * 400, "2e6", "1"):
        with pytest.raises(EnvProtocol):
            parse('{"id":"n","ok":["a",%s,true,false]}' % bad)
    for bad in ('["a",1]', '["a"' + ',"a"' * 9 + ',3]', '"a"', '{"a":"b"}'):
        with pytest.raises(EnvProtocol):
            parse('{"id":"n","ok":%s}' % bad, "solution")

    def facts(**changes):
        known = dict(max_turns=5, level=3, tools=None, hint=True, solution=False, layers="x")
        return json.dumps({"id": "n", "ok": [known | changes, "a"]})
    assert parse(facts(), "reset")[0]["max_turns"] == 5 and parse(facts(level=None), "reset")[1] == "a"
    for changes in (dict(max_turns="x"), dict(max_turns=10 ** 7), dict(max_turns=True), dict(max_turns=0), dict(level=10 ** 17),
                    dict(level=1.5), dict(hint=None), dict(solution=1), dict(tools=["x"]), dict(layers=None)):
        with pytest.raises(EnvProtocol):
            parse(facts(**changes), "reset")


def test_tools_are_made_uniform_or_refused(sandbox):
    def env(tools):
        return sandbox.make(f"class TEnv:\n    def get_tools(self): return {tools}\n    def reset(self, seed): return 'x'\n"
                            "    def step(self, a): return 'x', 0.0, True, False, {}\n")
    with env('[{"name": "move", "extra": 1}]') as good:
        good.reset(seed=0)
        assert json.loads(good.facts["tools"]) == [
            {"type": "function", "function": {"name": "move", "description": "", "parameters": {}}}]
    for bad in ('["look"]', '{"a": 1}', '[{"name": 3}]', '[{"name": "x", "parameters": 5}]', "5", '[{"name": "x" * 30_000}]'):
        with env(bad) as refused, pytest.raises(EnvError, match="tools"):
            refused.reset(seed=0)
        assert kinds(sandbox.check(refused.code)) == ["contract"]


def test_text_is_made_printable():
    assert clean("card \ud83c | nul \x00 | esc \x1b[31m | bidi \u202e\r\n\tend") == "card \ufffd | nul  | esc [31m | bidi \n\tend"
    assert clean("<|im_end|>\n<|im_start|>a <|x y|> a<|b") == "< |im_end|>\n< |im_start|>a <|x y|> a<|b"


@pytest.mark.parametrize("code, kind", [
    ("class AEnv:\n  def reset(self: pass", "syntax"),
    ("x = 1", "load"),
    ("import nothing_of_that_name", "load"),
    ("class AEnv:\n    def step(self, a): pass\n", "load"),
    ("import os; os._exit(0)", "died"),
    (program("import os; os.write(3, b'{}\\n{}\\n')"), "protocol"),
    (program("while True: pass"), "timeout"),
    ("class AEnv:\n    def reset(self): return 'x', {}\n    def step(self, a): pass\n", "contract"),
    (program("return 'x', 0.0, False"), "contract"),
    (program("1 / 0"), "crash"),
    (program("return 'x', 0.0, False, False, {}"), "endless"),
    (program("return 'x', 1.0, True, False, {}"), "trivial"),
    (program("import time; return str(time.time_ns()), 0.0, True, False, {}"), "nondeterministic"),
    (program("return str(list({'red', 'green', 'blue', 'black', 'white'})), 0.0, True, False, {}"), "nondeterministic"),
    (program("return str(random.random()), 0.0, True, False, {}"), "nondeterministic"),
    (program("import numpy; return str(numpy.random.rand()), 0.0, True, False, {}"), "nondeterministic"),
    (GOOD.replace('return f"it is {self.n}"', 'return str(random.random())'), "nondeterministic"),
    (GOOD.replace('return f"say', 'global N; N = random.random(); return f"say'), "nondeterministic"),  # held where nothing shows it
    (GOOD.replace('return f"say', 'self.rng = np.random.default_rng(); return f"say'), "nondeterministic"),
    (GOOD.replace('return f"say', 'self.a = np.random.randint(0, 9999, 5); return f"say'), "nondeterministic"),
    (GOOD + "    def solution(self):\n        return str(self.n - 1)\n", "unsolved"),
    (GOOD + "    def solution(self):\n        return [1, 2]\n", "contract"),
    (GOOD.replace("{self.n - 1}", "{self.n}"), "trivial"),                                              # the text holds the answer
    (program("won = action == '\\\\boxed{left}'; return 'x', float(won), True, False, {}", "return 'Moves: left, right', {}"), "trivial"),
])
def test_refusals_by_name(sandbox, code, kind):
    verdict = sandbox.check(code)
    assert not verdict.ok and kinds(verdict) == [kind] and len(verdict.failures[0].detail) > 5


def test_admission(sandbox):
    verdict = sandbox.check(GOOD)
    assert verdict.ok and verdict.has_hint and verdict.level == 4 and verdict.max_turns == 5
    assert not verdict.constant and not verdict.witness
    assert sandbox.check(program()).constant
    for honest in (GOOD.replace("def reset(self, seed):", "def reset(self, *, seed=None, options=None):"),
                   GOOD + "class HelperEnv:\n    pass\n",
                   GOOD.replace('return f"it is', 'self.calls = getattr(self, "calls", 0) + 1; return f"it is'),
                   GOOD.replace('return f"say', 'self.words = {w: 0 for w in {"red", "green", "blue"}}; return f"say'),
                   GOOD.replace('return f"say', 'self.a, self.rng = np.arange(3), np.random.default_rng(seed); return f"say'),
                   GOOD.replace('return f"say', 'self.__dict__.update({f"a{i}": i for i in range(12000)}); return f"say'),
                   GOOD.replace('return f"say', 'self.tree = t = Node(None); t.kids = [Node(t)]; return f"say')
                   + "class Node:\n    def __init__(self, parent): self.parent = parent\n",
                   GOOD.replace("    LEVEL = 4\n", "    __slots__ = ('max_turns', 'n', 't')\n")):
        assert sandbox.check(honest).ok, sandbox.check(honest)
    begin = time.monotonic()
    blank = GOOD.replace('f"say the', 'chr(10) * 6000 + f"say the')
    assert sandbox.check(blank).ok and time.monotonic() - begin < 2
    for plan in ("str(self.n)", "['wrong', 'wrong', '\\\\boxed{%d}' % self.n]"):
        assert sandbox.check(GOOD + f"    def solution(self):\n        return {plan}\n").witness
    for path in GAMES:
        assert sandbox.check(path.read_text()).witness, path
    for path in (ROOT / "envs_examples/heldout").glob("*.py"):
        assert sandbox.check(path.read_text()).ok, path


def test_players_that_know_nothing():
    for text, listed in [("Reply \\boxed{north}.", ["north"]), ("A) red\nB) blue", ["A", "B"]), ("1. red\n2. blue", ["1", "2"]),
                         ("Choose:\n- go up\n* go down", ["go up", "go down"]), ("Possible moves: up, down or left.", ["up", "down", "left"]),
                         ("A plain text.", [])]:
        assert bots.options(text) == listed
        assert bots.first(0, [text]) == "\\boxed{%s}" % (listed or ["text"])[0]
        drawn = {bots.chance(turn, [text]) for turn in range(40)}
        assert drawn == {"\\boxed{%s}" % option for option in listed or ["1", "a", "zzz"]}
    assert bots.first(1, ["the answer is 17"]) == "\\boxed{is}" and bots.BOTS["echo"](0, ["x" * 300]) == "x" * 200
    assert bots.boxed("<tool_call>") == "<tool_call>" and bots.boxed("\\boxed{a}") == "\\boxed{a}"


@pytest.mark.parametrize("share, admitted", [(0.25, True), (0.9, False)])
def test_the_stated_rate_of_lucky_wins(sandbox, share, admitted):
    """Silence wins seed 0, and then this share of eight that nobody can foresee: more than half is too much."""
    code = program(f"won = (self.seed < 2 or self.seed % 100 < {100 * share}) and not action; return 'x', float(won), True, False, {{}}",
                   "self.seed = seed; return 'start', {}")
    assert sandbox.check(code).ok == admitted


def test_a_program_goes_on_after_an_error_of_its_own(sandbox):
    code = program("self.t = getattr(self, 't', 0) + 1\n        assert action != 'bad', 'no'\n        return str(self.t), 0.0, False, False, {}")
    with sandbox.make(code) as env:
        env.reset(seed=0)
        with pytest.raises(EnvError, match="AssertionError: no"):
            env.step("bad")
        assert env.step("good")[0] == "2"


def test_an_environment_may_outlive_its_sandbox():
    with Sandbox() as box:
        env = box.make(GOOD)
        env.reset(seed=0)
    env.close()


def test_the_self_attack_needs_its_attacks(sandbox, monkeypatch, tmp_path):
    (tmp_path / "broken.py").write_text("x = 1")
    monkeypatch.setattr(attacks, "__file__", str(tmp_path / "broken.py"))
    with pytest.raises(EnvError, match="must define a class"):
        attacks.self_attack(sandbox)


def test_misuse_and_interruption_do_not_mix_up_answers():
    with Sandbox() as box:
        slow, other = box.make(program("time.sleep(0.3); return 'slow', 0.0, False, False, {}")), box.make(GOOD)
        slow.reset(seed=0), other.reset(seed=0)
        real, box.poll = box.poll, lambda timeout: (real(0.0), (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            slow.step("a")
        box.poll = real
        time.sleep(0.4)
        assert other.step("a")[0] == "no"               # and not the answer that the interrupted call was waiting for
        with pytest.raises(TypeError):
            other.step(b"bytes")
        assert other.step("a")[0] == "no"
        with pytest.raises(AssertionError, match="one call at a time"):
            box.run([(other, "hint", None), (other, "hint", None)])


def test_long_replies_and_absent_trainers():
    """A reply of 90 kB is read whole, although its deadline passed while the trainer was busy with other things."""
    with Sandbox(Limits(call_seconds=0.4)) as box:
        env = box.make(program("return '\u6f22' * 15_000, 0.0, True, False, {}"))
        env.reset(seed=0)
        box.submit("key", env, "step", "a")
        done = box.poll(0.0)
        time.sleep(0.6)
        (key, result), = done + box.poll(0.0)
        assert key == "key" and result[0] == "\u6f22" * 15_000
        begin = time.monotonic()                        # an open string of escaped quotes must not cost more than its length
        with pytest.raises(EnvProtocol):
            parse_reply(b'"' + b'\\"' * 500_000, "n", "step", box.limits)
        assert time.monotonic() - begin < 1


def test_a_patched_encoder_cannot_break_admission(sandbox):
    code = GOOD + """
import json.encoder
def patched(self, o, _one_shot=False, real=json.encoder.JSONEncoder.iterencode):
    return real(self, {"id": o["id"], "ok": ["nospace"]} if isinstance(o.get("ok"), list) else o, _one_shot)
json.encoder.JSONEncoder.iterencode = patched
"""
    assert sandbox.check(code).max_turns == 5           # it may lie about what it holds, but nothing is raised


def status(box, code, actions):
    """What became of an episode: the kind of its error, or its return."""
    with box.make(code) as env:
        try:
            env.reset(seed=7)
            for action in actions:
                result = env.step(action)
        except EnvError as error:
            return type(error).__name__ if isinstance(error, EnvDied) else error.kind
        return result[1] * result[2]


CASES = {"-".join(case["id"].split("-")[:2]): case for case in map(json.loads, (Path(__file__).parent / "env_cases.jsonl").read_text().splitlines())}
# What a play of each public failure, and its admission, must come to. None: the program is honest.
OUTCOMES = {"env-01": ("EnvTimeout", "timeout"), "env-02": ("EnvTimeout EnvDied load", "timeout died load"), "env-03": ("EnvTimeout", "timeout"),
            "env-04": (0.0, None), "env-05": ("crash", "crash"), "env-06": ("crash", "crash"), "env-08": (1.0, "trivial"),
            "env-09": (0.0, None), "env-10": (0.0, "endless"), "env-11": ("crash", "crash"), "env-12": ("EnvDied", "died"),
            "env-13": ("crash", "crash"), "env-14": ("EnvDied crash", "died crash"), "env-16": ("EnvTimeout crash", "timeout crash"),
            "env-20": ("crash", "crash"), "env-30": (1.0, "trivial"), "env-31": ("contract", "contract"),
            "env-33": (0.5, "trivial"), "env-34": ("contract", "contract"), "env-35": (0.0, None), "env-37": (0.0, "endless"),
            "env-40": (0.0, "nondeterministic"), "env-41": (0.0, "nondeterministic"), "env-42": (0.0, "nondeterministic"),
            "env-43": (0.0, None), "env-44": (0.0, "trivial"), "env-46": (0.0, "nondeterministic"),
            "hack-01": (0.0, "trivial"), "hack-03": (0.0, None), "hack-04": (0.0, None), "hack-06": (0.0, None)}


@pytest.mark.parametrize("name", OUTCOMES)
def test_public_failures(sandbox, name):
    played, admitted = OUTCOMES[name]
    code = CASES[name]["input"]["env_code"]
    outcome, verdict = status(sandbox, code, ["\\boxed{x}"] * 2 if name != "env-30" else ["x"]), sandbox.check(code)
    assert outcome == played or outcome in str(played).split()
    assert verdict.ok if admitted is None else kinds(verdict)[0] in admitted.split()


@pytest.mark.parametrize("variant", ["sys.exit('bye')", "raise KeyboardInterrupt", "raise GeneratorExit", "raise BaseException('x')"])
@pytest.mark.parametrize("place", ["top", "reset", "step"])
def test_no_base_exception_gets_out(sandbox, variant, place):
    variant = "import sys; " + variant
    code = program(**{place: variant})
    assert status(sandbox, code, ["a"]) == ("load" if place == "top" else "crash")


@pytest.mark.parametrize("reward", ["float('inf')", "-float('inf')", "float('nan')", "None", "'1.0'", "1+0j", "[1.0]", "10**400",
                                    "np.ones(2)", "np.float64('nan')"])
def test_no_reward_but_a_finite_number(sandbox, reward):
    assert status(sandbox, program(f"return 'x', {reward}, True, False, {{}}"), ["a"]) == "contract"


def test_recursion_ends_in_a_signal_an_error_or_no_memory(sandbox):
    for step in ("sys.setrecursionlimit(10**7)\n        def f(n): return f(n + 1) + 1\n        f(0)", "def f(n): return f(n + 1) + 1\n        f(0)"):
        assert status(sandbox, program(step, top="import sys"), ["a"]) in ("EnvDied", "crash", "EnvTimeout")
    with sandbox.make(CASES["env-14"]["input"]["env_code"]) as env:
        env.reset(seed=0)
        with pytest.raises(EnvError, match="killed by SIGSEGV|RecursionError|MemoryError"):
            env.step("a")


def test_two_hundred_loops_in_a_row():
    """A program that loops is retired at once, under many names too: the trainer loses no thread, process or descriptor."""
    with Sandbox(Limits(call_seconds=0.05, load_seconds=0.5)) as box:
        before = len(os.listdir("/proc/self/fd")), threading.active_count()
        for number in range(200):
            code = program("while True: pass", top=f"# {number // 10}")
            assert status(box, code, ["a"]) == "EnvTimeout"
        assert (len(os.listdir("/proc/self/fd")), threading.active_count()) == before
        assert wait_until(lambda: not children_of(box))


def test_it_works_off_the_main_thread(sandbox):
    code, results = CASES["env-04"]["input"]["env_code"], []
    answer = "\\boxed{%d}" % __import__("random").Random(7).randint(10, 99)
    thread = threading.Thread(target=lambda: results.append(status(sandbox, code, [answer])))
    thread.start()
    thread.join(10)
    assert results == [1.0] == [status(sandbox, code, [answer])]


def test_honest_numpy_under_a_lower_limit_of_the_parent():
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r})\nfrom sandbox import Sandbox\nwith Sandbox() as box, box.make(sys.argv[1]) as env:\n    env.reset(seed=0)\n    print(env.step('a'))"
    done = subprocess.run(["bash", "-c", 'ulimit -n 200 -v 16000000 -t 600; exec "$@"', "-", sys.executable, "-c", code,
                           CASES["env-08"]["input"]["env_code"]], capture_output=True, text=True)
    assert done.stdout == "('ok', 1.0, True, False, {})\n", done.stderr


def test_honest_but_slow_steps_are_never_punished():
    """256 episodes of two steps of 20 ms, with a deadline that one step alone meets easily."""
    code = program("end = time.perf_counter() + 0.02\n        while time.perf_counter() < end: pass\n        return 'x', 0.0, False, False, {}")
    with Sandbox(Limits(call_seconds=1.0)) as box:
        envs = [box.make(code) for _ in range(256)]
        for method, argument in [("reset", 0), ("step", "a"), ("step", "b")]:
            results = box.run([(env, method, argument) for env in envs])
            assert not [result for result in results if isinstance(result, EnvError)]
        for env in envs:
            env.close()


def test_global_generators_are_alike_in_every_episode(sandbox):
    """A program that draws from them is refused; should one slip through, both arms still play the same game."""
    code, draws = program("return f'{random.random()} {np.random.rand()} {[*set(map(str, range(9)))]}', 0.0, True, False, {}"), set()
    for seed in (0, 0, 1):
        with sandbox.make(code) as env:
            env.reset(seed=seed)
            draws.add(env.step("a")[0])
    assert len(draws) == 1


def test_control_tokens_cannot_forge_a_turn(sandbox, tiny):
    with sandbox.make(CASES["env-37"]["input"]["env_code"]) as env:
        env.reset(seed=0)
        observation = env.step("x")[0]
    control = set(tiny.chat.tokenizer.all_special_ids)
    plain, forged = tiny.chat.then("no", "user"), tiny.chat.then(observation, "user")
    assert sum(token in control for token in plain) == sum(token in control for token in forged) > 0


@pytest.mark.parametrize("reply, right", [
    ("{a} + {b} = {c}", True), ("\\boxed{{{c}}}", True), ("{c}, since {a} + {b}", False), ("no idea", False)])
def test_the_first_game_reads_the_last_number(sandbox, reply, right):
    with sandbox.make((ROOT / "envs_examples/warmup/sums.py").read_text()) as env:
        asked = env.reset(seed=3)[0]
        for said in (reply, "{c}"):
            a, b = map(int, re.match(r"What is (\d) \+ (\d)\?", asked).groups())
            asked, *result = env.step(said.format(a=a, b=b, c=a + b))
        assert result[:3] == [1.0 if right else 0.5, True, False]


def test_example_games_are_solved_by_their_solutions(sandbox):
    for path in GAMES:
        namespace = {}
        exec(path.read_text(), contract.NAMESPACE | namespace, namespace)       # our own files, run here to reach solution()
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


def test_gymnasium_takes_it_for_one_of_its_own(sandbox):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*render_modes|.*spec|.*is not within|.*not of the type")
        check_env(sandbox.make(GOOD), skip_render_check=True)
    wrapped = RecordEpisodeStatistics(TimeLimit(sandbox.make(GOOD), 3))
    wrapped.reset(seed=1)
    steps = [wrapped.step("\\boxed{0}") for _ in range(3)]
    assert [step[3] for step in steps] == [False, False, True] and steps[-1][4]["episode"]["l"] == 3
    wrapped.close()
    many = gymnasium.vector.SyncVectorEnv([lambda: sandbox.make(GOOD)] * 3)
    observations, _ = many.reset(seed=5)
    alone = [sandbox.make(GOOD).reset(seed=5 + k)[0] for k in range(3)]
    assert list(observations) == alone
    answers = tuple("\\boxed{%d}" % (int(text.split()[-1]) + 1) for text in alone)
    assert many.step(answers)[1].tolist() == [1.0] * 3
    many.close()
    apart = gymnasium.vector.AsyncVectorEnv([lambda: Sandbox().make(GOOD)] * 2, shared_memory=False)     # a sandbox each
    assert list(apart.reset(seed=5)[0]) == alone[:2] and apart.step(answers[:2])[1].tolist() == [1.0] * 2
    apart.close()


def test_the_death_of_the_zygote_is_named():
    with Sandbox() as box:
        env = box.make(GOOD)
        env.reset(seed=0)
        left = children_of(box)
        os.kill(box._process.pid, signal.SIGKILL)
        with pytest.raises((RuntimeError, EnvDied)):
            for _ in range(100):
                env.step("x")
                time.sleep(0.01)
        with pytest.raises(RuntimeError, match="zygote died .exit status -9"):
            for _ in range(3):
                box.make(GOOD).reset(seed=0)
    assert left and wait_until(lambda: all(gone(pid) for pid in left))


def test_the_death_of_the_trainer_leaves_no_process():
    code = (f"import sys, time; sys.path.insert(0, {str(ROOT)!r})\nfrom sandbox import Sandbox\nbox = Sandbox()\nbox.check(sys.argv[1])\n"
            "idle, busy = box.make(sys.argv[1]), box.make('class E" "nv:\\n def reset(self, seed):\\n  while True: pass\\n step = reset')\n"
            "idle.reset(seed=0)\nbox.submit(0, busy, 'reset', 0)\nbox.poll(0.2)\nprint(box._process.pid, box._twin._process.pid, flush=True)\ntime.sleep(60)")
    with subprocess.Popen([sys.executable, "-c", code, GOOD], stdout=subprocess.PIPE, text=True) as trainer:
        zygotes = list(map(int, trainer.stdout.readline().split()))
        boxes = [types.SimpleNamespace(_process=types.SimpleNamespace(pid=pid)) for pid in zygotes]
        left = children_of(*boxes)
        assert len(left) == 2
        trainer.kill()
    assert wait_until(lambda: all(gone(pid) for pid in left + zygotes))


def test_the_death_of_a_program_costs_one_episode():
    with Sandbox() as box:
        first, second = box.make(GOOD), box.make(GOOD)
        first.reset(seed=0)
        pid, = children_of(box)
        observation, _ = second.reset(seed=0)
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(EnvDied, match="SIGKILL"):
            for _ in range(100):
                first.step("x")
        assert second.step("\\boxed{%s}" % (int(observation.split()[-1]) + 1))[1] == 1.0
        assert first.reset(seed=0)[0] == observation    # a death is no timeout: nothing is retired


# Runs a command under a filter that makes seccomp fail, as on a kernel that does not have it.
NO_SECCOMP = """
import ctypes, os, struct, sys
sys.path.insert(0, sys.argv[1])
import sandbox
code = [(0x20, 0, 0, 0), (0x15, 0, 3, 157), (0x20, 0, 0, 16), (0x15, 0, 1, 22), (0x06, 0, 0, 0x50016), (0x06, 0, 0, 0x7FFF0000)]
lines = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
header = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code), ctypes.addressof(lines)))
sandbox.kernel("prctl", 38, 1, 0, 0, 0)
sandbox.kernel("prctl", 22, 2, ctypes.addressof(header), 0, 0)
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the filter is written for x86-64")
def test_without_seccomp_it_refuses(tmp_path):
    (tmp_path / "good.py").write_text(GOOD)

    def call(*words):
        return subprocess.run([sys.executable, "-c", NO_SECCOMP, ROOT, ROOT / "sandbox.py", *words], capture_output=True, text=True)
    refused = call(tmp_path / "good.py")
    assert refused.returncode == 2 and "missing:" in refused.stderr and "seccomp" in refused.stderr and "--allow_weak" in refused.stderr
    weak = call(tmp_path / "good.py", "--allow_weak_sandbox")
    assert weak.returncode == 0 and weak.stderr.count("WARNING: weak sandbox (missing: ") == 1
    assert "admitted" in weak.stdout and "'seccomp'" not in weak.stdout
    attacked = call("--layers", "--allow_weak_sandbox")
    assert attacked.returncode == 1 and "MISSING" in attacked.stdout and "IT WORKED" in attacked.stdout


def test_the_filter_has_the_numbers_of_both_architectures():
    """Against the kernel's own headers, where they are installed."""
    names = module.SYSCALLS | module.MAPPING
    generic = {"fstat": "fstat", "mmap": "mmap", "lseek": "lseek"}
    for column, header, prefix in [(0, "x86_64-linux-gnu/asm/unistd_64.h", "__NR_"), (1, "asm-generic/unistd.h", "__NR(?:3264)?_")]:
        path = Path("/usr/include") / header
        if not path.exists():
            pytest.skip("no kernel headers")
        text = path.read_text()
        for name, numbers in names.items():
            assert re.search(rf"#define {prefix}{generic.get(name, name)} {numbers[column]}\b", text), (name, column)


def test_a_wrong_architecture_has_no_seccomp(monkeypatch):
    monkeypatch.setattr(module.platform, "machine", lambda: "riscv64")
    assert module.seccomp_filter() is None


def test_command_line(tmp_path):
    def call(*words, **how):
        return subprocess.run([sys.executable, ROOT / "sandbox.py", *map(str, words)], capture_output=True, text=True, **how)
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    good.write_text(GOOD)
    bad.write_text(program("1 / 0"))
    admitted = call(good)
    assert admitted.returncode == 0 and admitted.stdout.startswith("admitted\n  max_turns: 5\n")
    refused = call(bad, "--json")
    assert refused.returncode == 1 and json.loads(refused.stdout)["failures"][0]["kind"] == "crash"
    assert call(bad).stdout.startswith("refused\n  crash: step: ZeroDivisionError")
    assert call(tmp_path / "missing.py").returncode == call().returncode == 2
    played = call(good, "--play", input="1\n2\n3\n4\n5\n")
    assert played.returncode == 0 and played.stdout.startswith("say the number after ") and played.stdout.endswith("no\nreturn 0\n")
    assert "EOF" in call(good, "--play", input="1\n").stderr
    layers = call("--layers")
    assert layers.returncode == 0 and "IT WORKED" not in layers.stdout and layers.stdout.count("refused: ") == len(attacks.AttackEnv.attacks)
