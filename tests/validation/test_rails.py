"""Messages to other rails: by NVLink first, as NCCL sends them, and no pause spreads into a server."""

from random import Random
from typing import Any, get_type_hints

import pytest
from tests.validation.test_fast_forward import skipped

import xoff
from xoff import scenario as classes
from xoff.conformance.runs import FORWARDED

RELAY_BYTES = 4 << 20


def rails(servers: int, gpus: int, **more: Any) -> dict[str, Any]:
    """Returns servers of an HGX kind, joined by rails."""
    scale_up = {"rate": "2880Gbps", "delay": "25ns"}
    return {
        "rail": {
            "servers": servers,
            "gpus_per_server": gpus,
            "scale_up": scale_up,
            "rail": {"rate": "400Gbps", "delay": "500ns"},
            **more,
        }
    }


def crossing(rng: Random, servers: int, gpus: int, count: int) -> list[dict[str, Any]]:
    """Draws flows to other servers and other rails."""
    flows: list[dict[str, Any]] = []
    while len(flows) < count:
        src, dst = rng.randrange(servers * gpus), rng.randrange(servers * gpus)
        if src // gpus != dst // gpus and src % gpus != dst % gpus:
            flows.append({"src": src, "dst": dst, "size": f"{rng.randrange(1, 3000)}KB"})
    return flows


@pytest.mark.parametrize("seed", range(8))
def test_a_message_to_another_rail_goes_by_its_own_server(seed: int) -> None:
    """NCCL's PXN: over NVLink to the GPU on the destination's rail, whose NIC sends; aggregation is not needed."""
    rng = Random(seed)
    servers, gpus = rng.choice([(2, 2), (3, 4), (8, 8)])
    link = {"rate": "400Gbps", "delay": "250ns"}
    more = rng.choice([{}, {"aggregation": {"switches": gpus, "link": link}}])
    flows = crossing(rng, servers, gpus, 40)
    result = xoff.run({"seed": seed, "network": rails(servers, gpus, **more), "workload": [{"flows": flows}]})
    rows = sorted(result.flows.to_pylist(), key=lambda row: int(row["flow"]))
    for row in rows:
        src, dst = (int(row[end].removeprefix("host")) for end in ("src", "dst"))
        relay = src // gpus * gpus + dst % gpus
        assert row["via"] == f"server{src // gpus}, host{relay}, rail{dst % gpus}"


def test_a_first_hop_that_is_given_holds() -> None:
    scenario = {"network": rails(2, 2), "workload": [{"flows": [{"src": 0, "dst": 3, "size": "1MB"}]}]}
    via = {
        hop: xoff.run({**scenario, "host": {"first_hop": hop}}).flows["via"].to_pylist()
        for hop in ("lowest", "highest")
    }
    assert via == {"lowest": ["server0, host1, rail1"], "highest": ["rail0, host2, server1"]}


def beside(src: int, dst: int, seed: int, **switch: Any) -> xoff.Result:
    """Runs an all-reduce of 16 MB within a server beside one message of 64 MB to another rail."""
    ops: list[dict[str, Any]] = [
        {"rank": rank, "kind": "all_reduce", "name": "tp", "group": "tp", "size": "16MB"} for rank in (0, 1)
    ]
    ops.append({"rank": src, "kind": "send", "name": "s", "peer": dst, "tag": 0, "size": "64MB"})
    ops.append({"rank": dst, "kind": "recv", "name": "r", "peer": src, "tag": 0})
    return xoff.run(
        {
            "seed": seed,
            "network": rails(2, 2),
            "framing": {"payload": "9000B"},
            "switch": {"flow_control": {"pfc": switch}},
            "workload": [{"name": "j", "graph": {"operations": ops, "groups": {"tp": [0, 1]}, "ranks": 4}}],
        }
    )


@pytest.mark.parametrize(("src", "dst"), [(1, 2), (0, 3)])
@pytest.mark.parametrize("seed", [1, 2])
def test_what_is_relayed_slows_a_server_by_its_own_bytes_alone(src: int, dst: int, seed: int) -> None:
    """The all-reduce takes 45 us alone. The message uses NVLink for the relay's buffer of 4 MiB and the rate of a NIC.

    With a NIC of 400 Gb/s, t = 45 us + (4 MiB + t 50 GB/s) / 360 GB/s, so t is 66 us. Pauses made t 319 us.
    """
    result = beside(src, dst, seed)
    took = max(row["end_ps"] for row in result.operations.to_pylist() if row["kind"] == "all_reduce") / 1e6
    assert took == pytest.approx((45 + RELAY_BYTES / 360e3) / (1 - 50 / 360), rel=0.03)
    assert result.summary["pfc"]["pauses"] == 0
    natively = beside(src, dst, seed, relays="native")
    assert natively.summary["pfc"]["pauses"] > 0


