"""Holds, computed pauses, proxies and isolation of SFC, against its rules (docs/models/sfc.md)."""

from itertools import pairwise
from typing import Any

import pytest
from tests.validation.traces import events

import xoff

RATE = 200e9
PACKET = 4048


def network(sfc: dict[str, Any] | None, flows: list[dict[str, Any]], **switch: Any) -> dict[str, Any]:
    """Makes the two-layer network of the SFC document, with as many leaves as the incast needs."""
    control: dict[str, Any] = {"pfc": {"xoff": "380KB", "xon": "372KB"}}
    if sfc is not None:
        control["sfc"] = sfc
    return {
        "network": {
            "leaf_spine": {
                "leaves": 4,
                "spines": 4,
                "hosts_per_leaf": 8,
                "link": {"rate": "200Gbps", "delay": "150ns"},
            }
        },
        "framing": {"payload": "4000B"},
        "switch": {"forwarding_latency": "300ns", "buffer": {"per_port": "400KB"}, "flow_control": control, **switch},
        "workload": [{"flows": flows}],
    }


def incast(size: str = "5MB", victim: str | None = "host25") -> list[dict[str, Any]]:
    """Sends from three leaves to host24; a victim leaves with the first to another host (of the same leaf)."""
    flows = [
        {
            "id": f"incast{i}",
            "src": f"host{8 * i}",
            "dst": "host24",
            "size": size,
            "via": [f"leaf{i}", f"spine{i}", "leaf3"],
        }
        for i in range(3)
    ]
    if victim is not None:
        flows.append({"id": "victim", "src": "host0", "dst": victim, "size": size, "via": ["leaf0", "spine0", "leaf3"]})
    return flows


def fct_us(result: xoff.Result) -> dict[str, float]:
    """Returns completion times by label."""
    return {row["label"]: row["fct_ps"] / 1e6 for row in result.flows.to_pylist()}


FIXED = {"threshold": "200KB", "pause": "10us"}


def test_messages_of_a_flow_keep_their_interval() -> None:
    """Two messages for one flow are at least the interval apart, and the sending queue stays at the threshold."""
    result = xoff.run(network(FIXED | {"interval": "7us"}, incast()) | {"probe": {"packets": True}})
    sent: dict[int, list[int]] = {}
    for row in events(result, "leaf3", "sfcm"):
        if row.event == "depart":
            assert row.flow is not None
            sent.setdefault(row.flow, []).append(row.time_ps)
    assert len(sent) >= 3
    gaps = [b - a for times in sent.values() for a, b in pairwise(times)]
    # A message may wait for one frame on the wire before it leaves.
    assert min(gaps) >= 7_000_000 - 170_000
    assert result.summary["sfc"]["messages"] == sum(len(times) for times in sent.values())


def test_a_pause_that_is_too_long_lets_the_egress_run_dry() -> None:
    """With N = 3, X = 200 KB and R = 2.4 us the queue lasts for (N - 1)R + X/C = 12.8 us; a longer pause idles a link.

    Each cycle has a message for each sender, so that about (t - 12.8 us) is lost for each three messages.
    Serialisation, which the formula leaves out, makes the queue last up to three packets a sender longer (1.5 us).
    """
    for pause_us in (10, 20, 40):
        result = xoff.run(network(FIXED | {"pause": f"{pause_us}us"}, incast(victim=None)))
        sfc = result.summary["sfc"]
        cycles = sfc["messages"] / 3
        lost_us = sfc["egress_idle_paused_ps"] / 1e6 / cycles
        assert lost_us == pytest.approx(max(pause_us - 14, 0), abs=1.6), pause_us
        # The incast takes the time of its bytes plus the lost time.
        busy_us = 3 * 1250 * PACKET * 8 / RATE * 1e6
        assert max(fct_us(result).values()) == pytest.approx(busy_us + sfc["egress_idle_paused_ps"] / 1e6, rel=0.03)
        assert result.summary["pfc"]["pauses"] == 0


def test_a_pause_that_is_too_short_leaves_the_queue_above_the_threshold() -> None:
    """Below (N - 1)R = 4.8 us a source comes back before the queue has fallen; above it none does."""
    short = xoff.run(network(FIXED | {"pause": "3us"}, incast(victim=None))).summary["sfc"]
    enough = xoff.run(network(FIXED, incast(victim=None))).summary["sfc"]
    assert short["above_threshold_after_pause_ps"] > 100_000_000
    assert enough["above_threshold_after_pause_ps"] == 0
    assert short["messages"] > 2 * enough["messages"]
    assert short["egress_idle_paused_ps"] == enough["egress_idle_paused_ps"] == 0


