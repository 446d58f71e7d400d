# Its own constructor, with keyword arguments handed on; numbers and booleans as arguments.
# WIN: <tool_call>{"name": "usage", "arguments": {"line": 3}}</tool_call>
# WIN: <tool_call>{"name": "add_data", "arguments": {"line": 3, "gigabytes": 5, "recurring": false}}</tool_call>
# WIN: <answer>17</answer>
import random


class TelecomPlanEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=8, **kwargs):
        self.currency = "EUR"
        super().__init__(max_turns=max_turns, **kwargs)

    def reset(self, seed=None):
        self.turn_count = 0
        self._call_history = []
        random.seed(seed if seed is not None else 0)
        self._state = {"lines": {n: {"cap": 10 + n, "used": random.randint(1, 9)} for n in range(1, 6)}}
        self._state["lines"][3] = {"cap": 12, "used": 14}
        self._tools = {
            "usage": {"description": "Cap and use of a line", "parameters": {"type": "object", "properties": {"line": {"type": "integer"}}, "required": ["line"]}},
            "add_data": {"description": "Buy data for a line", "parameters": {"type": "object", "properties": {
                "line": {"type": "integer"}, "gigabytes": {"type": "integer"}, "recurring": {"type": "boolean"}}, "required": ["line", "gigabytes"]}},
            "cancel_line": {"description": "End a contract", "parameters": {"type": "object", "properties": {"line": {"type": "integer"}}, "required": ["line"]}},
        }
        self._expected_answer = 17
        return "Line 3 is over its cap. Buy 5 GB once and report the new cap as <answer>N</answer>.", {}

    def tool_usage(self, line):
        return str(self._state["lines"][line])

    def tool_add_data(self, line, gigabytes, recurring=True):
        if recurring is not False:
            return "Error: a recurring add-on needs a signature"
        self._state["lines"][line]["cap"] += gigabytes
        return f"cap {self._state['lines'][line]['cap']}"

    def tool_cancel_line(self, line):
        del self._state["lines"][line]
        return "cancelled"

    def _check_answer(self, answer):
        return super()._check_answer(answer) and self._state["lines"].get(3, {}).get("cap") == 17

    def solution(self):
        return "usage(3); add_data(3, 5, False); ANSWER: 17"
