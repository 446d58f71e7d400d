"""How fast rollouts are, as ratios inside one run: python tests/bench_rollout.py [--episodes 8 32 64] [--turns 5] [--rounds 3]

Everything is measured in tokens per second of this process's CPU time at one thread, interleaved, median of `--rounds`, on a
Qwen3-shaped model with random weights (3.4M parameters; --hidden and --layers change it). An episode has `--turns` turns: a
prompt of 100 to 200 tokens, observations of 10 to 40, and replies whose lengths are drawn beforehand, so that all ways do the
same work: geometric with a mean of 48 tokens, at most 192, as of a model that may end at any token (or --uniform).

  generate      `model.generate` once a turn, all episodes in lockstep, left-padded, the cache thrown away between turns
  continuous    transformers' own continuous batching, one turn of all episodes at a time
  engine        model.Engine
  engine + env  the same, with a real environment in the sandbox between the turns
  bare loop     a forward call a token over a cache that is already there, and nothing else: the bound of decoding"""
import argparse, os, random, statistics, sys, time, warnings
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false", HF_HUB_OFFLINE="1")
sys.path.insert(0, str(Path(__file__).parents[1]))
import torch                                            # noqa: E402
from transformers import DynamicCache, GenerationConfig, Qwen3Config, Qwen3ForCausalLM           # noqa: E402

from model import Engine, Policy, Sample, SlotCache, generating, load_policy        # noqa: E402
from sandbox import Sandbox                             # noqa: E402

torch.set_num_threads(1)
warnings.filterwarnings("ignore")
NEVER = frozenset()                                     # replies end by their budget alone
PROGRAM = """
class TalkEnv:
    def reset(self, seed):
        return "ready", {}
    def step(self, action):
        return f"{len(action)} characters", 0.0, False, False, {}
"""


class Unwrapped(torch.nn.Module):
    """Stands in for the PeftModel: no adapter, so that all ways run exactly the same layers."""
    def __init__(self, model):
        super().__init__()
        self.model = model

    def get_base_model(self):
        return self.model


