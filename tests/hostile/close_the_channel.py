# MUST: a program that closes its own channel is dead, not a play of return 0.
# ENDS: EnvDied
class AttackEnv:
    def reset(self, seed=None):
        return "ready", {}
    def step(self, action):
        import os
        os.close(3)
        return "x", 0.0, True, False, {}
