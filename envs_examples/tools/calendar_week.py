class CalendarWeekEnv(ToolUseBaseEnv):
    """Move a meeting to the first slot that is free for both, then confirm it: look up, decide, change."""
    LEVEL = 2
    DAYS = ("mon", "tue", "wed", "thu", "fri")

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.turn_count = 0
        self.who, self.other = rng.sample(["ana", "bo", "cleo", "dev", "eli"], 2)
        slots = [f"{day} {hour}" for day in self.DAYS for hour in (9, 11, 14)]
        busy = {name: set(rng.sample(slots, 7)) for name in (self.who, self.other)}
        both = [slot for slot in slots if slot not in busy[self.who] | busy[self.other]]
        if not both:
            both = [slots[-1]]
            busy = {name: taken - set(both) for name, taken in busy.items()}
        self._expected_answer = both[0]
        self._state = {"busy": {name: sorted(taken, key=slots.index) for name, taken in busy.items()}, "moved": None}
        name = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        self._tools = {
            "busy_slots": {"description": "The slots at which a person is busy.", "parameters": name},
            "phone_number": {"description": "The phone number of a person.", "parameters": name},
            "move_meeting": {"description": "Move the meeting to a slot such as 'tue 14'.", "parameters": {
                "type": "object", "properties": {"slot": {"type": "string"}}, "required": ["slot"]}}}
        return (f"Move the meeting of {self.who} and {self.other} to the first slot of the week at which both are free. Slots "
                "are at 9, 11 and 14 from mon to fri, written like 'tue 14'. Then submit the slot as <answer>SLOT</answer>."), {}

    def tool_busy_slots(self, name):
        return ", ".join(self._state["busy"].get(name, [])) or f"Error: nobody is called {name}"

    def tool_phone_number(self, name):
        return "555-01" + str(10 + len(name)) if name in self._state["busy"] else f"Error: nobody is called {name}"

    def tool_move_meeting(self, slot):
        if slot.split()[:1] == [] or slot.split()[0] not in self.DAYS:
            return f"Error: no such slot: {slot}"
        if clash := [name for name, taken in self._state["busy"].items() if slot in taken]:
            return f"Error: {clash[0]} is busy then"
        self._state["moved"] = slot
        return f"The meeting is at {slot}."

    def _check_answer(self, answer):
        return answer.strip() == self._expected_answer == self._state["moved"]

    def solution(self):
        def call(tool, /, **arguments):
            return f"<tool_call>{json.dumps(dict(name=tool, arguments=arguments))}</tool_call>"
        return [call("busy_slots", name=self.who) + "\n" + call("busy_slots", name=self.other),
                call("move_meeting", slot=self._expected_answer), f"<answer>{self._expected_answer}</answer>"]

    def hint(self):
        return "Ask for the busy slots of both people first, then go through the week in order and take the first slot in neither list."
