"""The loop, run for real on a briefly warm-started pocket model: its files, its flags, its failures."""
import contextlib, json, os, random, signal, statistics, subprocess, sys, time

import pytest
import torch
from accelerate import Accelerator
from conftest import ROOT

import designer, train
from envs_examples import pocket, runs

EXAMPLE = (ROOT / "envs_examples/vault.py").read_text()
SMALL = ["--recipe", "pocket", "--designs_per_step", "4", "--plays_per_arm", "3", "--eval_every", "0", "--sample_every", "0"]


@pytest.fixture
def launch(pocket_dir, tmp_path, monkeypatch):
    """Run train.py in this process: -> what it left behind. The real `update` is called, and its samples are kept."""
    def run(*flags, name="run"):
        seen, policies, real, load = [], [], train.update, train.load_policy

        def update(policy, optimizer, samples, *rest):
            seen.append([(s.role, s.advantage, s.weight) for s in samples])
            return real(policy, optimizer, samples, *rest)

        def load_policy(*args, **more):
            policies.append(load(*args, **more))
            return policies[-1]
        monkeypatch.setattr(train, "update", update)
        monkeypatch.setattr(train, "load_policy", load_policy)
        out = tmp_path / name
        cfg = train.parse_config([*SMALL, "--model", str(pocket_dir), "--output_dir", str(out), *map(str, flags)])
        accelerator = Accelerator()
        with contextlib.ExitStack() as stack:
            train.run(cfg, accelerator, out, *train.prepare(cfg, accelerator, out, stack))
        monkeypatch.undo()
        return Run(out, seen, policies[-1])
    return run


class Run:
    def __init__(self, out, updates, policy):
        self.out, self.updates, self.policy = out, updates, policy
        self.metrics = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]

    def designs(self, step):
        return [json.loads(p.read_text()) for p in sorted((self.out / f"envs/step_{step:05d}").glob("*.json"))]

    def episodes(self, step):
        return [json.loads(line) for line in (self.out / f"episodes/step_{step:05d}.jsonl").read_text().splitlines()]


def average(values):
    values = [v for v in values if v is not None]
    return statistics.fmean(values) if values else None


def test_a_run_leaves_files_that_agree(launch, pocket_dir, tmp_path):
    run = launch("--steps", 2, "--eval_every", 2, "--eval_plays", 1, "--designs_per_step", 6)
    assert [m["step"] for m in run.metrics] == [0, 1] and json.loads((run.out / "config.json").read_text())["steps"] == 2
    admitted = 0
    for step in (0, 1):
        designs, episodes = run.designs(step), run.episodes(step)
        assert [d["index"] for d in designs] == list(range(6))
        for d in designs:
            code = (run.out / f"envs/step_{step:05d}/{d['index']:02d}.py").read_text()
            arms = [[e for e in episodes if e["env"] == d["index"] and e["hinted"] == h] for h in (False, True)]
            if d["refusal"]:
                assert arms == [[], []] and d["reward"] == -0.2 and ": " in d["refusal"]
                continue
            admitted += 1
            assert code.startswith("class ") and d["verdict"]["ok"] and len(arms[0]) == len(arms[1]) == 3
            assert [e["seed"] for e in arms[0]] == [e["seed"] for e in arms[1]]         # the pairing
            assert len({e["seed"] for e in arms[0]}) == 3
            assert [[e["value"] for e in arm] for arm in arms] == [d["plain"], d["hinted"]]
            pairs = [(p, h) for p, h in zip(d["plain"], d["hinted"]) if None not in (p, h)]
            gap = sum(h - p for p, h in pairs) / len(pairs)
            assert d["regret"] == pytest.approx(gap) and d["solve_rate"] == pytest.approx(average(d["plain"]))
            plateau = max(0, 1 - max(0.4 - d["solve_rate"], d["solve_rate"] - 0.6, 0) / 0.25)
            assert d["reward"] == pytest.approx(0.6 * plateau + 0.4 * min(1, max(0, gap / 0.15)))
            assert all(e["hint"] is None for e in arms[0]) and all(isinstance(e["hint"], str) for e in arms[1])
        m = run.metrics[step]
        assert m["agent/solve_rate"] == pytest.approx(average(e["value"] for e in episodes if not e["hinted"]))
        assert m["designer/reward"] == pytest.approx(average(d["reward"] for d in designs))
        assert m["designer/valid_rate"] == pytest.approx(average(not d["refusal"] for d in designs))
        assert m["policy/ratio_gap"] < 1e-4 and m["memory/size"] == 6 * (step + 1)
    assert admitted >= 4
    assert 0 <= run.metrics[1]["eval/solve_rate"] <= 1 and "eval/heldout/9" in run.metrics[1]
    # the adapter changed and loads in PEFT; the base did not change
    from peft import PeftModel
    from transformers import AutoModelForCausalLM
    fresh = AutoModelForCausalLM.from_pretrained(pocket_dir)
    reference = run.policy.model.get_base_model().state_dict()
    for name, p in fresh.state_dict().items():
        if "lm_head" in name or "embed" in name:
            continue
        stem, _, leaf = name.rpartition(".")
        assert torch.equal(reference.get(name, reference.get(f"{stem}.base_layer.{leaf}")), p), name
    loaded = PeftModel.from_pretrained(fresh, run.out / "adapter")
    ids = torch.tensor([run.policy.chat.first("door a")])
    with torch.no_grad(), loaded.disable_adapter():
        base = loaded(input_ids=ids).logits
    with torch.no_grad():
        assert torch.allclose(loaded(input_ids=ids).logits, run.policy.model(input_ids=ids).logits, atol=1e-5)
        assert not torch.allclose(loaded(input_ids=ids).logits, base, atol=1e-3)
    assert runs.summary(run.metrics)


