# One task with policies to respect; imports the base by its module name; the answer is money, compared as a number.
# WIN: <tool_call>{"name": "find_customer", "arguments": {"name": "Dana", "zip_code": "0151"}}</tool_call>
# SAYS: C-107
# WIN: <tool_call>{"name": "list_orders", "arguments": {"customer_id": "C-107"}}</tool_call>
# SAYS: O-9001
# WIN: <tool_call>{"name": "get_order", "arguments": {"order_id": "O-9001"}}</tool_call>
# SAYS: gift_card_8231
# WIN: <tool_call>{"name": "return_items", "arguments": {"order_id": "O-9001", "item_ids": ["I-1", "I-3"], "payment_method_id": "paypal_1"}}</tool_call>
# SAYS: Error: the refund must go to the original payment method or to a gift card
# WIN: <answer>$1,240.50</answer>
# SAYS: Incorrect
# WIN: <tool_call>{"name": "return_items", "arguments": {"order_id": "O-9001", "item_ids": ["I-1", "I-3"], "payment_method_id": "gift_card_8231"}}</tool_call>
# SAYS: 'refund': '1240.50'
# WIN: <answer>1240.5</answer>
import random
import json
import copy
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache, partial
from types import SimpleNamespace
from typing import Dict, List, NamedTuple, Optional

from tool_use_base_env import ToolUseBaseEnv


class Item(NamedTuple):
    item_id: str
    name: str
    price: Decimal
    returnable: bool = True


@lru_cache(maxsize=None)
def cents(text: str) -> Decimal:
    """Money, exactly."""
    return Decimal(text).quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)


CATALOGUE = [
    Item("I-1", "espresso machine", cents("989.00")),
    Item("I-2", "pack of filters", cents("12.50"), returnable=False),
    Item("I-3", "grinder", cents("251.50")),
    Item("I-4", "tea kettle", cents("59.90")),
    Item("I-5", "desk lamp", cents("44.00")),
    Item("I-6", "water bottle", cents("19.95")),
    Item("I-7", "keyboard", cents("129.00")),
    Item("I-8", "gift wrapping", cents("4.00"), returnable=False),
    Item("I-9", "backpack", cents("89.99")),
]
BY_ID: Dict[str, Item] = {item.item_id: item for item in CATALOGUE}
FIRST_NAMES = ["Al", "Bea", "Cy", "Di", "Ed", "Flo", "Gus", "Dana", "Hal", "Dana"]
ZIP_CODES = ["0150", "0152", "0153", "5003", "7010", "9008", "4006", "0151", "0157", "3015"]


