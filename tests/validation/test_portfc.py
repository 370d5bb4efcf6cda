"""PortFC in NDC(n, 1): paused and unpaused queues, no losses; PFC for comparison, with its deadlocks."""

from collections.abc import Sequence
from typing import Any

import pytest

import xoff

LINK = {"rate": "100Gbps", "delay": "1us"}
MEMORY = {"shared": {"total": "5MB", "alpha": 1024.0, "reserve": "0B", "headroom": "0B"}}
PFC = {"xoff": "75KB", "xon": "50KB"}


def ndc(n: int, flow_control: dict[str, Any], *workload: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "network": {"ndc": {"n": n, "link": LINK}},
        "switch": {"buffer": MEMORY, "flow_control": flow_control, **more.pop("switch", {})},
        "workload": list(workload),
        **more,
    }


def flow(src: int | str, dst: int | str, *via: str, size: str = "1MB", **more: str) -> dict[str, Any]:
    return {"src": src, "dst": dst, "size": size, "via": list(via), **more}


# In NDC(4, 1) switch level0_i joins hosts 4i … 4i + 3, and level1_j hosts j, 4 + j, 8 + j and 12 + j.
TO_HOST_0 = [
    flow(5, 0, "level0_1", "host4", "level1_0"),
    flow(10, 0, "level0_2", "host8", "level1_0"),
    flow(12, 0, "level1_0"),
]


def held(result: xoff.Result) -> set[tuple[str, int, int]]:
    """Node, port and queue of every pause."""
    rows = result.pauses.to_pylist()
    assert all(row["cause"] == "portfc" for row in rows)
    return {(row["node"], row["port"], row["queue"]) for row in rows}


def test_congestion_of_a_direct_queue_pauses_b_then_passes_to_A_and_ends_at_a() -> None:  # noqa: N802
    """Equations 1 and 2: queue B of level1_0 toward host 0 fills; pauses reach no farther than three hops."""
    result = xoff.run(ndc(4, {"portfc": {}}, {"flows": TO_HOST_0}))
    found = held(result)
    # Port 1 of hosts 4, 8 and 12 leads to level1_0; their port 0 has index 0 there. Queues b are 4 to 6, c is 7.
    b = {(f"host{h}", 1, 4) for h in (4, 8, 12)}
    # These hosts relay the frame by port 0; their switches hold packets for port 0 of level1_0: index 0.
    relayed = {(f"level0_{i}", 0, 1) for i in (1, 2, 3)}
    assert b <= found
    assert relayed <= found
    # Queues A that fill meanwhile pause queues a of index 0 at the other hosts of their switches: the last hop.
    a = {(f"host{4 * i + j}", 0, 1) for i in (1, 2) for j in (1, 2, 3)}
    assert found - b - relayed <= a
    assert {("host5", 0, 1), ("host10", 0, 1)} <= found
    # Frames: the congested switch pauses three neighbours, and each neighbour pauses one switch.
    counts = result.summary["portfc"]
    assert result.summary["drops"] == 0
    assert counts["relayed"] > 0
    # A frame goes to n − 1 neighbours for each pause and each resume.
    assert counts["frames"] == 2 * 3 * counts["pauses"]


def test_a_switch_holds_packets_for_the_congested_output_of_the_next_switch() -> None:
    """Hosts a and c send to d, which b's packets for c pass: only queues for the output toward d are paused."""
    ends = {"a": "left", "b": "left", "c": "right", "d": "right"}
    network = {
        "nodes": [
            *({"name": name, "kind": "switch"} for name in ("left", "right")),
            *({"name": name, "kind": "host"} for name in ends),
        ],
        "links": [{"a": "left", "b": "right", **LINK}, *({"a": a, "b": b, **LINK} for a, b in ends.items())],
    }
    victim = flow("b", "c", size="100KB", start="50us")

    def run(*flows: dict[str, Any]) -> xoff.Result:
        switch = {"buffer": MEMORY, "flow_control": {"portfc": {}}}
        return xoff.run({"network": {"explicit": network}, "switch": switch, "workload": [{"flows": list(flows)}]})

    (alone,) = run(victim).flows.to_pylist()
    result = run(flow("a", "d"), flow("c", "d"), victim)
    # For both neighbours of `right` the output toward d is the second of two others: queue 2.
    assert held(result) == {("left", 0, 2), ("c", 0, 2)}
    assert result.summary["drops"] == 0
    first = next(row for row in result.flows.to_pylist() if row["src"] == "b")
    # Flows a and b share the link between the switches.
    assert first["fct_ps"] <= 2.1 * alone["fct_ps"]


def test_a_victim_toward_another_output_is_not_paused() -> None:
    """Figure 4: host 12 also sends to host 8 by the same port and switch; its packets never wait for host 0's."""
    victim = flow(12, 8, "level1_0", size="100KB", start="50us", id="victim")
    alone = xoff.run(ndc(4, {"portfc": {}}, {"flows": [victim]})).flows.to_pylist()[0]["fct_ps"]

    def fct(control: dict[str, Any]) -> int:
        rows = xoff.run(ndc(4, control, {"flows": [*TO_HOST_0, victim]})).flows.to_pylist()
        return next(int(row["fct_ps"]) for row in rows if row["size_bytes"] == 100_000)

    # The source shares its port between the two flows under any flow control.
    assert fct({"portfc": {}}) <= 2.1 * alone
    assert fct({"pfc": {**PFC, "relays": "forward"}}) > 2 * fct({"portfc": {}})


