"""N.9 and N.10: no losses, blocked flows, freedom from deadlock, and the number of queues.

Source: the PortFC paper, sections II-D, III-B and III-F. Ours: for losses, Poisson traffic of 70 % of both ports of a
node, which exceeds the capacity of links (117 % in NDC(4, 1), 130 % in NDC(8, 1)), with incasts. Blocking is measured
by 100 KB of a victim beside two to five flows of 1 MB to host 0 in NDC(4, 1), with starts drawn within 1 µs, ten times.
A victim is blocked if the victim takes more than 15 % longer than alone. Losses of IRN are shown beside PortFC's.
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
    """Judges the numbers of queues against the formulas: of k = 1, which the examples are of, and of k = 2 to 4."""
    counted = {(n, k): _queues(runs.each(f"NDC({n},{k})/portfc")[0].result) for n, k in COUNTED}
    parts = {}
    for short, levels in (("N.10-one", (1,)), ("N.10-more", (2, 3, 4))):
        of_it = {(n, k): found for (n, k), found in counted.items() if k in levels}
        wanted = {(n, k): {"switch": n + 1, "node": (k + 1) * (n - 1) + 2} for n, k in of_it}
        parts[short] = Part(
            of_it == wanted,
            {f"NDC({n},{k})": {"switch": found["switch"], "node": found["node"]} for (n, k), found in of_it.items()},
            published={f"NDC({n},{k})": one for (n, k), one in wanted.items()},
        )
    return parts


JUDGED = Judged(
    document="portfc",
    statements={
        "N.9": "PortFC is free from retransmission, and no circle of pauses can close (sections II-D and III-F)",
        "N.9-loss": "k = 1 and equal link rates: no packet is ever lost or sent again, under heavy traffic either",
        "N.9-switch": "No victim is blocked at a switch queue by a flow of another output",
        "N.9-deadlock": "No circle of pauses can close with all flows there are, where it can with PFC, and none does "
        "in runs",
        "N.9b": "No victim flow is delayed by a congested flow destined for a different path: at a source, too",
        "N.10": "In NDC(n, k), k up to 4, a switch port needs n + 1 queues, and a node port (k + 1)(n - 1) + 2",
        "N.10-one": "… with k = 1",
        "N.10-more": "… with k = 2, 3 and 4",
    },
    runs=runs_of,
    judge=judge,
    limits={
        "N.9-loss": "The margin is small. PortFC pauses by outputs: each output can hold 150 KB before it pauses "
        "anybody, so the packets of one input can exceed what the shared buffer of 5 MB allows an input (an eighth of "
        "what is free). With the order of service of version 0.3.0 one of these five runs of NDC(8, 1) lost 6 packets.",
        "N.9": "Relays that take turns with own flows lose packets (N.2-prevents). A victim stops being free where it "
        "shares its source's queue (N.9b). No network that was checked lets a circle close.",
        "N.10-one": "k = 2 (N.10-more)",
    },
    reasons={
        "N.9b": "A queue a of a node stands for an output of the first switch, whatever output of the second its "
        "packets take; the trigger of its pause is the sum over all of those (algorithms 1 and 3). When the packets of "
        "one fill it, the others of the queue wait, though their path is free. Traced in the first seed: of the "
        "victim's 63 µs PortFC holds the queue of its source for 42, and no other port of its way has anything before "
        "it. The claim is too strong.",
        "N.10-more": "The paper's n + 1 counts the outputs of one next switch. With k > 1 there are k switches "
        "behind a node, and a queue for each of their outputs makes k(n - 1) + 2; the formulas agree for k = 1.",
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
