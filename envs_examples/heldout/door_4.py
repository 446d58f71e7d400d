class DoorEnv:
    LEVEL, TURNS, HINT = 4, 3, 0
    def reset(self, seed):
        rng = random.Random(seed)
        self.turn = 0
        self.keys = [rng.randrange(self.LEVEL) for i in range(self.TURNS)]
        self.answers = ["up right down left".split()[int("0213021320"[k])] for k in self.keys]
        return "forest door. " + self.look(), {}
    def look(self):
        return "door " + "abcdefghij"[self.keys[self.turn]]
    def hint(self):
        return " ".join(self.answers[:self.HINT])
    def step(self, action):
        correct = action[7:-1] == self.answers[self.turn]
        self.turn += 1
        won = correct and self.turn == self.TURNS
        over = won or not correct
        return "end" if over else self.look(), float(won), over, False, {}
