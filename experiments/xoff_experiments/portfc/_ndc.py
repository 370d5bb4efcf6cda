"""Networks, mechanisms and traffic of all experiments on the PortFC paper.

Source: "Revisiting Flow Control in Node-Centric Datacenter Networks", section V-A. Values of the paper are used
unchanged. A choice that the paper leaves open is a parameter of `Setting`, marked "Ours".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from xoff.reproduce import SetUp

MECHANISMS = {
    "portfc": "PortFC",
    "irn": "IRN",
    "go_back_n": "Go-Back-N",
    "pfc_star": "PFC*",
    "pfc": "PFC",
}
"""Compared mechanisms of the paper, all with DCQCN. PFC is compared only in statements about PFC."""
COMPARED = ("portfc", "irn", "go_back_n", "pfc_star")

WORKLOADS = {"hadoop": "Hadoop", "storage": "Storage", "websearch": "WebSearch"}
INCAST_SENDERS = {4: 8, 8: 32}
"""By n of NDC(n, 1)."""
LINK = {"rate": "100Gbps", "delay": "1us"}
HEADER_BYTES = 48
RECORD = dict.fromkeys(("deadlock", "pauses", "completion", "loss"), "record")


PLAIN: dict[str, Any] = {
    "first_hop": "hash",
    "period_ms": 0.5,
    "irn_kb": 104,
    "xoff_kb": 75,
    "xon_kb": 50,
    "preset": "mellanox",
}
"""The fields of `Setting` that the set-up replaces, with values chosen one by one."""
PLAIN_NAME = "without the set-up"
SET_UP = SetUp(
    name="the set-up found by a search",
    choices={
        "path in NDC where both digits differ": "one order of digits, BCube's",
        "incasts": "one every 0.25 ms",
        "IRN's window": "50 KB, the round trip of two links",
        "X_OFF and X_ON": "150 and 100 KB, 6 and 4 times the round trip of a link (N.1d: the literal 75 and 50 KB)",
        "DCQCN's other parameters": "those of the simulators that the paper builds on (HPCC's, and its forks)",
    },
    searched="seeds 1 to 3 in NDC(4, 1): all 32 combinations of these five",
    confirmed="seeds 4 to 13",
    cost="Part of N.5t, the throughput of Poisson flows, fails in it. N.1d fails with the round trip.",
)


@dataclass(frozen=True, slots=True)
class Setting:
    """Choices that the paper leaves open; every default is ours."""

    link_load: float = 0.5
    """Poisson traffic as a share of each link, headers included; in Rail-only of each rail."""
    port_load: float | None = None
    """Alternative to `link_load`: payload of Poisson traffic, as a share of the rate of both ports of a node."""
    period_ms: float = 0.25
    """The time from one incast to the next. Receiver and senders of each incast are drawn at random."""
    arrivals_ms: float = 10
    alpha: float = 0.125
    """Share of the free memory available to a port: HPCC's constant."""
    ecn_scope: str = "queue"
    """Marks compare K_min with each queue; ``port``: with all queues of the port."""
    dcqcn: bool = True
    preset: str = "hpcc_config"
    """DCQCN's preset. The default is the preset of HPCC's simulator, of which the paper's is a fork; ``mellanox``:
    firmware of adapters.
    """
    payload_bytes: int = 1000
    xoff_kb: float = 150
    """6 BDP, with the round trip of a link (25 KB)."""
    xon_kb: float = 100
    irn_kb: float = 50
    """IRN's window: 100 Gb/s and 4 us, the round trip of two links."""
    first_hop: str = "highest"
    """The fixed order of BCube; ``hash``: flows are spread over both paths by a hash."""
    relays: str = "forward"
    """Nodes under PFC and PFC* relay pauses; ``native``: nodes detect congestion as switches do."""
    relay_scheduler: str = "relay_first"
    relay_delay_us: float = 0
    relay_buffer: str = "5MB"
    """For each port of a node, as much as a switch has in all."""
    relay_marks: bool = False
    nack_us: float = 4
    """Go-Back-N: least time between two NACKs for a packet."""


DEFAULT = Setting()


def transport(mechanism: str, setting: Setting) -> dict[str, Any]:
    """Returns the transport of hosts: the mechanism's own, or Go-Back-N for mechanisms without losses."""
    if mechanism == "irn":
        return {
            "irn": {"bdp_cap": f"{setting.irn_kb:g}KB", "rto_low": "100us", "rto_high": "320us", "rto_low_threshold": 3}
        }
    return {"go_back_n": {"rto": "10ms", "nack_interval": f"{setting.nack_us:g}us"}}


