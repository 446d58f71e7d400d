# MUST: priority, session, affinity and identity cannot be changed.
# ENDS: EnvError
class AttackEnv:
    def reset(self, seed=None):
        return "ready", {}
    def step(self, action):
        import os
        tries = [lambda: os.nice(-5), lambda: os.setsid(), lambda: os.sched_setaffinity(0, [0]), lambda: os.setuid(0),
                 lambda: os.setgroups([0]), lambda: os.setpriority(0, 0, -20), lambda: os.umask(0), lambda: os.chdir("/")]
        for number, attempt in enumerate(tries):
            try:
                attempt()
            except OSError:
                continue
            return f"ESCAPED: attempt {number}", 0.0, True, False, {}
        raise OSError("all were refused")
