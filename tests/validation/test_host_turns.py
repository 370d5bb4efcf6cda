"""The flows of a host take turns on its interface, and a paced flow gets its pace."""

from typing import Any

import pytest

import xoff


def two_flows(rate_gbps: int) -> dict[str, Any]:
    """Two flows of one host: one into a link of 10 Gb/s, held at its least rate by marks, and one at line rate."""
    nodes = [{"name": name, "kind": "switch" if name == "s" else "host"} for name in ("a", "slow", "fast", "s")]
    rates = {"a": "100Gbps", "slow": "10Gbps", "fast": "100Gbps"}
    return {
        "network": {
            "explicit": {
                "nodes": nodes,
                "links": [{"a": name, "b": "s", "rate": rate, "delay": "1us"} for name, rate in rates.items()],
            }
        },
        "switch": {"ecn": {"step": {"threshold": "10KB"}}},
        "host": {"congestion_control": {"dcqcn": {"minimum_rate": f"{rate_gbps}Gbps"}}},
        "workload": [
            {"flows": [{"src": "a", "dst": "slow", "size": "100MB"}, {"src": "a", "dst": "fast", "size": "100MB"}]}
        ],
        "until": "2ms",
        "probe": {"packets": True},
    }


@pytest.mark.parametrize(("rate_gbps", "share"), [(20, 1 / 5), (33, 1 / 4), (50, 1 / 2), (75, 1 / 2), (99, 1 / 2)])
def test_a_paced_flow_gets_its_pace_beside_one_at_line_rate(rate_gbps: int, share: float) -> None:
    """A flow that falls due during the other's frame goes next: the flow waits for whole frames."""
    packets = xoff.run(two_flows(rate_gbps)).packets.to_pylist()
    sent = [p["flow"] for p in packets if p["node"] == "a" and p["event"] == "depart" and p["time_ps"] > 10**9]
    assert sent.count(0) / len(sent) == pytest.approx(share, rel=0.01)


def test_a_flow_that_starts_during_another_s_frame_goes_next() -> None:
    """The flow with the frame on the wire goes to the end of the round at the end of the frame."""
    star = {"star": {"hosts": 2, "link": {"rate": "100Gbps", "delay": "1us"}}}
    flows = [{"src": 0, "dst": 1, "size": "5KB"}, {"src": 0, "dst": 1, "size": "2KB", "start": "10ns"}]
    result = xoff.run({"network": star, "workload": [{"flows": flows}], "probe": {"packets": True}})
    rows = [p for p in result.packets.to_pylist() if p["node"] == "host0" and p["event"] == "depart"]
    assert [p["flow"] for p in rows] == [0, 1, 0, 1, 0, 0, 0]
