# One task; solution() describes instead of listing actions; the answer is a path.
# WIN: <tool_call>{"name": "cd", "arguments": {"path": "docs"}}</tool_call>
# WIN: <tool_call>{"name": "mkdir", "arguments": {"name": "archive"}}</tool_call>
# WIN: <tool_call>{"name": "mv", "arguments": {"src": "report.txt", "dst": "archive"}}</tool_call>
# WIN: <answer>archive/report.txt</answer>
import random
import json
from typing import Tuple


class FileOrganizerEnv(ToolUseBaseEnv):
    def reset(self, seed=None) -> Tuple[str, dict]:
        self.turn_count = 0
        self._call_history = []
        if seed is not None:
            random.seed(seed)
        extra = random.sample(["a.txt", "b.txt", "c.md", "d.md"], 2)
        self._state = {"cwd": "/home", "tree": {"/home": ["docs", "temp.txt"], "/home/docs": ["report.txt", "notes.txt"] + extra}}
        self._tools = {
            "pwd": {"description": "Get current directory", "parameters": {"type": "object", "properties": {}}},
            "ls": {"description": "List current directory", "parameters": {"type": "object", "properties": {}}},
            "cd": {"description": "Change directory", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}},
            "mkdir": {"description": "Create directory here", "parameters": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
            "mv": {"description": "Move a file of the current directory", "parameters": {"type": "object", "properties": {"src": {"type": "string"}, "dst": {"type": "string"}}, "required": ["src", "dst"]}},
        }
        self._expected_answer = "archive/report.txt"
        return ("TASK: Move report.txt from /home/docs into a new subdirectory called \"archive\". "
                "Submit the final path with <answer>PATH</answer>." + self._obs_suffix(), {})

    def tool_pwd(self) -> str:
        return self._state["cwd"]

    def tool_ls(self) -> str:
        return json.dumps(self._state["tree"].get(self._state["cwd"], []))

    def tool_cd(self, path="") -> str:
        target = path if path.startswith("/") else f"{self._state['cwd']}/{path}"
        if target not in self._state["tree"]:
            return f"Error: directory {target} not found"
        self._state["cwd"] = target
        return f"Changed to {target}"

    def tool_mkdir(self, name="") -> str:
        new_path = f"{self._state['cwd']}/{name}"
        if new_path in self._state["tree"]:
            return f"Error: {new_path} already exists"
        self._state["tree"][new_path] = []
        self._state["tree"][self._state["cwd"]].append(name)
        return f"Created {new_path}"

    def tool_mv(self, src="", dst="") -> str:
        files = self._state["tree"].get(self._state["cwd"], [])
        if src not in files:
            return f"Error: {src} not in current dir"
        target = f"{self._state['cwd']}/{dst}"
        if target not in self._state["tree"]:
            return f"Error: destination {target} not found"
        files.remove(src)
        self._state["tree"][target].append(src)
        return f"Moved {src} to {dst}"

    def solution(self) -> str:
        return ('1. cd(path="docs") -> Changed to /home/docs 2. mkdir(name="archive") -> Created 3. mv(src="report.txt", '
                'dst="archive") -> Moved ANSWER: archive/report.txt')