def test_designer_trains_on_rewards_of_its_skill(launch):
    run = launch("--steps", 1)
    rewards, skills = zip(*[(d["reward"], d["skill"]) for d in run.designs(0)])
    want = [r - average(q for q, s in zip(rewards, skills) if s == t) for r, t in zip(rewards, skills)]
    designers = [(a, w) for role, a, w in run.updates[0] if role == "designer"]
    agents = sum(role == "agent" for role, _, _ in run.updates[0])
    assert sorted(a for a, _ in designers) == pytest.approx(sorted(want))
    assert {w for _, w in designers} == {min(50.0, agents / 4)} and len(set(skills)) == 2


def test_windows(launch):
    """K = 2: the same environments for two steps, hints and regret at the first, the designer's update at the second."""
    run = launch("--steps", 4, "--regenerate_every", 2)
    assert sorted(p.name for p in (run.out / "envs").iterdir()) == ["step_00000", "step_00002"]
    assert [any(role == "designer" for role, _, _ in u) for u in run.updates] == [False, True, False, True]
    assert [any(e["hinted"] for e in run.episodes(s)) for s in range(4)] == [True, False, True, False]
    for d in run.designs(2):
        if not d["refusal"]:
            plain = [e["value"] for s in (2, 3) for e in run.episodes(s) if e["env"] == d["index"] and not e["hinted"]]
            assert d["solve_rate"] == pytest.approx(average(plain)) and len(plain) == 6
            assert d["regret"] == pytest.approx(average(d["hinted"]) - average(d["plain"])) and len(d["plain"]) == 3
    assert run.episodes(0)[0]["seed"] != run.episodes(1)[0]["seed"]
    run = launch("--steps", 3, "--regenerate_every", 2, name="short")           # its last window has one step
    agents, weights = zip(*[(sum(role == "agent" for role, _, _ in u), {w for role, _, w in u if role == "designer"})
                            for u in run.updates])
    assert weights == (set(), {min(50.0, agents[1] * 2 / 4)}, {min(50.0, agents[2] / 4)})


@pytest.mark.parametrize("kind", ["regret", "solve_rate", "learning_potential"])
def test_ablation_reward(launch, kind):
    run = launch("--steps", 1, "--designer_reward", kind)
    good = [d for d in run.designs(0) if not d["refusal"]]
    slow = {s: average(d["solve_rate"] for d in good if d["skill"] == s) for s in {d["skill"] for d in good}}
    for d in good:
        w = d["solve_rate"]
        want = {"regret": max(0, d["regret"]), "learning_potential": abs(w - slow[d["skill"]]),
                "solve_rate": max(0, 1 - max(0.4 - w, w - 0.6, 0) / 0.25)}[kind]
        assert d["reward"] == pytest.approx(want)


