"""All mechanisms at the main setting.

Hadoop's sizes at half of the load that leaves can send up, oversubscribed 2:1, with an incast each millisecond: flows
arrive for 2 ms, five seeds. The collectives have the fabric to themselves, three seeds: four rings of 32 ranks that go
round the racks (4 MB each), and one all-to-all of all hosts (4 MB each).

Sources: the abstract of "Backpressure Flow Control" (NSDI 2022), whose deployed end-to-end schemes are here DCQCN with
and without a window, DCTCP and HPCC; of flowlets, what the code of ConWeave's evaluation says of LetFlow. The gain of
ConWeave itself over LetFlow is shown and not judged.

"2.3 times lower" is a 99th percentile of short flows' slowdowns that is at least 2.3 times that of BFC, the mean over
seeds, with each of the four; "1.6 times better" the same of the mean slowdown of long flows. Flowlets are as ECMP if
the 99th percentile of all flows and the mean of long ones are within 15 % of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib import rc_context

from xoff.experiments.field._fabric import MAIN, Setting, scenarios_of
from xoff.experiments.field._mechanisms import ROWS
from xoff.experiments.field._parameters import ARRIVALS, INCASTS, parameters
from xoff.experiments.field._runs import Run, Runs, mean_long, p99, percentile, told
from xoff.plots import COLOURS, STYLE, Canvas, write
from xoff.reproduce import ABOUT_THE_SAME, Judged, Part, chosen
from xoff.results import Result
from xoff.statistics import interval

CITATION = "Backpressure Flow Control, NSDI 2022, abstract; and a table of our own"
CASES = {
    "main": MAIN,
    "rings": Setting(traffic="rings", size="4MB"),
    "all-to-all": Setting(traffic="all_to_all", size="4MB"),
}
SEEDS = {"main": 5, "rings": 3, "all-to-all": 3}
QUICK = {
    "main": Setting(ms=0.5),
    "rings": Setting(traffic="rings", size="400KB"),
    "all-to-all": Setting(traffic="all_to_all", size="200KB"),
}
DEPLOYED = ("PFC + DCQCN", "PFC + DCQCN, window", "PFC + DCTCP", "PFC + HPCC")
QUICK_ROWS = ("PFC", *DEPLOYED, "PFC + DCQCN + flowlets", "BFC", "trimming + NSCC + REPS")
SHORT_TIMES, LONG_TIMES = 2.3, 1.6
TIMES: dict[str, Callable[[Run], float | None]] = {
    "p50": percentile("all", 0.5),
    "p99": p99("all"),
    "p99.9": percentile("all", 0.999),
    "short: p99": p99("short"),
    "middle: p99": p99("middle"),
    "long: p99": p99("long"),
    "long: Gb/s": lambda run: run.long_gbps,
    "incast": lambda run: run.incast,
}
COSTS: dict[str, Callable[[Run], float | None]] = {
    "pauses": lambda run: run.pauses,
    "dropped": lambda run: run.drops,
    "trimmed": lambda run: run.trims,
    "sent again (%)": lambda run: 100 * run.again,
    "deepest queue (KB)": lambda run: run.buffer_kb,
    "Jain's index of an incast": lambda run: run.jain,
    "not over": lambda run: run.unfinished,
}
COLLECTIVES = {"rings": "rings (ms)", "all-to-all": "all-to-all (ms)"}


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Return the scenarios by case, row and seed."""
    if quick:
        return scenarios_of(QUICK, QUICK_ROWS, 1)
    return scenarios_of(CASES, ROWS, SEEDS)


def judge(runs: Runs) -> dict[str, Part]:
    """Judge BFC's tails beside those of deployed schemes, and flowlets beside ECMP."""
    parts = {}
    for id, value, least, what in (
        ("1.1", p99("short"), SHORT_TIMES, "p99 of short flows' slowdown"),
        ("1.2", mean_long, LONG_TIMES, "mean slowdown of long flows"),
    ):
        found = {row: runs.of("main", row, value) for row in ("BFC", *DEPLOYED)}
        times = {row: found[row] / found["BFC"] for row in DEPLOYED}
        parts[id] = Part(
            all(one >= least for one in times.values()),
            {f"{what}, times BFC's": times, what: {row: told(runs.values("main", row, value)) for row in found}},
            published={f"{what}, times BFC's": "2.3 to 60" if id == "1.1" else "1.6 to 5"},
        )
    pair = ("PFC + DCQCN + flowlets", "PFC + DCQCN")
    tails = [runs.of("main", row, p99("all")) for row in pair]
    longs = [runs.of("main", row, mean_long) for row in pair]
    parts["1.3"] = Part(
        all(abs(one - other) <= ABOUT_THE_SAME * other for one, other in (tails, longs)),
        {
            "p99 of all flows' slowdown": dict(zip(pair, tails, strict=True)),
            "mean slowdown of long flows": dict(zip(pair, longs, strict=True)),
        },
    )
    return parts


