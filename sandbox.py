"""Running environment programs that a language model wrote, and deciding which of them to admit.

A designer that is rewarded for regret will, sooner or later, write a program that loops, eats memory, reads secrets,
forges a reward or kills its host, by accident or because it pays. So no line of such a program ever runs in the trainer:

    trainer --control--> zygote --fork--> sealed process: one a program and episode, never reused
       \\_______________ one JSON line per call ________________/

The *zygote* is a small trusted interpreter that has imported what programs may use. For every episode it forks a child
(milliseconds, pages shared), which *seals* itself before it sees the program: it keeps one socket and its processor, and
nothing else. The trainer waits for one line per call, with a deadline for the whole call, and checks everything in it.

Covered: crashes, endless loops, memory and output floods, exits, forged or unsolicited replies, reading files or the
environment, writing, network, starting or signalling processes, leftovers when program, zygote or trainer are killed.
Not covered: a kernel bug reachable through the allowed calls, timing side channels, and a program that lies about its
own reward, since it shares a process with the code that reports it: that is for admission (`Sandbox.check`) and regret.
Without seccomp nothing starts unless `allow_weak=True`. (A copy needs contract.py, bots.py, attack.py of envs_examples.)

    python sandbox.py FILE [--json | --play]    the verdict on a program (exit 0 admitted, 1 refused, 2 usage), or play it
    python sandbox.py --layers                  what holds on this machine, proved by attacking it
"""
import argparse, collections, contextlib, ctypes, dataclasses, errno, gc, importlib.util, io, itertools, json, os, platform
import random, re, resource, secrets, selectors, signal, socket, struct, subprocess, sys, time
from pathlib import Path

# ---- the seal, which a child puts on itself: LAYERS in envs_examples/attack.py names what follows
# Numbers on (x86-64, aarch64) of what CPython needs to compute and to talk on open descriptors; all else fails with EPERM.
SYSCALLS = dict(
    read=(0, 63), write=(1, 64), close=(3, 57), fstat=(5, 80), lseek=(8, 62), munmap=(11, 215), brk=(12, 214),
    mremap=(25, 216), madvise=(28, 233), rt_sigaction=(13, 134), rt_sigprocmask=(14, 135), rt_sigreturn=(15, 139),
    sigaltstack=(131, 132), futex=(202, 98), nanosleep=(35, 101), clock_nanosleep=(230, 115), restart_syscall=(219, 128),
    clock_gettime=(228, 113), clock_getres=(229, 114), gettimeofday=(96, 169), getpid=(39, 172), gettid=(186, 178),
    getrandom=(318, 278), rseq=(334, 293), exit=(60, 93), exit_group=(231, 94))
MAPPING = dict(mmap=(9, 222), mprotect=(10, 226))       # allowed unless their third argument asks for PROT_EXEC
ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}     # column above, AUDIT_ARCH constant
libc = ctypes.CDLL(None, use_errno=True)

def kernel(function, *arguments):
    """Call a libc function with integers. Raises OSError."""
    if (result := getattr(libc, function)(*map(ctypes.c_ulong, arguments))) < 0:
        raise OSError(ctypes.get_errno(), function)
    return result

def install_landlock():
    """Handle every access to files that the kernel's Landlock knows, and allow none."""
    abi = kernel("syscall", 444, 0, 0, 1)               # landlock_create_ruleset, asked for its version
    rules = ctypes.create_string_buffer(struct.pack("Q", (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(abi, 16)) - 1), 8)
    kernel("syscall", 446, ruleset := kernel("syscall", 444, ctypes.addressof(rules), 8, 0), 0)         # restrict_self
    os.close(ruleset)

def seccomp_filter():
    """A program for the kernel: allow SYSCALLS and MAPPING, kill calls of a foreign architecture, refuse the rest."""
    column, arch = ARCHITECTURES.get(platform.machine(), (None, None))
    if arch is None:
        return None
    load, equal, mask, ret = 0x20, 0x15, 0x45, 0x06     # an instruction: what, how far to jump if true, if not, operand
    allow, kill, refuse, unknown = 0x7FFF0000, 0x80000000, 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS
    code = [(load, 0, 0, 4), (equal, 1, 0, arch), (ret, 0, 0, kill), (load, 0, 0, 0),
            (equal, 0, 1, 435), (ret, 0, 0, unknown)]   # clone3: ENOSYS makes libc fall back to clone, which is refused
    for numbers in SYSCALLS.values():
        code += [(equal, 0, 1, numbers[column]), (ret, 0, 0, allow)]
    for numbers in MAPPING.values():
        code += [(equal, 0, 4, numbers[column]), (load, 0, 0, 32), (mask, 0, 1, 4), (ret, 0, 0, refuse), (ret, 0, 0, allow)]
    lines = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code + [(ret, 0, 0, refuse)]))
    return ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code) + 1, ctypes.addressof(lines))), lines

