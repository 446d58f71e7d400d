"""How noisy is a regret, with and without paired seeds: python tests/bench_regret.py RUN [--rounds 30]

Takes the agent of a finished run of the pocket model and the admitted programs of one of its steps, and estimates the regret
of each again and again at equal plays: both arms on the same G seeds, or each arm on seeds of its own. Prints the variance
of the two estimates over the rounds (the mean over programs, with its standard error), and that which eq. 5 claims."""
import argparse, json, math, random, statistics, sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import torch

import regret
from agent import PROGRAM_HINT, UNSEEN_HINT, play
from model import load_policy
from sandbox import Sandbox


def mean(values):
    return f"{statistics.fmean(values):.4f} ± {statistics.stdev(values) / math.sqrt(len(values)):.4f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--step", type=int, default=-1, help="whose programs; -1: the last")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--plays", type=int, default=12, help="G, plays per arm")
    options = parser.parse_args()
    torch.set_num_threads(1)
    policy, rng = load_policy(str(options.run / "adapter")), random.Random(0)
    folder = sorted(options.run.glob("envs/step_*"))[options.step]
    codes = [p.with_suffix(".py").read_text() for p in sorted(folder.glob("*.json")) if not json.loads(p.read_text())["refusal"]]
    estimates = {(way, n): [] for way in ("paired", "unpaired", "claimed") for n in range(len(codes))}
    with Sandbox() as sandbox:
        for round_ in range(options.rounds):
            seeds = [[[rng.randrange(10 ** 6) for _ in range(options.plays)] for _ in range(2)] for _ in codes]
            jobs = [(code, s, hint) for code, (mine, others) in zip(codes, seeds)
                    for hint, row in ((UNSEEN_HINT, mine), (PROGRAM_HINT, mine), (PROGRAM_HINT, others)) for s in row]
            values = iter([p.value for p in play(policy, sandbox, jobs, 1.0, 8, seed=round_)[0]])
            for n in range(len(codes)):
                plain, same, other = ([next(values) for _ in range(options.plays)] for _ in range(3))
                paired, error, _ = regret.paired_regret(plain, same)
                estimates["paired", n].append(paired)
                estimates["unpaired", n].append(regret.paired_regret(plain, other)[0])
                estimates["claimed", n].append(error ** 2)
    spread = {way: [statistics.variance(estimates[way, n]) for n in range(len(codes))] for way in ("paired", "unpaired")}
    claimed = [statistics.fmean(estimates["claimed", n]) for n in range(len(codes))]
    print(f"{len(codes)} programs of {folder}, {options.plays} plays an arm, {options.rounds} rounds")
    print(f"variance of the regret: paired {mean(spread['paired'])}, unpaired {mean(spread['unpaired'])}, "
          f"ratio {statistics.fmean(spread['paired']) / statistics.fmean(spread['unpaired']):.2f}; eq. 5 claims {mean(claimed)}")


if __name__ == "__main__":
    main()
