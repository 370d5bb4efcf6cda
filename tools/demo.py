"""The demonstration ``make demo``: the variants of ``examples/sweep-mechanisms.toml``, with a table and a figure."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from matplotlib import rc_context
from rich.markup import escape

from xoff import display, running
from xoff.commands import failures
from xoff.commands.examples import PLACE
from xoff.plots import STYLE, canvas, grouped_bars, write
from xoff.results import Result, audit_line, counts
from xoff.study.axes import VARIANT
from xoff.study.examination import read


def demonstrate(out: Path) -> None:
    """Runs the variants, prints the table, and writes results and figure into a directory."""
    plan = read(PLACE / "sweep-mechanisms.toml")
    display.out.print(
        "[b]3-to-1 incast in a two-layer Clos[/b]: 8 leaves × 8 hosts, 8 spines, 200 Gb/s, 4000 B of data a packet"
    )
    display.out.print(
        "host8, host16 and host24 send 5 MB each to host0; the victim, host9 → host1, shares the path of the first"
    )
    results: dict[str, Result] = {}
    with display.RunBars(keep=True) as bars:
        for run in plan.runs:
            label = str(run.point.labels[VARIANT])
            bars.begin(f"{label:<18}")
            started = time.monotonic()
            place = out / re.sub(r"\W+", "-", label).lower()
            results[label] = running.run_prepared(plan.prepare(run.point, run.seed), out=place, progress=bars.report)
            bars.end(f"{time.monotonic() - started:.2f} s")
    show(results)
    figure = out / "fct.svg"
    draw(results, figure)
    display.out.print(f"\nThe figure is [b]{escape(str(figure))}[/b], the results are in [b]{escape(str(out))}[/b]")


def show(results: Mapping[str, Result]) -> None:
    """Prints for each variant its flow completion times, the main counts and the audits."""
    names = list(_times_us(next(iter(results.values()))))
    counted = {label: dict(counts.counted(result.summary)) for label, result in results.items()}
    told = [count for count in counts.headlines() if any(found.get(count) for found in counted.values())]
    columns = ["", *names, "mean", *(count.title for count in told)]
    title = "\nFlow completion time in µs, to the receiver's last byte"
    table = display.table(*columns, title=title, right=tuple(range(1, len(columns))))
    for label, result in results.items():
        times = _times_us(result)
        mean = sum(times.values()) / len(times)
        texts = [count.text(counted[label][count]) if count in counted[label] else "–" for count in told]
        table.add_row(label, *(f"{time:.1f}" for time in times.values()), f"{mean:.1f}", *texts)
    display.out.print(table)
    lines = {label: audit_line(result.audits) for label, result in results.items()}
    if len(set(lines.values())) == 1:
        display.out.print(f"audits of all runs: {escape(next(iter(lines.values())))}")
    else:
        for label, line in lines.items():
            display.out.print(f"audits of {label}: {escape(line)}")


def draw(results: Mapping[str, Result], path: Path) -> None:
    """Draws one bar for each flow and variant."""
    with rc_context(STYLE):
        drawing, axes = canvas(7.0, 3.4)
        times = {label: _times_us(result) for label, result in results.items()}
        names = list(next(iter(times.values())))
        grouped_bars(axes, names, [(label, list(found.values())) for label, found in times.items()], digits=0)
        axes.set_ylabel("flow completion time (µs)")
        axes.set_title("3-to-1 incast and a victim, 2-layer Clos, 200 Gb/s, 5 MB a flow", fontsize=9)
        drawing.legend(loc="outside lower center", ncols=len(results), fontsize=8)
        write(drawing, path)


def _times_us(result: Result) -> dict[str, float]:
    """Returns flow completion times in µs by flow label, in the order of the labels."""
    times = zip(result.flows["label"].to_pylist(), result.flows["fct_ps"].to_pylist(), strict=True)
    return {name: fct / 1e6 for name, fct in sorted(times)}


def main() -> None:
    """Runs the demonstration as a command."""
    parser = argparse.ArgumentParser(prog="make demo", description=demonstrate.__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/demo"), help="directory of results and figure")
    arguments = parser.parse_args()
    sys.exit(failures.guarded(lambda: demonstrate(arguments.out)))


if __name__ == "__main__":
    main()
