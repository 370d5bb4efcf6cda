"""The critical path of a job: the cause of each picosecond, from the end of the job backwards.

An operation ends when it has computed, or when a message has arrived or left. A message is released by an earlier
operation of its rank, or by the arrival of a message of the same collective. Each step ends at the moment at which the
next begins, so the steps add up to the time of the job.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from xoff._core import InputError
from xoff.insight.rows_by_key import RowsByKey
from xoff.results import Result

MOST_OPERATIONS = 200_000
"""The most operations of a job for which the slack is computed."""
_OPERATIONS = (
    "rank", "index", "operation", "kind", "name", "label", "iteration", "start_ps", "released_by", "released_by_index",
    "successors", "end_ps", "ended_by", "ended_by_message",
)  # fmt: skip
_MESSAGES = (
    "operation", "message", "flow", "rank", "to_rank", "src", "dst", "size_bytes", "step", "channel", "label",
    "start_ps", "released_by", "released_by_message", "left_ps", "fct_ps", "ideal_fct_ps",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the critical path."""

    kind: str
    """`compute`; `message`: from posting to arrival; `leaving`: from posting until the last packet left the source.

    With NCCL also `launch`: from the begin of the operation to the posting of a message that waits for no message;
    `handover`: from the arrival of a message to the posting of the next; and `inside`: a collective whose messages over
    NVLink have no rows (``probe.slices``), from the begin of its last rank.
    """
    start_ps: int
    end_ps: int
    operation: Mapping[str, Any]
    """The row of the computing operation, or of the message's operation."""
    message: Mapping[str, Any] | None = None
    """The row of the message."""

    @property
    def ps(self) -> int:
        """The duration in picoseconds."""
        return self.end_ps - self.start_ps

    def to_dict(self) -> dict[str, Any]:
        """Returns the step with the keys of ``xoff explain --job --json``."""
        found: dict[str, Any] = {"kind": self.kind, "start_ps": self.start_ps, "end_ps": self.end_ps}
        found |= {key: self.operation[key] for key in ("rank", "index", "name", "label", "iteration")}
        if self.message is not None:
            keys = ("operation", "message", "flow", "rank", "to_rank", "src", "dst", "size_bytes", "step", "channel")
            found["message"] = {key: self.message[key] for key in keys}
        return found


