"""Switch chips: cells, slices, what a pool's size contains, and the rules of resume and watchdog.

Sources: ``qos_params`` of sonic-mgmt and ``asic_table.j2`` of sonic-buildimage. docs/models/sonic.md lists the evidence
for each chip. A file given with ``--asic`` replaces any value.
"""

from __future__ import annotations

import dataclasses
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xoff._core import InputError
from xoff.importing.source import read_bytes, shown

_MAX_BYTES = 2**16


@dataclass(frozen=True, slots=True)
class Asic:
    """A chip. Sizes are in bytes."""

    name: str
    cell: int
    """Frames take whole cells."""
    slices: int = 1
    """Equal parts of memory, shared headroom pool and ports."""
    headroom_in_pool: bool = False
    """``BUFFER_POOL.size`` contains headroom or the shared headroom pool."""
    reserve_in_pool: bool = False
    """``BUFFER_POOL.size`` contains the reserves of groups."""
    resume: str = "offset"
    """``offset``: at the larger of xon and the threshold less xon_offset; ``xon``: at xon."""
    watchdog: str = "broadcom"
    memory: int | None = None
    max_headroom_size: int | None = None
    """Limit of the sum of a port's headroom."""
    limit_of_slice: bool = False
    """A ``static_th`` is the limit of one slice, and not of all."""
    cell_overhead: int = 0
    """Bytes that a frame takes in its cells beside its own."""
    pipeline: int | None = None
    """Pipeline latency in bytes, for the formula of the dynamic buffer model; None without a formula."""
    formula: str = ""
    """``nvidia`` or ``tofino``; empty without a formula."""
    size_holds: str = ""
    """Without a shared headroom pool, ``BUFFER_PROFILE.size`` holds ``xon+xoff`` or ``xoff``; empty if unknown."""
    unknown: tuple[str, ...] = ()
    """Keys without a known value. Checks try all values of `RANGES`; an import assumes those of the chip."""

    @property
    def unit(self) -> int:
        """The unit of sizes in a configuration, in bytes."""
        return 1024 if self.formula == "nvidia" else self.cell


def _spectrum(name: str, cell: int, pipeline: int = 19) -> Asic:
    return Asic(
        name, cell, resume="xon", watchdog="nvidia", pipeline=pipeline * 1024, formula="nvidia", size_holds="xon+xoff"
    )


_PARTS = ("slices", "headroom_in_pool", "reserve_in_pool", "limit_of_slice")
UNKNOWN = "unknown"
"""The name of a chip that `CHIPS` does not list."""
GENERIC = "generic"
"""The name of a chip with one slice and a pool that contains neither headroom nor reserves."""

CHIPS: Mapping[str, Asic] = {
    chip.name: chip
    for chip in (
        Asic(UNKNOWN, 208, unknown=("cell", *_PARTS, "resume")),
        Asic(GENERIC, 208, unknown=("cell",)),
        Asic("trident2", 208, headroom_in_pool=True, reserve_in_pool=True, size_holds="xoff"),
        Asic("trident3", 256, headroom_in_pool=True, reserve_in_pool=True),
        Asic("trident4", 318, unknown=_PARTS),
        Asic("tomahawk", 208, slices=4),
        Asic("tomahawk2", 208, slices=4),
        Asic("tomahawk3", 254, unknown=_PARTS),
        Asic("tomahawk4", 254, headroom_in_pool=True, unknown=("slices", "reserve_in_pool", "limit_of_slice")),
        Asic("tomahawk5", 254, slices=2, headroom_in_pool=True, limit_of_slice=True),
        Asic("tomahawk6", 420, memory=636_183 * 420, unknown=("headroom_in_pool", "reserve_in_pool")),
        _spectrum("spectrum1", 96),
        _spectrum("spectrum2", 144),
        _spectrum("spectrum3", 144),
        _spectrum("spectrum4", 192),
        _spectrum("spectrum5", 192),
        _spectrum("spectrum6", 256, 42),
        Asic("tofino1", 80, size_holds="xon+xoff", unknown=("cell", *_PARTS)),
        Asic("tofino2", 176, pipeline=68 * 1024, formula="tofino", unknown=_PARTS),
        Asic("vs", 128, pipeline=18 * 1024, formula="nvidia", resume="xon", unknown=_PARTS),
    )
}
LARGEST_CELL = max(chip.cell for chip in CHIPS.values())
"""Of the known chips: sizes for a chip that nobody named hold for all of them."""
ALIASES: Mapping[str, str] = {
    "td2": "trident2", "td3": "trident3", "td4": "trident4", "th": "tomahawk",
    **{f"th{n}": f"tomahawk{n}" for n in range(2, 7)}, **{f"spc{n}": f"spectrum{n}" for n in range(1, 7)},
}  # fmt: skip

