"""REPS: packets leave a slow path, because marks and trimming tell their host the values that lead to the path.

Shares are of packets by each of four spines. Without marks on a path all values are alike, so that a slow spine loses
traffic only as far as its queue marks.
"""

from typing import Any

import pytest
from tests.validation.ultra_ethernet import acknowledged_us, fabric

import xoff

SPINES, HOSTS = 4, 4


def two_leaves(routing: dict[str, Any], slow: str = "100Gbps", seed: int = 1, **switch: Any) -> dict[str, Any]:
    """Three flows of 2 MB between two leaves with four spines, of which the first may have slow links."""
    names = ["leaf0", "leaf1", *(f"spine{i}" for i in range(SPINES))]
    nodes = [{"name": f"host{i}", "kind": "host"} for i in range(2 * HOSTS)] + [
        {"name": name, "kind": "switch"} for name in names
    ]
    links = [
        {"a": f"host{i}", "b": f"leaf{i // HOSTS}", "rate": "100Gbps", "delay": "1us"} for i in range(2 * HOSTS)
    ] + [
        {"a": f"leaf{leaf}", "b": f"spine{i}", "rate": slow if i == 0 else "100Gbps", "delay": "1us"}
        for leaf in range(2)
        for i in range(SPINES)
    ]
    flows = [{"src": i, "dst": HOSTS + i, "size": "2MB"} for i in range(HOSTS - 1)]
    scenario = fabric({"flows": flows}, routing=routing, **switch)
    # Hosts know the round trip of the network as planned: four links each way, with packets and ACKs on the links.
    scenario["host"]["congestion_control"]["nscc"] = {"round_trip": "9350ns"}
    return scenario | {"network": {"explicit": {"nodes": nodes, "links": links}}, "seed": seed}


def shares(result: xoff.Result) -> list[float]:
    """The share of data packets that the first leaf sent to each spine."""
    rows = result.links.to_pylist()
    sent = [row["data_packets"] for row in rows if row["node"] == "leaf0" and row["peer"].startswith("spine")]
    return [packets / sum(sent) for packets in sent]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_packets_leave_a_slow_path(seed: int) -> None:
    """One spine in four with a tenth of the rate has 3.2 % of the capacity; random choices give a fifth or more.

    The spine's share tends to its share of the capacity, plus packets in flight before the first ACKs. With random
    choices the slow path decides the ends of flows.
    """
    results = [xoff.run(two_leaves({name: {}}, "10Gbps", seed)) for name in ("reps", "spray")]
    recycled, random = (shares(result)[0] for result in results)
    assert recycled < 2 * 10 / 310 < random / 2
    # Three flows over 310 Gb/s: the ideal is the time on their own links.
    ends = [acknowledged_us(result)[-1] for result in results]
    assert ends[0] < 1.35 * 176.2
    assert ends[1] > 3 * 176.2
    assert results[0].summary["retransmitted"] < results[1].summary["retransmitted"] / 5


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_equal_paths_get_equal_shares(seed: int) -> None:
    """Without congestion all values are alike: 1470 packets over four spines, and nothing is lost."""
    result = xoff.run(two_leaves({"reps": {}}, seed=seed))
    assert result.summary["retransmitted"] == 0
    assert all(0.15 < share < 0.35 for share in shares(result))


def test_a_permutation_is_spread_no_worse_than_at_random() -> None:
    """Ultra Ethernet's simulator prints 198.2 us for REPS and 212.8 for random values, with 1024 hosts."""
    ends: dict[str, float] = {}
    for name in ("reps", "spray"):
        scenario = fabric({"permutation": {"size": "2MB"}}, k=8, routing={name: {}})
        ends[name] = acknowledged_us(xoff.run(scenario))[-1]
    assert ends["reps"] < ends["spray"]
    assert ends["reps"] == pytest.approx(198.246, rel=0.03)


def test_values_are_used_again() -> None:
    """Unmarked ACKs return their values, and later packets reuse the values."""
    result = xoff.run(two_leaves({"reps": {}}))
    packets = sum(row["packets_sent"] for row in result.flows.to_pylist())
    # 28 packets of each flow leave before its first ACK, after 9.35 us; from then on each ACK returns one value.
    assert 0.9 * packets < result.summary["reps"]["recycled"] <= packets - 3 * 28


def test_marks_that_nobody_sets_are_missed_and_those_that_it_hears_are_heard() -> None:
    without = two_leaves({"reps": {}})
    del without["switch"]["ecn"]
    told = [warning["message"] for warning in xoff.check(without)["warnings"]]
    assert any("REPS leaves a path for losses alone" in message for message in told)
    assert xoff.check(two_leaves({"reps": {}}) | {"host": {"transport": {"selective": {}}}})["warnings"] == []


@pytest.mark.parametrize(
    ("scenario", "why"),
    [
        (two_leaves({"reps": {"entropy_values": 1}}), "switch.routing.reps.entropy_values: 1 is out of range"),
        (two_leaves({"reps": {"buffer": 0}}), "switch.routing.reps.buffer: 0 is out of range"),
        (two_leaves({"reps": {"freeze": "1ms"}}, trimming=None), "switch.routing.reps.freeze: needs switch.trimming"),
        (two_leaves({"reps": {}, "spray": {}}), "chooses ports for packets, as does spray"),
        (two_leaves({"reps": {}}, telemetry={}), "writes onto packets, as does"),
        (
            two_leaves({"reps": {}}) | {"host": {"congestion_control": {"dcqcn": {"preset": "paper"}}}},
            "needs a mark on each ACK, and dcqcn",
        ),
        (
            two_leaves({"reps": {}}, trimming=None) | {"host": {"transport": {"raw": {}}}},
            "needs acknowledgements; host.transport.raw",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(scenario: dict[str, Any], why: str) -> None:
    scenario["switch"] = {key: value for key, value in scenario["switch"].items() if value is not None}
    with pytest.raises(xoff.InputError, match=why):
        xoff.check(scenario)
