"""Warnings are about possible problems: marks at hosts, jobs that share hosts, early timeouts, starved senders."""

from __future__ import annotations

from typing import Any

import pytest

import xoff

LINK = {"rate": "100Gbps", "delay": "250ns"}
RAIL = {
    "servers": 2,
    "gpus_per_server": 2,
    "scale_up": {"rate": "2880Gbps", "delay": "25ns"},
    "rail": {"rate": "400Gbps", "delay": "500ns"},
}
MARKS = {"buffer": {"shared": {"total": "32MB", "alpha": 0.125}}, "ecn": {"red": {"kmin": "800KB", "kmax": "3200KB"}}}
TINY = {"layers": 1, "hidden": 64, "heads": 1, "sequence": 64, "vocabulary": 64}


def paths(scenario: dict[str, Any]) -> list[str]:
    """Returns the keys of the warnings of `check`."""
    return [warning["path"] for warning in xoff.check(scenario)["warnings"]]


def test_ports_of_hosts_that_do_not_mark_are_not_warned_of() -> None:
    # A relaying GPU has XOFF at 100 KB, and marks nothing without `host.relay.ecn`.
    scenario: dict[str, Any] = {
        "network": {"rail": RAIL},
        "framing": {"payload": "9000B"},
        "switch": {**MARKS, "flow_control": {"pfc": {}}},
        "host": {"congestion_control": {"dcqcn": {}}},
        "workload": [{"permutation": {"size": "1MB"}}],
    }
    assert "switch.ecn" not in paths(scenario)
    relays = {**scenario, "host": {**scenario["host"], "relay": {"ecn": True}}}
    assert paths(relays).count("switch.ecn") == 1


def job(name: str, hosts: list[int] | None = None) -> dict[str, Any]:
    """Returns a training job of two replicas."""
    training: dict[str, Any] = {"model": TINY, "parallel": {"data": 2}}
    return {"name": name, "training": training | ({"hosts": hosts} if hosts else {})}


def test_two_training_jobs_at_one_host_are_refused_and_other_jobs_warned_of() -> None:
    network = {"network": {"star": {"hosts": 4, "link": LINK}}}
    with pytest.raises(xoff.InputError, match=r"workload\[1\]\.training\.hosts: host0 is also a host of workload\[0\]"):
        xoff.check(network | {"workload": [job("a"), job("b")]})
    assert not [path for path in paths(network | {"workload": [job("a"), job("b", [2, 3])]}) if "workload" in path]
    ring = {"collective": {"operation": "all_reduce", "size": "1MB", "hosts": [1, 2]}}
    assert "workload[1]" in paths(network | {"workload": [job("a"), ring]})


@pytest.mark.parametrize(
    ("transport", "key", "least"),
    [("go_back_n", "rto", 4e9), ("irn", "rto_low", 1e8), ("selective", "rto", 1e8), ("ndp", "rto", 2e10)],
)
def test_default_timeouts_are_twice_the_longest_round_trip(transport: str, key: str, least: float) -> None:
    def settled(delay: str) -> float:
        network = {"star": {"hosts": 2, "link": {"rate": "100Gbps", "delay": delay}}}
        flows = [{"flows": [{"src": 0, "dst": 1, "size": "1MB"}]}]
        scenario = {"network": network, "workload": flows, "host": {"transport": {transport: {}}}}
        rows = xoff.check(scenario)["settled"]
        (value,) = [row["value"] for row in rows if row["key"] == f"host.transport.{transport}.{key}"]
        units = {"ps": 1, "ns": 1e3, "us": 1e6, "ms": 1e9, "s": 1e12}
        number = value.rstrip("pnums")
        return float(number) * units[value[len(number) :]]

    assert settled("1us") == least
    # Two links of 10 ms each way.
    assert 80e9 < settled("10ms") < 80.1e9


def test_a_timeout_below_the_round_trip_is_warned_of_and_the_default_sends_nothing_twice() -> None:
    scenario: dict[str, Any] = {
        "network": {"star": {"hosts": 2, "link": {"rate": "10Gbps", "delay": "5ms"}}},
        "workload": [{"flows": [{"src": 0, "dst": 1, "size": "1MB"}]}],
    }
    assert paths(scenario) == []
    assert xoff.run(scenario).summary["retransmitted"] == 0
    scenario["host"] = {"transport": {"go_back_n": {"rto": "4ms"}}}
    (warning,) = xoff.check(scenario)["warnings"]
    assert warning["path"] == "host.transport.go_back_n"
    assert "4ms" in warning["message"]
    assert "20001779.2ns" in warning["message"]


def test_jitter_lets_equal_senders_share_and_a_sender_that_is_shut_out_is_named() -> None:
    # Frames of equal senders stay in step: one finds no room until the other is over. Hardware shares 50.4 to 49.6.
    def incast(jitter: float) -> tuple[list[int], list[Any]]:
        scenario = {
            "network": {"star": {"hosts": 3, "link": LINK}},
            "framing": {"payload": "4096B", "header": "82B"},
            "switch": {"forwarding_latency": "500ns", "buffer": {"per_queue": "100KB"}},
            "host": {"jitter": jitter},
            "audits": {"loss": "record"},
            "workload": [{"incast": {"senders": [1, 2], "receiver": 0, "size": "20MB"}}],
        }
        result = xoff.run(scenario)
        return sorted(result.flows["fct_ps"].to_pylist()), result.summary["warnings"]

    (first, last), warnings = incast(0.0)
    assert last > 1.9 * first
    assert any(w["path"] == "host.transport" and "flow" in w["message"] for w in warnings)
    (first, last), _ = incast(0.1)
    assert last < 1.02 * first
