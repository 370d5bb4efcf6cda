"""Switch chips: cells, slices, what a pool's size contains, and the rules of resume and watchdog.

Sources: ``qos_params`` of sonic-mgmt and ``asic_table.j2`` of sonic-buildimage. docs/models/sonic.md lists the evidence
for each chip. A file given with ``--asic`` replaces any value.
"""

from __future__ import annotations

import dataclasses
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
    cell_overhead: int = 0
    """Bytes that a frame takes in its cells beside its own."""
    pipeline: int | None = None
    """Pipeline latency in bytes, for the formula of the dynamic buffer model; None without a formula."""
    formula: str = ""
    """``nvidia`` or ``tofino``; empty without a formula."""
    size_holds: str = ""
    """Without a shared headroom pool, ``BUFFER_PROFILE.size`` holds ``xon+xoff`` or ``xoff``; empty if unknown."""
    guesses: tuple[str, ...] = ()
    """Keys whose values are guesses."""

    @property
    def unit(self) -> int:
        """The unit of sizes in a configuration, in bytes."""
        return 1024 if self.formula == "nvidia" else self.cell


def _spectrum(name: str, cell: int, pipeline: int = 19) -> Asic:
    return Asic(
        name, cell, resume="xon", watchdog="nvidia", pipeline=pipeline * 1024, formula="nvidia", size_holds="xon+xoff"
    )


_UNKNOWN = ("slices", "headroom_in_pool", "reserve_in_pool")

CHIPS: Mapping[str, Asic] = {
    chip.name: chip
    for chip in (
        Asic("generic", 208, guesses=("cell", *_UNKNOWN, "resume", "watchdog")),
        Asic("trident2", 208, headroom_in_pool=True, reserve_in_pool=True, size_holds="xoff"),
        Asic("trident3", 256, headroom_in_pool=True, reserve_in_pool=True),
        Asic("tomahawk", 208, slices=4),
        Asic("tomahawk2", 208, slices=4),
        Asic("tomahawk3", 254, guesses=_UNKNOWN),
        Asic("tomahawk4", 254, guesses=_UNKNOWN),
        Asic("tomahawk5", 254, guesses=_UNKNOWN),
        _spectrum("spectrum1", 96),
        _spectrum("spectrum2", 144),
        _spectrum("spectrum3", 144),
        _spectrum("spectrum4", 192),
        _spectrum("spectrum5", 192),
        _spectrum("spectrum6", 256, 42),
        Asic("tofino1", 80, size_holds="xon+xoff", guesses=("cell", *_UNKNOWN)),
        Asic("tofino2", 176, pipeline=68 * 1024, formula="tofino", guesses=_UNKNOWN),
        Asic("vs", 128, pipeline=18 * 1024, formula="nvidia", resume="xon", guesses=_UNKNOWN),
    )
}
ALIASES: Mapping[str, str] = {
    "td2": "trident2", "td3": "trident3", "th": "tomahawk", "th2": "tomahawk2", "th3": "tomahawk3",
    "th4": "tomahawk4", "th5": "tomahawk5", **{f"spc{n}": f"spectrum{n}" for n in range(1, 7)},
}  # fmt: skip

# Patterns of platform and hwsku, from the folders of sonic-buildimage.
_PLATFORMS: tuple[tuple[str, str], ...] = (
    (r"7050_?qx|s6000|as5712|as6712", "trident2"),
    (r"7050cx3|as7726|s52\d\df", "trident3"),
    (r"7060_?cx|z9100|s6100|as7712|seastone|dx010", "tomahawk"),
    (r"7260cx3|z9264|as7816", "tomahawk2"),
    (r"7060[dp]x4|z9332|as9716|silverstone", "tomahawk3"),
    (r"7060x6", "tomahawk5"),
    (r"m?sn2\d\d\d", "spectrum1"),
    (r"m?sn3\d\d\d", "spectrum2"),
    (r"m?sn4\d\d\d", "spectrum3"),
    (r"sn5640", "spectrum5"),
    (r"sn5\d\d\d", "spectrum4"),
    (r"sn6\d\d\d", "spectrum6"),
    (r"wedge100bf|mavericks|montara", "tofino1"),
    (r"newport|as9516", "tofino2"),
    (r"kvm|vs-platform|force10-s6000-vs", "vs"),
)
_SETTINGS: Mapping[str, tuple[type, int, int]] = {
    "cell": (int, 32, 2**16), "slices": (int, 1, 64), "memory": (int, 1, 2**40), "cell_overhead": (int, 0, 2**12),
    "max_headroom_size": (int, 1, 2**40), "headroom_in_pool": (bool, 0, 1), "reserve_in_pool": (bool, 0, 1),
    "resume": (str, 0, 0), "watchdog": (str, 0, 0),
}  # fmt: skip
_WORDS = {"resume": ("offset", "xon"), "watchdog": ("broadcom", "nvidia")}


def of_platform(platform: str, hwsku: str) -> Asic:
    """Returns the chip of a platform or hwsku; ``generic`` if both are unknown."""
    for text in (platform.lower(), hwsku.lower()):
        for pattern, name in _PLATFORMS:
            if text and re.search(pattern, text):
                return CHIPS[name]
    return CHIPS["generic"]


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
        left = tuple(name for name in chip.guesses if name not in self.values)
        return dataclasses.replace(chip, **self.values, guesses=left)


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
