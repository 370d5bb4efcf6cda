"""What the critical path of a job went by with: by cause, by what it is counted as, by collective, and by link."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from xoff._core import InputError
from xoff.insight.job_path import Job, Step
from xoff.insight.origins import Root
from xoff.insight.trees import Forest
from xoff.results import Result

CAUSES = {
    "compute": "computing",
    "sending": "sending its bytes",
    "link": "along links and through nodes",
    "queueing": "behind other packets",
    "paused": "paused",
    "held": "held at its source",
    "control": "as fast, or as far ahead, as congestion control let it",
    "losses": "packets were missing",
}
"""The causes of time on the path, in words."""
_CAUSE = {
    "transmission": "sending", "serialization": "sending", "propagation": "link", "processing": "link",
    "behind": "queueing", "blocked": "queueing", "control": "queueing", "paused": "paused", "held": "held",
    "pace": "control", "window": "control", "pull": "control", "again": "losses", "answers": "losses",
    "data": "sending",
}  # fmt: skip
_ON_ITS_WAY = frozenset({"serialization", "propagation", "processing"})
_AT_A_LINK = frozenset({"behind", "blocked", "control", "paused"})

T = TypeVar("T")
Key = tuple[int, int]
"""A message: the number of its operation, and its place there."""


@dataclass(frozen=True, slots=True)
class Way:
    """What a message of a path crossed, and what that took."""

    places: tuple[tuple[str, int], ...]
    """Its outputs, by node and port."""
    sending: Mapping[tuple[str, int], int]
    """For how long it was sent there."""
    control_ps: int
    """For how long congestion control kept its source waiting."""
    marked: tuple[str, int] | None
    """The output on its way that marked most packets."""


@dataclass(slots=True)
class Causes:
    """The critical path of a job, added up."""

    job: Job
    steps: list[Step]
    by_cause: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    by_label: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """Of messages by what they are counted as; of computation `compute`."""
    by_operation: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    by_rank: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    """Whose computation it was, or who sent."""
    by_link: dict[tuple[str, int, str], int] = field(default_factory=lambda: defaultdict(int))
    """By node, port and the node at the other end: waiting there, behind packets or paused."""
    by_queue: dict[tuple[str, int, str], int] = field(default_factory=lambda: defaultdict(int))
    """The same without pauses."""
    by_marking: dict[tuple[str, int, str] | None, int] = field(default_factory=lambda: defaultdict(int))
    """What congestion control made wait, by the port on the message's way that marked most packets; None: none did."""
    by_root: dict[Root, int] = field(default_factory=lambda: defaultdict(int))
    """Of pauses, by where they begin."""
    ways: list[Way] = field(default_factory=list)
    """What the messages of the path crossed."""

    def share(self, ps: int) -> float:
        """The part of the job's time that a time is."""
        return ps / (self.job.total_ps or 1)

    def to_dict(self) -> dict[str, Any]:
        """Return it with the keys of ``xoff explain --job --json``."""
        slack = self.job.slack()
        return {
            "workload": self.job.name,
            "time_ps": self.job.total_ps,
            "by_cause": dict(self.by_cause),
            "by_label": dict(self.by_label),
            "by_operation": dict(largest(self.by_operation)),
            "by_rank": {str(rank): ps for rank, ps in sorted(self.by_rank.items())},
            "by_link": [
                {"node": node, "port": port, "peer": peer, "ps": ps} for (node, port, peer), ps in largest(self.by_link)
            ],
            "by_marking": [
                {"ps": ps} | dict(zip(("node", "port", "peer"), place or (None, None, None), strict=True))
                for place, ps in largest(self.by_marking)
            ],
            "by_root": [{**root.to_dict(), "ps": ps} for root, ps in largest(self.by_root)],
            "path": [step.to_dict() for step in self.steps],
            "slack": [
                {"rank": rank, "index": place, "name": self.job.by_place[rank, place]["name"], "ps": ps}
                for (rank, place), ps in sorted(slack.items(), key=lambda item: (item[1], item[0]))
            ],
        }


