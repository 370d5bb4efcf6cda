"""N.8: NDC(2, 1), the paper's testbed: background flows, and later flows that make a loop.

Source: the PortFC paper, section V-F, figure 19. Ours: four background flows around the ring, each of two hops, from
the start; at 1 ms (1 s in the paper; everything happens within microseconds) L loop-making flows a node, each of four
hops around the ring and relayed once; the run ends at 4 ms. Starts are drawn within 1 µs, ten times (three with other
L). The paper does not state L: two is the least L with which PFC deadlocks, as in the paper; other values are shown as
well. With equal rates and two ports a switch no queue of a switch can fill without a pause, so the behaviour of nodes
decides. Under PFC and PFC* nodes detect congestion as switches do, and the queue of relayed packets takes turns with
each own flow, like an interface with one queue a flow. PortFC's nodes send relayed packets first, which the paper
leaves open; results with the other order are shown as well. Background throughput is from 0.5 ms after the start of the
loops.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

import pyarrow.compute as pc
from matplotlib import rc_context

from xoff.plots import STYLE, Canvas, legend_below, write
from xoff.reproduce import (
    ABOUT_THE_SAME,
    Judged,
    Part,
    Readings,
    Spread,
    all_of,
    any_of,
    chosen,
    fact,
    given,
    lower,
    positive,
    some,
)
from xoff.results import Result
from xoff_experiments.portfc._figures import COLOUR
from xoff_experiments.portfc._ndc import MECHANISMS, SET_UP, Setting, ndc, scenario
from xoff_experiments.portfc._parameters import table
from xoff_experiments.portfc._runs import name_of

CITATION = "Revisiting Flow Control in Node-Centric Datacenter Networks, figure 19"

SHOWN = ("portfc", "pfc_star", "pfc")
TURNS = "portfc, relays take turns"
RING = (("host0", "level0_0"), ("host1", "level1_1"), ("host3", "level0_1"), ("host2", "level1_0"))
LOOPS_MS, END_MS = 1.0, 4.0
BIN_US = 50
LOOPS = {"two": 2, "one": 1, "three": 3, "four": 4, "six": 6}
"""Loop-making flows of a node, by reading; the main reading first."""
MAIN = next(iter(LOOPS))


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenarios by name; the quick variants have one draw of the starts."""
    made = {}
    for loops, count in LOOPS.items():
        for seed in range(1, 2 if quick else 11 if loops == MAIN else 4):
            draw = Random(seed)  # noqa: S311
            ring = [
                {"src": RING[i][0], "dst": RING[(i + 1) % 4][0], "size": "100MB", "start": f"{draw.random():.6f}us"}
                for i in range(4)
            ]
            rounds = [
                {"src": RING[i][0], "dst": RING[(i + 2) % 4][0], "size": "100MB"}
                | {"via": [RING[i][1], *RING[(i + 1) % 4]]}
                | {"start": f"{LOOPS_MS * 1000 + draw.random():.6f}us"}
                for i in range(4)
                for _ in range(count)
            ]
            work = [{"name": "background", "flows": ring}, {"name": "loops", "flows": rounds}]
            for name in (*SHOWN, TURNS):
                first = "relay_first" if name == "portfc" else "per_flow"
                # The testbed has no DCQCN. DCQCN would hide the effect of flow control.
                setting = Setting(relays="native", relay_scheduler=first, dcqcn=False)
                made[f"{loops}/{name}/seed {seed}"] = scenario(
                    name.partition(",")[0],
                    ndc(2),
                    work,
                    setting,
                    seed=seed,
                    until=f"{END_MS:g}ms",
                    probe={"packets": True},
                )
    return made


