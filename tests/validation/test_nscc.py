"""NSCC with Ultra Ethernet's parameters: sizes, queues, marks and printed results of the public reference simulator.

Without congestion a run is arithmetic, and agrees to the nanosecond. Under random paths and marks, the results agree
with the reference's printed numbers within a few per cent; in the reference hosts choose paths, in xoff switches do.
"""

from statistics import mean

import pytest
from tests.validation import long_flows
from tests.validation.long_flows import delivered_gbps, queues, to_one, until
from tests.validation.ultra_ethernet import CONTROL, PAYLOAD, WIRE, acknowledged_us, fabric, wire_us

import xoff


@pytest.mark.parametrize(
    ("size", "printed"), [(10 * PAYLOAD, 17.0107), (100 * PAYLOAD, 46.8907), (2_000_000, 176.2)], ids=str
)
def test_a_lone_flow_takes_what_the_reference_prints(size: int, printed: float) -> None:
    """Packets back to back, the last packet on five more links, and its ACK on six."""
    full, rest = divmod(size, PAYLOAD)
    own = wire_us(full, WIRE) + (wire_us(1, rest + 64) if rest else 0)
    expected = own + 5 * wire_us(1, WIRE) + 12 + 6 * wire_us(1, CONTROL)
    found = acknowledged_us(xoff.run(fabric({"flows": [{"src": 0, "dst": 15, "size": f"{size}B"}]})))
    assert found == pytest.approx([printed], abs=1e-3)
    if rest == 0:
        assert found == pytest.approx([expected], abs=1e-6)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_an_incast_of_fifteen_ends_when_the_reference_says(seed: int) -> None:
    """15 flows of 2 MB to one host: the reference prints 2478.5 us for the last flow and 811 retransmissions."""
    incast = {"incast": {"senders": list(range(1, 16)), "receiver": 0, "size": "2MB"}}
    result = xoff.run(fabric(incast) | {"seed": seed})
    assert acknowledged_us(result)[-1] == pytest.approx(2478.53, rel=0.03)
    assert result.summary["retransmitted"] == pytest.approx(811, rel=0.1)
    # The link is never idle: 15·(489·4150 + 2074) bytes and the headers of trimmed packets.
    busy = 15 * (wire_us(489, WIRE) + wire_us(1, 2_000_000 - 489 * PAYLOAD + 64))
    assert acknowledged_us(result)[-1] >= busy


def test_a_permutation_is_spread_as_the_reference_spreads_it() -> None:
    """16 hosts, 2 MB each: the reference prints 194.0 us without retransmissions; on single paths 527.8 us.

    The reference has its own pairs. Our pairs are drawn, so that single paths have three seeds.
    """
    sprayed, by_flow = [], []
    for seed in (1, 2, 3):
        scenario = fabric({"permutation": {"size": "2MB"}}) | {"seed": seed}
        result = xoff.run(scenario)
        assert result.summary["retransmitted"] == 0
        sprayed.append(acknowledged_us(result)[-1])
        del scenario["switch"]["routing"]
        by_flow.append(acknowledged_us(xoff.run(scenario))[-1])
    assert mean(sprayed) == pytest.approx(194.022, rel=0.03)
    assert min(by_flow) > 2 * max(sprayed)


@pytest.mark.parametrize("senders", [2, 8, 32])
def test_queues_stand_at_the_target(senders: int) -> None:
    """Windows fall only while the average delay is above three quarters of a round trip, and grow below."""
    product = (12 + 2 * wire_us(1, long_flows.WIRE)) * 12_500
    red = {"kmin": f"{round(0.2 * product)}B", "kmax": f"{round(0.8 * product)}B", "pmax": 1.0}
    scenario = to_one(
        senders,
        3,
        switch={"ecn": {"red": red}, "trimming": {"limit": f"{round(product)}B"}},
        host={"transport": {"selective": {}}, "congestion_control": {"nscc": {}}},
    )
    found = queues(scenario, 3000, 6000, every_ns=1000)
    assert mean(found) == pytest.approx(0.75 * product, rel=0.08)
    assert min(found) > 0.5 * product
    assert delivered_gbps(scenario, 3000, 6000) == pytest.approx(100, rel=1e-3)
    # Nothing is trimmed once windows have met the target.
    trimmed = [until(scenario, us).summary["trimming"]["trimmed"] for us in (3000, 6000)]
    assert trimmed[0] == trimmed[1] > 0


def test_without_quick_adaption_a_burst_is_cut_longer() -> None:
    """Fifteen windows into one queue: a packet less per trimmed packet trims more than quick adaption."""
    incast = {"incast": {"senders": list(range(1, 16)), "receiver": 0, "size": "200KB"}}
    quick, slow = fabric(incast), fabric(incast)
    slow["host"]["congestion_control"] = {"nscc": {"quick_adapt": False}}
    cut = [xoff.run(scenario).summary["trimming"]["trimmed"] for scenario in (quick, slow)]
    assert cut[0] < cut[1]
