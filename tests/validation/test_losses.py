"""Go-Back-N recovers from losses at the end of a flow, and a flow without any progress ends its run."""

from typing import Any

import pytest

import xoff


def test_a_nack_within_the_pacing_gap_restarts_the_flow() -> None:
    """Go-Back-N completes on any finite loss pattern; until then at least one packet is sent each RTO (4 ms)."""
    result = xoff.run(
        {
            "network": {
                "explicit": {
                    "nodes": [
                        {"name": "m1", "kind": "host"},
                        {"name": "m2", "kind": "host"},
                        {"name": "m0", "kind": "switch"},
                    ],
                    "links": [
                        {"a": "m1", "b": "m0", "rate": "100Gbps", "delay": "10ns"},
                        {"a": "m0", "b": "m2", "rate": "40Gbps", "delay": "1us"},
                    ],
                }
            },
            "framing": {"payload": "1000B", "header": "48B", "preamble_and_ifg": "20B", "control_frame_size": "84B"},
            "switch": {"forwarding_latency": "300ns", "buffer": {"per_port": "5340B"}},
            "host": {"congestion_control": {"dcqcn": {"preset": "microsoft"}}},
            "workload": [{"flows": [{"src": "m1", "dst": "m2", "size": "105201B"}]}],
            "until": "30ms",
            "probe": {"packets": True},
        }
    )
    (flow,) = result.flows.to_pylist()
    last_ps = max(result.packets["time_ps"].to_pylist())
    assert flow["fct_acked_ps"] is not None or last_ps > 25_000_000_000, last_ps


def in_step_with_its_losses() -> dict[str, Any]:
    """A case in which each NACK restarts the flow in the same phase, so that its next packet is lost each time."""
    links: list[dict[str, Any]] = [
        {"a": "a", "b": "s", "rate": "100Gbps", "delay": "10ns"},
        {"a": "s", "b": "b", "rate": "40Gbps", "delay": "1us"},
    ]
    return {
        "network": {
            "explicit": {
                "nodes": [{"name": n, "kind": "switch" if n == "s" else "host"} for n in "abs"],
                "links": links,
            }
        },
        "framing": {"payload": "1000B", "header": "48B", "preamble_and_ifg": "20B", "control_frame_size": "84B"},
        "switch": {"forwarding_latency": "0ns", "buffer": {"per_port": "5340B"}},
        "workload": [{"flows": [{"src": "a", "dst": "b", "size": "60KB"}]}],
    }


def test_a_flow_that_loses_the_same_packets_for_ever_is_reported() -> None:
    """Go-Back-N repeats the cycle (the model has no jitter); the run must end all the same, and report the flow."""
    scenario = in_step_with_its_losses()
    with pytest.raises(xoff.AuditError, match="no flow has gained a packet since"):
        xoff.run(scenario)
    result = xoff.run(scenario | {"audits": {"completion": "record"}})
    assert result.summary["flows"]["completed"] == 0


def test_work_without_progress_ends_a_run_whatever_its_timeouts() -> None:
    """With a timeout of 10 s the limit in simulated time alone allows 250 s; the events of less than 1 s suffice."""
    patient = {"transport": {"go_back_n": {"rto": "10s"}}}
    scenario = in_step_with_its_losses() | {"host": patient, "audits": {"completion": "record"}}
    result = xoff.run(scenario, fast_forward=False)
    assert "no flow has gained a packet since" in result.summary["audits"]["completion"]
    assert result.summary["simulated_ps"] < 10**12
    assert result.summary["performance"]["events"] > 20_000_000
    assert xoff.run(scenario).summary["simulated_ps"] == result.summary["simulated_ps"]
