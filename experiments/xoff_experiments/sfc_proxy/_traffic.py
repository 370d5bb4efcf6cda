"""The network, the traffic and the mechanisms of the document on SFC's proxy mode, for all of its experiments.

Source: "Improvements on SFC Proxy Mode", contribution to IEEE P802.1Qdw (L. Lv, F. Chen, J. Blendin, Y. Le), slides
"System Configuration in NS3", "Simulation 1" to "3", "Simulation" (NIC) and the backup slide. What it states stands in
`Case` without a remark; "ours" marks what it leaves open.

- Network: 320 hosts at 100 Gb/s, 20 ToR, 20 aggregation and 16 core switches at 400 Gb/s, 1 µs a link, radix 20.
  Ours: 5 pods of 4 ToR and 4 aggregation switches; each ToR has a link to every aggregation switch of its pod, each
  aggregation switch to 4 cores. The longest path has 6 links, so that the round trip is the document's 12 µs.
- Incasts, ours: they arrive as a Poisson process, and sender and receivers of each are drawn anew, as the HPCC traffic
  generator that the document's simulator comes with does: 8 % of the network's capacity cannot enter one receiver.
- Hosts, ours: half of the hosts of each ToR take part in incasts, and the others in the background (model 0). In models
  1 and 2 a third and two thirds of each half do both, in model 3 all hosts do.
- The congestion point is the destination's ToR, as the document says ("Congestion happens on DTOR"; "Simulation 1 has
  no HOLB at STOR"): only queues to hosts send SFCMs. That every switch does is judged, too.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

HOSTS = 320
HOSTS_A_TOR = 16
HOST_BYTES_A_SECOND = 12.5e9

MECHANISMS = {
    "dcqcn": "DCQCN + PFC",
    "proxy": "+ SFC proxy",
    "isolation": "+ SFC proxy, isolation at the ToR",
    "nic": "+ SFC proxy, 4 queues at the NIC",
    "host": "+ SFC at the hosts",
}
"""Compared mechanisms. SFC is added to DCQCN and PFC."""

SFC_MODES = {"proxy": "proxy", "isolation": "proxy_isolation", "nic": "nic_isolation", "host": "host"}

MODELS = ("model 0", "model 1", "model 2", "model 3")

CLASSES = {"small": "below 10 KB", "medium": "10 KB to 1 MB", "large": "above 1 MB"}
"""The document's size classes of background messages."""


@dataclass(frozen=True, slots=True)
class Case:
    """Traffic, configuration and length of a run. Sizes are in KB (1000 bytes), times in ms or µs."""

    model: int = 0
    """Overlap of incast and background hosts: 0 (different hosts) to 3 (all hosts do both)."""
    background_load: float = 0.5
    incast_degree: int = 120
    incast_kb: int = 256
    incast_share: float = 0.08
    """Of the capacity of all hosts' links."""
    fixed_hosts: bool = False
    """Ours: each incast has the same 120 senders, and one of 40 receivers."""
    signals: str = "last_hop"
    """Ours: which queues of a switch send SFCMs."""
    ms: float = 1.0
    """Ours: flows arrive for this long, and all are completed."""
    seed: int = 1
    alpha: float = 0.5
    """Ours, of PFC's dynamic threshold: HPCC's value for ports of 400 Gb/s (1/8 at 100 Gb/s, doubled with the rate)."""
    pmax: float = 0.2
    """Ours."""
    pause_ms: float | None = 3.0
    """Ours: the longest pause. It outlasts the 2.6 ms in which the whole buffer drains through a host's link, so that
    the resume ends the pause. None: the pause is computed as the time to drain the queue to the target.
    """
    interval_us: float | None = 100.0
    """Ours: a flow of which packets still come is told again after this; None: after the pause."""
    resume_ends: str = "flow"
    """Ours: the scope of a resume at the source's ToR: the pause of the resumed flow, or all pauses of the queue."""
    hold: str = "flow"
    """Scope of a host's hold at a message: the named flow, or all flows to the destination, as messages of a class
    share a connection.
    """
    cache: bool = False
    """Ours: a source's switch remembers paused destinations."""
    spread_us: float = 0.0
    """Ours: the senders of an incast start at random within this time; 0: all at once."""
    nic_queues: int = 4
    nic_fallback: str = "first"
    """Ours: where a NIC puts a message while all its queues are paused: into the first, or the shortest."""
    increase_us: float = 900.0
    """DCQCN's timer; the document writes 900 without a unit."""


TRAFFIC = {
    "model 0": Case(model=0),
    "model 1": Case(model=1),
    "model 2": Case(model=2),
    "model 3": Case(model=3),
    "NIC": Case(model=3, background_load=0.3, incast_degree=60, incast_kb=250, incast_share=0.05),
}
"""Simulations 1 (model 0), 2 (model 3) and 3 (all models), and the traffic of NIC isolation."""


