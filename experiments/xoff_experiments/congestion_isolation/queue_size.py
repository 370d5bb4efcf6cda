"""C.3: queues of 2 MB in place of 1 MB, all thresholds unchanged.

Source: "Simulation Analysis of Congestion Isolation", IEEE 802.1, January 2018, slide "Memory Sensitivity" (first):
"performance does not change at all". We take the statement literally: runs must have the same fingerprint of all
events. Ours: 128 servers. XOFF stops a queue before 1 MB, so a larger queue adds headroom alone. If no queue ever
reached XOFF, the claim is void.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xoff.reproduce import Part, given
from xoff.results import Result
from xoff_experiments.congestion_isolation._fabric import VARIANTS, Case
from xoff_experiments.congestion_isolation._figures import bars
from xoff_experiments.congestion_isolation._parameters import PARAMETERS as _SHARED
from xoff_experiments.congestion_isolation._runs import Runs, judged

CITATION = "Simulation Analysis of Congestion Isolation, IEEE 802.1, 2018, Memory Sensitivity (queue size)"

_LABELS = {"1 MB": "queues of 1 MB", "2 MB": "queues of 2 MB"}


def judge(runs: Runs) -> dict[str, Part]:
    """Judges that the fingerprints are equal, seed by seed."""
    prints = {
        variant: [[run.result.fingerprint for run in runs.of(label, variant)] for label in _LABELS.values()]
        for variant in VARIANTS
    }
    measured: dict[str, Any] = {
        f"{VARIANTS[variant]}: equal fingerprints": f"{sum(map(str.__eq__, *found))} of {len(found[0])} seeds"
        for variant, found in prints.items()
    }
    measured["PFC pauses"] = {
        text: runs.counts(_LABELS["1 MB"], variant, lambda run: run.pauses) for variant, text in VARIANTS.items()
    }
    reached = all(runs.reaches_xoff(_LABELS["1 MB"], variant=variant) for variant in VARIANTS)
    void = "" if reached else "with or without CI no queue came to XOFF"
    return {"C.3": Part(all(one == two for one, two in prints.values()), measured, void=void)}


JUDGED = judged(
    statements={"C.3": "PFC and CI thresholds unchanged, queues of 2 MB in place of 1 MB: nothing changes at all"},
    cases={_LABELS["1 MB"]: Case(), _LABELS["2 MB"]: Case(queue_mb=2)},
    judge=judge,
)
PARAMETERS = [*_SHARED, given("queues", "1 and 2 MB", "Memory Sensitivity")]
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the mean FCT by size class."""
    bars(results, path, {label: text for text, label in _LABELS.items()}, "size of a queue")
