"""The command ``xoff export``: writes formats, and prints path and content of each."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from xoff import formatting
from xoff._core import InputError
from xoff.exporting import FORMATS
from xoff.results import load


def command(directory: Path, chosen: dict[str, list[str]], *, out: Path | None, as_json: bool) -> None:
    """Writes a result in the chosen formats, each with its choices. Raises `InputError` without a format."""
    if not chosen:
        raise InputError(f"no format: give {_listed([f'--{name}' for name in FORMATS])}")
    if out is not None and len(chosen) > 1:
        raise InputError(f"--out: takes one format, and {len(chosen)} were given; export one format at a time")
    result = load(directory)
    answers: list[dict[str, Any]] = []
    for name, choices in chosen.items():
        place = FORMATS[name].place(result) if out is None else out
        written = FORMATS[name].write(result, place, choices)
        answers.append({"format": name, "path": str(place), **written.parts, "notes": list(written.notes)})
        if not as_json:
            for note in written.notes:
                print(f"xoff: {formatting.plain(note)}", file=sys.stderr)
            parts = ", ".join(f"{number:,} {what}" for what, number in written.parts.items())
            print(f"{formatting.plain(str(place))}: {parts}")
    if as_json:
        print(json.dumps({"exports": answers}))


def _listed(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"
