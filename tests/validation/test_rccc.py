"""RCCC with Ultra Ethernet's parameters, and against arithmetic: receivers grant at most the rate of their lines.

The public reference simulator prints completion times for its plans. xoff acknowledges every packet, in contrast to the
reference, so that flows in opposite directions leave each other slightly less of a link.
"""

from statistics import mean
from typing import Any

import pytest
from tests.validation import long_flows
from tests.validation.long_flows import delivered_gbps, queues, to_one, until
from tests.validation.test_trimming import LIMIT, incast, slowest_us
from tests.validation.ultra_ethernet import PAYLOAD, PRODUCT, WIRE, acknowledged_us, fabric, wire_us

import xoff

UNMARKED = {"switches": ["access* -> host*"], "ecn": {"red": {"kmin": "1GB", "kmax": "1GB", "pmax": 0.0}}}
"""With credits, the reference marks nothing between the last switch and a host."""
INCAST = {"incast": {"senders": list(range(1, 16)), "receiver": 0, "size": "2MB"}}


def rccc(scenario: dict[str, Any], *others: str, **settings: Any) -> dict[str, Any]:
    """Returns the scenario with credits, and with other congestion controls in addition."""
    control = {"rccc": settings, **{name: {} for name in others}}
    return scenario | {"host": {"transport": {"selective": {}}, "congestion_control": control}}


@pytest.mark.parametrize("beside", [[], ["nscc"]], ids=["alone", "with NSCC"])
@pytest.mark.parametrize(
    ("size", "printed"), [(10 * PAYLOAD, 17.0107), (100 * PAYLOAD, 46.8907), (2_000_000, 177.368)], ids=str
)
def test_a_lone_flow_takes_what_the_reference_prints(size: int, printed: float, beside: list[str]) -> None:
    """The last is 1.17 us later than under NSCC: what goes after the first answer goes at 99 % of the line."""
    flow = {"flows": [{"src": 0, "dst": 15, "size": f"{size}B"}]}
    assert acknowledged_us(xoff.run(rccc(fabric(flow), *beside))) == pytest.approx([printed], abs=1e-3)


@pytest.mark.parametrize("share", [0.99, 0.5])
def test_a_lone_flow_is_granted_its_receivers_share(share: float) -> None:
    scenario = rccc(to_one(1, 1), rate=share)
    assert delivered_gbps(scenario, 100, 400) == pytest.approx(100 * share, rel=2e-3)


