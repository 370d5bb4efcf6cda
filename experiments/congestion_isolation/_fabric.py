"""The networks, traffic and queues of the document on Congestion Isolation, for all of its experiments.

Source: "Simulation Analysis of Congestion Isolation (CI)", K. Shen and S. Sun, contribution to IEEE 802.1, 2018. What
it states stands in `Case`; where it is silent, the choice is a parameter of `Case`, marked as ours.

One number N makes the network: N ToRs with N/2 servers each, N/2 spines, one link from every ToR to every spine. So N
= 16 has 128 servers and 24 switches, and N = 48 has 1152 and 72, as in the document.

Class 0 is its queue 0, into which CI moves congested flows, and class 1 its queue 1, in which flows are otherwise.
Without CI flows are hashed onto the two. Class 2 is that of mice in the three-queue model, served before both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

VARIANTS = {
    "none": "without CI",
    "isolated": "CI, isolated packets marked",
    "selecting": "CI, selecting packets marked",
}
"""What the document compares: PFC + ECN with hashed queues, and PFC + ECN with CI, in both readings of `READINGS`."""

READINGS = {
    "isolated": "every packet in the congested queue is marked",
    "selecting": "only the packet that selects its flow is marked",
}
"""The document says "ECN is marked once a packet is isolated"; each claim is judged for both readings."""

CLASSES: dict[str, tuple[float, float]] = {
    "all": (0, float("inf")),
    "> 10 MB": (10e6, float("inf")),
    "1–10 MB": (1e6, 10e6),
    "100 KB–1 MB": (100e3, 1e6),
    "< 100 KB": (0, 100e3),
}
"""The size classes of the document's figures: payload in bytes, from and below."""
SIZES = tuple(list(CLASSES)[1:])
"""Without the class of all flows."""
MICE, ELEPHANTS = "< 100 KB", "> 10 MB"

CONGESTED, NON_CONGESTED = 0, 1
"""Classes, and the document's numbers of the two queues."""


@dataclass(frozen=True, slots=True)
class Case:
    """What is simulated. Sizes are in KB (1000 bytes) or MB, times in ms or ns, as in the document."""

    tors: int = 16
    """N."""
    queues: int = 2
    """Three: one more, for mice."""
    queue_mb: float = 1
    xoff_kb: float = 750
    xon_kb: float = 4
    low_kb: float = 10
    high_kb: float = 300
    """Of CI's curve. That of ECN without CI stays at 300 KB."""
    switch_ns: int = 0
    lossy: bool = False
    """No PFC."""
    seed: int = 1
    ms: float = 10
    """Ours: how long flows arrive. Every flow is completed."""
    load: float = 0.6
    """Ours: share of each server's rate."""
    tell_kb: float = 375
    """Ours: the congested queue at which a switch tells its upstream."""
    hosts: bool = True
    """Ours: servers have both queues and do what they are told."""
    table: int = 1024
    """Ours: isolated flows that an output's table has room for."""
    age_us: float | None = None
    """Ours: a flow without packets in the congested queue for so long returns, however full that queue is."""
    congested_last: bool = False
    """Ours: CI's congested queue is served when the other is empty; otherwise both take turns."""
    accounting: str = "ingress"
    """Ours: what PFC compares with XOFF: the bytes of each input and queue, or (``egress``) each egress queue."""
    dcqcn: str = "conweave"
    """Ours: whose parameters DCQCN has."""
    payload_bytes: int = 1452
    """Ours: packets of 1500 B."""


def scenario(case: Case, variant: str) -> dict[str, Any]:
    """Return the scenario of a case under one of `VARIANTS`."""
    half = case.tors // 2
    flow_control: dict[str, Any] = {}
    if not case.lossy:
        flow_control["pfc"] = {"xoff": f"{case.xoff_kb:g}KB", "xon": f"{case.xon_kb:g}KB"}
        if case.accounting != "ingress":
            flow_control["pfc"]["accounting"] = case.accounting
    switch: dict[str, Any] = {
        "delay": f"{case.switch_ns}ns",
        "classes": case.queues,
        "scheduler": {"drr": f"{case.payload_bytes + 48}B"},
        "priority_classes": case.queues - 2,
        "buffer": {"per_queue": f"{case.queue_mb:g}MB"},
        "flow_control": flow_control,
    }
    classify: dict[str, Any] = {"mice": {"below": "100KB", "class": 2}} if case.queues == 3 else {}
    if variant in READINGS:
        flow_control["congestion_isolation"] = {
            "low": f"{case.low_kb:g}KB",
            "high": f"{case.high_kb:g}KB",
            "pmax": 0.01,
            "tell": f"{case.tell_kb:g}KB",
            "mark": variant,
            "class": NON_CONGESTED,
            "congested_class": CONGESTED,
            "hosts": case.hosts,
            "table": case.table,
        }
        if case.age_us is not None:
            flow_control["congestion_isolation"]["age"] = f"{case.age_us:g}us"
        if case.congested_last:
            switch["priority_classes"] = case.queues - 1
    else:
        switch["ecn"] = {"red": {"kmin": f"{case.low_kb:g}KB", "kmax": "300KB", "pmax": 0.01}}
        classify["by_destination"] = 2
    return {
        "name": f"{case.tors * half} servers, {case.queues} queues, {VARIANTS[variant]}",
        "seed": case.seed,
        "network": {
            "leaf_spine": {
                "leaves": case.tors,
                "spines": half,
                "hosts_per_leaf": half,
                "link": {"rate": "100Gbps", "delay": "200ns"},
            }
        },
        "framing": {"payload": f"{case.payload_bytes}B", "header": "48B"},
        "switch": switch,
        "host": {"congestion_control": {"dcqcn": {"preset": case.dcqcn}}, "classify": classify},
        "workload": [
            {
                "name": "all",
                "class": NON_CONGESTED,
                "poisson": {"load": case.load, "sizes": "datamining", "duration": f"{case.ms:g}ms"},
            }
        ],
        "probe": {"queues": "10us", "size_classes": ["100KB", "1MB", "10MB"]},
    }


def rack(host: str, tors: int) -> int:
    """Return the number of a server's ToR, from the server's name."""
    return int(host.removeprefix("host")) // (tors // 2)