@pytest.mark.parametrize("seed", range(6))
def test_what_waits_in_a_relay_is_bounded_by_flow_and_pauses_nobody(seed: int) -> None:
    """Packets in flight at the hold of a source, and packets queued in the server's switch by then, are added."""
    rng = Random(seed)
    servers, gpus = rng.choice([(2, 4), (3, 3), (4, 2)])
    bound = rng.choice([64 << 10, 1 << 20])
    flows = [{**flow, "size": "3MB"} for flow in crossing(rng, servers, gpus, 30)]
    scenario = {
        "seed": seed,
        "network": rails(servers, gpus),
        "framing": {"payload": "4096B"},
        "switch": {"flow_control": {"pfc": {}}},
        "host": {"relay": {"per_flow": f"{bound}B"}},
        "workload": [{"flows": flows}],
    }
    result = xoff.run(scenario)
    assert result.summary["flows"]["completed"] == 30
    assert result.summary["drops"] == 0
    assert not [row for row in result.pauses.to_pylist() if row["peer"].startswith("host")]
    through: dict[str, int] = {}
    for row in result.flows.to_pylist():
        relay = row["via"].split(", ")[1]
        through[relay] = through.get(relay, 0) + 1
    on_its_way = 2880e9 / 8 * 150e-9
    # Queue 1 is for own flows, queue 2 for relayed packets.
    relayed = {row["node"]: row["max_bytes"] for row in result.queues.to_pylist() if row["queue"] == 2}
    assert relayed.keys() == through.keys()
    before = {row["peer"]: row["max_bytes"] for row in result.queues.to_pylist() if row["node"].startswith("server")}
    for node, number in through.items():
        assert relayed[node] <= number * (bound + on_its_way) + before[node], (number, bound, before[node])
    assert sum(row["holds"] for row in result.flows.to_pylist()) > 0


@pytest.mark.parametrize("seed", range(8))
def test_holds_do_not_depend_on_threads_partitions_or_fast_forward(seed: int) -> None:
    rng = Random(seed)
    shape = rng.choice([(2, 4), (3, 3), (4, 2)])
    # In NDC(3, 1) hosts of one row share a switch, and so do hosts of one column: rails with a faster first level.
    levels = [{"rate": rate, "delay": "500ns"} for rate in ("400Gbps", "100Gbps")]
    network = rails(*shape) if seed % 2 else {"ndc": {"n": 3, "link": levels[1], "levels": levels}}
    flows = crossing(rng, *(shape if seed % 2 else (3, 3)), 12)
    flows = [{**flow, "size": rng.choice(["200KB", "2MB", "9MB"])} for flow in flows]
    scenario: dict[str, Any] = {
        "seed": seed,
        "network": network,
        "framing": {"payload": "4096B"},
        "switch": {"flow_control": {"pfc": {}}},
        "host": {
            "first_hop": "lowest",
            "relay": {"per_flow": rng.choice(["5KB", "100KB"])},
            "transport": rng.choice([{"raw": {}}, {"go_back_n": {}}]),
        },
        "workload": [{"flows": flows}],
    }
    assert sum(xoff.run(scenario).flows["holds"].to_pylist()) > 0
    for plan in FORWARDED:
        skipped(scenario, plan)


@pytest.mark.parametrize("link", ["host0-server0", "host1-server0"])
@pytest.mark.parametrize("queued", ["flush", "wait"])
def test_a_flow_goes_on_although_a_fault_took_the_message_that_a_slot_is_free(link: str, queued: str) -> None:
    """A link of the server is down while slots become free: the flow times out, and all of it arrives."""
    for at_ns in range(2000, 9000, 700):
        fault = {"link": link, "state": "down", "at": f"{at_ns}ns", "duration": "20us", "queued": queued}
        scenario = {
            "network": rails(2, 2),
            "framing": {"payload": "4096B"},
            "switch": {"flow_control": {"pfc": {"quanta": 65535}}},
            "host": {"relay": {"per_flow": "64KiB"}, "transport": {"go_back_n": {"rto": "100us"}}},
            "workload": [{"flows": [{"src": 0, "dst": 3, "size": "2MB"}]}],
            "fault": [fault],
        }
        (row,) = xoff.run(scenario).flows.to_pylist()
        assert row["fct_ps"] is not None
        assert row["holds"] > 0


@pytest.mark.parametrize(
    ("bytes_", "pfc", "words"),
    [
        ("0B", {}, "1048 B"),
        ("4GiB", {}, "below 4GiB"),
        ("1MB", None, "set switch.flow_control.pfc = "),
        ("1MB", {"relays": "native"}, "remove switch.flow_control.pfc.relays"),
    ],
)
def test_bounds_without_a_meaning_are_refused(bytes_: str, pfc: dict[str, Any] | None, words: str) -> None:
    scenario = {
        "network": rails(2, 2),
        "switch": {"flow_control": {} if pfc is None else {"pfc": pfc}},
        "host": {"relay": {"per_flow": bytes_}},
        "workload": [{"flows": [{"src": 0, "dst": 3, "size": "1MB"}]}],
    }
    with pytest.raises(xoff.InputError, match=rf"host\.relay\.per_flow: .*{words}"):
        xoff.check(scenario)


def test_classes_have_a_type_for_each_key() -> None:
    """A key with texts and a table had none in the generated classes."""
    assert classes.HostSettings(first_hop="lowest").first_hop == "lowest"
    for name in classes.__all__:
        hints = get_type_hints(getattr(classes, name))
        assert not [key for key, kind in hints.items() if kind is type(None)], name
