# One task over a graph of dependencies; dataclasses; its own feedback; a hidden tool until the board is opened.
# WIN: <tool_call>{"name": "close_task", "arguments": {"task_id": 999}}</tool_call>
# SAYS: Error calling close_task: 999
# WIN: <tool_call>{"name": "open_board", "arguments": {"board": "Apollo"}}</tool_call>
# WIN: <tool_call>{"name": "close_task", "arguments": {"task_id": 17}}</tool_call>
# SAYS: blocked by 12, 14
# WIN: <answer>12, 14, 17</answer>
# SAYS: Look again: 0 of 3
# WIN: <tool_call>{"name": "close_task", "arguments": {"task_id": 12}}</tool_call>\n<tool_call>{"name": "close_task", "arguments": {"task_id": 14}}</tool_call>\n<tool_call>{"name": "close_task", "arguments": {"task_id": 17}}</tool_call>
# WIN: <answer>[12, 14, 17]</answer>
from __future__ import annotations

import json
import random
import re
from collections import Counter, deque
from contextlib import suppress
from dataclasses import InitVar, dataclass, field, replace
from enum import IntEnum, auto
from typing import Any, ClassVar, Deque, Dict, Iterator, List, Mapping, Optional, Set


class Phase(IntEnum):
    BACKLOG = 0
    DOING = auto()
    REVIEW = auto()
    DONE = auto()


@dataclass(order=True)
class Task:
    """A card of the board. Comparison is by number."""

    task_id: int
    title: str = field(compare=False)
    owner: Optional[str] = field(default=None, compare=False)
    phase: Phase = field(default=Phase.BACKLOG, compare=False)
    tags: List[str] = field(default_factory=list, compare=False)
    needs: Set[int] = field(default_factory=set, compare=False)
    estimate: InitVar[float] = 1.0
    known: ClassVar[int] = 0

    def __post_init__(self, estimate: float) -> None:
        self.days = round(float(estimate), 1)

    @property
    def done(self) -> bool:
        return self.phase is Phase.DONE

    def line(self) -> str:
        needs = f", needs {', '.join(map(str, sorted(self.needs)))}" if self.needs else ""
        return f"{self.task_id} {self.title} [{self.phase.name.lower()}, {self.owner or 'unassigned'}, {self.days} d{needs}]"


@dataclass(frozen=True)
class Sprint:
    number: int
    capacity: float
    goal: str = ""


class Board(Mapping[int, Task]):
    """Tasks by number, with the dependencies between them."""

    def __init__(self, name: str):
        self.name = name
        self._tasks: Dict[int, Task] = {}
        self.log: Deque[str] = deque(maxlen=50)

    def __getitem__(self, task_id: int) -> Task:
        return self._tasks[task_id]

    def __iter__(self) -> Iterator[int]:
        return iter(sorted(self._tasks))

    def __len__(self) -> int:
        return len(self._tasks)

    def add(self, task: Task) -> Task:
        self._tasks[task.task_id] = task
        return task

    def blockers(self, task_id: int) -> List[int]:
        """Open tasks that this one needs, directly or through others, in an order in which they can be closed."""
        seen: Set[int] = set()
        order: List[int] = []

        def visit(number: int) -> None:
            for needed in sorted(self[number].needs):
                if needed not in seen and not self[needed].done:
                    seen.add(needed)
                    visit(needed)
                    order.append(needed)

        visit(task_id)
        return order


