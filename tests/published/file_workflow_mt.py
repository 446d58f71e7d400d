# Several instructions over a file system; the program tells them itself, from inside its tools.
# WIN: <tool_call>{"name": "cd", "arguments": {"folder": "document"}}</tool_call>
# SAYS: Changed to /home/document
# SAYS: [STEP 1 COMPLETE — NEW INSTRUCTION] Create a 'temp' subdirectory
# WIN: <tool_call>{"name": "mkdir", "arguments": {"dir_name": "temp"}}</tool_call>\n<tool_call>{"name": "mv", "arguments": {"source": "final_report.pdf", "destination": "temp"}}</tool_call>
# SAYS: [STEP 2 COMPLETE
# WIN: <tool_call>{"name": "cat", "arguments": {"file_name": "no_such_file"}}</tool_call>
# SAYS: Error: cat: no_such_file: No such file
# WIN: <tool_call>{"name": "grep", "arguments": {"file_name": "notes.md", "pattern": "budget"}}</tool_call>
# SAYS: line 3: the budget is 4200
# SAYS: [STEP 3 COMPLETE
# WIN: <tool_call>{"name": "echo", "arguments": {"content": "budget 4200", "file_name": "summary.txt"}}</tool_call>
# WIN: <tool_call>{"name": "cp", "arguments": {"source": "summary.txt", "destination": "temp"}}</tool_call>
# SAYS: [ALL STEPS COMPLETE]
# WIN: <answer>done</answer>
import random
import json
from typing import Any, Dict, List, Optional, Tuple