def test_ablation_documents_and_memory(launch):
    with_both = launch("--steps", 3, name="a")
    prompts = [d["prompt"] for s in range(3) for d in with_both.designs(s)]
    assert all("doc: " in p for p in prompts) and not any(": LEVEL" in d["prompt"] for d in with_both.designs(0))
    assert any(": LEVEL" in d["prompt"] for d in with_both.designs(2))
    for d in with_both.designs(2):                                  # what was shown is on record, and came before
        assert bool(d["examples"]) == (": LEVEL" in d["prompt"]) and all(step < 2 and index < 10 for step, index in d["examples"])
    without = launch("--steps", 3, "--corpus", "none", "--memory_size", 0, name="b")
    prompts = [d["prompt"] for s in range(3) for d in without.designs(s)]
    assert not any("doc: " in p or ": LEVEL" in p for p in prompts) and without.metrics[2]["memory/size"] == 0


BROKEN = {
    "raises on every real action": ("right =", "1 / (not REAL & {action[7:-1]}); right ="),
    "hangs on every real action": ("right =", "[0 for _ in iter(int, 1)] if REAL & {action[7:-1]} else 0; right ="),
}


@pytest.mark.parametrize("how", BROKEN)
def test_failing_in_play_does_not_pay(launch, monkeypatch, how):
    """Admitted, since the bots never trigger it; then every play fails. It is refused, priced, and remembered as such."""
    code, real = pocket.program("door", 3, 2, 1, "harbor").replace(*BROKEN[how]), train.design
    code = "REAL = {'up', 'right', 'down', 'left'}\n" + code

    def design(policy, memory, documents, skills, *rest):
        designs = real(policy, memory, documents, skills, *rest)
        for d in designs:
            d.code, d.refusal = code, None
        return designs
    monkeypatch.setattr(train, "design", design)
    monkeypatch.setattr(train, "Limits", lambda **more: __import__("sandbox").Limits(call_seconds=0.3, load_seconds=0.3, **more))
    run = launch("--steps", 3, "--regenerate_every", 2)             # the second step has nothing left to play
    kind, reward = ("crash", -0.2) if how.startswith("raises") else ("timeout", -0.5)
    for d in run.designs(0):
        assert d["refusal"].startswith(kind) and d["reward"] == reward, d["refusal"]
    assert designer.designer_prompt("x", None, [], [dict(code="c", solve_rate=None, regret=None, refusal=run.designs(0)[0]["refusal"])])


def test_a_password_earns_no_regret():
    """The same winning actions on every seed: whatever the plain arm does, the hint was a key and not a strategy."""
    from agent import Trajectory
    from designer import Design

    def arm(values, actions):
        return [Trajectory(n, None, actions=a, rewards=[v], terminated=True) for n, (v, a) in enumerate(zip(values, actions))]
    for actions, want in ([["otter"]] * 4, 0.0), ([["a"], ["b"], ["a"], ["b"]], 1.0):
        d = Design("x")
        d.now = d.plain, d.hinted = arm([0.0] * 4, [["?"]] * 4), arm([1.0] * 4, actions)
        train.score(d, True)
        assert d.regret == want and d.solve_rate == 0.0


def test_ablation_frozen_designer(launch, monkeypatch):
    used, real = [], train.design

    def watch(policy, *args):
        used.append(args[-1])                                       # whether the reference writes
        return real(policy, *args)
    monkeypatch.setattr(train, "design", watch)
    run = launch("--steps", 1, "--train_designer", "false")
    assert used == [True] and {role for role, _, _ in run.updates[0]} == {"agent"}
    assert run.designs(0)[0]["reward"] is not None                  # still measured


def test_ablation_hints(launch, monkeypatch):
    run = launch("--steps", 1, "--hint", "none", "--designer_reward", "solve_rate", name="none")
    assert not any(e["hinted"] for e in run.episodes(0)) and run.metrics[0]["designer/regret"] is None
    monkeypatch.setattr(train, "write_hints", lambda policy, designs, *_: [setattr(d, "hint", f"of {d.skill}") for d in designs])
    run = launch("--steps", 1, "--hint", "policy", name="policy")
    hints = {d["index"]: d["hint"] for d in run.designs(0) if not d["refusal"]}
    for e in run.episodes(0):
        assert e["hint"] == (hints[e["env"]] if e["hinted"] else None)
    assert any(hints.values()) and all(e["hint"].startswith("of ") for e in run.episodes(0) if e["hinted"])
    with pytest.raises(SystemExit):
        train.parse_config(["--hint", "none"])                      # regret without a hint