def make_policy(options):
    torch.manual_seed(0)
    config = Qwen3Config(vocab_size=1024, hidden_size=options.hidden, intermediate_size=3 * options.hidden, head_dim=64,
                         num_hidden_layers=options.layers, num_attention_heads=options.hidden // 64,
                         num_key_value_heads=max(1, options.hidden // 128), tie_word_embeddings=True,
                         max_position_embeddings=8192, eos_token_id=None, pad_token_id=0, bos_token_id=None)
    model = Qwen3ForCausalLM(config).eval()
    chat = type("Chat", (), {"ends": NEVER})()
    return Policy(Unwrapped(model), chat, False, options.context)


def workload(episodes, turns, options, seed=0):
    """[episode][turn] of (new token ids, forced reply length)."""
    rng = random.Random(seed)

    def ids(n):
        return [rng.randrange(2, 1024) for _ in range(n)]

    def reply():
        if options.uniform:
            return rng.randint(options.reply // 2, 3 * options.reply // 2)
        return min(max(4, round(rng.expovariate(1 / options.reply))), 4 * options.reply)
    return [[(ids(rng.randint(*(options.observation if turn else options.prompt))), reply())
             for turn in range(turns)] for _ in range(episodes)]


def talk(plan, env=None):
    sample = Sample()
    for turn, (ids, budget) in enumerate(plan):
        if env is not None:
            result = yield env, "step" if turn else "reset", "a" * turn if turn else 0
            assert type(result) is tuple, result
        yield from sample.say(ids, budget, NEVER)
    return sample


def measured(function):
    begin = time.process_time()
    tokens = function()
    return tokens / (time.process_time() - begin)


def run_engine(policy, plans, slots, sandbox=None):
    engine = Engine(policy, slots=slots)
    envs = [sandbox.make(PROGRAM) if sandbox else None for _ in plans]
    engine.run([talk(plan, env) for plan, env in zip(plans, envs)], 1.0, 0, sandbox)
    for env in envs:
        if env:
            env.close()
    assert engine.stats["generated"] == sum(budget for plan in plans for _, budget in plan)
    return engine.stats["generated"]


@torch.inference_mode()
def run_generate(policy, plans):
    """Every turn is one call; a row that is done early waits for the longest, as a padded batch makes it."""
    model, histories, made = policy.model.model, [[] for _ in plans], 0
    for turn in range(len(plans[0])):
        for history, plan in zip(histories, plans):
            history += plan[turn][0]
        longest, budgets = max(map(len, histories)), [plan[turn][1] for plan in plans]
        ids = torch.tensor([[0] * (longest - len(h)) + h for h in histories])
        mask = torch.tensor([[0] * (longest - len(h)) + [1] * len(h) for h in histories])
        out = model.generate(input_ids=ids, attention_mask=mask, max_new_tokens=max(budgets), do_sample=True, temperature=1.0,
                             top_k=0, top_p=1.0, pad_token_id=0)
        for history, row, budget in zip(histories, out[:, longest:].tolist(), budgets):
            history += row[:budget]
        made += sum(budgets)
    return made


def run_continuous(policy, plans):
    model, histories, made = policy.model.model, [[] for _ in plans], 0
    for turn in range(len(plans[0])):
        for history, plan in zip(histories, plans):
            history += plan[turn][0]
        budgets = [plan[turn][1] for plan in plans]
        # one budget a call: it takes the longest, and what a row makes beyond its own is not counted
        out = model.generate_batch(inputs=[list(h) for h in histories], generation_config=GenerationConfig(
            max_new_tokens=max(budgets), do_sample=True, temperature=1.0, top_k=0, eos_token_id=-1, pad_token_id=0), progress_bar=False)
        for history, request, budget in zip(histories, out.values(), budgets):
            history += request.generated_tokens[:budget]
        made += sum(budgets)
    return made


@torch.inference_mode()
def bare_loop(policy, rows, context, steps=48):
    """Forward calls of one token in `rows` rows that already hold `context` tokens: no sampling, no bookkeeping."""
    model, rates = policy.model.model, []
    body, head, cache = model.get_decoder(), model.get_output_embeddings(), DynamicCache(config=model.config)
    cache_of = SlotCache(policy, rows)
    body(input_ids=torch.full((rows, context), 3), use_cache=True, cache=cache)
    for own in (False, True):                           # a growing cache without a mask, or a ready one with a mask
        ids, begin = torch.full((rows, 1), 3), time.process_time()
        for at in range(context, context + steps):
            if own:
                cache_of.rows, cache_of.write, cache_of.end = slice(0, rows), torch.full((rows, 1), at), at + 1
                hidden = body(input_ids=ids, position_ids=cache_of.write, attention_mask=torch.ones(rows, 1, 1, at + 1, dtype=torch.bool),
                              use_cache=True, cache=cache_of).last_hidden_state
            else:
                hidden = body(input_ids=ids, position_ids=torch.full((rows, 1), at), use_cache=True, cache=cache).last_hidden_state
            ids = head(hidden[:, 0]).argmax(-1)[:, None]
        rates.append(rows * steps / (time.process_time() - begin))
    return max(rates)


def decode_rate(policy, rows, context, steps=48):
    """Tokens a second of the engine while it only decodes: rows that hold the same context as in the bare loop."""
    engine = Engine(policy, slots=rows)
    plan = [[([3] * (context + 1), steps + 1)] for _ in range(rows)]
    clock, step = [], engine._step

    def watched():                                      # the first step is the prefill
        step()
        clock.append(time.process_time())
    engine._step = watched
    engine.run([talk(p) for p in plan], 1.0, 0)
    return rows * (len(clock) - 1) / (clock[-1] - clock[0])


def slow_neighbour(policy, box, options):
    """How fast 15 episodes are, in tokens a second of real time, beside one more whose steps take 200 ms, or are fast too."""
    slow = PROGRAM.replace("return f", "time.sleep(0.2); return f")
    plans = workload(16, options.turns, options)

    def rate(with_slow):
        ends = []

        def timed(plan, env):
            yield from talk(plan, env)
            if plan is not plans[15]:
                ends.append(time.monotonic())
        envs = [box.make(PROGRAM) for _ in range(15)] + [box.make(slow if with_slow else PROGRAM)]
        begin = time.monotonic()
        Engine(policy, slots=16).run([timed(plan, env) for plan, env in zip(plans, envs)], 1.0, 0, box)
        for env in envs:
            env.close()
        return sum(budget for plan in plans[:15] for _, budget in plan) / (max(ends) - begin)
    rates = [(rate(True), rate(False)) for _ in range(options.rounds)]
    beside, fast = (statistics.median(values) for values in zip(*rates))
    print(f"15 episodes beside one with steps of 200 ms: {beside:,.0f} tokens/s, beside a fast one {fast:,.0f}: {beside / fast:.2f}")


def growth(policy, options):
    """Cost per token as the work grows: it should stay flat."""
    policy.max_context = 4096
    print("cost as the work grows (engine, 64 slots): microseconds of CPU a generated token, prefilled tokens included")
    for episodes, turns in [(8, 5), (32, 5), (64, 5), (256, 5), (64, 1), (64, 10), (64, 20)]:
        plans = workload(episodes, turns, options)
        generated = sum(budget for plan in plans for _, budget in plan)
        total = generated + sum(len(ids) for plan in plans for ids, _ in plan)
        rates = [measured(lambda: run_engine(policy, plans, 64)) for _ in range(options.rounds if episodes < 256 else 1)]
        seconds = generated / statistics.median(rates)
        print(f"{episodes:4} episodes x {turns:2} turns: {1e6 * seconds / generated:6.0f} a generated token, "
              f"{1e6 * seconds / total:5.0f} a token fed or generated")


def exactness(name):
    """The engine against `generate`, greedily, token for token: 32 conversations of three turns of a real chat model."""
    policy = load_policy(name, max_context=1024)
    words = ["What is the capital of France?", "Name a colour.", "Count to five.", "Say something about rain."]
    talks = [[f"{words[n % 4]} ({n})", "Why?", "And in one word?"] for n in range(32)]

    def talk_about(texts):
        sample = Sample()
        for n, text in enumerate(texts):
            yield from sample.say(policy.chat.then(text) if n else policy.chat.first(text), 24, policy.chat.ends)
        return sample
    same = total = 0
    with generating(policy):
        for texts, got in zip(talks, Engine(policy, slots=16).run([talk_about(texts) for texts in talks], 0, 0)):
            ids = []
            for n, text in enumerate(texts):
                ids += policy.chat.then(text) if n else policy.chat.first(text)
                out = policy.model.generate(input_ids=torch.tensor([ids]), attention_mask=torch.ones(1, len(ids)), max_new_tokens=24,
                                            do_sample=False, eos_token_id=list(policy.chat.ends), pad_token_id=0)[0].tolist()
                same, total, ids = same + sum(a == b for a, b in zip(out[len(ids):], got.ids[len(ids):])), total + len(out) - len(ids), out
    print(f"{name}: {same} of {total} greedy tokens equal those of generate")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, nargs="+", default=[8, 32, 64])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--prompt", type=int, nargs=2, default=(100, 200), help="tokens, from and to")
    parser.add_argument("--observation", type=int, nargs=2, default=(10, 40))
    parser.add_argument("--reply", type=int, default=48, help="mean tokens")
    parser.add_argument("--uniform", action="store_true", help="replies between a half and three halves of that: less waste for others")
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--context", type=int, default=2048, help="columns of the engine's cache")
    parser.add_argument("--growth", action="store_true", help="instead: cost against work")
    parser.add_argument("--only_engine", action="store_true")
    parser.add_argument("--exact", metavar="MODEL", help="instead: compare a chat model's greedy tokens with generate's")
    options = parser.parse_args()
    if options.exact:
        return exactness(options.exact)
    policy = make_policy(options)
    print(f"{sum(p.numel() for p in policy.model.parameters()):,} parameters; tokens a CPU second at one thread")
    if options.growth:
        return growth(policy, options)
    for episodes in options.episodes:
        plans = workload(episodes, options.turns, options)
        with Sandbox() as box:
            ways = {"engine": lambda: run_engine(policy, plans, episodes),
                    "engine + env": lambda: run_engine(policy, plans, episodes, box)}
            if not options.only_engine:
                ways |= {"generate": lambda: run_generate(policy, plans), "continuous": lambda: run_continuous(policy, plans)}
            rates = {name: [] for name in ways}
            for _ in range(options.rounds):
                for name, way in ways.items():
                    rates[name].append(measured(way))
        rates = {name: statistics.median(values) for name, values in rates.items()}
        print(f"{episodes} episodes x {options.turns} turns: " + ", ".join(f"{name} {rate:,.0f}" for name, rate in rates.items()))
        print("   engine / " + ", engine / ".join(f"{name} {rates['engine'] / rate:.2f}" for name, rate in rates.items() if name != "engine"))
    for rows in options.episodes:
        bare, engine = zip(*[(bare_loop(policy, rows, 384), decode_rate(policy, rows, 384)) for _ in range(options.rounds)])
        bare, engine = statistics.median(bare), statistics.median(engine)
        print(f"decoding only, {rows} rows: engine {engine:,.0f}, bare loop {bare:,.0f}: {engine / bare:.2f}")
    with Sandbox() as box:
        slow_neighbour(policy, box, options)


if __name__ == "__main__":
    main()
