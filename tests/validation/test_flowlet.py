"""Flowlets: a flow keeps its port through gaps up to the timeout, and leaves slow paths because of gaps."""

from statistics import mean
from typing import Any

import pytest
from tests.validation.test_reps import shares, two_leaves
from tests.validation.test_spray import PACKETS, SPINES, leaf_spine, uplinks
from tests.validation.ultra_ethernet import acknowledged_us

import xoff

SEEDS = range(1, 13)
BY_FLOW: dict[str, Any] = {}
FLOWLETS = {"flowlet": {"timeout": "4us"}}


def spaced(timeout: str) -> dict[str, Any]:
    """A flow with packets of 1048 B over a link of 1 Gb/s: 8.384 us apart at the leaf, to the picosecond."""
    scenario = leaf_spine({"routing": {"flowlet": {"timeout": timeout}}})
    slow = {"rate": "1Gbps", "delay": "500ns"}
    scenario["network"]["leaf_spine"] |= {"link": slow, "fabric_link": {"rate": "100Gbps", "delay": "500ns"}}
    return scenario


def test_gaps_of_the_timeout_keep_the_path() -> None:
    result = xoff.run(spaced("8384ns"))
    assert sorted(uplinks(result)) == [0, 0, 0, PACKETS]
    assert result.summary["flowlet"]["flowlets"] == 1


def test_gaps_a_picosecond_longer_draw_a_path_for_each_packet() -> None:
    result = xoff.run(spaced("8383999ps"))
    # Four standard deviations of a binomial count of mean 500 are 77.
    assert all(abs(n - PACKETS / SPINES) < 77 for n in uplinks(result))
    assert result.summary["flowlet"]["flowlets"] == PACKETS
    # The packets are far enough apart for no packet to overtake another.
    assert result.summary["retransmitted"] == 0


def test_other_flows_do_not_end_a_flowlet() -> None:
    """Gaps are counted per flow: packets of four flows are four times as dense, and each flow keeps its port."""
    scenario = spaced("8384ns")
    scenario["workload"] = [{"flows": [{"src": i, "dst": 4 + i, "size": "100KB"} for i in range(4)]}]
    result = xoff.run(scenario)
    assert result.summary["flowlet"]["flowlets"] == 4
    assert all(n % 100 == 0 for n in uplinks(result))


def test_flows_leave_a_slow_path() -> None:
    """A hash keeps every fourth flow on a slow spine; flowlets leave the spine.

    One spine in four has a tenth of the rate, 3.2 % of the capacity. A flow on the slow spine sends at the rate of
    arriving ACKs: packets of 332 ns are 3.3 us apart. On other paths gaps of this length are rare.
    """
    by_flow, flowlets = (
        [xoff.run(two_leaves(routing, "10Gbps", seed)) for seed in SEEDS] for routing in (BY_FLOW, FLOWLETS)
    )
    assert mean(shares(result)[0] for result in by_flow) > 0.2
    assert mean(shares(result)[0] for result in flowlets) < 1.5 * 10 / 310
    # 2 MB take 1638 us at 10 Gb/s.
    slowest = max(acknowledged_us(result)[-1] for result in by_flow)
    assert slowest > 1600
    assert max(acknowledged_us(result)[-1] for result in flowlets) < slowest / 3


def test_one_chooser_of_ports_is_enough() -> None:
    with pytest.raises(xoff.InputError, match="chooses ports for packets, as does"):
        xoff.check(two_leaves({"flowlet": {}, "drill": {}}))
    with pytest.raises(xoff.InputError, match="which chooses ports late"):
        xoff.check(leaf_spine({"routing": {"flowlet": {}}, "queueing": "iq"}))
