"""Case 1 of Part 5: 3-to-1 incast and one victim in a two-layer Clos, with 400 KB of buffer a port.

Source: "Source Flow Control (SFC) simulation", contribution to IEEE P802.1Qdw, 2025, Part 5 (sensitivity analysis in
the 2-layer CLOS, case 1) and Part 4 (what is compared, and that SFC improves the victim in both topologies).

Choices where the document is silent: 8 leaves × 8 hosts and 8 spines; XON 8 KB below XOFF; DCQCN marks at 200 KB and
has the ConWeave parameters, with the increase steps scaled by the link's rate; 4000 B of data and 48 B of headers a
packet; the victim (the document's green flow) sits in the first sender's rack, goes to another host of the receiver's
rack, and shares the first sender's path up to the receiver's leaf. Paths are pinned, so that the sharing is the
experiment. The document's pause time is 6 µs in the list of settings and 10 µs in every table: here it is 10 µs.
Nothing is random here, so that one seed says it all.

The document does not say which switch it simulated: each claim is judged for the shared-memory switch (`oq`, whose PFC
counts bytes by ingress port), for the output-queued switch whose egress queue pauses all that feed it (`oq-egress`),
and for virtual output queues (`voq`). An egress queue at XOFF pauses all its feeders at once and takes what each of
them has on the way: three times the document's 15 KB, which the 20 KB above XOFF cannot hold. So that nothing is lost,
the buffer of `oq-egress` has no end; its thresholds are the document's, and its deepest queue is reported.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib import rc_context

from xoff.plots import STYLE, canvas, grouped_bars
from xoff.reproduce import Claim
from xoff.results import Result

CITATION = "Source Flow Control simulation, IEEE P802.1Qdw, 2025, Part 5, case 1"

ARCHITECTURES = {
    "oq": "shared memory, PFC by ingress port",
    "oq-egress": "output queues, PFC by egress queue",
    "voq": "virtual output queues",
}
LABELS = {
    "pfc": "PFC",
    "pfc-dcqcn": "PFC + DCQCN",
    "pfc-sfc": "PFC + SFC",
    "pfc-dcqcn-sfc": "PFC + DCQCN + SFC",
}

FLOWS = ("incast 1", "incast 2", "incast 3", "victim")

_VICTIM = "3-to-1 in the 2-layer CLOS: the victim's FCT with SFC is lower than with PFC only and with PFC + DCQCN"
_HEADROOM = (
    "The 180 KB between the thresholds exceed the 120 KB that 3-to-1 needs, so that PFC pauses no sender under SFC"
)
CLAIMS = {f"sfc/5.1{_suffix}": _VICTIM for _suffix in ("", "/oq-egress", "/voq")} | {
    f"sfc/5.1-headroom{_suffix}": _HEADROOM for _suffix in ("", "/oq-egress", "/voq")
}

_BASE: dict[str, Any] = {
    "network": {
        "leaf_spine": {"leaves": 8, "spines": 8, "hosts_per_leaf": 8, "link": {"rate": "200Gbps", "delay": "150ns"}}
    },
    "framing": {"payload": "4000B", "header": "48B"},
    "switch": {
        "delay": "300ns",
        "buffer": {"per_port": "400KB"},
        "flow_control": {"pfc": {"xoff": "380KB", "xon": "372KB"}},
    },
    "workload": [
        {
            "name": "incast",
            "flows": [
                {"id": "incast 1", "src": "host8", "dst": "host0", "size": "5MB", "via": ["leaf1", "spine0", "leaf0"]},
                {"id": "incast 2", "src": "host16", "dst": "host0", "size": "5MB", "via": ["leaf2", "spine1", "leaf0"]},
                {"id": "incast 3", "src": "host24", "dst": "host0", "size": "5MB", "via": ["leaf3", "spine2", "leaf0"]},
            ],
        },
        {
            "name": "victim",
            "flows": [
                {"id": "victim", "src": "host9", "dst": "host1", "size": "5MB", "via": ["leaf1", "spine0", "leaf0"]}
            ],
        },
    ],
}


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Return one scenario for each architecture and variant; the quick ones are the full ones, which last moments."""
    del quick
    made = {}
    for architecture in ARCHITECTURES:
        for variant in LABELS:
            scenario = copy.deepcopy(_BASE)
            scenario["name"] = f"3-to-1 incast, {architecture}, {LABELS[variant]}"
            switch = scenario["switch"]
            switch["queueing"] = "voq" if architecture == "voq" else "oq"
            if architecture == "oq-egress":
                switch["flow_control"]["pfc"]["accounting"] = "egress"
                switch["buffer"] = "unlimited"
            if "sfc" in variant:
                switch["flow_control"]["sfc"] = {"threshold": "200KB", "pause": "10us", "interval": "10us"}
            if "dcqcn" in variant:
                switch["ecn"] = {"step": {"threshold": "200KB"}}
                scenario["host"] = {"congestion_control": {"dcqcn": {"preset": "conweave"}}}
            made[f"{architecture}/{variant}"] = scenario
    return made


