"""SONiC configurations from a scenario: the tables of each switch, with values as texts."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from xoff._core import InputError
from xoff.sonic.asic import CHIPS, Asic
from xoff.sonic.formula import NS_PER_METRE
from xoff.sonic.network import ScenarioNetwork, ScenarioPort, quantity
from xoff.sonic.scenario import NO_MARKS

Tables: TypeAlias = dict[str, Any]

POOL, EGRESS = "ingress_lossless_pool", "egress_lossless_pool"
MAP = "XOFF"
DEFAULT_OFFSET = 3 * 1024
"""Bytes below the threshold at which pauses end in a scenario without xon and resume_at."""
FRAME = 1000 + 48
"""The largest frame of a scenario without settings of frames, for which no LOSSLESS_TRAFFIC_PATTERN is written."""
_PATTERN = "AZURE"
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
            "mtu": "9100",
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
    lossless = {one for port in ports for one in _sends(port)}
    lossy_group = next((one for one in range(8) if one not in lossless), 0)
    found.tables |= {
        "DSCP_TO_TC_MAP": {MAP: {str(code): str(min(code // 8, network.classes - 1)) for code in range(64)}},
        "TC_TO_PRIORITY_GROUP_MAP": {MAP: {str(one): str(one if one in lossless else lossy_group) for one in classes}},
        "TC_TO_QUEUE_MAP": {MAP: {str(one): str(one) for one in classes}},
        "MAP_PFC_PRIORITY_TO_QUEUE": {MAP: {str(one): str(one) for one in range(8)}},
        "PORT_QOS_MAP": {},
    }
    names = ("dscp_to_tc_map", "tc_to_pg_map", "tc_to_queue_map", "pfc_to_queue_map")
    for port in ports:
        enabled = ",".join(map(str, _sends(port)))
        entry = dict.fromkeys(names, MAP) | {"pfc_enable": enabled}
        if port.pfc is not None and port.pfc.get("watchdog"):
            entry["pfcwd_sw_enable"] = enabled
        found.tables["PORT_QOS_MAP"][port_name(port.number)] = entry
    if network.payload + network.header != FRAME:
        frame = network.payload + network.header
        found.tables["LOSSLESS_TRAFFIC_PATTERN"] = {_PATTERN: {"mtu": str(frame), "small_packet_percentage": "50"}}


def _memory(found: Exported, network: ScenarioNetwork, ports: list[ScenarioPort], chip: Asic | None) -> None:
    """Writes pools, profiles and groups: B is what reserves and headroom leave of the memory."""
    total = quantity(ports[0].buffer["total"])
    profiles: Tables = {}
    groups: Tables = {}
    lossless = {one for port in ports for one in _sends(port)}
    lossy_group = next((one for one in range(8) if one not in lossless), 0)
    pool = quantity(ports[0].buffer["headroom_pool"]) if ports[0].buffer.get("headroom_pool") else 0
    shared, inside = total - pool, _up(pool, chip) if chip and chip.headroom_in_pool else 0
    for port in ports:
        reserve, headroom = quantity(port.buffer["reserve"]), _headroom(network, port)
        sends = _sends(port)
        shared -= reserve * network.classes + (0 if pool else headroom * len(sends))
        power = _power(found, port)
        lossy = _profile(profiles, "ingress_lossy_profile", reserve, None, power, port, chip)
        groups[f"{port_name(port.number)}|{lossy_group}"] = {"profile": lossy}
        inside += _up(reserve, chip) if chip and chip.reserve_in_pool else 0
        if sends:
            metres = found.tables["CABLE_LENGTH"][MAP][port_name(port.number)]
            speed = found.tables["PORT"][port_name(port.number)]["speed"]
            name = f"pg_lossless_{speed}_{metres}_profile"
            made = _profile(profiles, name, reserve, headroom, power, port, chip, is_shared=bool(pool))
            groups |= {f"{port_name(port.number)}|{one}": {"profile": made} for one in sends}
            inside += len(sends) * (_up(headroom, chip) if chip and chip.headroom_in_pool and not pool else 0)
            inside += len(sends) * (_up(reserve, chip) if chip and chip.reserve_in_pool else 0)
    if shared <= 0:
        raise InputError("switch.buffer.shared.total: reserves and headroom exceed the memory; nothing can be shared")
    size = _up(shared + inside, chip)
    outside = pool or sum(_headroom(network, port) * len(_sends(port)) for port in ports)
    found.tables |= {
        "BUFFER_POOL": {
            POOL: {"type": "ingress", "mode": "dynamic", "size": str(size)}
            | ({"xoff": str(_up(pool, chip))} if pool else {}),
            EGRESS: {"type": "egress", "mode": "static", "size": str(_up(size + outside, chip))},
        },
        "BUFFER_PROFILE": profiles
        | {
            "egress_profile": {"pool": EGRESS, "size": "0", "static_th": str(_up(size + outside, chip))},
        },
        "BUFFER_PG": groups,
        "BUFFER_QUEUE": {
            f"{port_name(port.number)}|0-{network.classes - 1}": {"profile": "egress_profile"} for port in ports
        },
    }


def _headroom(network: ScenarioNetwork, port: ScenarioPort) -> int:
    given = port.buffer.get("headroom")
    return quantity(given) if given is not None else network.needed.get((port.rate_bps, port.delay_ps), 0)


def _up(size: int, chip: Asic | None) -> int:
    return size if chip is None else -(-size // chip.unit) * chip.unit


def _power(found: Exported, port: ScenarioPort) -> int:
    alpha = float(port.buffer["alpha"])
    power = min(7, max(-8, round(math.log2(alpha)))) if alpha > 0 else -8
    if 2.0**power != alpha:
        found.notes.append(
            f"{port_name(port.number)}: alpha {alpha:g} is no power of two from -8 to 7; 2^{power} is written"
        )
    return power


def _profile(
    profiles: Tables,
    name: str,
    reserve: int,
    headroom: int | None,
    power: int,
    port: ScenarioPort,
    chip: Asic | None,
    *,
    is_shared: bool = False,
) -> str:
    """Adds a profile, and returns its name: with a number where another profile has the name."""
    reserve = _up(reserve, chip)
    values = {"pool": POOL, "size": str(reserve), "dynamic_th": str(power)}
    if headroom is not None and port.pfc is not None:
        xoff = _up(headroom, chip)
        values |= {"size": str(reserve + (0 if is_shared else xoff)), "xoff": str(xoff), "xon": "0"}
        offset, at = port.pfc.get("xon"), port.pfc.get("resume_at")
        if at is not None:
            values["xon"] = str(_up(quantity(at), chip))
        elif chip is not None and chip.resume == "xon":
            values["xon"] = str(chip.pipeline or 2 * chip.unit)
        if (offset is not None or at is None) and (chip is None or chip.resume == "offset"):
            values["xon_offset"] = str(_up(DEFAULT_OFFSET if offset is None else quantity(offset), chip))
    for number in range(1, len(profiles) + 2):
        named = name if number == 1 else f"{name}_{number}"
        if profiles.setdefault(named, values) == values:
            return named
    raise AssertionError("one of the names is free")


def _outputs(found: Exported, network: ScenarioNetwork, ports: list[ScenarioPort]) -> None:
    """Writes schedulers and marking."""
    schedulers: Tables = {}
    curves: Tables = {}
    queues: Tables = {}
    turns = _turns(network)
    for port in ports:
        curve = _curve(found, port)
        marked = (port.ecn or {}).get("classes")
        for one in range(network.classes):
            kind, weight = turns[one]
            scheduler = "scheduler.strict" if kind == "STRICT" else f"scheduler.{weight}"
            schedulers[scheduler] = {"type": kind} | ({} if kind == "STRICT" else {"weight": str(weight)})
            entry = {"scheduler": scheduler}
            if curve is not None and (marked is None or one in marked):
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


def _curve(found: Exported, port: ScenarioPort) -> dict[str, str] | None:
    ecn = port.ecn or {}
    if red := ecn.get("red"):
        kmin, kmax, probability = quantity(red["kmin"]), quantity(red["kmax"]), float(red["pmax"])
    elif step := ecn.get("step"):
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
        "ecn": "ecn_all",
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
    notes += [
        f"switch.{key}: has no table in SONiC" for key in ("trimming", "routing", "cut_through") if switch.get(key)
    ]
    return notes


def chip_text(network: ScenarioNetwork, chip: Asic | None) -> str:
    """Returns the file of the chip beside the switches: the chip of the export, or the cells of the scenario."""
    if chip is not None and chip.name in CHIPS:
        return f'base = "{chip.name}"\n'
    cell = network.document["switch"]["buffer"]["shared"].get("cell")
    lines = [
        'base = "generic"',
        'resume = "offset"',
        "slices = 1",
        "headroom_in_pool = false",
        "reserve_in_pool = false",
    ]
    return "\n".join([*lines, *([] if cell is None else [f"cell = {quantity(cell)}"])]) + "\n"
