"""The breakdown of a job's critical path: by cause, by label, by collective, and by link."""

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
    "sending": "sending the bytes of the message",
    "link": "along links and through nodes",
    "queueing": "behind other packets",
    "paused": "paused",
    "held": "held at the source",
    "control": "limited by congestion control",
    "losses": "packets were missing",
    "network": "in the network",
    "nvlink": "over NVLink",
    "library": "launches and hand-overs of NCCL",
    "elsewhere": "waiting for a flow or another job",
}
"""The causes of time on the path, in words."""
CAUSE_OF = {
    "transmission": "sending", "serialization": "sending", "app_limited": "sending",
    "propagation": "link", "processing": "link",
    "queueing": "queueing", "hol_blocking": "queueing", "control": "queueing",
    "paused": "paused", "source_held": "held",
    "pacing": "control", "window": "control", "awaiting_pull": "control",
    "retransmission": "losses", "awaiting_ack": "losses",
}  # fmt: skip
"""The cause of a row of the table `delays`, by the kind of the row."""
_ON_ITS_WAY = frozenset({"serialization", "propagation", "processing"})
_AT_A_LINK = frozenset({"queueing", "hol_blocking", "control", "paused"})

T = TypeVar("T")
Key = tuple[int, int]
"""A message: the number of the operation, and the number of the message within the operation."""


@dataclass(frozen=True, slots=True)
class Way:
    """The outputs on the way of a message of a path, with the times at each output."""

    places: tuple[tuple[str, int], ...]
    """The outputs by node and port."""
    sending: Mapping[tuple[str, int], int]
    """The time of sending at each output, in picoseconds."""
    control_ps: int
    """The time in which congestion control delayed the source, in picoseconds."""
    marked: tuple[str, int] | None
    """The output on the path of the message that marked most packets in the run; None if no output marked."""


