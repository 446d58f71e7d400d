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


def serve(fd, namespace, hello):
    """Answer calls on `fd` until it closes: load a program, make its environment, play one episode."""
    read, write, loads = os.read, os.write, json.loads
    encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
    module = types.ModuleType("env")
    module.__dict__.update(namespace)
    sys.modules["env"] = module                         # dataclasses and enums look their module up
    env = None

    def plain(value):                                   # numpy scalars and one-element arrays become Python numbers
        return value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value

    def info_of(info):                                  # debugging aid only: flat, small, never shown to the agent
        keep = {str(k)[:100]: plain(v) for k, v in list(dict(info).items())[:50]}
        return {k: v for k, v in keep.items() if type(v) in (int, bool, type(None)) or type(v) is float and v - v == 0
                or type(v) is str and len(v) < 1000}

    def load(argument):
        nonlocal env
        exec(compile(argument["code"], "<env>", "exec"), module.__dict__)
        classes = [v for k, v in module.__dict__.items()
                   if isinstance(v, type) and k.endswith("Env") and v.__module__ == "env"]
        if not classes:
            raise TypeError("the program defines no class whose name ends in Env")
        takes = inspect.signature(classes[-1]).parameters
        env = classes[-1](**({"max_turns": argument["max_turns"]} if "max_turns" in takes else {}))
        facts = {k.lower(): plain(getattr(env, k, None)) for k in ("max_turns", "LEVEL", "skill")}
        for name in ("reset", "step"):
            if not callable(getattr(env, name, None)):
                raise TypeError(f"class {classes[-1].__name__} has no method {name}")
        tools = json.dumps(env.get_tools()) if hasattr(env, "get_tools") else None
        return facts | {"name": classes[-1].__name__, "hint": hasattr(env, "hint"), "tools": tools}

    def reset(seed):
        namespace["random"].seed(seed)                  # programs that draw from the global generators stay seeded
        if "np" in namespace:
            namespace["np"].random.seed(seed % 2 ** 32)
        result = env.reset(seed)
        observation, info = result if isinstance(result, tuple) else (result, {})
        return [plain(observation), info_of(info)]

    def step(action):
        result = env.step(action)
        if not isinstance(result, tuple) or len(result) != 5:
            raise TypeError("step must return 5 values (observation, reward, terminated, truncated, info), got "
                            + (str(len(result)) if isinstance(result, tuple) else type(result).__name__))
        return [plain(value) for value in result[:4]] + [info_of(result[4])]
    methods = dict(load=load, reset=reset, step=step, hint=lambda _: env.hint(), layers=lambda _: hello)

    buffer = b""
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
            reply = encode({"id": call["id"], "error": type(error).__name__[:100] + ": " + text})
        if len(reply) >= MAX_LINE:
            reply = encode({"id": call["id"], "error": f"TooLarge: a reply of {len(reply)} characters"})
        view = memoryview(reply.encode() + b"\n")
        while view:
            view = view[write(fd, view):]


def zygote(memory_mb, cpu_seconds, numpy_path):
    """Fork a sealed child for every request on the control socket (descriptor 0); end, with all children, at its end.

    Requests and answers are five bytes: S + a descriptor -> pid; K + pid -> wait status; C + pid -> no answer."""
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
    children = set()
    with open("/proc/self/statm") if sys.platform == "linux" else open(os.devnull) as statm:
        baseline = int((statm.read() or "0").split()[0]) * resource.getpagesize()
    gc.collect()
    gc.freeze()                                         # children must not touch, and so copy, these pages
    control.sendall(b"R" + struct.pack("<I", os.getpid()))
    while True:
        request, fds, _, _ = socket.recv_fds(control, 5, 1)
        while request and len(request) < 5:
            request += control.recv(5 - len(request))
        if not request:                                 # the trainer is gone
            for pid in children:
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
            children.add(pid)
            control.sendall(b"P" + struct.pack("<I", pid))
        elif number in children:
            children.remove(number)
            os.kill(number, signal.SIGKILL)
            status = os.waitpid(number, 0)[1]
            if op == b"K":
                control.sendall(b"D" + struct.pack("<I", status))


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
    """Valid, printable Unicode: lone surrogates become U+FFFD, control and bidirectional override characters go."""
    return _CONTROL.sub("", text.replace("\r\n", "\n").encode("utf-8", "surrogatepass").decode("utf-8", "replace"))


def _refuse(constant):
    raise ValueError(f"{constant} is no finite number")


def _integer(digits):
    if len(digits) > 18:
        raise ValueError("an integer of more than 18 digits")
    return int(digits)


