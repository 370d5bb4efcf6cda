"""Dispatch and combine: published times of kernels beside a decode step of serving.

Each row is a decode step with one layer: all ranks send the tokens of their sequences to experts, and get the results
back. The simulated time is the mean over the ranks of the exposed time (`steps`). A closed form stands beside it: the
bytes of a rank, over the NIC or over NVLink. A kernel also takes time that is no time of the network. **One overhead
for each table and direction** stands for this time: the time of one published row, less the closed form of that row.
That row judges nothing. No other number comes from a measured time.

The overhead comes from the smallest row of a table that was given as shown when the predicates were written: DeepEP's
row of 8 ranks, which is NVLink alone, and the rows of 16 ranks elsewhere. Sources name neither switches nor paths.
Packets of a connection take all paths in turn here, as with adaptive routing on InfiniBand. DeepEP V2 prints
bandwidths; dispatch and combine are compared together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from matplotlib import rc_context

from xoff.plots import COLOURS, STYLE, Canvas, write
from xoff.reproduce import Judged, Part, Readings, as_results, chosen, given
from xoff.results import Result
from xoff_experiments.hardware._kernel_rows import (
    BOTH,
    COMBINE,
    DISPATCH,
    LIMITS,
    SETS,
    Row,
    measured,
    overhead_us,
)

CITATION = "Published times of dispatch and combine, by the sources in kernels.csv"

TABLES = {
    "E.1": ("DeepEP low latency, H800, ConnectX-7",),
    "E.2": ("Perplexity, ConnectX-7",),
    "E.3": ("DeepEP at Perplexity, ConnectX-7",),
    "E.4": ("Perplexity, EFA",),
    "E.5": ("UCCL-EP, EFA, H200", "UCCL-EP, EFA, B200"),
    "E.6": ("DeepEP V2, ConnectX-7",),
}
"""Statements and their tables."""
FORMULA_LIMIT, GUESS_LIMIT = 0.10, 0.10
_QUICK_RANKS = 32
_GUESSED = "DeepEP low latency, H800, ConnectX-7, EP32"
_NVLINK_GBPS = 200.0
_NVLINK = "NVLink of 200 GB/s, not 164.8 GB/s"
GUESSES: dict[str, dict[str, Any]] = {
    "a path for each connection (ECMP), not all in turn": {"switch.routing": {}},
    "cables of 100 m, not 10 m": {"network.rail.rail.delay": "100m", "network.rail.aggregation.link.delay": "100m"},
    "switches of 1 µs, not 300 ns": {"switch.forwarding_latency": "1us"},
    _NVLINK: {"network.servers.nvlink.rate": "1600Gbps"},
}
"""Other values of what no source tells, for one row."""


def _rows(quick: bool) -> list[Row]:
    return [row for row in measured() if not quick or row.ranks <= _QUICK_RANKS]


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenario of each row, and of one row with each guess; the quick variant has at most 32 ranks."""
    found = {row.name: row.scenario() for row in _rows(quick)}
    guessed = next(row for row in measured() if row.name == _GUESSED)
    return found | {f"{_GUESSED}; {guess}": guessed.scenario(changes) for guess, changes in GUESSES.items()}


def simulated_us(result: Result) -> dict[str, float]:
    """Returns the mean time over the ranks of the first step, by direction."""
    steps = [step for step in result.steps.to_pylist() if step["step"] == 0]
    found = {one: fmean(step[f"exposed_{one}_ps"] for step in steps) / 1e6 for one in (DISPATCH, COMBINE)}
    found[BOTH] = fmean(step["exposed_ps"] + step["bubble_ps"] for step in steps) / 1e6
    return found


class _Found:
    """A row and direction with measured and simulated times, in µs."""

    def __init__(self, row: Row, direction: str, measured_us: float, network_us: float) -> None:
        self.row = row
        self.direction = direction
        self.measured_us = measured_us
        self.network_us = network_us
        self.line_us = row.line_us(direction)
        self.overhead_us = overhead_us(row.table, direction)

    @property
    def name(self) -> str:
        return f"{self.row.name}, {self.direction}"

    @property
    def is_judged(self) -> bool:
        return self.row.role != SETS

    @property
    def ratio(self) -> float:
        """Simulated time with the overhead over measured time."""
        return (self.network_us + self.overhead_us) / self.measured_us


