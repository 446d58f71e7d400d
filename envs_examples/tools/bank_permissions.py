class BankPermissionsEnv(ToolUseBaseEnv):
    """Pay an invoice from the one account that may and can: permissions, balances, and an error to recover from."""
    LEVEL = 4

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.turn_count = 0
        self.payee, self.amount = rng.choice(["the printer", "the bakery", "the garage"]), rng.randrange(200, 600)
        names = rng.sample(["main", "travel", "savings", "office", "events"], 4)
        kinds = ["right", "poor", "read only", "locked"]
        rng.shuffle(kinds)
        self._state = {"accounts": {}, "paid": None, "logged_in": False}
        for name, kind in zip(names, kinds):
            self._state["accounts"][name] = {
                "balance": self.amount + rng.randrange(1, 300) if kind != "poor" else self.amount - rng.randrange(1, 100),
                "may_pay": kind != "read only", "locked": kind == "locked"}
        self.right = names[kinds.index("right")]
        self.pin = str(rng.randrange(1000, 9999))
        self._expected_answer = str(self._state["accounts"][self.right]["balance"] - self.amount)
        account = {"type": "object", "properties": {"account": {"type": "string"}}, "required": ["account"]}
        self._tools = {
            "log_in": {"description": "Log in with the PIN.", "parameters": {
                "type": "object", "properties": {"pin": {"type": "string"}}, "required": ["pin"]}},
            "list_accounts": {"description": "The names of all accounts.", "parameters": {"type": "object", "properties": {}}},
            "get_balance": {"description": "The balance of an account.", "parameters": account},
            "get_permissions": {"description": "Whether an account may pay, and whether it is locked.", "parameters": account},
            "pay": {"description": "Pay an amount from an account.", "parameters": {
                "type": "object", "properties": {"account": {"type": "string"}, "amount": {"type": "integer"}},
                "required": ["account", "amount"]}}}
        return (f"Pay the invoice of {self.payee} over {self.amount}, from an account that is allowed to pay and holds enough. The "
                f"PIN is {self.pin}. Submit what is left on that account as <answer>BALANCE</answer>."), {}

    def _account(self, name):
        if not self._state["logged_in"]:
            raise ValueError("log in first")
        if name not in self._state["accounts"]:
            raise ValueError(f"no account {name}")
        return self._state["accounts"][name]

    def tool_log_in(self, pin):
        self._state["logged_in"] = str(pin) == self.pin
        return "Logged in." if self._state["logged_in"] else "Error: wrong PIN"

    def tool_list_accounts(self):
        return ", ".join(self._state["accounts"])

    def tool_get_balance(self, account):
        return str(self._account(account)["balance"])

    def tool_get_permissions(self, account):
        return json.dumps({key: self._account(account)[key] for key in ("may_pay", "locked")})

    def tool_pay(self, account, amount):
        found = self._account(account)
        if found["locked"] or not found["may_pay"] or found["balance"] < amount or self._state["paid"]:
            return "Error: refused"
        found["balance"] -= amount
        self._state["paid"] = (account, amount)
        return f"Paid {amount} from {account}."

    def _check_answer(self, answer):
        return super()._check_answer(answer) and self._state["paid"] == (self.right, self.amount)

    def solution(self):
        def call(tool, /, **arguments):
            return f"<tool_call>{json.dumps(dict(name=tool, arguments=arguments))}</tool_call>"
        return [call("log_in", pin=self.pin), call("list_accounts"),
                "\n".join(call(tool, account=a) for a in self._state["accounts"] for tool in ("get_balance", "get_permissions")),
                call("pay", account=self.right, amount=self.amount), call("get_balance", account=self.right),
                f"<answer>{self._expected_answer}</answer>"]

    def hint(self):
        return "Log in before anything else, read balance and permissions of every account, and pay once from the one that passes both."
