"""Examines the combinations of a study: which are possible, whether their runs can start, and the reason if none can.

The reason is a mistake of the base scenario, or of one setting.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from xoff import running
from xoff._core import InputError
from xoff.functions import FunctionError, Functions
from xoff.study.plan import Combinations, Plan, Point, begin

_SHOWN = 100
"""Number of characters of a value in a message."""


def read(
    source: str | Path | Mapping[str, Any],
    progress: Callable[[int, int], None] | None = None,
    keep: Sequence[str] = (),
    functions: Functions | None = None,
) -> Plan:
    """Returns the examined plan of a study; `progress` as for `examine`, the other arguments as for `begin`."""
    plan = begin(source, keep, functions)
    examine(plan, progress)
    return plan


def examine(plan: Plan, progress: Callable[[int, int], None] | None = None) -> None:
    """Finds the key of each run, and the combinations that are impossible.

    progress: called with the number of examined combinations and the number of all.

    Raises `InputError` if no combination is possible, or no run can have a metric of the study.
    """
    plan.find_runs(plan.points, plan.seeds, progress)
    _check(plan)


def look_at(plan: Plan, count: int, progress: Callable[[int, int], None] | None = None) -> list[Point]:
    """Does the same as `examine` for at most `count` points, with one seed; returns the examined points."""
    if len(plan.points) <= count or not isinstance(plan.points, Combinations):
        examine(plan, progress)
        return list(plan.points)
    sample = plan.points.sample(count)
    plan.find_runs(sample, plan.seeds[:1], progress)
    _check(plan)
    return sample


def _check(plan: Plan) -> None:
    """Raises `InputError` if no run is possible, no run can have the metrics, or the design lacks points."""
    plan.check_metrics()
    if not plan.impossible:
        return
    one = plan.impossible[0]
    if not plan.runs:
        raise InputError(reason(plan, one.point, one.message))
    design, lost = plan.design, {found.point.index for found in plan.impossible}
    # Too few points for an effect are found before the design is run.
    if design is not None and len(design.blocks(lambda point: point not in lost)) < design.least:
        raise InputError(
            f"design: {len(lost):,} of {len(plan.points):,} points are impossible, and "
            f"{design.method} needs all points; choose levels that combine.  "
            f"{plan.coordinates(one.point)}: {one.message}"
        )


def check_start(plan: Plan, points: Sequence[Point]) -> None:
    """Raises `InputError` if no run at these points can start, with the mistake that the first point has.

    The check reads the scenario with the first seed and builds its network, and so finds what only a run would find: a
    fault of a missing link, for example.
    """
    first: str | None = None
    for point in points:
        found = mistake(plan, point, starts=True)
        if found is None:
            return
        first = first or found
    if first is not None:
        raise InputError(reason(plan, points[0], first, starts=True))


def reason(plan: Plan, point: Point, message: str, *, starts: bool = False) -> str:
    """Returns why no combination is possible: the mistake of the base, of one setting, or of the point.

    message: the mistake at the point.
    starts: whether the mistake was found by `check_start`.
    """
    told = f"no combination is possible; the first, {plan.coordinates(point)}: {message}"
    if (alone := mistake(plan, replace(point, settings=()), starts=starts)) is not None:
        # A setting of the study may supply what the base lacks.
        return f"{_place(plan)}{alone}" if alone == message else told
    for path, value in point.settings:
        if (why := mistake(plan, replace(point, settings=((path, value),)), starts=starts)) is not None:
            break
    else:
        return told
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    why += _absent(plan.document["scenario"], path)
    return f"no combination is possible: with {path} = {text[:_SHOWN]} alone, {why}"


def mistake(plan: Plan, point: Point, *, starts: bool) -> str | None:
    """Returns the message on a point with the first seed; None if it is valid.

    starts: whether to build the network as well.
    """
    try:
        prepared = plan.prepare(point, plan.seeds[0])
        if starts:
            running.check_prepared(prepared)
    except FunctionError:
        raise
    except InputError as error:
        return str(error)
    return None


def _place(plan: Plan) -> str:
    """Returns the place of the base's keys: its file, or the study's file and the table ``scenario`` there."""
    if isinstance(plan.base, running.Text):
        return f"{plan.base.path}: "
    return "" if plan.file is None else f"{plan.file}: [scenario] "


def _absent(document: Any, path: str) -> str:
    """Returns a remark on the first table of a path that a scenario lacks; empty if only the last key is missing."""
    parts = re.findall(r"[^.\[\]]+|\[\d+\]", path)[:-1]
    for number, part in enumerate(parts):
        here = "".join(parts[:1]) + "".join(one if one[0] == "[" else f".{one}" for one in parts[1:number])
        if isinstance(document, list) and part[0] == "[" and int(part[1:-1]) < len(document):
            document = document[int(part[1:-1])]
        elif isinstance(document, Mapping) and part in document:
            document = document[part]
        elif isinstance(document, Mapping):
            tables = [key for key, value in document.items() if isinstance(value, Mapping | list)]
            known = f"; `{here}` has {', '.join(f'`{key}`' for key in tables)}" if tables and number else ""
            return f"; the base has no `{here}.{part}`{known}" if number else f"; the base has no `{part}`"
        else:
            return ""
    return ""
