"""C.6: a static latency of 400 ns in every switch.

Source: "Simulation Analysis of Congestion Isolation", IEEE 802.1, January 2018, slides "Including Static Switch
Latency" and "Summary". Small flows are those below 100 KB between racks, which pass three switches; their mean FCT, to
the receiver's last byte, is to rise by about 1.2 µs. The document's elephants take 200 µs longer; "much more than 1.2
µs" is taken as more than ten times as much, beyond chance, and "because of more pause frames" as more pauses. It does
not say whether with or without CI, so that each is judged. Ours: 128 servers.

"Influence the result very little, so the analysis result will not alter" is measured by what is analysed: in each
size class in which CI gains or loses beyond chance, it does so with the latency, too, and the latency changes neither
mean by as much as CI does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from xoff.experiments.congestion_isolation import _change
from xoff.experiments.congestion_isolation._fabric import CLASSES, ELEPHANTS, VARIANTS, Case
from xoff.experiments.congestion_isolation._parameters import PARAMETERS as _SHARED
from xoff.experiments.congestion_isolation._runs import Run, Runs, gain, judged
from xoff.reproduce import ABOUT_THE_SAME, Part, given
from xoff.results import Result

CITATION = "Simulation Analysis of Congestion Isolation, IEEE 802.1, 2018, Including Static Switch Latency"

_USUAL, _SLOWER = "no latency", "400 ns a switch"
_SMALL_US, _ELEPHANT_US = 1.2, 200.0


def judge(runs: Runs) -> dict[str, Part]:
    """Judge what the latency adds to small flows and to elephants, and whether CI's gains stay what they are."""
    small = {text: _added(runs, one, lambda run: run.inter_rack_mice_us) for one, text in VARIANTS.items()}
    added = [f"added to small flows between racks (µs), {text}" for text in VARIANTS.values()]
    return {
        "C.6-small": Part(
            all(abs(mean - _SMALL_US) <= ABOUT_THE_SAME * _SMALL_US for mean, _ in small.values()),
            {name: _shown(found) for name, found in zip(added, small.values(), strict=True)},
            published=dict.fromkeys(added, _SMALL_US),
        ),
        "C.6-elephants": _elephants(runs, "ci"),
        "C.6-elephants-without": _elephants(runs, "none"),
        "C.6-little": _little(runs),
    }


def _elephants(runs: Runs, variant: str) -> Part:
    """Judge that elephants take much longer, and that there are more pauses."""
    mean, half = _added(runs, variant, lambda run: run.fct_us[ELEPHANTS])
    text = VARIANTS[variant]
    pauses = {label: runs.counts(label, variant, lambda run: run.pauses) for label in (_USUAL, _SLOWER)}
    name = f"added to flows above 10 MB (µs), {text}"
    return Part(
        mean > max(10 * _SMALL_US, half) and pauses[_SLOWER].mean > pauses[_USUAL].mean,
        {name: _shown((mean, half)), f"PFC pauses, {text}": pauses},
        published={name: _ELEPHANT_US},
        void="" if pauses[_SLOWER].high or pauses[_USUAL].high else f"{text} PFC never paused",
    )


def _little(runs: Runs) -> Part:
    """Judge the gains by CI that are beyond chance without the latency."""
    measured: dict[str, Any] = {}
    same = True
    gains = {size: runs.gain(_USUAL, size) for size in CLASSES}
    for size, usual in gains.items():
        slower = runs.gain(_SLOWER, size)
        by_ci = abs(runs.mean_us(_USUAL, "ci", size) - runs.mean_us(_USUAL, "none", size))
        by_latency = {
            text: runs.mean_us(_SLOWER, variant, size) - runs.mean_us(_USUAL, variant, size)
            for variant, text in VARIANTS.items()
        }
        if usual.is_sure:
            same &= slower.is_sure and slower.share * usual.share > 0
            same &= all(abs(found) < by_ci for found in by_latency.values())
        measured[f"{size}: gain by CI"] = {_USUAL: str(usual), _SLOWER: str(slower)}
        measured[f"{size}: mean FCT changed (µs)"] = {"by CI": by_ci} | {
            f"by the latency, {text}": found for text, found in by_latency.items()
        }
    none = not any(found.is_sure for found in gains.values())
    return Part(same, measured, void="CI gains and loses nothing beyond chance" if none else "")


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
        "C.6": "400 ns of static latency a switch add 1.2 µs to small flows and 200 µs to elephants, but influence the "
        "result very little, so that the analysis does not alter",
        "C.6-small": "Small flows take about 1.2 µs longer: 400 ns at each of three switches",
        "C.6-elephants": "Elephants take 200 µs longer, much more than 1.2 µs, mainly because of more pause frames: "
        "with CI",
        "C.6-elephants-without": "… and without CI",
        "C.6-little": "Static latency influences the result very little, so that the analysis result will not alter",
    },
    cases={_USUAL: Case(), _SLOWER: Case(switch_ns=400)},
    judge=judge,
    reasons={
        "C.6-elephants": (
            "They take 163 ± 235 µs longer: 200 µs are 3 % of their mean, less than five seeds tell apart. PFC pauses "
            "more indeed (324 times instead of 260)."
        ),
        "C.6-elephants-without": (
            "They change by -3 ± 400 µs, and PFC pauses more (96 times instead of 77): as with CI, 200 µs would be "
            "within chance."
        ),
    },
)
PARAMETERS = [*_SHARED, given("latency of a switch", "none and 400 ns", "Including Static Switch Latency")]
CLAIMS = _JUDGED.listed
scenarios = _JUDGED.scenarios
claims = _JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw the mean FCT by size class, what the latency does to it, and pauses and CNPs."""
    _change.figure(results, path, _USUAL, _SLOWER)
