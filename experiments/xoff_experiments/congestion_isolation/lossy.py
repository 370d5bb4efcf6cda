"""C.8: no PFC.

Source: "Simulation Analysis of Congestion Isolation", IEEE 802.1, January 2018, slides "Lossy Scenario (No PFC)". Full
queues of 1 MB drop packets, and Go-Back-N retransmits from the first loss on (ours). The loss rate is over all data
packets, retransmissions included. The 1000 sampled flows are drawn once from the flows of all seeds, and are the same
with and without CI. "Improves performance" is a lower mean FCT over all flows. "Only packets from congested flows are
dropped" means: with CI the non-congested queue drops nothing and never fills, in contrast to queue 1 without CI. All
losses are then in the congested queue, which holds congested flows and possibly a flow beside a congested flow. Without
losses in the variant without CI, each statement is void. Ours: 128 servers.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

import pyarrow.compute as pc
from matplotlib import rc_context

from xoff.plots import STYLE, Canvas, grouped_bars, legend_below, write
from xoff.reproduce import Part, Spread, all_of, chosen, given, lower, never, positive
from xoff.results import Result
from xoff_experiments.congestion_isolation._fabric import CONGESTED, NON_CONGESTED, VARIANTS, Case
from xoff_experiments.congestion_isolation._parameters import PARAMETERS as _SHARED
from xoff_experiments.congestion_isolation._runs import SEARCHED, Run, Runs, judged

CITATION = "Simulation Analysis of Congestion Isolation, IEEE 802.1, 2018, Lossy Scenario (No PFC)"

_LABEL = "no PFC"
_SAMPLED = 1000
_SIZE_KB = 1000


def judge(runs: Runs) -> dict[str, Part]:
    """Judges the loss rates, the flows with losses, and where packets are lost."""
    found = {variant: runs.of(_LABEL, variant) for variant in VARIANTS}
    rates = {variant: [_loss_rate(run) for run in each] for variant, each in found.items()}
    flows = {variant: _flows_with_loss(each) for variant, each in found.items()}
    by_run = {variant: [_flows_with_loss([run])[0] for run in each] for variant, each in found.items()}
    by_seed = {text: " / ".join(f"{rate:.3g}" for rate in rates[variant]) for variant, text in VARIANTS.items()}
    lost = {
        text: {
            f"queue {queue}": sum(_lost(run, queue) for run in found[variant]) for queue in (CONGESTED, NON_CONGESTED)
        }
        for variant, text in VARIANTS.items()
    }
    deepest_kb = {text: max(_deepest_kb(run) for run in found[variant]) for variant, text in VARIANTS.items()}
    nothing = "" if any(rates["none"]) else "without CI nothing is lost"
    again = {variant: [_sent_again(run) for run in each] for variant, each in found.items()}
    return {
        "C.8-rate": Part(
            lower(rates["ci"], rates["none"]),
            {
                "loss rate (%)": {text: fmean(rates[variant]) for variant, text in VARIANTS.items()},
                "loss rate by seed (%)": by_seed,
            },
            void=nothing,
        ),
        "C.8-performance": Part(
            all_of(lower(again["ci"], again["none"]), positive(runs.gains(_LABEL, "all"))),
            {
                "packets sent again": {text: Spread.of(again[variant]) for variant, text in VARIANTS.items()},
                **runs.compared(_LABEL),
            },
            void=nothing,
        ),
        "C.8-flows": Part(
            lower(*(by_run[variant] for variant in ("ci", "none"))),
            {
                "flows with loss of 1000 sampled": {text: flows[variant][0] for variant, text in VARIANTS.items()},
                "flows with loss of all": {text: flows[variant][1] for variant, text in VARIANTS.items()},
                "flows with loss of 1000 sampled, by seed": {
                    text: Spread.of(by_run[variant]) for variant, text in VARIANTS.items()
                },
            },
            void=nothing,
        ),
        "C.8-only": Part(
            never([_lost(run, NON_CONGESTED) + (_deepest_kb(run) >= _SIZE_KB - 1) for run in found["ci"]]),
            {
                **{f"packets lost, {text}": queues for text, queues in lost.items()},
                "deepest queue 1 (KB)": deepest_kb,
            },
            void=nothing or ("" if lost[VARIANTS["none"]]["queue 1"] else "without CI queue 1 loses nothing either"),
        ),
    }


def _sent_again(run: Run) -> int:
    return int(run.result.summary["retransmitted"])


def _deepest_kb(run: Run) -> float:
    """Returns the depth of the deepest non-congested queue in KB."""
    queues = run.result.queues.select(["node", "class", "max_bytes"]).to_pylist()
    depths = [one["max_bytes"] for one in queues if one["class"] == NON_CONGESTED and "host" not in one["node"]]
    return max(depths, default=0) / 1e3


def _loss_rate(run: Run) -> float:
    """In percent of the data packets sent."""
    sent: list[int] = run.result.flows["packets_sent"].to_pylist()
    return 100 * int(run.result.summary["drops"]) / sum(sent)


def _flows_with_loss(runs: list[Run]) -> tuple[float, int]:
    """Returns the flows with losses: of 1000 sampled flows (in proportion, if there are fewer), and of all flows."""
    lossy: list[bool] = []
    for run in runs:
        flows = set(pc.unique(run.result.drops["flow"]).to_pylist())
        lossy += [flow in flows for flow in run.result.flows["flow"].to_pylist()]
    sampled = random.Random(1).sample(range(len(lossy)), min(_SAMPLED, len(lossy)))  # noqa: S311
    return sum(lossy[index] for index in sampled) * _SAMPLED / len(sampled), sum(lossy)


def _lost(run: Run, queue: int) -> int:
    return int(pc.sum(pc.equal(run.result.drops["class"], queue)).as_py() or 0)


JUDGED = judged(
    statements={
        "C.8": "Without PFC: CI improves performance by reducing packet loss and the flows that experience it",
        "C.8-rate": "CI reduces the packet loss rate",
        "C.8-performance": "CI reduces packet retransmission and improves performance",
        "C.8-flows": "CI reduces the number of flows experiencing packet loss, of 1000 sampled flows",
        "C.8-only": "Only packets from congested flows are dropped; the non-congested queue never fills",
    },
    cases={_LABEL: Case(lossy=True)},
    judge=judge,
    choices=SEARCHED,
)
PARAMETERS = [
    *_SHARED,
    given("PFC", "none", "Lossy Scenario (No PFC)"),
    given("flows sampled", "1000", "Lossy Scenario (No PFC)"),
    chosen("what is lost", "is sent again from there on (Go-Back-N)", "what adapters of RoCE did in 2018"),
]
READS = ("drops", "flows", "queues")
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the loss rate, the flows with losses, and the mean FCT of all flows."""
    runs = Runs(results)
    found = {text: runs.of(_LABEL, variant) for variant, text in VARIANTS.items()}
    panels: dict[str, tuple[list[float], int]] = {
        "packet loss rate (%)": ([fmean(_loss_rate(run) for run in each) for each in found.values()], 4),
        "flows with loss of 1000 sampled": ([_flows_with_loss(each)[0] for each in found.values()], 1),
        "mean FCT of all flows (µs)": ([runs.mean_us(_LABEL, variant, "all") for variant in VARIANTS], 0),
    }
    with rc_context(STYLE):
        drawing = Canvas(figsize=(8, 2.8), layout="constrained")
        shown: Any = drawing.subplots(1, len(panels))
        for axes, (text, (values, digits)) in zip(shown, panels.items(), strict=True):
            grouped_bars(
                axes, [""], [(name, [value]) for name, value in zip(found, values, strict=True)], digits=digits
            )
            axes.set_xticks([])
            axes.set_ylim(bottom=0)
            axes.set_ylabel(text)
        legend_below(drawing, 4)
        write(drawing, path)
