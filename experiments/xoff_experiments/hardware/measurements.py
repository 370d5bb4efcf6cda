"""Every published measurement beside xoff: the time of a collective, by size.

Source: `measured.csv` and the heads of the tables below name the source of each row: tables of nccl-tests in issues of
NVIDIA/nccl and NVIDIA/nccl-tests, and guides of vendors. Judged rows have known GPUs and NICs, and plain NCCL; the
others are shown. No constant of xoff is fitted to a row: all are NCCL's own (`docs/models/nccl.md`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log
from pathlib import Path
from statistics import fmean
from typing import Any

from matplotlib import rc_context

from xoff.plots import COLOURS, STYLE, Canvas, write
from xoff.reproduce import Judged, Part, Readings, as_results, chosen, given
from xoff.results import Result
from xoff_experiments.hardware._rows import CLASSES, LIMITS, MEAN_LIMIT, QUICK, TICKS, Row, measured

CITATION = "Published measurements of nccl-tests, by the sources in measured.csv"


def _rows(names: Sequence[str]) -> list[Row]:
    """Returns the rows that were run."""
    return [row for row in measured() if row.name in names]


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenario of each row; the quick variant has sizes up to 64 MiB."""
    return {row.name: row.scenario() for row in measured() if not quick or row.bytes <= QUICK}


def _of(result: Result) -> tuple[float, float | None, str]:
    """Returns the time, the time that NCCL predicts, in µs, and the choice."""
    found = next(iter(result.summary["workloads"].values()))["collective"]
    predicted = found["predicted_ps"]
    choice = f"{found['algorithm']}, {found['protocol']}, {found['channels']}"
    return (found["time_ps"] or 0) / 1e6, None if predicted is None else predicted / 1e6, choice


def _ratios(runs: Readings[Result]) -> dict[Row, tuple[float, float | None]]:
    """Returns time over measured time of each row, of xoff and of NCCL's own model."""
    found = {}
    for row in _rows(runs.names):
        time, predicted, _ = _of(runs.one(row.name))
        found[row] = (time / row.time_us, None if predicted is None else predicted / row.time_us)
    return found


def judge(runs: Readings[Result]) -> dict[str, Part]:
    """Judges each row by the limit of its size, and the mean of each system. NCCL's own model excuses no row."""
    ratios = {row: pair for row, pair in _ratios(runs).items() if row.judged}
    parts = {}
    for key, size in zip(("H.1", "H.2", "H.3"), CLASSES, strict=True):
        inside = {row: pair for row, pair in ratios.items() if row.size_class == size}
        parts[key] = _within(inside, LIMITS[size])
    means = _means({row: pair[0] for row, pair in ratios.items() if row.size_class == CLASSES[2]})
    shown = {name: round(mean, 3) for name, mean in means.items()}
    is_near = all(abs(mean - 1) <= MEAN_LIMIT for mean in means.values())
    parts["H.4"] = Part(is_near, shown, void="" if means else "the quick variant has no such size")
    return parts


def _within(ratios: Mapping[Row, tuple[float, float | None]], limit: float) -> Part:
    """Returns the part of a class of sizes."""
    missed = {row: pair for row, pair in ratios.items() if abs(pair[0] - 1) > limit}
    of_model = [row for row, (_, model) in missed.items() if model is not None and abs(model - 1) > limit]
    found: dict[str, Any] = {
        "rows": len(ratios),
        "missed": len(missed),
        "of these missed by NCCL's model": len(of_model),
    }
    if ratios:
        found["least ratio"] = round(min(pair[0] for pair in ratios.values()), 3)
        found["largest ratio"] = round(max(pair[0] for pair in ratios.values()), 3)
    late = [
        f"{row.name} (ratio {ratio:.3f}" + ("" if model is None else f", of NCCL's model {model:.3f}") + ")"
        for row, (ratio, model) in missed.items()
    ]
    reason = f"Beyond the limit of {limit:.0%}: {'; '.join(late)}." if late else ""
    void = "" if ratios else "the quick variant has no such size"
    return Part(not late, found, reason=reason, void=void)


def _means(ratios: Mapping[Row, float]) -> dict[str, float]:
    """Returns the geometric mean of ratios by system and algorithm."""
    groups: dict[str, list[float]] = {}
    for row, ratio in ratios.items():
        groups.setdefault(row.group, []).append(log(ratio))
    return {name: exp(fmean(logs)) for name, logs in groups.items()}


