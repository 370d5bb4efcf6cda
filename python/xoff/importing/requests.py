"""Requests of an LLM service from a trace (``traces.py``): arrivals, tokens and hits of a prefix cache.

Arrivals of Mooncake stand on ticks: in ``conversation_trace.jsonl``, 12,031 requests share 1,180 moments, 3 s apart. A
burst of ten requests every 3 s comes from the clock and not from the users. The importer spreads the requests of a
moment evenly over the tick, in the order of the file.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

from xoff import formatting
from xoff._core import InputError
from xoff.importing.directory import write_new
from xoff.importing.document import time
from xoff.importing.notes import Notes
from xoff.importing.prefix_cache import PrefixCache
from xoff.importing.source import Source
from xoff.importing.traces import BLOCK, Trace, read_trace

TABLE = "requests.csv"
_PS = 1000
# 2^48 ps bound a simulation.
_LONGEST_NS = 281 * 10**9
_MAX_NS = 10**18
# Moments of a clock with ticks: a share of gaps is, within a part of the tick, a multiple of the tick.
_TICKING, _EXACT = 0.95, 0.01


@dataclass(frozen=True, slots=True)
class Choices:
    """The options of an import. Times are in nanoseconds of the trace."""

    begin: int = 0
    """The start of the window, from the first request of the trace."""
    length: int | None = None
    """The length of the window; None for the rest of the trace."""
    speed: Fraction = Fraction(1)
    """The divisor of all times."""
    spread: int | None = None
    """The time over which the requests of a moment are spread; None for the tick of a trace of Mooncake."""
    cache: int | None = None
    """Tokens of the prefix cache; None without a limit."""


@dataclass(slots=True)
class Requests:
    """The requests of a window, in the order of arrival."""

    format: str
    left_out: int
    """The number of failed requests of the trace."""
    arrivals: array[int] = field(default_factory=lambda: array("q"))
    """In nanoseconds, from the first request on."""
    inputs: array[int] = field(default_factory=lambda: array("l"))
    outputs: array[int] = field(default_factory=lambda: array("l"))
    cached: array[int] = field(default_factory=lambda: array("l"))
    """Input tokens that the prefix cache holds."""
    notes: Notes = field(default_factory=Notes)

    def write(self, out: Path) -> list[Path]:
        """Writes the table into a new directory, and returns the files."""
        return write_new(out, self._write)

    def _write(self, place: Path) -> list[str]:
        with (place / TABLE).open("w", encoding="utf-8") as file:
            file.write("arrival,input_tokens,output_tokens,cached_tokens\n")
            file.writelines(self._rows())
        return [TABLE]

    def _rows(self) -> Iterator[str]:
        for arrival, *tokens in zip(self.arrivals, self.inputs, self.outputs, self.cached, strict=True):
            yield f"{time(arrival * _PS)},{','.join(map(str, tokens))}\n"

    def summary(self) -> dict[str, Any]:
        """Returns the numbers of the requests as JSON."""
        cached = sum(self.cached)
        return {
            "format": self.format,
            "requests": len(self.arrivals),
            "left_out": self.left_out,
            "span_ps": self.arrivals[-1] * _PS,
            "input_tokens": _statistics(self.inputs),
            "output_tokens": _statistics(self.outputs),
            "cached_tokens": cached,
            "cached_share": cached / sum(self.inputs),
        }


def _statistics(values: Sequence[int]) -> dict[str, float]:
    """Returns mean and percentiles. The percentile p of n sorted values is the value with the number ⌈n p⌉."""
    ranked = sorted(values)
    p50, p99 = (ranked[-(-len(ranked) * percent // 100) - 1] for percent in (50, 99))
    return {"mean": sum(ranked) / len(ranked), "p50": p50, "p99": p99}


def convert(file: Source, choices: Choices) -> Requests:
    """Returns the requests of a trace. Raises `InputError` if a row is not valid, or the window has no request."""
    notes = Notes()
    trace = read_trace(file, notes)
    if choices.cache is not None and trace.format != "Mooncake":
        raise InputError(f"--cache-tokens: traces of {trace.format} have no prefixes; remove the option")
    order = trace.order()
    arrivals = _spread(file, trace, order, choices.spread, notes)
    cached = _cached(file, trace, order, choices.cache, notes)
    found = Requests(trace.format, trace.left_out, notes=notes)
    end = None if choices.length is None else choices.begin + choices.length
    speed, first = choices.speed, None
    for row, arrival in zip(order, arrivals, strict=True):
        if arrival < choices.begin or (end is not None and arrival >= end):
            continue
        first = arrival if first is None else first
        scaled = _rounded((arrival - first) * speed.denominator, speed.numerator)
        if scaled > _MAX_NS:
            raise InputError(
                f"--speed: requests would arrive after {time(_MAX_NS * _PS)}; give --for or a larger speed"
            )
        found.arrivals.append(scaled)
        found.inputs.append(trace.inputs[row])
        found.outputs.append(trace.outputs[row])
        found.cached.append(cached[row])
    if first is None:
        span = time(arrivals[-1] * _PS)
        raise InputError(f"--from, --for: no request is in this window; {file.path} has requests from 0s to {span}")
    if (span_ns := found.arrivals[-1]) > _LONGEST_NS:
        late = sum(arrival > _LONGEST_NS for arrival in found.arrivals)
        fits = math.ceil(speed * span_ns / _LONGEST_NS)
        text = f"{late:,} of {len(found.arrivals):,} requests arrive after 281s, the end of the longest simulation"
        notes.add(file, (), f"{text}; --for {time(int(speed * _LONGEST_NS) * _PS)} or --speed {fits} fits")
    return found


def _rounded(value: int, divisor: int) -> int:
    """Returns the quotient, rounded to the nearest whole number, and up from a half."""
    return (2 * value + divisor) // (2 * divisor)


def _spread(file: Source, trace: Trace, order: Sequence[int], given: int | None, notes: Notes) -> array[int]:
    """Returns the arrivals from the first time of the trace on, in their order.

    given: the time over which the requests of a moment are spread; None for the tick of a trace of Mooncake.
    """
    found = array("q", (trace.times[row] - trace.first for row in order))
    starts = [at for at in range(len(found)) if not at or found[at] != found[at - 1]]
    many = f"{len(found):,} requests arrive at {len(starts):,} moments"
    tick = _tick(found, starts) if trace.format == "Mooncake" and given is None else None
    width = given if given is not None else tick
    if not width:
        if len(starts) < len(found):
            text = f"{many}, as in the trace; --spread spreads the requests of a moment"
            notes.add(file, (), text, matters=False)
        return found
    for number, start in enumerate(starts):
        last = number + 1 == len(starts)
        end = len(found) if last else starts[number + 1]
        moment = found[start]
        room = width if last else min(width, found[end] - moment)
        for place in range(1, end - start):
            found[start + place] = moment + room * place // (end - start)
    ticks = f"a tick of {time(tick * _PS)}" if tick is not None else f"{time(width * _PS)} (--spread)"
    text = f"{many}: the requests of a moment are spread evenly over {ticks}, in the order of the file"
    notes.add(file, (), text if given is not None else f"{text}; --spread 0 keeps the moments")
    return found


def _tick(times: array[int], starts: list[int]) -> int | None:
    """Returns the tick of the clock; None without a tick.

    A clock ticks if moments have two requests or more on average, and nearly all gaps between moments are multiples of
    the median gap. The gaps of ``conversation_trace.jsonl`` are 2,997 to 3,003 ms.
    """
    gaps = sorted(times[after] - times[before] for before, after in pairwise(starts))
    if not gaps or len(times) < 2 * len(starts):
        return None
    tick = gaps[len(gaps) // 2]
    near = sum(abs(gap - _rounded(gap, tick) * tick) <= _EXACT * tick and gap >= tick // 2 for gap in gaps)
    return tick if near >= _TICKING * len(gaps) else None


def _cached(file: Source, trace: Trace, order: Sequence[int], tokens: int | None, notes: Notes) -> array[int]:
    """Returns the cached input tokens of each row of the trace.

    The cache sees all requests of the trace, also those before the window. The last token of an input is computed even
    if cached, since its computation yields the first output token.
    """
    found = array("l", bytes(trace.inputs.itemsize * len(trace.inputs)))
    if trace.format != "Mooncake":
        notes.add(file, (), "the trace has no prefixes: cached_tokens is 0")
        return found
    if tokens == 0:
        notes.add(file, (), "without a prefix cache (--cache-tokens 0), cached_tokens is 0")
        return found
    cache = PrefixCache(None if tokens is None else tokens // BLOCK)
    for row in order:
        found[row] = min(cache.take(trace.blocks(row)) * BLOCK, trace.inputs[row] - 1)
    kind = "without a limit" if tokens is None else f"of {tokens:,} tokens"
    text = f"cached_tokens is the input that a prefix cache {kind} holds"
    if tokens is None:
        notes.add(file, (), f"{text}; --cache-tokens sets a limit")
    else:
        notes.add(file, (), f"{text}; the least recently used blocks leave first")
    return found


def printed(found: Requests) -> str:
    """Returns the summary as text."""
    said = found.summary()
    count, span = said["requests"], formatting.time(said["span_ps"])
    failed = f", {said['left_out']:,} failed and left out" if said["left_out"] else ""
    lines = [f"{count:,} {'request' if count == 1 else 'requests'} of {found.format} in {span}{failed}"]
    for key in ("input_tokens", "output_tokens"):
        one = said[key]
        name = key.replace("_", " ")
        lines.append(f"  {name:<14} mean {one['mean']:,.0f}, median {one['p50']:,}, p99 {one['p99']:,}")
    lines.append(f"  {'cached tokens':<14} {100 * said['cached_share']:.1f} % of input tokens")
    return "\n".join(lines)
