# MUST: a codec that would have to be loaded from disk must fail, not read.
# ENDS: EnvError
class AttackEnv:
    def reset(self, seed=None):
        return "ready", {}
    def step(self, action):
        "x".encode("cp037")
        return "ESCAPED: a codec was read", 0.0, True, False, {}
