"""Mixed fabrics: links with their own settings, and settings of some switches or of ports of some speed."""

from __future__ import annotations

from typing import Any

import pytest

import xoff

FABRIC = {"leaves": 2, "spines": 1, "hosts_per_leaf": 4, "link": {"rate": "100Gbps", "delay": "1us"}}
FRAME = 1048


def fabric(*, overrides: list[dict[str, Any]] | None = None, **switch: Any) -> dict[str, Any]:
    """Two leaves, a spine, and an incast of the three other hosts of each leaf to its first host."""
    incast = [{"incast": {"senders": [a + 1, a + 2, a + 3], "receiver": a, "size": "500KB"}} for a in (0, 4)]
    return {
        "network": {"leaf_spine": FABRIC, "overrides": overrides or []},
        "framing": {"payload": "1000B", "header": "48B"},
        "switch": switch,
        "workload": incast,
    }


def queues(result: xoff.Result, column: str) -> dict[str, int]:
    """Returns each switch's values of a column of the table of queues."""
    found: dict[str, int] = {}
    for row in result.queues.to_pylist():
        found[row["node"]] = found.get(row["node"], 0) + row[column]
    return found


def alone(scenario: dict[str, Any], src: str, dst: str) -> int | None:
    """Returns the completion time of one packet in the network of a scenario."""
    flow = [{"flows": [{"src": src, "dst": dst, "size": "1000B"}]}]
    return xoff.run(scenario | {"workload": flow}).summary["fct_ps"]["max"]


def test_a_link_of_its_own_delays_what_crosses_it() -> None:
    """One packet takes 1048 B at each link's rate and each link's delay: 83.84 ns at 100 Gb/s, 838.4 at 10."""
    plain = fabric()
    slow = fabric(overrides=[{"link": "spine0-leaf1", "rate": "10Gbps"}])
    far = fabric(overrides=[{"link": "leaf*-spine0", "delay": "1km"}])
    assert alone(plain, "host0", "host4") == 4 * 83_840 + 4 * 1_000_000
    assert alone(slow, "host0", "host4") == 3 * 83_840 + 838_400 + 4 * 1_000_000
    assert alone(far, "host0", "host4") == 4 * 83_840 + 2 * 1_000_000 + 2 * 5_000_000
    for changed in (slow, far):
        assert alone(changed, "host0", "host1") == alone(plain, "host0", "host1")


def test_the_last_override_of_a_link_counts() -> None:
    both = [{"link": "leaf0-spine*", "rate": "25Gbps"}, {"link": "leaf0-spine0", "rate": "100Gbps"}]
    assert alone(fabric(overrides=both), "host0", "host4") == alone(fabric(), "host0", "host4")


def test_a_length_is_a_delay() -> None:
    long = fabric()
    long["network"]["leaf_spine"] = FABRIC | {"link": {"rate": "100Gbps", "delay": "200m"}}
    assert xoff.run(long).summary["fingerprint"] == xoff.run(fabric()).summary["fingerprint"]


@pytest.mark.parametrize(
    ("where", "marking"),
    [({"switches": ["leaf1"]}, {"leaf1"}), ({"rate": "100Gbps"}, {"leaf0", "leaf1"}), ({"rate": "400Gbps"}, set())],
)
def test_marking_differs_by_switch_and_by_speed(where: dict[str, Any], marking: set[str]) -> None:
    """With marks above 10 KB, the incast is marked; elsewhere the threshold is above the whole incast."""
    scenario = fabric(overrides=[{"link": "leaf*-spine0", "rate": "400Gbps"}], ecn={"step": {"threshold": "10MB"}})
    scenario["switch"]["overrides"] = [{**where, "ecn": {"step": {"threshold": "10KB"}}}]
    marked = {node for node, count in queues(xoff.run(scenario), "marked").items() if count}
    assert marked == marking


def test_a_threshold_of_pfc_differs_by_switch() -> None:
    """XOFF of 20 KB is reached at its leaf alone; 1 MB at no other leaf."""
    scenario = fabric(flow_control={"pfc": {"xoff": "1MB"}})
    scenario["switch"]["overrides"] = [{"switches": ["leaf1"], "pfc": {"xoff": "20KB"}}]
    pauses = xoff.run(scenario).pauses.to_pylist()
    assert {row["peer"] for row in pauses} == {"leaf1"}


def test_headroom_and_alpha_differ_by_switch() -> None:
    """With a larger share of the pool a leaf holds 400 KB without a pause; another without headroom loses packets."""
    shared = {"total": "1MB", "alpha": 0.0625, "reserve": "0B"}
    scenario = fabric(buffer={"shared": shared}, flow_control={"pfc": {}})
    scenario |= {"audits": {"loss": "record"}, "host": {"transport": {"raw": {}}}}
    for work in scenario["workload"]:
        work["incast"]["size"] = "200KB"
    scenario["switch"]["overrides"] = [
        {"switches": ["leaf0"], "buffer": {"alpha": 64}},
        {"switches": ["leaf1"], "buffer": {"headroom": "0B"}},
    ]
    result = xoff.run(scenario)
    dropped = queues(result, "dropped")
    assert dropped["leaf0"] == 0 < dropped["leaf1"]
    assert "leaf0" not in {row["peer"] for row in result.pauses.to_pylist()}
    uniform = xoff.run(scenario, overrides={"switch.overrides": None})
    assert queues(uniform, "dropped")["leaf1"] == 0
    assert "leaf0" in {row["peer"] for row in uniform.pauses.to_pylist()}


