"""Tilings and trees in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from xoff import formatting
from xoff.insight.breakdown import Breakdown, Part
from xoff.insight.origins import Root
from xoff.insight.trees import Forest, Tree
from xoff.results import counts

_MOST = 5
"""The number of flows named in a list."""

_KINDS = {
    "transmission": "sending the packets before the completing packet",
    "retransmission": "retransmitting packets",
    "control": "behind control frames",
    "hol_blocking": "behind the head of the input queue",
    "pacing": "paced below line rate",
    "window": "window full",
    "awaiting_pull": "waiting for a pull of the receiver",
    "awaiting_ack": "all packets were sent: waiting for an acknowledgement or a timeout",
    "app_limited": "waiting for data of the application",
    "serialization": "onto the link",
    "propagation": "along the link",
    "processing": "through the next node",
}
_AFTER_LOSS = {
    "awaiting_ack": "waiting for a timeout:",
    "retransmission": "retransmitting packets:",
}
"""Parts that a loss of the flow explains."""

_ON_ITS_WAY = ("serialization", "propagation", "processing")


def micro(ps: int) -> str:
    """Returns picoseconds as microseconds with all digits. The sum of a column is then exact."""
    return f"{ps // 10**6:,}.{ps % 10**6:06d}"


def mechanism(name: str | None) -> str:
    """Returns the label of a mechanism, such as PFC; of a mechanism of another version, its name."""
    labels = {group.name: group.label for group in counts.groups()}
    return formatting.plain(labels.get(str(name), str(name)))


def what(part: Part) -> str:
    """Returns the description of a part."""
    if part.kind == "queueing":
        return "behind packets that went first" if part.flow is None else f"behind packets of flow {part.flow}"
    if part.kind == "source_held":
        return f"held by {mechanism(part.mechanism)} at the source"
    if part.kind == "paused" and part.mechanism == "fault":
        return "waiting for a link that was down"
    if part.kind == "paused":
        return f"paused by {mechanism(part.mechanism)}" + ("" if part.pauses == 1 else f", {part.pauses:,} times")
    if part.kind == "processing" and part.mechanism == "fault":
        return "waiting for a host that had stopped reading"
    if part.mechanism == "fault":
        return f"{_KINDS[part.kind]}, since a fault took packets or answers"
    # A kind of another version is shown by its name.
    return _KINDS.get(part.kind, formatting.plain(part.kind))


def lost_packet(row: Mapping[str, Any], drops: int) -> str:
    """Returns the first lost packet of a flow as text, with the number of all."""
    at = f"{formatting.plain(row['node'])} port {row['port']}"
    reason = formatting.plain(str(row["reason"]))
    more = f"; {drops:,} packets in all" if drops > 1 else ""
    return f"packet {row['seq']} was dropped at {formatting.time(row['time_ps'])} at {at} ({reason}){more}"


def of_flow(part: Part, breakdown: Breakdown) -> str:
    """Returns the description of a part of a flow.

    Of pacing it names also the notifications and the mean rate, of waiting for a timeout the packet that was lost.
    """
    if part.kind in _AFTER_LOSS and (lost := breakdown.lost) is not None:
        return f"{_AFTER_LOSS[part.kind]} {lost_packet(lost, breakdown.drops)}"
    if part.kind != "pacing":
        return what(part)
    told = counted(int(breakdown.flow.get("notifications") or 0), "notification")
    sending = sum(one.ps for one in breakdown.parts if one.hop == part.hop and one.kind in {"pacing", "transmission"})
    mean = round(8e12 * breakdown.flow["size_bytes"] / max(sending, 1))
    return f"{what(part)}, after {told}, at {formatting.number(mean / 1e9, 3)} Gb/s on average"


def place(node: str, port: int | None, peers: Mapping[tuple[str, int], str]) -> str:
    """Returns an output as text: ``leaf1 port 3 (to host7)``."""
    name = formatting.plain(node)
    return name if port is None else f"{name} port {port} (to {formatting.plain(peers[node, port])})"


def root_place(root: Root, forest: Forest) -> str:
    """Returns the root of pauses as text."""
    at = place(root.node, root.port, forest.peers)
    if (clause := forest.causes.get(root)) is not None:
        return f"{at}, {clause}"
    return f"{at}, at the request of another mechanism" if root.port is None else at


def flows(sizes: Mapping[int, int], unit: str) -> str:
    """Returns flows with their shares of a sum: ``flow 3 (51.2 KB, 60 %), flow 7 (…) and 5 more``.

    unit: ``bytes`` or ``ps``. Each value is of one flow, and may be a mean over moments, but not a sum over moments: a
    reader would compare a sum with the flow's size.
    """
    total = sum(sizes.values())
    ordered = sorted(sizes.items(), key=lambda pair: (-pair[1], pair[0]))
    text = formatting.size if unit == "bytes" else formatting.time
    named = [f"flow {flow} ({text(value)}, {value / total:.0%})" for flow, value in ordered[:_MOST] if total]
    return enumeration(named, len(ordered) - len(named))


def enumeration(texts: Iterable[str], more: int) -> str:
    """Returns texts as a list in words, with the number of omitted ones."""
    known = list(texts)
    if more > 0:
        return ", ".join(known) + f" and {more:,} more"
    return known[0] if len(known) == 1 else ", ".join(known[:-1]) + " and " + known[-1] if known else "nobody"


def counted(number: int, what: str) -> str:
    """Returns a number with its noun: ``1 pause``, ``2 pauses``."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def headline(breakdown: Breakdown, forest: Forest) -> list[str]:
    """Returns a flow in one to three sentences."""
    flow = breakdown.flow
    ends = f"{formatting.plain(flow['src'])} → {formatting.plain(flow['dst'])}"
    size, start = formatting.size(flow["size_bytes"]), formatting.time(flow["start_ps"])
    who = f"Flow {breakdown.number} ({ends}, {size}, from {start} on)"
    if flow["fct_ps"] is None:
        lines = [f"{who} was not delivered. The parts cover the time at the source until the end of the run."]
    else:
        alone = f"{flow['slowdown']:.2f} times the {formatting.time(flow['ideal_fct_ps'])} of an empty network"
        lines = [f"{who} took {formatting.time(flow['fct_ps'])}, {alone}."]
    if (worst := breakdown.worst) is not None:
        share = breakdown.share(worst.ps)
        at = place(worst.node, worst.port, forest.peers)
        lines.append(
            f"Largest delay: {formatting.time(worst.ps)} ({share:.0%} of all), {of_flow(worst, breakdown)}, at {at}."
        )
        if worst.root is not None:
            tree = next(tree for tree in forest.trees if tree.root == worst.root)
            lines.append(f"These pauses begin at {root_place(worst.root, forest)}{filled_by(tree)}.")
    return lines


