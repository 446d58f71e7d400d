"""The Environment Designer: what it is shown, and what is taken from its reply.

A design starts from a document of the corpus, a skill, and the memory of earlier environments: *good* examples (solve rate
in [0.15, 0.85], the most regret) and a *bad* one (too easy, too hard, or refused, with the reason: the sandbox teaches the
designer). The reply must hold one program, to be judged by sandbox.py; the hint is the policy's (eq. 2) or its own.

    python designer.py [--model M]      one design: the prompt, the reply, and what became of it
"""
import argparse, ast, collections, dataclasses, json, random, re, textwrap
from pathlib import Path

from agent import command_line, strip_thinking
from envs_examples import pocket
from model import Engine, Sample, generating
from sandbox import Sandbox

SKILLS = {"games": ("Mathematical Reasoning", "Logical Deduction", "Spatial Reasoning", "Pattern Recognition",
                    "Optimization", "Causal Inference"),
          "tools": ("API Orchestration", "Data Retrieval", "State Modification", "Error Recovery", "Tool Selection",
                    "Multi-Step Workflows")}

# ---- corpus and pool
def load_corpus(path):
    """(documents, skipped lines): each document a dict of title and text. Raises ValueError for an unusable file."""
    documents, skipped = [], 0
    try:
        lines = Path(path).read_text(encoding="utf-8", errors="replace").split("\n")       # others may stand in a string
    except OSError as error:
        raise ValueError(f"cannot read the corpus {path}: {error.strerror}") from None
    for line in filter(str.strip, lines):
        try:
            entry = json.loads(line)
            text = entry.get("text") or entry["orig_doc"]
            documents.append(dict(title=str(entry.get("title") or "").strip()[:200], text=str(text).strip()[:6000]))
        except (ValueError, KeyError, AttributeError, RecursionError):
            skipped += 1
    if not documents:
        raise ValueError(f"the corpus {path} holds no usable document ({skipped} bad lines): each line must be a JSON "
                         'object with "text" or "orig_doc"')
    return documents, skipped

