"""The critical path of a step of serving, and the time in which the traffic of others stretched the step.

A rank computes, or waits for the last message of an exchange (a ring of tensor-parallel ranks, a dispatch, a combine).
The path starts at the end of the step and goes backwards: to the last message for which the rank waited, to the sender
of that message, and so on to the start of the step. The parts of the path add up to the time of the step.

*Stretch* is the time of the path that messages spent behind packets of others, paused for others, held, sent again, or
kept by congestion control. Packets of the same step are not of others.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from xoff._core import InputError
from xoff.insight.job_causes import CAUSE_OF
from xoff.insight.origins import Root
from xoff.insight.trees import Forest
from xoff.results import Result

_EXCHANGES = ("TP", "EP_dispatch", "EP_combine")

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a path: a rank computes, a message is on its way, or a scheduler is asked."""

    kind: str
    """`compute`, `message`, `order` (a report to the scheduler, and an order) or `queue` (waiting for a step)."""
    start_ps: int
    end_ps: int
    rank: int
    message: Row | None = None
    """The row of the message."""

    @property
    def ps(self) -> int:
        """The duration in picoseconds."""
        return self.end_ps - self.start_ps

    def to_dict(self) -> dict[str, Any]:
        """Returns the part with the keys of ``xoff explain --request --json``."""
        found: dict[str, Any] = {"kind": self.kind, "start_ps": self.start_ps, "end_ps": self.end_ps, "rank": self.rank}
        if self.message is not None:
            keys = ("label", "flow", "rank", "to_rank", "src", "dst", "size_bytes")
            found["message"] = {key: self.message[key] for key in keys}
        return found


@dataclass(frozen=True, slots=True, order=True)
class Stretch:
    """A cause of stretch: whose traffic, in which way, and where."""

    owner: str
    """`KV`; ranks that step together, such as `decode` or `decode, instance 1`; or the name of another workload."""
    cause: str
    """`queueing`, `paused`, `held`, `control` or `losses`."""
    node: str
    port: int


_POOLS = ("prefill", "decode", "aggregated")
"""The pools in the order in which ranks are numbered."""


def _units(name: str, pool: Mapping[str, Any]) -> Iterator[str]:
    """Yields for each rank of a pool the name of the ranks that step together: a DP rank, or an instance with EP."""
    for instance in range(pool["instances"]):
        for data in range(pool["data"]):
            words = [name]
            words += [f"instance {instance}"] if pool["instances"] > 1 else []
            words += [f"DP rank {data}"] if pool["data"] > 1 and pool["expert"] == 1 else []
            yield from [", ".join(words)] * pool["tensor"]


@dataclass(frozen=True, slots=True)
class _Wait:
    """The end of an exchange at a rank that waited for the last message."""

    at_ps: int
    began_ps: int
    message: Row


def _at(wait: _Wait) -> int:
    return wait.at_ps


class Steps:
    """The steps of a serving workload."""

    def __init__(self, result: Result, workload: str) -> None:
        self.name = workload
        self.by_rank: dict[tuple[str, int, int], list[dict[str, Any]]] = defaultdict(list)
        """By pool, instance and DP rank."""
        for row in result.steps.filter(pc.equal(result.steps["workload"], workload)).to_pylist():
            self.by_rank[row["phase"], row["instance"], row["rank"]].append(row)
        named = {one.get("name", "serving"): one.get("serving") for one in result.scenario["workload"]}
        serving = named.get(workload) or {}
        self.makes_first: bool = serving.get("first_token") == "decode" and "decode" in serving
        """True if decode makes the first token."""
        self._units = [unit for pool in _POOLS if pool in serving for unit in _units(pool, serving[pool])]

    def unit(self, rank: int) -> str:
        """Returns the name of the ranks that step together with a rank of the workload."""
        return self._units[rank]

    def of(self, request: Row) -> list[dict[str, Any]]:
        """Returns the steps that made the tokens of an ended request, the last step last."""
        place = (request["decode_instance"], request["decode_rank"])
        rows = self.by_rank.get(("decode", *place)) or self.by_rank.get(("aggregated", *place), [])
        end = request["arrival_ps"] + request["e2e_ps"]
        count = request["output_tokens"] - (not self.makes_first)
        before = [row for row in rows if row["end_ps"] <= end]
        return before[len(before) - count :] if count else []

    def slowest(self) -> list[dict[str, Any]]:
        """Returns the slowest DP rank of each step of an instance; each DP rank that steps by itself."""
        found: dict[tuple[str, int, int, int], dict[str, Any]] = {}
        for (phase, instance, _), rows in self.by_rank.items():
            for row in rows:
                # DP ranks of a lock-step begin at one moment.
                key = (phase, instance, row["step"], row["start_ps"])
                if key not in found or row["end_ps"] > found[key]["end_ps"]:
                    found[key] = row
        return sorted(found.values(), key=lambda row: (row["start_ps"], row["phase"], row["instance"], row["rank"]))

    def window(self, request: Row, token: int) -> tuple[int, int]:
        """Returns the time in which the messages of the path of a token travel."""
        steps = self.of(request)
        place = token - (not self.makes_first)
        return steps[max(place - 1, 0)]["start_ps"], steps[place]["end_ps"]


