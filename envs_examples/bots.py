"""Players that know nothing, and how admission lets them try (`Sandbox.check`): what pays them teaches nothing."""
import random, re

PROBES, BOT_WINS = 8, 0.5       # a bot that wins on more than this share of this many seeds makes a program trivial


def boxed(action):
    """An action as the agent would send it: boxed, unless it already is or calls a tool."""
    return action if "\\boxed{" in action or action.startswith("<") else f"\\boxed{{{action}}}"


def options(text):
    """What an observation lists to choose from: boxed examples, numbered or bulleted lines, `moves: a, b or c`."""
    listed = re.findall(r"\\boxed\{([^{}]+)\}|^\s*\(?(\w{1,2})[.):]\s|^\s*[-*•]\s+(.+?)\s*$", text, re.M)
    inline = re.search(r"\b(?:options?|choices?|actions?|moves?|commands?|one of)\b[^:\n]*:[ \t]*([^\n.]+)", text, re.I)
    words = re.split(r"\s*(?:[,|/;]|\bor\b|\band\b)\s*", inline[1]) if inline else []
    return [word for group in listed for word in group if word] + [word for word in words if word]


def first(turn, seen):
    """The first listed option; where none is listed, the words of the first observation from its end."""
    words = re.findall(r"\w+", seen[0]) or [""]
    return boxed((options(seen[0]) or [words[-1 - turn % len(words)]])[0])


def chance(turn, seen):
    """Any listed option; where none is listed, junk."""
    return boxed(random.Random(f"{turn} {seen[0]}").choice(options(seen[0]) or ["1", "a", "zzz"]))


# (turn, observations so far) -> action
BOTS = dict(silent=lambda turn, seen: "", echo=lambda turn, seen: seen[-1][-200:], first=first, chance=chance)


def person(turn, seen):
    return boxed(input(f"{seen[-1]}\n> "))


def script(actions):
    """A player that plays these, one a turn."""
    return lambda turn, seen: boxed(actions[turn]) if turn < len(actions) else ""


def won(episode):
    return episode[-1][2] and episode[-1][1] > 0


def episodes(sandbox, code, players, ask=()):
    """Let players play side by side: {(name, seed): player} -> ({(name, seed): [first observation, step, ...]}, facts,
    {(name, seed): solution()}, {(name, seed): {attribute: digest} at the end}). Raises the first error of the program.

    Where `ask` says so, hint() and solution() are called before the first step: a side effect of theirs shows."""
    def run(method, keys, arguments):
        results = sandbox.run([(envs[key], method, argument) for key, argument in zip(keys, arguments)])
        for result in results:
            if isinstance(result, Exception):
                raise result
        return dict(zip(keys, results))
    envs, nothing = {key: sandbox.make(code) for key in players}, [None] * len(players)
    try:
        played = {key: [result] for key, result in run("reset", players, [seed for _, seed in players]).items()}
        facts = next(iter(envs.values())).facts
        if facts["hint"]:
            run("hint", ask, nothing)
        solutions = run("solution", ask, nothing) if facts["solution"] else {}
        for turn in range(facts["max_turns"]):
            live = [key for key, (*_, last) in played.items() if not turn or not (last[2] or last[3])]
            actions = [players[key](turn, [step[0] for step in played[key]]) for key in live]
            for key, result in run("step", live, actions).items():
                played[key].append(result)
        held = {key: dict(entry.rsplit(" ", 1) for entry in state) for key, state in run("state", players, nothing).items()}
        return played, facts, solutions, held
    finally:
        for env in envs.values():
            env.close()
