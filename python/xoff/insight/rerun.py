"""Repeats runs to record delays, keeps the records beside the result, and reports reason and progress to the user.

A result directory keeps the last repeated run in its directory ``explain``, so that further questions need no run.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from xoff import _core, formatting
from xoff._core import InputError
from xoff.insight import repeat, validate
from xoff.results import EXPLAINED, Result, load

_NEEDED = ("flows", "links", "pauses", "queues", "drops")


def given(directory: Path) -> Result:
    """Reads a result with the tables that its directory has. Raises `InputError` if the directory is no result."""
    if (directory / "study.json").is_file():
        place = next(iter(sorted((directory / "named").glob("*"))), directory / "runs" / "…")
        raise InputError(f"{directory}: is a study; name one of its runs: xoff explain {formatting.plain(str(place))}")
    return load(directory)


def whole(result: Result, directory: Path) -> Result:
    """Returns a result with all tables that explanations need; a run of a study without them is repeated.

    Raises `InputError` if the run cannot be repeated.
    """
    lacking = [name for name in _NEEDED if name not in result.tables]
    if not lacking:
        return result
    if (kept := _kept(result, directory)) is not None:
        return kept
    why = f"{formatting.plain(str(directory))} lacks {', '.join(lacking)}; a study keeps the tables of --keep"
    print(f"xoff: {why}", file=sys.stderr)
    try:
        return repeated(result, None, directory)
    except InputError as error:
        if not isinstance(error.__cause__ or error.__context__, FileNotFoundError) and "no such file" not in str(error):
            raise
        hint = "the scenario reads tables, which the study keeps in runs/inputs: name the run inside the study"
        raise InputError(f"{error}; {hint}") from None


def repeated(result: Result, flows: set[int] | None, directory: Path) -> Result:
    """Returns a result with the delays of these flows, or of all; a message tells the user if the run is repeated."""
    from xoff.display import run_bar

    if repeat.has_delays(result, flows):
        return result
    kept = _kept(result, directory)
    if kept is not None and repeat.has_delays(kept, flows):
        return kept
    wanted = None if flows is None else sorted(flows | _traced(kept))
    where = formatting.plain(str(directory))
    why = f'repeats the run of {where} exactly; a run with probe.delays = "all" needs no second run'
    print(f"xoff: {why}", file=sys.stderr)
    with run_bar("again") as bar:
        again = repeat.repeated(result, wanted, progress=bar.report)
    _keep(again, directory)
    return again


def _kept(result: Result, directory: Path) -> Result | None:
    """Returns the repeated run that the directory of a result keeps; None without a sound one of the same events."""
    place = directory / EXPLAINED
    with contextlib.suppress(InputError, LookupError):
        if not place.is_symlink():
            found = load(place)
            if found.fingerprint == result.fingerprint and set(_NEEDED) <= set(found.tables) and _is_sound(found):
                return found
    return None


def _is_sound(found: Result) -> bool:
    """Whether tables have their columns, and name known ports. Raises `InputError` for a damaged table."""
    columns = {one["name"]: {column["name"] for column in one["columns"]} for one in json.loads(_core.tables())}
    if any(set(found.table(name).column_names) != columns.get(name) for name in found.tables):
        return False
    validate.check(found, *(name for name in (*_NEEDED, "delays", "contributions") if name in found.tables))
    return True


def _traced(result: Result | None) -> set[int]:
    """Returns the flows whose delays a repeated run has recorded."""
    probe = None if result is None else result.scenario.get("probe")
    delays = probe.get("delays") if isinstance(probe, Mapping) else None
    return {flow for flow in delays if isinstance(flow, int)} if isinstance(delays, list) else set()


def _keep(again: Result, directory: Path) -> None:
    """Writes a repeated run into the directory of its result; a message tells the user if the run cannot be written."""
    if not (directory / "summary.json").is_file():
        # The result is in memory alone.
        return
    try:
        if (directory / EXPLAINED).is_symlink():
            raise InputError(f"{directory / EXPLAINED}: is a link")
        again.save(directory / EXPLAINED)
    except (InputError, OSError) as error:
        why = formatting.plain(str(error))
        print(f"xoff: the repeated run is not kept, and the next question repeats it: {why}", file=sys.stderr)
