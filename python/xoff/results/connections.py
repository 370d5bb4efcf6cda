"""Connections: flows that carry messages of jobs. Completion times and slowdowns are those of the messages."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc


class Tables(Protocol):
    """An object with the tables of a run."""

    @property
    def tables(self) -> list[str]:
        """The names of the recorded tables."""

    def table(self, name: str) -> pa.Table:
        """Returns a table by its name."""


def of_serving(result: Tables) -> set[int]:
    """Returns the connections of serving workloads in table `flows`. These connections stay open until the end."""
    if not {"flows", "steps"} <= set(result.tables):
        return set()
    names = set(pc.unique(result.table("steps")["workload"]).to_pylist())
    flows = result.table("flows")
    pairs = zip(flows["flow"].to_pylist(), flows["workload"].to_pylist(), strict=True)
    return {flow for flow, name in pairs if name in names} if names else set()


def ends(result: Tables) -> dict[int, int | None]:
    """Returns the arrival time (ps) of the last message of each connection in table `flows`; None if none arrived."""
    if not {"flows", "messages", "operations"} <= set(result.tables):
        return {}
    messages, flows = result.table("messages"), result.table("flows")
    arrivals = messages.select(["flow"]).append_column("at", pc.add(messages["start_ps"], messages["fct_ps"]))
    last = arrivals.group_by("flow").aggregate([("at", "max")])
    found: dict[int, int | None] = dict(zip(last["flow"].to_pylist(), last["at_max"].to_pylist(), strict=True))
    # Messages inside a server cross no connection of the network.
    found.pop(None, None)  # type: ignore[call-overload]
    # A connection that delivered no message is recognised by its job: the job has messages or operations.
    jobs = {
        name for table in (messages, result.table("operations")) for name in pc.unique(table["workload"]).to_pylist()
    }
    if {"requests", "steps"} <= set(result.tables):
        jobs |= set(pc.unique(result.table("steps")["workload"]).to_pylist())
    if jobs:
        unfinished = flows.filter(pc.is_null(flows["fct_ps"]))
        names = zip(unfinished["flow"].to_pylist(), unfinished["workload"].to_pylist(), strict=True)
        found.update({flow: None for flow, name in names if name in jobs and flow not in found})
    return found