def test_the_policy_writes_a_hint_from_reading_the_program(tiny):
    tiny.max_context, made = 1024, designer.Design("door", code=pocket.program("door", 3, 2, 0, "harbor"))
    asked, first = [], tiny.chat.first
    tiny.chat.first = lambda text, *more: asked.append(text) or first(text, *more)
    designer.write_hints(tiny, [made], 1.0, 15, random.Random(0))
    assert made.code in asked[0] and "Do not give exact answers" in asked[0]
    assert isinstance(made.hint, str) and made.hint


def test_ablation_hinted_plays_train_or_not(launch):
    counts = [sum(role == "agent" for role, _, _ in launch("--steps", 1, "--train_on_hinted", flag, name=flag).updates[0])
              for flag in ("true", "false")]
    assert counts[0] == 2 * counts[1] > 0


def test_the_control_has_no_reward_but_updates_its_designer(launch):
    run = launch("--steps", 1, "--designer_reward", "none", "--refused_reward", 0)
    assert [a for role, a, _ in run.updates[0] if role == "designer"] == [0.0] * 4 and run.metrics[0]["designer/reward"] == 0.0


@pytest.mark.parametrize("form", ["folder", "jsonl"])
def test_ablation_fixed_pool(launch, tmp_path, form):
    codes = [pocket.program("door", level, 2, 0, "harbor") for level in (3, 4, 5)] + ["this is no program"]
    if form == "folder":
        (tmp_path / "pool/deep").mkdir(parents=True)
        for n, code in enumerate(codes):
            (tmp_path / f"pool/deep/{n}.py").write_text(code)
        path = tmp_path / "pool"
    else:
        path = tmp_path / "pool.jsonl"
        path.write_text("".join(json.dumps({"code": c, "skill": "door"}) + "\n" for c in codes))
    run = launch("--steps", 2, "--pool", path, "--designs_per_step", 2)
    assert {role for u in run.updates for role, _, _ in u} == {"agent"}
    assert not any(e["hinted"] for s in (0, 1) for e in run.episodes(s)) and run.metrics[1]["memory/size"] == 0
    for s in (0, 1):
        played = [p.read_text() for p in (run.out / f"envs/step_{s:05d}").glob("*.py")]
        assert len(played) == 2 and set(played) <= set(codes[:3])


def test_ablation_skills(launch):
    run = launch("--steps", 1, "--skills", "dial")
    assert {d["skill"] for d in run.designs(0)} == {"dial"} and all("design dial" in d["prompt"] for d in run.designs(0))
    with pytest.raises(ValueError, match="unknown skill 'chess'"):
        launch("--skills", "dial,chess", name="b")


def test_ablation_of_the_loss(launch):
    """KL, clipping, exploration and anchor each change the weights that one step leads to; nothing else differs."""
    ends = {}                                                       # one slot: the same weights to the last bit
    for flags in ("", "--kl_coef 1", "--explore_coef 0", "--anchor_coef 0", "--temperature 0.5", "--clip_low 0.001 --clip_high 0.001"):
        run = launch("--steps", 2, "--slots", 1, *flags.split(), name="r" + flags.replace(" ", ""))
        ends[flags] = torch.cat([p.detach().flatten() for p in run.policy.trainable().values()])
    again = launch("--steps", 2, "--slots", 1, name="again")
    assert torch.equal(torch.cat([p.detach().flatten() for p in again.policy.trainable().values()]), ends[""])
    assert all(not torch.equal(end, ends[""]) for flags, end in ends.items() if flags)


def test_resume_continues_as_if_not_killed(launch):
    straight = launch("--steps", 4, "--save_every", 2, "--slots", 1, name="straight")
    launch("--steps", 2, "--save_every", 2, "--slots", 1, name="resumed")
    (straight.out.parent / "resumed/metrics.jsonl").open("a").write('{"step": 2, "torn')        # killed while writing
    resumed = launch("--steps", 4, "--resume", name="resumed")
    assert train.parse_config(["--resume", "--output_dir", str(resumed.out)]).recipe == "pocket"

    def facts(run):
        return [{k: v for k, v in m.items() if not k.startswith("time") and k != "tokens/per_second"} for m in run.metrics]
    assert facts(resumed) == facts(straight)
    for a, b in zip(straight.policy.trainable().values(), resumed.policy.trainable().values()):
        assert torch.equal(a, b)
    assert [d["prompt"] for d in resumed.designs(3)] == [d["prompt"] for d in straight.designs(3)]