def filled_by(tree: Tree) -> str:
    """Returns text on the flows that filled the root of pauses; empty if unknown."""
    return f", filled by {_waiting(tree)}" if tree.contributors else ""


def _waiting(tree: Tree) -> str:
    """Returns the flows that waited for the root of pauses: the mean over the requests for a pause."""
    mean = "" if tree.requests == 1 else f", on average over {tree.requests:,} requests for a pause"
    return flows(tree.waiting, "bytes") + mean


def rows(breakdown: Breakdown, forest: Forest, *, everything: bool = False) -> list[tuple[str, str, int]]:
    """Returns description, place and picoseconds of each part in order of the path; small queueing parts are added."""
    shown: list[tuple[str, str, int]] = []
    hops: dict[int, list[Part]] = {}
    for part in breakdown.parts:
        hops.setdefault(part.hop, []).append(part)
    for parts in hops.values():
        at = place(parts[0].node, parts[0].port, forest.peers)
        behind = sorted((part for part in parts if part.kind == "queueing"), key=lambda part: -part.ps)
        others = [] if everything or len(behind) <= _MOST + 1 else behind[_MOST:]
        link = [] if everything else [part for part in parts if part.kind in _ON_ITS_WAY]
        for part in parts:
            if part not in others and part not in link:
                began = f", begun at {root_place(part.root, forest)}" if part.root else ""
                text = "behind packets of the same flow" if part.flow == breakdown.number else of_flow(part, breakdown)
                shown.append((text + began, at, part.ps))
        if others:
            shown.append((f"behind packets of {len(others):,} other flows", at, sum(part.ps for part in others)))
        if link:
            shown.append(("the completing packet on the link", at, sum(part.ps for part in link)))
    return shown