def test_checks_say_what_holds_at_ports_of_each_setting() -> None:
    scenario = fabric(flow_control={"pfc": {"xoff": "100KB"}})
    scenario["switch"]["overrides"] = [{"switches": ["spine*"], "pfc": {"xoff": "300KB", "xon": "200KB"}}]
    rows = {(row["xoff_bytes"], row["xon_bytes"], row["ports"]) for row in xoff.check(scenario)["headroom"]}
    assert rows == {(100_000, 100_000 - 2 * FRAME, 10), (300_000, 200_000, 2)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"network.overrides": [{"link": "leaf0-spine7", "rate": "1Gbps"}]},
            "network.overrides[0].link: no link is called",
        ),
        ({"network.overrides": [{"link": "leaf0-spine0"}]}, "network.overrides[0]: an empty override"),
        ({"network.overrides": [{"link": "*", "rate": "1Kbps"}]}, "below the minimum of 1Mbps"),
        ({"switch.overrides": [{"rate": "1Gbps"}]}, "switch.overrides[0]: an empty override"),
        (
            {
                "switch.overrides": [{"switches": ["spin0"], "pfc": {"xoff": "1KB"}}],
                "switch.flow_control.pfc.xoff": "9KB",
            },
            "switch.overrides[0].switches[0]: no switch is called `spin0`; switches are leaf0, leaf1, spine0",
        ),
        (
            {"switch.overrides": [{"pfc": {"xoff": "1KB"}}]},
            "switch.overrides[0].pfc: switch.flow_control.pfc is missing",
        ),
        (
            {"switch.overrides": [{"ecn": {"step": {"threshold": "1KB"}}}]},
            "switch.overrides[0].ecn: switch.ecn is missing",
        ),
        (
            {"switch.overrides": [{"buffer": {"alpha": 1}}]},
            "switch.overrides[0].buffer: switch.buffer.shared is missing",
        ),
        (
            {
                "switch.buffer.shared.total": "1MB",
                "switch.flow_control.pfc.xon": "1KB",
                "switch.overrides": [{"pfc": {"xoff": "1KB"}}],
            },
            "switch.overrides[0].pfc: the thresholds of a shared buffer are dynamic",
        ),
        (
            {"switch.flow_control.pfc.xoff": "9KB", "switch.overrides": [{"pfc": {"xoff": "9KB", "xon": "9KB"}}]},
            "switch.overrides[0].pfc.xon: 9KB is not below xoff",
        ),
        (
            {
                "switch.ecn.step.threshold": "9KB",
                "switch.overrides": [{"ecn": {"red": {"kmin": "9KB", "kmax": "1KB"}}}],
            },
            "switch.overrides[0].ecn.red.kmin: 9KB is above kmax",
        ),
        (
            {"switch.buffer.shared.total": "1MB", "switch.overrides": [{"buffer": {"alpha": 0}}]},
            "switch.overrides[0].buffer.alpha: 0 is out of range",
        ),
        ({"switch.flow_control.pfc.refresh": False}, "switch.flow_control.pfc.refresh: without quanta"),
    ],
)
def test_what_makes_no_sense_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(xoff.InputError) as error:
        xoff.check(fabric(), overrides=change)
    assert message in str(error.value)


def test_the_fastest_path_stands_beside_a_flows_own() -> None:
    """A packet takes 838.4 ns, not 83.84, on each link of the slow spine; alone on either path the slowdown is 1."""
    scenario = fabric(overrides=[{"link": "*-spine1", "rate": "10Gbps"}])
    scenario["network"]["leaf_spine"] = FABRIC | {"spines": 2}
    flows = [{"src": "host0", "dst": "host4", "size": "1000B", "start": f"{10 * i}us"} for i in range(16)]
    rows = xoff.run(scenario | {"workload": [{"flows": flows}]}).flows.to_pylist()
    by_spine = {row["via"].split(", ")[1]: row for row in rows}
    assert set(by_spine) == {"spine0", "spine1"}
    fast = 4 * 83_840 + 4_000_000
    slow = 2 * 83_840 + 2 * 838_400 + 4_000_000
    assert {row["best_path_ideal_fct_ps"] for row in rows} == {fast}
    assert (by_spine["spine0"]["ideal_fct_ps"], by_spine["spine1"]["ideal_fct_ps"]) == (fast, slow)
    assert all(row["slowdown"] == 1 for row in rows)