_decoder = json.JSONDecoder(parse_constant=_refuse, parse_int=_integer)


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

    def info(x):
        if type(x) is not dict:
            raise EnvProtocol("info is no dict")
        return {clean(k): clean(v) if type(v) is str else v for k, v in x.items()}
    if method == "hint":
        return text(value, "the hint")
    if method in ("load", "layers"):
        return value
    if type(value) is not list or len(value) != (2 if method == "reset" else 5):
        raise EnvProtocol(f"a malformed answer to {method}")
    if method == "reset":
        return text(value[0], "the observation"), info(value[1])
    observation, reward, terminated, truncated, extra = value
    if type(reward) not in (int, float, bool) or not math.isfinite(reward) or abs(reward) > limits.max_reward:
        raise EnvError(f"the reward must be a finite number of at most {limits.max_reward:g}, got {str(reward)[:40]}")
    if type(terminated) is not bool or type(truncated) is not bool:
        raise EnvError(f"terminated and truncated must be bool, got {terminated!r:.40} and {truncated!r:.40}")
    return text(observation, "the observation"), float(reward), terminated, truncated, info(extra)


class _Zygote:
    """The trainer's end of one zygote. Calls block for the time of a fork or a kill."""

    def __init__(self, limits, hash_seed):
        ours, theirs = socket.socketpair()
        spec = importlib.util.find_spec("numpy")
        numpy_path = str(Path(spec.origin).parents[1]) if spec else ""
        environment = dict(PATH="/usr/bin:/bin", LANG="C.UTF-8", PYTHONHASHSEED=str(hash_seed),
                           OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
        self.process = subprocess.Popen(
            [sys.executable, "-S", "-s", "-B", "-X", "utf8", os.path.abspath(__file__), "--zygote",
             str(limits.memory_mb), str(limits.cpu_seconds), numpy_path],
            env=environment, cwd="/", stdin=theirs, stdout=subprocess.DEVNULL, start_new_session=True)
        theirs.close()
        self.control = ours
        self._answer()

    def _answer(self):
        answer = b""
        while len(answer) < 5:
            more = self.control.recv(5 - len(answer))
            if not more:
                raise RuntimeError("the sandbox's zygote died; its messages are above")
            answer += more
        return struct.unpack("<I", answer[1:])[0]

    def spawn(self):
        ours, theirs = socket.socketpair()
        socket.send_fds(self.control, [b"S\0\0\0\0"], [theirs.fileno()])
        theirs.close()
        ours.setblocking(False)
        return ours, self._answer()

    def kill(self, pid):
        self.control.sendall(b"K" + struct.pack("<I", pid))
        return self._answer()

    def discard(self, pid):
        self.control.sendall(b"C" + struct.pack("<I", pid))

    def close(self):
        self.control.close()
        self.process.wait(5)


class Sandbox:
    """Many sealed environments, stepped at once from one thread. A context manager.

    `submit` queues a call, `poll` returns what has finished; `run`, `make` and `check` are built on them. At most
    `limits.in_flight` calls run at a time, and a call's deadline starts when it is sent, not when it is queued."""

    def __init__(self, limits=Limits(), allow_weak=False):
        self.limits = limits
        self._zygotes = [_Zygote(limits, 0)]            # a second one, with another hash seed, is started by check
        self._selector = selectors.DefaultSelector()
        self._queue, self._done, self._in_flight = collections.deque(), [], set()
        self._retired = set()                           # programs that timed out once: 256 copies must not each do so
        probe = SandboxedEnv(self, "")
        self.layers = tuple(self._ask_layers(probe))
        probe.close()
        if "seccomp" not in self.layers and not allow_weak:
            self.close()
            raise RuntimeError("the kernel offers no seccomp filter here, so programs cannot be contained; "
                               "--allow_weak_sandbox runs them with resource limits only")
        if "seccomp" not in self.layers:
            print("WARNING: weak sandbox (no seccomp): environment programs can read files, use the network and start "
                  "processes. Use it only for programs that you trust.", file=sys.stderr)

    def _ask_layers(self, env):
        env.facts = {}                                  # nothing to load
        return self.run([(env, "layers", None)])[0]

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def close(self):
        for zygote_ in self._zygotes:
            zygote_.close()
        self._selector.close()

    def make(self, code, max_turns=None, hash_seed=0):
        """A `gymnasium.Env` of the program; its process starts with the first call. reset, step and hint raise EnvError."""
        while len(self._zygotes) <= hash_seed:
            self._zygotes.append(_Zygote(self.limits, len(self._zygotes)))
        return SandboxedEnv(self, code, min(max_turns or self.limits.max_turns, self.limits.max_turns), hash_seed)

    def submit(self, key, env, method, argument=None):
        """Queue one call; `poll` will return (key, result). An environment takes one call at a time."""
        if env.failure is None and env.code in self._retired:
            env.failure = EnvTimeout("this program was retired: an earlier call of it timed out")
        if env.failure is not None:
            self._done.append((key, env.failure))
            return
        env.key, env.todo = key, collections.deque()
        if env.facts is None:
            env.todo.append(("load", dict(code=env.code, max_turns=env.max_turns), self.limits.load_seconds))
        env.todo.append((method, argument, self.limits.call_seconds))
        self._queue.append(env)

    def poll(self, timeout=0.0):
        """Move things on for at most `timeout` seconds or until something is done: [(key, result or EnvError)]."""
        while self._queue and len(self._in_flight) < self.limits.in_flight:
            env = self._queue.popleft()
            if env.sock is None:
                env.sock, env.pid = self._zygotes[env.zygote].spawn()
                self._selector.register(env.sock, selectors.EVENT_READ, env)
            self._in_flight.add(env)
            self._send(env)
        if self._in_flight and not self._done:
            wait = min(env.deadline for env in self._in_flight) - time.monotonic()
            for event, _ in self._selector.select(max(0.0, min(wait, timeout))):
                self._receive(event.data)
            now = time.monotonic()
            for env in [env for env in self._in_flight if env.deadline < now]:
                self._retired.add(env.code)
                self._kill(env, EnvTimeout(f"{env.todo[0][0]} took longer than {env.todo[0][2]:g} s"))
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

    def _send(self, env):
        method, argument, seconds = env.todo[0]
        env.nonce, env.deadline = secrets.token_hex(8), time.monotonic() + seconds
        line = json.dumps(dict(id=env.nonce, method=method, argument=argument)).encode() + b"\n"
        try:
            env.sock.setblocking(True)                  # the child reads whole lines first thing, so this cannot hang
            env.sock.settimeout(seconds)
            env.sock.sendall(line)
            env.sock.setblocking(False)
        except OSError:
            self._kill(env, EnvDied("the process ended between two calls"))

    def _receive(self, env):
        try:
            data = env.sock.recv(1 << 16)
        except BlockingIOError:
            return
        except ConnectionError:
            data = b""
        env.buffer += data
        if not data:
            return self._kill(env, None)
        if env not in self._in_flight or len(env.buffer) > MAX_LINE:
            return self._kill(env, EnvProtocol("bytes that nobody asked for"))
        if b"\n" not in env.buffer:
            return
        line, rest = env.buffer.split(b"\n", 1)
        env.buffer = b""
        method = env.todo[0][0]
        try:
            if rest:
                raise EnvProtocol("more than one reply to one call")
            result = parse_reply(line, env.nonce, method, self.limits)
        except EnvDied as error:
            return self._kill(env, error)
        except EnvError as error:
            result = error
        env.todo.popleft()
        if method == "load" and not isinstance(result, EnvError):
            env.facts = result
            return self._send(env)
        self._finish(env, result)

    def _finish(self, env, result):
        if env in self._in_flight:
            self._in_flight.remove(env)
            self._done.append((env.key, result))

    def _kill(self, env, error):
        """End the process for good. `error` None: it ended by itself, and the wait status says how."""
        self._selector.unregister(env.sock)
        env.sock.close()
        status = self._zygotes[env.zygote].kill(env.pid)
        if error is None:
            how = (f"killed by {signal.Signals(os.WTERMSIG(status)).name}" if os.WIFSIGNALED(status)
                   else f"exited with code {os.WEXITSTATUS(status)}")
            error = EnvDied(f"the process {how} during {env.todo[0][0] if env.todo else 'nothing'}")
        env.failure, env.sock = error, None
        self._finish(env, error)

    def discard(self, env):
        if env.sock is not None:
            self._selector.unregister(env.sock)
            env.sock.close()
            self._zygotes[env.zygote].discard(env.pid)
            self._in_flight.discard(env)
            env.sock = None
        env.failure = env.failure or EnvError("the environment is closed")

    def check(self, code, seeds=(0, 1)):
        """Play the program with nonsense in separate processes and judge it: -> Verdict."""
        return admit(self, code, seeds)


class SandboxedEnv(gymnasium.Env):
    """One episode's sealed process as a Gymnasium environment with text observations and actions."""

    def __init__(self, sandbox, code, max_turns=25, zygote=0):
        self.sandbox, self.code, self.max_turns, self.zygote = sandbox, code, max_turns, zygote
        self.facts = self.failure = self.sock = self.pid = self.key = self.nonce = None
        self.todo, self.buffer, self.deadline = collections.deque(), b"", 0.0
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
        return self._call("reset", int(self.np_random.integers(2 ** 31)) if seed is None else seed)

    def step(self, action):
        return self._call("step", action)

    def hint(self):
        return self._call("hint")

    def close(self):
        self.sandbox.discard(self)


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


# Bots that know nothing. `babble` also serves the comparison of two processes; a bot that wins on every seed shows that
# the task pays for nothing.
BOTS = dict(silent=lambda turn, observation: "",
            babble=lambda turn, observation: ("\\boxed{1}", "\\boxed{a}", "\\boxed{zzz}")[turn % 3],
            echo=lambda turn, observation: observation[-200:])


def admit(sandbox, code, seeds):
    plays = [(bot, seed, zygote) for bot in BOTS for seed in seeds for zygote in ((0, 1) if bot == "babble" else (0,))]
    envs = [sandbox.make(code, hash_seed=zygote) for _, _, zygote in plays]
    try:
        return _judge(sandbox, envs, plays, seeds)
    finally:
        for env in envs:
            env.close()


def _judge(sandbox, envs, plays, seeds):
    def refuse(kind, detail):
        return Verdict(False, [Failure(kind, detail)], layers=sandbox.layers)

    first = sandbox.run([(envs[0], "reset", plays[0][1])])[0]       # alone: most refusals need only one process
    transcripts, live = [[] for _ in plays], set(range(len(plays)))
    if not isinstance(first, EnvError):
        for i, result in enumerate([first] + sandbox.run([(e, "reset", s) for e, (_, s, _) in zip(envs[1:], plays[1:])])):
            transcripts[i].append(result)
    else:
        transcripts[0].append(first)
    limit = sandbox.limits.max_turns
    if envs[0].facts and type(envs[0].facts["max_turns"]) is int:
        limit = max(1, min(limit, envs[0].facts["max_turns"]))
    for turn in range(limit + 1):
        errors = [t[-1] for t in transcripts if t and isinstance(t[-1], EnvError)]
        if errors:
            return refuse(*_explain(errors[0], envs[0].facts is not None, turn))
        live = {i for i in live if turn == 0 or not (transcripts[i][-1][2] or transcripts[i][-1][3])}
        if turn == limit:
            break
        order = sorted(live)
        results = sandbox.run([(envs[i], "step", BOTS[plays[i][0]](turn, transcripts[i][-1][0])) for i in order])
        for i, result in zip(order, results):
            transcripts[i].append(result)
    failures = []
    if live:
        failures.append(Failure("endless", f"no end after {limit} turns: return terminated or truncated as True by then"))
    by_play = dict(zip(plays, transcripts))
    for seed in seeds:
        if by_play["babble", seed, 0] != by_play["babble", seed, 1]:
            failures.append(Failure("nondeterministic", f"seed {seed} gave two different episodes: draw everything from "
                                    "random.Random(seed), and do not depend on set order, hash, time or id"))
            break
    for bot in BOTS:
        ends = [by_play[bot, seed, 0][-1] for seed in seeds]
        if all(end[2] and end[1] > 0 for end in ends):
            failures.append(Failure("trivial", f"a player that knows nothing ('{bot}') is rewarded on every seed"))
            break
    facts, episodes = envs[0].facts, [by_play["babble", seed, 0] for seed in seeds]
    return Verdict(not failures, failures, max_turns=limit, layers=sandbox.layers,
                   level=facts["level"] if type(facts["level"]) is int else None,
                   skill=clean(facts["skill"])[:60] if type(facts["skill"]) is str else None,
                   has_hint=facts["hint"] is True, constant=all(e == episodes[0] for e in episodes))


def _explain(error, loaded, turn):
    """(kind, detail) of a failed call."""
    for kind, cls in (("timeout", EnvTimeout), ("protocol", EnvProtocol), ("died", EnvDied)):
        if isinstance(error, cls):
            return kind, str(error)
    if not loaded:
        return ("syntax" if re.match(r"(Syntax|Indentation|Tab)Error", str(error)) else "load"), str(error)
    contract = re.match(r"the (observation|reward|hint)|terminated and|TypeError: (step must|.*\.reset\(\))", str(error))
    return ("contract" if contract else "crash"), f"in {'step' if turn else 'reset'}: {error}"


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
    with Sandbox(allow_weak=options.allow_weak_sandbox) as sandbox:
        verdict = sandbox.check(code)
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
