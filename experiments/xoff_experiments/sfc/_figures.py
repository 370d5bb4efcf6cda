"""Figures shared by the experiments on pinned flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib import rc_context

from xoff.plots import COLOURS, STYLE, Canvas, grouped_bars, write
from xoff.reproduce import RunFailed, choice_of
from xoff.results import Result
from xoff_experiments.sfc._networks import ARCHITECTURES, VARIANTS, Case, flow_names
from xoff_experiments.sfc._runs import Run, Runs

_SWITCHES = {"": "voq", "oq": "oq", "oq-egress": "oq-egress"}


def switches(results: Mapping[str, Result]) -> dict[str, str]:
    """Returns the panels of a figure: the main reading, and the other switches where they were run, by open choice."""
    ran = {choice_of(name) for name in results}
    return {choice: f"{name}: {ARCHITECTURES[name]}" for choice, name in _SWITCHES.items() if choice in ran}


def bars(results: Mapping[str, Result], path: Path, cases: Mapping[str, Case]) -> None:
    """Draws a bar for each flow and variant: a row for each switch, a column for each case."""
    panels = switches(results)
    with rc_context(STYLE):
        widths = [1 + len(flow_names(case)) for case in cases.values()]
        drawing = Canvas(figsize=(max(0.62 * sum(widths), 7), 0.8 + 2 * len(panels)), layout="constrained")
        grid = drawing.subplots(len(panels), len(cases), squeeze=False, gridspec_kw={"width_ratios": widths})
        for row, choice in zip(grid, panels, strict=True):
            for axes, (name, case) in zip(row, cases.items(), strict=True):
                runs = Runs(results, choice)
                flows = flow_names(case)
                found = {variant: _found(runs, name, variant) for variant in VARIANTS}
                series = [
                    (VARIANTS[variant], [run.fct_us[flow] if run else None for flow in flows])
                    for variant, run in found.items()
                ]
                bars_by_flow(axes, flows, series, title=f"{name or 'case 1'}, {_SWITCHES[choice]}")
            row[0].set_ylabel("FCT (µs)")
        drawing.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
        write(drawing, path)


def bars_by_flow(
    axes: Any, flows: Sequence[str], series: Sequence[tuple[str, Sequence[float | None]]], *, title: str
) -> None:
    """Draws a group of bars for each flow, with a bar and its figure for each of the `series`."""
    grouped_bars(axes, [flow.replace("incast ", "") for flow in flows], series, digits=0)
    for text in axes.texts:
        text.set(rotation=90, fontsize=5)
    axes.margins(y=0.15)
    axes.set_title(title, fontsize=8)


def sweep(results: Mapping[str, Result], path: Path, *, x: Mapping[str, float], label: str, log: bool = False) -> None:
    """Draws FCT against a swept parameter, whose values `x` has by case: a column for each switch."""
    panels = switches(results)
    figures = {"victim": "victims_us", "incast, mean": "incast_us", "all flows, mean": "mean_us"}
    with rc_context(STYLE):
        drawing = Canvas(figsize=(9, 7), layout="constrained")
        grid = drawing.subplots(len(figures), len(panels), sharex=True, sharey="row", squeeze=False)
        for column, (choice, title) in enumerate(panels.items()):
            runs = Runs(results, choice)
            for axes, (what, figure) in zip(grid[:, column], figures.items(), strict=True):
                for index, variant in enumerate(VARIANTS):
                    found = {x[case]: _found(runs, case, variant) for case in x}
                    values = [getattr(run, figure) if run else float("nan") for run in found.values()]
                    axes.plot(list(found), values, "o-", markersize=3, color=COLOURS[index], label=VARIANTS[variant])
                if log:
                    axes.set_xscale("log")
                if column == 0:
                    axes.set_ylabel(f"{what}: FCT (µs)")
            grid[0, column].set_title(title, fontsize=8)
            grid[-1, column].set_xlabel(label)
        for axes in grid[:, 0]:
            axes.set_ylim(bottom=0)
        drawing.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
        write(drawing, path)


def groups(
    results: Mapping[str, Result], path: Path, series: Mapping[str, Sequence[tuple[str, str]]], labels: Sequence[str]
) -> None:
    """Draws the mean FCT over all flows of the cases and variants of each series: a row for each switch."""
    panels = switches(results)
    with rc_context(STYLE):
        drawing = Canvas(figsize=(9, 2 * len(panels)), layout="constrained")
        rows = drawing.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (choice, title) in zip(rows, panels.items(), strict=True):
            runs = Runs(results, choice)
            bars = [
                (name, [run.mean_us if (run := _found(runs, case, variant)) else None for case, variant in cases])
                for name, cases in series.items()
            ]
            grouped_bars(axes, labels, bars, digits=0)
            axes.set_title(title, fontsize=8)
            axes.set_ylabel("mean FCT (µs)")
        drawing.legend(*rows[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
        write(drawing, path)


def _found(runs: Runs, case: str, variant: str) -> Run | None:
    try:
        return runs(case, variant)
    except RunFailed:
        return None
