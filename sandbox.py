"""Running environment programs that a language model wrote, and deciding which of them to admit.

A designer that is rewarded for regret will, sooner or later, write a program that loops, eats memory, reads secrets,
forges a reward or kills its host, by accident or because it pays. So no line of such a program ever runs in the trainer:

    trainer --control--> zygote --fork--> sealed process: one a program and episode, never reused
       \\_______________ one JSON line per call ________________/

The *zygote* is a small trusted interpreter that has imported what programs may use. For every episode it forks a child
(milliseconds, pages shared), which *seals* itself before it sees the program: descriptors closed, user dropped, memory
and processor time limited, and a seccomp filter under which it can compute and use the socket it already has, and
nothing else: no files, network, processes or new machine code. The trainer waits for one line per call, with a deadline
for the whole call, and checks type, size and finiteness of everything in it.

Covered: crashes, endless loops, memory and output floods, exits, forged or unsolicited replies, reading files or the
environment, writing, network, starting or signalling processes, leftovers after a kill. Not covered: a kernel bug that
can be reached through the allowed calls, timing side channels, and a program that lies about its own reward; against the
last there are the admission check below and the regret itself. Without seccomp the sandbox refuses to start unless
`allow_weak=True`. Admission (`Sandbox.check`) asks that a program loads, keeps README's contract, gives the same episode
for the same seed in two processes with different hash seeds, ends within its turn limit, and is not won by nonsense.

    python sandbox.py FILE [--json]     shows the verdict; exit 0 admitted, 1 refused, 2 usage
"""
import argparse, collections, contextlib, ctypes, dataclasses, errno, gc, importlib.util, inspect, io, itertools, json, os
import platform, re, resource, secrets, selectors, signal, socket, struct, subprocess, sys, time, types
from pathlib import Path

# ================================================================================ inside the sealed process
# Numbers for (x86-64, aarch64): what CPython needs to compute and to talk on open descriptors. All else fails with EPERM.
SYSCALLS = dict(
    read=(0, 63), write=(1, 64), readv=(19, 65), writev=(20, 66), close=(3, 57), fstat=(5, 80), lseek=(8, 62),
    mmap=(9, 222), mprotect=(10, 226), munmap=(11, 215), brk=(12, 214), mremap=(25, 216), madvise=(28, 233),
    rt_sigaction=(13, 134), rt_sigprocmask=(14, 135), rt_sigreturn=(15, 139), sigaltstack=(131, 132), futex=(202, 98),
    sched_yield=(24, 124), nanosleep=(35, 101), clock_nanosleep=(230, 115), clock_gettime=(228, 113), getpid=(39, 172),
    clock_getres=(229, 114), gettimeofday=(96, 169), gettid=(186, 178), getrandom=(318, 278), exit=(60, 93),
    exit_group=(231, 94), restart_syscall=(219, 128), rseq=(334, 293))
ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}     # column above, AUDIT_ARCH constant
CLONE3 = 435                                            # must answer ENOSYS, so that libc falls back to the refused clone

def prctl(*arguments):
    if ctypes.CDLL(None, use_errno=True).prctl(*map(ctypes.c_ulong, arguments)) < 0:
        raise OSError(ctypes.get_errno(), f"prctl{arguments}")

def install_seccomp():
    """Allow SYSCALLS, refuse executable memory, kill calls of a foreign architecture. Raises OSError where impossible."""
    column, arch = ARCHITECTURES[platform.machine()]
    load, equal, mask, ret = 0x20, 0x15, 0x45, 0x06
    allow, kill, refuse, unknown = 0x7FFF0000, 0x80000000, 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS
    code = [(load, 0, 0, 4), (equal, 1, 0, arch), (ret, 0, 0, kill), (load, 0, 0, 0),
            (equal, 0, 1, CLONE3), (ret, 0, 0, unknown)]
    for name, numbers in SYSCALLS.items():
        if name in ("mmap", "mprotect"):                # the third argument holds the protection bits; 4 is PROT_EXEC
            code += [(equal, 0, 4, numbers[column]), (load, 0, 0, 32), (mask, 0, 1, 4), (ret, 0, 0, refuse)]
        else:
            code += [(equal, 0, 1, numbers[column])]
        code += [(ret, 0, 0, allow)]
    code += [(ret, 0, 0, refuse)]
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code), ctypes.addressof(program)))
    prctl(38, 1, 0, 0, 0)                               # PR_SET_NO_NEW_PRIVS: needed by, and kept under, the filter
    prctl(22, 2, ctypes.addressof(header), 0, 0)        # PR_SET_SECCOMP, SECCOMP_MODE_FILTER

