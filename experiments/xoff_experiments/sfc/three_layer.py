"""Case 1 of Part 4: 3-to-1 incast and three victims among 1024 GPUs in a three-layer CLOS.

Source: "SFC simulation", contribution to IEEE P802.1Qdw, 2025, Part 4, slides "Simulation Part 4: 3-layer CLOS" and
"Parameter calculation process". Buffer 800 KB, PFC threshold 780 KB, DCQCN K 200 KB; SFC threshold 200 KB, pause and
least interval 20 µs. The network's shape and the victims' places are ours: see `_networks.py`.

"Precisely pauses the sources of incasts" is judged by whom the SFCMs hold: none holds a victim.

Open choices, judged beside the verdict: other places of the victims, the parameters of DCQCN, how far below XOFF PFC
resumes, packets of 1000 B.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from xoff.reproduce import Part, Spread, all_of, never
from xoff.results import Result
from xoff_experiments.sfc._figures import bars
from xoff_experiments.sfc._networks import THREE_LAYER, VARIANTS, flow_names
from xoff_experiments.sfc._parameters import parameters
from xoff_experiments.sfc._runs import Runs, judged

CITATION = "SFC simulation, IEEE P802.1Qdw, 2025, Part 4, case 1"
_CASES = {"case 1": THREE_LAYER}


def judge(runs: Runs) -> dict[str, Part]:
    """Judges the flows held by SFCMs, and that each victim's FCT with SFC is below the FCT with both rivals."""
    victims = [name for name in flow_names(THREE_LAYER) if not name.startswith("incast")]
    times = {name: (lambda run, name=name: run.fct_us[name]) for name in victims}
    fct = {
        f"{name} FCT (µs)": {variant: runs.over("case 1", variant, value) for variant in VARIANTS}
        for name, value in times.items()
    }
    told = runs.drawn("case 1", "pfc-sfc", lambda run: run.sfcms)
    to_victims = runs.drawn("case 1", "pfc-sfc", lambda run: run.victims_sfcms)
    return {
        "4.1-precise": Part(
            never(to_victims),
            {"SFCMs": Spread.of(told), "of these to victims' sources": Spread.of(to_victims)},
            void="" if any(told) else "no SFCM is sent",
        ),
        "4.1-victims": Part(all_of(*(runs.faster("case 1", value) for value in times.values())), fct),
        "4.1-both": Part(all_of(*(runs.faster("case 1", value, "pfc-dcqcn-sfc") for value in times.values())), fct),
    }


JUDGED = judged(
    statements={
        "4.1": "3-layer CLOS, 3-to-1: SFC precisely pauses the sources of the incast; every victim's FCT is better "
        "than with PFC only and with PFC + DCQCN",
        "4.1-precise": "SFCMs hold the sources of the incast, and no victim",
        "4.1-victims": "Every victim's FCT with SFC is lower than with PFC only and with PFC + DCQCN",
        "4.1-both": "SFC beside DCQCN: every victim's FCT is lower than with PFC only and with PFC + DCQCN",
    },
    ours=("4.1-both",),
    reasons={
        "4.1-both": (
            "DCQCN is what slows the victims: beside SFC or without it each takes 711 µs, where PFC alone takes 420 "
            "to 517. A flow that was cut gets its rate back slowly (H)."
        ),
    },
    cases=_CASES,
    judge=judge,
    choices={
        "XON 80 KB below XOFF": {"xon_gap_kb": 80},
        "packets of 1000 B": {"payload_bytes": 1000},
    },
)
PARAMETERS = parameters(_CASES, "Part 4, basic settings")
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the FCT of each flow and variant."""
    bars(results, path, _CASES)
