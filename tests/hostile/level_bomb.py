# MUST: a LEVEL too long to print must not reach the log.
# ENDS: EnvProtocol EnvError
class AttackEnv:
    LEVEL = 10 ** 4000
    def reset(self, seed=None):
        return "ready", {}
    def step(self, action):
        return "x", 0.0, True, False, {}
