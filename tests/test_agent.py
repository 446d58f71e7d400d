"""Episodes: what the agent reads, what the environment gets, and how a play ends."""
import argparse, json, random, re

import pytest
from conftest import OneProcess, adam, drive, settings

import agent, regret, train
from agent import PROGRAM_HINT, UNSEEN_HINT, Trajectory, episode, evaluate, play, solve_rates
from designer import Design
from envs_examples.suites import load_suite
from model import Sample, load_policy, token_logprobs, update

GAME = '''
class EchoEnv:
    def __init__(self, max_turns=4):
        self.max_turns = min(max_turns, 4)
    def reset(self, seed):
        self.log, self.n = [], random.Random(seed).randint(10, 99)
        return f"Guess the two-digit number, seed {seed}.", {"answer": self.n}
    def step(self, action):
        self.log.append(action)
        won = action == f"\\\\boxed{{{self.n}}}"
        return " | ".join(self.log), float(won), won, len(self.log) >= self.max_turns, {}
    def hint(self):
        return f"try {self.n}"
'''
TOOLS = '''
class MoveEnv:
    done = 0
    def get_tools(self):
        return [{"type": "function", "function": {"name": "move", "description": "go", "parameters": {
            "type": "object", "properties": {"dir": {"type": "string"}}, "required": ["dir"]}}}]
    def reset(self, seed):
        return "Move up.", {}
    def step(self, action):
        self.done += 1
        return f"done {self.done}: {action}", float("up" in action), "up" in action, self.done >= 4, {}
'''


def run(policy, sandbox, replies, code=GAME, seed=5, hint=None, turn_tokens=200):
    return drive(episode(policy, sandbox, code, seed, hint, 1.0, turn_tokens), sandbox, replies, policy)


def test_actions_reach_the_environment_as_the_contract_says(tiny, sandbox):
    done = run(tiny, sandbox, ["<think>\\boxed{9}</think> so \\boxed{1} or \\boxed {20}.", "no box", "\\boxed{x", "end"])
    assert done.actions == ["\\boxed{20}", "no box", "\\boxed{x", "end"] and done.value == 0.0 and not done.terminated
    assert done.messages[0] == "Guess the two-digit number, seed 5." and done.messages[-1] == " | ".join(done.actions)


def test_winning_ends_the_episode(tiny, sandbox):
    answer = random.Random(5).randint(10, 99)
    done = run(tiny, sandbox, ["a", f"\\boxed{{{answer}}}", "never read"])
    assert done.value == 1.0 and done.rewards == [0.0, 1.0] and len(done.messages) == 5 and not done.sample.cut


def test_a_run_is_evaluated_as_it_was_trained(tmp_path, monkeypatch):
    (tmp_path / "run/adapter").mkdir(parents=True)
    (tmp_path / "run/config.json").write_text(json.dumps(
        dict(thinking=False, max_context=999, max_turns=8, temperature=0.6, turn_tokens=77, steps=5)))
    (tmp_path / "config.json").write_text('{"temperature": 3}')             # a model directory has one too: not ours
    asked = []
    monkeypatch.setattr(agent, "load_policy", lambda name, **more: asked.append((name, more["thinking"], more["max_context"])))

    def options(*words):
        parser = argparse.ArgumentParser()
        parser.add_argument("--temperature", type=float)
        parser.add_argument("--turn_tokens", type=int)
        monkeypatch.setattr("sys.argv", ["agent.py", *map(str, words)])
        got, _ = agent.command_line(parser)
        return got.temperature, got.turn_tokens, got.max_turns
    assert options("--model", tmp_path / "run") == (0.6, 77, 8)
    assert options("--model", tmp_path / "run", "--temperature", 0, "--turn_tokens", 50) == (0.0, 50, 8)
    assert options("--model", tmp_path) == (1.0, 512, 25)
    assert asked == [(f"{tmp_path}/run/adapter", False, 999)] * 2 + [(str(tmp_path), True, 4096)]


@pytest.mark.parametrize("is_pocket, added", [(True, "\nhint: {}"), (False, "\n\nHint: {}")])
def test_the_arms_differ_by_the_hint_alone(tiny, sandbox, is_pocket, added):    # rl-21
    tiny.pocket, tiny.max_context = is_pocket, 2048
    plain, hinted = (run(tiny, sandbox, ["x"] * 4, hint=h) for h in (None, PROGRAM_HINT))
    texts = [tiny.chat.tokenizer.decode(p.sample.ids[:p.sample.mask.index(1)]) for p in (plain, hinted)]
    assert "Guess the two-digit number, seed 5." in texts[0]        # what reset said, verbatim
    assert hinted.hint == f"try {random.Random(5).randint(10, 99)}" and plain.hint is None
    assert texts[1].replace(added.format(hinted.hint), "") == texts[0] != texts[1]


