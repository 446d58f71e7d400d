# Several instructions; dataclasses, enums and dates in the state; criteria are methods; tools return dicts and raise.
# WIN: <tool_call>{"name": "get_stock_info", "arguments": {"symbol": "QRX"}}</tool_call>
# WIN: <tool_call>{"name": "add_to_watchlist", "arguments": {"symbol": "NVQ"}}</tool_call>
# SAYS: 'watchlist': ['ZETA', 'NVQ']
# SAYS: NEW INSTRUCTION] Now buy 10 shares
# WIN: <tool_call>{"name": "place_order", "arguments": {"side": "buy", "symbol": "NVQ", "quantity": 10, "limit": 99.5}}</tool_call>
# SAYS: Error calling place_order: insufficient funds: 995.00 needed, 500.00 available
# WIN: <tool_call>{"name": "fund_account", "arguments": {"amount": 1000}}</tool_call>
# WIN: <tool_call>{"name": "place_order", "arguments": {"side": "buy", "symbol": "NVQ", "quantity": 10, "limit": 99.5}}</tool_call>
# SAYS: 'status': 'pending'
# SAYS: NEW INSTRUCTION] I changed my mind
# WIN: <tool_call>{"name": "cancel_order", "arguments": {"order_id": 4711}}</tool_call>
# SAYS: 'status': 'cancelled'
# SAYS: NEW INSTRUCTION] How much
# WIN: <tool_call>{"name": "get_account", "arguments": {}}</tool_call>
# SAYS: 'balance': 1500.0
# SAYS: [ALL STEPS COMPLETE]
# WIN: <answer>done</answer>
from __future__ import annotations

import logging
import random
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import Dict, List, Optional

logger = logging.getLogger(__name__)


class OrderStatus(str, Enum):
    PENDING = "pending"
    FILLED = "filled"
    CANCELLED = "cancelled"


class Side(Enum):
    BUY = "buy"
    SELL = "sell"


@dataclass
class Order:
    """A limit order. Orders fill only when the market opens, which never happens in this environment."""

    order_id: int
    symbol: str
    side: Side
    quantity: int
    limit: float
    placed: datetime
    status: OrderStatus = OrderStatus.PENDING

    @property
    def cost(self) -> float:
        return round(self.quantity * self.limit, 2) if self.side is Side.BUY else 0.0

    def to_dict(self) -> Dict[str, object]:
        shown = asdict(self)
        shown.update(side=self.side.value, status=self.status.value, placed=self.placed.strftime("%Y-%m-%d %H:%M"))
        return shown


@dataclass
class Account:
    balance: float = 500.0
    watchlist: List[str] = field(default_factory=lambda: ["ZETA"])
    orders: Dict[int, Order] = field(default_factory=dict)
    looked: bool = False


class InsufficientFunds(ValueError):
    """Raised when an order costs more than the account holds."""


class MarketClosed(RuntimeError):
    """Raised by operations that need an open market."""


