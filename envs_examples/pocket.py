"""The pocket model: a 0.97M-parameter chat model, made on the spot, that plays both roles of SPADE.

Nothing is downloaded: this file holds the curriculum, trains the tokenizer, and warm-starts a Qwen3-shaped transformer
by imitation for a couple of minutes. The result is an ordinary model directory. From there on the pocket model is
treated like any other chat model: it writes whole Python programs token by token, and those are executed, played and
learned from by the code that serves an 8B model. Only the two prompts are shorter (the last functions of this file).

The curriculum is a ladder. Three families of games are played with four words, up, right, down and left:

    lift   "floor 3 goal 5": ride to the goal; there are LEVEL floors
    door   "door f": one word opens each letter, by a fixed table; LEVEL letters are in use
    dial   "dial 7": the word is the number modulo four; numbers go up to LEVEL

Programs are composed: a game of locks shows doors, dials or both, and an error ends it or costs a turn of one to spare.
Each level adds one fact. The warm start demonstrates levels 2 and 3 only; at unseen symbols its teacher acts at random,
so a level is learnable by trial from the level below, because most of an episode is already mastered. The untrained
designer prefers level 3 with a thin tail (P(3 + j) ~ 0.3^j, 5 % evenly), and three in ten of its programs are near a good
example in its prompt: whether the curriculum climbs is up to self-play.
Forty percent of the demonstrations carry a hint, and at unseen levels the hint is *random and copied*: the model learns
to follow hints without being told a single fact about the upper levels.
"""
import hashlib
import importlib
import json
import os
import random
import re
import sys
import tempfile
from pathlib import Path

CORPUS = Path(__file__).with_name("corpus.jsonl")
SKILLS = {"games": ("lift", "door", "dial"), "tools": ("desk", "store")}      # the latter: pocket_tools.py
NAMES = ("pocket", "pocket-tools")
WORDS = ("up", "right", "down", "left")
LEVELS = tuple(range(3, 13))
TAUGHT, KNOWN = 3, tuple("abc123")           # the highest level that the teacher demonstrates, and its locks

HEAD = '''class {name}Env:
    LEVEL, TURNS, HINT = {level}, {turns}, {hint}
    def reset(self, seed):
        rng = random.Random(seed)
        self.turn = 0
'''
LIFT = '''        floors = range(self.LEVEL)
        self.floor = rng.choice(floors)
        self.goal = rng.choice([k for k in floors if 0 < abs(k - self.floor) <= self.TURNS])
        return "{theme}. " + self.look(), {{}}
    def look(self):
        return f"floor {{self.floor}} goal {{self.goal}}"
    def hint(self):
        return " ".join((["up"] * (self.goal - self.floor) + ["down"] * (self.floor - self.goal))[:self.HINT])
    def step(self, action):
        self.turn += 1
        word = action[7:-1]
        self.floor += (word == "up") - (word == "down")
        won = self.floor == self.goal
        return self.look(), float(won), won, self.turn >= self.TURNS, {{}}
'''
LOCKS = '''        word = "up right down left".split()
        {locks}
        self.locks = rng.choices(locks, k=self.TURNS)
        self.open = 0
        return "{theme}. " + self.look(), {{}}
    def look(self):
        return self.locks[self.open][0]
    def hint(self):
        return " ".join(word for lock, word in self.locks[:self.HINT])
    def step(self, action):
        self.turn += 1
        right = action[7:-1] == self.locks[self.open][1]
        self.open += right
        won = self.open == self.TURNS
        {error}
        return "end" if over else self.look(), float(won), over, False, {{}}
'''
SEEN = {"door": 'locks = [("door " + "abcdefghijkl"[k], word[k * 7 // 3 % 4]) for k in range(self.LEVEL)]',
        "dial": 'locks = [(f"dial {k}", word[k % 4]) for k in range(1, self.LEVEL + 1)]'}
ERRORS = ("over = won or not right", "over = won or self.turn > self.TURNS")
CONFIG = re.compile(r"^    (LEVEL, TURNS, HINT = \d+, \d+, \d+)$", re.M)