class Serving:
    """The steps and messages of a serving workload. The result must have the delays of all flows.

    window: the time whose messages are read; None for all messages.
    """

    def __init__(
        self, result: Result, workload: str, forest: Forest | None = None, window: tuple[int, int] | None = None
    ) -> None:
        self.steps = Steps(result, workload)
        self.name = workload
        self._steps = self.steps.by_rank
        messages = result.messages.filter(pc.equal(result.messages["workload"], workload))
        self._owners = self._find_owners(result, messages)
        if window is not None:
            ends = pc.add(messages["start_ps"], messages["fct_ps"])
            start, end = window
            messages = messages.filter(pc.and_(pc.greater_equal(messages["start_ps"], start), pc.less_equal(ends, end)))
        self._messages = messages.to_pylist()
        delays = result.table("delays")
        if window is not None:
            operations = pc.unique(messages["operation"])
            delays = delays.filter(pc.is_in(delays["operation"], operations))
        self._forest = forest or pauses(result)
        self._contributors: dict[Root | None, dict[int, int]] = {
            tree.root: tree.contributors for tree in self._forest.trees
        }
        self._waits = self._find_waits()
        # By label, operation, number in the operation, receiving rank and end.
        self._into = {
            (row["label"], row["operation"], row["step"], row["to_rank"], _end(row)): row
            for row in self._messages
            if row["label"] != "KV"
        }
        self._delays: dict[tuple[int, int, int], list[dict[str, Any]]] = defaultdict(list)
        for row in delays.to_pylist():
            if row["operation"] is not None:
                self._delays[row["flow"], row["operation"], row["message"]].append(row)

    def _find_waits(self) -> dict[int, list[_Wait]]:
        """Returns the exchanges for whose last message a rank waited, by rank, in order of time."""
        began: dict[tuple[int, str, int], int] = {}
        last: dict[tuple[int, str, int], Row] = {}
        for row in self._messages:
            if row["label"] not in _EXCHANGES:
                continue
            own = (row["rank"], row["label"], row["operation"])
            began[own] = min(began.get(own, row["start_ps"]), row["start_ps"])
            other = (row["to_rank"], row["label"], row["operation"])
            if other not in last or _end(row) > _end(last[other]):
                last[other] = row
        waits: dict[int, list[_Wait]] = defaultdict(list)
        for key, row in last.items():
            if key in began and _end(row) > began[key]:
                waits[key[0]].append(_Wait(_end(row), began[key], row))
        for found in waits.values():
            found.sort(key=_at)
        return waits

    def _find_owners(self, result: Result, messages: pa.Table) -> dict[int, str]:
        """Returns the owner of each flow: KV, ranks that step together, or another workload."""
        owners = {row["flow"]: str(row["workload"]) for row in result.flows.select(["flow", "workload"]).to_pylist()}
        keys = ["flow", "label", "rank"]
        for row in messages.select(keys).group_by(keys).aggregate([]).to_pylist():
            if row["flow"] is not None:
                owners[row["flow"]] = "KV" if row["label"] == "KV" else self.steps.unit(row["rank"])
        return owners

    def path(self, step: Row) -> list[Part]:
        """Returns the critical path of a step of a DP rank. Raises `InputError` if tables do not fit together."""
        parts: list[Part] = []
        rank, at, start = step["slowest_rank"], step["end_ps"], step["start_ps"]
        while at > start:
            wait = self._last_wait(rank, at, start)
            since = start if wait is None else wait.at_ps
            parts.append(Part("compute", since, at, rank))
            if wait is None:
                break
            rank, at = self._follow(wait, parts)
            if len(parts) > 4 * len(self._messages) + 4:
                raise InputError("messages.parquet: is damaged, or of another run: messages wait for one another")
        parts.reverse()
        ends = [part.end_ps for part in parts[:-1]]
        if [part.start_ps for part in parts[1:]] != ends or parts[0].start_ps != start:
            raise InputError("messages.parquet: is damaged, or of another run: messages do not follow one another")
        return [part for part in parts if part.ps]

    def _last_wait(self, rank: int, at: int, start: int) -> _Wait | None:
        """Returns the last wait of a rank up to a moment, if the wait belongs to the step that began at `start`."""
        waits = self._waits.get(rank, [])
        place = bisect_right(waits, at, key=_at)
        wait = waits[place - 1] if place else None
        return wait if wait is not None and wait.began_ps >= start else None

    def _follow(self, wait: _Wait, parts: list[Part]) -> tuple[int, int]:
        """Adds the messages of an exchange; returns the rank before these messages, and the moment."""
        row = wait.message
        while True:
            parts.append(Part("message", row["start_ps"], _end(row), row["rank"], row))
            # A message of a ring, or a message that a rank passes on for another server, was released by a message of
            # the same operation.
            step = row["step"] - 1 if row["label"] == "TP" else row["step"]
            found = self._into.get((row["label"], row["operation"], step, row["rank"], row["start_ps"]))
            if found is None:
                return row["rank"], row["start_ps"]
            row = found

    def token(self, request: Row, token: int) -> list[Part]:
        """Returns the parts between a token of decode and the token before.

        token: at least 1, or 0 if decode makes the first token.
        """
        steps = self.steps.of(request)
        place = token - (not self.steps.makes_first)
        step = steps[place]
        path = self.path(step)
        if place == 0:
            first = request["arrival_ps"] + request["ttft_ps"] if token else request["arrival_ps"]
            return [Part("queue", first, step["start_ps"], step["slowest_rank"]), *path]
        return [*self._between(steps[place - 1], step), *path]

    def _between(self, before: Row, step: Row) -> list[Part]:
        """Returns the parts between the ends of a DP rank's step and the start of the next step."""
        start, end = before["end_ps"], step["start_ps"]
        others = [
            row
            for (phase, instance, _), rows in self._steps.items()
            if (phase, instance) == (step["phase"], step["instance"])
            for row in rows
            if start < row["end_ps"] <= end and row["start_ps"] == before["start_ps"]
        ]
        slowest = max(others, key=lambda row: row["end_ps"], default=None)
        if slowest is None:
            return [Part("order", start, end, step["slowest_rank"])]
        parts = [_cut(part, start) for part in self.path(slowest) if part.end_ps > start]
        return [*parts, Part("order", slowest["end_ps"], end, step["slowest_rank"])]

    def stretch(self, parts: Iterable[Part], unit: str) -> dict[Stretch, int]:
        """Returns the time of a path in which others stretched a step of ranks (`Steps.unit`), in picoseconds."""
        found: dict[Stretch, int] = defaultdict(int)
        for part in parts:
            for _, cause, ps in self.causes(part, unit):
                if cause is not None:
                    found[cause] += ps
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    def causes(self, part: Part, unit: str) -> Iterator[tuple[Row, Stretch | None, int]]:
        """Yields the delays of a message of a path, each with the traffic of others that caused the delay, if any.

        A pause is shared out among the other flows at the output of the root: in the shares in which the output served
        them while the message waited there, or in which their bytes waited there. The flow of the message itself has
        no share: a flow alone is not paused. Example: a message of one sender and a KV cache take turns on a link. The
        message is paused for half of the time, and the KV cache is the cause of the whole pause.
        """
        rows = self.delays(part)
        served: dict[tuple[str, int], dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for row in rows:
            is_other = row["blocking_flow"] not in {None, row["flow"]}
            if row["kind"] == "queueing" and is_other and row["blocking_flow"] in self._owners:
                served[row["node"], row["port"]][self._owners[row["blocking_flow"]]] += row["time_ps"]
        for row in rows:
            if row["kind"] != "paused" or row["cause"] == "fault":
                yield row, self._cause(row, unit), row["time_ps"]
                continue
            root = self._forest.root_of(row)
            shares = dict(served.get((root.node, root.port if root.port is not None else -1), {})) if root else {}
            left, whole = row["time_ps"], sum((shares := shares or self._waiting(root, row["flow"])).values())
            for owner, share in sorted(shares.items()):
                if owner != unit:
                    ps = row["time_ps"] * share // whole
                    left -= ps
                    yield row, Stretch(owner, "paused", row["node"], row["port"]), ps
            yield row, None, left

    def delays(self, part: Part) -> list[dict[str, Any]]:
        """Returns the rows of table `delays` of a message of a path; empty for other parts and over NVLink."""
        if part.message is None or part.message["flow"] is None:
            return []
        message = part.message
        rows = self._delays.get((message["flow"], message["operation"], message["message"]), [])
        whole = sum(row["time_ps"] for row in rows)
        if whole != message["fct_ps"]:
            raise InputError("delays.parquet: is damaged, or of another run: the parts of a message do not add up")
        return rows if part.ps == whole else []

    def _cause(self, row: Row, unit: str) -> Stretch | None:
        """Returns the cause of a delay for which others are responsible; None for the step's own traffic."""
        cause, place = CAUSE_OF.get(row["kind"], "queueing"), (row["node"], row["port"])
        if cause == "queueing":
            owner = self._owners.get(row["blocking_flow"])
            return None if owner in {None, unit} else Stretch(str(owner), cause, *place)
        if cause in {"paused", "held"}:
            return Stretch(str(row["cause"]), cause, *place)
        owner = {"control": "congestion control", "losses": "losses"}.get(cause)
        return None if owner is None else Stretch(owner, cause, *place)

    def _waiting(self, root: Root | None, own: int) -> dict[str, int]:
        """Returns the bytes that waited at the root of pauses, by owner, without those of a flow."""
        sums: dict[str, int] = defaultdict(int)
        for flow, size in self._contributors.get(root, {}).items():
            if flow != own:
                sums[self._owners.get(flow, "?")] += size
        return sums


class _Without:
    """A result without the rows of a table."""

    def __init__(self, result: Result, name: str) -> None:
        self._result, self._name = result, name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._result, name)

    def table(self, name: str) -> pa.Table:
        """Returns a table; the named table without rows."""
        found = self._result.table(name)
        return found.slice(0, 0) if name == self._name else found