@pytest.mark.parametrize("target", ["75KB", "50KB", "20KB"])
def test_a_pause_to_the_target_empties_the_queue_down_to_it(target: str) -> None:
    """At the message the queue holds X; it drains for (X - target)/C, less what arrives within the round trip.

    The trough of each cycle is then the target plus what came in: (N - 1)·R·C within a packet of each sender and link,
    as long as the pause is longer than (N - 1)·R.
    """
    sfc = {"threshold": "200KB", "target": target}
    result = xoff.run(network(sfc, incast("20MB", victim=None)) | {"probe": {"queues": "100ns"}})
    down = [
        row["bytes"]
        for row in result.table("samples").to_pylist()
        if row["node"] == "leaf3" and row["port"] == 0 and 100e6 < row["time_ps"] < 1000e6
    ]
    came = 2 * 2.4e-6 * RATE / 8
    assert min(down) == pytest.approx(float(target.removesuffix("KB")) * 1000 + came, abs=10 * PACKET)


def test_dynamic_settings_follow_the_number_of_sources() -> None:
    """Computed from N: no PFC, no dry egress and the headroom is used, for 2 senders or 3."""
    for senders in (2, 3):
        flows = incast(victim=None)[:senders]
        sfc = {"dynamic": {"pause": True, "threshold": True}, "round_trip": "2.9us"}
        result = xoff.run(network(sfc, flows))
        assert result.summary["pfc"]["pauses"] == 0
        assert result.summary["sfc"]["egress_idle_paused_ps"] == 0
        peak = max(row["max_bytes"] for row in result.queues.to_pylist() if row["node"] == "leaf3" and row["port"] == 0)
        # XOFF less the headroom is the threshold, and the headroom is used, within N + 1 packets.
        assert 300_000 < peak < 380_000 + (senders + 1) * PACKET


def test_resumes_end_pauses() -> None:
    """A pause far too long does no harm when the queue's fall to the level ends it."""
    long = xoff.run(network({"threshold": "200KB", "pause": "200us"}, incast(victim=None)))
    resumed = xoff.run(network({"threshold": "200KB", "pause": "200us", "resume": "150KB"}, incast(victim=None)))
    assert long.summary["sfc"]["egress_idle_paused_ps"] > 500_000_000
    assert resumed.summary["sfc"]["egress_idle_paused_ps"] == 0
    assert resumed.summary["sfc"]["resumes"] > 0
    assert max(fct_us(resumed).values()) < 620 < max(fct_us(long).values())


def test_what_a_source_holds() -> None:
    """The victim shares its host with a sender: a hold of the flow or of the destination spares the victim."""
    by_hold = {
        hold: fct_us(xoff.run(network(FIXED | {"hold": hold}, incast())))["victim"]
        for hold in ("flow", "destination", "queue")
    }
    assert by_hold["flow"] == pytest.approx(by_hold["destination"], rel=0.02)
    assert by_hold["queue"] > 1.5 * by_hold["flow"]


def test_a_proxy_slows_the_innocent_by_the_share_of_time_that_their_host_is_paused() -> None:
    """The victim alone with a paused sender on its host gets C less the pauses and the sender's share of the rest."""
    result = xoff.run(network(FIXED | {"mode": "proxy"}, incast("20MB")))
    host = xoff.run(network(FIXED, incast("20MB")))
    (paused_ps,) = (row["paused_ps"] for row in result.links.to_pylist() if row["node"] == "host0")
    end_ps = next(row["fct_ps"] for row in result.flows.to_pylist() if row["label"] == "victim")
    flows = {row["label"]: row for row in result.flows.to_pylist()}
    # While the host may send, its two flows take turns: the victim needs twice its time alone.
    own_ps = 2 * 5000 * PACKET * 8 / RATE * 1e12
    assert flows["incast0"]["fct_ps"] >= 0.98 * end_ps
    assert end_ps == pytest.approx(own_ps + paused_ps * end_ps / max(end_ps, flows["incast0"]["fct_ps"]), rel=0.05)
    assert end_ps > 1.5 * fct_us(host)["victim"] * 1e6
    assert result.summary["sfc"]["proxy_pauses"] > 10


