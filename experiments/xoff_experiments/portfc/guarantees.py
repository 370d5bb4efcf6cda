"""N.15 to N.17: how far a pause reaches, the equilibrium of ATE, and rail-optimised networks.

Source: the PortFC paper, sections III-C, III-D, III-F and VI-D.

- Three hops: NDC(4, 1) under WebSearch and incasts for 1 ms, without DCQCN, which would hide flow control. By equations
  1 and 2 a full queue B of a switch pauses queues b at nodes (one hop) and queues A at the switches before (two hops),
  and a full queue A pauses queues a at nodes (one hop after its own congestion, three after that of a queue B). Queues
  a start no pause, so the chain ends there if neither a relay queue of a node nor a queue B of a switch is ever paused.
  The deepest tree of PFC's pauses stands beside it (`xoff explain`).
- Equilibrium: Rail-only(4), WebSearch with 90 Gb/s of payload a node whatever the domains carry, rails of 100 Gb/s, and
  scale-up links of 120, 160 and 240 Gb/s. The ratio is that of the first hops of traffic over both domains: bytes that
  take the high-bandwidth domain first over bytes that take the network domain first. It is to rise with B_H / B_N under
  Algorithm 5. Section III-F argues from equation 3, which is shown next to it. That T converges to p B_H is a unit test
  of `crates/models/src/paths/routing/ate.rs`, as no table has the volume in flight.
- Rail-optimised (HPN): the MoE traffic of `experts.py` in Rail-only(4) with two segments of two servers, whose rails
  are joined by two aggregation switches. "Remains compatible" is that PortFC loses nothing and has a lower mean and
  99th percentile of the FCT than IRN.

Not judged: BFC in an NDC (section II-C), as BFC does not say how a host keeps own and relayed flows apart, and xoff
refuses it at relays; networks of several NDCs joined by optical switches (VI-C), which the authors leave to the future;
Table II, the resources of the Tofino prototype, which no simulation has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib import rc_context

from xoff.insight import Forest
from xoff.plots import STYLE, Canvas, grouped_bars, write
from xoff.reproduce import Judged, Part, Spread, all_of, chosen, given, lower, never, ordered
from xoff.results import Result
from xoff_experiments.portfc._ndc import SET_UP, Setting, mixed, ndc, rail_only, scenario
from xoff_experiments.portfc._parameters import table
from xoff_experiments.portfc._runs import Run, Runs, by_seed, runs_of, told
from xoff_experiments.portfc.experts import SEEDS, TRAFFIC, Case, asymmetric, scenario_of

CITATION = "Revisiting Flow Control in Node-Centric Datacenter Networks, sections III-C, III-F and VI-D"

N = 4
HOPS, RATIO, RAIL = "three hops", "B_H", "rail-optimised"
SCALE_UP_GBPS = (120, 160, 240)
RAIL_GBPS = 100
DEMAND_GBPS = 90
RULES = {"algorithm": "Algorithm 5", "equation": "equation 3"}
KINDS = {
    "b": "b of nodes (1 hop)",
    "A": "A of switches (2)",
    "a": "a of nodes (3)",
    "c": "relay queues",
    "B": "B of switches",
}
"""Queues of the paper by their letter, with the hops from a congested queue B to their pause."""


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenarios by name."""
    made = {}
    for seed in SEEDS[:2] if quick else SEEDS:
        setting = Setting(dcqcn=False, arrivals_ms=1)
        for name in ("portfc", "pfc"):
            probe = {"delays": "all"} if name == "pfc" else {}
            made[f"{HOPS}/{name}/seed {seed}"] = scenario(
                name, ndc(N), mixed(N, "websearch", setting), setting, seed=seed, probe=probe
            )
        for gbps in SCALE_UP_GBPS:
            load = round(DEMAND_GBPS / (gbps + RAIL_GBPS), 6)
            work = [{"poisson": {"load": load, "sizes": "websearch", "duration": "1ms" if quick else "5ms"}}]
            for rule in RULES:
                one = scenario("portfc", rail_only(N, gbps, RAIL_GBPS), work, seed=seed)
                one["host"]["first_hop"] = asymmetric(0.9, raises=rule == "equation")
                made[f"{RATIO} {gbps}/portfc {rule}/seed {seed}"] = one
        for name in ("portfc", "irn"):
            case = Case(rounds=3 if quick else 20, seed=seed)
            one = scenario_of(case, name)
            link = {"rate": f"{RAIL_GBPS}Gbps", "delay": "1us"}
            one["network"]["rail"]["aggregation"] = {"switches": 2, "link": link, "segments": 2}
            made[f"{RAIL}/{name}/seed {seed}"] = one
    return made


def kind_of(node: str, queue: int) -> str:
    """Returns the paper's letter of a data queue in NDC(4, 1). Queue 0 of a port holds control frames."""
    if node.startswith("host"):
        return "a" if queue < N else "b" if queue < 2 * N - 1 else "c"
    return "A" if queue < N else "B"


def _paused(run: Run) -> Counter[str]:
    """Returns the number of pauses by the letter of the paused queue."""
    pauses = run.result.pauses
    return Counter(map(kind_of, pauses["node"].to_pylist(), pauses["queue"].to_pylist()))


def _depth(run: Run) -> float:
    return max((tree.depth for tree in Forest(run.result).trees), default=0)


