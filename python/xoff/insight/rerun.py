"""Repeats runs to record delays, keeps a repeated run beside the result, and tells the user reason and progress.

The directory ``explain`` of a result holds the last repeated run. Further questions then need no run.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

from xoff import formatting
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


def is_at_hand(result: Result, flows: set[int], directory: Path) -> bool:
    """Whether the delays of these flows are known, from the result or from a repeated run."""
    kept = None if repeat.has_delays(result, flows) else _kept(result, directory)
    return repeat.has_delays(kept or result, flows)


_DELAYS_COST = 2
"""A run that records delays takes up to twice as long."""


def repetition_seconds(result: Result) -> float:
    """Returns the CPU-seconds of the run with delays, which is neither folded nor fast-forwarded."""
    performance = result.summary.get("performance") or {}
    simulated = performance.get("packet_hops_simulated") or 1
    return float(_DELAYS_COST * performance.get("cpu_seconds", 0) * performance.get("data_packet_hops", 0) / simulated)


def cost_in_words(seconds: float) -> str:
    """Returns CPU-seconds as text: ``about 3 CPU-seconds``, ``about 12 CPU-minutes``."""
    if seconds < 1:
        return "below 1 CPU-second"
    return f"about {seconds:,.0f} CPU-seconds" if seconds < 100 else f"about {seconds / 60:,.0f} CPU-minutes"


def repeated(result: Result, flows: set[int] | None, directory: Path) -> Result:
    """Returns a result with the delays of these flows, or of all; a message tells the user if the run is repeated."""
    from xoff.display import run_bar

    if repeat.has_delays(result, flows):
        return result
    kept = _kept(result, directory)
    if kept is not None and repeat.has_delays(kept, flows):
        return kept
    before = set() if kept is None else repeat.traced(kept)
    wanted = None if flows is None or before is None else flows | before
    where = formatting.plain(str(directory))
    cost = cost_in_words(repetition_seconds(result))
    why = f'repeats the run of {where} exactly, {cost}; a run with probe.delays = "all" needs no second run'
    print(f"xoff: {why}", file=sys.stderr)
    with run_bar("again") as bar:
        again = repeat.repeated(result, wanted, progress=bar.report)
    _keep(again, directory)
    return again


def _kept(result: Result, directory: Path) -> Result | None:
    """Returns the repeated run in the directory of a result; None if the run is absent, damaged, or of other events."""
    place = directory / EXPLAINED
    if place.is_symlink():
        return None
    with contextlib.suppress(InputError, LookupError):
        found = load(place)
        if found.fingerprint == result.fingerprint and set(_NEEDED) <= set(found.tables):
            # All tables are read: a damaged table raises.
            validate.check(found, *found.tables)
            return found
    return None


def _keep(again: Result, directory: Path) -> None:
    """Writes a repeated run into the directory of the result; a message names the reason if the run is not written.

    A result in memory has no directory, and the repeated run is not written.
    """
    if not (directory / "summary.json").is_file():
        return
    try:
        if (directory / EXPLAINED).is_symlink():
            raise InputError(f"{directory / EXPLAINED}: is a link")
        again.save(directory / EXPLAINED)
    except (InputError, OSError) as error:
        why = formatting.plain(str(error))
        print(f"xoff: the repeated run is not kept, and the next question repeats it: {why}", file=sys.stderr)
