# MUST: max_turns of the program's choice must not exceed the trainer's.
# ENDS: fine
class AttackEnv:
    max_turns = 10 ** 9
    def reset(self, seed=None):
        return "ready", {}
    def step(self, action):
        return "x", 0.0, False, False, {}