def test_isolation_leaves_the_innocent_alone() -> None:
    """With room for the congestion queue the victim keeps its half of the host's link; order is kept."""
    big = {"buffer": {"per_port": "40MB"}}
    small = {"pfc": {"xoff": "39MB", "xon": "38MB"}}
    times = {}
    for mode in ("host", "proxy", "proxy_isolation"):
        scenario = network(FIXED | {"mode": mode}, incast("10MB"), **big)
        scenario["switch"]["flow_control"] |= small
        result = xoff.run(scenario)
        assert result.audits["order"] == "ok"
        times[mode] = fct_us(result)["victim"]
        if mode == "proxy_isolation":
            assert result.summary["pfc"]["pauses"] == 0
            assert result.summary["sfc"]["isolated_flows"] >= 3
    # Host and isolation differ in the sender's rate meanwhile: the isolated flow keeps its half of the host's link.
    alone_us = 2500 * PACKET * 8 / RATE * 1e6
    assert times["proxy_isolation"] == pytest.approx(2 * alone_us, rel=0.05)
    assert times["proxy"] > 1.3 * times["proxy_isolation"]


@pytest.mark.parametrize("queueing", ["oq", "voq"])
@pytest.mark.parametrize("cache", [False, True])
def test_isolation_keeps_the_order_of_flows_under_stress(queueing: str, cache: bool) -> None:
    """Short pauses, resumes and many flows: flows enter and leave congestion queues in order."""
    flows = [
        {
            "src": f"host{8 * (i % 3) + i % 5}",
            "dst": f"host{24 + i % 2}",
            "size": f"{40 + 37 * i}KB",
            "start": f"{i % 7}us",
        }
        for i in range(60)
    ]
    sfc = {"threshold": "60KB", "pause": "2us", "interval": "1us", "mode": "proxy_isolation", "cache": cache}
    for extra in ({}, {"resume": "30KB", "pause": "20us"}):
        scenario = network(sfc | extra, flows, queueing=queueing)
        scenario["switch"]["flow_control"]["pfc"] = {}
        result = xoff.run(scenario)
        assert result.audits["order"] == "ok"
        assert result.summary["flows"]["completed"] == 60
        assert result.summary["sfc"]["isolated_flows"] > 10


def test_queues_of_the_interface_let_new_flows_pass() -> None:
    """The victim starts while its host's first queue is paused: the victim takes another queue, and is not held."""
    late = incast("20MB")
    late[3]["start"] = "100us"
    late[3]["size"] = "1MB"
    times = {
        mode: fct_us(xoff.run(network(FIXED | {"mode": mode}, late)))["victim"]
        for mode in ("host", "proxy", "nic_isolation")
    }
    assert times["nic_isolation"] < 0.8 * times["proxy"]
    assert times["nic_isolation"] < 1.5 * times["host"]


def test_a_cache_holds_new_flows_at_once() -> None:
    """A new flow to a paused destination waits without a message of its own."""
    flows = incast("5MB", victim=None)
    flows += [
        {"id": f"late{i}", "src": "host1", "dst": "host24", "size": "40KB", "start": f"{40 + 20 * i}us"}
        for i in range(10)
    ]
    isolated = {
        cache: xoff.run(network(FIXED | {"mode": "proxy_isolation", "cache": cache}, flows)).summary["sfc"][
            "isolated_flows"
        ]
        for cache in (False, True)
    }
    assert isolated[True] > isolated[False]


def test_a_storm_of_small_flows_keeps_the_stated_rate_of_messages() -> None:
    """For each source and interval there is one message if destinations are held, for any number of flows.

    With holds by flow, each flow may cause a message: a storm that holds by destination avoid.
    """
    flows = [
        {"src": f"host{8 * (i % 3) + i // 3 % 8}", "dst": "host24", "size": "8KB", "start": f"{i // 24 * 300}ns"}
        for i in range(2400)
    ]
    messages = {}
    for hold in ("flow", "destination"):
        result = xoff.run(network(FIXED | {"hold": hold}, flows) | {"probe": {"packets": True}})
        # One congestion point: the switch of the receiver.
        messages[hold] = sum(row.event == "depart" for row in events(result, "leaf3", "sfcm"))
        intervals = result.summary["simulated_ps"] / 10_000_000
    assert messages["destination"] <= 24 * (intervals + 1)
    assert messages["flow"] <= 2400 * 2
    assert messages["flow"] > 1.5 * messages["destination"]


