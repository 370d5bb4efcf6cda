"""Cases 1, 2a and 2b of Part 4: incast of 3, 5 and 7 to 1 in the three-layer CLOS.

Source: "SFC simulation", contribution to IEEE P802.1Qdw, 2025, Part 4, slide "Impact of Incast": only more incast
flows, all other settings unchanged (800 KB, PFC 780 KB, SFC 200 KB, 20 µs). Network and victims: see `_networks.py`.

"Improvement effect" is the document's word for what SFC does to the FCT. The slide ends with the victims, so their mean
FCT is judged. The mean over all flows stands beside it, with what it is made of: SFC saves the incast's flows nothing,
and the sum that the victims' saving is divided by grows with the senders.

Open choices, judged beside the verdict: other places of the victims, the parameters of DCQCN, how far below XOFF PFC
resumes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from xoff.reproduce import Decision, Part, all_of, higher, some
from xoff.results import Result
from xoff_experiments.sfc._figures import bars
from xoff_experiments.sfc._networks import THREE_LAYER, VARIANTS
from xoff_experiments.sfc._parameters import parameters
from xoff_experiments.sfc._runs import Run, Runs, judged, mean_us, pauses, shown, victims_us

CITATION = "SFC simulation, IEEE P802.1Qdw, 2025, Part 4, cases 1, 2a and 2b"
_CASES = {
    "case 1 (3-to-1)": THREE_LAYER,
    "case 2a (5-to-1)": replace(THREE_LAYER, incast=5),
    "case 2b (7-to-1)": replace(THREE_LAYER, incast=7),
}


def judge(runs: Runs) -> dict[str, Part]:
    """Judges the victims in each case, that the middle improvement is highest, and where PFC fires under SFC."""
    times = {
        f"{case}: victims' mean FCT (µs)": {variant: runs.over(case, variant, victims_us) for variant in VARIANTS}
        for case in _CASES
    }
    overall = {case: runs.improvements(case, mean_us) for case in _CASES}
    of_victims = {case: runs.improvements(case, victims_us) for case in _CASES}
    fired = [runs.drawn(case, "pfc-sfc", pauses) for case in _CASES]
    needless, middle, severe = fired
    return {
        "4.2-victims": Part(all_of(*(runs.faster(case, victims_us) for case in _CASES)), times),
        "4.2-peak": Part(_peaks(of_victims), {"improvement of the victims' mean FCT by SFC": shown(of_victims)}),
        "4.2-peak-all": Part(
            _peaks(overall),
            {
                "improvement of the mean FCT over all flows by SFC": shown(overall),
                "saved by SFC, all victims together (µs)": shown(_saved(runs, is_victim=True)),
                "saved by SFC, all flows of the incast together (µs)": shown(_saved(runs, is_victim=False)),
                "sum of all FCTs, PFC only (µs)": shown(
                    {case: runs.drawn(case, "pfc", lambda run: sum(run.fct_us.values())) for case in _CASES}
                ),
            },
        ),
        "4.2-pfc": Part(
            all_of(some(severe), higher(severe, needless), higher(severe, middle)),
            {"PFC pauses under SFC": shown(dict(zip(_CASES, fired, strict=True)))},
        ),
    }


def _saved(runs: Runs, *, is_victim: bool) -> dict[str, list[float]]:
    """Returns the time that SFC saves the victims, or the flows of the incast, in all, by case."""

    def total(run: Run) -> float:
        return sum(fct for name, fct in run.fct_us.items() if name.startswith("incast") != is_victim)

    return {
        case: [
            without - with_it
            for without, with_it in zip(runs.drawn(case, "pfc", total), runs.drawn(case, "pfc-sfc", total), strict=True)
        ]
        for case in _CASES
    }


def _peaks(improvements: Mapping[str, Sequence[float]]) -> Decision:
    first, middle, last = improvements.values()
    return all_of(higher(middle, first), higher(middle, last))


JUDGED = judged(
    statements={
        "4.2": "3-layer CLOS: as the incast grows from 3 to 5 to 7, the improvement by SFC first increases and then "
        "decreases; when it is too severe the space between the thresholds does not suffice and PFC still triggers",
        "4.2-victims": "SFC improves the victims' FCT under each incast, against PFC only and PFC + DCQCN",
        "4.2-peak": "The improvement effect of SFC, on the victims' mean FCT, is highest at 5-to-1",
        "4.2-peak-all": "… and on the mean FCT over all flows",
        "4.2-pfc": "At 7-to-1 the 580 KB between the thresholds are short of the 630 KB needed: PFC fires under SFC, "
        "and more than at 3-to-1 and 5-to-1",
    },
    cases=_CASES,
    judge=judge,
    ours=("4.2-peak-all",),
    choices={
        "XON 80 KB below XOFF": {"xon_gap_kb": 80},
    },
    reasons={
        "4.2-peak": (
            "The victims gain 34, 64 and 70 %: the more senders, the worse PFC alone is for them, and SFC still has "
            "most of its effect where PFC fires under it. The mean over all flows peaks at 5-to-1 by arithmetic, not "
            "by PFC: SFC saves the incast's flows nothing, and the victims 0.5, 1.5 and 2.3 ms in all, out of a sum "
            "of 3.3, 7.4 and 13.2 ms. With victims that meet nobody the quotient would be 24.4, 23.1 and 19.9 %, so "
            "that no SFC could do more at 7-to-1 than the 20.4 % of 5-to-1. At 3-to-1 PFC fires more under SFC than "
            "at 5-to-1."
        ),
    },
)
PARAMETERS = parameters(_CASES, "Part 4, Impact of Incast")
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the FCT of each flow and variant, case by case."""
    bars(results, path, _CASES)
