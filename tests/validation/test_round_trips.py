"""Round trips reported to congestion controls are possible on their paths, and slow lone flows are reported."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

import xoff
from xoff.conformance.schema import registered

RATE, DELAY_PS, SWITCH_PS = 100e9, 500_000, 300_000
FULL, CONTROL = 1048, 64


def time_ps(size: int) -> int:
    """Returns the time of a frame on the wire."""
    return round(size * 8e12 / RATE)


def least_ps(scenario: dict[str, Any]) -> int:
    """Returns the round trip of a packet trimmed at the first switch, with its acknowledgement, on empty links."""
    links, switches = (4, 3) if "leaf_spine" in scenario["network"] else (2, 1)
    passed = 2 * (links * DELAY_PS + switches * SWITCH_PS)
    return passed + time_ps(FULL) + (2 * links - 1) * time_ps(CONTROL)


PAIRS = list(product(registered("host.transport"), registered("host.congestion_control")))


def drawn(rng: Random, transport: str, control: str) -> dict[str, Any]:
    """Draws an incast in which packets are cut, lost, overtaken and sent again too early."""
    link = {"rate": "100Gbps", "delay": "500ns"}
    switch: dict[str, Any] = {
        "forwarding_latency": "300ns",
        "buffer": {"per_port": rng.choice(["30KB", "60KB", "200KB"])},
    }
    if rng.random() < 0.5:
        switch["trimming"] = {"limit": rng.choice(["8KB", "20KB"])}
    if rng.random() < 0.7:
        switch["ecn"] = {"red": {"kmin": "5KB", "kmax": "15KB", "pmax": 1.0}}
    if control.startswith("hpcc"):
        switch["telemetry"] = {"pint": {}} if control == "hpcc_pint" else {}
    host: dict[str, Any] = {"transport": {transport: {}}, "congestion_control": {control: {}}}
    if transport not in ("raw",):
        key = {"irn": "rto_high"}.get(transport, "rto")
        host["transport"][transport] = {key: rng.choice(["10us", "30us", "100us"])}
        if transport == "irn":
            host["transport"][transport] |= {"rto_low": "8us"}
    scenario: dict[str, Any] = {
        "seed": rng.randrange(1 << 30),
        "network": {"star": {"hosts": 5, "link": link}},
        "framing": {"payload": "1000B", "header": "48B", "min_frame_size": "64B", "control_frame_size": "64B"},
        "switch": switch,
        "host": host,
        "until": "2ms",
        "workload": [
            {"flows": [{"src": src, "dst": 0, "size": f"{rng.randint(1, 200)}KB", "start": f"{rng.randint(0, 20)}us"}]}
            for src in (1, 2, 3, 4, 1)
        ],
        "audits": {"completion": "record", "loss": "record"},
    }
    if rng.random() < 0.5:
        link_name = rng.choice(["host1 -> switch0", "switch0 -> host0", "host0 -> switch0"])
        scenario["fault"] = [{"link": link_name, "bit_error_rate": rng.choice([1e-6, 1e-5]), "at": "1us"}]
    if transport != "go_back_n" and rng.random() < 0.4:
        # Packets of a flow take several paths, and overtake one another.
        scenario["network"] = {"leaf_spine": {"leaves": 5, "spines": 3, "hosts_per_leaf": 1, "link": link}}
        scenario["switch"]["routing"] = {"spray": {}}
        scenario.pop("fault", None)
    return scenario


def accepted(scenario: dict[str, Any]) -> bool:
    """Checks whether a scenario may run."""
    try:
        xoff.check(scenario)
    except xoff.InputError:
        return False
    return True


@pytest.mark.parametrize(("transport", "control"), PAIRS)
def test_no_round_trip_is_below_the_least_of_its_path(transport: str, control: str) -> None:
    rng = Random(f"{transport} {control}")
    heard = 0
    for _ in range(6):
        scenario = drawn(rng, transport, control)
        if not accepted(scenario):
            continue
        flows = xoff.run(scenario).flows.to_pylist()
        samples = [flow["min_rtt_ps"] for flow in flows if flow["min_rtt_ps"] is not None]
        heard += len(samples)
        assert all(sample >= least_ps(scenario) for sample in samples), (min(samples), least_ps(scenario))
    if control in ("nscc", "swift", "timely", "dctcp") and transport in ("go_back_n", "irn", "selective"):
        assert heard > 0


STUCK = Path(__file__).parent / "cases" / "nscc_third_copy.toml"


def test_an_answer_to_the_second_copy_is_not_taken_for_one_to_the_third() -> None:
    # One flow of 16 measured a wrong round trip of 0.166 us and ended at 43.1 ms, alone for 26 ms of the time.
    result = xoff.run(STUCK)
    flows = [flow for flow in result.flows.to_pylist() if flow["workload"] == "kv"]
    wire = [time * 8 // 400 * 1000 for time in (4096 + 48, 84, 84, 84)]
    assert min(flow["min_rtt_ps"] for flow in flows) >= 2 * (1_000_000 + 500_000) + wire[0]
    assert max(flow["start_ps"] + flow["fct_ps"] for flow in flows) < 17.5e9
    assert not any("host.congestion_control" in warning["path"] for warning in result.summary["warnings"])


def test_a_flow_that_stays_slow_alone_is_counted_and_named() -> None:
    # A window of three packets of a hundred, without growth: 7 Gb/s of 100.
    scenario = drawn(Random(1), "go_back_n", "nscc") | {"fault": [], "until": "1s"}
    scenario["switch"] = {"forwarding_latency": "300ns"}
    still = dict.fromkeys(["proportional_increase", "fair_increase", "fast_increase", "additive_increase"], 0.0)
    scenario["host"] = {"transport": {"selective": {}}, "congestion_control": {"nscc": {"maximum": 0.1} | still}}
    scenario["workload"] = [{"flows": [{"src": 1, "dst": 0, "size": "100KB"}]}]
    result = xoff.run(scenario)
    (flow,) = result.flows.to_pylist()
    assert 30 <= flow["slow_rtts"] <= 34
    (warning,) = [w for w in result.summary["warnings"] if w["path"] == "host.congestion_control"]
    assert f"flow 0 stayed for {flow['slow_rtts']} " in warning["message"]
    # With other flows the same window is not reported, and a flow that fills its path is not slow.
    scenario["host"]["congestion_control"] = {"nscc": {}}
    assert xoff.run(scenario).flows.to_pylist()[0]["slow_rtts"] == 0
