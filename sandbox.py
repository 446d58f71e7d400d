"""Running environment programs that a language model wrote, and deciding which of them to admit.

A designer that is rewarded for regret will, sooner or later, write a program that loops, eats memory, reads secrets,
forges a reward or kills its host, by accident or because it pays. So no line of such a program ever runs in the trainer:

    trainer --control--> zygote --fork--> sealed process, one per episode, never reused
       \\_______________ one JSON line per call ________________/

The *zygote* is a small trusted interpreter that has imported what programs may use. For every episode it forks a child
(milliseconds, pages shared), and the child *seals* itself before it sees the program: descriptors closed, user dropped,
memory and processor time limited, and a seccomp filter under which it can compute and use the socket it already has,
and nothing else: no files, no network, no processes, no new machine code. The trainer waits for one line per call, with
a deadline for the whole call, and checks type, size and finiteness of everything in it.

Covered: crashes, endless loops, memory and output floods, exits, forged or unsolicited replies, reading files or the
environment, writing, network, starting or signalling processes, leftovers after a kill. Not covered: a kernel bug that
can be reached through the allowed system calls, timing side channels, and a program that lies about its own reward. The
answers to the last are the admission check below and the regret itself. Without seccomp (not Linux, or forbidden) the
sandbox refuses to start unless `allow_weak=True`.

Admission (`Sandbox.check`) asks that a program loads, keeps the contract of README, gives the same episode for the same
seed in two processes with different hash seeds, ends within its turn limit, and is not won by nonsense.

    python sandbox.py FILE [--json]     shows the verdict; exit 0 admitted, 1 refused, 2 usage
"""
import argparse
import collections
import ctypes
import dataclasses
import errno
import gc
import importlib.util
import inspect
import json
import math
import os
import platform
import re
import resource
import secrets
import selectors
import signal
import socket
import struct
import subprocess
import sys
import time
import types
from pathlib import Path

MAX_LINE = 1 << 20                                      # bytes of one reply

# ================================================================================ inside the sealed process
# Numbers for (x86-64, aarch64): what CPython needs to compute and to talk on open descriptors. All else fails with EPERM.
SYSCALLS = dict(
    read=(0, 63), write=(1, 64), readv=(19, 65), writev=(20, 66), close=(3, 57), fstat=(5, 80), lseek=(8, 62),
    mmap=(9, 222), mprotect=(10, 226), munmap=(11, 215), brk=(12, 214), mremap=(25, 216), madvise=(28, 233),
    rt_sigaction=(13, 134), rt_sigprocmask=(14, 135), rt_sigreturn=(15, 139), sigaltstack=(131, 132),
    sched_yield=(24, 124), nanosleep=(35, 101), clock_nanosleep=(230, 115), clock_gettime=(228, 113), futex=(202, 98),
    clock_getres=(229, 114), gettimeofday=(96, 169), getrusage=(98, 165), getpid=(39, 172), gettid=(186, 178),
    getuid=(102, 174), geteuid=(107, 175), getgid=(104, 176), getegid=(108, 177), getrandom=(318, 278),
    exit=(60, 93), exit_group=(231, 94), restart_syscall=(219, 128), rseq=(334, 293), membarrier=(324, 283))
ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}     # column above, AUDIT_ARCH constant
CLONE3 = 435                                            # must answer ENOSYS, so that libc falls back to the refused clone


def install_seccomp():
    """Allow SYSCALLS, refuse executable memory, kill calls of a foreign architecture. Raises OSError where impossible."""
    column, arch = ARCHITECTURES[platform.machine()]
    load, equal, mask, ret = 0x20, 0x15, 0x45, 0x06
    allow, kill, refuse, unknown = 0x7FFF0000, 0x80000000, 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS
    code = [(load, 0, 0, 4), (equal, 1, 0, arch), (ret, 0, 0, kill), (load, 0, 0, 0),
            (equal, 0, 1, CLONE3), (ret, 0, 0, unknown)]
    for name, numbers in SYSCALLS.items():
        if name in ("mmap", "mprotect"):                # third argument holds the protection bits; 4 is PROT_EXEC
            code += [(equal, 0, 4, numbers[column]), (load, 0, 0, 32), (mask, 0, 1, 4), (ret, 0, 0, refuse)]
        else:
            code += [(equal, 0, 1, numbers[column])]
        code += [(ret, 0, 0, allow)]
    code += [(ret, 0, 0, refuse)]
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code), ctypes.addressof(program)))
    prctl(38, 1, 0, 0, 0)                               # PR_SET_NO_NEW_PRIVS: needed by, and kept under, the filter
    prctl(22, 2, ctypes.addressof(header), 0, 0)        # PR_SET_SECCOMP, SECCOMP_MODE_FILTER


