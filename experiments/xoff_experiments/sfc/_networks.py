"""Networks, flows and variants of all experiments on the document on SFC.

Source: "SFC simulation", contribution to IEEE P802.1Qdw, 2025, Parts 4 and 5. Values of the document are in `Case`. A
choice that the document leaves open is listed here, and is a parameter of `Case` if readers may want to change the
choice.

- 3-layer CLOS: 8 pods of 16 access and 4 aggregation switches, 8 cores, nothing oversubscribed: an access switch has 8
  hosts, and 2 parallel links to each aggregation switch of its pod; an aggregation switch has 4 to each core.
- 2-layer CLOS: 8 leaves × 8 hosts, 8 spines.
- The receiver is host 0. Sender i sits in pod i (3-layer) or at leaf i (2-layer), the receiver in pod 0, at leaf 0.
  Each sender has a separate link into the receiver's switch, so that the full rate of all senders arrives. All paths
  are pinned.
- Victims go to other hosts of the receiver's rack (blue: of its pod), and sit in racks without a sender, in the pods of
  senders 1 (green), 2 (blue) and 4 (orange). Each victim shares one link with one sender: green the last link of sender
  1 into the receiver's access switch, orange the last link of sender 3, blue the link of sender 2 from its core to the
  receiver's pod. A victim therefore suffers from the incast alone. Two other readings of the figures are judged as well
  (`PLACES`).
- The 2-layer network has one victim, green, called the victim on pages: the victim shares the link from spine 0 to the
  receiver's leaf with sender 1.
- Flows start within a microsecond, drawn for each of ten runs. No other input is random. Without the draws, the result
  of one flow in a single run moves by up to a third.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random
from typing import Any

from xoff import _core

ARCHITECTURES = {
    "oq": "shared memory, PFC by ingress port",
    "oq-egress": "output queues, PFC by egress queue",
    "voq": "virtual output queues",
}
"""Switch architectures. The document does not name the simulated switch. It recommends the last one, our main reading.
"""

VARIANTS = {
    "pfc": "PFC",
    "pfc-dcqcn": "PFC + DCQCN",
    "pfc-sfc": "PFC + SFC",
    "pfc-dcqcn-sfc": "PFC + DCQCN + SFC",
}
"""The document's variants. Variants without PFC (`Case.pfc`) are named ``lossy``, and so on."""


@dataclass(frozen=True)
class Case:
    """A case of the tables of the document. Sizes are in KB (1000 bytes) or MB, times in µs or ns, as there."""

    architecture: str = "voq"
    """Ours: one of `ARCHITECTURES`."""
    signals: str = "last_hop"
    """Ours: the senders of SFCMs: the receiver's switch, as in the formulas, or (``all``) every switch."""
    stores: bool = True
    """Ours: packets are stored and forwarded, which the round trip of the formulas leaves out; without, switches are as
    much faster as that takes."""
    layers: int = 2
    incast: int = 3
    data_mb: float = 5.0
    buffer_kb: float | None = 400
    """None is without end; thresholds stay."""
    pfc_kb: float = 380
    sfc_kb: float = 200
    pause_us: float = 10
    interval_us: float | None = None
    """Equal to the pause in every case of the document."""
    link_ns: int = 150
    switch_ns: int = 300
    xon_gap_kb: float = 8
    """Ours: distance of PFC's XON below XOFF."""
    ecn_kb: float = 200
    """DCQCN's K: the threshold of marks. The document states K for the 3-layer network; ours for the 2-layer network.
    """
    dcqcn: str = "conweave"
    """Ours: DCQCN's preset."""
    payload_bytes: int = 4000
    lossy: bool = False
    """Record losses instead of failing the run: the case's PFC headroom may be short."""
    sfc: tuple[tuple[str, Any], ...] = ()
    """Additional keys of `switch.flow_control.sfc`; keys with None are left out."""
    victims: str = "C"
    """Ours: one of `PLACES`."""
    draw: int = 1
    """Number of the draw of start times."""
    start_us: float = 1
    """Ours: within how long flows start."""
    pfc: bool = True
    """False for a lossy network."""
    transport: str = "go_back_n"
    """Ours: the document's transports are not named."""