def first_hops(run: Run) -> float:
    """Returns bytes over both domains that take the high-bandwidth domain first, over those that take the other."""
    queues = run.result.queues
    first = {"server": 0, "rail": 0}
    for node, queue, size in zip(*(queues[name].to_pylist() for name in ("node", "queue", "bytes")), strict=True):
        kind = node.rstrip("0123456789")
        # Inter-hop forwarding queues of switches hold packets that go on into the other domain.
        if kind in first and 0 < queue < N:
            first[kind] += size
    return first["server"] / first["rail"] if first["rail"] else 0.0


def judge(runs: Runs) -> dict[str, Part]:
    """Judges the kinds of paused queues, the ratio of first hops by bandwidth, and PortFC against IRN."""
    paused = [_paused(run) for run in runs.each(f"{HOPS}/portfc")]
    differs = [one["c"] + one["B"] > 0 or not all(one[kind] for kind in "bAa") for one in paused]
    ratios = {
        rule: {f"{gbps} Gb/s": runs.by_seed(f"{RATIO} {gbps}/portfc {rule}", first_hops) for gbps in SCALE_UP_GBPS}
        for rule in RULES
    }
    kinds = {"mean FCT (µs)": Run.mean_us, "p99 FCT (µs)": lambda run: run.tail_us(0.99)}
    lost = runs.by_seed(f"{RAIL}/portfc", _lost)
    each = [by_seed(runs, RAIL, ("portfc", "irn"), value) for value in kinds.values()]
    return {
        "N.15": Part(
            never(list(map(float, differs))),
            {
                "pauses of PortFC, by queue": {
                    text: Spread.of(float(one[kind]) for one in paused) for kind, text in KINDS.items()
                },
                "deepest tree of pauses, PFC (links)": runs.spread(f"{HOPS}/pfc", _depth),
            },
        ),
        **{
            short: Part(
                ordered(list(ratios[rule].values())),
                {
                    f"first hops, high-bandwidth over network domain, {RULES[rule]}": {
                        key: Spread.of(one) for key, one in ratios[rule].items()
                    }
                },
            )
            for short, rule in (("N.16", "algorithm"), ("N.16e", "equation"))
        },
        "N.17": Part(
            all_of(never(lost), *(lower(of["portfc"], of["irn"]) for of in each)),
            {what: told(runs, RAIL, ("portfc", "irn"), value) for what, value in kinds.items()}
            | {"packets lost": told(runs, RAIL, ("portfc", "irn"), _lost)},
        ),
    }


def _lost(run: Run) -> float:
    return run.result.summary["drops"]


JUDGED = Judged(
    document="portfc",
    set_up=SET_UP,
    statements={
        "N.15": "Congestion will at most propagate three hops: pauses reach queues b, A and a (equations 1 and 2), "
        "and no further",
        "N.16": "ATE: the ratio of traffic into the high-bandwidth domain to that into the network domain is "
        "positively correlated with B_H / B_N",
        "N.16e": "Shown: … by equation 3, which also raises the weight again",
        "N.17": "PortFC remains compatible with rail-optimised networks (HPN): no loss, and lower FCT than IRN",
    },
    ours=("N.16e",),
    runs=runs_of,
    judge=judge,
    reasons={
        "N.16": (
            "The ratio rises in each of five seeds, from 0.42 to 0.47 and 0.99 in the mean, as the scale-up links grow "
            "from 120 to 160 and 240 Gb/s. With 240 Gb/s it is 3.1 in one seed and 0.42 to 0.52 in the others, so that "
            "the mean difference is within chance."
        ),
        "N.16e": "See N.16.",
    },
    limits={
        "N.15": "the queues of a node that relays take turns (N.2-prevents); NDC(4, 1) alone",
        "N.16": "three bandwidths of the scale-up links alone",
        "N.17": "two segments of two servers alone",
    },
    quick_reasons=True,
)
PARAMETERS = table(
    [*TRAFFIC[1:], given("three hops; rail-optimised", "equations 1 and 2; HPN", "sections III-D and VI-D")],
    [
        chosen("traffic for three hops", "WebSearch, an incast every 0.25 ms, 1 ms, no DCQCN", "PortFC has to pause"),
        chosen("scale-up links", "120, 160 and 240 Gb/s; rails 100", "160 is the paper's"),
        chosen("demand", "90 Gb/s of payload a node, WebSearch, 5 ms", "the same for all bandwidths, above p B"),
        chosen(
            "rail-optimised", "two segments of two servers, two aggregation switches", "the smallest with all parts"
        ),
    ],
)
READS = ("contributions", "delays", "flows", "links", "pauses", "queues")
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the pauses by queue, and the ratio of first hops by bandwidth."""
    runs = runs_of(results)
    with rc_context(STYLE):
        drawing = Canvas(figsize=(8, 3), layout="constrained")
        left, right = drawing.subplots(1, 2)
        paused = [_paused(run) for run in runs.each(f"{HOPS}/portfc")]
        counts = [sum(one[kind] for one in paused) / len(paused) for kind in KINDS]
        grouped_bars(left, list(KINDS), [("PortFC", counts)], digits=0)
        left.set_ylabel("pauses by queue, mean of the seeds")
        series = [
            (
                meaning,
                [runs.mean(f"{RATIO} {gbps}/portfc {rule}", first_hops) for gbps in SCALE_UP_GBPS],
            )
            for rule, meaning in RULES.items()
        ]
        grouped_bars(right, [f"{gbps} Gb/s" for gbps in SCALE_UP_GBPS], series, digits=2)
        right.set_ylabel("first hops, high-bandwidth over network")
        right.legend(fontsize=7)
        write(drawing, path)