def flows(steps: Iterable[Step]) -> set[int]:
    """Return the connections whose messages are on a path."""
    return {int(step.message["flow"]) for step in steps if step.message is not None}


def causes(job: Job, steps: list[Step], result: Result, forest: Forest) -> Causes:
    """Add up a path. The result has the delays of its connections."""
    wanted = {(step.message["operation"], step.message["message"]) for step in steps if step.message is not None}
    rows: dict[Key, list[dict[str, Any]]] = defaultdict(list)
    for row in result.table("delays").to_pylist():
        if (key := (row["operation"], row["message"])) in wanted:
            rows[key].append(row)
    found = Causes(job, steps)
    marks = _marks(result)
    for step in steps:
        name = str(step.operation["name"])
        found.by_operation[name] += step.ps
        if step.message is None:
            found.by_cause["compute"] += step.ps
            found.by_label["compute"] += step.ps
            found.by_rank[step.operation["rank"]] += step.ps
            continue
        found.by_label[str(step.message["label"])] += step.ps
        found.by_rank[step.message["rank"]] += step.ps
        parts = rows[step.message["operation"], step.message["message"]]
        _add(found, step, parts, forest)
        _add_way(found, step, parts, marks, forest)
    return found


def _marks(result: Result) -> dict[tuple[str, int], int]:
    """Return how many packets each output marked in the whole run."""
    marks: dict[tuple[str, int], int] = defaultdict(int)
    for row in result.queues.to_pylist():
        marks[row["node"], row["port"]] += row["marked"]
    return marks


def _add_way(
    found: Causes, step: Step, rows: list[dict[str, Any]], marks: Mapping[tuple[str, int], int], forest: Forest
) -> None:
    """Add what a message crossed, and by whose marks it was held back."""
    places = tuple(dict.fromkeys((row["node"], row["port"]) for row in rows))
    if step.kind == "leaving":
        rows = [row for row in rows if row["hop"] == 0 and row["kind"] not in _ON_ITS_WAY]
    sending: dict[tuple[str, int], int] = defaultdict(int)
    for row in rows:
        if row["kind"] in {"transmission", "serialization"}:
            sending[row["node"], row["port"]] += row["time_ps"]
    control = sum(row["time_ps"] for row in rows if _CAUSE.get(row["kind"]) == "control")
    marked = max(places, key=lambda place: marks.get(place, 0), default=None)
    if marked is not None and not marks.get(marked):
        marked = None
    if control:
        found.by_marking[None if marked is None else (*marked, forest.peers[marked])] += control
    found.ways.append(Way(places, sending, control, marked))


def _add(found: Causes, step: Step, rows: list[dict[str, Any]], forest: Forest) -> None:
    """Add the parts of a message, or of what came before its last packet left."""
    if step.kind == "leaving":
        rows = [row for row in rows if row["hop"] == 0 and row["kind"] not in _ON_ITS_WAY]
    together = sum(row["time_ps"] for row in rows)
    if step.kind == "leaving" and together != step.ps:
        # Its last packet was sent again before it arrived: no more is known of the first time.
        found.by_cause["sending"] += step.ps
        return
    if together != step.ps:
        what = f"the parts of a message of {step.operation['name']!r} do not add up (`time_ps`)"
        raise InputError(f"delays.parquet: is damaged, or of another run: {what}")
    for row in rows:
        ps = row["time_ps"]
        found.by_cause[_CAUSE.get(row["kind"], "queueing")] += ps
        if row["kind"] in _AT_A_LINK:
            place = (row["node"], row["port"])
            found.by_link[*place, forest.peers[place]] += ps
            if row["kind"] != "paused":
                found.by_queue[*place, forest.peers[place]] += ps
        if row["kind"] == "paused" and (root := forest.root_of(row)) is not None:
            found.by_root[root] += ps


def largest(sums: Mapping[T, int]) -> list[tuple[T, int]]:
    """Return a sum's parts, the largest first; of equal ones in the order in which they came."""
    return sorted(sums.items(), key=lambda item: -item[1])
