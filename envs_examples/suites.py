"""Held-out suites, and how their results are told: what `python agent.py --eval SUITE` plays.

    heldout, tools, or a folder     environment files, each in its sealed process, as in training
    reasoning-gym:TASK,CATEGORY     tasks of the package reasoning-gym (pip install reasoning-gym), by name or category;
                                    with -hard behind a name, in the hard setting of that package's paper
    bfcl:multi_turn_base            and its siblings of the package bfcl-eval (envs_examples/bfcl.py)
    qa:FILE.jsonl                   a question a line, {"prompt": ..., "label": ...}; answers are compared as numbers

The last three run in this process, behind the interface of the sandbox: they are packages and data that the user chose, and
no program of a model. The agent's side is the same for all (agent.py: episode).
"""
import collections
import dataclasses
import fractions
import functools
import json
import math
import re
from pathlib import Path

from envs_examples import bfcl
from sandbox import EnvError

HERE = Path(__file__).parent


# ---- environments outside the sandbox
@dataclasses.dataclass
class Question:
    """One question a play, of one turn: `draw(seed)` gives a prompt and a function from the answer to a score in [0, 1]."""
    draw: object
    facts = dict(max_turns=1, tools=None, hint=False)

    def reset(self, seed):
        prompt, self.score = self.draw(seed)
        return prompt, {}

    def step(self, action):
        boxed = re.fullmatch(r"\\boxed\{(.*)\}", action, re.S)
        return "", float(self.score(boxed[1] if boxed else action)), True, False, {}

    def again(self):
        return dataclasses.replace(self)

    def close(self):
        pass


class Host:
    """A sandbox that takes a Question or Dialogue too, where it takes the text of a program, and answers their calls."""

    def __init__(self, sandbox):
        self.sandbox, self.done = sandbox, []

    def make(self, code):
        return self.sandbox.make(code) if isinstance(code, str) else code.again()

    def submit(self, key, env, method, argument=None):
        if not isinstance(env, (Question, bfcl.Dialogue)):
            return self.sandbox.submit(key, env, method, argument)
        try:
            result = getattr(env, method)(argument)
        except Exception as error:                      # the package's own; that play counts as unsound
            result = EnvError(f"{method}: {type(error).__name__}: {error}")
        self.done.append((key, result))

    def poll(self, timeout=0.0):
        done, self.done = self.done, []
        return done + self.sandbox.poll(0.0 if done else timeout)


# ---- loading
def load_suite(sandbox, name):
    """[(task, program or Question, level)] of a suite. Raises ValueError for one that is missing or refused."""
    kind, _, rest = str(name).partition(":")
    if kind == "reasoning-gym":
        return reasoning_gym(rest)
    if kind == "bfcl":
        return bfcl.load(rest)
    if kind == "qa":
        return questions(Path(rest))
    folder = HERE / name if name in ("heldout", "heldout_tools", "games", "tools") else Path(name)
    files = sorted(folder.rglob("*.py"))
    if not files:
        raise ValueError(f"the suite {name} holds no environment files (*.py)")
    suite = []
    for file in files:
        code = file.read_text()
        verdict = sandbox.check(code)
        if not verdict.ok:
            raise ValueError(f"{file} is refused: {verdict.failures[0].kind}: {verdict.failures[0].detail}")
        suite.append((file.stem, code, verdict.level))
    return suite


def reasoning_gym(names):
    """A Question for each named task, or for every task of a named category (algebra, logic, games, ...). A name that ends
    in -hard stands for the settings of arXiv 2505.24760, appendix A.3; tasks that it does not list are left out."""
    try:
        import reasoning_gym as package
        from reasoning_gym.factory import DATASETS
    except ImportError:
        raise ValueError("this suite needs a package: pip install reasoning-gym") from None
    category = {task: entry[0].__module__.split(".")[1] for task, entry in DATASETS.items()}
    hard = json.loads((HERE / "reasoning_gym_hard.json").read_text())
    chosen = {name: name.removesuffix("-hard") for name in names.split(",")}
    tasks = {name.replace(bare, task): (task, hard[task] if name != bare else {}) for name, bare in chosen.items()
             for task in category if bare in (task, category[task]) and (name == bare or task in hard)}
    if unknown := set(chosen.values()) - set(category) - set(category.values()):
        raise ValueError(f"reasoning-gym has no task or category {sorted(unknown)[0]!r}; its categories are "
                         + ", ".join(sorted(set(category.values()))))

    def draw(task, settings, seed):
        data = package.create_dataset(task, seed=seed, size=1, **settings)
        entry = data[0]
        return entry["question"], lambda answer: data.score_answer(answer, entry)
    return [(name, Question(functools.partial(draw, *task)), None) for name, task in tasks.items()]


