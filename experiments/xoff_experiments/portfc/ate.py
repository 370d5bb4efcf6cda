"""N.7b: the effect of Asymmetric Traffic Engineering on PortFC: its threshold p, and the traffic it moves.

Source: the PortFC paper, sections III-E and III-F. The traffic is the traffic of `experts.py` in Rail-only(4).
Algorithm 5 acts if T >= p B, with T of the first hop; equation 3, shown next to it, also raises the weight again. A
flow of four hops crosses both domains once, in either order; ATE chooses the order. The traffic of a domain is the
bytes on its links from nodes. The first-hop traffic of a domain is the bytes in the inter-hop forwarding queues of its
switches: packets that continue to the other domain. The paper's w is the share of the first hop. Section V-E has
Poisson traffic and incasts, too: the traffic of `rail_mixed.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from matplotlib import rc_context

from xoff.plots import STYLE, Canvas, grouped_bars, write
from xoff.reproduce import Decision, Judged, Part, Spread, all_of, chosen, lower
from xoff.results import Result
from xoff_experiments.portfc import rail_mixed
from xoff_experiments.portfc._ndc import SET_UP, WORKLOADS
from xoff_experiments.portfc._parameters import table
from xoff_experiments.portfc._runs import Run, Runs, Value, by_seed, runs_of, told
from xoff_experiments.portfc.experts import MOE, SEEDS, TRAFFIC, WITHOUT_ATE, Case, scenario_of
from xoff_experiments.portfc.rail_mixed import N

CITATION = "Revisiting Flow Control in Node-Centric Datacenter Networks, sections III-E and III-F"

MAIN = "p 0.9"
NONE = "without"
EQUATION = "equation 3"
SETTINGS: dict[str, dict[str, Any]] = {
    MAIN: {},
    "p 0.5": {"threshold": 0.5},
    "p 0.7": {"threshold": 0.7},
    "p 1": {"threshold": 1.0},
    EQUATION: {"raises": True},
}
"""Settings of ATE. `EQUATION` has p = 0.9, and is shown alone."""
BESIDE = ("portfc", WITHOUT_ATE)
"""The compared mechanisms under Poisson traffic with incasts, in the main reading alone."""
P = [name for name in SETTINGS if name.startswith("p ")]


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenarios by name."""
    seeds, rounds = (SEEDS[:2], 3) if quick else (SEEDS, 20)
    made = {}
    for seed in seeds:
        case = Case(rounds=rounds, seed=seed)
        made[f"{NONE}/seed {seed}"] = scenario_of(case, WITHOUT_ATE)
        for name, changes in SETTINGS.items():
            made[f"{name}/seed {seed}"] = scenario_of(replace(case, **changes), "portfc")
    for sizes in WORKLOADS:
        for number, one in rail_mixed.sized(rail_mixed.Case(sizes=sizes), "", quick).items():
            for name in BESIDE:
                made[f"{sizes}/{name}/seed {number}"] = rail_mixed.scenario_of(one, name)
    return made


def _tail_us(run: Run) -> float:
    return run.tail_us(0.99)


def _inside_share(run: Run) -> float:
    """Returns the share of bytes sent by nodes that goes into the high-bandwidth domain, in percent."""
    columns = (run.result.links[name].to_pylist() for name in ("node", "peer", "data_bytes"))
    sent = {"server": 0, "rail": 0}
    for node, peer, size in zip(*columns, strict=True):
        kind = peer.rstrip("0123456789")
        if node.startswith("host") and kind in sent:
            sent[kind] += size
    return 100 * sent["server"] / sum(sent.values())


def _first_share(run: Run) -> float:
    """Returns the share of traffic over both domains with the high-bandwidth domain as first hop, in percent."""
    queues = run.result.queues
    first = {"server": 0, "rail": 0}
    for node, queue, size in zip(*(queues[name].to_pylist() for name in ("node", "queue", "bytes")), strict=True):
        kind = node.rstrip("0123456789")
        # The first queue of a switch port holds control frames, and the last queue packets for the next node.
        if kind in first and 0 < queue < N:
            first[kind] += size
    return 100 * first["server"] / sum(first.values())