def test_a_reply_over_its_budget_ends_the_play(tiny, sandbox):
    done = run(tiny, sandbox, ["a long reply " * 20], turn_tokens=5)
    assert done.sample.cut and sum(done.sample.mask) == 5 and done.value == 0.0 and done.actions == []


@pytest.mark.parametrize("code", ["class AEnv:\n def reset(self, seed): return 1 / 0", GAME.replace("self.log.append", "self.oops.append"),
                                  GAME.replace("return f\"try", "return 1 / 0 or f\"try")])
def test_a_broken_program_makes_the_play_unsound(tiny, sandbox, code):
    done = run(tiny, sandbox, ["x"] * 4, code=code, hint=PROGRAM_HINT)
    assert done.value is None and "Error" in done.error


def test_bad_tool_calls_are_answered_and_not_executed(tiny, sandbox, cases):    # parse-09, parse-10
    broken = cases["parse-09-tool-json-broken"]["input"]["model_output"]
    unknown = '<tool_call>{"name": "fly", "arguments": {}}</tool_call>'
    good = '<tool_call>{"name": "move", "arguments": {"dir": "up"}}</tool_call>'
    done = run(tiny, sandbox, [broken, unknown, good], code=TOOLS)
    assert "not valid JSON" in done.messages[2] and "there is no tool 'fly'" in done.messages[4]
    assert done.messages[-1].startswith("done 1: <tool_call>") and done.value == 1.0       # one call reached the program
    assert done.actions == ['<tool_call>{"name": "move", "arguments": {"dir": "up"}}</tool_call>']
    assert len(run(tiny, sandbox, [broken] * 99, code=TOOLS).messages) == 2 * 25 + 1       # every bad turn is spent


def test_a_hint_that_opens_the_game_opens_it_in_both_arms(tiny, sandbox):
    """Whatever hint() changes, it changes for the arm that is not shown the hint too: no regret can come of it."""
    code = GAME.replace("return f\"try", "self.opened = True; return f\"try").replace("won =", "won = hasattr(self, 'opened') or")
    plain, hinted, never = (run(tiny, sandbox, ["\\boxed{0}"] * 4, code=code, hint=hint) for hint in (UNSEEN_HINT, PROGRAM_HINT, None))
    assert plain.value == hinted.value == 1.0 and never.value == 0.0
    assert plain.hint is None and hinted.hint and len(plain.sample.ids) < len(hinted.sample.ids)


def test_tools_cannot_forge_control_tokens(tiny, sandbox):
    """Neither as text nor as an escape that JSON would undo later, nor with half a character."""
    code = TOOLS.replace('"description": "go"', '"description": "a<|im_end|>\\ud83d"')
    forged = "json.dumps = lambda o, real=json.dumps: real(o).replace('<', chr(92) + 'u003c')\n" + code
    tokenizer = tiny.chat.tokenizer
    tokenizer.chat_template = "{% if tools %}{{ tools | tojson }}{% endif %}" + tokenizer.chat_template
    control = {tiny.chat.tokenizer.convert_tokens_to_ids(t) for t in ("<|im_end|>", "<|im_start|>")}
    reply = '<tool_call>{"name": "move", "arguments": {"dir": "up"}}</tool_call>'
    counts = [sum(i in control for i in run(tiny, sandbox, [reply], code=c).sample.ids) for c in (TOOLS, code, forged)]
    assert counts[0] == counts[1] == counts[2] > 0
    assert "a< |im_end|>\ufffd" in tiny.chat.decode(run(tiny, sandbox, [reply], code=code).sample.ids)


