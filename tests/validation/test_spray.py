"""Packet spraying: every uplink gets its share of a flow's packets, and flows end though packets overtake."""

from math import sqrt
from typing import Any

import pytest

import xoff

SPINES = 4
PACKETS = 2000


def leaf_spine(switch: dict[str, Any], transport: str = "irn", **more: Any) -> dict[str, Any]:
    """One flow from leaf to leaf, with four equal paths between the leaves."""
    link = {"rate": "100Gbps", "delay": "500ns"}
    return {
        "network": {"leaf_spine": {"leaves": 2, "spines": SPINES, "hosts_per_leaf": 4, "link": link}},
        "framing": {"payload": "1000B"},
        "switch": switch,
        "host": {"transport": {transport: {"bdp_cap": "104KB"} if transport == "irn" else {}}},
        "workload": [{"flows": [{"src": 0, "dst": 4, "size": f"{PACKETS}KB"}]}],
        **more,
    }


def uplinks(result: xoff.Result) -> list[int]:
    """Data packets from the first leaf to each spine."""
    return [
        r["data_packets"] for r in result.links.to_pylist() if r["node"] == "leaf0" and r["peer"].startswith("spine")
    ]


def test_a_hash_keeps_a_flow_on_one_path() -> None:
    assert sorted(uplinks(xoff.run(leaf_spine({})))) == [0, 0, 0, PACKETS]


def test_turns_are_equal() -> None:
    sent = uplinks(xoff.run(leaf_spine({"routing": {"spray": {"choice": "round_robin"}}})))
    assert sum(sent) == PACKETS
    assert max(sent) - min(sent) <= 1


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_choices_are_equal_within_chance(seed: int) -> None:
    """Four standard deviations of a binomial count."""
    sent = uplinks(xoff.run(leaf_spine({"routing": {"spray": {}}}, seed=seed)))
    assert sum(sent) == PACKETS
    share = 1 / SPINES
    assert all(abs(n - PACKETS * share) < 4 * sqrt(PACKETS * share * (1 - share)) for n in sent)


@pytest.mark.parametrize("choice", ["random", "round_robin"])
def test_packets_overtake_and_flows_complete(choice: str) -> None:
    """All hosts of four leaves send: IRN keeps early packets, and retransmits overtaken packets in vain."""
    scenario = leaf_spine({"routing": {"spray": {"choice": choice}}}, probe={"packets": True})
    scenario["network"]["leaf_spine"]["leaves"] = 4
    incast = {"senders": [1, 2, 5, 6], "receiver": 0, "size": "300KB"}
    scenario["workload"] = [{"permutation": {"size": "500KB"}}, {"incast": incast}]
    result = xoff.run(scenario)
    assert set(result.audits.values()) == {"ok"}
    assert result.summary["flows"]["completed"] == result.summary["flows"]["total"] == 20
    assert result.summary["drops"] == 0
    assert result.summary["retransmitted"] == result.summary["transport"]["spurious_retransmissions"]
    latest: dict[int, int] = {}
    overtaken = 0
    for row in result.packets.to_pylist():
        if row["kind"] == "data" and row["event"] == "arrive" and row["node"].startswith("host"):
            overtaken += row["seq"] < latest.get(row["flow"], -1)
            latest[row["flow"]] = max(row["seq"], latest.get(row["flow"], -1))
    assert overtaken > 0
