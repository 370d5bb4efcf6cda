"""C.3: queues of 2 MB in place of 1 MB, all thresholds unchanged.

Source: "Simulation Analysis of Congestion Isolation", IEEE 802.1, January 2018, slide "Memory Sensitivity" (first):
"performance does not change at all". This is taken at its word: runs must have the same fingerprint, that of every
event. Ours: 128 servers. What stops a queue is XOFF, which is compared with the same bytes as the size of the queue, so
that only headroom beyond XOFF could be missed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.congestion_isolation._fabric import Case
from experiments.congestion_isolation._figures import bars
from experiments.congestion_isolation._runs import COMPARED, Runs, judged

from xoff.reproduce import Part
from xoff.results import Result

CITATION = "Simulation Analysis of Congestion Isolation, IEEE 802.1, 2018, Memory Sensitivity (queue size)"

_LABELS = {"1 MB": "queues of 1 MB", "2 MB": "queues of 2 MB"}


def judge(runs: Runs) -> dict[str, Part]:
    """Judge that the fingerprints are equal, seed by seed."""
    prints = {
        variant: [[run.result.fingerprint for run in runs.of(label, variant)] for label in _LABELS.values()]
        for variant in COMPARED
    }
    measured: dict[str, Any] = {
        f"{COMPARED[variant]}: equal fingerprints": f"{sum(map(str.__eq__, *found))} of {len(found[0])} seeds"
        for variant, found in prints.items()
    }
    return {"C.3": Part(all(one == two for one, two in prints.values()), measured)}


_JUDGED = judged(
    statements={"C.3": "PFC and CI thresholds unchanged, queues of 2 MB in place of 1 MB: nothing changes at all"},
    cases={_LABELS["1 MB"]: Case(), _LABELS["2 MB"]: Case(queue_mb=2)},
    judge=judge,
    choices=("PFC by egress queue",),
)
CLAIMS = _JUDGED.listed
scenarios = _JUDGED.scenarios
claims = _JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw the mean FCT by size class."""
    bars(results, path, {label: text for text, label in _LABELS.items()}, "size of a queue")
