"""Every registered mechanism keeps the contract, in random small networks under random traffic.

The list of mechanisms comes from the schema, so that a new mechanism is drawn as soon as it is registered. The
contract: audits hold, all flows complete, tables agree on counts, and threads, windows, partitions and clusters change
nothing.
"""

import json
import os
from collections import Counter, defaultdict
from random import Random
from typing import Any

import pytest
from tests.validation.breakdown import delays_add_up
from tests.validation.fault_drawing import with_faults

import xoff
from xoff.conformance.drawing import draw_scenario, draw_small
from xoff.conformance.runs import WAYS, same_however_it_runs, unless_doomed
from xoff.conformance.schema import CHOICES, keys, registered
from xoff.conformance.strategies import STRATEGIES
from xoff.results import counts

DRAWS = 2
SLOW_DRAWS = 12
FAULTY_DRAWS = 1
SLOW_FAULTY_DRAWS = 3
# The same draws each time; other first numbers search beyond these draws.
FIRST = int(os.environ.get("XOFF_FIRST_DRAW", "0"))
OPTIONS = [(path, option) for path in CHOICES for option in registered(path)]


def test_strategies_are_of_registered_parts() -> None:
    for path in CHOICES:
        gone = set(STRATEGIES[path]) - set(registered(path))
        assert not gone, f"`{path}` knows nothing of {sorted(gone)} any more"
    # A section without an entry would go untested.
    assert keys("switch") == {
        "forwarding_latency",
        "queueing",
        "buffer",
        "classes",
        "scheduler",
        "ecn",
        "telemetry",
        "trimming",
        "cut_through",
        "flow_control",
        "routing",
        "faults",
        "strict_priority_classes",
        "overrides",
        "plugins",
    }
    paths = {"first_hop", "relay", "acks", "overrides"}
    assert keys("host") == {"transport", "congestion_control", "classify", "jitter"} | paths
    assert {"network", "switch", "host", "workload"} <= keys("")
    assert keys("probe") == {"packets", "queues", "replay", "size_classes", "flows", "delays", "slices", "tokens"}


def notifications(result: xoff.Result) -> int:
    """Notifications to sources, under any congestion control."""
    return sum(value for count, value in counts.counted(result.summary) if count.name == "notifications")


