class NextTermEnv:
    """Continue a sequence made by a hidden rule, three times in a row."""
    skill = "Pattern Recognition"

    def __init__(self, max_turns=4):
        self.max_turns = min(max_turns, 4)

    def reset(self, seed):
        rng = random.Random(seed)
        self.turn = self.right = 0
        self.a, self.b = rng.randint(2, 5), rng.randint(1, 7)
        self.kind = rng.choice(["linear", "square", "alternate"])
        return ("What comes next? Answer like this: \\boxed{12}. You need three right answers in four tries. " + self.show()), {}

    def term(self, n):
        if self.kind == "linear":
            return self.a * n + self.b
        if self.kind == "square":
            return n * n + self.a * n + self.b
        return self.a * n if n % 2 else self.b + n

    def show(self):
        return ", ".join(str(self.term(n)) for n in range(1, 7 + self.right)) + ", ?"

    def step(self, action):
        self.turn += 1
        if action.replace(" ", "") == f"\\boxed{{{self.term(7 + self.right)}}}":
            self.right += 1
        won = self.right == 3
        return self.show(), float(won), won, self.turn >= self.max_turns, {}

    def solution(self):
        return [str(self.term(7 + k)) for k in range(3)]

    def hint(self):
        return {"linear": "The step is always the same.", "square": "The steps grow by two each time.",
                "alternate": "Look at every other term: there are two sequences."}[self.kind]
