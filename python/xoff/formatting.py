"""Numbers as text for readers: picoseconds, bytes and bits per second, each with the unit of the shortest text."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

_TIMES = ((10**12, "s"), (10**9, "ms"), (10**6, "µs"), (10**3, "ns"), (1, "ps"))
_SIZES = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "KB"), (1, "B"))
_RATES = ((10**12, "Tb/s"), (10**9, "Gb/s"), (10**6, "Mb/s"), (10**3, "kb/s"), (1, "b/s"))
_COUNTS = ((10**9, "G"), (10**6, "M"), (10**3, "k"))

# The units of a scenario's texts, from the largest to the smallest, by the suffix of a column's name.
_QUANTITIES = {
    "ps": {"s": 10**12, "ms": 10**9, "us": 10**6, "ns": 10**3, "ps": 1},
    "bytes": {
        "TB": 10**12, "GiB": 2**30, "GB": 10**9, "MiB": 2**20, "MB": 10**6, "KiB": 2**10, "KB": 10**3, "B": 1,
    },
    "bps": {"Tbps": 10**12, "Gbps": 10**9, "Mbps": 10**6, "Kbps": 10**3, "bps": 1},
}  # fmt: skip
_QUANTITY = re.compile(r"([0-9][0-9_]*(?:\.[0-9]+)?) ?([A-Za-z]+)")


# Controls; soft hyphens, marks and overrides of direction, and other format characters except joiners, which scripts
# need; line separators; surrogates; noncharacters.
_FORMATS = (
    "\x00-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\ufffe\uffff\U000e0001\U000e0020-\U000e007f"
)
_UNPRINTABLE = re.compile(f"[{_FORMATS}]")
_HARMFUL = re.compile(f"(?![\n\t])[{_FORMATS}]")
_SHOWN = 100


def plain(text: str) -> str:
    """Returns a foreign text with a replacement sign for each control or format character."""
    return _UNPRINTABLE.sub("\ufffd", text)


def shown(text: str) -> str:
    """Returns the same as `plain` for text of several lines: line feeds and tabs stay."""
    return _HARMFUL.sub("\ufffd", text)


def literal(value: object) -> str:
    """Returns a value of any type as text for a message: one line, at most 100 characters, even if `repr` raises."""
    try:
        # A huge whole number has a very long text, or Python refuses to convert the number.
        text = (
            f"a number of {value.bit_length()} bits"
            if isinstance(value, int) and value.bit_length() > 512
            else repr(value)
        )
    except Exception:
        text = f"a value of type {type(value).__name__}"
    return plain(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def file_name(text: str) -> str:
    """Returns a file name made from a text: no path, not hidden, at most 100 characters."""
    name = re.sub(r"[^\w.-]", "_", plain(text)).lstrip(".")
    return name[:100] or "unnamed"


def quantity(text: str) -> tuple[int, str] | None:
    """Returns number and unit (``ps``, ``bytes`` or ``bps``) of a text such as ``10us``; None if it is no quantity."""
    found = _QUANTITY.fullmatch(text)
    for name, units in _QUANTITIES.items():
        if found and found[2] in units:
            value = Fraction(found[1].replace("_", "")) * units[found[2]]
            return (int(value), name) if value.denominator == 1 else None
    return None


def quantity_text(value: int, unit: str) -> str:
    """Returns the inverse of `quantity`, exact, in the largest decimal unit: ``(10_000_000, "ps")`` gives ``10us``."""
    scales = {name: scale for name, scale in _QUANTITIES[unit].items() if "i" not in name}
    name = next(name for name, scale in scales.items() if value % scale == 0 or scale == 1)
    return f"{value // scales[name]}{name}" if value else "0" + list(scales)[-1]


def _scaled(value: float, units: tuple[tuple[int, str], ...], digits: int) -> str:
    for scale, unit in units:
        if abs(value) >= scale:
            return f"{value / scale:.{digits}f} {unit}" if scale > 1 else f"{value:g} {unit}"
    return f"{value:g} {units[-1][1]}"


def time(value_ps: float | None) -> str:
    """Returns a duration in picoseconds as text: ``1234567`` gives ``1.235 µs``; None gives a dash."""
    return "–" if value_ps is None else _scaled(value_ps, _TIMES, 3)


def size(value_bytes: float | None) -> str:
    """Returns a number of bytes as text with decimal prefixes (1 KB is 1000 bytes); None gives a dash."""
    return "–" if value_bytes is None else _scaled(value_bytes, _SIZES, 1)


def scale(value: float, name: str) -> tuple[int, str]:
    """Returns the unit that keeps a column's value short, by the column's suffix: ``(10**6, "µs")`` for ``…_ps``."""
    ending = name.rpartition("_")[2]
    units = {"ps": _TIMES, "bytes": _SIZES, "bps": _RATES}.get(ending, ((1, ""),))
    return next((unit for unit in units if abs(value) >= unit[0]), units[-1])


def rate(value_bps: int) -> str:
    """Returns a rate in bits per second as text: ``200000000000`` gives ``200 Gb/s``."""
    return setting(value_bps, "bps")


def number(value: float, digits: int) -> str:
    """Returns a number with this many digits; a large number has no exponent: ``12,346``, ``0.5``."""
    return f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"


def percent(share: float) -> str:
    """Returns a share as a percentage with up to three digits: ``0.3123`` gives ``31.2 %``."""
    return f"{share * 100:.3g} %"


def spread(mean: float, low: float | None, high: float | None, scale: float) -> str:
    """Returns the interval after a mean: `` ± 3.1``, or `` (2 to 9)`` if the interval is not symmetric."""
    if low is None or high is None or low == high:
        return ""
    if abs((high - mean) - (mean - low)) <= 1e-6 * (high - low):
        return f" ± {number((high - mean) / scale, 3)}"
    return f" ({number(low / scale, 3)} to {number(high / scale, 3)})"


def count(value: float | None) -> str:
    """Returns a large number as text: ``8200000`` gives ``8.20 M``; small whole numbers keep their digits."""
    if value is None:
        return "–"
    if value < 10**6 and float(value).is_integer():
        return f"{value:,.0f}"
    for scale, unit in _COUNTS:
        if value >= scale:
            return f"{value / scale:.2f} {unit}"
    return f"{value:.3g}"


def setting(value: int, unit: str) -> str:
    """Returns a parameter as text with all digits: ``(5_620_000, "ps")`` gives ``5.62 µs``; units as for `quantity`."""
    shown = {"us": "µs", "Tbps": "Tb/s", "Gbps": "Gb/s", "Mbps": "Mb/s", "Kbps": "kb/s", "bps": "b/s"}
    for name, scale in _QUANTITIES[unit].items():
        if "i" not in name and abs(value) >= scale and value * 1000 % scale == 0:
            return f"{value / scale:.12g} {shown.get(name, name)}"
    last = list(_QUANTITIES[unit])[-1]
    return f"{value} {shown.get(last, last)}"


def keyed(key: str, value: Any) -> str:
    """Returns a JSON value as text, by the suffix of its key: ``_ps`` or ``bytes``."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "–"}[value]
    if isinstance(value, int | float):
        if key.endswith("_ps"):
            return time(value)
        return size(value) if key.endswith("bytes") else f"{value:,}"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def listed(values: Any) -> str:
    """Returns a JSON object as text: keys without units, and values as by `keyed`."""
    if isinstance(values, dict):
        return ", ".join(
            f"{key.removesuffix('_bytes').removesuffix('_ps')} {keyed(key, value)}" for key, value in values.items()
        )
    return keyed("", values)
