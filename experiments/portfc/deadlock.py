"""N.8: NDC(2, 1), the paper's testbed: background flows, and later flows that make a loop.

Source: the PortFC paper, section V-F, figure 19. Ours: four background flows around the ring, each of two hops, from
the start; at 1 ms (1 s in the paper; everything happens within microseconds) four loop-making flows a node, each of
four hops around the ring and relayed once; the run ends at 4 ms. With equal rates and two ports a switch no queue of a
switch can fill by itself, so that what nodes do decides: under PFC and PFC* they detect congestion as switches do, and
the queue of relayed packets takes turns with each own flow, as in an interface with one queue a flow. PortFC's nodes
send relayed packets first, which the paper leaves open; what follows if they do not stands beside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.portfc._figures import COLOUR
from experiments.portfc._ndc import MECHANISMS, Setting, ndc, scenario
from experiments.portfc._runs import Run, Runs, names, runs_of
from matplotlib import rc_context

from xoff.plots import STYLE, Canvas, legend_below, write
from xoff.reproduce import Judged, Part
from xoff.results import Result

CITATION = "PortFC: Designing High-Performance Deadlock-Free BCube Networks, figure 19"

SHOWN = ("portfc", "pfc_star", "pfc")
OTHER = "portfc, relays take turns"
RING = (("host0", "level0_0"), ("host1", "level1_1"), ("host3", "level0_1"), ("host2", "level1_0"))
LOOPS_MS, END_MS = 1.0, 4.0
BIN_US = 50
LOOPS = 4
"""Loop-making flows of a node."""


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Return the scenarios by name; both variants are the same."""
    del quick
    flows = [
        {"src": RING[i][0], "dst": RING[(i + 2) % 4][0], "size": "100MB", "start": f"{LOOPS_MS + 0.007 * i:g}ms"}
        | {"via": [RING[i][1], *RING[(i + 1) % 4]]}
        for i in range(4)
        for _ in range(LOOPS)
    ]
    work = [
        {
            "name": "background",
            "flows": [{"src": RING[i][0], "dst": RING[(i + 1) % 4][0], "size": "100MB"} for i in range(4)],
        },
        {"name": "loops", "flows": flows},
    ]
    made = {}
    for name in (*SHOWN, OTHER):
        relay_first = name == "portfc"
        setting = Setting(relays="native", relay_scheduler="relay_first" if relay_first else "per_flow")
        mechanism = name.partition(",")[0]
        one = scenario(mechanism, ndc(2), work, setting, until=f"{END_MS:g}ms", probe={"packets": True})
        # The testbed has no DCQCN; it would hide what flow control does.
        del one["host"]["congestion_control"], one["switch"]["ecn"]
        made[f"{name}/seed 1"] = one
    return made


def trace_gbps(run: Run) -> dict[float, float]:
    """Return the throughput of the background at its receivers, a flow's mean, by time in ms."""
    flows = run.result.flows
    columns = (flows[name].to_pylist() for name in ("flow", "workload", "dst"))
    receiver = {flow: dst for flow, name, dst in zip(*columns, strict=True) if name == "background"}
    packets = run.result.packets
    received: defaultdict[int, int] = defaultdict(int)
    fields = (packets[name].to_pylist() for name in ("time_ps", "node", "event", "kind", "flow"))
    for time, node, event, kind, flow in zip(*fields, strict=True):
        if event == "arrive" and kind == "data" and receiver.get(flow) == node:
            received[time // (BIN_US * 10**6)] += 1000
    bins = range(int(END_MS * 1000 / BIN_US))
    return {index * BIN_US / 1000: received[index] * 8 / (BIN_US * 1e3) / len(receiver) for index in bins}


def _after(run: Run) -> float:
    """Return the mean throughput from half a millisecond after the loops began."""
    found = [value for time, value in trace_gbps(run).items() if time >= LOOPS_MS + 0.5]
    return sum(found) / len(found)


def judge(runs: Runs) -> dict[str, Part]:
    """Judge throughput after the loops began, and deadlocks."""
    one = {name: runs.each(name)[0] for name in (*SHOWN, OTHER)}
    after = {name: _after(run) for name, run in one.items()}
    deadlock = {name: run.result.audits["deadlock"] for name, run in one.items()}
    shown = {"background after the loops began (Gb/s)": names(after, 3)}
    return {
        "N.8-pfc": Part(
            deadlock["pfc"] != "ok" and after["pfc"] < 0.01,
            shown | {"PFC": deadlock["pfc"]},
        ),
        "N.8-star": Part(
            deadlock["pfc_star"] == deadlock["portfc"] == "ok" and 0 < after["pfc_star"] < after["portfc"],
            shown,
        ),
        "N.8-factor": Part(
            abs(after["portfc"] / after["pfc_star"] / 1.9 - 1) <= 0.1,
            {
                "PortFC against PFC*": f"×{after['portfc'] / after['pfc_star']:.2f}",
                "PortFC if relays take turns, against PFC*": f"×{after[OTHER] / after['pfc_star']:.2f}",
                "packets lost at relays then": one[OTHER].result.summary["drops"],
            },
        ),
    }


_JUDGED = Judged(
    document="portfc",
    statements={
        "N.8": "NDC(2,1): PFC deadlocks, its throughput falls to zero; PFC* survives with head-of-line blocking; "
        "PortFC has about 1.9 times the throughput of PFC*",
        "N.8-pfc": "Under PFC the loop-making flows cause a deadlock: the background's throughput falls to zero",
        "N.8-star": "PFC* and PortFC do not deadlock, and PFC* loses throughput to head-of-line blocking",
        "N.8-factor": "The background's throughput with PortFC is about 1.9 times that with PFC*",
    },
    runs=runs_of,
    judge=judge,
    reasons={
        "N.8-factor": "Own flows of two and of four hops share a port in turns, one for each kind. Under PFC* they "
        "share one queue, flow by flow: of four loop-making flows and one background flow the latter gets a fifth. "
        "The factor is set by how many loop-making flows there are, which the paper does not say.",
    },
    quick_reasons=True,
)
CLAIMS = _JUDGED.listed
claims = _JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw the background's throughput over time."""
    runs = runs_of(results)
    with rc_context(STYLE):
        drawing = Canvas(figsize=(6.4, 3.2), layout="constrained")
        axes = drawing.subplots()
        for name in SHOWN:
            found = trace_gbps(runs.each(name)[0])
            axes.plot(list(found), list(found.values()), color=COLOUR[name], label=MECHANISMS[name])
        axes.axvline(LOOPS_MS, color="#888888", linewidth=0.8, linestyle="--")
        axes.set_ylim(bottom=0)
        axes.set_xlabel("time (ms); the loop-making flows start at the dashed line")
        axes.set_ylabel("background throughput (Gb/s a flow)")
        legend_below(drawing, 5)
        write(drawing, path)
