# MUST: names and texts of exceptions are bounded.
# ENDS: EnvError
class AttackEnv:
    def reset(self, seed=None):
        return "ready", {}
    def step(self, action):
        raise type("E" * 10 ** 6, (Exception,), {})("x" * 10 ** 6 + "\ud800")
