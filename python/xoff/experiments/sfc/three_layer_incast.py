"""Cases 1, 2a and 2b of Part 4: incast of 3, 5 and 7 to 1 in the three-layer CLOS.

Source: "SFC simulation", contribution to IEEE P802.1Qdw, 2025, Part 4, slide "Impact of Incast": only more incast
flows, all other settings unchanged (800 KB, PFC 780 KB, SFC 200 KB, 20 µs). Network and victims: see `_networks.py`.

"Improvement effect" is the document's word for what SFC does to the FCT: the mean over all flows is judged, and that
of the victims stands beside it.

Open choices, judged beside the verdict: other places of the victims, the parameters of DCQCN, how far below XOFF PFC
resumes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from xoff.experiments.sfc._figures import bars
from xoff.experiments.sfc._networks import THREE_LAYER, VARIANTS, VICTIMS_BESIDE_SENDERS
from xoff.experiments.sfc._parameters import parameters
from xoff.experiments.sfc._runs import Runs, judged
from xoff.reproduce import Part
from xoff.results import Result

CITATION = "SFC simulation, IEEE P802.1Qdw, 2025, Part 4, cases 1, 2a and 2b"
_CASES = {
    "case 1 (3-to-1)": THREE_LAYER,
    "case 2a (5-to-1)": replace(THREE_LAYER, incast=5),
    "case 2b (7-to-1)": replace(THREE_LAYER, incast=7),
}


def judge(runs: Runs) -> dict[str, Part]:
    """Judge the victims' mean in each case, that the middle improvement is highest, and where PFC fires under SFC."""
    spread = {
        case: {variant: runs.over(case, variant, lambda run: run.victims_us) for variant in VARIANTS} for case in _CASES
    }
    victims = {case: {variant: value.mean for variant, value in found.items()} for case, found in spread.items()}
    overall = {case: runs.improvement(case, value=lambda run: run.mean_us) for case in _CASES}
    of_victims = {case: runs.improvement(case) for case in _CASES}
    pauses = [runs(case, "pfc-sfc").pfc_pauses for case in _CASES]
    return {
        "4.2-victims": Part(
            all(mean["pfc-sfc"] < min(mean["pfc"], mean["pfc-dcqcn"]) for mean in victims.values()),
            {f"{case}: victims' mean FCT (µs)": mean for case, mean in spread.items()},
        ),
        "4.2-peak": Part(_peaks(overall), {"improvement of the mean FCT over all flows by SFC": overall}),
        "4.2-peak-victims": Part(_peaks(of_victims), {"improvement of the victims' mean FCT by SFC": of_victims}),
        "4.2-pfc": Part(
            pauses[2] > 0 and pauses[2] > max(pauses[:2]),
            {"PFC pauses under SFC": dict(zip(_CASES, pauses, strict=True))},
        ),
    }


def _peaks(improvement: Mapping[str, float]) -> bool:
    first, middle, last = improvement.values()
    return first < middle > last


_JUDGED = judged(
    statements={
        "4.2": "3-layer CLOS: as the incast grows from 3 to 5 to 7, the improvement by SFC first increases and then "
        "decreases; when it is too severe the space between the thresholds does not suffice and PFC still triggers",
        "4.2-victims": "SFC improves the victims' FCT under each incast, against PFC only and PFC + DCQCN",
        "4.2-peak": "The improvement effect of SFC, on the mean FCT over all flows, is highest at 5-to-1",
        "4.2-peak-victims": "The improvement of the victims' mean FCT by SFC is highest at 5-to-1",
        "4.2-pfc": "At 7-to-1 the 580 KB between the thresholds are short of the 630 KB needed: PFC fires under SFC, "
        "and more than at 3-to-1 and 5-to-1",
    },
    cases=_CASES,
    judge=judge,
    ours=("4.2-peak-victims",),
    choices={
        **VICTIMS_BESIDE_SENDERS,
        "DCQCN preset paper": {"dcqcn": "paper"},
        "XON 80 KB below XOFF": {"xon_gap_kb": 80},
    },
    reasons={
        "4.2-peak": (
            "The improvement rises from 1.3 to 18.8 % and stays there (18.9 %). PFC compares the bytes of each "
            "input, a "
            "seventh of the queue at 7-to-1, with its threshold: under SFC it fires late. Where it sees the whole "
            "egress "
            "queue (oq-egress), or with a threshold for each input (voq), the improvement falls again."
        ),
        "4.2-peak-victims": (
            "The more senders, the worse PFC alone is for the victims, and SFC takes all of it away while PFC fires "
            "late "
            "under it. Where PFC sees the whole egress queue (oq-egress) the victims' gain falls at 7-to-1, too."
        ),
    },
)
PARAMETERS = parameters(_CASES, "Part 4, Impact of Incast")
CLAIMS = _JUDGED.listed
scenarios = _JUDGED.scenarios
claims = _JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw the FCT of each flow and variant, case by case."""
    bars(results, path, _CASES)
