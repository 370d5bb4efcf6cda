"""N.9, N.10 and N.11: nothing is lost, who is blocked, how many queues there are, and figures 4 and 5 as scenarios.

Source: the PortFC paper, sections II-C, III-B and III-F, figures 4 and 5. Ours: load 70 % of WebSearch for N.9, beside
all runs of the other experiments with PortFC; the flows of figures 4 and 5, whose drawings are lost, in NDC(4, 1).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.portfc._ndc import Setting, mixed, ndc, rail_only, scenario
from experiments.portfc._runs import Runs, runs_of
from matplotlib import rc_context

import xoff
from xoff.plots import STYLE, Canvas, grouped_bars, write
from xoff.reproduce import Judged, Part, whole
from xoff.results import Result

CITATION = "PortFC: Designing High-Performance Deadlock-Free BCube Networks, sections III-B and III-F, figures 4 and 5"

COUNTED = ((2, 1), (4, 1), (8, 1), (2, 2), (3, 2), (2, 3))
"""n and k of networks whose queues are counted."""

# In NDC(4, 1) switch level0_i joins hosts 4i to 4i + 3, and level1_j hosts j, 4 + j, 8 + j and 12 + j.
TO_HOST_0 = (
    (5, 0, ("level0_1", "host4", "level1_0")),
    (10, 0, ("level0_2", "host8", "level1_0")),
    (12, 0, ("level1_0",)),
)
CROWD = (*TO_HOST_0, (6, 0, ("level0_1", "host4", "level1_0")), (15, 0, ("level0_3", "host12", "level1_0")))
VICTIMS = {
    "at a switch": (13, 8, ("level0_3", "host12", "level1_0")),
    "at its source": (5, 8, ("level0_1", "host4", "level1_0")),
    "figure 4": (12, 8, ("level1_0",)),
}
ALONE = ", alone"
"""What the names of runs without the congested flows end in."""


def _flow(src: int, dst: int, via: tuple[str, ...], size: str = "1MB", start: str = "0us") -> dict[str, Any]:
    return {"src": src, "dst": dst, "via": list(via), "size": size, "start": start}


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Return the scenarios by name."""
    setting = Setting(load=0.7, arrivals_ms=1 if quick else 10, period_ms=0.5 if quick else 2)
    made = {
        f"loss, NDC({n},1)/portfc/seed {seed}": scenario(
            "portfc", ndc(n), mixed(n, "websearch", setting), setting, seed=seed
        )
        for n in ((4,) if quick else (4, 8))
        for seed in ((1, 2) if quick else (1, 2, 3, 4, 5) if n == 4 else (1,))
    }
    # Without DCQCN, which would hide what flow control does.
    for label, victim in VICTIMS.items():
        for name in ("portfc", "pfc"):
            work = [
                {"name": "crowd", "flows": [_flow(*one) for one in (CROWD if label == "at its source" else TO_HOST_0)]},
                {"name": "victim", "flows": [_flow(*victim, "100KB", "50us")]},
            ]
            for crowd in (True, False):
                one = scenario(name, ndc(4), work if crowd else work[1:])
                del one["host"]["congestion_control"]
                made[f"{label}{'' if crowd else ', alone'}/{name}/seed 1"] = one
    for name in ("portfc", "pfc"):
        # Two flows of four hops, end to end around a ring, and a short burst that fills one queue of it.
        flows = [
            _flow(0, 5, ("level0_0", "host1", "level1_1"), "20MB"),
            _flow(5, 0, ("level0_1", "host4", "level1_0"), "20MB"),
            _flow(9, 5, ("level1_1",), "2MB", "10us"),
        ]
        one = scenario(name, ndc(4), [{"flows": flows}], until="20ms")
        del one["host"]["congestion_control"]
        made[f"figure 5/{name}/seed 1"] = one
    # Two servers' worth of rate meet at a relay: from GPUs 1 and 2 by GPU 0 to the next server.
    for size in (4, 8):
        flows = [_flow(gpu, 4, ("server0", "host0", "rail0"), f"{size}MB") for gpu in (1, 2)]
        made[f"rail, {size} MB/portfc/seed 1"] = scenario("portfc", rail_only(4), [{"flows": flows}])
    for n, k in COUNTED:
        # The second flow is relayed once; with k > 1 more relays are refused.
        flows = [_flow(0, 1, (), "1KB"), _flow(0, n + 1, (), "1KB")]
        one = scenario("portfc", {"ndc": {"n": n, "k": k, "link": ndc(n)["ndc"]["link"]}}, [{"flows": flows}])
        made[f"NDC({n},{k})/portfc/seed 1"] = one
    return made


