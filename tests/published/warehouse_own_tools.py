# No base class: get_tools, execute_tool and step of its own, as the contract allows. Answers come boxed or in tags.
# WIN: <tool_call>{"name": "go_to", "arguments": {"aisle": "C", "shelf": 2}}</tool_call>\n<tool_call>{"name": "pick", "arguments": {"item": "bolt", "count": 3}}</tool_call>
# SAYS: 3 x bolt
# WIN: <tool_call>{"name": "pick", "arguments": {"item": "washer", "count": 1}}</tool_call>
# SAYS: ToolError: washer is not on this shelf
# WIN: <tool_call>{"name": "locate", "arguments": {"item": "washer"}}</tool_call>
# SAYS: A4
# WIN: <tool_call>{"name": "go_to", "arguments": {"aisle": "A", "shelf": 4}}</tool_call>\n<tool_call>{"name": "pick", "arguments": {"item": "washer", "count": 6}}</tool_call>
# WIN: <tool_call>{"name": "weigh", "arguments": {}}</tool_call>
# SAYS: 0.246 kg
# WIN: <answer>0.246</answer>
"""A warehouse robot, written against the bare contract: nothing here comes from a base class.

The robot stands in an aisle in front of a shelf, and picks what is there. An order is complete when the box holds exactly
what was asked for; then its weight in kilograms is the answer."""
import abc
import json
import random
import re
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from string import Template
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple

Place = namedtuple("Place", "aisle shelf")
CALL = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.DOTALL)
ANSWER = re.compile(r"<answer>(.*?)</answer>|\\boxed\{(.*?)\}", re.DOTALL)
ORDER = Template("Pack exactly $wanted. Then submit the weight of the box in kilograms as <answer>KG</answer>.")

WEIGHTS_GRAMS: Dict[str, int] = {
    "bolt": 46,
    "nut": 21,
    "washer": 18,
    "bracket": 310,
    "hinge": 145,
    "handle": 220,
    "spring": 12,
    "gasket": 9,
    "valve": 480,
    "clamp": 175,
}


class ToolError(Exception):
    """Something that the agent may read and act on."""


class Tool(abc.ABC):
    """A tool: what it is called, what it takes, and what it does to the warehouse."""

    name: str
    about: str
    properties: Dict[str, Dict[str, Any]] = {}
    optional: Sequence[str] = ()

    def __init__(self, warehouse: "Warehouse"):
        self.warehouse = warehouse

    @abc.abstractmethod
    def __call__(self, **arguments: Any) -> str: ...

    @cached_property
    def schema(self) -> Dict[str, Any]:
        required = [name for name in self.properties if name not in self.optional]
        return {
            "name": self.name,
            "description": self.about,
            "parameters": {"type": "object", "properties": self.properties, "required": required},
        }


@dataclass
class Shelf:
    place: Place
    stock: "OrderedDict[str, int]"

    def take(self, item: str, count: int) -> None:
        if item not in self.stock:
            raise ToolError(f"{item} is not on this shelf")
        if not 0 < count <= self.stock[item]:
            raise ToolError(f"there are {self.stock[item]} x {item} on this shelf")
        self.stock[item] -= count

    def put(self, item: str, count: int) -> None:
        self.stock[item] = self.stock.get(item, 0) + count


class Warehouse:
    AISLES = "ABCD"
    SHELVES = 5

    def __init__(self, rng: random.Random):
        self.shelves = {
            Place(aisle, shelf): Shelf(Place(aisle, shelf), OrderedDict())
            for aisle in self.AISLES
            for shelf in range(1, self.SHELVES + 1)
        }
        free = [place for place in self.shelves if place not in (Place("C", 2), Place("A", 4))]
        rng.shuffle(free)
        for item, place in zip(sorted(set(WEIGHTS_GRAMS) - {"bolt", "washer"}), free):
            self.shelves[place].put(item, rng.randint(2, 30))
        self.shelves[Place("C", 2)].put("bolt", 9)
        self.shelves[Place("A", 4)].put("washer", 9)
        self.robot = Place("A", 1)
        self.box: Dict[str, int] = defaultdict(int)
        self.travelled = 0

    @property
    def here(self) -> Shelf:
        return self.shelves[self.robot]

    def weight(self) -> Fraction:
        return sum((Fraction(WEIGHTS_GRAMS[item] * count, 1000) for item, count in self.box.items()), Fraction(0))

    def packed(self) -> Dict[str, int]:
        return {item: count for item, count in self.box.items() if count}


class GoTo(Tool):
    name = "go_to"
    about = "Drive to a shelf."
    properties = {
        "aisle": {"type": "string", "enum": list(Warehouse.AISLES), "description": "The aisle."},
        "shelf": {"type": "integer", "description": "Number of the shelf in it, from 1 to 5."},
    }

    def __call__(self, aisle: str, shelf: int) -> str:
        target = Place(aisle, shelf)
        if target not in self.warehouse.shelves:
            raise ToolError(f"there is no shelf {aisle}{shelf}")
        old = self.warehouse.robot
        self.warehouse.travelled += 10 * abs(ord(old.aisle) - ord(aisle)) + abs(old.shelf - shelf)
        self.warehouse.robot = target
        return f"at {aisle}{shelf}: {', '.join(self.warehouse.here.stock) or 'empty'}"