def flow_control(mechanism: str, setting: Setting) -> dict[str, Any]:
    """Returns ``switch.flow_control``."""
    levels = {"xoff": f"{setting.xoff_kb:g}KB", "xon": f"{setting.xon_kb:g}KB"}
    match mechanism:
        case "portfc":
            return {"portfc": levels}
        case "pfc":
            return {"pfc": {**levels, "relays": setting.relays}}
        case "pfc_star":
            return {"pfc": {**levels, "relays": setting.relays, "hop_classes": True}}
        case _:
            return {}


def scenario(
    mechanism: str,
    network: Mapping[str, Any],
    workload: list[dict[str, Any]],
    setting: Setting = DEFAULT,
    *,
    seed: int = 1,
    **more: Any,
) -> dict[str, Any]:
    """Returns the scenario of a mechanism in a network; more: further sections of the scenario."""
    # PFC* has a class for each hop, which take turns.
    switch: dict[str, Any] = {"classes": 2, "scheduler": "round_robin"} if mechanism == "pfc_star" else {}
    memory = {"total": "5MB", "alpha": setting.alpha, "reserve": "0B", "headroom": "0B"}
    made = {
        "seed": seed,
        "network": dict(network),
        "framing": {"payload": f"{setting.payload_bytes}B", "header": f"{HEADER_BYTES}B"},
        "switch": {
            **switch,
            "buffer": {"shared": memory},
            "flow_control": flow_control(mechanism, setting),
        },
        "host": {
            "transport": transport(mechanism, setting),
            "first_hop": setting.first_hop,
            "relay": {
                "delay": f"{setting.relay_delay_us:g}us",
                "scheduler": setting.relay_scheduler,
                "buffer": "unlimited" if setting.relay_buffer == "unlimited" else {"per_port": setting.relay_buffer},
                "ecn": setting.relay_marks,
            },
        },
        "workload": workload,
        "audits": RECORD,
        **more,
    }
    if setting.dcqcn:
        red = {"kmin": "100KB", "kmax": "400KB", "pmax": 0.2}
        made["switch"]["ecn"] = {"red": red, "scope": setting.ecn_scope}
        made["host"]["congestion_control"] = {"dcqcn": {"preset": setting.preset}}
    return made


def ndc(n: int, k: int = 1) -> dict[str, Any]:
    """Returns NDC(n, k)."""
    return {"ndc": {"n": n, "k": k, "link": LINK}}


def rail_only(n: int, scale_up_gbps: int = 160, rail_gbps: int = 100) -> dict[str, Any]:
    """Returns the Rail-only network of n servers with n GPUs."""
    links = {
        name: {"rate": f"{rate}Gbps", "delay": "1us"}
        for name, rate in (("scale_up", scale_up_gbps), ("rail", rail_gbps))
    }
    return {"rail": {"servers": n, "gpus_per_server": n, **links}}


def payload_load(n: int, setting: Setting, ports: float = 2) -> float:
    """Returns the payload of a node, as a share of the rate of all its ports, that loads links as the setting says.

    Source and destination differ in one digit or in both: a packet crosses the links of a level with probability n / (n
    + 1). ports: the rate of all ports of a node, in units of the slower port's rate.
    """
    if setting.port_load is not None:
        return setting.port_load
    frame = 1 + HEADER_BYTES / setting.payload_bytes
    return round(setting.link_load / (frame * ports * n / (n + 1)), 6)


def mixed(n: int, sizes: str, setting: Setting, ports: float = 2) -> list[dict[str, Any]]:
    """Returns Poisson traffic with incasts of 1 MB flows: 8 to 1 in NDC(4, 1), 32 to 1 in NDC(8, 1)."""
    count = max(1, round(setting.arrivals_ms / setting.period_ms))
    arrivals = {"load": payload_load(n, setting, ports), "sizes": sizes, "duration": f"{setting.arrivals_ms:g}ms"}
    incasts = {"senders": INCAST_SENDERS[n], "size": "1MB", "period": f"{setting.period_ms:g}ms", "count": count}
    return [{"name": "poisson", "poisson": arrivals}, {"name": "incast", "repeated_incast": incasts}]
