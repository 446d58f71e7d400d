# MUST: a value that says it comes from numpy is checked after it was turned into a number.
# ENDS: EnvError
class AttackEnv:
    def reset(self, seed=None):
        return "ready", {}
    def step(self, action):
        class Lie:
            __module__, size = "numpy", 1
            def item(self): return [[[[1.0]]]]
        return "x", Lie(), True, False, {}
