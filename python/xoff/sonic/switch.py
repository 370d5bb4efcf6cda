"""A switch with its references resolved: ports, maps, pools, profiles, priority groups, queues and watchdogs."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from xoff.importing.source import shown
from xoff.sonic import formula
from xoff.sonic.asic import UNKNOWN, Asic, Choice
from xoff.sonic.config import Config, is_name
from xoff.sonic.fields import MAP_KEYS
from xoff.sonic.formula import Headroom, Link, Lookup, Traffic

DEFAULT_SPEED = 100_000
DEFAULT_MTU = 9100
DEFAULT_POLL_MS = 100
_PROFILE_NAME = re.compile(r"pg_lossless_([0-9]{1,7})_([0-9]{1,6})m_profile")


@dataclass(frozen=True, slots=True)
class Pool:
    """An entry of BUFFER_POOL. Sizes are in bytes."""

    name: str
    type: str
    mode: str
    size: int | None
    """None if the dynamic buffer model computes the size."""
    shared_headroom: int
    """``xoff``: the size of the shared headroom pool (SHP)."""


@dataclass(frozen=True, slots=True)
class Profile:
    """An entry of BUFFER_PROFILE, or one that SONiC would make. Sizes are in bytes."""

    name: str
    pool: Pool | None
    size: int
    xon: int
    xoff: int | None
    xon_offset: int | None
    dynamic_th: int | None
    static_th: int | None
    is_trimming: bool = False
    method: str = "BUFFER_PROFILE"
    """The source of the sizes."""

    @property
    def alpha(self) -> float | None:
        """The factor of the dynamic threshold; None without one."""
        return None if self.dynamic_th is None else 2.0**self.dynamic_th

    @property
    def is_lossless(self) -> bool:
        """True if the profile gives a group headroom."""
        return bool(self.xoff)

    @property
    def cable(self) -> tuple[int, int] | None:
        """Speed and metres in a name such as ``pg_lossless_100000_40m_profile``; None for other names."""
        found = _PROFILE_NAME.fullmatch(self.name)
        return (int(found[1]), int(found[2])) if found else None


@dataclass(frozen=True, slots=True)
class Maps:
    """The maps of a port, by number. A missing DSCP or class maps to 0, and a missing map to SONiC's default."""

    names: Mapping[str, str]
    """The name of the map in each field of PORT_QOS_MAP."""
    dscp: Mapping[int, int] | None
    group: Mapping[int, int] | None
    queue: Mapping[int, int] | None
    pfc_queue: Mapping[int, int] | None
    pfc_group: Mapping[int, int] | None

    def class_of(self, dscp: int) -> int:
        """Returns the traffic class of a DSCP."""
        return DEFAULT_DSCP.get(dscp, 1) if self.dscp is None else self.dscp.get(dscp, 0)

    def classes(self) -> list[int]:
        """Returns the traffic classes that a DSCP reaches, in order."""
        return sorted(set(self.dscp.values())) if self.dscp is not None else sorted({*DEFAULT_DSCP.values(), 1})

    def group_of(self, traffic_class: int) -> int:
        """Returns the priority group of a traffic class."""
        if self.group is None:
            return traffic_class if traffic_class in (3, 4, 7) else 0
        return self.group.get(traffic_class, 0)

    def queue_of(self, traffic_class: int) -> int:
        """Returns the queue of a traffic class."""
        return traffic_class if self.queue is None else self.queue.get(traffic_class, 0)

    def paused_queue(self, priority: int) -> int:
        """Returns the queue that a pause of a priority stops."""
        return priority if self.pfc_queue is None else self.pfc_queue.get(priority, 0)

    def group_of_priority(self, priority: int) -> int:
        """Returns the priority group for which pauses of a priority are sent."""
        return priority if self.pfc_group is None else self.pfc_group.get(priority, priority)

    def priority_of_group(self, group: int) -> int | None:
        """Returns the priority that is paused for a group; None for a group without one."""
        if self.pfc_group is None:
            return group
        return next((priority for priority in range(8) if self.group_of_priority(priority) == group), None)


DEFAULT_DSCP = {3: 3, 4: 4, 8: 0, 5: 2, 46: 5, 48: 6}
"""Classes of SONiC's default map; all other code points are in class 1."""


