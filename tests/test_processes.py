"""Two gloo processes: the update of one, no deadlock on uneven work, and the whole loop."""
import json, os, random, subprocess, sys

import torch
from conftest import ROOT, OneProcess, settings
from test_model import Catch, mixed_samples
from test_train import SMALL

from model import load_policy, update


def spawn(what, tiny_dir, tmp_path):
    subprocess.run([sys.executable, ROOT / "tests/two_processes.py", what, tiny_dir, tmp_path / "out.pt"], check=True, timeout=120)
    return torch.load(tmp_path / "out.pt")


def test_two_processes_give_the_update_of_one(tiny_dir, tmp_path):
    count, caught, metrics = spawn("same_update", tiny_dir, tmp_path)
    policy = load_policy(str(tiny_dir), lora_rank=4, lora_alpha=8)
    samples, catch = mixed_samples(policy), Catch(policy)
    want = update(policy, catch, samples, settings(kl_coef=0.1), OneProcess, random)
    assert count == 2 and (caught - catch.caught).norm() < 1e-4 * catch.caught.norm()
    assert abs(metrics["policy/clip_frac"] - want["policy/clip_frac"]) < 1e-6


def test_uneven_work_cannot_hang(tiny_dir, tmp_path):               # rl-19: one process holds one role only
    count, caught, steps = spawn("uneven", tiny_dir, tmp_path)
    assert count == 2 and steps == 3 and caught.any()


def test_the_loop_on_two_processes(pocket_dir, tmp_path):
    words = [*SMALL, "--model", pocket_dir, "--output_dir", tmp_path / "run", "--steps", "2", "--eval_every", "2", "--eval_plays", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "train.py", *map(str, words)],
        cwd=ROOT, env=os.environ | {"ACCELERATE_USE_CPU": "1"}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "2 processes on cpu" in done.stdout and done.stdout.count("step    1 |") == 1
    metrics = [json.loads(line) for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    assert [m["memory/size"] for m in metrics] == [4, 8] and 0 <= metrics[1]["eval/solve_rate"] <= 1
    designs = sorted((tmp_path / "run/envs/step_00001").glob("*.json"))
    assert [json.loads(p.read_text())["index"] for p in designs] == [0, 1, 2, 3]
    episodes = [json.loads(line) for p in (tmp_path / "run/episodes").iterdir() for line in p.read_text().splitlines()]
    assert len({e["env"] for e in episodes}) > 1 and len({tuple(e["messages"]) for e in episodes}) > 1


def test_processes_must_share_the_designs_evenly(pocket_dir, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "train.py", *SMALL,
         "--designs_per_step", "5", "--output_dir", tmp_path / "run"],
        cwd=ROOT, env=os.environ | {"ACCELERATE_USE_CPU": "1"}, capture_output=True, text=True, timeout=300)
    assert done.returncode != 0 and "must be a multiple of the 2 processes" in done.stderr


def test_it_says_when_the_launcher_started_fewer_processes(pocket_dir, tmp_path):
    """`accelerate launch --cpu --num_processes 2` runs one, and says nothing."""
    done = subprocess.run(
        [sys.executable, "-m", "accelerate.commands.launch", "--cpu", "--num_processes", "2", "train.py", *map(str, SMALL),
         "--model", pocket_dir, "--steps", "1", "--eval_every", "0", "--output_dir", tmp_path / "run"],
        cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "WARNING: accelerate launch was asked for 2 processes and started 1" in done.stdout and "1 process on" in done.stdout
