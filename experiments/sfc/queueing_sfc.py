"""Q.1: which sources an SFC switch hits under input, output and virtual output queues.

Source: "SFC simulation", contribution to IEEE P802.1Qdw, 2025, slide "The queuing architecture's effect on SFC":
under IQ the head-of-line blocked victim, "flow No. 4", is hit by mistake; under OQ the threshold is on the egress
buffer and counts all ingress ports; under VOQ it is per input, which is recommended.

Flows 1 and 2 enter the congested switch S0 at ports of their own. Flows 3 and 4 come from two hosts through S1 and a
link of 400 Gb/s, which is no bottleneck. Flows 1 to 3 go to one receiver; flow 4 goes to another one and meets no
congestion but what its neighbours in the input port cause. What is left open and chosen here: see `_queueing.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.sfc._queueing import QUEUEINGS, fct_us, flow, scaled, scenario
from matplotlib import rc_context

from xoff.plots import STYLE, canvas, grouped_bars, write
from xoff.reproduce import Judged, Part, Readings, as_results
from xoff.results import Result

CITATION = "SFC simulation, IEEE P802.1Qdw, 2025, the queuing architecture's effect on SFC"
_LINKS = [
    ("h1", "S0", "200Gbps"),
    ("h2", "S0", "200Gbps"),
    ("h3", "S1", "200Gbps"),
    ("h4", "S1", "200Gbps"),
    ("S1", "S0", "400Gbps"),
    ("S0", "receiver", "200Gbps"),
    ("S0", "other", "200Gbps"),
]
_FLOWS = [
    flow("flow 1", "h1", "receiver"),
    flow("flow 2", "h2", "receiver"),
    flow("flow 3", "h3", "receiver"),
    flow("flow 4", "h4", "other"),
]
_LABELS = {"pfc": "PFC", "pfc-sfc": "PFC + SFC"}


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Return the scenarios by queueing architecture and variant."""
    return {
        f"{queueing}/{variant}": scenario(queueing, _LINKS, scaled(_FLOWS, quick), sfc=variant == "pfc-sfc")
        for queueing in QUEUEINGS
        for variant in _LABELS
    }


def judge(runs: Readings[Result]) -> dict[str, Part]:
    """Judge by the SFCMs that the source of flow 4 got: each holds the flow."""
    parts = {}
    for short, queueing in zip(_STATEMENTS, QUEUEINGS, strict=True):
        flows = runs.one(f"{queueing}/pfc-sfc").flows
        sfcms = dict(zip(flows["label"].to_pylist(), flows["holds"].to_pylist(), strict=True))
        hit = sfcms["flow 4"] > 0
        times = {label: fct_us(runs.one(f"{queueing}/{key}"))["flow 4"] for key, label in _LABELS.items()}
        parts[short] = Part(
            hit if queueing == "iq" else not hit,
            {"SFCMs": sfcms, "FCT of flow 4 (µs)": times},
            subject=f"{queueing} ({QUEUEINGS[queueing]})",
        )
    return parts


_STATEMENTS = {
    "Q.1-iq": "SFC on the IQ architecture hits the head-of-line blocked victim: flow 4's source gets SFCMs",
    "Q.1-oq": "SFC on the OQ architecture is fine: flow 4's source gets none",
    "Q.1-oq/oq-egress": "SFC on the OQ architecture is fine: flow 4's source gets none",
    "Q.1-voq": "SFC on the VOQ architecture is recommended: flow 4's source gets none",
}
_JUDGED = Judged(document="sfc", statements=_STATEMENTS, runs=as_results, judge=judge)
CLAIMS = _JUDGED.listed
claims = _JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw the FCT of flow 4 under each architecture."""
    with rc_context(STYLE):
        drawing, axes = canvas()
        series = [
            (label, [fct_us(results[f"{queueing}/{variant}"])["flow 4"] for queueing in QUEUEINGS])
            for variant, label in _LABELS.items()
        ]
        grouped_bars(axes, list(QUEUEINGS), series, digits=0)
        axes.set_ylabel("FCT of the innocent flow 4 (µs)")
        drawing.legend(loc="outside lower center", ncols=2, fontsize=8)
        write(drawing, path)
