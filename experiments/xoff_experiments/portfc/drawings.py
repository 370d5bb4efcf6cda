"""N.11: figures 4 and 5 as scenarios of their own: a victim that PFC pauses, and a deadlock of two flows.

Source: the PortFC paper, section II-C. Ours: the flows, as the drawings are lost. Figure 4 in NDC(4, 1): hosts 5, 10
and 12 send to host 0, the victim from host 12 to host 8 by the same switch; the first flow to host 0 shares its
source's port with the victim, so that twice the time alone is its fair share. Figure 5: two flows of four hops end to
end around a ring, from host 0 to 5 by host 1 and from 5 to 0 by host 4; "when a queue at one of the switches becomes
congested" needs a third flow, which the paper does not name: a burst of 2 MB from host 9 to 5, which stands beside a
run without it. Starts are drawn within 1 µs, ten times.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

from matplotlib import rc_context

from xoff.plots import STYLE, Canvas, write
from xoff.reproduce import Judged, Part, chosen, given
from xoff.results import Result
from xoff_experiments.portfc._ndc import SET_UP, Setting, ndc, scenario
from xoff_experiments.portfc._parameters import table
from xoff_experiments.portfc._runs import Runs, runs_of
from xoff_experiments.portfc._victims import draw_victims, flow, slower, victim_scenarios, victims_told

CITATION = "Revisiting Flow Control in Node-Centric Datacenter Networks, figures 4 and 5"

FAIR = 2
"""FCT divided by the FCT alone: the victim shares its source's port with one other flow."""
RING = ((0, 5, ("level0_0", "host1", "level1_1")), (5, 0, ("level0_1", "host4", "level1_0")))
BURST = (9, 5, ("level1_1",))
TWO = "two flows alone"


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenarios by name."""
    made = victim_scenarios("figure 4", quick=quick)
    for seed in range(1, 3 if quick else 11):
        draw = Random(seed)  # noqa: S311
        ring = [flow(one, "20MB", draw.random()) for one in RING]
        burst = flow(BURST, "2MB", 10 + draw.random())
        for name in ("portfc", "pfc"):
            for case, flows in (("figure 5", [*ring, burst]), (TWO, ring)):
                made[f"{case}/{name}/seed {seed}"] = scenario(
                    name, ndc(4), [{"flows": flows}], Setting(dcqcn=False), seed=seed, until="20ms"
                )
    return made


def judge(runs: Runs) -> dict[str, Part]:
    """Judges figures 4 and 5."""
    deadlock = {
        (case, name): [run.result.audits["deadlock"] for run in runs.each(f"{case}/{name}")]
        for case in ("figure 5", TWO)
        for name in ("portfc", "pfc")
    }
    counts = {key: f"{sum(one != 'ok' for one in found)} of {len(found)}" for key, found in deadlock.items()}
    times = {text: round(slower(runs, "figure 4", name), 2) for text, name in (("PortFC", "portfc"), ("PFC", "pfc"))}
    return {
        "N.11-victim": Part(
            times["PortFC"] <= FAIR < times["PFC"],
            victims_told(runs, "figure 4") | {"times as long as alone": times},
        ),
        "N.11-deadlock": Part(
            all(one != "ok" for one in deadlock["figure 5", "pfc"])
            and all(one == "ok" for one in deadlock["figure 5", "portfc"]),
            {
                "runs with a deadlock": {"PortFC": counts["figure 5", "portfc"], "PFC": counts["figure 5", "pfc"]},
                "without the third flow": {"PortFC": counts[TWO, "portfc"], "PFC": counts[TWO, "pfc"]},
                "PFC": deadlock["figure 5", "pfc"][0],
            },
        ),
    }


JUDGED = Judged(
    document="portfc",
    set_up=SET_UP,
    statements={
        "N.11": "Figure 4: PFC pauses a victim flow, PortFC does not; figure 5: two four-hop flows deadlock under PFC",
        "N.11-victim": "Figure 4: the victim takes longer than its fair share allows with PFC, and not with PortFC",
        "N.11-deadlock": "Figure 5: two four-hop flows deadlock under PFC whose nodes pass pauses on, when a third "
        "flow congests a switch of the loop, and not with PortFC",
    },
    runs=runs_of,
    judge=judge,
    limits={
        "N.11": "Without figure 5's third flow PFC does not deadlock either; beside figure 4 only starts are varied."
    },
)
PARAMETERS = table(
    [given("network", "two dimensions of an NDC; two four-hop flows that make a loop", "section II-C.3")],
    [
        chosen("flows", "see above", "the drawings are lost"),
        chosen("third flow of figure 5", "2 MB from host 9 to 5", "a switch of the loop has to be congested", "none"),
        chosen("starts", "drawn within 1 µs, ten times", "nothing else is random"),
        chosen("DCQCN", "none", "it would hide flow control"),
    ],
)
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the FCT of figure 4's victim, alone and beside the congested flows."""
    with rc_context(STYLE):
        drawing = Canvas(figsize=(4.2, 3.2), layout="constrained")
        draw_victims(drawing.subplots(), runs_of(results), ("figure 4",))
        write(drawing, path)