PLACES = {
    "C": "in a rack without a sender, one link shared with a sender",
    "A": "beside a sender, in its rack, the whole path to the receiver's switch shared",
    "B": "on a sender's own interface, and its path",
}
"""Places of victims. The document draws the places in figures, which are lost. The first place is the main reading."""

CHOICES: dict[str, dict[str, Any]] = {
    "every switch signals": {"signals": "all"},
    "oq": {"architecture": "oq"},
    "oq-egress": {"architecture": "oq-egress"},
    "oq, every switch signals": {"architecture": "oq", "signals": "all"},
    "round trip of the formulas": {"stores": False},
    "every switch signals, round trip of the formulas": {"signals": "all", "stores": False},
    "victims as in A": {"victims": "A"},
    "victims as in B": {"victims": "B"},
    "DCQCN preset paper": {"dcqcn": "paper"},
}
"""Choices left open by the document in all experiments, alone and in sets of two."""

PROBES: dict[str, dict[str, dict[str, Any]]] = {
    "starts": {f"starts within {time} µs": {"start_us": time} for time in (10, 20, 100)},
}
"""Settings beside the main reading, to find how far a verdict extends. Flows of the document start together."""

THREE_LAYER = Case(layers=3, buffer_kb=800, pfc_kb=780, sfc_kb=200, pause_us=20)
"""Case 1 of Part 4."""
TWO_LAYER = Case()
"""Case 1 of Part 5."""


def scenario(case: Case, variant: str) -> dict[str, Any]:
    """Returns the scenario of a case under one of `VARIANTS`.

    An egress queue at XOFF pauses all its feeders at once and takes the data in transit from each feeder: N times the
    document's PFC headroom for one feeder, more than the buffer above XOFF. The buffer of `oq-egress` is therefore
    unlimited, to avoid losses; its thresholds are the document's.
    """
    pfc = {"xoff": f"{case.pfc_kb:g}KB", "xon": f"{case.pfc_kb - case.xon_gap_kb:g}KB"}
    switch: dict[str, Any] = {
        "forwarding_latency": f"{case.switch_ns if case.stores else _without_storing_ns(case)}ns",
        "buffer": "unlimited" if case.buffer_kb is None else {"per_port": f"{case.buffer_kb:g}KB"},
        "flow_control": {"pfc": pfc} if case.pfc else {},
        "queueing": "voq" if case.architecture == "voq" else "oq",
    }
    made: dict[str, Any] = {
        "network": _network(case),
        "framing": {"payload": f"{case.payload_bytes}B", "header": "48B"},
        "switch": switch,
        "workload": [
            {"name": "incast", "flows": _incast(case)},
            {"name": "victims" if case.layers == 3 else "victim", "flows": _victims(case)},
        ],
        "name": f"{case.incast}-to-1 incast, {case.architecture}, {VARIANTS.get(variant, variant)}",
    }
    if case.architecture == "oq-egress" and case.pfc:
        pfc["accounting"] = "egress"
        switch["buffer"] = "unlimited"
    if variant.endswith("sfc"):
        settings = {
            "threshold": f"{case.sfc_kb:g}KB",
            "pause": f"{case.pause_us:g}us",
            "interval": f"{case.pause_us if case.interval_us is None else case.interval_us:g}us",
            **dict(case.sfc),
        }
        settings["signals"] = case.signals
        switch["flow_control"]["sfc"] = {key: value for key, value in settings.items() if value is not None}
    if case.lossy or not case.pfc:
        made["audits"] = {"loss": "record"}
    if "dcqcn" in variant:
        switch["ecn"] = {"step": {"threshold": f"{case.ecn_kb:g}KB"}}
        made["host"] = {"congestion_control": {"dcqcn": {"preset": case.dcqcn}}}
    if case.transport != "go_back_n":
        made.setdefault("host", {})["transport"] = {case.transport: {}}
    return made


