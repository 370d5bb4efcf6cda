"""Collectives of ``library = "nccl"``: latencies, bandwidths, slots, rails and wire bytes against closed forms."""

from __future__ import annotations

import json
import math
from pathlib import Path
from random import Random
from typing import Any

import pytest

import xoff
from xoff.nccl import fabric, size_of, sizes

MIB = 1 << 20
KEYS = {
    "bytes",
    "time_us",
    "algbw_GBps",
    "busbw_GBps",
    "algorithm",
    "protocol",
    "channels",
    "predicted_us",
}


def one(operation: str = "all_reduce", size: str | int = "8", **more: Any) -> dict[str, Any]:
    """Returns the row of one size."""
    (row,) = xoff.nccl_tests(operation, begin=size, end=size, **more)
    return dict(row)


def scenario(size: str, *, servers: int, gpus: int, nics: int, **more: Any) -> dict[str, Any]:
    """Returns an all-reduce of servers on a fabric that never blocks."""
    document = fabric(servers, gpus, nics, "400Gbps")
    document["network"]["servers"] = {"gpus": gpus, "nics": nics}
    collective = {"library": "nccl", "operation": "all_reduce", "size": size, **more}
    return {**document, "workload": [{"collective": collective}]}


@pytest.mark.parametrize(("servers", "nvlinks", "levels"), [(2, 7, 1), (4, 7, 2), (8, 7, 3)])
def test_the_shortest_all_reduce_takes_the_latencies_of_its_hand_overs(servers: int, nvlinks: int, levels: int) -> None:
    """A tree with LL: base, and twice the chain of a server and the levels between servers.

    A rank with two children posts the second message after the proxy's time for the first, 1 µs at a level.
    """
    expected = 6.8 + 2 * (nvlinks * 0.6 + levels * 5)
    time = one(servers=servers)["time_us"]
    assert expected <= time <= expected + 1.0 * (levels - 1) + 0.1 * levels + 0.3


def test_a_ring_reaches_the_sum_of_its_channels_and_all_nics_share_it() -> None:
    """Five servers with four NICs of 400 Gb/s: eight channels of 24 GB/s; hardware has 190 GB/s."""
    size = 256 * MIB
    result = xoff.run(scenario(f"{size}B", servers=5, gpus=8, nics=4, algorithm="ring"))
    bus = (result.summary["workloads"]["collective"]["collective"]["bus_bps"] or 0) / 8e9
    assert bus == pytest.approx(192, rel=0.08)
    sent = [row["data_bytes"] for row in result.links.to_pylist() if row["node"].startswith("host")]
    mean = sum(sent) / len(sent)
    assert len(sent) == 20
    assert all(abs(one - mean) < 0.01 * mean for one in sent)


def test_a_pair_gets_its_link_with_one_queue_pair_and_with_eight() -> None:
    """48.4 GB/s on hardware: 400 Gb/s less headers, 48.8 GB/s here."""
    pair = {"servers": 2, "gpus_per_server": 1}
    alone = one("sendrecv", "256M", **pair)
    assert alone["busbw_GBps"] == pytest.approx(48.4, rel=0.02)
    for settings in ([], [("workload[0].nccl.split_data_on_qps", True)]):
        several = [("workload[0].nccl.qps_per_connection", 8), *settings]
        assert one("sendrecv", "256M", overrides=several, **pair)["time_us"] == pytest.approx(
            alone["time_us"], rel=0.02
        )


@pytest.mark.parametrize("slots", [2, 8])
def test_slots_bound_what_is_under_way(slots: int) -> None:
    """A channel posts a message once a slot is free: ``slots`` messages of 128 KiB in a round trip."""
    link = [("network.rail.rail.delay", "50us")]
    settings = [*link, ("workload[0].nccl.steps", slots), ("workload[0].nccl.max_ctas", 1)]
    row = one("sendrecv", "16M", servers=2, gpus_per_server=1, overrides=settings)
    # Two links each way, and the last bit of a message.
    round_trip = 4 * 50 + 128 * 1024 / 48.8e3
    rounds = 16 * MIB / (slots * 128 * 1024)
    assert row["time_us"] == pytest.approx(rounds * round_trip, rel=0.06)


