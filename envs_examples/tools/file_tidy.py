class FileTidyEnv(ToolUseBaseEnv):
    """Three instructions, told one at a time: find a folder, make a subfolder, move the files of one kind there."""
    LEVEL = 3

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.turn_count = self._current_msg = 0
        folder, kind = rng.choice(["reports", "photos", "letters", "music"]), rng.choice(["txt", "csv", "log"])
        names = rng.sample(["north", "budget", "spring", "draft", "old", "plan", "notes", "visit"], 6)
        files = [f"{name}.{kind if n < 2 else rng.choice(['pdf', 'zip'])}" for n, name in enumerate(names)]
        rng.shuffle(files)
        self.path, self.kind = f"/data/{folder}", kind
        self._state = {"here": "/", "tree": {"/": ["data"], "/data": [folder, "misc"], "/data/misc": ["a.pdf"], self.path: files}}
        self.wanted = sorted(f for f in files if f.endswith(kind))
        self._user_messages = [
            f"Please go to the folder called {folder}, somewhere below /data.",
            "Make a subfolder called archive there.",
            f"Now move all .{kind} files into archive, and nothing else."]
        self._message_criteria = [
            lambda s: s["here"] == self.path,
            lambda s: f"{self.path}/archive" in s["tree"],
            lambda s: sorted(s["tree"][f"{self.path}/archive"]) == self.wanted]
        self._expected_answer = "done"

        def schema(**arguments):
            return {"type": "object", "properties": {k: {"type": "string", "description": v} for k, v in arguments.items()},
                    "required": list(arguments)}
        self._tools = {
            "list_folder": {"description": "What the current folder holds.", "parameters": schema()},
            "enter": {"description": "Go to a folder.", "parameters": schema(path="an absolute path")},
            "make_folder": {"description": "Make a subfolder of the current one.", "parameters": schema(name="its name")},
            "move": {"description": "Move one file of the current folder.", "parameters": schema(file="a name", to="a subfolder")},
            "delete": {"description": "Delete one file of the current folder.", "parameters": schema(file="a name")}}
        return self._user_messages[0], {}

    def tool_list_folder(self):
        return json.dumps(self._state["tree"][self._state["here"]])

    def tool_enter(self, path):
        if path not in self._state["tree"]:
            return f"Error: there is no folder {path}"
        self._state["here"] = path
        return f"You are in {path}."

    def tool_make_folder(self, name):
        path = self._state["here"].rstrip("/") + "/" + name
        if path in self._state["tree"]:
            return f"Error: {path} exists"
        self._state["tree"][path] = []
        self._state["tree"][self._state["here"]].append(name)
        return f"Made {path}."

    def tool_move(self, file, to):
        here = self._state["tree"][self._state["here"]]
        target = self._state["here"].rstrip("/") + "/" + to
        if file not in here or target not in self._state["tree"]:
            return f"Error: {file if file not in here else to} is not here"
        here.remove(file)
        self._state["tree"][target].append(file)
        return f"Moved {file} to {to}."

    def tool_delete(self, file):
        here = self._state["tree"][self._state["here"]]
        if file not in here:
            return f"Error: {file} is not here"
        here.remove(file)
        return f"Deleted {file}."

    def solution(self):
        def call(tool, /, **arguments):
            return f"<tool_call>{json.dumps(dict(name=tool, arguments=arguments))}</tool_call>"
        return [call("enter", path=self.path), call("make_folder", name="archive"), call("list_folder"),
                "\n".join(call("move", file=f, to="archive") for f in self.wanted), "<answer>done</answer>"]

    def hint(self):
        return "Enter a folder before you change it, list it before you move anything, and move the files one call each."