def calculated(case: Case) -> dict[str, float]:
    """Returns what the document's formulas give for a case: headroom in KB, and the range of the pause in µs.

    With virtual output queues they count by input, as the document says ("on a per-input basis").
    """
    request = {
        "incast": case.incast,
        "links": 3 if case.layers == 2 else 5,
        "link_delay": f"{case.link_ns}ns",
        "switch_delay": f"{case.switch_ns}ns",
        "rate": "200Gbps",
        "pfc_threshold": f"{case.pfc_kb:g}KB",
        "sfc_threshold": f"{case.sfc_kb:g}KB",
        "architecture": "voq" if case.architecture == "voq" else "oq",
    }
    found = json.loads(_core.size_sfc(json.dumps(request)))
    return {
        "headroom": found["needed_headroom_bytes"] / 1000,
        "shortest": found["pause_min_ps"] / 1e6,
        "longest": found["pause_max_ps"] / 1e6,
    }


def flow_names(case: Case) -> tuple[str, ...]:
    """Returns the names of the flows of a case, in the order of its figures."""
    return tuple(flow["id"] for flow in [*_incast(case), *_victims(case)])


def sender_path(case: Case, sender: int) -> list[str]:
    """Returns the switches on the path of an incast sender, numbered from 1."""
    if case.layers == 2:
        return [f"leaf{sender}", f"spine{sender - 1}", "leaf0"]
    aggregation, parallel = (sender - 1) % 4, (sender - 1) // 4
    return [
        f"access{16 * sender}",
        f"aggregation{4 * sender + aggregation}",
        f"core{sender - 1}",
        f"aggregation{aggregation}",
        f"access0/{parallel}",
    ]


def _network(case: Case) -> dict[str, Any]:
    link = {"rate": "200Gbps", "delay": f"{case.link_ns}ns"}
    if case.layers == 2:
        return {"leaf_spine": {"leaves": 8, "spines": 8, "hosts_per_leaf": 8, "link": link}}
    return {
        "three_tier_clos": {
            "pods": 8,
            "access_per_pod": 16,
            "aggregation_per_pod": 4,
            "cores": 8,
            "hosts_per_access": 8,
            "access_uplinks": 2,
            "core_uplinks": 4,
            "link": link,
        }
    }


def _incast(case: Case) -> list[dict[str, Any]]:
    hosts_apart = 8 if case.layers == 2 else 128
    return [
        _flow(case, f"incast {sender}", hosts_apart * sender, 0, sender_path(case, sender))
        for sender in range(1, case.incast + 1)
    ]


def _victims(case: Case) -> list[dict[str, Any]]:
    # A victim at place A is on the host after the sender; at place B on the host of the sender.
    beside = {"A": 1, "B": 0}.get(case.victims)
    if case.layers == 2:
        if beside is None:
            return [_flow(case, "victim", 6 * 8, 1, ["leaf6", "spine0", "leaf0"])]
        return [_flow(case, "victim", 8 + beside, 1, sender_path(case, 1))]
    orange = ["access65", "aggregation18", "core7", "aggregation2", "access0/0"]
    green = ["access17", "aggregation7", "core4", "aggregation0", "access0/0"]
    blue = ["access33", "aggregation8", "core1", "aggregation1", "access1"]
    places = (17 * 8, 33 * 8)
    if beside is not None:
        green = sender_path(case, 1)
        blue = ["access32", "aggregation9", "core1", "aggregation1", "access1"]
        places = (16 * 8 + beside, 32 * 8 + beside)
    return [
        _flow(case, "green", places[0], 1, green),
        _flow(case, "blue", places[1], 8, blue),
        _flow(case, "orange", 520, 2, orange),
    ]


def _flow(case: Case, name: str, source: int, destination: int, path: list[str]) -> dict[str, Any]:
    size = f"{case.data_mb * 1000:g}KB" if case.data_mb % 1 else f"{case.data_mb:g}MB"
    start = f"{drawn_start_ns(case.draw, name, case.start_us)}ns"
    return {"id": name, "src": f"host{source}", "dst": f"host{destination}", "size": size, "start": start, "via": path}


def drawn_start_ns(draw: int, flow: str, within_us: float = 1) -> int:
    """Returns the start of a flow in a draw, equal for all compared variants."""
    return Random(f"{draw}/{flow}").randrange(round(1000 * within_us))  # noqa: S311 (start times, no secrets)


def _without_storing_ns(case: Case) -> int:
    """Returns the delay of a switch that makes up for storing and forwarding packets between source and congestion."""
    links = 3 if case.layers == 2 else 5
    stored_ns = links * (case.payload_bytes + 48) * 8 / 200
    return case.switch_ns - round(stored_ns / (2 * links - 1))
