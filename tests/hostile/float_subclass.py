# MUST: a float that lies about its size must not be believed.
# ENDS: fine
class AttackEnv:
    def reset(self, seed=None):
        return "ready", {}
    def step(self, action):
        class Lie(float):
            def __abs__(self): return 0.0
            def __float__(self): return 1e6
            def __le__(self, other): return True
        return "x", Lie(0.5), True, False, {}
