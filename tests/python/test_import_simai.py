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