@dataclass(frozen=True, slots=True)
class Port:
    """A port."""

    name: str
    speed: int
    """In Mb/s."""
    mtu: int
    lanes: int
    is_up: bool
    is_asymmetric: bool
    metres: int | None
    """Length of the cable; None if the file has none."""
    neighbour: tuple[str, str] | None
    """Name and port of the node at the other end."""
    pfc: tuple[int, ...]
    """Priorities in ``pfc_enable``, in order."""
    watched: tuple[int, ...]
    maps: Maps

    @property
    def obeys(self) -> frozenset[int]:
        """Priorities of which the port obeys pauses."""
        return frozenset(range(8)) if self.is_asymmetric else frozenset(self.pfc)

    def lossless_classes(self) -> list[int]:
        """Returns the traffic classes whose priority group sends pauses, in order."""
        groups = {self.maps.group_of_priority(priority) for priority in self.pfc}
        return [one for one in self.maps.classes() if self.maps.group_of(one) in groups]

    def lossless_queues(self) -> frozenset[int]:
        """Returns the queues of lossless classes, and those that pauses stop."""
        stopped = {self.maps.paused_queue(priority) for priority in self.pfc}
        return frozenset({self.maps.queue_of(one) for one in self.lossless_classes()} | stopped)

    def priority_of_dscp(self, dscp: int) -> int | None:
        """Returns the priority whose pauses protect a DSCP; None if the DSCP is in a lossy class."""
        found = self.maps.priority_of_group(self.maps.group_of(self.maps.class_of(dscp)))
        return found if found in self.pfc else None


@dataclass(frozen=True, slots=True)
class Member:
    """A priority group, or a queue, of a port: its profile and the key of its entry."""

    port: Port
    number: int
    key: str
    profile: Profile


@dataclass(frozen=True, slots=True)
class Output:
    """The QUEUE entries of a queue of a port: names in SCHEDULER and WRED_PROFILE."""

    port: Port
    queue: int
    scheduler: str | None
    wred: str | None