def test_queues_a_of_a_source_block_victims() -> None:
    """N.9b: a queue a stands for an output of the first switch, regardless of later hops: the claim is too strong.

    Hosts 5 and 6 send by host 4 to hosts 0 and 8. Host 0 is congested. Queue A toward host 4 fills with host 0's
    packets, and then queue a of both hosts is paused, including packets for host 8 with a free path.
    """
    crowd = [*TO_HOST_0, flow(6, 0, "level0_1", "host4", "level1_0"), flow(15, 0, "level0_3", "host12", "level1_0")]
    victim = flow(5, 8, "level0_1", "host4", "level1_0", size="100KB", start="50us")
    rows = xoff.run(ndc(4, {"portfc": {}}, {"flows": [*crowd, victim]})).flows.to_pylist()
    blocked = next(row["fct_ps"] for row in rows if row["size_bytes"] == 100_000)
    (alone,) = xoff.run(ndc(4, {"portfc": {}}, {"flows": [victim]})).flows.to_pylist()
    assert blocked > 3 * alone["fct_ps"]


@pytest.mark.parametrize("n", [4, 8])
@pytest.mark.parametrize("first_hop", ["hash", "highest"])
def test_nothing_is_lost_or_sent_again(n: int, first_hop: str) -> None:
    """N.9: k = 1 and equal rates."""
    summary = xoff.run(
        ndc(
            n,
            {"portfc": {}},
            {"poisson": {"load": 0.7, "sizes": "websearch", "duration": "1ms" if n == 4 else "0.3ms"}},
            {"repeated_incast": {"senders": 8 if n == 4 else 32, "size": "1MB", "period": "500us", "count": 2}},
            {"moe": {"tokens": 16, "token_size": "7168B"}},
            host={"first_hop": first_hop},
        )
    ).summary
    assert set(summary["audits"].values()) == {"ok"}
    assert (summary["drops"], summary["retransmitted"]) == (0, 0)
    assert summary["portfc"]["pauses"] > 0


def test_relays_between_unequal_rails_lose_and_say_so() -> None:
    """160 Gb/s to 100 Gb/s: a relay has no one to pause, and a finite memory overflows."""
    scenario = {
        "network": {
            "rail": {
                "servers": 4,
                "gpus_per_server": 4,
                "scale_up": {"rate": "160Gbps", "delay": "1us"},
                "rail": LINK,
            }
        },
        "switch": {"buffer": MEMORY, "flow_control": {"portfc": {}}},
        "host": {"relay": {"buffer": {"per_port": "200KB"}}},
        "workload": [{"flows": [flow(i, 4, "server0", "host0", "rail0", size="4MB") for i in (1, 2)]}],
        "audits": {"loss": "record"},
    }
    result = xoff.run(scenario)
    assert result.audits["loss"].startswith("recorded")
    assert {row["node"] for row in result.drops.to_pylist()} == {"host0"}
    assert result.summary["flows"]["completed"] == 2


RING = [("host0", "level0_0"), ("host1", "level1_1"), ("host3", "level0_1"), ("host2", "level1_0")]


def loops(flow_control: dict[str, Any], scheduler: str, classes: int = 1) -> dict[str, Any]:
    """NDC(2, 1): flows of four hops around the ring, each relayed by the next host."""
    flows = [
        {
            "src": RING[i][0],
            "dst": RING[(i + 2) % 4][0],
            "size": "4MB",
            "start": f"{7 * i}us",
            "via": [RING[i][1], RING[(i + 1) % 4][0], RING[(i + 1) % 4][1]],
        }
        for i in range(4)
        for _ in range(4)
    ]
    return ndc(
        2,
        flow_control,
        {"flows": flows},
        switch={"classes": classes, "scheduler": "round_robin" if classes > 1 else "strict"},
        host={"relay": {"scheduler": scheduler, "buffer": {"per_port": "5MB"}}},
        audits=dict.fromkeys(("deadlock", "pauses", "completion", "loss"), "record"),
    )


def test_pfc_deadlocks_in_the_smallest_ring_and_the_others_do_not() -> None:
    found = xoff.run(loops({"pfc": PFC}, "per_flow"))
    assert found.summary["flows"]["completed"] == 0
    # The circle is named, link by link, around the ring.
    assert all(f"{host} port" in found.audits["deadlock"] for host, _ in RING)
    for control, scheduler, classes in (
        ({"pfc": {**PFC, "hop_classes": True}}, "per_flow", 2),
        ({"portfc": {}}, "relay_first", 1),
        ({"pfc": PFC}, "relay_first", 1),
    ):
        result = xoff.run(loops(control, scheduler, classes))
        assert result.audits["deadlock"] == "ok"
        assert result.summary["flows"]["completed"] == 16
    # PortFC pauses no relayed packets, but depends on relays with priority for relayed packets.
    result = xoff.run(loops({"portfc": {}}, "per_flow"))
    assert result.audits["deadlock"] == "ok"
    assert result.audits["loss"].startswith("recorded")


