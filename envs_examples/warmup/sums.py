class SumsEnv:
    """Add two numbers, twice. The last number of a reply counts, in a box or not: a game that a model too small for the
    others wins now and then, so that there is something to learn from."""
    skill = "Mathematical Reasoning"

    def reset(self, seed):
        rng = random.Random(seed)
        self.pairs = [(rng.randint(2, 9), rng.randint(2, 9)) for _ in range(2)]
        self.right = []
        return self.look(), {}

    def look(self):
        a, b = self.pairs[len(self.right)]
        return f"What is {a} + {b}? Answer like this: \\boxed{{12}}"

    def step(self, action):
        numbers = re.findall(r"\d+", action)
        self.right.append(bool(numbers) and int(numbers[-1]) == sum(self.pairs[len(self.right)]))
        over = len(self.right) == 2
        return "end" if over else self.look(), sum(self.right) / 2 if over else 0.0, over, False, {}

    def solution(self):
        return [str(sum(pair)) for pair in self.pairs]

    def hint(self):
        return "Say the sum and nothing after it."
