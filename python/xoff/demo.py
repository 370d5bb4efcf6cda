"""What ``make demo`` runs: the 3-to-1 incast of the document on Source Flow Control, under four mechanisms.

The scenarios are those of ``experiments/sfc/incast_3_to_1.py``, with the shared-memory switch (the default).
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.markup import escape

from xoff import cli, display, reproduce, running
from xoff.results import Result, audit_line


def demonstrate(out: Path) -> None:
    """Run the four variants, print the table, and leave results and figure in a directory."""
    reproduce.experiments()
    experiment: Any = importlib.import_module("experiments.sfc.incast_3_to_1")
    scenarios = {
        name.partition("/")[2]: scenario
        for name, scenario in experiment.scenarios(quick=False).items()
        if name.startswith("oq/")
    }
    display.out.print(
        "[b]3-to-1 incast in a two-layer Clos[/b]: 8 leaves × 8 hosts, 8 spines, 200 Gb/s, 4000 B of data a packet"
    )
    display.out.print(
        "host8, host16 and host24 send 5 MB each to host0; the victim, host9 → host1, shares the path of the first"
    )
    results: dict[str, Result] = {}
    with display.RunBars(keep=True) as bars:
        for variant, scenario in scenarios.items():
            bars.begin(f"{experiment.LABELS[variant]:<18}")
            started = time.monotonic()
            results[variant] = running.run(scenario, out=out / variant, progress=bars.report)
            bars.end(f"{time.monotonic() - started:.2f} s")
    show(results, experiment.LABELS, experiment.FLOWS)
    figure = out / "fct.svg"
    experiment.draw(results, figure)
    display.out.print(f"\nThe figure is [b]{escape(str(figure))}[/b], the results are in [b]{escape(str(out))}[/b]")


def show(results: dict[str, Result], labels: dict[str, str], names: Sequence[str]) -> None:
    """Print flow completion times, pauses and messages of each variant, and its audits."""
    columns = ["", *names, "mean", "PFC pauses", "SFCMs"]
    title = "\nFlow completion time in µs, to the receiver's last byte"
    table = display.table(*columns, title=title, right=tuple(range(1, len(columns))))
    for variant, result in results.items():
        times = dict(zip(result.flows["label"].to_pylist(), result.flows["fct_ps"].to_pylist(), strict=True))
        messages = sum(result.flows["sfcms"].to_pylist())
        row = [f"{times[name] / 1e6:.1f}" for name in names]
        mean = f"{result.summary['fct_ps']['mean'] / 1e6:.1f}"
        table.add_row(labels[variant], *row, mean, str(result.summary["pfc"]["pauses"]), str(messages))
    display.out.print(table)
    lines = {variant: audit_line(result.audits) for variant, result in results.items()}
    if len(set(lines.values())) == 1:
        display.out.print(f"audits of all runs: {escape(next(iter(lines.values())))}")
    else:
        for variant, line in lines.items():
            display.out.print(f"audits of {labels[variant]}: {escape(line)}")


def main() -> None:
    """Run the demonstration as a command."""
    parser = argparse.ArgumentParser(prog="python -m xoff.demo", description=demonstrate.__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/demo"), help="where results and figure go")
    arguments = parser.parse_args()
    sys.exit(cli.guarded(lambda: demonstrate(arguments.out)))


if __name__ == "__main__":
    main()
