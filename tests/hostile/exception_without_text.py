# MUST: an exception whose text is no text must be reported all the same.
# ENDS: EnvError
class AttackEnv:
    def reset(self, seed=None):
        return "ready", {}
    def step(self, action):
        class Odd(BaseException):
            def __str__(self): return 5
        raise Odd()
