"""Groups of jobs of SimAI: which ranks share a collective, by the rank order of Megatron."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xoff
from imports import Import, document_of, messages, refused
from small import Command
from xoff.importing.simai import _families, _Header

KINDS = ("TP", "DP", "EP", "DP_EP")
HEAD = (
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 4 ep: 1 pp: 2 vpp: 1 ga: 1 all_gpus: 32 pp_comm: 8388608"
)
PIPELINE = f"""{HEAD}
1
grad -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 67108864 1
"""


def test_replicas_are_of_one_stage(imported: Import) -> None:
    """TP 4, PP 2, 32 GPUs: a ring of 4 moves 2 * 3/4 of 64 MiB over 50 GB/s in 2.013 ms; a ring of 8, 2.349 ms."""
    said = imported("simai", PIPELINE, options=("--library", "textbook"))
    families = document_of(said)["workload"][0]["graph"]["families"]
    assert families == {"DP": {"stride": 4, "count": 4}}
    job: dict[str, Any] = {**xoff.run(said["scenario"]).summary["workloads"]["job"]["job"]}
    line = 2 * 3 / 4 * 2**26 / 50e9 * 1e12
    # Headers of 48 B in frames of 9048 B, and the latency of six steps.
    assert line * 9048 / 9000 < job["iteration_ps"] < line * 1.02
    assert "stages of a pipeline" in messages(said)


def placed(tensor: int, expert: int, replicas: int, stages: int) -> dict[tuple[int, int, int, int], int]:
    """Returns the ranks in Megatron's order tp-ep-dp-pp, the first changing fastest, by place in each parallelism."""
    places = product(range(stages), range(replicas), range(expert), range(tensor))
    return {(t, e, d, p): rank for rank, (p, d, e, t) in enumerate(places)}


@settings(deadline=None)
@given(*4 * [st.integers(1, 5)])
def test_groups_are_those_of_the_rank_order(tensor: int, expert: int, replicas: int, stages: int) -> None:
    """Each kind divides the ranks, and a group's ranks differ only in the group's own kind."""
    ranks = placed(tensor, expert, replicas, stages)
    varied = {"TP": {0}, "DP": {1, 2}, "EP": {1}, "DP_EP": {2}}
    for name in KINDS:
        expected: dict[tuple[int, ...], list[int]] = {}
        for place, rank in ranks.items():
            alike = tuple(one for axis, one in enumerate(place) if axis not in varied[name])
            expected.setdefault(alike, []).append(rank)
        families = {one.name: one for one in _families(_Header(len(ranks), tensor, expert, stages, 1))}
        found = [list(group) for group in families[name].groups(len(ranks))]
        assert found == sorted(map(sorted, expected.values()))
        assert sorted(rank for group in found for rank in group) == list(range(len(ranks)))


@pytest.mark.parametrize(
    ("tensor", "expert", "stages", "gpus"), [(4, 1, 3, 32), (3, 1, 1, 8), (2, 4, 2, 8), (1, 3, 4, 16), (2, 2, 2, 4)]
)
def test_sizes_that_do_not_divide_the_gpus_are_refused(
    xoff_here: Command, tmp_path: Path, tensor: int, expert: int, stages: int, gpus: int
) -> None:
    head = f"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: {tensor} ep: {expert} pp: {stages}"
    text = f"{head} all_gpus: {gpus}\n1\nlayer -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n"
    refused(xoff_here, tmp_path, "simai", [text], "0.txt", 1, "TP x EP x PP has to divide the GPUs")


def test_checkpoints_are_said(imported: Import) -> None:
    said = imported("simai", PIPELINE.replace("pp_comm: 8388608", "checkpoints: 1 0 checkpoint_initiates: 1 0"))
    assert "checkpoints are not carried over" in messages(said)


ONE_LAYER = """HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 4
1
layer -1 1 ALLREDUCE 67108864 1 NONE 0 1 NONE 0 0
"""


