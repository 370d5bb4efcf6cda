"""Whether the runs of a study can start, and the reason if none can: a mistake of the base, or of one setting."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from xoff import running
from xoff._core import InputError
from xoff.functions import FunctionError

if TYPE_CHECKING:
    from xoff.study.plan import Plan, Point

_SHOWN = 100
"""Number of characters of a value in a message."""


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
