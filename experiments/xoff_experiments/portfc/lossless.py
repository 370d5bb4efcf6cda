"""N.9 and N.10: no losses, blocked flows, freedom from deadlock, and the number of queues.

Source: the PortFC paper, sections II-D, III-B and III-F. Ours: for losses, Poisson traffic of 70 % of both ports of a
node, which exceeds the capacity of links (117 % in NDC(4, 1), 130 % in NDC(8, 1)), with incasts. Blocking is measured
by 100 KB of a victim beside two to five flows of 1 MB to host 0 in NDC(4, 1), with starts drawn within 1 µs, ten times.
A victim is blocked if the victim takes more than 15 % longer than alone. Losses of IRN are shown beside PortFC's. The
paper's sentence on the numbers of queues is two statements, because its two formulas stand and fall alone: that of a
switch port is N.10s, and that of a node port N.10n. The split is ours. Two sentences are contradicted by the paper's
own algorithms: N.9b and N.10s with k > 1. `reference/portfc.py` runs the algorithms by the letter, without xoff's core.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib import rc_context

import xoff
from xoff.plots import STYLE, Canvas, write
from xoff.reproduce import ABOUT_THE_SAME, Judged, Part, chosen, given
from xoff.results import Result
from xoff_experiments.portfc._ndc import Setting, mixed, ndc, scenario
from xoff_experiments.portfc._parameters import table
from xoff_experiments.portfc._runs import Run, Runs, runs_of
from xoff_experiments.portfc._victims import draw_victims, slower, victim_scenarios, victims_told

CITATION = "Revisiting Flow Control in Node-Centric Datacenter Networks, sections II-D, III-B and III-F"

COUNTED = ((2, 1), (4, 1), (8, 1), (2, 2), (3, 2), (2, 3), (2, 4))
"""n and k of the networks with counted queues."""
PLACES = ("at a switch", "at its source")
HEAVY = ("portfc", "irn")
CHECKED = ("portfc", "pfc")


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenarios by name."""
    made = {}
    for n in (4,) if quick else (4, 8):
        setting = Setting(port_load=0.7, arrivals_ms=1 if quick else {4: 10, 8: 3}[n])
        for name in HEAVY:
            for seed in range(1, 3 if quick else 6):
                made[f"heavy, NDC({n},1)/{name}/seed {seed}"] = scenario(
                    name, ndc(n), mixed(n, "websearch", setting), setting, seed=seed
                )
    for place in PLACES:
        made |= victim_scenarios(place, quick=quick)
    for n, k in COUNTED:
        # The second flow is relayed once; with k > 1 more relays are refused.
        flows = [{"src": 0, "dst": dst, "size": "1KB"} for dst in (1, n + 1)]
        made[f"NDC({n},{k})/portfc/seed 1"] = scenario("portfc", ndc(n, k), [{"flows": flows}])
    return made


def _queues(result: Result) -> dict[str, int]:
    """Returns how many queues a port of a node and of a switch has, the one of control frames included."""
    counts: dict[str, int] = {}
    queues = result.queues
    for node, queue in zip(queues["node"].to_pylist(), queues["queue"].to_pylist(), strict=True):
        kind = "node" if node.startswith("host") else "switch"
        counts[kind] = max(counts.get(kind, 0), queue + 1)
    return counts


def judge(runs: Runs) -> dict[str, Part]:
    """Judges loss, victims, circles and counts."""
    blocked = {
        short: Part(slower(runs, place, "portfc") <= 1 + ABOUT_THE_SAME, victims_told(runs, place))
        for short, place in zip(("N.9-switch", "N.9b"), PLACES, strict=True)
    }
    return {"N.9-loss": _loss(runs)} | blocked | {"N.9-deadlock": _circles(runs)} | _queues_counted(runs)


def _loss(runs: Runs) -> Part:
    """Judges whether packets are lost or sent again under heavy traffic, where PortFC has to pause."""
    cases = dict.fromkeys(name.partition("/")[0] for name in runs.names if name.startswith("heavy"))
    found = {case: [run.result.summary for run in runs.each(f"{case}/portfc")] for case in cases}
    return Part(
        all(
            one["drops"] == one["retransmitted"] == 0 and one["portfc"]["pauses"] > 0
            for of_it in found.values()
            for one in of_it
        ),
        {
            f"{case}: {what}": {
                text: runs.spread(f"{case}/{name}", value) for text, name in (("PortFC", "portfc"), ("IRN", "irn"))
            }
            for case in found
            for what, value in (("packets lost", _lost), ("sent again", _again))
        },
    )


def _lost(run: Run) -> float:
    return run.result.summary["drops"]


def _again(run: Run) -> float:
    return run.result.summary["retransmitted"]


def _circles(runs: Runs) -> Part:
    """Judges the deadlock check of all flows together, and deadlocks in runs."""
    possible = {
        name: {
            f"NDC({n},1)": xoff.check(scenario(name, ndc(n), [{"all_to_all": {"size": "1KB"}}]))["deadlock"]["possible"]
            for n in (2, 4, 8, 16)
        }
        for name in CHECKED
    }
    heavy = [run.result for run in runs.starting("heavy") if "portfc" in run.result.scenario["switch"]["flow_control"]]
    return Part(
        bool(heavy)
        and not any(possible["portfc"].values())
        and all(possible["pfc"].values())
        and all(one.audits["deadlock"] == "ok" for one in heavy),
        {
            "a circle of pauses can close, PortFC": possible["portfc"],
            "PFC": possible["pfc"],
            "runs of PortFC with a deadlock": sum(one.audits["deadlock"] != "ok" for one in heavy),
        },
    )