def questions(path):
    """A Question for each line of a file. Raises ValueError for a missing file or a line without prompt and label."""
    suite = []
    try:
        for number, line in enumerate(filter(str.strip, path.read_text().split("\n"))):
            entry = json.loads(line)
            prompt, label = entry["prompt"], str(entry["label"])
            if not isinstance(prompt, str):             # the chat form: a list of messages, of which the last asks
                prompt = prompt[-1]["content"]
            score = functools.partial(equal, label)
            suite.append((f"{path.stem}/{number:03d}", Question(lambda seed, pair=(prompt, score): pair), None))
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}; a line of it is "
                         '{"prompt": the question, "label": the answer}') from None
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise ValueError(f'{path} is not JSON lines with a "prompt" and a "label" each: {error}') from None
    return suite


# ---- is it the same answer?
DRESS = re.compile(r"\\left|\\right|\\[,;! ]|\\?[$°%]|\^?\\circ|\^\{\\circ\}|degrees?")
UNIT = re.compile(r"\\(?:text|mathrm)\{([^{}]*)\}")


def value(text):
    r"""The exact value of a number as people write it, or None: 1,234; 0.5; 3/4; -\frac{3}{4}; 2\frac12; 10^{5}; 2\sqrt{3}
    (a float). Nothing but these forms is evaluated."""
    if len(text) > 100:                                 # a model wrote it: no powers of long numbers
        return None
    text = DRESS.sub("", UNIT.sub("", text)).strip().rstrip(".").replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac")
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text).replace(" ", "")
    text = re.sub(r"\\frac(\d)(\d)", r"\\frac{\1}{\2}", text)
    number = r"\d+(?:\.\d+)?|\.\d+"
    form = (rf"([+-]?)({number})?(?:\\frac\{{({number})\}}\{{({number})\}}|/({number}))?"
            rf"(?:\\sqrt\{{?({number})\}}?)?(?:(?:\\times|\\cdot|\*)?(10)?\^\{{?(-?\d{{1,3}})\}}?)?")
    m = re.fullmatch(form, text)
    sign, whole, over, under, slash, root, ten, power = m.groups() if m else [None] * 8
    if not (whole or over or root) or (over and root) or abs(int(power or 0)) > 99:
        return None
    try:
        result = fractions.Fraction(whole or (0 if over else 1))
        if over:
            result += fractions.Fraction(over) / fractions.Fraction(under)
        if slash:
            result /= fractions.Fraction(slash)
        if power:
            result = result * fractions.Fraction(10) ** int(power) if ten else result ** int(power)
    except ZeroDivisionError:
        return None
    result = -result if sign == "-" else result
    return float(result) * math.sqrt(float(root)) if root else result


def equal(label, answer):
    """Whether two answers are the same number, or the same text up to spaces, case and LaTeX dress."""
    a, b = value(label), value(answer)
    if a is not None and b is not None:
        return a == b or (float in (type(a), type(b)) and math.isclose(a, b, rel_tol=1e-9))
    bare = [re.sub(r"[\s{}]", "", DRESS.sub("", UNIT.sub(r"\1", text))).replace("\\dfrac", "\\frac").lower().rstrip(".")
            for text in (label, answer)]
    return bare[0] == bare[1]


# ---- results
def interval(rate, n, z=1.96):
    """The Wilson interval of a rate over n independent plays: -> (low, high), about 95 %."""
    middle, half = rate + z * z / (2 * n), z * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    return max(0.0, (middle - half) / (1 + z * z / n)), min(1.0, (middle + half) / (1 + z * z / n))


def tell(results):
    """{task: {rate, low, high, plays}} and "all", of (name, level, value) results. Names with a slash are questions of one
    task; plays of one question are not independent, so the interval counts questions."""
    items = collections.defaultdict(lambda: collections.defaultdict(list))
    for name, _, outcome in results:
        task = name.partition("/")[0]
        items[task][name if "/" in name else len(items[task])].append(outcome)
    items["all"] = {(task, item): outcomes for task in list(items) for item, outcomes in items[task].items()}
    told = {}
    for task, outcomes in items.items():
        means = [sum(v) / len(v) for v in outcomes.values()]
        rate = sum(means) / len(means)
        low, high = interval(min(1.0, max(0.0, rate)), len(means))
        told[task] = dict(rate=rate, low=low, high=high, plays=sum(map(len, outcomes.values())))
    return told


def report(results, options):
    """Print a suite's table, and write it into the run; for any other model into the current directory."""
    told, name = tell(results), re.sub(r"\W+", "-", options.eval).strip("-")
    path = Path(options.model if Path(options.model, "adapter").is_dir() else ".") / f"eval-{name}.json"
    facts = {key: getattr(options, key) for key in ("model", "eval", "plays", "temperature")}
    path.write_text(json.dumps(facts | dict(tasks=told), indent=1))
    print(table(told), f"\n{path} holds it")


def table(told):
    return "\n".join([f"{'task':32s} {'rate':>6s}   95 % interval   plays"] + [
        f"{task:32s} {t['rate']:6.3f}   {t['low']:.3f} - {t['high']:.3f}   {t['plays']:5d}" for task, t in told.items()])