JUDGED = Judged(
    document="hardware",
    statements={
        "H.1": "Up to 256 B, each judged row within 10 %",
        "H.2": "From 512 B to 128 MiB, each judged row within 30 %",
        "H.3": "From 256 MiB, each judged row within 15 %",
        "H.4": "From 256 MiB, the geometric mean of each judged system within 5 %",
    },
    runs=as_results,
    judge=judge,
    reasons={},
    limits={
        "H.1": "Each row is a setting of its own.",
        "H.2": "Each row is a setting of its own.",
        "H.3": "Each row is a setting of its own.",
        "H.4": "Each system is a setting of its own.",
    },
)
PARAMETERS = (
    given("servers, GPUs, NICs, rates, version", "of each row", "measured.csv"),
    chosen("fabric", "rail-optimised, never blocking", "most sources name no switches"),
    chosen("cables, switches", "10 m, 300 ns", "no source gives them; see the guesses below"),
    chosen("CPU", "Intel where unknown", "only those of Dell's and OCI's servers are known"),
)
READS: tuple[str, ...] = ()
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def tables(results: Mapping[str, Result]) -> dict[str, list[list[str]]]:
    """Returns the rows of each system, and the ratios by class of sizes."""
    runs = as_results(results, "", "")
    groups: dict[str, list[list[str]]] = {}
    head = ["bytes", "measured (µs)", "xoff (µs)", "ratio", "NCCL's model (µs)", "ratio of the model", "choice in xoff"]
    ratios: dict[tuple[bool, str], dict[str, list[float]]] = {}
    for row in _rows(runs.names):
        time, predicted, choice = _of(runs.one(row.name))
        cells = [f"{row.bytes:,}", f"{row.time_us:,.2f}", f"{time:,.2f}", f"{time / row.time_us:.3f}"]
        cells += ["", ""] if predicted is None else [f"{predicted:,.2f}", f"{predicted / row.time_us:.3f}"]
        groups.setdefault(f"{row.group} ({'judged' if row.judged else 'shown'}). Source: {row.link}", [head]).append(
            [*cells, choice]
        )
        by_class = ratios.setdefault((not row.judged, row.group), {})
        by_class.setdefault(row.size_class, []).append(time / row.time_us)
    summary = [["system", "judged", *CLASSES]]
    for (is_shown, group), found in sorted(ratios.items()):
        cells = [_spread(found.get(one, [])) for one in CLASSES]
        summary.append([group, "no" if is_shown else "yes", *cells])
    return {"Ratios by size: geometric mean (least to largest)": summary} | groups


def _spread(ratios: Sequence[float]) -> str:
    if not ratios:
        return ""
    mean = exp(fmean(log(one) for one in ratios))
    return f"{mean:.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws measured and simulated times of the judged systems, and their ratios."""
    runs = as_results(results, "", "")
    groups: dict[str, list[tuple[int, float, float]]] = {}
    for row in _rows(runs.names):
        if row.judged:
            groups.setdefault(row.group, []).append((row.bytes, row.time_us, _of(runs.one(row.name))[0]))
    with rc_context(STYLE):
        drawing = Canvas(figsize=(8.6, 3.6), layout="constrained")
        left, right = drawing.subplots(1, 2)
        for colour, (name, points) in zip(COLOURS * 2, groups.items(), strict=False):
            sizes = [point[0] for point in points]
            left.plot(sizes, [point[1] for point in points], "o", color=colour, markersize=3)
            left.plot(sizes, [point[2] for point in points], color=colour, linewidth=1)
            right.plot(sizes, [point[2] / point[1] for point in points], "o-", color=colour, markersize=3, label=name)
        for axes in (left, right):
            axes.set_xscale("log", base=2)
            axes.set_xticks(list(TICKS), list(TICKS.values()), minor=False)
        left.set_yscale("log")
        left.set_xlabel("size; points: measured, lines: xoff")
        left.set_ylabel("time (µs)")
        right.axhline(1, color="#888888", linewidth=0.8)
        right.set_ylim(0.5, 1.5)
        right.set_xlabel("size")
        right.set_ylabel("xoff over measured")
        right.legend(fontsize=5, loc="upper right")
        write(drawing, path)
