"""nanoSPADE: self-play in which one language model writes the environments that it then learns to solve.

A step of SPADE (Self-Play in Adaptive Synthetic Executable Environments, arXiv 2608.19197), as `train` below runs it:

    design    the designer writes E programs from a document and from memory                       eq. 1
    check     the sandbox admits or refuses each of them by name
    hint      a privileged hint for each admitted one                                              eq. 2
    play      the agent plays G seeds of each, without and with the hint, the same seeds in both   eqs. 3, 4
    regret    mean return with the hint minus mean return without                                  eqs. 5-7
    update    one policy gradient on both roles, on one set of LoRA weights                        eqs. 8-12

    accelerate launch train.py                the pocket model: no download, five minutes on two cores

Each process designs and plays its own share of the E environments; rewards, metrics and memory are gathered, gradients
summed. What is drawn is a function of (seed, step, process), so that a resumed run draws what the killed one would have.
Designs are renewed every K = `regenerate_every` steps: the regret is taken at the first step of such a window, the solve
rate over all of it, and the designer learns at its end. Left out: sharded base weights, asynchronous rollouts.
"""
import collections, contextlib, dataclasses, datetime, difflib, json, os, random, re, statistics, sys, time
from argparse import ArgumentDefaultsHelpFormatter
from dataclasses import dataclass, field
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.utils import InitProcessGroupKwargs, broadcast_object_list, gather_object
from peft import get_peft_model_state_dict, set_peft_model_state_dict
from transformers import HfArgumentParser

import regret
from agent import PROGRAM_HINT, UNSEEN_HINT, evaluate, play, self_test, solve_rates, swap_hints
from designer import SKILLS, Design, Memory, design, load_corpus, load_pool, write_hints
from envs_examples import pocket, runs, suites
from envs_examples.recipes import RECIPES, TOOLS
from model import load_policy, update
from sandbox import Limits, Sandbox

HERE = Path(__file__).parent

def flag(default, help, **more):
    return field(default=default, metadata={"help": help, **more})

