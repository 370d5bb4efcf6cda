"""The typed classes of a scenario: each has a name of its own, and the keys of its table in the schema."""

from __future__ import annotations

import json
import re
import typing
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from xoff import _core, scenario
from xoff.scenario import CongestionControl, CongestionControlBcn, Scenario

SCHEMA: dict[str, Any] = json.loads(_core.schema())


def _tables(part: Any) -> Iterator[dict[str, Any]]:
    """Yields the tables that a part of the schema allows, those in lists and in tables of any key included."""
    if not isinstance(part, dict):
        return
    if "$ref" in part:
        yield from _tables(SCHEMA["$defs"][part["$ref"].rpartition("/")[2]])
    if part.get("properties"):
        yield part
    for key in ("allOf", "anyOf", "oneOf", "prefixItems"):
        for one in part.get(key, ()):
            yield from _tables(one)
    for key in ("items", "additionalProperties"):
        yield from _tables(part.get(key))


def _classes(kind: Any) -> Iterator[type]:
    """Yields the classes of the scenario in a type."""
    if isinstance(kind, type) and is_dataclass(kind):
        yield kind
    for one in typing.get_args(kind):
        yield from _classes(one)


def test_no_class_is_numbered() -> None:
    # `Row2` was the row of a request, and `Row` that of an operation.
    assert [name for name in scenario.__all__ if re.search(r"\d$", name)] == []
    assert {"ServingArrivals", "ServingCompute", "ServingRow", "FaultTime"} <= set(scenario.__all__)


def test_every_class_has_the_keys_of_its_table() -> None:
    seen = set()
    waiting: list[tuple[str, list[dict[str, Any]], list[type]]] = [("", [SCHEMA], [Scenario])]
    while waiting:
        path, tables, kinds = waiting.pop()
        keys = {key for table in tables for key in table["properties"]}
        found = {field.name.rstrip("_") for kind in kinds for field in fields(kind)}
        assert found == keys, path
        seen.update(kinds)
        hints = [typing.get_type_hints(kind) for kind in kinds]
        for key in keys:
            below = [one for table in tables for one in _tables(table["properties"].get(key))]
            names = [hint[name] for hint in hints for name in (key, f"{key}_") if name in hint]
            inside = [one for name in names for one in _classes(name)]
            assert bool(below) == bool(inside), f"{path}.{key}"
            if below:
                waiting.append((f"{path}.{key}", below, inside))
    assert {kind.__name__ for kind in seen} == set(scenario.__all__)


def test_the_limiters_of_a_host_have_their_own_class() -> None:
    # The class of `switch.flow_control.bcn` was taken for the host, too, because both keys have one name.
    control = CongestionControl(bcn=CongestionControlBcn(minimum_rate="10Mbps"))
    assert control.to_dict() == {"bcn": {"minimum_rate": "10Mbps"}}
