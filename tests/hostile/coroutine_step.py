# MUST: a coroutine is not a result.
# ENDS: EnvError
class AttackEnv:
    def reset(self, seed=None):
        return "ready", {}
    def step(self, action):
        async def later():
            return "x", 1.0, True, False, {}
        return later()
