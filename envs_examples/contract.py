"""What an environment program is, seen from inside its process: the names it finds, how it is made, how it is called.

The sandbox's zygote runs this file once, with numpy where the trainer has it, and forks.
What is not imported here cannot be imported later: the files are out of reach by then."""
# ruff: noqa: F401
import bisect, collections, copy, datetime, functools, heapq, itertools, json, math, operator, random, re, statistics
import string, sys, textwrap, time, types, typing
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Callable, Dict, Iterable, List, Literal, Optional, Sequence, Set, Tuple, Union

import __future__, _strptime, abc, array, ast, base64, calendar, cmath, colorsys, contextlib, csv, decimal, difflib
import fractions, glob, graphlib, hashlib, html, inspect, io, keyword, locale, logging, numbers, os, pathlib, pickle, pprint
import queue, sched, secrets, shlex, shutil, struct, tempfile, threading, timeit, traceback, unicodedata, uuid, warnings
import weakref, zlib
import encodings.ascii, encodings.cp1252, encodings.idna, encodings.latin_1, encodings.punycode
import encodings.unicode_escape, encodings.utf_16, encodings.utf_32, encodings.utf_8_sig

try:
    import numpy, numpy.fft, numpy.linalg, numpy.ma, numpy.polynomial, numpy.random
    import numpy as np
except ImportError:
    pass


class ToolUseBaseEnv:
    """What tool programs subclass, with the names that programs published with the paper use. A subclass sets in reset:
    `_tools` (name -> description, parameters), `_state`, `_expected_answer`; and has a method tool_<name> for every tool. A
    task of several instructions sets `_user_messages`, for each a criterion of the state in `_message_criteria`, and
    `_current_msg` = 0: the next one is told when the state satisfies the last, and the answer to all of it is "done"."""

    def __init__(self, max_turns=10, **_):
        self.max_turns, self.turn_count = max_turns, 0
        self._tools, self._state, self._call_history, self._expected_answer = {}, {}, [], None
        self.reset(0)                                   # so that the tools are there before an episode begins

    def get_tools(self):
        empty = {"type": "object", "properties": {}}
        return [{"type": "function", "function": {"name": name, "description": tool.get("description", ""),
                                                  "parameters": tool.get("parameters", empty)}}
                for name, tool in self._tools.items()]

    def execute_tool(self, name, arguments):
        """{"output": text, "returncode": 0, or 1 for an error that the agent may read}."""
        if name not in self._tools or not callable(getattr(self, f"tool_{name}", None)):
            return {"output": f"Unknown tool '{name}'. Available: {', '.join(self._tools)}", "returncode": 1}
        try:
            output = str(getattr(self, f"tool_{name}")(**arguments))
        except Exception as error:
            return {"output": f"Error calling {name}: {error}", "returncode": 1}
        self._call_history.append({"name": name, "arguments": arguments, "result": output})
        return {"output": output, "returncode": 0}

    def step(self, action):
        """Run the calls of an action in their order, or judge its answer."""
        self.turn_count += 1
        truncated, results = self.turn_count >= self.max_turns, []
        for call in re.findall(r"<tool_call>(.*?)</tool_call>", action, re.S):
            try:
                call = json.loads(call)
                name, arguments = call["name"], dict(call.get("arguments") or {})
            except (ValueError, TypeError, KeyError):
                results.append("Format error: a tool call is a JSON object with a name and an object of arguments.")
                continue
            output = self.execute_tool(name, arguments)["output"]
            own = type(self)._advance_if_done is not ToolUseBaseEnv._advance_if_done    # then its tools call it
            results.append(output if own else output + self._advance_if_done())
        answer = re.search(r"<answer>(.*?)</answer>", action, re.S)
        if answer or not results and self._check_answer(action.strip()):
            if self._check_answer(answer[1].strip() if answer else action.strip()):
                return "\n".join([*results, "Correct!"]), 1.0, True, False, {}
            results.append(self._incorrect_answer_feedback())
        text = "\n".join(results) or "Call a tool, or submit the result as <answer>result</answer>."
        return text, 0.0, False, truncated, {}

    def _advance_if_done(self):
        """Tell the next instruction if the state satisfies this one. Nothing for tasks of one instruction."""
        messages, now = getattr(self, "_user_messages", ()), getattr(self, "_current_msg", 0)
        if now >= len(messages) or not self._message_criteria[now](self._state):
            return ""
        self._current_msg = now = now + 1
        if now == len(messages):
            return "\n\n[ALL STEPS COMPLETE] Submit <answer>done</answer>."
        return f"\n\n[STEP {now} COMPLETE - NEW INSTRUCTION] {messages[now]}"

    def _check_answer(self, answer):
        """Equal but for case, or as numbers; and no instruction may be open."""
        if self._expected_answer is None or getattr(self, "_current_msg", 0) < len(getattr(self, "_user_messages", ())):
            return False
        given, wanted = (str(text).strip().lower() for text in (answer, self._expected_answer))
        try:
            return given == wanted or abs(float(re.sub("[$,]", "", given)) - float(re.sub("[$,]", "", wanted))) < 0.01
        except ValueError:
            return False

    def _incorrect_answer_feedback(self):
        messages, now = getattr(self, "_user_messages", ()), getattr(self, "_current_msg", 0)
        open_ = f" You are at step {now + 1} of {len(messages)}: {messages[now]}" if now < len(messages) else ""
        return "Incorrect. Keep using the tools." + open_

    def _obs_suffix(self):
        return ""                                       # published programs append it; the schemas are shown elsewhere

    def close(self):
        pass


