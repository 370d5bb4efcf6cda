"""Counters of a run, under the names of SONiC's COUNTERS_DB at switches and of ``ethtool -S`` at hosts.

``xoff explain --counters`` reads the file. It has a row for each counter of each port and class that PFC protects, and
rows of other classes for drops and marks that are not zero. Times are in µs with three decimals, where
switches have whole µs.
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from xoff._core import InputError
from xoff.counters import names
from xoff.counters.reading import COLUMNS, hosts
from xoff.exporting.format import Written
from xoff.results import Result
from xoff.results.spans import covered

_ALWAYS = {"received", "sent", "paused_us", "dropped_in"}


def write(result: Result, place: Path, _: list[str]) -> Written:
    """Writes the counters of a result."""
    needed = ("links", "pauses", "drops", "queues", "pause_frames")
    if lacking := [name for name in needed if name not in result.tables]:
        raise InputError(f"--counters: the result has no table {lacking[0]}; repeat the run with all tables")
    rows = 0
    of_hosts = hosts(result.links.to_pylist())
    with place.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for (node, port, class_), values in _values(result).items():
            is_host = node in of_hosts
            for key, value in values.items():
                name = names.name(key, class_, is_host=is_host)
                if name is not None and (value or key in _ALWAYS):
                    writer.writerow([node, port, class_, name, f"{value:.3f}" if key == "paused_us" else value])
                    rows += 1
    return Written({"counters": rows})


def _values(result: Result) -> dict[tuple[str, int, int], dict[str, Any]]:
    """Returns the counters by node, port and class."""
    end = result.summary["simulated_ps"]
    keys = [one.key for one in names.MEANINGS]
    frames = result.table("pause_frames").to_pylist()
    classes = {row["class"] for row in frames} | {row["class"] for row in result.queues.to_pylist()}
    ports = [(row["node"], row["port"]) for row in result.links.to_pylist()]
    found: dict[tuple[str, int, int], dict[str, Any]] = {
        (*port, class_): dict.fromkeys(keys, 0) for port in ports for class_ in sorted(classes)
    }
    for row in frames:
        values = found[row["node"], row["port"], row["class"]]
        values |= {"sent": row["sent"], "received": row["received"], "storms": row["storms"]}
    spans: dict[tuple[str, int, int], list[tuple[int, int]]] = defaultdict(list)
    for row in result.pauses.to_pylist():
        if row["cause"] == "pfc":
            until = end if row["end_ps"] is None else row["end_ps"]
            spans[row["node"], row["port"], row["class"]].append((row["start_ps"], until))
    for key, times in spans.items():
        found[key]["paused_us"] = covered(times) / 10**6
    # A switch counts a packet without room where it came, and one that a queue refused at the queue.
    drops = [row for row in result.drops.to_pylist() if row["reason"] == "buffer full"]
    lost = Counter((row["node"], row["in_port"], row["class"]) for row in drops)
    for key, number in lost.items():
        if key in found:
            found[key]["dropped_in"] = number
    for row in result.queues.to_pylist():
        values = found[row["node"], row["port"], row["class"]]
        values["dropped_out"] += row["dropped"]
        values["marked"] += row["marked"]
    return found
