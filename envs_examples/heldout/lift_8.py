class LiftEnv:
    LEVEL, TURNS, HINT = 8, 3, 0
    def reset(self, seed):
        rng = random.Random(seed)
        self.turn = 0
        floors = range(self.LEVEL)
        self.floor = rng.choice(floors)
        self.goal = rng.choice([k for k in floors if 0 < abs(k - self.floor) <= self.TURNS])
        return "kitchen lift. " + self.look(), {}
    def look(self):
        return f"floor {self.floor} goal {self.goal}"
    def hint(self):
        return " ".join((["up"] * (self.goal - self.floor) + ["down"] * (self.floor - self.goal))[:self.HINT])
    def step(self, action):
        self.turn += 1
        word = action[7:-1]
        self.floor += (word == "up") - (word == "down")
        won = self.floor == self.goal
        return self.look(), float(won), won, self.turn >= self.TURNS, {}
