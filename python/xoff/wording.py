"""Numbers as people read them: picoseconds, bytes and bits per second with the unit that keeps them short."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

_TIMES = ((10**12, "s"), (10**9, "ms"), (10**6, "µs"), (10**3, "ns"), (1, "ps"))
_SIZES = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "KB"), (1, "B"))
_RATES = ((10**12, "Tb/s"), (10**9, "Gb/s"), (10**6, "Mb/s"), (10**3, "kb/s"), (1, "b/s"))
_COUNTS = ((10**9, "G"), (10**6, "M"), (10**3, "k"))

# The units of a scenario's texts, from the largest to the smallest, by what the numbers of a column end with.
_QUANTITIES = {
    "ps": {"s": 10**12, "ms": 10**9, "us": 10**6, "ns": 10**3, "ps": 1},
    "bytes": {
        "TB": 10**12, "GiB": 2**30, "GB": 10**9, "MiB": 2**20, "MB": 10**6, "KiB": 2**10, "KB": 10**3, "B": 1,
    },
    "bps": {"Tbps": 10**12, "Gbps": 10**9, "Mbps": 10**6, "Kbps": 10**3, "bps": 1},
}  # fmt: skip
_QUANTITY = re.compile(r"([0-9][0-9_]*(?:\.[0-9]+)?) ?([A-Za-z]+)")


# What ends lines or documents, moves a terminal, or turns the order of what is shown round.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def plain(text: str) -> str:
    """A text from a file of somebody else, with a sign in place of each character that ends lines or documents."""
    return _UNPRINTABLE.sub("\ufffd", text)


def file_name(text: str) -> str:
    """The name of a file that is called after something: no path, no hidden file, and not too long for a disk."""
    name = re.sub(r"[^\w.-]", "_", plain(text)).lstrip(".")
    return name[:100] or "unnamed"


def quantity(text: str) -> tuple[int, str] | None:
    """Read a text such as ``10us``: its number and unit (``ps``, ``bytes`` or ``bps``); None if it is none."""
    found = _QUANTITY.fullmatch(text)
    for name, units in _QUANTITIES.items():
        if found and found[2] in units:
            value = Fraction(found[1].replace("_", "")) * units[found[2]]
            return (int(value), name) if value.denominator == 1 else None
    return None


def quantity_text(value: int, unit: str) -> str:
    """Write what `quantity` reads, exactly, in the largest decimal unit: ``(10_000_000, "ps")`` becomes ``10us``."""
    scales = {name: scale for name, scale in _QUANTITIES[unit].items() if "i" not in name}
    name = next(name for name, scale in scales.items() if value % scale == 0 or scale == 1)
    return f"{value // scales[name]}{name}" if value else "0" + list(scales)[-1]


def _scaled(value: float, units: tuple[tuple[int, str], ...], digits: int) -> str:
    for scale, unit in units:
        if abs(value) >= scale:
            return f"{value / scale:.{digits}f} {unit}" if scale > 1 else f"{value:g} {unit}"
    return f"{value:g} {units[-1][1]}"


def time(value_ps: float | None) -> str:
    """A duration in picoseconds as text: ``1234567`` becomes ``1.235 µs``; nothing becomes a dash."""
    return "–" if value_ps is None else _scaled(value_ps, _TIMES, 3)


def size(value_bytes: float | None) -> str:
    """A number of bytes as text, with decimal prefixes (1 KB is 1000 bytes)."""
    return "–" if value_bytes is None else _scaled(value_bytes, _SIZES, 1)


def scale(value: float, name: str) -> tuple[int, str]:
    """The unit in which a value of a column is short, by the column's last letters: ``(10**6, "µs")`` for ``…_ps``."""
    ending = name.rpartition("_")[2]
    units = {"ps": _TIMES, "bytes": _SIZES, "bps": _RATES}.get(ending, ((1, ""),))
    return next((unit for unit in units if abs(value) >= unit[0]), units[-1])


def rate(value_bps: int) -> str:
    """A rate in bits per second as text: ``200000000000`` becomes ``200 Gb/s``."""
    return setting(value_bps, "bps")


def number(value: float, digits: int) -> str:
    """A number with so many digits, and never with an exponent where it is large: ``12,346``, ``0.5``."""
    return f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"


def spread(mean: float, low: float | None, high: float | None, scale: float) -> str:
    """What stands behind a mean: `` ± 3.1``, or `` (2 to 9)`` where an interval reaches further on one side."""
    if low is None or high is None or low == high:
        return ""
    if abs((high - mean) - (mean - low)) <= 1e-6 * (high - low):
        return f" ± {number((high - mean) / scale, 3)}"
    return f" ({number(low / scale, 3)} to {number(high / scale, 3)})"


def count(value: float | None) -> str:
    """A large number as text: ``8200000`` becomes ``8.20 M``; small ones keep their digits."""
    if value is None:
        return "–"
    if value < 10**6 and float(value).is_integer():
        return f"{value:,.0f}"
    for scale, unit in _COUNTS:
        if value >= scale:
            return f"{value / scale:.2f} {unit}"
    return f"{value:.3g}"


def setting(value: int, unit: str) -> str:
    """A parameter as text, with all its digits: ``(5_620_000, "ps")`` becomes ``5.62 µs``; units as for `quantity`."""
    shown = {"us": "µs", "Tbps": "Tb/s", "Gbps": "Gb/s", "Mbps": "Mb/s", "Kbps": "kb/s", "bps": "b/s"}
    for name, scale in _QUANTITIES[unit].items():
        if "i" not in name and abs(value) >= scale and value * 1000 % scale == 0:
            return f"{value / scale:.12g} {shown.get(name, name)}"
    last = list(_QUANTITIES[unit])[-1]
    return f"{value} {shown.get(last, last)}"


def keyed(key: str, value: Any) -> str:
    """A JSON value as text, by what the name of its key ends with: ``_ps`` or ``bytes``."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "–"}[value]
    if isinstance(value, int | float):
        if key.endswith("_ps"):
            return time(value)
        return size(value) if key.endswith("bytes") else f"{value:,}"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def listed(values: Any) -> str:
    """A JSON object as text: keys without their units, and values as by `keyed`."""
    if isinstance(values, dict):
        return ", ".join(
            f"{key.removesuffix('_bytes').removesuffix('_ps')} {keyed(key, value)}" for key, value in values.items()
        )
    return keyed("", values)
