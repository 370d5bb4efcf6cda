"""A scenario from SONiC configurations: the settings of switches, and notes on fields without an equal.

Class n of the scenario is traffic class n. Settings that most ports have are in ``[switch]``; ports that differ have an
override. A field that the model has no place for becomes a note.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field

from xoff._core import InputError
from xoff.sonic import memory
from xoff.sonic.cabling import Cabling
from xoff.sonic.checks.marking import is_enabled, is_marking
from xoff.sonic.fabric import Fabric
from xoff.sonic.memory import Memory
from xoff.sonic.settings import End, Marks, PortSettings, most_common
from xoff.sonic.switch import Member, Port, Profile, Switch

MAX_CLASSES = 8
_COLOURS = ("yellow", "red")


@dataclass(slots=True)
class Watchdog:
    """Times in milliseconds."""

    detection: int
    restoration: int
    poll: int
    action: str


@dataclass(frozen=True, slots=True)
class Egress:
    """The limits of queues of some classes: a pool, and the most bytes of a queue or its share."""

    total: int
    limit: int | None
    alpha: float | None
    classes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Lossy:
    """The priority group of a lossy class. Classes of a group count together."""

    alpha: float
    reserve: int
    number: int


@dataclass(slots=True)
class Converted:
    """The settings of a fabric."""

    classes: int
    ends: list[End]
    settings: dict[End, PortSettings]
    shared: dict[str, int]
    """B of each switch: the bytes that groups share."""
    pools: dict[str, int]
    """The shared headroom pool of each switch that has one, in bytes."""
    cell: int | None
    """The size of a cell; None if the chip is unknown."""
    resume: tuple[int | None, int | None]
    """Bytes below the threshold, and bytes of a group, at which a pause ends; the larger level counts."""
    queues: tuple[tuple[str, int], ...]
    """Type and weight of the scheduler of each class."""
    watchdog: Watchdog | None
    largest_frame: int | None
    """The largest lossless frame; None for xoff's own."""
    lossy: dict[int, Lossy]
    """The group of each lossy class with a dynamic threshold."""
    egress: list[Egress]
    bare: list[End]
    """Ends of links at switches without a file."""
    notes: list[str] = field(default_factory=list)


def convert(fabric: Fabric, cabling: Cabling) -> Converted:
    """Returns the settings. Raises `InputError` if the shared memory of a switch is unknown or below zero."""
    notes: list[str] = []
    linked = _linked(fabric, cabling)
    classes = _classes(linked, notes)
    ends: dict[End, None] = {}
    settings: dict[End, PortSettings] = {}
    for switch, port, neighbour in linked:
        end = End(switch.name, neighbour, port.speed)
        found = _of_port(switch, port, classes, notes)
        if settings.setdefault(end, found) != found:
            notes.append(
                f"{switch.name} {port.name}: differs from another port to {neighbour}; that port's values are taken"
            )
        ends.setdefault(end)
    for switch in fabric.switches.values():
        notes += _of_switch(switch)
    return Converted(
        classes,
        list(ends),
        settings,
        {name: _shared(switch, notes) for name, switch in fabric.switches.items()},
        {name: switch.shared_headroom for name, switch in fabric.switches.items() if switch.shared_headroom},
        _cell(fabric, notes),
        _resume(linked, classes, notes),
        _queues(linked, classes, notes),
        _watchdog(linked, notes),
        next((one.traffic.mtu for one in fabric.switches.values() if one.traffic.is_given), None),
        _lossy(linked, classes, notes),
        _egress(linked, classes, notes),
        _bare(fabric, cabling),
        list(dict.fromkeys(notes)),
    )


def _linked(fabric: Fabric, cabling: Cabling) -> list[tuple[Switch, Port, str]]:
    """Returns switch, port and neighbour of each end of a link, by switch and port."""
    places = {(switch, port): neighbour for switch, port, neighbour in cabling.ends()}
    return [
        (switch, port, places[name, port.name])
        for name, switch in fabric.switches.items()
        for port in switch.up
        if (name, port.name) in places
    ]


def _bare(fabric: Fabric, cabling: Cabling) -> list[End]:
    switches = set(cabling.switches) - set(fabric.switches)
    both = [end for one in cabling.cables for end in (one, one.turned())]
    return list(dict.fromkeys(End(one.a, one.b, one.speed) for one in both if one.a in switches))