def judge(runs: Runs) -> dict[str, Part]:
    """Judges ATE against the hash, p = 0.9 against other thresholds, and the traffic of each domain."""

    def by_setting(value: Value) -> dict[str, Spread]:
        return {name: runs.spread(name, value) for name in (NONE, *SETTINGS)}

    def lowered(value: Value) -> Decision:
        return lower(runs.by_seed(MAIN, value), runs.by_seed(NONE, value))

    mean, tail = by_setting(Run.mean_us), by_setting(_tail_us)
    each = {name: runs.by_seed(name, Run.mean_us) for name in P}
    shown = {"mean FCT (µs)": mean, "p99 FCT (µs)": tail}
    return {
        "N.7b-moe": Part(all_of(*(lowered(value) for value in (Run.mean_us, _tail_us))), shown),
        "N.7b-mixed": _mixed(runs),
        "N.7c": Part(
            lowered(_first_share),
            {
                "of what takes both domains, the high-bandwidth one first (%)": by_setting(_first_share),
                "of all that nodes send, into the high-bandwidth domain (%)": by_setting(_inside_share),
            },
        ),
        "N.7p": Part(
            all_of(*(lower(each[MAIN], [1.02 * one for one in each[name]]) for name in P if name != MAIN)),
            {"mean FCT (µs)": {name: mean[name] for name in P}},
        ),
    }


def _mixed(runs: Runs) -> Part:
    """Judges ATE against the hash beside Poisson traffic and incasts."""
    kinds: dict[str, Value] = {"mean FCT (µs)": Run.mean_us, "p99 FCT (µs)": _tail_us}
    each = [by_seed(runs, sizes, BESIDE, value) for sizes in WORKLOADS for value in kinds.values()]
    return Part(
        all_of(*(lower(of["portfc"], of[WITHOUT_ATE]) for of in each)),
        {
            f"{title}: {what}": told(runs, sizes, BESIDE, value)
            for sizes, title in WORKLOADS.items()
            for what, value in kinds.items()
        },
    )


JUDGED = Judged(
    document="portfc",
    set_up=SET_UP,
    statements={
        "N.7b": "ATE is particularly effective for NDC networks with heterogeneous bandwidth: with it PortFC's mean "
        "and 99th percentile of the FCT are lower than without",
        "N.7b-moe": "… under MoE traffic",
        "N.7b-mixed": "… under Poisson traffic with incasts, in all three workloads",
        "N.7c": "ATE reroutes overflowing traffic from the high-bandwidth domain to the network domain: of what takes "
        "both, a smaller share takes the former first",
        "N.7p": "p is generally set to 0.9: the mean FCT is then no more than 2 % above that with any other p",
    },
    ours=("N.7p",),
    runs=runs_of,
    judge=judge,
    reasons={
        "N.7b-moe": (
            "A MoE round starts 917 KB of a node at one instant, and p B over the round trip of the hop is 37 KB, so "
            "most pairs move to the network domain. Every flow of four hops crosses both domains once, whichever comes "
            "first. With the network domain first, its 100 Gb/s are the first link of most flows, and the 99th "
            "percentile is 265 instead of 184 µs, the mean 38.2 instead of 35.4."
        ),
        "N.7b-mixed": (
            "On Hadoop and Storage ATE makes the mean 14 and 18 % shorter, and the 99th percentile 14 and 19 %. On "
            "WebSearch five seeds do not decide: the mean is 605 and 634 µs, and the 99th percentile the same."
        ),
    },
    limits={
        "N.7c": "Rail-only(4) and MoE traffic alone; with p from 0.5 to 1 and with equation 3 it moves traffic, too"
    },
    quick_reasons=True,
)
PARAMETERS = table(TRAFFIC, [*MOE, chosen("p, T, direction", "as in the experiment on MoE traffic", "swept here")])
READS = ("flows", "links", "queues")
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws mean and tail by setting, and the share that takes the high-bandwidth domain first."""
    runs = runs_of(results)
    kinds: dict[str, Value] = {
        "mean FCT (µs)": Run.mean_us,
        "99th percentile of the FCT (µs)": _tail_us,
        "high-bandwidth domain first (%)": _first_share,
    }
    with rc_context(STYLE):
        drawing = Canvas(figsize=(9, 3.2), layout="constrained")
        for axes, (label, value) in zip(drawing.subplots(1, len(kinds)), kinds.items(), strict=True):
            series = [("PortFC", [runs.mean(name, value) for name in (NONE, *SETTINGS)])]
            grouped_bars(axes, [NONE, *SETTINGS], series, digits=0)
            axes.tick_params(axis="x", labelrotation=30, labelsize=7)
            axes.set_ylabel(label)
        write(drawing, path)
