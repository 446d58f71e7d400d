class StoreEnv(ToolUseBaseEnv):
    LEVEL, TURNS, HINT = 9, 3, 0
    def reset(self, seed):
        rng = random.Random(seed)
        self.turn_count, self.max_turns = 0, self.TURNS + 1
        items, self._state = "cup lamp rope coin".split(), []
        shelf = {"type": "object", "properties": {"shelf": {"type": "string"}}, "required": ["shelf"]}
        self._tools = {"look": {"parameters": shelf}}
        self.boxes = rng.choices(range(1, self.LEVEL + 1), k=self.TURNS)
        self.shelves = ["north east south west".split()[box % 4] for box in self.boxes]
        self._expected_answer = rng.choice(items)
        self.found = [f"box {box}" for box in self.boxes] + [self._expected_answer]
        return "market store. " + self.found[0], {}
    def hint(self):
        return " ".join(self.shelves[:self.HINT])
    def tool_look(self, shelf):
        right = [shelf] == self.shelves[len(self._state):][:1]
        self._state += [shelf] * right
        return self.found[len(self._state)] if right else "no"
