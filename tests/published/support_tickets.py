# An instruction that no tool can satisfy, to be declined; an enum; errors on bad preconditions.
# WIN: <tool_call>{"name": "list_tickets", "arguments": {"status": "open"}}</tool_call>
# WIN: <tool_call>{"name": "assign", "arguments": {"ticket": 41, "agent": "Ravi"}}</tool_call>
# SAYS: weather
# WIN: <tool_call>{"name": "decline_request", "arguments": {"reason": "no tool tells the weather"}}</tool_call>
# SAYS: ALL STEPS COMPLETE
# WIN: <answer>done</answer>
import json
import random
from typing import Any, Dict, List


class SupportTicketsEnv(ToolUseBaseEnv):
    PRIORITIES = ["low", "normal", "high"]

    def reset(self, seed=None):
        self.turn_count = 0
        self._call_history = []
        if seed is not None:
            random.seed(seed)
        tickets: Dict[int, Dict[str, Any]] = {}
        for number in range(30, 60):
            tickets[number] = {"status": random.choice(["closed", "waiting"]), "priority": random.choice(self.PRIORITIES), "agent": None}
        tickets[41] = {"status": "open", "priority": "high", "agent": None}
        self._state = {"tickets": tickets, "declined": False}
        self._tools = {
            "list_tickets": {"description": "Tickets of a status", "parameters": {"type": "object", "properties": {"status": {"type": "string", "enum": ["open", "closed", "waiting"]}}, "required": ["status"]}},
            "assign": {"description": "Assign a ticket", "parameters": {"type": "object", "properties": {"ticket": {"type": "integer"}, "agent": {"type": "string"}}, "required": ["ticket", "agent"]}},
            "decline_request": {"description": "Say that a request cannot be done", "parameters": {"type": "object", "properties": {"reason": {"type": "string"}}, "required": ["reason"]}},
        }
        self._user_messages = ["Give the open ticket to Ravi.", "What will the weather be tomorrow?"]
        self._message_criteria = [lambda s: s["tickets"][41]["agent"] == "Ravi", lambda s: s["declined"]]
        self._current_msg = 0
        self._expected_answer = "done"
        return (self._user_messages[0], {})

    def _advance_if_done(self):
        if self._current_msg < len(self._user_messages) and self._message_criteria[self._current_msg](self._state):
            self._current_msg += 1
            if self._current_msg == len(self._user_messages):
                return "\n\n[ALL STEPS COMPLETE] Submit <answer>done</answer>."
            return f"\n\n[STEP {self._current_msg} COMPLETE — NEW INSTRUCTION] {self._user_messages[self._current_msg]}"
        return ""

    def _check_answer(self, answer):
        return answer == "done" and self._current_msg == len(self._user_messages)

    def tool_list_tickets(self, status):
        found: List[int] = [n for n, t in self._state["tickets"].items() if t["status"] == status]
        return json.dumps(found) + self._advance_if_done()

    def tool_assign(self, ticket, agent):
        if self._state["tickets"].get(ticket, {}).get("status") != "open":
            return "Error: only open tickets can be assigned" + self._advance_if_done()
        self._state["tickets"][ticket]["agent"] = agent
        return f"ticket {ticket} is with {agent}" + self._advance_if_done()

    def tool_decline_request(self, reason):
        self._state["declined"] = self._current_msg == 1
        return "declined" + self._advance_if_done()

    def solution(self):
        return "list_tickets(open), assign(41, Ravi), decline_request(...), done"
