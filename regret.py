"""Regret, rewards and advantages: the arithmetic of SPADE, in pure functions of plain numbers.

Two arms play the same environment from the same seeds: the *plain* arm, and the *hinted* arm with the privileged hint in
its first prompt. An episode counts 1 if the task was completed. The designer's reward is built from the difference of
the two means: large when the task is feasible (the hint shows the way) but not yet mastered, zero when it is trivial
(both arms win) or impossible (both lose). An environment that nobody solves without its hint would have the largest
regret and teach nothing, so the default reward blends regret with a plateau of the plain solve rate.

The equation numbers are README's. Seeds are paired on purpose: the regret is then a mean of differences, with a standard
error, and luck that both arms share cancels. The release pairs nothing; everything else follows it.

    python regret.py RUN        prints how a run went, by quarters
"""
import argparse, json, math, re, statistics
from pathlib import Path

KINDS = ("regret", "blend", "solve_rate", "learning_potential")

def episode_return(step_rewards, terminated: bool) -> float:
    """Eq. 4: the last reward if the task terminated, else 0, clipped to [-1, 1]. Shaping rewards on the way are ignored."""
    return max(-1.0, min(1.0, float(step_rewards[-1]))) if terminated and step_rewards else 0.0

def paired_regret(plain, hinted):
    """Eq. 5: (regret, standard error, pairs) over G plays of the same seeds in both arms.

    None marks an unsound play (its program crashed): that pair leaves both arms. The standard error is that of a mean
    of paired differences; it is nan with fewer than two pairs, and so is the regret with none."""
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
    `learning_potential`: |mean return - slow mean of its skill|. An environment with a call that timed out pays
    `timeout_penalty` whatever its plays returned. Raises ValueError for an unknown kind."""
    if kind not in KINDS:
        raise ValueError(f"unknown designer reward {kind!r}; choose from {', '.join(KINDS)}")
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

# ---- looking at a run
COLUMNS = {"solve": "agent/solve_rate", "hinted": "agent/solve_rate_hint", "regret": "designer/regret",
           "reward": "designer/reward", "level": "designer/level", "valid": "designer/valid_rate",
           "held-out": "eval/solve_rate", "greedy": "eval/solve_rate_greedy"}

def read_metrics(run: Path):
    """The rows of a run's metrics.jsonl, without a line that was cut off. Raises FileNotFoundError with what to do."""
    path = Path(run) / "metrics.jsonl"
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist: give the output directory of a training run")
    return [json.loads(line) for line in path.read_text().splitlines(True) if line.endswith("\n")]

def summary(rows, parts=4) -> str:
    """A table of means over `parts` equal stretches of the run; evaluations show the last one in each stretch."""
    lines = ["steps".rjust(11) + "".join(name.rjust(10) for name in COLUMNS)]
    for k in range(parts):
        part = rows[k * len(rows) // parts:(k + 1) * len(rows) // parts]
        if not part:
            continue
        cells = []
        for metric in COLUMNS.values():
            values = [row[metric] for row in part if row.get(metric) is not None]
            value = (values[-1] if metric.startswith("eval") else statistics.fmean(values)) if values else None
            cells.append(("-" if value is None else f"{value:.3f}").rjust(10))
        lines.append(f"{part[0]['step']}-{part[-1]['step']}".rjust(11) + "".join(cells))
    return "\n".join(lines)

def main():
    parser = argparse.ArgumentParser(description="Show how a training run went.")
    parser.add_argument("run", type=Path, help="the output directory of a run")
    try:
        print(summary(read_metrics(parser.parse_args().run)))
    except FileNotFoundError as error:
        parser.error(str(error))

if __name__ == "__main__":
    main()
