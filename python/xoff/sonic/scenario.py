"""The scenario of a fabric as TOML and tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from xoff import running
from xoff._core import InputError
from xoff.importing.directory import write_new
from xoff.importing.document import Table, Value, rate, size, time
from xoff.sonic.adapter import Adapter
from xoff.sonic.cabling import Cabling
from xoff.sonic.convert import Converted, Egress, Lossy
from xoff.sonic.formula import QUANTA
from xoff.sonic.settings import End, Marks, PortSettings, groups, most_common, patterns, selected

SCENARIO = "scenario.toml"
NOTES = "notes.txt"
NO_MARKS = 4 * 10**9
"""A threshold in bytes that no queue reaches: ports without marks beside ports with marks."""
RESPONSE = "802.3"
"""The response time of neighbours, at rates for which 802.3 has a limit."""
HEADER = 48
"""Headers of a packet: the default of a scenario."""
_HEAD = f"""Imported from SONiC configurations; {NOTES} lists the fields that were not carried over.
  xoff check {SCENARIO}
  xoff run {SCENARIO} --out result"""


@dataclasses.dataclass(frozen=True, slots=True)
class General:
    """The values that most ports and switches have."""

    alpha: float
    reserve: int
    headroom: int | None
    classes: tuple[int, ...] | None
    """Classes under PFC; None if no port sends pauses."""
    marks: tuple[Marks, ...]
    headroom_pool: int | None
    total: int


def write(out: Path, cabling: Cabling, found: Converted, adapter: Adapter, notes: Sequence[str]) -> list[Path]:
    """Writes scenario, tables and notes into a new directory, which appears when complete; returns the files.

    Raises `InputError` if the directory is not empty, or if `xoff check` would refuse the scenario.
    """

    def fill(place: Path) -> list[str]:
        (place / SCENARIO).write_text(text(cabling, found, adapter), "utf-8")
        nodes = [*((name, "host") for name in cabling.hosts), *((name, "switch") for name in cabling.switches)]
        (place / "nodes.csv").write_text("name,kind\n" + "".join(f"{name},{kind}\n" for name, kind in nodes), "utf-8")
        rows = (f"{one.a},{one.b},{rate(one.speed * 10**6)},{time(one.delay_ps)}\n" for one in cabling.cables)
        (place / "links.csv").write_text("a,b,rate,delay\n" + "".join(rows), "utf-8")
        (place / NOTES).write_text("".join(f"{one}\n" for one in notes), "utf-8")
        try:
            running.check(place / SCENARIO)
        except InputError as error:
            raise InputError(f"the configurations make no valid scenario: {error}") from None
        return [SCENARIO, "nodes.csv", "links.csv", NOTES]

    return write_new(out, fill)


def text(cabling: Cabling, found: Converted, adapter: Adapter) -> str:
    """Returns the scenario as TOML."""
    general = _general(cabling, found)
    parts = [
        Table("", {"name": "sonic"}, _HEAD),
        Table("network.explicit", {"nodes_table": "nodes.csv", "links_table": "links.csv"}),
    ]
    if found.largest_frame is not None:
        payload = max(1, found.largest_frame - HEADER)
        parts.append(Table("framing", {"payload": size(payload), "header": size(HEADER)}))
    shared: dict[str, Value] = {"total": size(general.total), "alpha": general.alpha, "reserve": size(general.reserve)}
    if general.headroom is not None:
        shared["headroom"] = size(general.headroom)
    if general.headroom_pool is not None:
        shared["headroom_pool"] = size(general.headroom_pool)
    if found.cell is not None:
        shared["cell"] = size(found.cell)
    shared |= _groups(found, general)
    parts.append(Table("switch", {"classes": found.classes, "buffer": {"shared": shared}}))
    if general.marks:
        parts.append(Table("switch.ecn", marks(general.marks)))
    queues = [{"type": kind} | ({"weight": weight} if kind == "dwrr" else {}) for kind, weight in found.queues]
    parts.append(Table("switch.scheduler", {"queues": queues}))
    parts += _flow_control(found, general)
    parts += [Table("switch.overrides", values, is_listed=True) for values in _overrides(cabling, found, general)]
    if adapter.is_controlled:
        parts.append(Table("host.congestion_control.dcqcn", {"preset": "mellanox", **adapter.dcqcn}))
    return "\n".join([*(part.text() for part in parts), _workload(cabling, found, general)])


def totals(cabling: Cabling, found: Converted, general: General) -> dict[str, int]:
    """Returns the memory of each switch: shared bytes, and the reserves and headroom of all its links."""
    made = {name: shared + headroom_pools(cabling, found, general)[name] for name, shared in found.shared.items()}
    for end, count in links(cabling, found.ends).items():
        one = found.settings[end]
        reserve = general.reserve if one.reserve is None else one.reserve
        lossy = lossy_groups(found, general)
        alone = found.classes - sum(len(classes) for classes in lossy.values())
        made[end.switch] += count * (alone * reserve + sum(group.reserve for group in lossy))
    return made


def lossy_groups(found: Converted, general: General) -> dict[Lossy, list[int]]:
    """Returns the classes of each lossy group that differs from the general values, or has several classes."""
    groups: dict[Lossy, list[int]] = {}
    for one, group in found.lossy.items():
        if general.classes is not None and one not in general.classes:
            groups.setdefault(group, []).append(one)
    return {
        group: classes
        for group, classes in groups.items()
        if len(classes) > 1 or (group.alpha, group.reserve) != (general.alpha, general.reserve)
    }


def _groups(found: Converted, general: General) -> dict[str, Value]:
    """Returns the groups of lossy classes, and the pools of outputs."""
    made: dict[str, Value] = {}
    if groups := lossy_groups(found, general):
        made["groups"] = [_group(group, classes) for group, classes in groups.items()]
    if found.egress:
        made["egress"] = [_pool(one) for one in found.egress]
    return made


def _group(group: Lossy, classes: list[int]) -> dict[str, Value]:
    values: dict[str, Value] = {"classes": classes, "alpha": group.alpha, "reserve": size(group.reserve)}
    return {**values, "together": True} if len(classes) > 1 else values


def _pool(one: Egress) -> dict[str, Value]:
    values: dict[str, Value] = {"classes": list(one.classes), "total": size(one.total)}
    values |= {} if one.limit is None else {"limit": size(one.limit)}
    return values | ({} if one.alpha is None else {"alpha": one.alpha})


def headroom_pools(cabling: Cabling, found: Converted, general: General) -> dict[str, int]:
    """Returns the headroom of each switch: the shared pool, or the sum over its links."""
    made = dict.fromkeys(found.shared, 0)
    for end, count in links(cabling, found.ends).items():
        one = found.settings[end]
        headroom = (general.headroom if one.headroom is None else one.headroom) or 0
        made[end.switch] += count * headroom * len(one.send)
    return made | found.pools


def links(cabling: Cabling, ends: Sequence[End]) -> dict[End, int]:
    """Returns the number of parallel links of each end."""
    counts: dict[tuple[str, str], int] = {}
    for one in cabling.cables:
        for ends_ in ((one.a, one.b), (one.b, one.a)):
            counts[ends_] = counts.get(ends_, 0) + 1
    speeds: dict[tuple[str, str], int] = {}
    for end in ends:
        speeds[end.switch, end.neighbour] = speeds.get((end.switch, end.neighbour), 0) + 1
    return {end: counts[end.switch, end.neighbour] // speeds[end.switch, end.neighbour] for end in ends}


def _general(cabling: Cabling, found: Converted) -> General:
    settings = [found.settings[end] for end in found.ends]
    alpha = most_common(one.alpha for one in settings if one.alpha is not None and one.send)
    reserve = most_common(one.reserve for one in settings if one.reserve is not None and one.send)
    made = General(
        (alpha or most_common(one.alpha for one in settings if one.alpha is not None) or 1.0),
        reserve
        if reserve is not None
        else most_common(one.reserve for one in settings if one.reserve is not None) or 0,
        most_common(one.headroom for one in settings if one.headroom is not None),
        most_common(one.send for one in settings if one.send),
        most_common(one.marks for one in settings if one.marks) or (),
        most_common(found.pools.values()),
        0,
    )
    return dataclasses.replace(made, total=most_common(totals(cabling, found, made).values()) or 0)


def marks(curves: Sequence[Marks]) -> dict[str, Value]:
    """Returns curves as the keys of ``switch.ecn``: one curve of marks for all its classes, or profiles."""
    if not curves:
        return marks([Marks(NO_MARKS, NO_MARKS, 100, (0,))])
    listed: list[dict[str, Value]] = []
    for one in curves:
        red: dict[str, Value] = {"kmin": size(one.kmin), "kmax": size(one.kmax), "pmax": one.percent / 100}
        curve: dict[str, Value] = {"red": red, "classes": list(one.classes)}
        listed.append(curve if one.ect else {**curve, "ect": False})
    return listed[0] if len(curves) == 1 and curves[0].ect else {"profiles": listed}


def _flow_control(found: Converted, general: General) -> list[Table]:
    if general.classes is None:
        return []
    values: dict[str, Value] = {"classes": list(general.classes)}
    if all(end.speed in QUANTA for end in found.ends):
        values["response"] = RESPONSE
    offset, at = found.resume
    values |= {} if offset is None else {"xon": size(offset)}
    values |= {} if at is None else {"resume_at": size(at)}
    parts = [Table("switch.flow_control.pfc", values)]
    if (dog := found.watchdog) is not None:
        times = {"detection": dog.detection, "restoration": dog.restoration, "poll": dog.poll}
        of: dict[str, Value] = {key: time(value * 10**9) for key, value in times.items()}
        parts.append(Table("switch.flow_control.pfc.watchdog", {**of, "action": dog.action}))
    return parts


def _overrides(cabling: Cabling, found: Converted, general: General) -> list[dict[str, Value]]:
    """Returns an override for each set of settings that differs, and one for each other memory of switches."""
    made: list[dict[str, Value]] = []
    of_switch = totals(cabling, found, general)
    everywhere = sorted([*found.ends, *found.bare], key=lambda end: end.switch)
    names = list(dict.fromkeys(end.switch for end in everywhere))
    for total in dict.fromkeys(of_switch[name] for name in of_switch if of_switch[name] != general.total):
        wanted = {name for name in of_switch if of_switch[name] == total}
        made.append({"switches": patterns(wanted, names), "buffer": {"total": size(total)}})
    pools = {} if general.headroom_pool is None else headroom_pools(cabling, found, general)
    for pool in dict.fromkeys(value for value in pools.values() if value != general.headroom_pool):
        wanted = {name for name, value in pools.items() if value == pool}
        made.append({"switches": patterns(wanted, names), "buffer": {"headroom_pool": size(pool)}})

    def is_general(one: PortSettings) -> bool:
        return not _different(one, general)

    for one, ends in groups(found.settings, found.ends, is_general):
        chosen = selected(ends, everywhere)
        if isinstance(speed := chosen.get("rate"), str):
            chosen["rate"] = rate(int(speed.removesuffix("Mbps")) * 10**6)
        made.append({**chosen, **_different(one, general)})
    return made


def _different(one: PortSettings, general: General) -> dict[str, Value]:
    """Returns the keys of an override for the settings of a port that differ from the general ones."""
    buffer: dict[str, Value] = {}
    if one.alpha is not None and one.alpha != general.alpha and (one.send or general.classes is None):
        buffer["alpha"] = one.alpha
    if one.reserve is not None and one.reserve != general.reserve and (one.send or general.classes is None):
        buffer["reserve"] = size(one.reserve)
    if one.headroom is not None and one.headroom != general.headroom:
        buffer["headroom"] = size(one.headroom)
    values: dict[str, Value] = {"buffer": buffer} if buffer else {}
    if general.classes is not None:
        pfc: dict[str, Value] = {"send": list(one.send)} if one.send != general.classes else {}
        pfc |= {"obey": list(one.obey)} if one.obey != general.classes else {}
        values |= {"pfc": pfc} if pfc else {}
    if general.marks and one.marks != general.marks:
        values["ecn"] = marks(one.marks)
    return values


def _workload(cabling: Cabling, found: Converted, general: General) -> str:
    """Returns an incast as a comment, which a user may turn into the workload."""
    senders = cabling.hosts[1:9]
    chosen = general.classes[0] if general.classes else found.classes - 1
    if not senders:
        return "# Add a workload: [[workload]] with incast, permutation or table.\n"
    lines = (
        "# An incast of the class, to begin with:",
        "# [[workload]]",
        '# name = "incast"',
        f"# class = {chosen}",
        f'# incast = {{ senders = {list(range(1, len(senders) + 1))}, receiver = 0, size = "1MB" }}',
    )
    return "\n".join(lines) + "\n"
