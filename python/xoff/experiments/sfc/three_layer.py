"""Case 1 of Part 4: 3-to-1 incast and three victims among 1024 GPUs in a three-layer CLOS.

Source: "SFC simulation", contribution to IEEE P802.1Qdw, 2025, Part 4, slides "Simulation Part 4: 3-layer CLOS" and
"Parameter calculation process". Buffer 800 KB, PFC threshold 780 KB, DCQCN K 200 KB; SFC threshold 200 KB, pause and
least interval 20 µs. The network's shape and the victims' places are ours: see `_networks.py`.

"Precisely pauses the source of incasts" is judged by whom the SFCMs hold: at most a tenth of them may hold a victim.
Half of all flows are victims.

Open choices, judged beside the verdict: other places of the victims, the parameters of DCQCN, how far below XOFF PFC
resumes, packets of 1000 B.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from xoff.experiments.sfc._figures import bars
from xoff.experiments.sfc._networks import THREE_LAYER, VARIANTS, VICTIMS_BESIDE_SENDERS, flow_names
from xoff.experiments.sfc._parameters import parameters
from xoff.experiments.sfc._runs import Runs, judged
from xoff.reproduce import Part, Spread
from xoff.results import Result

CITATION = "SFC simulation, IEEE P802.1Qdw, 2025, Part 4, case 1"
_CASES = {"case 1": THREE_LAYER}
_PRECISE = 0.10
"""The largest share of the SFCMs that may hold a victim."""


def judge(runs: Runs) -> dict[str, Part]:
    """Judge whom SFCMs hold; and that for each victim the FCT with SFC is below that of both rivals."""
    victims = [name for name in flow_names(THREE_LAYER) if not name.startswith("incast")]
    draws = {variant: runs.draws("case 1", variant) for variant in VARIANTS}
    times = {
        name: {variant: Spread.of(run.fct_us[name] for run in found) for variant, found in draws.items()}
        for name in victims
    }
    mean = {name: {variant: value.mean for variant, value in fct.items()} for name, fct in times.items()}
    shown = {f"{name} FCT (µs)": fct for name, fct in times.items()}
    sfc = runs("case 1", "pfc-sfc")
    share = sfc.victims_sfcms / sfc.sfcms if sfc.sfcms else 0.0
    return {
        "4.1-precise": Part(
            bool(sfc.sfcms) and share <= _PRECISE,
            {"SFCMs": sfc.sfcms, "of these to victims' sources": sfc.victims_sfcms, "share": share},
        ),
        "4.1-victims": Part(all(fct["pfc-sfc"] < min(fct["pfc"], fct["pfc-dcqcn"]) for fct in mean.values()), shown),
        "4.1-both": Part(all(fct["pfc-dcqcn-sfc"] < min(fct["pfc"], fct["pfc-dcqcn"]) for fct in mean.values()), shown),
    }


_JUDGED = judged(
    statements={
        "4.1": "3-layer CLOS, 3-to-1: SFC precisely pauses the sources of the incast; every victim's FCT is better "
        "than with PFC only and with PFC + DCQCN",
        "4.1-precise": "SFCMs hold the sources of the incast: at most a tenth of them hold a victim",
        "4.1-victims": "Every victim's FCT with SFC is lower than with PFC only and with PFC + DCQCN",
        "4.1-both": "SFC beside DCQCN: every victim's FCT is lower than with PFC only and with PFC + DCQCN",
    },
    ours=("4.1-both",),
    reasons={
        "4.1-precise": (
            "A quarter of the SFCMs hold a victim. Each victim shares one link with a sender, both offer its "
            "full rate, and that link tells both of them at 10.6 to 11.2 µs; the incast's own switch sends its "
            "first SFCM at 19.5 µs. SFC holds the sources of a queue, and does not know which of two congested "
            "queues is the incast's."
        ),
        "4.1-victims/oq-egress": (
            "Green and orange are a third faster than with PFC only. Blue, which shares a link above the receiver's "
            "switch, takes 405 µs instead of 392: PFC by egress queue stops at the switch below, and SFCMs of blue's "
            "own link hold it."
        ),
        "4.1-both": "Held by SFCMs and slowed by DCQCN, blue takes 514 µs instead of 420 with PFC only; the others "
        "gain.",
    },
    cases=_CASES,
    judge=judge,
    choices={
        **VICTIMS_BESIDE_SENDERS,
        "DCQCN preset paper": {"dcqcn": "paper"},
        "XON 80 KB below XOFF": {"xon_gap_kb": 80},
        "packets of 1000 B": {"payload_bytes": 1000},
    },
)
PARAMETERS = parameters(_CASES, "Part 4, basic settings")
CLAIMS = _JUDGED.listed
scenarios = _JUDGED.scenarios
claims = _JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw the FCT of each flow and variant."""
    bars(results, path, _CASES)
