"""A result with the records of `probe.delays`: the given result, or the result of a repeated run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from xoff import running
from xoff._core import InputError
from xoff.results import AuditError, Result


def has_delays(result: Result, flows: Collection[int] | None = None) -> bool:
    """Whether a result has the delays of these flows; of all if None."""
    if "delays" not in result.tables:
        return False
    found = traced(result)
    return found is None or (flows is not None and found.issuperset(flows))


def traced(result: Result) -> set[int] | None:
    """Returns the flows whose delays a run records; None for all flows."""
    probe = result.scenario.get("probe")
    delays = probe.get("delays") if isinstance(probe, Mapping) else None
    if delays == "all":
        return None
    return {flow for flow in delays if isinstance(flow, int)} if isinstance(delays, list) else set()


def repeated(
    result: Result,
    flows: Collection[int] | None = None,
    *,
    progress: Callable[[running.Progress], None] | None = None,
) -> Result:
    """Returns a result with the delays of these flows, or of all: the given result, or the result of a repeated run.

    Raises `InputError` if the repeated run has another fingerprint, because of another version or changed files.
    """
    if has_delays(result, flows):
        return result
    # A result directory has its input tables beside the scenario.
    directory = result.directory if result.directory is not None else Path()
    delays: list[int] | str = "all" if flows is None else sorted(set(flows))
    probe = {"probe.delays": delays, "probe.packets": False, "probe.queues": None, "probe.replay": False}
    prepared = running.prepare(result.scenario, overrides=probe, tables=result.inputs, directory=directory)
    try:
        again = running.run_prepared(prepared, progress=progress)
    except AuditError as error:
        # A failed run has measurements to explain, too.
        again = error.result
    if again.fingerprint != result.fingerprint:
        place = result.directory or "the result"
        raise InputError(
            f"{place}: the repeated run has another fingerprint, {again.fingerprint} in the place of "
            f"{result.fingerprint}: the result is "
            "of another version, or was stopped; run the scenario again"
        )
    return again
