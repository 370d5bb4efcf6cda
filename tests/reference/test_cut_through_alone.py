"""Cut-through in the slow reference simulator against closed forms, without xoff."""

from typing import Any

import pytest
from reference.simulator import simulate
from tests.reference.stars import (
    ACK_PS,
    DELAY_PS,
    HOP_PS,
    PACKET_PS,
    PS_PER_BYTE,
    SWITCH_PS,
    WIRE_BYTES,
    departures,
    flow,
    star,
)

HEADER_PS = 64 * PS_PER_BYTE


@pytest.mark.parametrize("packets", [1, 2, 7, 100])
def test_one_flow_over_two_links(packets: int) -> None:
    """It takes n·W/C + k·(H/C + d) and propagation over k = 1 switch; an ACK is as long as a header."""
    result = simulate(star(2, [flow(0, 1, packets)], cut_through={"header": "64B"}))
    fct_ps = packets * PACKET_PS + 2 * DELAY_PS + HEADER_PS + SWITCH_PS
    assert result.flows[0].fct_ps == fct_ps
    assert result.flows[0].fct_acked_ps == fct_ps + 2 * (ACK_PS + DELAY_PS) + SWITCH_PS


def test_a_header_of_a_packet_is_store_and_forward() -> None:
    flows = [flow(0, 2, 9), flow(1, 2, 7)]
    whole = simulate(star(3, flows, cut_through={"header": f"{WIRE_BYTES}B"}))
    assert whole.trace == simulate(star(3, flows)).trace


@pytest.mark.parametrize("wait_ps", [0, 1, PACKET_PS - HEADER_PS, PACKET_PS])
def test_a_packet_waits_until_its_output_is_free(wait_ps: int) -> None:
    late = f"{PACKET_PS - wait_ps}ps"
    result = simulate(star(3, [flow(0, 2, 1), flow(1, 2, 1, start=late)], cut_through={}))
    assert result.flows[1].fct_ps == HEADER_PS + DELAY_PS + SWITCH_PS + wait_ps + HOP_PS


def unequal(rates: tuple[str, str]) -> dict[str, Any]:
    scenario = star(2, [flow(0, 1, 1)], cut_through={})
    for link, rate in zip(scenario["network"]["explicit"]["links"], rates, strict=True):
        link["rate"] = rate
    return scenario


def test_a_slower_output_waits_for_the_header_and_a_faster_one_for_what_it_would_lack() -> None:
    # 1000 B take 80 ns, or 20 ns: of four times the rate the output would be done while three quarters were to come.
    slower = simulate(unequal(("400Gbps", "100Gbps")))
    assert departures(slower.trace, "s", "data", 0) == [64 * 20 + DELAY_PS + SWITCH_PS]
    faster = simulate(unequal(("100Gbps", "400Gbps")))
    assert departures(faster.trace, "s", "data", 0) == [60_000 + DELAY_PS + SWITCH_PS]


def test_the_input_counts_a_packet_until_its_last_bit_is_in() -> None:
    pfc = {"xoff": f"{WIRE_BYTES}B", "xon": "0B"}
    result = simulate(star(2, [flow(0, 1, 1)], cut_through={}, flow_control={"pfc": pfc}))
    handled_ps = HEADER_PS + DELAY_PS + SWITCH_PS
    assert departures(result.trace, "s", "data", 0) == [handled_ps]
    frames = [row.time_ps for row in result.trace if (row.node, row.event, row.kind) == ("s", "depart", "pfc")]
    assert frames == [handled_ps, handled_ps + PACKET_PS - HEADER_PS]
