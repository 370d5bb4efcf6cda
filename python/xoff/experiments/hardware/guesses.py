"""What was guessed, and what each guess moves: times of judged systems with other values.

No source gives the latency of NVLink, cables, switches or the proxy's time of a system. NCCL's latencies include what a
hand-over takes over NVLink and over one switch, so that these guesses cancel for the shortest messages. The time of the
proxy is NCCL's number of its choice, and stands here for an occupancy.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib import rc_context

from xoff.experiments.hardware._rows import KIB, MIB, QUICK, TICKS, Row, measured
from xoff.plots import COLOURS, STYLE, canvas, write
from xoff.reproduce import Judged, Part, Readings, as_results
from xoff.results import Result

CITATION = "Published measurements of nccl-tests, by the sources in measured.csv"

LIMIT = 0.15
"""The largest change of a time that a guess may make."""
_SIZES = (8, 64 * KIB, MIB, 32 * MIB, 1024 * MIB)
GUESSES: dict[str, dict[str, Any]] = {
    "latency of NVLink 0.25 µs, not 0.5 µs": {"network.servers.nvlink.latency": "250ns"},
    "cables of 100 m, not 10 m": {"network.rail.rail.delay": "100m"},
    "switches of 1 µs, not 300 ns": {"switch.forwarding_latency": "1us"},
    "proxy's time 0, not 1 µs": {"nccl.net_overhead": "0ns"},
    "proxy's time 2 µs, not 1 µs": {"nccl.net_overhead": "2us"},
    "16 slots, not 8": {"nccl.steps": 16},
}


def _rows(quick: bool) -> list[Row]:
    """Returns judged all-reduces of two and four servers at a few sizes."""
    rows = [row for row in measured() if row.judged and row.gpus == 8 and row.nics == 8 and row.bytes in _SIZES]
    return [row for row in rows if row.algorithm == "auto" and row.turn == 0 and (not quick or row.bytes <= QUICK)]


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenarios: each row as it is, and with each guess."""
    found = {}
    for row in _rows(quick):
        found[row.name] = row.scenario()
        found |= {f"{row.name}; {guess}": row.scenario(changes) for guess, changes in GUESSES.items()}
    return found


def _time(result: Result) -> float:
    return (next(iter(result.summary["workloads"].values()))["collective"]["time_ps"] or 0) / 1e6


def _changes(runs: Readings[Result]) -> dict[str, dict[Row, float]]:
    """Returns the change of each time by each guess, as a share."""
    rows = [row for row in _rows(quick=False) if row.name in runs.names]
    return {
        guess: {row: _time(runs.one(f"{row.name}; {guess}")) / _time(runs.one(row.name)) - 1 for row in rows}
        for guess in GUESSES
    }


def judge(runs: Readings[Result]) -> dict[str, Part]:
    """Judges that no guess moves a time by more than 15 %."""
    largest = {guess: max(found.values(), key=abs) for guess, found in _changes(runs).items()}
    measured_as = {guess: f"{change:+.1%}" for guess, change in largest.items()}
    late = [guess for guess, change in largest.items() if abs(change) > LIMIT]
    return {"G": Part(not late, measured_as, reason=f"Moves a time by more than {LIMIT:.0%}: {'; '.join(late)}.")}


JUDGED = Judged(
    document="hardware",
    statements={"G": "No guess moves the time of a judged all-reduce on 2 or 4 servers by more than 15 %"},
    ours=("G",),
    runs=as_results,
    judge=judge,
    reasons={},
    limits={"G": "The guesses are the settings."},
)
READS: tuple[str, ...] = ()
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def tables(results: Mapping[str, Result]) -> dict[str, list[list[str]]]:
    """Returns the change of each time by each guess."""
    found = _changes(as_results(results, "", ""))
    rows = list(next(iter(found.values())))
    head = ["guess", *(f"{row.servers} x {row.gpus}, {row.bytes:,} B" for row in rows)]
    return {
        "What guesses move": [head, *([guess, *(f"{one[row]:+.1%}" for row in rows)] for guess, one in found.items())]
    }


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the change of each time by each guess."""
    found = _changes(as_results(results, "", ""))
    with rc_context(STYLE):
        drawing, axes = canvas(6.4, 3.2)
        for colour, (guess, changes) in zip(COLOURS * 2, found.items(), strict=False):
            two = [(row.bytes, 100 * change) for row, change in changes.items() if row.servers == 2]
            axes.plot([one[0] for one in two], [one[1] for one in two], "o-", color=colour, markersize=3, label=guess)
        axes.set_xscale("log", base=2)
        axes.set_xticks(list(TICKS), list(TICKS.values()), minor=False)
        axes.set_xlabel("size of an all-reduce on 2 x 8 H100")
        axes.set_ylabel("change of the time (%)")
        axes.legend(fontsize=6)
        write(drawing, path)