class RetailRefundEnv(ToolUseBaseEnv):
    """
    Customer service of a shop.

    The agent follows the shop's policy:
      * identify the customer by first name and zip code (names are not unique);
      * only delivered orders can be returned, and only items that are returnable;
      * a refund goes to the original payment method or to a gift card of the customer, never anywhere else;
      * an order can be returned once.

    The task: return everything in Dana's latest delivered order that can be returned, to her gift card, and report the
    refunded amount.

    Skill: API Orchestration
    """

    POLICY_FILE = {
        "returns": "Delivered orders only. Unreturnable items stay with the customer. One return for an order.",
        "refunds": "To the original payment method, or to a gift card that the customer has.",
        "identification": "First name and zip code.",
        "cancellations": "Pending orders only, with the reason 'no longer needed' or 'ordered by mistake'.",
        "exchanges": "Items of the same kind only; not available for delivered gift cards.",
    }

    def reset(self, seed=None):
        self.turn_count = 0
        self._call_history = []
        if seed is not None:
            random.seed(seed)
        self.customers = {}
        for number, (name, zip_code) in enumerate(zip(FIRST_NAMES, ZIP_CODES)):
            self.customers[f"C-{100 + number}"] = SimpleNamespace(
                name=name,
                zip_code=zip_code,
                email=f"{name.lower()}{random.randint(10, 99)}@example.com",
                payment_methods={f"credit_card_{random.randint(1000, 9999)}": "card"},
            )
        self.customers["C-107"].payment_methods = {
            "credit_card_4450": "card",
            "gift_card_8231": "gift card",
            "paypal_1": "paypal",
        }
        self.orders = {}
        for number in range(40):
            customer_id = random.choice([key for key in self.customers if key != "C-107"])
            self._add_order(
                f"O-{8000 + number}",
                customer_id,
                random.sample(sorted(BY_ID), random.randint(1, 4)),
                random.choice(["pending", "delivered", "cancelled"]),
                next(iter(self.customers[customer_id].payment_methods)),
                day=random.randint(1, 200),
            )
        self._add_order("O-8990", "C-107", ["I-4", "I-5"], "delivered", "credit_card_4450", day=170)
        self._add_order("O-9001", "C-107", ["I-1", "I-2", "I-3"], "delivered", "credit_card_4450", day=201)
        self._add_order("O-9002", "C-107", ["I-7"], "pending", "paypal_1", day=205)
        self._untouched = copy.deepcopy(self.orders)
        self._state = {"orders": self.orders, "transferred": False}

        text = {"type": "string"}
        one = lambda name, about: {"type": "object", "properties": {name: {"type": "string", "description": about}}, "required": [name]}
        self._tools = {
            "find_customer": {
                "description": "Find the id of a customer by first name and zip code.",
                "parameters": {
                    "type": "object",
                    "properties": {"name": text, "zip_code": {"type": "string", "description": "Four digits."}},
                    "required": ["name", "zip_code"],
                },
            },
            "get_customer": {"description": "Details of a customer.", "parameters": one("customer_id", "Such as C-100.")},
            "list_orders": {
                "description": "The orders of a customer, oldest first.",
                "parameters": one("customer_id", "Such as C-100."),
            },
            "get_order": {"description": "Details of an order.", "parameters": one("order_id", "Such as O-8000.")},
            "get_policy": {
                "description": "A section of the shop's policy: " + ", ".join(self.POLICY_FILE) + ".",
                "parameters": one("section", "Name of the section."),
            },
            "cancel_order": {
                "description": "Cancel a pending order.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "order_id": text,
                        "reason": {"type": "string", "enum": ["no longer needed", "ordered by mistake"]},
                    },
                    "required": ["order_id", "reason"],
                },
            },
            "return_items": {
                "description": "Return items of a delivered order and refund their price.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "order_id": text,
                        "item_ids": {"type": "array", "items": text, "description": "Such as I-1."},
                        "payment_method_id": {"type": "string", "description": "Where the refund goes."},
                    },
                    "required": ["order_id", "item_ids", "payment_method_id"],
                },
            },
            "transfer_to_human": {"description": "Give up and hand the customer to a colleague."},
        }
        self._expected_answer = "$1,240.50"
        return (
            "You work for the customer service of a shop and follow its policy. The customer writes: \"Hello, I am Dana, zip "
            "code 0151. Please take back whatever you can from my latest delivered order, and put the money on my gift card.\" "
            "When that is done, report the refunded amount as <answer>AMOUNT</answer>." + self._obs_suffix(),
            {"orders": len(self.orders)},
        )

    def _add_order(self, order_id, customer_id, item_ids, status, payment_method_id, day):
        self.orders[order_id] = {
            "customer_id": customer_id,
            "items": [BY_ID[item_id] for item_id in item_ids],
            "status": status,
            "payment_method_id": payment_method_id,
            "day": day,
            "returned": [],
            "refunded_to": None,
        }

    @staticmethod
    def _lookup(table: dict, what: str, key: str):
        try:
            return table[key]
        except KeyError:
            raise LookupError(f"{what} {key} not found") from None

    def _order(self, order_id: str) -> dict:
        return self._lookup(self.orders, "order", order_id)

    def tool_find_customer(self, name: str, zip_code: str) -> str:
        for customer_id, customer in self.customers.items():
            if customer.name.lower() == name.lower() and customer.zip_code == zip_code:
                return customer_id
        return "Error: customer not found"

    def tool_get_customer(self, customer_id: str) -> str:
        customer = self._lookup(self.customers, "customer", customer_id)
        return json.dumps(vars(customer), indent=2)

    def tool_list_orders(self, customer_id: str) -> str:
        mine = sorted(
            (order["day"], order_id, order["status"])
            for order_id, order in self.orders.items()
            if order["customer_id"] == customer_id
        )
        return "\n".join(f"{order_id}: day {day}, {status}" for day, order_id, status in mine) or "Error: no orders"

    def tool_get_order(self, order_id: str) -> str:
        order = self._order(order_id)
        customer = self.customers[order["customer_id"]]
        lines = [f"{order_id} ({order['status']}), paid with {order['payment_method_id']}"]
        for item in order["items"]:
            note = "" if item.returnable else " (not returnable)"
            lines.append(f"  {item.item_id} {item.name} {item.price}{note}")
        lines.append("payment methods of the customer: " + ", ".join(customer.payment_methods))
        return "\n".join(lines)

    def tool_get_policy(self, section: str) -> str:
        return self.POLICY_FILE.get(section, f"Error: there is no section '{section}'")

    def tool_cancel_order(self, order_id: str, reason: str) -> str:
        order = self._order(order_id)
        if order["status"] != "pending":
            return f"Error: {order_id} is {order['status']}"
        order["status"] = "cancelled"
        return f"{order_id} is cancelled: {reason}"

    def tool_return_items(self, order_id: str, item_ids: List[str], payment_method_id: str) -> dict:
        order = self._order(order_id)
        fail = partial(str.format, "Error: {}")
        if order["status"] != "delivered":
            return fail(f"{order_id} is {order['status']}")
        if order["returned"]:
            return fail(f"{order_id} was returned already")
        owned = {item.item_id: item for item in order["items"]}
        missing = [item_id for item_id in item_ids if item_id not in owned]
        if missing:
            return fail(f"not in the order: {', '.join(missing)}")
        kept = [item_id for item_id in item_ids if not owned[item_id].returnable]
        if kept:
            return fail(f"not returnable: {', '.join(kept)}")
        kind: Optional[str] = self.customers[order["customer_id"]].payment_methods.get(payment_method_id)
        if payment_method_id != order["payment_method_id"] and kind != "gift card":
            return fail("the refund must go to the original payment method or to a gift card")
        order["returned"] = sorted(item_ids)
        order["refunded_to"] = payment_method_id
        refund = sum((owned[item_id].price for item_id in item_ids), Decimal("0"))
        return {"order": order_id, "returned": order["returned"], "refund": str(refund), "to": payment_method_id}

    def tool_transfer_to_human(self) -> str:
        self._state["transferred"] = True
        return "A colleague takes over."

    def _check_answer(self, answer: str) -> bool:
        """The amount is right, the right return happened, and nothing else was touched."""
        order = self.orders["O-9001"]
        others = all(self.orders[key] == self._untouched[key] for key in self.orders if key != "O-9001")
        right = order["returned"] == ["I-1", "I-3"] and order["refunded_to"] == "gift_card_8231"
        return super()._check_answer(answer) and right and others and not self._state["transferred"]

    def solution(self) -> str:
        return (
            "find_customer(Dana, 0151) -> C-107; list_orders -> O-9001 is the latest delivered one; get_order: I-2 is not "
            "returnable; return_items(O-9001, [I-1, I-3], gift_card_8231). ANSWER: $1,240.50"
        )
