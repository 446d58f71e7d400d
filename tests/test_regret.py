"""Rewards and advantages against the published functions' vectors, and by hand."""
import json, math
from pathlib import Path

import pytest

import regret
from envs_examples import runs

VECTORS = json.loads((Path(__file__).parent / "regret_vectors.json").read_text())


def mean(values):
    return sum(values) / len(values)


def centred(raw, skill, scale):
    """The published advantage, written out slowly: reward minus the mean over the designs of the same skill."""
    return {g: scale * (raw[g] - mean([raw[h] for h in raw if skill[h] == skill[g]])) for g in raw}


@pytest.mark.parametrize("case", VECTORS["plateau"])
def test_plateau_vectors(case):
    want = case.pop("want")
    assert regret.plateau(**case) == pytest.approx(want, abs=1e-12)


@pytest.mark.parametrize("case", VECTORS["episode_reward"])
def test_episode_return_vectors(case):
    assert regret.episode_return(case["step_rewards"], case["terminated"]) == pytest.approx(case["want"])


@pytest.mark.parametrize("case", VECTORS["role_scale"])
def test_role_scale_vectors(case):
    want = case.pop("want")
    assert regret.role_scale(**case) == pytest.approx(want)


@pytest.mark.parametrize("case", VECTORS["group_zscore"])
def test_group_advantage_vectors(case):
    assert regret.group_advantages(case["returns"], case["eps"]) == pytest.approx(case["want"])


@pytest.mark.parametrize("case", VECTORS["regret"])
def test_regret_reward_vectors(case):
    groups = list(case["skill"])
    rewards = [regret.designer_reward("regret", case["hint_return"][g] - mean(case["no_hint_returns"][g]),
                                      mean(case["no_hint_returns"][g]), timed_out=case["step_timeout"][g],
                                      timeout_penalty=case["timeout_penalty"]) for g in groups]
    got = regret.designer_advantages(rewards, [case["skill"][g] for g in groups], case["scale"])
    assert got == pytest.approx([case["want"][g] for g in groups])


@pytest.mark.parametrize("case", VECTORS["blend"])
def test_blend_reward_vectors(case):
    groups, rewards = list(case["skill"]), []
    for g in groups:
        steps = case["no_hint_returns_by_step"][g]
        first = mean(steps[min(steps, key=int)])                    # regret: the window's first step
        solve = mean([r for returns in steps.values() for r in returns])        # plateau: the whole window
        want = case["want"][g]
        assert (case["hint_return"][g] - first, solve) == pytest.approx((want["regret"], want["solve_rate"]))
        rewards.append(regret.designer_reward(
            "blend", want["regret"], solve, regret_weight=case["regret_weight"], plateau_weight=case["plateau_weight"],
            regret_scale=case["regret_scale"]))
        assert rewards[-1] == pytest.approx(want["raw"])
    got = regret.designer_advantages(rewards, [case["skill"][g] for g in groups], case["scale"])
    assert got == pytest.approx([case["want"][g]["advantage"] for g in groups])


@pytest.mark.parametrize("case", VECTORS["learning_potential"])
def test_learning_potential_vectors(case):
    groups = list(case["skill"])
    for skill, history in case["mean_return_history"].items():      # the slow mean is built up as published
        slow = None
        for value in history:
            slow = regret.slow_mean(slow, value, case["gamma_slow"])
        assert slow == pytest.approx(case["slow_baseline"][skill])
    rewards = [regret.designer_reward("learning_potential", 0.0, 0.0, mean_return=mean(case["returns"][g]),
                                      slow_mean=case["slow_baseline"][case["skill"][g]]) for g in groups]
    got = regret.designer_advantages(rewards, [case["skill"][g] for g in groups], case["scale"])
    assert got == pytest.approx([case["want"][g] for g in groups])


def test_paired_regret_by_hand():
    # differences 1, 0, 0, 1: mean 0.5, sample variance 1/3, standard error sqrt(1/3)/2
    value, error, pairs = regret.paired_regret([0, 1, 0, 0], [1, 1, 0, 1])
    assert (value, pairs) == (0.5, 4) and error == pytest.approx(math.sqrt(1 / 3) / 2)
    # an unsound play takes its partner with it
    assert regret.paired_regret([0, None, 1], [1, 1, None]) [0::2] == (1.0, 1)
    assert math.isnan(regret.paired_regret([None], [1])[0])
    with pytest.raises(ValueError, match="paired"):
        regret.paired_regret([0], [1, 1])