class Job:
    """The completed operations and messages of a job."""

    def __init__(self, result: Result, workload: str) -> None:
        self.name = workload
        self._place = str(result.directory or "the result")
        operations, messages = (_of(result, name, workload) for name in ("operations", "messages"))
        if not operations.num_rows:
            raise InputError(f"--job: no operation of {workload!r} has ended")
        self._operations = operations.select(_OPERATIONS).combine_chunks()
        self._messages = messages.select(_MESSAGES).combine_chunks()
        self._by_message = RowsByKey(self._messages, "operation", "message")
        self._by_place = RowsByKey(self._operations, "rank", "index")
        self._by_number = RowsByKey(self._operations, "operation", "rank")
        probe = result.scenario.get("probe")
        is_asked = isinstance(probe, Mapping) and probe.get("slices", False)
        network = result.scenario.get("network")
        uses_nvlink = isinstance(network, Mapping) and "servers" in network and not is_asked
        # An operation may end when its message has left, and a run that was cut has no row of a message on its way.
        self._lacks_rows = uses_nvlink or result.scenario.get("until") is not None
        self.start_ps: int = pc.min(self._operations["start_ps"]).as_py()
        ends = pc.equal(self._operations["end_ps"], pc.max(self._operations["end_ps"]))
        self.last: dict[str, Any] = min(
            self._operations.filter(ends).to_pylist(), key=lambda row: (row["rank"], -row["index"])
        )

    @property
    def count(self) -> int:
        """The number of operations."""
        return int(self._operations.num_rows)

    @property
    def iterations(self) -> int:
        """The number of iterations with a completed operation."""
        return 1 + int(pc.max(self._operations["iteration"]).as_py())

    @cached_property
    def operations(self) -> list[dict[str, Any]]:
        """All operations; for a large job they need much memory."""
        return list(self._operations.to_pylist())

    @cached_property
    def by_place(self) -> dict[tuple[int, int], dict[str, Any]]:
        """All operations by rank and index."""
        return {(row["rank"], row["index"]): row for row in self.operations}

    @property
    def total_ps(self) -> int:
        """The time from the begin of the job to its end."""
        return int(self.last["end_ps"]) - self.start_ps

    def message(self, operation: int, number: int) -> dict[str, Any]:
        """Returns the row of a message. Raises `InputError` if it is missing."""
        if (found := self._by_message.get(operation, number)) is None:
            raise self._damaged("messages", f"operation {operation} has no message {number}", "message")
        return found

    def path(self) -> list[Step]:
        """Returns the critical path from begin to end. Raises `InputError` if tables do not fit together."""
        steps: list[Step] = []
        operation: dict[str, Any] | None = self.last
        while operation is not None:
            if len(steps) > 2 * (self._operations.num_rows + self._messages.num_rows):
                raise self._damaged("operations", "wait for one another in a cycle", "released_by_index")
            operation = self._back(operation, steps)
            if operation is None and (waited := steps[-1]).start_ps > self.start_ps:
                # A flow, or an operation of another workload, released the first operation.
                steps.append(Step("elsewhere", self.start_ps, waited.start_ps, waited.operation))
        steps.reverse()
        ends = [step.end_ps for step in steps[:-1]]
        if [step.start_ps for step in steps[1:]] != ends or sum(step.ps for step in steps) != self.total_ps:
            raise self._damaged("operations", "operations and messages do not follow one another", "end_ps")
        return [step for step in steps if step.ps]

    def _back(self, operation: dict[str, Any], steps: list[Step]) -> dict[str, Any] | None:
        """Adds the steps of an operation, the last first; returns the operation before these steps."""
        if operation["ended_by"] == "computed":
            steps.append(Step("compute", operation["start_ps"], operation["end_ps"], operation))
            return self._before(operation)
        number = operation["operation"]
        if not self._has_row(number, operation["ended_by_message"]):
            return self._inside(operation, operation["end_ps"], steps)
        message = self.message(number, operation["ended_by_message"])
        arrived = message["start_ps"] + message["fct_ps"]
        if operation["ended_by"] == "left":
            # With NCCL an operation is over once its last message is handed over, which may be before its posting.
            posted = min(message["start_ps"], operation["end_ps"])
            steps.append(Step("leaving", posted, operation["end_ps"], operation, message))
            message = {**message, "start_ps": posted}
        elif arrived < operation["end_ps"]:
            # The message arrived before an operation waited for it.
            return self._before(operation)
        else:
            steps.append(Step("message", message["start_ps"], arrived, operation, message))
        while True:
            # A reducer has messages and no operation.
            own = self._by_number.get(number, message["rank"])
            earlier = None
            if message["released_by"] == "message":
                if own is not None and not self._has_row(number, message["released_by_message"]):
                    return self._inside(own, message["start_ps"], steps)
                earlier = self.message(number, message["released_by_message"])
            arrived = 0 if earlier is None else earlier["start_ps"] + earlier["fct_ps"]
            if earlier is None or (own is not None and arrived < own["start_ps"]):
                # The message was ready when its operation began.
                own = self._of_number(message["rank"], number)
                steps.append(Step("launch", own["start_ps"], message["start_ps"], own, message))
                return self._before(own)
            if own is not None:
                steps.append(Step("handover", arrived, message["start_ps"], own, message))
            message = earlier
            steps.append(
                Step("message", message["start_ps"], arrived, self._of_number(message["rank"], number), message)
            )
            if len(steps) > 2 * (self._operations.num_rows + self._messages.num_rows):
                raise self._damaged("messages", "wait for one another in a cycle", "released_by_message")

    def _has_row(self, operation: int, number: int) -> bool:
        """Whether a message has a row. Messages over NVLink have rows with ``probe.slices`` only."""
        return not self._lacks_rows or self._by_message.get(operation, number) is not None

    def _inside(self, operation: dict[str, Any], end_ps: int, steps: list[Step]) -> dict[str, Any] | None:
        """Adds the time inside a collective without rows: up to a moment, from the begin of its last rank before."""
        number = operation["operation"]
        ranks = [row for row in self._by_number.of(number) if row["start_ps"] <= end_ps]
        last = max(ranks, key=lambda row: (row["start_ps"], -row["rank"]), default=operation)
        steps.append(Step("inside", last["start_ps"], end_ps, operation))
        return self._before(last)

    def _before(self, operation: dict[str, Any]) -> dict[str, Any] | None:
        if operation["released_by"] in {"start", "elsewhere"}:
            return None
        if (found := self._by_place.get(operation["rank"], operation["released_by_index"])) is None:
            why = f"rank {operation['rank']} has no operation {operation['released_by_index']}"
            raise self._damaged("operations", why, "released_by_index")
        return found

    def _of_number(self, rank: int, number: int) -> dict[str, Any]:
        if (found := self._by_number.get(number, rank)) is None:
            raise self._damaged("operations", f"rank {rank} takes no part in operation {number}", "operation")
        return found

    def places(self, text: str | None) -> list[int]:
        """Returns the indices in a cell of `successors`."""
        try:
            return [int(place) for place in (text or "").split(";") if place]
        except ValueError:
            raise self._damaged("operations", f"{(text or '')[:80]!r} lists no places", "successors") from None

    def _damaged(self, table: str, why: str, column: str) -> InputError:
        return InputError(f"{self._place}: {table}.parquet: is damaged: {why} (`{column}`)")

    def slack(self) -> dict[tuple[int, int], int]:
        """Returns the slack by rank and index: how much later an operation could end without delaying the job.

        Durations stay as measured: of a message from its release, of a collective from the begin of its last rank.
        Empty for a job with more than `MOST_OPERATIONS`, because the sums need every operation in memory.
        """
        if self.count > MOST_OPERATIONS:
            return {}
        return {key: late - self.by_place[key]["end_ps"] for key, late in _latest(self).items()}


