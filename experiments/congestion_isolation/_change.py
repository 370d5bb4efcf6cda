"""What both experiments on a threshold share: CI with a higher one against CI with the usual one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from experiments.congestion_isolation._fabric import CLASSES, ELEPHANTS, MICE
from experiments.congestion_isolation._study import Part, Run, Runs, gain


def judge(runs: Runs, claim: str, usual: str, higher: str) -> dict[str, Part]:
    """Judge CI's gain by the higher threshold by size, its pauses and its CNPs.

    Large flows are those above 10 MB, small ones those below 100 KB. Large flows are affected more if their mean FCT
    changes by a larger share, and improve if it is lower.
    """
    gains = {
        size: gain(runs.of(higher, "ci"), runs.of(usual, "ci"), lambda run, size=size: run.fct_us[size])  # type: ignore[misc]
        for size in CLASSES
    }
    measured: dict[str, Any] = {
        f"{size}: mean FCT (µs), CI": {
            usual: runs.mean_us(usual, "ci", size),
            higher: runs.mean_us(higher, "ci", size),
            "gain": str(found),
        }
        for size, found in gains.items()
    }
    counts: dict[str, Callable[[Run], float]] = {"PFC pauses": lambda run: run.pauses, "CNPs": lambda run: run.cnps}
    frames = {
        f"{what}, CI": {label: runs.count(label, "ci", read) for label in (usual, higher)}
        for what, read in counts.items()
    }
    return {
        f"{claim}-large": Part(
            gains[ELEPHANTS].share > 0 and gains[ELEPHANTS].share > abs(gains[MICE].share), measured
        ),
        f"{claim}-frames": Part(all(found[higher] < found[usual] for found in frames.values()), dict(frames)),
    }