def test_designer_reward_kinds_differ():
    got = {kind: regret.designer_reward(kind, 0.3, 0.9, mean_return=0.9, slow_mean=0.5) for kind in regret.KINDS}
    # regret .3; plateau(.9) = 0 (beyond .6 + .25); blend .4 * min(1, .3/.15); |.9 - .5|
    assert got == pytest.approx({"regret": 0.3, "solve_rate": 0.0, "blend": 0.4, "learning_potential": 0.4, "none": 0.0})
    assert regret.designer_reward("regret", -0.2, 0.5) == 0.0
    assert regret.designer_reward("blend", 0.3, 0.5, timed_out=True) == -0.5
    assert regret.designer_reward("none", 0.3, 0.5, timed_out=True) == 0.0      # the control pays nothing at all
    with pytest.raises(ValueError, match="unknown designer reward"):
        regret.designer_reward("novelty", 0.0, 0.0)


def test_equal_groups_are_exactly_zero(cases):                      # rl-01
    *flat, last = cases["rl-01-equal-rewards"]["input"]["calc"]["groups"]
    for group in flat:
        assert regret.group_advantages(group) == [0.0] * len(group)
    assert max(map(abs, regret.group_advantages(last))) == pytest.approx(math.sqrt(7), rel=1e-6)
    assert regret.group_advantages([1.0, None, 0.0]) == pytest.approx([1.0, 0.0, -1.0])


def test_baseline_is_the_groups_own(cases):                         # rl-04
    a, b = cases["rl-04-wrong-axis"]["input"]["calc"]["groups"]
    std = math.sqrt(0.1875)                                         # of three against one
    assert regret.group_advantages(a) == pytest.approx([.25 / std] * 3 + [-.75 / std])
    assert regret.group_advantages(b) == pytest.approx([-.25 / std] * 3 + [.75 / std])
    # designers of two skills share no baseline either
    assert regret.designer_advantages([1.0, 0.0, 0.2], ["x", "x", "y"]) == pytest.approx([0.5, -0.5, 0.0])
    assert regret.designer_advantages([-0.2] * 5, ["x"] * 5) == [0.0] * 5


def test_hint_leaks():
    assert regret.hint_leaks("go up, then left.", ["\\boxed{up}", "\\boxed{left}"])
    assert not regret.hint_leaks("go left, then up.", ["\\boxed{up}", "\\boxed{left}"])
    assert not regret.hint_leaks("the updraft is left", ["\\boxed{up}"])            # words, not letters
    assert regret.hint_leaks("first (0,1) and then (2,3)!", ["\\boxed{(0,1)}", "\\boxed{(2,3)}"])
    assert not regret.hint_leaks("anything", []) and not regret.hint_leaks("anything", ["\\boxed{}"])
    assert not regret.hint_leaks("right " * 3000, ["\\boxed{right}"] * 200 + ["\\boxed{down}"])     # and at once


def test_summary_of_a_run(tmp_path):
    rows = [{"step": s, "agent/solve_rate": s / 4, "eval/solve_rate": s} for s in range(4)]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    lines = runs.summary(runs.read_metrics(tmp_path), parts=2).splitlines()
    assert lines[1].split()[:2] == ["0-1", "0.125"] and lines[2].split()[:2] == ["2-3", "0.625"]
    assert lines[1].split()[-2] == "1.000"                          # the last evaluation of the stretch
    with pytest.raises(FileNotFoundError, match="output directory"):
        runs.read_metrics(tmp_path / "nothing")


def test_swap_loss():
    # the hint alone won on four seeds; its neighbour's hint lost two of them, one by a crash
    triples = [(0.0, 1.0, 1.0), (0.0, 1.0, 0.0), (0.5, 1.0, None), (0.0, 1.0, 1.0), (1.0, 1.0, 0.0), (0.0, 0.0, 0.0), (None, 1.0, 0.0)]
    assert regret.swap_loss(triples) == 0.5
    assert regret.swap_loss([(1.0, 1.0, 0.0)]) is None and regret.swap_loss([]) is None
