"""One process against two on one machine without a GPU: python tests/bench_processes.py [--steps 12] [--rounds 2]

Runs the main job with the same global batch on one process and on two (gloo, one thread each), in turn, and prints episodes per
second of the training steps (the first is left out) and the mean solve rate, which should agree within sampling noise."""
import argparse, json, os, statistics, subprocess, sys, tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def run(processes, options, seed):
    with tempfile.TemporaryDirectory() as folder:
        launch = ["--multi_gpu", "--num_processes", str(processes)] if processes > 1 else ["--num_processes", "1"]
        subprocess.run([sys.executable, "-m", "accelerate.commands.launch", *launch, "train.py", "--steps", str(options.steps),
                        "--seed", str(seed), "--eval_every", "0", "--save_every", "1000", "--output_dir", folder + "/run", *options.words],
                       cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env=os.environ | {"ACCELERATE_USE_CPU": "1", "OMP_NUM_THREADS": "1"})
        rows = [json.loads(line) for line in (Path(folder) / "run/metrics.jsonl").read_text().splitlines()][1:]
        plays = [len(p.read_text().splitlines()) for p in sorted((Path(folder) / "run/episodes").iterdir())][1:]
    seconds = sum(value for row in rows for name, value in row.items() if name.startswith("time/"))
    return sum(plays) / seconds, statistics.fmean(row["agent/solve_rate"] for row in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=2)
    options, options.words = parser.parse_known_args()      # further words go to train.py
    results = {1: [], 2: []}
    for round_ in range(options.rounds):
        for processes, values in results.items():
            values.append(run(processes, options, round_))
    for processes, values in results.items():
        rate, solve = zip(*values)
        print(f"{processes} process(es): {statistics.median(rate):.0f} episodes/s, solve rate "
              + ", ".join(f"{value:.3f}" for value in solve))
    ratio = statistics.median(r for r, _ in results[2]) / statistics.median(r for r, _ in results[1])
    print(f"two against one: {ratio:.2f} x the episodes per second")


if __name__ == "__main__":
    main()
