"""Case 1 of Part 4: 3-to-1 incast and three victims among 1024 GPUs in a three-layer CLOS.

Source: "SFC simulation", contribution to IEEE P802.1Qdw, 2025, Part 4, slides "Simulation Part 4: 3-layer CLOS" and
"Parameter calculation process". Buffer 800 KB, PFC threshold 780 KB, DCQCN K 200 KB; SFC threshold 200 KB, pause and
least interval 20 µs. The network's shape and the victims' places are ours: see `_networks.py`.

Open choices, judged beside the verdict: the parameters of DCQCN, how far below XOFF PFC resumes, packets of 1000 B.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from experiments.sfc._figures import bars
from experiments.sfc._networks import THREE_LAYER, VARIANTS, flow_names
from experiments.sfc._runs import Runs, judged

from xoff.reproduce import Part
from xoff.results import Result

CITATION = "SFC simulation, IEEE P802.1Qdw, 2025, Part 4, case 1"
_CASES = {"case 1": THREE_LAYER}


def judge(runs: Runs) -> dict[str, Part]:
    """Judge: for each victim the FCT with SFC is below that with PFC only and with PFC + DCQCN."""
    victims = [name for name in flow_names(THREE_LAYER) if not name.startswith("incast")]
    times = {name: {variant: runs("case 1", variant).fct_us[name] for variant in VARIANTS} for name in victims}
    lower = all(fct["pfc-sfc"] < min(fct["pfc"], fct["pfc-dcqcn"]) for fct in times.values())
    return {"4.1": Part(lower, {f"{name} FCT (µs)": fct for name, fct in times.items()})}


_JUDGED = judged(
    statements={
        "4.1": "3-layer CLOS, 3-to-1: SFC precisely pauses the sources of the incast; every victim's FCT is better "
        "than with PFC only and with PFC + DCQCN",
    },
    cases=_CASES,
    judge=judge,
    choices={
        "DCQCN preset paper": {"dcqcn": "paper"},
        "XON 80 KB below XOFF": {"xon_gap_kb": 80},
        "packets of 1000 B": {"payload_bytes": 1000},
    },
)
CLAIMS = _JUDGED.listed
scenarios = _JUDGED.scenarios
claims = _JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw the FCT of each flow and variant."""
    bars(results, path, _CASES)
