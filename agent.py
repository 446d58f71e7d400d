"""The Reasoning Agent: from a reply to an action, one episode, many episodes at once, and evaluation on files.

An episode is a generator (see model.py): it asks the sandbox for the first observation, the model for a reply, hands the
reply's action to the environment, and so on. The two arms differ by the hint in the first message and by nothing else.

The action is the last balanced `\\boxed{...}` of the reply, outside any thinking, wrapper included; a reply without one
goes to the program whole. In programs that offer tools the reply's tool calls are parsed, checked and handed on; a call
that cannot be understood is answered with the reason, never executed with lost arguments. A reply that runs into its token
budget ends the episode with return 0. `self_test` asks, before training, whether what is trained is what was played.

    python agent.py --play FILE [--model M] [--seed N] [--hint]     one episode of an environment file, printed
    python agent.py --eval SUITE --model M                          solve rates on a suite of envs_examples/suites.py
"""
import argparse, collections, dataclasses, functools, json, random, re, statistics
from pathlib import Path

import torch
from accelerate import PartialState
from accelerate.utils import gather_object

import regret
from envs_examples import pocket, suites
from model import Engine, Sample, accumulate, generating, load_policy, token_logprobs
from sandbox import EnvError, EnvTimeout, Limits, Sandbox, clean

# ---- reading a reply
def strip_thinking(reply: str) -> str:
    """The reply without `<think>...</think>` blocks, half a block whose tag was in the prompt, or an unfinished one."""
    reply = re.sub(r"<think>.*?</think>", "", reply, flags=re.S)
    return reply.rpartition("</think>")[2].partition("<think>")[0]

def parse_action(reply: str):
    """The content of the last balanced \\boxed{...} outside thinking, or None. Escaped braces do not count."""
    text = strip_thinking(reply)
    for start in reversed([m.end() for m in re.finditer(r"\\boxed\s*\{", text)]):
        depth = 1
        for m in re.compile(r"\\.|[{}]", re.S).finditer(text, start):
            depth += {"{": 1, "}": -1}.get(m[0], 0)
            if depth == 0:
                return text[start:m.start()].strip() or None
    return None

class BadToolCall(ValueError):
    """The reply holds a tool call that cannot be understood; the message says why, for the agent to read."""

ToolCall = collections.namedtuple("ToolCall", "name arguments")

def _no_duplicates(pairs):
    if len(dict(pairs)) < len(pairs):
        raise BadToolCall("a key appears twice")
    return dict(pairs)

def _json_object(text):
    try:
        value = json.loads(text, object_pairs_hook=_no_duplicates)
    except (ValueError, RecursionError) as error:
        raise BadToolCall(f"the tool call is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise BadToolCall(f"a tool call must be a JSON object, got {type(value).__name__}")
    return value

def _xml_call(name, body, schemas):
    """Qwen coder's form, `<function=NAME><parameter=KEY>value</parameter></function>`: values of the types in the schema."""
    form = r"<parameter=([^>]+)>\n?(.*?)\n?</parameter>"
    if lost := re.sub(form, "", body, flags=re.S).strip():
        raise BadToolCall(f"only <parameter=name>value</parameter> may stand in a <function> block, got {lost:.60}")
    arguments = _no_duplicates(re.findall(form, body, re.S))
    for key, value in arguments.items():
        kind = schemas.get(name, {}).get("properties", {}).get(key, {}).get("type", "string")
        try:
            arguments[key] = json.loads(value) if kind in ("integer", "number", "boolean", "array", "object") else value
        except (ValueError, RecursionError):
            raise BadToolCall(f"{key} of {name} must be of type {kind}, got {value:.60}") from None
    return {"name": name, "arguments": arguments}

def parse_tool_calls(reply: str, schemas=None):
    """The tool calls of a reply, `<tool_call>{"name": ..., "arguments": {...}}</tool_call>` or Qwen coder's XML in the same
    tags, or one bare JSON object. With `schemas`, {name: parameters}, also checked for names, missing and extra arguments.

    Raises BadToolCall with the reason; never returns a call with lost arguments. No call at all gives []."""
    text = strip_thinking(reply)
    if text.count("<tool_call>") != text.count("</tool_call>"):
        raise BadToolCall("a <tool_call> block is not closed")
    bodies = re.findall(r"<tool_call>(.*?)</tool_call>", text, re.S)
    if not bodies and text.lstrip().startswith("{"):
        bodies = [text]
    calls = []
    for body in bodies:
        xml = re.fullmatch(r"\s*<function=([\w.-]+)>(.*)</function>\s*", body, re.S)
        call = _xml_call(*xml.groups(), schemas or {}) if xml else _json_object(body.strip())
        name, arguments = call.get("name"), call.get("arguments")
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][\w.-]*", name):
            raise BadToolCall(f"the tool's name must be a plain word, got {name!r:.60}")
        if isinstance(arguments, str):                  # some models quote the object once more
            arguments = _json_object(arguments)
        if not isinstance(arguments, dict):
            raise BadToolCall(f"'arguments' of {name} must be a JSON object, got {type(arguments).__name__}")
        if extra := set(call) - {"name", "arguments", "id", "type"}:
            raise BadToolCall(f"unknown keys beside name and arguments: {', '.join(sorted(extra))[:100]}")
        if schemas is not None and name not in schemas:
            raise BadToolCall(f"there is no tool {name!r}; the tools are {', '.join(sorted(schemas))}")
        known, required = ((schemas or {}).get(name, {}).get(key) for key in ("properties", "required"))
        if missing := [key for key in required or () if key not in arguments]:
            raise BadToolCall(f"{name} needs the argument {missing[0]!r}")
        if known is not None and (extra := [key for key in arguments if key not in known]):
            raise BadToolCall(f"{name} has no argument {extra[0]!r}; it takes {', '.join(known) or 'none'}")
        calls.append(ToolCall(name, arguments))
    return calls