def _classes(linked: list[tuple[Switch, Port, str]], notes: list[str]) -> int:
    found = {one for _, port, _ in linked for one in port.maps.classes()}
    if beyond := sorted(one for one in found if one >= MAX_CLASSES):
        notes.append(f"DSCP_TO_TC_MAP: traffic classes {', '.join(map(str, beyond))}: a scenario has classes 0 to 7")
    return max([one for one in found if one < MAX_CLASSES], default=0) + 1


def lossless(switch: Switch, port: Port, classes: int) -> list[tuple[int, Member]]:
    """Returns the classes of a port that send pauses and have headroom, each with its group."""
    found = []
    for one in port.lossless_classes():
        member = switch.groups.get((port.name, port.maps.group_of(one)))
        if one < classes and member is not None and member.profile.is_lossless:
            found.append((one, member))
    return found


def _of_port(switch: Switch, port: Port, classes: int, notes: list[str]) -> PortSettings:
    held = lossless(switch, port, classes)
    send = tuple(one for one, _ in held)
    obey = tuple(range(classes)) if port.is_asymmetric else send
    marks = _marks(switch, port, classes, notes)
    lossy = [one for one in range(classes) if one not in send]
    where = f"{switch.name} {port.name}"
    if not held:
        member = next(
            (switch.groups[key] for one in lossy if (key := (port.name, port.maps.group_of(one))) in switch.groups),
            None,
        )
        profile = member.profile if member else None
        alpha = profile.alpha if profile else None
        return PortSettings(alpha, profile.size if profile else None, None, send, obey, marks)
    first = held[0][1].profile
    for _, member in held[1:]:
        if member.profile != first:
            text = f"{where} BUFFER_PG|{member.key} profile = {member.profile.name}"
            notes.append(f"{text}: all classes have that of {send[0]}")
    if first.static_th is not None:
        notes.append(
            f"{switch.name} BUFFER_PROFILE|{first.name} static_th = {first.static_th}: the threshold is dynamic"
        )
    alpha = 1.0 if first.alpha is None else first.alpha
    return PortSettings(alpha, memory.reserve(switch, first), first.xoff, send, obey, marks)


def _marks(switch: Switch, port: Port, classes: int, notes: list[str]) -> tuple[Marks, ...]:
    """Returns the curves of a port: for classes that mark, and for classes whose packets are dropped by the curve."""
    wred = {one.queue: one.wred for one in switch.outputs if one.port.name == port.name and one.wred is not None}
    names = {one: wred[port.maps.queue_of(one)] for one in range(classes) if port.maps.queue_of(one) in wred}
    table = switch.config.table("WRED_PROFILE")
    for name in dict.fromkeys(names.values()):
        fields, place = table[name], f"{switch.name} WRED_PROFILE|{name}"
        if not is_enabled(fields):
            notes.append(f"{place}: wred_green_enable is not true: marks and drops nothing")
        notes.extend(
            f"{place} {key} = {value}: all packets are green"
            for key, value in fields.items()
            if key.removeprefix("wred_").startswith(_COLOURS)
        )
    curves: dict[tuple[int, int, int, bool], list[int]] = {}
    for one, name in names.items():
        fields = table[name]
        if is_enabled(fields):
            kmin, kmax = (int(fields.get(f"green_{end}_threshold", "0")) for end in ("min", "max"))
            percent = int(fields.get("green_drop_probability", "100"))
            curves.setdefault((kmin, kmax, percent, is_marking(fields)), []).append(one)
    return tuple(Marks(kmin, kmax, percent, tuple(of), ect) for (kmin, kmax, percent, ect), of in curves.items())


def _shared(switch: Switch, notes: list[str]) -> int:
    """Returns the bytes that the groups of a switch share."""
    found = memory.of(switch) or _lossy_memory(switch)
    place = f"{switch.config.path}: BUFFER_POOL"
    if found is None:
        raise InputError(f"{place}: no priority group of a port that is up has a profile in a pool")
    if found.shared is None:
        raise InputError(
            f"{place}|{found.pool.name}: size: is missing; SONiC computes the size, so give BUFFER_POOL.size as "
            "`show buffer_pool` or APPL_DB has the size"
        )
    if found.shared <= 0:
        raise InputError(
            f"{place}|{found.pool.name}: size: reserves and headroom exceed the pool; run xoff check --sonic"
        )
    if found.slices > 1:
        notes.append(
            f"{switch.name}: {switch.asic.name} has {found.slices} slices of memory; the scenario has one memory"
        )
    return found.shared * found.slices


