# Several instructions; the program tells them itself, from its tools.
# WIN: <tool_call>{"name": "cd", "arguments": {"path": "/home/document"}}</tool_call>
# SAYS: [STEP 1 COMPLETE
# WIN: <tool_call>{"name": "mkdir", "arguments": {"name": "temp"}}</tool_call>
# WIN: <tool_call>{"name": "mv", "arguments": {"src": "report.txt", "dst": "temp"}}</tool_call>
# SAYS: Now list
# WIN: <tool_call>{"name": "ls", "arguments": {"path": "/home/document/temp"}}</tool_call>
# SAYS: ALL STEPS COMPLETE
# WIN: <answer>done</answer>
import random
import json
from typing import Tuple


class FileWorkflowMTEnv(ToolUseBaseEnv):
    def reset(self, seed=None) -> Tuple[str, dict]:
        self.turn_count = 0
        self._call_history = []
        if seed is not None:
            random.seed(seed)
        self._state = {"cwd": "/home", "tree": {"/home": ["document", "temp.txt"],
                       "/home/document": ["report.txt", "notes.txt", random.choice(["log.txt", "x.log"])]}, "last_ls_path": None}
        path = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
        self._tools = {
            "pwd": {"description": "Show current dir", "parameters": {"type": "object", "properties": {}}},
            "ls": {"description": "List a directory", "parameters": path},
            "cd": {"description": "Change dir", "parameters": path},
            "mkdir": {"description": "Create a subdirectory", "parameters": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
            "mv": {"description": "Move a file", "parameters": {"type": "object", "properties": {"src": {"type": "string"}, "dst": {"type": "string"}}, "required": ["src", "dst"]}},
        }
        self._user_messages = ["Navigate to the document folder.", "Create a 'temp' subdirectory and move report.txt into it.",
                               "Now list what's in the temp folder."]
        self._message_criteria = [
            lambda s: s["cwd"] == "/home/document",
            lambda s: "report.txt" in s["tree"].get("/home/document/temp", []),
            lambda s: s["last_ls_path"] == "/home/document/temp"]
        self._current_msg = 0
        self._expected_answer = "done"
        return (self._user_messages[0], {})

    def _advance_if_done(self) -> str:
        if self._current_msg >= len(self._user_messages):
            return ""
        if self._message_criteria[self._current_msg](self._state):
            self._current_msg += 1
            if self._current_msg >= len(self._user_messages):
                return "\n\n[ALL STEPS COMPLETE] Submit <answer>done</answer>."
            return f"\n\n[STEP {self._current_msg} COMPLETE — NEW INSTRUCTION] {self._user_messages[self._current_msg]}"
        return ""

    def _check_answer(self, answer: str) -> bool:
        return answer.strip().lower() == "done" and self._current_msg >= len(self._user_messages)

    def tool_pwd(self) -> str:
        return self._state["cwd"] + self._advance_if_done()

    def tool_ls(self, path="") -> str:
        if path not in self._state["tree"]:
            return f"Error: {path} not found" + self._advance_if_done()
        self._state["last_ls_path"] = path
        return json.dumps(self._state["tree"][path]) + self._advance_if_done()

    def tool_cd(self, path="") -> str:
        if path not in self._state["tree"]:
            return f"Error: {path} not found" + self._advance_if_done()
        self._state["cwd"] = path
        return f"Changed to {path}" + self._advance_if_done()

    def tool_mkdir(self, name="") -> str:
        new_path = f"{self._state['cwd']}/{name}"
        if new_path in self._state["tree"]:
            return f"Error: {new_path} exists" + self._advance_if_done()
        self._state["tree"][new_path] = []
        self._state["tree"][self._state["cwd"]].append(name)
        return f"Created {new_path}" + self._advance_if_done()

    def tool_mv(self, src="", dst="") -> str:
        files = self._state["tree"].get(self._state["cwd"], [])
        target = f"{self._state['cwd']}/{dst}"
        if src not in files or target not in self._state["tree"]:
            return "Error: not found" + self._advance_if_done()
        files.remove(src)
        self._state["tree"][target].append(src)
        return f"Moved {src} to {dst}" + self._advance_if_done()

    def solution(self) -> str:
        return ("1. cd(path='/home/document') 2. mkdir(name='temp') 3. mv(src='report.txt', dst='temp') "
                "4. ls(path='/home/document/temp') 5. <answer>done</answer>")
