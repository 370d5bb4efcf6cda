"""Numbers as people read them: picoseconds, bytes and bits per second with the unit that keeps them short."""

from __future__ import annotations

_TIMES = ((10**12, "s"), (10**9, "ms"), (10**6, "µs"), (10**3, "ns"), (1, "ps"))
_SIZES = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "KB"), (1, "B"))
_COUNTS = ((10**9, "G"), (10**6, "M"), (10**3, "k"))


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
