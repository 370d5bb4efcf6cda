"""Settings with which a lossless class loses packets are named before the run, and settings without fault are not."""

import copy
from typing import Any

import pytest

import xoff

BASE: dict[str, Any] = {
    "network": {
        "leaf_spine": {
            "leaves": 4,
            "spines": 2,
            "hosts_per_leaf": 8,
            "link": {"rate": "400Gbps", "delay": "30m"},
            "fabric_link": {"rate": "800Gbps", "delay": "100m"},
        }
    },
    "framing": {"payload": "4096B", "header": "58B"},
    "switch": {
        "forwarding_latency": "600ns",
        "classes": 2,
        "buffer": {"shared": {"total": "16MB", "alpha": 0.125}},
        "flow_control": {"pfc": {"classes": [1]}},
    },
    "workload": [{"class": 1, "incast": {"senders": [0, 1, 8, 9], "receiver": 31, "size": "2MB"}}],
}


def warned(**changes: Any) -> dict[str, str]:
    document = copy.deepcopy(BASE)
    for key, value in changes.items():
        *tables, last = key.split("__")
        place: Any = document
        for name in tables:
            place = place[int(name) if name.isdigit() else name]
        place[last] = value
    return {warning["path"]: warning["message"] for warning in xoff.check(document)["warnings"]}


def test_a_scenario_without_fault_has_no_warning() -> None:
    assert warned() == {}


@pytest.mark.parametrize(("headroom", "is_enough"), [("172525B", False), ("172526B", True)])
def test_headroom_is_compared_with_what_arrives_after_a_pause(headroom: str, is_enough: bool) -> None:
    """172,526 B on an 800 Gb/s link of 100 m: `headroom` of xoff.check, and docs/models/pfc.md."""
    found = warned(switch__buffer__shared__headroom=headroom)
    assert found == {} if is_enough else set(found) == {"switch.buffer.shared.headroom"}
    if not is_enough:
        assert "give 172526B" in found["switch.buffer.shared.headroom"]


def test_a_class_without_pfc_is_named_by_its_workload() -> None:
    assert "class 0 is not lossless" in warned(workload__0__class=0)["workload[0].class"]
    transports: dict[str, Any] = {"host": {"transport": {"irn": {}}}}
    assert not xoff.check({**BASE, **transports, "workload": [{**BASE["workload"][0], "class": 0}]})["warnings"]


def test_a_port_that_does_not_obey_is_named_by_its_override() -> None:
    deaf = {"switches": ["leaf0 -> spine0"], "pfc": {"obey": []}}
    found = warned(switch__overrides=[deaf])
    assert "leaf0 does not obey pauses of class 1 by spine0" in found["switch.overrides[0].pfc.obey"]
    both = {"switches": ["spine0 -> leaf0"], "pfc": {"send": []}}
    assert warned(switch__overrides=[deaf, both]) == {}


@pytest.mark.parametrize(("detection", "is_short"), [("20us", True), ("200ms", False)])
def test_a_watchdog_is_compared_with_the_pause_of_an_incast(detection: str, is_short: bool) -> None:
    found = warned(switch__flow_control__pfc={"classes": [1], "watchdog": {"detection": detection, "poll": "5us"}})
    assert ("switch.flow_control.pfc.watchdog.detection" in found) is is_short


def test_an_override_of_another_key_is_not_blamed() -> None:
    marks = {"switches": ["leaf*", "spine*"], "ecn": {"step": {"threshold": "100KB"}}}
    step = {"step": {"threshold": "200KB"}}
    found = warned(switch__buffer__shared__headroom="20KB", switch__ecn=step, switch__overrides=[marks])
    assert "switch.buffer.shared.headroom" in found
    assert not any("headroom" in path for path in found if path != "switch.buffer.shared.headroom")


def test_a_neighbour_that_sends_more_pauses_is_named_by_its_override() -> None:
    more = {"switches": ["spine0 -> leaf0"], "pfc": {"send": [0, 1]}}
    both = [*BASE["workload"], {**BASE["workload"][0], "class": 0}]
    found = warned(switch__overrides=[more], workload=both)
    assert "leaf0 does not obey pauses of class 0" in found["switch.overrides[0].pfc.send"]
    # Pauses of a class without traffic do no harm.
    assert warned(switch__overrides=[more]) == {}


def test_marking_of_one_leaf_is_named_by_its_override() -> None:
    marks = {"red": {"kmin": "400KB", "kmax": "1600KB", "pmax": 0.2}}
    late = {"switches": ["leaf3"], "ecn": {"red": {"kmin": "14MB", "kmax": "15MB", "pmax": 0.01}}}
    document = {**BASE, "host": {"congestion_control": {"dcqcn": {}}}}
    document["switch"] = {**BASE["switch"], "ecn": marks, "overrides": [late]}
    paths = [warning["path"] for warning in xoff.check(document)["warnings"]]
    assert paths == ["switch.overrides[0].ecn"]


def test_a_port_that_cannot_lose_packets_is_not_warned_of() -> None:
    deaf = [{"switches": ["leaf0 -> spine0"], "pfc": {"obey": []}}]
    assert "switch.overrides[0].pfc.obey" in warned(switch__overrides=deaf)
    # Unlimited memory loses nothing, and a class without traffic needs no pause.
    assert not any("obey" in path for path in warned(switch__overrides=deaf, switch__buffer="unlimited"))
    both = warned(switch__overrides=deaf, switch__flow_control={"pfc": {"classes": [0, 1]}})
    assert "class 1" in both["switch.overrides[0].pfc.obey"]


def test_the_transport_of_the_sending_hosts_counts() -> None:
    """Hosts with a selective transport may use a class without PFC, and a rule for classes may move others there."""
    flows = [{"class": 1, "flows": [{"src": 0, "dst": 9, "size": "1MB"}]}]
    lossy = [*flows, {"class": 0, "flows": [{"src": 1, "dst": 9, "size": "1MB"}]}]
    selective = [{"hosts": ["host1"], "transport": {"selective": {}}}]
    assert "workload[1].class" in warned(workload=lossy)
    assert warned(workload=lossy, host={"overrides": selective}) == {}
    classified = warned(workload=flows, host={"classify": {"by_destination": 1}})
    assert "class 0 is not lossless" in classified.get("host.classify", "class 0 is not lossless")


def test_a_watchdog_that_forwards_is_not_said_to_drop() -> None:
    watchdog = {"detection": "1us", "poll": "500ns", "restoration": "50us", "action": "forward"}
    found = warned(switch__flow_control={"pfc": {"classes": [1], "watchdog": watchdog}})
    assert "dropped" not in found["switch.flow_control.pfc.watchdog.detection"]