def prctl(*arguments):
    if ctypes.CDLL(None, use_errno=True).prctl(*[ctypes.c_ulong(a) for a in arguments]) < 0:
        raise OSError(ctypes.get_errno(), f"prctl{arguments}")


def seal(baseline_bytes, memory_mb, cpu_seconds):
    """Give up, for ever, everything but computing. Returns the names of the layers that are in force."""
    layers = ["process"]
    if os.geteuid() == 0:
        nobody = 65534
        try:
            os.setgroups([])
            os.setresgid(nobody, nobody, nobody)
            os.setresuid(nobody, nobody, nobody)
            layers.append("uid")
        except OSError:
            pass
    if sys.platform == "linux":
        prctl(1, signal.SIGKILL, 0, 0, 0)               # die with the zygote; only now, since setresuid clears it
        prctl(4, 0, 0, 0, 0)                            # not dumpable: no peer may read or trace this process
    size = baseline_bytes + memory_mb * 2 ** 20
    for name, value in dict(AS=size, CPU=cpu_seconds, FSIZE=0, CORE=0, NPROC=0, NOFILE=0).items():
        which = getattr(resource, "RLIMIT_" + name)
        hard = resource.getrlimit(which)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (value, value))
    layers.append("rlimits")
    try:
        install_seccomp()
        layers.append("seccomp")
    except (OSError, KeyError, AttributeError):
        pass
    return layers


NAMESPACE = """import math, random, re, json, itertools, functools, collections, string, copy, heapq, bisect, operator
import statistics, textwrap, datetime, time, typing
from collections import deque, defaultdict, Counter, OrderedDict, namedtuple
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Callable, Dict, Iterable, List, Literal, Optional, Sequence, Set, Tuple, Union
"""                                                     # names that programs commonly use without importing them
PRELOAD = """abc array base64 cmath colorsys contextlib csv decimal difflib fractions graphlib hashlib html inspect io
numbers pprint queue secrets struct traceback unicodedata uuid weakref zlib _strptime encodings.ascii encodings.latin_1
encodings.utf_16 encodings.utf_32 encodings.idna encodings.unicode_escape""".split()


