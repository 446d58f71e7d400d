# MUST: descriptors cannot be passed, duplicated or made.
# ENDS: EnvError
class AttackEnv:
    def reset(self, seed=None):
        return "ready", {}
    def step(self, action):
        import os, socket
        tries = [lambda: os.dup(3), lambda: os.dup2(3, 9), lambda: os.pipe(), lambda: os.memfd_create("x"),
                 lambda: socket.socket(fileno=3).send(b"x"), lambda: socket.send_fds(socket.socket(fileno=3), [b"x"], [3])]
        for number, attempt in enumerate(tries):
            try:
                attempt()
            except OSError:
                continue
            return f"ESCAPED: attempt {number}", 0.0, True, False, {}
        raise OSError("all were refused")