@dataclass
class Config:
    """Defaults are those of the pocket model; --recipe replaces them, and a flag that is given always wins."""
    model: str = flag("pocket", "pocket, pocket-tools (made here), a hub name, or the directory of a chat model")
    recipe: str = flag("auto", "a set of defaults: pocket, small (one GPU or a patient CPU), paper (the release's); "
                       "auto: pocket for the pocket model, else small", choices=["auto", "pocket", "small", "paper"])
    output_dir: str = flag("", "where the run's files go; if not given, runs/ and the model and time")
    resume: bool = flag(False, "continue the run in --output_dir from its last checkpoint, with its settings")
    steps: int = flag(100, "training steps")
    seed: int = flag(0, "seed of everything that is drawn")
    # the method, and its ablations
    designs_per_step: int = flag(8, "E: environments in play, over all processes")
    plays_per_arm: int = flag(8, "G: plays of an environment in each arm, on the same seeds")
    regenerate_every: int = flag(1, "K: steps between new environments; the designer learns at the end of each window")
    designer_reward: str = flag("blend", "what the designer is paid (eq. 7): " + ", ".join(regret.KINDS),
                                choices=list(regret.KINDS))
    train_designer: bool = flag(True, "train the designer; if false, the untrained model keeps writing environments")
    memory_size: int = flag(120, "environments remembered and shown to the designer; 0: no memory")
    corpus: str = flag(str(pocket.CORPUS), "JSON lines with `text` or `orig_doc` to ground designs on; none: no documents")
    pool: str = flag("", "a folder of programs, or JSON lines with `code`: play these and have no designer")
    hint: str = flag("program", "who writes the privileged hint: policy (reads the program), program (its own hint()), "
                     "none", choices=["policy", "program", "none"])
    train_on_hinted: bool = flag(True, "the agent also learns from its hinted plays, with their own baseline")
    train_on_cut: bool = flag(True, "replies that ran into their token budget train as failures; if false they are left out")
    setting: str = flag("games", "what is designed: text games, or tasks for tools", choices=["games", "tools"])
    skills: str = flag("", "comma-separated skills to design for; if not given, all that the model has prompts for")
    skills_active: int = flag(2, "skills drawn for each regeneration; 0: all")
    refused_reward: float = flag(-0.2, "what a refused design earns")
    # sampling
    temperature: float = flag(1.0, "of the agent; part of the policy, so log-probabilities include it")
    designer_temperature: float = flag(1.0, "of the designer, likewise")
    hint_temperature: float = flag(0.3, "of the hint's writer")
    turn_tokens: int = flag(8, "token budget of one reply of the agent")
    designer_tokens: int = flag(160, "token budget of a design")
    hint_tokens: int = flag(256, "token budget of a hint")
    max_context: int = flag(320, "token budget of a whole episode, or of a designer's prompt and reply")
    thinking: bool = flag(True, "let templates that know a thinking mode (Qwen3) use it")
    max_turns: int = flag(25, "turns offered to a program; it may choose fewer")
    slots: int = flag(64, "episodes decoded at once; the cache takes slots x max_context tokens")
    # the update
    learning_rate: float = flag(7e-4, "of AdamW")
    train_embeddings: bool = flag(True, "train the token embeddings too (the pocket model needs it)")
    lora_rank: int = flag(64, "rank of the adapter")
    lora_alpha: int = flag(128, "scale of the adapter, times its rank")
    weight_decay: float = flag(0.0, "of AdamW")
    clip_low: float = flag(0.2, "the ratio is clipped below at 1 - this (eq. 10)")
    clip_high: float = flag(0.28, "the ratio is clipped above at 1 + this (eq. 10)")
    kl_coef: float = flag(0.0, "weight of the KL to the base model (eq. 10)")
    explore_coef: float = flag(0.03, "keep trying what the base would try, where it is undecided (eq. 11)")
    anchor_coef: float = flag(1.0, "both roles stay with the base where that is decided (eq. 12)")
    minibatches: int = flag(3, "optimizer steps for one batch of samples")
    max_grad_norm: float = flag(0.1, "gradient clipping, for each role by itself")
    microbatch_tokens: int = flag(1536, "padded tokens of one forward and backward pass")
    gradient_checkpointing: bool = flag(False, "save memory for half more time")
    dtype: str = flag("auto", "of the base weights: float32, bfloat16, or auto (bfloat16 on a GPU)",
                      choices=["auto", "float32", "bfloat16"])
    # watching
    eval_every: int = flag(25, "steps between evaluations on the held-out suite; 0: never")
    eval_plays: int = flag(12, "plays of each held-out file in an evaluation")
    eval_suite: str = flag(str(HERE / "envs_examples/heldout"), "a suite that is only evaluated (envs_examples/suites.py)")
    sample_every: int = flag(20, "steps between printed pairs of plays; 0: never")
    save_every: int = flag(10, "steps between checkpoints")
    log_with: str = flag("", "a tracker that accelerate knows: tensorboard, wandb, ... (its package must be installed)")
    allow_weak_sandbox: bool = flag(False, "run although the kernel offers no seccomp filter: only for trusted programs")

class Help(ArgumentDefaultsHelpFormatter):
    """One spelling a flag; the parser's second ones (--no_x, dashes) work too but would drown the page."""
    def add_argument(self, action):
        if not action.option_strings[0].startswith("--no_"):
            super().add_argument(action)

    def _format_action_invocation(self, action):
        return action.option_strings[0]

def parse_config(argv=None) -> Config:
    """The command line, on top of a resumed run's settings, on top of the recipe."""
    parser = HfArgumentParser(Config, usage="accelerate launch train.py [--flag value ...]", allow_abbrev=False,
                              description=__doc__.split("\n\n")[0],
                              formatter_class=lambda prog: Help(prog, max_help_position=28, width=120))
    known = parser.parse_known_args(argv)[0]
    stored = Path(known.output_dir) / "config.json"
    if known.resume and not (known.output_dir and stored.exists()):
        parser.error("--resume needs --output_dir to name the directory of a run (it holds a config.json)")
    stored = json.loads(stored.read_text()) if known.resume else {}
    given = known.recipe if known.recipe != "auto" else stored.get("recipe")
    recipe = given or ("pocket" if known.model in pocket.NAMES else "small")
    parser.set_defaults(**RECIPES[recipe] | (TOOLS[recipe] if known.setting == "tools" else {}) | stored)
    cfg, rest = parser.parse_args_into_dataclasses(argv, return_remaining_strings=True)
    for word in rest:
        near = difflib.get_close_matches(word.split("=")[0], parser._option_string_actions, 1)
        parser.error(f"unknown argument {word}" + (f"; did you mean {near[0]}?" if near else ""))
    if cfg.hint == "none" and not cfg.pool and cfg.designer_reward in ("regret", "blend") and cfg.train_designer:
        parser.error("--hint none leaves no regret: add --designer_reward solve_rate or learning_potential")
    for name, low in dict(steps=1, designs_per_step=1, plays_per_arm=2, regenerate_every=1, minibatches=1, save_every=1,
                          eval_plays=1, turn_tokens=1, memory_size=0, temperature=0.01, designer_temperature=0.01).items():
        if getattr(cfg, name) < low:
            parser.error(f"--{name} must be at least {low}, got {getattr(cfg, name)}")
    return dataclasses.replace(cfg, recipe=recipe)