# ---- one episode
PROMPT, TOOLS_PROMPT = (Path(__file__).with_name("envs_examples").joinpath("prompts", name).read_text()
                        for name in ("play.txt", "play_tools.txt"))

def first_message(observation, hint, is_pocket, tools=None):
    """What the agent reads first. The hint is all that tells the arms apart."""
    if is_pocket:
        return pocket.agent_prompt(observation, hint)
    return (TOOLS_PROMPT if tools else PROMPT).format(observation=observation, hint=f"\n\nHint: {hint}" if hint else "")

# In place of a hint: ask the program's own hint() after reset, and show it or not. The plain arm asks too, so that a hint()
# that changes the game changes it for both.
PROGRAM_HINT, UNSEEN_HINT = object(), object()

@dataclasses.dataclass
class Trajectory:
    """One played episode. `value` is its return, None if the play was unsound (its program failed)."""
    seed: int
    sample: Sample
    messages: list = dataclasses.field(default_factory=list)        # [observation, reply, observation, ...]
    actions: list = dataclasses.field(default_factory=list)
    rewards: list = dataclasses.field(default_factory=list)
    terminated: bool = False
    hint: str = None
    error: str = None
    timed_out: bool = False

    @property
    def value(self):
        return None if self.error else regret.episode_return(self.rewards, self.terminated)

@functools.lru_cache(maxsize=1000)
def read_tools(text):
    """(schemas for the chat template, in JSON, or None; {name: parameters}). `text` is from the child. Raises EnvError."""
    try:
        schemas = json.loads(text or "[]")
        parameters = {tool["function"]["name"]: tool["function"]["parameters"] for tool in schemas}
        for name, p in parameters.items():              # or it raises
            "".join([name, *p.get("required", []), *(str(dict.get(d, 0)) for d in dict.values(p.get("properties", {})))])
        return clean(json.dumps(schemas, ensure_ascii=False)) if schemas else None, parameters
    except (ValueError, TypeError, KeyError, RecursionError, AttributeError):
        raise EnvError("the list of tools is malformed") from None

