"""The pocket model: a 0.97M-parameter chat model, made on the spot, that plays both roles of SPADE.

Nothing is downloaded: this file holds the curriculum, trains the tokenizer, and warm-starts a Qwen3-shaped transformer
by imitation for a couple of minutes. The result is an ordinary model directory. From there on the pocket model is
treated like any other chat model: it writes whole Python programs token by token, and those are executed, played and
learned from by the code that serves an 8B model. Only the two prompts are shorter (the last functions of this file).

The curriculum is a ladder. Three families of games are played with four words, up, right, down and left:

    lift   "floor 3 goal 5": ride to the goal; there are LEVEL floors
    door   "door f": one word opens each letter, by a fixed table; LEVEL letters are in use
    dial   "dial 7": the word is the number modulo four; numbers go up to LEVEL

Each level adds one fact. The warm start demonstrates levels 2 and 3 only; at unseen symbols its teacher acts at random,
so a level is learnable by trial from the level below, because most of an episode is already mastered. The untrained
designer prefers level 3 with a thin tail upwards (P(3 + j) ~ 0.4^j): whether the curriculum climbs is up to self-play.
Forty percent of the demonstrations carry a hint, and at unseen levels the hint is *random and copied*: the model learns
to follow hints without being told a single fact about the upper levels.
"""
import hashlib
import json
import os
import random
import re
import sys
import tempfile
from pathlib import Path

CORPUS = Path(__file__).with_name("corpus.jsonl")
SKILLS = ("lift", "door", "dial")
WORDS = ("up", "right", "down", "left")
LEVELS = tuple(range(3, 10))
TAUGHT = 3                                  # the highest level that the teacher demonstrates

HEAD = '''class {name}Env:
    LEVEL, TURNS, HINT = {level}, {turns}, {hint}
    def reset(self, seed):
        rng = random.Random(seed)
        self.turn = 0
'''
BODY = {"lift": '''        floors = range(self.LEVEL)
        self.floor = rng.choice(floors)
        self.goal = rng.choice([k for k in floors if 0 < abs(k - self.floor) <= self.TURNS])
        return "THEME lift. " + self.look(), {}
    def look(self):
        return f"floor {self.floor} goal {self.goal}"
    def hint(self):
        return " ".join((["up"] * (self.goal - self.floor) + ["down"] * (self.floor - self.goal))[:self.HINT])
    def step(self, action):
        self.turn += 1
        word = action[7:-1]
        self.floor += (word == "up") - (word == "down")
        won = self.floor == self.goal
        return self.look(), float(won), won, self.turn >= self.TURNS, {}
''', "door": '''        self.keys = [rng.randrange(self.LEVEL) for i in range(self.TURNS)]
        self.answers = ["up right down left".split()[int("0213021320"[k])] for k in self.keys]
        return "THEME door. " + self.look(), {}
    def look(self):
        return "door " + "abcdefghij"[self.keys[self.turn]]
''', "dial": '''        self.keys = [rng.randint(1, self.LEVEL) for i in range(self.TURNS)]
        self.answers = ["up right down left".split()[k % 4] for k in self.keys]
        return "THEME dial. " + self.look(), {}
    def look(self):
        return f"dial {self.keys[self.turn]}"
'''}
CHAIN = '''    def hint(self):
        return " ".join(self.answers[:self.HINT])
    def step(self, action):
        correct = action[7:-1] == self.answers[self.turn]
        self.turn += 1
        won = correct and self.turn == self.TURNS
        over = won or not correct
        return "end" if over else self.look(), float(won), over, False, {}
'''
CONFIG = re.compile(r"^    (LEVEL, TURNS, HINT = \d+, \d+, \d+)$", re.M)


def program(skill: str, level: int, turns: int, hint: int, theme: str) -> str:
    """The source of one environment: `turns` moves at difficulty `level`; its hint shows the first `hint` of them."""
    head = HEAD.format(name=skill.capitalize(), level=level, turns=turns, hint=hint)
    return head + (BODY[skill] + (CHAIN if skill != "lift" else "")).replace("THEME", theme)


# ------------------------------------------------------------------------------------ the warm start's demonstrations

def _prior(rng):
    level = rng.choices(LEVELS, [0.4 ** j for j in range(len(LEVELS))])[0]
    return level, rng.choices([2, 3, 4], [5, 3, 2])[0], rng.randint(0, 2)


def _near(config, rng):
    return tuple(max(low, min(high, x + rng.choice([-1, 0, 0, 1])))
                 for x, low, high in zip(config, (1, 2, 0), (9, 5, 3)))


def designer_demonstration(documents, rng):
    """One (prompt, program) pair. Half of the good examples in the prompt lie near the program that follows."""
    skill, document, config = rng.choice(SKILLS), rng.choice(documents), _prior(rng)

    def examples(count, near=0.0):
        return [dict(code=program(skill, *(_near(config, rng) if rng.random() < near else _prior(rng)), "x"),
                     solve_rate=rng.choice([0.0, 1.0])) for _ in range(count)]
    good = examples(rng.randint(1, 2), near=0.5) if rng.random() < 0.7 else []
    prompt = designer_prompt(skill, document, good, examples(rng.randint(0, 2)))
    return [(prompt, program(skill, *config, document["title"]))]


