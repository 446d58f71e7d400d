# MUST: no thread may be started: it could answer, or wait, on its own.
# ENDS: EnvError
class AttackEnv:
    def reset(self, seed=None):
        return "ready", {}
    def step(self, action):
        import threading
        threading.Thread(target=print).start()
        return "ESCAPED: a thread runs", 0.0, True, False, {}
