# MUST: arithmetic that never returns must be ended from outside, or by its memory.
# ENDS: EnvTimeout EnvError EnvDied
class AttackEnv:
    def reset(self, seed=None):
        return "ready", {}
    def step(self, action):
        x = 9 ** 9 ** 9
        return "x", 0.0, True, False, {}