def scenario(case: Case, mechanism: str) -> dict[str, Any]:
    """Returns the scenario of a case under one of `MECHANISMS`."""
    incast, background = _hosts(case)
    flow_control: dict[str, Any] = {"pfc": {}}
    if mechanism != "dcqcn":
        flow_control["sfc"] = _sfc(case, mechanism)
    return {
        "seed": case.seed,
        "network": {
            "three_tier_clos": {
                "pods": 5,
                "access_per_pod": 4,
                "aggregation_per_pod": 4,
                "cores": 16,
                "hosts_per_access": HOSTS_A_TOR,
                "cores_per_aggregation": 4,
                "link": {"rate": "100Gbps", "delay": "1us"},
                "fabric_link": {"rate": "400Gbps", "delay": "1us"},
            }
        },
        "framing": {"payload": "1000B", "header": "48B"},
        "switch": {
            "forwarding_latency": "0ns",
            "buffer": {"shared": {"total": "32MB", "alpha": case.alpha}},
            "ecn": {"red": {"kmin": "200KB", "kmax": "800KB", "pmax": case.pmax}},
            "flow_control": flow_control,
        },
        "host": {
            "congestion_control": {
                "dcqcn": {"preset": "sfc_proxy", "window": "150KB", "increase_interval": f"{case.increase_us:g}us"}
            }
        },
        "workload": [
            {
                "name": "background",
                "poisson": {
                    "load": case.background_load,
                    "sizes": "google_rpc",
                    "duration": f"{case.ms:g}ms",
                    "sources": background,
                    "destinations": background,
                },
            },
            {"name": "incast", "flows": _incasts(case, incast)},
        ],
        # With millions of flows, completion times are recorded by class and not by flow.
        "probe": {"size_classes": ["10KB", "1MB"], "flows": False}
        # Samples of the congestion queues.
        | ({"queues": "10us"} if mechanism == "isolation" else {}),
    }


def _sfc(case: Case, mechanism: str) -> dict[str, Any]:
    sfc: dict[str, Any] = {"threshold": "1000KB", "mode": SFC_MODES[mechanism], "signals": case.signals}
    if case.pause_ms is None:
        sfc["target"] = "200KB"
    else:
        sfc |= {"pause": f"{case.pause_ms:g}ms", "resume": "200KB"}
        if case.interval_us is not None:
            sfc["interval"] = f"{case.interval_us:g}us"
        if mechanism != "host":
            sfc["resume_ends"] = case.resume_ends
    if mechanism == "host":
        sfc["hold"] = case.hold
    if mechanism == "nic":
        sfc |= {"queues": case.nic_queues, "fallback": case.nic_fallback}
    if case.cache and mechanism in {"proxy", "isolation"}:
        sfc["cache"] = True
    return sfc


def _hosts(case: Case) -> tuple[list[int], list[int]]:
    """Returns the hosts of incasts and the hosts of the background.

    At each ToR either list has half of the hosts, plus an overlap set by the model.
    """
    half = HOSTS_A_TOR // 2
    both = round(half * case.model / 3)
    places = [host % HOSTS_A_TOR for host in range(HOSTS)]
    incast = [host for host, place in enumerate(places) if place < half + both]
    background = [host for host, place in enumerate(places) if place >= half - both]
    return incast, background


def _incasts(case: Case, hosts: list[int]) -> list[dict[str, Any]]:
    """Flows of all incasts: the same for each mechanism of a seed."""
    draw = random.Random(case.seed)  # noqa: S311 (nobody guesses it)
    size = case.incast_kb * 1000
    gap_s = case.incast_degree * size / (case.incast_share * HOSTS * HOST_BYTES_A_SECOND)
    if case.fixed_hosts:
        per_tor = case.incast_degree * HOSTS_A_TOR // HOSTS
        always = [host for host in range(HOSTS) if host % HOSTS_A_TOR < per_tor]
        receivers = [host for host in range(HOSTS) if per_tor <= host % HOSTS_A_TOR < per_tor + 2]
    flows: list[dict[str, Any]] = []
    time_s = draw.expovariate(1 / gap_s)
    # A run has at least one incast, however short.
    while time_s < case.ms * 1e-3 or not flows:
        if case.fixed_hosts:
            receiver, senders = draw.choice(receivers), always
        else:
            receiver, *senders = draw.sample(hosts, 1 + case.incast_degree)
        start_ps = min(time_s, case.ms * 1e-3) * 1e12
        for host in senders:
            later_ps = draw.random() * case.spread_us * 1e6 if case.spread_us else 0
            start = f"{int(start_ps + later_ps)}ps"
            flows.append({"src": host, "dst": receiver, "size": f"{case.incast_kb}KB", "start": start})
        time_s += draw.expovariate(1 / gap_s)
    return flows
