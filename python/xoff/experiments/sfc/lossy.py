"""SFC without PFC, under every transport: the 3-to-1 incast in the two-layer CLOS with 400 KB of buffer that overflow.

Source: "SFC simulation", contribution to IEEE P802.1Qdw, 2025, "Thoughts": "SFC can work with both lossless and lossy
(best effort) networks. Every transport can use SFC." The document shows no run of it: cases 1 and 3 of Part 5 are
taken, with PFC off. "Can use" is judged by what SFC is for: wherever packets are lost without it, fewer are lost with
it, and the mean FCT over all flows is lower, with each transport, and with DCQCN.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from xoff.experiments.sfc._figures import groups
from xoff.experiments.sfc._networks import TWO_LAYER, VICTIMS_BESIDE_SENDERS
from xoff.experiments.sfc._parameters import parameters
from xoff.experiments.sfc._runs import Runs, judged
from xoff.reproduce import Part, chosen
from xoff.results import Result

CITATION = "SFC simulation, IEEE P802.1Qdw, 2025, Thoughts (lossy networks, every transport)"

_TRANSPORTS = {"go_back_n": "Go-Back-N", "irn": "IRN"}
_CASES = {
    f"{incast}-to-1, {label}": replace(TWO_LAYER, incast=incast, pfc=False, transport=transport)
    for incast in (3, 5)
    for transport, label in _TRANSPORTS.items()
}
_PAIRS = {"alone": ("lossy", "lossy-sfc"), "with DCQCN": ("lossy-dcqcn", "lossy-dcqcn-sfc")}
_VARIANTS = tuple(variant for pair in _PAIRS.values() for variant in pair)


def judge(runs: Runs) -> dict[str, Part]:
    """Judge losses and the mean FCT, with SFC against without, for each transport and incast."""
    parts = {}
    for short, label in zip(("T-alone", "T-dcqcn"), _PAIRS, strict=True):
        without, with_sfc = _PAIRS[label]
        found = {case: (runs(case, without), runs(case, with_sfc)) for case in _CASES}
        parts[short] = Part(
            all(
                sfc.drops < plain.drops and sfc.mean_us < plain.mean_us for plain, sfc in found.values() if plain.drops
            ),
            {
                "lost packets, without and with SFC": {
                    case: {"without": plain.drops, "with": sfc.drops} for case, (plain, sfc) in found.items()
                },
                "mean FCT over all flows (µs)": {
                    case: {
                        "without": runs.over(case, without, lambda run: run.mean_us),
                        "with": runs.over(case, with_sfc, lambda run: run.mean_us),
                    }
                    for case in _CASES
                },
            },
            void="" if any(plain.drops for plain, _ in found.values()) else "nothing is lost without SFC either",
        )
    return parts


_JUDGED = judged(
    statements={
        "T": "SFC can work with lossy networks, and every transport can use it",
        "T-alone": "Without PFC, and without congestion control, SFC lowers losses and the mean FCT with Go-Back-N "
        "and IRN",
        "T-dcqcn": "Beside DCQCN it does, too",
    },
    cases=_CASES,
    variants=_VARIANTS,
    judge=judge,
    choices=VICTIMS_BESIDE_SENDERS,
    reasons={
        "T-alone": (
            "Go-Back-N gains by a factor of 3 to 5. IRN does not: its window of a bandwidth-delay product keeps the "
            "queue "
            "of 3-to-1 in the buffer and loses 66 packets at 5-to-1; SFC's pauses end together, more of them (153) are "
            "lost, and the mean is 8 % longer. Beside DCQCN all of them gain."
        ),
    },
)
PARAMETERS = parameters(
    _CASES,
    "Part 5, basic settings; Thoughts",
    [chosen("PFC", "off", "a lossy network"), chosen("transports", "Go-Back-N, IRN", "those of the public simulators")],
)
CLAIMS = _JUDGED.listed
scenarios = _JUDGED.scenarios
claims = _JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw the mean FCT over all flows of each case, without and with SFC."""
    labels = {
        "lossy": "no PFC",
        "lossy-sfc": "SFC",
        "lossy-dcqcn": "DCQCN",
        "lossy-dcqcn-sfc": "DCQCN + SFC",
    }
    groups(
        results, path, {label: [(case, variant) for case in _CASES] for variant, label in labels.items()}, list(_CASES)
    )
