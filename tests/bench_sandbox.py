"""What the sandbox costs, as ratios inside one run: python tests/bench_sandbox.py [--seconds S]

Steps a second of a small honest game at 1, 8, 64 and 256 episodes: in this process without any protection, on a pool of
128 threads with a timeout a step (how the authors' code runs programs: nothing is contained), and sealed. The ways are
interleaved, and each figure is the median of `--rounds`. Then what an episode costs before its first step, and what a
training step of the pocket model spends here (`--train`: a few steps of the main job, warm start included)."""
import argparse, asyncio, concurrent.futures, contextlib, json, statistics, sys, tempfile, time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from envs_examples import contract                      # noqa: E402
from sandbox import Sandbox                             # noqa: E402

CODE = (ROOT / "envs_examples/games/grid_walk.py").read_text()
ACTION = "\\boxed{north}"
ENDLESS = CODE.replace("self.turn >= self.max_turns", "False").replace("won = self.at == self.goal", "won = False")


def rate(step_all, episodes, seconds):
    """Steps a second of `step_all`, which steps every episode once."""
    step_all()
    begin, steps = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        step_all()
        steps += episodes
    return steps / (time.perf_counter() - begin)


def in_process(episodes, seconds):
    envs = [contract.load(ENDLESS, 25)[0] for _ in range(episodes)]
    for seed, env in enumerate(envs):
        env.reset(seed)
    return rate(lambda: [env.step(ACTION) for env in envs], episodes, seconds)


def threads(episodes, seconds):
    envs = [contract.load(ENDLESS, 25)[0] for _ in range(episodes)]
    for seed, env in enumerate(envs):
        env.reset(seed)
    loop = asyncio.new_event_loop()
    with concurrent.futures.ThreadPoolExecutor(128) as pool:
        async def step_all():
            await asyncio.gather(*[asyncio.wait_for(loop.run_in_executor(pool, env.step, ACTION), 5.0) for env in envs])
        result = rate(lambda: loop.run_until_complete(step_all()), episodes, seconds)
    loop.close()
    return result


def sealed(episodes, seconds):
    with Sandbox() as box:
        envs = [box.make(ENDLESS) for _ in range(episodes)]
        box.run([(env, "reset", seed) for seed, env in enumerate(envs)])
        results = rate(lambda: box.run([(env, "step", ACTION) for env in envs]), episodes, seconds)
        assert type(envs[0].step(ACTION)) is tuple
    return results


def unique_kilobytes(box):
    """Median private memory of the sealed processes."""
    sizes = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rpartition(")")[2].split()[1]) == box._process.pid:
                rollup = (stat.parent / "smaps_rollup").read_text()
                sizes.append(sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Private")))
        except OSError:
            continue
    return statistics.median(sizes)


def training_share(steps=6):
    """Print the share of the main job's wall time that its process spends in the sandbox, waiting included."""
    import train

    spent, depth = {"check": 0.0, "poll": 0.0, "submit": 0.0}, [0]

    def timed(name, function):
        def call(*args, **more):
            depth[0] += 1
            begin = time.perf_counter()
            try:
                return function(*args, **more)
            finally:
                depth[0] -= 1
                spent[name] += (time.perf_counter() - begin) * (depth[0] == 0)          # not twice where one calls another
        return call
    for name in spent:
        setattr(Sandbox, name, timed(name, getattr(Sandbox, name)))
    with tempfile.TemporaryDirectory() as folder:
        sys.argv = ["train.py", "--steps", str(steps), "--eval_every", "0", "--output_dir", folder + "/run"]
        with contextlib.redirect_stdout(None):
            train.main()
        rows = [json.loads(line) for line in (Path(folder) / "run/metrics.jsonl").read_text().splitlines()]
    wall = sum(value for row in rows for name, value in row.items() if name.startswith("time/"))
    print(f"{steps} pocket training steps of {wall / steps:.1f} s: admission {spent['check'] / wall:.3f} of the wall time, "
          f"environments in play {(spent['poll'] + spent['submit']) / wall:.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--train", action="store_true", help="run a few training steps too")
    options = parser.parse_args()
    print(f"{'episodes':>8} {'in process':>12} {'128 threads':>12} {'sealed':>12}   sealed / threads")
    for episodes in (1, 8, 64, 256):
        rounds = [[way(episodes, options.seconds) for way in (in_process, threads, sealed)] for _ in range(options.rounds)]
        free, pool, box = map(statistics.median, zip(*rounds))
        print(f"{episodes:8} {free:10,.0f}/s {pool:10,.0f}/s {box:10,.0f}/s   {box / pool:.2f}")
    begin = time.perf_counter()
    with Sandbox() as box:
        print(f"start-up {1e3 * (time.perf_counter() - begin):.0f} ms")
        for episodes in (1, 64):
            times = []
            for _ in range(10):
                envs, begin = [box.make(CODE) for _ in range(episodes)], time.perf_counter()
                box.run([(env, "reset", seed) for seed, env in enumerate(envs)])
                times.append((time.perf_counter() - begin) / episodes)
                memory = unique_kilobytes(box)
                for env in envs:
                    env.close()
            print(f"fork + seal + load + reset, {episodes} at once: {1e3 * statistics.median(times):.2f} ms an episode; "
                  f"unique memory {memory / 1024:.1f} MB an episode")
        times = []
        for _ in range(10):
            begin = time.perf_counter()
            assert box.check(CODE).ok
            times.append(time.perf_counter() - begin)
        print(f"admission {1e3 * statistics.median(times):.0f} ms a program")
    if options.train:
        training_share()


if __name__ == "__main__":
    main()
