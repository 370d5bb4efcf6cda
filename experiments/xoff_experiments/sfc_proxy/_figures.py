"""Figures shared by the experiments on SFC's proxy mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from matplotlib import rc_context

from xoff.plots import COLOURS, STYLE, Canvas, grouped_bars, write
from xoff.results import Result
from xoff_experiments.sfc_proxy._runs import PERCENTILES, Runs
from xoff_experiments.sfc_proxy._traffic import CLASSES, MECHANISMS, MODELS


def bars(results: Mapping[str, Result], path: Path, traffic: str, mechanisms: Sequence[str]) -> None:
    """Draws mean and percentiles of the FCT, means of the seeds: a column a class, a bar a mechanism."""
    runs = Runs(results)
    statistics = {"mean": "mean", **PERCENTILES}
    with rc_context(STYLE):
        drawing = Canvas(figsize=(11, 3.8), layout="constrained")
        grid = drawing.subplots(1, len(CLASSES))
        for axes, (name, sizes) in zip(grid, CLASSES.items(), strict=True):
            series = [
                (
                    MECHANISMS[mechanism],
                    [fmean(run.fct_us[name][key] for run in runs.of(traffic, mechanism)) for key in statistics],
                )
                for mechanism in mechanisms
            ]
            grouped_bars(axes, list(statistics.values()), series, digits=0)
            for text in axes.texts:
                text.set(rotation=90, fontsize=5)
            axes.set_yscale("log")
            axes.margins(y=0.15)
            axes.set_title(f"{name}: {sizes}", fontsize=8)
        grid[0].set_ylabel("FCT of the background (µs)")
        drawing.legend(*grid[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
        write(drawing, path)


def trend(results: Mapping[str, Result], path: Path, mechanisms: Sequence[str]) -> None:
    """Draws FCT over the models: a column for each class, a row for mean and tail, the mean over the seeds."""
    runs = Runs(results)
    with rc_context(STYLE):
        drawing = Canvas(figsize=(9, 5.2), layout="constrained")
        grid = drawing.subplots(2, len(CLASSES), sharex=True)
        for row, key in zip(grid, ("mean", "p99"), strict=True):
            for axes, name in zip(row, CLASSES, strict=True):
                for colour, mechanism in zip(COLOURS, mechanisms, strict=False):
                    found = [runs.of(traffic, mechanism) for traffic in MODELS]
                    values = [sum(run.fct_us[name][key] for run in each) / len(each) for each in found]
                    axes.plot(values, "o-", markersize=3, color=colour, label=MECHANISMS[mechanism])
                axes.set_ylim(bottom=0)
                axes.set_xticks(range(len(MODELS)))
                axes.set_title(f"{name}, {key}", fontsize=8)
            row[0].set_ylabel("FCT of the background (µs)")
        for axes in grid[-1]:
            axes.set_xlabel("model")
        drawing.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
        write(drawing, path)