def seal(size, cpu_seconds, filter):
    """Give up, for ever, everything but computing. Returns the names of the LAYERS that are in force."""
    layers = ["process", "rlimits"]
    with contextlib.suppress(OSError):                  # only root can, where the user nobody exists
        os.setgroups([])
        os.setregid(65534, 65534)
        os.setreuid(65534, 65534)                       # from root, this sets the saved user too
        layers.append("uid")
    if sys.platform == "linux":
        kernel("prctl", 1, signal.SIGKILL, 0, 0, 0)     # die with the zygote; only now, since setreuid clears it
        kernel("prctl", 4, 0, 0, 0, 0)                  # not dumpable: no peer may read or trace this process
        kernel("prctl", 38, 1, 0, 0, 0)                 # no new privileges: Landlock and seccomp ask for it
        with contextlib.suppress(OSError):
            install_landlock()
            layers.append("landlock")
    for name, value in dict(AS=size, CPU=cpu_seconds, FSIZE=0, CORE=0, NPROC=0, NOFILE=0).items():
        kind = getattr(resource, "RLIMIT_" + name)
        hard = resource.getrlimit(kind)[1]              # limits are only ever lowered
        with contextlib.suppress(ValueError):           # macOS takes no memory limit
            resource.setrlimit(kind, (value if hard == resource.RLIM_INFINITY else min(value, hard),) * 2)
    with contextlib.suppress(OSError):
        if filter:
            kernel("prctl", 22, 2, ctypes.addressof(filter[0]), 0, 0)   # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
            layers.append("seccomp")
    return layers

# ---- the zygote
def zygote(memory_mb, cpu_seconds, numpy_path):
    """Fork a sealed child for each request on the control socket (descriptor 0), until it closes. A request is a letter and
    the number that the trainer gave the child: S with a descriptor starts it, C ends it, K ends it and is answered with its
    wait status. Starting is not answered, so the trainer never waits for a fork."""
    folder, sys.path = sys.path[0], sys.path[1:] + [numpy_path]
    contract, children = {"__name__": "contract"}, {}               # children: number -> pid
    exec(Path(folder, "envs_examples/contract.py").read_text(), contract)
    control, null = socket.socket(fileno=os.dup(0)), os.open("/dev/null", os.O_RDWR)
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if sys.platform == "linux" else 0      # already mapped:
    size, filter = memory_mb * 2 ** 20 + pages * resource.getpagesize(), seccomp_filter()              # not counted
    gc.collect()
    gc.freeze()                                         # children must not touch, and so copy, these pages
    control.sendall(bytes(4))
    while True:
        request, fds, _, _ = socket.recv_fds(control, 5, 1, socket.MSG_WAITALL)
        if len(request) < 5:
            os._exit(0)                                 # the trainer is gone; the children go too, by PR_SET_PDEATHSIG
        op, number = struct.unpack("<cI", request)
        if op != b"S":
            pid = children.pop(number)
            os.kill(pid, signal.SIGKILL)
            status = os.waitpid(pid, 0)[1]
            if op == b"K":
                control.sendall(struct.pack("<I", status))
        elif pid := os.fork():
            children[number] = pid
            os.close(fds[0])
        else:
            try:
                with contextlib.suppress(OSError):      # when memory is short, the kernel shall begin here
                    os.write(os.open("/proc/self/oom_score_adj", os.O_WRONLY), b"1000")
                for target, fd in ((3, fds[0]), (0, null), (1, null), (2, null)):
                    os.dup2(fd, target)
                os.closerange(4, 1024)
                os.setsid()
                os.nice(5)
                signal.signal(signal.SIGPIPE, signal.SIG_IGN)
                random.seed(hash("nano"))               # alike in all episodes, not in check's twin; so is numpy's, unasked
                channel = io.BufferedRWPair(*[open(3, "r+b", buffering=0)] * 2)
                contract["serve"](channel, " ".join(seal(size, cpu_seconds, filter)))
            finally:
                os._exit(70)

