"""The main job, as README gives it, in part: the effect has to appear."""
import json, os, subprocess, sys

import pytest
from conftest import ROOT


@pytest.mark.slow
def test_the_main_job_learns(tmp_path):
    """Forty of its hundred steps: the held-out solve rate rises, greedy and sampled, and so does the designer's level."""
    done = subprocess.run(
        [sys.executable, "-m", "accelerate.commands.launch", "train.py", "--steps", "40", "--eval_every", "40", "--output_dir",
         tmp_path / "run"], cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "2"}, capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, done.stderr[-2000:]
    before = json.loads((tmp_path / "run/before.json").read_text())
    rows = [json.loads(line) for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    for name in ("eval/solve_rate", "eval/solve_rate_greedy"):
        assert rows[-1][name] > before[name] + 0.08, name          # 360 plays: three standard errors of one evaluation
    level = [row["designer/level"] for row in rows]
    assert sum(level[-10:]) / 10 > sum(level[:5]) / 5 + 0.5
    assert "held-out solve rate, no hint, unseen seeds" in done.stdout and "hinted return" in done.stdout
