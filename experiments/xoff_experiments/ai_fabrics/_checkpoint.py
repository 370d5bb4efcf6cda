"""The checkpoint: GPUs of a training job write their state to storage hosts while the next iterations run.

Eight leaves of eight GPUs, and a ninth leaf with eight storage hosts. Each GPU has a NIC. The job is data parallel over
all GPUs; a rank computes, and reduces gradients over a ring. During the job each writer sends its shard to one storage
host, all writers at the same moment. The moment is drawn within an iteration.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from xoff_experiments.ai_fabrics._rows import DCQCN, DYNAMIC, FRAMING, PFC, SFC, TARGET, Fabric, Tables, link, tables

JOB, WRITES = "train", "checkpoint"
LEAVES, HOSTS_PER_LEAF, STORAGE = 8, 8, 8
GPUS = LEAVES * HOSTS_PER_LEAF
ALONE: dict[str, str] = {f"alone, {row}": row for row in (PFC, SFC, DYNAMIC, TARGET, DCQCN)}
"""Rows of the job without a checkpoint, with the row of the tables."""
START_US = 600
"""The checkpoint begins in the first 600 us: an iteration of the main setting takes 623 us alone."""
FORWARD_US, ITERATIONS, CHANNELS = 60, 3, 4
_SMALL = {"layers": 2, "hidden": 256, "heads": 8, "sequence": 512, "vocabulary": 1000}
RING, ACROSS, EXPERTS = "ring", "ring across leaves", "experts"


@dataclass(frozen=True, slots=True)
class Setting:
    """Job, checkpoint and fabric of a run."""

    fabric: Fabric = field(default_factory=Fabric)
    spines: int = 4
    """Four spines are oversubscribed 2:1."""
    writers: int = GPUS
    """Writers among the GPUs, at equal distances."""
    receivers: int = STORAGE
    """Storage hosts in use."""
    megabytes: float = 3.0
    """Bytes of a writer."""
    job: str = RING
    """``ring``: ranks in the order of the hosts; ``ring across leaves``: the next rank is at another leaf; ``experts``:
    all-to-alls of 16 experts.
    """
    apart: bool = False
    """The job runs on every second GPU, and another job writes from the other GPUs."""
    seed: int = 1


def scenario(setting: Setting, row: str) -> dict[str, Any]:
    """Returns the scenario of a row, or of the job alone."""
    found = tables(ALONE.get(row, row), setting.fabric)
    workload = [_job(setting, found.urgent)]
    if row not in ALONE:
        workload.append(_writes(setting, found.bulk))
    return _made(setting, row, found, workload)


def writes_alone(setting: Setting, row: str) -> dict[str, Any]:
    """Returns the scenario of a row with the checkpoint alone."""
    found = tables(row, setting.fabric)
    return _made(setting, row, found, [_writes(setting, found.bulk)])


def _made(setting: Setting, row: str, found: Tables, workload: list[dict[str, Any]]) -> dict[str, Any]:
    shape = {"leaves": LEAVES + 1, "spines": setting.spines, "hosts_per_leaf": HOSTS_PER_LEAF}
    # Under dynamic thresholds Congestion Isolation may lose packets; the page shows the losses.
    losses = {} if setting.fabric.xoff_us else {"audits": {"loss": "record"}}
    return losses | {
        "name": row,
        "seed": setting.seed,
        "network": {"leaf_spine": {**shape, "link": link(setting.fabric)}},
        "framing": FRAMING,
        "switch": found.switch,
        "host": found.host,
        "workload": workload,
    }


def _job(setting: Setting, urgent: int) -> dict[str, Any]:
    hosts = list(range(0, GPUS, 2)) if setting.apart else list(range(GPUS))
    if setting.job == ACROSS:
        hosts = [leaf * HOSTS_PER_LEAF + place for place in range(HOSTS_PER_LEAF) for leaf in range(LEAVES)]
    parallel: dict[str, Any] = {"data": len(hosts)}
    model: dict[str, Any] = dict(_SMALL)
    if setting.job == EXPERTS:
        model |= {"experts": 16, "top_k": 2}
        parallel["expert"] = 16
    training = {
        "model": model,
        "parallel": parallel,
        "iterations": ITERATIONS,
        "compute": {"forward": f"{FORWARD_US}us"},
        "collectives": {"channels": CHANNELS},
        "hosts": hosts,
    }
    return {"name": JOB, "class": urgent, "training": training}


def _writes(setting: Setting, bulk: int) -> dict[str, Any]:
    size = f"{round(1e6 * setting.megabytes)}B"
    every = GPUS // setting.writers
    writers = range(1, GPUS, 2) if setting.apart else range(0, GPUS, every)
    flows = [{"src": gpu, "dst": GPUS + place % setting.receivers, "size": size} for place, gpu in enumerate(writers)]
    start = random.Random(setting.seed).randrange(1000 * START_US)  # noqa: S311
    return {"name": WRITES, "start": f"{start}ns", "class": bulk, "flows": flows}