def rack(nvlinks: tuple[str, ...] = ("1440Gbps",), nics: int = 1, error: str = "0") -> str:
    """Returns two servers of two GPUs, with an NVSwitch for each NVLink of a GPU. NICs lead to one switch each.

    error: the error rate of the first GPU's first NIC.
    """
    inside = [4 + number for number in range(2 * len(nvlinks))]
    switches = [4 + len(inside) + number for number in range(nics)]
    links = []
    for gpu in range(4):
        for number, rate in enumerate(nvlinks):
            links.append(f"{gpu} {4 + gpu // 2 * len(nvlinks) + number} {rate} 0.000025ms 0")
        links += [
            f"{gpu} {switch} 400Gbps 0.0005ms {0 if gpu + number else error}" for number, switch in enumerate(switches)
        ]
    head = f"{4 + len(inside) + nics} 2 {len(inside)} {nics} {len(links)} H800\n"
    return "\n".join([head + " ".join(map(str, [*inside, *switches])), *links]) + "\n"


def on(imported: Import, folder: Path, topology: str, *options: str, workload: str = ONE_LAYER) -> dict[str, Any]:
    (folder / "topology.topo").write_text(topology)
    return imported("simai", workload, options=("--topology", str(folder / "topology.topo"), *options))


def iteration(said: dict[str, Any]) -> int:
    result = xoff.run(said["scenario"])
    assert set(result.audits.values()) == {"ok"}
    job: dict[str, Any] = {**result.summary["workloads"]["job"]["job"]}
    found: int = job["iteration_ps"]
    return found


def of_note(said: dict[str, Any], text: str) -> list[bool]:
    """Whether the notes with a text matter."""
    return [note["matters"] for note in said["notes"] if text in note["message"]]


@pytest.mark.parametrize("nics", [1, 2])
def test_textbook_collectives_of_a_server_take_its_nvlink(imported: Import, tmp_path: Path, nics: int) -> None:
    """64 MiB at 1,440 Gb/s take 372.8 us, also where a switch of the network is as near; at 400 Gb/s 1,342 us."""
    said = on(imported, tmp_path, rack(nics=nics), "--library", "textbook")
    line = 67_108_864 * 8 / 1440e9 * 1e12
    assert line * 9048 / 9000 < iteration(said) < 1.02 * line
    assert of_note(said, "packets leave by the first port of several") == [True] * (nics - 1)


def test_textbook_collectives_of_servers_on_rails_pass_gpus(imported: Import, tmp_path: Path) -> None:
    """No switch joins the GPUs of different rails: packets to another rail pass a GPU of the own server."""
    head = "8 2 2 2 8 H100\n4 5 6 7\n"
    links = [f"{gpu} {4 + gpu // 2} 1440Gbps 25ns 0\n{gpu} {6 + gpu % 2} 400Gbps 500ns 0\n" for gpu in range(4)]
    workload = ONE_LAYER.replace("NPU_group: 2", "NPU_group: 4")
    said = on(imported, tmp_path, head + "".join(links), "--library", "textbook", workload=workload)
    assert of_note(said, "GPUs relay packets") == [True]
    assert iteration(said) > 0


def test_no_nvlink_is_invented(imported: Import, xoff_here: Command, tmp_path: Path) -> None:
    """Two NICs of 400 Gb/s for each GPU: 64 MiB take at least 671 us."""
    said = on(imported, tmp_path, rack((), nics=2))
    assert "servers" not in document_of(said)["network"]
    assert iteration(said) > 671_000_000
    assert of_note(said, "because the topology has no NVSwitch") == [True]
    (tmp_path / "0.txt").write_text(ONE_LAYER)
    words = ("--topology", "topology.topo", "--library", "nccl", "--out", "nccl")
    done = xoff_here("import", "simai", "0.txt", *words)
    assert done.returncode == 2
    assert "--library nccl: the topology has no NVSwitch; give --library textbook" in done.stderr
    assert not (tmp_path / "nccl").exists()


def test_rates_of_several_nvswitches_add_up(imported: Import, tmp_path: Path) -> None:
    said = on(imported, tmp_path, rack(("900Gbps", "540Gbps")))
    assert document_of(said)["network"]["servers"]["nvlink"] == {"rate": "1440Gbps", "latency": "50ns"}
    two = iteration(said)
    assert two == iteration(on(imported, tmp_path, rack(), "--library", "nccl", "--out", "one"))