class TradingBotMTEnv(ToolUseBaseEnv):
    """
    A brokerage account with a watchlist, limit orders and a balance.

    The user sends instructions one after the other. Some cannot be carried out at once (an order that costs more
    than the balance) and need an intermediate step that the user did not name.

    Skill: State Modification
    """

    SECTORS = {
        "Technology": ["NVQ", "ZETA", "OMEG"],
        "Energy": ["QRX", "SOLR"],
        "Health": ["BIOM", "CURA", "MEDX"],
    }
    OPENING = datetime(2026, 3, 2, 9, 30)

    def __init__(self, max_turns: int = 20, **kwargs):
        self.fee_rate = 0.0
        super().__init__(max_turns=max_turns, **kwargs)

    def reset(self, seed=None):
        self.turn_count = 0
        self._call_history = []
        rng = random.Random(seed)
        self._clock = self.OPENING - timedelta(hours=rng.randint(2, 9))
        self._prices = {
            symbol: round(rng.uniform(20, 300), 2) for symbols in self.SECTORS.values() for symbol in symbols
        }
        self._prices["NVQ"] = 101.25
        self._next_id = 4711
        self._account = Account()
        for number in range(3):
            symbol = rng.choice(["QRX", "SOLR", "BIOM"])
            order = Order(4000 + number, symbol, Side.SELL, rng.randint(1, 9), self._prices[symbol], self._clock)
            self._account.orders[order.order_id] = order
        self._state = {"account": self._account, "clock": self._clock, "new_orders": []}
        self._tools = self._describe_tools()
        self._user_messages = [
            "I read good things about NVQ. Please put it on my watchlist.",
            "Now buy 10 shares of it, with a limit of 99.50. Should money be missing, move 1000 into the account first.",
            "I changed my mind about that order: cancel it.",
            "How much money do I have now?",
        ]
        self._message_criteria = [self._watched, self._bought, self._cancelled, self._asked]
        self._current_msg = 0
        self._expected_answer = "done"
        logger.debug("reset with seed %s", seed)
        return self._user_messages[0], {"clock": self._clock.isoformat()}

    @staticmethod
    def _describe_tools():
        symbol = {"type": "string", "description": "Ticker symbol, in capital letters."}
        return {
            "get_stock_info": {
                "description": "Current price of a stock and the sector that it belongs to.",
                "parameters": {"type": "object", "properties": {"symbol": symbol}, "required": ["symbol"]},
            },
            "list_sector": {
                "description": "The symbols of a sector.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "sector": {"type": "string", "enum": ["Technology", "Energy", "Health"]},
                    },
                    "required": ["sector"],
                },
            },
            "add_to_watchlist": {
                "description": "Add a stock to the watchlist of the account.",
                "parameters": {"type": "object", "properties": {"symbol": symbol}, "required": ["symbol"]},
            },
            "remove_from_watchlist": {
                "description": "Remove a stock from the watchlist of the account.",
                "parameters": {"type": "object", "properties": {"symbol": symbol}, "required": ["symbol"]},
            },
            "place_order": {
                "description": "Place a limit order. The cost of a buy order is reserved from the balance at once.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "side": {"type": "string", "enum": ["buy", "sell"], "description": "Direction of the order."},
                        "symbol": symbol,
                        "quantity": {"type": "integer", "minimum": 1, "description": "Number of shares."},
                        "limit": {"type": "number", "description": "Worst acceptable price for a share."},
                        "note": {"type": ["string", "null"], "default": None, "description": "A remark. Optional."},
                    },
                    "required": ["side", "symbol", "quantity", "limit"],
                },
            },
            "cancel_order": {
                "description": "Cancel a pending order. Reserved money returns to the balance.",
                "parameters": {
                    "type": "object",
                    "properties": {"order_id": {"type": "integer", "description": "Number of the order."}},
                    "required": ["order_id"],
                },
            },
            "list_orders": {
                "description": "All orders of the account, newest last.",
                "parameters": {
                    "type": "object",
                    "properties": {"status": {"type": "string", "enum": ["pending", "filled", "cancelled"]}},
                },
            },
            "fund_account": {
                "description": "Move money from the linked bank account into the trading account.",
                "parameters": {
                    "type": "object",
                    "properties": {"amount": {"type": "number", "exclusiveMinimum": 0}},
                    "required": ["amount"],
                },
            },
            "get_account": {
                "description": "Balance and watchlist of the account, with the number of pending orders.",
                "parameters": {"type": "object", "properties": {}},
            },
            "execute_at_market": {
                "description": "Trade at once at the market's price. Only while the market is open.",
                "parameters": {
                    "type": "object",
                    "properties": {"symbol": symbol, "quantity": {"type": "integer"}},
                    "required": ["symbol", "quantity"],
                },
            },
        }

    # -- criteria ----------------------------------------------------------
    def _watched(self, state) -> bool:
        return "NVQ" in state["account"].watchlist

    def _bought(self, state) -> bool:
        return any(
            order.symbol == "NVQ" and order.quantity == 10 and abs(order.limit - 99.5) < 1e-9 and order.side is Side.BUY
            for order in state["new_orders"]
        )

    def _cancelled(self, state) -> bool:
        orders: List[Order] = state["new_orders"]
        return bool(orders) and all(order.status is OrderStatus.CANCELLED for order in orders)

    def _asked(self, state) -> bool:
        if not state["account"].looked:
            return False
        return True

    # -- helpers -----------------------------------------------------------
    def _symbol(self, symbol: str) -> str:
        if symbol not in self._prices:
            raise KeyError(f"unknown symbol {symbol}")
        return symbol

    def _sector_of(self, symbol: str) -> Optional[str]:
        return next((sector for sector, symbols in self.SECTORS.items() if symbol in symbols), None)

    # -- tools -------------------------------------------------------------
    def tool_get_stock_info(self, symbol: str) -> dict:
        symbol = self._symbol(symbol)
        return {"symbol": symbol, "price": self._prices[symbol], "sector": self._sector_of(symbol)}

    def tool_list_sector(self, sector: str) -> list:
        return self.SECTORS[sector]

    def tool_add_to_watchlist(self, symbol: str) -> dict:
        if self._symbol(symbol) in self._account.watchlist:
            raise ValueError(f"{symbol} is on the watchlist already")
        self._account.watchlist.append(symbol)
        return {"watchlist": self._account.watchlist}

    def tool_remove_from_watchlist(self, symbol: str) -> dict:
        self._account.watchlist.remove(symbol)
        return {"watchlist": self._account.watchlist}

    def tool_place_order(self, side: str, symbol: str, quantity: int, limit: float, note: Optional[str] = None) -> dict:
        order = Order(self._next_id, self._symbol(symbol), Side(side), quantity, float(limit), self._clock)
        if order.cost > self._account.balance:
            raise InsufficientFunds(
                f"insufficient funds: {order.cost:.2f} needed, {self._account.balance:.2f} available"
            )
        self._next_id += 1
        self._account.balance -= order.cost
        self._account.orders[order.order_id] = order
        self._state["new_orders"].append(order)
        return order.to_dict()

    def tool_cancel_order(self, order_id: int) -> dict:
        order = self._account.orders[order_id]
        if order.status is not OrderStatus.PENDING:
            raise ValueError(f"order {order_id} is {order.status.value}")
        order.status = OrderStatus.CANCELLED
        self._account.balance += order.cost
        return order.to_dict()

    def tool_list_orders(self, status: Optional[str] = None) -> list:
        return [
            order.to_dict()
            for order in sorted(self._account.orders.values(), key=lambda order: order.order_id)
            if status is None or order.status.value == status
        ]

    def tool_fund_account(self, amount: float) -> dict:
        if amount <= 0:
            raise ValueError("the amount must be positive")
        self._account.balance += float(amount)
        return {"balance": self._account.balance}

    def tool_get_account(self) -> dict:
        self._account.looked = self._current_msg == 3
        pending = sum(order.status is OrderStatus.PENDING for order in self._account.orders.values())
        return {"balance": self._account.balance, "watchlist": self._account.watchlist, "pending_orders": pending}

    def tool_execute_at_market(self, symbol: str, quantity: int) -> dict:
        raise MarketClosed(f"the market opens at {self.OPENING:%H:%M}, it is {self._clock:%H:%M}")

    def solution(self) -> str:
        return (
            "add_to_watchlist('NVQ'); place_order fails for lack of money; fund_account(1000); place_order('buy', 'NVQ', "
            "10, 99.5); cancel_order(4711); get_account(); <answer>done</answer>"
        )