def seal(size, cpu_seconds):
    """Give up, for ever, everything but computing. Returns the names of the layers that are in force."""
    layers = ["process", "rlimits"]
    if os.geteuid() == 0:
        with contextlib.suppress(OSError):
            nobody = 65534
            os.setgroups([])
            os.setresgid(nobody, nobody, nobody)
            os.setresuid(nobody, nobody, nobody)
            layers.append("uid")
    if sys.platform == "linux":
        prctl(1, signal.SIGKILL, 0, 0, 0)               # die with the zygote; only now, since setresuid clears it
        prctl(4, 0, 0, 0, 0)                            # not dumpable: no peer may read or trace this process
    for name, value in dict(AS=size, CPU=cpu_seconds, FSIZE=0, CORE=0, NPROC=0, NOFILE=0).items():
        limit = getattr(resource, "RLIMIT_" + name)
        hard = resource.getrlimit(limit)[1]             # limits are only ever lowered
        resource.setrlimit(limit, (value if hard == resource.RLIM_INFINITY else min(value, hard),) * 2)
    with contextlib.suppress(OSError, KeyError, AttributeError):
        install_seccomp()
        layers.append("seccomp")
    return layers

NAMESPACE = """import math, random, re, json, itertools, functools, collections, string, copy, heapq, bisect, operator
import statistics, textwrap, datetime, time, typing
from collections import deque, defaultdict, Counter, OrderedDict, namedtuple
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Callable, Dict, Iterable, List, Literal, Optional, Sequence, Set, Tuple, Union
"""                                                     # names that programs commonly use without importing them
PRELOAD = """import __future__, abc, array, base64, cmath, colorsys, contextlib, csv, decimal, difflib, fractions, graphlib
import hashlib, html, inspect, io, numbers, pprint, queue, sched, secrets, shlex, struct, traceback, unicodedata, uuid
import weakref, zlib, _strptime
from encodings import ascii, latin_1, utf_16, utf_32, idna, punycode, unicode_escape
"""                                                     # what they may import; nothing can be once the files are gone

def load_program(code, max_turns, namespace):
    """The program's environment object, and what it says about itself."""
    module = sys.modules["env"] = types.ModuleType("env")           # dataclasses and enums look their module up
    module.__dict__.update(namespace)
    exec(compile(code, "<env>", "exec"), module.__dict__)
    cls = next((v for k, v in reversed(module.__dict__.items())
                if isinstance(v, type) and k.endswith("Env") and v.__module__ == "env"), None)
    if not all(callable(getattr(cls, name, None)) for name in ("reset", "step")):
        raise TypeError("the program must define a class whose name ends in Env, with the methods reset and step")
    env = cls(**({"max_turns": max_turns} if "max_turns" in inspect.signature(cls).parameters else {}))
    turns, level = getattr(env, "max_turns", None), getattr(env, "LEVEL", None)
    return env, dict(max_turns=max(1, min(turns, max_turns)) if type(turns) is int else max_turns,
                     level=level if type(level) is int else None,
                     tools=json.dumps(env.get_tools()) if hasattr(env, "get_tools") else None,
                     hint=callable(getattr(env, "hint", None)))

