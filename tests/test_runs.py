"""Several runs side by side: groups, the table, the CSV and the figure, from runs made by hand."""
import csv, json, subprocess, sys

import pytest
from conftest import ROOT

from envs_examples import runs

RISE = {"spade": (0.9, 0.8, 0.7), "pool": (0.5, 0.6, 0.4), "frozen": (0.6, 0.6, 0.6)}         # sampled, for seeds 0, 1, 2


def write(folder, seed, last, steps=4, **config):
    """A run whose held-out solve rate goes from .3 to `last`, greedy .1 above, and whose level 4 is mastered at .8."""
    folder.mkdir(parents=True)
    settings = dict(steps=steps, seed=seed, output_dir=str(folder), pool="", train_designer=True, corpus="/a1/corpus.jsonl")
    (folder / "config.json").write_text(json.dumps(settings | config))

    def evaluated(rate):
        return {"eval/solve_rate": rate, "eval/solve_rate_greedy": rate + 0.1, "eval/held/3_greedy": 1.0,
                "eval/held/4_greedy": 1.0 if rate >= 0.8 else 0.5, "eval/held/10_greedy": 0.9}
    (folder / "before.json").write_text(json.dumps(evaluated(0.3)))
    rows = [{"step": s, "designer/level": None if config.get("pool") else 3.0 + s} for s in range(steps)]
    rows[-1] |= evaluated(last)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))


@pytest.fixture
def home(tmp_path):
    for seed in range(3):
        write(tmp_path / f"{seed}/spade", seed, RISE["spade"][seed])
        write(tmp_path / f"{seed}/pool", seed, RISE["pool"][seed], pool=f"{tmp_path}/bank{seed}/envs")
        write(tmp_path / f"{seed}/frozen", seed, RISE["frozen"][seed], train_designer=False)
    write(tmp_path / "3/spade", 3, 0.8)
    rest = tmp_path / "4/spade"
    write(rest, 4, 0.1)
    (rest / "metrics.jsonl").write_text('{"step": 0}\n')                # still running
    return tmp_path


def command(*paths):
    return subprocess.run([sys.executable, ROOT / "regret.py", *paths], capture_output=True, text=True)


def test_groups_and_differences(home):
    done = command(*sorted(home.glob("[0-9]/*")))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == f"left out, not finished or never evaluated: {home}/4/spade"
    assert lines[1].startswith("before training: sampled 0.300, greedy 0.400. Differences are to: --pool ") and "bankN" in lines[1]
    spade, pool, frozen = (next(line for line in lines[3:] if line.startswith(name)) for name in ("common settings", "--pool", "--train"))
    # .9 .8 .7 .8: mean .8, deviation sqrt(.02 / 3), error half of that; level 4 (and so 10) in three of four runs; the
    # designer's level in the last of four steps is 6
    assert spade.split()[2:] == "4 0.800 ± 0.041 0.900 ± 0.041 8.2 ± 1.8 6.0 ± 0.0 +0.300 ± 0.058 +0.300 ± 0.058".split()
    assert pool.split()[2:] == "3 0.500 ± 0.058 0.600 ± 0.058 3.0 ± 0.0 -".split()
    assert frozen.split()[:3] == ["--train_designer", "False", "3"] and frozen.split()[-6:] == "+0.100 ± 0.058 +0.100 ± 0.058".split()


def test_the_csv_is_tidy(home):
    command(*home.glob("[0-9]/*"))
    rows = list(csv.DictReader((home / "compare.csv").open()))
    assert len(rows) == 10 * 5                                          # ten finished runs, before and four steps
    last = [r for r in rows if r["group"] == "common settings" and r["seed"] == "1" and r["step"] == "3"]
    assert [(r["sampled"], r["greedy"], r["mastered"], r["level"]) for r in last] == [("0.8", "0.9", "10", "6.0")]
    assert {r["sampled"] for r in rows if r["step"] == "1"} == {""}


def test_the_figure(home):
    pytest.importorskip("matplotlib")
    assert "compare.png" in command(*home.glob("[0-9]/*")).stdout and (home / "compare.png").stat().st_size > 10_000


def test_without_matplotlib_or_a_finished_run(home, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    runs.compare(sorted(home.glob("[0-2]/*")))
    assert "pip install matplotlib" in capsys.readouterr().out
    done = command(home / "4/spade", home / "4/spade")
    assert done.returncode == 2 and "none of these runs is finished" in done.stderr and "Traceback" not in done.stderr
