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
from itertools import pairwise
from pathlib import Path

from xoff.experiments.sfc._figures import bars
from xoff.experiments.sfc._networks import TWO_LAYER, VICTIMS_BESIDE_SENDERS
from xoff.experiments.sfc._parameters import parameters
from xoff.experiments.sfc._runs import Runs, judged
from xoff.reproduce import Part, chosen
from xoff.results import Result

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
    alone = {case: runs(case, "pfc").fct_us["victim"] for case in ("3", "3.1", "3.2")}
    improvement = {case: runs.improvement(case) for case in _CASES}
    pauses = {case: runs(case, "pfc-sfc").pfc_pauses for case in _HEADROOMS}
    victim = {case: runs(case, "pfc-sfc").fct_us["victim"] for case in _HEADROOMS}
    counts = list(pauses.values())
    return {
        "5.3-buffer": Part(
            all(after < before for before, after in pairwise(alone.values())), {"victim FCT, PFC only (µs)": alone}
        ),
        "5.3-gain": Part(improvement["3"] > improvement["1"], {"improvement by SFC": improvement}),
        "5.3-headroom": Part(
            all(after <= before for before, after in pairwise(counts))
            and counts[-1] < counts[0]
            and all(after < before for before, after in pairwise(victim.values())),
            {
                "PFC pauses under SFC": pauses,
                "victim FCT under SFC (µs)": {
                    case: runs.over(case, "pfc-sfc", lambda run: run.victims_us) for case in _HEADROOMS
                },
                "mean FCT over all flows under SFC (µs)": {case: runs(case, "pfc-sfc").mean_us for case in _HEADROOMS},
            },
        ),
    }


_JUDGED = judged(
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
        **VICTIMS_BESIDE_SENDERS,
        "round trip of the formulas": {"switch_ns": 203},
        "packets of 512 B": {"payload_bytes": 512},
        "interval 6 µs": {"interval_us": 6},
        "DCQCN preset paper": {"dcqcn": "paper"},
        "XON 80 KB below XOFF": {"xon_gap_kb": 80},
    },
    reasons={
        "5.3-headroom": (
            "PFC, which compares each input's fifth of the queue, fires in none of the three cases, so that there is "
            "nothing to decrease; the victim's FCT differs by 6 %."
        ),
        "5.3-headroom/oq-egress": (
            "From 3.1 to 3.1a it is as claimed. In 3.1b the pause of 10 µs is at the lower bound of 9.6 µs, which "
            "leaves "
            "out that a packet of 4 KB is stored and forwarded on its way: a pause does not take the queue below the "
            "threshold, and PFC fires. With the round trip that the formulas have it holds."
        ),
        "5.3-headroom/voq": (
            "From 3.1 to 3.1a it is as claimed. In 3.1b the pause of 10 µs is at the lower bound of 9.6 µs, which "
            "leaves "
            "out that a packet of 4 KB is stored and forwarded on its way. With the round trip that the formulas "
            "have it "
            "holds."
        ),
    },
)
PARAMETERS = parameters(
    _CASES,
    "Part 5, CASE 3",
    [
        chosen(
            "round trip",
            "links, switches, and 4 KB stored and forwarded",
            "what a switch does",
            "that of the formulas, 512 B",
        )
    ],
)
CLAIMS = _JUDGED.listed
scenarios = _JUDGED.scenarios
claims = _JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw the FCT of each flow and variant, case by case."""
    bars(results, path, _CASES)
