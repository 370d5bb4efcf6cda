"""N.12: what IRN's timeouts and its window cost.

Source: the PortFC paper, sections V-B and V-E. Ours: the sweep of timeouts on WebSearch with 32-to-1 incasts in NDC(8,
1) without DCQCN, where queues delay answers most; for the window one flow of 10 MB within a server of the Rail-only
network (two hops of 160 Gb/s), one from server to server along a rail, and one over both.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from experiments.portfc._ndc import Setting, mixed, ndc, rail_only, scenario
from experiments.portfc._runs import Runs, runs_of
from matplotlib import rc_context

from xoff.plots import COLOURS, STYLE, Canvas, write
from xoff.reproduce import Judged, Part
from xoff.results import Result

CITATION = "PortFC: Designing High-Performance Deadlock-Free BCube Networks, sections V-B and V-E"

TIMEOUTS_US = ((25, 80), (50, 160), (100, 320), (200, 640), (400, 1280))
"""RTO_low and RTO_high."""
PATHS = {"within a server": 1, "along a rail": 8, "over both": 9}
"""Destination of a flow from GPU 0 of a server of 8."""


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Return the scenarios by name."""
    setting = Setting(arrivals_ms=1 if quick else 2, period_ms=0.5)
    n = 4 if quick else 8
    made = {}
    for low, high in TIMEOUTS_US:
        for seed in (1, 2) if quick else (1, 2, 3, 4, 5):
            one = scenario("irn", ndc(n), mixed(n, "websearch", setting), setting, seed=seed)
            one["host"]["transport"]["irn"] |= {"rto_low": f"{low}us", "rto_high": f"{high}us"}
            del one["host"]["congestion_control"]
            made[f"{low}/{high}/seed {seed}"] = one
    for label, dst in PATHS.items():
        for name in ("portfc", "irn"):
            made[f"{label}/{name}/seed 1"] = scenario(
                name, rail_only(8), [{"flows": [{"src": 0, "dst": dst, "size": "10MB"}]}]
            )
    return made


def _timeouts(runs: Runs, what: Any) -> dict[str, float]:
    return {f"{low} / {high}": runs.mean(f"{low}/{high}", what) for low, high in TIMEOUTS_US}


def judge(runs: Runs) -> dict[str, Part]:
    """Judge the sweep, and flows alone."""
    spurious = _timeouts(runs, lambda run: run.result.summary["transport"]["duplicates"])
    again = _timeouts(runs, lambda run: run.result.summary["retransmitted"])
    small = _timeouts(runs, lambda run: run.small_us())
    speed = _timeouts(runs, lambda run: run.throughput_gbps())
    alone = {
        label: {
            text: round(runs.mean(f"{label}/{name}", lambda run: run.throughput_gbps()), 1)
            for text, name in (("PortFC", "portfc"), ("IRN", "irn"))
        }
        for label in PATHS
    }
    values = list(spurious.values())
    best = (min(small, key=lambda name: small[name]), max(speed, key=lambda name: speed[name]))
    inside = alone["within a server"]
    return {
        "N.12-timeouts": Part(
            all(one >= other for one, other in pairwise(values)) and values[0] > values[-1],
            {
                "spurious, by RTO_low / RTO_high (µs)": {name: round(value) for name, value in spurious.items()},
                "sent again in all": {name: round(value) for name, value in again.items()},
            },
        ),
        "N.12-tradeoff": Part(
            best[0] != best[1],
            {
                "mean FCT below 100 KB (µs)": {name: round(value, 2) for name, value in small.items()},
                "mean throughput (Gb/s)": {name: round(value, 2) for name, value in speed.items()},
            },
        ),
        "N.12-window": Part(
            inside["IRN"] < 0.85 * inside["PortFC"],
            {f"a flow {label} (Gb/s)": found for label, found in alone.items()},
        ),
    }


_JUDGED = Judged(
    document="portfc",
    statements={
        "N.12": "IRN: no setting of the timeouts serves both low latency and high throughput; BDP-FC underuses "
        "the high-bandwidth domain",
        "N.12-timeouts": "Short timeouts repeat packets in vain: spurious retransmissions fall as the timeouts grow",
        "N.12-tradeoff": "No setting of the timeouts has both the lowest FCT of small flows and the highest throughput",
        "N.12-window": "IRN's window leaves much of the high-bandwidth domain unused: a flow alone there is slower "
        "than with PortFC",
    },
    runs=runs_of,
    judge=judge,
    reasons={
        "N.12-window": "The window is that of a path of four links at 100 Gb/s, 104 KB. A path within the "
        "high-bandwidth domain has two links and half the round trip, so that 104 KB are more than its product at 160 "
        "Gb/s (84 KB): the window never closes. Over both domains the rail limits the flow, not the window. It would "
        "close on paths of four links faster than 100 Gb/s, of which Rail-only has none.",
    },
    quick_reasons=True,
)
CLAIMS = _JUDGED.listed
claims = _JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw spurious retransmissions and the FCT of small flows against the timeouts."""
    runs = runs_of(results)
    found = (
        ("packets sent again in vain", _timeouts(runs, lambda run: run.result.summary["transport"]["duplicates"])),
        ("mean FCT below 100 KB (µs)", _timeouts(runs, lambda run: run.small_us())),
        ("mean throughput (Gb/s)", _timeouts(runs, lambda run: run.throughput_gbps())),
    )
    with rc_context(STYLE):
        drawing = Canvas(figsize=(9, 2.8), layout="constrained")
        for index, (axes, (label, values)) in enumerate(zip(drawing.subplots(1, 3), found, strict=True)):
            axes.plot(list(values), list(values.values()), "o-", color=COLOURS[index])
            axes.set_ylabel(label)
            axes.set_ylim(bottom=0)
            axes.set_xlabel("RTO_low / RTO_high (µs)")
            axes.tick_params(axis="x", labelsize=7)
        write(drawing, path)
