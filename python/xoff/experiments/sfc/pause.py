"""Cases 5 to 5.8 of Part 5: pauses of 3 to 160 µs under a 5-to-1 incast in the two-layer CLOS.

Source: "SFC simulation", contribution to IEEE P802.1Qdw, 2025, Part 5, slides "Impact of SFC pause time". As case
3.1a: 800 KB of buffer, PFC 780 KB, SFC 400 KB; the formulas give a range of 9.6 to 25.6 µs, and the document takes
15 µs. The least interval equals the pause. Network and victim: see `_networks.py`.

The "wide configurable range" is that of the document's calculator, "too long" is above it, "too short" below. It counts
by input with virtual output queues, as the document says, and so its range reaches to 89.6 µs there.

"Significant impact" is judged by one figure here and in claim R: the mean FCT of the victims or that of the incast,
whichever grows more, against the document's choice of 15 µs, by more than 15 %. (In the mean over all flows a victim
that takes thrice as long can hide.)

Open choices, judged beside the verdict: other places of the victim, the parameters of DCQCN, how far below XOFF PFC
resumes, packets of 512 B.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from xoff.experiments.sfc._figures import sweep
from xoff.experiments.sfc._networks import TWO_LAYER, VICTIMS_BESIDE_SENDERS, calculated
from xoff.experiments.sfc._parameters import parameters
from xoff.experiments.sfc._runs import AVOID, Run, Runs, judged
from xoff.reproduce import ABOUT_THE_SAME, Part, chosen
from xoff.results import Result

CITATION = "SFC simulation, IEEE P802.1Qdw, 2025, Part 5, cases 5 to 5.8"

PAUSES_US = {
    "5.1": 3.0, "5.2": 6.0, "5.3": 10.0, "5": 15.0, "5.4": 21.0, "5.5": 36.0, "5.6": 55.0, "5.7": 100.0, "5.8": 160.0,
}  # fmt: skip
CASES = {
    name: replace(TWO_LAYER, incast=5, buffer_kb=800, pfc_kb=780, sfc_kb=400, pause_us=pause)
    for name, pause in PAUSES_US.items()
}
REFERENCE = "5"
"""The document's choice of 15 µs."""


def degradation(run: Run, reference: Run) -> float:
    """Return by what share the FCT of the victims or of the incast grew, whichever grew more."""
    return max(run.victims_us / reference.victims_us, run.incast_us / reference.incast_us) - 1


def judge(runs: Runs) -> dict[str, Part]:
    """Judge against the document's choice of 15 µs, and against the rivals of SFC."""
    range_us = calculated(replace(CASES[REFERENCE], architecture=runs.reading))
    too_short = [case for case, pause in PAUSES_US.items() if pause < range_us["shortest"]]
    too_long = [case for case, pause in PAUSES_US.items() if pause > range_us["longest"]]
    wide = [case for case in CASES if case not in {*too_short, *too_long}]
    asked = {"the calculator's range (µs)": {key: range_us[key] for key in ("shortest", "longest")}}
    sfc = {case: runs(case, "pfc-sfc") for case in CASES}
    pfc, dcqcn = runs("5", "pfc"), runs("5", "pfc-dcqcn")
    victim = {case: run.victims_us for case, run in sfc.items()}
    incast = {case: run.incast_us for case, run in sfc.items()}
    mean = {case: run.mean_us for case, run in sfc.items()}
    sfcms = {case: run.sfcms for case, run in sfc.items()}
    worse = {case: degradation(run, sfc[REFERENCE]) for case, run in sfc.items()}
    idle = {case: run.avoid_us[key] for case, run in sfc.items() if (key := "egress_idle_paused_ps") in run.avoid_us}
    return {
        "5.5-long": Part(
            all(figure[case] > figure["5"] for figure in (incast, mean) for case in too_long),
            asked
            | {"incast, mean FCT (µs)": incast, "mean FCT over all flows (µs)": mean}
            | ({AVOID["egress_idle_paused_ps"]: idle} if idle else {}),
        ),
        "5.5-short": Part(
            all(sfcms[case] > sfcms["5"] and worse[case] <= ABOUT_THE_SAME for case in too_short),
            asked | {"SFCMs": sfcms, "victim FCT (µs)": victim, "victims or incast, worse than with 15 µs by": worse},
        ),
        "5.5-wide": Part(
            all(victim[case] < min(pfc.victims_us, dcqcn.victims_us) and mean[case] < pfc.mean_us for case in wide),
            asked
            | {
                "victim FCT (µs)": victim | {"PFC only": pfc.victims_us, "PFC + DCQCN": dcqcn.victims_us},
                "mean FCT over all flows (µs)": mean | {"PFC only": pfc.mean_us},
            },
        ),
    }


_JUDGED = judged(
    statements={
        "5.5": "5-to-1 in the 2-layer CLOS: too-long pauses leave bandwidth unused and degrade performance, too-short "
        "ones just consume more resources, and SFC remains effective across a wide range",
        "5.5-long": "Pauses longer than the calculator's range leave the link idle: the incast's and the overall mean "
        "FCT are worse than with 15 µs",
        "5.5-short": "Pauses shorter than the range cost more SFCMs than 15 µs and have no other significant effect on "
        "the FCT",
        "5.5-wide": "Across the range the victim's FCT is better than with PFC only and PFC + DCQCN, and the overall "
        "mean better than with PFC only",
    },
    cases=CASES,
    judge=judge,
    choices={
        **VICTIMS_BESIDE_SENDERS,
        "DCQCN preset paper": {"dcqcn": "paper"},
        "XON 80 KB below XOFF": {"xon_gap_kb": 80},
        "packets of 512 B": {"payload_bytes": 512},
    },
    reasons={
        "5.5-short/oq-egress": (
            "Below the range the queue stays above XOFF between the pauses, and here PFC sees the whole queue: it "
            "pauses "
            "all spines, and the victim with them. With 6 µs it takes twice as long, with 3 µs thrice."
        ),
        "5.5-short/voq": (
            "With 3 µs nothing suffers. With 6 µs the victim takes 2.6 times as long: PFC fires with both, but with "
            "3 µs "
            "spine 0 pauses the leaf of sender 1, and with 6 µs that of the victim."
        ),
        "5.5-long/voq": (
            "With 100 µs, just above the range of 89.6, the link idles for 0.4 ms, and the mean over all flows is 6 "
            "% worse; "
            "the incast itself ends when it would have. With 160 µs it is as claimed."
        ),
    },
)
PARAMETERS = parameters(
    CASES,
    "Part 5, CASE 5",
    [chosen("wide range", "the calculator's range of each switch", "the table; per input for voq")],
)
CLAIMS = _JUDGED.listed
scenarios = _JUDGED.scenarios
claims = _JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw FCT against the pause."""
    sweep(results, path, x=PAUSES_US, label="pause (µs)", log=True)