# Patterns of platform and hwsku: the folders of sonic-buildimage, where names such as `th5-….config.bcm` tell the chip.
_PLATFORMS: tuple[tuple[str, str], ...] = (
    (r"7050_?qx|s6000|as5712|as5812|as6712|s8810_32q|d6254qs", "trident2"),
    (
        r"7050[cs]x3|as7326|as7726|ds2000|ds3000|questone_2|seastone_2|s52\d\df|ag9032v2a|d6332|d6356|m2-w6510|"
        r"ix7_|ix8a?_|ix8c_|b6510|s6301_56st|s7801_54xs|s8901_54xc|s9110_32x",
        "trident3",
    ),
    (r"7050dx4|s5448f|z9432f|m2-w6520|ixr7220_d4|s9300_32d|s9301_32db", "trident4"),
    (
        r"7060_?cx|z9100|s6100|as7312|as7712|as7716|seastone-|dx010|snh60a0|ag5648|ag9032v1|wedge100-|s8900_|s9100-|"
        r"d7032q28b|d7054q28b|qfx5200|ly1200_b32h0|ix1b_",
        "tomahawk",
    ),
    (r"7260cx3|z9264|as7816|snh60b0|ag9064|s9200_64x|d7264q28b|qfx5210|ra-b6910", "tomahawk2"),
    (r"7060[dp]x4|z9332|as9716|silverstone|snj60d0|agc032|m2-w6920|ix9_|ra-b6920|s9301_32d-", "tomahawk3"),
    (r"7060dx5|z9664|m2-w6930|s9311_64d|ixr7220_h4-", "tomahawk4"),
    (r"7060x6[_-][16]|z9864|m2-w6940|sse_t8164|sse_t8196|s9321_64e|ixr7220_h5_64|nexthop_4010", "tomahawk5"),
    (r"m2-w695|ixr7220_h6|nexthop_4210", "tomahawk6"),
    (r"m?sn2\d\d\d", "spectrum1"),
    (r"m?sn3\d\d\d", "spectrum2"),
    (r"m?sn4\d\d\d", "spectrum3"),
    (r"sn5640", "spectrum5"),
    (r"sn5\d\d\d", "spectrum4"),
    (r"sn6\d\d\d", "spectrum6"),
    (r"wedge100bf|mavericks|montara|arista_7170", "tofino1"),
    (r"newport|as9516", "tofino2"),
    (r"kvm|vs-platform|force10-s6000-vs", "vs"),
)
_SETTINGS: Mapping[str, tuple[type, int, int]] = {
    "cell": (int, 32, 2**16), "slices": (int, 1, 64), "memory": (int, 1, 2**40), "cell_overhead": (int, 0, 2**12),
    "max_headroom_size": (int, 1, 2**40), "headroom_in_pool": (bool, 0, 1), "reserve_in_pool": (bool, 0, 1),
    "limit_of_slice": (bool, 0, 1), "resume": (str, 0, 0), "watchdog": (str, 0, 0),
}  # fmt: skip
_WORDS = {"resume": ("offset", "xon"), "watchdog": ("broadcom", "nvidia")}
RANGES: Mapping[str, tuple[int | bool | str, ...]] = {
    key: _WORDS.get(key, tuple(map(kind, (low, high)))) for key, (kind, low, high) in _SETTINGS.items()
}
"""The values that a key can have: all words and flags, and the least and the largest number."""