def serve(fd, namespace, layers):
    """Answer calls on `fd` until it closes. The first is a reset, which brings the program: one process, one episode."""
    encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
    read, write, loads, env, phase = os.read, os.write, json.loads, None, "load"

    def plain(value):                                   # numpy scalars and one-element arrays become Python numbers
        return value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value

    def info_of(info):                                  # a debugging aid: flat, small, never shown to the agent
        items = [(str(k)[:100], plain(v)) for k, v in list(dict(info).items())[:50]]
        return {k: v for k, v in items if type(v) in (int, bool) or type(v) is float and v - v == 0
                or type(v) is str and len(v) < 1000}

    def load(code, max_turns):
        module = sys.modules["env"] = types.ModuleType("env")       # dataclasses and enums look their module up
        module.__dict__.update(namespace)
        exec(compile(code, "<env>", "exec"), module.__dict__)
        classes = [v for k, v in module.__dict__.items()
                   if isinstance(v, type) and k.endswith("Env") and v.__module__ == "env"]
        if not classes:
            raise TypeError("the program defines no class whose name ends in Env")
        takes = "max_turns" in inspect.signature(classes[-1]).parameters
        env = classes[-1](**({"max_turns": max_turns} if takes else {}))
        for name in ("reset", "step"):
            if not callable(getattr(env, name, None)):
                raise TypeError(f"class {classes[-1].__name__} has no method {name}")
        turns, level, skill = (plain(getattr(env, name, None)) for name in ("max_turns", "LEVEL", "skill"))
        return env, dict(max_turns=max(1, min(turns, max_turns)) if type(turns) is int else max_turns,
                         level=level if type(level) is int else None, skill=skill if type(skill) is str else None,
                         tools=json.dumps(env.get_tools()) if hasattr(env, "get_tools") else None,
                         hint=callable(getattr(env, "hint", None)), layers=" ".join(layers))

    def reset(argument):
        nonlocal env, phase
        env, facts = load(argument["code"], argument["max_turns"])
        phase, seed = "reset", argument["seed"]
        namespace["random"].seed(seed)                  # programs that draw from the global generators stay seeded
        if "np" in namespace:
            namespace["np"].random.seed(seed % 2 ** 32)
        result = env.reset(seed)
        observation, info = result if isinstance(result, tuple) else (result, {})
        return facts, plain(observation), info_of(info)

    def step(action):
        result = env.step(action)
        if not isinstance(result, tuple) or len(result) != 5:
            got = len(result) if isinstance(result, tuple) else type(result).__name__
            raise TypeError(f"step must return 5 values (observation, reward, terminated, truncated, info), got {got}")
        return *map(plain, result[:4]), info_of(result[4])

    methods, buffer = dict(reset=reset, step=step, hint=lambda _: env.hint()), b""
    while True:
        while b"\n" not in buffer:
            more = read(fd, 1 << 16)
            if not more:
                os._exit(0)
            buffer += more
        line, buffer = buffer.split(b"\n", 1)
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
        view = memoryview(reply.encode() + b"\n")
        while view:
            view = view[write(fd, view):]


def zygote(memory_mb, cpu_seconds, numpy_path):
    """Fork a sealed child for every request on the control socket (descriptor 0); end, with all children, at its end.

    A request is a letter and the number that the trainer gave the child: S with a descriptor starts it, C ends it, K ends
    it and is answered with its wait status. Starting is not answered, so the trainer never waits for a fork."""
    del sys.path[0]                                     # this file's folder
    namespace = {}
    exec(NAMESPACE, namespace)
    for name in PRELOAD:
        importlib.import_module(name)
    if numpy_path:
        sys.path.append(numpy_path)
        import numpy
        import numpy.fft
        import numpy.linalg
        import numpy.random
        namespace["np"] = namespace["numpy"] = numpy
        sys.path.remove(numpy_path)
    control = socket.socket(fileno=os.dup(0))
    null = os.open("/dev/null", os.O_RDWR)
    children = {}                                       # number -> pid
    with open("/proc/self/statm") if sys.platform == "linux" else open(os.devnull) as statm:
        baseline = int((statm.read() or "0").split()[0]) * resource.getpagesize()
    gc.collect()
    gc.freeze()                                         # children must not touch, and so copy, these pages
    control.sendall(struct.pack("<I", 0))
    while True:
        request, fds, _, _ = socket.recv_fds(control, 5, 1)
        while request and len(request) < 5:
            request += control.recv(5 - len(request))
        if not request:                                 # the trainer is gone
            for pid in children.values():
                os.kill(pid, signal.SIGKILL)
            os._exit(0)
        op, number = request[:1], struct.unpack("<I", request[1:])[0]
        if op == b"S":
            pid = os.fork()
            if pid == 0:
                try:
                    os.dup2(fds[0], 3)
                    for fd in range(3):
                        os.dup2(null, fd)
                    os.closerange(4, 1024)
                    os.setsid()
                    os.nice(5)
                    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
                    serve(3, namespace, seal(baseline, memory_mb, cpu_seconds))
                finally:
                    os._exit(70)
            os.close(fds[0])
            children[number] = pid
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
    load_seconds: float = 10.0                          # compiling, running the module and the constructor
    memory_mb: int = 256                                # above the bare interpreter
    cpu_seconds: int = 120                              # of one process, over its life
    text_chars: int = 20_000                            # one observation or hint
    max_reward: float = 1e6
    max_turns: int = 25                                 # offered to the constructor; a program may choose fewer
    in_flight: int = 2 * (os.cpu_count() or 1)          # calls running at once: more would only time out waiting for a core


