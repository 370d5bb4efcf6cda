"""All mechanisms at the main setting.

Hadoop's sizes at half of the leaves' uplink capacity, oversubscribed 2:1, with an incast each millisecond: flows arrive
for 0.8 ms. The collectives run alone in the fabric: four rings of 32 ranks that go round the racks (1 MB each), and one
all-to-all of all hosts (512 KB each). Five seeds each. Rows that differ in one part of their names are equal in
everything else; a mechanism outside the three parts has a row of its own, next to the cell that the mechanism extends.
The least possible time of the collectives is the time of their frames on the lines of hosts, with the delay of each
step of a ring, or on the uplinks of the leaves, whichever is longer.

Sources: the abstract of "Backpressure Flow Control" (NSDI 2022), with DCQCN with and without a window, DCTCP and HPCC
as its deployed end-to-end schemes; for flowlets, the remarks on LetFlow in the code of ConWeave's evaluation. The gain
of ConWeave over LetFlow is shown and not judged. "Lower tail latency" is a lower 99th percentile of short flows'
slowdowns than with each of the four schemes, and "better average completion times" a lower mean slowdown of long flows;
the published factors are sizes. Flowlets equal ECMP if the 99th percentile of all flows and the mean of long flows are
within 15 % of ECMP's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomlkit

from xoff.reproduce import Judged, Part, Range, about_the_same, all_of, chosen, lower
from xoff.results import Result
from xoff_experiments.field._drawing import cells
from xoff_experiments.field._fabric import (
    HOSTS,
    HOSTS_PER_LEAF,
    INCAST,
    MAIN,
    PAYLOAD,
    RANKS,
    Setting,
    derived,
    scenario,
    scenarios_of,
)
from xoff_experiments.field._links import LONGEST, WIRE, Link, number
from xoff_experiments.field._mechanisms import PATHS, PRESETS, grid, rows
from xoff_experiments.field._parameters import ARRIVALS, INCASTS, parameters
from xoff_experiments.field._runs import Runs, Value, mean_long, p99, percentile, told

CITATION = "Backpressure Flow Control, NSDI 2022, abstract; and a table of our own"
CASES = {
    "main": MAIN,
    "rings": Setting(traffic="rings", size="1MB"),
    "all-to-all": Setting(traffic="all_to_all", size="512KB"),
}
SEEDS = 5
QUICK = {
    "main": Setting(ms=0.5),
    "rings": Setting(traffic="rings", size="400KB"),
    "all-to-all": Setting(traffic="all_to_all", size="200KB"),
}
RANGED = ("PFC + DCQCN",)
"""Rows also shown with each preset of DCQCN."""
OF_COLLECTIVES = (
    "PFC",
    "PFC + spray",
    "PFC + DCQCN, window",
    "PFC + DCTCP",
    "PFC + DCTCP + adaptive",
    "PFC + DCTCP + spray",
    "selective + DCTCP + spray",
    "trimming + NSCC",
    "trimming + NSCC + spray",
    "trimming + NSCC + REPS",
    "trimming + NDP + spray",
    "BFC",
)
"""Rows of the collectives."""
OF_PRESETS = [f"{row} [{preset}]" for row in RANGED for preset in PRESETS[1:]]
DEPLOYED = ("PFC + DCQCN", "PFC + DCQCN, window", "PFC + DCTCP", "PFC + HPCC")
QUICK_ROWS = ("PFC", *DEPLOYED, "PFC + DCTCP + spray", "PFC + DCQCN + flowlets", "BFC", "trimming + NSCC + REPS")
TIMES: dict[str, tuple[Value, str]] = {
    "p50": (percentile("all", 0.5), ""),
    "p99": (p99("all"), "all"),
    "p99.9": (percentile("all", 0.999), "all"),
    "short: p99": (p99("short"), "short"),
    "middle: p99": (p99("middle"), "middle"),
    "long: p99": (p99("long"), "long"),
    "long: Gb/s": (lambda run: run.long_gbps, ""),
    "incast": (lambda run: run.incast, INCAST),
}
"""The measures of a run, each with the part of the traffic that must finish."""
COSTS: dict[str, Value] = {
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
    """Returns the scenarios by case, row and seed."""
    if quick:
        return scenarios_of(QUICK, QUICK_ROWS, 1)
    collectives = {case: setting for case, setting in CASES.items() if case in COLLECTIVES}
    return scenarios_of({"main": MAIN}, (*rows(), *OF_PRESETS), SEEDS) | scenarios_of(
        collectives, OF_COLLECTIVES, SEEDS
    )


def judge(runs: Runs) -> dict[str, Part]:
    """Judges BFC's tails beside deployed schemes, and flowlets beside ECMP."""
    parts = {}
    for id, value, published, what in (
        ("1.1", p99("short"), Range(2.3, 60), "p99 of short flows' slowdown"),
        ("1.2", mean_long, Range(1.6, 5), "mean slowdown of long flows"),
    ):
        found = {row: runs.values("main", row, value) for row in ("BFC", *DEPLOYED)}
        times = {row: runs.of("main", row, value) / runs.of("main", "BFC", value) for row in DEPLOYED}
        parts[id] = Part(
            all_of(*(lower(found["BFC"], found[row]) for row in DEPLOYED)),
            {f"{what}, times BFC's": times, what: {row: told(values) for row, values in found.items()}},
            published={f"{what}, times BFC's": published},
        )
    pair = ("PFC + DCQCN + flowlets", "PFC + DCQCN")
    values = {"p99 of all flows' slowdown": p99("all"), "mean slowdown of long flows": mean_long}
    parts["1.3"] = Part(
        all_of(
            *(
                about_the_same(runs.values("main", pair[0], one), runs.values("main", pair[1], one))
                for one in values.values()
            )
        ),
        {what: {row: told(runs.values("main", row, value)) for row in pair} for what, value in values.items()},
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
            "DCQCN takes longer, with a window less so, HPCC a little, and DCTCP less than BFC: windows of one "
            "product keep the way of long flows as free as pauses by flow do. A queue of BFC goes on when its "
            "last counted packet has left, and idles for a round trip of a hop (limitations)."
        )
    },
)
DERIVED = derived
PARAMETERS = parameters(
    [
        INCASTS,
        *ARRIVALS,
        chosen("main setting", MAIN.name, "as BFC's evaluation has Hadoop's sizes, 2:1 and incasts; the middle load"),
        chosen("arrivals; seeds", "0.8 ms; five", "all of the page within an hour on two cores"),
    ]
)
READS = ("collectives", "flows")
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def tables(results: Mapping[str, Result]) -> dict[str, Sequence[Sequence[str]]]:
    """Returns slowdowns, times and costs, best row first; the range of DCQCN's presets; what is left out."""
    runs = Runs(results)
    times = [["mechanism", *TIMES, *COLLECTIVES.values()]]
    costs = [["mechanism", *COSTS]]
    for row in ranked(runs):
        collectives = [told(runs.values(case, row, lambda run: run.collective_ms)) for case in COLLECTIVES]
        times.append([row, *(runs.told("main", row, value, part) for value, part in TIMES.values()), *collectives])
        costs.append([row, *(told(runs.values("main", row, value)) for value in COSTS.values())])
    least = {
        case: least_ms(next(one.scenario for name, one in results.items() if name.startswith(f"{case}/")))
        for case in COLLECTIVES
    }
    times.append(["*least possible*", *["–"] * (len(TIMES) - 1), "1", *(f"{one:.3g}" for one in least.values())])
    made: dict[str, Sequence[Sequence[str]]] = {"Slowdowns and times of collectives": times, "Costs": costs}
    if ranges := list(_presets(runs)):
        made["Range of DCQCN's presets"] = [["DCQCN's presets: lowest to highest mean", *TIMES], *ranges]
    made["Cells left out"] = [
        ["cells left out", "why"],
        *([str(count), reason] for reason, count in grid()[1].most_common()),
    ]
    return made