def _end(row: Row) -> int:
    return int(row["start_ps"] + row["fct_ps"])


def _cut(part: Part, start: int) -> Part:
    """Returns a part from a moment on."""
    return Part(part.kind, max(part.start_ps, start), part.end_ps, part.rank, part.message)


def pauses(result: Result) -> Forest:
    """Returns the trees of pauses without their costs, which need the delays of all flows."""
    return Forest(cast("Result", _Without(result, "delays")))


def workloads(result: Result) -> list[str]:
    """Returns the names of serving workloads with steps or requests."""
    tables = [result.table(name)["workload"] for name in ("requests", "steps") if name in result.tables]
    return list(dict.fromkeys(str(name) for table in tables for name in pc.unique(table).to_pylist()))


def gaps(request: Row, steps: list[dict[str, Any]], *, makes_first: bool) -> list[int]:
    """Returns the time between a token and the token before, from token 1 on."""
    ends = [step["end_ps"] for step in steps]
    if not makes_first:
        ends = [request["arrival_ps"] + request["ttft_ps"], *ends]
    return [later - earlier for earlier, later in pairwise(ends)]


def time_of_steps(result: Result) -> dict[str, dict[str, int]]:
    """Returns the time of all steps by workload and pool, in picoseconds."""
    found: dict[str, dict[str, int]] = {}
    for name in workloads(result):
        sums: dict[str, int] = defaultdict(int)
        for row in Steps(result, name).slowest():
            sums[row["phase"]] += row["end_ps"] - row["start_ps"]
        found[name] = dict(sums)
    return found


