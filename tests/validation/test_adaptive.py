"""Adaptive routing: loads of ports differ by a packet at most, dead ports are never used, and load updates help.

The load comes from Bernoulli sources with frames in the slots of their lines: in each slot up to eight packets find
eight ports, and each port sends one packet.
"""

from typing import Any

import pytest
from tests.validation.test_drill import slots, waiting
from tests.validation.test_faults import FRAME_PS, HOP_PS, clos, started, way_of_it
from tests.validation.test_reps import shares, two_leaves
from tests.validation.test_spray import leaf_spine, uplinks
from tests.validation.ultra_ethernet import acknowledged_us

import xoff

PACKET: dict[str, Any] = {"adaptive": {}}
TOLD: dict[str, Any] = {"adaptive": {"load_update_interval": "1us"}}


@pytest.mark.parametrize("load", [0.5, 0.8, 1.0])
def test_with_as_many_ports_as_sources_nothing_waits_for_more_than_a_packet(load: float) -> None:
    assert waiting(xoff.run(slots(PACKET, load))) <= 1


def test_ports_send_alike_within_a_packet() -> None:
    """Four ports of a quarter of the flow's rate: each packet finds one port just idle, and three busy ports."""
    scenario = leaf_spine({"routing": PACKET}, "raw")
    scenario["network"]["leaf_spine"] |= {"spines": 4}
    scenario["network"]["leaf_spine"]["fabric_link"] = {"rate": "25Gbps", "delay": "500ns"}
    result = xoff.run(scenario)
    sent = uplinks(result)
    assert len(sent) == 4
    assert max(sent) - min(sent) <= 1


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_slow_link_gets_what_it_can_send(seed: int) -> None:
    """One spine in four has a tenth of the rate, 3.2 % of the capacity."""
    result = xoff.run(two_leaves(PACKET, "10Gbps", seed))
    assert shares(result)[0] < 1.1 * 10 / 310
    # 2 MB take 176.2 us by a path without queues.
    assert acknowledged_us(result)[-1] < 1.02 * 176.2


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_slow_link_further_on_is_seen_where_neighbours_are_told(seed: int) -> None:
    """With the slow link behind the spine, the leaf's own queues are as short as others."""

    def behind(routing: dict[str, Any]) -> xoff.Result:
        scenario = two_leaves(routing, "10Gbps", seed)
        for link in scenario["network"]["explicit"]["links"]:
            if link["a"] == "leaf0":
                link["rate"] = "100Gbps"
        return xoff.run(scenario)

    blind, told = behind(PACKET), behind(TOLD)
    assert shares(blind)[0] > 4 * 10 / 310
    assert shares(told)[0] < 2 * 10 / 310
    assert acknowledged_us(told)[-1] < 0.5 * acknowledged_us(blind)[-1]
    assert told.summary["adaptive"]["load_updates"] > 0
    assert blind.summary["adaptive"]["load_updates"] == 0


@pytest.mark.parametrize("per", ["packet", "flowlet"])
def test_a_dead_port_is_left_at_once(per: str) -> None:
    """Only packets on the link at the failure are lost, on each of the two paths or on the flowlet's path."""
    routing = {"routing": {"adaptive": {"per": per}}}
    spine = way_of_it() if per == "packet" else "spine*"
    if per == "flowlet":
        via = xoff.run(clos([], {}, switch=routing)).links.to_pylist()
        spine = max(via, key=lambda row: row["data_packets"] * row["node"].startswith("spine"))["node"]
    cut = {"link": f"leaf0-{spine}", "state": "down", "at": "10000001ps"}
    result = xoff.run(clos([cut], {}, switch=routing))
    on_link = started(1, 10_000_001 - HOP_PS, HOP_PS)
    lost = result.summary["fault"]["lost"]
    assert lost == on_link if per == "flowlet" else 0 < lost < on_link
    assert result.summary["adaptive"]["no_good_port"] == 0
    # The flow continues at line rate on the other path.
    last = max(row["data_packets"] for row in result.links.to_pylist() if row["node"].startswith("spine"))
    assert last >= 1000 - 10_000_001 // FRAME_PS - 1


def test_a_port_that_is_dead_further_on_is_left_when_its_node_has_told() -> None:
    spine = way_of_it()
    cut = {"link": f"{spine}-leaf1", "state": "down", "at": "10000001ps"}
    blind, told = (xoff.run(clos([cut], {}, switch={"routing": routing})) for routing in (PACKET, TOLD))
    # Half of the later packets are lost, or the packets in flight at the leaf's update: two links and a control frame.
    assert blind.summary["fault"]["lost"] > 400
    assert told.summary["fault"]["lost"] <= (2 * HOP_PS + HOP_PS) // FRAME_PS
    # The port is used again after its repair.
    back = xoff.run(clos([cut | {"duration": "20us"}], {}, switch={"routing": TOLD}))
    again = {row["node"]: row["data_packets"] for row in back.links.to_pylist() if row["peer"] == "leaf1"}
    assert again[spine] > 300


def test_packets_without_a_good_port_are_counted() -> None:
    cut = {"link": "leaf0-spine*", "state": "down", "at": "10000001ps", "duration": "20us"}
    result = xoff.run(clos([cut], {}, switch={"routing": PACKET}))
    # Both links are down for 20 us: each packet that reaches the leaf meanwhile finds none, and is lost.
    assert 100 < result.summary["adaptive"]["no_good_port"] <= result.summary["fault"]["lost"]


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(xoff.InputError, match=r"switch\.routing\.adaptive\.load_update_interval: 1ns is out of range"):
        xoff.check(two_leaves({"adaptive": {"load_update_interval": "1ns"}}))
    with pytest.raises(xoff.InputError, match="which chooses ports late"):
        xoff.check(leaf_spine({"routing": PACKET, "queueing": "iq"}))