@pytest.mark.parametrize(
    ("topology", "options", "why"),
    [
        (rack().replace("1 4 1440", "1 4 1400"), (), "GPU 1 has NVLinks of 1400Gbps together, and GPU 0 of 1440Gbps"),
        (rack().replace("1 4 1440", "1 5 1440"), (), "NVSwitch 5 joins several servers"),
        (rack().replace("1 4 1440", "6 4 1440"), (), "NVSwitch 4 is linked to node 6, which is no GPU"),
        (rack().replace("4 5 6\n", "4 5 5\n"), (), "node 6 is none of the 4 GPUs, and is no switch"),
        (rack(), ("--per-server", "4"), "servers have 2 GPUs; remove --per-server 4"),
    ],
)
def test_nvlinks_that_servers_cannot_have_are_refused(
    xoff_here: Command, tmp_path: Path, topology: str, options: tuple[str, ...], why: str
) -> None:
    (tmp_path / "job").write_text(ONE_LAYER)
    (tmp_path / "topology").write_text(topology)
    done = xoff_here("import", "simai", "job", "--topology", "topology", *options, "--out", "new/out")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"xoff: error: topology: line 1: {why}"), done.stderr
    assert not (tmp_path / "new").exists()


def test_error_rates_of_a_topology_are_faults(imported: Import, tmp_path: Path) -> None:
    said = on(imported, tmp_path, rack(error="0.001"))
    (fault,) = document_of(said)["fault"]
    assert fault["link"] == "h0-s6"
    said = on(imported, tmp_path, rack().replace("25ms 0", "25ms 0.5"), "--out", "nvlink")
    assert "fault" not in document_of(said)
    assert of_note(said, "NVLink loses no packets in xoff") == [True]


@pytest.mark.parametrize(
    ("workload", "options", "line", "why"),
    [
        (ONE_LAYER, ("--gpus", "8"), 1, "all_gpus: 4 differs from --gpus 8; remove the option"),
        (ONE_LAYER.replace("ep: 1", "ep: 0"), (), 1, "ep: 0 was given; a number of 1 or more is needed"),
        (ONE_LAYER.replace("ga: 1", "ga: 1 ga: 2"), (), 1, "ga: is given twice; remove one"),
        (ONE_LAYER.replace("pp: 1", "").replace("all_gpus: 4", "all_gpus: 4 pp:"), (), 1, "pp: has no value"),
        (ONE_LAYER.replace(" 0 0\n", " 0 -1\n"), (), 3, "update time: `-1` is not a whole number"),
    ],
)
def test_headers_that_contradict_are_refused(
    xoff_here: Command, tmp_path: Path, workload: str, options: tuple[str, ...], line: int, why: str
) -> None:
    (tmp_path / "job").write_text(workload)
    done = xoff_here("import", "simai", "job", *options)
    assert done.returncode == 2
    assert done.stderr.startswith(f"xoff: error: job: line {line}: {why}")


def test_what_a_workload_loses_is_said(imported: Import) -> None:
    text = ONE_LAYER.replace("ga: 1", "ga: 1 foo: 3").replace("67108864", "100")
    text = (
        text.replace("layer -1", "layer 2").replace("NONE 0 0\n", "ALLREDUCE 9 7\n")
        + "late -1"
        + 10 * " 1"
        + "\nremark\n"
    )
    said = imported("simai", text)
    assert of_note(said, "a star of 4 GPUs at 2880Gbps, which do not fill servers of 8") == [True]
    assert of_note(said, "`foo:` is unknown, and left out") == [False]
    assert of_note(said, "collectives of less than 4096 B have 4096 B, as in SimAI") == [False]
    assert of_note(said, "the dependency (second value) is not carried over") == [False]
    assert of_note(said, "the update after each collective") == [True]
    # A further layer matters, a remark does not.
    assert sorted(of_note(said, "is after the last of the announced layers")) == [True]