def possible(
    n: int, control: dict[str, Any], first_hop: str = "hash", classes: int = 1, **relay: Any
) -> dict[str, Any]:
    scenario = ndc(n, control, {"all_to_all": {"size": "10KB"}}, switch={"classes": classes})
    found = xoff.check({**scenario, "host": {"first_hop": first_hop, "relay": relay}})["deadlock"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("n", [3, 4])
def test_possible_deadlocks_are_found_beforehand_and_close(n: int) -> None:
    """docs/models/portfc.md: one order of digits is safe unless pauses are relayed; every cycle found deadlocks."""
    forward = {"pfc": {**PFC, "relays": "forward"}}
    cases: Sequence[tuple[dict[str, Any], str, dict[str, Any]]] = (
        ({"pfc": PFC}, "hash", {"scheduler": "per_flow", "buffer": {"per_port": "5MB"}}),
        (forward, "hash", {}),
        (forward, "highest", {}),
    )
    for control, first_hop, relay in cases:
        found = possible(n, control, first_hop, **relay)
        assert found["possible"]
        assert len(found["cycle"]) >= 4
        assert found["flows"]
        assert xoff.run(found["scenario"]).audits["deadlock"].startswith("recorded")
    assert not possible(n, {"pfc": PFC}, "highest")["possible"]
    for relays in ("native", "forward"):
        star = {"pfc": {**PFC, "relays": relays, "hop_classes": True}}
        assert not possible(n, star, "hash", 2)["possible"]


@pytest.mark.parametrize("n", [2, 4, 8, 16])
def test_portfc_has_no_possible_deadlock(n: int) -> None:
    for first_hop in ("hash", "highest"):
        assert possible(n, {"portfc": {}}, first_hop) == {"possible": False}


def test_rails_with_aggregation_run_portfc() -> None:
    """Section VI-D: a layer above the rails."""
    scenario = {
        "network": {
            "rail": {
                "servers": 4,
                "gpus_per_server": 4,
                "scale_up": LINK,
                "rail": LINK,
                "aggregation": {"switches": 4, "link": LINK, "segments": 2},
            }
        },
        "switch": {"buffer": MEMORY, "flow_control": {"portfc": {}}},
        "workload": [
            {"poisson": {"load": 0.5, "sizes": "storage", "duration": "200us"}},
            {"repeated_incast": {"senders": 16, "size": "300KB", "period": "100us", "count": 2}},
        ],
    }
    assert xoff.check(scenario)["deadlock"] == {"possible": False}
    summary = xoff.run(scenario).summary
    assert summary["drops"] == 0
    assert summary["portfc"]["pauses"] > 0


def test_more_than_one_relay_on_a_path_is_refused() -> None:
    scenario = ndc(2, {"portfc": {}}, {"all_to_all": {"size": "10KB"}})
    scenario["network"]["ndc"]["k"] = 2
    with pytest.raises(xoff.InputError, match=r"switch\.flow_control\.portfc: a path .* passes 2 relays"):
        xoff.run(scenario)
    # Flows past one relay do as well as with k = 1.
    scenario["workload"] = [{"flows": [{"src": 0, "dst": 3, "size": "1MB"}, {"src": 1, "dst": 2, "size": "1MB"}]}]
    assert xoff.run(scenario).summary["drops"] == 0


@pytest.mark.parametrize("seed", range(6))
def test_the_ideal_time_is_that_of_both_first_hops(seed: int) -> None:
    """Alone in the network a flow takes longer than its ideal time, which uses both unequal domains at once."""
    ends = [(host, switch, rate) for host in "ab" for switch, rate in (("fast", "160Gbps"), ("slow", "20Gbps"))]
    kinds = {"a": "host", "b": "host", "fast": "switch", "slow": "switch"}
    result = xoff.run(
        {
            "network": {
                "explicit": {
                    "nodes": [{"name": name, "kind": kind} for name, kind in kinds.items()],
                    "links": [{"a": a, "b": b, "rate": rate, "delay": "1us"} for a, b, rate in ends],
                }
            },
            "host": {"first_hop": {"asymmetric": {}}},
            "workload": [{"flows": [{"src": "a", "dst": "b", "size": "1MB"}]}],
        },
        seed=seed,
    )
    (flow,) = result.flows.to_pylist()
    # A frame of 1048 B takes 52,400 ps at 160 Gb/s and 419,200 ps at 20 Gb/s, and one frame more for the second link.
    fast, slow, links = 52_400, 419_200, 2_000_000
    assert flow["fct_ps"] in {links + 1001 * fast, links + 1001 * slow}
    split = min(max((n + 1) * fast, (1001 - n) * slow) for n in range(1, 1000))
    assert flow["ideal_fct_ps"] == links + split
