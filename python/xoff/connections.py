"""Connections: flows that carry messages of jobs, whose completion times and slowdowns are those of their messages."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc


class Tables(Protocol):
    """What has the tables of a run."""

    @property
    def tables(self) -> list[str]:
        """The names of the tables that there are."""

    def table(self, name: str) -> pa.Table:
        """A table by its name."""


def ends(result: Tables) -> dict[int, int | None]:
    """Return each connection in table `flows`, and when its last message arrived; None if no message did."""
    if not {"flows", "messages", "operations"} <= set(result.tables):
        return {}
    messages, flows = result.table("messages"), result.table("flows")
    arrivals = messages.select(["flow"]).append_column("at", pc.add(messages["start_ps"], messages["fct_ps"]))
    last = arrivals.group_by("flow").aggregate([("at", "max")])
    found: dict[int, int | None] = dict(zip(last["flow"].to_pylist(), last["at_max"].to_pylist(), strict=True))
    # A connection that has delivered nothing is told by the job that it is of.
    jobs = {
        name for table in (messages, result.table("operations")) for name in pc.unique(table["workload"]).to_pylist()
    }
    if jobs:
        unfinished = flows.filter(pc.is_null(flows["fct_ps"]))
        names = zip(unfinished["flow"].to_pylist(), unfinished["workload"].to_pylist(), strict=True)
        found.update({flow: None for flow, name in names if name in jobs and flow not in found})
    return found
