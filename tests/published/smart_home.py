# Two calls in one turn, and the answer after them; nested objects as arguments.
# WIN: <tool_call>{"name": "read", "arguments": {"room": "kitchen"}}</tool_call>\n<tool_call>{"name": "set", "arguments": {"room": "kitchen", "scene": {"lamp": "off", "heat": 18}}}</tool_call>
# SAYS: kitchen: lamp off, heat 18
# WIN: <answer>kitchen</answer>
import copy
import random
from collections import OrderedDict


class SmartHomeEnv(ToolUseBaseEnv):
    def reset(self, seed=None):
        self.turn_count = 0
        self._call_history = []
        rng = random.Random(seed)
        rooms = OrderedDict((room, {"lamp": "off", "heat": rng.randint(15, 18)}) for room in ["hall", "bath", "attic", "study"])
        rooms["kitchen"] = {"lamp": "on", "heat": 23}
        self._start = copy.deepcopy(rooms)
        self._state = {"rooms": rooms}
        self._tools = {
            "read": {"description": "The state of a room", "parameters": {"type": "object", "properties": {"room": {"type": "string"}}, "required": ["room"]}},
            "set": {"description": "Set lamp and heat of a room", "parameters": {"type": "object", "properties": {"room": {"type": "string"}, "scene": {"type": "object"}}, "required": ["room", "scene"]}},
            "lock_doors": {"description": "Lock all doors"},
        }
        self._expected_answer = "Kitchen"
        return "One room wastes energy: switch its lamp off, set 18 degrees, and submit its name as <answer>ROOM</answer>.", {}

    def tool_read(self, room):
        return str(dict(self._state["rooms"][room]))

    def tool_set(self, room, scene):
        self._state["rooms"][room].update(scene)
        return f"{room}: lamp {scene['lamp']}, heat {scene['heat']}"

    def tool_lock_doors(self):
        return "locked"

    def _check_answer(self, answer):
        return super()._check_answer(answer) and self._state["rooms"]["kitchen"] == {"lamp": "off", "heat": 18}

    def solution(self):
        return "read(kitchen), set(kitchen, ...)"
