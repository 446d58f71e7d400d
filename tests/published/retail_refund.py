# Imports the base by its module name; the answer is money, compared as a number.
# WIN: <tool_call>{"name": "find_customer", "arguments": {"name": "Dana"}}</tool_call>
# WIN: <tool_call>{"name": "latest_order", "arguments": {"customer_id": "C7"}}</tool_call>
# WIN: <tool_call>{"name": "refund", "arguments": {"order_id": "O-12"}}</tool_call>
# WIN: <answer>1240.5</answer>
import random
from tool_use_base_env import ToolUseBaseEnv


class RetailRefundEnv(ToolUseBaseEnv):
    def reset(self, seed=None):
        self.turn_count = 0
        self._call_history = []
        if seed is not None:
            random.seed(seed)
        self.customers = {f"C{n}": name for n, name in enumerate(["Al", "Bea", "Cy", "Di", "Ed", "Flo", "Gus", "Dana", "Hal"])}
        self.orders = {f"O-{n}": {"customer": f"C{random.randrange(7)}", "total": round(random.uniform(5, 900), 2)} for n in range(40)}
        self.orders["O-12"] = {"customer": "C7", "total": 1240.50}
        self._state = {"refunded": []}
        self._tools = {
            "find_customer": {"description": "Find a customer's id", "parameters": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
            "latest_order": {"description": "The latest order of a customer", "parameters": {"type": "object", "properties": {"customer_id": {"type": "string"}}, "required": ["customer_id"]}},
            "refund": {"description": "Refund an order", "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}},
            "shipping_status": {"description": "Where an order is", "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}},
        }
        self._expected_answer = "$1,240.50"
        return "Refund Dana's latest order and report the amount as <answer>AMOUNT</answer>.", {}

    def tool_find_customer(self, name):
        return next((key for key, value in self.customers.items() if value == name), "Error: not found")

    def tool_latest_order(self, customer_id):
        mine = [key for key, order in self.orders.items() if order["customer"] == customer_id]
        return mine[-1] if mine else "Error: no orders"

    def tool_refund(self, order_id):
        self._state["refunded"].append(order_id)
        return f"Refunded {self.orders[order_id]['total']}"

    def tool_shipping_status(self, order_id):
        return "in transit"

    def _check_answer(self, answer):
        return super()._check_answer(answer) and self._state["refunded"] == ["O-12"]

    def solution(self):
        return "find_customer(Dana), latest_order(C7), refund(O-12). ANSWER: $1,240.50"