def _queues_counted(runs: Runs) -> dict[str, Part]:
    """Judges the numbers of queues against the two formulas, with k = 1 and with k = 2 to 4."""
    counted = {(n, k): _queues(runs.each(f"NDC({n},{k})/portfc")[0].result) for n, k in COUNTED}
    formulas = {
        "N.10s": ("switch", {(n, k): n + 1 for n, k in COUNTED}),
        "N.10n": ("node", {(n, k): (k + 1) * (n - 1) + 2 for n, k in COUNTED}),
    }
    parts = {}
    for short, (kind, wanted) in formulas.items():
        for part, levels in (("one", (1,)), ("more", (2, 3, 4))):
            of_it = [(n, k) for n, k in COUNTED if k in levels]
            what = f"queues of a {kind} port"
            parts[f"{short}-{part}"] = Part(
                all(counted[one][kind] == wanted[one] for one in of_it),
                {f"{what}, k {'= 1' if part == 'one' else '> 1'}": {_name(one): counted[one][kind] for one in of_it}},
                published={
                    f"{what}, k {'= 1' if part == 'one' else '> 1'}": {_name(one): wanted[one] for one in of_it}
                },
            )
    return parts


def _name(network: tuple[int, int]) -> str:
    return f"NDC({network[0]},{network[1]})"


JUDGED = Judged(
    document="portfc",
    statements={
        "N.9": "PortFC is free from retransmission, and no circle of pauses can close (sections II-D and III-F)",
        "N.9-loss": "k = 1 and equal link rates: no packet is ever lost or sent again, under heavy traffic either",
        "N.9-switch": "No victim is blocked at a switch queue by a flow of another output",
        "N.9-deadlock": "No circle of pauses can close with all flows there are, where it can with PFC, and none does "
        "in runs",
        "N.9b": "No victim flow is delayed by a congested flow destined for a different path: at a source, too",
        "N.10s": "In NDC(n, k), k up to 4, n + 1 queues of a switch port are enough against head-of-line blocking",
        "N.10s-one": "… with k = 1",
        "N.10s-more": "… with k = 2, 3 and 4",
        "N.10n": "In NDC(n, k), k up to 4, (k + 1)(n - 1) + 2 queues of a node port are enough",
        "N.10n-one": "… with k = 1",
        "N.10n-more": "… with k = 2, 3 and 4",
    },
    runs=runs_of,
    judge=judge,
    limits={
        "N.9": "Relays that take turns with own flows lose packets (N.2-prevents). A victim stops being free where it "
        "shares its source's queue (N.9b). No network that was checked lets a circle close.",
        "N.10n": "k up to 4, and n up to 8",
    },
    refuted={
        "N.9b": "Counter-example in NDC(3, 1). X sends to D1 and, the victim, to D2, both over the relay R. By section "
        "III-B.2 both are in one queue a of X, that of the first switch's port to R. (1) D2 sends to D1, too, so that "
        "the output to D1 behind R is congested. R passes the pause on (algorithm 3, line 22), and the first switch "
        "holds its queue to D1 (algorithm 4). (2) There the packets to D1 pile up. The trigger is the sum over all "
        "queues to R (algorithm 1, lines 7 to 12), though that to D2 is empty, so the switch pauses X. (3) X holds its "
        "queue a (algorithm 3, line 5) with the packet to D2, whose way is free. By the letter of the algorithms the "
        "victim takes 9 slots instead of 4, and is held for 4 of them (`reference/portfc.py`). xoff agrees.",
        "N.10s": "See N.10s-more.",
        "N.10s-more": "Section III-F gives each direction a queue. A direction is an output of a next switch, and with "
        "k > 1 there are k switches behind a node: k(n - 1) directions for n - 1 queues. Counter-example in NDC(3, 2). "
        "One flow goes over the relay R to port 1 of its level-1 switch, and the victim over R to port 1 of its "
        "level-2 switch: the same queue of the first switch. When the first port is congested, the first switch holds "
        "this queue (algorithm 4), and the victim takes 10 slots instead of 4. With a queue for each direction it "
        "takes 4 (`reference/portfc.py`). k(n - 1) + 2 queues are needed; the formulas agree for k = 1.",
    },
    quick_reasons=True,
)
PARAMETERS = table(
    [given("network", "NDC(n, 1)", "section V-A")],
    [
        chosen("load for losses", "70 % of both ports of a node, WebSearch, an incast every 0.5 ms", "an overload"),
        chosen("length", "10 ms, 3 ms in NDC(8, 1), five seeds", "all flows are completed"),
        chosen("victims", "100 KB beside two to five flows of 1 MB to host 0", "short enough to be held all the time"),
        chosen("DCQCN beside victims", "none", "it would hide flow control"),
    ],
)
READS = ("flows", "queues")
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the victims' FCT, alone and beside the congested flows."""
    with rc_context(STYLE):
        drawing = Canvas(figsize=(6.4, 3.2), layout="constrained")
        draw_victims(drawing.subplots(), runs_of(results), PLACES)
        write(drawing, path)
