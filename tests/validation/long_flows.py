"""Long flows to one receiver, and measures of their steady state."""

from statistics import mean
from typing import Any

import xoff

WIRE = 1048
"""Bytes of a full packet of 1000 B of payload."""
CONTROL = 64


def to_one(
    senders: int, delay_us: float, *, gbps: int = 100, last_gbps: int | None = None, **more: Any
) -> dict[str, Any]:
    """A flow from each sender to host 0 through one switch; the receiver's link may be slower than the others."""
    nodes = [{"name": f"host{i}", "kind": "host"} for i in range(senders + 1)] + [{"name": "switch0", "kind": "switch"}]
    rates = [last_gbps or gbps, *[gbps] * senders]
    links = [
        {"a": f"host{i}", "b": "switch0", "rate": f"{rate}Gbps", "delay": f"{round(delay_us * 1000)}ns"}
        for i, rate in enumerate(rates)
    ]
    return {
        "network": {"explicit": {"nodes": nodes, "links": links}},
        "framing": {"payload": "1000B"},
        "workload": [{"incast": {"senders": list(range(1, senders + 1)), "receiver": 0, "size": "1GB"}}],
        **more,
    }


def round_trip_us(delay_us: float, gbps: int = 100, last_gbps: int | None = None) -> float:
    """The round trip of a full packet and its ACK without queues."""
    bits = 8 * (WIRE + CONTROL)
    return 4 * delay_us + bits / (gbps * 1000) + bits / ((last_gbps or gbps) * 1000)


def until(scenario: dict[str, Any], us: float, **more: Any) -> xoff.Result:
    """Runs to the given moment."""
    return xoff.run(scenario | {"until": f"{round(us * 1000)}ns"} | more)


def delivered_gbps(scenario: dict[str, Any], from_us: float, to_us: float) -> float:
    """The rate on the wire of the switch's port to host 0."""

    def sent(us: float) -> int:
        rows = until(scenario, us).links.to_pylist()
        return int(next(row["data_bytes"] for row in rows if row["node"] == "switch0" and row["peer"] == "host0"))

    return (sent(to_us) - sent(from_us)) * 8e-3 / (to_us - from_us)


def queues(scenario: dict[str, Any], from_us: float, to_us: float, every_ns: int = 100) -> list[int]:
    """Bytes that wait for host 0 between two moments, at equal distances in time."""
    result = until(scenario, to_us, probe={"queues": f"{every_ns}ns"})
    first, last = round(from_us * 1e6), round(to_us * 1e6)
    rows = [row for row in result.table("samples").to_pylist() if row["node"] == "switch0" and row["port"] == 0]
    found = [row["bytes"] for row in rows if first < row["time_ps"] < last]
    # An empty queue has no row.
    return found + [0] * ((last - first) // (every_ns * 1000) - 1 - len(found))


def mean_round_trip_us(scenario: dict[str, Any], base_us: float, gbps: int, from_us: float, to_us: float) -> float:
    """With the mean queue before host 0."""
    return base_us + mean(queues(scenario, from_us, to_us)) * 8 / (gbps * 1000)
