class GuessNumberEnv:
    """Find a number by halving the interval: seven questions are enough, and luck alone is not."""
    skill = "Mathematical Reasoning"

    def __init__(self, max_turns=7):
        self.max_turns = min(max_turns, 7)

    def reset(self, seed):
        self.number = random.Random(seed).randint(1, 100)
        self.turn = 0
        return f"I think of a number from 1 to 100. You have {self.max_turns} guesses. Guess like this: \\boxed{{50}}", {}

    def step(self, action):
        self.turn += 1
        last = self.turn >= self.max_turns
        guess = re.fullmatch(r"\\boxed\{\s*(\d+)\s*\}", action)
        if not guess:
            return "Answer with a whole number, like this: \\boxed{50}", 0.0, False, last, {}
        if int(guess[1]) == self.number:
            return "Correct.", 1.0, True, False, {}
        return "Higher." if int(guess[1]) < self.number else "Lower.", 0.0, False, last, {}

    def solution(self):
        return str(self.number)

    def hint(self):
        low = (self.number - 1) // 10 * 10 + 1
        return f"The number lies from {low} to {low + 9}. Guess the middle of what is left."
