"""Jobs in Chakra traces: collectives have the bytes, and computation the time, that ASTRA-sim gives them."""

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
    """Import a trace of the same nodes for each rank."""
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
    """Its example ``all_gather/8npus_1MB`` on ``Ring_8npus.yml`` (50 GiB/s, 500 ns) takes 140,225 ns there."""
    said = imported(xoff_here, tmp_path, 8, [collective("ALL_GATHER", 2**20)])
    overrides: dict[str, Any] = {
        "network.star.link.rate": f"{50 * 2**30 * 8}bps",
        "network.star.link.delay": "250ns",
        "framing": {"payload": "1024B", "header": "0B", "gap": "0B", "minimum": "64B"},
        "host.transport.raw": {},
    }
    job: dict[str, Any] = {**xoff.run(said["scenario"], overrides=overrides).summary["workloads"]["job"]["job"]}
    frame_ns = 1024 / (50 * 2**30) * 1e9
    # Seven steps; each waits for one frame at the switch, which has no place in the other's network.
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
