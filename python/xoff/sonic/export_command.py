"""The command ``xoff export sonic``: configurations of the switches of a scenario."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from xoff import formatting
from xoff._core import InputError
from xoff.importing.directory import write_new
from xoff.sonic import asic, check_command, config, export, fabric, network
from xoff.sonic.asic import CHIP, Asic, Choice
from xoff.sonic.checks import registry
from xoff.sonic.checks.row import Context
from xoff.sonic.config import is_name
from xoff.sonic.export import Exported

_SHOWN = 20
_CAUSES = {
    "headroom": "switch.buffer.shared.headroom",
    "headroom-cable": "switch.buffer.shared.headroom",
    "pg-missing": "switch.buffer.shared.headroom",
    "shp": "switch.buffer.shared.headroom_pool",
    "alpha-starves": "switch.buffer.shared.alpha",
    "lossy-ingress-first": "switch.buffer.shared.groups",
    "egress-pool": "switch.buffer.shared.egress",
    "static-above-pool": "switch.buffer.shared.egress",
    "pfc-neighbour": "switch.overrides",
    "map-neighbour": "switch.overrides",
    "no-lossless": "switch.flow_control, which has no pfc",
    "xon": "switch.flow_control.pfc.xon",
    "wd-poll": "switch.flow_control.pfc.watchdog",
    "wd-pause": "switch.flow_control.pfc.watchdog",
    "ecn-off": "switch.ecn, which marks no packet of the class",
    "ecn-above-xoff": "switch.ecn",
    "order": "switch.ecn",
    "wred-drops-lossless": "switch.ecn",
    "cells": "sizes of the scenario, which --asic rounds up",
}
"""The part of a scenario that decides a finding on its export."""


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
        _note(_notes({switch: made}, export.chip_of(found, rounded)))
        pasted = {name: made.tables[name] for name in export.PASTED if name in made.tables}
        print(json.dumps(pasted, indent=4))
        return
    if wrong := next((name for name in found.switches if not is_name(name)), None):
        raise InputError(f"{scenario}: {wrong!r} is not the name of a switch in SONiC")
    every = {name: export.export(found, name, rounded) for name in found.switches}
    chip_ = export.chip_of(found, rounded)

    def fill(place: Path) -> list[str]:
        for name, made in every.items():
            (place / f"{name}.json").write_text(json.dumps(made.tables, indent=4) + "\n", "utf-8")
        (place / CHIP).write_text(asic.text(chip_), "utf-8")
        return [*(f"{name}.json" for name in every), CHIP]

    written = write_new(Path(str(out)), fill)
    _note(_notes(every, chip_))
    print(f"{formatting.plain(str(out))}: {len(written):,} files")


def _chip(given: str | None) -> Asic | None:
    """Returns the chip of ``--asic``; None without the option, as sizes then stay as they are."""
    return None if given is None else asic.chosen(given).of("", "")


def _notes(every: Mapping[str, Exported], chip: Asic) -> list[str]:
    """Returns what could not be carried over, and the errors and warnings of xoff's own check, with their cause."""
    texts: dict[str, dict[str, None]] = {}
    for name, made in every.items():
        for text in made.notes:
            texts.setdefault(text, {})[name] = None
    return [
        *(f"{next(iter(names))}{_others(len(names) - 1)} {text}" for text, names in texts.items()),
        *_findings(every, chip),
    ]


def _others(count: int) -> str:
    return f" and {count:,} more switches:" if count else ""


def _findings(every: Mapping[str, Exported], chip: Asic) -> list[str]:
    place = Path("export")
    configs = [config.of(place / f"{name}.json", name, made.tables) for name, made in every.items()]
    rows = registry.findings(Context(fabric.of(place, configs, Choice(chip), None)))
    notes = []
    for name in dict.fromkeys(row.id for row in rows if row.level != "note"):
        cause = f" (from {_CAUSES[name]})" if name in _CAUSES else ""
        of_check = [row for row in rows if row.id == name and row.level != "note"]
        notes += [f"check: {level} {head}: {why}{cause}" for level, head, why in check_command.grouped(of_check)]
    return notes


def _note(notes: list[str]) -> None:
    found = list(dict.fromkeys(notes))
    for text in found[:_SHOWN]:
        print(f"xoff: {formatting.plain(text)}", file=sys.stderr)
    if len(found) > _SHOWN:
        print(f"xoff: … and {len(found) - _SHOWN:,} more", file=sys.stderr)