def contract(scenario: dict[str, Any]) -> xoff.Result:
    """Runs a scenario and checks the contract."""
    result = xoff.run(scenario)
    summary = result.summary
    assert set(result.audits.values()) == {"ok"}
    for group in counts.groups():
        assert set(summary[group.name]) == {count.name for count in group.counts}  # type: ignore[literal-required]
    flows = result.flows.to_pylist()
    links, queues, drops = result.links.to_pylist(), result.queues.to_pylist(), result.drops.to_pylist()
    payload = int(scenario["framing"]["payload"][:-1])

    # Flows: all present, all complete, in order of events, each packet once and retransmissions only if counted.
    # Connections of serving stay open: they have rows once they have sent, and are never complete.
    stay_open = set(summary.get("serving", ()))
    ended = [row["flow"] for row in flows if row["workload"] not in stay_open]
    assert summary["flows"]["total"] == summary["flows"]["completed"] == len(ended)
    assert stay_open or sorted(ended) == list(range(len(ended)))
    messages: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in result.messages.to_pylist():
        assert row["start_ps"] <= row["left_ps"] < row["start_ps"] + row["fct_ps"]
        messages[row["flow"]].append(row)
    for row in flows:
        if row["workload"] in stay_open:
            assert row["fct_ps"] is None
            continue
        # Each message of a connection has a last packet.
        sizes = [message["size_bytes"] for message in messages.get(row["flow"], [row])]
        assert sum(sizes) == row["size_bytes"]
        packets = sum(-(-size // payload) for size in sizes)
        # Of a connection the messages are measured; raw frames are not acknowledged.
        if row["fct_ps"] is None:
            assert "messages" in result.tables
        elif "raw" in scenario["host"].get("transport", {}):
            assert row["fct_ps"] > 0
            assert row["fct_acked_ps"] is None
        else:
            assert 0 < row["fct_ps"] < row["fct_acked_ps"]
        assert row["packets_sent"] - row["retransmitted"] == packets
        # A held destination holds flows that no message named.
        held = scenario["switch"]["flow_control"].get("sfc", {}).get("hold") == "destination"
        assert row["holds"] > 0 or row["paused_ps"] == 0 or held
    assert summary["retransmitted"] == sum(row["retransmitted"] for row in flows)
    # Flows under way at the start of their workload are excluded from completion times.
    measured = [one for row in flows if row["workload"] not in stay_open for one in messages.get(row["flow"], [row])]
    times = [row["fct_ps"] for row in measured if not row["workload"].endswith(" warm")]
    assert summary["fct_ps"]["max"] == max(times, default=None)
    # A job of one rank sends nothing.
    assert summary["fct_ps"]["mean"] == (sum(times) // len(times) if times else None)
    assert notifications(result) >= sum(row["notifications"] for row in flows)

    # Links: bytes that left a port; the busy time is a share.
    assert sum(row["data_packets"] for row in links) == summary["performance"]["data_packet_hops"]
    forwarding = {row["node"] for row in queues}
    by_port: Counter[tuple[str, int]] = Counter()
    bytes_by_port: Counter[tuple[str, int]] = Counter()
    for row in queues:
        by_port[row["node"], row["port"]] += row["packets"]
        bytes_by_port[row["node"], row["port"]] += row["bytes"]
    hosts = {row["src"] for row in flows} | {row["dst"] for row in flows}
    for row in links:
        if row["node"] in forwarding and row["node"] not in hosts:
            assert by_port[row["node"], row["port"]] == row["data_packets"]
            assert bytes_by_port[row["node"], row["port"]] == row["data_bytes"]
        if row["delay_ps"] > 0:
            assert 0 <= row["utilisation"] <= 1

    # Packets: sent equals arrived plus dropped. Forwarded packets of a node are in its queues, own packets are not, so
    # that links hold the packets of flows and queues.
    sent = sum(row["packets_sent"] for row in flows)
    passed = sum(by_port.values())
    assert sum(row["data_packets"] for row in links) == sent + passed
    assert summary["drops"] == len(drops) == sum(row["dropped"] for row in queues)
    trimmed = summary["trimming"]["trimmed"]
    assert trimmed <= summary["retransmitted"]
    isolation = scenario["switch"]["flow_control"].get("congestion_isolation", {})
    keeps_order = "routing" not in scenario["switch"] and isolation.get("preserve_order", True)
    if not drops and not trimmed and keeps_order:
        # Overtaken packets are taken for lost, and trimmed packets are lost. Other packets are retransmitted only by a
        # flow with a timeout, behind pauses or a higher class.
        transport = (scenario["host"] or {}).get("transport") or {}
        timeout_ps = 200_000_000 if {"irn", "selective", "ndp"} & set(transport) else 4_000_000_000
        # Connections of serving stay open until the end of the run.
        lasts = [row["fct_acked_ps"] or summary["simulated_ps"] - row["start_ps"] for row in flows]
        assert all(row["retransmitted"] == 0 or time > timeout_ps for row, time in zip(flows, lasts, strict=True))
    assert summary["ecn"]["marked"] == sum(row["marked"] for row in queues)

    # Samples: on the grid named by the summary, of queues with packets at the sample.
    if interval := summary.get("sampled_every_ps", 0):
        samples = result.samples.to_pylist() if "samples" in result.tables else []
        deepest = {(row["node"], row["port"], row["queue"]): row["max_bytes"] for row in queues}
        assert not scenario["probe"].get("replay") or len(samples) <= 100_000
        for row in samples:
            assert row["time_ps"] % interval == 0
            assert 0 < row["bytes"] <= deepest[row["node"], row["port"], row["queue"]]
    else:
        assert not scenario["probe"]
    return result


def test_the_cases_are_not_trivial() -> None:
    """Networks without queues, pauses or marks would keep any contract."""
    seen: Counter[str] = Counter()
    for seed in range(400):
        result = unless_doomed(draw_scenario(Random(seed), {}))
        if result is None:
            continue
        summary = result.summary
        seen_here = {
            "pauses": summary["pfc"]["pauses"],
            "messages": summary["sfc"]["messages"],
            "marks": summary["ecn"]["marked"],
            "notifications": notifications(result),
        }
        seen.update(name for name, count in seen_here.items() if count > 0)
    assert min(seen[name] for name in ("pauses", "messages", "marks")) >= 20, seen
    # Only notices to a congestion control count, so that a mechanism and its listener are needed together.
    assert seen["notifications"] >= 5, seen


@pytest.mark.parametrize(("path", "option"), OPTIONS, ids=[f"{path}={option}" for path, option in OPTIONS])
def test_conformance(path: str, option: str) -> None:
    conforms(path, option, range(FIRST, FIRST + DRAWS))


@pytest.mark.slow
@pytest.mark.parametrize(("path", "option"), OPTIONS, ids=[f"{path}={option}" for path, option in OPTIONS])
def test_conformance_in_more_draws(path: str, option: str) -> None:
    assert conforms(path, option, range(FIRST + DRAWS, FIRST + SLOW_DRAWS)) > (SLOW_DRAWS - DRAWS) / 2


def conforms(path: str, option: str, numbers: range) -> int:
    """Checks the contract in the given draws; returns the number of runs with an end."""
    finished = 0
    for number in numbers:
        scenario = draw_small(Random(f"{path}={option} {number}"), {path: option})
        try:
            result = None if scenario is None else unless_doomed(scenario, contract)
            if scenario is None or result is None:
                continue
            finished += 1
            # A flow of a published size distribution can have tens of megabytes: once more is enough.
            is_long = result.summary["performance"]["data_packet_hops"] > 500_000
            same_however_it_runs(scenario, result, WAYS[3:4] if is_long else WAYS)
            if not is_long:
                delays_add_up(scenario, result)
        except Exception as error:
            error.add_note(f"draw {number}: {json.dumps(scenario)}")
            raise
    return finished


def under_faults(scenario: dict[str, Any]) -> xoff.Result | None:
    """Runs a scenario with faults, and checks the losses; None for a run without an end."""
    try:
        result = unless_doomed(scenario)
    except xoff.AuditError as error:
        # Lost raw frames are not retransmitted, and a job would wait for them in vain.
        if "raw" in scenario["host"].get("transport", {}) and "and no event is left" in error.found:
            return None
        raise
    if result is None:
        return None
    assert {key for key, verdict in result.audits.items() if verdict != "ok"} <= {"loss"}
    lost = [row for row in result.drops.to_pylist() if row["reason"] == "fault"]
    rows = result.table("faults").to_pylist()
    assert sum(row["lost_packets"] for row in rows) == len(lost) == result.summary["fault"]["lost"]
    return result


@pytest.mark.parametrize(("path", "option"), OPTIONS, ids=[f"{path}={option}" for path, option in OPTIONS])
def test_conformance_where_something_fails(path: str, option: str) -> None:
    conforms_under_faults(path, option, range(FIRST, FIRST + FAULTY_DRAWS))


@pytest.mark.slow
@pytest.mark.parametrize(("path", "option"), OPTIONS, ids=[f"{path}={option}" for path, option in OPTIONS])
def test_conformance_where_something_fails_in_more_draws(path: str, option: str) -> None:
    conforms_under_faults(path, option, range(FIRST + FAULTY_DRAWS, FIRST + SLOW_FAULTY_DRAWS))


def conforms_under_faults(path: str, option: str, numbers: range) -> None:
    """Links, nodes and hosts fail at random moments: fault losses are counted as fault losses, and no other losses."""
    for number in numbers:
        rng = Random(f"faults {path}={option} {number}")
        scenario = draw_small(rng, {path: option})
        if scenario is None:
            continue
        scenario = with_faults(rng, scenario)
        try:
            result = under_faults(scenario)
            if result is not None:
                same_however_it_runs(scenario, result, WAYS[number % 6 :][:1])
                # The audit of delays adds up the parts.
                probed = xoff.run({**scenario, "probe": {**scenario["probe"], "delays": "all"}})
                assert probed.fingerprint == result.fingerprint
        except Exception as error:
            error.add_note(f"draw {number}: {json.dumps(scenario)}")
            raise