def serve(channel, namespace, layers):
    """Answer calls on `channel` until it closes. The first is a reset, which brings the program."""
    loads, encode = json.loads, json.JSONEncoder().encode           # bound here: the program may patch what it finds
    readline, write, flush = channel.readline, channel.write, channel.flush
    env, phase = None, "load"

    def plain(value):                                   # numpy scalars and one-element arrays become Python numbers
        return value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value

    def reset(argument):
        nonlocal env, phase
        env, facts = load_program(argument["code"], argument["max_turns"], namespace)
        phase, seed = "reset", argument["seed"]
        namespace["random"].seed(seed)                  # programs that draw from the global generators stay seeded
        if "np" in namespace:
            namespace["np"].random.seed(seed % 2 ** 32)
        result = env.reset(seed)
        return facts | {"layers": layers}, plain(result[0] if isinstance(result, tuple) else result)

    def step(action):                                   # info stays here: nothing may depend on it
        result = env.step(action)
        return [plain(v) for v in result[:4]] + [None] * (len(result) - 4) if isinstance(result, tuple) else plain(result)
    methods = dict(reset=reset, step=step, hint=lambda _: env.hint())
    while line := readline():
        call = loads(line)
        try:
            reply = encode({"id": call["id"], "ok": methods[call["method"]](call["argument"])})
        except BaseException as error:                  # SystemExit and KeyboardInterrupt are the program's fault too
            try:
                text = str(error)[:1000]
            except BaseException:
                text = "(its message could not be made)"
            reply = encode({"id": call["id"], "error": f"{phase}: {type(error).__name__[:100]}: {text}"})
        phase = "step"
        write(reply.encode() + b"\n")
        flush()

def zygote(memory_mb, cpu_seconds, numpy_path):
    """Fork a sealed child for every request on the control socket (descriptor 0); end, with all children, at its end.

    A request is a letter and the number that the trainer gave the child: S with a descriptor starts it, C ends it, K ends
    it and is answered with its wait status. Starting is not answered, so the trainer never waits for a fork."""
    del sys.path[0]                                     # this file's folder
    namespace, children = {}, {}                        # children: number -> pid
    exec(NAMESPACE, namespace)
    exec(PRELOAD, {})
    if numpy_path:
        sys.path.append(numpy_path)
        import numpy, numpy.fft, numpy.linalg, numpy.ma, numpy.polynomial, numpy.random
        namespace["np"] = namespace["numpy"] = numpy
        sys.path.remove(numpy_path)
    control, null, size = socket.socket(fileno=os.dup(0)), os.open("/dev/null", os.O_RDWR), memory_mb * 2 ** 20
    if sys.platform == "linux":                         # the limit counts from what the interpreter already maps
        size += int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    gc.collect()
    gc.freeze()                                         # children must not touch, and so copy, these pages
    control.sendall(bytes(4))
    while True:
        request, fds, _, _ = socket.recv_fds(control, 5, 1, socket.MSG_WAITALL)
        if len(request) < 5:                            # the trainer is gone
            for pid in children.values():
                os.kill(pid, signal.SIGKILL)
            os._exit(0)
        op, number = struct.unpack("<cI", request)
        if op == b"S":
            children[number] = os.fork()
            if children[number] == 0:
                try:
                    for target, fd in ((3, fds[0]), (0, null), (1, null), (2, null)):
                        os.dup2(fd, target)
                    os.closerange(4, 1024)
                    os.setsid()
                    os.nice(5)
                    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
                    raw = open(3, "r+b", buffering=0)
                    serve(io.BufferedRWPair(raw, raw), namespace, " ".join(seal(size, cpu_seconds)))
                finally:
                    os._exit(70)
            os.close(fds[0])
        else:
            pid = children.pop(number)
            os.kill(pid, signal.SIGKILL)
            status = os.waitpid(pid, 0)[1]
            if op == b"K":
                control.sendall(struct.pack("<I", status))

if __name__ == "__main__" and sys.argv[1:2] == ["--zygote"]:
    zygote(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])       # never returns: what follows is the trainer's side

# ========================================================================================== the trainer's side
import gymnasium                                        # noqa: E402  (the zygote has no third-party packages)

class EnvError(Exception):
    """The program raised, or returned something that breaks the contract."""

class EnvDied(EnvError):
    """The program's process ended: killed for memory or processor time, or it exited."""

class EnvTimeout(EnvDied):
    """A call outlasted its deadline; the process is dead and its program retired."""

class EnvProtocol(EnvDied):
    """The process sent bytes that are no answer to the call: forged, unsolicited, or too many."""

