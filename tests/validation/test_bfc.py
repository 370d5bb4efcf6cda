"""BFC against arithmetic: queues of one hop's BDP, and the cost of the resume rule.

H is the round trip of a hop, 2 us here: C·H is 25 KB. With n flows to one output a queue may hold C·H/n before the
upstream neighbour is paused; the neighbour sends at full rate for H more: (1 − 1/n)·C·H. A queue's peak is C·H for any
n.
"""

from typing import Any

import pytest
from tests.validation.long_flows import WIRE, delivered_gbps, to_one, until

import xoff

HOP = 25_000


def bfc(senders: int, us: float = 1, **settings: Any) -> dict[str, Any]:
    """Long flows to one host, with simultaneous starts."""
    return to_one(senders, us, switch={"flow_control": {"bfc": settings}})


def peaks(result: xoff.Result) -> list[int]:
    """The peak of each data queue toward host 0."""
    rows = [row for row in result.queues.to_pylist() if row["node"] == "switch0" and row["port"] == 0]
    return [row["max_bytes"] for row in rows if row["packets"]]


@pytest.mark.parametrize("resume", ["counted", "threshold"])
@pytest.mark.parametrize("senders", [2, 4, 8, 16])
def test_every_flow_has_a_queue_of_one_product(senders: int, resume: str) -> None:
    """The peak is one BDP and one or two packets.

    The additional packets are the packet at the threshold and the packet in transmission. Some of many queues are
    paused at a time, which raises the threshold of the others for a while.
    """
    found = peaks(until(bfc(senders, resume=resume), 500))
    assert len(found) == senders
    assert all(HOP < peak <= HOP + (3 if senders < 16 else 6) * WIRE for peak in found), found


@pytest.mark.parametrize(("senders", "share"), [(2, 0.803), (4, 0.849), (8, 0.91), (16, 0.97)])
def test_going_on_when_all_is_gone_costs_a_round_trip(senders: int, share: float) -> None:
    """A queue with a resume at its last counted packet is idle for H; all queues are in phase.

    The fluid form is n²/(n² + n − 1), and a model of 120 slots for H gives the shares above. With a resume at the
    threshold no queue runs empty, if H covers the hop and its frames: a pause takes 5 ns, and a packet 84.
    """
    assert delivered_gbps(bfc(senders), 200, 1200) == pytest.approx(100 * share, rel=0.05)
    assert delivered_gbps(bfc(senders, resume="threshold", round_trip="2200ns"), 200, 1200) == pytest.approx(
        100, rel=1e-3
    )


def test_a_flow_with_a_queue_of_its_own_sees_no_pause() -> None:
    """A flow from a sender of the incast to an idle host shares its line with the incast, and no other resource."""
    scenario = bfc(8)
    scenario["network"]["explicit"]["nodes"].append({"name": "idle", "kind": "host"})
    scenario["network"]["explicit"]["links"].append({"a": "idle", "b": "switch0", "rate": "100Gbps", "delay": "1us"})
    scenario["workload"].append({"flows": [{"src": "host1", "dst": "idle", "size": "1MB", "start": "100us"}]})
    result = until(scenario, 1000)
    (victim,) = (row for row in result.flows.to_pylist() if row["dst"] == "idle")
    pfc = until(scenario | {"switch": {"flow_control": {"pfc": {"xoff": f"{HOP}B"}}}}, 1000)
    (stalled,) = (row for row in pfc.flows.to_pylist() if row["dst"] == "idle")
    # The incast takes an eighth of the sender's line at most, half a packet a turn.
    alone_us = 2 + 1001 * WIRE * 8 / 100_000
    assert victim["fct_ps"] / 1e6 < 1.25 * alone_us
    assert stalled["fct_ps"] is None or stalled["fct_ps"] > 4 * victim["fct_ps"]


def test_flows_that_share_a_queue_share_its_pauses() -> None:
    """With one queue the flow to the idle host waits for the incast; with two queues the flow does not wait."""
    ends = []
    for queues in (1, 2):
        scenario = bfc(4, queues=queues)
        scenario["network"]["explicit"]["nodes"].append({"name": "idle", "kind": "host"})
        link = {"a": "idle", "b": "switch0", "rate": "100Gbps", "delay": "1us"}
        scenario["network"]["explicit"]["links"].append(link)
        scenario["workload"].append({"flows": [{"src": "host1", "dst": "idle", "size": "300KB", "start": "100us"}]})
        result = until(scenario, 2000)
        (row,) = (row for row in result.flows.to_pylist() if row["dst"] == "idle")
        ends.append(row["fct_ps"])
    assert ends[0] > 2 * ends[1]


def test_every_pause_has_its_resume_and_every_flow_its_order() -> None:
    """Many flows of all sizes through leaves and spines, with fewer queues than flows; nothing is lost or overtakes."""
    scenario = {
        "network": {
            "leaf_spine": {"leaves": 4, "spines": 2, "hosts_per_leaf": 4, "link": {"rate": "100Gbps", "delay": "1us"}}
        },
        "switch": {"flow_control": {"bfc": {"queues": 4, "entries": 10}}},
        "workload": [
            {"poisson": {"load": 0.7, "sizes": "hadoop", "flows": 400}},
            {"incast": {"senders": [5, 6, 7, 9, 10, 11], "receiver": 0, "size": "200KB"}},
        ],
    }
    result = xoff.run(scenario)
    assert set(result.audits.values()) == {"ok"}
    assert result.summary["bfc"]["pauses"] > 100
    assert result.summary["bfc"]["shared"] > 0
    pauses = result.pauses.to_pylist()
    assert len(pauses) == result.summary["bfc"]["pauses"]
    assert sum(row["end_ps"] - row["start_ps"] for row in pauses) == result.summary["bfc"]["paused_ps"]


@pytest.mark.parametrize(
    ("switch", "why"),
    [
        ({"flow_control": {"bfc": {"queues": 0}}}, "bfc.queues: 0 is out of range"),
        ({"flow_control": {"bfc": {}, "pfc": {}}}, "bfc: mutually exclusive with pfc"),
        ({"flow_control": {"bfc": {}}, "classes": 2}, "bfc: BFC has its own queues"),
        ({"flow_control": {"bfc": {}}, "queueing": "voq"}, "bfc: BFC needs output queues"),
        ({"flow_control": {"bfc": {}}, "telemetry": {}}, "writes onto packets"),
    ],
)
def test_what_makes_no_sense_is_refused(switch: dict[str, Any], why: str) -> None:
    with pytest.raises(xoff.InputError, match=why):
        xoff.check(to_one(2, 1, switch=switch))