class FileWorkflowMTEnv(ToolUseBaseEnv):
    """
    Multi-step file management workflow.

    The agent operates a small simulated file system with a current working directory. It receives a sequence of
    user instructions. Each new instruction is revealed only when the state of the file system satisfies the
    previous one. When every instruction has been satisfied, the agent submits <answer>done</answer>.

    Skill: Multi-Step Workflows
    """

    HOME = "/home"

    def reset(self, seed: Optional[int] = None) -> Tuple[str, dict]:
        self.turn_count = 0
        self._call_history = []
        if seed is not None:
            random.seed(seed)

        # ------------------------------------------------------------------
        # File system: directories map to the names in them, files to lines
        # ------------------------------------------------------------------
        fillers = random.sample(["old_draft.txt", "invoice_17.pdf", "photo.png", "todo.txt", "readme.txt"], 3)
        note_lines = [
            "Meeting notes",
            f"attendees: {random.choice(['Ana', 'Bo', 'Chi'])} and {random.choice(['Dee', 'Eli'])}",
            "the budget is 4200",
            f"next meeting in week {random.randint(10, 40)}",
        ]
        self._state = {
            "cwd": self.HOME,
            "dirs": {
                "/home": ["document", "downloads", "music"],
                "/home/document": ["final_report.pdf", "notes.md"] + fillers,
                "/home/downloads": ["setup.exe"],
                "/home/music": [],
            },
            "files": {
                "/home/document/final_report.pdf": ["%PDF-1.4", "Final report"],
                "/home/document/notes.md": note_lines,
                "/home/downloads/setup.exe": ["MZ"],
            },
            "greps": [],
        }
        for name in fillers:
            self._state["files"][f"/home/document/{name}"] = [f"content of {name}"]

        self._tools = {
            "pwd": {
                "description": "Return the path of the current working directory.",
                "parameters": {"type": "object", "properties": {}, "required": []},
            },
            "ls": {
                "description": "List the contents of the current working directory.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "a": {"type": "boolean", "description": "Show hidden files too. Defaults to false."}
                    },
                    "required": [],
                },
            },
            "cd": {
                "description": "Change the current working directory. Only one level at a time; '..' goes up.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "folder": {"type": "string", "description": "Name of a folder inside the current directory."}
                    },
                    "required": ["folder"],
                },
            },
            "mkdir": {
                "description": "Create a new directory in the current directory.",
                "parameters": {
                    "type": "object",
                    "properties": {"dir_name": {"type": "string", "description": "Name of the new directory."}},
                    "required": ["dir_name"],
                },
            },
            "touch": {
                "description": "Create an empty file in the current directory.",
                "parameters": {
                    "type": "object",
                    "properties": {"file_name": {"type": "string", "description": "Name of the new file."}},
                    "required": ["file_name"],
                },
            },
            "echo": {
                "description": "Write content to a file in the current directory, or return it if no file is named.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "content": {"type": "string", "description": "The text to write."},
                        "file_name": {"type": "string", "description": "Name of the file. Optional."},
                    },
                    "required": ["content"],
                },
            },
            "cat": {
                "description": "Return the contents of a file in the current directory.",
                "parameters": {
                    "type": "object",
                    "properties": {"file_name": {"type": "string", "description": "Name of the file."}},
                    "required": ["file_name"],
                },
            },
            "grep": {
                "description": "Return the lines of a file in the current directory that contain a pattern.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "file_name": {"type": "string", "description": "Name of the file."},
                        "pattern": {"type": "string", "description": "Plain text to look for."},
                    },
                    "required": ["file_name", "pattern"],
                },
            },
            "mv": {
                "description": "Move a file of the current directory into a subdirectory, or give it a new name.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "source": {"type": "string", "description": "Name of the file."},
                        "destination": {"type": "string", "description": "Subdirectory, or new name."},
                    },
                    "required": ["source", "destination"],
                },
            },
            "cp": {
                "description": "Copy a file of the current directory into a subdirectory, or under a new name.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "source": {"type": "string", "description": "Name of the file."},
                        "destination": {"type": "string", "description": "Subdirectory, or new name."},
                    },
                    "required": ["source", "destination"],
                },
            },
            "rm": {
                "description": "Remove a file of the current directory. This cannot be undone.",
                "parameters": {
                    "type": "object",
                    "properties": {"file_name": {"type": "string", "description": "Name of the file."}},
                    "required": ["file_name"],
                },
            },
        }

        # ------------------------------------------------------------------
        # Progressive user messages, each with the state that satisfies it
        # ------------------------------------------------------------------
        self._user_messages = [
            "I am somewhere in my home directory. Please go into the document folder for me.",
            "Create a 'temp' subdirectory there and move 'final_report.pdf' into it.",
            "I forgot what the budget was. Search 'notes.md' for the word 'budget'.",
            "Write 'budget 4200' into a new file called 'summary.txt', and put a copy of it into the temp directory.",
        ]
        self._message_criteria = [
            lambda s: s["cwd"] == "/home/document",
            lambda s: "/home/document/temp/final_report.pdf" in s["files"]
            and "/home/document/final_report.pdf" not in s["files"],
            lambda s: ("/home/document/notes.md", "budget") in s["greps"],
            lambda s: s["files"].get("/home/document/summary.txt") == ["budget 4200"]
            and s["files"].get("/home/document/temp/summary.txt") == ["budget 4200"],
        ]
        self._current_msg = 0
        self._expected_answer = "done"
        return (self._user_messages[0] + self._obs_suffix(), {})

    # ----------------------------------------------------------------------
    # Multi-turn bookkeeping
    # ----------------------------------------------------------------------
    def _advance_if_done(self) -> str:
        """Reveal the next instruction(s) whose predecessor is satisfied."""
        revealed = ""
        while self._current_msg < len(self._user_messages) and self._message_criteria[self._current_msg](self._state):
            self._current_msg += 1
            if self._current_msg >= len(self._user_messages):
                return revealed + "\n\n[ALL STEPS COMPLETE] Submit <answer>done</answer>."
            revealed += (
                f"\n\n[STEP {self._current_msg} COMPLETE — NEW INSTRUCTION] {self._user_messages[self._current_msg]}"
            )
        return revealed

    def _check_answer(self, answer: str) -> bool:
        return answer.strip().lower() == "done" and self._current_msg >= len(self._user_messages)

    def _incorrect_answer_feedback(self) -> str:
        if self._current_msg < len(self._user_messages):
            return (
                f"Not finished: instruction {self._current_msg + 1} of {len(self._user_messages)} is still open: "
                f"{self._user_messages[self._current_msg]}"
            )
        return "All steps are complete; submit <answer>done</answer>."

    # ----------------------------------------------------------------------
    # Helpers
    # ----------------------------------------------------------------------
    def _path(self, name: str) -> str:
        return f"{self._state['cwd']}/{name}"

    def _here(self) -> List[str]:
        return self._state["dirs"][self._state["cwd"]]

    def _put(self, directory: str, name: str, lines: List[str]) -> None:
        if name not in self._state["dirs"][directory]:
            self._state["dirs"][directory].append(name)
        self._state["files"][f"{directory}/{name}"] = list(lines)

    # ----------------------------------------------------------------------
    # Tools
    # ----------------------------------------------------------------------
    def tool_pwd(self) -> str:
        return self._state["cwd"] + self._advance_if_done()

    def tool_ls(self, a: bool = False) -> str:
        names = sorted(name for name in self._here() if a or not name.startswith("."))
        return json.dumps(names) + self._advance_if_done()

    def tool_cd(self, folder: str = "") -> str:
        if folder == "..":
            target = self._state["cwd"].rsplit("/", 1)[0] or self.HOME
        else:
            target = folder if folder.startswith("/") else self._path(folder)
        if target not in self._state["dirs"]:
            return f"Error: cd: {folder}: No such directory" + self._advance_if_done()
        self._state["cwd"] = target
        return f"Changed to {target}" + self._advance_if_done()

    def tool_mkdir(self, dir_name: str = "") -> str:
        if not dir_name or "/" in dir_name:
            return f"Error: mkdir: invalid name '{dir_name}'" + self._advance_if_done()
        if dir_name in self._here():
            return f"Error: mkdir: {dir_name}: File exists" + self._advance_if_done()
        self._here().append(dir_name)
        self._state["dirs"][self._path(dir_name)] = []
        return f"Created {self._path(dir_name)}" + self._advance_if_done()

    def tool_touch(self, file_name: str = "") -> str:
        if file_name in self._here():
            return f"Error: touch: {file_name}: File exists" + self._advance_if_done()
        self._put(self._state["cwd"], file_name, [])
        return f"Created {self._path(file_name)}" + self._advance_if_done()

    def tool_echo(self, content: str = "", file_name: Optional[str] = None) -> str:
        if file_name is None:
            return content + self._advance_if_done()
        self._put(self._state["cwd"], file_name, content.split("\n"))
        return f"Wrote {len(content)} characters to {file_name}" + self._advance_if_done()

    def tool_cat(self, file_name: str = "") -> str:
        lines = self._state["files"].get(self._path(file_name))
        if lines is None:
            return f"Error: cat: {file_name}: No such file" + self._advance_if_done()
        return "\n".join(lines) + self._advance_if_done()

    def tool_grep(self, file_name: str = "", pattern: str = "") -> str:
        lines = self._state["files"].get(self._path(file_name))
        if lines is None:
            return f"Error: grep: {file_name}: No such file" + self._advance_if_done()
        self._state["greps"].append((self._path(file_name), pattern))
        found = [f"line {number}: {line}" for number, line in enumerate(lines, 1) if pattern in line]
        return ("\n".join(found) or "no match") + self._advance_if_done()

    def _transfer(self, verb: str, source: str, destination: str) -> str:
        lines = self._state["files"].get(self._path(source))
        if lines is None:
            return f"Error: {verb}: {source}: No such file" + self._advance_if_done()
        into = self._path(destination)
        directory, name = (into, source) if into in self._state["dirs"] else (self._state["cwd"], destination)
        if verb == "mv":
            self._here().remove(source)
            del self._state["files"][self._path(source)]
        self._put(directory, name, lines)
        return f"{'Moved' if verb == 'mv' else 'Copied'} {source} to {destination}" + self._advance_if_done()

    def tool_mv(self, source: str = "", destination: str = "") -> str:
        return self._transfer("mv", source, destination)

    def tool_cp(self, source: str = "", destination: str = "") -> str:
        return self._transfer("cp", source, destination)

    def tool_rm(self, file_name: str = "") -> str:
        if self._path(file_name) not in self._state["files"]:
            return f"Error: rm: {file_name}: No such file" + self._advance_if_done()
        self._here().remove(file_name)
        del self._state["files"][self._path(file_name)]
        return f"Removed {file_name}" + self._advance_if_done()

    def solution(self) -> str:
        return (
            "1. cd(folder='document') 2. mkdir(dir_name='temp') 3. mv(source='final_report.pdf', destination='temp') "
            "4. grep(file_name='notes.md', pattern='budget') 5. echo(content='budget 4200', file_name='summary.txt') "
            "6. cp(source='summary.txt', destination='temp') 7. <answer>done</answer>"
        )
