"""Isolation at the NIC: 60-to-1 incasts of 250 KB (5 %), background of 30 %, 4 outgoing queues.

Source: "Improvements on SFC Proxy Mode", contribution to IEEE P802.1Qdw, slides "Proposal Inspired by CI (on NIC)",
"How does CI work on the NIC?" and "Simulation". A new message takes a queue of the NIC that is not paused; the ToR
pauses the queue from which the congested flow comes. Traffic and configuration: see `_traffic.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from xoff.reproduce import ABOUT_THE_SAME, Part, Spread, all_of, chosen, given, positive
from xoff.results import Result
from xoff_experiments.sfc_proxy._figures import bars
from xoff_experiments.sfc_proxy._parameters import PARAMETERS as _SHARED
from xoff_experiments.sfc_proxy._runs import TABLES, Runs, judged
from xoff_experiments.sfc_proxy._traffic import CLASSES

CITATION = "Improvements on SFC Proxy Mode, IEEE P802.1Qdw, Simulation of isolation at the NIC"

_TRAFFIC = "NIC"
_MECHANISMS = ("dcqcn", "proxy", "nic", "isolation")


def judge(runs: Runs) -> dict[str, Part]:
    """Judge: with 4 queues the mean is lower than with the plain proxy; whether by more than 15 %, is shown."""
    plain, queues = (runs.by_class(_TRAFFIC, one) for one in ("proxy", "nic"))
    gains = {
        name: [1 - mine / other for mine, other in zip(queues[name], plain[name], strict=True)] for name in CLASSES
    }
    shown = {"mean FCT lower by the share, by seed": {name: Spread.of(found) for name, found in gains.items()}}
    return {
        "P.5": Part(runs.lower(_TRAFFIC, "nic", "proxy"), runs.compared(_TRAFFIC, _MECHANISMS) | shown),
        "P.5-clearly": Part(
            all_of(*(positive([one - ABOUT_THE_SAME for one in found]) for found in gains.values())), shown
        ),
    }


JUDGED = judged(
    statements={
        "P.5": "Using isolation at the NIC with 4 queues improves FCT significantly over SFC proxy (model 3)",
        "P.5-clearly": "… by more than 15 % in every size class",
    },
    traffic=(_TRAFFIC,),
    mechanisms=_MECHANISMS,
    judge=judge,
    ours=("P.5-clearly",),
    reasons={
        "P.5": (
            "Four queues lower the mean of small messages by 25 %, of medium ones by 15 and of large ones by "
            "1 %. They move the median (small: 96 to 8 µs, medium: 302 to 54) and not the tail (p99 of small "
            "ones 648 to 796 µs): new messages sidestep a paused queue until all four are paused, and then "
            "take the first."
        ),
        "P.5-clearly": "See P.5.",
    },
    choices={
        "2 queues": {"nic_queues": 2},
        "8 queues": {"nic_queues": 8},
        "the shortest if all are paused": {"nic_fallback": "shortest"},
    },
)
PARAMETERS = [
    *_SHARED,
    given("background, incasts", "Google RPC at 30 %; 60-to-1 of 250 KB at 5 %; model 3; 4 queues", "Simulation (NIC)"),
    chosen("a message while all queues are paused", "takes the first", "the document does not say", "the shortest"),
]
READS = TABLES
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws FCT by size class and mechanism."""
    bars(results, path, _TRAFFIC, _MECHANISMS)