def of_platform(platform: str, hwsku: str) -> Asic:
    """Returns the chip of a platform or hwsku; `UNKNOWN` if the table has neither."""
    for text in (platform.lower(), hwsku.lower()):
        for pattern, name in _PLATFORMS:
            if text and re.search(pattern, text):
                return CHIPS[name]
    return CHIPS[UNKNOWN]


def named(name: str) -> Asic | None:
    """Returns a chip by name or short name, such as ``spectrum3`` or ``spc3``; None for an unknown name."""
    return CHIPS.get(ALIASES.get(name.lower(), name.lower()))


@dataclass(frozen=True, slots=True)
class Choice:
    """The value of ``--asic``: the chip of all switches, or values that replace those of each switch's chip."""

    chip: Asic | None = None
    values: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def of(self, platform: str, hwsku: str) -> Asic:
        """Returns the chip of a switch."""
        chip = self.chip or of_platform(platform, hwsku)
        left = tuple(name for name in chip.unknown if name not in self.values)
        return dataclasses.replace(chip, **self.values, unknown=left)


CHIP = "asic.toml"
"""The file of the chip in a folder of switches."""


def chosen(given: str | None, directory: Path | None = None) -> Choice:
    """Returns the choice of ``--asic``: a name, or a TOML file with values and optionally ``base``, a name.

    directory: a folder of switches, whose file `CHIP` counts without the option.

    Raises `InputError` for an unknown name or a file with other keys.
    """
    if given is None:
        if directory is None or not (directory / CHIP).is_file():
            return Choice()
        given = str(directory / CHIP)
    if (chip := named(given)) is not None:
        return Choice(chip)
    if not given.endswith(".toml"):
        raise InputError(f"--asic: {shown(given)} is no chip; give {', '.join(CHIPS)}, or a file that ends in .toml")
    path = Path(given)
    try:
        document = tomllib.loads(read_bytes(path, _MAX_BYTES).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is not TOML: {error}") from None
    base = document.pop("base", None)
    chip = named(base) if isinstance(base, str) else None
    if base is not None and chip is None:
        raise InputError(f"{path}: base: is no chip; give {', '.join(CHIPS)}")
    for key, value in document.items():
        _check(path, key, value)
    return Choice(chip, document)


def text(chip: Asic) -> str:
    """Returns the file of a chip: its base, and the values that the base does not have."""
    base = CHIPS[chip.name]
    lines = [f'base = "{base.name}"']
    for key in _SETTINGS:
        value = getattr(chip, key)
        is_new = key in base.unknown and key not in chip.unknown
        if value is not None and (is_new or value != getattr(base, key)):
            lines.append(f"{key} = {json.dumps(value)}")
    return "\n".join(lines) + "\n"


def _check(path: Path, key: str, value: Any) -> None:
    if key not in _SETTINGS:
        raise InputError(f"{path}: {shown(key)} is no key of a chip; allowed are base, {', '.join(_SETTINGS)}")
    kind, low, high = _SETTINGS[key]
    if type(value) is not kind:
        what = {int: "a whole number", bool: "true or false", str: "a text"}[kind]
        raise InputError(f"{path}: {key}: is not {what}")
    if key in _WORDS and value not in _WORDS[key]:
        raise InputError(f"{path}: {key}: {shown(str(value))} is none of {', '.join(_WORDS[key])}")
    if isinstance(value, int) and not low <= value <= high:
        raise InputError(f"{path}: {key}: {value} is not from {low} to {high}")
