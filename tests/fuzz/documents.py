"""Scenarios: examples and drawn scenarios with damaged parts, schema settings with any value, and flipped bytes."""

from __future__ import annotations

import copy
import json
import tomllib
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz import values
from tests.fuzz.case import Case, steps

from xoff.conformance.drawing import draw_once
from xoff.study import settings

_EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SMALL = """
name = "small"
seed = 7

[network.star]
hosts = 4
link = { rate = "100Gbps", delay = "1us" }

[switch]
buffer = { per_port = "200KB" }

[switch.flow_control.pfc]

[[workload]]
name = "incast"
incast = { senders = [1, 2, 3], receiver = 0, size = "100KB" }
"""


@cache
def examples() -> dict[str, bytes]:
    """Returns the scenario files of the examples, and the tables they name."""
    files = [file for file in sorted(_EXAMPLES.glob("*.toml")) if not file.name.startswith("sweep")]
    return {file.name: file.read_bytes() for file in (*files, *sorted(_EXAMPLES.glob("*.csv")))}


@cache
def _documents() -> list[dict[str, Any]]:
    texts = [content for name, content in examples().items() if name.endswith(".toml")]
    return [tomllib.loads(SMALL), *(tomllib.loads(text.decode()) for text in texts)]


def _tables() -> dict[str, bytes]:
    return {name: content for name, content in examples().items() if name.endswith(".csv")}


def draw(rng: Random) -> Case:
    """Draws a scenario."""
    kind = rng.randrange(10)
    if rng.random() < 0.01:
        name = rng.choice(["case.toml", "case.json"])
        return Case({name: values.nested(rng)}, steps(["check", name]))
    if kind < 3:
        name = rng.choice([name for name in examples() if name.endswith(".toml")])
        content = values.flipped(rng, examples()[name])
        return Case({**_tables(), "case.toml": content}, steps(["check", "case.toml"]))
    if kind < 4:
        content = values.flipped(rng, values.as_json(rng.choice(_documents())))
        return Case({**_tables(), "case.json": content}, steps(["check", "case.json"]))
    if kind < 5:
        content = values.as_json(rng.choice(_documents()))
        step = ["check", "case.json", *(_setting(rng) for _ in range(rng.randint(1, 3)))]
        return Case({**_tables(), "case.json": content}, steps(step))
    document = _drawn(rng) if kind < 7 else rng.choice(_documents())
    changed = with_any_setting(rng, document) if rng.random() < 0.6 else values.damaged(rng, document)
    return Case({**_tables(), "case.json": values.as_json(changed)}, steps(["check", "case.json"]))


def _drawn(rng: Random) -> dict[str, Any]:
    """Draws a scenario of any registered parts, with tables as lists."""
    document = draw_once(rng, {})
    for one in document["workload"]:
        if "table" in one:
            one["flows"] = [{"src": 0, "dst": 1, "size": "9KB"}]
            del one["table"]
    found: dict[str, Any] = json.loads(json.dumps(document, default=str))
    return found


def with_any_setting(rng: Random, document: dict[str, Any]) -> dict[str, Any]:
    """Returns a document with one to three settings of the schema set to any value."""
    document = copy.deepcopy(document)
    for _ in range(rng.choice([1, 1, 2, 3])):
        at: Any = document
        path = _some_path(rng, document)
        *keys, last = path.split(".")
        for key in keys:
            name = key.removesuffix("[]")
            is_list = key != name
            new: Any = [{}] if is_list else {}
            at = at.setdefault(name, new) if isinstance(at, dict) else new
            at = at[0] if is_list and isinstance(at, list) and at else at
        if isinstance(at, dict):
            at[last.removesuffix("[]")] = values.of_kind(rng, settings.kinds()[path])
    return document


def _some_path(rng: Random, document: dict[str, Any]) -> str:
    """Draws a path of the schema: most often a path of the document, or of a table in the document."""
    paths = sorted(settings.kinds())
    there = [path for path in paths if not isinstance(_at(document, path), dict | list | None)]
    near = [path for path in paths if isinstance(_at(document, path.rpartition(".")[0]), dict)]
    return rng.choice(rng.choices([there or paths, near, paths], [6, 3, 1])[0])


def _at(document: dict[str, Any], path: str) -> Any:
    """Returns the value at a path, in the first entry of each list; None without a value."""
    at: Any = document
    for key in filter(None, path.split(".")):
        at = at.get(key.removesuffix("[]")) if isinstance(at, dict) else None
        at = at[0] if key.endswith("[]") and isinstance(at, list) and at else at
    return at


def _setting(rng: Random) -> str:
    """Draws the argument of ``--set``."""
    key = rng.choice(sorted(settings.kinds())).replace("[]", f"[{rng.choice([0, 0, 0, 1, 9])}]")
    if rng.random() < 0.2:
        key = rng.choice([key[: rng.randrange(len(key) + 1)], f"{key}.x", f"{key}[0]", f"[{key}", "", " "])
    new = rng.choice([values.amount(rng), json.dumps(values.value(rng, 2)), "null", "[", '"', "{a=1}", "'"])
    if (kind := settings.kind(key)) is not None and rng.random() < 0.5:
        new = str(values.of_kind(rng, kind))
    return f"{key}={new}"
