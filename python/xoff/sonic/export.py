"""SONiC configurations from a scenario: the tables of each switch, with values as texts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from xoff._core import InputError
from xoff.sonic import formula
from xoff.sonic.asic import CHIPS, GENERIC, LARGEST_CELL, Asic
from xoff.sonic.formula import KIB, NS_PER_METRE, Link, Traffic
from xoff.sonic.network import ScenarioNetwork, ScenarioPort, quantity
from xoff.sonic.scenario import NO_MARKS, RESPONSE

Tables: TypeAlias = dict[str, Any]

POOL = "ingress_lossless_pool"
MAP = "XOFF"
DEFAULT_OFFSET = 3 * 1024
"""Bytes below the threshold at which pauses end in a scenario without xon and resume_at."""
FRAME = 1000 + 48
"""The largest frame of a scenario without settings of frames, for which no LOSSLESS_TRAFFIC_PATTERN is written."""
_PATTERN = "AZURE"
_MTU = 9100
_SMALL_PERCENT = 50
PASTED = (
    "BUFFER_POOL",
    "BUFFER_PROFILE",
    "BUFFER_PG",
    "BUFFER_QUEUE",
    "WRED_PROFILE",
    "SCHEDULER",
    "QUEUE",
    "PORT_QOS_MAP",
    "PFC_WD",
)
"""The tables to paste: all but those that describe ports, links and maps."""


@dataclass(slots=True)
class Exported:
    """The tables of a switch, and notes on settings without an equal."""

    tables: Tables
    notes: list[str] = field(default_factory=list)


def port_name(number: int) -> str:
    """Returns the name of a port: ``Ethernet4`` for port 1."""
    return f"Ethernet{4 * number}"


def export(network: ScenarioNetwork, name: str, chip: Asic | None = None) -> Exported:
    """Returns the tables of a switch.

    chip: rounds sizes to the cells of a chip, and adds to the pool the parts that the chip counts there; without a chip
        sizes stay as they are.
    """
    if name not in network.switches:
        raise InputError(f"--switch: the scenario has no switch {name!r}; switches are {_some(network.switches)}")
    ports = network.switches[name]
    found = Exported({"DEVICE_METADATA": {"localhost": {"hostname": name, "buffer_model": "traditional"}}})
    _ports(found, network, ports)
    _maps(found, network, ports)
    _memory(found, network, ports, chip)
    _egress(found, network, ports, chip)
    _outputs(found, network, ports)
    _watchdog(found, ports)
    found.notes += _notes(network)
    return found


def _some(names: Iterable[str]) -> str:
    first = list(names)
    return ", ".join(first[:8]) + (", …" if len(first) > 8 else "")


def _keys(ports: Iterable[ScenarioPort]) -> str:
    return ",".join(port_name(port.number) for port in ports)


def _ports(found: Exported, network: ScenarioNetwork, ports: list[ScenarioPort]) -> None:
    tables = found.tables
    tables["PORT"], tables["CABLE_LENGTH"], tables["DEVICE_NEIGHBOR"] = {}, {MAP: {}}, {}
    for port in ports:
        local = port_name(port.number)
        if port.rate_bps % 10**6:
            found.notes.append(f"{local}: the rate of {port.rate_bps} b/s is no whole number of Mb/s; rounded down")
        metres = -(-port.delay_ps // (NS_PER_METRE * 1000))
        if port.delay_ps % (NS_PER_METRE * 1000):
            found.notes.append(f"{local}: the delay of {port.delay_ps} ps is rounded up to {metres}m of cable")
        tables["PORT"][local] = {
            "speed": str(max(1, port.rate_bps // 10**6)),
            "mtu": str(_MTU),
            "lanes": ",".join(str(4 * port.number + at) for at in range(1, 5)),
            "admin_status": "up",
        }
        if _sends(port) != _obeys(port) and len(_obeys(port)) == network.classes:
            tables["PORT"][local]["pfc_asym"] = "on"
        elif _sends(port) != _obeys(port):
            found.notes.append(f"{local}: obeys {_obeys(port)} and sends {_sends(port)}; SONiC has one list for both")
        tables["CABLE_LENGTH"][MAP][local] = f"{metres}m"
        there = next(
            (
                one.number
                for one in network.switches.get(port.peer, ())
                if one.peer == found.tables["DEVICE_METADATA"]["localhost"]["hostname"]
                and _rank(network.switches[port.peer], one) == _rank(ports, port)
            ),
            None,
        )
        tables["DEVICE_NEIGHBOR"][local] = {"name": port.peer, "port": "eth0" if there is None else port_name(there)}


def _rank(ports: list[ScenarioPort], port: ScenarioPort) -> int:
    """Returns the place of a port among the parallel links to its neighbour."""
    return [one.number for one in ports if one.peer == port.peer].index(port.number)


def _sends(port: ScenarioPort) -> list[int]:
    """Returns the classes of which a port sends pauses."""
    return _listed(port, "send")


def _obeys(port: ScenarioPort) -> list[int]:
    """Returns the classes of which a port obeys pauses."""
    return _listed(port, "obey")


def _listed(port: ScenarioPort, key: str) -> list[int]:
    if port.pfc is None:
        return []
    given = next((port.pfc[one] for one in (key, "classes") if port.pfc.get(one) is not None), None)
    return list(range(port.classes)) if given is None else sorted(given)


def _maps(found: Exported, network: ScenarioNetwork, ports: list[ScenarioPort]) -> None:
    classes = range(network.classes)
    found.tables |= {
        "DSCP_TO_TC_MAP": {MAP: {str(code): str(min(code // 8, network.classes - 1)) for code in range(64)}},
        "TC_TO_PRIORITY_GROUP_MAP": {},
        "TC_TO_QUEUE_MAP": {MAP: {str(one): str(one) for one in classes}},
        "MAP_PFC_PRIORITY_TO_QUEUE": {MAP: {str(one): str(one) for one in range(8)}},
        "PORT_QOS_MAP": {},
    }
    names = ("dscp_to_tc_map", "tc_to_pg_map", "tc_to_queue_map", "pfc_to_queue_map")
    for port in ports:
        enabled = ",".join(map(str, _sends(port)))
        groups = lossy_groups(port)
        entry = dict.fromkeys(names, MAP) | {"pfc_enable": enabled}
        entry["tc_to_pg_map"] = _group_map(
            found.tables["TC_TO_PRIORITY_GROUP_MAP"], {str(one): str(groups.get(one, one)) for one in classes}
        )
        if port.pfc is not None and port.pfc.get("watchdog"):
            entry["pfcwd_sw_enable"] = enabled
        found.tables["PORT_QOS_MAP"][port_name(port.number)] = entry
    if (frame := _frame(network)) is not None:
        pattern = {"mtu": str(frame), "small_packet_percentage": str(_SMALL_PERCENT)}
        found.tables["LOSSLESS_TRAFFIC_PATTERN"] = {_PATTERN: pattern}


def _frame(network: ScenarioNetwork) -> int | None:
    """Returns the largest frame of a scenario; None for that of a scenario without settings of frames."""
    frame = network.payload + network.header
    return None if frame == FRAME else frame


def _group_map(maps: Tables, values: dict[str, str]) -> str:
    """Adds a map from classes to groups, and returns its name."""
    name = next((one for one, known in maps.items() if known == values), MAP if not maps else f"{MAP}_{len(maps)}")
    maps[name] = values
    return name


def lossy_groups(port: ScenarioPort) -> dict[int, int]:
    """Returns the priority group of each lossy class of a port.

    Classes share a group that count together, or that have equal alpha and reserve.
    """
    sends = _sends(port)
    free = [one for one in range(8) if one not in sends]
    lossy = [one for one in range(port.classes) if one not in sends]
    groups: dict[tuple[object, ...], int] = {}
    return {
        one: groups.setdefault((*of_class(port, one), port.counted_with(one)), free[min(len(groups), len(free) - 1)])
        for one in lossy
    }


def of_class(port: ScenarioPort, one: int) -> tuple[float, int]:
    """Returns alpha and reserve of a class."""
    own: Mapping[str, Any] = next((group for group in port.buffer.get("groups") or () if one in group["classes"]), {})
    values = [port.buffer[key] if own.get(key) is None else own[key] for key in ("alpha", "reserve")]
    return float(values[0]), quantity(values[1])


def _memory(found: Exported, network: ScenarioNetwork, ports: list[ScenarioPort], chip: Asic | None) -> None:
    """Writes the ingress pool, profiles and groups: B is what reserves and headroom leave of the memory."""
    pool = quantity(ports[0].buffer["headroom_pool"]) if ports[0].buffer.get("headroom_pool") else 0
    profiles: Tables = {}
    groups: Tables = {}
    shared, inside = quantity(ports[0].buffer["total"]) - pool, 0
    kept = chip is not None and chip.reserve_in_pool, chip is not None and chip.headroom_in_pool
    for port in ports:
        local, headroom, sends = port_name(port.number), _headroom(found, network, port, chip), _sends(port)
        counted = [one for one in range(network.classes) if port.counted_with(one) in {None, one}]
        reserves = {one: _reserve(found, port, one, chip, is_shared=bool(pool)) for one in counted}
        shared -= sum(reserves.values()) + (0 if pool else headroom * len(sends))
        inside += _up(headroom, chip) * len(sends) if kept[1] and not pool else 0
        lossy = lossy_groups(port)
        for group in sorted(set(lossy.values())):
            alpha, reserve = of_class(port, next(one for one, number in lossy.items() if number == group))
            values = {"pool": POOL, "size": str(_up(reserve, chip)), "dynamic_th": str(_power(found, local, alpha))}
            groups[f"{local}|{group}"] = {"profile": _named(profiles, "ingress_lossy_profile", values)}
            inside += _up(reserve, chip) if kept[0] else 0
        for one in sends:
            alpha, reserve = of_class(port, one)[0], _reserve(found, port, one, chip, is_shared=bool(pool))
            name = (
                f"pg_lossless_{found.tables['PORT'][local]['speed']}_{found.tables['CABLE_LENGTH'][MAP][local]}_profile"
            )
            values = _lossless(port, reserve, headroom, chip, is_shared=bool(pool))
            values["dynamic_th"] = str(_power(found, local, alpha))
            groups[f"{local}|{one}"] = {"profile": _named(profiles, name, values)}
            inside += _up(reserve, chip) if kept[0] else 0
    if shared <= 0:
        raise InputError(
            f"switch.buffer.shared.total: reserves and headroom exceed the memory of {ports[0].buffer['total']}, and "
            "nothing can be shared: raise total, or give switch.buffer.shared.headroom, if the neighbours react faster "
            "than 802.3 allows"
        )
    size = _up(shared + inside + (_up(pool, chip) if kept[1] else 0), chip)
    ingress = {"type": "ingress", "mode": "dynamic", "size": str(size)} | (
        {"xoff": str(_up(pool, chip))} if pool else {}
    )
    found.tables |= {"BUFFER_POOL": {POOL: ingress}, "BUFFER_PROFILE": profiles, "BUFFER_PG": groups}


def _egress(found: Exported, network: ScenarioNetwork, ports: list[ScenarioPort], chip: Asic | None) -> None:
    """Writes the pools and limits of queues; none without pools of outputs in the scenario."""
    for number, one in enumerate(ports[0].buffer.get("egress") or ()):
        name = f"egress_pool_{number}"
        total, is_static = str(_up(quantity(one["total"]), chip)), one.get("alpha") is None
        found.tables["BUFFER_POOL"][name] = {
            "type": "egress",
            "mode": "static" if is_static else "dynamic",
            "size": total,
        }
        limit = quantity(one["total" if one.get("limit") is None else "limit"])
        parts = chip.slices if chip is not None and chip.limit_of_slice else 1
        threshold = (
            {"static_th": str(_up(-(-limit // parts), chip))}
            if is_static
            else {"dynamic_th": str(_power(found, name, float(one["alpha"])))}
        )
        found.tables["BUFFER_PROFILE"][f"egress_profile_{number}"] = {"pool": name, "size": "0", **threshold}
        classes = range(network.classes) if one.get("classes") is None else one["classes"]
        for port in ports:
            for each in classes:
                key = f"{port_name(port.number)}|{each}"
                queues = found.tables.setdefault("BUFFER_QUEUE", {})
                queues.setdefault(key, {"profile": f"egress_profile_{number}"})


def _headroom(found: Exported, network: ScenarioNetwork, port: ScenarioPort, chip: Asic | None) -> int:
    """Returns the headroom of a port's lossless groups: the given one, or enough for real neighbours and cells.

    A scenario computes the headroom of its own neighbours, which may react at once, and often counts bytes.
    """
    given = port.buffer.get("headroom")
    if given is not None:
        return quantity(given)
    needed = network.needed.get((port.rate_bps, port.delay_ps), 0)
    local, cells = port_name(port.number), chip_of(network, chip)
    if "cell" in cells.unknown:
        cells = replace(cells, cell=LARGEST_CELL)
    speed, metres = int(found.tables["PORT"][local]["speed"]), int(found.tables["CABLE_LENGTH"][MAP][local][:-1])
    traffic = Traffic(_frame(network) or Traffic().mtu, _SMALL_PERCENT)
    least = formula.physics(cells, Link(speed, metres, _MTU), traffic)
    # SONiC's own sizes are whole KiB where the cells of a chip are not known.
    written = _up(max(needed, least), chip) if chip is not None else -(-max(needed, least) // KIB) * KIB
    if needed < least and _sends(port):
        found.notes.append(
            f"headroom at {speed} Mb/s and {metres}m: {written} B instead of the scenario's {needed} B, because "
            f"neighbours react within the limit of 802.3 and frames take whole cells of up to {cells.cell} B"
        )
    return written


def _up(size: int, chip: Asic | None) -> int:
    return size if chip is None else -(-size // chip.unit) * chip.unit


def _power(found: Exported, place: str, alpha: float) -> int:
    power = min(7, max(-8, round(math.log2(alpha)))) if alpha > 0 else -8
    if 2.0**power != alpha:
        found.notes.append(f"{place}: alpha {alpha:g} is no power of two from -8 to 7; 2^{power} is written")
    return power


def _reserve(found: Exported, port: ScenarioPort, one: int, chip: Asic | None, *, is_shared: bool) -> int:
    """Returns the reserve of a class: at least xon, if the size of a lossless profile contains xon."""
    reserve = of_class(port, one)[1]
    if one not in _sends(port) or is_shared or chip is None or chip.size_holds != "xon+xoff":
        return reserve
    if (least := _xon(port, chip)) > reserve:
        found.notes.append(f"reserve of {reserve} B: {least} B are written, because a size of {chip.name} contains xon")
    return max(reserve, least)


def _xon(port: ScenarioPort, chip: Asic | None) -> int:
    """Returns the bytes of a lossless group at which its pause ends."""
    at = (port.pfc or {}).get("resume_at")
    if at is not None:
        return _up(quantity(at), chip)
    return (chip.pipeline or 2 * chip.unit) if chip is not None and chip.resume == "xon" else 0


def _lossless(port: ScenarioPort, reserve: int, headroom: int, chip: Asic | None, *, is_shared: bool) -> dict[str, str]:
    """Returns a lossless profile without the threshold."""
    reserve, xoff = _up(reserve, chip), _up(headroom, chip)
    values = {"pool": POOL, "size": str(reserve + (0 if is_shared else xoff)), "xoff": str(xoff)}
    offset, at = (port.pfc or {}).get("xon"), (port.pfc or {}).get("resume_at")
    values["xon"] = str(_xon(port, chip))
    if (offset is not None or at is None) and (chip is None or chip.resume == "offset"):
        values["xon_offset"] = str(_up(DEFAULT_OFFSET if offset is None else quantity(offset), chip))
    return values


def _named(profiles: Tables, name: str, values: dict[str, str]) -> str:
    """Adds a profile, and returns its name: with a number where another profile has the name."""
    number = 1
    while profiles.setdefault(named := name if number == 1 else f"{name}_{number}", values) != values:
        number += 1
    return named


def _outputs(found: Exported, network: ScenarioNetwork, ports: list[ScenarioPort]) -> None:
    """Writes schedulers and marking."""
    schedulers: Tables = {}
    curves: Tables = {}
    queues: Tables = {}
    turns = _turns(network)
    for port in ports:
        for one in range(network.classes):
            kind, weight = turns[one]
            scheduler = "scheduler.strict" if kind == "STRICT" else f"scheduler.{weight}"
            schedulers[scheduler] = {"type": kind} | ({} if kind == "STRICT" else {"weight": str(weight)})
            entry = {"scheduler": scheduler}
            if (curve := _curve(found, port, one)) is not None:
                name = next((key for key, value in curves.items() if value == curve), f"{MAP}_{len(curves)}")
                curves[name] = curve
                entry["wred_profile"] = name
            queues[f"{port_name(port.number)}|{one}"] = entry
    found.tables |= {"SCHEDULER": schedulers, "QUEUE": queues}
    if curves:
        found.tables["WRED_PROFILE"] = curves


def _turns(network: ScenarioNetwork) -> list[tuple[str, int]]:
    scheduler = network.document["switch"]["scheduler"]
    if isinstance(scheduler, dict) and "queues" in scheduler:
        listed = [
            ("STRICT", 1) if one["type"] == "strict" else ("DWRR", one.get("weight") or 1)
            for one in scheduler["queues"]
        ]
        return (listed + [("DWRR", 1)] * network.classes)[: network.classes]
    if scheduler == "strict":
        return [("STRICT", 1)] * network.classes
    strict = network.document["switch"].get("strict_priority_classes", 0)
    return [("DWRR", 1)] * (network.classes - strict) + [("STRICT", 1)] * strict


def _curve(found: Exported, port: ScenarioPort, one: int) -> dict[str, str] | None:
    """Returns the WRED profile of a class; None without a curve."""
    ecn = port.ecn or {}
    profile = next((profile for profile in ecn.get("profiles") or () if one in profile["classes"]), None)
    if profile is None and ecn.get("classes") is not None and one not in ecn["classes"]:
        return None
    curve = ecn if profile is None else profile
    if red := curve.get("red"):
        kmin, kmax, probability = quantity(red["kmin"]), quantity(red["kmax"]), float(red["pmax"])
    elif step := curve.get("step"):
        kmin = kmax = quantity(step["threshold"])
        probability = 1.0
    else:
        return None
    if kmin >= NO_MARKS:
        return None
    percent = round(100 * probability)
    if abs(percent / 100 - probability) > 1e-9:
        found.notes.append(f"{port_name(port.number)}: pmax {probability:g} is rounded to {percent} %")
    return {
        "ecn": "ecn_all" if profile is None or profile.get("ect", True) else "ecn_none",
        "wred_green_enable": "true",
        "green_min_threshold": str(kmin),
        "green_max_threshold": str(kmax),
        "green_drop_probability": str(percent),
    }


def _watchdog(found: Exported, ports: list[ScenarioPort]) -> None:
    dog = next((port.pfc["watchdog"] for port in ports if port.pfc and port.pfc.get("watchdog")), None)
    if dog is None:
        return
    detection = quantity(dog["detection"])
    restoration = quantity(dog["restoration"]) if dog.get("restoration") else 2 * detection
    poll = quantity(dog["poll"]) if dog.get("poll") else detection // 2
    limits = {"detection": (detection, 100, 5000), "restoration": (restoration, 100, 60000), "poll": (poll, 100, 1000)}
    values = {}
    for key, (value, low, high) in limits.items():
        values[key] = min(max(-(-value // 10**9), low), high)
        if values[key] * 10**9 != value:
            found.notes.append(f"pfc.watchdog.{key}: SONiC has {low} to {high} ms; {values[key]} ms is written")
    fields = {
        "action": dog["action"],
        "detection_time": str(values["detection"]),
        "restoration_time": str(values["restoration"]),
    }
    found.tables["PFC_WD"] = {"GLOBAL": {"POLL_INTERVAL": str(values["poll"])}} | {
        port_name(port.number): fields for port in ports
    }


def _notes(network: ScenarioNetwork) -> list[str]:
    """Returns notes on mechanisms of switches that SONiC does not configure."""
    switch = network.document["switch"]
    notes = [
        f"switch.flow_control.{name}: has no table in SONiC"
        for name, value in switch.get("flow_control", {}).items()
        if name != "pfc" and value is not None
    ]
    pfc = switch.get("flow_control", {}).get("pfc") or {}
    notes += [
        f"switch.flow_control.pfc.{key}: has no equal in SONiC"
        for key in ("xoff", "quanta")
        if pfc.get(key) is not None
    ]
    if pfc.get("response") not in {None, RESPONSE}:
        notes.append(f"switch.flow_control.pfc.response = {pfc['response']}: neighbours under SONiC have that of 802.3")
    notes += [
        f"switch.{key}: has no table in SONiC" for key in ("trimming", "routing", "cut_through") if switch.get(key)
    ]
    return notes


def chip_of(network: ScenarioNetwork, chip: Asic | None) -> Asic:
    """Returns the chip of the exported switches: that of the export, or a generic chip with the scenario's cells."""
    if chip is not None:
        return chip
    cell = network.document["switch"]["buffer"]["shared"].get("cell")
    generic = CHIPS[GENERIC]
    return generic if cell is None else replace(generic, cell=quantity(cell), unknown=())