NAMESPACE = {name: value for name, value in globals().items() if not name.startswith("__")}         # what programs find
sys.modules["tool_use_base_env"] = types.SimpleNamespace(ToolUseBaseEnv=ToolUseBaseEnv)             # some import it


class ContractError(Exception):
    """What the program is or returned is not what the contract asks for."""


def load(code, max_turns):
    """The program's environment object, and what it says about itself. Raises whatever the program raises."""
    module = sys.modules["env"] = types.ModuleType("env")           # dataclasses and enums look their module up
    module.__dict__.update(NAMESPACE)
    exec(compile(code, "<env>", "exec"), module.__dict__)
    cls = next((v for k, v in reversed(module.__dict__.items()) if isinstance(v, type) and k.endswith("Env") and
                v.__module__ == "env" and callable(getattr(v, "reset", None)) and callable(getattr(v, "step", None))), None)
    if cls is None:
        raise TypeError("the program must define a class whose name ends in Env, with the methods reset and step")
    init = getattr(cls.__init__, "__code__", None)
    takes = init.co_varnames[:init.co_argcount + init.co_kwonlyargcount] if init else ()
    env = cls(**({"max_turns": max_turns} if "max_turns" in takes else {}))
    turns, level = getattr(env, "max_turns", None), getattr(env, "LEVEL", None)
    return env, dict(max_turns=max(1, min(turns, max_turns)) if type(turns) is int else max_turns,
                     level=level if type(level) is int else None, tools=None,
                     hint=callable(getattr(env, "hint", None)), solution=callable(getattr(env, "solution", None)))


def tools(schemas):
    """Tool schemas as chat templates take them, in JSON: [{type, function: {name, description, parameters}}]."""
    try:
        schemas = [schema.get("function", schema) for schema in schemas]
        return json.dumps([{"type": "function", "function": dict(
            name="".join([schema["name"]]), description=str(schema.get("description", "")),
            parameters=dict(schema.get("parameters", {})))} for schema in schemas])
    except (ValueError, TypeError, KeyError, AttributeError):
        raise ContractError("get_tools must return a list of function schemas, each with a name and parameters") from None


