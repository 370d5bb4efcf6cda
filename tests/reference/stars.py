"""Stars of equal links, and measures of their traces, for the closed forms."""

from typing import Any

from reference.simulator import Row

RATE_BPS = 100 * 10**9
PS_PER_BYTE = 8 * 10**12 // RATE_BPS
DELAY_PS = 1_000_000
SWITCH_PS = 300_000
PAYLOAD_BYTES = 952
WIRE_BYTES = 1000
ACK_BYTES = 64
PACKET_PS = WIRE_BYTES * PS_PER_BYTE
ACK_PS = ACK_BYTES * PS_PER_BYTE
HOP_PS = PACKET_PS + DELAY_PS

# DCQCN's values, with all timers postponed forever.
DCQCN = {
    "g": 0.5,
    "alpha_interval": "1s",
    "increase_interval": "1s",
    "byte_counter": "1GB",
    "fast_recovery_steps": 2,
    "additive_increase": "1Gbps",
    "hyper_increase": "4Gbps",
    "minimum_rate": "1Gbps",
    "cnp_interval": "1s",
}


def star(hosts: int, flows: list[dict[str, Any]], **switch: Any) -> dict[str, Any]:
    return {
        "network": {
            "explicit": {
                "nodes": [{"name": f"host{i}", "kind": "host"} for i in range(hosts)]
                + [{"name": "s", "kind": "switch"}],
                "links": [{"a": f"host{i}", "b": "s", "rate": "100Gbps", "delay": "1us"} for i in range(hosts)],
            }
        },
        "framing": {
            "payload": "952B",
            "header": "48B",
            "preamble_and_ifg": "0B",
            "control_frame_size": "64B",
            "min_frame_size": "64B",
        },
        "switch": {"forwarding_latency": "300ns", "buffer": "unlimited", **switch},
        "workload": [{"flows": flows}],
    }


def flow(src: int, dst: int, packets: int, start: str = "0s") -> dict[str, Any]:
    size = f"{packets * PAYLOAD_BYTES}B"
    return {"src": f"host{src}", "dst": f"host{dst}", "size": size, "start": start, "via": ["s"]}


def arrivals(trace: list[Row], node: str, kind: str, flow_index: int) -> list[int]:
    return [r.time_ps for r in trace if (r.node, r.event, r.kind, r.flow) == (node, "arrive", kind, flow_index)]


def departures(trace: list[Row], node: str, kind: str, flow_index: int) -> list[int]:
    return [r.time_ps for r in trace if (r.node, r.event, r.kind, r.flow) == (node, "depart", kind, flow_index)]


def narrowing(packets: int, **switch: Any) -> dict[str, Any]:
    """A flow over a link of 100 Gb/s and then a link of 50 Gb/s: the queue grows by a packet every second packet.

    While packets arrive, packet k finds k // 2 others waiting: a packet leaves at every second packet time from the
    first on.
    """
    scenario = star(2, [flow(0, 1, packets)], **switch)
    scenario["network"]["explicit"]["links"][1]["rate"] = "50Gbps"
    return scenario