def program(skill: str, level: int, turns: int, hint: int, theme: str, both=False, patient=False) -> str:
    """The source of one environment: `turns` moves at difficulty `level`; its hint shows the first `hint` of them. Games of
    locks may show `both` kinds, and be `patient` with one error."""
    locks = SEEN.get(skill, "")
    if both:
        locks = "\n        ".join([SEEN["door"], SEEN["dial"].replace("=", "+=", 1)])
    head = HEAD.format(name=skill.capitalize(), level=level, turns=turns, hint=hint)
    return head + (LIFT if skill == "lift" else LOCKS).format(theme=theme, locks=locks, error=ERRORS[patient])


# ------------------------------------------------------------------------------------ the warm start's demonstrations

def _prior(rng):
    level = rng.choices(LEVELS, [0.3 ** j for j in range(len(LEVELS))])[0] if rng.random() < 0.95 else rng.choice(LEVELS)
    return level, rng.randint(2, 3), rng.randint(0, 2)


def _near(config, rng):
    """`config` with one of its numbers one up or down: mostly a copy, which is what a small model learns first."""
    moved = rng.randrange(3)
    return tuple(max(low, min(high, x + rng.choice([-1, 1]) * (k == moved)))
                 for k, (x, low, high) in enumerate(zip(config, (2, 2, 0), (LEVELS[-1], 3, 2))))


def _mechanics(skill, rng):     # both, patient
    return () if skill == "lift" else (rng.random() < 0.3, rng.random() < 0.3)


def write_program(skills, program, mechanics, documents, rng):
    """One (prompt, program) pair. Good examples in the prompt have any level; the program's turns and hint are near those
    of the last of them, and in three of ten its level is."""
    skill, document = rng.choice(skills), rng.choice(documents)
    good = [(rng.choice(LEVELS), *_prior(rng)[1:]) for _ in range(rng.randint(1, 2) if rng.random() < 0.7 else 0)]
    config = _prior(rng)
    if good:
        near = _near(good[-1], rng)
        config = (near[0] if rng.random() < 0.3 else config[0], *near[1:])
    good, bad = ([dict(code=program(skill, *c, "x"), solve_rate=rng.choice([0.0, 1.0])) for c in configs]
                 for configs in (good, [_prior(rng) for _ in range(rng.randint(0, 2))]))
    prompt = designer_prompt(skill, document if rng.random() < 0.9 else None, good, bad)
    return [(prompt, program(skill, *config, f"{document['title']} {skill}", *mechanics(skill)))]


def designer_demonstration(documents, rng):
    return write_program(SKILLS["games"], program, lambda skill: _mechanics(skill, rng), documents, rng)


_classes = {}


def agent_demonstration(documents, rng, accuracy=0.98):
    """One episode as (prompt, reply) turns: right with `accuracy` where the teacher knows, uniformly random elsewhere."""
    skill, theme = rng.choice(SKILLS["games"]), rng.choice(documents)["title"]
    hinted = rng.random() < 0.4
    unseen = rng.random() < (0.5 if hinted else 0.2)
    level = rng.randint(TAUGHT + 1, LEVELS[-1]) if unseen else rng.randint(TAUGHT - 1, TAUGHT)
    turns, hint = rng.randint(2, 4), max(int(hinted), rng.randint(0, 3))
    key = skill, level, turns, hint, f"THEME {skill}", *_mechanics(skill, rng)
    if key not in _classes:
        namespace = {"random": random}
        exec(program(*key), namespace)                  # our own text, not a model's
        _classes[key] = namespace[skill.capitalize() + "Env"]
    env = _classes[key]()
    observation = env.reset(rng.randrange(10 ** 6))[0].replace("THEME", theme)
    hint = env.hint().split() if hinted else []
    if unseen:
        hint = [rng.choice(WORDS) for _ in hint]
    turns = []
    while True:
        if skill == "lift":
            right, known = ("up" if env.goal > env.floor else "down"), 0 <= env.floor < TAUGHT and env.goal < TAUGHT
        else:
            lock, right = env.locks[env.open]
            known = lock[5:] in KNOWN
        if len(turns) < len(hint):
            word = hint[len(turns)]
        else:
            word = right if known and rng.random() < accuracy else rng.choice(WORDS)
        turns.append((agent_prompt(observation, " ".join(hint) if not turns else None), f"\\boxed{{{word}}}"))
        if unseen and skill != "lift":
            word = right                # at unseen levels a chain goes on whatever was answered: it shows the format
        observation, _, terminated, truncated, _ = env.step(f"\\boxed{{{word}}}")
        if terminated or truncated:
            return turns


