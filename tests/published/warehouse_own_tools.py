# No base class: get_tools, execute_tool and step of its own, as the contract allows.
# WIN: <tool_call>{"name": "pick", "arguments": {"item": "bolt", "count": 3}}</tool_call>
# WIN: <answer>packed</answer>
import json
import random
import re


class WarehouseEnv:
    def __init__(self, max_turns=6):
        self.max_turns = max_turns

    def get_tools(self):
        return [{"name": "pick", "description": "Take items from the shelf", "parameters": {
            "type": "object", "properties": {"item": {"type": "string"}, "count": {"type": "integer"}}, "required": ["item", "count"]}}]

    def reset(self, seed=None):
        self.rng = random.Random(seed)
        self.turn, self.box = 0, {}
        self.stock = {name: self.rng.randint(4, 9) for name in ("bolt", "nut", "washer")}
        return "Pack three bolts and submit <answer>packed</answer>.", {}

    def execute_tool(self, name, arguments):
        self.box[arguments["item"]] = arguments["count"]
        return {"output": f"{arguments['count']} x {arguments['item']}", "returncode": 0}

    def step(self, action):
        self.turn += 1
        call = re.search(r"<tool_call>(.*?)</tool_call>", action, re.S)
        if call:
            call = json.loads(call[1])
            return self.execute_tool(call["name"], call["arguments"])["output"], 0.0, False, self.turn >= self.max_turns, {}
        won = "<answer>packed</answer>" in action and self.box == {"bolt": 3}
        return "ok" if won else "not packed", float(won), won, self.turn >= self.max_turns, {}
