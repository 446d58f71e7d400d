# Several instructions without a helper of its own: the base tells the next one. Lists and nulls as arguments.
# WIN: <tool_call>{"name": "create_event", "arguments": {"title": "Review", "day": "2026-05-04", "start": "10:00", "minutes": 60, "attendees": ["Sam", "Kim"]}}</tool_call>
# SAYS: Error calling create_event: Kim is busy
# WIN: <tool_call>{"name": "find_free_slot", "arguments": {"day": "2026-05-04", "minutes": 60, "attendees": ["Sam", "Kim"], "not_before": null}}</tool_call>
# SAYS: 11:30
# WIN: <tool_call>{"name": "create_event", "arguments": {"title": "Review", "day": "2026-05-04", "start": "11:30", "minutes": 60, "attendees": ["Sam", "Kim"]}}</tool_call>
# SAYS: NEW INSTRUCTION] Lena should come too
# WIN: <tool_call>{"name": "update_event", "arguments": {"event_id": "EV-100", "changes": {"attendees": ["Sam", "Kim", "Lena"], "room": "Fjord"}}}</tool_call>
# SAYS: NEW INSTRUCTION] Something came up
# WIN: <answer>done</answer>
# SAYS: You are at step 3 of 4: Something came up
# WIN: <tool_call>{"name": "update_event", "arguments": {"event_id": "EV-100", "changes": {"day": "2026-05-06"}}}</tool_call>
# SAYS: NEW INSTRUCTION] Remind everybody
# WIN: <tool_call>{"name": "send_reminder", "arguments": {"event_id": "EV-100", "minutes_before": 15}}</tool_call>
# SAYS: ALL STEPS COMPLETE
# WIN: <answer>done</answer>
import random
from datetime import date, datetime, time, timedelta
from typing import Any, Dict, List, Optional, Tuple


def parse_time(text: str) -> time:
    """'10:30' as a time."""
    return datetime.strptime(text, "%H:%M").time()


def minutes_of(moment: time) -> int:
    return moment.hour * 60 + moment.minute


def clock(minutes: int) -> str:
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


class Person:
    """Someone with a calendar of busy spans, in minutes since midnight, for each day."""

    def __init__(self, name: str, city: str):
        self.name, self.city = name, city
        self.busy: Dict[date, List[Tuple[int, int, str]]] = {}

    def book(self, day: date, start: int, end: int, label: str) -> None:
        self.busy.setdefault(day, []).append((start, end, label))
        self.busy[day].sort()

    def release(self, label: str) -> None:
        for day in self.busy:
            self.busy[day] = [span for span in self.busy[day] if span[2] != label]

    def conflict(self, day: date, start: int, end: int, ignoring: str = "") -> Optional[str]:
        for from_, to, label in self.busy.get(day, []):
            if label != ignoring and start < to and from_ < end:
                return label
        return None

    def __repr__(self):
        return f"Person({self.name!r})"


class Event:
    def __init__(self, event_id: str, title: str, day: date, start: int, minutes: int, attendees: List[str]):
        self.event_id, self.title, self.day = event_id, title, day
        self.start, self.minutes, self.attendees = start, minutes, list(attendees)
        self.room: Optional[str] = None
        self.reminder: Optional[int] = None

    @property
    def end(self) -> int:
        return self.start + self.minutes

    def __str__(self):
        where = f" in {self.room}" if self.room else ""
        return (
            f"{self.event_id} '{self.title}' on {self.day.isoformat()} {clock(self.start)}-{clock(self.end)}{where} "
            f"with {', '.join(self.attendees)}"
        )