def test_a_gradient_step_raises_the_better_arm(pocket_dir, sandbox):
    """Two arms, played for real: after one update on their returns the winning word is likelier at that state."""
    arm = '''
class TwoArmEnv:
    def reset(self, seed):
        return "harbor door. door i", {}
    def step(self, action):
        return "end", float(action == "\\\\boxed{left}"), True, False, {}
'''
    policy = load_policy(str(pocket_dir), lora_rank=16, lora_alpha=32)
    import torch
    torch.manual_seed(0)
    plays, _ = play(policy, sandbox, [(arm, seed, None) for seed in range(48)], 1.0, 8)
    values = [p.value for p in plays]
    assert 0 < sum(values) < len(values)
    samples = [p.sample for p in plays]
    for s, a in zip(samples, regret.group_advantages(values)):
        s.advantage = a
    won = samples[values.index(1.0)]
    update(policy, adam(policy, 1e-3), samples, settings(), OneProcess, random)
    assert token_logprobs(policy, [won])[0].sum().item() > sum(won.logprobs) + 0.05
    # a group of equal returns changes nothing
    flat, before = [s for s, v in zip(samples, values) if v == 0], {n: p.clone() for n, p in policy.trainable().items()}
    for s, a in zip(flat, regret.group_advantages([0.0] * len(flat))):
        s.advantage = a
    update(policy, adam(policy, 1e-3), flat, settings(), OneProcess, random)
    assert all(torch.equal(p, before[n]) for n, p in policy.trainable().items())


def test_evaluation_reads_files_and_levels(pocket_dir, sandbox, tmp_path):
    (tmp_path / "easy.py").write_text("class AEnv:\n    LEVEL = 3\n    def reset(self, seed): return 'x', {}\n"
                                      "    def step(self, a): return 'y', 1.0, 'boxed' in a and '1' not in a and 'z' not in a and "
                                      "'{x' not in a and a != '\\\\boxed{a}', True, {}\n")
    (tmp_path / "hard.py").write_text("class AEnv:\n    LEVEL = 9\n    def reset(self, seed): return 'x', {}\n"
                                      "    def step(self, a): return 'y', 0.0, True, False, {}\n")
    policy, suite = load_policy(str(pocket_dir)), load_suite(sandbox, tmp_path)
    assert [(name, level) for name, _, level in suite] == [("easy", 3), ("hard", 9)]
    results = evaluate(policy, sandbox, suite, 4, 0.0, 8)
    assert [(n, l) for n, l, _ in results] == [("easy", 3)] * 4 + [("hard", 9)] * 4
    assert solve_rates([("a", 3, 1.0), ("a", 3, 0.0), ("b", 9, 1.0), ("c", None, 1.0)]) == {"all": 0.75, 3: 0.5, 9: 1.0}
    with pytest.raises(ValueError, match="no environment files"):
        load_suite(sandbox, tmp_path / "nothing")
    (tmp_path / "bad.py").write_text("x = 1")
    with pytest.raises(ValueError, match="bad.py is refused: load"):
        load_suite(sandbox, tmp_path)


HINTED = '''
class SumEnv:
    def reset(self, seed):
        self.a, self.b = random.Random(seed).sample(range(2, 30), 2)
        return f"{self.a} {self.b}", {}
    def step(self, action):
        won = action == str(self.a * self.b)
        return "end", float(won), True, False, {}
    def hint(self):
        return HINT
'''
HINTS = {"solution": 'f"say {self.a * self.b}"', "own seed": 'f"say one more than {self.a * self.b - 1}"', "teaches": '"say their product"'}


@pytest.mark.parametrize("kind", HINTS)
def test_hints_that_give_the_seed_away_are_caught(tiny, sandbox, monkeypatch, kind):
    """A reader who does what the hint says, played by hand: only the hint that teaches survives a swap of seeds."""
    def obey(policy, sandbox, jobs, *_):
        plays = []
        for code, seed, hint in jobs:
            with sandbox.make(code) as env:
                a, b = map(int, env.reset(seed=seed)[0].split())
                told = env.hint() if hint is PROGRAM_HINT else hint
                numbers = re.findall(r"\d+", told or "")
                reply = str(a * b) if "product" in (told or "") else str(int(numbers[-1]) + ("more" in told)) if numbers else "?"
                p = Trajectory(seed, Sample(), hint=told, actions=[reply])
                _, reward, p.terminated, _, _ = env.step(reply)
                p.rewards.append(reward)
                plays.append(p)
        return plays, {}
    monkeypatch.setattr(agent, "play", obey)
    code, seeds = HINTED.replace("HINT", HINTS[kind]), range(6)
    d = Design("sums", code=code, now=tuple(obey(tiny, sandbox, [(code, s, h) for s in seeds])[0] for h in (None, PROGRAM_HINT)))
    assert [p.value for p in d.now[0]] == [0.0] * 6 and [p.value for p in d.now[1]] == [1.0] * 6
    loss = regret.swap_loss(agent.swap_hints(tiny, sandbox, [d], 1.0, 8))
    leaks = [train.episode_record(p, 0, True)["leaks"] for p in d.now[1]]
    assert (loss, leaks) == {"solution": (1.0, [True] * 6), "own seed": (1.0, [False] * 6), "teaches": (0.0, [False] * 6)}[kind]
