"""A result with what `probe.delays` writes down: as it is, or from its run again."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from xoff import running
from xoff._core import InputError
from xoff.results import AuditError, Result


def has_delays(result: Result, flows: Collection[int] | None = None) -> bool:
    """Tell whether a result has the delays of these flows, or of all."""
    traced = result.scenario.get("probe", {}).get("delays") or []
    if "delays" not in result.tables:
        return False
    return traced == "all" or (flows is not None and set(flows) <= set(traced))


def repeated(
    result: Result,
    flows: Collection[int] | None = None,
    *,
    progress: Callable[[running.Progress], None] | None = None,
) -> Result:
    """Return a result that has the delays of these flows, or of all: this one, or that of its run again.

    Raises `InputError` if the run again is another: that of another version, or of changed files.
    """
    if has_delays(result, flows):
        return result
    # Tables stand beside the scenario where a result is kept.
    directory = result.directory if result.directory is not None else Path()
    delays: list[int] | str = "all" if flows is None else sorted(set(flows))
    probe = {"probe.delays": delays, "probe.packets": False, "probe.queues": None, "probe.replay": False}
    prepared = running.prepare(result.scenario, overrides=probe, tables=result.inputs, directory=directory)
    try:
        again = running.run_prepared(prepared, progress=progress)
    except AuditError as error:
        # A run that failed has no result, and all the more to explain.
        again = error.result
    if again.fingerprint != result.fingerprint:
        place = result.directory or "the result"
        raise InputError(
            f"{place}: its run again has another fingerprint, {again.fingerprint} and not {result.fingerprint}: it is "
            "of another version, or was stopped; run its scenario anew"
        )
    return again
