# MUST: a C call that holds the interpreter lock must be ended from outside.
# ENDS: EnvTimeout
class AttackEnv:
    def reset(self, seed=None):
        return "ready", {}
    def step(self, action):
        re.match(r"(a+)+$", "a" * 64 + "!")
        return "x", 0.0, True, False, {}
