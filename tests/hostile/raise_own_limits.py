# MUST: limits that were lowered cannot be raised.
# ENDS: EnvError
class AttackEnv:
    def reset(self, seed=None):
        return "ready", {}
    def step(self, action):
        import resource
        for kind in (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC):
            try:
                resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
                return "ESCAPED: a limit was raised", 0.0, True, False, {}
            except (OSError, ValueError):
                pass
        raise OSError("all were refused")
