# Several instructions without a helper of its own: the base tells the next one.
# WIN: <tool_call>{"name": "create", "arguments": {"title": "review", "day": "mon"}}</tool_call>
# SAYS: Invite Sam
# WIN: <tool_call>{"name": "invite", "arguments": {"title": "review", "who": "Sam"}}</tool_call>
# SAYS: Move it
# WIN: <answer>done</answer>
# SAYS: Move it to fri
# WIN: <tool_call>{"name": "move", "arguments": {"title": "review", "day": "fri"}}</tool_call>
# SAYS: ALL STEPS COMPLETE
# WIN: <answer>done</answer>
import random


class CalendarAssistantEnv(ToolUseBaseEnv):
    def reset(self, seed=None):
        self.turn_count = 0
        self._call_history = []
        if seed is not None:
            random.seed(seed)
        self._state = {"events": {f"event{n}": {"day": random.choice(["tue", "wed"]), "guests": []} for n in range(12)}}
        text = {"type": "string"}
        self._tools = {
            "create": {"description": "Create an event", "parameters": {"type": "object", "properties": {"title": text, "day": {"type": "string", "enum": ["mon", "tue", "wed", "thu", "fri"]}}, "required": ["title", "day"]}},
            "invite": {"description": "Invite a guest", "parameters": {"type": "object", "properties": {"title": text, "who": text}, "required": ["title", "who"]}},
            "move": {"description": "Move an event", "parameters": {"type": "object", "properties": {"title": text, "day": text}, "required": ["title", "day"]}},
            "delete": {"description": "Delete an event", "parameters": {"type": "object", "properties": {"title": text}, "required": ["title"]}},
        }
        self._user_messages = ["Put a review on Monday.", "Invite Sam to it.", "Move it to friday."]
        self._message_criteria = [
            lambda s: s["events"].get("review", {}).get("day") == "mon",
            lambda s: "Sam" in s["events"].get("review", {}).get("guests", []),
            lambda s: s["events"].get("review", {}).get("day") == "fri"]
        self._current_msg = 0
        self._expected_answer = "done"
        return self._user_messages[0], {}

    def tool_create(self, title, day):
        self._state["events"][title] = {"day": day, "guests": []}
        return f"created {title}"

    def tool_invite(self, title, who):
        self._state["events"][title]["guests"].append(who)
        return f"invited {who}"

    def tool_move(self, title, day):
        self._state["events"][title]["day"] = day
        return f"moved {title}"

    def tool_delete(self, title):
        del self._state["events"][title]
        return f"deleted {title}"

    def solution(self):
        return "create, invite, move, <answer>done</answer>"