def claims(results: Mapping[str, Result]) -> list[Claim]:
    """Judge: lower in the victim's FCT than both rivals; and not a single PFC pause under PFC + SFC."""
    verdicts = []
    for architecture in ARCHITECTURES:
        suffix = "" if architecture == "oq" else f"/{architecture}"
        victim = {variant: _victim_us(results[f"{architecture}/{variant}"]) for variant in LABELS}
        pauses = {variant: results[f"{architecture}/{variant}"].summary["pfc"]["pauses"] for variant in LABELS}
        lower = victim["pfc-sfc"] < min(victim["pfc"], victim["pfc-dcqcn"])
        measured = {
            "victim_fct_us": {LABELS[variant]: value for variant, value in victim.items()},
            "deepest_queue_kb": {
                LABELS[variant]: _deepest_kb(results[f"{architecture}/{variant}"]) for variant in LABELS
            },
        }
        verdicts.append(Claim(f"sfc/5.1{suffix}", _VICTIM, measured, lower, ARCHITECTURES[architecture]))
        verdicts.append(
            Claim(
                f"sfc/5.1-headroom{suffix}",
                _HEADROOM,
                {"pfc_pauses": {LABELS[variant]: value for variant, value in pauses.items()}},
                pauses["pfc-sfc"] == 0,
                ARCHITECTURES[architecture],
            )
        )
    return verdicts


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw the flow completion times under the shared-memory switch."""
    draw({variant: results[f"oq/{variant}"] for variant in LABELS}, path)


def draw(results: Mapping[str, Result], path: Path) -> None:
    """Draw one bar for each flow and variant; `results` has the keys of `LABELS`."""
    with rc_context(STYLE):
        drawing, axes = canvas(7.0, 3.4)
        series = []
        for variant, result in results.items():
            times = dict(zip(result.flows["label"].to_pylist(), result.flows["fct_ps"].to_pylist(), strict=True))
            series.append((LABELS[variant], [times[name] / 1e6 if times[name] is not None else None for name in FLOWS]))
        grouped_bars(axes, FLOWS, series, digits=0)
        axes.set_ylabel("flow completion time (µs)")
        axes.set_title("3-to-1 incast and a victim, 2-layer Clos, 200 Gb/s, 5 MB a flow", fontsize=9)
        drawing.legend(loc="outside lower center", ncols=len(series), fontsize=8)
        drawing.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def _deepest_kb(result: Result) -> float:
    depths: list[int] = result.queues["max_bytes"].to_pylist()
    return max(depths) / 1000


def _victim_us(result: Result) -> float:
    flows = result.flows
    times = [
        fct
        for label, fct in zip(flows["label"].to_pylist(), flows["fct_ps"].to_pylist(), strict=True)
        if label == "victim"
    ]
    return float(times[0]) / 1e6