def _queues(result: Result) -> dict[str, int]:
    """Return how many queues a port of a node and of a switch has, the one of control frames included."""
    counts: dict[str, int] = {}
    queues = result.queues
    for node, queue in zip(queues["node"].to_pylist(), queues["queue"].to_pylist(), strict=True):
        kind = "node" if node.startswith("host") else "switch"
        counts[kind] = max(counts.get(kind, 0), queue + 1)
    return counts


def judge(runs: Runs) -> dict[str, Part]:
    """Judge loss, victims, circles, counts, and the two figures."""
    nine = _loss(runs) | _blocked(runs) | {"N.9-deadlock": _circles()}
    return {"N.9": whole(nine)} | nine | _queues_counted(runs) | _figures(runs)


def _loss(runs: Runs) -> dict[str, Part]:
    """Judge whether packets are lost, with heavy traffic and where a fast domain feeds a slow one."""
    heavy = {name: runs.one(name).result.summary for name in runs.names if name.startswith("loss")}
    rail = {name: runs.one(name).result.summary for name in runs.names if name.startswith("rail")}
    return {
        "N.9-loss": Part(
            all(one["drops"] == 0 and one["retransmitted"] == 0 for one in heavy.values()),
            {
                name: {"lost": one["drops"], "sent again": one["retransmitted"], "pauses": one["portfc"]["pauses"]}
                for name, one in heavy.items()
            },
        ),
        "N.9-rail": Part(
            all(not one["drops"] for one in rail.values()),
            {
                name: {"lost at the relay": one["drops"], "sent again": one["retransmitted"]}
                for name, one in rail.items()
            },
        ),
    }


def _victim_us(runs: Runs, label: str, mechanism: str = "portfc", crowd: str = "") -> float:
    """Return the victim's FCT, beside the congested flows or alone."""
    return runs.mean(f"{label}{crowd}/{mechanism}", lambda run: run.mean_us("victim"))


def _victims_us(runs: Runs, label: str) -> dict[str, dict[str, float]]:
    """Return what a page says of a victim."""
    shown = {"PortFC": "portfc", "PFC": "pfc"}
    times = {
        f"{text}{crowd}": round(_victim_us(runs, label, name, crowd), 1)
        for text, name in shown.items()
        for crowd in ("", ALONE)
    }
    return {"victim's FCT (µs)": times}


def _blocked(runs: Runs) -> dict[str, Part]:
    """Judge whether a victim takes as long beside the congested flows as alone, at a switch and at its source."""
    places = {"N.9-switch": "at a switch", "N.9b": "at its source"}
    return {
        short: Part(_victim_us(runs, label) <= 1.15 * _victim_us(runs, label, crowd=ALONE), _victims_us(runs, label))
        for short, label in places.items()
    }


def _circles() -> Part:
    """Judge what the check for deadlocks says of all flows together."""
    possible = {}
    for n in (2, 4, 8, 16):
        found = xoff.check(scenario("portfc", ndc(n), [{"all_to_all": {"size": "1KB"}}]))["deadlock"]
        possible[f"NDC({n},1)"] = "possible" if found["possible"] else "none possible"
    return Part(all(text == "none possible" for text in possible.values()), {"all to all": possible})


def _queues_counted(runs: Runs) -> dict[str, Part]:
    """Judge the numbers of queues against the formulas."""
    counted = {(n, k): _queues(runs.each(f"NDC({n},{k})/portfc")[0].result) for n, k in COUNTED}
    parts = {}
    for short, levels in (("N.10-1", (1,)), ("N.10-k", (2, 3))):
        of_it = {(n, k): found for (n, k), found in counted.items() if k in levels}
        wanted = {(n, k): {"switch": n + 1, "node": (k + 1) * (n - 1) + 2} for n, k in of_it}
        parts[short] = Part(
            of_it == wanted,
            {
                f"NDC({n},{k})": {f"{kind}, formula": wanted[n, k][kind] for kind in found} | found
                for (n, k), found in of_it.items()
            },
        )
    return parts