def load_pool(path):
    """[(code, skill)] of a fixed pool: a folder of programs, or a JSON-lines file with `code` and optional `skill`."""
    path = Path(path)
    if path.is_dir():
        return [(f.read_text(errors="replace"), f.parent.name) for f in sorted(path.rglob("*.py"))]
    try:
        entries = [json.loads(line) for line in path.read_text().split("\n") if line.strip()]
        return [(entry["code"], str(entry.get("skill", "pool"))) for entry in entries]
    except OSError as error:
        raise ValueError(f"cannot read the pool {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"the pool {path} is not JSON lines with a `code` each: {error}") from None

# ---- memory
class Memory:
    """The newest `size` environments with what came of them; the same on every process."""

    def __init__(self, size):
        self.entries = collections.deque(maxlen=size)

    def extend(self, records):
        keep = ("step", "index", "code", "skill", "solve_rate", "regret", "refusal")
        self.entries.extend({k: r[k] for k in keep} for r in records)

    def examples(self, skill, rng, good=2, bad=1):
        """(good, bad): entries of this skill to show the designer, drawn from the eight best and from the failures."""
        mine = [e for e in self.entries if e["skill"] == skill]
        sound = [e for e in mine if not e["refusal"] and e["solve_rate"] is not None]
        frontier = [e for e in sound if 0.15 <= e["solve_rate"] <= 0.85]
        best = sorted(frontier, key=lambda e: -(e["regret"] or 0.0))[:8]
        failed = [e for e in mine if e["code"] and (e["refusal"] or not 0.1 <= e["solve_rate"] <= 0.9)]
        return rng.sample(best, min(good, len(best))), rng.sample(failed, min(bad, len(failed)))

# ---- prompts
def _texts(skill):
    """(prompt, worked example, prompt for the hint) of a skill's setting."""
    texts, tools = Path(__file__).with_name("envs_examples"), "_tools" * (skill in SKILLS["tools"])
    example = "tools/calendar_week.py" if tools else "vault.py"
    return [texts.joinpath(name).read_text() for name in (f"prompts/design{tools}.txt", example, f"prompts/hint{tools}.txt")]

def designer_prompt(skill, document, good, bad):
    """The full prompt: contract, worked example, document, memory."""
    def show(title, entries, verdict):
        return "".join(f"\n{title} ({verdict(e)}):\n```python\n{e['code'][:4000]}\n```\n" for e in entries)
    shown = show("An earlier game that worked well", good,
                 lambda e: f"solved {e['solve_rate']:.0%} of the time, the hint added {e['regret'] or 0:+.0%}")
    shown += show("An earlier game that did not", bad, lambda e: e["refusal"] or (
        "too easy" if e["solve_rate"] > 0.5 else "too hard"))
    source = f"\nDraw the theme and the facts from this text:\n{document['title']}\n{document['text']}\n" if document else ""
    prompt, example, _ = _texts(skill)
    return prompt.format(skill=skill, example=example, document=source, memory=shown)

# ---- from a reply to a program
class NoProgram(ValueError):
    """The reply holds no program; the message says why."""

def _parses(code):
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None

def extract_code(reply: str) -> str:
    """The program in a reply: the longest fenced block that parses, best one with an environment. Raises NoProgram.

    Thinking is removed first; fences may be ``` or ~~~, indented, of any language; one inside a string ends no block; one
    without an end counts if it parses and its last line is whole. Without any fence the whole reply is taken."""
    text = strip_thinking(reply).replace("\r\n", "\n")
    if not text.strip():
        raise NoProgram("the reply ends inside its thinking" if reply.strip() else "the reply is empty")
    lines = text.split("\n")
    fences = [(n, m) for n, line in enumerate(lines) if (m := re.match(r"\s*(`{3,}|~{3,})(.*)$", line))]
    closed, unclosed = [], []
    for k, (start, opening) in enumerate(fences):
        ends = [n for n, m in fences[k + 1:] if m[1].startswith(opening[1]) and not m[2].strip()]
        closed += [textwrap.dedent("\n".join(lines[start + 1:end])) for end in ends[:20]]
        if not ends:
            unclosed.append(textwrap.dedent("\n".join(lines[start + 1:])) if not lines[-1] else "")
    closed = [code for code in closed if code.strip()]
    trees = [(code, tree) for code in (closed + unclosed if fences else [text]) if (tree := _parses(code)) and tree.body]
    environments = [code for code, tree in trees
                    if any(isinstance(n, ast.ClassDef) and n.name.endswith("Env") for n in tree.body)]
    if best := environments or fences and [code for code, _ in trees] or closed:
        return max(best, key=len).strip("\n") + "\n"            # if it does not parse, the sandbox will say why
    raise NoProgram("the code block is not closed and is incomplete: the reply was cut off" if unclosed else
                    "the reply holds no ```python block, nor is it a program that parses")

# ---- a design
@dataclasses.dataclass
class Design:
    """One environment, from prompt to regret."""
    skill: str
    document: int = None                # index in the corpus
    prompt: str = ""
    examples: list = ()                 # (step, index) of the memory entries in the prompt
    reply: str = ""
    code: str = None                    # None: the reply held no program
    sample: Sample = None               # None: a fixed pool's program, which nobody wrote
    refusal: str = None                 # "kind: detail"; None: admitted
    verdict: dict = None
    hint: object = None
    plain: list = dataclasses.field(default_factory=list)       # Trajectories of the window's first step, G each
    hinted: list = dataclasses.field(default_factory=list)
    returns: list = dataclasses.field(default_factory=list)     # sound plain returns over the whole window
    timed_out: bool = False
    regret: float = None
    regret_se: float = None
    now: tuple = ((), ())               # Trajectories of this step: plain, hinted

    @property
    def solve_rate(self):
        return sum(self.returns) / len(self.returns) if self.returns else None

    def refuse(self, kind, detail):
        self.refusal = f"{kind}: {detail}"

def _ask(policy, prompts, temperature, budget, rng, slots, reference=False):
    """(Sample, reply) of each prompt."""
    def talk(prompt):
        sample = Sample(temperature=temperature, role="designer")
        tokens = yield from sample.say(policy.chat.first(prompt), budget, policy.chat.ends)
        return sample, policy.chat.decode(tokens)
    with generating(policy, reference):
        return Engine(policy, slots).run(map(talk, prompts), temperature, rng.random())

def design(policy, memory, documents, skills, temperature, max_tokens, rng, slots=64, reference=False):
    """Eq. 1: one Design per entry of `skills`. `reference` writes with the untrained model (a frozen designer)."""
    designs = []
    for skill in skills:
        index = rng.randrange(len(documents)) if documents else None
        document = documents[index] if documents else None
        good, bad = memory.examples(skill, rng)
        if policy.pocket:
            bad = [e for e in bad if e["solve_rate"] is not None]
            prompt = pocket.designer_prompt(skill, document, good, bad)
        else:
            prompt = designer_prompt(skill, document, good, bad)
        designs.append(Design(skill, index, prompt, [(e["step"], e["index"]) for e in good + bad]))
    replies = _ask(policy, [d.prompt for d in designs], temperature, max_tokens, rng, slots, reference)
    for d, (d.sample, d.reply) in zip(designs, replies):
        try:
            d.code = extract_code(d.reply + "\n" * (not d.sample.cut))        # a finished reply ends its line
        except NoProgram as error:
            room = "" if any(d.sample.mask) else "; the prompt fills the context, raise --max_context"
            d.refuse("truncated" if d.sample.cut else "no_program", str(error) + room)
    return designs

def write_hints(policy, designs, temperature, max_tokens, rng, slots=64):
    """Eq. 2: the policy reads each program and writes its hint. An empty reply gives no hint."""
    prompts = [_texts(d.skill)[2].format(code=d.code) for d in designs]
    for d, (_, reply) in zip(designs, _ask(policy, prompts, temperature, max_tokens, rng, slots)):
        d.hint = strip_thinking(reply).strip()[:2000] or None

def main():
    options, policy = command_line(argparse.ArgumentParser(description="Write one environment and judge it."))
    rng = random.Random(options.seed)
    skill = rng.choice(pocket.SKILLS[policy.pocket] if policy.pocket else SKILLS["games"])
    documents, _ = load_corpus(pocket.CORPUS)
    made = design(policy, Memory(1), documents, [skill], 1.0 if policy.pocket else 0.6,
                  250 if policy.pocket else 1500, rng)[0]
    print(made.prompt, made.reply, sep="\n---\n", end="\n---\n")
    if made.code:
        with Sandbox(allow_weak=options.allow_weak_sandbox) as sandbox:
            verdict = sandbox.check(made.code)
        made.refusal = made.refusal or "; ".join(f"{f.kind}: {f.detail}" for f in verdict.failures) or None
    print(f"refused, {made.refusal}" if made.refusal else "admitted")

if __name__ == "__main__":
    main()
