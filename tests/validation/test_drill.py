"""DRILL: two random choices keep queues short, all choices keep queues at one packet, and remote queues are not seen.

The load comes from Bernoulli sources with frames in the slots of their lines: in each slot up to eight packets find
eight ports, and each port sends one packet.
"""

from typing import Any

import pytest
from tests.validation.test_reps import shares, two_leaves
from tests.validation.test_spray import leaf_spine
from tests.validation.ultra_ethernet import acknowledged_us

import xoff

PORTS = 8
WIRE = 1048


def slots(routing: dict[str, Any], load: float, seed: int = 1) -> dict[str, Any]:
    """Eight hosts of a leaf send to eight of another, by eight spines, for 4770 slots."""
    scenario = leaf_spine({"routing": routing}, "raw", seed=seed)
    scenario["network"]["leaf_spine"] |= {"spines": PORTS, "hosts_per_leaf": PORTS}
    sources, destinations = list(range(PORTS)), list(range(PORTS, 2 * PORTS))
    ends = {"sources": sources, "destinations": destinations}
    scenario["workload"] = [{"bernoulli": {**ends, "load": load, "duration": "400us", "queue": "100KB"}}]
    return scenario


def waiting(result: xoff.Result) -> float:
    """The maximum number of packets waiting for a port of the first leaf."""
    most: int = max(row["max_bytes"] for row in result.queues.to_pylist() if row["node"] == "leaf0")
    return most / WIRE


@pytest.mark.parametrize("load", [0.5, 0.8, 1.0])
def test_the_shortest_of_all_queues_has_a_packet_at_most(load: float) -> None:
    """Eight ports send eight packets a slot: the shortest of all queues never has a waiting packet."""
    assert waiting(xoff.run(slots({"drill": {"samples": PORTS, "memory": 0}}, load))) <= 1


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_two_choices_make_queues_doubly_exponentially_rare(seed: int) -> None:
    """A queue of k packets or more has the share 0.8^(2^k - 1) with two choices, and about 0.8^k with one choice.

    Of 38,000 sampled queues none has more than six packets, one of them on the wire.
    """
    two, one = (waiting(xoff.run(slots({"drill": {"samples": d, "memory": 0}}, 0.8, seed))) for d in (2, 1))
    assert two <= 5
    assert one > 2 * two
    # One choice is random spraying, and a remembered choice replaces the second.
    assert waiting(xoff.run(slots({"spray": {}}, 0.8, seed))) > 2 * two
    assert waiting(xoff.run(slots({"drill": {"samples": 1, "memory": 1}}, 0.8, seed))) < one
    assert waiting(xoff.run(slots({"drill": {}}, 0.8, seed))) <= 5


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_slow_link_gets_what_it_can_send(seed: int) -> None:
    """One spine in four has a tenth of the rate, 3.2 % of the capacity; random choices give the spine a quarter."""
    result = xoff.run(two_leaves({"drill": {}}, "10Gbps", seed))
    assert shares(result)[0] < 1.25 * 10 / 310
    # 2 MB take 176.2 us on a path without queues; four samples are the maximum.
    assert acknowledged_us(result)[-1] < 1.06 * 176.2
    assert acknowledged_us(xoff.run(two_leaves({"drill": {"samples": 4}}, "10Gbps", seed)))[-1] < 1.02 * 176.2


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_slow_link_further_on_is_not_seen(seed: int) -> None:
    """DRILL reads queues of its own node: with the slow link behind the spine, the leaf's queues are equally short."""
    scenario = two_leaves({"drill": {}}, "10Gbps", seed)
    for link in scenario["network"]["explicit"]["links"]:
        if link["a"] == "leaf0":
            link["rate"] = "100Gbps"
    result = xoff.run(scenario)
    assert shares(result)[0] > 4 * 10 / 310
    assert acknowledged_us(result)[-1] > 3 * 176.2


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(xoff.InputError, match=r"switch\.routing\.drill\.samples: 0 is out of range"):
        xoff.check(two_leaves({"drill": {"samples": 0}}))
    with pytest.raises(xoff.InputError, match="which chooses ports late"):
        xoff.check(leaf_spine({"routing": {"drill": {}}, "queueing": "iq"}))