@dataclasses.dataclass(frozen=True)
class Limits:
    call_seconds: float = 5.0                           # a whole reset, step or hint
    load_seconds: float = 10.0                          # added to the reset, which loads the program
    memory_mb: int = 256                                # above the bare interpreter
    cpu_seconds: int = 120                              # of one process, over its life
    text_chars: int = 20_000                            # one observation or hint
    line_bytes: int = 2 ** 20                           # one reply
    max_reward: float = 1e6
    max_turns: int = 25                                 # offered to the constructor; a program may choose fewer
    in_flight: int = 2 * (os.cpu_count() or 1)          # calls running at once: more would only wait for a core

_STRINGS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_FACTS = dict(max_turns=[int], level=[int, type(None)], tools=[str, type(None)], hint=[bool], layers=[str])

def clean(text: str) -> str:
    """Valid, printable Unicode: lone surrogates become U+FFFD; control and bidirectional override characters go."""
    return _CONTROL.sub("", re.sub("[\ud800-\udfff]", "\ufffd", text.replace("\r\n", "\n")))

def tool_schemas(text):
    """What `get_tools()` returned, as [{type, function: {name, description, parameters}}]. Raises EnvError."""
    try:
        tools = [tool.get("function", tool) for tool in json.loads(text)] if text else []
        return [{"type": "function", "function": dict(name="".join([t["name"]]), description=str(t.get("description", "")),
                                                      parameters=dict(t.get("parameters", {})))} for t in tools]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise EnvError("get_tools must return a list of function schemas, each with a name and parameters") from None

def parse_reply(line: bytes, nonce: str, method: str, limits: Limits):
    """The checked value in a child's line. Raises EnvProtocol for what no honest child sends, EnvError for the rest."""
    bones = _STRINGS.sub(b"", line)
    if len(bones) > 10_000 or bones.count(b"[") + bones.count(b"{") > 3:        # bounded before it is parsed
        raise EnvProtocol("the reply is not flat")
    try:
        reply = json.loads(line.decode("ascii"))
    except (ValueError, RecursionError) as error:
        raise EnvProtocol(f"the reply cannot be parsed: {error}") from None
    if type(reply) is not dict or reply.get("id") != nonce:
        raise EnvProtocol("the reply does not answer this call")
    if "error" in reply:
        raise EnvError(clean(str(reply["error"]))[:1200])
    value = reply.get("ok")

    def text(x, what):
        if type(x) is not str or len(x) > limits.text_chars:
            got = f"{len(x)} characters" if type(x) is str else type(x).__name__
            raise EnvError(f"{what} must be a string of at most {limits.text_chars} characters, got {got}")
        return clean(x)
    if method == "hint":
        return text(value, "the hint")
    if method == "reset":
        if (type(value) is not list or len(value) != 2 or type(value[0]) is not dict
                or not all(type(value[0].get(name)) in kinds for name, kinds in _FACTS.items())
                or not 1 <= value[0]["max_turns"] <= limits.max_turns or abs(value[0]["level"] or 0) > 10 ** 6):
            raise EnvProtocol("a malformed answer to reset")
        return value[0] | {"tools": tool_schemas(value[0]["tools"])}, text(value[1], "the observation")
    if type(value) is not list or len(value) != 5:
        raise EnvError("step must return 5 values (observation, reward, terminated, truncated, info), got "
                       + (str(len(value)) if type(value) is list else type(value).__name__))
    observation, reward, terminated, truncated, _ = value
    if type(reward) not in (int, float, bool) or not abs(reward) <= limits.max_reward:      # not: NaN compares False
        raise EnvError(f"the reward must be a finite number of at most {limits.max_reward:g}, got {reward!r:.40}")
    if type(terminated) is not bool or type(truncated) is not bool:
        raise EnvError(f"terminated and truncated must be bool, got {terminated!r:.40} and {truncated!r:.40}")
    return text(observation, "the observation"), float(reward), terminated, truncated, {}