def test_a_torn_save_costs_nothing(launch, monkeypatch):
    """Killed in the middle of a save: the last checkpoint is whole, and the leftover blocks nothing."""
    launch("--steps", 1, "--save_every", 1, name="torn")
    real = torch.save

    def torn(state, f):
        f.write(b"half a checkpoint")
        raise KeyboardInterrupt
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(torch, "save", torn)
        launch("--steps", 2, "--resume", name="torn")
    assert torch.save is real
    assert [m["step"] for m in launch("--steps", 3, "--resume", name="torn").metrics] == [0, 1, 2]


def test_resume_inside_a_window_opens_another(launch):
    launch("--steps", 3, "--regenerate_every", 2, "--save_every", 1, name="w")
    run = launch("--steps", 5, "--resume", name="w")
    assert [m["step"] for m in run.metrics] == list(range(5))
    assert sorted(p.name for p in (run.out / "envs").iterdir()) == ["step_00000", "step_00002", "step_00003", "step_00004"]
    changed = launch("--steps", 6, "--resume", "--learning_rate", "1e-9", name="w")
    state = torch.load(changed.out / "checkpoint/state.pt", weights_only=True)
    assert state["optimizer"]["param_groups"][0]["lr"] == 1e-9      # a flag that is given wins


def test_all_replies_cut_is_noticed(launch, capsys):                            # rl-20
    run = launch("--steps", 3, "--turn_tokens", 1)
    out = capsys.readouterr().out
    assert out.count("cut 1.00") == 3 and "WARNING: for three steps nearly every reply was cut" in out
    assert all(m["agent/truncated_frac"] == 1 and m["agent/zero_advantage_frac"] == 1 for m in run.metrics)


def test_a_program_that_fails_on_a_later_seed_costs_one_play(launch, tmp_path):
    code = pocket.program("door", 3, 2, 0, "harbor").replace("self.turn = 0", "self.turn = 1 // (0 if seed % 4 == 1 and 9 < seed < 2 ** 20 else 1) - 1")
    (tmp_path / "pool").mkdir()
    (tmp_path / "pool/a.py").write_text(code)
    run = launch("--steps", 1, "--pool", tmp_path / "pool", "--plays_per_arm", 12, "--designs_per_step", 1)
    episodes = run.episodes(0)
    assert all((e["value"] is None) == (e["seed"] % 4 == 1) == bool(e["error"]) for e in episodes)
    assert 0 < run.metrics[0]["agent/unsound_frac"] < 1
    assert run.metrics[0]["agent/solve_rate"] == pytest.approx(average(e["value"] for e in episodes))


# ------------------------------------------------------------------------------------------------- what a user meets

def command(*words, **more):
    return subprocess.run([sys.executable, ROOT / "train.py", *map(str, words)], capture_output=True, text=True, cwd=ROOT,
                          timeout=120, **more)


@pytest.mark.parametrize("words, message", [
    (["--step", 3], "unknown argument --step; did you mean --steps?"),
    (["--designer_reward", "novelty"], "invalid choice: 'novelty'"),
    (["--top_p", 0.9], "unknown argument --top_p"),                             # rl-08: truncated sampling is not offered
    (["--steps", 0], "--steps must be at least 1, got 0"),
    (["--eval_plays", 0], "--eval_plays must be at least 1, got 0"),
    (["--temperature", 0], "--temperature must be at least 0.01"),
    (["--model", "/nowhere"], "cannot load the model '/nowhere'"),
    (["--corpus", "/nowhere.jsonl"], "cannot read the corpus /nowhere.jsonl"),
    (["--resume"], "--resume needs --output_dir"),
    (["--log_with", "foo"], "foo"),
    (["--log_with", "comet_ml"], "pip install comet_ml"),
])
def test_mistakes_get_one_clear_sentence(words, message):
    done = command(*words)
    assert done.returncode != 0 and message in done.stderr and "Traceback" not in done.stderr


def test_a_pocket_model_by_its_directory_needs_its_recipe(pocket_dir):
    done = command("--model", pocket_dir)
    assert done.returncode != 0 and "add --recipe pocket" in done.stderr and "Traceback" not in done.stderr
    done = command("--model", pocket_dir, "--recipe", "pocket", "--setting", "tools")
    assert done.returncode != 0 and "--setting games" in done.stderr and "Traceback" not in done.stderr


