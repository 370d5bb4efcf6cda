"""Q.2: sources paused by PFC under input, output and virtual output queues, for the document's three causes.

Source: "SFC simulation", contribution to IEEE P802.1Qdw, 2025, back-up slides "The queuing architecture's effect on
PFC".

- many-to-one: hosts 1 to 3 send 5 MB each to one receiver. Hosts 4 to 7 send a packet every 10 µs to the same receiver,
  and 5 MB each to separate hosts: hosts 4 to 7 contribute almost nothing to the congestion.
- pause from downstream: the receiver is behind a second switch, S1, together with two more senders to the receiver; S0
  is linked to S1 with 800 Gb/s, so that its queue to S1 grows only because of pauses by S1. Hosts 1 to 3 send 5 MB each
  to the receiver and host 4 a packet every 10 µs; all four also send 5 MB each to separate hosts at S0, the victims.
- large-to-small: one host at 400 Gb/s sends 5 MB to one at 100 Gb/s.

The document's output queues are `oq-egress`; the shared-memory switch is another reading. "Spreads" is judged by the
number of sending hosts that PFC pauses at least once, "fewer PFCs" by the number of pauses, head-of-line blocking by
the victims' mean FCT, "the same effect" by pauses and FCT within 15 %. See `_queueing.py` for the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from matplotlib import rc_context

from xoff.plots import STYLE, Canvas, grouped_bars, write
from xoff.reproduce import (
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
from xoff_experiments.sfc._queueing import QUEUEINGS, drawn, draws, fct_us, flow, paused_ports, scenario, trickle

CITATION = "SFC simulation, IEEE P802.1Qdw, 2025, the queuing architecture's effect on PFC (back-up slides)"
SHARED = "shared memory in place of output queues"

_PACKETS = 40
_CAUSES: dict[str, tuple[list[tuple[str, str, str]], list[dict[str, Any]]]] = {
    "many-to-one": (
        [(f"h{index}", "S0", "200Gbps") for index in range(1, 8)]
        + [(f"v{index}", "S0", "200Gbps") for index in range(4, 8)]
        + [("receiver", "S0", "200Gbps")],
        [flow(f"heavy {index}", f"h{index}", "receiver") for index in range(1, 4)]
        + [flow(f"victim {index}", f"h{index}", f"v{index}") for index in range(4, 8)]
        + [packet for index in range(4, 8) for packet in trickle(f"h{index}", "receiver", _PACKETS)],
    ),
    "downstream": (
        [(f"{kind}{index}", "S0", "200Gbps") for kind in "hv" for index in range(1, 5)]
        + [("S0", "S1", "800Gbps"), ("b1", "S1", "200Gbps"), ("b2", "S1", "200Gbps"), ("receiver", "S1", "200Gbps")],
        [flow(f"heavy {name}", name, "receiver") for name in ("h1", "h2", "h3", "b1", "b2")]
        + [flow(f"victim {index}", f"h{index}", f"v{index}") for index in range(1, 5)]
        + trickle("h4", "receiver", _PACKETS),
    ),
    "large-to-small": (
        [("h1", "S0", "400Gbps"), ("receiver", "S0", "100Gbps")],
        [flow("heavy 1", "h1", "receiver")],
    ),
}


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenarios by cause and queueing architecture."""
    return {
        run_name(cause, queueing, draw): scenario(queueing, links, drawn(flows, draw, quick))
        for cause, (links, flows) in _CAUSES.items()
        for queueing in QUEUEINGS
        for draw in draws(quick)
    }