class _Zygote:
    """The trainer's end of one zygote."""

    def __init__(self, limits, hash_seed):
        self.control, theirs = socket.socketpair()
        numpy = importlib.util.find_spec("numpy")
        threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self.process = subprocess.Popen(
            [sys.executable, "-S", "-s", "-B", "-X", "utf8", os.path.abspath(__file__), "--zygote", str(limits.memory_mb),
             str(limits.cpu_seconds), str(Path(numpy.origin).parents[1]) if numpy else ""],
            env=dict(PATH="/usr/bin:/bin", LANG="C.UTF-8", PYTHONHASHSEED=str(hash_seed), **threads),
            cwd="/", stdin=theirs, stdout=subprocess.DEVNULL, start_new_session=True)
        theirs.close()
        self.answer()                                   # it has imported everything

    def send(self, op, number, fds=()):
        with contextlib.suppress(OSError):              # if it is gone, its children's sockets say so
            socket.send_fds(self.control, [struct.pack("<cI", op, number)], fds)

    def answer(self):
        reply = self.control.recv(4, socket.MSG_WAITALL)
        if len(reply) < 4:
            raise RuntimeError("the sandbox's zygote died; its messages are above")
        return struct.unpack("<I", reply)[0]

class Sandbox(contextlib.AbstractContextManager):
    """Many sealed environments, stepped at once from one thread. A context manager.

    `submit` queues a call, `poll` returns what has finished; `run`, `make` and `check` are built on them. At most
    `limits.in_flight` calls run at a time, and a call's deadline starts when it is sent, not when it is queued."""

    def __init__(self, limits=Limits(), allow_weak=False):
        self.limits, self._selector = limits, selectors.DefaultSelector()
        self._zygotes, self._numbers = {}, itertools.count()            # zygotes by hash seed
        self._queue, self._done, self._in_flight = collections.deque(), [], set()
        self.retired = set()                           # programs that timed out once: 256 copies must not each do so
        with self.make("class Env:\n    def reset(self, seed): return ''\n    step = reset\n") as probe:
            probe.reset(seed=0)
        self.layers = tuple(probe.facts["layers"].split())
        if "seccomp" not in self.layers:
            if not allow_weak:
                self.close()
                raise RuntimeError("the kernel offers no seccomp filter here, so programs cannot be contained; "
                                   "--allow_weak_sandbox runs them with resource limits only")
            print("WARNING: weak sandbox (no seccomp): environment programs can read files, use the network and start "
                  "processes. Use it only for programs that you trust.", file=sys.stderr)

    def __exit__(self, *exc):
        self.close()

    def close(self):
        for zygote_ in self._zygotes.values():
            zygote_.control.close()                     # it kills its children and ends
            zygote_.process.wait(5)
        self._selector.close()

    def make(self, code, hash_seed=0):
        """A `gymnasium.Env` of the program. Every reset starts a fresh process; reset, step and hint raise EnvError."""
        return SandboxedEnv(self, code, hash_seed)

    def submit(self, key, env, method, argument=None):
        """Queue reset (argument: the seed), step (the action) or hint; `poll` will return (key, result)."""
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
                self.retired.add(env.code)
                self._end(env, EnvTimeout(f"{env.method} took longer than {self.limits.call_seconds:g} s"))
        done, self._done = self._done, []
        return done

    def run(self, calls):
        """Results, or EnvError in place, of many (env, method, argument) at once, in order."""
        results = {}
        for key, call in enumerate(calls):
            self.submit(key, *call)
        while len(results) < len(calls):
            results.update(self.poll(1.0))
        return [results[key] for key in range(len(calls))]

    def _start(self, key, env, method, argument):
        env.key, env.method, seconds = key, method, self.limits.call_seconds
        if method == "reset":
            self._end(env)                              # one process plays one episode
            env.failure, env.buffer = None, b""
            if env.code in self.retired:
                env.failure = EnvTimeout("this program was retired: an earlier call of it timed out")
            else:
                if env.hash_seed not in self._zygotes:
                    self._zygotes[env.hash_seed] = _Zygote(self.limits, env.hash_seed)
                env.number = next(self._numbers)
                env.sock, theirs = socket.socketpair()
                self._zygotes[env.hash_seed].send(b"S", env.number, [theirs.fileno()])
                theirs.close()
                self._selector.register(env.sock, selectors.EVENT_READ, env)
                argument = dict(seed=argument, code=env.code, max_turns=self.limits.max_turns)
                seconds += self.limits.load_seconds
        self._in_flight.add(env)
        if env.failure:
            return self._finish(env, env.failure)
        env.nonce, env.deadline = secrets.token_hex(8), time.monotonic() + seconds
        try:
            env.sock.settimeout(seconds)                # an honest child is already reading
            env.sock.sendall(json.dumps(dict(id=env.nonce, method=method, argument=argument)).encode() + b"\n")
            env.sock.setblocking(False)
        except OSError:
            self._end(env, EnvDied("the process ended between two calls"))

    def _receive(self, env):
        try:
            data = env.sock.recv(1 << 16)
        except ConnectionError:
            data = b""
        env.buffer += data
        line, newline, rest = env.buffer.partition(b"\n")
        try:
            if not data:
                raise EnvDied("the process ended")
            if rest or env not in self._in_flight or len(env.buffer) > self.limits.line_bytes:
                raise EnvProtocol("bytes that nobody asked for")
            if not newline:
                return
            env.buffer = b""
            result = parse_reply(line, env.nonce, env.method, self.limits)
            if env.method == "reset":
                env.facts, result = result[0], (result[1], {})
        except EnvDied as error:
            return self._end(env, error)
        except EnvError as error:
            result = error
        self._finish(env, result)

    def _finish(self, env, result):
        if env in self._in_flight:
            self._in_flight.remove(env)
            self._done.append((env.key, result))

    def _end(self, env, error=None):
        """End the process, if there is one, for good. An `error` answers the call under way."""
        if env.sock is not None:
            self._selector.unregister(env.sock)
            env.sock.close()
            env.sock = None
            self._zygotes[env.hash_seed].send(b"K" if error else b"C", env.number)
            status = self._zygotes[env.hash_seed].answer() if error else 0
            if type(error) is EnvDied:                  # it ended by itself: the wait status says how
                how = (f"killed by {signal.Signals(os.WTERMSIG(status)).name}" if os.WIFSIGNALED(status)
                       else f"with exit code {os.WEXITSTATUS(status)}")
                error = EnvDied(f"{error}, {how}, in {env.method}")
        env.failure = error or EnvError("the environment is closed")
        self._finish(env, env.failure)

    def check(self, code, seeds=(0, 1)):
        """Judge a program by letting BOTS play it in separate processes: -> Verdict."""
        plays = [(bot, seed, 0) for bot in BOTS for seed in seeds] + [("babble", seed, 1) for seed in seeds]
        envs = [self.make(code, hash_seed) for _, _, hash_seed in plays]
        try:
            return _judge(self, envs, plays, seeds)
        except EnvError as error:
            return Verdict(False, [_explain(error)], layers=self.layers)
        finally:
            for env in envs:
                env.close()

