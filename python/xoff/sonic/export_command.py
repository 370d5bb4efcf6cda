"""The command ``xoff export sonic``: configurations of the switches of a scenario."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from xoff import formatting
from xoff._core import InputError
from xoff.importing.directory import write_new
from xoff.sonic import asic, export, network
from xoff.sonic.asic import CHIP, Asic
from xoff.sonic.config import is_name

_SHOWN = 20


def command(scenario: Path, *, switch: str | None, is_all: bool, chip: str | None, out: Path | None) -> None:
    """Prints the tables of one switch, or writes a file for each switch into a new directory."""
    if is_all == (switch is not None):
        raise InputError("export sonic: give --switch NAME, or --all with --out DIR")
    if is_all and out is None:
        raise InputError("--all: needs --out DIR, a new directory for the files")
    if not is_all and out is not None:
        raise InputError("--out: needs --all; the tables of one switch are printed")
    found = network.load(scenario)
    rounded = _chip(chip)
    if switch is not None:
        made = export.export(found, switch, rounded)
        _note([f"{switch} {text}" for text in made.notes])
        pasted = {name: made.tables[name] for name in export.PASTED if name in made.tables}
        print(json.dumps(pasted, indent=4))
        return
    if wrong := next((name for name in found.switches if not is_name(name)), None):
        raise InputError(f"{scenario}: {wrong!r} is not the name of a switch in SONiC")
    every = {name: export.export(found, name, rounded) for name in found.switches}

    def fill(place: Path) -> list[str]:
        for name, made in every.items():
            (place / f"{name}.json").write_text(json.dumps(made.tables, indent=4) + "\n", "utf-8")
        (place / CHIP).write_text(export.chip_text(found, rounded), "utf-8")
        return [*(f"{name}.json" for name in every), CHIP]

    written = write_new(Path(str(out)), fill)
    _note([f"{name} {text}" for name, made in every.items() for text in made.notes])
    print(f"{formatting.plain(str(out))}: {len(written):,} files")


def _chip(given: str | None) -> Asic | None:
    """Returns the chip of ``--asic``; None without the option, as sizes then stay as they are."""
    return None if given is None else asic.chosen(given).of("", "")


def _note(notes: list[str]) -> None:
    found = list(dict.fromkeys(notes))
    for text in found[:_SHOWN]:
        print(f"xoff: {formatting.plain(text)}", file=sys.stderr)
    if len(found) > _SHOWN:
        print(f"xoff: … and {len(found) - _SHOWN:,} more", file=sys.stderr)