@dataclass
class Switch:
    """A switch with its references resolved."""

    config: Config
    asic: Asic
    lookup: Lookup | None = None
    seen: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Name and port of the neighbour that LLDP has seen at a port, for ports without an entry of DEVICE_NEIGHBOR."""
    _known_maps: dict[tuple[str, str], Mapping[int, int]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        meta = self.metadata
        if meta.get("switch_type") == "voq":
            self.config.wrong(
                "DEVICE_METADATA", "localhost", "voq chassis are not modelled; leave the file out", "switch_type"
            )
        # A damaged reference is an error of the file, and not of the check that would need the reference.
        _ = (
            self.pools,
            self.profiles,
            self.ports,
            self.groups,
            self.queues,
            self.outputs,
            self.poll_ms,
            self.watchdogs,
        )

    @property
    def name(self) -> str:
        """The name of the switch."""
        return self.config.name

    @property
    def metadata(self) -> Mapping[str, str]:
        """The fields of DEVICE_METADATA."""
        return self.config.table("DEVICE_METADATA").get("localhost", {})

    @property
    def chip_name(self) -> str:
        """The name of the chip as messages have it: for an unknown chip with platform and hwsku."""
        if self.asic.name != UNKNOWN:
            return self.asic.name
        names = [self.metadata[key] for key in ("platform", "hwsku") if self.metadata.get(key)]
        return f"the unknown chip of {' '.join(names)}" if names else "the unknown chip (no platform is given)"

    @property
    def is_dynamic(self) -> bool:
        """True under the dynamic buffer model, which computes profiles and pools."""
        return self.metadata.get("buffer_model") == "dynamic"

    @cached_property
    def traffic(self) -> Traffic:
        """The frames that decide headroom."""
        for key in self.config.table("LOSSLESS_TRAFFIC_PATTERN"):
            number = self.config.number
            mtu = number("LOSSLESS_TRAFFIC_PATTERN", key, "mtu", 1024) or 1024
            percent = number("LOSSLESS_TRAFFIC_PATTERN", key, "small_packet_percentage", 50)
            return Traffic(mtu, 50 if percent is None else percent, is_given=True)
        return Traffic()

    @cached_property
    def pools(self) -> dict[str, Pool]:
        """The pools by name."""
        return {
            name: Pool(
                name,
                fields.get("type", "ingress"),
                fields.get("mode", "dynamic"),
                self.config.number("BUFFER_POOL", name, "size"),
                self.config.number("BUFFER_POOL", name, "xoff", 0) or 0,
            )
            for name, fields in self.config.table("BUFFER_POOL").items()
        }

    @cached_property
    def profiles(self) -> dict[str, Profile]:
        """The profiles of the file by name."""
        found = {}
        for name, fields in self.config.table("BUFFER_PROFILE").items():
            if "dynamic_th" in fields and "static_th" in fields:
                self.config.wrong("BUFFER_PROFILE", name, "dynamic_th and static_th are both given; remove one")
            pool = self.config.target("BUFFER_PROFILE", name, "pool")
            size, xon, xoff, offset, threshold, static = (
                self.config.number("BUFFER_PROFILE", name, one)
                for one in ("size", "xon", "xoff", "xon_offset", "dynamic_th", "static_th")
            )
            trims = fields.get("packet_discard_action") == "trim"
            of_pool = self.pools[pool] if pool is not None else None
            found[name] = Profile(name, of_pool, size or 0, xon or 0, xoff, offset, threshold, static, trims)
        return found

    @cached_property
    def ports(self) -> dict[str, Port]:
        """The ports by name, in the order of their numbers."""
        lengths = self._lengths()
        neighbours = {**self.seen, **self._neighbours()}
        found = {}
        for name in sorted(self.config.table("PORT"), key=port_order):
            fields = self.config.table("PORT")[name]
            number = self.config.number
            found[name] = Port(
                name,
                number("PORT", name, "speed", DEFAULT_SPEED) or DEFAULT_SPEED,
                number("PORT", name, "mtu", DEFAULT_MTU) or DEFAULT_MTU,
                len(fields.get("lanes", "1,2,3,4").split(",")),
                fields.get("admin_status") == "up",
                fields.get("pfc_asym") == "on",
                lengths.get(name),
                neighbours.get(name),
                self._priorities(name, "pfc_enable"),
                self._priorities(name, "pfcwd_sw_enable"),
                self._maps(name),
            )
        return found

    @property
    def up(self) -> list[Port]:
        """The ports that are up."""
        return [port for port in self.ports.values() if port.is_up]

    def _lengths(self) -> dict[str, int]:
        """Returns the length of the cable of each port in metres."""
        found: dict[str, int] = {}
        for key, lengths in self.config.table("CABLE_LENGTH").items():
            for port, length in lengths.items():
                if found.setdefault(port, int(length[:-1])) != int(length[:-1]):
                    self.config.wrong("CABLE_LENGTH", key, f"{found[port]}m is given in another set", port)
        return found

    def _neighbours(self) -> dict[str, tuple[str, str]]:
        """Returns name and port of the neighbour of each port: the newer form has the local port as key."""
        found: dict[str, tuple[str, str]] = {}
        for key, fields in self.config.table("DEVICE_NEIGHBOR").items():
            local, name = fields.get("local_port"), fields.get("name")
            local, name = (key, name) if local is None else (local, name or key)
            if name is None:
                self.config.wrong("DEVICE_NEIGHBOR", key, "has neither name nor local_port")
            if not is_name(name):
                self.config.wrong(
                    "DEVICE_NEIGHBOR",
                    key,
                    f"{shown(name)} is not a name of letters, digits, dots, dashes and underscores",
                    "name",
                )
            if local not in self.config.table("PORT"):
                self.config.wrong("DEVICE_NEIGHBOR", key, f"PORT has no entry {shown(local)}")
            if local in found:
                self.config.wrong("DEVICE_NEIGHBOR", key, f"{shown(local)} has two neighbours; remove one")
            found[local] = (name, fields.get("port", ""))
        return found

    def _field(self, port: str, name: str) -> tuple[str, str] | None:
        """Returns key and value of a field of PORT_QOS_MAP: the port's, else that of ``global``."""
        table = self.config.table("PORT_QOS_MAP")
        for key in (*self._qos_keys.get(port, ()), "global"):
            if name in table.get(key, {}):
                return key, table[key][name]
        return None

    @cached_property
    def _qos_keys(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for key in self.config.table("PORT_QOS_MAP"):
            for port in key.split(",") if key != "global" else ():
                found.setdefault(port, []).append(key)
        return found

    def _priorities(self, port: str, name: str) -> tuple[int, ...]:
        found = self._field(port, name)
        return tuple(sorted({int(one) for one in found[1].split(",")})) if found and found[1] else ()

    def _maps(self, port: str) -> Maps:
        names: dict[str, str] = {}
        maps: list[Mapping[int, int] | None] = []
        for fieldname, table in (
            ("dscp_to_tc_map", "DSCP_TO_TC_MAP"),
            ("tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP"),
            ("tc_to_queue_map", "TC_TO_QUEUE_MAP"),
            ("pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE"),
            ("pfc_to_pg_map", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"),
        ):
            found = self._field(port, fieldname)
            name = None if found is None else self.config.target("PORT_QOS_MAP", found[0], fieldname)
            if name is not None:
                names[fieldname] = name
            maps.append(None if name is None else self._numbers(table, name))
        return Maps(names, *maps)

    def _numbers(self, table: str, name: str) -> Mapping[int, int]:
        """Returns a map of numbers."""
        if (known := self._known_maps.get((table, name))) is not None:
            return known
        found = {}
        for key, value in self.config.table(table)[name].items():
            if not re.fullmatch("[0-9]{1,2}", key) or int(key) > MAP_KEYS[table]:
                self.config.wrong(table, name, f"is not a number from 0 to {MAP_KEYS[table]}", key)
            found[int(key)] = int(value)
        return self._known_maps.setdefault((table, name), found)

    @cached_property
    def shared_headroom(self) -> int:
        """The size of the shared headroom pool; zero if each group has headroom of its own."""
        return sum(pool.shared_headroom for pool in self.pools.values() if pool.type != "egress")

    @cached_property
    def has_shared_headroom(self) -> bool:
        """True if groups share headroom."""
        number = self.config.number
        table = "DEFAULT_LOSSLESS_BUFFER_PARAMETER"
        return bool(self.shared_headroom) or any(
            number(table, key, "over_subscribe_ratio", 0) for key in self.config.table(table)
        )

    @cached_property
    def groups(self) -> dict[tuple[str, int], Member]:
        """The priority groups of the ports with a profile, by port and number."""
        found = self._members("BUFFER_PG", 7)
        for port in self.up:
            for priority in port.pfc:
                group = port.maps.group_of_priority(priority)
                if (port.name, group) not in found and (made := self._made(port)) is not None:
                    found[port.name, group] = Member(port, group, f"{port.name}|{group}", made)
        return found

    @cached_property
    def queues(self) -> dict[tuple[str, int], Member]:
        """The queues of the ports with a profile, by port and number."""
        return self._members("BUFFER_QUEUE", 15)

    def _members(self, table: str, most: int) -> dict[tuple[str, int], Member]:
        """Returns the groups or queues with a profile; entries with the profile ``NULL`` are left out."""
        found: dict[tuple[str, int], Member] = {}
        for key, fields in self.config.table(table).items():
            ports, numbers = self.config.ports_and_numbers(table, key, most)
            is_null = fields.get("profile", "NULL") == "NULL"
            profile = None if is_null else self._looked_up(fields["profile"]) or self._profile(table, key)
            for port in ports:
                if port not in self.ports:
                    self.config.wrong(table, key, f"PORT has no entry {shown(port)}")
                for number in numbers:
                    if (port, number) in found:
                        self.config.wrong(table, key, f"{port}|{number} is also in {found[port, number].key}")
                    if profile is not None:
                        found[port, number] = Member(self.ports[port], number, key, profile)
        return found

    def _profile(self, table: str, key: str) -> Profile | None:
        name = self.config.target(table, key, "profile")
        return None if name is None else self.profiles[name]

    def _looked_up(self, name: str) -> Profile | None:
        """Returns the profile that SONiC makes from the lookup table for a name that the file only refers to."""
        found = _PROFILE_NAME.fullmatch(name)
        if found is None or name in self.profiles or self.lookup is None:
            return None
        headroom = self.lookup.exact(int(found[1]), int(found[2]))
        return None if headroom is None else self._of(name, headroom)

    def _made(self, port: Port) -> Profile | None:
        """Returns the lossless profile that SONiC makes for a port; None where SONiC makes none."""
        if not port.metres:
            return None
        name = f"pg_lossless_{port.speed}_{port.metres}m_profile"
        if name in self.profiles:
            return self.profiles[name]
        if self.is_dynamic:
            link, shares = self.link(port), self.has_shared_headroom
            if self.asic.pipeline is None:
                return None
            return self._of(name, formula.dynamic(self.asic, link, self.traffic, has_shared_headroom=shares))
        headroom = None if self.lookup is None else self.lookup.exact(port.speed, port.metres)
        return None if headroom is None else self._of(name, headroom)

    def _of(self, name: str, headroom: Headroom) -> Profile:
        pool = next((one for one in self.pools.values() if one.type != "egress" and "lossless" in one.name), None)
        threshold = headroom.dynamic_th if headroom.dynamic_th is not None else self._default_threshold()
        is_static = pool is not None and pool.mode == "static"
        return Profile(
            name,
            pool,
            headroom.size,
            headroom.xon,
            headroom.xoff,
            headroom.xon_offset,
            None if is_static else threshold,
            threshold if is_static else None,
            method=headroom.method,
        )

    def _default_threshold(self) -> int:
        table = "DEFAULT_LOSSLESS_BUFFER_PARAMETER"
        given = (self.config.number(table, key, "default_dynamic_th") for key in self.config.table(table))
        return next((one for one in given if one is not None), 0)

    def link(self, port: Port) -> Link:
        """Returns the link of a port; without a length the cable has 0 m."""
        gearbox = formula.GEARBOX_NS if "3800" in self.metadata.get("platform", "") else 0
        return Link(port.speed, port.metres or 0, port.mtu, port.lanes, gearbox)

    @cached_property
    def lossless(self) -> list[Member]:
        """The groups with headroom at ports that are up, by port and number."""
        order = {name: at for at, name in enumerate(self.ports)}
        found = [one for one in self.groups.values() if one.port.is_up and one.profile.is_lossless]
        return sorted(found, key=lambda one: (order[one.port.name], one.number))

    @cached_property
    def outputs(self) -> list[Output]:
        """Schedulers and marking of the queues."""
        found: dict[tuple[str, int], Output] = {}
        for key, _fields in self.config.table("QUEUE").items():
            if key.startswith("CPU|"):
                continue
            ports, numbers = self.config.ports_and_numbers("QUEUE", key, 15)
            scheduler = self.config.target("QUEUE", key, "scheduler")
            wred = self.config.target("QUEUE", key, "wred_profile")
            for port in ports:
                if port not in self.ports:
                    self.config.wrong("QUEUE", key, f"PORT has no entry {shown(port)}")
                for number in numbers:
                    before = found.get((port, number), Output(self.ports[port], number, None, None))
                    found[port, number] = dataclasses.replace(
                        before, scheduler=scheduler or before.scheduler, wred=wred or before.wred
                    )
        return list(found.values())

    def scheduling(self, name: str) -> tuple[str, int]:
        """Returns type and weight of a scheduler."""
        fields = self.config.table("SCHEDULER")[name]
        return fields.get("type", "WRR"), self.config.number("SCHEDULER", name, "weight", 1) or 0

    @cached_property
    def poll_ms(self) -> int:
        """The period of the watchdog's polls in milliseconds."""
        found = self.config.number("PFC_WD", "GLOBAL", "POLL_INTERVAL", DEFAULT_POLL_MS)
        return DEFAULT_POLL_MS if found is None else found

    @cached_property
    def watchdogs(self) -> dict[str, dict[str, str]]:
        """The fields of PFC_WD by key: a port, or several joined by commas."""
        found = {key: fields for key, fields in self.config.table("PFC_WD").items() if key != "GLOBAL"}
        for key in found:
            for port in key.split(","):
                if port not in self.ports:
                    self.config.wrong("PFC_WD", key, f"PORT has no entry {shown(port)}")
        return found

    def unused_profiles(self) -> Iterator[Profile]:
        """Yields the lossless profiles with a speed and a cable in the name that no group of a port has."""
        used = {one.profile.name for one in self.groups.values() if one.port.is_up}
        yield from (one for name, one in self.profiles.items() if name not in used and one.cable and one.is_lossless)


def port_order(name: str) -> tuple[str, int, str]:
    """Returns the key by which ports are sorted: ``Ethernet8`` before ``Ethernet12``."""
    start = re.sub("[0-9]{1,9}$", "", name)
    return start, int(name[len(start) :] or -1) if name[len(start) :].isascii() else -1, name


def of(
    config: Config, choice: Choice, lookup: Lookup | None, seen: Mapping[str, tuple[str, str]] | None = None
) -> Switch:
    """Returns the switch of a file. Raises `InputError` for a reference without its target."""
    meta = config.table("DEVICE_METADATA").get("localhost", {})
    return Switch(config, choice.of(meta.get("platform", ""), meta.get("hwsku", "")), lookup, seen or {})
