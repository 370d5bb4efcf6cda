"""The replay of a run on its page: the data from which the script shows any moment, within a budget of bytes.

The sources are tables of a result: `links` for the map, `samples` for queues, `pauses`, `flows`, and `faults`. A moment
t is exact within the tables: a queue is as at the last sample up to t, a pause lasts from its ``start_ps`` until before
its ``end_ps``, a flow from its ``start_ps`` until before its last byte arrives.

Data beyond the budget are left out, and the page states it: every other sample, repeatedly, so that the remaining
samples stay exact; the shortest pauses; the smallest flows.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from xoff import formatting
from xoff.plots import colour
from xoff.report import topology
from xoff.report.page import Replay
from xoff.results import Result, connections, counts

BUDGET = {"samples": 1_100_000, "pauses": 600_000, "flows": 300_000, "faults": 50_000}
"""Maximum bytes of each part in the page: 2 MB in all."""


_Port = tuple[str, int]


def build(result: Result, budget: dict[str, int] = BUDGET) -> Replay:
    """Returns the replay of a result."""
    again = "xoff run scenario.json --set probe.replay=true --out result"
    has_samples = "samples" in result.tables and result.samples.num_rows > 0
    has_pauses = "pauses" in result.tables and result.pauses.num_rows > 0
    interval = result.summary.get("sampled_every_ps") or 0
    if not (has_samples and interval > 0) and not has_pauses:
        if interval:
            return Replay(None, ["No packet waited, and no port was paused."])
        what = "This run recorded no queues, and no port was paused"
        return Replay(None, [f"{what}; for a replay set probe.replay = true: {again}."])
    flows = result.flows if "flows" in result.tables else None
    ends = set() if flows is None else {*flows["src"].to_pylist(), *flows["dst"].to_pylist()}
    links = _rows(result.links, "node", "peer", "port", "rate_bps")
    layout = topology.layout([(node, peer) for node, peer, _, _ in links], ends)
    if not layout.places:
        return Replay(None, [layout.note])
    notes = [layout.note] if layout.note else []
    places = {name: number for number, name in enumerate(layout.places)}
    drawn = [link for link in links if link[0] in places and link[1] in places]
    ports: dict[_Port, int] = {(node, port): number for number, (node, _, port, _) in enumerate(drawn)}
    data: dict[str, Any] = {
        "end": max(result.summary.get("simulated_ps") or 0, 1),
        "width": topology.WIDTH,
        "height": layout.height,
        "radius": layout.radius,
        "nodes": [
            [name, round(x, 1), round(y, 1), int(name in layout.hosts)] for name, (x, y) in layout.places.items()
        ],
        "ports": [[places[node], places[peer], port, rate] for node, peer, port, rate in drawn],
        "every": 0,
        "queues": [],
        "causes": [],
        "pauses": [],
        "flows": [],
        "faults": [],
    }
    if interval > 0 and "samples" in result.tables:
        data["queues"], data["every"], left_out = _queues(result, ports, interval, budget["samples"])
        notes += left_out
    else:
        notes.append(f"Queues were not recorded: the pauses alone are shown. To see queues, too: {again}")
    if has_pauses:
        names = sorted(set(result.pauses["cause"].to_pylist()))
        labels = {group.name: group.label for group in counts.groups()}
        data["causes"] = [[labels.get(name, name), colour(name)] for name in names]
        data["pauses"], left_out = _pauses(result.pauses, ports, names, budget["pauses"])
        notes += left_out
    if flows is not None:
        if serving := connections.of_serving(result):
            flows = flows.filter(pc.invert(pc.is_in(flows["flow"], pa.array(serving, flows["flow"].type))))
            notes.append(f"{len(serving):,} connections of serving, which stay open, are not among the flows.")
        data["flows"], left_out = _flows(flows, places, budget["flows"], connections.ends(result))
        notes += left_out
    if "faults" in result.tables:
        data["faults"], left_out = _faults(result.table("faults"), drawn, budget["faults"])
        notes += left_out
    return Replay(data, notes)


def _rows(table: pa.Table, *columns: str) -> list[tuple[Any, ...]]:
    return list(zip(*(table[name].to_pylist() for name in columns), strict=True))


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")) + 1


def _queues(
    result: Result, ports: dict[_Port, int], interval: int, budget: int
) -> tuple[list[list[Any]], int, list[str]]:
    """Returns port, number, class and changes of each queue: pairs of samples since the last change, and bytes."""
    known = _rows(result.queues, "node", "port", "queue", "class") if "queues" in result.tables else []
    classes = {(node, port, queue): tag for node, port, queue, tag in known}
    found: dict[tuple[str, int, int], dict[int, int]] = defaultdict(dict)
    for time, node, port, queue, size in _rows(result.samples, "time_ps", "node", "port", "queue", "bytes"):
        if (node, port) in ports:
            found[node, port, queue][time // interval] = size
    end = result.summary.get("simulated_ps") or 0
    every = 1
    while True:
        # Samples from the start on, before the end.
        looks = max(1, -(-end // (every * interval)))
        made = [
            [ports[node, port], queue, classes.get((node, port, queue), 0), _changes(sizes, every, looks)]
            for (node, port, queue), sizes in sorted(found.items())
        ]
        if looks == 1 or _size(made) <= budget:
            break
        every *= 2
    kept = every * interval
    notes = [f"Queues are sampled every {formatting.setting(kept, 'ps')}."]
    if every > 1:
        notes = [
            f"Queues are sampled every {formatting.setting(kept, 'ps')}; the samples of the run, every "
            f"{formatting.setting(interval, 'ps')}, would not fit into this page."
        ]
    return made, kept, notes


def _changes(sizes: dict[int, int], every: int, looks: int) -> list[int]:
    """Returns the changes of a queue's depth over `looks` samples; a queue without a size is empty.

    sizes: by the number of the sample.
    every: number of recorded samples per kept sample.
    """
    seen = {index // every: size for index, size in sizes.items() if index % every == 0 and index < looks * every}
    made: list[int] = []
    last, depth = 0, 0
    for look in sorted({*seen, *(look + 1 for look in seen if look + 1 < looks)}):
        if (size := seen.get(look, 0)) != depth:
            made += [look - last, size]
            last, depth = look, size
    return made


def _pauses(
    pauses: pa.Table, ports: dict[_Port, int], causes: Sequence[str], budget: int
) -> tuple[list[list[int]], list[str]]:
    """Returns port, queue, class, cause, start and length (-1 if it did not end) of each pause, in order of starts."""
    numbers = {name: number for number, name in enumerate(causes)}
    rows = [
        [ports[node, port], queue, tag, numbers[cause], start, -1 if end is None else end - start]
        for node, port, queue, tag, cause, start, end in _rows(
            pauses, "node", "port", "queue", "class", "cause", "start_ps", "end_ps"
        )
        if (node, port) in ports
    ]
    kept = _within(rows, budget, lambda row: (row[5] >= 0, -row[5]))
    notes = []
    if len(kept) < len(rows):
        notes = [f"Of {len(rows):,} pauses the {len(kept):,} longest are shown; the table of pauses has all."]
    return sorted(kept, key=lambda row: row[4]), notes


def _flows(
    flows: pa.Table, places: dict[str, int], budget: int, carried: Mapping[int, int | None]
) -> tuple[list[list[Any]], list[str]]:
    """Returns name, ends, start, time to the last byte (-1 if missing), bytes, and nodes between of each flow.

    carried: connections, which last until their last message arrived.
    """

    def lasts(flow: int, start: int, fct: int | None) -> int:
        end = carried.get(flow)
        return end - start if end is not None else -1 if fct is None else fct

    rows = [
        [
            label or f"flow {flow}", places.get(src, -1), places.get(dst, -1), start, lasts(flow, start, fct), size,
            [places[name] for name in via.split(", ") if name in places],
        ]
        for flow, label, src, dst, start, fct, size, via in _rows(
            flows, "flow", "label", "src", "dst", "start_ps", "fct_ps", "size_bytes", "via"
        )
    ]  # fmt: skip
    kept = _within(rows, budget, lambda row: -row[5])
    notes = []
    if len(kept) < len(rows):
        notes = [f"Of {len(rows):,} flows the {len(kept):,} largest are shown; the table of flows has all."]
    return sorted(kept, key=lambda row: row[3]), notes


def _faults(
    faults: pa.Table, drawn: Sequence[tuple[str, str, int, int]], budget: int
) -> tuple[list[list[Any]], list[str]]:
    """Returns description, start, length (-1 if it did not end) and ports of each fault."""

    def places(target: str) -> list[int]:
        return [
            number
            for number, (node, peer, _, _) in enumerate(drawn)
            if target in {f"{node}-{peer}", f"{peer}-{node}", f"{node} -> {peer}", node, peer}
        ]

    targets = {target: places(target) for target in set(faults["target"].to_pylist())}
    rows = [
        [f"{target} ({kind})", start, -1 if end is None else end - start, targets[target]]
        for kind, target, start, end in _rows(faults, "kind", "target", "start_ps", "end_ps")
    ]
    kept = _within(rows, budget, lambda row: (row[2] >= 0, -row[2]))
    notes = []
    if len(kept) < len(rows):
        notes = [f"Of {len(rows):,} faults the {len(kept):,} longest are shown; the table of faults has all."]
    return sorted(kept, key=lambda row: row[1]), notes


def _within(rows: Iterable[list[Any]], budget: int, rank: Callable[[list[Any]], Any]) -> list[list[Any]]:
    """Returns the first rows by rank that fit into `budget` bytes."""
    kept, used = [], 2
    for row in sorted(rows, key=rank):
        used += _size(row)
        if used > budget:
            break
        kept.append(row)
    return kept
