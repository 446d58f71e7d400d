"""Looking at runs: one in detail, or several side by side. `python regret.py RUN` and `RUN RUN ...` come here.

Side by side, the question is what differs in their settings and what that did to the held-out solve rate. Runs whose
settings differ in nothing but seed, place, and digits in paths (so that each seed may have a pool of its own) form a group;
a group is named by the flags in which it differs from most runs. Two groups are compared on the seeds that both have: the
mean of the differences, with its standard error.
"""
import collections
import csv
import json
import math
import os
import re
import statistics
from pathlib import Path

def read_metrics(run: Path):
    """The rows of a run's metrics.jsonl, without a line that was cut off. Raises FileNotFoundError with what to do."""
    path = Path(run) / "metrics.jsonl"
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist: give the output directory of a training run")
    return [json.loads(line) for line in path.read_text().splitlines(True) if line.endswith("\n")]


COLUMNS = {"solve": "agent/solve_rate", "hinted": "agent/solve_rate_hint", "regret": "designer/regret",
           "reward": "designer/reward", "level": "designer/level", "valid": "designer/valid_rate",
           "held-out": "eval/solve_rate", "greedy": "eval/solve_rate_greedy"}


def summary(rows, parts=4):
    """A table of means over `parts` equal stretches of the run; evaluations show the last one in each stretch."""
    lines = ["steps".rjust(11) + "".join(name.rjust(10) for name in COLUMNS)]
    parts = min(parts, len(rows))
    for k in range(parts):
        part = rows[k * len(rows) // parts:(k + 1) * len(rows) // parts]
        cells = []
        for metric in COLUMNS.values():
            values = [row[metric] for row in part if row.get(metric) is not None]
            value = (values[-1] if metric.startswith("eval") else statistics.fmean(values)) if values else None
            cells.append(("-" if value is None else f"{value:.3f}").rjust(10))
        lines.append(f"{part[0]['step']}-{part[-1]['step']}".rjust(11) + "".join(cells))
    return "\n".join(lines)


def print_pair(designs):
    """One seed, played without and with the hint, of the design with the largest regret on this process."""
    for d in sorted((d for d in designs if d.plain and d.hinted), key=lambda d: d.regret or 0.0)[-1:]:
        plain, hinted = max(zip(d.plain, d.hinted), key=lambda pair: (pair[1].value or 0) - (pair[0].value or 0))
        print(f"    --- {d.skill}, seed {plain.seed}; hint: {hinted.hint!r:.300}")
        for name, p in (("plain ", plain), ("hinted", hinted)):
            text = "  >  ".join(" ".join(m.split())[:200] for m in p.messages)
            print(f"    {name} return {p.value}: {text[:1200]}")


def report(out, plays, minutes):
    """Held-out solve rates before and after, by level, and where the files are."""
    before = json.loads((out / "before.json").read_text()) if (out / "before.json").exists() else {}
    after = read_metrics(out)[-1]
    print(f"\nheld-out solve rate, no hint, unseen seeds ({plays} plays a file)   before -> after")
    for key in before:
        print(f"  {key.removeprefix('eval/'):28s} {before[key]:.3f} -> {after.get(key, math.nan):.3f}")
    print(f"{after['step'] + 1} steps, {minutes:.1f} minutes; {out} holds metrics, envs, episodes, adapter, checkpoint\n"
          f"python regret.py {out} shows how the run went")


def page(run):
    """Write RUN/page.html: every environment of the run in one file that needs no network (template: assets/page.html)."""
    envs = []
    for folder in sorted(run.glob("envs/step_*")):
        plays = [json.loads(line) for line in (run / "episodes" / (folder.name + ".jsonl")).open()]
        for path in sorted(folder.glob("*.json")):
            env = json.loads(path.read_text()) | {"code": path.with_suffix(".py").read_text(), "plays": []}
            mine = [p for p in plays if p["env"] == env["index"]]
            plain, hinted = ({p["seed"]: p for p in mine if p["hinted"] == arm} for arm in (False, True))
            helped = sorted(plain, key=lambda s: (plain[s]["value"] or 0) - (hinted.get(s, plain[s])["value"] or 0))
            envs.append(env | {"plays": [(s, plain[s], hinted.get(s)) for s in helped[:3] + helped[3:][-1:]]})
    facts = dict(name=run.name, config=json.loads((run / "config.json").read_text()), metrics=read_metrics(run), envs=envs)
    template = Path(__file__).parents[1].joinpath("assets/page.html").read_text()
    text = json.dumps(facts).replace("<", "\\u003c")        # no program can end the element that holds it
    (run / "page.html").write_text(template.replace("/*DATA*/", text))
    return run / "page.html"


# ---- several runs
PLACE = ("seed", "output_dir", "resume", "log_with", "sample_every", "save_every")
CURVES = {"sampled": "eval/solve_rate", "greedy": "eval/solve_rate_greedy", "mastered": "mastered",
          "level": "designer/level", "regret": "designer/regret", "solve": "agent/solve_rate",
          "hinted": "agent/solve_rate_hint", "frontier": "designer/frontier_frac", "distinct": "designer/distinct_frac"}


def mastered(row, enough=0.8):
    """The highest level with a greedy held-out solve rate of `enough` there and at all levels below it, or None."""
    rates = {int(m[1]): rate for key, rate in row.items() if (m := re.fullmatch(r"eval/[^/]+/(\d+)_greedy", key))}
    reached = [level for level in rates if all(rates[k] >= enough for k in rates if k <= level)]
    return max(reached, default=min(rates) - 1) if rates else None


def load(paths):
    """The finished runs of `paths`: dicts of path, config, rows (the evaluation before training has step -1) and group."""
    runs, values = [], collections.defaultdict(collections.Counter)
    for path in map(Path, paths):
        rows = read_metrics(path)
        config, before = json.loads((path / "config.json").read_text()), path / "before.json"
        if not rows or rows[-1]["step"] + 1 < config["steps"] or not before.exists():
            print(f"left out, not finished or never evaluated: {path}")
            continue
        rows = [{"step": -1, **json.loads(before.read_text())}, *rows]
        for row in rows:
            row["mastered"] = mastered(row)
        flags = {k: re.sub(r"\d+", "N", str(v)) if "/" in str(v) else str(v) for k, v in config.items() if k not in PLACE}
        for key, value in flags.items():
            values[key][value] += 1
        runs.append(dict(path=path, config=config, rows=rows, flags=flags))
    usual = {key: counter.most_common(1)[0][0] for key, counter in values.items()}
    for run in runs:
        run["group"] = " ".join(f"--{k} {v}" for k, v in run["flags"].items() if v != usual.get(k)) or "common settings"
    return sorted(runs, key=lambda run: run["group"] != "common settings")


def spread(values):
    """(mean, standard error); nan where there are too few."""
    return (statistics.fmean(values) if values else math.nan,
            statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan)


def last(run, metric):
    return run["rows"][-1][metric]


def table(runs):
    """Held-out solve rate before training, and after it by group: mean ± standard error, with the designer's mean level in
    the last quarter, and the difference to the first group with a pool (or else to the first group) over the seeds of both.
    """
    groups = collections.defaultdict(dict)
    for run in runs:
        groups[run["group"]][run["config"]["seed"]] = run
    reference = next((name for name, seeds in groups.items() if any(r["config"]["pool"] for r in seeds.values())),
                     next(iter(groups)))
    before = [statistics.fmean(r["rows"][0][CURVES[c]] for r in runs) for c in ("sampled", "greedy")]
    lines = [f"before training: sampled {before[0]:.3f}, greedy {before[1]:.3f}. Differences are to: {reference}",
             f"{'':50s} runs   sampled         greedy          mastered     level        difference: sampled   greedy"]
    for name, seeds in groups.items():
        cells = ["{:6.3f} ± {:.3f}".format(*spread([last(r, CURVES[c]) for r in seeds.values()]))
                 for c in ("sampled", "greedy")]
        cells.append("{:5.1f} ± {:.1f}".format(*spread([r["rows"][-1]["mastered"] for r in seeds.values()])))
        levels = [[row["designer/level"] for row in r["rows"][-(len(r["rows"]) // 4):]] for r in seeds.values()]
        levels = [statistics.fmean(x for x in own if x) for own in levels if any(own)]
        cells.append("{:5.1f} ± {:.1f}".format(*spread(levels)) if levels else f"{'-':11s}")
        common = sorted(seeds.keys() & groups[reference].keys())
        for c in ("sampled", "greedy") if name != reference else ():
            pairs = [last(seeds[s], CURVES[c]) - last(groups[reference][s], CURVES[c]) for s in common]
            cells.append("{:+.3f} ± {:.3f}".format(*spread(pairs)))
        lines.append(f"{name:50s} {len(seeds):4d}  " + "  ".join(cells))
    return "\n".join(lines)


def write_csv(runs, path):
    """One row for each run and step: group, seed, step, and the metrics of CURVES (empty where there was none)."""
    with open(path, "w", newline="") as f:
        writer = csv.writer(f)
        writer.writerow(["group", "run", "seed", "step", *CURVES])
        for run in runs:
            writer.writerows([run["group"], run["path"], run["config"]["seed"], row["step"],
                              *(row.get(metric) for metric in CURVES.values())] for row in run["rows"])


def figure(runs, path):
    """Curves of the held-out solve rate by group (bands: one standard error), and the designer's level against the level
    that the agent masters. Needs matplotlib."""
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    groups = collections.defaultdict(list)
    for run in runs:
        groups[run["group"]].append(run)
    fig, axes = plt.subplots(1, 3, figsize=(15, 5.2))
    for n, (name, members) in enumerate(groups.items()):
        style = dict(color=f"C{(n - 1) % 10}" if n else "black", linestyle="-" if n < 11 else "--", lw=1.5 if n else 3)
        for axis, curve in zip(axes, ("sampled", "greedy")):
            steps = sorted({row["step"] for r in members for row in r["rows"] if CURVES[curve] in row})
            points = [spread([row[CURVES[curve]] for r in members for row in r["rows"]
                              if row["step"] == s and CURVES[curve] in row]) for s in steps]
            axis.plot([s + 1 for s in steps], [m for m, _ in points], label=name, **style)
            axis.fill_between([s + 1 for s in steps], [m - e for m, e in points], [m + e for m, e in points],
                              color=style["color"], alpha=0.15, linewidth=0)
        trail = []                              # the designer's mean level up to an evaluation, the mastered level at it
        marks = [row["step"] for row in members[0]["rows"] if row["mastered"] is not None]
        for begin, end in zip(marks, marks[1:]):
            window = [row["designer/level"] for r in members for row in r["rows"] if begin < row["step"] <= end]
            window = [level for level in window if level is not None]
            at = [row["mastered"] for r in members for row in r["rows"] if row["step"] == end and row["mastered"]]
            trail += [(statistics.fmean(at), statistics.fmean(window))] if window and at else []
        if trail and not members[0]["config"]["pool"]:
            axes[2].plot(*zip(*trail), marker="o", markersize=4, **style)
    for axis, title in zip(axes, ("held-out solve rate, sampled", "held-out solve rate, greedy",
                                  "designer's level against the level mastered")):
        axis.set(title=title, xlabel="step")
        axis.grid(alpha=0.3)
    low, high = axes[2].get_xlim()
    axes[2].plot([low, high], [low, high], color="gray", linewidth=0.8, linestyle=":")
    axes[2].set(xlabel="level that the agent masters (greedy ≥ .8 up to it)", ylabel="mean level of the designer's programs")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncols=3, fontsize=8, frameon=False)
    fig.tight_layout(rect=(0, 0.04 + 0.035 * math.ceil(len(groups) / 3), 1, 1))
    fig.savefig(path, dpi=110)


def compare(paths):
    """Print the table, write compare.csv and, with matplotlib, compare.png into the directory that holds the runs."""
    runs = load(paths)
    if not runs:
        raise FileNotFoundError("none of these runs is finished: let train.py end, with --eval_every above 0")
    home = Path(os.path.commonpath([run["path"].resolve().parent for run in runs]))
    print(table(runs))
    write_csv(runs, home / "compare.csv")
    try:
        figure(runs, home / "compare.png")
        print(f"\n{home}/compare.csv and compare.png hold the curves")
    except ImportError:
        print(f"\n{home}/compare.csv holds the curves; for the figure: pip install matplotlib")
