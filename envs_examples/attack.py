"""What `python sandbox.py --layers` shows: the layers of the seal, and an environment whose every action must be refused."""
import ctypes, os, socket

LAYERS = dict(process="dies with the zygote, cannot be traced, is the first to go when memory is short",
              uid="user and group nobody, where the trainer is root", landlock="no path can be opened",
              rlimits="bounded memory and processor time; no new file, descriptor, core or process",
              seccomp="a short list of system calls, and no new machine code: this one carries the weight")


def call(function, *arguments):
    """A libc function that must fail: it raises where the kernel refuses."""
    if ctypes.CDLL(None).__getattr__(function)(*arguments) == -1:
        raise PermissionError(function)


class AttackEnv:
    attacks = {
        "read a file": lambda: open("/etc/passwd").read(),
        "list a folder": lambda: os.listdir("/"),
        "write a file": lambda: open("/tmp/nanospade_attack", "w"),
        "read a process's environment": lambda: open("/proc/1/environ").read(),
        "use the network": lambda: socket.socket(),
        "start a process": lambda: os.fork() or os._exit(0),
        "run a program": lambda: os.execv("/bin/true", ["true"]),
        "signal another process": lambda: os.kill(os.getppid(), 0),
        "trace itself": lambda: call("ptrace", 0, 0, 0, 0),
        "regain what was given up": lambda: call("prctl", 4, 1, 0, 0, 0),
        "make new machine code": lambda: call("mmap", None, 4096, 7, 0x22, -1, 0),
        "take a gigabyte": lambda: bytearray(2 ** 30),
        "end without an answer": lambda: os._exit(0),
        "send two answers": lambda: os.write(3, b'{"ok": ["won", 1.0, true, false, null]}\n' * 2),
        "hold on for ever": lambda: all(True for _ in iter(int, 1)),
    }

    def reset(self, seed):
        return "\n".join(self.attacks)

    def step(self, action):
        self.attacks[action]()
        return "it worked", 0.0, False, True, {}


def self_attack(sandbox):
    """Show the layers in force, and what comes of each attack, in a process each: -> whether all were refused."""
    for name, meaning in LAYERS.items():
        print(f"{name:10}{'in force' if name in sandbox.layers else 'MISSING':10}{meaning}")
    envs = [sandbox.make(open(__file__).read()) for _ in AttackEnv.attacks]
    if errors := [result for result in sandbox.run([(env, "reset", 0) for env in envs]) if isinstance(result, Exception)]:
        raise errors[0]
    results = sandbox.run([(env, "step", attack) for env, attack in zip(envs, AttackEnv.attacks)])
    for attack, result in zip(AttackEnv.attacks, results):
        print(f"{attack:34}{'refused: ' + str(result) if isinstance(result, Exception) else 'IT WORKED'}")
    return all(isinstance(result, Exception) for result in results)
