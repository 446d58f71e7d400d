# MUST: half a line and then silence must end at the deadline.
# ENDS: EnvTimeout
class AttackEnv:
    def reset(self, seed=None):
        return "ready", {}
    def step(self, action):
        import os
        os.write(3, b'{"id": "')
        while True:
            pass