class CalendarAssistantMTEnv(ToolUseBaseEnv):
    """
    Calendar assistant: schedule a meeting, change it twice, and send a reminder.

    People have appointments that the agent cannot see at once: a meeting may only be booked into time that is free
    for all attendees. The user's instructions arrive one at a time.

    Skill: Multi-Step Workflows
    """

    def reset(self, seed=None):
        self.turn_count = 0
        self._call_history = []
        rng = random.Random(seed)
        self.people = {
            "Sam": Person("Sam", "Oslo"),
            "Kim": Person("Kim", "Oslo"),
            "Lena": Person("Lena", "Turku"),
            "Ravi": Person("Ravi", "Pune"),
        }
        self.rooms = {"Fjord": 6, "Harbour": 3, "Attic": 2}
        monday = date(2026, 5, 4)
        self.people["Kim"].book(monday, 9 * 60, 11 * 60 + 30, "training")
        self.people["Sam"].book(monday, 9 * 60, 9 * 60 + 45, "dentist")
        self.people["Ravi"].book(monday, 8 * 60, 17 * 60, rng.choice(["holiday", "sick leave", "workshop"]))
        for offset in range(1, 5):
            who = rng.choice(["Ravi", "Sam"])
            self.people[who].book(monday + timedelta(days=offset), 15 * 60, 16 * 60, rng.choice(["call", "gym", "interview"]))
        self.events: Dict[str, Event] = {}
        self._counter = 100
        self._state = {"events": self.events, "people": self.people}

        text = {"type": "string"}
        names = {"type": "array", "items": {"type": "string"}, "description": "First names."}
        day = {"type": "string", "format": "date", "description": "A day as YYYY-MM-DD."}
        hour = {"type": "string", "description": "A time of day as HH:MM."}
        self._tools = {
            "list_people": {
                "description": "Everybody in the address book, with the city where they work.",
                "parameters": {"type": "object", "properties": {}},
            },
            "list_rooms": {
                "description": "Rooms and how many people they hold.",
                "parameters": {"type": "object", "properties": {}},
            },
            "list_events": {
                "description": "The meetings that were created here, all of them or those of one day.",
                "parameters": {"type": "object", "properties": {"day": day}},
            },
            "get_busy_times": {
                "description": "When a person is busy on a day.",
                "parameters": {"type": "object", "properties": {"name": text, "day": day}, "required": ["name", "day"]},
            },
            "find_free_slot": {
                "description": "The earliest start on a day, between 09:00 and 17:00, when all attendees are free.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "day": day,
                        "minutes": {"type": "integer", "description": "Length of the meeting."},
                        "attendees": names,
                        "not_before": {"type": ["string", "null"], "description": "Earliest start as HH:MM, or null."},
                    },
                    "required": ["day", "minutes", "attendees"],
                },
            },
            "create_event": {
                "description": "Create a meeting. Fails if an attendee is busy.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "title": text,
                        "day": day,
                        "start": hour,
                        "minutes": {"type": "integer", "minimum": 15, "maximum": 480},
                        "attendees": names,
                    },
                    "required": ["title", "day", "start", "minutes", "attendees"],
                },
            },
            "update_event": {
                "description": "Change a meeting. Only the named fields change.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "event_id": text,
                        "changes": {
                            "type": "object",
                            "description": "The new values.",
                            "properties": {
                                "title": text,
                                "day": day,
                                "start": hour,
                                "minutes": {"type": "integer"},
                                "attendees": names,
                                "room": text,
                            },
                            "additionalProperties": False,
                        },
                    },
                    "required": ["event_id", "changes"],
                },
            },
            "delete_event": {
                "description": "Delete a meeting.",
                "parameters": {"type": "object", "properties": {"event_id": text}, "required": ["event_id"]},
            },
            "send_reminder": {
                "description": "Send a reminder to all attendees some minutes before a meeting.",
                "parameters": {
                    "type": "object",
                    "properties": {"event_id": text, "minutes_before": {"type": "integer", "enum": [5, 15, 30, 60]}},
                    "required": ["event_id", "minutes_before"],
                },
            },
        }

        def review(state) -> Optional[Event]:
            return next((event for event in state["events"].values() if event.title.lower() == "review"), None)

        self._user_messages = [
            "Please set up a one-hour meeting called 'Review' with Sam and Kim on Monday, 4 May 2026, at 10:00 or, if that "
            "does not work, as early as they can.",
            "Lena should come too, and we need a room for all of us: take one that is large enough.",
            "Something came up. Move the review to Wednesday of the same week, same time.",
            "Remind everybody a quarter of an hour before.",
        ]
        self._message_criteria = [
            lambda s: review(s) is not None and review(s).start == 11 * 60 + 30 and set(review(s).attendees) == {"Sam", "Kim"},
            lambda s, wanted={"Sam", "Kim", "Lena"}: set(review(s).attendees) == wanted and review(s).room == "Fjord",
            lambda s, when=monday + timedelta(days=2): review(s).day == when and review(s).start == 11 * 60 + 30,
            lambda s: review(s).reminder == 15,
        ]
        self._current_msg = 0
        self._expected_answer = "done"
        return self._user_messages[0], {"events": 0}

    # Lookups raise, and the agent reads the reason.
    def _person(self, name: str) -> Person:
        if name not in self.people:
            raise ValueError(f"nobody is called {name}; there are {', '.join(self.people)}")
        return self.people[name]

    def _event(self, event_id: str) -> Event:
        if event_id not in self.events:
            raise ValueError(f"there is no event {event_id}")
        return self.events[event_id]

    def _require_free(self, day: date, start: int, end: int, attendees: List[str], ignoring: str = "") -> None:
        for name in attendees:
            label = self._person(name).conflict(day, start, end, ignoring)
            if label:
                raise ValueError(f"{name} is busy then ({label})")

    def tool_list_people(self):
        return "\n".join(f"{person.name} ({person.city})" for person in self.people.values())

    def tool_list_rooms(self):
        return self.rooms

    def tool_list_events(self, day=None):
        shown = [str(event) for event in self.events.values() if day is None or event.day.isoformat() == day]
        return "\n".join(shown) or "no events"

    def tool_get_busy_times(self, name, day):
        spans = self._person(name).busy.get(date.fromisoformat(day), [])
        return ", ".join(f"{clock(a)}-{clock(b)} {label}" for a, b, label in spans) or "free all day"

    def tool_find_free_slot(self, day, minutes, attendees, not_before=None):
        when = date.fromisoformat(day)
        first = max(9 * 60, minutes_of(parse_time(not_before))) if not_before is not None else 9 * 60
        for start in range(first, 17 * 60 - minutes + 1, 15):
            if not any(self._person(name).conflict(when, start, start + minutes) for name in attendees):
                return clock(start)
        return "none"

    def tool_create_event(self, title, day, start, minutes, attendees):
        when, first = date.fromisoformat(day), minutes_of(parse_time(start))
        self._require_free(when, first, first + minutes, attendees)
        event = Event(f"EV-{self._counter}", title, when, first, minutes, attendees)
        self._counter += 1
        self.events[event.event_id] = event
        for name in attendees:
            self._person(name).book(when, event.start, event.end, event.event_id)
        return f"created {event}"

    def tool_update_event(self, event_id, changes: Dict[str, Any]):
        event = self._event(event_id)
        day = date.fromisoformat(changes["day"]) if "day" in changes else event.day
        start = minutes_of(parse_time(changes["start"])) if "start" in changes else event.start
        minutes = changes.get("minutes", event.minutes)
        attendees = changes.get("attendees", event.attendees)
        room = changes.get("room", event.room)
        if room is not None and self.rooms.get(room, 0) < len(attendees):
            raise ValueError(f"{room} does not hold {len(attendees)} people")
        self._require_free(day, start, start + minutes, attendees, ignoring=event_id)
        for person in self.people.values():
            person.release(event_id)
        event.title = changes.get("title", event.title)
        event.day, event.start, event.minutes, event.attendees, event.room = day, start, minutes, list(attendees), room
        for name in event.attendees:
            self._person(name).book(event.day, event.start, event.end, event_id)
        return f"changed {event}"

    def tool_delete_event(self, event_id):
        event = self._event(event_id)
        for person in self.people.values():
            person.release(event_id)
        del self.events[event_id]
        return f"deleted {event.title}"

    def tool_send_reminder(self, event_id, minutes_before):
        self._event(event_id).reminder = minutes_before
        return f"a reminder goes to {', '.join(self._event(event_id).attendees)} {minutes_before} minutes before"

    def solution(self):
        return (
            "find_free_slot gives 11:30 because Kim is in a training; create_event there; update_event with Lena and the room "
            "Fjord, which holds three; update_event to 2026-05-06; send_reminder 15; <answer>done</answer>"
        )


if __name__ == "__main__":
    env = CalendarAssistantMTEnv()
    print(env.reset(seed=1)[0])
    print(env.step('<tool_call>{"name": "list_people", "arguments": {}}</tool_call>')[0])
