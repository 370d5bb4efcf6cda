"""Degree 22: what innocent flows get while the hot spot lasts, and the congested queue beside it.

Source: the BCN hot spot deck, "Hot Spot Degree: 22 Senders" and "Innocent Flow Thpt.". Topology A, PAUSE on. A run
ends at 110 ms; choices are in `_network.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from matplotlib import rc_context

from xoff.plots import STYLE, Canvas, write
from xoff.reproduce import Judged, Part, Spread, all_of, higher, lower, positive
from xoff.results import Result
from xoff_experiments.bcn._network import QEQ_BYTES, SET_UP, START_MS, scenario
from xoff_experiments.bcn._parameters import hot_spot
from xoff_experiments.bcn._runs import SEEDS, STEP_US, TABLES, Run, Runs, runs_of, told

CITATION = "BCN hot spots, IEEE 802.1au, 'Hot Spot Degree: 22 Senders'"

DEGREE, UNTIL_MS, BIN_MS = 22, 110.0, 0.5


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenarios by seed; the quick variant has a smaller hot spot and three seeds."""
    degree, until, seeds = (8, 45.0, SEEDS[:3]) if quick else (DEGREE, UNTIL_MS, SEEDS)
    probe = {"queues": f"{STEP_US}us", "packets": True, "flows": False}
    return {f"{degree}/seed {seed}": scenario(degree, 1, until, seed, probe=probe) for seed in seeds}


def _mean(rates: list[float], from_ms: float, to_ms: float) -> float:
    return fmean(rates[int(from_ms / BIN_MS) : max(int(from_ms / BIN_MS) + 1, int(to_ms / BIN_MS))])


def _read(run: Run) -> dict[str, float | None]:
    """Returns throughput (Gb/s an edge switch) before, during and after, and the share of time that PAUSE holds."""
    rates, stable = run.delivered_gbps(BIN_MS), run.stability_ms
    if stable is None:
        return dict.fromkeys(("before", "first quarter", "last quarter", "after", "held after"))
    end = START_MS + stable
    late = (end + 5) * 1e9
    held = 0.0
    rows = run.result.pauses.to_pylist()
    finish = (run.end_ms + START_MS) * 1e9
    for row in rows:
        if row["node"].startswith("edge") and row["peer"] == "core":
            held += max(0.0, (row["end_ps"] or finish) - max(row["start_ps"], late))
    edges = len({row["node"] for row in run.result.links.to_pylist() if row["peer"] == "core"}) - 1
    return {
        "before": _mean(rates, 1, START_MS),
        "first quarter": _mean(rates, START_MS, START_MS + stable / 4),
        "last quarter": _mean(rates, START_MS + stable * 3 / 4, end),
        "after": _mean(rates, end + 5, run.end_ms + START_MS),
        "held after": held / (finish - late) / edges,
    }


def judge(runs: Runs) -> dict[str, Part]:
    """Judges throughput by phase, and PAUSE after stability, seed by seed."""
    found = [runs.one(name) for name in sorted(runs.names)]
    each = [_read(run) for run in found]
    shown: dict[str, Any] = {
        f"innocents, {phase} (Gb/s)": told([one[phase] for one in each], 2)
        for phase in ("before", "first quarter", "last quarter", "after")
    }
    shown["time to stability (ms)"] = told([run.stability_ms for run in found])
    shown["settle time (ms)"] = told([run.settle_ms for run in found])
    if any(one["after"] is None for one in each):
        return {short: Part(False, shown) for short in ("B.1-throughput", "B.1-pause")}
    phases = {phase: [one[phase] or 0.0 for one in each] for phase in each[0]}
    nearly = [0.95 * rate for rate in phases["before"]]
    held = phases["held after"]
    return {
        "B.1-throughput": Part(
            all_of(
                lower(phases["first quarter"], nearly),
                lower(phases["first quarter"], phases["last quarter"]),
                higher(phases["after"], nearly),
            ),
            shown,
        ),
        "B.1-pause": Part(
            positive([0.01 - share for share in held]),
            {"share of the time that PAUSE holds an edge switch after": Spread.of(held)},
        ),
    }


_SLOWED = "See the figure: what innocents get follows how far the contenders are slowed."
JUDGED = Judged(
    document="bcn",
    statements={
        "B.1": "22 senders: once the limiters slow the contenders, head-of-line blocking at the edge ends and the "
        "innocents' throughput recovers; then PAUSE is no longer asserted",
        "B.1-throughput": "The innocents' throughput falls when the hot spot begins, is higher in the last quarter of "
        "the time to stability than in the first, and is what it was before (within 5 %) once the queue is stable",
        "B.1-pause": "From 5 ms after stability on, PAUSE holds edge switches for less than 1 % of the time",
    },
    runs=runs_of,
    judge=judge,
    limits={
        "B.1": "Only phases are varied, as its runs keep every packet. What congestion points and PAUSE do to "
        "innocents, B.3 tells."
    },
    set_up=SET_UP,
    reasons={"B.1": _SLOWED, "B.1-throughput": _SLOWED, "B.1-pause": "The queue comes back to XOFF."},
    quick_reasons=True,
)
PARAMETERS = hot_spot("22")
READS = (*TABLES, "pauses")
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the innocents' throughput and the congested queue of the first seed over time."""
    run = runs_of(results).one(next(iter(results)))
    with rc_context(STYLE):
        drawing = Canvas(figsize=(6.4, 4.6), layout="constrained")
        above, below = drawing.subplots(2, 1, sharex=True)
        rates = run.delivered_gbps(BIN_MS)
        above.plot([(i + 0.5) * BIN_MS for i in range(len(rates))], rates, color="#0072B2")
        above.set_ylabel("innocents (Gb/s an edge switch)")
        above.set_ylim(bottom=0)
        times = [START_MS + i * STEP_US / 1000 for i in range(len(run.queue))]
        below.plot(times, [size / 1000 for size in run.queue], color="#D55E00", linewidth=0.6)
        below.axhline(2 * QEQ_BYTES / 1000, color="#888888", linestyle="--", linewidth=0.8)
        below.set_ylabel("congested queue (KB)")
        below.set_xlabel("time (ms); dashed: 2 Qeq")
        if run.stability_ms is not None:
            for axes in (above, below):
                axes.axvline(START_MS + run.stability_ms, color="#888888", linewidth=0.8)
        write(drawing, path)