def _figures(runs: Runs) -> dict[str, Part]:
    """Judge figures 4 and 5."""
    deadlock = {name: runs.each(f"figure 5/{name}")[0].result.audits["deadlock"] for name in ("portfc", "pfc")}
    return {
        "N.11-victim": Part(
            _victim_us(runs, "figure 4") < _victim_us(runs, "figure 4", "pfc"), _victims_us(runs, "figure 4")
        ),
        "N.11-deadlock": Part(
            deadlock["pfc"] != "ok" and deadlock["portfc"] == "ok",
            {"PFC": deadlock["pfc"], "PortFC": deadlock["portfc"]},
        ),
    }


_JUDGED = Judged(
    document="portfc",
    statements={
        "N.9": "PortFC loses nothing, blocks no victim and cannot deadlock (section III-F)",
        "N.9-loss": "k = 1 and equal link rates: no packet is ever lost or sent again",
        "N.9-rail": "Rail-only, too: no packet is lost where 160 Gb/s flow into a rail of 100 Gb/s (the paper is "
        "silent)",
        "N.9-switch": "No victim is blocked at a switch queue by a flow of another output",
        "N.9b": "No victim flow is delayed by a congested flow destined for a different path: at a source, too",
        "N.9-deadlock": "No circle of pauses can close",
        "N.10": "A switch port has n + 1 queues, a node port (k + 1)(n - 1) + 2",
        "N.10-1": "k = 1: n + 1 and 2n queues",
        "N.10-k": "k > 1: n + 1 and (k + 1)(n - 1) + 2 queues",
        "N.11": "Figure 4: PFC pauses a victim flow, PortFC does not; figure 5: two flows deadlock under PFC",
        "N.11-victim": "Figure 4: the victim's FCT is lower with PortFC than with PFC",
        "N.11-deadlock": "Figure 5: two four-hop flows deadlock under PFC whose nodes pass pauses on, and not with "
        "PortFC",
    },
    runs=runs_of,
    judge=judge,
    reasons={
        "N.9b": "A queue a of a node stands for an output of the first switch, whatever output of the second its "
        "packets take; the trigger of its pause is the sum over all of those. When the packets of one fill it, the "
        "others of the queue wait, though their path is free: the claim is too strong.",
        "N.9-rail": "A relay pauses nobody and is paused by nobody who feeds it: packets come in by the "
        "high-bandwidth domain at 160 Gb/s and leave by the rail at 100, and 60 Gb/s pile up for as long as flows "
        "last. DCQCN does not help, as relays mark nothing. It takes 13.3 MB in one go to fill 5 MB: two flows of 4 "
        "MB lose nothing, two of 8 MB do, and the small flows of N.7 never.",
        "N.10-k": "The paper's n + 1 counts the outputs of one next switch. With k > 1 there are k switches behind a "
        "node, and a queue for each of their outputs makes k(n - 1) + 2; the formulas agree for k = 1.",
    },
    quick_reasons=True,
)
CLAIMS = _JUDGED.listed
claims = _JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw the victims' FCT, alone and beside the congested flows."""
    runs = runs_of(results)
    with rc_context(STYLE):
        drawing = Canvas(figsize=(6.4, 3.2), layout="constrained")
        axes = drawing.subplots()
        series = [
            (
                f"{text}{', alone' if alone else ''}",
                [runs.mean(f"{label}{alone}/{name}", lambda run: run.mean_us("victim")) for label in VICTIMS],
            )
            for text, name in (("PortFC", "portfc"), ("PFC", "pfc"))
            for alone in ("", ", alone")
        ]
        grouped_bars(
            axes, [f"victim {label}" if label.startswith("at") else label for label in VICTIMS], series, digits=0
        )
        axes.set_ylabel("victim's FCT (µs)")
        axes.legend(fontsize=8)
        write(drawing, path)
