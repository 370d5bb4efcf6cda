"""The chooser table: capabilities of switches down, traffic across, and in each cell the best rows that can run.

Best is the lowest geometric mean over the settings of a column. A row is as good as the best row unless the runs show,
seed by seed, that the best row is lower (`xoff.reproduce`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from xoff.reproduce import lower
from xoff_experiments.field._mechanisms import ANY_ORDER, CREDITS, MARKS, PAUSES, QUEUES, SPREADS, TELLS, TRIMS, row_of
from xoff_experiments.field._runs import Runs, Value

_MOST = 3
"""At most this many equally good rows are named."""
SWITCHES: dict[str, frozenset[str]] = {
    "nothing of it": frozenset(),
    "mark": frozenset({MARKS}),
    "pause": frozenset({PAUSES}),
    "give credits": frozenset({CREDITS, MARKS}),
    "mark, pause": frozenset({MARKS, PAUSES}),
    "mark, pause, telemetry": frozenset({MARKS, PAUSES, TELLS}),
    "mark, pause, queues for flows": frozenset({MARKS, PAUSES, QUEUES}),
    "mark, trim": frozenset({MARKS, TRIMS}),
    "all of it": frozenset({MARKS, PAUSES, TELLS, QUEUES, TRIMS, CREDITS}),
}
ADAPTERS: dict[str, frozenset[str]] = {"no": frozenset(), "yes": frozenset({ANY_ORDER, SPREADS})}


def choices(runs: Runs, columns: Mapping[str, Sequence[str]], value: Value) -> list[list[str]]:
    """Returns the table. Each column has a list of cases."""
    made: dict[tuple[str, ...], list[str]] = {}
    for bears, more in ADAPTERS.items():
        for can, has in SWITCHES.items():
            cells = [_best(runs, cases, has | more, value) for cases in columns.values()]
            if any(cell != "–" for cell in cells):
                # Capabilities with equal cells share a line.
                made.setdefault((bears, *cells), []).append(can)
    heads = ["adapters bear any order", "switches can", *columns]
    return [heads, *([bears, "; ".join(can), *cells] for (bears, *cells), can in made.items())]


def _best(runs: Runs, cases: Sequence[str], has: frozenset[str], value: Value) -> str:
    ran = [set(runs.rows(case)) for case in cases]
    rows = [row for row in runs.rows(cases[0]) if row_of(row).needs <= has and all(row in of for of in ran)]
    means = {row: found for row in rows if (found := _by_seed(runs, cases, row, value))}
    if not means:
        return "–"
    first, *others = sorted(means, key=lambda row: math.fsum(means[row]))
    alike = [row for row in others if lower(means[first], means[row]).answer != "holds"]
    mean = math.fsum(means[first]) / len(means[first])
    said = f"**{first}** {mean:.3g}"
    if not alike:
        return said
    rest = f" and {len(alike) - _MOST} more" if len(alike) > _MOST else ""
    return f"{said}; as good: {', '.join(alike[:_MOST])}{rest}"


def _by_seed(runs: Runs, cases: Sequence[str], row: str, value: Value) -> list[float]:
    """Returns the geometric mean of a value over cases, for each seed; empty if a case lacks the value."""
    every = [runs.by_seed_of(case, row, value) for case in cases]
    found = []
    for of in zip(*every, strict=True):
        numbers = [one for one in of if one is not None]
        if len(numbers) < len(of):
            return []
        found.append(math.exp(math.fsum(math.log(one) for one in numbers) / len(numbers)))
    return found
