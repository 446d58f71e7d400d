# Several instructions about a machine with preconditions; its own advance is called by execute_tool; errors are JSON.
# WIN: <tool_call>{"name": "start_engine", "arguments": {"ignition": "START"}}</tool_call>
# SAYS: {"error": "all doors must be locked before the engine starts"}
# WIN: <tool_call>{"name": "lock_doors", "arguments": {"unlock": false, "doors": ["driver", "passenger", "rear_left", "rear_right"]}}</tool_call>\n<tool_call>{"name": "press_brake", "arguments": {"position": 1.0}}</tool_call>\n<tool_call>{"name": "start_engine", "arguments": {"ignition": "START"}}</tool_call>
# SAYS: {"engine": "running"
# SAYS: [STEP 1 COMPLETE — NEW INSTRUCTION] It is cold
# WIN: <tool_call>{"name": "set_climate", "arguments": {"temperature": 72, "unit": "fahrenheit", "fan": "auto"}}</tool_call>
# SAYS: "temperature_celsius": 22.2
# SAYS: [STEP 2 COMPLETE
# WIN: <tool_call>{"name": "check_tires", "arguments": {}}</tool_call>
# SAYS: "front_left": 1.7
# WIN: <tool_call>{"name": "find_stations", "arguments": {"kind": "tire_shop", "limit": 1}}</tool_call>
# SAYS: Nordic Wheels
# WIN: <tool_call>{"name": "navigate_to", "arguments": {"destination": {"name": "Nordic Wheels", "position": [59.91, 10.75]}}}</tool_call>
# SAYS: [ALL STEPS COMPLETE
# WIN: <answer>done</answer>
"""Vehicle control: a simulated car whose controls depend on each other."""
import json
import random
from typing import Dict, List, Literal, Optional, Tuple, Union

DOORS = ("driver", "passenger", "rear_left", "rear_right")
TIRES = ("front_left", "front_right", "rear_left", "rear_right")
Fan = Literal["auto", "low", "high", "off"]


def fahrenheit_to_celsius(value: float) -> float:
    return (value - 32) * 5 / 9


def error(message: str) -> str:
    return json.dumps({"error": message})


