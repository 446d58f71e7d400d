# MUST: a tuple that lies about its length and items is checked as what it is.
# ENDS: EnvError EnvProtocol fine
class AttackEnv:
    def reset(self, seed=None):
        return "ready", {}
    def step(self, action):
        class Lie(tuple):
            def __len__(self): return 5
            def __iter__(self): return iter(["x", 1e9, True, False, {}])
            def __getitem__(self, i): return ["x", 1e9, True, False][i]
        return Lie()
