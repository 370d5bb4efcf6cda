"""The cost of rows: probes, and tables on disk, compared with a run without records."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from rich.markup import escape

from xoff import display
from xoff.bench import building
from xoff.bench.cases import CASES, million
from xoff.bench.measure import simulated
from xoff.bench.ratio import Ratio, in_turn

_CASE = "leaf-spine-128-dcqcn"
_PROBES: dict[str, dict[str, Any]] = {
    "flows, pauses and links, as always": {},
    "queues each 10 us": {"queues": "10us"},
    "delays of all flows": {"delays": "all"},
    "every packet": {"packets": True},
}


def rows(pairs: int) -> dict[str, Any]:
    """Measures each probe, recorded only and on disk, and a run of a million flows with the table on disk."""
    with building.workplace() as place:
        probes = [_cost(name, probe, place, pairs) for name, probe in _PROBES.items()]
        display.err.print("a million flows")
        began = time.monotonic()
        done = simulated(million(), out=place / "million")
        seconds = time.monotonic() - began
        table = place / "million" / "flows.parquet"
        flows = {
            "flows": done["flows"],
            "wall_seconds": seconds,
            "cpu_seconds": done["call_cpu_seconds"],
            "peak_rss_bytes": done["peak_rss_bytes"],
            "table_bytes": table.stat().st_size,
        }
    return {"case": _CASE, "probes": probes, "million_flows": flows}


def _cost(name: str, probe: dict[str, Any], place: Path, pairs: int) -> dict[str, Any]:
    display.err.print(f"{_CASE}: {escape(name)}")
    plain = CASES[_CASE][1] | {"probe": {"flows": False}}
    probed = plain | {"probe": probe}

    def seconds(scenario: dict[str, Any], out: Path | None = None) -> float:
        taken: float = simulated(scenario, out=out)["call_cpu_seconds"]
        return taken

    recorded = in_turn(pairs, lambda: seconds(probed), lambda: seconds(plain))
    on_disk = in_turn(pairs, lambda: seconds(probed, place / "result"), lambda: seconds(plain))
    return {
        "name": name,
        "probe": probe,
        "recorded": Ratio([with_it / without for with_it, without in recorded]).as_json(),
        "on_disk": Ratio([with_it / without for with_it, without in on_disk]).as_json(),
    }
