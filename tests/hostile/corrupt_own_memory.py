# MUST: a program that overwrites its own interpreter harms only itself.
# ENDS: EnvDied EnvError EnvTimeout EnvProtocol
class AttackEnv:
    def reset(self, seed=None):
        return "ready", {}
    def step(self, action):
        import ctypes
        ctypes.memset(id(None), 255, 16)
        ctypes.memset(id(int), 255, 256)
        return "x", 0.0, True, False, {}