if __name__ == "__main__" and sys.argv[1:2] == ["--zygote"]:
    zygote(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])       # never returns: what follows is the trainer's side

# ---- the trainer's side: what a line from a child may say
import gymnasium                                        # noqa: E402  (the zygote has no third-party packages)
from envs_examples.attack import LAYERS, self_attack    # noqa: E402
from envs_examples.bots import BOTS, BOT_WINS, PROBES, episodes, person, script, won              # noqa: E402

class EnvError(Exception):
    kind = "contract"       # the program raised, or returned something that breaks the contract; other kinds: see Failure
class EnvDied(EnvError):
    kind = "died"           # its process ended: killed for memory or processor time, or it exited
class EnvTimeout(EnvDied):
    kind = "timeout"        # a call outlasted its deadline: the process is dead and the program retired
class EnvProtocol(EnvDied):
    kind = "protocol"       # it sent what is no answer to the call (forged, unsolicited, too long), or does not read

@dataclasses.dataclass(frozen=True)
class Limits:
    call_seconds: float = 5.0                           # a whole reset, step, hint or solution
    load_seconds: float = 10.0                          # added to the reset, which loads the program
    memory_mb: int = 256                                # above the bare interpreter
    cpu_seconds: int = 120                              # of one process, over its life
    text_chars: int = 20_000                            # one observation, hint or action of a solution
    line_bytes: int = 2 ** 20                           # one reply
    max_reward: float = 1e6
    max_turns: int = 25                                 # offered to the constructor; a program may choose fewer
    in_flight: int = 4 * (os.cpu_count() or 1)          # calls running at once: more would only wait for a core

@dataclasses.dataclass
class Failure:
    kind: str       # syntax, load, contract, crash, died, timeout, protocol, nondeterministic, endless, trivial or unsolved
    detail: str     # one sentence that a designer can act on

@dataclasses.dataclass
class Verdict:
    ok: bool
    failures: list
    max_turns: int = 0
    layers: tuple = ()
    level: int = None                                   # the program's own LEVEL, if it states one
    has_hint: bool = False
    witness: bool = False                               # its solution() was played and completed the task
    constant: bool = False                              # it answered alike on every probed seed

_STRINGS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\Z)', re.S)         # to the end where it is open: linear
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]|(?<=<)(?=\\|\\w+\\|>)")

def clean(text: str) -> str:
    """Printable Unicode: U+FFFD for lone surrogates, no control or bidirectional characters, a space in <|chat markers|>."""
    return _CONTROL.sub(lambda found: "" if found[0] else " ", re.sub("[\ud800-\udfff]", "\ufffd", text))

def parse_reply(line: bytes, nonce: str, method: str, limits: Limits):
    """The checked value in a child's line. EnvError: an error that the child reports; EnvProtocol: what none should send."""
    def fits(*texts):
        return all(type(text) is str and len(text) <= limits.text_chars for text in texts)
    bones = _STRINGS.sub(b"", line)
    if len(bones) > 10_000 or bones.count(b"[") + bones.count(b"{") > 3:        # bounded before it is parsed
        raise EnvProtocol("the reply is not flat")
    try:
        reply = json.loads(line.decode("ascii"))
    except (ValueError, RecursionError):
        reply = None
    if type(reply) is not dict or reply.get("id") != nonce:
        raise EnvProtocol("the reply does not answer this call")
    match method, reply:
        case _, {"error": text, "kind": "syntax" | "load" | "contract" | "crash" as kind} if fits(text):
            error = EnvError(clean(text))
            error.kind = kind
            raise error
        case "hint", {"ok": text} if fits(text):
            return clean(text)
        case "solution" | "state", {"ok": [*actions]} if fits(*actions):
            return list(map(clean, actions))
        case "reset", {"ok": [{"max_turns": int(turns), "level": int() | None, "tools": str() | None, "hint": bool(),
                               "solution": bool(), "layers": str()} as facts, text]} if fits(text):
            if type(turns) is int and 1 <= turns <= limits.max_turns and abs(facts["level"] or 0) <= 10 ** 6:
                return facts, clean(text)
        case "step", {"ok": [text, float(reward), bool(terminated), bool(truncated)]} if fits(text):
            if abs(reward) <= limits.max_reward:        # not so for NaN
                return clean(text), reward, terminated, truncated, {}
    raise EnvProtocol("a malformed reply")