@dataclass(slots=True)
class Causes:
    """The sums over the critical path of a job, in picoseconds."""

    job: Job
    steps: list[Step]
    by_cause: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    by_label: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """Messages by label; computation under `compute`."""
    by_operation: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    by_rank: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    """By the computing or sending rank."""
    by_channel: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """With NCCL: messages by channel and by the host of the NIC, or over NVLink."""
    by_link: dict[tuple[str, int, str], int] = field(default_factory=lambda: defaultdict(int))
    """Waiting at an output, behind packets or paused, by node, port and peer."""
    by_queue: dict[tuple[str, int, str], int] = field(default_factory=lambda: defaultdict(int))
    """Waiting at an output without pauses."""
    by_marking: dict[tuple[str, int, str] | None, int] = field(default_factory=lambda: defaultdict(int))
    """Delay by congestion control, by the port on the message's path that marked most packets; None: no port marked."""
    by_root: dict[Root, int] = field(default_factory=lambda: defaultdict(int))
    """Pauses, by their root."""
    ways: list[Way] = field(default_factory=list)
    """The outputs and times of each message of the path."""

    def share(self, ps: int) -> float:
        """Returns a time as a share of the job's time."""
        return ps / (self.job.total_ps or 1)

    def to_dict(self) -> dict[str, Any]:
        """Returns the sums with the keys of ``xoff explain --job --json``."""
        slack = self.job.slack()
        return {
            "workload": self.job.name,
            "time_ps": self.job.total_ps,
            "by_cause": dict(self.by_cause),
            "by_label": dict(self.by_label),
            "by_operation": dict(largest(self.by_operation)),
            "by_channel": dict(largest(self.by_channel)),
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
    """Returns the connections whose messages are on a path."""
    on_network = (step.message for step in steps if _is_on_network(step))
    return {int(message["flow"]) for message in on_network if message is not None}


def _is_on_network(step: Step) -> bool:
    """True for a step in which a message is on the network."""
    return step.kind in {"message", "leaving"} and step.message is not None and step.message["flow"] is not None


def causes(job: Job, steps: list[Step], result: Result, forest: Forest | None) -> Causes:
    """Returns the sums over a path.

    forest: the trees of pauses; the result must then have the delays of the path's connections. Without a forest, the
        time of a message in the network is not divided.

    Raises `InputError` if the parts of a message do not add up.
    """
    wanted = {(step.message["operation"], step.message["message"]) for step in steps if step.message is not None}
    rows: dict[Key, list[dict[str, Any]]] = defaultdict(list)
    for row in [] if forest is None else result.table("delays").to_pylist():
        if (key := (row["operation"], row["message"])) in wanted:
            rows[key].append(row)
    found = Causes(job, steps)
    marks = _marks(result)
    choices = _choices(job, result)
    for step in steps:
        name = str(step.operation["name"])
        name += f" ({choices[name]})" if name in choices else ""
        found.by_operation[name] += step.ps
        if step.message is None:
            is_inside = step.kind == "inside"
            found.by_cause["nvlink" if is_inside else step.kind] += step.ps
            found.by_label[str(step.operation["label"]) if is_inside else step.kind] += step.ps
            found.by_rank[step.operation["rank"]] += step.ps
            continue
        found.by_label[str(step.message["label"])] += step.ps
        found.by_rank[step.message["rank"]] += step.ps
        if choices:
            found.by_channel[_channel(step.message)] += step.ps
        if not _is_on_network(step):
            found.by_cause["nvlink" if step.kind == "message" else "library"] += step.ps
            continue
        if forest is None:
            found.by_cause["network"] += step.ps
            continue
        parts = rows[step.message["operation"], step.message["message"]]
        _add(found, step, parts, forest)
        _add_way(found, step, parts, marks, forest)
    return found


def _channel(message: Mapping[str, Any]) -> str:
    """Returns the channel of a message of NCCL, and the NIC or NVLink."""
    over = "NVLink" if message["flow"] is None else f"NIC of {message['src']}"
    return f"channel {message['channel']}, {over}"


def _choices(job: Job, result: Result) -> dict[str, str]:
    """Returns the algorithm and the protocol of NCCL by the name of an operation."""
    found = {}
    for row in result.table("collectives").to_pylist():
        if row["workload"] == job.name and row["protocol"] is not None:
            found[str(row["name"] or row["operation"])] = f"{row['algorithm']}, {row['protocol']}"
    return found


def _marks(result: Result) -> dict[tuple[str, int], int]:
    """Returns the number of packets that each output marked in the whole run."""
    marks: dict[tuple[str, int], int] = defaultdict(int)
    for row in result.queues.to_pylist():
        marks[row["node"], row["port"]] += row["marked"]
    return marks


def _add_way(
    found: Causes, step: Step, rows: list[dict[str, Any]], marks: Mapping[tuple[str, int], int], forest: Forest
) -> None:
    """Adds the outputs and times of a message, and its delay by congestion control."""
    places = tuple(dict.fromkeys((row["node"], row["port"]) for row in rows))
    if step.kind == "leaving":
        rows = [row for row in rows if row["hop"] == 0 and row["kind"] not in _ON_ITS_WAY]
    sending: dict[tuple[str, int], int] = defaultdict(int)
    for row in rows:
        if row["kind"] in {"transmission", "serialization"}:
            sending[row["node"], row["port"]] += row["time_ps"]
    control = sum(row["time_ps"] for row in rows if CAUSE_OF.get(row["kind"]) == "control")
    marked = max(places, key=lambda place: marks.get(place, 0), default=None)
    if marked is not None and not marks.get(marked):
        marked = None
    if control:
        found.by_marking[None if marked is None else (*marked, forest.peers[marked])] += control
    found.ways.append(Way(places, sending, control, marked))


def _add(found: Causes, step: Step, rows: list[dict[str, Any]], forest: Forest) -> None:
    """Adds the parts of a message. For a step `leaving`: the parts until the last packet left the source."""
    if step.kind == "leaving":
        rows = [row for row in rows if row["hop"] == 0 and row["kind"] not in _ON_ITS_WAY]
    together = sum(row["time_ps"] for row in rows)
    if step.kind == "leaving" and together != step.ps:
        # The last packet was retransmitted before it arrived; delays of the first transmission are not recorded.
        found.by_cause["sending"] += step.ps
        return
    if together != step.ps:
        what = f"the parts of a message of {step.operation['name']!r} do not add up (`time_ps`)"
        raise InputError(f"delays.parquet: is damaged, or of another run: {what}")
    for row in rows:
        ps = row["time_ps"]
        found.by_cause[CAUSE_OF.get(row["kind"], "queueing")] += ps
        if row["kind"] in _AT_A_LINK:
            place = (row["node"], row["port"])
            found.by_link[*place, forest.peers[place]] += ps
            if row["kind"] != "paused":
                found.by_queue[*place, forest.peers[place]] += ps
        if row["kind"] == "paused" and (root := forest.root_of(row)) is not None:
            found.by_root[root] += ps


def largest(sums: Mapping[T, int]) -> list[tuple[T, int]]:
    """Returns the parts of a sum in descending order. Equal parts keep the given order."""
    return sorted(sums.items(), key=lambda item: -item[1])
