"""The slow reference simulator against closed forms, without xoff."""

from typing import Any

import pytest
from reference.simulator import simulate
from tests.reference.stars import (
    ACK_PS,
    DCQCN,
    DELAY_PS,
    HOP_PS,
    PACKET_PS,
    PS_PER_BYTE,
    SWITCH_PS,
    WIRE_BYTES,
    arrivals,
    flow,
    star,
)


@pytest.mark.parametrize("packets", [1, 2, 7, 100])
def test_one_flow_over_two_links(packets: int) -> None:
    result = simulate(star(2, [flow(0, 1, packets, start="5us")]))
    fct_ps = packets * PACKET_PS + DELAY_PS + SWITCH_PS + HOP_PS
    assert result.flows[0].fct_ps == fct_ps
    assert result.flows[0].fct_acked_ps == fct_ps + 2 * (ACK_PS + DELAY_PS) + SWITCH_PS
    expected = [5_000_000 + (k + 1) * PACKET_PS + DELAY_PS + SWITCH_PS + HOP_PS for k in range(packets)]
    assert arrivals(result.trace, "host1", "data", 0) == expected
    # Each packet and each acknowledgement departs twice and arrives twice.
    assert len(result.trace) == 8 * packets


def test_last_packet_is_short_and_padded() -> None:
    scenario = star(2, [flow(0, 1, 1)])
    scenario["workload"][0]["flows"][0]["size"] = "953B"
    scenario["framing"] |= {"header": "28B", "preamble_and_ifg": "20B", "min_frame_size": "80B"}
    result = simulate(scenario)
    departures = [(r.kind, r.bytes) for r in result.trace if r.node == "host0" and r.event == "depart"]
    assert departures == [("data", 1000), ("data", 100)]
    assert {r.bytes for r in result.trace if r.kind == "ack"} == {100}
    # The short packet does not wait, since the long packet left the switch's port during the short packet's reception.
    first_ps = HOP_PS + SWITCH_PS + HOP_PS
    assert result.flows[0].fct_ps == first_ps + 100 * PS_PER_BYTE


@pytest.mark.parametrize("packets", [1, 3, 50])
def test_two_to_one_shares_the_output_exactly(packets: int) -> None:
    result = simulate(star(3, [flow(0, 2, packets), flow(1, 2, packets)]))
    first_ps = HOP_PS + SWITCH_PS
    # Both packets of an instant are taken in port order, and the output never idles.
    assert arrivals(result.trace, "host2", "data", 0) == [
        first_ps + (2 * k + 1) * PACKET_PS + DELAY_PS for k in range(packets)
    ]
    assert arrivals(result.trace, "host2", "data", 1) == [
        first_ps + (2 * k + 2) * PACKET_PS + DELAY_PS for k in range(packets)
    ]
    assert not [r for r in result.trace if r.kind == "pfc"]


def test_flows_of_one_host_take_turns() -> None:
    result = simulate(star(3, [flow(1, 0, 1), flow(0, 2, 3), flow(0, 1, 2)]))
    # Numbered by source, then as listed.
    assert [(f.src, f.dst) for f in result.flows] == [("host0", "host2"), ("host0", "host1"), ("host1", "host0")]
    sent = [(r.flow, r.seq) for r in result.trace if r.node == "host0" and r.event == "depart" and r.kind == "data"]
    assert sent == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2)]


@pytest.mark.parametrize("start_ps", [1, PACKET_PS - 1, PACKET_PS])
def test_a_flow_that_starts_during_a_frame_goes_before_the_flow_on_the_wire(start_ps: int) -> None:
    # At the latest at the very instant at which the second packet of the first flow would go.
    result = simulate(star(3, [flow(0, 2, 3), flow(0, 1, 2, start=f"{start_ps}ps")]))
    sent = [(r.flow, r.seq) for r in result.trace if r.node == "host0" and r.event == "depart" and r.kind == "data"]
    assert sent == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2)]


def test_flows_that_start_during_a_frame_go_in_their_order_behind_those_that_wait() -> None:
    starts_ps = [0, 0, 2, 1]
    result = simulate(star(3, [flow(0, 2, 2, start=f"{start_ps}ps") for start_ps in starts_ps]))
    sent = [r.flow for r in result.trace if r.node == "host0" and r.event == "depart" and r.kind == "data"]
    assert sent == [0, 1, 3, 2, 0, 1, 3, 2]