class ProjectTrackerEnv(ToolUseBaseEnv):
    """
    Project tracker: close a task whose dependencies are still open.

    The agent has to find the one task of a person, learn that it is blocked, close the blockers first, and report all
    task numbers that it closed, in any order.

    Skill: Data Retrieval
    """

    TITLES = ["index the archive", "fix the login page", "write release notes", "rotate the keys", "clean the cache",
              "update the schema", "translate the manual", "profile the import", "draw the icons", "test the backup"]
    PEOPLE = ("Ann", "Ben", "Dov", "Eva")

    def __init__(self, max_turns=12, boards=("Apollo", "Gemini"), verbose=False):
        self._names = tuple(boards)
        self._verbose = verbose
        super().__init__(max_turns=max_turns)

    def reset(self, seed=None):
        self.turn_count = 0
        self._call_history = []
        rng = random.Random(seed)
        self._boards = {name: self._make_board(name, rng) for name in self._names}
        apollo = self._boards["Apollo"]
        apollo.add(Task(17, "cut the release", "Cleo", Phase.REVIEW, ["release"], {12, 14}, 0.5))
        apollo.add(Task(12, "freeze the schema", "Ben", Phase.DOING, ["db"], set(), 2))
        apollo.add(Task(14, "sign the packages", "Ann", Phase.DOING, ["release"], {12}, 1))
        for number in apollo:
            if number not in (12, 14, 17):
                apollo[number].needs -= {17}
        self._sprint = Sprint(rng.randint(20, 60), 10.0)
        self._sprint = replace(self._sprint, goal=f"sprint {self._sprint.number}: ship")
        self._open_board: Optional[Board] = None
        self._closed: List[int] = []
        self._state = {"boards": self._boards, "closed": self._closed, "sprint": self._sprint}
        self._tools = self._build_tools()
        self._expected_answer = "12, 14, 17"
        if self._verbose:
            print("board ready")
        return (
            f"{self._sprint.goal}. On the board Apollo, Cleo has one task. Close it, together with whatever it needs, but "
            "nothing else. Then submit the numbers of all tasks that you closed as <answer>N, N, ...</answer>.",
            {"boards": list(self._names)},
        )

    def _make_board(self, name: str, rng: random.Random) -> Board:
        board = Board(name)
        for number in range(20, 40):
            needs = set(rng.sample(range(20, number), min(2, number - 20))) if rng.random() < 0.5 else set()
            board.add(
                Task(
                    number,
                    rng.choice(self.TITLES),
                    rng.choice(self.PEOPLE),
                    rng.choice([Phase.BACKLOG, Phase.DOING, Phase.REVIEW]),
                    rng.sample(["ui", "db", "docs", "infra"], 2),
                    needs,
                    estimate=rng.uniform(0.5, 5),
                )
            )
        return board

    def _build_tools(self) -> Dict[str, Dict[str, Any]]:
        def schema(required=(), **properties):
            return {"type": "object", "properties": properties, "required": list(required)}

        number = {"type": "integer", "description": "Number of the task."}
        owner = {"type": "string", "description": "First name of a person."}
        return {
            "open_board": {
                "description": "Open a board. Other tools work on the open board; at first none is open.",
                "parameters": schema(["board"], board={"type": "string", "enum": list(self._names)}),
            },
            "owners": {"description": "How many tasks each person has on the open board.", "parameters": schema()},
            "tasks_of": {
                "description": "The tasks of a person on the open board.",
                "parameters": schema(["owner"], owner=owner),
            },
            "find_tasks": {
                "description": "Tasks of the open board by tag, phase, or words of the title.",
                "parameters": schema(
                    tag={"type": "string"},
                    phase={"type": "string", "enum": [phase.name.lower() for phase in Phase]},
                    title={"type": "string", "description": "A regular expression."},
                ),
            },
            "show_task": {"description": "A task, and what it needs.", "parameters": schema(["task_id"], task_id=number)},
            "move_task": {
                "description": "Move a task to another phase (not to done: close it).",
                "parameters": schema(
                    ["task_id", "phase"], task_id=number, phase={"type": "string", "enum": ["backlog", "doing", "review"]}
                ),
            },
            "close_task": {
                "description": "Close a task. What it needs must be closed before.",
                "parameters": schema(["task_id"], task_id=number),
            },
            "reassign": {
                "description": "Give a task to somebody else.",
                "parameters": schema(["task_id", "owner"], task_id=number, owner=owner),
            },
            "history": {
                "description": "What happened on the open board, newest last.",
                "parameters": schema(limit={"type": "integer", "default": 10}),
            },
        }

    # ------------------------------------------------------------------
    @property
    def _board(self) -> Board:
        if self._open_board is None:
            # Numbers are looked up in every board, so that an unknown one is an error of its own.
            return next(iter(self._boards.values()))
        return self._open_board

    def tool_open_board(self, board):
        self._open_board = self._boards[board]
        return f"{board}: {len(self._open_board)} tasks"

    def tool_owners(self):
        return dict(Counter(task.owner for task in self._board.values()).most_common())

    def tool_tasks_of(self, owner):
        return "\n".join(task.line() for task in sorted(self._board.values()) if task.owner == owner) or "none"

    def tool_find_tasks(self, tag=None, phase=None, title=None):
        found = []
        for task in sorted(self._board.values()):
            if tag and tag not in task.tags:
                continue
            if phase and task.phase is not Phase[phase.upper()]:
                continue
            if title and not re.search(title, task.title, re.I):
                continue
            found.append(task.line())
        return "\n".join(found) if found else "none"

    def tool_show_task(self, task_id):
        blockers = self._board.blockers(task_id)
        return self._board[task_id].line() + (f"\nblocked by {', '.join(map(str, blockers))}" if blockers else "")

    def tool_move_task(self, task_id, phase):
        self._board[task_id].phase = Phase[phase.upper()]
        self._board.log.append(f"{task_id} moved to {phase}")
        return self._board[task_id].line()

    def tool_close_task(self, task_id):
        task = self._board[task_id]
        assert self._open_board is not None, "open a board first"
        blockers = self._board.blockers(task_id)
        if blockers:
            return f"Error: {task_id} is blocked by {', '.join(map(str, blockers))}"
        if task.done:
            return f"Error: {task_id} is closed already"
        task.phase = Phase.DONE
        self._closed.append(task_id)
        self._board.log.append(f"{task_id} closed")
        return f"closed {task_id}"

    def tool_reassign(self, task_id, owner):
        if owner not in self.PEOPLE:
            return f"Error: nobody is called {owner}"
        self._board[task_id].owner = owner
        return self._board[task_id].line()

    def tool_history(self, limit=10):
        return json.dumps(list(self._board.log)[-limit:])

    # ------------------------------------------------------------------
    def _incorrect_answer_feedback(self):
        return f"Look again: {len(set(self._closed) & {12, 14, 17})} of 3 tasks are closed."

    def _check_answer(self, answer):
        numbers: Set[int] = set()
        with suppress(ValueError):
            numbers = {int(part) for part in re.findall(r"\d+", answer)}
        return numbers == {12, 14, 17} and sorted(self._closed) == [12, 14, 17]

    def solution(self):
        return "open_board(Apollo); tasks_of(Cleo) -> 17; show_task(17) -> 12, 14; close 12, 14, 17. ANSWER: 12, 14, 17"
