class OrderRefundEnv(ToolUseBaseEnv):
    """Refund a customer's most recent delivered order, whose number only the tools know; a second tool must approve it."""
    LEVEL = 3

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.turn_count = 0
        self.customer = rng.choice(["Noor", "Ivan", "Mei", "Tomas", "Lucia"])
        states = ["delivered", "delivered", "shipped", "cancelled", "pending"]
        rng.shuffle(states)
        orders = [{"order": rng.randrange(1000, 9999), "day": day, "status": status, "amount": rng.randrange(10, 200)}
                  for day, status in zip(sorted(rng.sample(range(1, 30), 5)), states)]
        self.target = [o for o in orders if o["status"] == "delivered"][-1]
        rng.shuffle(orders)
        self._state = {"orders": {str(o["order"]): o for o in orders}, "approved": None, "refunded": None}
        self._expected_answer = str(self.target["amount"])
        number = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}
        self._tools = {
            "list_orders": {"description": "The numbers of a customer's orders.", "parameters": {
                "type": "object", "properties": {"customer": {"type": "string"}}, "required": ["customer"]}},
            "get_order": {"description": "Day, status and amount of an order.", "parameters": number},
            "approve_refund": {"description": "Approve the refund of an order.", "parameters": number},
            "refund": {"description": "Pay an approved refund.", "parameters": number},
            "cancel_order": {"description": "Cancel an order that is not shipped.", "parameters": number}}
        return (f"{self.customer} wants a refund for the most recent order that was delivered. Pay it, and submit the amount as "
                "<answer>AMOUNT</answer>."), {}

    def tool_list_orders(self, customer):
        return ", ".join(self._state["orders"]) if customer == self.customer else f"Error: no customer {customer}"

    def tool_get_order(self, order):
        return json.dumps(self._state["orders"].get(order) or {"error": f"no order {order}"})

    def tool_approve_refund(self, order):
        if self._state["orders"].get(order, {}).get("status") != "delivered":
            return "Error: only delivered orders can be refunded"
        self._state["approved"] = order
        return f"Approved: order {order}."

    def tool_refund(self, order):
        if self._state["approved"] != order:
            return "Error: this refund is not approved"
        self._state["refunded"] = order
        return f"Refunded {self._state['orders'][order]['amount']} for order {order}."

    def tool_cancel_order(self, order):
        if self._state["orders"].get(order, {}).get("status") != "pending":
            return "Error: this order cannot be cancelled"
        self._state["orders"][order]["status"] = "cancelled"
        return f"Cancelled order {order}."

    def _check_answer(self, answer):
        return super()._check_answer(answer) and self._state["refunded"] == str(self.target["order"])

    def solution(self):
        def call(tool, /, **arguments):
            return f"<tool_call>{json.dumps(dict(name=tool, arguments=arguments))}</tool_call>"
        order = str(self.target["order"])
        return [call("list_orders", customer=self.customer), "\n".join(call("get_order", order=o) for o in self._state["orders"]),
                call("approve_refund", order=order), call("refund", order=order), f"<answer>{self._expected_answer}</answer>"]

    def hint(self):
        return "List the orders, look each of them up, keep the delivered ones and take the latest day; approve before you pay."
