"""Players that know nothing, and how admission lets them try (`Sandbox.check`): what pays them teaches nothing."""
import collections, random, re

PROBES, BOT_WINS = 8, 0.5       # a bot that wins on more than this share of this many seeds makes a program trivial


def boxed(action):
    """An action as the agent would send it: boxed, unless it already is or calls a tool."""
    return action if "\\boxed{" in action or action.startswith("<") else f"\\boxed{{{action}}}"


def options(text):
    """What an observation lists to choose from: boxed examples, numbered or bulleted lines, `moves: a, b or c`."""
    listed = re.findall(r"\\boxed\{([^{}]+)\}|^[^\S\n]*\(?(\w{1,2})[.):]\s|^[^\S\n]*[-*•][^\S\n]+(\S(?:.*\S)?)", text, re.M)
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


Episode = collections.namedtuple("Episode", "steps hint solution holds")        # holds: {attribute: digest} at the end


def won(episode):
    return episode.steps[-1][2] and episode.steps[-1][1] > 0


def episodes(sandbox, code, players, ask=True):
    """Let players play side by side: {(name, seed): player} -> ({(name, seed): Episode}, the program's facts). With `ask`,
    hint() and solution() are called first, where there are any. Raises the first error of the program."""
    def run(method, keys, arguments):
        results = sandbox.run([(envs[key], method, argument) for key, argument in zip(keys, arguments)])
        for result in results:
            if isinstance(result, Exception):
                raise result
        return dict(zip(keys, results))
    envs, nothing = {key: sandbox.make(code) for key in players}, [None] * len(players)
    try:
        steps = {key: [result] for key, result in run("reset", players, [seed for _, seed in players]).items()}
        facts = next(iter(envs.values())).facts
        hints = run("hint", players if ask and facts["hint"] else [], nothing)
        solutions = run("solution", players if ask and facts["solution"] else [], nothing)
        for turn in range(facts["max_turns"]):
            live = [key for key, (*_, last) in steps.items() if not turn or not (last[2] or last[3])]
            actions = [players[key](turn, [step[0] for step in steps[key]]) for key in live]
            for key, result in run("step", live, actions).items():
                steps[key].append(result)
        holds = run("state", players, nothing)
        holds = {key: dict(entry.rpartition(" ")[::2] for entry in entries) for key, entries in holds.items()}
        return {key: Episode(steps[key], hints.get(key), solutions.get(key), holds[key]) for key in players}, facts
    finally:
        for env in envs.values():
            env.close()