class VehicleControlMTEnv(ToolUseBaseEnv):
    """
    Vehicle control with progressive instructions.

    ## State machine
    - The engine starts only while all doors are locked and the brake is pressed.
    - The climate control works only while the engine is running.
    - Navigation needs the engine and a destination that is a known place with its position.

    ## Reward
    1.0 for <answer>done</answer> after all instructions have been satisfied, 0.0 otherwise.

    Skill: Error Recovery
    """

    NOMINAL_PRESSURE = 2.3
    PLACES: Dict[str, Tuple[str, float, float]] = {
        "Nordic Wheels": ("tire_shop", 59.91, 10.75),
        "Rim & Co": ("tire_shop", 59.95, 10.60),
        "Blue Fuel": ("fuel", 59.92, 10.74),
        "City Charge": ("charger", 59.90, 10.73),
        "Harbour Parking": ("parking", 59.905, 10.76),
    }

    def reset(self, seed=None) -> Tuple[str, dict]:
        self.turn_count = 0
        self._call_history = []
        if seed is not None:
            random.seed(seed)
        pressures = {tire: round(random.uniform(2.2, 2.5), 1) for tire in TIRES}
        pressures["front_left"] = 1.7
        self._state = {
            "engine": "stopped",
            "brake": 0.0,
            "parking_brake": True,
            "doors": {door: False for door in DOORS},
            "fuel_liters": round(random.uniform(11.0, 48.0), 1),
            "battery_volts": 12.6,
            "climate": {"temperature": None, "fan": "off"},
            "tires": pressures,
            "checked_tires": False,
            "destination": None,
            "lights": "off",
            "odometer_km": random.randint(9000, 90000),
        }
        self._setup_tools()
        self._setup_messages()
        return (
            f"[USER] {self._user_messages[0]}\n\n(The car has travelled {self._state['odometer_km']} km.)" + self._obs_suffix(),
            {"skill": "Error Recovery"},
        )

    def _setup_tools(self) -> None:
        number = {"type": "number"}
        self._tools = {
            "get_status": {
                "description": "Show one part of the car's status, or all of it.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "part": {
                            "type": "string",
                            "enum": ["engine", "brake", "doors", "climate", "fuel_liters", "battery_volts", "all"],
                            "description": "The part of interest.",
                            "default": "all",
                        }
                    },
                    "required": [],
                },
            },
            "lock_doors": {
                "description": "Lock or unlock doors.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "unlock": {"type": "boolean", "description": "True to unlock, false to lock."},
                        "doors": {
                            "type": "array",
                            "items": {"type": "string", "enum": list(DOORS)},
                            "description": "The doors to act on.",
                        },
                    },
                    "required": ["unlock", "doors"],
                },
            },
            "press_brake": {
                "description": "Press the brake pedal.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "position": {
                            "type": "number",
                            "minimum": 0,
                            "maximum": 1,
                            "description": "How far the pedal is pressed; 1.0 is all the way.",
                        }
                    },
                    "required": ["position"],
                },
            },
            "release_brake": {
                "description": "Release the brake pedal.",
                "parameters": {"type": "object", "properties": {}},
            },
            "start_engine": {
                "description": "Turn the ignition. All doors must be locked and the brake fully pressed.",
                "parameters": {
                    "type": "object",
                    "properties": {"ignition": {"type": "string", "enum": ["START", "STOP"]}},
                    "required": ["ignition"],
                },
            },
            "set_climate": {
                "description": "Set the temperature inside the car.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "temperature": {"type": "number", "description": "The temperature to reach."},
                        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "description": "Unit of it."},
                        "fan": {"type": "string", "enum": ["auto", "low", "high", "off"]},
                    },
                    "required": ["temperature", "unit"],
                },
            },
            "check_tires": {
                "description": "Measure the pressure of every tire, in bar.",
                "parameters": {"type": "object", "properties": {}},
            },
            "find_stations": {
                "description": "Places of a kind, nearest first.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "kind": {"type": "string", "enum": ["fuel", "charger", "tire_shop", "parking"]},
                        "limit": {"type": "integer", "description": "At most so many places.", "default": 3},
                    },
                    "required": ["kind"],
                },
            },
            "navigate_to": {
                "description": "Start navigation to a place.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "destination": {
                            "type": "object",
                            "properties": {
                                "name": {"type": "string"},
                                "position": {"type": "array", "items": number, "minItems": 2, "maxItems": 2},
                            },
                            "required": ["name", "position"],
                        }
                    },
                    "required": ["destination"],
                },
            },
            "set_headlights": {
                "description": "Switch the headlights.",
                "parameters": {
                    "type": "object",
                    "properties": {"mode": {"type": "string", "enum": ["on", "off", "auto"]}},
                    "required": ["mode"],
                },
            },
        }

    def _setup_messages(self) -> None:
        self._user_messages = [
            "Hi! We are about to leave. Would you start the engine? Mind that everything has to be secured for that.",
            "It is cold in here. 72 degrees Fahrenheit would be perfect.",
            "The car pulls to the left. Check the tires, and if one is below 2.0 bar bring us to the nearest tire shop.",
        ]

        def engine_runs(state) -> bool:
            return state["engine"] == "running"

        def is_warm(state) -> bool:
            wanted = fahrenheit_to_celsius(72)
            return state["climate"]["temperature"] is not None and abs(state["climate"]["temperature"] - wanted) < 0.1

        def is_going(state) -> bool:
            return state["checked_tires"] and state["destination"] == "Nordic Wheels"

        self._message_criteria = [engine_runs, is_warm, is_going]
        self._current_msg = 0
        self._expected_answer = "done"

    # ------------------------------------------------------------------
    # The next instruction is told once after each call, whatever the tool
    # ------------------------------------------------------------------
    def execute_tool(self, name: str, arguments: dict) -> dict:
        result = super().execute_tool(name, arguments)
        result["output"] += self._advance_if_done()
        return result

    def _advance_if_done(self) -> str:
        if self._current_msg >= len(self._user_messages):
            return ""
        try:
            satisfied = self._message_criteria[self._current_msg](self._state)
        except Exception:
            satisfied = False
        if not satisfied:
            return ""
        self._current_msg += 1
        if self._current_msg >= len(self._user_messages):
            return "\n\n[ALL STEPS COMPLETE] Submit <answer>done</answer>."
        return f"\n\n[STEP {self._current_msg} COMPLETE — NEW INSTRUCTION] {self._user_messages[self._current_msg]}"

    def _check_answer(self, answer: str) -> bool:
        return answer.strip().lower().rstrip(".") == "done" and self._current_msg >= len(self._user_messages)

    @property
    def _secured(self) -> bool:
        return all(self._state["doors"].values())

    @classmethod
    def _distance(cls, name: str) -> float:
        _, latitude, longitude = cls.PLACES[name]
        return ((latitude - 59.91) ** 2 + (longitude - 10.74) ** 2) ** 0.5

    # ------------------------------------------------------------------
    # Tools
    # ------------------------------------------------------------------
    def tool_get_status(self, part: str = "all") -> str:
        if part == "all":
            hidden = {"tires", "checked_tires", "destination"}
            return json.dumps({key: value for key, value in self._state.items() if key not in hidden})
        return json.dumps({part: self._state[part]})

    def tool_lock_doors(self, unlock: bool, doors: List[str]) -> str:
        unknown = [door for door in doors if door not in DOORS]
        if unknown:
            return error(f"unknown doors: {', '.join(unknown)}")
        for door in doors:
            self._state["doors"][door] = not unlock
        remaining = [door for door, locked in self._state["doors"].items() if not locked]
        return json.dumps({"lock_status": "unlocked" if unlock else "locked", "unlocked_doors": remaining})

    def tool_press_brake(self, position: Union[int, float] = 1.0) -> str:
        if not 0 <= position <= 1:
            return error("the position must be between 0 and 1")
        self._state["brake"] = float(position)
        return json.dumps({"brake": self._state["brake"]})

    def tool_release_brake(self) -> str:
        self._state["brake"] = 0.0
        return json.dumps({"brake": 0.0})

    def tool_start_engine(self, ignition: str) -> str:
        if ignition == "STOP":
            self._state["engine"] = "stopped"
            return json.dumps({"engine": "stopped"})
        if not self._secured:
            return error("all doors must be locked before the engine starts")
        if self._state["brake"] < 1.0:
            return error("the brake must be fully pressed before the engine starts")
        self._state["engine"] = "running"
        return json.dumps({"engine": "running", "fuel_liters": self._state["fuel_liters"]})

    def tool_set_climate(self, temperature: float, unit: str, fan: Optional[Fan] = "auto") -> str:
        if self._state["engine"] != "running":
            return error("the climate control needs a running engine")
        celsius = fahrenheit_to_celsius(temperature) if unit == "fahrenheit" else temperature
        if not 15 <= celsius <= 30:
            return error(f"{celsius:.1f} degrees Celsius is out of range")
        self._state["climate"] = {"temperature": celsius, "fan": fan}
        return json.dumps({"temperature_celsius": round(celsius, 1), "fan": fan})

    def tool_check_tires(self) -> str:
        self._state["checked_tires"] = True
        low = [tire for tire, bar in self._state["tires"].items() if bar < 2.0]
        return json.dumps({**self._state["tires"], "nominal": self.NOMINAL_PRESSURE, "low": low})

    def tool_find_stations(self, kind: str, limit: int = 3) -> str:
        names = sorted((name for name, place in self.PLACES.items() if place[0] == kind), key=self._distance)
        return json.dumps([{"name": name, "position": list(self.PLACES[name][1:])} for name in names[:limit]])

    def tool_navigate_to(self, destination: dict) -> str:
        if self._state["engine"] != "running":
            return error("navigation needs a running engine")
        name, position = destination["name"], destination["position"]
        if name not in self.PLACES or list(self.PLACES[name][1:]) != [float(x) for x in position]:
            return error(f"{name} is not at {position}")
        self._state["destination"] = name
        return json.dumps({"navigating_to": name, "distance_km": round(111 * self._distance(name), 1)})

    def tool_set_headlights(self, mode: str) -> str:
        self._state["lights"] = mode
        return json.dumps({"lights": mode})

    def solution(self) -> str:
        return "lock all doors, press the brake, start; set_climate(72, fahrenheit); check_tires, find_stations, navigate_to"
