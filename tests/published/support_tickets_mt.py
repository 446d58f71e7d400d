# Six instructions, one of which no tool can satisfy; two are satisfied by one call; the answer is told in another case.
# WIN: <tool_call>{"name": "login", "arguments": {"username": "ops", "password": "wrong"}}</tool_call>
# SAYS: Error: wrong username or password
# WIN: <tool_call>{"name": "login", "arguments": {"username": "ops", "password": "7-sails"}}</tool_call>
# SAYS: STEP 1 COMPLETE
# WIN: <tool_call>{"name": "search_tickets", "arguments": {"status": "open", "text": "printer"}}</tool_call>
# SAYS: #41
# WIN: <tool_call>{"name": "assign_ticket", "arguments": {"ticket_id": 41, "agent": "Ravi", "priority": "urgent"}}</tool_call>
# SAYS: STEP 3 COMPLETE
# SAYS: What will the weather be
# WIN: <tool_call>{"name": "decline_request", "arguments": {"reason": "no tool tells the weather"}}</tool_call>
# SAYS: STEP 4 COMPLETE
# WIN: <tool_call>{"name": "merge_tickets", "arguments": {"keep": 41, "duplicates": [44, 45]}}</tool_call>
# SAYS: merged #44, #45 into #41
# WIN: <tool_call>{"name": "add_comment", "arguments": {"ticket_id": 41, "body": "Ravi – l'imprimante est en panne ☎", "public": true}}</tool_call>
# SAYS: ALL STEPS COMPLETE
# WIN: <answer> DONE </answer>
import itertools
import random
import re
from collections import Counter, defaultdict
from typing import Any, Dict, Iterable, List, Optional

STATUSES = ["open", "waiting", "closed"]
PRIORITIES = ["low", "normal", "high", "urgent"]
SUBJECTS = [
    "cannot sign in after the password reset",
    "invoice shows the wrong address",
    "screen flickers when docked",
    "request for a second monitor",
    "VPN drops every hour",
    "shared folder is read-only",
    "laptop fan is loud",
    "e-mail signature has the old logo",
    "meeting room display has no sound",
    "phone does not ring",
]


def make_tickets(rng: random.Random) -> Dict[int, Dict[str, Any]]:
    """Thirty tickets, three of which are about the printer."""
    tickets: Dict[int, Dict[str, Any]] = {}
    for number in range(30, 60):
        tickets[number] = {
            "subject": rng.choice(SUBJECTS),
            "status": rng.choice(STATUSES),
            "priority": rng.choice(PRIORITIES[:3]),
            "agent": rng.choice([None, "Mia", "Noor"]),
            "requester": f"user{rng.randint(100, 999)}@example.com",
            "tags": set(rng.sample(["hardware", "software", "network", "billing"], 2)),
            "comments": [],
            "merged_into": None,
        }
    for number, subject in {
        41: "the printer on floor 2 does not print",
        44: "Printer!!!",
        45: "floor 2: printer is broken",
    }.items():
        tickets[number].update(subject=subject, status="open", priority="normal", agent=None, tags={"hardware"})
    return tickets


def show(number: int, ticket: Dict[str, Any]) -> str:
    return (
        f"#{number} [{ticket['status']}, {ticket['priority']}] {ticket['subject']} "
        f"(agent: {ticket['agent'] or 'nobody'}; tags: {', '.join(sorted(ticket['tags']))})"
    )


