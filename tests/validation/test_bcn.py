"""The first sample, the equilibrium and the shares of BCN and QCN (docs/models/bcn.md, docs/models/qcn.md)."""

import re
from itertools import pairwise
from math import log
from statistics import fmean, pstdev
from typing import Any

import pytest

import xoff
from xoff.running.document import typed

PAGE, QEQ = 64, 24_000
LINE = {"rate": "10Gbps", "delay": "0ns"}


def hot_spot(
    senders: int,
    load: float,
    until_ms: float,
    *,
    points: dict[str, Any] | None = None,
    limiters: dict[str, Any] | None = None,
    scheme: str = "bcn",
    **more: Any,
) -> dict[str, Any]:
    """Senders of raw Bernoulli frames of 1500 B, and a receiver, around one switch of 10 Gb/s."""
    return {
        "seed": 1,
        "until": f"{until_ms}ms",
        "network": {"star": {"hosts": senders + 1, "link": LINE}},
        "framing": {"payload": "1500B", "header": "0B"},
        "switch": {"forwarding_latency": "1us", "flow_control": {scheme: points or {}}},
        "host": {"transport": {"raw": {}}, "congestion_control": {scheme: limiters or {}}},
        "workload": [
            {
                "bernoulli": {
                    "sources": list(range(1, senders + 1)),
                    "destinations": [0],
                    "load": load,
                    "duration": f"{until_ms}ms",
                }
            }
        ],
        "probe": {"queues": "10us"},
        **more,
    }


def messages(result: xoff.Result, kind: str) -> list[dict[str, Any]]:
    """Frames of a kind received by their sources."""
    sources = {f"host{i}" for i in range(1, 100)}
    return [
        row
        for row in result.packets.to_pylist()
        if row["kind"] == kind and row["event"] == "arrive" and row["node"] in sources
    ]


def signed(seq: int) -> int:
    return seq - (1 << 32) if seq >> 31 else seq


def test_the_first_sample_of_20_gbps_into_10_is_full_scale_and_halves_one_rate() -> None:
    # Two senders at line rate: 150 KB arrive within 60 us, of which 75 KB wait: 1172 pages, and both clamps act.
    result = xoff.run(hot_spot(2, 1.0, 0.115, probe={"packets": True, "queues": "1us"}))
    (first,) = messages(result, "bcn")
    assert signed(first["seq"]) == -1875
    assert 60 <= first["time_ps"] / 1e6 < 60 + 5
    queue = max(row["bytes"] for row in result.samples.to_pylist() if row["time_ps"] <= 61 * 10**6)
    assert queue == pytest.approx(75_000, abs=3_000)
    # From then on the sender has a gap of 1.2 us / (1 − 0.4875), and the other sender line rate.
    sent = [
        row["time_ps"]
        for row in result.packets.to_pylist()
        if (row["event"], row["kind"], row["node"]) == ("depart", "data", first["node"])
        and row["time_ps"] > first["time_ps"] + 10**7
    ]
    gaps = [(b - a) / 1e6 for a, b in pairwise(sent)]
    assert fmean(gaps) == pytest.approx(1.2 / (1 - 2.6e-4 * 1875), rel=1e-3)


def steady(result: xoff.Result, from_ms: float, until_ms: float) -> list[int]:
    """The queue of the receiver's port in steps of 10 us; an empty queue writes no row."""
    rows = {
        row["time_ps"] // 10**7: row["bytes"]
        for row in result.samples.to_pylist()
        if row["port"] == 0 and not row["node"].startswith("host")
    }
    return [rows.get(step, 0) for step in range(int(from_ms * 100), int(until_ms * 100))]


def test_the_queue_swings_about_equilibrium_and_the_link_stays_full() -> None:
    until = 60
    result = xoff.run(hot_spot(2, 1.0, until))
    queue = steady(result, 20, until)
    assert fmean(queue) == pytest.approx(QEQ, rel=0.25)
    assert pstdev(queue) < QEQ
    assert max(queue) < 4 * QEQ
    sink = next(row for row in result.links.to_pylist() if row["peer"] == "host0")
    assert sink["data_bytes"] * 8 / (until * 1e-3) == pytest.approx(10e9, rel=0.02)
    assert result.summary["bcn"]["positive"] > 0


def test_two_flows_share_in_proportion_to_their_samples() -> None:
    # Equal demands: sampling hits both senders alike, so that their mean rates are alike, despite momentary
    # differences.
    result = xoff.run(hot_spot(2, 1.0, 300, points={"sample_base": "30KB"}))
    sent = [row["packets_sent"] for row in result.flows.to_pylist()]
    assert sum(sent) * 12_000 / 0.3 == pytest.approx(10e9, rel=0.02)
    assert min(sent) / max(sent) > 0.8


@pytest.mark.parametrize(("initial", "expected_ms"), [(None, 6.39 * log(8)), ("2500Mbps", 6.39 * log(2))])
def test_a_hot_spot_lasts_as_long_as_the_sampling_of_a_full_link_takes(initial: str | None, expected_ms: float) -> None:
    # Eight flows of 2.5 Gb/s and PAUSE. A full link is sampled every 82 us, and each sample cuts one of eight limiters
    # by 9.75 %, from the start (line rate, or the sending rate) to an eighth of line rate; 8 · 82 us / 0.1026 is 6.39
    # ms.
    limiters = {"initial_rate": initial} if initial else {}
    scenario = hot_spot(8, 0.25, 30, points={"sample_base": "100KB"}, limiters=limiters)
    scenario["switch"]["flow_control"]["pfc"] = {"xoff": "140KB", "xon": "130KB", "accounting": "egress"}
    queue = [size >= 2 * QEQ for size in steady(xoff.run(scenario), 0, 30)]
    above = queue.index(True)
    assert (queue.index(False, above)) * 0.01 == pytest.approx(expected_ms, rel=0.2)