@pytest.mark.parametrize(("beside", "printed"), [([], 2464.44), (["nscc"], 2462.92)], ids=["alone", "with NSCC"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_an_incast_of_fifteen_ends_when_the_reference_says(seed: int, beside: list[str], printed: float) -> None:
    """15 flows of 2 MB to one host. Credits alone: 762 packets sent again, and the first flow ends at 2368 us."""
    result = xoff.run(rccc(fabric(INCAST, overrides=[UNMARKED]), *beside) | {"seed": seed})
    ends = acknowledged_us(result)
    assert ends[-1] == pytest.approx(printed, rel=3e-3)
    if not beside:
        assert result.summary["retransmitted"] == pytest.approx(762, rel=0.02)
        assert ends[0] == pytest.approx(2368, rel=0.02)
    assert result.summary["rccc"]["requests"] == 0


@pytest.mark.parametrize("scheme", [{}, {"pint": {}}], ids=["INT", "PINT"])
def test_what_switches_write_beside_packets_leaves_what_flows_ask_for_as_it_is(scheme: dict[str, Any]) -> None:
    """Packets carry the demand of their flow, beside a side record that takes no byte on the wire."""
    plain = rccc(fabric(INCAST))
    both = plain | {"switch": plain["switch"] | {"telemetry": scheme}}
    assert acknowledged_us(xoff.run(both)) == acknowledged_us(xoff.run(plain))
    assert xoff.run(both).summary["rccc"] == xoff.run(plain).summary["rccc"]


def test_a_permutation_takes_what_the_reference_takes() -> None:
    """16 hosts, 2 MB each: printed are 195.7 us, with 3 packets sent again; pairs are drawn here."""
    ends = [acknowledged_us(xoff.run(rccc(fabric({"permutation": {"size": "2MB"}})) | {"seed": n})) for n in (1, 2, 3)]
    assert mean(end[-1] for end in ends) == pytest.approx(195.673, rel=0.03)


@pytest.mark.parametrize("senders", [2, 8, 32])
def test_an_incast_fills_the_line_and_no_more(senders: int) -> None:
    """99 % of the line, with a hundredth left to drain the queue of the first, ungranted credit.

    Nothing is trimmed after the first burst, and the queue is at most the overlap of two pulls of sixteen packets.
    """
    scenario = rccc(to_one(senders, 1, switch={"trimming": {"limit": f"{100 * long_flows.WIRE}B"}}))
    assert delivered_gbps(scenario, 2000, 2400) == pytest.approx(99, rel=2e-3)
    trimmed = [until(scenario, us).summary["trimming"]["trimmed"] for us in (100, 2400)]
    assert trimmed[0] == trimmed[1]
    found = queues(scenario, 2000, 2400)
    assert mean(found) < 4 * long_flows.WIRE
    assert max(found) <= 32 * long_flows.WIRE


def test_flows_get_equal_credit() -> None:
    """Between two moments each of eight has as many packets, but for a pull of sixteen."""
    scenario = rccc(to_one(8, 1, switch={"trimming": {"limit": f"{100 * long_flows.WIRE}B"}}))
    sent = [[row["packets_sent"] for row in until(scenario, us).flows.to_pylist()] for us in (400, 800)]
    found = [after - before for before, after in zip(*sent, strict=True)]
    assert mean(found) > 500
    assert max(found) - min(found) <= 2 * 16_384 / long_flows.WIRE


@pytest.mark.parametrize("senders", [1, 4, 15])
def test_credit_is_spent_lapsed_or_left(senders: int) -> None:
    """Spent credit equals the wire bytes of all packets; no flow owes a packet, or has more credit than allowed."""
    packets = 300
    result = xoff.run(rccc(incast(senders, packets), maximum=1.0))
    books = result.summary["rccc"]
    sent = sum(row["packets_sent"] for row in result.flows.to_pylist())
    assert books["spent_bytes"] == sent * long_flows.WIRE
    left = books["granted_bytes"] - books["spent_bytes"] - books["lapsed_bytes"]
    most = (4 + 2 * (0.08384 + 0.00512)) * 12_500
    assert -senders * long_flows.WIRE < left <= senders * most
    assert sent == senders * packets + result.summary["trimming"]["trimmed"]


def test_a_flow_that_is_not_heard_asks_for_credit() -> None:
    """Short queues that drop: receivers do not know the demand of flows until flows ask after a timeout."""
    switch = {"buffer": {"per_queue": f"{LIMIT * long_flows.WIRE}B"}}
    scenario = rccc(incast(32, 100, switch=switch), slow_pulls=False)
    scenario["host"]["transport"]["selective"]["rto"] = "50us"
    result = xoff.run(scenario)
    assert result.summary["drops"] > 0
    assert result.summary["rccc"]["requests"] > 0
    assert result.summary["flows"]["completed"] == 32


def test_credit_that_nobody_asked_for_is_bounded() -> None:
    """A flow without demand gets a BDP and a half in pulls of 16 KB, and no further pull."""
    packets = 20
    size = f"{packets * PAYLOAD}B"
    late = {"flows": [{"src": 0, "dst": 15, "size": size}, {"src": 1, "dst": 14, "size": "2MB"}]}
    result = xoff.run(rccc(fabric(late)))
    books = result.summary["rccc"]
    assert 0 < books["slow_pulls"] <= 2 * (1.5 * PRODUCT / 16_384 + 1)
    assert xoff.run(rccc(fabric(late), slow_pulls=False)).summary["rccc"]["slow_pulls"] == 0


def test_a_narrow_network_lowers_what_is_granted() -> None:
    """Four hosts share an uplink of one host's rate: the guaranteed rate is nine tenths of a quarter each.

    Without the reduction receivers grant credit for packets that are then trimmed, the majority of all packets.
    """
    link = {"rate": "100Gbps", "delay": "1us"}
    scenario = {
        "network": {"leaf_spine": {"leaves": 4, "spines": 1, "hosts_per_leaf": 4, "link": link}},
        "framing": {"payload": "4086B", "header": "64B", "control_frame_size": "64B"},
        "switch": {"trimming": {"limit": "200KB"}, "ecn": {"red": {"kmin": "40KB", "kmax": "160KB", "pmax": 1.0}}},
        "workload": [{"flows": [{"src": n, "dst": (n + 4) % 16, "size": "3MB"} for n in range(16)]}],
    }
    plain, adapted = (xoff.run(rccc(scenario, **more)) for more in ({}, {"oversubscription": {"minimum": 0.225}}))
    cut = [result.summary["trimming"]["trimmed"] for result in (plain, adapted)]
    assert cut[1] < cut[0] / 10
    assert wire_us(4 * 3_000_000 / PAYLOAD, WIRE) < slowest_us(adapted) < slowest_us(plain)


HOST: dict[str, Any] = {"transport": {"selective": {}}, "congestion_control": {"rccc": {}}}


@pytest.mark.parametrize(
    ("host", "switch", "why"),
    [
        (HOST | {"transport": {"irn": {}}}, {}, "rccc: RCCC needs a transport whose retransmissions use credit"),
        (HOST | {"transport": {}}, {}, "rccc: RCCC needs a transport whose retransmissions use credit"),
        (HOST | {"transport": {"raw": {}}}, {}, "rccc: host.transport.raw returns no acknowledgement"),
        (
            HOST | {"transport": {"ndp": {}}},
            {},
            "host.congestion_control: rccc is not allowed with ndp, whose receivers",
        ),
        (
            {"congestion_control": {"bcn": {}}},
            {"flow_control": {"sfc": {"mode": "nic_isolation", "pause": "1us", "threshold": "1KB"}, "pfc": {}}},
            "host.congestion_control.bcn: tags packets, as does sfc; remove host.congestion_control.bcn",
        ),
        (HOST, {"routing": {"reps": {}}}, "rccc: tags packets, as does reps"),
        (
            HOST | {"congestion_control": {"rccc": {}, "nscc": {}, "swift": {}}},
            {},
            "host.congestion_control: swift and nscc and rccc are given; give at most one of dcqcn, .*nscc",
        ),
        (HOST | {"congestion_control": {"rccc": {"rate": 0}}}, {}, "rccc.rate: 0 is out of range"),
        (HOST | {"congestion_control": {"rccc": {"maximum": 0}}}, {}, "rccc.maximum: 0 is out of range"),
        (HOST | {"congestion_control": {"rccc": {"quantum": "1B"}}}, {}, "rccc.quantum: 1B is out of range"),
        (HOST | {"congestion_control": {"rccc": {"batch": "100B"}}}, {}, "rccc.batch: 100B is out of range"),
        (HOST | {"congestion_control": {"rccc": {"round_trip": "1ns"}}}, {}, "rccc.round_trip: allowed are"),
        (
            HOST | {"congestion_control": {"rccc": {"oversubscription": {"target": 2}}}},
            {},
            "rccc.oversubscription.target: 2 is out of range",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(host: dict[str, Any], switch: dict[str, Any], why: str) -> None:
    with pytest.raises(xoff.InputError, match=why):
        xoff.check(incast(2, 3, host=host, switch=switch))
