class DialEnv:
    LEVEL, TURNS, HINT = 8, 3, 0
    def reset(self, seed):
        rng = random.Random(seed)
        self.turn = 0
        word = "up right down left".split()
        locks = [(f"dial {k}", word[k % 4]) for k in range(1, self.LEVEL + 1)]
        self.locks = rng.choices(locks, k=self.TURNS)
        self.open = 0
        return "castle dial. " + self.look(), {}
    def look(self):
        return self.locks[self.open][0]
    def hint(self):
        return " ".join(word for lock, word in self.locks[:self.HINT])
    def step(self, action):
        self.turn += 1
        right = action[7:-1] == self.locks[self.open][1]
        self.open += right
        won = self.open == self.TURNS
        over = won or not right
        return "end" if over else self.look(), float(won), over, False, {}
