"""Headroom of SFC: bytes above the threshold before SFC acts, beside the document's formula.

Writers alone send to storage hosts, all at the same moment, with XOFF too high to be reached. The most bytes that wait
of one input are then the least XOFF at which PFC never pauses. The document needs (N - 1) R C above the threshold X,
for N senders to a receiver, round trip R and rate C. A formula by input needs R C, however many the senders: an input
has one line. Each setting has three seeds, which draw paths.

The sentences were written before all runs, and judged for the pause to a target after the other runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from matplotlib import rc_context

from xoff.plots import COLOURS, STYLE, canvas, write
from xoff.reproduce import chosen, fact, given, run_name
from xoff.reproduce.sentences import Found, Sentence, judged, table
from xoff.results import Result
from xoff_experiments.ai_fabrics._checkpoint import GPUS, Setting, writes_alone
from xoff_experiments.ai_fabrics._compared import Runs
from xoff_experiments.ai_fabrics._rows import DYNAMIC, SFC, TARGET, THRESHOLD_US, Fabric

CITATION = "SFC simulation, IEEE P802.1Qdw, 2025, parameter calculation process"
UNREACHED_US = 20_000.0
MAIN = "8 to 1"
_MAIN = Setting(spines=8, fabric=Fabric(xoff_us=UNREACHED_US))


def _to_one(senders: int) -> Setting:
    """Returns the setting with so many writers to each storage host."""
    receivers = min(8, GPUS // senders)
    fabric = replace(_MAIN.fabric, incast=senders)
    return replace(_MAIN, writers=senders * receivers, receivers=receivers, fabric=fabric)


def _fabric(**changes: Any) -> Setting:
    return replace(_MAIN, fabric=replace(_MAIN.fabric, **changes))


SETTINGS: dict[str, Setting] = {
    MAIN: _MAIN,
    **{f"{senders} to 1": _to_one(senders) for senders in (2, 4, 16, 32, 64)},
    "8 to 1, 2:1": replace(_MAIN, spines=4),
    "8 to 1, 4:1": replace(_MAIN, spines=2),
    "8 to 1, 1 µs a link": _fabric(link_ns=1000),
    "8 to 1, 10 µs a link": _fabric(link_ns=10_000),
    "8 to 1, 100G": _fabric(gbps=100),
    "8 to 1, VOQs": _fabric(queueing="voq"),
}
ROWS = (SFC, DYNAMIC, TARGET)
SEEDS = 3


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenarios by setting, row and seed."""
    return {
        run_name(at, row, seed): writes_alone(replace(setting, seed=seed), row)
        for at, setting in SETTINGS.items()
        if not quick or at in {MAIN, "32 to 1"}
        for row in ROWS
        for seed in range(1, 2 if quick else 1 + SEEDS)
    }


@dataclass(frozen=True, slots=True)
class Run:
    """The numbers of a run in bytes."""

    of_input: float
    """The most bytes that entered by one port and were waiting."""
    of_queue: float
    """The most bytes of an output."""


def read(result: Result) -> Run:
    """Returns the numbers of a run."""
    found = result.summary["high_water"]
    return Run(found["ingress"]["bytes"], found["queue"]["bytes"])


def _runs(results: Mapping[str, Result], choice: str = "", reading: str = "") -> Runs[Run]:
    return Runs(results, read, choice, reading)


def _line(fabric: Fabric, time_us: float) -> float:
    """Returns the bytes of a line in a time."""
    return time_us * fabric.gbps * 125


def of_document(fabric: Fabric) -> float:
    """Returns X + (N - 1) R C."""
    return _line(fabric, THRESHOLD_US + fabric.headroom_us)


def by_input(fabric: Fabric) -> float:
    """Returns X + R C."""
    return _line(fabric, THRESHOLD_US + fabric.round_trip_us)


def _input(run: Run) -> float:
    return run.of_input


def _queue(run: Run) -> float:
    return run.of_queue


def _worst(runs: Runs[Run], at: str, row: str, value: Callable[[Run], float]) -> float:
    """Returns the largest value of all seeds."""
    return max(runs.values(at, row, value))


def _below(value: Callable[[Run], float], limit: Callable[[Fabric], float]) -> Callable[[Runs[Run]], dict[str, Found]]:
    """Returns the predicate: in every seed the most bytes are at most the limit."""

    def decide(runs: Runs[Run]) -> dict[str, Found]:
        ratios = {
            f"{at}, {row}": _worst(runs, at, row, value) / limit(SETTINGS[at].fabric)
            for at in runs.settings
            for row in ROWS
        }
        return {name: Found(fact(ratio <= 1), ratio) for name, ratio in ratios.items()}

    return decide


