"""Repeats runs to record delays, and reports reason and progress to the user."""

from __future__ import annotations

import sys
from pathlib import Path

from xoff import formatting
from xoff._core import InputError
from xoff.insight import repeat
from xoff.results import Result, load

_NEEDED = ("flows", "links", "pauses", "queues", "drops")


def whole(directory: Path) -> Result:
    """Reads a result with all tables that explanations need; a run of a study without them is repeated.

    Raises `InputError` if the directory is no result, or the run cannot be repeated.
    """
    if (directory / "study.json").is_file():
        place = next(iter(sorted((directory / "named").glob("*"))), directory / "runs" / "…")
        raise InputError(f"{directory}: is a study; name one of its runs: xoff explain {formatting.plain(str(place))}")
    result = load(directory)
    lacking = [name for name in _NEEDED if name not in result.tables]
    if not lacking:
        return result
    why = f"{formatting.plain(str(directory))} lacks {', '.join(lacking)}; a study keeps the tables of --keep"
    print(f"xoff: {why}", file=sys.stderr)
    try:
        return repeated(result, None, directory)
    except InputError as error:
        if not isinstance(error.__cause__ or error.__context__, FileNotFoundError) and "no such file" not in str(error):
            raise
        hint = (
            "the scenario reads tables, and a study does not keep them: run the scenario alone, in the "
            "folder of its base"
        )
        raise InputError(f"{error}; {hint}") from None


def repeated(result: Result, flows: set[int] | None, directory: Path) -> Result:
    """Returns a result with the delays of these flows, or of all; a message tells the user if the run is repeated."""
    from xoff.display import run_bar

    if repeat.has_delays(result, flows):
        return result
    which = '"all"' if flows is None else str(sorted(flows))
    where = formatting.plain(str(directory))
    why = f"repeats the run of {where} exactly; a run with probe.delays = {which} needs no second run"
    print(f"xoff: {why}", file=sys.stderr)
    with run_bar("again") as bar:
        return repeat.repeated(result, flows, progress=bar.report)
