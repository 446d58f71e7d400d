# MUST: memory that grows a little with every call must meet the limit.
# ENDS: EnvError EnvDied
class AttackEnv:
    def reset(self, seed=None):
        return "ready", {}
    def step(self, action):
        self.hoard = getattr(self, "hoard", []) + [bytearray(2 ** 27)]
        return "more", 0.0, False, False, {}
