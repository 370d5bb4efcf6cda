"""The command ``xoff import requests``: options, the written table, notes and summary."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

from xoff import formatting
from xoff._core import InputError
from xoff.importing.command import print_notes
from xoff.importing.requests import Choices, convert, printed
from xoff.importing.source import read, shown
from xoff.importing.traces import BLOCK

_PS = 1000
_MAX_NS = 10**18
_SPEEDS = 1e-6, 1e6


def command(
    file: Path,
    *,
    begin: str,
    length: str | None,
    speed: float,
    spread: str | None,
    cache_tokens: int | None,
    out: Path | None,
    as_json: bool,
    is_verbose: bool,
) -> None:
    """Imports a trace as a table of requests, and prints a summary."""
    choices = Choices(
        begin=_time("--from", begin),
        length=None if length is None else _time("--for", length),
        speed=_speed(speed),
        spread=None if spread is None else _time("--spread", spread),
        cache=cache_tokens,
    )
    if choices.length == 0:
        raise InputError("--for: the window is empty; give a time above 0")
    if cache_tokens is not None and 0 < cache_tokens < BLOCK:
        raise InputError(f"--cache-tokens: {cache_tokens} is less than a block of {BLOCK} tokens; 0 is no cache")
    found = convert(read(file), choices)
    written = found.write(Path("out") / formatting.file_name(file.stem) if out is None else out)
    if as_json:
        names = {"table": str(written[0]), "files": [str(one) for one in written]}
        print(json.dumps({**names, **found.summary(), "notes": found.notes.records()}))
        return
    print_notes(found.notes, is_verbose=is_verbose)
    print(f"{formatting.plain(str(written[0]))}: {printed(found)}")


def _time(option: str, text: str) -> int:
    """Returns a duration in nanoseconds."""
    value, unit = (0, "ps") if text == "0" else formatting.quantity(text) or (0, "")
    if unit != "ps" or value % _PS or value > _MAX_NS * _PS:
        raise InputError(f"{option}: {shown(text)} was given; a time in whole nanoseconds is needed, such as 600s")
    return value // _PS


def _speed(value: float) -> Fraction:
    if not _SPEEDS[0] <= value <= _SPEEDS[1]:
        raise InputError(f"--speed: {value:g} was given; a number from {_SPEEDS[0]:g} to {_SPEEDS[1]:g} is needed")
    return Fraction(repr(value))