# ---------------------------------------------------------------------------------------------- tokenizer and weights

USER, ASSISTANT, END, PAD = "<|im_start|>user\n", "<|im_start|>assistant\n", "<|im_end|>", "<|pad|>"
TEMPLATE = ("{% if tools %}<|im_start|>system\ntools:{% for t in tools %} {{ t.function.name }}"
            "({{ t.function.parameters.properties | join(', ') }}){% endfor %}<|im_end|>{% endif %}"
            "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>{% endfor %}"
            "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")


ALONE = r"\d|\n *|\b(up|right|down|left)\b|(?<=[ ])[a-l](?=[ .\n]|$)"


def _tokenizer(texts, alone=ALONE, vocab_size=896):
    """Byte-level BPE whose merges run across the words of a line, so that a program is about 75 tokens.

    Digits, direction words and single letters stay tokens of their own: the facts to be learned are about them."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(alone), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    raw.decoder = decoders.ByteLevel()
    markers = [PAD, "<|im_start|>", END]
    raw.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=vocab_size - 1, special_tokens=markers, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    raw.add_tokens([AddedToken("\\boxed{", normalized=False)])
    return PreTrainedTokenizerFast(tokenizer_object=raw, pad_token=PAD, eos_token=END, chat_template=TEMPLATE,
                                   additional_special_tokens=["<|im_start|>"], clean_up_tokenization_spaces=False)


def _new_model(vocab_size, setting="games"):
    from transformers import Qwen3Config, Qwen3ForCausalLM
    return Qwen3ForCausalLM(Qwen3Config(
        vocab_size=vocab_size, hidden_size=128, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=4,
        head_dim=32, intermediate_size=384, max_position_embeddings=1024, tie_word_embeddings=True,
        pad_token_id=0, bos_token_id=None, eos_token_id=2, pocket=setting))


def build(directory: Path, setting="games", steps=681, programs=8, episodes=32, seed=0) -> None:
    """Train the tokenizer and the warm-started model and save both in `directory` (two to four minutes on two cores)."""
    import torch
    from tqdm import tqdm
    rng = random.Random(seed)
    torch.manual_seed(seed)
    documents = [json.loads(line) for line in CORPUS.open()]
    world = sys.modules[__name__] if setting == "games" else importlib.import_module("envs_examples.pocket_tools")
    roles = [[world.designer_demonstration(documents, rng) for _ in range(3000)],
             [world.agent_demonstration(documents, rng) for _ in range(22000)]]
    sample = roles[0][:600] + roles[1][:3000]
    tokenizer = _tokenizer([t.replace("\\boxed{", "") for turns in sample for pair in turns for t in pair], world.ALONE)

    def encode(turns):      # -> token ids [T] and the weight of each in the loss: 0 in prompts, and more on the few
        ids, weights = [], []                       # tokens of a program that are a choice
        for prompt, reply in turns:
            new = tokenizer.encode((prompt if prompt.startswith("<|") else USER + prompt) + END + ASSISTANT)
            out = tokenizer.encode(reply + END)
            ids, weights = ids + new + out, weights + [0.0] * len(new) + [1.0] * len(out)
            if config := CONFIG.search(reply):
                begin, end = (len(tokenizer.encode(reply[:at])) - len(out)
                              for at in (reply.index("= ", config.start()) + 2, config.end()))
                weights[begin:end] = [6.0] * (end - begin)
        return ids, weights
    roles = [[encode(turns) for turns in role] for role in roles]
    model = _new_model(len(tokenizer), setting)
    matrices = [p for n, p in model.named_parameters() if p.ndim == 2 and "embed" not in n]
    others = [p for n, p in model.named_parameters() if p.ndim != 2 or "embed" in n]
    optimizers = [torch.optim.Muon(matrices, lr=0.02, weight_decay=0.05, momentum=0.95),
                  torch.optim.AdamW(others, lr=3e-3, betas=(0.9, 0.98), weight_decay=0.0)]
    peak = [o.param_groups[0]["lr"] for o in optimizers]
    bar = tqdm(range(steps), desc="warm-starting the pocket model (once)", file=sys.stderr, mininterval=1.0)
    for step in bar:
        losses = []
        for role, size in zip(roles, (programs, episodes)):
            rows = [role[(step * size + i) % len(role)] for i in range(size)]
            longest = max(len(ids) for ids, _ in rows)
            ids = torch.tensor([i + [0] * (longest - len(i)) for i, _ in rows])             # [rows, T], right-padded:
            weight = torch.tensor([w + [0.0] * (longest - len(w)) for _, w in rows])[:, 1:]  # causal, so no mask needed
            learned = weight > 0
            hidden, weight = model.model(ids[:, :-1]).last_hidden_state[learned], weight[learned]
            loss = torch.nn.functional.cross_entropy(model.lm_head(hidden), ids[:, 1:][learned], reduction="none")
            losses.append((loss * weight).sum() / weight.sum())
        (sum(losses) / 2).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        done = step / steps
        for optimizer, lr in zip(optimizers, peak):
            optimizer.param_groups[0]["lr"] = lr * min(1, (step + 1) / 30) * (1 - 0.95 * max(0, (done - 0.2) / 0.8))
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        bar.set_postfix_str(f"designer {losses[0].item():.3f} agent {losses[1].item():.3f}", refresh=False)
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)


def cached(name="pocket") -> Path:
    """A pocket model's directory; built on first use, in a cache keyed by everything that determines the weights."""
    import tokenizers
    import torch
    import transformers
    key = hashlib.sha256(Path(__file__).read_bytes() + CORPUS.read_bytes())
    if name == "pocket-tools":
        key.update(b"".join(Path(__file__).with_name(f).read_bytes() for f in ("pocket_tools.py", "contract.py")))
    key.update(f"{torch.__version__} {transformers.__version__} {tokenizers.__version__}".encode())
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nanospade"
    directory = root / f"{name}-{key.hexdigest()[:12]}"
    if not directory.exists():
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=root) as aside:    # written aside and renamed: never half a model
            torch.set_num_threads(os.cpu_count() or 1)          # whatever the launcher chose: this is worth all cores
            build(Path(aside) / "model", **(dict(setting="tools", programs=6) if name == "pocket-tools" else {}))
            try:
                (Path(aside) / "model").rename(directory)
            except OSError:                                     # another process was faster: its copy is as good
                if not directory.exists():
                    raise
    return directory


# --------------------------------------------------------------------------------------------------------- the prompts

def designer_prompt(skill: str, document, good, bad) -> str:
    """The designer's prompt in the pocket dialect: memory is shown by its config lines, sorted by what was wrong."""
    def lines(entries):
        return " | ".join(match[1] for e in entries if (match := CONFIG.search(e["code"])))
    sections = {"easy": lines(e for e in bad if e["solve_rate"] > 0.5),
                "hard": lines(e for e in bad if e["solve_rate"] <= 0.5), "good": lines(good)}
    first = re.match(r"[^.]*\.?", document["text"])[0] if document else ""
    text = f"design {skill}\n" + (f"doc: {document['title']}. {first}\n" if document else "")
    return text + "".join(f"{name}: {value}\n" for name, value in sections.items() if value)


def agent_prompt(observation: str, hint=None) -> str:
    return observation + (f"\nhint: {hint}" if hint else "")


if __name__ == "__main__":
    print(program(*(sys.argv[1:2] or ["door"]), 5, 3, 1, "harbor"))
    print(f"# the pocket model is in {cached()}", file=sys.stderr)
