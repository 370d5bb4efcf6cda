"""Cases 1, 3a and 3b of Part 4: 5, 20 and 80 MB a flow in the three-layer CLOS.

Source: "SFC simulation", contribution to IEEE P802.1Qdw, 2025, Part 4, slide "Impact of data size": only more data per
flow, all other settings unchanged. Network and victims: see `_networks.py`.

"Remain relatively stable" is said of improvements, which are percentages: within 10 percentage points. The slide ends
with the victims, so "performance improvements" and "as good" are those of the victims' mean FCT. The mean over all
flows stands beside it.

Open choices, judged beside the verdict: other places of the victims, and the parameters of DCQCN, which set how fast it
converges and recovers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from xoff.reproduce import Part, all_of, lower, ordered, positive, within
from xoff.results import Result
from xoff_experiments.sfc._figures import bars
from xoff_experiments.sfc._networks import THREE_LAYER, VARIANTS
from xoff_experiments.sfc._parameters import parameters
from xoff_experiments.sfc._runs import POINTS, Runs, judged, mean_us, shown, victims_us

CITATION = "SFC simulation, IEEE P802.1Qdw, 2025, Part 4, cases 1, 3a and 3b"
_CASES = {
    "case 1 (5 MB)": THREE_LAYER,
    "case 3a (20 MB)": replace(THREE_LAYER, data_mb=20),
    "case 3b (80 MB)": replace(THREE_LAYER, data_mb=80),
}


def judge(runs: Runs) -> dict[str, Part]:
    """Judges SFC's improvement against PFC only, DCQCN's, and SFC against DCQCN: of all flows, and of the victims."""
    parts: dict[str, Part] = {}
    for suffix, whose, value in (("", "victims", victims_us), ("-all", "all flows", mean_us)):
        by_sfc, by_dcqcn = (
            {case: runs.improvements(case, value, variant) for case in _CASES} for variant in ("pfc-sfc", "pfc-dcqcn")
        )
        first, *larger = by_sfc.values()
        fct = {
            f"{case}: mean FCT of {whose} (µs)": {variant: runs.over(case, variant, value) for variant in VARIANTS}
            for case in _CASES
        }
        parts |= {
            f"4.3-stable{suffix}": Part(
                all_of(
                    *map(positive, by_sfc.values()),
                    *(within(one, first, [POINTS] * len(one)) for one in larger),
                ),
                {f"improvement of the mean FCT of {whose} by SFC": shown(by_sfc)},
            ),
            f"4.3-dcqcn{suffix}": Part(
                ordered(list(by_dcqcn.values())), {f"improvement of the mean FCT of {whose} by DCQCN": shown(by_dcqcn)}
            ),
            f"4.3-behind{suffix}": Part(
                all_of(
                    *(
                        lower(runs.drawn(case, "pfc-sfc", value), runs.drawn(case, "pfc-dcqcn", value))
                        for case in _CASES
                    )
                ),
                fct,
            ),
        }
    victims = all_of(*(runs.faster(case, victims_us) for case in _CASES))
    return parts | {"4.3-victims": Part(victims, parts["4.3-behind"].measured)}


JUDGED = judged(
    statements={
        "4.3": "3-layer CLOS, data ×4 and ×16: the improvement by SFC remains relatively stable; DCQCN performs "
        "relatively better as flows last longer, but is still not as good as SFC; victims gain at every size",
        "4.3-stable": "The improvement of the victims' mean FCT by SFC at 20 and 80 MB is within 10 percentage "
        "points of that at 5 MB",
        "4.3-stable-all": "… and that of the mean FCT over all flows",
        "4.3-dcqcn": "The improvement of the victims' mean FCT by DCQCN rises with the data per flow",
        "4.3-dcqcn-all": "… and that of the mean FCT over all flows",
        "4.3-behind": "With SFC the victims' mean FCT is lower than with DCQCN at every size",
        "4.3-behind-all": "… and the mean FCT over all flows",
        "4.3-victims": "SFC can improve the performance of victim flows with different data sizes: their mean FCT is "
        "lower than with PFC only and PFC + DCQCN at every size",
    },
    ours=("4.3-stable-all", "4.3-dcqcn-all", "4.3-behind-all"),
    cases=_CASES,
    judge=judge,
    choices={
        "DCQCN preset hpcc": {"dcqcn": "hpcc"},
    },
    reasons={
        "4.3-stable": (
            "The victims' gain grows from 34 to 45 and 48 %: PFC needs a while to spread from the receiver's switch "
            "to the links that victims use, and of 5 MB a good part has arrived by then. Where PFC sees the whole "
            "egress queue (oq-egress) it spreads at once, and the gain is stable from 5 MB on. The mean over all "
            "flows hides this: 15 to 23 % are within ten points."
        ),
    },
)
PARAMETERS = parameters(_CASES, "Part 4, Impact of data size")
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the FCT of each flow and variant, case by case."""
    bars(results, path, _CASES)
