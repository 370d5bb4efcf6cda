"""Cases 2 to 2.5 of Part 5: buffers of 400 to 4000 KB under a 3-to-1 incast in the two-layer CLOS.

Source: "SFC simulation", contribution to IEEE P802.1Qdw, 2025, Part 5, slides "Impact of buffer size" and "CASE 2".
PFC's threshold is 20 KB below the buffer, SFC's 180 KB below that; pause and least interval are 10 µs. The settings
list of Part 5 says 6 µs, the calculation below it and every table 10 µs. Network and victim: see `_networks.py`.

"Shorter FCT for victim flows until PFC is no longer triggered": no larger buffer makes it longer by more than 1 %, the
largest makes it shorter, and there PFC does not pause. "8x yields similar improvements to just enabling SFC" compares
the two improvements of the mean FCT over all flows: one is 0.75 to 1.33 times the other.

Open choices, judged beside the verdict: other places of the victim, a pause of 6 µs, the parameters of DCQCN, how far
below XOFF PFC resumes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from xoff.experiments.sfc._figures import sweep
from xoff.experiments.sfc._networks import TWO_LAYER, VICTIMS_BESIDE_SENDERS
from xoff.experiments.sfc._parameters import parameters
from xoff.experiments.sfc._runs import Runs, judged
from xoff.reproduce import Part, chosen
from xoff.results import Result

CITATION = "SFC simulation, IEEE P802.1Qdw, 2025, Part 5, cases 2 to 2.5"

_BUFFERS_KB = {"2": 400, "2.1": 800, "2.2": 1600, "2.3": 2400, "2.4": 3200, "2.5": 4000}
_TIE = 0.01
_SIMILAR = (0.75, 1.33)
_CASES = {
    name: replace(TWO_LAYER, buffer_kb=size, pfc_kb=size - 20, sfc_kb=size - 200) for name, size in _BUFFERS_KB.items()
}


def judge(runs: Runs) -> dict[str, Part]:
    """Judge PFC only: the victim falls until PFC stops; 8 × the buffer improves as SFC does; the mean falls."""
    pfc = {case: runs(case, "pfc") for case in _CASES}
    pauses = {case: run.pfc_pauses for case, run in pfc.items()}
    mean = {case: run.mean_us for case, run in pfc.items()}
    by_buffer, by_sfc = 1 - mean["2.4"] / mean["2"], runs.improvement("2", value=lambda run: run.mean_us)
    victim = [run.victims_us for run in pfc.values()]
    falls = victim[-1] < victim[0] and all(after <= (1 + _TIE) * before for before, after in pairwise(victim))
    return {
        "5.2-victim": Part(
            falls and min(pauses.values()) == 0,
            {
                "victim FCT, PFC only (µs)": {case: runs.over(case, "pfc", lambda run: run.victims_us) for case in pfc},
                "PFC pauses, PFC only": pauses,
            },
        ),
        "5.2-eightfold": Part(
            by_sfc > 0 and _SIMILAR[0] <= by_buffer / by_sfc <= _SIMILAR[1],
            {
                "improvement of the mean FCT over all flows": {
                    "PFC only at 3200 KB": by_buffer,
                    "SFC at 400 KB": by_sfc,
                },
                "mean FCT over all flows (µs)": {
                    "PFC only at 3200 KB": mean["2.4"],
                    "SFC": runs("2", "pfc-sfc").mean_us,
                },
            },
        ),
        "5.2-overall": Part(
            all(value < mean["2"] for case, value in mean.items() if case != "2"),
            {"mean FCT over all flows, PFC only (µs)": mean},
        ),
    }


_JUDGED = judged(
    statements={
        "5.2": "3-to-1 in the 2-layer CLOS: larger buffers help PFC alone until it is no longer triggered; 8 times the "
        "buffer does what SFC does",
        "5.2-victim": "With PFC only larger buffers lead to a shorter FCT of the victim, until PFC is not triggered "
        "at all",
        "5.2-eightfold": "On average over all flows PFC only with 8 times the buffer (3200 KB) improves as much as SFC "
        "does with 400 KB",
        "5.2-overall": "Larger buffers, and so higher PFC thresholds, improve the overall performance",
    },
    cases=_CASES,
    judge=judge,
    choices={
        **VICTIMS_BESIDE_SENDERS,
        "pause 6 µs": {"pause_us": 6},
        "DCQCN preset paper": {"dcqcn": "paper"},
        "XON 80 KB below XOFF": {"xon_gap_kb": 80},
    },
    reasons={
        "5.2-victim/oq-egress": (
            "The victim's FCT falls with each buffer, but PFC does not stop: one egress queue takes two thirds of "
            "the 15 MB, more than the largest buffer."
        ),
        "5.2-eightfold": (
            "Eight times the buffer improves the mean by 15.0 %, SFC by 11.0 %: 1.37 times as much, just beyond the "
            "1.33 "
            "that count as similar. With the other places of the victim, or a pause of 6 µs, they are similar."
        ),
        "5.2-eightfold/oq-egress": "PFC still fires at 3200 KB, and improves the mean by 7.0 % where SFC does by "
        "10.2 %.",
        "5.2-eightfold/voq": "PFC still fires at 3200 KB, and improves the mean by 6.6 % where SFC does by 10.2 %.",
    },
)
PARAMETERS = parameters(
    _CASES, "Part 5, CASE 2", [chosen("pause and interval", "10 µs", "the table; the settings list says 6 µs", "6 µs")]
)
CLAIMS = _JUDGED.listed
scenarios = _JUDGED.scenarios
claims = _JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw FCT against the buffer."""
    sweep(results, path, x=_BUFFERS_KB, label="buffer (KB)")