def test_a_protocol_with_flags_sends_the_flags() -> None:
    """LL takes two bytes on the wire for a byte of data, LL128 16 for 15, on the network as on NVLink."""

    def carried(protocol: str) -> int:
        document = scenario("8MiB", servers=2, gpus=8, nics=8, algorithm="ring", channels=8)
        document["workload"][0]["nccl"] = {"protocol": protocol}
        messages = xoff.run(document).messages.to_pylist()
        return sum(row["size_bytes"] for row in messages if row["flow"] is not None)

    simple = carried("simple")
    assert carried("ll") == 2 * simple
    assert carried("ll128") == pytest.approx(simple * 16 / 15, rel=1e-3)


def test_a_larger_buffer_makes_larger_slices() -> None:
    """A ring with Simple hands over 4 of 8 slots in two slices: 1 MiB of a buffer of 4 MiB, 2 MiB of 8 MiB."""
    document = scenario("256MiB", servers=2, gpus=4, nics=4, algorithm="ring", channels=1)
    document["workload"][0]["nccl"] = {"protocol": "simple"}
    for buffer, size in (("4MiB", MIB), ("8MiB", 2 * MIB)):
        document["workload"][0]["nccl"]["buffer"] = buffer
        assert max(row["size_bytes"] for row in xoff.run(document).messages.to_pylist()) == size


@pytest.mark.parametrize("pxn", [True, False])
def test_pairs_leave_their_rail_only_without_pxn(pxn: bool) -> None:
    document = scenario("8MiB", servers=2, gpus=4, nics=4)
    document["workload"][0] = {
        "collective": {"library": "nccl", "operation": "all_to_all", "size": "8MiB"},
        "nccl": {"pxn": pxn},
    }
    links = xoff.run(document).links.to_pylist()
    above = sum(row["data_bytes"] for row in links if row["node"].startswith("aggregation"))
    assert (above == 0) == pxn


def test_larger_pieces_of_nvls_tree_are_faster_where_slots_bound_the_rate() -> None:
    """Eight slots of 64 KiB or of 128 KiB in a long round trip, on eight servers (NVIDIA/nccl 1112: 2.7 times on EFA).

    Where the round trip is short, the rate of NICs bounds both, and the larger pieces fill the tree later.
    """
    far = [("network.rail.rail.delay", "250us")]
    small, large = [
        one(size="256M", servers=8, overrides=[*far, ("workload[0].collective.chunk", chunk)])["time_us"]
        for chunk in ("64KiB", "128KiB")
    ]
    assert small > 1.3 * large


def test_a_job_is_the_same_with_fast_forward_and_on_threads() -> None:
    document = scenario("8MiB", servers=2, gpus=8, nics=4)
    model = {"layers": 4, "hidden": 512, "heads": 8, "sequence": 256, "vocabulary": 1000, "experts": 8, "top_k": 2}
    for copies in ("expert", "rank", "server"):
        training = {
            "model": model,
            "parallel": {"tensor": 2, "data": 8, "expert": 8},
            "iterations": 6,
            "collectives": {"copies": copies, "overhead": "3us"},
        }
        document["workload"] = [{"training": training}]
        whole = xoff.run(document, fast_forward=False)
        assert whole.fingerprint == xoff.run(document).fingerprint == xoff.run(document, threads=2).fingerprint
        assert {row["protocol"] for row in whole.collectives.to_pylist()} >= {"simple"}


def crossing(copies: str, experts: int, top_k: int) -> float:
    """Of k copies of a token, c for c of eight ranks, or c for c of two servers, half leave the server."""
    parts = {"rank": 8, "server": 2}.get(copies)
    if parts is None:
        return top_k / 2
    missed = math.prod((experts - experts / parts - i) / (experts - i) for i in range(top_k))
    return parts * (1 - missed) / 2


