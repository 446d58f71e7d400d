class DeskEnv(ToolUseBaseEnv):
    LEVEL, TURNS, HINT = 7, 3, 0
    def reset(self, seed):
        rng = random.Random(seed)
        self.turn_count, self.max_turns = 0, self.TURNS + 1
        items, self._state = "cup lamp rope coin".split(), []
        names = "fix send find drop".split()
        item = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}
        self._tools = {name: {"parameters": item} for name in names}
        jobs = [("abcdefghijkl"[k], names[k * 7 // 3 % 4]) for k in range(self.LEVEL)]
        self.jobs = [(*rng.choice(jobs), rng.choice(items)) for _ in range(self.TURNS)]
        self._user_messages = [f"job {job} {item}" for job, name, item in self.jobs]
        self._message_criteria = [lambda state, n=n: len(state) > n for n in range(self.TURNS)]
        self._current_msg, self._expected_answer = 0, "done"
        return "market desk. " + self._user_messages[0], {}
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