def test_without_congestion_points_nothing_slows_a_source() -> None:
    scenario = hot_spot(2, 0.4, 5)
    del scenario["switch"]["flow_control"]["bcn"]
    result = xoff.run(scenario)
    assert result.summary["bcn"]["notifications"] == 0
    offered = sum(row["packets_sent"] for row in result.flows.to_pylist()) / (2 * 5e-3 / 1.2e-6)
    assert offered == pytest.approx(0.4, rel=0.05)


def test_a_source_is_held_back_when_its_queue_is_full_and_loses_nothing() -> None:
    # One flow of 10 Gb/s into a limiter with a maximum of 1 Gb/s.
    scenario = hot_spot(2, 1.0, 20, limiters={"gd": 1.0, "gi": 0.0, "drift": "0bps", "minimum_rate": "1Gbps"})
    summary = xoff.run(scenario).summary
    assert summary["transport"]["held_back"] > 0
    assert summary["drops"] == 0
    assert summary["audits"]["conservation"] == "ok"


def test_a_raw_flow_that_loses_a_packet_is_recorded_as_undelivered() -> None:
    scenario = hot_spot(2, 1.0, 1)
    del scenario["until"]
    scenario["switch"] = {"buffer": {"per_queue": "15KB"}, "flow_control": {}}
    result = xoff.run(scenario)
    assert result.summary["drops"] > 0
    assert result.summary["flows"]["completed"] < result.summary["flows"]["total"] == 2
    assert set(result.audits.values()) == {"ok"}
    assert [row["fct_ps"] for row in result.flows.to_pylist()].count(None) >= 1
    scenario["switch"]["buffer"] = "unlimited"
    done = xoff.run(scenario)
    assert done.summary["flows"]["completed"] == 2
    assert all(row["fct_acked_ps"] is None for row in done.flows.to_pylist())


def test_stopped_sources_go_on_at_the_least_rate() -> None:
    points = {"q_sc": "60KB"}
    result = xoff.run(hot_spot(4, 1.0, 20, points=points))
    assert result.summary["bcn"]["stops"] > 0
    assert max(steady(result, 10, 20)) < 500_000


def test_the_largest_feedback_of_qcn_is_six_bits_and_comes_sooner() -> None:
    result = xoff.run(hot_spot(4, 1.0, 0.5, scheme="qcn", probe={"packets": True}))
    found = messages(result, "cnm")
    # 150 KB of 40 Gb/s in 30 us, of which three quarters wait: (112.5 − 26 + 2 · 112.5) KB is above full scale.
    assert found[0]["seq"] == 63
    assert 30 <= found[0]["time_ps"] / 1e6 < 35
    assert {row["seq"] for row in found} <= set(range(1, 64))
    # The next sample comes after 18.5 KB, within 15 %: 3.7 us at 40 Gb/s.
    second = (found[1]["time_ps"] - found[0]["time_ps"]) / 1e6
    assert 0.8 * 3.7 < second < 1.5 * 3.7


def test_qcn_keeps_its_queue_short_and_its_link_full() -> None:
    until = 200
    result = xoff.run(hot_spot(2, 1.0, until, scheme="qcn"))
    queue = steady(result, 100, until)
    assert fmean(queue) < 4 * 26_000
    sink = next(row for row in result.links.to_pylist() if row["peer"] == "host0")
    assert sink["data_bytes"] * 8 / (until * 1e-3) == pytest.approx(10e9, rel=0.1)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("switch.flow_control.bcn.q_eq", "1B", "switch.flow_control.bcn.q_eq: 1B is out of range"),
        ("switch.flow_control.bcn.sample_base", "0B", "switch.flow_control.bcn.sample_base: 0B is out of range"),
        ("switch.queueing", "iq", "switch.flow_control.bcn.q_eq: congestion points need output queues"),
        ("host.congestion_control.bcn.gd", "-1", "host.congestion_control.bcn.gd: -1 is out of range"),
        ("host.congestion_control.qcn", "{}", "host.congestion_control: bcn and qcn are given; give at most one"),
        ("host.transport.irn", "{}", "host.transport: irn and raw are given; give at most one"),
        ("workload[0].bernoulli.load", "1.5", "workload[0].bernoulli.load: 1.5 is out of range"),
        ("workload[0].bernoulli.queue", "1KB", "workload[0].bernoulli.queue: 1KB does not hold a frame of 1500 B"),
        ("workload[0].bernoulli.duration", "200s", "workload[0].bernoulli.duration: a source would offer about"),
        ("workload[0].bernoulli.destinations", "[0, 1]", "workload[0].bernoulli.sources[0]: `host1` sends to itself"),
    ],
)
def test_what_makes_no_sense_is_refused(path: str, value: str, words: str) -> None:
    scenario = hot_spot(2, 1.0, 1)
    if path.endswith("destinations"):
        scenario["workload"][0]["bernoulli"]["sources"] = [1, 2]
        value = "[1, 0]"
    # As on a command line.
    with pytest.raises(xoff.InputError, match="^" + re.escape(words)):
        xoff.run(scenario, overrides={path: typed(value)})
