"""Case 1 of Part 5: 3-to-1 incast and one victim in a two-layer Clos, with 400 KB of buffer a port.

Source: "SFC simulation", contribution to IEEE P802.1Qdw, 2025, Part 5 (sensitivity analysis in the 2-layer CLOS,
case 1) and Part 4 (what is compared, and that SFC improves the victim in both topologies).

Choices where the document is silent: 8 leaves × 8 hosts and 8 spines; XON 8 KB below XOFF; DCQCN marks at 200 KB and
has the ConWeave parameters, with the increase steps scaled by the link's rate; 4000 B of data and 48 B of headers a
packet; the victim (the document's green flow) sits in a rack without a sender, goes to another host of the receiver's
rack, and shares the link from the spine to the receiver's leaf with the first sender. Paths are pinned, so that the
sharing is the experiment. The document's pause time is 6 µs in the list of settings and 10 µs in every table: here it
is 10 µs.

Open choices, judged beside the verdict: other places of the victim, a pause of 6 µs, the parameters of DCQCN, how far
below XOFF PFC resumes, 512 B.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from xoff.reproduce import Part, chosen, never
from xoff.results import Result
from xoff_experiments.sfc._figures import bars
from xoff_experiments.sfc._networks import TWO_LAYER, VARIANTS
from xoff_experiments.sfc._parameters import parameters
from xoff_experiments.sfc._runs import Runs, judged, pauses, victims_us

CITATION = "SFC simulation, IEEE P802.1Qdw, 2025, Part 5, case 1"

_CASES = {"": TWO_LAYER}


def judge(runs: Runs) -> dict[str, Part]:
    """Judge: lower in the victim's FCT than both rivals; and not a single PFC pause under PFC + SFC."""
    times = {"victim FCT (µs)": {variant: runs.over("", variant, victims_us) for variant in VARIANTS}}
    return {
        "5.1": Part(runs.faster("", victims_us), times),
        "5.1-headroom": Part(
            never(runs.drawn("", "pfc-sfc", pauses)),
            {"PFC pauses": {variant: runs.over("", variant, pauses) for variant in VARIANTS}},
            void="" if any(runs.drawn("", "pfc", pauses)) else "without SFC, too, PFC does not pause",
        ),
        "5.1-both": Part(runs.faster("", victims_us, "pfc-dcqcn-sfc"), times),
    }


JUDGED = judged(
    statements={
        "5.1": "3-to-1 in the 2-layer CLOS: the victim's FCT with SFC is lower than with PFC only and with PFC + DCQCN",
        "5.1-headroom": "The 180 KB between the thresholds exceed the 120 KB that 3-to-1 needs, so that PFC pauses no "
        "sender under SFC",
        "5.1-both": "SFC beside DCQCN: the victim's FCT is lower than with PFC only and with PFC + DCQCN",
    },
    ours=("5.1-both", "5.1-headroom"),
    reasons={
        "5.1-headroom": (
            "The receiver's switch alone signals, so that the switches above it fill up and PFC pauses there (109 "
            "pauses, 1176 without SFC); where every switch signals there is none."
        ),
        "5.1-both": "DCQCN is what slows the victim: beside SFC or without it it takes 678 µs, and 564 with PFC alone.",
    },
    cases=_CASES,
    judge=judge,
    choices={
        "pause 6 µs": {"pause_us": 6},
        "XON 80 KB below XOFF": {"xon_gap_kb": 80},
        "packets of 512 B": {"payload_bytes": 512},
    },
)
PARAMETERS = parameters(
    _CASES,
    "Part 5, basic settings",
    [chosen("pause and interval", "10 µs", "all tables and the calculation; the settings list says 6 µs", "6 µs")],
)
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the FCT of each flow and variant for each architecture."""
    bars(results, path, _CASES)