def test_pfc_pauses_and_peaks_where_expected() -> None:
    xoff_packets, xon_packets, packets = 4, 2, 60
    pfc = {"xoff": f"{xoff_packets * WIRE_BYTES}B", "xon": f"{xon_packets * WIRE_BYTES}B"}
    result = simulate(star(3, [flow(0, 2, packets), flow(1, 2, packets)], flow_control={"pfc": pfc}))
    assert all(f.received == packets for f in result.flows)

    # After the arrival of packet k (0, 1, ...) of host 1, its ingress holds floor((k + 3) / 2) packets, because the
    # output sends one packet of either host in turn, host 0 first. XOFF = 4 packets is reached with k = 5.
    first_ps = HOP_PS + SWITCH_PS
    pfc_departures = [(r.time_ps, r.port) for r in result.trace if (r.node, r.event, r.kind) == ("s", "depart", "pfc")]
    assert pfc_departures[:2] == [(first_ps + 5 * PACKET_PS, 1), (first_ps + 6 * PACKET_PS, 0)]

    # Host 1 starts a packet at every multiple of PACKET_PS before the pause arrives, and none after the pause.
    paused_ps = first_ps + 5 * PACKET_PS + ACK_PS + DELAY_PS
    last_packet = -(-paused_ps // PACKET_PS) - 1
    starts = [r.time_ps for r in result.trace if (r.node, r.event, r.kind) == ("host1", "depart", "data")]
    assert starts[: last_packet + 1] == [k * PACKET_PS for k in range(last_packet + 1)]
    assert starts[last_packet + 1] > paused_ps
    first_burst_peak = (last_packet + 3) // 2
    assert result.ingress_peak_bytes["s", 1, 0] == first_burst_peak * WIRE_BYTES
    assert result.ingress_peak_bytes["s", 2, 0] == 0

    # Every pause has its resume: at each host they alternate, and the last frame is a resume.
    for port in (0, 1):
        assert (
            len([1 for r in result.trace if (r.node, r.port, r.event, r.kind) == ("s", port, "depart", "pfc")]) % 2 == 0
        )


def test_pfc_frames_follow_the_levels() -> None:
    # The trace gives the queued bytes of each host's data in the switch, and therefore the due times of pauses and
    # resumes.
    pfc = {"xoff": "4000B", "xon": "2000B"}
    result = simulate(star(3, [flow(0, 2, 60), flow(1, 2, 60)], flow_control={"pfc": pfc}))
    for host in (0, 1):
        waiting_bytes, paused, due = 0, False, []
        rows = [r for r in result.trace if (r.node, r.kind, r.flow) == ("s", "data", host)]
        # At one instant arrivals come before departures, and "arrive" sorts before "depart".
        for row in sorted(rows, key=lambda row: (row.time_ps, row.event)):
            waiting_bytes += row.bytes if row.event == "arrive" else -row.bytes
            if (not paused and waiting_bytes >= 4000) or (paused and waiting_bytes <= 2000):
                paused = not paused
                due.append(row.time_ps)
        sent = [r.time_ps for r in result.trace if (r.node, r.port, r.event, r.kind) == ("s", host, "depart", "pfc")]
        assert len(sent) == len(due) >= 4
        # An acknowledgement in transmission goes first.
        assert all(0 <= sent_ps - due_ps <= ACK_PS for sent_ps, due_ps in zip(sent, due, strict=True))


def test_an_acknowledgement_passes_a_paused_port() -> None:
    # Host 0 is paused for most of the run and still has to acknowledge host 2's packets.
    pfc = {"xoff": "4000B", "xon": "2000B"}
    flows = [flow(0, 2, 60), flow(1, 2, 60), flow(2, 0, 20)]
    result = simulate(star(3, flows, flow_control={"pfc": pfc}))
    acks = [r.time_ps for r in result.trace if (r.node, r.event, r.kind) == ("host0", "depart", "ack")]
    data = arrivals(result.trace, "host0", "data", 2)
    assert len(acks) == 20
    # At most a packet in transmission and a packet time of acknowledgements and PFC frames are ahead.
    assert all(ack - arrived <= PACKET_PS for ack, arrived in zip(acks, data, strict=True))


def test_simultaneous_pause_arrives_before_the_send_decision() -> None:
    # The delay makes the pause frame arrive exactly when host 1 would start its next packet.
    scenario = star(3, [flow(0, 2, 60), flow(1, 2, 60)], flow_control={"pfc": {"xoff": "4000B", "xon": "2000B"}})
    first_ps = HOP_PS + SWITCH_PS
    early_ps = (first_ps + 5 * PACKET_PS + ACK_PS + DELAY_PS) % PACKET_PS
    for link in scenario["network"]["explicit"]["links"]:
        link["delay"] = f"{DELAY_PS + (PACKET_PS - early_ps) // 2}ps"
    assert (PACKET_PS - early_ps) % 2 == 0
    result = simulate(scenario)
    [paused_ps, *_] = [r.time_ps for r in result.trace if (r.node, r.event, r.kind) == ("host1", "arrive", "pfc")]
    assert paused_ps % PACKET_PS == 0
    starts = [r.time_ps for r in result.trace if (r.node, r.event, r.kind) == ("host1", "depart", "data")]
    assert paused_ps - PACKET_PS in starts
    assert paused_ps not in starts


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("switch", "queueing"), "voq"),
        (("switch", "buffer"), {"per_queue": "1MB"}),
        (("switch", "ecn"), {"red": {"kmin": "1KB", "kmax": "2KB"}}),
        (("host",), {"congestion_control": {"dcqcn": {"preset": "paper"}}}),
        (("host",), {"congestion_control": {"dcqcn": {"preset": "hpcc", **DCQCN}}}),
        (("host",), {"transport": {"irn": {}}}),
        (("switch", "delay"), "300"),
        (("framing", "payload"), "0.5B"),
    ],
)
def test_what_is_not_modelled_is_refused(path: tuple[str, ...], value: Any) -> None:
    scenario = star(2, [flow(0, 1, 1)])
    table = scenario
    for key in path[:-1]:
        table = table[key]
    table[path[-1]] = value
    with pytest.raises(ValueError, match=r"reference|unit"):
        simulate(scenario)
