"""Spans of time that may overlap, such as the pauses of a port's queues."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

Number = TypeVar("Number", int, float)


def covered(spans: Iterable[tuple[Number, Number]]) -> Number | int:
    """Returns the time in which at least one span lasts, and so at most the time of the run.

    spans: the start and the end of each span.
    """
    whole: Number | int = 0
    last: Number | None = None
    for start, end in sorted(spans):
        begin = start if last is None else max(start, last)
        whole += max(end - begin, 0)
        last = end if last is None else max(end, last)
    return whole