def judge(runs: Readings[Result]) -> dict[str, Part]:
    """Judges an output-queued switch against the others."""
    output = "oq" if runs.reading == SHARED else "oq-egress"

    def by_queueing(cause: str, value: Callable[[Result], float]) -> dict[str, list[float]]:
        return {queueing: runs.by_seed(f"{cause}/{queueing}", value) for queueing in QUEUEINGS}

    many_ports, below_ports = (by_queueing(cause, _hosts_paused) for cause in ("many-to-one", "downstream"))
    many, below, small = (by_queueing(cause, _pauses) for cause in _CAUSES)
    blocked = by_queueing("downstream", _victims_us)
    times = by_queueing("large-to-small", lambda result: fct_us(result)["heavy 1"])
    return {
        "Q.2-many-spread": Part(
            all_of(*(higher(many_ports[output], many_ports[other]) for other in ("iq", "voq"))),
            {"sending hosts paused": _shown(many_ports)},
        ),
        "Q.2-many-fewer": Part(lower(many["iq"], many[output]), {"PFC pauses": _shown(many)}),
        "Q.2-downstream-spread": Part(
            higher(below_ports[output], below_ports["voq"]),
            {"sending hosts paused": _shown(below_ports), "PFC pauses": _shown(below)},
        ),
        "Q.2-downstream-blocking": Part(
            higher(blocked["iq"], blocked[output]), {"victims' mean FCT (µs)": _shown(blocked)}
        ),
        "Q.2-mismatch": Part(
            all_of(*(about_the_same(one[output], one["iq"]) for one in (small, times))),
            {"PFC pauses": _shown(small), "FCT (µs)": _shown(times)},
            void="" if any(small[output]) else "PFC does not pause",
        ),
    }


def _shown(found: Mapping[str, Sequence[float]]) -> dict[str, Spread]:
    return {queueing: Spread.of(values) for queueing, values in found.items()}


def _pauses(result: Result) -> int:
    return result.summary["pfc"]["pauses"]


def _hosts_paused(result: Result) -> int:
    return sum(not port.startswith("S") for port in paused_ports(result))


def _victims_us(result: Result) -> float:
    return fmean(fct for name, fct in fct_us(result).items() if name.startswith("victim"))


JUDGED = Judged(
    document="sfc",
    statements={
        "Q.2-many-spread": "Many-to-one: with OQ, PFC triggers upstream on many ingress ports, more than with IQ and "
        "VOQ",
        "Q.2-many-fewer": "Many-to-one: with IQ, fewer PFCs are triggered under the same threshold than with OQ, as "
        "packets are distributed over ingress buffers",
        "Q.2-downstream-spread": "PFC from downstream: with OQ, PFC triggers upstream on many ingress ports, on more "
        "than with VOQ",
        "Q.2-downstream-blocking": "PFC from downstream: IQ makes the head-of-line blocking even worse than OQ",
        "Q.2-mismatch": "One large ingress to one small egress: OQ and IQ have the same effect",
    },
    runs=as_results,
    judge=judge,
    readings={"": "output queues, PFC by egress queue", SHARED: "output queues of shared memory, PFC by ingress port"},
)
PARAMETERS = [
    given("switches compared", "input, output and virtual output queues", "The queuing architecture"),
    given("SFC threshold", "200 KB", "Part 5, basic settings"),
    given("PFC threshold", "380 KB", "Part 5, basic settings"),
    given("causes", "multi-to-one, PFC from downstream, large-to-small", "back-up slides"),
    chosen("network", "see above", "the figures are lost"),
    chosen(
        "output queues", "oq-egress: PFC by egress queue", "a buffer on the output side", "oq, shared memory, is shown"
    ),
    chosen("buffer", "without end", "nothing is to be lost on links faster than 200 Gb/s"),
    chosen("start of a flow", "within 1 µs, ten draws", "single runs move"),
]
READS = ("flows", "pauses")
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the number of pauses for each cause, and the victims' mean FCT."""
    with rc_context(STYLE):
        drawing = Canvas(figsize=(9, 3.2), layout="constrained")
        left, right = drawing.subplots(1, 2)
        runs = as_results(results)
        series = [
            (queueing, [runs.mean(f"{cause}/{queueing}", _pauses) for cause in _CAUSES]) for queueing in QUEUEINGS
        ]
        grouped_bars(left, list(_CAUSES), series, digits=0)
        left.set_ylabel("PFC pauses")
        causes = list(_CAUSES)[:2]
        times = [
            (queueing, [runs.mean(f"{cause}/{queueing}", _victims_us) for cause in causes]) for queueing in QUEUEINGS
        ]
        grouped_bars(right, causes, times, digits=0)
        right.set_ylabel("victims' mean FCT (µs)")
        drawing.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
        write(drawing, path)