_STRINGS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


def clean(text: str) -> str:
    """Valid, printable Unicode: lone surrogates become U+FFFD; control and bidirectional override characters go."""
    return _CONTROL.sub("", text.replace("\r\n", "\n").encode("utf-8", "surrogatepass").decode("utf-8", "replace"))


def _number(digits):
    if len(digits) > 18 or not digits.lstrip("-").isdigit():        # NaN and Infinity come here too
        raise ValueError(f"{digits[:20]} is no number for a reward")
    return int(digits)


_decoder = json.JSONDecoder(parse_constant=_number, parse_int=_number)


def parse_reply(line: bytes, nonce: str, method: str, limits: Limits):
    """The checked value in a child's line. Raises EnvProtocol for what no honest child sends, EnvError for the rest."""
    bones = _STRINGS.sub(b"", line)
    if len(bones) > 10_000 or bones.count(b"[") + bones.count(b"{") > 4:        # bounded before it is parsed
        raise EnvProtocol("the reply is not flat")
    try:
        reply = _decoder.decode(line.decode("ascii"))
    except (ValueError, RecursionError) as error:
        raise EnvProtocol(f"the reply cannot be parsed: {error}") from None
    if type(reply) is not dict or reply.get("id") != nonce:
        raise EnvProtocol("the reply does not answer this call")
    if "error" in reply:
        raise EnvError(clean(str(reply["error"]))[:1200])
    value = reply.get("ok")

    def text(x, what):
        if type(x) is not str:
            raise EnvError(f"{what} must be a string, got {type(x).__name__}")
        if len(x) > limits.text_chars:
            raise EnvError(f"{what} has {len(x)} characters; {limits.text_chars} are allowed")
        return clean(x)
    if method == "hint":
        return text(value, "the hint")
    if type(value) is not list or len(value) != (3 if method == "reset" else 5) or type(value[-1]) is not dict:
        raise EnvProtocol(f"a malformed answer to {method}")
    info = {clean(k): clean(v) if type(v) is str else v for k, v in value[-1].items()}
    if method == "reset":
        facts = value[0]
        kinds = dict(max_turns=int, level=(int, type(None)), skill=(str, type(None)), tools=(str, type(None)),
                     hint=bool, layers=str)
        if type(facts) is not dict or not all(isinstance(facts.get(name), kind) for name, kind in kinds.items()):
            raise EnvProtocol("malformed facts about the program")
        return facts, text(value[1], "the observation"), info
    observation, reward, terminated, truncated, _ = value
    if type(reward) not in (int, float, bool) or not math.isfinite(reward) or abs(reward) > limits.max_reward:
        raise EnvError(f"the reward must be a finite number of at most {limits.max_reward:g}, got {str(reward)[:40]}")
    if type(terminated) is not bool or type(truncated) is not bool:
        raise EnvError(f"terminated and truncated must be bool, got {terminated!r:.40} and {truncated!r:.40}")
    return text(observation, "the observation"), float(reward), terminated, truncated, info


class _Zygote:
    """The trainer's end of one zygote."""

    def __init__(self, limits, hash_seed):
        self.control, theirs = socket.socketpair()
        numpy = importlib.util.find_spec("numpy")
        self.process = subprocess.Popen(
            [sys.executable, "-S", "-s", "-B", "-X", "utf8", os.path.abspath(__file__), "--zygote", str(limits.memory_mb),
             str(limits.cpu_seconds), str(Path(numpy.origin).parents[1]) if numpy else ""],
            env=dict(PATH="/usr/bin:/bin", LANG="C.UTF-8", PYTHONHASHSEED=str(hash_seed), OPENBLAS_NUM_THREADS="1",
                     OMP_NUM_THREADS="1", MKL_NUM_THREADS="1"),
            cwd="/", stdin=theirs, stdout=subprocess.DEVNULL, start_new_session=True)
        theirs.close()
        self.started = self.tell(None, 0, answer=True)  # 0: it has imported everything

    def tell(self, op, number, fds=(), answer=False):
        try:
            if op:
                socket.send_fds(self.control, [op + struct.pack("<I", number)], fds)
            reply = self.control.recv(4, socket.MSG_WAITALL) if answer else b"none"
        except OSError:
            reply = b""
        if len(reply) < 4:
            raise RuntimeError("the sandbox's zygote died; its messages are above")
        return struct.unpack("<I", reply)[0]

    def spawn(self):
        """A socket to a new sealed process, and its number."""
        ours, theirs = socket.socketpair()
        self.started += 1
        self.tell(b"S", self.started, [theirs.fileno()])
        theirs.close()
        ours.setblocking(False)
        return ours, self.started


