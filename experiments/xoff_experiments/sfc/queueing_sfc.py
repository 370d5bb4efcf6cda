"""Q.1: sources that an SFC switch hits under input, output and virtual output queues.

Source: "SFC simulation", contribution to IEEE P802.1Qdw, 2025, slide "The queuing architecture's effect on SFC": under
IQ the head-of-line blocked victim, "flow No. 4", is hit by mistake; under OQ the threshold is on the egress buffer and
counts all ingress ports; under VOQ the threshold is per input, which is recommended.

Flows 1 and 2 enter the congested switch S0 at separate ports. Flows 3 and 4 come from two hosts through S1 and a link
of 400 Gb/s, which is no bottleneck. Flows 1 to 3 go to one receiver; flow 4 goes to another receiver and meets no
congestion except through neighbours in the input port. `_queueing.py` lists our choices. An innocent source gets no
SFCM in any run, while the sources of flows 1 to 3 get SFCMs in each run.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from matplotlib import rc_context

from xoff.plots import STYLE, canvas, grouped_bars, write
from xoff.reproduce import Judged, Part, Readings, Spread, as_results, chosen, given, run_name
from xoff.results import Result
from xoff_experiments.sfc._queueing import QUEUEINGS, drawn, draws, fct_us, flow, scenario

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
    """Returns the scenarios by queueing architecture and variant."""
    return {
        run_name(queueing, variant, draw): scenario(
            queueing, _LINKS, drawn(_FLOWS, draw, quick), sfc=variant == "pfc-sfc"
        )
        for queueing in QUEUEINGS
        for variant in _LABELS
        for draw in draws(quick)
    }


def judge(runs: Readings[Result]) -> dict[str, Part]:
    """Judges by the SFCMs to the source of flow 4. Each SFCM holds the flow."""
    parts = {}
    for short, queueing in _SWITCHES.items():
        sfcms = [_sfcms(run) for run in runs.each(f"{queueing}/pfc-sfc")]
        is_hit = [found["flow 4"] > 0 for found in sfcms]
        is_working = all(found[name] > 0 for found in sfcms for name in ("flow 1", "flow 2", "flow 3"))
        parts[short] = Part(
            is_working and (all(is_hit) if queueing == "iq" else not any(is_hit)),
            {
                "SFCMs": {name: Spread.of(found[name] for found in sfcms) for name in sfcms[0]},
                "FCT of flow 4 (µs)": {
                    label: Spread.of(fct_us(run)["flow 4"] for run in runs.each(f"{queueing}/{key}"))
                    for key, label in _LABELS.items()
                },
            },
        )
    return parts


def _sfcms(result: Result) -> dict[str, int]:
    flows = result.flows
    return dict(zip(flows["label"].to_pylist(), flows["holds"].to_pylist(), strict=True))


_SWITCHES = {"Q.1-iq": "iq", "Q.1-oq": "oq-egress", "Q.1-shared": "oq", "Q.1-voq": "voq"}
JUDGED = Judged(
    document="sfc",
    statements={
        "Q.1-iq": "SFC on the IQ architecture hits the head-of-line blocked victim: flow 4's source gets SFCMs",
        "Q.1-oq": "SFC on the OQ architecture is fine: flow 4's source gets none",
        "Q.1-shared": "SFC on a shared-memory switch is fine, too: flow 4's source gets none",
        "Q.1-voq": "SFC on the VOQ architecture is recommended: flow 4's source gets none",
    },
    ours=("Q.1-shared",),
    runs=as_results,
    judge=judge,
    limits={
        "Q.1": "The switches are what is compared. With shared memory in place of output queues flow 4's source gets "
        "no SFCM either (Q.1-shared)."
    },
)
PARAMETERS = [
    given("switches compared", "input, output and virtual output queues", "The queuing architecture"),
    given("SFC threshold", "200 KB", "Part 5, basic settings"),
    given("PFC threshold", "380 KB", "Part 5, basic settings"),
    chosen(
        "network", "flows 1 and 2 at ports of their own, 3 and 4 through one link of 400 Gb/s", "the figure is lost"
    ),
    chosen(
        "output queues", "oq-egress: PFC by egress queue", "a buffer on the output side", "oq, shared memory, is shown"
    ),
    chosen("buffer", "without end", "nothing is to be lost on links faster than 200 Gb/s"),
    chosen("start of a flow", "within 1 µs, ten draws", "single runs move"),
]
READS = ("flows", "pauses")
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the FCT of flow 4 under each architecture."""
    with rc_context(STYLE):
        drawing, axes = canvas()
        series = [
            (
                label,
                [
                    fmean(fct_us(run)["flow 4"] for run in as_results(results).each(f"{queueing}/{variant}"))
                    for queueing in QUEUEINGS
                ],
            )
            for variant, label in _LABELS.items()
        ]
        grouped_bars(axes, list(QUEUEINGS), series, digits=0)
        axes.set_ylabel("FCT of the innocent flow 4 (µs)")
        drawing.legend(loc="outside lower center", ncols=2, fontsize=8)
        write(drawing, path)