@dataclass(frozen=True, slots=True)
class Testbed:
    """The measures of figure 19, of one run."""

    trace_gbps: dict[str, dict[float, float]]
    """Total goodput, by workload and time in ms."""
    deadlock: str
    paused_share: float
    """Paused share of the ports' time after the start of the loops, in percent."""
    drops: int

    @classmethod
    def of(cls, result: Result) -> Testbed:
        """Reads a result."""
        columns = (result.flows[name].to_pylist() for name in ("flow", "workload", "dst"))
        ends = {flow: (name, dst) for flow, name, dst in zip(*columns, strict=True)}
        packets = result.packets
        packets = packets.filter(pc.and_(pc.equal(packets["event"], "arrive"), pc.equal(packets["kind"], "data")))
        received: dict[str, defaultdict[int, int]] = {name: defaultdict(int) for name in ("background", "loops")}
        fields = (packets[name].to_pylist() for name in ("time_ps", "node", "flow"))
        for time, node, flow in zip(*fields, strict=True):
            name, dst = ends[flow]
            if node == dst:
                received[name][time // (BIN_US * 10**6)] += 1000
        bins = range(int(END_MS * 1000 / BIN_US))
        trace = {
            name: {index * BIN_US / 1000: of_it[index] * 8 / (BIN_US * 1e3) for index in bins}
            for name, of_it in received.items()
        }
        paused = result.links["paused_ps"].to_pylist()
        share = 100 * sum(paused) / (len(paused) * (END_MS - LOOPS_MS) * 1e9)
        return cls(trace, result.audits["deadlock"], share, result.summary["drops"])

    def after_gbps(self, workload: str) -> float:
        """Returns the total goodput from half a millisecond after the start of the loops."""
        return fmean(rate for time, rate in self.trace_gbps[workload].items() if time >= LOOPS_MS + 0.5)

    @property
    def before_gbps(self) -> float:
        """The total goodput of the background before the start of the loops."""
        return fmean(rate for time, rate in self.trace_gbps["background"].items() if 0.5 <= time < LOOPS_MS)


Runs = Readings[Testbed]


def runs_of(results: Mapping[str, Result], choice: str = "", reading: str = "") -> Runs:
    """Returns the runs; a reading judges the runs with its number of loop-making flows."""
    return Readings(results, Testbed.of, choice, reading)


def _background(run: Testbed) -> float:
    return run.after_gbps("background") / 4


def _carried(run: Testbed) -> float:
    """Returns the load of a link: a loop-making flow passes two links in each round."""
    return (run.after_gbps("background") + 2 * run.after_gbps("loops")) / 4


def _times(one: float, other: float) -> float | None:
    """Returns the quotient of two numbers; None for a divisor of zero."""
    return round(one / other, 2) if other else None


def judge(runs: Runs) -> dict[str, Part]:
    """Judges throughput after the loops began, deadlocks, blocking, and the factor."""
    loops = runs.reading
    names = (*SHOWN, TURNS)
    each = {name: runs.each(f"{loops}/{name}") for name in names}
    after = {name_of(name): Spread.of(map(_background, each[name])) for name in names}
    carried = {name_of(name): Spread.of(map(_carried, each[name])) for name in names}
    paused = {name_of(name): Spread.of(run.paused_share for run in each[name]) for name in names}
    deadlocks = {
        name_of(name): f"{sum(run.deadlock != 'ok' for run in each[name])} of {len(each[name])}" for name in names
    }
    shown = {"background (Gb/s a flow)": after, "runs with a deadlock": deadlocks}
    star, portfc = (runs.by_seed(f"{loops}/{name}", _background) for name in ("pfc_star", "portfc"))
    before = fmean(run.before_gbps for run in each["pfc_star"]) / 4
    factors = {
        str(count): _times(*(runs.mean(f"{reading}/{name}", _background) for name in ("portfc", "pfc_star")))
        for reading, count in sorted(LOOPS.items(), key=lambda one: one[1])
    }
    return {
        "N.8-pfc": Part(
            all(run.deadlock != "ok" for run in each["pfc"]) and after["PFC"].high < 0.01,
            shown | {"PFC": each["pfc"][0].deadlock},
        ),
        "N.8-star": Part(
            all_of(
                fact(all(run.deadlock == "ok" for name in ("portfc", "pfc_star") for run in each[name])),
                some(star),
                lower(star, [(1 - ABOUT_THE_SAME) * one for one in portfc]),
            ),
            shown
            | {
                "background under PFC* before the loops (Gb/s a flow)": round(before, 2),
                "PortFC against PFC* (times)": _times(fmean(portfc), fmean(star)),
                "PortFC if relays take turns, against PFC* (times)": _times(after[name_of(TURNS)].mean, fmean(star)),
                "packets lost at relays then": Spread.of(run.drops for run in each[TURNS]),
                "PortFC against PFC* (times), by L": factors,
                "(2 L + 1) / 3": {count: round((2 * int(count) + 1) / 3, 2) for count in factors},
            },
            published={"PortFC against PFC* (times)": 1.9},
        ),
        "N.8b": Part(
            any_of(
                lower(
                    runs.by_seed(f"{loops}/pfc_star", _carried),
                    [0.95 * one for one in runs.by_seed(f"{loops}/portfc", _carried)],
                ),
                positive([run.paused_share - 1 for run in each["pfc_star"]]),
            ),
            {
                "what a link of the ring carries (Gb/s)": carried,
                "ports paused after the loops began (% of the time)": paused,
            },
        ),
    }


JUDGED = Judged(
    document="portfc",
    set_up=SET_UP,
    statements={
        "N.8": "NDC(2,1): PFC deadlocks, and its throughput drops to zero; PFC* survives, and its throughput degrades",
        "N.8-pfc": "Under PFC the loop-making flows cause a deadlock, and the background's throughput drops to zero",
        "N.8-star": "PFC* and PortFC do not deadlock, and the background's throughput degrades under PFC*: it is more "
        "than 15 % below that with PortFC",
        "N.8b": "PFC* degrades because of head-of-line blocking: ports are paused for more than 1 % of the time, or "
        "links carry 5 % less than with PortFC",
    },
    readings={name: f"{count} loop-making flows a node" for name, count in LOOPS.items()},
    runs=runs_of,
    judge=judge,
    reasons={
        "N.8b": "Nothing is blocked: no port is paused (with four and six flows one or two are, for 7 µs), and links "
        "carry as much as with PortFC. Own flows of a node take turns one by one under PFC*, so that the background "
        "flow has one in 2 L + 1 of the link; PortFC gives flows of two and of four hops a turn each.",
    },
    quick_reasons=True,
)
PARAMETERS = table(
    [given("network, traffic", "NDC(2, 1); background flows, later loop-producing flows", "section V-F")],
    [
        chosen("loop-making flows", "two a node", "the least with which PFC deadlocks", "one, three, four, six"),
        chosen("start of the loops", "1 ms", "1 s in the paper; all happens within microseconds"),
        chosen("starts", "drawn within 1 µs, ten times", "nothing else is random"),
        chosen("nodes under PFC, PFC*", "detect as switches do", "no queue of a switch can fill by itself"),
        chosen("DCQCN", "none", "the testbed has none; it would hide flow control"),
        chosen("relays of PortFC", "before own packets", "not told", "in turn"),
    ],
)
READS = ("flows", "links", "packets")
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the background's throughput over time in the main reading."""
    runs = runs_of(results)
    with rc_context(STYLE):
        drawing = Canvas(figsize=(6.4, 3.2), layout="constrained")
        axes = drawing.subplots()
        for name in SHOWN:
            found = runs.each(f"{MAIN}/{name}")[0].trace_gbps["background"]
            rates = [rate / 4 for rate in found.values()]
            axes.plot(list(found), rates, color=COLOUR[name], label=MECHANISMS[name])
        axes.axvline(LOOPS_MS, color="#888888", linewidth=0.8, linestyle="--")
        axes.set_ylim(bottom=0)
        axes.set_xlabel("time (ms); the loop-making flows start at the dashed line")
        axes.set_ylabel("background throughput (Gb/s a flow)")
        legend_below(drawing, 5)
        write(drawing, path)
