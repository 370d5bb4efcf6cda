"""Choices offered by the schema of scenarios."""

import json
from typing import Any

from xoff import _core

SCHEMA: dict[str, Any] = json.loads(_core.schema())

# Places of the schema with a choice among registered components.
CHOICES = [
    "network",
    "switch.queueing",
    "switch.buffer",
    "switch.scheduler",
    "switch.ecn",
    "switch.ecn.scope",
    "switch.ecn.red.above",
    "switch.trimming",
    "switch.flow_control",
    "switch.routing",
    "switch.routing.spray.choice",
    "switch.flow_control.pfc.accounting",
    "switch.flow_control.pfc.relays",
    "switch.flow_control.pfc.watchdog.action",
    "switch.flow_control.bfc.resume",
    "switch.flow_control.credits.scheme",
    "switch.flow_control.sfc.mode",
    "switch.flow_control.sfc.hold",
    "switch.flow_control.sfc.signals",
    "switch.flow_control.sfc.resume_ends",
    "switch.flow_control.sfc.fallback",
    "switch.flow_control.congestion_isolation.mark",
    "switch.flow_control.congestion_isolation.above",
    "host.transport",
    "host.first_hop",
    "host.relay.scheduler",
    "host.congestion_control",
    "host.congestion_control.dcqcn.preset",
    "host.congestion_control.dcqcn.cnp",
    "workload",
    "workload.connections",
    "workload.poisson.sizes",
    "workload.collective.operation",
    "workload.collective.algorithm",
]
# Keys of a table outside its choices.
BESIDE = {
    "network": {"planes", "overrides", "failover", "link_retry", "reducers", "servers"},
    # The rows of `python` are those of `table`, which is drawn; `tests/python/test_functions.py` holds both equal.
    "workload": {"name", "start", "class", "connections", "connections_per_channel", "nccl", "python"},
    "switch.ecn": {"scope", "classes"},
    # A class in Python needs permission; `tests/python/test_python_controls.py` holds a class equal to `dctcp`.
    "host.congestion_control": {"python"},
}


def part(path: str) -> dict[str, Any]:
    """The schema of a key, without the null of an absent key."""
    at = SCHEMA
    for key in filter(None, path.split(".")):
        at = resolved(at["properties"][key])
    return at


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """Follows references, lists and optional values to the schema of the value."""
    if "$ref" in schema:
        return resolved(SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]])
    if "anyOf" in schema:
        return resolved(next(one for one in schema["anyOf"] if one.get("type") != "null"))
    return resolved(schema["items"]) if "items" in schema else schema


def registered(path: str) -> list[str]:
    """The options of a place, according to the schema."""
    schema = part(path)
    if "oneOf" in schema:
        return [one["const"] if "const" in one else next(iter(one["properties"])) for one in schema["oneOf"]]
    return [key for key in schema["properties"] if key not in (*BESIDE.get(path, ()), "plugins")]


def keys(path: str) -> set[str]:
    """All keys of a section."""
    return set(part(path)["properties"])
