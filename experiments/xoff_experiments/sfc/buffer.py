"""Cases 2 to 2.5 of Part 5: buffers of 400 to 4000 KB under a 3-to-1 incast in the two-layer CLOS.

Source: "SFC simulation", contribution to IEEE P802.1Qdw, 2025, Part 5, slides "Impact of buffer size" and "CASE 2".
PFC's threshold is 20 KB below the buffer, SFC's 180 KB below that; pause and least interval are 10 µs. The settings
list of Part 5 says 6 µs, the calculation below it and every table 10 µs. Network and victim: see `_networks.py`.

"Shorter FCT for victim flows until PFC is no longer triggered": no larger buffer makes it longer by more than 1 %, the
largest makes it shorter, and there PFC does not pause. "8x yields similar improvements to just enabling SFC" compares
the two improvements of the mean FCT over all flows: the buffer's is within 15 % of SFC's.

Open choices, judged beside the verdict: other places of the victim, a pause of 6 µs, the parameters of DCQCN, how far
below XOFF PFC resumes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from xoff.reproduce import Part, about_the_same, all_of, chosen, lower, never, positive
from xoff.results import Result
from xoff_experiments.sfc._figures import sweep
from xoff_experiments.sfc._networks import TWO_LAYER
from xoff_experiments.sfc._parameters import parameters
from xoff_experiments.sfc._runs import Runs, judged, mean_us, pauses, shown, victims_us

CITATION = "SFC simulation, IEEE P802.1Qdw, 2025, Part 5, cases 2 to 2.5"

_BUFFERS_KB = {"2": 400, "2.1": 800, "2.2": 1600, "2.3": 2400, "2.4": 3200, "2.5": 4000}
_TIE = 0.01
_CASES = {
    name: replace(TWO_LAYER, buffer_kb=size, pfc_kb=size - 20, sfc_kb=size - 200) for name, size in _BUFFERS_KB.items()
}


def judge(runs: Runs) -> dict[str, Part]:
    """Judges PFC only: the victim falls until PFC stops; 8 × the buffer improves as SFC does; the mean falls."""
    fired = {case: runs.drawn(case, "pfc", pauses) for case in _CASES}
    victim = {case: runs.drawn(case, "pfc", victims_us) for case in _CASES}
    mean = {case: runs.drawn(case, "pfc", mean_us) for case in _CASES}
    by_buffer = [1 - large / small for small, large in zip(mean["2"], mean["2.4"], strict=True)]
    by_sfc = runs.improvements("2", mean_us)
    steps = [lower(after, [(1 + _TIE) * one for one in before]) for before, after in pairwise(victim.values())]
    return {
        "5.2-victim": Part(
            all_of(*steps, lower(victim["2.5"], victim["2"]), never(fired["2.5"])),
            {"victim FCT, PFC only (µs)": shown(victim), "PFC pauses, PFC only": shown(fired)},
        ),
        "5.2-eightfold": Part(
            all_of(positive(by_sfc), positive(by_buffer), about_the_same(by_buffer, by_sfc)),
            {
                "improvement of the mean FCT over all flows": shown(
                    {"PFC only at 3200 KB": by_buffer, "SFC at 400 KB": by_sfc}
                )
            },
        ),
        "5.2-overall": Part(
            all_of(*(lower(values, mean["2"]) for case, values in mean.items() if case != "2")),
            {"mean FCT over all flows, PFC only (µs)": shown(mean)},
        ),
    }


JUDGED = judged(
    statements={
        "5.2": "3-to-1 in the 2-layer CLOS: larger buffers help PFC alone until it is no longer triggered; 8 times the "
        "buffer does what SFC does",
        "5.2-victim": "With PFC only larger buffers lead to a shorter FCT of the victim, until PFC is not triggered "
        "at all",
        "5.2-eightfold": "On average over all flows PFC only with 8 times the buffer (3200 KB) improves by about "
        "as much (within 15 %) as SFC does with 400 KB",
        "5.2-overall": "Larger buffers, and so higher PFC thresholds, improve the overall performance",
    },
    cases=_CASES,
    judge=judge,
    choices={
        "pause 6 µs": {"pause_us": 6},
        "XON 80 KB below XOFF": {"xon_gap_kb": 80},
    },
    reasons={
        "5.2-eightfold": (
            "SFC's improvement is half as large again: it lowers the mean FCT over all flows by 9.8 %, and the buffer "
            "by 6.6 %. No buffer does more: from 2400 KB on the mean is 558 µs, and with SFC and 400 KB 539 µs."
        ),
    },
)
PARAMETERS = parameters(
    _CASES, "Part 5, CASE 2", [chosen("pause and interval", "10 µs", "the table; the settings list says 6 µs", "6 µs")]
)
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws FCT against the buffer."""
    sweep(results, path, x=_BUFFERS_KB, label="buffer (KB)")
