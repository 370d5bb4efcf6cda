"""Network, mechanisms and traffic of all experiments on the BCN document.

Source: the 802.1au deck on BCN hot spots (core and edge switches, 10 Gb/s, 1 us a switch, links without delay). Values
of the deck are used unchanged. A choice that the deck leaves open is a field of `Setting`, or marked "Ours".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xoff.reproduce import SetUp

TOPOLOGIES = {"A": 1, "B": 5, "C": 10}
"""Contending flows per edge switch, and innocent flows per edge switch."""
DEGREES = {"A": (*range(2, 20, 2), *range(20, 81, 4)), "B": tuple(range(15, 81, 5)), "C": tuple(range(30, 81, 10))}
HOT_GBPS, LINE_GBPS = 20, 10
SAMPLE_KB, JITTER_KB, W, GI, GD = 100, 5, 2, 0.53, 2.6e-4
"""Of hot spots; the baseline is sampled every 150 KB."""
START_MS = 5
QEQ_BYTES = 375 * 64
CORE, SINK_EDGE = "core", "edge_sink"


def until_ms(degree: int) -> float:
    """Returns the end of a run of the sweep in ms (ours): at least 50 ms after the run becomes stable."""
    return 70 + 1.5 * degree


@dataclass(frozen=True, slots=True)
class Setting:
    """The parameters of a run. Defaults are the document's, or ours if the document gives no value."""

    pause: bool = True
    """PAUSE on at 140 KB, off at 130 KB, at every switch (ours: the document does not say which)."""
    accounting: str = "ingress"
    """Ours: PAUSE goes by the bytes of each input, as 802.1Q's PFC initiator does."""
    buffer: str = "unlimited"
    """Without PAUSE: bytes of an output."""
    edges: bool = True
    """Ours: every switch has congestion points, as in 802.1au."""
    stop_kb: float | None = None
    """BCN(0,0) above this queue (KB)."""
    max_kb: float | None = None
    """BCN(max) above this queue (KB)."""
    gi: float = GI
    """Gain of increases."""
    gd: float = GD
    """Gain of decreases."""
    initial_gbps: float | None = None
    """Ours: a limiter starts at line rate, because the sending rate of a source is not measured."""
    drift_mbps: float = 0.0
    """Ours: added to a limiter each millisecond; the document's list of parameters has none."""
    minimum_mbps: float = 10.0
    """Ours: the least rate of a limiter."""
    spines: int = 1
    """The number of core switches. Two core switches make a two-tier Clos."""
    scheme: str = "bcn"
    sample_kb: float = SAMPLE_KB
    innocents_gbps: float = 2.5
    """Ours: total load of the innocents of an edge switch, sent to the next edge switch."""
    hot_gbps: float = HOT_GBPS
    """Total load of all contenders."""


DEFAULT = Setting()
"""The main reading, found by a search (see `SET_UP`)."""
SET_UP = SetUp(
    name="the set-up that was searched",
    choices={
        "congestion points": "at every switch, as 802.1au has them",
        "PAUSE goes by": "the bytes of each input, as 802.1Q's PFC initiator does",
        "drift of a limiter": "none, as the deck lists none",
    },
    searched="seeds 1 to 5, 24 settings of the three and of the other choices",
    confirmed="seeds 11 to 25, which the search never saw",
    cost="nothing: no statement that holds without it fails in it.",
)


def network(edges: int, per_edge: int, spines: int) -> dict[str, Any]:
    """Returns a core switch, edge switches with innocent and contending hosts, and an edge switch for the hot spot."""
    link = {"rate": f"{LINE_GBPS}Gbps", "delay": "0ns"}
    cores = [CORE, *(f"{CORE}{i}" for i in range(1, spines))]
    names = [f"edge{i}" for i in range(edges)]
    hosts = [
        (f"{kind}{i}_{k}", edge) for i, edge in enumerate(names) for kind in ("in", "hot") for k in range(per_edge)
    ]
    hosts.append(("sink", SINK_EDGE))
    nodes = [{"name": host, "kind": "host"} for host, _ in hosts]
    nodes += [{"name": name, "kind": "switch"} for name in (*cores, *names, SINK_EDGE)]
    links = [{"a": host, "b": edge, **link} for host, edge in hosts]
    links += [{"a": edge, "b": core, **link} for edge in (*names, SINK_EDGE) for core in cores]
    return {"explicit": {"nodes": nodes, "links": links}}


def flow_control(setting: Setting) -> dict[str, Any]:
    """Returns ``switch.flow_control``."""
    control: dict[str, Any] = {}
    if setting.pause:
        control["pfc"] = {"xoff": "140KB", "xon": "130KB", "accounting": setting.accounting}
    if setting.scheme == "bcn":
        points: dict[str, Any] = {"q_eq": f"{QEQ_BYTES}B", "w": W, "edges": setting.edges}
        points |= {"sample_base": f"{setting.sample_kb:g}KB", "jitter": f"{JITTER_KB}KB"}
        for key, level in (("q_sc", setting.stop_kb), ("max_above", setting.max_kb)):
            if level is not None:
                points[key] = f"{level:g}KB"
        control["bcn"] = points
    elif setting.scheme == "qcn":
        control["qcn"] = {"edges": setting.edges}
    return control


def limiters(setting: Setting) -> dict[str, Any]:
    """Returns ``host.congestion_control``."""
    if setting.scheme == "bcn":
        first = {} if setting.initial_gbps is None else {"initial_rate": f"{setting.initial_gbps * 1000:g}Mbps"}
        return {
            "bcn": {
                "gi": setting.gi,
                "gd": setting.gd,
                "ru": "1Mbps",
                "minimum_rate": f"{setting.minimum_mbps:g}Mbps",
                "drift": f"{setting.drift_mbps:g}Mbps",
            }
            | first
        }
    return {"qcn": {}} if setting.scheme == "qcn" else {}


def scenario(
    degree: int, per_edge: int, until_ms: float, seed: int, setting: Setting = DEFAULT, **more: Any
) -> dict[str, Any]:
    """Returns a hot spot of so many contending flows, all together 20 Gb/s into 10; more: further sections."""
    edges = -(-degree // per_edge)
    contenders = [f"hot{i // per_edge}_{i % per_edge}" for i in range(degree)]
    innocents = [f"in{i}_{k}" for i in range(edges) for k in range(per_edge)]
    to = [f"in{(i + 1) % edges}_{k}" for i in range(edges) for k in range(per_edge)]
    work = [
        {
            "name": "contenders",
            "start": f"{START_MS}ms",
            "bernoulli": {
                "sources": contenders,
                "destinations": ["sink"],
                "load": min(1.0, setting.hot_gbps / degree / LINE_GBPS),
                "duration": f"{until_ms:g}ms",
            },
        }
    ]
    if edges > 1 and setting.innocents_gbps > 0:
        load = setting.innocents_gbps / per_edge / LINE_GBPS
        bernoulli = {"sources": innocents, "destinations": to, "load": load, "duration": f"{until_ms:g}ms"}
        work.append({"name": "innocents", "bernoulli": bernoulli})
    return {
        "seed": seed,
        "until": f"{until_ms:g}ms",
        "network": network(edges, per_edge, setting.spines),
        "framing": {"payload": "1500B", "header": "0B"},
        "switch": {
            "forwarding_latency": "1us",
            "buffer": setting.buffer if setting.buffer == "unlimited" else {"per_queue": setting.buffer},
            "flow_control": flow_control(setting),
        },
        "host": {"transport": {"raw": {}}, "congestion_control": limiters(setting)},
        "workload": work,
        "probe": {"queues": "20us"},
        **more,
    }