STRETCH = pa.schema(
    [
        ("workload", pa.string()),
        ("phase", pa.string()),
        ("instance", pa.int64()),
        ("step", pa.int64()),
        ("owner", pa.string()),
        ("cause", pa.string()),
        ("node", pa.string()),
        ("port", pa.int64()),
        ("time_ps", pa.int64()),
    ]
)
"""The columns of the table of `stretch`."""


def stretch(result: Result) -> pa.Table:
    """Returns the stretch of all steps: a row for each step, owner, cause and output.

    DP ranks with common experts step together: the slowest of them has the path. The columns are those of `STRETCH`:
    whose traffic (`owner`), in which way (`cause`: queueing, paused, held, control, losses), at which output, and the
    time in picoseconds. The result needs ``probe.delays = "all"``.

    Raises `InputError` if the result has no serving workload, or no delays of all flows.
    """
    if not workloads(result):
        raise InputError("stretch: the result has no steps of a serving workload")
    if result.scenario.get("probe", {}).get("delays") != "all":
        raise InputError('stretch: the result lacks delays; set probe.delays = "all"')
    forest = pauses(result)
    rows = []
    for name in workloads(result):
        serving = Serving(result, name, forest)
        for step in serving.steps.slowest():
            for cause, ps in serving.stretch(serving.path(step), serving.steps.unit(step["slowest_rank"])).items():
                place = {key: step[key] for key in ("phase", "instance", "step")}
                found = {"owner": cause.owner, "cause": cause.cause, "node": cause.node, "port": cause.port}
                rows.append({"workload": name, **place, **found, "time_ps": ps})
    return pa.Table.from_pylist(rows, schema=STRETCH)


def stretch_by_owner(result: Result) -> dict[tuple[str, str], dict[str, int]]:
    """Returns the stretch of all steps by owner, for each workload and pool, in picoseconds.

    Raises `InputError` as `stretch` does.
    """
    found: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in stretch(result).to_pylist():
        found[row["workload"], row["phase"]][row["owner"]] += row["time_ps"]
    return {key: dict(sorted(sums.items(), key=lambda item: (-item[1], item[0]))) for key, sums in found.items()}