# ---- the loop
def train(cfg, accelerator, out, policy, optimizer, sandbox, documents, pool, skills, suite, start, memory, slow):
    rank, world = accelerator.process_index, accelerator.num_processes
    E, G, K = cfg.designs_per_step, cfg.plays_per_arm, cfg.regenerate_every
    mine, opened = range(rank, E, world), start     # this process's environments; the step that opened their window
    for step in range(start, cfg.steps):
        metrics, closing = {}, step % K == K - 1 or step == cfg.steps - 1
        opening = step % K == 0 or step == start            # a resumed run opens a window of its own
        opened = step if opening else opened
        shared, own = random.Random(f"{cfg.seed}/{step}"), random.Random(f"{cfg.seed}/{step}/{rank}")

        if opening and pool:
            chosen = shared.choices(pool, k=E) if len(pool) < E else shared.sample(pool, E)
            designs = [Design(skill, code=code) for code, skill in (chosen[i] for i in mine)]
        elif opening:
            active = shared.sample(skills, min(cfg.skills_active or len(skills), len(skills)))
            with timed("design", metrics):  # eq. 1
                designs = design(policy, memory, documents, [active[i % len(active)] for i in mine],
                                 cfg.designer_temperature, cfg.designer_tokens, own, cfg.slots, not cfg.train_designer)
            with timed("check", metrics):
                check(designs, sandbox, cfg)
            with timed("hint", metrics):  # eq. 2
                if cfg.hint == "policy":
                    admitted = [d for d in designs if not d.refusal]
                    write_hints(policy, admitted, cfg.hint_temperature, cfg.hint_tokens, own, cfg.slots)

        with timed("play", metrics):  # eqs. 3, 4
            seeds = [[shared.randrange(10 ** 6) for _ in range(G)] for _ in range(E)]           # [E, G], both arms
            live = [(d, seeds[i]) for d, i in zip(designs, mine) if not d.refusal]
            jobs = [(d, False, s) for d, row in live for s in row]
            jobs += [(d, True, s) for d, row in live for s in row if opening and d.hint is not None]
            hints = [d.hint if hinted else UNSEEN_HINT if d.hint is PROGRAM_HINT else None for d, hinted, _ in jobs]
            plays, tokens = play(policy, sandbox, [(d.code, s, hint) for (d, _, s), hint in zip(jobs, hints)],
                                 cfg.temperature, cfg.turn_tokens, cfg.slots, own.random())
        for d in designs:
            d.now = [[p for (e, hinted, _), p in zip(jobs, plays) if e is d and hinted == arm] for arm in (False, True)]
            if opening:
                d.plain, d.hinted = d.now
            score(d, opening)  # eq. 5

        samples = [sample for d in designs for sample in agent_samples(d, cfg)]  # eq. 8
        records = gather_object([record(d, i, opened) for d, i in zip(designs, mine)])
        records.sort(key=lambda r: r["index"])
        if closing and not pool:
            rewards = reward_designs(records, slow, cfg)  # eqs. 6, 7
            advantages = regret.designer_advantages(rewards, [r["skill"] for r in records])  # eq. 9
            weight = regret.role_scale(len(records), sum(gather_object([len(samples)])), step + 1 - opened)
            for d, i in zip(designs, mine):
                d.sample.advantage, d.sample.weight = advantages[i], weight
            if cfg.train_designer:
                samples += [d.sample for d in designs]
        with timed("update", metrics):  # eqs. 10, 11, 12
            metrics |= update(policy, optimizer, samples, cfg, accelerator, own)
        if closing and not pool:
            memory.extend(records)

        watch(step, cfg, accelerator, out, policy, sandbox, suite, designs, records, memory, metrics, tokens, closing)
        if closing and (step + 1 == cfg.steps or (step + 1) // cfg.save_every > (step + 1 - K) // cfg.save_every):
            save_checkpoint(accelerator, out, policy, optimizer, step + 1, memory, slow)

def check(designs, sandbox, cfg):
    """The sandbox's verdict on every program; a refused one keeps its reason."""
    for d in [d for d in designs if not d.refusal]:
        verdict = sandbox.check(d.code)
        d.verdict = dataclasses.asdict(verdict)
        if not verdict.ok:
            d.refuse(verdict.failures[0].kind, verdict.failures[0].detail)
        elif cfg.hint == "program" and not verdict.has_hint:
            d.refuse("no_hint", "the program defines no hint(self)")
        elif cfg.hint == "program":
            d.hint = PROGRAM_HINT

def score(d, opening):
    """Returns and, at the window's first step, the regret of one design. One that fails in half of its plays is refused
    after all: only sound plays count, so failing must not be a way to choose them."""
    plays = [p for arm in d.now for p in arm]
    errors = [p for p in plays if p.error]
    d.timed_out = d.timed_out or any(p.timed_out for p in plays)
    if errors and (d.timed_out or 2 * len(errors) >= len(plays)):
        d.refuse("timeout" if d.timed_out else "crash", errors[0].error)
    d.returns += [p.value for p in d.now[0] if p.value is not None]
    if opening and d.hinted:
        value, error, pairs = regret.paired_regret([p.value for p in d.plain], [p.value for p in d.hinted])
        wins = [tuple(p.actions) for p in d.hinted if p.value == 1]
        if len(wins) > 2 and len(set(wins)) == 1:           # one key to every seed: the hint is a password
            value = 0.0
        d.regret, d.regret_se = (value if pairs else None), (error if pairs > 1 else None)

def agent_samples(d, cfg):
    """The plays that train the agent, each with the advantage over its own arm's group."""
    for arm in d.now if cfg.train_on_hinted else d.now[:1]:
        for p, advantage in zip(arm, regret.group_advantages([p.value for p in arm])):
            p.sample.advantage = advantage
            yield p.sample

def reward_designs(records, slow, cfg):
    """One reward per design; `slow` holds each skill's slow mean return and is moved on."""
    rates = {s: [r["solve_rate"] for r in records if r["skill"] == s and r["solve_rate"] is not None] for s in slow}
    means = {skill: statistics.fmean(values) for skill, values in rates.items() if values}
    for r in records:
        r["reward"] = cfg.refused_reward
        if r["timed_out"] or not r["refusal"]:
            slow_mean = means.get(r["skill"]) if slow[r["skill"]] is None else slow[r["skill"]]
            r["reward"] = regret.designer_reward(cfg.designer_reward, r["regret"] or 0.0, r["solve_rate"],
                                                 mean_return=r["solve_rate"], slow_mean=slow_mean, timed_out=r["timed_out"])
    slow.update({skill: regret.slow_mean(slow[skill], value) for skill, value in means.items()})
    return [r["reward"] for r in records]

# ---- what is kept
def record(d, index, step):
    """A design as it is written to disk, gathered from other processes, and remembered."""
    return dict(index=index, step=step, skill=d.skill, document=d.document, refusal=d.refusal, verdict=d.verdict,
                hint=None if d.hint is PROGRAM_HINT else d.hint, plain=[p.value for p in d.plain],
                hinted=[p.value for p in d.hinted], solve_rate=d.solve_rate, regret=d.regret, regret_se=d.regret_se,
                timed_out=d.timed_out, reward=None, prompt=d.prompt, examples=d.examples, reply=d.reply, code=d.code)

def episode_record(p, index, hinted):
    return dict(env=index, hinted=bool(hinted), seed=p.seed, value=p.value, turns=len(p.messages) // 2, cut=p.sample.cut,
                hint=p.hint, leaks=p.value == 1 and bool(p.hint) and regret.hint_leaks(p.hint, p.actions), error=p.error,
                rewards=p.rewards, actions=p.actions, messages=p.messages)

def watch(step, cfg, accelerator, out, policy, sandbox, suite, designs, records, memory, metrics, tokens, closing):
    """What a step leaves for its reader: metrics, files, a line, and every so often a pair of plays and an evaluation."""
    mine = range(accelerator.process_index, cfg.designs_per_step, accelerator.num_processes)
    episodes = gather_object([episode_record(p, i, hinted) for d, i in zip(designs, mine)
                              for hinted, arm in enumerate(d.now) for p in arm])
    tokens = sum(map(collections.Counter, gather_object([dict(tokens)])), collections.Counter())
    metrics |= regret.summarize(records, episodes) | {"memory/size": len(memory.entries)}
    metrics |= {"tokens/generated": tokens["generated"], "tokens/prefilled": tokens["prefilled"],
                "tokens/per_second": tokens["generated"] / metrics["time/play"]}
    sampling = cfg.sample_every and step % cfg.sample_every == 0
    if sampling and cfg.hint == "program":
        swapped = gather_object(swap_hints(policy, sandbox, designs, cfg.temperature, cfg.turn_tokens, cfg.slots))
        metrics["designer/hint_swap_loss"] = regret.swap_loss(swapped)
    if cfg.eval_every and ((step + 1) % cfg.eval_every == 0 or step == cfg.steps - 1):
        with timed("eval", metrics):
            metrics |= held_out(policy, sandbox, suite, cfg)
    if accelerator.is_main_process:
        log(out, step, metrics, records if closing else [], episodes)
        if sampling:
            runs.print_pair(designs)
        last = runs.read_metrics(out)[-3:]
        if len(last) == 3 and all((row["agent/truncated_frac"] or 0) > 0.9 for row in last):
            print("WARNING: for three steps nearly every reply was cut at its token budget; raise --turn_tokens")
        if len(last) == 3 and not any(row["designer/valid_rate"] for row in last):
            print(f"WARNING: for three steps no design was admitted; the last refusal was {records[-1]['refusal']:.300}")
    accelerator.log(metrics, step=step)

def held_out(policy, sandbox, suite, cfg):
    """Solve rates on the held-out suite, sampled (also by level) and greedy."""
    metrics = {}
    for suffix, temperature in (("", cfg.temperature), ("_greedy", 0.0)):
        results = evaluate(policy, sandbox, suite, cfg.eval_plays, temperature, cfg.turn_tokens, cfg.slots)
        for level, rate in solve_rates(results).items():
            name = "solve_rate" if level == "all" else f"{Path(cfg.eval_suite).name}/{level}"
            metrics[f"eval/{name}{suffix}"] = rate
    return metrics

@contextlib.contextmanager
def timed(phase, metrics):
    begin = time.perf_counter()
    yield
    metrics[f"time/{phase}"] = time.perf_counter() - begin

def log(out, step, metrics, records, episodes):
    """Append the metrics, write environments and episodes, print one line."""
    for r in records:
        stem = out / "envs" / f"step_{r['step']:05d}" / f"{r['index']:02d}"
        stem.parent.mkdir(parents=True, exist_ok=True)
        stem.with_suffix(".py").write_text(r["code"] or r["reply"])
        stem.with_suffix(".json").write_text(json.dumps({k: v for k, v in r.items() if k != "code"}, indent=1))
    (out / "episodes").mkdir(exist_ok=True)
    with open(out / "episodes" / f"step_{step:05d}.jsonl", "w") as f:
        f.writelines(json.dumps(e) + "\n" for e in episodes)
    with open(out / "metrics.jsonl", "a") as f:
        f.write(json.dumps({"step": step, **metrics}) + "\n")

    def show(name, form="{:.2f}"):
        value = metrics.get(name)
        return "-" if value is None else form.format(value)
    line = (f"step {step:4d} | solve {show('agent/solve_rate')} hinted {show('agent/solve_rate_hint')} | "
            f"regret {show('designer/regret', '{:+.2f}')} reward {show('designer/reward')} "
            f"level {show('designer/level', '{:.1f}')} valid {show('designer/valid_rate')} | "
            f"flat {show('agent/zero_advantage_frac')} cut {show('agent/truncated_frac')} | "
            f"kl {show('policy/kl_base', '{:.3f}')} gap {show('policy/ratio_gap', '{:.0e}')} | "
            f"{sum(v for k, v in metrics.items() if k.startswith('time/')):.1f} s")
    if "eval/solve_rate" in metrics:
        line += f" | held-out {metrics['eval/solve_rate']:.3f} greedy {metrics['eval/solve_rate_greedy']:.3f}"
    print(line, flush=True)

# ---- checkpoints, start, end
def save_checkpoint(accelerator, out, policy, optimizer, step, memory, slow):
    """One file, written aside and renamed over the last one: whenever the process dies, checkpoint/state.pt is complete."""
    if accelerator.is_main_process:
        for part in (policy.model, policy.chat.tokenizer):         # PEFT's own format
            part.save_pretrained(out / "adapter")
        (out / "checkpoint").mkdir(exist_ok=True)
        with open(out / "checkpoint/state.new", "wb") as f:
            torch.save(dict(step=step, adapter=get_peft_model_state_dict(policy.model), optimizer=optimizer.state_dict(),
                            memory=list(memory.entries), slow=slow), f)
            f.flush()
            os.fsync(f.fileno())
        os.replace(out / "checkpoint/state.new", out / "checkpoint/state.pt")
    accelerator.wait_for_everyone()

def main():
    cfg = parse_config()
    out, patient = None, InitProcessGroupKwargs(timeout=datetime.timedelta(hours=12))      # slow plays elsewhere are fine
    try:
        with contextlib.ExitStack() as stack:
            try:
                name = cfg.output_dir or f"runs/{Path(cfg.model).name}-{datetime.datetime.now():%Y%m%d-%H%M%S}"
                accelerator = Accelerator(log_with=cfg.log_with or None, project_dir=name, kwargs_handlers=[patient])
                out = Path(broadcast_object_list([name])[0])
                parts = prepare(cfg, accelerator, out, stack)
            except (ValueError, RuntimeError, OSError) as error:        # what the user can mend; anything later is a bug
                sys.exit(f"train.py: error: {error}")
            run(cfg, accelerator, out, *parts)
    except KeyboardInterrupt:
        if out and accelerator.is_main_process and (out / "checkpoint/state.pt").exists():
            print(f"\nstopped; continue with: accelerate launch train.py --resume --output_dir {out}")
        sys.exit(130)

def prepare(cfg, accelerator, out, stack):
    """Everything that a run needs, checked before anything is written. Raises ValueError or RuntimeError in one sentence."""
    if cfg.log_with and not accelerator.log_with:
        raise ValueError(f"--log_with {cfg.log_with} needs its package: pip install {cfg.log_with}")
    if cfg.designs_per_step % accelerator.num_processes:
        raise ValueError(f"--designs_per_step {cfg.designs_per_step} must be a multiple of the "
                         f"{accelerator.num_processes} processes")
    if (out / "config.json").exists() and not cfg.resume:
        raise ValueError(f"{out} already holds a run: continue it with --resume, or choose another --output_dir")
    say = print if accelerator.is_main_process else (lambda *_, **__: None)
    say(f"{accelerator.num_processes} process{'es' * (accelerator.num_processes > 1)} on {accelerator.device}; "
        f"files go to {out}")
    launcher = Path(f"/proc/{os.getppid()}/cmdline")        # on a CPU, `accelerate launch` alone runs one process, silently
    asked = re.search(rb"--num.processes[=\0](\d+)", launcher.read_bytes() if launcher.exists() else b"")
    if asked and int(asked[1]) > accelerator.num_processes:
        say(f"WARNING: accelerate launch was asked for {int(asked[1])} processes and started {accelerator.num_processes}; "
            "without a GPU: ACCELERATE_USE_CPU=1 accelerate launch --multi_gpu --num_processes N train.py")
    documents, skipped = ([], 0) if cfg.corpus == "none" else load_corpus(cfg.corpus)
    if skipped:
        say(f"{cfg.corpus}: {skipped} bad lines skipped, {len(documents)} documents used")
    with accelerator.main_process_first():                  # the pocket model is built once
        policy = load_policy(cfg.model, lora_rank=cfg.lora_rank, lora_alpha=cfg.lora_alpha, dtype=cfg.dtype,
                             train_embeddings=cfg.train_embeddings, device=accelerator.device,
                             max_context=cfg.max_context, gradient_checkpointing=cfg.gradient_checkpointing,
                             thinking=cfg.thinking, seed=cfg.seed)
    if policy.pocket and (cfg.recipe, cfg.setting) != ("pocket", policy.pocket):
        raise ValueError(f"{cfg.model} is a pocket model: add --recipe pocket --setting {policy.pocket}")
    if policy.pocket:
        torch.set_num_threads(1)                            # so small a model is no faster on more
    every = (pocket.SKILLS if policy.pocket else SKILLS)[cfg.setting]
    skills = [s.strip() for s in cfg.skills.split(",")] if cfg.skills else list(every)
    if unknown := set(skills) - set(every):
        raise ValueError(f"unknown skill {sorted(unknown)[0]!r}; choose from: {', '.join(every)}")
    active = min(cfg.skills_active or len(skills), len(skills))
    if cfg.train_designer and not cfg.pool and cfg.designs_per_step < 2 * active:
        raise ValueError(f"--designs_per_step {cfg.designs_per_step} is less than two for each of {active} active skills, "
                         "and a design alone in its skill has no baseline: raise it or lower --skills_active")
    sandbox = stack.enter_context(Sandbox(Limits(max_turns=cfg.max_turns), cfg.allow_weak_sandbox))
    suite = suites.load_suite(sandbox, cfg.eval_suite) if cfg.eval_every else []
    pool = [(code, skill) for code, skill in load_pool(cfg.pool) if sandbox.check(code).ok] if cfg.pool else []
    if cfg.pool and not pool:
        raise ValueError(f"the pool {cfg.pool} holds no program that the sandbox admits")
    pool = broadcast_object_list([pool])[0]                 # one process's hiccup must not make the others' pool differ
    self_test(policy, cfg)
    optimizer = torch.optim.AdamW(policy.trainable().values(), lr=cfg.learning_rate, betas=(0.9, 0.98), eps=1e-5,
                                  weight_decay=cfg.weight_decay)
    start, memory, slow = 0, Memory(cfg.memory_size), dict.fromkeys(skills)
    if cfg.resume and (out / "checkpoint/state.pt").exists():
        state = torch.load(out / "checkpoint/state.pt", map_location="cpu", weights_only=True)
        set_peft_model_state_dict(policy.model, state["adapter"])
        optimizer.load_state_dict(state["optimizer"])
        optimizer.param_groups[0].update(lr=cfg.learning_rate, weight_decay=cfg.weight_decay)       # flags win
        start, slow = state["step"], slow | state["slow"]
        memory.entries.extend(state["memory"])
    if cfg.resume:
        say(f"continues at step {start} of {cfg.steps}")
    if accelerator.is_main_process:
        out.mkdir(parents=True, exist_ok=True)
        (out / "config.json").write_text(json.dumps(dataclasses.asdict(cfg) | {"resume": False}, indent=1))
        rows = [json.dumps(row) + "\n" for row in (runs.read_metrics(out) if start else []) if row["step"] < start]
        (out / "metrics.jsonl").write_text("".join(rows))
    return policy, optimizer, sandbox, documents, pool, skills, suite, start, memory, slow

def run(cfg, accelerator, out, policy, optimizer, sandbox, documents, pool, skills, suite, start, memory, slow):
    """Evaluate, train, report."""
    if cfg.log_with:
        accelerator.init_trackers("nanospade", dataclasses.asdict(cfg))
    if cfg.eval_every and start == 0:
        before = held_out(policy, sandbox, suite, cfg)
        if accelerator.is_main_process:
            (out / "before.json").write_text(json.dumps(before))
    begin = time.time()
    train(cfg, accelerator, out, policy, optimizer, sandbox, documents, pool, skills, suite, start, memory, slow)
    if accelerator.is_main_process and cfg.eval_every:
        runs.report(out, cfg.eval_plays, (time.time() - begin) / 60)
    accelerator.end_training()

if __name__ == "__main__":
    main()