class Sandbox:
    """Many sealed environments, stepped at once from one thread. A context manager.

    `submit` queues a call, `poll` returns what has finished; `run`, `make` and `check` are built on them. At most
    `limits.in_flight` calls run at a time, and a call's deadline starts when it is sent, not when it is queued."""

    def __init__(self, limits=Limits(), allow_weak=False):
        self.limits = limits
        self._zygotes = {}                              # by hash seed
        self._selector = selectors.DefaultSelector()
        self._queue, self._done, self._in_flight = collections.deque(), [], set()
        self._retired = set()                           # programs that timed out once: 256 copies must not each do so
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

    def __enter__(self):
        return self

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
            now = time.monotonic()
            for env in [env for env in self._in_flight if env.deadline < now]:
                self._retired.add(env.code)
                self._end(env, EnvTimeout(f"{env.method} took longer than its deadline"))
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
            if env.code in self._retired:
                env.failure = EnvTimeout("this program was retired: an earlier call of it timed out")
            else:
                if env.hash_seed not in self._zygotes:
                    self._zygotes[env.hash_seed] = _Zygote(self.limits, env.hash_seed)
                env.sock, env.number = self._zygotes[env.hash_seed].spawn()
                env.failure, env.buffer = None, b""
                self._selector.register(env.sock, selectors.EVENT_READ, env)
                argument = dict(seed=argument, code=env.code, max_turns=self.limits.max_turns)
                seconds += self.limits.load_seconds
        if env.failure:
            self._done.append((key, env.failure))
            return
        env.nonce, env.deadline = secrets.token_hex(8), time.monotonic() + seconds
        self._in_flight.add(env)
        try:
            env.sock.settimeout(seconds)                # an honest child is already reading
            env.sock.sendall(json.dumps(dict(id=env.nonce, method=method, argument=argument)).encode() + b"\n")
            env.sock.setblocking(False)
        except OSError:
            self._end(env, EnvDied("the process ended between two calls"))

    def _receive(self, env):
        try:
            data = env.sock.recv(1 << 16)
        except BlockingIOError:
            return
        except ConnectionError:
            data = b""
        env.buffer += data
        line, newline, rest = env.buffer.partition(b"\n")
        try:
            if not data:
                return self._end(env, EnvDied("the process ended"))
            if rest or env not in self._in_flight or len(env.buffer) > MAX_LINE:
                raise EnvProtocol("bytes that nobody asked for")
            if not newline:
                return
            env.buffer = b""
            result = parse_reply(line, env.nonce, env.method, self.limits)
            if env.method == "reset":
                env.facts, *result = result
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
            status = self._zygotes[env.hash_seed].tell(b"K" if error else b"C", env.number, answer=bool(error))
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
        self.sandbox, self.code, self.hash_seed = sandbox, code, hash_seed
        self.facts = self.sock = self.number = self.key = self.nonce = self.method = None
        self.failure, self.buffer, self.deadline = EnvError("call reset first"), b"", 0.0
        printable = frozenset(map(chr, [10, *range(32, 127)]))
        self.observation_space = gymnasium.spaces.Text(sandbox.limits.text_chars, min_length=0, charset=printable)
        self.action_space = gymnasium.spaces.Text(sandbox.limits.text_chars, min_length=0, charset=printable)

    def _call(self, method, argument=None):
        result = self.sandbox.run([(self, method, argument)])[0]
        if isinstance(result, EnvError):
            raise result
        return result

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return tuple(self._call("reset", int(self.np_random.integers(2 ** 31)) if seed is None else seed))

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
    skill: str = None
    has_hint: bool = False
    constant: bool = False                              # every seed gave the same episode


