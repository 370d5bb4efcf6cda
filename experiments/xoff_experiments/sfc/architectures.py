"""Q.0: the three queueing architectures without SFC, compared with the document's table of pros and cons.

Source: "SFC simulation", contribution to IEEE P802.1Qdw, 2025, slide "The queuing architecture": output queues have
"extremely strong theoretical performance", input queues "head-of-line blocking" and "poor throughput performance",
virtual output queues achieve "near OQ performance without HoLB".

The traffic is ours, and the textbook's: 16 hosts of 200 Gb/s at one switch, each offering its whole rate to all others
alike, for 0.4 ms. Throughput is the load of the links to the hosts in the second half. Input queues read at line rate
saturate at 58.6 % for many ports (M. Karol, M. Hluchyj, S. Morgan, "Input Versus Output Queueing on a Space-Division
Packet Switch", IEEE Transactions on Communications, 1987); in our runs the next head may leave as soon as its own
output is free, which yields more. Head-of-line blocking is measured on an innocent flow that shares an input with a
flow to a congested output: blocked means more than 15 % longer than alone. PFC is off, because its pauses block
innocent flows with every architecture (Q.2).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
from matplotlib import rc_context

from xoff.plots import STYLE, canvas, grouped_bars, write
from xoff.reproduce import (
    ABOUT_THE_SAME,
    Judged,
    Part,
    Readings,
    Spread,
    about_the_same,
    all_of,
    as_results,
    chosen,
    given,
    higher,
    lower,
    run_name,
)
from xoff.results import Result
from xoff_experiments.sfc._queueing import drawn, draws, fct_us, flow, scenario

CITATION = "SFC simulation, IEEE P802.1Qdw, 2025, the queuing architecture"

_HOSTS, _END_US = 16, 400
_OUTPUT = "oq"
_COMPARED = ("iq", "oq", "voq")
_LINKS = [("h1", "S0", "200Gbps"), ("h2", "S0", "200Gbps"), ("S1", "S0", "400Gbps"), ("h3", "S1", "200Gbps")]
_LINKS += [("h4", "S1", "200Gbps"), ("S0", "receiver", "200Gbps"), ("S0", "other", "200Gbps")]
_INNOCENT = flow("innocent", "h4", "other")
_HEAVY = [flow(f"heavy {index}", f"h{index}", "receiver") for index in (1, 2, 3)]


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenarios by measurement, queueing architecture and draw."""
    made = {}
    for queueing in _COMPARED:
        for draw in draws(quick):
            made[run_name("uniform", queueing, draw)] = _uniform(queueing, draw)
            for case, flows in (("alone", [_INNOCENT]), ("beside", [_INNOCENT, *_HEAVY])):
                made[run_name(case, queueing, draw)] = _without_pfc(queueing, _LINKS, drawn(flows, draw, quick))
    return made


def _without_pfc(queueing: str, links: list[tuple[str, str, str]], flows: list[dict[str, Any]]) -> dict[str, Any]:
    made = scenario(queueing, links, flows)
    del made["switch"]["flow_control"]
    return made


def _uniform(queueing: str, seed: int) -> dict[str, Any]:
    hosts = [f"h{index}" for index in range(_HOSTS)]
    made = _without_pfc(queueing, [(host, "S0", "200Gbps") for host in hosts], [])
    # Sources without congestion control offer their full rate; paused data waits at the sources.
    offered = [
        {
            "name": f"to the one {apart} on",
            "bernoulli": {
                "sources": hosts,
                "destinations": [*hosts[apart:], *hosts[:apart]],
                "load": 1 / (_HOSTS - 1),
                "duration": f"{_END_US}us",
            },
        }
        for apart in range(1, _HOSTS)
    ]
    return made | {
        "seed": seed,
        "until": f"{_END_US}us",
        "host": {"transport": {"raw": {}}},
        "workload": offered,
        "probe": {"packets": True},
    }


def judge(runs: Readings[Result]) -> dict[str, Part]:
    """Judges throughput under uniform traffic, and the flows that a congested output slows."""
    carried = {queueing: runs.by_seed(f"uniform/{queueing}", _throughput) for queueing in _COMPARED}
    times = {
        queueing: {
            case: runs.by_seed(f"{case}/{queueing}", lambda result: fct_us(result)["innocent"])
            for case in ("alone", "beside")
        }
        for queueing in _COMPARED
    }
    slower = {
        queueing: [beside / alone for beside, alone in zip(of["beside"], of["alone"], strict=True)]
        for queueing, of in times.items()
    }
    is_blocked = {queueing: higher(ratio, [1 + ABOUT_THE_SAME] * len(ratio)) for queueing, ratio in slower.items()}
    near = about_the_same(carried["voq"], carried[_OUTPUT])
    shown = {
        "throughput under uniform traffic (share of the line rate)": _shown(carried),
        "an innocent flow beside a congested output takes, times as long as alone": _shown(slower),
    }
    return {
        "Q.0-iq": Part(
            all_of(lower(carried["iq"], [(1 - ABOUT_THE_SAME) * one for one in carried[_OUTPUT]]), is_blocked["iq"]),
            shown,
        ),
        "Q.0-voq": Part(all_of(near, lower(slower["voq"], [1 + ABOUT_THE_SAME] * len(slower["voq"]))), shown),
    }


def _shown(found: Mapping[str, list[float]]) -> dict[str, Spread]:
    return {queueing: Spread.of(values) for queueing, values in found.items()}


def _throughput(result: Result) -> float:
    """Returns the goodput of hosts in the second half of the run, as a share of the rate of their links."""
    packets = result.packets.select(["time_ps", "node", "event", "bytes"])
    packets = packets.filter(pc.equal(pc.cast(packets["event"], "string"), "arrive"))
    packets = packets.filter(pc.starts_with(pc.cast(packets["node"], "string"), "h"))
    packets = packets.filter(pc.greater_equal(packets["time_ps"], _END_US // 2 * 10**6))
    return float(pc.sum(packets["bytes"]).as_py() or 0) * 8 / (_END_US / 2 * 1e-6) / (_HOSTS * 200e9)


JUDGED = Judged(
    document="sfc",
    statements={
        "Q.0-iq": "Input queues: poor throughput and head-of-line blocking: they carry less than output queues by more "
        "than 15 %, and a flow behind a congested one is slowed",
        "Q.0-voq": "Virtual output queues: near the performance of output queues (within 15 %), without head-of-line "
        "blocking",
    },
    runs=as_results,
    judge=judge,
    limits={"Q.0": "The switches are what is compared; the traffic is the textbook's, and only its draws are varied."},
)
PARAMETERS = [
    given("switches compared", "input, output and virtual output queues", "The queuing architecture"),
    chosen("traffic", "16 hosts, each to all others at its whole rate", "the textbook's"),
    chosen("head-of-line blocking", "an innocent flow shares a link of 400 Gb/s with one of three", "as in Q.1"),
    chosen("flow control", "none", "PFC would block with every architecture"),
    chosen("draws", "ten", "arrivals and starts are random"),
]
READS = ("flows", "packets")
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the throughput of each architecture."""
    with rc_context(STYLE):
        drawing, axes = canvas()
        runs = as_results(results)
        found = [runs.mean(f"uniform/{queueing}", _throughput) for queueing in _COMPARED]
        grouped_bars(axes, list(_COMPARED), [("uniform traffic", found)], digits=2)
        axes.set_ylabel("throughput (share of the line rate)")
        write(drawing, path)