class SupportTicketsMTEnv(ToolUseBaseEnv):
    """
    A help desk behind a login.

    Everything but the login fails until somebody is signed in. Instructions follow each other, one of them asks for
    something that no tool provides and has to be declined, and one call may satisfy two instructions at once.

    Skill: Tool Selection
    """

    def __init__(self, max_turns: int = 16):
        self._agents = ("Mia", "Noor", "Ravi")
        super().__init__(max_turns=max_turns)

    def reset(self, seed=None):
        self.turn_count = 0
        self._call_history = []
        self.rng = random.Random(0 if seed is None else seed)
        self._state = {
            "tickets": make_tickets(self.rng),
            "session": None,
            "failed_logins": 0,
            "declined": [],
            "audit": defaultdict(list),
        }
        self._ids = itertools.count(1)
        self._tools = {}
        self._register(
            "login",
            "Sign in to the help desk.",
            username=("string", "The name of the account."),
            password=("string", "Its password."),
        )
        self._register(
            "search_tickets",
            "Tickets that match all of the given conditions.",
            required=[],
            status=("string", "Only tickets of this status.", STATUSES),
            text=("string", "Only tickets whose subject contains this text, whatever the case."),
            agent=("string", "Only tickets of this agent."),
            limit=("integer", "At most so many tickets; 10 if not given."),
        )
        self._register("get_ticket", "One ticket, with its comments.", ticket_id=("integer", "Number of the ticket."))
        self._register(
            "assign_ticket",
            "Give a ticket to an agent, and set its priority if one is given.",
            required=["ticket_id", "agent"],
            ticket_id=("integer", "Number of the ticket."),
            agent=("string", "First name of the agent.", list(self._agents)),
            priority=("string", "The new priority.", PRIORITIES),
        )
        self._register(
            "set_status",
            "Change the status of a ticket.",
            ticket_id=("integer", "Number of the ticket."),
            status=("string", "The new status.", STATUSES),
        )
        self._register(
            "add_comment",
            "Write a comment below a ticket.",
            required=["ticket_id", "body"],
            ticket_id=("integer", "Number of the ticket."),
            body=("string", "The text."),
            public=("boolean", "Whether the requester sees it; false if not given."),
        )
        self._register(
            "merge_tickets",
            "Merge duplicates into one ticket. The duplicates are closed.",
            keep=("integer", "Number of the ticket that stays."),
            duplicates=("array", "Numbers of the others."),
        )
        self._register("ticket_statistics", "How many tickets there are of each status and priority.")
        self._register(
            "decline_request", "Tell the user that a request cannot be met.", reason=("string", "Why it cannot be met.")
        )
        self._user_messages = [
            "Sign in as 'ops', please. The password is '7-sails'.",
            "Somebody said that the printer on floor 2 is broken. Give the first ticket about it to Ravi.",
            "It should be urgent as well.",
            "What will the weather be tomorrow in Bergen?",
            "Never mind. Tickets 44 and 45 are about the same printer: merge them into Ravi's.",
            "Finally, leave a comment there that the requester can see, with Ravi's name in it.",
        ]
        self._message_criteria = [
            lambda state: state["session"] == "ops",
            lambda state: state["tickets"][41]["agent"] == "Ravi",
            lambda state: state["tickets"][41]["priority"] == "urgent",
            lambda state: any(step == 3 for step, _ in state["declined"]),
            lambda state: all(state["tickets"][n]["merged_into"] == 41 for n in (44, 45)),
            lambda state: any(c["public"] and "Ravi" in c["body"] for c in state["tickets"][41]["comments"]),
        ]
        self._current_msg = 0
        self._expected_answer = "done"
        return (f"User: {self._user_messages[0]}", {"tickets": len(self._state["tickets"])})

    def _register(self, name: str, description: str, required: Optional[Iterable[str]] = None, **arguments) -> None:
        properties = {}
        for argument, (kind, text, *choices) in arguments.items():
            properties[argument] = {"type": kind, "description": text}
            if choices:
                properties[argument]["enum"] = choices[0]
            if kind == "array":
                properties[argument]["items"] = {"type": "integer"}
        self._tools[name] = {
            "description": description,
            "parameters": {
                "type": "object",
                "properties": properties,
                "required": list(arguments if required is None else required),
            },
        }

    def _advance_if_done(self) -> str:
        text = ""
        while self._current_msg < len(self._user_messages):
            if not self._message_criteria[self._current_msg](self._state):
                break
            self._current_msg += 1
            text += f"\n\n[STEP {self._current_msg} COMPLETE"
            if self._current_msg == len(self._user_messages):
                text += "]\n\n[ALL STEPS COMPLETE] Submit <answer>done</answer>."
            else:
                text += f" — NEW INSTRUCTION] {self._user_messages[self._current_msg]}"
        return text

    def _reply(self, text: str) -> str:
        return text + self._advance_if_done()

    def _check_answer(self, answer: str) -> bool:
        return answer.strip().casefold() == "done" and self._current_msg == len(self._user_messages)

    def _incorrect_answer_feedback(self) -> str:
        return f"There is still something to do: {self._user_messages[min(self._current_msg, len(self._user_messages) - 1)]}"

    def _need_session(self) -> Optional[str]:
        return None if self._state["session"] else "Error: sign in first"

    def tool_login(self, username: str, password: str) -> str:
        if (username, password) != ("ops", "7-sails"):
            self._state["failed_logins"] += 1
            return self._reply("Error: wrong username or password")
        self._state["session"] = username
        return self._reply(f"signed in as {username}")

    def tool_search_tickets(self, status=None, text=None, agent=None, limit=10) -> str:
        if problem := self._need_session():
            return self._reply(problem)
        found: List[str] = []
        for number, ticket in sorted(self._state["tickets"].items()):
            if status is not None and ticket["status"] != status:
                continue
            if text is not None and not re.search(re.escape(text), ticket["subject"], re.IGNORECASE):
                continue
            if agent is not None and ticket["agent"] != agent:
                continue
            found.append(show(number, ticket))
        more = f"\n({len(found) - limit} more)" if len(found) > limit else ""
        return self._reply("\n".join(found[:limit]) + more if found else "no ticket matches")

    def tool_get_ticket(self, ticket_id: int) -> str:
        if problem := self._need_session():
            return self._reply(problem)
        ticket = self._state["tickets"].get(ticket_id)
        if ticket is None:
            return self._reply(f"Error: no ticket #{ticket_id}")
        comments = "".join(f"\n  {c['id']}. {c['body']}" for c in ticket["comments"])
        return self._reply(show(ticket_id, ticket) + (comments or "\n  no comments"))

    def tool_assign_ticket(self, ticket_id: int, agent: str, priority: Optional[str] = None) -> str:
        if problem := self._need_session():
            return self._reply(problem)
        ticket = self._state["tickets"].get(ticket_id)
        if ticket is None or ticket["status"] == "closed":
            return self._reply(f"Error: no open ticket #{ticket_id}")
        ticket["agent"] = agent
        if priority is not None:
            ticket["priority"] = priority
        self._state["audit"][ticket_id].append(("assign", agent, priority))
        return self._reply(show(ticket_id, ticket))

    def tool_set_status(self, ticket_id: int, status: str) -> str:
        if problem := self._need_session():
            return self._reply(problem)
        self._state["tickets"][ticket_id]["status"] = status
        self._state["audit"][ticket_id].append(("status", status))
        return self._reply(f"#{ticket_id} is {status}")

    def tool_add_comment(self, ticket_id: int, body: str, public: bool = False) -> str:
        if problem := self._need_session():
            return self._reply(problem)
        comment = {"id": next(self._ids), "body": body, "public": public}
        self._state["tickets"][ticket_id]["comments"].append(comment)
        return self._reply(f"comment {comment['id']} on #{ticket_id}: {body}")

    def tool_merge_tickets(self, keep: int, duplicates: List[int]) -> str:
        if problem := self._need_session():
            return self._reply(problem)
        tickets = self._state["tickets"]
        if keep in duplicates or any(number not in tickets for number in [keep, *duplicates]):
            return self._reply("Error: unknown tickets, or a ticket merged into itself")
        for number in duplicates:
            tickets[number].update(merged_into=keep, status="closed")
            tickets[keep]["tags"] |= tickets[number]["tags"]
        return self._reply(f"merged {', '.join(f'#{n}' for n in duplicates)} into #{keep}")

    def tool_ticket_statistics(self) -> str:
        tickets = self._state["tickets"].values()
        counts = Counter(f"{t['status']}/{t['priority']}" for t in tickets)
        return self._reply(", ".join(f"{key}: {count}" for key, count in sorted(counts.items())))

    def tool_decline_request(self, reason: str) -> str:
        self._state["declined"].append((self._current_msg, reason))
        return self._reply("The user was told.")

    def solution(self) -> str:
        return (
            "login, search for the printer, assign_ticket(41, Ravi, urgent), decline the question about the weather, "
            "merge_tickets(41, [44, 45]), add_comment(41, ..., public), <answer>done</answer>"
        )