def episode(policy, sandbox, code, seed, hint, temperature, turn_tokens):
    """Play one episode; a generator for Engine.run whose return value is a Trajectory."""
    chat, env = policy.chat, sandbox.make(code)
    play = Trajectory(seed, Sample(temperature=temperature))
    try:
        result = yield env, "reset", seed
        if isinstance(result, EnvError):
            raise result
        observation = result[0]
        if hint in (PROGRAM_HINT, UNSEEN_HINT):
            told = yield env, "hint", None
            if isinstance(told, EnvError):
                raise told
            hint = told if hint is PROGRAM_HINT else None
        play.hint = hint
        tools, _ = read_tools(env.facts["tools"])
        ids = chat.first(first_message(observation, hint, policy.pocket, tools), tools)
        for _ in range(env.facts["max_turns"]):
            tokens = yield from play.sample.say(ids, turn_tokens, chat.ends)
            reply = chat.decode(tokens)
            play.messages += [observation, reply]
            if play.sample.cut:
                break
            role = "user"
            try:
                calls = parse_tool_calls(reply, read_tools(env.facts["tools"])[1]) if tools else []     # may be more now
            except BadToolCall as error:                # not executed; the agent reads why, and the turn is spent
                observation, role = f"Error: {error}", "tool"
            else:
                text = strip_thinking(reply).strip()
                answer = re.findall(r"<answer>.*?</answer>", text, re.S)[:1] if tools else []
                action = None if answer else parse_action(reply)
                action = f"\\boxed{{{action}}}" if action else text
                if calls:
                    role = "tool"
                    action = "\n".join([*(f"<tool_call>{json.dumps(c._asdict())}</tool_call>" for c in calls), *answer])
                play.actions.append(action)
                result = yield env, "step", action
                if isinstance(result, EnvError):
                    raise result
                observation, reward, terminated, truncated, _ = result
                play.rewards.append(reward)
                play.terminated = terminated
                if terminated or truncated:
                    break
            ids = chat.then(observation, role)
        if not play.sample.cut:
            play.messages.append(observation)
    except EnvError as error:
        play.error, play.timed_out = str(error), isinstance(error, EnvTimeout)
    finally:
        env.close()
    return play

def play(policy, sandbox, jobs, temperature, turn_tokens, slots=64, seed=0):
    """Play all `jobs`, (code, seed, hint) each, at once: -> (a Trajectory each, in order; the engine's counts)."""
    engine, episodes = Engine(policy, slots), [episode(policy, sandbox, *job, temperature, turn_tokens) for job in jobs]
    with generating(policy):
        return engine.run(episodes, temperature, seed, sandbox), engine.stats

def swap_hints(policy, sandbox, designs, temperature, turn_tokens, slots=64):
    """Returns (plain, hinted, swapped) of every seed that `designs` were just played on, the third with the hint of the next
    seed: a hint that teaches how to play still helps, one that gives its own seed away does not."""
    jobs = [(d.code, p, h, other.hint) for d in designs for plain, hinted in [d.now]
            for p, h, other in zip(plain, hinted, [*hinted[1:], *hinted[:1]])]
    plays, _ = play(policy, sandbox, [(code, h.seed, hint) for code, _, h, hint in jobs], temperature, turn_tokens, slots)
    return [(p.value, h.value, s.value) for (_, p, h, _), s in zip(jobs, plays)]

# ---- evaluation
def self_test(policy, cfg):
    """Refuse to train when the arithmetic is off: log-probabilities as sampled, as trained and of the whole model must
    agree, and gradient must reach every adapter. Raises RuntimeError with what is wrong."""
    def talk(text):
        sample = Sample(temperature=0.7, advantage=1.0)
        for ids in (policy.chat.first(text), policy.chat.then("And now?")):
            yield from sample.say(ids, 8, policy.chat.ends)
        return sample
    with generating(policy):
        samples = Engine(policy, slots=2).run([talk("Count." * n) for n in (1, 6, 11)], 0.7, 0)
    if not all(any(s.mask) for s in samples):
        raise RuntimeError("--max_context leaves no room for a reply")
    stats = collections.Counter()
    accumulate(policy, samples, cfg, 1.0, stats, False)
    sampled = torch.tensor([p for s in samples for p, m in zip(s.logprobs, s.mask) if m], device=policy.device)
    gap = max((sampled - torch.cat(token_logprobs(policy, samples))).abs().max().item(),
              float(stats["ratio_gap"]) / len(sampled))
    if not gap <= (1e-3 if policy.dtype == torch.float32 else 0.3):
        raise RuntimeError(f"sampled and recomputed log-probabilities differ by {gap:.2g}: this model's head or attention "
                           "does more than the engine knows about, so it cannot be trained here")
    dead = [n for n, p in policy.trainable().items() if "lora_B" in n and (p.grad is None or not p.grad.any())]
    policy.model.zero_grad(set_to_none=True)
    if dead:
        raise RuntimeError(f"no gradient reaches {len(dead)} adapter weights, the first being {dead[0]}")

