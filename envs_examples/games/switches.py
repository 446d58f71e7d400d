class SwitchesEnv:
    """Which switch lights which lamp? Experiment, then name the cause."""
    skill = "Causal Inference"

    def __init__(self, max_turns=4):
        self.max_turns = min(max_turns, 4)

    def reset(self, seed):
        rng = random.Random(seed)
        self.lamps = rng.sample("ABCD", 4)          # lamp k is lit by switch lamps[k]
        self.asked, self.turn = rng.randrange(4), 0
        return (f"Four switches A, B, C, D each light one of the lamps 1 to 4. Which switch lights lamp {self.asked + 1}? Try a "
                "set of switches at once, like \\boxed{try A B}, or answer, like \\boxed{answer A}. "
                f"You have {self.max_turns} turns, the answer included."), {}

    def step(self, action):
        self.turn += 1
        words = action[7:-1].replace(",", " ").split()
        last = self.turn >= self.max_turns
        if words[:1] == ["answer"]:
            won = words[1:] == [self.solution_switch()] and self.turn > 1
            return "Right." if won else "Wrong, or not tried before.", float(won), True, False, {}
        if words[:1] != ["try"] or not set(words[1:]) <= set("ABCD"):
            return "Use \\boxed{try A B} or \\boxed{answer A}.", 0.0, False, last, {}
        lit = [str(k + 1) for k, switch in enumerate(self.lamps) if switch in words[1:]]
        return f"Lit: {' '.join(lit) or 'none'}.", 0.0, False, last, {}

    def solution_switch(self):
        return self.lamps[self.asked]

    def solution(self):
        return ["try A B", "answer " + self.solution_switch()]

    def hint(self):
        half = "A B" if self.solution_switch() in "AB" else "C D"
        return f"It is one of {half}. Trying one of them settles it."
