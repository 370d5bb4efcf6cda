"""Cases 2a and 4a of Part 4: the same 5-to-1 incast in the three-layer and in the two-layer CLOS.

Source: "SFC simulation", contribution to IEEE P802.1Qdw, 2025, Part 4, slide "3-layer vs 2-layer": the topology
changes, all other settings stay those of case 2a (800 KB, PFC 780 KB, SFC 200 KB, 20 µs). The document adds that the
two are hard to compare fairly; so is nothing of that sort judged. Networks and victims: see `_networks.py`.

Open choices, judged beside the verdict: other places of the victims, the parameters of DCQCN, how far below
XOFF PFC resumes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from xoff.reproduce import Part, all_of
from xoff.results import Result
from xoff_experiments.sfc._figures import bars
from xoff_experiments.sfc._networks import THREE_LAYER, VARIANTS
from xoff_experiments.sfc._parameters import parameters
from xoff_experiments.sfc._runs import Runs, judged, victims_us

CITATION = "SFC simulation, IEEE P802.1Qdw, 2025, Part 4, case 4a"
_CASES = {
    "case 2a (3-layer)": replace(THREE_LAYER, incast=5),
    "case 4a (2-layer)": replace(THREE_LAYER, incast=5, layers=2),
}


def judge(runs: Runs) -> dict[str, Part]:
    """Judge: in both networks the victims' mean FCT with SFC is below that with PFC only and with PFC + DCQCN."""
    measured = {
        f"{case}: victims' mean FCT (µs)": {variant: runs.over(case, variant, victims_us) for variant in VARIANTS}
        for case in _CASES
    }
    return {"4.4": Part(all_of(*(runs.faster(case, victims_us) for case in _CASES)), measured)}


JUDGED = judged(
    statements={
        "4.4": "5-to-1 with unchanged settings: SFC improves the victims' FCT in the 3-layer and in the 2-layer CLOS"
    },
    cases=_CASES,
    judge=judge,
    choices={
        "XON 80 KB below XOFF": {"xon_gap_kb": 80},
    },
)
PARAMETERS = parameters(_CASES, "Part 4, 3-layer vs 2-layer")
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the FCT of each flow and variant in both networks."""
    bars(results, path, _CASES)
