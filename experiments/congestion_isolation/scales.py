"""C.1: from 128 to 1152 servers, two queues.

Source: "Simulation Analysis of Congestion Isolation", IEEE 802.1, January 2018, slides "2 Queue Model" and "Review:
Previous Data With 3 Queue Model". The figures of the document are lost; its scales between 128 and 1152 servers are
ours.

"Performs even better" is a gain over all flows that is larger than in the three-queue model; that of the mice, which
the document names, stands beside it. That CI's mean is lower in every class at every scale is ours: the document says
it by figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.congestion_isolation._fabric import CLASSES, MICE, SIZES, Case
from experiments.congestion_isolation._figures import bars
from experiments.congestion_isolation._runs import CHOICES, COMPARED, Runs, judged

from xoff.reproduce import Part, whole
from xoff.results import Result

CITATION = "Simulation Analysis of Congestion Isolation, IEEE 802.1, 2018, 2 Queue Model"

TORS = (16, 32, 48)
TWO = {tors: f"{tors * tors // 2} servers" for tors in TORS}
THREE = {tors: f"{tors * tors // 2} servers, three queues" for tors in TORS}


def judge(runs: Runs) -> dict[str, Part]:
    """Judge the means, the mice's gain against that of the others, and both models' gains over all flows."""
    scales = [tors for tors in TORS if TWO[tors] in runs]
    measured: dict[str, Any] = {}
    lower, mice, more = True, True, True
    shares: dict[str, Any] = {}
    models: dict[str, Any] = {}
    of_mice: dict[str, Any] = {}
    more_for_mice = True
    for tors in scales:
        measured |= runs.compared(TWO[tors])
        gains = {size: runs.gain(TWO[tors], size) for size in CLASSES}
        three = runs.gain(THREE[tors], "all")
        lower &= all(found.share > 0 for found in gains.values())
        mice &= all(gains[MICE].share > gains[size].share for size in SIZES if size != MICE)
        more &= gains["all"].share > three.share
        shares[TWO[tors]] = {size: str(found) for size, found in gains.items() if size != "all"}
        models[TWO[tors]] = {"two queues": str(gains["all"]), "three queues": str(three)}
        protected = runs.gain(THREE[tors], MICE)
        more_for_mice &= gains[MICE].share > protected.share
        of_mice[TWO[tors]] = {"two queues": str(gains[MICE]), "three queues": str(protected)}
        measured[f"{TWO[tors]}: load carried while flows arrive"] = {
            text: round(runs.count(TWO[tors], variant, lambda run: run.carried), 3)
            for variant, text in COMPARED.items()
        }
        measured[f"{TWO[tors]}: notifications"] = {
            text: runs.count(TWO[tors], variant, lambda run: run.cnps) for variant, text in COMPARED.items()
        }
    parts = {
        "C.1-lower": Part(lower, measured),
        "C.1-mice": Part(mice, {f"{label}: gain": found for label, found in shares.items()}),
        "C.1-more": Part(more, {f"{label}: gain over all flows": found for label, found in models.items()}),
        "C.1-more-mice": Part(more_for_mice, {f"{label}: gain of the mice": one for label, one in of_mice.items()}),
    }
    return parts | {"C.1": whole(parts, ("C.1-mice", "C.1-more"))}


_JUDGED = judged(
    statements={
        "C.1": "Two queues, no mice prioritisation: CI performs even better than with three queues; the mice benefit "
        "the most",
        "C.1-lower": "Ours, for lost figures: with two queues CI's mean FCT is lower in every size class, at every "
        "scale",
        "C.1-mice": "The mice gain the most",
        "C.1-more": "The gain over all flows is larger than in the three-queue model",
        "C.1-more-mice": "Ours: the gain of the mice is larger than in the three-queue model",
    },
    cases={
        **{TWO[tors]: Case(tors=tors) for tors in TORS},
        **{THREE[tors]: Case(tors=tors, queues=3) for tors in TORS},
    },
    judge=judge,
    choices=tuple(CHOICES),
    reasons={
        "C.1-lower/isolated": (
            "Every packet in the congested queue is marked, however short that queue is, until the flow has none "
            "there: sources get several times the notifications, and send slowly for long afterwards. Four flows of "
            "50 MB from different racks into one server fill 69 % of its link with CI, 93 % without, and all of it if "
            "only the selecting packets are marked (a test). Mice alone gain: they no longer queue behind the others."
        ),
        "C.1-mice/selecting": (
            "In 10 ms of arrivals there is little for mice to gain: their mean FCT is 1.45 µs, and 1.24 µs if they "
            "have a queue of their own. Of that they gain more the longer flows arrive (C.1 with 40 ms). The classes "
            "above gain more because PFC in place of ECN keeps their links busy."
        ),
        "C.1-more": (
            "The mean over all flows is that of elephants, to which it is the same whether mice have a queue of "
            "their own: both models' gains differ by less than their intervals, and with other choices it is as often "
            "one as the other. For the mice themselves the gain is larger (C.1-more-mice)."
        ),
    },
)
CLAIMS = _JUDGED.listed
scenarios = _JUDGED.scenarios
claims = _JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw the mean FCT by size class and scale."""
    bars(results, path, {TWO[tors]: f"{tors * tors // 2}" for tors in TORS}, "servers")