def _lossy_memory(switch: Switch) -> Memory | None:
    member = next((one for one in switch.groups.values() if one.port.is_up and one.profile.pool), None)
    pool = member.profile.pool if member else None
    return None if pool is None else Memory(pool, pool.size, 0, 0, 1, 0)


def _of_switch(switch: Switch) -> Iterator[str]:
    """Yields notes on fields of a switch without a place in a scenario."""
    name = switch.name
    for key, fields in switch.config.table("BUFFER_POOL").items():
        if "percentage" in fields:
            yield f"{name} BUFFER_POOL|{key} percentage = {fields['percentage']}: has no equal"
    used = {one.profile.name: one.profile for one in switch.groups.values() if one.port.is_up}
    for profile in used.values():
        if profile.is_trimming:
            yield f"{name} BUFFER_PROFILE|{profile.name} packet_discard_action = trim: no packet is trimmed"
    for table in ("BUFFER_PORT_INGRESS_PROFILE_LIST", "BUFFER_PORT_EGRESS_PROFILE_LIST"):
        if switch.config.table(table):
            yield f"{name} {table}: ports have no limit of their own"
    for key, fields in switch.config.table("SCHEDULER").items():
        yield from (
            f"{name} SCHEDULER|{key} {one} = {fields[one]}: queues are not shaped"
            for one in ("cir", "pir")
            if one in fields
        )
        if fields.get("type", "WRR") == "WRR":
            yield f"{name} SCHEDULER|{key} type = WRR: weights count bytes, as DWRR"
    for port in switch.up:
        for one in port.maps.classes():
            if port.maps.queue_of(one) != one:
                yield f"{name} TC_TO_QUEUE_MAP: class {one} is in queue {port.maps.queue_of(one)}; a class is its queue"
        for one in port.lossless_classes():
            group = port.maps.group_of(one)
            if port.maps.priority_of_group(group) != one:
                yield f"{name} TC_TO_PRIORITY_GROUP_MAP: class {one} is in group {group}; pauses name classes"
        for priority in port.pfc:
            if (queue := port.maps.paused_queue(priority)) != priority:
                why = f"a pause of priority {priority} stops queue {queue}; a pause stops its class"
                yield f"{name} MAP_PFC_PRIORITY_TO_QUEUE: {why}"
    yield f"{name} DSCP_TO_TC_MAP: flows name their class, and no packet has a DSCP"
    yield from (f"{name} {table}: is not read" for table in switch.config.unread)


def _cell(fabric: Fabric, notes: list[str]) -> int | None:
    """Returns the size of a cell that most switches have."""
    sizes = {name: one.asic.cell for name, one in fabric.switches.items() if "cell" not in one.asic.unknown}
    general = most_common(sizes.values())
    notes += [
        f"{name}: cells of {size} B: cells of {general} B are taken" for name, size in sizes.items() if size != general
    ]
    notes += [f"{name}: the chip is unknown: memory counts bytes" for name in fabric.switches if name not in sizes]
    return general


def _resume(linked: list[tuple[Switch, Port, str]], classes: int, notes: list[str]) -> tuple[int | None, int | None]:
    """Returns xon_offset and xon that most lossless groups have."""
    found: list[tuple[str, tuple[int | None, int | None]]] = []
    for switch, port, _ in linked:
        for _, member in lossless(switch, port, classes)[:1]:
            one = member.profile
            offset = one.xon_offset if switch.asic.resume == "offset" else None
            found.append((f"{switch.name} BUFFER_PROFILE|{one.name}", (offset, one.xon or (None if offset else 0))))
    general = most_common(values for _, values in found) or (None, None)
    for place, values in found:
        if values != general:
            notes.append(f"{place} xon, xon_offset: differ from most groups; all groups resume alike")
    return general


def _lossy(linked: list[tuple[Switch, Port, str]], classes: int, notes: list[str]) -> dict[int, Lossy]:
    """Returns the values that most ports have for each lossy class."""
    found: dict[int, list[Lossy]] = {}
    for switch, port, _ in linked:
        held = {one for one, _ in lossless(switch, port, classes)}
        for one in range(classes):
            member = switch.groups.get((port.name, port.maps.group_of(one)))
            if one in held or member is None:
                continue
            profile, place = member.profile, f"{switch.name} BUFFER_PROFILE|{member.profile.name}"
            if profile.alpha is None:
                notes.append(
                    f"{place} static_th = {profile.static_th}: a lossy class has the alpha of lossless classes"
                )
            else:
                found.setdefault(one, []).append(Lossy(profile.alpha, profile.size, port.maps.group_of(one)))
    general = {one: most_common(values) for one, values in sorted(found.items())}
    for one, values in found.items():
        if len(set(values)) > 1:
            notes.append(f"BUFFER_PG: ports differ in the profile of lossy class {one}; that of most ports is taken")
    return {one: values for one, values in general.items() if values is not None}


