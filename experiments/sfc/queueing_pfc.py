"""Q.2: whom PFC pauses under input, output and virtual output queues, for the document's three causes.

Source: "SFC simulation", contribution to IEEE P802.1Qdw, 2025, back-up slides "The queuing architecture's effect on
PFC".

- many-to-one: hosts 1 to 3 send 5 MB each to one receiver. Hosts 4 to 7 send it a packet every 10 µs, and 5 MB each
  to hosts of their own: they contribute almost nothing to the congestion.
- pause from downstream: the receiver is behind a second switch, S1, where two more hosts send to it; S0 is linked to
  S1 with 800 Gb/s, so that its queue to S1 grows only because S1 pauses it. Hosts 1 to 3 send 5 MB each to the
  receiver and host 4 a packet every 10 µs; all four also send 5 MB each to hosts of their own at S0, the victims.
- large-to-small: one host at 400 Gb/s sends 5 MB to one at 100 Gb/s.

"Spreads" is judged by how many sending hosts PFC pauses at least once, "fewer PFCs" by the number of pauses,
head-of-line blocking by the victims' mean FCT, "the same effect" by pauses and FCT within 15 %. See `_queueing.py`
for the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from experiments.sfc._queueing import QUEUEINGS, fct_us, flow, paused_ports, scaled, scenario, trickle
from matplotlib import rc_context

from xoff.plots import STYLE, Canvas, grouped_bars, write
from xoff.reproduce import Judged, Part, Readings, about_the_same, as_results
from xoff.results import Result

CITATION = "SFC simulation, IEEE P802.1Qdw, 2025, the queuing architecture's effect on PFC (back-up slides)"

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
    """Return the scenarios by cause and queueing architecture."""
    return {
        f"{cause}/{queueing}": scenario(queueing, links, scaled(flows, quick))
        for cause, (links, flows) in _CAUSES.items()
        for queueing in QUEUEINGS
    }


def judge(runs: Readings[Result]) -> dict[str, Part]:
    """Judge an output-queued switch against the others."""
    output = runs.reading

    def by_queueing(cause: str, value: Callable[[Result], Any]) -> dict[str, Any]:
        return {queueing: value(runs.one(f"{cause}/{queueing}")) for queueing in QUEUEINGS}

    ports = {cause: by_queueing(cause, _hosts_paused) for cause in _CAUSES}
    many, below, small = (by_queueing(cause, _pauses) for cause in _CAUSES)
    blocked = by_queueing("downstream", _victims_us)
    times = by_queueing("large-to-small", lambda result: fct_us(result)["heavy 1"])
    return {
        "Q.2-many-spread": Part(
            ports["many-to-one"][output] > max(ports["many-to-one"]["iq"], ports["many-to-one"]["voq"]),
            {"sending hosts paused": ports["many-to-one"]},
        ),
        "Q.2-many-fewer": Part(many["iq"] < many[output], {"PFC pauses": many}),
        "Q.2-downstream-spread": Part(
            ports["downstream"][output] > ports["downstream"]["voq"],
            {"sending hosts paused": ports["downstream"], "PFC pauses": below},
        ),
        "Q.2-downstream-blocking": Part(blocked["iq"] > blocked[output], {"victims' mean FCT (µs)": blocked}),
        "Q.2-mismatch": Part(
            about_the_same(small[output], small["iq"]) and about_the_same(times[output], times["iq"]),
            {"PFC pauses": small, "FCT (µs)": times},
        ),
    }


def _pauses(result: Result) -> int:
    return result.summary["pfc"]["pauses"]


def _hosts_paused(result: Result) -> int:
    return sum(not port.startswith("S") for port in paused_ports(result))


def _victims_us(result: Result) -> float | None:
    times = [fct for name, fct in fct_us(result).items() if name.startswith("victim")]
    return sum(times) / len(times) if times else None


_JUDGED = Judged(
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
    readings={output: QUEUEINGS[output] for output in ("oq", "oq-egress")},
    runs=as_results,
    judge=judge,
    reasons={
        f"{short}/oq": (
            "A shared-memory switch counts for PFC by ingress port, as an input buffer does: it pauses those who fill "
            "it."
        )
        for short in ("Q.2-many-spread", "Q.2-many-fewer", "Q.2-downstream-spread")
    },
    quick_reasons=True,
)
CLAIMS = _JUDGED.listed
claims = _JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw the number of pauses for each cause, and the victims' mean FCT."""
    with rc_context(STYLE):
        drawing = Canvas(figsize=(9, 3.2), layout="constrained")
        left, right = drawing.subplots(1, 2)
        series = [
            (queueing, [float(_pauses(results[f"{cause}/{queueing}"])) for cause in _CAUSES]) for queueing in QUEUEINGS
        ]
        grouped_bars(left, list(_CAUSES), series, digits=0)
        left.set_ylabel("PFC pauses")
        causes = list(_CAUSES)[:2]
        times = [
            (queueing, [_victims_us(results[f"{cause}/{queueing}"]) for cause in causes]) for queueing in QUEUEINGS
        ]
        grouped_bars(right, causes, times, digits=0)
        right.set_ylabel("victims' mean FCT (µs)")
        drawing.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
        write(drawing, path)