_classes = {}


def agent_demonstration(documents, rng, accuracy=0.98):
    """One episode as (prompt, reply) turns: right with `accuracy` where the teacher knows, uniformly random elsewhere."""
    skill, theme = rng.choice(SKILLS), rng.choice(documents)["title"]
    hinted = rng.random() < 0.4
    unseen = rng.random() < (0.5 if hinted else 0.2)
    level = rng.randint(TAUGHT + 1, LEVELS[-1]) if unseen else rng.randint(TAUGHT - 1, TAUGHT)
    key = skill, level, rng.randint(2, 4), max(int(hinted), rng.randint(0, 3))
    if key not in _classes:
        namespace = {"random": random}
        exec(program(*key, "THEME"), namespace)         # our own text, not a model's
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
            right, known = env.answers[env.turn], env.keys[env.turn] < TAUGHT + (skill == "dial")
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
TEMPLATE = ("{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>{% endfor %}"
            "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")


def _tokenizer(texts, vocab_size=896):
    """Byte-level BPE whose merges run across the words of a line, so that a program is about 65 tokens.

    Digits, direction words and single letters stay tokens of their own: the facts to be learned are about them."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast
    raw = Tokenizer(models.BPE())
    alone = r"\d|\n *|\b(up|right|down|left)\b|(?<=[ ])[a-j](?=[ .\n]|$)"
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


def _new_model(vocab_size):
    from transformers import Qwen3Config, Qwen3ForCausalLM
    return Qwen3ForCausalLM(Qwen3Config(
        vocab_size=vocab_size, hidden_size=128, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=4,
        head_dim=32, intermediate_size=384, max_position_embeddings=1024, tie_word_embeddings=True,
        pad_token_id=0, bos_token_id=None, eos_token_id=2, is_pocket=True))


def build(directory: Path, steps=681, programs=6, episodes=32, seed=0) -> None:
    """Train the tokenizer and the warm-started model and save both in `directory` (about two minutes on two cores)."""
    import torch
    from tqdm import tqdm
    rng = random.Random(seed)
    torch.manual_seed(seed)
    documents = [json.loads(line) for line in CORPUS.open()]
    roles = [[designer_demonstration(documents, rng) for _ in range(3000)],
             [agent_demonstration(documents, rng) for _ in range(22000)]]
    sample = roles[0][:600] + roles[1][:3000]
    tokenizer = _tokenizer([t.replace("\\boxed{", "") for turns in sample for pair in turns for t in pair])

    def encode(turns):                      # -> token ids [T] and 1 where the reply (and its end marker) is learned
        ids, mask = [], []
        for prompt, reply in turns:
            new = tokenizer.encode(USER + prompt + END + ASSISTANT)
            out = tokenizer.encode(reply + END)
            ids, mask = ids + new + out, mask + [0] * len(new) + [1] * len(out)
        return ids, mask
    roles = [[encode(turns) for turns in role] for role in roles]
    model = _new_model(len(tokenizer))
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
            mask = torch.tensor([m + [0] * (longest - len(m)) for _, m in rows])[:, 1:] > 0  # causal, so no mask needed
            hidden = model.model(ids[:, :-1]).last_hidden_state[mask]
            losses.append(torch.nn.functional.cross_entropy(model.lm_head(hidden), ids[:, 1:][mask]))
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


def cached() -> Path:
    """The pocket model's directory; built on first use, in a cache keyed by everything that determines the weights."""
    import tokenizers
    import torch
    import transformers
    key = hashlib.sha256(Path(__file__).read_bytes() + CORPUS.read_bytes())
    key.update(f"{torch.__version__} {transformers.__version__} {tokenizers.__version__}".encode())
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nanospade"
    directory = root / f"pocket-{key.hexdigest()[:12]}"
    if not directory.exists():
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=root) as aside:    # written aside and renamed: never half a model
            torch.set_num_threads(os.cpu_count() or 1)          # whatever the launcher chose: this is worth all cores
            build(Path(aside) / "model")
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
    sections = {"good": lines(good), "easy": lines(e for e in bad if e["solve_rate"] > 0.5),
                "hard": lines(e for e in bad if e["solve_rate"] <= 0.5)}
    first = re.match(r"[^.]*\.?", document["text"])[0] if document else ""
    text = f"design {skill}\n" + (f"doc: {document['title']}. {first}\n" if document else "")
    return text + "".join(f"{name}: {value}\n" for name, value in sections.items() if value)


def agent_prompt(observation: str, hint=None) -> str:
    return observation + (f"\nhint: {hint}" if hint else "")


if __name__ == "__main__":
    print(program(*(sys.argv[1:2] or ["door"]), 5, 3, 1, "harbor"))
    print(f"# the pocket model is in {cached()}", file=sys.stderr)
