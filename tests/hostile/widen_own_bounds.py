# MUST: bounds kept in the child can be changed by it, so the trainer keeps its own.
# ENDS: EnvProtocol EnvError
class AttackEnv:
    def reset(self, seed=None):
        return "ready", {}
    def step(self, action):
        import gc
        for function in [f for f in gc.get_objects() if getattr(f, "__name__", "") == "text" and hasattr(f, "__code__")]:
            function.__code__ = (lambda value, what, most: value).__code__
        return "x" * 100_000, 0.0, True, False, {}