def on_network(workload: dict[str, Any]) -> float:
    """Bytes that each of eight ranks sends to experts of the other server."""
    document = {**scenario("1MiB", servers=2, gpus=4, nics=4), "workload": [workload]}
    messages = [row for row in xoff.run(document).messages.to_pylist() if row["flow"] is not None]
    return sum(int(row["size_bytes"]) for row in messages if row["label"] in ("EP", "all")) / 8


@pytest.mark.parametrize("copies", ["expert", "rank", "server"])
def test_copies_of_tokens_are_those_of_the_closed_form(copies: str) -> None:
    row = {"kind": "all_to_all", "group": "all", "size": "4MiB", "experts": 32, "top_k": 4, "copies": copies}
    graph = {"operations": [{**row, "rank": rank} for rank in range(8)], "groups": {"all": list(range(8))}}
    found = on_network({"graph": {**graph, "library": "nccl"}})
    assert found == pytest.approx(MIB * crossing(copies, 32, 4), rel=0.01)


@pytest.mark.parametrize("copies", ["expert", "rank", "server"])
def test_copies_of_a_training_job_are_those_of_the_closed_form(copies: str) -> None:
    """256 tokens of 512 values of 2 bytes go to experts and back, forward and backward."""
    model = {"layers": 1, "hidden": 512, "heads": 8, "sequence": 256, "vocabulary": 1000, "experts": 32, "top_k": 4}
    parallel = {"data": 8, "expert": 8}
    found = on_network({"training": {"model": model, "parallel": parallel, "collectives": {"copies": copies}}})
    assert found == pytest.approx(4 * 256 * 512 * 2 * crossing(copies, 32, 4), rel=0.01)


