"""Entries to paste for SONiC: a lossless profile of a link, the pools of a switch, and a curve of marks.

The headroom of a profile is by formula, by physics, or from a lookup table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xoff._core import InputError
from xoff.importing.source import shown
from xoff.sizing import marking
from xoff.sonic import asic, formula
from xoff.sonic.asic import Asic
from xoff.sonic.formula import NS_PER_METRE, Headroom, Link, Traffic

METHODS = ("formula", "formula-a", "physics", "table:FILE")
_RESERVE_CELLS, _OFFSET_CELLS = 6, 12
"""Published for Tomahawk 2 (7260CX3): size and xon of 1,248 B, xon_offset of 2,496 B, in cells of 208 B."""


@dataclass(frozen=True, slots=True)
class Choices:
    """The choices of a calculation."""

    chip: str | None = None
    method: str | None = None
    lossless_frame: str = "1024B"
    small_percent: int = 50
    lanes: int = 4
    is_shared: bool = False
    dynamic_th: int = 0


def profile(rate: str, link_delay: str, max_frame: str, choices: Choices) -> dict[str, Any]:
    """Returns the entry to paste, the method, and the bytes of each part.

    Raises `InputError` for an unknown chip or method, and for a table without rows of the speed.
    """
    chip = asic.chosen(choices.chip).of("", "")
    speed = marking.quantity("--rate", rate, "bps", 10**6, 10**13) // 10**6
    link = Link(speed, _metres(link_delay), _frame("--max-frame", max_frame), choices.lanes)
    traffic = Traffic(_frame("--lossless-frame", choices.lossless_frame), choices.small_percent, is_given=True)
    found = _sized(choices, chip, link, traffic)
    entry = {
        "pool": "ingress_lossless_pool",
        "size": found.size,
        "xon": found.xon,
        "xoff": found.xoff,
        "dynamic_th": choices.dynamic_th if found.dynamic_th is None else found.dynamic_th,
    }
    if found.xon_offset is not None:
        entry["xon_offset"] = found.xon_offset
    name = f"pg_lossless_{speed}_{link.metres}m_profile"
    return {
        "chip": chip.name,
        "method": found.method,
        "cell_bytes": chip.cell,
        "small_packets_percent": choices.small_percent,
        "lossless_frame_bytes": traffic.mtu,
        "cable_bytes": link.cable_bytes,
        "response_bytes": int(formula.response(speed)),
        "physics_bytes": formula.physics(chip, link, traffic),
        "unknown": list(chip.unknown),
        "BUFFER_PROFILE": {name: {key: str(value) for key, value in entry.items()}},
    }


@dataclass(frozen=True, slots=True)
class Room:
    """The lossless groups of a switch, and the memory for the groups."""

    memory: int | None
    """In bytes; None: that of the chip."""
    ports: int
    classes: int
    headroom: int
    """Headroom of a group in bytes."""
    over_subscribe: int = 0
    """Headroom of all groups divided by the shared headroom pool; 0: each group has separate headroom."""


def pools(room: Room, chip_name: str | None) -> dict[str, Any]:
    """Returns the entries of BUFFER_POOL to paste, and the bytes of each part of the memory.

    Raises `InputError` for an unknown chip or memory, and if reserves and headroom exceed the memory.
    """
    chip = asic.chosen(chip_name).of("", "")
    memory = chip.memory if room.memory is None else room.memory
    if memory is None:
        raise InputError(f"--memory: is needed; the memory of {chip.name} is not known")
    groups = room.ports * room.classes
    headroom = -(-room.headroom // chip.unit) * chip.unit
    reserves = groups * _RESERVE_CELLS * chip.cell
    pool = -(-groups * headroom // (max(1, room.over_subscribe) * chip.unit)) * chip.unit
    shared = (memory - reserves - pool) // chip.unit * chip.unit
    if shared <= 0:
        raise InputError(
            f"--memory: {memory:,} B are less than the reserves and the headroom of {groups:,} groups, "
            f"{reserves + pool:,} B; give fewer --ports or --classes, or share headroom with --over-subscribe"
        )
    size = shared + (reserves if chip.reserve_in_pool else 0) + (pool if chip.headroom_in_pool else 0)
    ingress = {"type": "ingress", "mode": "dynamic", "size": str(size)}
    if room.over_subscribe:
        ingress["xoff"] = str(pool)
    whole = str(memory // chip.unit * chip.unit)
    return {
        "chip": chip.name,
        "memory_bytes": memory,
        "groups": groups,
        "reserves_bytes": reserves,
        "headroom_bytes": pool,
        "shared_bytes": shared,
        "groups_in_headroom_at_once": pool // headroom if headroom else groups,
        "unknown": list(chip.unknown),
        "BUFFER_POOL": {
            "ingress_lossless_pool": ingress,
            "egress_lossless_pool": {"type": "egress", "mode": "static", "size": whole},
        },
    }


def response_time_ps(rate: str) -> int:
    """Returns the reaction of a neighbour to a pause at a rate: quanta of 512 bit times (802.3, 31B.3.7)."""
    bps = marking.quantity("--rate", rate, "bps", 10**6, 10**13)
    if (found := formula.response_time_ps(bps)) is None:
        speeds = ", ".join(f"{speed // 1000}" for speed in formula.QUANTA)
        raise InputError(f"--response-time 802.3: no pause quanta for {rate}; rates in Gb/s are {speeds}")
    return found


def _frame(option: str, text: str) -> int:
    return marking.quantity(option, text, "bytes", 64, 65_535)


def _metres(text: str) -> int:
    """Returns the length of a cable: of a length as it is, of a delay at 5 ns a metre, rounded up."""
    if found := re.fullmatch("([0-9]{1,7}) ?m", text):
        return int(found[1])
    return -(-marking.quantity("--link-delay", text, "ps", 0, 10**12) // (NS_PER_METRE * 1000))


def _sized(choices: Choices, chip: Asic, link: Link, traffic: Traffic) -> Headroom:
    method = choices.method or ("physics" if chip.pipeline is None else "formula")
    if method.startswith("table:"):
        table = formula.lookup(Path(method.removeprefix("table:")))
        if (row := table.between(link.speed, link.metres)) is None:
            raise InputError(f"--method {method}: has no row of {link.speed} Mb/s and {link.metres}m, nor two to go by")
        return row
    if method in {"formula", "formula-a"}:
        if chip.pipeline is None:
            raise InputError(f"--method {method}: there is no formula for {chip.name}; give physics or table:FILE")
        generation = "A" if method == "formula-a" else "B"
        return formula.dynamic(chip, link, traffic, has_shared_headroom=choices.is_shared, generation=generation)
    if method != "physics":
        raise InputError(f"--method: {shown(method)} is not known; allowed are {', '.join(METHODS)}")
    xoff = formula.physics(chip, link, traffic)
    xoff = -(-xoff // chip.unit) * chip.unit
    reserve, offset = _RESERVE_CELLS * chip.cell, _OFFSET_CELLS * chip.cell
    return Headroom(reserve if choices.is_shared else reserve + xoff, reserve, xoff, offset, method="physics")


def curve(row: Mapping[str, Any], below_pauses: int | None) -> dict[str, dict[str, str]]:
    """Returns an entry of WRED_PROFILE that marks green packets: a row of `marking.ecn`.

    below_pauses: the largest `kmin` at which marks precede pauses; None if unknown.
    """
    kmin, kmax = int(row["kmin_bytes"]), int(row["kmax_bytes"])
    kmin = kmin if below_pauses is None else min(kmin, max(0, below_pauses - 1))
    values = {
        "ecn": "ecn_all",
        "wred_green_enable": "true",
        "green_min_threshold": str(kmin),
        "green_max_threshold": str(max(kmin, kmax)),
        "green_drop_probability": str(round(100 * row["pmax"])),
    }
    return {"ROCE": values}


def pool_line(found: Mapping[str, Any]) -> str:
    """Returns the parts of the memory in a line."""
    return (
        f"chip {found['chip']}: {found['memory_bytes']:,} B = reserves {found['reserves_bytes']:,} + headroom "
        f"{found['headroom_bytes']:,} + shared {found['shared_bytes']:,}; the headroom is enough for "
        f"{found['groups_in_headroom_at_once']:,} of {found['groups']:,} groups at once"
    )


def lines(found: Mapping[str, Any]) -> list[str]:
    """Returns the summary of a profile in lines."""
    assumed = f"; assumed: {', '.join(found['unknown'])}" if found["unknown"] else ""
    return [
        f"chip {found['chip']}, cells of {found['cell_bytes']} B{assumed}",
        f"method {found['method']}: {found['small_packets_percent']} % small packets, lossless frames of "
        f"{found['lossless_frame_bytes']} B",
        f"cable {found['cable_bytes']:,} B, response {found['response_bytes']:,} B, by physics at least "
        f"{found['physics_bytes']:,} B",
    ]