def _found(runs: Readings[Result]) -> list[_Found]:
    found = []
    for row in measured():
        if row.name in runs.names:
            simulated = simulated_us(runs.one(row.name))
            found += [_Found(row, direction, time, simulated[direction]) for direction, time in row.times]
    return found


def judge(runs: Readings[Result]) -> dict[str, Part]:
    """Judges each table by the limits of its rows, the closed form of all rows, and the guesses for one row."""
    found = _found(runs)
    parts = {key: _within([one for one in found if one.row.table in tables]) for key, tables in TABLES.items()}
    return parts | {"E.F": _formula(found), "E.G": _guesses(runs)}


def _within(found: Iterable[_Found]) -> Part:
    judged = [one for one in found if one.is_judged]
    missed = [one for one in judged if abs(one.ratio - 1) > LIMITS[one.row.role]]
    numbers: dict[str, Any] = {"rows": len(judged), "missed": len(missed)}
    if judged:
        numbers["least ratio"] = round(min(one.ratio for one in judged), 3)
        numbers["largest ratio"] = round(max(one.ratio for one in judged), 3)
    late = [f"{one.name} ({one.row.role}, ratio {one.ratio:.3f})" for one in missed]
    reason = f"Beyond its limit: {'; '.join(late)}." if late else ""
    return Part(not late, numbers, reason=reason, void="" if judged else "the quick variant has no such size")


def _formula(found: Iterable[_Found]) -> Part:
    """Judges the simulated times by the closed form, without overheads."""
    ratios = {one.name: one.network_us / one.line_us for one in found}
    late = [f"{name} ({ratio:.3f})" for name, ratio in ratios.items() if abs(ratio - 1) > FORMULA_LIMIT]
    numbers = {
        "rows": len(ratios),
        "missed": len(late),
        "least ratio": round(min(ratios.values()), 3),
        "largest ratio": round(max(ratios.values()), 3),
    }
    reason = f"Beyond the limit of {FORMULA_LIMIT:.0%}: {'; '.join(late)}." if late else ""
    return Part(not late, numbers, reason=reason)


def _changes(runs: Readings[Result]) -> dict[str, dict[str, float]]:
    """Returns the change of the row with each guess by direction, as a share. NVLink moves the overhead, too."""
    row = next(row for row in measured() if row.name == _GUESSED)
    as_judged = simulated_us(runs.one(row.name))
    found: dict[str, dict[str, float]] = {}
    for guess in GUESSES:
        simulated = simulated_us(runs.one(f"{row.name}; {guess}"))
        nvlink = _NVLINK_GBPS if guess == _NVLINK else None
        found[guess] = {
            one: (simulated[one] + overhead_us(row.table, one, nvlink)) / (as_judged[one] + overhead_us(row.table, one))
            - 1
            for one, _ in row.times
        }
    return found


def _guesses(runs: Readings[Result]) -> Part:
    changes = _changes(runs)
    numbers = {guess: ", ".join(f"{one} {change:+.1%}" for one, change in of.items()) for guess, of in changes.items()}
    late = [guess for guess, of in changes.items() if max(map(abs, of.values())) > GUESS_LIMIT]
    reason = f"Moves a time by more than {GUESS_LIMIT:.0%}: {'; '.join(late)}." if late else ""
    return Part(not late, numbers, reason=reason)