JUDGED = Judged(
    document="field",
    statements={
        "1.1": "BFC has 2.3 to 60 times lower tail latency for short flows than deployed end-to-end schemes",
        "1.2": "BFC has 1.6 to 5 times better average completion times for long flows",
        "1.3": "Hosts that pace leave no gaps: flowlets of 100 µs (LetFlow) do as ECMP does",
    },
    runs=Runs,
    judge=judge,
    reasons={
        "1.2": (
            "Without a window DCQCN takes 2.6 times as long, with one 1.4 times; HPCC 1.1 times, and DCTCP is a tenth "
            "faster than BFC: windows of one product keep the way of long flows as free as pauses by flow do. A queue "
            "of BFC goes on when its last counted packet has left, and idles for a round trip of a hop (limitations)."
        ),
    },
)
PARAMETERS = parameters(
    [
        INCASTS,
        *ARRIVALS,
        chosen("main setting", MAIN.name, "as BFC's evaluation has Hadoop's sizes, 2:1 and incasts; the middle load"),
        chosen("arrivals; seeds", "2 ms; five, of collectives three", "all rows within half an hour on two cores"),
    ]
)
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def tables(results: Mapping[str, Result]) -> dict[str, Sequence[Sequence[str]]]:
    """Return slowdowns and times, and what they cost, best row first."""
    runs = Runs(results)
    rows = ranked(runs)
    times = [["mechanism", *TIMES, *COLLECTIVES.values()]]
    costs = [["mechanism", *COSTS]]
    for row in rows:
        times.append(
            [
                row,
                *(told(runs.values("main", row, value)) for value in TIMES.values()),
                *(told(runs.values(case, row, lambda run: run.collective_ms)) for case in COLLECTIVES),
            ]
        )
        costs.append([row, *(told(runs.values("main", row, value)) for value in COSTS.values())])
    return {"times": times, "costs": costs}


def ranked(runs: Runs) -> list[str]:
    """Return the rows by the 99th percentile of all flows' slowdowns."""
    return sorted(runs.rows("main"), key=lambda row: runs.of("main", row, p99("all")))


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw tails, the incast and the collectives of all rows, best first, with intervals."""
    runs = Runs(results)
    rows = ranked(runs)
    families = list(dict.fromkeys(ROWS[row].family for row in ROWS))
    panels: dict[str, tuple[str, Callable[[Run], float | None]]] = {
        "p99 slowdown, short flows": ("main", p99("short")),
        "p99 slowdown, long flows": ("main", p99("long")),
        "incast over the least": ("main", lambda run: run.incast),
        "rings (ms)": ("rings", lambda run: run.collective_ms),
        "all-to-all (ms)": ("all-to-all", lambda run: run.collective_ms),
    }
    with rc_context(STYLE):
        drawing = Canvas(figsize=(12, 1.8 + 0.22 * len(rows)), layout="constrained")
        for axes, (title, (case, value)) in zip(
            drawing.subplots(1, len(panels), sharey=True), panels.items(), strict=True
        ):
            for place, row in enumerate(rows):
                if values := runs.values(case, row, value):
                    found = interval(values)
                    colour = COLOURS[families.index(ROWS[row].family)]
                    axes.errorbar(found.mean, place, xerr=found.margin or 0.0, fmt="o", color=colour, markersize=4)
            axes.set_title(title, fontsize=8)
            axes.set_xscale("log")
            axes.tick_params(axis="x", which="both", labelsize=6)
        first = drawing.axes[0]
        first.set_yticks(range(len(rows)), rows, fontsize=7)
        first.invert_yaxis()
        marks = [first.plot([], [], "o", color=COLOURS[i], label=family)[0] for i, family in enumerate(families)]
        drawing.legend(handles=marks, loc="outside lower center", ncols=len(families), fontsize=8)
        write(drawing, path)