class Pick(Tool):
    name = "pick"
    about = "Take items from the shelf in front of the robot into the box."
    properties = {
        "item": {"type": "string", "description": "Name of the item."},
        "count": {"type": "integer", "description": "How many."},
    }

    def __call__(self, item: str, count: int) -> str:
        self.warehouse.here.take(item, count)
        self.warehouse.box[item] += count
        return f"{count} x {item}"


class PutBack(Tool):
    name = "put_back"
    about = "Put items from the box onto the shelf in front of the robot."
    properties = Pick.properties

    def __call__(self, item: str, count: int) -> str:
        if not 0 < count <= self.warehouse.box[item]:
            raise ToolError(f"there are {self.warehouse.box[item]} x {item} in the box")
        self.warehouse.box[item] -= count
        self.warehouse.here.put(item, count)
        return f"{count} x {item} put back"


class Locate(Tool):
    name = "locate"
    about = "Ask the index where an item is. The index does not know everything that was moved since the morning."
    properties = {"item": {"type": "string", "description": "Name of the item."}}

    def __call__(self, item: str) -> str:
        places = [f"{p.aisle}{p.shelf}" for p, shelf in self.warehouse.shelves.items() if shelf.stock.get(item)]
        if not places:
            raise ToolError(f"{item} is nowhere")
        return ", ".join(places)


class Weigh(Tool):
    name = "weigh"
    about = "Weigh the box, which itself weighs nothing."

    def __call__(self) -> str:
        return f"{float(self.warehouse.weight()):.3f} kg"


class Inspect(Tool):
    name = "inspect"
    about = "What is in the box, or on the shelf in front of the robot."
    properties = {"what": {"type": "string", "enum": ["box", "shelf"], "description": "Where to look. The box if not given."}}
    optional = ("what",)

    def __call__(self, what: str = "box") -> str:
        content = self.warehouse.packed() if what == "box" else dict(self.warehouse.here.stock)
        return json.dumps(content, sort_keys=True)


class WarehouseEnv:
    """
    The environment: parses the calls, runs them in order, and judges the answer.

    Skill: Tool Selection
    """

    TOOLS: Tuple[Callable[[Warehouse], Tool], ...] = (GoTo, Pick, PutBack, Locate, Weigh, Inspect)
    WANTED = {"bolt": 3, "washer": 6}

    def __init__(self, max_turns: int = 8):
        self.max_turns = max_turns
        self.turn = 0
        self.warehouse: Optional[Warehouse] = None
        self.tools: Dict[str, Tool] = {}
        self.reset(0)

    def reset(self, seed=None):
        self.turn = 0
        self.warehouse = Warehouse(random.Random(seed))
        self.tools = {tool.name: tool for tool in (make(self.warehouse) for make in self.TOOLS)}
        wanted = " and ".join(f"{count} x {item}" for item, count in self.WANTED.items())
        return ORDER.substitute(wanted=wanted) + " Bolts are in aisle C, on shelf 2.", {"shelves": len(self.warehouse.shelves)}

    def get_tools(self) -> List[Dict[str, Any]]:
        return [tool.schema for tool in self.tools.values()]

    def execute_tool(self, name: str, arguments: Dict[str, Any]) -> Dict[str, Any]:
        try:
            return {"output": self.tools[name](**arguments), "returncode": 0}
        except ToolError as error:
            return {"output": f"ToolError: {error}", "returncode": 1}
        except KeyError:
            return {"output": f"ToolError: no tool is called {name}", "returncode": 1}
        except TypeError as error:
            return {"output": f"ToolError: wrong arguments ({error})", "returncode": 1}

    def _run(self, texts: Iterable[str]) -> Iterable[str]:
        for text in texts:
            try:
                call = json.loads(text)
                yield self.execute_tool(call["name"], call.get("arguments", {}))["output"]
            except (json.JSONDecodeError, KeyError, AttributeError):
                yield "ToolError: a call is a JSON object with a name and arguments"

    def _judge(self, answer: str) -> Tuple[bool, str]:
        if self.warehouse.packed() != self.WANTED:
            return False, "The box does not hold what was ordered."
        try:
            given = Fraction(answer.strip().removesuffix("kg").strip())
        except ValueError:
            return False, "The weight must be a number."
        return given == self.warehouse.weight(), "The weight is wrong."

    def step(self, action: str):
        self.turn += 1
        truncated = self.turn >= self.max_turns
        lines = list(self._run(CALL.findall(action)))
        found = ANSWER.search(action)
        if found:
            right, complaint = self._judge(next(group for group in found.groups() if group is not None))
            if right:
                return "Right.", 1.0, True, False, {"travelled": self.warehouse.travelled}
            lines.append(complaint)
        return "\n".join(lines) or "Call a tool or submit an answer.", 0.0, False, truncated, {}
