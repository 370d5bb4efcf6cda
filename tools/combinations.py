"""The page of compatible parts of a scenario: the simulator checks every pair."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any, TypeAlias

import xoff
from xoff import _core

Table: TypeAlias = dict[str, Any]

# The scenario to which a pair of parts is added.
_BASE: Table = {
    "network": {
        "leaf_spine": {"leaves": 2, "spines": 2, "hosts_per_leaf": 2, "link": {"rate": "100Gbps", "delay": "1us"}}
    },
    "workload": [{"incast": {"senders": [1, 2, 3], "receiver": 0, "size": "100KB"}}],
}
# Required values of a part without defaults.
_NEEDS: dict[str, Table] = {
    "switch.ecn": {"step": {"threshold": "50KB"}},
    "switch.trimming": {"limit": "50KB"},
    "switch.flow_control.pfc": {"xoff": "75KB"},
    "switch.flow_control.sfc": {"threshold": "20KB", "pause": "10us"},
    "switch.flow_control.portfc": {"xoff": "75KB"},
}
# Additional settings of a part, unless the other part excludes them.
_BESIDE: dict[str, Table] = {
    "switch.flow_control.congestion_isolation": {"switch": {"classes": 2}},
    "host.congestion_control.rccc": {"host": {"transport": {"selective": {}}}},
}
# Settings that are not tables, as parts.
_SETTINGS: dict[str, Table] = {
    "switch.queueing = voq": {"switch": {"queueing": "voq"}},
    "switch.queueing = iq": {"switch": {"queueing": "iq"}},
    "switch.buffer.shared": {"switch": {"buffer": {"shared": {"total": "2MB"}}}},
}
# Keys that are also words of messages.
_WORDS = ("raw", "shared", "ndp")
_GROUPS = ("switch.flow_control", "switch.routing", "host.transport", "host.congestion_control")

_INTRODUCTION = """# What combines with what

Written by `make generate`, which asks the simulator about every pair of parts; do not edit. A dot says that a scenario
may have both, a number that it may not, and below is why. Three or more parts combine where each pair of them does,
unless `xoff check` knows a reason: it says so, with the key. What a part does not do beside another is in
[limitations](../limitations.md).

"""


def page() -> str:
    """Returns the page: a matrix over all parts, and the reasons."""
    parts = _parts()
    reasons: dict[str, int] = {}
    cells = {pair: _number(_refused(*pair), reasons) for pair in itertools.combinations(parts, 2)}
    columns = range(1, len(parts))
    lines = ["| | part | " + " | ".join(map(str, columns)) + " |", "|---|---|" + "---|" * len(columns)]
    for row, name in enumerate(parts):
        found = [cells[parts[column], name] for column in range(row)]
        lines.append(f"| {row + 1} | `{name}` | " + " | ".join(found + [""] * (len(columns) - row)) + " |")
    why = [f"{number}. {reason}" for reason, number in reasons.items()]
    return _INTRODUCTION + "\n".join(lines) + "\n\n## Why not\n\n" + "\n".join(why) + "\n"


def _parts() -> list[str]:
    schema: Table = json.loads(_core.schema())

    def at(path: str) -> Table:
        here = schema
        for key in path.split("."):
            here = here["properties"][key]
            here = next((one for one in here.get("anyOf", ()) if one.get("type") != "null"), here)
            if "$ref" in here:
                here = schema["$defs"][here["$ref"].rpartition("/")[2]]
        return here

    listed = [f"{group}.{key}" for group in _GROUPS for key in at(group)["properties"] if key != "plugins"]
    return ["switch.cut_through", "switch.ecn", "switch.telemetry", "switch.trimming", *listed, *_SETTINGS]


def _refused(one: str, other: str) -> str | None:
    """Returns the reason why a scenario cannot have both parts; None if both are allowed."""
    scenario = _BASE
    for part, beside in ((one, other), (other, one)):
        scenario = _merged(scenario, _SETTINGS.get(part) or _nested(part, _NEEDS.get(part, {})))
        wanted = _BESIDE.get(part, {})
        if not any(beside.startswith(f"{section}.{key}") for section, table in wanted.items() for key in table):
            scenario = _merged(scenario, wanted)
    try:
        xoff.check(scenario)
    except xoff.InputError as error:
        return _of_any(str(error).splitlines()[0], one, other)
    return None


def _of_any(message: str, one: str, other: str) -> str:
    """Returns a message without the key and the names of the parts, for use by several pairs."""
    key, _, reason = message.partition(": ")
    if " are given; " in reason:
        # The message is about the keys of a table that allows one.
        return reason.partition("; ")[2].capitalize() + "."
    if key.startswith(other):
        one, other = other, one
    # Without one of the two the reason is gone.
    reason = re.sub(rf"; remove ({re.escape(one)}|{re.escape(other)})$", "; remove one of the two", reason)
    for part, name in ((one, "it"), (other, "the other")):
        key = part.rpartition(".")[2]
        if key not in _WORDS:
            reason = re.sub(rf"\b{re.escape(key)}\b(?! are|[.,])", name, reason, count=1)
    return reason[0].upper() + reason[1:] + "."


def _number(reason: str | None, reasons: dict[str, int]) -> str:
    return "·" if reason is None else str(reasons.setdefault(reason, len(reasons) + 1))


def _nested(path: str, value: Table) -> Table:
    for key in reversed(path.split(".")):
        value = {key: value}
    return value


def _merged(one: Table, other: Table) -> Table:
    both = dict(one)
    for key, value in other.items():
        both[key] = _merged(both[key], value) if isinstance(value, dict) and isinstance(both.get(key), dict) else value
    return both
