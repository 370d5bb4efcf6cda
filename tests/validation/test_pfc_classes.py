"""PFC for some classes: the other classes neither cause nor obey pauses, and lose packets without room."""

from typing import Any

import pytest
from tests.validation.test_audits import ring
from tests.validation.test_static_deadlock import cycles

import xoff

LINK = {"rate": "100Gbps", "delay": "1us"}
BUFFERS: dict[str, dict[str, Any]] = {
    "per_port": {"per_port": "200KB"},
    "per_queue": {"per_queue": "100KB"},
    "shared": {"shared": {"total": "1MB", "alpha": 0.25}},
}


def congested(buffer: dict[str, Any], queueing: str = "oq", **pfc: Any) -> dict[str, Any]:
    """Two hosts overload one output in each of two classes, which share the output alike."""
    return {
        "network": {"star": {"hosts": 3, "link": LINK}},
        "framing": {"payload": "952B", "header": "48B"},
        "switch": {
            "queueing": queueing,
            "classes": 2,
            "scheduler": "round_robin",
            "buffer": buffer,
            "flow_control": {"pfc": pfc},
        },
        "host": {"transport": {"selective": {}}},
        "workload": [{"incast": {"senders": [1, 2], "receiver": 0, "size": "1MB"}, "class": c} for c in (0, 1)],
        "until": "2ms",
    }


def losses(result: xoff.Result) -> set[int]:
    return {row["class"] for row in result.drops.to_pylist()}


def paused(result: xoff.Result) -> set[int]:
    return {row["class"] for row in result.pauses.to_pylist()}


@pytest.mark.parametrize("queueing", ["oq", "voq", "iq"])
@pytest.mark.parametrize("buffer", BUFFERS)
@pytest.mark.parametrize("lossless", [0, 1])
def test_one_class_loses_and_the_other_pauses(lossless: int, buffer: str, queueing: str) -> None:
    result = xoff.run(congested(BUFFERS[buffer], queueing, classes=[lossless]))
    assert losses(result) == {1 - lossless}
    assert paused(result) == {lossless}
    assert result.audits["loss"] == "ok"
    assert result.summary["flows"]["completed"] == 4


def test_with_egress_accounting_the_queue_of_the_other_class_never_pauses() -> None:
    scenario = congested({"per_queue": "300KB"}, classes=[1], accounting="egress", xoff="100KB")
    result = xoff.run(scenario)
    assert losses(result) == {0}
    assert paused(result) == {1}
    assert result.audits["loss"] == "ok"


@pytest.mark.parametrize("buffer", BUFFERS)
def test_all_classes_are_the_default(buffer: str) -> None:
    expected = xoff.run(congested(BUFFERS[buffer])).fingerprint
    assert xoff.run(congested(BUFFERS[buffer], classes=[1, 0])).fingerprint == expected
    assert xoff.run(congested(BUFFERS[buffer], classes=[1])).fingerprint != expected


def test_a_class_without_pfc_has_no_headroom_and_its_share_of_a_port() -> None:
    # Memory for the headroom of one class of each port, but not of two classes.
    (row,) = xoff.check(congested(BUFFERS["shared"]))["headroom"]
    total = 3 * 2 * 4096 + 3 * row["needed_bytes"] + 50_000
    buffer = {"shared": {"total": f"{total}B"}}
    with pytest.raises(xoff.InputError, match="the headroom and the reserve"):
        xoff.check(congested(buffer))
    (row,) = xoff.check(congested(buffer, classes=[1]))["headroom"]
    assert row["available_bytes"] >= row["needed_bytes"]
    # One class of two holds half of the memory of a port.
    marks = xoff.run(congested(BUFFERS["per_port"], "voq", classes=[1])).high_water.to_pylist()
    most = max(row["bytes"] for row in marks if (row["kind"], row["class"]) == ("ingress", 0))
    assert 99_000 <= most <= 100_000


def test_a_cycle_needs_a_class_under_pfc() -> None:
    scenario = ring()
    scenario["switch"] |= {"classes": 2}
    pfc = scenario["switch"]["flow_control"]["pfc"]
    assert cycles(scenario) != []
    for classes in ([0], [1]):
        pfc["classes"] = classes
        assert (cycles(scenario) != []) == (classes == [0])
    # Flows of class 0 are not under PFC now, and overflow no lossless class.
    scenario["switch"]["buffer"] = {"per_port": "200KB"}
    result = xoff.run(scenario | {"audits": {"completion": "record"}, "until": "1ms"})
    assert result.audits["loss"] == result.audits["deadlock"] == "ok"
    assert result.summary["drops"] > 0


def chain(*overrides: dict[str, Any]) -> dict[str, Any]:
    """A fast host behind two switches sends to a slow host: the last switch overflows unless the first obeys."""
    names = ["host0", "near", "far", "host1"]
    rates = ["100Gbps", "100Gbps", "10Gbps"]
    return {
        "network": {
            "explicit": {
                "nodes": [{"name": name, "kind": "host" if "host" in name else "switch"} for name in names],
                "links": [
                    {"a": names[i], "b": names[i + 1], "rate": rate, "delay": "1us"} for i, rate in enumerate(rates)
                ],
            }
        },
        "switch": {
            "classes": 2,
            "buffer": {"per_port": "200KB"},
            "flow_control": {"pfc": {}},
            "overrides": list(overrides),
        },
        "host": {"transport": {"selective": {}}},
        "workload": [{"class": 1, "flows": [{"src": "host0", "dst": "host1", "size": "1MB"}]}],
        "audits": {"loss": "record"},
        "until": "2ms",
    }


def test_overrides_send_and_obey() -> None:
    def seen(*overrides: dict[str, Any]) -> tuple[set[str], bool, bool]:
        """Who was paused, whether packets were lost, and whether this is a violation."""
        result = xoff.run(chain(*overrides))
        nodes = {row["node"] for row in result.pauses.to_pylist()}
        return nodes, result.summary["drops"] > 0, result.audits["loss"] != "ok"

    assert seen() == ({"near", "host0"}, False, False)
    # Sends, and is not heard: packets of a lossless class are lost.
    assert seen({"switches": ["near"], "pfc": {"obey": [0]}}) == (set(), True, True)
    # Sends nothing: the class is not lossless there.
    assert seen({"switches": ["far"], "pfc": {"send": [0]}}) == (set(), True, False)
    assert seen({"switches": ["far"], "pfc": {"send": []}}) == (set(), True, False)
    # Hears and sends what is needed, by port.
    assert seen({"switches": ["far -> host1"], "pfc": {"send": [], "obey": []}}) == ({"near", "host0"}, False, False)
