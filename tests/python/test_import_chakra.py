"""Jobs in Chakra traces: collectives have the bytes, and computations the time, of ASTRA-sim."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import xoff
from small import Command
from xoff.importing.chakra import _data

# The kinds of collectives, and whether a message of ASTRA-sim's `Ring.cc` is `comm_size` over the ranks or all of it.
SHARES = {"ALL_REDUCE": True, "ALL_GATHER": False, "REDUCE_SCATTER": True, "ALL_TO_ALL": True}


def imported(command: Command, folder: Path, ranks: int, nodes: list[dict[str, Any]], *options: str) -> dict[str, Any]:
    """Imports a trace of the same nodes for each rank."""
    files = []
    for rank in range(ranks):
        files.append(folder / f"trace.{rank}.json")
        files[-1].write_text(json.dumps({"workload_graph": nodes}))
    done = command("import", "chakra", *files, *options, "--out", "imported", "--json")
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return {**said, "scenario": str(folder / said["scenario"])}


def collective(kind: str, size: int, **more: Any) -> dict[str, Any]:
    return {"Id": 1, "NodeType": "COMM_COLL_NODE", "comm_type": kind, "comm_size": size, **more}


def test_an_all_gather_takes_the_time_of_astra_sim(xoff_here: Command, tmp_path: Path) -> None:
    """ASTRA-sim's example ``all_gather/8npus_1MB`` on ``Ring_8npus.yml`` (50 GiB/s, 500 ns) takes 140,225 ns."""
    said = imported(xoff_here, tmp_path, 8, [collective("ALL_GATHER", 2**20)])
    overrides: dict[str, Any] = {
        "network.star.link.rate": f"{50 * 2**30 * 8}bps",
        "network.star.link.delay": "250ns",
        "framing": {"payload": "1024B", "header": "0B", "preamble_and_ifg": "0B", "min_frame_size": "64B"},
        "host.transport.raw": {},
    }
    job: dict[str, Any] = {**xoff.run(said["scenario"], overrides=overrides).summary["workloads"]["job"]["job"]}
    frame_ns = 1024 / (50 * 2**30) * 1e9
    # Seven steps; each waits for one frame at the switch, which ASTRA-sim's network does not have.
    assert job["iteration_ps"] / 1000 == pytest.approx(140_225 + 7 * frame_ns, rel=1e-3)


@pytest.mark.parametrize("kind", SHARES)
@pytest.mark.parametrize("ranks", [2, 5, 8])
def test_collectives_send_the_bytes_of_astra_sim(xoff_here: Command, tmp_path: Path, kind: str, ranks: int) -> None:
    size = 40_000
    said = imported(xoff_here, tmp_path, ranks, [collective(kind, size)])
    sent = sum(row["size_bytes"] for row in xoff.run(said["scenario"]).flows.to_pylist())
    steps = 2 * (ranks - 1) if kind == "ALL_REDUCE" else ranks - 1
    assert sent == ranks * steps * (size // ranks if SHARES[kind] else size)


@pytest.mark.parametrize("kind", ["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce"])
@pytest.mark.parametrize("ranks", [2, 7, 1024])
@pytest.mark.parametrize("given", [0, 1, 6, 2**42])
def test_no_share_of_a_collective_is_empty(kind: str, ranks: int, given: int) -> None:
    assert _data(kind, given, ranks) >= max(ranks, given)


def test_group_zero_is_all_ranks(xoff_here: Command, tmp_path: Path) -> None:
    """As in ``Workload::extract_comm_group``."""
    said = imported(xoff_here, tmp_path, 4, [collective("ALL_REDUCE", 40_000, pg_name="0")])
    assert xoff.run(said["scenario"]).summary["workloads"]["job"]["job"]["ranks"] == 4


def computed(said: dict[str, Any]) -> dict[str, int]:
    """Returns the duration of each operation of the first rank, by name, in picoseconds."""
    rows = xoff.run(said["scenario"]).operations.to_pylist()
    return {row["name"]: row["end_ps"] - row["start_ps"] for row in rows if row["rank"] == 0}


def comp(id: int, **values: Any) -> dict[str, Any]:
    return {"Id": id, "Name": f"matmul {id}", "NodeType": "COMP_NODE", **values}


def test_operations_take_the_time_of_a_roofline(xoff_here: Command, tmp_path: Path) -> None:
    """As ``Workload::issue_comp`` of ASTRA-sim: num_ops / min(bandwidth num_ops / tensor_size, peak)."""
    nodes = [
        comp(1, num_ops=10**12, tensor_size=10**9),
        comp(2, num_ops=10**9, tensor_size=10**9),
        comp(3, num_ops=10**12, tensor_size=10**9, runtime=7),
        comp(4, runtime=7),
        comp(5, num_ops=10**12, runtime=7, is_cpu_op=True),
    ]
    said = imported(xoff_here, tmp_path, 1, nodes, "--flops", "1e14", "--memory-bandwidth", "1e12")
    ms, us = 10**9, 10**6
    # The first is bound by its operations, the second by its memory.
    assert computed(said) == {"n1": 10 * ms, "n2": ms, "n3": 10 * ms, "n4": 7 * us, "n5": 7 * us}
    assert any("recorded durations" in note["message"] for note in said["notes"])


def test_operations_without_a_memory_take_their_own_time(xoff_here: Command, tmp_path: Path) -> None:
    said = imported(xoff_here, tmp_path, 1, [comp(1, num_ops=10**9, tensor_size=10**9)], "--flops", "1e14")
    assert computed(said) == {"n1": 10**7}
    assert any("memory never limits computation" in note["message"] for note in said["notes"])


@pytest.mark.parametrize(
    ("values", "options", "why"),
    [
        ({"num_ops": 10**12, "tensor_size": 10**9}, (), "(`matmul 3`): computes 1,000,000,000,000 operations"),
        ({"num_ops": 1, "is_cpu_op": True}, ("--flops", "1e12"), "the node runs on the CPU"),
        ({"num_ops": -1}, (), "num_ops is not a whole number"),
        ({"is_cpu_op": "false"}, (), "is_cpu_op is not a whole number from 0 to 1"),
        ({"num_ops": True}, (), "num_ops is not a whole number"),
        ({"num_ops": "²"}, (), "num_ops is not a whole number"),
        ({"num_ops": 1}, ("--flops", "nan"), "a number from 1 to 1e21 is needed"),
        ({"num_ops": 1}, ("--memory-bandwidth", "1e12"), "needs --flops"),
    ],
)
def test_operations_without_a_time_are_refused(
    xoff_here: Command, tmp_path: Path, values: dict[str, Any], options: tuple[str, ...], why: str
) -> None:
    file = tmp_path / "trace.json"
    file.write_text(json.dumps({"workload_graph": [comp(3, **values)]}))
    done = xoff_here("import", "chakra", file, *options, "--out", "imported")
    assert (done.returncode, done.stdout) == (2, "")
    assert why in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "imported").exists()


def test_nothing_takes_no_time_in_silence(xoff_here: Command, tmp_path: Path) -> None:
    said = imported(xoff_here, tmp_path, 1, [comp(1)])
    assert any("neither a duration nor num_ops" in note["message"] for note in said["notes"])