def _egress(linked: list[tuple[Switch, Port, str]], classes: int, notes: list[str]) -> list[Egress]:
    """Returns the limits of queues that most ports have."""
    found: list[tuple[str, tuple[Egress | None, ...]]] = []
    for switch, port, _ in linked:
        limits: list[Egress | None] = []
        for one in range(classes):
            member = switch.queues.get((port.name, port.maps.queue_of(one)))
            limits.append(None if member is None else _limit(switch, member.profile, notes))
        found.append((f"{switch.name} {port.name}", tuple(limits)))
    general = most_common(limits for _, limits in found) or ()
    notes += [
        f"{place} BUFFER_QUEUE: limits differ from those of most ports; the scenario has one set"
        for place, limits in found
        if limits != general
    ]
    made: dict[Egress, list[int]] = {}
    for one, limit in enumerate(general):
        if limit is not None:
            made.setdefault(limit, []).append(one)
    return [dataclasses.replace(limit, classes=tuple(members)) for limit, members in made.items()]


def _limit(switch: Switch, profile: Profile, notes: list[str]) -> Egress | None:
    place = f"{switch.name} BUFFER_PROFILE|{profile.name}"
    if profile.pool is None or profile.pool.size is None:
        notes.append(f"{place}: the size of its pool is unknown; its queues have no limit")
        return None
    if profile.size:
        notes.append(f"{place} size = {profile.size}: queues have no reserve")
    total = profile.pool.size
    if profile.alpha is not None:
        return Egress(total, None, profile.alpha)
    # Zero is no limit.
    limit = (profile.static_th or total) * memory.queue_parts(switch, profile)
    return Egress(total, min(limit, total), None)


def _queues(linked: list[tuple[Switch, Port, str]], classes: int, notes: list[str]) -> tuple[tuple[str, int], ...]:
    found: dict[tuple[str, str], tuple[tuple[str, int], ...]] = {}
    for switch, port, _ in linked:
        by_queue = {one.queue: one.scheduler for one in switch.outputs if one.port.name == port.name and one.scheduler}
        turns = []
        for one in range(classes):
            name = by_queue.get(port.maps.queue_of(one))
            kind, weight = ("DWRR", 1) if name is None else switch.scheduling(name)
            turns.append(("strict", 1) if kind == "STRICT" else ("dwrr", min(max(weight, 1), 100)))
        found[switch.name, port.name] = tuple(turns)
    general = most_common(found.values()) or (("dwrr", 1),) * classes
    other = [f"{switch} {port}" for (switch, port), turns in found.items() if turns != general]
    notes += [f"{place} QUEUE: the scheduler differs from most ports; the scenario has one" for place in other]
    return general


def _watchdog(linked: list[tuple[Switch, Port, str]], notes: list[str]) -> Watchdog | None:
    found: dict[tuple[str, str], tuple[int, int, int, str] | None] = {}
    for switch, port, _ in linked:
        key = next((key for key in switch.watchdogs if port.name in key.split(",")), None)
        fields = switch.watchdogs[key] if key is not None else {}
        action = fields.get("action", "drop")
        if "detection_time" not in fields or action == "alert":
            if fields:
                notes.append(f"{switch.name} PFC_WD|{key}: an action drop or forward and detection_time are needed")
            found[switch.name, port.name] = None
            continue
        detection = int(fields["detection_time"])
        restoration = int(fields.get("restoration_time", 2 * detection))
        found[switch.name, port.name] = (detection, restoration, switch.poll_ms, action)
        if set(port.watched) != set(port.pfc):
            notes.append(f"{switch.name} PORT_QOS_MAP|{port.name} pfcwd_sw_enable: all classes under PFC are watched")
    general = most_common(found.values())
    for (switch_, port_), values in found.items():
        if values != general:
            notes.append(f"{switch_} PFC_WD|{port_}: differs from most ports; the scenario has one watchdog")
    return None if general is None else Watchdog(*general)
