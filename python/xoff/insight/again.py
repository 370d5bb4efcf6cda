"""Runs that are repeated for what delayed their flows: who waits is told, and sees how far it is."""

from __future__ import annotations

import sys
from pathlib import Path

from xoff import wording
from xoff.insight import repeat
from xoff.results import Result


def repeated(result: Result, flows: set[int] | None, directory: Path) -> Result:
    """Return a result that has the delays of these flows, or of all; say so where its run is repeated for them."""
    from xoff.display import run_bar

    if repeat.has_delays(result, flows):
        return result
    which = '"all"' if flows is None else str(sorted(flows))
    where = wording.plain(str(directory))
    why = f"repeats the run of {where}, which is exact; a result of a run with probe.delays = {which} needs no more"
    print(f"xoff: {why}", file=sys.stderr)
    with run_bar("again") as bar:
        return repeat.repeated(result, flows, progress=bar.report)
