# MUST: a segmentation fault ends one process, is named, and leaves no core.
# ENDS: EnvDied
class AttackEnv:
    def reset(self, seed=None):
        return "ready", {}
    def step(self, action):
        import ctypes
        ctypes.string_at(0)
        return "x", 0.0, True, False, {}
