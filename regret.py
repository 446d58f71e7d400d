"""Regret, rewards and advantages: the arithmetic of SPADE, in pure functions of plain numbers.

Two arms play the same environment from the same seeds, without and with the privileged hint. The designer's reward is built
from the difference of the mean returns: large when the task is feasible (the hint shows the way) but not yet mastered, zero
when it is trivial or impossible. What nobody solves without its hint would have the largest regret and teach nothing, so the
default reward blends regret with a plateau of the plain solve rate. Seeds are paired, unlike in the release: luck that both
arms share cancels. The equation numbers are README's.

    python regret.py RUN        prints how a run went, by quarters, and writes RUN/page.html to look at every environment
    python regret.py RUN RUN    compares runs in groups by their settings (both: envs_examples/runs.py)
"""
import argparse, collections, math, re, statistics
from pathlib import Path

from envs_examples import runs

KINDS = ("regret", "blend", "solve_rate", "learning_potential", "none")

def episode_return(step_rewards, terminated: bool) -> float:
    """Eq. 4: the last reward if the task terminated, else 0, clipped to [-1, 1]. Shaping rewards on the way are ignored."""
    return max(-1.0, min(1.0, float(step_rewards[-1]))) if terminated and step_rewards else 0.0

def paired_regret(plain, hinted):
    """Eq. 5: (regret, standard error, pairs) over G plays of the same seeds in both arms.

    None marks an unsound play (its program crashed): that pair leaves both arms. With fewer than two pairs the standard
    error, that of a mean of differences, is nan; with none the regret is too."""
    if len(plain) != len(hinted):
        raise ValueError(f"the arms must be paired: {len(plain)} plain and {len(hinted)} hinted plays")
    differences = [h - p for p, h in zip(plain, hinted) if p is not None and h is not None]
    if not differences:
        return math.nan, math.nan, 0
    error = statistics.stdev(differences) / math.sqrt(len(differences)) if len(differences) > 1 else math.nan
    return statistics.fmean(differences), error, len(differences)

def plateau(solve_rate: float, lo=0.4, hi=0.6, ramp=0.25) -> float:
    """Eq. 6: 1 for solve rates in [lo, hi], falling linearly to 0 within `ramp` on either side."""
    return max(0.0, 1.0 - max(lo - solve_rate, solve_rate - hi, 0.0) / ramp)

def designer_reward(kind, regret, solve_rate, *, mean_return=None, slow_mean=None, timed_out=False,
                    timeout_penalty=-0.5, regret_weight=0.4, plateau_weight=0.6, regret_scale=0.15) -> float:
    """Eq. 7: what one environment earns its designer.

    `regret`: max(0, regret). `solve_rate`: the plateau alone. `blend`: both, with regret saturating at `regret_scale`.
    `learning_potential`: |mean return - slow mean of its skill|. `none`: 0, a control: what is left of the designer's update
    are eqs. 11 and 12. A call that timed out costs `timeout_penalty` instead."""
    if kind not in KINDS:
        raise ValueError(f"unknown designer reward {kind!r}; choose from {', '.join(KINDS)}")
    if kind == "none":
        return 0.0
    if timed_out:
        return timeout_penalty
    if kind == "regret":
        return max(0.0, regret)
    if kind == "solve_rate":
        return plateau(solve_rate)
    if kind == "learning_potential":
        return abs(mean_return - slow_mean)
    return plateau_weight * plateau(solve_rate) + regret_weight * max(0.0, min(1.0, regret / regret_scale))

def slow_mean(previous, mean_return, gamma=0.85) -> float:
    """The slow mean of a skill's return, one step on. `previous` is None before the first step."""
    return mean_return if previous is None else gamma * mean_return + (1 - gamma) * previous

def group_advantages(returns, eps=1e-8):
    """Eq. 8: (return - mean) / (population std + eps) over the plays of one group. None (unsound) gets 0 and does not
    count; a group of equal returns gets exact zeros, whatever the rounding of its mean."""
    sound = [r for r in returns if r is not None]
    if not sound or min(sound) == max(sound):
        return [0.0] * len(returns)
    mean, std = statistics.fmean(sound), statistics.pstdev(sound)
    return [0.0 if r is None else (r - mean) / (std + eps) for r in returns]

