"""Switches of the document's pages on queueing architectures, around one or two congested switches.

Source: "SFC simulation", contribution to IEEE P802.1Qdw, 2025, slides "The queuing architecture", "The queuing
architecture's effect on SFC" and "… on PFC (Back up)". The slides' figures are lost: networks and flows are ours, made
from the text of the slides. Links have 200 Gb/s and 150 ns unless stated, switches 300 ns; thresholds are from Part 5:
PFC at 380 KB (XON 8 KB below), SFC at 200 KB with a pause of 10 µs; heavy flows carry 5 MB. Buffers are unlimited to
avoid losses: the 20 KB above XOFF suffice for 200 Gb/s, and some links are faster. The document's OQ is a buffer at the
output: `oq-egress`. The shared-memory switch `oq` has the same scheduler, and compares an ingress count with XOFF like
an input buffer; `oq` is shown as well. Flows of 5 MB start within a microsecond, drawn for each of ten runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from xoff.results import Result
from xoff_experiments.sfc._networks import drawn_start_ns
from xoff_experiments.sfc._runs import DRAWS, QUICK_DRAWS

QUEUEINGS = {
    "iq": "one FIFO for each input",
    "oq": "shared memory, PFC by ingress port",
    "oq-egress": "output queues, PFC by egress queue",
    "voq": "virtual output queues",
}


def scenario(
    queueing: str, links: Iterable[tuple[str, str, str]], flows: list[dict[str, Any]], *, sfc: bool = False
) -> dict[str, Any]:
    """Returns a scenario of an explicit network.

    links: both ends and the rate of each; names of switches begin with ``S``, and all others are hosts.
    """
    listed = list(links)
    names = list(dict.fromkeys(end for one, other, _ in listed for end in (one, other)))
    egress = queueing == "oq-egress"
    control: dict[str, Any] = {
        "pfc": {"xoff": "380KB", "xon": "372KB", "accounting": "egress" if egress else "ingress"}
    }
    if sfc:
        control["sfc"] = {"threshold": "200KB", "pause": "10us", "interval": "10us"}
    return {
        "name": f"queueing architecture {queueing}",
        "network": {
            "explicit": {
                "nodes": [{"name": name, "kind": "switch" if name.startswith("S") else "host"} for name in names],
                "links": [{"a": one, "b": other, "rate": rate, "delay": "150ns"} for one, other, rate in listed],
            }
        },
        "framing": {"payload": "4000B", "header": "48B"},
        "switch": {
            "forwarding_latency": "300ns",
            "queueing": queueing.partition("-")[0],
            "buffer": "unlimited",
            "flow_control": control,
        },
        "workload": [{"name": "flows", "flows": flows}],
    }


def flow(name: str, source: str, destination: str, *, size: str = "5MB", start: str = "0us") -> dict[str, Any]:
    """Returns a listed flow."""
    return {"id": name, "src": source, "dst": destination, "size": size, "start": start}


def trickle(source: str, destination: str, count: int) -> list[dict[str, Any]]:
    """Returns flows of one packet every 10 µs, for a host that contributes little to an incast."""
    return [
        flow(f"{source} packet {index}", source, destination, size="4KB", start=f"{10 * index}us")
        for index in range(count)
    ]


def drawn(flows: list[dict[str, Any]], draw: int, quick: bool) -> list[dict[str, Any]]:
    """Returns flows with drawn start times, and half of the data for quick variants (except one-packet flows)."""
    return [
        one | {"start": f"{drawn_start_ns(draw, one['id'])}ns", "size": "2500KB" if quick else "5MB"}
        if one["size"] == "5MB"
        else one
        for one in flows
    ]


def draws(quick: bool) -> range:
    """Returns which draws of start times are run."""
    return QUICK_DRAWS if quick else DRAWS


def fct_us(result: Result) -> dict[str, float]:
    """Returns the flow completion times by flow."""
    times = zip(result.flows["label"].to_pylist(), result.flows["fct_ps"].to_pylist(), strict=True)
    return {name: fct / 1e6 for name, fct in times}


def paused_ports(result: Result) -> list[str]:
    """Returns the hosts and switches paused by PFC at least once."""
    pauses = zip(*(result.pauses[name].to_pylist() for name in ("node", "cause")), strict=True)
    return sorted({node for node, cause in pauses if cause == "pfc"})