def _presets(runs: Runs) -> list[list[str]]:
    """Returns, for each row with DCQCN's presets, the lowest and the highest mean."""
    found = []
    for row in RANGED:
        every = [one for one in runs.rows("main") if one == row or one.startswith(f"{row} [")]
        if len(every) > 1:
            values = [[runs.of("main", one, value) for one in every] for value, _ in TIMES.values()]
            found.append([row, *(f"{min(of):.3g} to {max(of):.3g}" for of in values)])
    return found


def least_ms(scenario: Mapping[str, Any]) -> float:
    """Returns the least time of a collective: of hosts' lines, or of links up from leaves."""
    shape = scenario["network"]["leaf_spine"]
    link = Link.of(scenario)
    collective = scenario["workload"][0]["collective"]
    size = number(collective["size"])
    spines, alone = shape["spines"], collective["operation"] == "all_to_all"
    ranks = HOSTS if alone else RANKS
    wire = _wire(size / ranks)
    steps = ranks - 1 if alone else 2 * (ranks - 1)
    # A step of a ring waits for the one before; the messages of an all-to-all wait for none.
    last = min(wire, WIRE) * link.ps_per_byte
    way = LONGEST * link.delay_ps + (LONGEST - 1) * last
    line_ps = steps * wire * link.ps_per_byte + (1 if alone else steps) * way
    out = (HOSTS - HOSTS_PER_LEAF) if alone else steps
    up_ps = out * wire * HOSTS_PER_LEAF / spines * link.ps_per_byte + way
    least: float = max(line_ps, up_ps) / 1e9
    return least


def _wire(payload: float) -> float:
    return payload + math.ceil(payload / PAYLOAD) * (WIRE - PAYLOAD)


def folded(results: Mapping[str, Result]) -> dict[str, str]:
    """Returns the settings of each row as TOML: its frames, switches and hosts at the main setting."""
    found = {}
    for row in ranked(Runs(results)):
        made = scenario(MAIN, row)
        found[row] = tomlkit.dumps({key: made[key] for key in ("framing", "switch", "host")}).strip()
    return found


def ranked(runs: Runs) -> list[str]:
    """Returns the rows by the 99th percentile of all flows' slowdowns; those of presets are told as ranges."""
    shown = [row for row in runs.rows("main") if " [" not in row]
    return sorted(shown, key=lambda row: runs.of("main", row, p99("all")))


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the grid: tails of all and of short flows, and slowdowns of long flows."""
    panels: list[tuple[str, str, Value]] = [
        ("p99 slowdown", "main", p99("all")),
        ("p99 slowdown, short flows", "main", p99("short")),
        ("mean slowdown, long flows", "main", mean_long),
    ]
    cells(Runs(results), panels, path, list(PATHS))