def tree(one: Tree, forest: Forest) -> list[str]:
    """Returns a tree of pauses in sentences."""
    pauses, ports = len(one.pauses), len(one.ports)
    start = min(pause.start_ps for pause in one.pauses)
    last = [pause.end_ps for pause in one.pauses]
    end = "the end of the run" if None in last else formatting.time(max(ps for ps in last if ps is not None))
    several = f"{counted(pauses, 'pause')} of {counted(ports, 'port')}"
    back = f", {one.depth} links back" if one.depth > 1 else ""
    lines = [
        f"{mechanism(one.root.cause)}, class {one.root.class_}, from {root_place(one.root, forest)}:",
        f"  {several}{back}, between {formatting.time(start)} and {end}",
    ]
    if one.contributors:
        lines.append(f"  filled by {_waiting(one)}")
    cost = (
        f"  cost {counted(len(one.lost), 'flow')} {formatting.time(one.lost_ps)} of completion time" if one.lost else ""
    )
    if len(one.lost) > 1:
        cost += f" together, {formatting.time(one.lost_ps / len(one.lost))} each on average"
    if one.victims:
        cost += f"; victims, with no packet for that port: {flows(one.victims, 'ps')}"
    lines.append(cost or "  cost no completion time")
    return lines


def port_facts(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns the traffic, queues and pauses of a port as lines."""
    lines = [
        ("to", formatting.plain(facts["peer"])),
        ("rate, delay", f"{formatting.rate(facts['rate_bps'])}, {formatting.time(facts['delay_ps'])}"),
        ("sent", f"{formatting.size(facts['data_bytes'])} of data, busy {facts['utilisation']:.1%} of the run"),
    ]
    for queue in facts["queues"]:
        lost = "".join(f", {queue[key]:,} {key}" for key in ("marked", "dropped") if queue[key])
        depth = f"{formatting.size(queue['max_bytes'])} at most, {queue['packets']:,} packets{lost}"
        lines.append((f"queue {queue['queue']}, class {queue['class']}", depth))
    for pause in facts["pauses"]:
        times = f"{formatting.time(pause['ps'])} in all, {formatting.time(pause['longest_ps'])} at most"
        lasts = f"{pause['count']:,} times, {times}"
        lines.append((f"paused by {formatting.plain(pause['cause'])}, class {pause['class']}", lasts))
    if facts["flows"]:
        named = [f"flow {flow['flow']} ({formatting.size(flow['size_bytes'])})" for flow in facts["flows"][:_MOST]]
        lines.append(("flows, by size", enumeration(named, len(facts["flows"]) - len(named))))
    return lines


def show_sums(title: str, rows: Mapping[str, int], whole_ps: int, *, most: int | None, adds_up: bool) -> None:
    """Prints times by name with their shares of a whole.

    most: the number of rows, beside a row for the others; None for all.
    adds_up: whether a last row has the sum.
    """
    from rich.markup import escape

    from xoff import display

    def share(ps: int) -> str:
        return f"{ps / (whole_ps or 1):.1%}"

    table = display.table(title, "µs", "share", right=(1, 2))
    shown = list(rows.items())
    for text, ps in shown[:most]:
        table.add_row(escape(formatting.plain(text)), micro(ps), share(ps))
    if most is not None and (rest := shown[most:]):
        together = sum(ps for _, ps in rest)
        table.add_row(f"{len(rest):,} others (all with --all)", micro(together), share(together))
    if adds_up:
        table.add_section()
        table.add_row("[b]together[/b]", f"[b]{micro(sum(rows.values()))}[/b]", "")
    table.columns[0].no_wrap = False
    display.out.print(table)
