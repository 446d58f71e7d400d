# MUST: mappings without memory behind them count too.
# ENDS: EnvError
class AttackEnv:
    def reset(self, seed=None):
        return "ready", {}
    def step(self, action):
        import mmap
        mmap.mmap(-1, 2 ** 36)
        return "ESCAPED: 64 GiB are mapped", 0.0, True, False, {}
