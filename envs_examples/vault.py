class VaultEnv:
    """A three-digit lock that tells which digits are right; it takes elimination, not luck."""
    def __init__(self, max_turns=8):
        self.max_turns = max_turns
    def reset(self, seed):
        rng = random.Random(seed)
        self.code = [rng.randint(0, 4) for _ in range(3)]
        self.turn = 0
        return "A lock has 3 digits from 0 to 4. Guess it, for example \\boxed{0 1 2}. I mark each digit R or W.", {}
    def step(self, action):
        self.turn += 1
        digits = re.findall(r"[0-4]", action)
        if len(digits) != 3:
            return "Answer with three digits, for example \\boxed{0 1 2}.", 0.0, False, self.turn >= self.max_turns, {}
        marks = " ".join("R" if int(d) == c else "W" for d, c in zip(digits, self.code))
        won = marks == "R R R"
        return marks, float(won), won, self.turn >= self.max_turns, {}
    def solution(self):
        return " ".join(map(str, self.code))
    def hint(self):
        return f"The first digit is {self.code[0]}. Try 0, 1, 2, ... in the two other places at once."