class SandboxedEnv(gymnasium.Env):
    """One program as a Gymnasium environment with text observations and actions. `facts`: what it says about itself."""

    def __init__(self, sandbox, code, hash_seed=0):
        self.sandbox, self.code, self.hash_seed, self.facts, self.sock = sandbox, code, hash_seed, None, None
        self.failure = EnvError("call reset first")
        printable = frozenset(map(chr, [10, *range(32, 127)]))
        self.observation_space = self.action_space = gymnasium.spaces.Text(
            sandbox.limits.text_chars, min_length=0, charset=printable)

    def _call(self, method, argument=None):
        result = self.sandbox.run([(self, method, argument)])[0]
        if isinstance(result, EnvError):
            raise result
        return result

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self._call("reset", int(self.np_random.integers(2 ** 31)) if seed is None else seed)

    def step(self, action):
        return self._call("step", action)

    def hint(self):
        return self._call("hint")

    def close(self):
        self.sandbox._end(self)

# ============================================================================================== admission
@dataclasses.dataclass
class Failure:
    kind: str           # syntax, load, contract, crash, died, timeout, protocol, nondeterministic, endless, trivial
    detail: str         # one sentence that a designer can act on

@dataclasses.dataclass
class Verdict:
    ok: bool
    failures: list
    max_turns: int = 0
    layers: tuple = ()
    level: int = None                                   # the program's own LEVEL, if it states one
    has_hint: bool = False
    constant: bool = False                              # nonsense was answered alike on every probed seed

