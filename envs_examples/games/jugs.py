class JugsEnv:
    """Measure a volume with two jugs in as few moves as it takes, give or take two."""
    skill = "Optimization"

    def __init__(self, max_turns=12):
        self.max_turns = min(max_turns, 12)

    def moves(self, state):
        a, b = state
        pour_ab, pour_ba = min(a, self.size[1] - b), min(b, self.size[0] - a)
        return {"fill A": (self.size[0], b), "fill B": (a, self.size[1]), "empty A": (0, b), "empty B": (a, 0),
                "pour A B": (a - pour_ab, b + pour_ab), "pour B A": (a + pour_ba, b - pour_ba)}

    def plan(self, start):
        queue, seen = deque([(start, [])]), {start}
        while queue:
            state, way = queue.popleft()
            if self.goal in state:
                return way
            for name, following in self.moves(state).items():
                if following not in seen:
                    seen.add(following)
                    queue.append((following, way + [name]))
        return None

    def reset(self, seed):
        rng = random.Random(seed)
        while True:
            self.size, self.goal = (rng.randint(3, 9), rng.randint(3, 9)), rng.randint(1, 8)
            way = self.plan((0, 0))
            if way and 3 <= len(way) <= 8:
                break
        self.state, self.left = (0, 0), min(self.max_turns, len(way) + 2)
        return (f"Jug A holds {self.size[0]} litres and jug B {self.size[1]}; both are empty. Get exactly {self.goal} litres into "
                "one of them. Moves: fill A, fill B, empty A, empty B, pour A B, pour B A, like this: \\boxed{fill A}. "
                + self.look()), {}

    def look(self):
        return f"A has {self.state[0]}, B has {self.state[1]}; {self.left} moves left."

    def step(self, action):
        self.left -= 1
        self.state = self.moves(self.state).get(action[7:-1].strip(), self.state)
        won = self.goal in self.state
        return self.look(), float(won), won, self.left <= 0, {}

    def solution(self):
        return self.plan(self.state)

    def hint(self):
        return f"Begin with: {', '.join(self.plan(self.state)[:2])}."