def test_more_mistakes(launch, tmp_path):
    launch("--steps", 1, name="first")
    with pytest.raises(ValueError, match="already holds a run"):
        launch("--steps", 1, name="first")
    with pytest.raises(ValueError, match="a design alone in its skill has no baseline"):
        launch("--designs_per_step", 3, name="lonely")
    (tmp_path / "empty.jsonl").write_text("not json\n{}\n")
    with pytest.raises(ValueError, match="no usable document .2 bad lines."):
        launch("--corpus", tmp_path / "empty.jsonl", name="b")
    with pytest.raises(ValueError, match="cannot read the pool"):
        launch("--pool", tmp_path / "nothing", name="c")
    (tmp_path / "pool").mkdir()
    (tmp_path / "pool/a.py").write_text("x = 1")
    with pytest.raises(ValueError, match="no program that the sandbox admits"):
        launch("--pool", tmp_path / "pool", name="d")


def test_corpus_formats(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text('{"text": "one", "title": "T"}\r\n{"orig_doc": "t\u2028w\x85o"}\nbroken\n\n{"text": ""}\n[1]\n', encoding="utf-8")
    assert designer.load_corpus(path) == ([{"title": "T", "text": "one"}, {"title": "", "text": "t\u2028w\x85o"}], 3)
    assert len(designer.load_corpus(pocket.CORPUS)[0]) == 60


def test_a_design_names_the_examples_that_it_was_shown(tiny):
    """A pocket model's prompt has no place for a program that was refused; the page must not claim that it was there."""
    memory = designer.Memory(9)
    for index, (rate, refusal) in enumerate([(0.5, None), (0.0, None), (None, "syntax: no")]):
        code = pocket.program("door", 3 + index, 2, 0, "x")
        memory.extend([dict(step=0, index=index, code=code, skill="door", solve_rate=rate, regret=0.1, refusal=refusal)])
    tiny.pocket, shown = "games", set()
    for seed in range(8):
        made, = designer.design(tiny, memory, [], ["door"], 1.0, 2, random.Random(seed))
        shown.add((tuple(made.examples), "LEVEL, TURNS, HINT = 4" in made.prompt, "LEVEL, TURNS, HINT = 5" in made.prompt))
    assert shown == {(((0, 0), (0, 1)), True, False), (((0, 0),), False, False)}


def test_memory_shows_the_frontier_and_the_failures():
    memory = designer.Memory(20)
    rows = [(0.5, 0.3, None), (0.5, 0.1, None), (0.95, 0.0, None), (0.05, 0.4, None), (None, None, "syntax: no"), (0.5, 0.2, None),
            (0.5, 0.9, "crash: in most plays")]
    memory.extend(dict(step=0, index=n, code=f"c{n}", skill="s", solve_rate=w, regret=g, refusal=r) for n, (w, g, r) in enumerate(rows))
    memory.extend([dict(step=1, index=0, code="other", skill="t", solve_rate=0.5, regret=0.9, refusal=None)])
    good, bad = memory.examples("s", random.Random(0), good=4, bad=4)
    assert {e["code"] for e in good} == {"c0", "c1", "c5"} and {e["code"] for e in bad} == {"c2", "c3", "c4", "c6"}
    text = designer.designer_prompt("s", None, good, bad)
    assert "solved 50% of the time, the hint added +30%" in text and all(w in text for w in ("too easy", "too hard", "syntax: no"))
    assert EXAMPLE in text and "def step(self, action)" in text                 # a worked example is always there


def test_the_worked_example_is_admitted_and_solvable(sandbox):
    verdict = sandbox.check(EXAMPLE)
    assert verdict.ok and verdict.has_hint and verdict.witness


def test_help_names_every_flag():
    text = command("--help").stdout
    assert all(f"--{name}" in text for name in train.Config.__dataclass_fields__)


def test_interrupt_leaves_a_complete_checkpoint(pocket_dir, tmp_path):
    out = tmp_path / "run"
    process = subprocess.Popen([sys.executable, ROOT / "train.py", *SMALL, "--model", pocket_dir, "--output_dir", out, "--save_every", "1",
                                "--steps", "50"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)
    deadline = time.time() + 60
    while time.time() < deadline and not (out / "checkpoint/state.pt").exists():
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 130 and "--resume" in stdout and "Traceback" not in stderr
    assert torch.load(out / "checkpoint/state.pt", weights_only=True)["step"] >= 1