# Players that know nothing: one that wins on every seed shows a task that pays for nothing.
BOTS = dict(silent=lambda turn, observation: "",
            babble=lambda turn, observation: ("\\boxed{1}", "\\boxed{a}", "\\boxed{zzz}")[turn % 3],
            echo=lambda turn, observation: observation[-200:])

def _judge(sandbox, envs, plays, seeds):
    def run(calls):
        results = sandbox.run(calls)
        if errors := [result for result in results if isinstance(result, EnvError)]:
            raise errors[0]
        return results
    episodes = [[result] for result in run([(env, "reset", seed) for env, (_, seed, _) in zip(envs, plays)])]
    facts, live, failures = envs[0].facts, list(range(len(plays))), []
    if facts["hint"]:
        run([(env, "hint", None) for env in envs])
    for turn in range(facts["max_turns"]):
        calls = [(envs[i], "step", BOTS[plays[i][0]](turn, episodes[i][-1][0])) for i in live]
        for i, result in zip(live, run(calls)):
            episodes[i].append(result)
        live = [i for i in live if not (episodes[i][-1][2] or episodes[i][-1][3])]
    episode = dict(zip(plays, episodes))
    if live:
        failures += [Failure("endless", f"no end after {facts['max_turns']} turns: return truncated=True by then")]
    if different := [seed for seed in seeds if episode["babble", seed, 0] != episode["babble", seed, 1]]:
        failures += [Failure("nondeterministic", f"seed {different[0]} gave two different episodes: draw everything from "
                             "random.Random(seed), and do not depend on set order, hash, time or id")]
    ends = {bot: [episode[bot, seed, 0][-1] for seed in seeds] for bot in BOTS}
    if winners := [bot for bot in BOTS if all(end[2] and end[1] > 0 for end in ends[bot])]:
        failures += [Failure("trivial", f"a player that knows nothing ('{winners[0]}') is rewarded on every seed")]
    babble = [episode["babble", seed, 0] for seed in seeds]
    return Verdict(not failures, failures, facts["max_turns"], sandbox.layers, facts["level"],
                   facts["hint"], all(e == babble[0] for e in babble))

def _explain(error):
    """The Failure that an EnvError stands for."""
    phase, colon, text = str(error).partition(": ")
    for kind, cls in (("timeout", EnvTimeout), ("protocol", EnvProtocol), ("died", EnvDied)):
        if isinstance(error, cls):
            return Failure(kind, str(error))
    if phase == "load":
        return Failure("syntax" if re.match(r"(Syntax|Indentation|Tab)Error", text) else "load", text)
    contract = phase not in ("reset", "step") or re.match(r"TypeError: .*\.reset\(\)", text)
    return Failure("contract" if contract else "crash", str(error))

def main():
    parser = argparse.ArgumentParser(description="Check one environment program in the sandbox.")
    parser.add_argument("file", type=Path, help="a Python file with one class whose name ends in Env")
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON")
    parser.add_argument("--allow_weak_sandbox", action="store_true", help="run although the kernel offers no seccomp filter")
    options = parser.parse_args()
    try:
        code = options.file.read_text()
        with Sandbox(allow_weak=options.allow_weak_sandbox) as sandbox:
            verdict = sandbox.check(code)
    except (OSError, UnicodeDecodeError, RuntimeError) as error:
        parser.error(str(error))
    if options.json:
        print(json.dumps(dataclasses.asdict(verdict)))
    else:
        print("admitted " if verdict.ok else "refused ", f"(layers: {', '.join(verdict.layers)})",
              *[f"\n  {failure.kind}: {failure.detail}" for failure in verdict.failures],
              f"\n  at most {verdict.max_turns} turns" + "; has a hint" * verdict.has_hint
              + "; nonsense is answered alike on every seed" * verdict.constant if verdict.ok else "", sep="")
    sys.exit(0 if verdict.ok else 1)

if __name__ == "__main__":
    main()
