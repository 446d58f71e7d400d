class GridWalkEnv:
    """Walk to the goal on a 5 x 5 grid with walls, seeing only the walls next to you."""
    skill = "Spatial Reasoning"
    moves = {"north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0)}

    def __init__(self, max_turns=12):
        self.max_turns = min(max_turns, 12)

    def path(self, start):
        """A shortest way to the goal as move names, or None."""
        queue, seen = deque([(start, [])]), {start}
        while queue:
            (x, y), way = queue.popleft()
            if (x, y) == self.goal:
                return way
            for name, (dx, dy) in self.moves.items():
                cell = x + dx, y + dy
                if self.free(cell) and cell not in seen:
                    seen.add(cell)
                    queue.append((cell, way + [name]))
        return None

    def free(self, cell):
        return cell not in self.walls and 0 <= cell[0] < 5 and 0 <= cell[1] < 5

    def reset(self, seed):
        rng = random.Random(seed)
        self.turn = 0
        while True:
            cells = [(x, y) for x in range(5) for y in range(5)]
            rng.shuffle(cells)
            self.at, self.goal, self.walls = cells[0], cells[1], set(cells[2:8])
            way = self.path(self.at)
            if way and 3 <= len(way) <= 8:
                break
        return ("Walk on a 5 x 5 grid with x to the east and y to the north, both from 0 to 4. Move like this: \\boxed{north}. "
                + self.look()), {}

    def look(self):
        blocked = [n for n, (dx, dy) in self.moves.items() if not self.free((self.at[0] + dx, self.at[1] + dy))]
        return f"You are at {self.at}, the goal is at {self.goal}. Blocked: {', '.join(blocked) or 'nothing'}."

    def step(self, action):
        self.turn += 1
        name = action[7:-1].strip().lower()
        if name in self.moves:
            cell = self.at[0] + self.moves[name][0], self.at[1] + self.moves[name][1]
            if self.free(cell):
                self.at = cell
        won = self.at == self.goal
        return self.look(), float(won), won, self.turn >= self.max_turns, {}

    def solution(self):
        return self.path(self.at)

    def hint(self):
        return f"A way that works starts with: {', '.join(self.path(self.at)[:3])}."
