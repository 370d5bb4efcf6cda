"""The end of a run, and its report, do not depend on `until` or on fast-forward."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.validation.test_audits import ring
from tests.validation.test_losses import in_step_with_its_losses

import xoff

CASES = Path(__file__).parent / "cases"
LINK = {"rate": "100Gbps", "delay": "1us"}
RECORDED = {"audits": dict.fromkeys(["completion", "loss", "deadlock", "pauses"], "record")}
STAR = {"network": {"star": {"hosts": 4, "link": LINK}}, **RECORDED}


def without_performance(result: xoff.Result) -> dict[str, Any]:
    """Returns all numbers and words of a summary except the fast-forward group."""
    return {key: value for key, value in result.summary.items() if key != "performance"}


def assert_same_with_and_without(scenario: Any) -> tuple[xoff.Result, xoff.Result]:
    """Compares summary, audits and tables of a fast-forwarded run and of a full run."""
    fast, full = xoff.run(scenario), xoff.run(scenario, fast_forward=False)
    assert without_performance(fast) == without_performance(full)
    for table in full.tables:
        assert fast.table(table).equals(full.table(table)), table
    return fast, full


@pytest.mark.parametrize(
    "case", ["trimmed_and_skipped.json", "spine_down_for_ever.json", "rccc_layers_and_late_flows.json"]
)
def test_counts_ends_and_fingerprints_are_those_of_a_full_run(case: str) -> None:
    scenario = json.loads((CASES / case).read_text())
    scenario["audits"] = RECORDED["audits"]
    fast, full = assert_same_with_and_without(scenario)
    assert full.summary["performance"]["fast_forward"]["packet_hops"] == 0
    if case == "trimmed_and_skipped.json":
        assert fast.summary["trimming"]["trimmed"] > 20_000
        assert fast.summary["performance"]["fast_forward"]["packet_hops"] > 0


def test_the_last_gain_is_said_and_not_when_it_was_looked_for() -> None:
    # The link to host 2 is down forever from 1 ms on. Host 0 still has data of host 2 to relay to host 1.
    ring = {"collective": {"operation": "all_gather", "algorithm": "ring", "size": "40MB", "hosts": [0, 1, 2]}}
    fault = {"link": "host2-switch0", "state": "down", "at": "1ms"}
    fast, _ = assert_same_with_and_without(STAR | {"workload": [ring], "fault": [fault]})
    words = fast.summary["audits"]["completion"]
    since = re.search(r"since ([0-9.]+)ns", words)
    assert since is not None
    assert 1e6 < float(since[1]) < 1.2e6
    # The run gives up at the first check; checks are a millisecond apart, and a hundred of them follow.
    assert 101e9 < fast.summary["simulated_ps"] < 103e9


def drawn(rng: Random) -> dict[str, Any]:
    """Draws a job with flows under permanent faults, stalled hosts, and an end at an odd moment."""
    fabric = {"leaf_spine": {"leaves": 2, "spines": rng.choice([1, 2]), "hosts_per_leaf": 2, "link": LINK}}
    ranks = rng.sample(range(4), rng.choice([2, 3, 4]))
    size = f"{rng.choice([2, 6, 11])}MB"
    job = {"collective": {"operation": "all_reduce", "algorithm": "ring", "size": size, "hosts": ranks}}
    ends = [rng.sample(range(4), 2) for _ in range(rng.randint(0, 2))]
    flows = [
        {"src": a, "dst": b, "size": f"{rng.randint(1, 3000)}KB", "start": f"{rng.randint(0, 2_000)}us"}
        for a, b in ends
    ]
    places = [{"node": "spine0"}, {"link": "leaf0-spine0"}, {"link": "host1-leaf0"}]
    fault: dict[str, Any] = {"host": "host0", "stall": True}
    if rng.random() < 0.7:
        fault = {**rng.choice(places), "state": "down"}
    fault |= {"at": f"{rng.randint(1, 900_000)}ns"}
    if rng.random() < 0.4:
        fault["duration"] = rng.choice(["77us", "3ms", "60ms"])
    transport = rng.choice([{"go_back_n": {"rto": "1ms"}}, {"irn": {}}, {"selective": {"rto": "300us"}}])
    scenario = {"network": fabric, "host": {"transport": transport}, "fault": [fault], **RECORDED}
    if rng.random() < 0.4:
        scenario["switch"] = {"flow_control": {"pfc": {}}}
    if rng.random() < 0.4:
        scenario["until"] = f"{rng.randint(10**8, 10**11)}ps"
    scenario["workload"] = [job, *([{"flows": flows}] if flows else [])]
    return scenario


@pytest.mark.parametrize("number", range(16))
def test_a_drawn_run_that_is_given_up_ends_as_a_full_one(number: int) -> None:
    assert_same_with_and_without(drawn(Random(f"ends {number}")))


LIVELOCKS: dict[str, dict[str, Any]] = {
    "by time": {**in_step_with_its_losses(), "audits": {"completion": "record"}},
    "deadlock": {**ring(), **RECORDED},
}


@pytest.mark.parametrize("case", LIVELOCKS)
@pytest.mark.parametrize("later", ["1ps", "19700ns", "1234567us"])
def test_a_run_that_is_given_up_counts_from_the_start_of_its_traffic(case: str, later: str) -> None:
    """The same traffic later sends as many packets, and gives up later by the same time."""
    scenario = LIVELOCKS[case]
    first, second = (
        xoff.run(scenario | {"workload": [{**one, "start": start} for one in scenario["workload"]]})
        for start in ("0ns", later)
    )
    columns = ["flow", "packets_sent", "retransmitted"]
    assert first.flows.select(columns).equals(second.flows.select(columns))
    by = second.summary["simulated_ps"] - first.summary["simulated_ps"]
    assert by == {"1ps": 1, "19700ns": 19_700_000, "1234567us": 1_234_567_000_000}[later]
    assert first.summary["audits"]["completion"] != "ok" or first.summary["audits"]["deadlock"] != "ok"


def test_simulated_time_is_that_of_what_was_simulated() -> None:
    # Raw flows of which a packet is lost never complete: two senders of 10 MB each at 100 Gb/s take 0.8 ms or more.
    incast = {"incast": {"senders": [1, 2], "receiver": 0, "size": "10MB"}}
    raw = {"host": {"transport": {"raw": {}}}, "switch": {"buffer": {"per_port": "20KB"}}, "workload": [incast]}
    result = xoff.run(STAR | raw)
    flows = result.summary["flows"]
    assert flows["completed"] < flows["total"]
    assert 0.83e9 < result.summary["simulated_ps"] < 0.85e9
    # A job that computes last ends with the computation.
    operations = [
        {"rank": 0, "kind": "send", "peer": 1, "size": "1KB", "name": "sent"},
        {"rank": 0, "kind": "compute", "duration": "5us", "after": ["sent"]},
        {"rank": 1, "kind": "recv", "peer": 0, "size": "1KB"},
    ]
    result = xoff.run(STAR | {"workload": [{"graph": {"operations": operations}}]})
    ends = result.table("operations")["end_ps"].to_pylist()
    assert result.summary["simulated_ps"] == max(ends)


def test_the_parts_of_a_flow_whose_ack_is_under_way_end_with_its_last_byte() -> None:
    # `until` ended the run, and the components ran up to the same moment.
    result = xoff.run(CASES / "ack_under_way.toml")
    assert result.summary["audits"]["delays"] == "ok"
    flows = {row["flow"]: row["fct_ps"] for row in result.flows.to_pylist() if row["fct_ps"] is not None}
    assert flows
    sums = dict.fromkeys(flows, 0)
    for row in result.table("delays").to_pylist():
        if row["flow"] in sums:
            sums[row["flow"]] += row["time_ps"]
    assert sums == flows


def test_a_flow_that_is_active_at_the_end_has_a_goodput() -> None:
    """Two flows of 1 TB share a link of 100 Gb/s: what has arrived, over the time since their starts."""
    flows = [{"src": 1, "dst": 0, "size": "1TB"}, {"src": 2, "dst": 0, "size": "1TB", "start": "100us"}]
    short = {"src": 3, "dst": 1, "size": "1MB"}
    result = xoff.run(STAR | {"workload": [{"flows": [*flows, short]}], "until": "1ms", "probe": {"packets": True}})
    rows = {row["flow"]: row for row in result.flows.to_pylist()}
    arrived = [row for row in result.packets.to_pylist() if row["event"] == "arrive" and row["node"] == "host0"]
    for flow, start_us in ((0, 0), (1, 100)):
        delivered = 1000 * sum(row["flow"] == flow and row["kind"] == "data" for row in arrived)
        assert rows[flow]["delivered_bytes"] == delivered
        assert rows[flow]["goodput_bps"] == pytest.approx(delivered * 8 / (1e-3 - start_us * 1e-6))
    # A completed flow has the goodput of its completion time.
    assert rows[2]["delivered_bytes"] == 1_000_000
    assert rows[2]["goodput_bps"] == pytest.approx(8e6 / (rows[2]["fct_ps"] / 1e12))
    active = result.summary["active_flows"]
    goodputs = [rows[0]["goodput_bps"], rows[1]["goodput_bps"]]
    assert active["flows"] == 2
    assert active["mean_goodput_bps"] == pytest.approx(sum(goodputs) / 2)
    assert [active["least_goodput_bps"], active["most_goodput_bps"]] == sorted(goodputs)
    assert "goodput of 2 active flows" in dict(result.rows())


@pytest.mark.parametrize("transport", ["go_back_n", "selective", "irn", "ndp", "raw"])
def test_goodput_is_that_of_new_packets(transport: str) -> None:
    """Losses and copies do not count, whatever the transport."""
    switch = {"trimming": {"limit": "20KB"}} if transport == "ndp" else {"buffer": {"per_queue": "20KB"}}
    incast = {"incast": {"senders": [1, 2], "receiver": 0, "size": "100MB"}}
    result = xoff.run(
        STAR | {"workload": [incast], "until": "1ms", "switch": switch, "host": {"transport": {transport: {}}}}
    )
    rows = result.flows.to_pylist()
    assert all(0 < row["delivered_bytes"] <= 1000 * (row["packets_sent"] - row["retransmitted"]) for row in rows)
    total = sum(row["delivered_bytes"] for row in rows)
    assert 0.3 * 12.5e6 < total < 12.5e6
