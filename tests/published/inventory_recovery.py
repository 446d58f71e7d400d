# Tools that fail at first and want a retry or another way; step and get_tools are extended; the answer is a number.
# WIN: <tool_call>{"name": "get_stock", "arguments": {"sku": "BX-200"}}</tool_call>
# SAYS: Error calling get_stock: 503 Service Unavailable
# WIN: <tool_call>{"name": "get_stock", "arguments": {"sku": "BX-200"}}</tool_call>
# SAYS: "on_hand": 3
# WIN: <tool_call>{"name": "create_purchase_order", "arguments": {"supplier_id": "S-2", "lines": [{"sku": "BX-200", "quantity": 17}], "idempotency_key": "k1"}}</tool_call>
# SAYS: 504 Gateway Timeout
# WIN: <tool_call>{"name": "create_purchase_order", "arguments": {"supplier_id": "S-2", "lines": [{"sku": "BX-200", "quantity": 17}], "idempotency_key": "k1"}}</tool_call>
# SAYS: "duplicate_of_earlier_request": true
# WIN: <tool_call>{"name": "approve", "arguments": {"order_id": 5001, "signature": {"name": "bot", "level": 2}, "urgent": true}}</tool_call>
# SAYS: (6 of
# WIN: <answer>the total is 17</answer>
# SAYS: Incorrect
# WIN: <answer>17</answer>
import hashlib
import itertools
import json
import math
import random
from typing import Any, Callable, Dict, List, Optional, Tuple, TypedDict


class Line(TypedDict):
    sku: str
    quantity: int


class ServiceError(Exception):
    """An answer of a remote service other than 200."""

    REASONS = {400: "Bad Request", 404: "Not Found", 409: "Conflict", 429: "Too Many Requests",
               503: "Service Unavailable", 504: "Gateway Timeout"}

    def __init__(self, code: int, detail: str = ""):
        self.code = code
        super().__init__(f"{code} {self.REASONS[code]}" + (f": {detail}" if detail else ""))


def flaky(*codes: int) -> Callable:
    """Make the first calls of a tool fail with these codes, one after the other."""

    def decorate(tool: Callable) -> Callable:
        def wrapped(self, **arguments):
            failures = self._failures.setdefault(tool.__name__, list(codes))
            if failures and failures[0] != 504:
                raise ServiceError(failures.pop(0), "try again")
            result = tool(self, **arguments)
            if failures:                                # the work was done, but the answer is lost
                raise ServiceError(failures.pop(0), "no answer; the request may have been carried out")
            return result

        wrapped.__name__ = tool.__name__
        wrapped.__doc__ = tool.__doc__
        return wrapped

    return decorate


