"""C.6: a static latency of 400 ns in every switch.

Source: "Simulation Analysis of Congestion Isolation", IEEE 802.1, January 2018, slide "Including Static Switch
Latency". Small flows are those below 100 KB between racks, which pass three switches. Their mean FCT, to the
receiver's last byte, rises by about 1.2 µs with and without CI. The document's elephants take 200 µs longer; "much
more than 1.2 µs" is taken as more than ten times as much, with CI, and with more pauses. "The analysis result will
not alter" is that CI's mean is lower in the same size classes as without the latency, and "influence the result very
little" that also the mean over all flows is about the same, with and without CI. Ours: 128 servers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from experiments.congestion_isolation import _change
from experiments.congestion_isolation._fabric import CLASSES, ELEPHANTS, Case
from experiments.congestion_isolation._runs import COMPARED, Run, Runs, gain, judged

from xoff.reproduce import Part, about_the_same
from xoff.results import Result

CITATION = "Simulation Analysis of Congestion Isolation, IEEE 802.1, 2018, Including Static Switch Latency"

_USUAL, _SLOWER = "no latency", "400 ns a switch"
_ADDED_US = 1.2


def judge(runs: Runs) -> dict[str, Part]:
    """Judge what the latency adds to small flows and to elephants, and whether CI is better in the same classes."""
    small = {text: _added(runs, variant, lambda run: run.inter_rack_mice_us) for variant, text in COMPARED.items()}
    large = {text: _added(runs, variant, lambda run: run.fct_us[ELEPHANTS]) for variant, text in COMPARED.items()}
    pauses = {label: runs.count(label, "ci", lambda run: run.pauses) for label in (_USUAL, _SLOWER)}
    signs = {label: {size: runs.gain(label, size) for size in CLASSES} for label in (_USUAL, _SLOWER)}
    ranking = all((signs[_USUAL][size].share > 0) == (signs[_SLOWER][size].share > 0) for size in CLASSES)
    means = {
        f"mean FCT over all flows (µs), {text}": {label: runs.mean_us(label, variant, "all") for label in signs}
        for variant, text in COMPARED.items()
    }
    same = all(about_the_same(found[_SLOWER], found[_USUAL]) for found in means.values())
    return {
        "C.6": Part(ranking and same, means),
        "C.6-small": Part(
            all(about_the_same(mean, _ADDED_US) for mean, _ in small.values()),
            {f"added to small flows between racks (µs), {text}": _shown(found) for text, found in small.items()},
        ),
        "C.6-elephants": Part(
            large[COMPARED["ci"]][0] > 10 * _ADDED_US and pauses[_SLOWER] > pauses[_USUAL],
            {
                **{f"added to flows above 10 MB (µs), {text}": _shown(found) for text, found in large.items()},
                "PFC pauses, CI": pauses,
            },
        ),
        "C.6-ranking": Part(
            ranking,
            {f"gain by CI, {label}": {size: str(one) for size, one in found.items()} for label, found in signs.items()},
        ),
    }


def _added(runs: Runs, variant: str, values: Callable[[Run], list[float]]) -> tuple[float, float]:
    """Return by how much a mean rises, in µs, and half of its 95 % interval."""
    usual = runs.of(_USUAL, variant)
    found = gain(runs.of(_SLOWER, variant), usual, values)
    reference = _mean(usual, values)
    return -found.share * reference, (found.half or 0.0) * reference


def _mean(runs: list[Run], values: Callable[[Run], list[float]]) -> float:
    means = [sum(values(run)) / len(values(run)) for run in runs if values(run)]
    return sum(means) / len(means)


def _shown(found: tuple[float, float]) -> str:
    return f"{found[0]:.3f} ± {found[1]:.3f}"


_JUDGED = judged(
    statements={
        "C.6": "400 ns of static latency a switch influence the result very little, so that the analysis does not "
        "alter",
        "C.6-small": "Small flows take about 1.2 µs longer: 400 ns at each of three switches",
        "C.6-elephants": "Elephants take 200 µs longer, much more than 1.2 µs, mainly because of more pause frames",
        "C.6-ranking": "The analysis result does not alter: CI is better where it was",
    },
    cases={_USUAL: Case(), _SLOWER: Case(switch_ns=400)},
    judge=judge,
    choices=("4 ms alone", "load 80 %"),
    reasons={
        "C.6-elephants/isolated": (
            "The elephants' mean rises by hundreds of µs, as in the document, but within the interval: which "
            "elephants meet, and how DCQCN shares among them, changes by chance from run to run. There are no more "
            "pauses: DCQCN keeps all but one input of all seeds below XOFF at either latency."
        ),
        "C.6-elephants/selecting": (
            "Pauses end at XON, 746 KB below XOFF, which takes 60 µs at line rate; that packets on their way through "
            "a switch come 0.4 µs later is nothing beside it. The elephants' mean changes by less than its interval."
        ),
    },
)
CLAIMS = _JUDGED.listed
scenarios = _JUDGED.scenarios
claims = _JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw the mean FCT by size class, what the latency does to it, and pauses and notifications."""
    _change.figure(results, path, _USUAL, _SLOWER)