def test_jobs_are_placed_by_server_by_rail_and_beside_each_other() -> None:
    """Two jobs of eight ranks on four servers of four: they share no GPU, and a random order keeps servers whole."""
    training = {
        "model": {"layers": 1, "hidden": 64, "heads": 4, "sequence": 64, "vocabulary": 100},
        "parallel": {"tensor": 4, "data": 2},
    }

    def hosts(placement: str, seed: int = 1) -> list[list[str]]:
        document = scenario("1MiB", servers=4, gpus=4, nics=4)
        document["seed"] = seed
        document["workload"] = [
            {"name": name, "training": {**training, "placement": placement}} for name in ("first", "second")
        ]
        rows = xoff.run(document).operations.to_pylist()
        places = [{row["rank"]: row["host"] for row in rows if row["workload"] == name} for name in ("first", "second")]
        return [[found[rank] for rank in range(8)] for found in places]

    assert hosts("linear") == [[f"host{n}" for n in range(8)], [f"host{n}" for n in range(8, 16)]]
    first, second = hosts("rail")
    assert first == [f"host{4 * server + gpu}" for gpu in range(2) for server in range(4)]
    assert not set(first) & set(second)
    drawn = {tuple(hosts("random", seed)[0]) for seed in range(4)}
    assert len(drawn) > 1
    for ranks in drawn:
        servers = [int(host.removeprefix("host")) // 4 for host in ranks]
        assert servers[:4] == [servers[0]] * 4
        assert servers[4:] == [servers[4]] * 4


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"network.servers": None}, r"network\.rail\.scale_up: missing; give the links within a server, or"),
        (
            {"network.servers": None, "network.rail.scale_up": {"rate": "1Tbps", "delay": "1us"}},
            r"workload\[0\]\.collective\.library: `nccl` needs servers",
        ),
        ({"network.servers.nics": 3}, r"network\.servers\.nics: 3 NICs for 8 GPUs"),
        ({"network.servers.nvlink.latency": "0ns"}, r"network\.servers\.nvlink\.latency: 0ps is out of range"),
        ({"workload[0].collective.algorithm": "double_tree"}, r"algorithm: `double_tree` is of library"),
        ({"workload[0].collective.algorithm": "nvls"}, r"algorithm: `nvls` with protocol"),
        ({"workload[0].collective.hosts": [0, 1, 8]}, r"collective\.hosts: NCCL's channels need as many ranks"),
        (
            {
                "network.rail.servers": 1,
                "network.rail.gpus_per_server": 1,
                "network.servers.gpus": 1,
                "network.servers.nics": 1,
            },
            r"collective\.hosts: a collective needs two GPUs",
        ),
        ({"workload[0].collective.chunk": "1B"}, r"collective\.chunk: must be at least 16B"),
        ({"workload[0].connections": "per_message"}, r"workload\[0\]\.connections: NCCL has persistent"),
        ({"workload[0].connections_per_channel": 4}, r"workload\[0\]\.connections_per_channel: NCCL has queue pairs"),
        ({"workload[0].nccl.version": "new"}, r"workload\[0\]\.nccl\.version: `new` is no version"),
        ({"workload[0].nccl.buffer": "1KiB"}, r"workload\[0\]\.nccl\.buffer: 1KiB is out of range"),
        ({"workload[0].nccl.steps": 0}, r"workload\[0\]\.nccl\.steps: 0 is out of range"),
        (
            {"workload[0].nccl.protocol": "ll", "workload[0].collective.algorithm": "nvls_tree"},
            r"algorithm: `nvls_tree`",
        ),
        ({"workload[0].collective.size": "100TiB"}, r"collective\.size: "),
    ],
)
def test_what_cannot_run_is_refused_with_its_key(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(xoff.InputError, match=problem):
        xoff.run(scenario("1MiB", servers=2, gpus=8, nics=8), overrides=change)


def test_the_table_has_a_row_for_each_size() -> None:
    assert sizes("8", "1K", 2) == [8, 16, 32, 64, 128, 256, 512, 1024]
    assert (size_of("64K", "begin"), size_of("1g", "end"), size_of(12, "end")) == (65536, 1 << 30, 12)
    rows = xoff.nccl_tests("all_gather", begin="16", end="4K", factor=4, servers=2, gpus_per_server=4)
    assert [row["bytes"] for row in rows] == [64, 256, 1024, 4096]
    assert all(set(row) == KEYS for row in rows)
    wrongs: list[dict[str, Any]] = [{"begin": "x"}, {"end": "4"}, {"factor": 1}, {"servers": 0}]
    for wrong in wrongs:
        given: dict[str, Any] = {"begin": "8", "end": "16", **wrong}
        with pytest.raises(xoff.InputError, match=next(iter(wrong))):
            xoff.nccl_tests(**given)
    with pytest.raises(xoff.InputError, match="operation: unknown"):
        xoff.nccl_tests("bcast")


def test_a_network_file_takes_the_place_of_the_fabric(tmp_path: Path) -> None:
    document = scenario("8B", servers=2, gpus=8, nics=8)
    path = tmp_path / "network.json"
    path.write_text(json.dumps(document))
    assert one(size="1M", network=path) == one(size="1M")
    slow = {"link": "host3-*", "rate": "100Gbps"}
    document["network"]["overrides"] = [slow]
    assert (
        one(size="64M", network=document, algorithm="ring")["time_us"]
        > 2 * one(size="64M", algorithm="ring")["time_us"]
    )
    del document["network"]["servers"]
    with pytest.raises(xoff.InputError, match="servers"):
        one(network=document)


NVLINK_GBPS = {"a100": 240.0, "h100": 370.8, "b200": 721.8}
"""Rate of all NVLinks of a GPU, as NCCL assumes it."""
PCIE_GBPS = {"a100": 31.5, "h100": 63.0, "b200": 63.0}
"""Sixteen lanes of PCIe of generation 4 or 5."""


def least_us(operation: str, size: int, servers: int, gpus: int, nvlink: float, outside: float) -> float:
    """Returns the time that the links of the busiest GPU or server need, in µs; rates in GB/s.

    outside: the rate between a server and the network. A switch of NVLink can reduce, a switch of the network cannot.
    """
    ranks = servers * gpus
    # Bytes that a GPU must receive or send, whatever the algorithm.
    part = {"all_gather": ranks - 1, "reduce_scatter": ranks - 1, "all_to_all": ranks - 1}.get(operation, ranks) / ranks
    into_gpu = nvlink * (gpus > 1) + (outside if servers > 1 else 0)
    least = size * part / into_gpu
    if servers > 1:
        # The data of other servers enters, or the own data leaves.
        across = {
            "all_reduce": 2 * (servers - 1) / servers,
            "all_gather": (servers - 1) / servers,
            "reduce_scatter": (servers - 1) / servers,
            "all_to_all": (servers - 1) / servers * gpus,
            "broadcast": 1.0,
            "reduce": 1.0,
        }[operation]
        least = max(least, size * across / outside)
    return least / 1e3


SHAPES = [(1, 8, 8), (1, 4, 4), (2, 8, 8), (2, 4, 4), (4, 2, 2), (3, 4, 2), (2, 1, 1), (2, 1, 4), (3, 2, 8), (2, 2, 4)]
CHOICES = {
    "all_reduce": ["ring", "tree", "nvls", "nvls_tree"],
    "all_gather": ["ring", "nvls", "pat"],
    "reduce_scatter": ["ring", "nvls", "pat"],
    "broadcast": ["ring"],
    "reduce": ["ring"],
}


@pytest.mark.parametrize("seed", range(80))
def test_no_collective_is_faster_than_the_links_of_its_gpus(seed: int) -> None:
    """Random shapes of servers, GPUs, NVLinks, algorithms and protocols."""
    rng = Random(seed)
    operation = rng.choice([*CHOICES, "all_reduce", "all_to_all"])
    servers, gpus, nics = rng.choice(SHAPES)
    gpu, nic_gbps = rng.choice(list(NVLINK_GBPS)), rng.choice([100, 400, 800])
    nvlink = rng.choice([None, None, 100, 1000])
    algorithm = rng.choice([None, *CHOICES.get(operation, [])])
    protocol = rng.choice([None, "ll", "ll128", "simple"]) if algorithm in ("ring", "tree") else None
    more: dict[str, Any] = {} if nvlink is None else {"overrides": {"network.servers.nvlink.rate": f"{nvlink}Gbps"}}
    more |= {"servers": servers, "gpus_per_server": gpus, "nics": nics, "nic_rate": f"{nic_gbps}Gbps", "gpu": gpu}
    try:
        row = one(operation, "48M", algorithm=algorithm, protocol=protocol, **more)
    except xoff.InputError:
        # NCCL does not take the algorithm or the protocol on these servers.
        row = one(operation, "48M", **more)
    size = 48 * MIB
    outside = min(nics * nic_gbps / 8, gpus * PCIE_GBPS[gpu])
    rate = NVLINK_GBPS[gpu] if nvlink is None else nvlink / 8
    assert row["time_us"] >= least_us(operation, size, servers, gpus, rate, outside)


@pytest.mark.parametrize("gbps", [100, 1000])
def test_nvls_is_as_slow_as_its_nvlink(gbps: int) -> None:
    """Eight GPUs: each sends its 512 MiB once, and an eighth for its own share; then NVLink is full."""
    rate = f"{gbps}Gbps"
    row = one("all_reduce", "512M", servers=1, algorithm="nvls", overrides={"network.servers.nvlink.rate": rate})
    full_us = 512 * MIB * 9 / 8 / (gbps / 8) / 1e3
    assert row["time_us"] == pytest.approx(full_us, rel=0.02)


def test_a_gpu_with_four_nics_has_one_pcie_link() -> None:
    """NCCL plans two channels of 24 GB/s on 48 GB/s of PCIe; messages of pairs fill the link of 63 GB/s."""
    of = {"servers": 2, "gpus_per_server": 1, "nics": 4}
    for algorithm in ("ring", "tree"):
        assert 40 < one("all_reduce", "512M", algorithm=algorithm, **of)["busbw_GBps"] < 63
    assert one("sendrecv", "512M", **of)["busbw_GBps"] == pytest.approx(63, rel=0.02)
