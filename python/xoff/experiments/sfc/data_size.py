"""Cases 1, 3a and 3b of Part 4: 5, 20 and 80 MB a flow in the three-layer CLOS.

Source: "SFC simulation", contribution to IEEE P802.1Qdw, 2025, Part 4, slide "Impact of data size": only more data
per flow, all other settings unchanged. Network and victims: see `_networks.py`.

"Remain relatively stable" is said of improvements, which are percentages: within 10 percentage points. DCQCN is "still
not as good as SFC" in the mean FCT over all flows; that of the victims stands beside it.

Open choices, judged beside the verdict: other places of the victims, and the parameters of DCQCN, which set how fast
it converges and recovers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from xoff.experiments.sfc._figures import bars
from xoff.experiments.sfc._networks import THREE_LAYER, VARIANTS, VICTIMS_BESIDE_SENDERS
from xoff.experiments.sfc._parameters import parameters
from xoff.experiments.sfc._runs import POINTS, Runs, judged
from xoff.reproduce import Part
from xoff.results import Result

CITATION = "SFC simulation, IEEE P802.1Qdw, 2025, Part 4, cases 1, 3a and 3b"
_CASES = {
    "case 1 (5 MB)": THREE_LAYER,
    "case 3a (20 MB)": replace(THREE_LAYER, data_mb=20),
    "case 3b (80 MB)": replace(THREE_LAYER, data_mb=80),
}


def judge(runs: Runs) -> dict[str, Part]:
    """Judge the improvements against PFC only: SFC's stays within 10 points, DCQCN's rises, and stays behind."""
    by_sfc = {case: runs.improvement(case) for case in _CASES}
    by_dcqcn = {case: runs.improvement(case, "pfc-dcqcn") for case in _CASES}
    overall = {
        case: {variant: runs.over(case, variant, lambda run: run.mean_us) for variant in VARIANTS} for case in _CASES
    }
    victims = {
        case: {variant: runs.over(case, variant, lambda run: run.victims_us) for variant in VARIANTS} for case in _CASES
    }
    first, *larger = by_sfc.values()
    return {
        "4.3-stable": Part(
            min(by_sfc.values()) > 0 and all(abs(value - first) <= POINTS for value in larger),
            {"improvement of the victims' mean FCT by SFC": by_sfc},
        ),
        "4.3-dcqcn": Part(
            all(later > earlier for earlier, later in pairwise(by_dcqcn.values())), {"improvement by DCQCN": by_dcqcn}
        ),
        "4.3-behind": Part(
            all(found["pfc-sfc"].mean < found["pfc-dcqcn"].mean for found in overall.values()),
            {f"{case}: mean FCT over all flows (µs)": found for case, found in overall.items()},
        ),
        "4.3-behind-victims": Part(
            all(found["pfc-sfc"].mean < found["pfc-dcqcn"].mean for found in victims.values()),
            {f"{case}: victims' mean FCT (µs)": found for case, found in victims.items()},
        ),
    }


_JUDGED = judged(
    statements={
        "4.3": "3-layer CLOS, data ×4 and ×16: the improvement by SFC remains relatively stable; DCQCN performs "
        "relatively better as flows last longer, but is still not as good as SFC",
        "4.3-stable": "The improvement of the victims' mean FCT by SFC at 20 and 80 MB is within 10 percentage points "
        "of that at 5 MB",
        "4.3-dcqcn": "The improvement of the victims' mean FCT by DCQCN rises with the data per flow",
        "4.3-behind": "With SFC the mean FCT over all flows is lower than with DCQCN at every size",
        "4.3-behind-victims": "With SFC the victims' mean FCT is lower than with DCQCN at every size",
    },
    ours=("4.3-behind-victims",),
    cases=_CASES,
    judge=judge,
    choices={
        **VICTIMS_BESIDE_SENDERS,
        "DCQCN preset paper": {"dcqcn": "paper"},
        "DCQCN preset hpcc": {"dcqcn": "hpcc"},
    },
    reasons={
        "4.3-stable": (
            "PFC needs a while to spread from the receiver's switch to the links that victims use: of 5 MB a good "
            "part has "
            "arrived by then, and there is less to improve. From 20 to 80 MB the improvement moves by 3 points at "
            "most. "
            "Where PFC sees the whole egress queue it spreads at once, and the improvement is stable from 5 MB on."
        ),
        "4.3-behind-victims": (
            "It is DCQCN's parameters that decide: with those of the DCQCN paper it stays behind at every size, with "
            "ConWeave's it has converged by 80 MB, and its victims are 16 % faster than SFC's, which pay for pauses "
            "of 20 "
            "µs of a link that drains in 9."
        ),
    },
)
PARAMETERS = parameters(_CASES, "Part 4, Impact of data size")
CLAIMS = _JUDGED.listed
scenarios = _JUDGED.scenarios
claims = _JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw the FCT of each flow and variant, case by case."""
    bars(results, path, _CASES)