def designer_advantages(rewards, skills, scale=1.0):
    """Eq. 9: (reward - mean reward of its skill) * scale. No division by a deviation: rewards share one unit. Equal rewards
    give exact zeros."""
    groups = {s: [r for r, t in zip(rewards, skills) if t == s] for s in set(skills)}
    return [0.0 if min(groups[s]) == max(groups[s]) else (r - statistics.fmean(groups[s])) * scale
            for r, s in zip(rewards, skills)]

def role_scale(num_designer: int, num_agent: int, interval: int, max_scale=50.0) -> float:
    """Agent samples per designer sample over an interval of steps: gives the rarer role equal weight in one loss."""
    return min(max_scale, num_agent * interval / num_designer) if num_designer else 1.0

def hint_leaks(hint: str, actions) -> bool:
    """True if the hint spells out a completed play: the content of every action stands in it, as words, in this order."""
    at = 0
    for action in actions:
        word = re.sub(r"^\\boxed\{(.*)\}$", r"\1", action, flags=re.S).strip()
        found = re.compile(r"(?<!\w)" + re.escape(word) + r"(?!\w)").search(hint, at) if word else None
        if not found:
            return False
        at = found.end()
    return bool(actions)

def swap_loss(triples):
    """Of the seeds that only the hint won, the share that the hint of another seed loses. `triples`: returns (plain, hinted,
    swapped) of each seed. None without such a seed."""
    lost = [s is None or s < 1 for p, h, s in triples if h == 1 and p is not None and p < 1]
    return statistics.fmean(lost) if lost else None

# ---- looking at a run
def summarize(records, episodes):
    """The metrics of a step, from its designs (of a window that may be open still) and its plays, over all processes."""
    def average(values):
        values = [v for v in values if v is not None]
        return statistics.fmean(values) if values else None
    plain, hinted = ([e for e in episodes if e["hinted"] == arm] for arm in (False, True))
    groups = [[e["value"] for e in plain if e["env"] == n] for n in {e["env"] for e in plain}]
    codes = [r["code"] for r in records if r["code"]]
    levels = [r["verdict"]["level"] for r in records if r["verdict"] and not r["refusal"]]
    errors = [r["regret_se"] for r in records if r["regret_se"] is not None]
    frontier = [r["solve_rate"] is not None and 0.2 <= r["solve_rate"] <= 0.8 for r in records]
    refused = collections.Counter(r["refusal"].partition(":")[0] for r in records if r["refusal"])
    return {"agent/solve_rate": average(e["value"] for e in plain),
            "agent/solve_rate_hint": average(e["value"] for e in hinted),
            "agent/turns": average(e["turns"] for e in episodes),
            "agent/truncated_frac": average(e["cut"] for e in episodes),
            "agent/unsound_frac": average(e["error"] is not None for e in episodes),
            "agent/zero_advantage_frac": average(not any(group_advantages(g)) for g in groups),
            "designer/regret": average(r["regret"] for r in records),
            "designer/reward": average(r["reward"] for r in records),
            "designer/regret_se": math.hypot(*errors) / len(errors) if errors else None,
            "designer/level": average(levels), "designer/frontier_frac": average(frontier),
            "designer/valid_rate": average(r["refusal"] is None for r in records),
            "designer/distinct_frac": len(set(codes)) / len(codes) if codes else None,
            "designer/hint_leak_frac": average(e["leaks"] for e in hinted if e["value"] == 1),
            **{f"designer/refused/{kind}": count for kind, count in refused.items()}}

def main():
    parser = argparse.ArgumentParser(description="Show how a training run went, or compare several.")
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="the output directory of a run")
    try:
        paths = parser.parse_args().runs
        if len(paths) > 1:
            return runs.compare(paths)
        print(runs.summary(runs.read_metrics(paths[0])), f"\n{runs.page(paths[0])} shows every environment of it")
    except FileNotFoundError as error:
        parser.error(str(error))

if __name__ == "__main__":
    main()
