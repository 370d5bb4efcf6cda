"""Incidents of a summary against the tables of the run, and what explanations say of them."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import xoff
from xoff.insight import Forest, breakdowns, repeat
from xoff.insight import words as texts
from xoff.results import incidents

US = 10**6
FABRIC: dict[str, Any] = {
    "network": {
        "leaf_spine": {
            "leaves": 2,
            "spines": 1,
            "hosts_per_leaf": 4,
            "link": {"rate": "100Gbps", "delay": "500ns"},
        }
    },
    "framing": {"payload": "1000B"},
    "switch": {"buffer": {"per_port": "200KB"}, "flow_control": {"pfc": {}}},
    "host": {"transport": {"go_back_n": {"rto": "100us"}}},
    "workload": [{"name": "burst", "incast": {"senders": [0, 1, 2, 3, 5, 6], "receiver": 4, "size": "500KB"}}],
    "audits": {"loss": "record", "pauses": "record", "completion": "record"},
}


def run(**changes: Any) -> xoff.Result:
    """Runs the fabric with other tables in the place of its own."""
    document = copy.deepcopy(FABRIC)
    for key, value in changes.items():
        document[key] = {**document[key], **value} if isinstance(document.get(key), dict) else value
    return xoff.run(document)


def stalled() -> xoff.Result:
    """The receiver stalls, and a watchdog drops its packets."""
    watchdog = {"detection": "20us", "poll": "10us", "restoration": "40us"}
    switch = {"flow_control": {"pfc": {"watchdog": watchdog}}}
    fault = [{"host": "host4", "stall": True, "at": "10us", "duration": "100us"}]
    return run(switch=switch, fault=fault)


def test_a_stall_and_the_watchdog_have_the_times_and_numbers_of_the_tables() -> None:
    result = stalled()
    drops = [row for row in result.drops.to_pylist() if row["reason"] == "PFC watchdog"]
    storms = [row for row in result.table("pause_frames").to_pylist() if row["storms"]]
    stall, watchdog = result.summary["incidents"][:2]
    assert (stall["kind"], stall["key"]) == ("stall", "fault[0]")
    assert (stall["start_ps"], stall["end_ps"]) == (10 * US, 110 * US)
    assert stall["message"].startswith("10.000 µs to 110.000 µs: host stalled: host4 read nothing")
    assert watchdog["kind"] == "watchdog"
    assert (watchdog["start_ps"], watchdog["end_ps"]) == (drops[0]["time_ps"], drops[-1]["time_ps"])
    assert f"it dropped {len(drops):,} packets" in watchdog["message"]
    assert f"fired {sum(row['storms'] for row in storms)} times" in watchdog["message"]
    assert "most at leaf1 port 0 (to host4), class 0" in watchdog["message"]


def test_the_stall_is_the_root_of_its_pauses_and_a_flow_names_the_packet_it_lost() -> None:
    result = repeat.repeated(stalled(), None)
    forest = Forest(result)
    roots = [texts.root_place(tree.root, forest) for tree in forest.trees]
    assert "host4, which stalled from 10.000 µs to 110.000 µs (fault[0])" in roots
    first = next(iter(result.drops.to_pylist()))
    slow = next(one for one in breakdowns(result, forest) if one.number == first["flow"])
    said = [texts.of_flow(part, slow) for part in slow.parts if part.kind in {"awaiting_ack", "retransmission"}]
    assert any(f"packet {first['seq']} was dropped at" in text and "(PFC watchdog)" in text for text in said)
    assert slow.to_dict()["first_drop"] == first


def test_a_port_that_does_not_obey_is_named_with_its_victims() -> None:
    override = {"switches": ["leaf0 -> spine0"], "pfc": {"obey": []}}
    result = run(switch={"overrides": [override], "buffer": {"per_port": "60KB"}})
    [ignored] = [row for row in result.table("pause_frames").to_pylist() if row["ignored"]]
    lost = result.drops.num_rows
    [first, *_] = result.summary["incidents"]
    assert first["kind"] == "disobedience"
    assert (
        f"leaf0 port 4 (to spine0) did not obey {ignored['ignored']:,} pause of class 0 by spine0" in first["message"]
    )
    assert f"spine0 had no room for {lost:,} packets from there" in first["message"]
    assert f"leaf0 did not obey {ignored['ignored']} pauses of this class there" in result.audits["loss"]
    assert "headroom" not in result.audits["loss"]


def test_frames_of_both_ends_of_a_link_are_equal() -> None:
    rows = run().table("pause_frames").to_pylist()
    sent = {(row["node"], row["peer"]): row["sent"] for row in rows}
    received = {(row["peer"], row["node"]): row["received"] for row in rows}
    assert any(sent.values())
    assert sent == {ends: received.get(ends, 0) for ends in sent}


@pytest.mark.parametrize(
    ("fault", "kind", "text"),
    [
        ({"link": "leaf0-spine0", "state": "down"}, "down", "link down: leaf0-spine0"),
        ({"link": "leaf0-spine0", "state": "down", "queued": "wait"}, "down", "link down, frames for it waited"),
        ({"node": "spine0", "state": "down"}, "down", "node down, with all its links: spine0"),
        ({"link": "leaf*-spine0", "rate": "1Gbps"}, "rate", "leaf0-spine0, leaf1-spine0 at 1Gbps instead of 100Gbps"),
        ({"link": "leaf0-spine0", "delay": "9us"}, "delay", "leaf0-spine0 with 9us instead of 500ns"),
    ],
)
def test_a_fault_is_told_with_its_losses(fault: dict[str, Any], kind: str, text: str) -> None:
    pfc = {"flow_control": {"pfc": {"quanta": 65535}}}
    result = run(switch=pfc, fault=[{"at": "20us", "duration": "30us"} | fault])
    [row, *_] = result.table("faults").to_pylist()
    [first, *_] = result.summary["incidents"]
    assert (first["kind"], first["key"]) == (kind, "fault[0]")
    assert (first["start_ps"], first["end_ps"]) == (row["start_ps"], row["end_ps"])
    assert text in first["message"]
    assert (f"{row['lost_packets']:,} packets" in first["message"]) == (row["lost_packets"] > 0)


def test_a_run_without_incidents_says_nothing() -> None:
    result = run()
    assert result.summary["incidents"] == []
    assert incidents.lines(result.summary) == []


def test_warnings_come_after_three_incidents() -> None:
    told = [{"message": f"incident {n}"} for n in range(5)]
    summary = {"incidents": told, "warnings": [{"path": "key", "message": "why"}]}
    assert incidents.lines(summary) == [
        *(f"incident {n}" for n in range(3)),
        "warning key: why",
        "incident 3",
        "incident 4",
    ]


def test_a_fault_that_makes_links_faster_or_differs_is_told_as_it_is() -> None:
    def told(**fault: Any) -> str:
        return str(run(fault=[{"at": "1us", "duration": "5us"} | fault]).summary["incidents"][0]["message"])

    assert "link faster than configured: leaf0-spine0 at 400Gbps instead of 100Gbps" in told(
        link="leaf0-spine0", rate="400Gbps"
    )
    assert "link shorter than configured: leaf0-spine0 with 5ns instead of 500ns" in told(
        link="leaf0-spine0", delay="5ns"
    )
    overrides = [{"link": "leaf1-spine0", "rate": "10Gbps"}]
    document = copy.deepcopy(FABRIC) | {"fault": [{"link": "leaf*-spine0", "rate": "50Gbps", "at": "1us"}]}
    document["network"]["overrides"] = overrides
    message = str(xoff.run(document).summary["incidents"][0]["message"])
    assert "link other than configured: leaf0-spine0, leaf1-spine0 at 50Gbps" in message
    assert "instead of" not in message


def test_a_stall_without_pfc_pauses_nobody() -> None:
    document = copy.deepcopy(FABRIC) | {"fault": [{"host": "host4", "stall": True, "at": "10us", "duration": "20us"}]}
    document["switch"] = {}
    message = str(xoff.run(document).summary["incidents"][0]["message"])
    assert "host stalled: host4 read nothing" in message
    assert "paused" not in message


def test_a_watchdog_is_told_with_the_class_that_it_dropped() -> None:
    watchdog = {"detection": "20us", "poll": "10us", "restoration": "40us"}
    document = copy.deepcopy(FABRIC) | {"fault": [{"host": "host4", "stall": True, "at": "10us", "duration": "100us"}]}
    pfc = {"pfc": {"watchdog": watchdog}}
    document["switch"] = {"classes": 2, "buffer": {"per_port": "200KB"}, "flow_control": pfc}
    document["workload"][0]["class"] = 1
    result = xoff.run(document)
    assert {row["class"] for row in result.drops.to_pylist()} == {1}
    [message] = [one["message"] for one in result.summary["incidents"] if one["kind"] == "watchdog"]
    assert ", class 1; it dropped " in message


@pytest.mark.parametrize("entries", [None, 7, "x", [None], [{"x": 1}], [{"message": 3}]])
def test_damaged_incidents_are_left_out(entries: Any) -> None:
    assert incidents.lines({"incidents": entries, "warnings": entries}) == []