def jobs(result: Result) -> Iterator[Job]:
    """Yields the jobs of a result. Raises `InputError` if it has none."""
    try:
        operations = result.table("operations")
    except LookupError:
        operations = None
    if operations is None or not operations.num_rows:
        raise InputError("--job: the result has no job (workload.graph, workload.training or workload.collective)")
    for name in pc.unique(operations["workload"]).to_pylist():
        yield Job(result, name)


def _of(result: Result, name: str, workload: str) -> pa.Table:
    try:
        table = result.table(name)
    except LookupError as error:
        raise InputError(f"{result.directory or 'the result'}: {error}") from None
    is_of = pc.equal(pc.cast(table["workload"], pa.string()), workload)
    return table if pc.all(is_of).as_py() else table.filter(is_of)


def _latest(job: Job) -> dict[tuple[int, int], int]:
    """Returns the latest end of each operation, starting from the operations without successors."""
    end = int(job.last["end_ps"])
    before: dict[tuple[int, int], list[tuple[int, int]]] = {}
    left: dict[tuple[int, int], int] = {}
    members: dict[int, list[dict[str, Any]]] = {}
    for row in job.operations:
        key = (row["rank"], row["index"])
        after = [(row["rank"], place) for place in job.places(row["successors"])]
        after = [other for other in after if other in job.by_place]
        left[key] = len(after)
        for other in after:
            before.setdefault(other, []).append(key)
        if row["operation"] is not None:
            members.setdefault(row["operation"], []).append(row)
    sends = {rows[0]["operation"]: row for rows in members.values() for row in rows if row["kind"] == "send"}
    for number, send in sends.items():
        if any(row["kind"] == "recv" for row in members[number]):
            left[send["rank"], send["index"]] += 1
    latest = {(row["rank"], row["index"]): end for row in job.operations}
    waiting = {number: len(rows) for number, rows in members.items()}
    ready = [key for key, count in left.items() if not count]
    done: dict[tuple[int, int], int] = {}

    def begin(row: dict[str, Any], start: int) -> None:
        """Sets the latest start of an operation, and thereby the latest ends of all predecessors."""
        for other in before.get((row["rank"], row["index"]), ()):
            latest[other] = min(latest[other], start)
            left[other] -= 1
            if not left[other]:
                ready.append(other)

    while ready:
        key = ready.pop()
        one, late = job.by_place[key], latest[key]
        done[key] = late
        number = one["operation"]
        if one["kind"] == "recv" and (sent := sends.get(number)) is not None:
            sender = (sent["rank"], sent["index"])
            latest[sender] = min(latest[sender], late - max(one["end_ps"] - sent["end_ps"], 0))
            left[sender] -= 1
            if not left[sender]:
                ready.append(sender)
            begin(one, late)
        elif number is None or one["kind"] in {"send", "recv"}:
            begin(one, late - (one["end_ps"] - one["start_ps"]))
        else:
            waiting[number] -= 1
            if not waiting[number]:
                rows = members[number]
                joined = max(row["start_ps"] for row in rows)
                start = min(done[row["rank"], row["index"]] - (row["end_ps"] - joined) for row in rows)
                for row in rows:
                    begin(row, start)
    return done
