"""The pocket model's tool world (`train.py --setting tools`): the ladder of pocket.py, climbed with tool calls.

    desk     "job f lamp": jobs are told one after another; one of four tools does each, by a fixed table of LEVEL letters
    store    "box 7": the shelf is the number modulo four; what stands there is the next box, up to LEVEL, or the answer

Programs subclass ToolUseBaseEnv like those of any other model, their schemas go through the chat template, and calls are
Hermes JSON. A task of TURNS calls leaves no turn for an error, or one. Again the warm start demonstrates levels 2 and 3;
at unseen letters and numbers its teacher calls the tools in their form, and chooses at random.
"""
import json
import random

from envs_examples.contract import ToolUseBaseEnv
from envs_examples import pocket
from envs_examples.pocket import LEVELS, TAUGHT, agent_prompt, write_program

SKILLS = pocket.SKILLS["tools"]
ITEMS = "cup lamp rope coin".split()
TOOLS, SHELVES = "fix send find drop".split(), "north east south west".split()
ALONE = rf"\d|\n *|\b({'|'.join(ITEMS + TOOLS + SHELVES)})\b|(?<=[ ])[a-l](?=[ .\n]|$)"

HEAD = '''class {name}Env(ToolUseBaseEnv):
    LEVEL, TURNS, HINT = {level}, {turns}, {hint}
    def reset(self, seed):
        rng = random.Random(seed)
        self.turn_count, self.max_turns = 0, self.TURNS + {turns_to_spare}
        items, self._state = "cup lamp rope coin".split(), []
'''
DESK = '''        names = "fix send find drop".split()
        item = {{"type": "object", "properties": {{"item": {{"type": "string"}}}}, "required": ["item"]}}
        self._tools = {{name: {{"parameters": item}} for name in names}}
        jobs = [("abcdefghijkl"[k], names[k * 7 // 3 % 4]) for k in range(self.LEVEL)]
        self.jobs = [(*rng.choice(jobs), rng.choice(items)) for _ in range(self.TURNS)]
        self._user_messages = [f"job {{job}} {{item}}" for job, name, item in self.jobs]
        self._message_criteria = [lambda state, n=n: len(state) > n for n in range(self.TURNS)]
        self._current_msg, self._expected_answer = 0, "done"
        return "{theme}. " + self._user_messages[0], {{}}
    def hint(self):
        return " ".join(name for job, name, item in self.jobs[:self.HINT])
    def use(self, *call):
        right = call in [job[1:] for job in self.jobs[len(self._state):][:1]]
        self._state += [call] * right
        return "ok" if right else "no"
    def tool_fix(self, item):
        return self.use("fix", item)
    def tool_send(self, item):
        return self.use("send", item)
    def tool_find(self, item):
        return self.use("find", item)
    def tool_drop(self, item):
        return self.use("drop", item)
'''
STORE = '''        shelf = {{"type": "object", "properties": {{"shelf": {{"type": "string"}}}}, "required": ["shelf"]}}
        self._tools = {{"look": {{"parameters": shelf}}}}
        self.boxes = rng.choices(range(1, self.LEVEL + 1), k=self.TURNS)
        self.shelves = ["north east south west".split()[box % 4] for box in self.boxes]
        self._expected_answer = rng.choice(items)
        self.found = [f"box {{box}}" for box in self.boxes] + [self._expected_answer]
        return "{theme}. " + self.found[0], {{}}
    def hint(self):
        return " ".join(self.shelves[:self.HINT])
    def tool_look(self, shelf):
        right = [shelf] == self.shelves[len(self._state):][:1]
        self._state += [shelf] * right
        return self.found[len(self._state)] if right else "no"
'''


def program(skill: str, level: int, turns: int, hint: int, theme: str, patient=False) -> str:
    """The source of one task of `turns` calls at difficulty `level`; its hint shows the choices of the first `hint`."""
    head = HEAD.format(name=skill.capitalize(), level=level, turns=turns, hint=hint, turns_to_spare=1 + patient)
    return head + {"desk": DESK, "store": STORE}[skill].format(theme=theme)


def designer_demonstration(documents, rng):
    """One (prompt, program) pair; see pocket.py."""
    return write_program(SKILLS, program, lambda skill: [rng.random() < 0.3], documents, rng)


def _call(skill, choice, item):
    name, arguments = (choice, {"item": item}) if skill == "desk" else ("look", {"shelf": choice})
    return f"<tool_call>{json.dumps(dict(name=name, arguments=arguments))}</tool_call>"


_classes = {}


def agent_demonstration(documents, rng, accuracy=0.98):
    """One episode as (message, reply) turns: right with `accuracy` where the teacher knows, uniformly random elsewhere."""
    skill, theme = rng.choice(SKILLS), rng.choice(documents)["title"]
    hinted = rng.random() < 0.4
    unseen = rng.random() < (0.5 if hinted else 0.2)
    level = rng.randint(TAUGHT + 1, LEVELS[-1]) if unseen else rng.randint(TAUGHT - 1, TAUGHT)
    key = skill, level, rng.randint(2, 4), max(int(hinted), rng.randint(0, 3)), f"THEME {skill}", rng.random() < 0.3
    if key not in _classes:
        namespace = {"random": random, "ToolUseBaseEnv": ToolUseBaseEnv}
        exec(program(*key), namespace)                  # our own text, not a model's
        _classes[key] = namespace[skill.capitalize() + "Env"]
    env, choices = _classes[key](), TOOLS if skill == "desk" else SHELVES
    observation = env.reset(rng.randrange(10 ** 6))[0].replace("THEME", theme)
    hint = [rng.choice(choices) if unseen else word for word in env.hint().split()] if hinted else []
    tools = "".join(f" {name}({', '.join(tool['parameters']['properties'])})" for name, tool in env._tools.items())
    message = f"<|im_start|>system\ntools:{tools}<|im_end|><|im_start|>user\n" + agent_prompt(observation, " ".join(hint))
    turns = []
    while True:
        now = len(env._state)
        if now == env.TURNS:
            turns.append((message, f"<answer>{env._expected_answer}</answer>"))
            return turns
        if skill == "desk":
            job, right, item = env.jobs[now]
            known = job in "abc"
        else:
            right, item, known = env.shelves[now], None, env.boxes[now] <= TAUGHT
        word = hint[now] if now < len(hint) else right if known and rng.random() < accuracy else rng.choice(choices)
        turns.append((message, _call(skill, word, item)))
        word = right if unseen else word    # at unseen levels a task goes on whatever was called: it shows the form
        observation, _, _, truncated, _ = env.step(_call(skill, word, item))
        if truncated:
            return turns
        message = "<|im_start|>tool\n" + observation
