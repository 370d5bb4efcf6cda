"""The cost of a loss under each transport, against arithmetic; spurious timeouts of IRN."""

from typing import Any

import pytest

import xoff

PACKET_PS = 1048 * 8 * 10
"""A full packet at 100 Gb/s."""
CONTROL_PS = 64 * 8 * 10


def one_loss(transport: dict[str, Any]) -> xoff.Result:
    """Host 1 sends 300 packets at line rate; a packet of host 2 takes the only place of the queue, or is dropped."""
    return xoff.run(
        {
            "network": {"star": {"hosts": 3, "link": {"rate": "100Gbps", "delay": "1us"}}},
            "switch": {"buffer": {"per_port": "1100B"}},
            "host": {"transport": transport},
            "workload": [
                {
                    "flows": [
                        {"src": 1, "dst": 0, "size": "300KB", "id": "long"},
                        {"src": 2, "dst": 0, "size": "1000B", "start": "10us"},
                    ]
                }
            ],
            "probe": {"packets": True},
        }
    )


def test_irn_sends_exactly_the_lost_packet_again() -> None:
    result = one_loss({"irn": {"bdp_cap": "104KB"}})
    (drop,) = result.drops.to_pylist()
    (long,) = (row for row in result.flows.to_pylist() if row["size_bytes"] == 300_000)
    assert (long["packets_sent"], long["retransmitted"]) == (301, 1)
    assert result.summary["transport"]["spurious_retransmissions"] == 0
    packets = result.packets.to_pylist()
    sent = [p["seq"] for p in packets if p["node"] == "host1" and p["kind"] == "data" and p["event"] == "depart"]
    assert sorted(sent) == sorted([*range(300), drop["seq"]])
    # The flow never waits: 301 packets in a row, a propagation and two packet times to the receiver.
    assert long["fct_ps"] <= 301 * PACKET_PS + 2_000_000 + 3 * PACKET_PS


def test_go_back_n_repeats_a_round_trip() -> None:
    """The NACK names the loss at the next packet's arrival; packets sent until then are retransmitted."""
    result = one_loss({"go_back_n": {"nack_interval": "1ms"}})
    (long,) = (row for row in result.flows.to_pylist() if row["size_bytes"] == 300_000)
    (drop,) = result.drops.to_pylist()
    # Next packet and its two hops behind one packet in the queue, propagation in both directions, two hops of the NACK.
    until_nack = PACKET_PS + 3 * PACKET_PS + 4_000_000 + 2 * CONTROL_PS
    wasted = until_nack // PACKET_PS
    assert abs(long["retransmitted"] - (1 + wasted)) <= 1
    # All packets beyond the gap were discarded, and none had arrived before.
    assert result.summary["transport"]["spurious_retransmissions"] == 0
    assert drop["seq"] > 0


@pytest.mark.parametrize("lost", [1, 3])
def test_a_lost_tail_costs_one_low_timeout(lost: int) -> None:
    """The last packets of a flow bring no answer; IRN sends all of them again after `rto_low`."""
    result = xoff.run(
        {
            "network": {
                "explicit": {
                    "nodes": [
                        {"name": "a", "kind": "host"},
                        {"name": "b", "kind": "host"},
                        {"name": "s", "kind": "switch"},
                    ],
                    "links": [
                        {"a": "a", "b": "s", "rate": "400Gbps", "delay": "1us"},
                        {"a": "s", "b": "b", "rate": "10Gbps", "delay": "1us"},
                    ],
                }
            },
            # One packet on the wire, and room for four.
            "switch": {"buffer": {"per_port": f"{4 * 1048}B"}},
            "host": {"transport": {"irn": {}}},
            "workload": [{"flows": [{"src": "a", "dst": "b", "size": f"{5 + lost}KB"}]}],
        }
    )
    (flow,) = result.flows.to_pylist()
    assert [row["seq"] for row in result.drops.to_pylist()] == list(range(5, 5 + lost))
    assert flow["retransmitted"] == lost
    assert result.summary["transport"]["spurious_retransmissions"] == 0
    # The timeout runs from the last answer, when five packets have crossed the slow link and the ACK is back.
    last_answer = 5 * 1048 * 8 * 100 + 4_000_000
    assert 0 <= flow["fct_ps"] - last_answer - 100_000_000 < lost * 1048 * 8 * 100 + 4_000_000


@pytest.mark.parametrize(("rto_low", "spurious"), [("100us", 2), ("500us", 0)])
def test_a_low_timeout_below_the_queueing_delay_is_spurious(rto_low: str, spurious: int) -> None:
    """Sixteen windows make a queue of 133 us; a flow of two packets behind has few in flight, and retransmits."""
    scenario: dict[str, Any] = {
        "network": {"star": {"hosts": 18, "link": {"rate": "100Gbps", "delay": "1us"}}},
        "host": {"transport": {"irn": {"bdp_cap": "104KB", "rto_low": rto_low, "rto_high": "1ms"}}},
        "workload": [
            {"incast": {"senders": list(range(1, 17)), "receiver": 0, "size": "500KB"}},
            {"flows": [{"src": 17, "dst": 0, "size": "2KB", "start": "60us"}]},
        ],
    }
    summary = xoff.run(scenario).summary
    assert summary["drops"] == 0
    assert summary["transport"]["spurious_retransmissions"] == summary["retransmitted"] == spurious


def test_bdp_flow_control_bounds_the_queue_of_an_incast() -> None:
    """N windows of one BDP, less the bytes on the links: docs/models/irn.md."""
    senders, bdp = 4, 104_000
    result = xoff.run(
        {
            "network": {"star": {"hosts": senders + 1, "link": {"rate": "100Gbps", "delay": "1us"}}},
            "host": {"transport": {"irn": {"bdp_cap": f"{bdp}B"}}},
            "workload": [
                {"incast": {"senders": list(range(1, senders + 1)), "receiver": 0, "size": "1MB"}},
            ],
        }
    )
    deepest = max(row["max_bytes"] for row in result.queues.to_pylist())
    on_links = 4e-6 * 100e9 / 8
    assert deepest <= senders * bdp * 1.048 - on_links
    assert deepest >= 0.9 * (senders * bdp * 1.048 - on_links)
