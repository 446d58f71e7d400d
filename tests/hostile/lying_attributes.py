# MUST: attributes that answer every question must not become facts.
# ENDS: fine EnvError
class AttackEnv:
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *a: [[[[]]]]
    def reset(self, seed=None):
        return "ready", {}
    def step(self, action):
        return "x", 0.0, True, False, {}