HELD_OUT_SEED = 10 ** 7             # training draws its seeds below this

def evaluate(policy, sandbox, suite, plays, temperature, turn_tokens, slots=64):
    """Plain plays of unseen seeds: (name, level, value) of each; unsound ones count 0. Processes share them, and get all."""
    process = PartialState()
    mine = [task for task in suite[process.process_index::process.num_processes] for _ in range(plays)]
    sandbox.retired.clear()                 # a hiccup in one evaluation must not spoil the later ones
    jobs = [(code, HELD_OUT_SEED + n % plays, None) for n, (_, code, _) in enumerate(mine)]
    done, _ = play(policy, suites.Host(sandbox), jobs, temperature, turn_tokens, slots)
    return gather_object([(name, level, p.value or 0.0) for (name, _, level), p in zip(mine, done)])

def solve_rates(results):
    """{"all": mean, level: mean, ...} of evaluation results."""
    levels = ["all", *dict.fromkeys(level for _, level, _ in results if level is not None)]
    return {level: statistics.fmean(v for _, own, v in results if level in ("all", own)) for level in levels}

def command_line(parser):
    """The options that agent.py and designer.py share, and the policy: -> (options, policy)."""
    parser.add_argument("--model", default="pocket", help="pocket, pocket-tools, a run, a directory or a hub name")
    parser.add_argument("--seed", type=int, default=random.randrange(HELD_OUT_SEED), help="of what is drawn")
    parser.add_argument("--allow_weak_sandbox", action="store_true", help="run although the kernel offers no seccomp filter")
    options = parser.parse_args()
    adapter = Path(options.model) / "adapter"           # of a run, which is then played as it was trained
    trained = json.loads((adapter.parent / "config.json").read_text()) if adapter.is_dir() else {}
    for name, value in dict(thinking=True, max_context=4096, max_turns=25, temperature=1.0, turn_tokens=512).items():
        if getattr(options, name, None) is None:
            setattr(options, name, trained.get(name, value))
    try:
        return options, load_policy(str(adapter) if trained else options.model, device=PartialState().device,
                                    thinking=options.thinking, max_context=options.max_context)
    except ValueError as error:
        parser.error(str(error))

def main():
    parser = argparse.ArgumentParser(description="Let a model play one environment file, or a suite of them.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--play", type=argparse.FileType(), metavar="FILE", help="an environment program")
    what.add_argument("--eval", metavar="SUITE", help="heldout, tools, a folder, reasoning-gym:..., bfcl:..., qa:FILE.jsonl")
    parser.add_argument("--hint", action="store_true", help="show the agent the program's own hint")
    parser.add_argument("--plays", type=int, default=16, help="plays of each file or question in an evaluation")
    parser.add_argument("--temperature", type=float, help="of the agent; 0: greedy (default: a run's own, else 1)")
    parser.add_argument("--turn_tokens", type=int, help="token budget of one reply (default: a run's own, else 512)")
    options, policy = command_line(parser)
    tokens = min(options.turn_tokens, 10) if policy.pocket else options.turn_tokens
    with Sandbox(Limits(max_turns=options.max_turns), options.allow_weak_sandbox) as sandbox:
        if options.eval:                                # on any number of processes
            try:
                suite = suites.load_suite(sandbox, options.eval)
            except ValueError as error:
                parser.error(str(error))
            results = evaluate(policy, sandbox, suite, options.plays, options.temperature, tokens)
            return suites.report(results, options) if PartialState().is_main_process else None
        job = options.play.read(), options.seed, PROGRAM_HINT if options.hint else None
        done = play(policy, sandbox, [job], options.temperature, tokens, seed=options.seed)[0][0]
    for n, message in enumerate(done.messages):
        print(("agent> " if n % 2 else "env>   ") + message.replace("\n", "\n       "))
    print(f"return {done.value} (seed {done.seed}, hint {done.hint!r})" if done.error is None else f"unsound: {done.error}")

if __name__ == "__main__":
    main()
