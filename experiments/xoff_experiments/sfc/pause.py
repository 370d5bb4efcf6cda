"""Cases 5 to 5.8 of Part 5: pauses of 3 to 160 µs under a 5-to-1 incast in the two-layer CLOS.

Source: "SFC simulation", contribution to IEEE P802.1Qdw, 2025, Part 5, slides "Impact of SFC pause time". As case
3.1a: 800 KB of buffer, PFC 780 KB, SFC 400 KB; the formulas give a range of 9.6 to 25.6 µs, and the document takes
15 µs. The least interval equals the pause. Network and victim: see `_networks.py`.

The "wide configurable range" is that of the document's calculator, "too long" is above it, "too short" below. It counts
by input with virtual output queues, as the document says, and so its range reaches to 89.6 µs there.

"Significant impact" is judged by one figure here and in claim R: the mean FCT of the victims or that of the incast,
whichever grows more, against the document's choice of 15 µs, by more than 15 %. (In the mean over all flows a victim
that takes thrice as long can hide.) Read against PFC only a pause has an impact if SFC with it is worse than none.

Open choices, judged beside the verdict: other places of the victim, the parameters of DCQCN, how far below XOFF PFC
resumes, packets of 512 B.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from xoff.reproduce import ABOUT_THE_SAME, Decision, Part, all_of, chosen, higher, lower, opposite, positive, run_name
from xoff.results import Result
from xoff_experiments.sfc._figures import sweep
from xoff_experiments.sfc._networks import TWO_LAYER, calculated
from xoff_experiments.sfc._parameters import parameters
from xoff_experiments.sfc._runs import AVOID, Runs, judged, mean_us, shown, victims_us

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
AGAINST_CHOICE = "impact against 15 µs"
READINGS = {
    AGAINST_CHOICE: "an impact is one against the document's choice of 15 µs",
    "impact against PFC only": "an impact is one against PFC without SFC, with which case 5 is compared",
}
"""References of "without significant impact on performance". The second was added after a first result."""
_RIVALS = {"pfc": "PFC only", "pfc-dcqcn": "PFC + DCQCN"}


def degradations(runs: Runs, case: str) -> list[float]:
    """Return, draw by draw, by what share the FCT of the victims or of the incast grew, whichever grew more."""
    usual = "pfc-sfc" if runs.reading == AGAINST_CHOICE else "pfc"
    pairs = zip(runs.draws(case, "pfc-sfc"), runs.draws(REFERENCE, usual), strict=True)
    return [max(run.victims_us / usual.victims_us, run.incast_us / usual.incast_us) - 1 for run, usual in pairs]


def is_degraded(worse: Sequence[float]) -> Decision:
    """Decides whether a degradation is significant."""
    return positive([one - ABOUT_THE_SAME for one in worse])


def _range_us(runs: Runs) -> dict[str, float]:
    """Returns the calculator's range for the switch of the run."""
    name = next(name for name in runs.names if name.startswith(f"{run_name(REFERENCE, 'pfc-sfc')}/"))
    queueing = runs.results[run_name(name, choice=runs.choice)].scenario["switch"]["queueing"]
    return calculated(replace(CASES[REFERENCE], architecture=queueing))


def judge(runs: Runs) -> dict[str, Part]:
    """Judges against the document's choice of 15 µs, and against the rivals of SFC."""
    range_us = _range_us(runs)
    too_short = [case for case, pause in PAUSES_US.items() if pause < range_us["shortest"]]
    too_long = [case for case, pause in PAUSES_US.items() if pause > range_us["longest"]]
    wide = [case for case in CASES if case not in {*too_short, *too_long}]
    asked = {"the calculator's range (µs)": {key: range_us[key] for key in ("shortest", "longest")}}
    victim, incast, mean, sfcms = (
        {case: runs.drawn(case, "pfc-sfc", value) for case in CASES}
        for value in (victims_us, lambda run: run.incast_us, mean_us, lambda run: run.sfcms)
    )
    worse = {case: degradations(runs, case) for case in CASES}
    idle = {case: runs(case, "pfc-sfc").avoid_us.get("egress_idle_paused_ps") for case in CASES}
    rivals = {f"{name}, 15 µs": runs.over(REFERENCE, key, victims_us) for key, name in _RIVALS.items()}
    return {
        "5.5-long": Part(
            all_of(*(higher(figure[case], figure[REFERENCE]) for figure in (incast, mean) for case in too_long)),
            asked
            | {"incast, mean FCT (µs)": shown(incast), "mean FCT over all flows (µs)": shown(mean)}
            | {AVOID["egress_idle_paused_ps"]: idle},
        ),
        "5.5-short": Part(
            all_of(
                *(higher(sfcms[case], sfcms[REFERENCE]) for case in too_short),
                *(opposite(is_degraded(worse[case])) for case in too_short),
            ),
            asked
            | {
                "SFCMs": shown(sfcms),
                "victim FCT (µs)": shown(victim),
                f"victims or incast worse by, {runs.reading}": shown(worse),
            },
        ),
        "5.5-wide": Part(
            all_of(
                *(runs.faster(case, victims_us) for case in wide),
                *(lower(mean[case], runs.drawn(case, "pfc", mean_us)) for case in wide),
            ),
            asked | {"victim FCT (µs)": shown(victim) | rivals, "mean FCT over all flows (µs)": shown(mean)},
        ),
    }


JUDGED = judged(
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
    readings=READINGS,
    choices={
        "XON 80 KB below XOFF": {"xon_gap_kb": 80},
    },
    reasons={
        "5.5-short": (
            "With 3 and 6 µs a queue of five inputs never comes below its threshold, PFC takes over, and the victim "
            "takes 858 µs, exactly as with PFC alone: too short a pause is as if there were no SFC. Against the "
            "document's 15 µs (329 µs) that is an impact, against PFC only it is none."
        ),
    },
)
PARAMETERS = parameters(
    CASES,
    "Part 5, CASE 5",
    [chosen("wide range", "the calculator's range of each switch", "the table; per input for voq")],
)
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws FCT against the pause."""
    sweep(results, path, x=PAUSES_US, label="pause (µs)", log=True)