def plain(value):
    """numpy scalars, one-element arrays, and subclasses of str, float and int become what they stand for, unasked."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, int) and type(value) is not bool:
        return int.__int__(value)
    if type(value).__module__ != "numpy" or not hasattr(value, "item"):
        return value
    if getattr(value, "size", 1) != 1:
        raise ContractError(f"an array of {value.size} elements stands where one value belongs")
    return value.item()


def text(value, what, most):
    value = plain(value)
    if not isinstance(value, str) or len(value) > most:
        got = f"{len(value)} characters" if isinstance(value, str) else type(value).__name__
        raise ContractError(f"{what} must be a string of at most {most} characters, got {got}")
    return value


def step(env, action, most, max_reward):
    """(observation, reward, terminated, truncated); info stays here: nothing may depend on it."""
    result = env.step(action)
    if not isinstance(result, tuple) or len(result) != 5:
        got = len(result) if isinstance(result, tuple) else type(result).__name__
        raise ContractError(f"step must return 5 values (observation, reward, terminated, truncated, info), got {got}")
    reward, terminated, truncated = map(plain, result[1:4])
    if type(reward) not in (int, float, bool) or not abs(reward) <= max_reward:         # not: NaN compares False
        raise ContractError(f"the reward must be a finite number of at most {max_reward:g}, got {str(reward)[:40]}")
    if type(terminated) is not bool or type(truncated) is not bool:
        raise ContractError(f"terminated and truncated must be bool, got {str(terminated)[:40]} and {str(truncated)[:40]}")
    return text(result[0], "the observation", most), float(reward), terminated, truncated


def canonical(value, depth=6):
    """Text that is equal in two processes where the value is: sets and dicts sorted, objects by attribute, no addresses."""
    if isinstance(value, (str, int, float, complex, bytes, type(None))):
        return repr(plain(value))
    if depth == 0:
        return "..."
    if isinstance(value, random.Random):
        value = value.getstate()
    for name in ("tolist", "bit_generator", "state"):               # of numpy: arrays, generators, what drives them
        if type(value).__module__.partition(".")[0] == "numpy" and hasattr(value, name):
            value = getattr(value, name)() if name == "tolist" else getattr(value, name)
    if isinstance(value, (list, tuple, deque)):
        return f"[{','.join(canonical(v, depth - 1) for v in value)}]"
    if isinstance(value, (set, frozenset)):
        return f"{{{','.join(sorted(canonical(v, depth - 1) for v in value))}}}"
    if isinstance(value, dict):
        return canonical({canonical(item, depth - 1) for item in value.items()}, depth)
    if isinstance(value, (Enum, type, types.FunctionType, types.ModuleType)):
        return getattr(value, "__name__", None) or value.name
    return type(value).__name__ + canonical(attributes(value), depth - 1)


def attributes(value):
    slots = [name for name in getattr(type(value), "__slots__", ()) if isinstance(name, str) and hasattr(value, name)]
    return {**{name: getattr(value, name) for name in slots}, **getattr(value, "__dict__", {})}


def state(env):
    """What the program holds, as ["name digest"]: its attributes, its class's, and its own global names."""
    own = {k: v for k, v in vars(sys.modules["env"]).items() if k not in NAMESPACE}
    held = own | dict(vars(type(env))) | attributes(env)
    return [f"{name} {hashlib.sha256(canonical(value).encode(errors='replace')).hexdigest()}"
            for name, value in [*held.items()][:1000] if not name.startswith("__")]


def serve(channel, layers):
    """Answer calls on `channel`, a JSON line each, until it closes. The first is a reset, which brings the program."""
    loads, encode = json.loads, json.JSONEncoder().encode           # bound here: the program may patch what it finds
    readline, write, flush, env = channel.readline, channel.write, channel.flush, None
    while line := readline():
        call = loads(line)
        phase, argument = call["method"], call["argument"]
        try:
            if phase == "reset":
                phase, most, max_reward = "load", argument["text_chars"], argument["max_reward"]
                env, facts = load(argument["code"], argument["max_turns"])
                phase = "reset"
                by_name = "seed" in (getattr(env.reset, "__kwdefaults__", None) or ())      # def reset(self, *, seed=None)
                value = env.reset(seed=argument["seed"]) if by_name else env.reset(argument["seed"])
                value = value[0] if isinstance(value, tuple) else value
                if hasattr(env, "get_tools"):
                    facts["tools"] = text(tools(env.get_tools()), "the list of tools", most)
                value = facts | {"layers": layers}, text(value, "the observation", most)
            elif phase == "step":
                value = step(env, argument, most, max_reward)
            elif phase == "hint":
                value = text(env.hint(), "the hint", most)
            elif phase == "state":
                value = state(env)
            else:                                       # solution(): an answer, or a list of actions
                value = env.solution()          # of a tool program, text only describes it: nothing to play
                if isinstance(value, str) and isinstance(env, ToolUseBaseEnv):
                    value = []
                value = value if isinstance(value, (list, tuple)) else [value]
                value = [text(action, "an action of solution()", most) for action in value]
            reply = encode({"id": call["id"], "ok": value})
        except BaseException as error:                  # SystemExit and KeyboardInterrupt are the program's fault too
            try:
                words = str(error)[:1000]
            except BaseException:
                words = "(its message could not be made)"
            contract = isinstance(error, ContractError) or ".reset() takes" in words
            kind = ("contract" if contract else "crash" if phase != "load"
                    else "syntax" if isinstance(error, SyntaxError) else "load")
            reply = encode({"id": call["id"], "error": f"{phase}: {type(error).__name__[:100]}: {words}", "kind": kind})
        write(reply.encode() + b"\n")
        flush()
