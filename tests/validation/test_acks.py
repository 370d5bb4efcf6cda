"""ACKs in the class of data wait behind data, and pauses of the class hold ACKs."""

from __future__ import annotations

from typing import Any

import pytest

import xoff

FRAME_PS, ACK_PS, DELAY_PS = 83_840, 5_120, 1_000_000


def crossing(acks: str, **switch: Any) -> xoff.Result:
    """Two hosts fill the port to host 0, which sends one packet to host 1 after 20 µs and waits for the ACK."""
    return xoff.run(
        {
            "network": {"star": {"hosts": 3, "link": {"rate": "100Gbps", "delay": "1us"}}},
            "framing": {"payload": "1000B", "header": "48B"},
            "switch": switch,
            "host": {"acks": acks},
            "workload": [
                {"flows": [{"src": src, "dst": 0, "size": "1MB"} for src in (1, 2)]},
                {"flows": [{"src": 0, "dst": 1, "size": "1000B", "start": "20us"}]},
            ],
        }
    )


def answered(result: xoff.Result) -> dict[str, Any]:
    """Returns the row of the one-packet flow."""
    row: dict[str, Any]
    (row,) = (row for row in result.flows.to_pylist() if row["src"] == "host0")
    return row


def test_an_ack_in_the_control_queue_waits_for_a_frame_at_most() -> None:
    row = answered(crossing("control"))
    back = row["fct_acked_ps"] - row["fct_ps"]
    alone = 2 * (ACK_PS + DELAY_PS)
    assert alone <= back <= alone + 2 * FRAME_PS


def test_an_ack_with_the_data_waits_for_all_that_came_before_it() -> None:
    """Since 1 µs and a frame the port gets 2 C and sends C: when the ACK comes, as much waits as was sent."""
    row = answered(crossing("data"))
    arrives = row["start_ps"] + row["fct_ps"]
    # The ACK precedes packets that its host has not yet made, and follows the frame in transmission.
    at_switch = arrives + ACK_PS + DELAY_PS
    began = DELAY_PS + FRAME_PS
    waits = at_switch - began
    back = row["fct_acked_ps"] - row["fct_ps"]
    assert back == pytest.approx(2 * (ACK_PS + DELAY_PS) + waits, abs=5 * FRAME_PS)


def test_at_switches_alone_they_wait_behind_data_and_no_pause_of_a_host_holds_them() -> None:
    """As in HPCC's simulator, ACKs wait with data at the switch, and do not wait at the host."""
    mine, theirs = (answered(crossing(acks)) for acks in ("switches", "data"))
    assert mine["fct_acked_ps"] - mine["fct_ps"] == theirs["fct_acked_ps"] - theirs["fct_ps"]
    pfc = {"pfc": {"xoff": "20KB", "xon": "1KB"}}
    free, held = (answered(crossing(acks, flow_control=pfc)) for acks in ("switches", "data"))
    assert free["fct_acked_ps"] < held["fct_acked_ps"]


def test_acks_take_a_path_of_their_own() -> None:
    """Each switch hashes a flow with its own seed, so that an ACK's path is independent of its packet's path."""
    flows = [{"src": src, "dst": 32 + src, "size": "1000B"} for src in range(32)]
    network = {"leaves": 2, "spines": 4, "hosts_per_leaf": 32, "link": {"rate": "100Gbps", "delay": "1us"}}
    result = xoff.run({"network": {"leaf_spine": network}, "workload": [{"flows": flows}], "probe": {"packets": True}})
    ways: dict[str, dict[int, str]] = {"data": {}, "ack": {}}
    for row in result.packets.to_pylist():
        if row["node"].startswith("spine") and row["event"] == "arrive":
            ways[row["kind"]][row["flow"]] = row["node"]
    same = sum(ways["data"][flow] == ways["ack"][flow] for flow in range(32))
    # One in four by chance: 8 of 32, and four standard deviations are 10.
    assert 0 < same < 18


def test_a_pause_of_their_class_holds_acks() -> None:
    """PFC pauses host 1 to keep the port to host 0 short. ACKs in the data class cannot leave; control ACKs can."""
    held, free = (crossing(acks, flow_control={"pfc": {"xoff": "20KB"}}) for acks in ("data", "control"))
    paused = [row for row in held.pauses.to_pylist() if row["node"] == "host1"]
    assert paused
    waits = [answered(result)["fct_acked_ps"] for result in (held, free)]
    assert waits[0] > waits[1] + 5 * FRAME_PS
    assert set(held.audits.values()) == {"ok"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"switch.queueing": "iq"}, 'host.acks: switch.queueing = "iq" has no queues of classes'),
        (
            {"switch.flow_control.congestion_isolation": {"low": "10KB", "high": "50KB"}, "switch.classes": 2},
            "host.acks: congestion_isolation assigns packets",
        ),
    ],
)
def test_what_it_does_not_go_with_is_refused(change: dict[str, Any], message: str) -> None:
    scenario = crossing("data").scenario
    with pytest.raises(xoff.InputError, match=message):
        xoff.check(scenario, overrides=change)


@pytest.mark.parametrize("every", [1, 8, 256])
@pytest.mark.parametrize("control", [None, "dcqcn", "dctcp", "swift"])
def test_packets_in_order_share_an_ack(every: int, control: str | None) -> None:
    """1,000 packets have 1,000 ACKs, 125 with eight packets each, and four with 256; the time of a flow stays."""
    scenario: dict[str, Any] = {
        "network": {"star": {"hosts": 2, "link": {"rate": "100Gbps", "delay": "1us"}}},
        "framing": {"payload": "1000B", "header": "48B"},
        "host": {
            "transport": {"go_back_n": {"ack_every": every}},
            "congestion_control": {control: {}} if control else {},
        },
        "workload": [{"flows": [{"src": 0, "dst": 1, "size": "1MB"}]}],
    }
    result = xoff.run(scenario)
    (flow,) = result.flows.to_pylist()
    (back,) = (row for row in result.table("links").to_pylist() if row["node"] == "host1")
    # The receiver sends ACKs alone. A flow without a window waits for none before its last packet.
    acks = -(-1000 // every)
    assert back["control_bytes"] == 64 * acks if control in {None, "dcqcn"} else back["control_bytes"] >= 64 * acks
    if control is None:
        assert flow["fct_ps"] == 1000 * 83_840 + 83_840 + 2 * 1_000_000
    assert flow["retransmitted"] == 0
    assert set(result.audits.values()) == {"ok"}
    assert xoff.run(scenario, fast_forward=False).fingerprint == result.fingerprint