def test_a_message_for_a_flow_that_is_over_is_harmless_and_counted() -> None:
    """Data and ACKs are pinned to a fast switch; a message chooses between the fast switch and one 1 ms away.

    Messages on the slow path arrive long after the last ACK.
    """
    link = {"rate": "100Gbps", "delay": "100ns"}
    nodes = {"a": "host", "b": "host", "c": "host", "s": "switch", "fast": "switch", "slow": "switch", "t": "switch"}
    ends = [("a", "s"), ("c", "s"), ("s", "fast"), ("fast", "t"), ("t", "b")]
    links = [{"a": a, "b": b, **link} for a, b in ends]
    links += [{"a": a, "b": b, "rate": "100Gbps", "delay": "500us"} for a, b in (("s", "slow"), ("slow", "t"))]
    links[4]["rate"] = "50Gbps"
    scenario = {
        "network": {"explicit": {"nodes": [{"name": n, "kind": k} for n, k in nodes.items()], "links": links}},
        "switch": {"flow_control": {"sfc": {"threshold": "10KB", "pause": "10us"}}},
        "workload": [
            {"flows": [{"src": "ac"[i % 2], "dst": "b", "size": "20KB", "via": ["s", "fast", "t"]} for i in range(16)]}
        ],
    }
    result = xoff.run(scenario)
    assert result.ok
    assert result.summary["flows"]["completed"] == 16
    assert 0 < result.summary["sfc"]["late_holds"] < result.summary["sfc"]["messages"]


@pytest.mark.parametrize("queueing", ["oq", "voq", "iq"])
def test_only_a_fifo_at_the_input_accuses_the_innocent(queueing: str) -> None:
    """The victim goes to an idle output. With one FIFO an input, its packets wait behind the incast and are sampled."""
    result = xoff.run(network(FIXED, incast(victim="host25"), queueing=queueing))
    (victim,) = (row for row in result.flows.to_pylist() if row["label"] == "victim")
    assert (victim["holds"] > 0) == (queueing == "iq")


def fabric_and_last_hop(signals: str) -> dict[str, Any]:
    """Two hosts share one uplink (2:1) on the path to two receivers; two others send to a receiver at their leaf."""
    flows: list[dict[str, Any]] = [
        {"id": "up0", "src": "host0", "dst": "host24", "size": "2MB", "via": ["leaf0", "spine0", "leaf3"]},
        {"id": "up1", "src": "host1", "dst": "host25", "size": "2MB", "via": ["leaf0", "spine0", "leaf3"]},
        {"id": "down0", "src": "host8", "dst": "host10", "size": "2MB"},
        {"id": "down1", "src": "host9", "dst": "host10", "size": "2MB"},
    ]
    return network(FIXED | {"signals": signals}, flows)


@pytest.mark.parametrize("signals", ["all", "last_hop"])
def test_only_the_destinations_switch_signals_with_last_hop(signals: str) -> None:
    """The uplink of leaf 0 is as congested as the output of leaf 1 to its host, which alone is a last hop."""
    result = xoff.run(fabric_and_last_hop(signals))
    accused = {row["label"] for row in result.flows.to_pylist() if row["holds"]}
    assert accused == {"down0", "down1"} | ({"up0", "up1"} if signals == "all" else set())
    # Without a signalling switch PFC acts as without SFC.
    assert (result.summary["pfc"]["pauses"] > 0) == (signals == "last_hop")


@pytest.mark.parametrize("queueing", ["oq", "voq"])
def test_an_incast_at_the_last_hop_signals_the_same(queueing: str) -> None:
    """With congestion at the last hop alone both settings are one simulation."""
    runs = [
        xoff.run(network(FIXED | {"signals": signals}, incast(victim=None), queueing=queueing))
        for signals in ("all", "last_hop")
    ]
    assert runs[0].summary["sfc"] == runs[1].summary["sfc"]
    assert runs[0].summary["sfc"]["messages"] > 0
    assert runs[0].fingerprint == runs[1].fingerprint