def _not_idle(runs: Runs[Run]) -> dict[str, Found]:
    """Decides that the most bytes of an input are at least half of the document's XOFF."""
    ratios = {
        f"{at}, {row}": _worst(runs, at, row, _input) / of_document(SETTINGS[at].fabric)
        for at in runs.settings
        for row in ROWS
    }
    return {name: Found(fact(ratio >= 0.5), ratio) for name, ratio in ratios.items()}


SENTENCES: dict[str, Sentence[Runs[Run]]] = {
    "H.1": Sentence(
        "With XOFF at X + (N − 1) R C, the document's formula, PFC never pauses an input",
        _below(_input, of_document),
        "most bytes of an input, over the formula",
    ),
    "H.2": Sentence(
        "With XOFF at X + R C, the formula by input, PFC never pauses an input",
        _below(_input, by_input),
        "most bytes of an input, over the formula",
    ),
    "H.3": Sentence(
        "No output holds more than X + (N − 1) R C",
        _below(_queue, of_document),
        "most bytes of an output, over the formula",
    ),
    "H.4": Sentence(
        "The document's formula is not twice what an input needs",
        _not_idle,
        "most bytes of an input, over the formula",
    ),
}
JUDGED = judged("ai-fabrics", SENTENCES, _runs)
PARAMETERS = (
    given("headroom", "(N − 1) R C", "SFC simulation, parameter calculation: ①"),
    given("R", "2 h d + (2 h − 1) s with h = 3 links: 2.4 µs", "as the document computes its 2-layer cases"),
    given("pause", "the middle of the document's range", "as beside a checkpoint"),
    chosen("N", "writers to one storage host", "the document's incast degree; all writers start at the same moment"),
    chosen("XOFF", "20 ms of a line", "no pause occurs, and the most bytes are seen"),
    chosen("network", "1:1, 64 GPUs and up to 8 storage hosts", "one change a setting"),
    chosen("seeds", str(SEEDS), "they draw paths; the worst seed counts"),
)
READS: tuple[str, ...] = ()
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def tables(results: Mapping[str, Result]) -> dict[str, list[list[str]]]:
    """Returns the most bytes by setting beside both formulas, and the sentences."""
    runs = _runs(results)
    heads = [f"{what}, {row} (KB)" for row in ROWS for what in ("input", "output")]
    cells = [["setting", *heads, "X + (N − 1) R C (KB)", "X + R C (KB)"]]
    for at in runs.settings:
        found = [_worst(runs, at, row, value) for row in ROWS for value in (_input, _queue)]
        fabric = SETTINGS[at].fabric
        cells.append([at, *(f"{one / 1e3:,.0f}" for one in (*found, of_document(fabric), by_input(fabric)))])
    return {"needed": cells, "sentences": table(SENTENCES, runs)}


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the most bytes of an input and of an output by setting, beside both formulas."""
    runs = _runs(results)
    names = runs.settings
    with rc_context(STYLE):
        drawing, axes = canvas(7.4, 3.4)
        for formula, style, text in ((of_document, "-", "X + (N − 1) R C"), (by_input, ":", "X + R C")):
            for x, at in enumerate(names):
                level = formula(SETTINGS[at].fabric) / 1e3
                axes.plot([x - 0.4, x + 0.4], [level, level], style, color=COLOURS[7], label="" if x else text)
        for place, row in enumerate(ROWS):
            for value, mark, text in ((_input, "o", "an input"), (_queue, "s", "an output")):
                heights = [_worst(runs, at, row, value) / 1e3 for at in names]
                at_x = [x + 0.25 * (place - 1) for x in range(len(names))]
                axes.plot(
                    at_x,
                    heights,
                    mark,
                    color=COLOURS[(3, 0, 2)[place]],
                    markersize=4,
                    label=f"{text}, {row}",
                    fillstyle="full" if mark == "o" else "none",
                )
        axes.set_yscale("log")
        axes.set_ylabel("most bytes waiting (KB)")
        axes.set_xticks(range(len(names)), names, rotation=30, ha="right", fontsize=7)
        axes.legend(fontsize=6, loc="upper left", bbox_to_anchor=(1, 1))
        write(drawing, path)
