class KnightsEnv:
    """Who lies? Each of three people says one thing about another; exactly one assignment fits everything."""
    skill = "Logical Deduction"
    names = "Ada", "Bo", "Cy"

    def __init__(self, max_turns=3):
        self.max_turns = min(max_turns, 3)

    def reset(self, seed):
        rng = random.Random(seed)
        self.turn = 0
        while True:
            claims = [(rng.choice([n for n in range(3) if n != who]), rng.random() < 0.5) if rng.random() < 0.5
                      else (None, rng.randint(0, 3)) for who in range(3)]
            fits = [world for world in itertools.product([True, False], repeat=3)
                    if all(self.holds(claim, world) == honest for claim, honest in zip(claims, world))]
            if len(fits) == 1:
                break
        self.world = fits[0]
        text = " ".join(f'{name} says: "{self.words(claim)}"' for name, claim in zip(self.names, claims))
        return (f"Each of three people always lies or always tells the truth. {text} List the liars in alphabetical order, "
                "like \\boxed{Ada Cy}, or answer \\boxed{nobody}."), {}

    def holds(self, claim, world):
        about, says = claim
        return world.count(False) == says if about is None else world[about] == says

    def words(self, claim):
        about, says = claim
        if about is None:
            return f"Exactly {says} of us always lie."
        return f"{self.names[about]} {'always tells the truth' if says else 'always lies'}."

    def step(self, action):
        self.turn += 1
        said = action[7:-1].replace(",", " ").split() if action.startswith("\\boxed{") else None
        if said is None or any(word not in (*self.names, "nobody") for word in said):
            return "Answer with names, like \\boxed{Ada Cy}.", 0.0, False, self.turn >= self.max_turns, {}
        won = " ".join(said) == self.solution()
        return "Right." if won else "Wrong.", float(won), True, False, {}

    def solution(self):
        return " ".join(name for name, honest in zip(self.names, self.world) if not honest) or "nobody"

    def hint(self):
        return f"{self.names[0]} {'tells the truth' if self.world[0] else 'lies'}. Follow the statements from there."
