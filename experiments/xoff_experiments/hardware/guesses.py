"""What was guessed, and what each guess moves: times of judged systems with other values.

No source gives the latency of NVLink, cables, switches or the proxy's time of a system. xoff subtracts the latency of
the simulated NVLink and network from NCCL's latency of a hand-over. A guess therefore cancels while it is below NCCL's
latency, which is 0.6 µs for NVLink with LL. An NVLink of 1 µs adds 0.4 µs to each of 14 hand-overs.

The time of the proxy is NCCL's number of its choice, and stands here for an occupancy: a rank posts one message in that
time. On two servers a rank posts at most 1,024 messages for 1 GiB. On four servers the pieces of NVLSTree are smaller,
and the busiest rank posts 4,096 messages: 8.2 of 8.3 ms with 2 µs. For 4 MiB on four servers it posts 64 messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib import rc_context

from xoff.plots import COLOURS, STYLE, Canvas, write
from xoff.reproduce import Judged, Part, Readings, as_results, chosen, given
from xoff.results import Result
from xoff_experiments.hardware._rows import KIB, MIB, QUICK, TICKS, Row, measured, size_name

CITATION = "Published measurements of nccl-tests, by the sources in measured.csv"

LIMIT = 0.15
"""The largest change of a time that a guess may make."""
_SIZES = (8, 64 * KIB, MIB, 4 * MIB, 32 * MIB, 1024 * MIB)
_SERVERS = (2, 4)
GUESSES: dict[str, dict[str, Any]] = {
    "latency of NVLink 0.25 µs, not 0.5 µs": {"network.servers.nvlink.latency": "250ns"},
    "latency of NVLink 1 µs, not 0.5 µs": {"network.servers.nvlink.latency": "1us"},
    "cables of 100 m, not 10 m": {"network.rail.rail.delay": "100m"},
    "switches of 1 µs, not 300 ns": {"switch.forwarding_latency": "1us"},
    "proxy's time 0, not 1 µs": {"nccl.net_overhead": "0ns"},
    "proxy's time 2 µs, not 1 µs": {"nccl.net_overhead": "2us"},
}


def _rows(quick: bool) -> list[Row]:
    """Returns judged all-reduces of two and four servers at a few sizes."""
    rows = [row for row in measured() if row.judged and row.gpus == 8 and row.servers in _SERVERS]
    rows = [row for row in rows if row.collective == "all_reduce" and row.algorithm == "auto" and row.bytes in _SIZES]
    return [row for row in rows if not quick or row.bytes <= QUICK]


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
    changes = _changes(runs)
    found: dict[str, Any] = {}
    for guess, of_guess in changes.items():
        row = max(of_guess, key=lambda row: abs(of_guess[row]))
        found[guess] = f"{of_guess[row]:+.1%} ({row.servers} x {row.gpus}, {size_name(row.bytes)})"
    late = [guess for guess, of_guess in changes.items() if max(map(abs, of_guess.values())) > LIMIT]
    reason = f"Moves a time by more than {LIMIT:.0%}: {'; '.join(late)}." if late else ""
    return {"G": Part(not late, found, reason=reason)}


JUDGED = Judged(
    document="hardware",
    statements={"G": "No guess moves the time of a judged all-reduce on 2 or 4 servers by more than 15 %"},
    ours=("G",),
    runs=as_results,
    judge=judge,
    reasons={},
    limits={"G": "The guesses are the settings."},
)
PARAMETERS = (
    given("rows", "judged all-reduces on 2 and 4 servers of 8 H100", "measured.csv"),
    chosen("limit", f"{LIMIT:.0%}", "the limit of judged rows from 256 MiB"),
)
READS: tuple[str, ...] = ()
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def tables(results: Mapping[str, Result]) -> dict[str, list[list[str]]]:
    """Returns the change of each time by each guess."""
    runs = as_results(results, "", "")
    found = _changes(runs)
    made = [["row", "as judged (µs)", *GUESSES]]
    for row in next(iter(found.values())):
        cells = (f"{found[guess][row]:+.1%}" for guess in GUESSES)
        made.append([f"{row.group}, {size_name(row.bytes)}", f"{_time(runs.one(row.name)):,.2f}", *cells])
    return {"Change of the time by each guess": made}


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the change of each time by each guess, on two and on four servers."""
    found = _changes(as_results(results, "", ""))
    with rc_context(STYLE):
        drawing = Canvas(figsize=(8.6, 3.4), layout="constrained")
        panels = drawing.subplots(1, len(_SERVERS), sharey=True)
        for axes, servers in zip(panels, _SERVERS, strict=True):
            for colour, (guess, changes) in zip(COLOURS * 2, found.items(), strict=False):
                points = {row.bytes: 100 * change for row, change in changes.items() if row.servers == servers}
                axes.plot(list(points), list(points.values()), "o-", color=colour, markersize=3, label=guess)
            for limit in (-100 * LIMIT, 100 * LIMIT):
                axes.axhline(limit, color="#888888", linewidth=0.8, linestyle="--")
            axes.set_xscale("log", base=2)
            axes.set_xticks(list(TICKS), list(TICKS.values()), minor=False)
            axes.set_xlabel(f"size of an all-reduce on {servers} x 8 H100")
        panels[0].set_ylabel("change of the time (%)")
        panels[0].legend(fontsize=6)
        write(drawing, path)
