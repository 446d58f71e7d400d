class DialEnv:
    LEVEL, TURNS, HINT = 3, 3, 0
    def reset(self, seed):
        rng = random.Random(seed)
        self.turn = 0
        self.keys = [rng.randint(1, self.LEVEL) for i in range(self.TURNS)]
        self.answers = ["up right down left".split()[k % 4] for k in self.keys]
        return "forest dial. " + self.look(), {}
    def look(self):
        return f"dial {self.keys[self.turn]}"
    def hint(self):
        return " ".join(self.answers[:self.HINT])
    def step(self, action):
        correct = action[7:-1] == self.answers[self.turn]
        self.turn += 1
        won = correct and self.turn == self.TURNS
        over = won or not correct
        return "end" if over else self.look(), float(won), over, False, {}
