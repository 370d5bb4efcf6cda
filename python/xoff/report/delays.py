"""The delays of flows and the roots of pauses, on the page of a run: bars of parts, and trees on the map.

The content is that of `xoff explain`, from `probe.delays`. Each of the flows with the largest slowdowns has a bar,
whose pieces add up to the completion time. Each root of pauses has a button, which shows on the map the ports that were
paused from there.
"""

from __future__ import annotations

from collections.abc import Iterator

from xoff import formatting
from xoff.insight import Breakdown, Forest, Tree, breakdowns, words
from xoff.insight.repeat import has_delays
from xoff.report.page import Bar, Delays, Piece, Spread
from xoff.results import Result, connections

_BARS, _TREES = 10, 10
_FLOWS, _PAUSES = "Why flows were slow", "Why ports were paused"

# Groups of parts in a legend: name, colour, kinds.
_OTHER: tuple[str, str, set[str]] = ("of another version", "#000000", set())
_GROUPS = [
    ("sending", "#0072b2", {"transmission"}),
    ("retransmission", "#7f3c8d", {"retransmission"}),
    ("queueing", "#e69f00", {"queueing", "control", "hol_blocking"}),
    ("paused", "#d55e00", {"paused"}),
    ("held at the source", "#cc79a7", {"source_held"}),
    ("pacing", "#009e73", {"pacing"}),
    ("window", "#66c2a5", {"window"}),
    ("awaiting pull", "#332288", {"awaiting_pull"}),
    ("awaiting acknowledgement", "#8c8c8c", {"awaiting_ack"}),
    ("no data to send", "#c9c9c9", {"app_limited"}),
    ("links and nodes", "#56b4e9", {"serialization", "propagation", "processing"}),
]


def build(result: Result) -> Delays | None:
    """Returns the delays on the page of a result; None if all flows are connections and no port was paused."""
    of_flows = "flows" in result.tables and result.flows.num_rows > len(connections.ends(result))
    if not of_flows and not ("pauses" in result.tables and result.pauses.num_rows):
        return None
    if "delays" not in result.tables or "flows" not in result.tables or not result.flows.num_rows:
        again = "xoff run scenario.json --set 'probe.delays=\"all\"' --out result"
        title, what = (_FLOWS, "bars and trees") if of_flows else (_PAUSES, "the places where pauses begin")
        note = f"This run has no table of delays. To add {what} to this page: {again}."
        return Delays(
            [], [], [], [f"{note} Without them, xoff explain prints the delays of a result directory."], title
        )
    forest = Forest(result)
    found = sorted(breakdowns(result, forest), key=_slowness)
    shown = found[:_BARS]
    longest = max((one.total_ps for one in shown), default=0) or 1
    bars = [Bar(one.number, *_title(one), _pieces(one, forest, longest), words.rows(one, forest)) for one in shown]
    used = {piece.group for bar in bars for piece in bar.pieces}
    groups = [(name, colour) for name, colour, _ in (*_GROUPS, _OTHER) if name in used]
    numbers = {place: number for number, place in enumerate(forest.peers)}
    trees = [_spread(tree, forest, numbers) for tree in forest.trees[:_TREES]]
    notes = []
    if len(found) > len(shown):
        notes.append(f"The {len(shown)} slowest of {len(found):,} flows.")
    if not has_delays(result):
        notes.append("Only some flows were followed (probe.delays): the costs of pauses are the costs for these flows.")
    if len(forest.trees) > len(trees):
        notes.append(f"The {len(trees)} costliest of {len(forest.trees):,} places where pauses begin.")
    return Delays(groups, bars, trees, notes, _FLOWS if of_flows else _PAUSES)


def _slowness(breakdown: Breakdown) -> tuple[bool, float, int]:
    slowdown = breakdown.flow["slowdown"]
    return (slowdown is not None, -(slowdown or 0.0), breakdown.number)


def _title(breakdown: Breakdown) -> tuple[str, str]:
    """Returns the flow of a bar, and its duration."""
    flow = breakdown.flow
    ends = f"{formatting.plain(flow['src'])} → {formatting.plain(flow['dst'])}"
    if flow["fct_ps"] is None:
        return f"flow {breakdown.number}: {ends}", "not delivered"
    return f"flow {breakdown.number}: {ends}", f"{formatting.time(flow['fct_ps'])}, {flow['slowdown']:.2f} ×"


def _pieces(breakdown: Breakdown, forest: Forest, longest: int) -> list[Piece]:
    """Returns the pieces of a bar, in percent of the longest bar; neighbours of one group are joined."""
    made: list[Piece] = []
    at = 0
    for group, colour, text, ps in _texts(breakdown, forest):
        if made and made[-1].group == group:
            last = made.pop()
            text, begin = f"{last.text}\n{text}", last.left
        else:
            begin = 100 * at / longest
        at += ps
        made.append(Piece(group, colour, text, round(begin, 4), round(max(100 * at / longest - begin, 0.02), 4)))
    return made


def _texts(breakdown: Breakdown, forest: Forest) -> Iterator[tuple[str, str, str, int]]:
    for part in breakdown.parts:
        group, colour, _ = next((group for group in _GROUPS if part.kind in group[2]), _OTHER)
        at = words.place(part.node, part.port, forest.peers)
        text = f"{formatting.time(part.ps)} ({breakdown.share(part.ps):.1%}): {words.what(part)}, {at}"
        yield group, colour, text, part.ps


def _spread(tree: Tree, forest: Forest, numbers: dict[tuple[str, int], int]) -> Spread:
    first, *rest = words.tree(tree, forest)
    port = tree.root.port
    root = None if port is None else numbers[tree.root.node, port]
    return Spread(
        first.removesuffix(":"), [line.strip() for line in rest], root, sorted(numbers[at] for at in tree.ports)
    )
