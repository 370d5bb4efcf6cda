"""Rows beyond their limit, with other values: the runs that show a cause.

Three judged rows are beyond the limit of their size. Each row is run again with one other value. The values were chosen
after the first runs, and no value is taken over: this is a search for causes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib import rc_context

from xoff.plots import COLOURS, STYLE, canvas, write
from xoff.reproduce import Judged, Part, Readings, as_results, chosen, given
from xoff.results import Result
from xoff_experiments.hardware._rows import LIMITS, MIB, Row, measured, size_name

CITATION = "Published measurements of nccl-tests, by the sources in measured.csv"

_ROWS = ((32, 16), (4, 2 * MIB), (4, 4 * MIB))
"""Servers and size of the rows beyond their limit."""
_AS_JUDGED = "as judged"
_CHANGES: dict[str, dict[str, Any]] = {
    _AS_JUDGED: {},
    "proxy's time 0, not 1 µs": {"nccl.net_overhead": "0ns"},
    "proxy's time 2 µs, not 1 µs": {"nccl.net_overhead": "2us"},
    "NVLSTree, not a tree with LL128": {"collective.algorithm": "nvls_tree"},
}


def _rows() -> list[Row]:
    return [row for row in measured() if row.judged and (row.servers, row.bytes) in _ROWS]


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenarios: each row as judged, and with each other value that its GPUs allow."""
    del quick
    return {
        f"{row.name}; {change}": row.scenario(values)
        for row in _rows()
        for change, values in _CHANGES.items()
        if row.gpu != "a100" or "collective.algorithm" not in values
    }


def _ratios(runs: Readings[Result]) -> dict[Row, dict[str, float]]:
    """Returns time over measured time of each row, by change."""
    found: dict[Row, dict[str, float]] = {}
    for row in _rows():
        for change in _CHANGES:
            if (name := f"{row.name}; {change}") in runs.names:
                found.setdefault(row, {})[change] = _collective(runs.one(name))["time_ps"] / 1e6 / row.time_us
    return found


def _collective(result: Result) -> Mapping[str, Any]:
    return next(iter(result.summary["workloads"].values()))["collective"]


def judge(runs: Readings[Result]) -> dict[str, Part]:
    """Judges that each row is within its limit with one of the other values."""
    found: dict[str, Any] = {}
    late = []
    for row, ratios in _ratios(runs).items():
        name = f"{row.servers} x {row.gpus}, {size_name(row.bytes)}"
        found[name] = {change: round(ratio, 3) for change, ratio in ratios.items()}
        limit = LIMITS[row.size_class]
        others = [ratio for change, ratio in ratios.items() if change != _AS_JUDGED]
        if abs(ratios[_AS_JUDGED] - 1) <= limit or all(abs(ratio - 1) > limit for ratio in others):
            late.append(name)
    reason = f"Within the limit as judged, or beyond it with each other value: {'; '.join(late)}." if late else ""
    return {"M": Part(not late, found, reason=reason)}


JUDGED = Judged(
    document="hardware",
    statements={"M": "Each row beyond its limit is within the limit with one other value (found after the runs)"},
    ours=("M",),
    runs=as_results,
    judge=judge,
    reasons={},
    limits={"M": "The other values are the settings."},
)
PARAMETERS = (
    given("rows", "3 judged rows beyond their limit", "measured.csv"),
    chosen("proxy's time", "0 and 2 µs, not 1 µs", "no source gives it"),
    chosen("algorithm", "NVLSTree, not a tree", "the source prints no choice, and the times jump from 1 to 2 MiB"),
)
READS: tuple[str, ...] = ()
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def tables(results: Mapping[str, Result]) -> dict[str, list[list[str]]]:
    """Returns the ratio of each row with each value, and the ratio of NCCL's own model."""
    runs = as_results(results, "", "")
    made = [["row", "measured (µs)", "NCCL's model", *(f"xoff, {change}" for change in _CHANGES)]]
    for row, ratios in _ratios(runs).items():
        predicted = _collective(runs.one(f"{row.name}; {_AS_JUDGED}"))["predicted_ps"] / 1e6 / row.time_us
        cells = [f"{ratios[change]:.3f}" if change in ratios else "–" for change in _CHANGES]
        made.append([f"{row.group}, {size_name(row.bytes)}", f"{row.time_us:,.2f}", f"{predicted:.3f}", *cells])
    return {"Time over measured time": made}


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the ratio of each row with each value."""
    found = _ratios(as_results(results, "", ""))
    with rc_context(STYLE):
        drawing, axes = canvas(6.4, 3.2)
        names = [f"{row.servers} x {row.gpus}, {size_name(row.bytes)}" for row in found]
        for place, (colour, change) in enumerate(zip(COLOURS, _CHANGES, strict=False)):
            points = [(at, ratios[change]) for at, ratios in enumerate(found.values()) if change in ratios]
            places = [at + 0.2 * (place - 1.5) for at, _ in points]
            axes.bar(places, [ratio for _, ratio in points], 0.2, color=colour, label=change)
        axes.axhline(1, color="#888888", linewidth=0.8)
        axes.set_xticks(range(len(names)), names)
        axes.set_ylabel("xoff over measured")
        axes.set_ylim(0, 1.6)
        axes.legend(fontsize=6, loc="upper left", ncols=2)
        write(drawing, path)
