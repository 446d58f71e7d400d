# Dataclasses and counters; its own feedback for a wrong answer; a tool that raises.
# WIN: <tool_call>{"name": "close_task", "arguments": {"task_id": 999}}</tool_call>
# SAYS: Error calling close_task
# WIN: <answer>wrong</answer>
# SAYS: Look again
# WIN: <tool_call>{"name": "close_task", "arguments": {"task_id": 17}}</tool_call>
# WIN: <answer>17</answer>
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import List, Optional


@dataclass
class Task:
    task_id: int
    owner: Optional[str] = None
    tags: List[str] = field(default_factory=list)
    done: bool = False


class ProjectTrackerEnv(ToolUseBaseEnv):
    def reset(self, seed=None):
        self.turn_count = 0
        self._call_history = []
        rng = random.Random(seed)
        self.tasks = {n: Task(n, rng.choice(["Ann", "Ben"]), rng.sample(["ui", "db", "docs"], 2)) for n in range(10, 30)}
        self.tasks[17] = Task(17, "Cleo", ["release"])
        self._state = {"tasks": self.tasks}
        self._tools = {
            "owners": {"description": "How many tasks each person has", "parameters": {"type": "object", "properties": {}}},
            "tasks_of": {"description": "The tasks of a person", "parameters": {"type": "object", "properties": {"owner": {"type": "string"}}, "required": ["owner"]}},
            "close_task": {"description": "Close a task", "parameters": {"type": "object", "properties": {"task_id": {"type": "integer"}}, "required": ["task_id"]}},
        }
        self._expected_answer = "17"
        return "Close Cleo's task and submit its number as <answer>N</answer>.", {}

    def tool_owners(self):
        return str(dict(Counter(task.owner for task in self.tasks.values())))

    def tool_tasks_of(self, owner):
        return str([task.task_id for task in self.tasks.values() if task.owner == owner])

    def tool_close_task(self, task_id):
        self.tasks[task_id].done = True
        return f"closed {task_id}"

    def _incorrect_answer_feedback(self):
        return "Look again."

    def _check_answer(self, answer):
        return super()._check_answer(answer) and self.tasks[17].done

    def solution(self):
        return "tasks_of(Cleo) -> [17]; close_task(17); ANSWER: 17"