def test_what_goes_on_through_a_relay_is_not_at_its_last_hop() -> None:
    """Two nodes send through a relay, and two to the relay: the output to the relay signals flows to the relay."""
    link = {"rate": "100Gbps", "delay": "100ns"}
    nodes = {"a": "host", "b": "host", "z": "host", "r": "relay", "s": "switch", "t": "switch"}
    links = [{"a": a, "b": b, **link} for a, b in [("a", "s"), ("b", "s"), ("s", "r"), ("r", "t"), ("t", "z")]]
    flows = [{"id": "through", "src": "a", "dst": "z"}, {"id": "ends", "src": "b", "dst": "r"}]
    scenario = {
        "network": {"explicit": {"nodes": [{"name": n, "kind": k} for n, k in nodes.items()], "links": links}},
        "switch": {"flow_control": {"sfc": FIXED | {"threshold": "20KB", "signals": "last_hop"}}},
        "workload": [{"flows": [flow | {"size": "500KB"} for flow in flows]}],
    }
    held = {row["label"]: row["holds"] for row in xoff.run(scenario).flows.to_pylist()}
    assert held["ends"] > 0 == held["through"]


def test_classes_ask_for_messages_of_their_own_when_queues_are_held() -> None:
    """Two classes of the same senders: the interval of one does not keep the other's messages back."""
    flows = [flow | {"id": f"{flow['id']}{c}"} for flow in incast(victim=None) for c in (0, 1)]
    made = network(FIXED | {"hold": "queue"}, [], classes=2, scheduler="round_robin", buffer="unlimited")
    made["workload"] = [{"flows": flows[c::2], "class": c} for c in (0, 1)]
    result = xoff.run(made)
    peaks = {
        row["class"]: row["max_bytes"]
        for row in result.queues.to_pylist()
        if (row["node"], row["port"]) == ("leaf3", 0)
    }
    # Each class gets half of the egress, so that its queue grows by another (N - 1/2)RC at most.
    assert max(peaks.values()) < 380_000


def test_default_headroom_serves_every_queue_of_the_interface() -> None:
    """Queues of an interface are counted as classes: each has headroom of its own in the memory of a port."""
    flows = [{"src": i % 4, "dst": 24, "size": "200KB"} for i in range(64)]
    sfc = {"threshold": "60KB", "pause": "5us", "mode": "nic_isolation", "queues": 8}
    made = network(sfc, flows, buffer={"per_port": "400KB"})
    made["switch"]["flow_control"]["pfc"] = {}
    assert xoff.run(made).summary["drops"] == 0


def test_a_dropped_packet_does_not_keep_its_flow_isolated() -> None:
    """Without PFC congestion queues overflow; flows complete in order all the same."""
    flows = [{"src": 8 * (i % 3) + i // 3, "dst": 24 + i % 2, "size": "300KB"} for i in range(12)]
    made = network(
        {"threshold": "30KB", "pause": "20us", "mode": "proxy_isolation"}, flows, buffer={"per_port": "60KB"}
    )
    del made["switch"]["flow_control"]["pfc"]
    result = xoff.run(made)
    assert result.summary["drops"] > 0
    assert result.summary["flows"]["completed"] == 12
    assert result.audits["order"] == "ok"


def test_a_resume_of_one_flow_lets_the_congestion_queue_of_all_go_on_if_it_is_to() -> None:
    """Two flows of one leaf are isolated in one queue for two receivers, one of which resumes first.

    Up to the first resume both settings are one simulation; then the pause that began at the same moment ends with the
    resume.
    """
    pauses: dict[str, list[tuple[int, int]]] = {}
    for ends in ("flow", "queue"):
        flows = incast("2MB", victim=None)
        flows += [
            {"src": src, "dst": "host16", "size": "300KB", "via": [leaf, "spine0", "leaf2"]}
            for src, leaf in (("host1", "leaf0"), ("host9", "leaf1"), ("host25", "leaf3"))
        ]
        sfc = {"threshold": "100KB", "pause": "100us", "resume": "50KB", "mode": "proxy_isolation", "resume_ends": ends}
        made = network(sfc, flows, buffer={"per_port": "40MB"})
        made["switch"]["flow_control"]["pfc"] = {"xoff": "39MB", "xon": "38MB"}
        result = xoff.run(made)
        assert result.audits["order"] == "ok"
        rows = (row for row in result.pauses.to_pylist() if row["cause"] == "sfc" and row["node"] == "leaf0")
        pauses[ends] = sorted((row["start_ps"], row["end_ps"]) for row in rows)
    by_flow, by_queue = next((a, b) for a, b in zip(pauses["flow"], pauses["queue"], strict=False) if a != b)
    assert by_queue[0] == by_flow[0]
    assert by_queue[1] < by_flow[1] - 1_000_000
