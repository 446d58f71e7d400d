# MUST: what a program leaves behind in modules must not meet the next program.
# ENDS: fine EnvError
class AttackEnv:
    def reset(self, seed=None):
        return "ready", {}
    def step(self, action):
        import builtins, sys, math, random
        math.floor = random.Random = builtins.len = None
        sys.modules["json"] = None
        return "x", 0.0, True, False, {}