# Players that know nothing: one that wins on every seed shows a task that pays for nothing.
BOTS = dict(silent=lambda turn, observation: "",
            babble=lambda turn, observation: ("\\boxed{1}", "\\boxed{a}", "\\boxed{zzz}")[turn % 3],
            echo=lambda turn, observation: observation[-200:])


def _judge(sandbox, envs, plays, seeds):
    def run(calls):
        results = sandbox.run(calls)
        for result in results:
            if isinstance(result, EnvError):
                raise result
        return results
    episodes = [[result] for result in run([(env, "reset", seed) for env, (_, seed, _) in zip(envs, plays)])]
    facts, live = envs[0].facts, list(range(len(plays)))
    for turn in range(facts["max_turns"]):
        calls = [(envs[i], "step", BOTS[plays[i][0]](turn, episodes[i][-1][0])) for i in live]
        for i, result in zip(live, run(calls)):
            episodes[i].append(result)
        live = [i for i in live if not (episodes[i][-1][2] or episodes[i][-1][3])]
    episode, failures = dict(zip(plays, episodes)), []
    if live:
        failures.append(Failure("endless", f"no end after {facts['max_turns']} turns: return terminated or truncated "
                                           "as True by then"))
    if different := [seed for seed in seeds if episode["babble", seed, 0] != episode["babble", seed, 1]]:
        failures.append(Failure("nondeterministic", f"seed {different[0]} gave two different episodes: draw everything "
                                "from random.Random(seed), and do not depend on set order, hash, time or id"))
    ends = {bot: [episode[bot, seed, 0][-1] for seed in seeds] for bot in BOTS}
    if winners := [bot for bot in BOTS if all(end[2] and end[1] > 0 for end in ends[bot])]:
        failures.append(Failure("trivial", f"a player that knows nothing ('{winners[0]}') is rewarded on every seed"))
    babble = [episode["babble", seed, 0] for seed in seeds]
    return Verdict(not failures, failures, facts["max_turns"], sandbox.layers, facts["level"],
                   clean(facts["skill"])[:60] if facts["skill"] else None, facts["hint"], all(e == babble[0] for e in babble))


def _explain(error):
    """The Failure that an EnvError stands for."""
    text = str(error)
    for kind, cls in (("timeout", EnvTimeout), ("protocol", EnvProtocol), ("died", EnvDied)):
        if isinstance(error, cls):
            return Failure(kind, text)
    if text.startswith("load:"):
        return Failure("syntax" if re.match(r"load: (Syntax|Indentation|Tab)Error", text) else "load", text)
    contract = re.match(r"the (observation|reward|hint)|terminated and|.*TypeError: (step must|.*reset\(\))", text)
    return Failure("contract" if contract else "crash", text)


def main():
    parser = argparse.ArgumentParser(description="Check one environment program in the sandbox.")
    parser.add_argument("file", type=Path, help="a Python file with one class whose name ends in Env")
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON")
    parser.add_argument("--allow_weak_sandbox", action="store_true", help="run although the kernel offers no seccomp filter")
    options = parser.parse_args()
    try:
        code = options.file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        parser.error(f"cannot read {options.file}: {error}")
    try:
        with Sandbox(allow_weak=options.allow_weak_sandbox) as sandbox:
            verdict = sandbox.check(code)
    except RuntimeError as error:
        sys.exit(f"sandbox.py: error: {error}")
    if options.json:
        print(json.dumps(dataclasses.asdict(verdict)))
    else:
        print("admitted" if verdict.ok else "refused", f"(layers: {', '.join(verdict.layers)})")
        for failure in verdict.failures:
            print(f"  {failure.kind}: {failure.detail}")
        if verdict.ok:
            print(f"  at most {verdict.max_turns} turns" + (f", level {verdict.level}" if verdict.level is not None else "")
                  + (", has a hint" if verdict.has_hint else "")
                  + (", the same episode for every seed" if verdict.constant else ""))
    sys.exit(0 if verdict.ok else 1)


if __name__ == "__main__":
    main()