_SETTING = "Each row is a setting of its own."
_EACH = "each shown row within 10 %, each other row within 15 %"
JUDGED = Judged(
    document="hardware",
    statements={
        "E.1": f"DeepEP's low-latency kernels on H800 with ConnectX-7: {_EACH}",
        "E.2": f"Perplexity's kernels with ConnectX-7: {_EACH}",
        "E.3": f"DeepEP's kernels on Perplexity's servers with ConnectX-7: {_EACH}",
        "E.4": f"Perplexity's kernels on EFA: {_EACH}",
        "E.5": f"UCCL-EP's kernels on EFA: {_EACH}",
        "E.6": f"DeepEP V2, dispatch and combine of 8,192 tokens: {_EACH}",
        "E.F": "Without overheads, each simulated time is within 10 % of the closed form",
        "E.G": "No guess moves DeepEP's row of 32 ranks by more than 10 %",
    },
    ours=("E.F", "E.G"),
    runs=as_results,
    judge=judge,
    reasons={},
    limits=dict.fromkeys((*TABLES, "E.F"), _SETTING) | {"E.G": "The guesses are the settings."},
)
PARAMETERS = (
    given("servers, GPUs, NICs, rates, tokens, experts", "of each row", "kernels.csv"),
    given("bytes of a token", "7,408 and 14,336", "DeepEP, tests/legacy/test_low_latency.py"),
    chosen("overhead", "one for each table and direction", "time of the row that sets it, less its closed form"),
    chosen("fabric", "rail-optimised, never blocking; 10 m, 300 ns", "as for collectives; no source names switches"),
    chosen("paths", "all in turn, packet by packet", "InfiniBand's adaptive routing", also="ECMP"),
    chosen("NVLink", "164.8, 370.8 and 721.8 GB/s", "NCCL's numbers for H800, H100 or H200, and B200", also="200 GB/s"),
)
READS = ("steps",)
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def tables(results: Mapping[str, Result]) -> dict[str, list[list[str]]]:
    """Returns the rows of each table, and what each guess moves."""
    runs = as_results(results, "", "")
    head = ["ranks", "direction", "role", "measured (µs)", "closed form (µs)", "network in xoff (µs)"]
    head += ["overhead (µs)", "xoff (µs)", "ratio"]
    made: dict[str, list[list[str]]] = {}
    for one in _found(runs):
        title = f"{one.row.table}. Source: {one.row.link}"
        times = (one.measured_us, one.line_us, one.network_us, one.overhead_us, one.network_us + one.overhead_us)
        cells = [f"{time:,.1f}" for time in times]
        made.setdefault(title, [head]).append([one.row.size, one.direction, one.row.role, *cells, f"{one.ratio:.3f}"])
    guessed = [["guess", DISPATCH, COMBINE]]
    for guess, changes in _changes(runs).items():
        guessed.append([guess, *(f"{changes[one]:+.1%}" for one in (DISPATCH, COMBINE))])
    return made | {"Change of DeepEP's row of 32 ranks by each guess": guessed}


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws measured and simulated times of the tables by ranks."""
    found = [one for one in _found(as_results(results, "", "")) if one.direction != BOTH]
    names = list(dict.fromkeys(one.row.table for one in found))
    with rc_context(STYLE):
        drawing = Canvas(figsize=(8.6, 3.6), layout="constrained")
        panels = drawing.subplots(1, 2)
        for axes, direction in zip(panels, (DISPATCH, COMBINE), strict=True):
            for colour, name in zip(COLOURS, names, strict=False):
                points = [one for one in found if one.row.table == name and one.direction == direction]
                ranks = [one.row.ranks for one in points]
                axes.plot(ranks, [one.measured_us for one in points], "o", color=colour, markersize=4)
                simulated = [one.network_us + one.overhead_us for one in points]
                axes.plot(ranks, simulated, color=colour, linewidth=1, label=name)
            axes.set_xscale("log", base=2)
            ticks = [8, 16, 32, 64, 128, 256]
            axes.set_xticks(ticks, [str(tick) for tick in ticks], minor=False)
            axes.set_ylim(bottom=0)
            axes.set_xlabel(f"ranks of a {direction}; points: measured, lines: xoff")
        panels[0].set_ylabel("time (µs)")
        panels[0].legend(fontsize=6)
        write(drawing, path)
