"""Cases 1 and 3 to 3.2 of Part 5: a 5-to-1 incast, and buffers and thresholds for it, in the two-layer CLOS.

Source: "SFC simulation", contribution to IEEE P802.1Qdw, 2025, Part 5, slides "Impact of buffer size and incast
severity" and "CASE 3". Network and victim: see `_networks.py`.

Open choices, judged beside the verdict: other places of the victim; the round trip that the document's formulas have
(2.4 µs; they leave out that a packet of 4 KB is stored and forwarded three times on its way, which moves case 3.1b
below its lower bound: 203 ns instead of 300 in each switch make up for it), or packets of 512 B; the least interval
of 6 µs of the list of settings; the parameters of DCQCN, how far below XOFF PFC resumes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from xoff.reproduce import Part, all_of, chosen, higher, lower, opposite, ordered
from xoff.results import Result
from xoff_experiments.sfc._figures import bars
from xoff_experiments.sfc._networks import TWO_LAYER
from xoff_experiments.sfc._parameters import parameters
from xoff_experiments.sfc._runs import Runs, judged, mean_us, pauses, shown, victims_us

CITATION = "SFC simulation, IEEE P802.1Qdw, 2025, Part 5, cases 3 to 3.2"

_FIVE = replace(TWO_LAYER, incast=5)
_HEADROOMS = ("3.1", "3.1a", "3.1b")
_CASES = {
    "1": TWO_LAYER,
    "3": _FIVE,
    "3.1": replace(_FIVE, buffer_kb=800, pfc_kb=780, sfc_kb=600, pause_us=20),
    "3.1a": replace(_FIVE, buffer_kb=800, pfc_kb=780, sfc_kb=400, pause_us=15),
    "3.1b": replace(_FIVE, buffer_kb=800, pfc_kb=780, sfc_kb=200, pause_us=10),
    "3.2": replace(_FIVE, buffer_kb=1200, pfc_kb=1180, sfc_kb=800, pause_us=20),
}


def judge(runs: Runs) -> dict[str, Part]:
    """Judge: PFC only falls from 3 to 3.1 to 3.2; SFC gains more than in case 1; fewer pauses and less FCT from 3.1."""
    alone = {case: runs.drawn(case, "pfc", victims_us) for case in ("3", "3.1", "3.2")}
    improvement = {case: runs.improvements(case, victims_us) for case in _CASES}
    fired = {case: runs.drawn(case, "pfc-sfc", pauses) for case in _HEADROOMS}
    victim = {case: runs.drawn(case, "pfc-sfc", victims_us) for case in _HEADROOMS}
    least, middle, most = fired.values()
    return {
        "5.3-buffer": Part(
            ordered([alone[case] for case in ("3.2", "3.1", "3")]), {"victim FCT, PFC only (µs)": shown(alone)}
        ),
        "5.3-gain": Part(
            higher(improvement["3"], improvement["1"]), {"improvement of the victim's FCT by SFC": shown(improvement)}
        ),
        "5.3-headroom": Part(
            all_of(
                opposite(higher(middle, least)),
                opposite(higher(most, middle)),
                lower(most, least),
                ordered([victim[case] for case in reversed(_HEADROOMS)]),
            ),
            {
                "PFC pauses under SFC": shown(fired),
                "victim FCT under SFC (µs)": shown(victim),
                "mean FCT over all flows under SFC (µs)": {
                    case: runs.over(case, "pfc-sfc", mean_us) for case in _HEADROOMS
                },
            },
            void="" if any(map(any, fired.values())) else "PFC fires in none of the three cases under SFC",
        ),
    }


JUDGED = judged(
    statements={
        "5.3": "5-to-1 in the 2-layer CLOS: larger buffers help PFC alone a little, SFC helps more than at 3-to-1, and "
        "more SFC headroom means fewer PFC pauses and a better FCT",
        "5.3-buffer": "With PFC only the victim's FCT improves slightly as the buffer grows (cases 3, 3.1, 3.2)",
        "5.3-gain": "The improvement by SFC is larger than under the milder incast (case 3 against case 1)",
        "5.3-headroom": "From 3.1 to 3.1a to 3.1b, as the SFC headroom becomes larger, PFC pauses become fewer and the "
        "victim's FCT improves",
    },
    cases=_CASES,
    judge=judge,
    choices={
        "packets of 512 B": {"payload_bytes": 512},
        "interval 6 µs": {"interval_us": 6},
        "XON 80 KB below XOFF": {"xon_gap_kb": 80},
    },
    reasons={
        "5.3-headroom": (
            "The victim's FCT improves with each step (415, 329, 289 µs), and PFC pauses become fewer from 3.1 to "
            "3.1a (118, 64), but not to 3.1b (111): its pause of 10 µs is at the formulas' lower bound of 9.6, which "
            "leave out that a packet of 4 KB is stored and forwarded three times on its way. With their round trip, "
            "with packets of 512 B, or with the least interval of 6 µs of the deck's list of settings it holds."
        ),
    },
)
PARAMETERS = parameters(
    _CASES,
    "Part 5, CASE 3",
    [chosen("packet", "4 KB", "given", "512 B")],
)
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the FCT of each flow and variant, case by case."""
    bars(results, path, _CASES)
