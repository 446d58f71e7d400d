# MUST: tool schemas of great depth or size must be refused.
# ENDS: EnvError
class AttackEnv:
    def get_tools(self):
        deep = {}
        for _ in range(100000):
            deep = {"x": deep}
        return [{"name": "look", "parameters": deep}]
    def reset(self, seed=None):
        return "ready", {}
    def step(self, action):
        return "x", 0.0, True, False, {}