class InventoryRecoveryEnv(ToolUseBaseEnv):
    """
    Inventory behind unreliable services.

    Reading the stock fails once and works when it is tried again. Creating a purchase order times out although the
    order was made: whoever repeats it without the same idempotency key orders twice, and cannot win any more.

    Skill: Error Recovery
    """

    TARGET = 20
    WIDTH = 12

    def __init__(self, max_turns: int = 12, **kwargs: Any):
        self._failures: Dict[str, List[int]] = {}
        super().__init__(max_turns=max_turns, **kwargs)

    def reset(self, seed: Optional[int] = None) -> Tuple[str, Dict[str, Any]]:
        self.turn_count = 0
        self._call_history = []
        self._failures = {}
        if seed is not None:
            random.seed(seed)
        self._stock: Dict[str, Dict[str, Any]] = {}
        for prefix, number in itertools.product(["AX", "BX", "CX"], range(100, 600, 100)):
            self._stock[f"{prefix}-{number}"] = {
                "on_hand": random.randint(0, 40),
                "reserved": random.randint(0, 5),
                "bin": f"{random.choice('ABCDEF')}{random.randint(1, 30):02d}",
            }
        self._stock["BX-200"] = {"on_hand": 3, "reserved": 0, "bin": "F07"}
        self._suppliers = {
            "S-1": {"name": "Alder & Sons", "skus": [sku for sku in self._stock if sku.startswith("A")], "days": 4},
            "S-2": {"name": "Birch Ltd", "skus": [sku for sku in self._stock if sku.startswith("B")], "days": 2},
            "S-3": {"name": "Cedar Trade", "skus": [sku for sku in self._stock if sku.startswith("C")], "days": 9},
        }
        self._orders: Dict[int, Dict[str, Any]] = {}
        self._by_key: Dict[str, int] = {}
        self._numbers = itertools.count(5001)
        self._state = {"stock": self._stock, "orders": self._orders}
        self._define_tools()
        self._expected_answer = 17
        observation = (
            f"The article BX-200 should be at {self.TARGET} pieces. Find out how many there are, order what is missing from a "
            "supplier who has it, approve the order, and submit the ordered quantity as <answer>N</answer>. The services are "
            "unreliable: errors in the 500s may be temporary. Never order twice."
        )
        return observation, {"skill": "Error Recovery"}

    def _define_tools(self) -> None:
        sku = {"type": "string", "pattern": "^[A-C]X-[1-5]00$", "description": "Number of the article."}
        self._tools = {
            "get_stock": {
                "description": "Pieces on hand and reserved, and the bin, of an article.",
                "parameters": {"type": "object", "properties": {"sku": sku}, "required": ["sku"]},
            },
            "list_articles": {
                "description": "Numbers of all articles that start with a prefix.",
                "parameters": {
                    "type": "object",
                    "properties": {"prefix": {"type": "string", "default": ""}},
                },
            },
            "find_suppliers": {
                "description": "Suppliers of an article, fastest first.",
                "parameters": {"type": "object", "properties": {"sku": sku}, "required": ["sku"]},
            },
            "create_purchase_order": {
                "description": "Order articles from a supplier. A repeated idempotency key never makes a second order.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "supplier_id": {"type": "string", "description": "Such as S-1."},
                        "lines": {
                            "type": "array",
                            "minItems": 1,
                            "items": {
                                "type": "object",
                                "properties": {"sku": sku, "quantity": {"type": "integer", "minimum": 1}},
                                "required": ["sku", "quantity"],
                            },
                        },
                        "idempotency_key": {"type": "string", "description": "Any text that names this request."},
                    },
                    "required": ["supplier_id", "lines"],
                },
            },
            "list_purchase_orders": {
                "description": "All purchase orders.",
                "parameters": {"type": "object", "properties": {}},
            },
            "approve": {
                "description": "Approve a purchase order.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "order_id": {"type": "integer"},
                        "signature": {
                            "type": "object",
                            "properties": {"name": {"type": "string"}, "level": {"type": "integer"}},
                            "required": ["name"],
                        },
                        "urgent": {"type": "boolean", "default": False},
                    },
                    "required": ["order_id", "signature"],
                },
            },
            "label": {
                "description": "A label for the bin of an article.",
                "parameters": {
                    "type": "object",
                    "properties": {"sku": sku, "style": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
                    "required": ["sku"],
                },
            },
        }

    # ------------------------------------------------------------------
    # What the base does, and a little more
    # ------------------------------------------------------------------
    def get_tools(self):
        tools = super().get_tools()
        for tool in tools:
            tool["function"]["description"] += " (may fail)" if tool["function"]["name"] in ("get_stock", "approve") else ""
        return tools

    def step(self, action: str):
        observation, reward, terminated, truncated, info = super().step(action)
        if not terminated:
            observation += f"\n({self.turn_count} of {self.max_turns} turns used)"
            reward -= 0.01                              # a cost for each turn, for whoever shapes rewards
        info["orders"] = len(self._orders)
        return observation, reward, terminated, truncated, info

    def execute_tool(self, name: str, arguments: Dict[str, Any]) -> Dict[str, Any]:
        result = super().execute_tool(name, arguments)
        if result["returncode"] and "unexpected keyword" in result["output"]:
            result["output"] += f" (see the parameters of {name})"
        return result

    def _check_answer(self, answer: str) -> bool:
        orders = list(self._orders.values())
        return (
            super()._check_answer(answer)
            and len(orders) == 1
            and orders[0]["approved"]
            and orders[0]["lines"] == [{"sku": "BX-200", "quantity": self.TARGET - self._stock["BX-200"]["on_hand"]}]
        )

    # ------------------------------------------------------------------
    # Tools
    # ------------------------------------------------------------------
    def _article(self, sku: str) -> Dict[str, Any]:
        if sku not in self._stock:
            raise ServiceError(404, sku)
        return self._stock[sku]

    @flaky(503)
    def tool_get_stock(self, sku: str) -> str:
        """The stock, after one failure."""
        return json.dumps({"sku": sku, **self._article(sku)})

    def tool_list_articles(self, prefix: str = "") -> str:
        return json.dumps(sorted(sku for sku in self._stock if sku.startswith(prefix)))

    def tool_find_suppliers(self, sku: str) -> str:
        self._article(sku)
        found = sorted((s["days"], key, s["name"]) for key, s in self._suppliers.items() if sku in s["skus"])
        return json.dumps([{"supplier_id": key, "name": name, "days": days} for days, key, name in found])

    @flaky(504)
    def tool_create_purchase_order(self, supplier_id: str, lines: List[Line], idempotency_key: Optional[str] = None) -> str:
        """The order is made even if the answer does not come back."""
        if supplier_id not in self._suppliers:
            raise ServiceError(404, supplier_id)
        for line in lines:
            self._article(line["sku"])
            if line["sku"] not in self._suppliers[supplier_id]["skus"]:
                raise ServiceError(409, f"{supplier_id} does not sell {line['sku']}")
            if not isinstance(line["quantity"], int) or line["quantity"] < 1:
                raise ServiceError(400, "the quantity must be a positive whole number")
        if idempotency_key is not None and idempotency_key in self._by_key:
            order_id = self._by_key[idempotency_key]
            return json.dumps({"order_id": order_id, "duplicate_of_earlier_request": True})
        order_id = next(self._numbers)
        self._orders[order_id] = {"supplier_id": supplier_id, "lines": [dict(line) for line in lines], "approved": False}
        if idempotency_key is not None:
            self._by_key[idempotency_key] = order_id
        return json.dumps({"order_id": order_id, "duplicate_of_earlier_request": False})

    def tool_list_purchase_orders(self) -> str:
        return json.dumps([{"order_id": key, **order} for key, order in self._orders.items()])

    def tool_approve(self, order_id: int, signature: Dict[str, Any], urgent: bool = False) -> str:
        order = self._orders.get(order_id)
        if order is None:
            raise ServiceError(404, f"order {order_id}")
        if signature.get("level", 1) < 2 and urgent:
            raise ServiceError(409, "urgent orders need a signature of level 2")
        order["approved"] = True
        digest = hashlib.sha256(json.dumps([order_id, signature], sort_keys=True).encode()).hexdigest()[:8]
        return f"order {order_id} is approved ({digest}), it comes in {self._days(order, urgent)} days"

    def _days(self, order: Dict[str, Any], urgent: bool) -> int:
        days = self._suppliers[order["supplier_id"]]["days"]
        return max(1, math.ceil(days / 2)) if urgent else days

    def tool_label(self, sku: str, style: Optional[str] = None) -> str:
        text = f"{sku} {self._article(sku)['bin']}".center(self.WIDTH)
        edge = {"double": "=", None: "-"}.get(style, "*") * self.WIDTH
        return "\n".join([edge, text, edge])

    def solution(self) -> str:
        return (
            "get_stock(BX-200) twice -> 3; find_suppliers -> S-2; create_purchase_order(S-2, 17, key) twice with one key; "
            "approve(5001, ...). ANSWER: 17"
        )