class Sandbox(contextlib.ExitStack):
    """Many sealed environments, stepped at once from one thread. A context manager.

    `submit` queues a call, `poll` returns what has finished; `run` is both, for when nothing else is under way. At most
    `limits.in_flight` calls run at a time, each with a deadline from when it is sent. RuntimeError: the zygote died."""

    def __init__(self, limits=Limits(), allow_weak=False, hash_seed=0):
        self.limits, self.retired, self._twin = limits, set(), None         # retired: programs that timed out
        super().__init__()
        self._numbers, self._selector = itertools.count(), self.enter_context(selectors.DefaultSelector())
        self._queue, self._done, self._in_flight = collections.deque(), [], set()
        self._control, theirs = socket.socketpair()
        numpy = importlib.util.find_spec("numpy")
        self._process = subprocess.Popen(
            [sys.executable, "-S", "-s", "-B", "-X", "utf8", os.path.abspath(__file__), "--zygote", str(limits.memory_mb),
             str(limits.cpu_seconds), str(Path(numpy.origin).parents[1]) if numpy else ""], cwd="/", stdin=theirs,
            start_new_session=True, env=dict(PATH="/usr/bin:/bin", LANG="C.UTF-8", PYTHONHASHSEED=str(hash_seed),
                                             OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1"))
        theirs.close()
        self.callback(self._process.wait, 5)            # at the end, after the next line: then it ends, with its children
        self.callback(self._control.shutdown, socket.SHUT_RDWR)
        self._answer()                                  # it has imported everything
        with self.make("class Env:\n    def reset(self, seed): return ''\n    step = reset\n") as probe:
            probe.reset(seed=0)
        self.layers = tuple(probe.facts["layers"].split())
        if "seccomp" not in self.layers:
            missing = ", ".join(name for name in LAYERS if name not in self.layers)
            if not allow_weak:
                self.close()
                raise RuntimeError(f"programs cannot be contained here (missing: {missing}); --allow_weak_sandbox runs them")
            if hash_seed == 0:                          # once, not for check's twin too
                print(f"WARNING: weak sandbox (missing: {missing}): programs can reach files, network and other processes. "
                      "Run only what you trust.", file=sys.stderr)

    def make(self, code):
        """A `gymnasium.Env` of the program. Every reset starts a fresh process; reset, step and hint raise EnvError."""
        return SandboxedEnv(self, code)

    def submit(self, key, env, method, argument=None):
        """Queue reset (argument: the seed), step (the action), hint or solution; `poll` will return (key, result)."""
        self._queue.append((key, env, method, argument))

    def poll(self, timeout=0.0):
        """Move things on for at most `timeout` seconds or until something is done: [(key, result or EnvError)]."""
        while self._queue and len(self._in_flight) < self.limits.in_flight:
            self._start(*self._queue.popleft())
        if self._in_flight and not self._done:
            wait = min(env.deadline for env in self._in_flight) - time.monotonic()
            for event, _ in self._selector.select(max(0.0, min(wait, timeout))):
                self._receive(event.data)
            for env in [env for env in self._in_flight if env.deadline < time.monotonic()]:
                self.retired.add(env.code)              # at the first strike: 256 copies must not each wait it out
                self._settle(env, EnvTimeout(f"{env.method} took longer than {env.seconds:g} s"))
        done, self._done = self._done, []
        return done

    def run(self, calls):
        """Results, or EnvError in place, of many (env, method, argument) at once, in order."""
        results = {object(): None for _ in calls}       # keys that no other call has, should one have been interrupted
        keys, waiting = list(results), set(results)
        self._queue.extend((key, *call) for key, call in zip(keys, calls))
        while waiting:
            results.update(done := dict(self.poll(1.0)))
            waiting -= done.keys()
        return [results[key] for key in keys]

    def _start(self, key, env, method, argument):
        assert env not in self._in_flight, "an environment takes one call at a time"
        seconds, nonce = self.limits.call_seconds, secrets.token_hex(8)
        if method == "reset":
            seconds += self.limits.load_seconds
            argument = dict(seed=argument, code=env.code, **dataclasses.asdict(self.limits))
            self._fork(env)
        line = json.dumps(dict(id=nonce, method=method, argument=argument)).encode() + b"\n"
        env.key, env.method, env.nonce, env.seconds, env.deadline = key, method, nonce, seconds, time.monotonic() + seconds
        self._in_flight.add(env)
        try:
            if env.failure:
                self._settle(env, env.failure)
            elif env.sock.send(line) < len(line):       # the kernel holds some 200 kB for a child that is slow to read
                self._settle(env, EnvProtocol(f"a call of {len(line)} bytes is too long, or was not read"))
        except OSError:
            self._settle(env, EnvDied("the process ended between two calls"))

    def _receive(self, env):
        try:
            if not (data := env.sock.recv(self.limits.line_bytes + 1)):
                raise ConnectionError
            env.buffer += data
            line, newline, rest = env.buffer.partition(b"\n")
            if rest or env not in self._in_flight or len(env.buffer) > self.limits.line_bytes:
                raise EnvProtocol("bytes that nobody asked for")
            if not newline:
                return
            env.buffer = b""
            result = parse_reply(line, env.nonce, env.method, self.limits)
            if env.method == "reset":
                env.facts, result = result[0], (result[1], {})
        except (EnvError, ConnectionError) as error:
            result = error if isinstance(error, EnvError) else EnvDied("the process ended")
        self._settle(env, result)

    def _settle(self, env, result):
        """Answer the call under way, if there is one; after an EnvDied the process goes too."""
        if isinstance(result, EnvDied):
            self._end(env, result)
            result = env.failure
        if env in self._in_flight:
            self._in_flight.remove(env)
            self._done.append((env.key, result))

    def _fork(self, env):
        retired = EnvTimeout("this program was retired: an earlier call of it timed out")
        self._end(env, retired if env.code in self.retired else None)           # one process plays one episode
        if env.failure:
            return
        env.number, env.buffer = next(self._numbers), b""
        env.sock, theirs = socket.socketpair()
        env.sock.setblocking(False)
        self._tell(b"S", env.number, theirs.fileno())
        theirs.close()
        self._selector.register(env.sock, selectors.EVENT_READ, env)

    def _end(self, env, failure):
        """End the process of `env`, if there is one, for good; `failure` is what later calls raise."""
        env.failure = failure
        if env.sock is not None:
            with contextlib.suppress(KeyError):         # of a sandbox that is closed
                self._selector.unregister(env.sock)
            env.sock = env.sock.close()
            self._tell(b"K" if type(failure) is EnvDied else b"C", env.number)
            if type(failure) is EnvDied:                # it ended by itself: the wait status says how
                status = os.waitstatus_to_exitcode(self._answer())
                how = f"killed by {signal.Signals(-status).name}" if status < 0 else f"with exit code {status}"
                env.failure = EnvDied(f"{failure}, {how}, in {env.method}")

    def _tell(self, op, number, *fds):
        with contextlib.suppress(OSError):              # a dead zygote shows when it is next asked for an answer
            socket.send_fds(self._control, [struct.pack("<cI", op, number)], fds)

    def _answer(self):
        if len(reply := self._control.recv(4, socket.MSG_WAITALL)) < 4:
            raise RuntimeError(f"the sandbox's zygote died (exit status {self._process.wait(5)}): no program can run")
        return struct.unpack("<I", reply)[0]

    def check(self, code, seeds=(0, 1)):
        """Judge a program by letting it be played by BOTS and by its own solution(): -> Verdict."""
        failures, facts, scripts, constant, rng = {}, {}, {}, False, random.Random(ascii(code))    # kind -> detail
        try:
            self._twin = self._twin or self.enter_context(Sandbox(self.limits, True, hash_seed=1))
            twice = {("chance", seed): BOTS["chance"] for seed in (*seeds, rng.randrange(2 ** 30, 2 ** 31))}
            played, facts = episodes(self, code, {(name, seeds[0]): bot for name, bot in BOTS.items()} | twice)
            again, _ = episodes(self._twin, code, twice)
            constant = len({str(episode.steps) for episode in again.values()}) == 1
            if not all(end[2] or end[3] for (*_, end), *_ in played.values()):
                failures["endless"] = f"no end after {facts['max_turns']} turns: return truncated=True by then"
            if different := [play for play in again if again[play] != played[play]]:
                names = dict(again[different[0]].holds.items() ^ played[different[0]].holds.items()) or ["text"]
                failures["nondeterministic"] = (f"one seed gave two different episodes ({', '.join(names)}): draw all from "
                                                "random.Random(seed), and do not depend on set order, hash, time or id")
            for name in BOTS:
                if won(played[name, seeds[0]]) and not failures:        # luck, perhaps: look at more seeds
                    more = {(name, seed): BOTS[name] for seed in rng.sample(range(2 ** 31), PROBES)}
                    wins = sum(map(won, episodes(self, code, more)[0].values()))
                    if wins > BOT_WINS * PROBES:
                        failures["trivial"] = f"a player that knows nothing ('{name}') wins on {wins} of {PROBES} seeds"
            scripts = {play: script(episode.solution) for play, episode in again.items() if episode.solution}
            if scripts and not failures and not all(map(won, episodes(self, code, scripts, ask=False)[0].values())):
                failures["unsolved"] = "solution() does not complete the task; it returns the answer, or a list of actions"
        except EnvError as error:
            failures[error.kind] = str(error)
        return Verdict(not failures, [*map(Failure, failures, failures.values())], facts.get("max_turns", 0), self.layers,
                       facts.get("level"), facts.get("hint", False), bool(scripts) and not failures, constant)

class AnyText(gymnasium.spaces.Text):
    def contains(self, x):                              # samples are ASCII, but any string fits
        return isinstance(x, str) and len(x) <= self.max_length

class SandboxedEnv(gymnasium.Env):
    """One program as a Gymnasium environment with text observations and actions. `facts`: what it says about itself."""
    def __init__(self, sandbox, code):
        self.sandbox, self.code, self.facts, self.sock, self.failure = sandbox, code, None, None, EnvError("call reset")
        self.observation_space = self.action_space = AnyText(sandbox.limits.text_chars, min_length=0)

    def _call(self, method, argument=None):
        if isinstance(result := self.sandbox.run([(self, method, argument)])[0], EnvError):
            raise result.with_traceback(None)
        return result

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self._call("reset", int(self.np_random.integers(2 ** 31)) if seed is None else seed)

    def step(self, action):
        return self._call("step", action)

    def hint(self):
        return self._call("hint")

    def close(self):
        self.sandbox._end(self, EnvError("the environment is closed"))
        self.sandbox._settle(self, self.failure)        # should a call be under way

def main():
    parser = argparse.ArgumentParser(description="Check one environment program in the sandbox.")
    parser.add_argument("file", type=Path, nargs="?", help="a Python file with one class whose name ends in Env")
    for flag, meaning in dict(json="print the verdict as JSON", play="play it in the terminal", layers="show what holds on "
                              "this machine, and attack it", allow_weak_sandbox="run although seccomp is missing").items():
        parser.add_argument("--" + flag, action="store_true", help=meaning)
    options = parser.parse_args()
    if (options.file is None) != options.layers:
        parser.error("name a file, or give --layers")
    try:
        code = "" if options.layers else options.file.read_text()
        with Sandbox(Limits(call_seconds=1.0) if options.layers else Limits(), options.allow_weak_sandbox) as sandbox:
            if options.layers:
                sys.exit(not self_attack(sandbox))
            if options.play:
                end = episodes(sandbox, code, {("you", secrets.randbelow(1000)): person})[0].popitem()[1].steps[-1]
                sys.exit(print(f"{end[0]}\nreturn {end[1] * end[2]:g}"))
            verdict = sandbox.check(code)
    except (OSError, UnicodeDecodeError, RuntimeError, EnvError, EOFError) as error:
        parser.error(str(error))
    report = ["admitted" if verdict.ok else "refused", *[f"{fault.kind}: {fault.detail}" for fault in verdict.failures],
              *[f"{name}: {value}" for name, value in vars(verdict).items() if name not in ("ok", "failures")]]
    print(json.dumps(dataclasses.asdict(verdict)) if options.json else "\n  ".join(report))
    sys.exit(bool(verdict.failures))

if __name__ == "__main__":
    main()
