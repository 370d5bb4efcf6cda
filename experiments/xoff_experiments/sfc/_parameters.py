"""Parameters of the experiments on pinned flows: given values and our choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xoff.reproduce import Parameter, chosen, given
from xoff_experiments.sfc._networks import PLACES, Case

_SETTINGS = {
    "incast": "senders",
    "data_mb": "data a flow (MB)",
    "buffer_kb": "buffer of a port (KB)",
    "pfc_kb": "PFC threshold (KB)",
    "sfc_kb": "SFC threshold (KB)",
    "pause_us": "SFC pause and least interval (µs)",
    "link_ns": "delay of a link (ns)",
    "switch_ns": "delay of a switch (ns)",
}


def parameters(cases: Mapping[str, Case], where: str, more: Sequence[Parameter] = ()) -> list[Parameter]:
    """Returns the parameter table of an experiment.

    where: the slides that give the cases. more: choices of this experiment alone.
    """
    layers = {case.layers for case in cases.values()}
    networks = []
    if 3 in layers:
        networks.append("8 core, 32 aggregation, 128 access switches, 1024 hosts")
    if 2 in layers:
        networks.append("2-layer CLOS")
    shapes = []
    if 3 in layers:
        shapes.append(
            "8 pods of 16 access and 4 aggregation switches; 2 links from access to aggregation, 4 to each core"
        )
    if 2 in layers:
        shapes.append("8 leaves of 8 hosts, 8 spines")
    return [
        given("network", "; ".join(networks), where),
        given("links", "200 Gb/s", where),
        given("largest packet", "4 KB", where),
        *(given(label, _values(cases, key), where) for key, label in _SETTINGS.items()),
        given("DCQCN's K", f"{next(iter(cases.values())).ecn_kb:g} KB", "Part 4, basic settings; Part 5 gives none"),
        chosen("shape of the network", "; ".join(shapes), "the counts of switches, nothing oversubscribed"),
        chosen(
            "victims",
            f"{PLACES['C']} (C)",
            "the incast alone is to hurt them; the figure is lost",
            "; ".join(f"{text} ({place})" for place, text in PLACES.items() if place != "C"),
        ),
        chosen("switch", "voq", "the document names none and recommends it; part of the set-up", "oq, oq-egress"),
        chosen("who sends SFCMs", "the receiver's switch", "the formulas; part of the set-up", "every switch"),
        chosen(
            "round trip",
            "links, switches, and packets stored and forwarded",
            "what a switch does",
            "that of the formulas",
        ),
        chosen("start of a flow", "within 1 µs, ten draws", "single runs move", "four draws; within 10, 20, 100 µs"),
        chosen(
            "XON", "8 KB below XOFF", "two packets", "80 KB below XOFF (2 KB where delays vary), in some experiments"
        ),
        chosen("DCQCN", "ConWeave's parameters, steps scaled by rate", "the newest public ones", "paper"),
        chosen("packet", "4000 B of data, 48 B of headers", "4 KB in all"),
        *more,
    ]


def _values(cases: Mapping[str, Case], key: str) -> str:
    """Returns one value, or a value for each case if the cases differ."""
    found = {name: getattr(case, key) for name, case in cases.items()}
    texts = {name: "without end" if value is None else f"{value:g}" for name, value in found.items()}
    if len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    return "; ".join(f"{name}: {text}" for name, text in texts.items())
