"""The multi-turn suites of the Berkeley Function-Calling Leaderboard, played by our agent and judged by its own checker.

The package bfcl-eval (pip install bfcl-eval) ships data, simulators and checker. They run in this process: the simulators
are the package's code, and a call reaches them only after its name and arguments were checked against the schemas. A user's
turn ends with the first reply without a call, as in the leaderboard; the last one ends the play, and its return is 1 if the
checker finds states and responses valid after every turn. Tools that appear half-way (multi_turn_miss_func) are told in the
user's message, as the leaderboard tells models that are prompted; before that a call to one has a wrong name.
"""
import functools
import itertools
import json
import re

SUITES = ("multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context")
TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": "string"}
_numbers = itertools.count()


def schema(value):
    """The package's type names in JSON schema's."""
    if isinstance(value, dict):
        return {k: TYPES.get(v, v) if k == "type" and isinstance(v, str) else schema(v) for k, v in value.items()}
    return [schema(v) for v in value] if isinstance(value, list) else value


class Dialogue:
    """One entry of a suite. Replies with calls are run; others end a user's turn."""

    def __init__(self, entry, truth):
        from bfcl_eval.constants.default_prompts import MAXIMUM_STEP_LIMIT
        self.entry, self.truth, self.most = entry, truth, MAXIMUM_STEP_LIMIT
        self.facts = dict(max_turns=(self.most + 1) * len(truth), tools="[]", hint=False)
        self._offer(entry["function"])

    def _offer(self, functions):
        new = [{"type": "function", "function": {k: schema(f[k]) for k in ("name", "description", "parameters")}}
               for f in functions]
        self.facts["tools"] = json.dumps(json.loads(self.facts["tools"]) + new)
        return json.dumps(new)

    def again(self):
        return Dialogue(self.entry, self.truth)

    def reset(self, seed):
        self.name, self.turns = f"nanospade{next(_numbers)}", [[]]          # turns: [user's turn][reply][call]
        return self._user(), {}

    def _user(self):
        from bfcl_eval.constants.default_prompts import DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_PROMPTING as more
        if late := self.entry.get("missed_function", {}).get(str(len(self.turns) - 1)):
            return more.format(functions=self._offer(late))
        return "\n".join(message["content"] for message in self.entry["question"][len(self.turns) - 1])

    def step(self, action):
        from bfcl_eval.eval_checker.multi_turn_eval import multi_turn_checker, multi_turn_utils
        suite = self.entry["id"].rsplit("_", 1)[0]
        calls = [json.loads(call) for call in re.findall(r"<tool_call>(.*?)</tool_call>", action, re.S)]
        if calls and len(self.turns[-1]) < self.most:
            reply = [f"{c['name']}({', '.join(f'{k}={v!r}' for k, v in c['arguments'].items())})" for c in calls]
            self.turns[-1].append(reply)
            results, _ = multi_turn_utils.execute_multi_turn_func_call(
                reply, self.entry["initial_config"], self.entry["involved_classes"], self.name, self.entry["id"],
                "long_context" in suite)
            return "\n".join(results), 0.0, False, False, {}
        if calls:                                       # the leaderboard's own limit: the whole entry has failed
            return "", 0.0, False, True, {}
        if len(self.turns) < len(self.truth):
            self.turns.append([])
            return self._user(), 0.0, False, False, {}
        valid = multi_turn_checker.multi_turn_checker(self.turns, self.truth, self.entry, suite, self.name)["valid"]
        return "", float(valid), True, False, {}

    def close(self):
        """Forget the simulators of this play, which the package keeps among its globals."""
        from bfcl_eval.eval_checker.multi_turn_eval import multi_turn_utils
        for key in [key for key in vars(multi_turn_utils) if key.startswith(f"{getattr(self, 'name', '-')}_")]:
            delattr(multi_turn_utils, key)


@functools.cache
def _entries(suite):
    from bfcl_eval.utils import load_dataset_entry, load_ground_truth_entry
    truths = {entry["id"]: entry["ground_truth"] for entry in load_ground_truth_entry(suite)}
    return [(entry, truths[entry["id"]]) for entry in load_dataset_entry(suite)]


def load(suite):
    """[(name, Dialogue, level)]. Raises ValueError for an unknown suite or a missing package."""
    if suite not in SUITES:
        raise ValueError(f"bfcl:{suite} is not played here; choose from " + ", ".join(f"bfcl:{name}" for name in SUITES))
    try:
        return [(f"{suite}/{entry['id']}", Dialogue(entry, truth), None) for entry, truth in _entries(suite)]
    except ImportError as error:
        raise ValueError(f"this suite needs a package: pip install bfcl-eval ({error})") from None
