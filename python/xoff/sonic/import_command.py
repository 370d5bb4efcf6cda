"""The command ``xoff import sonic``: the scenario of a folder of switches."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from xoff import formatting
from xoff.sonic import adapter, asic, cabling, convert, fabric, formula, scenario
from xoff.sonic.adapter import Adapter
from xoff.sonic.check_command import unknown_properties
from xoff.sonic.fabric import Fabric

DEFAULT_ROCE_DSCP = 26
_SHOWN = 20


def command(
    directory: Path,
    *,
    links: Path | None,
    chip: str | None,
    lookup: Path | None,
    settings: Path | None,
    roce_dscp: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Imports a folder, prints the fields that were not carried over, and then the written files."""
    table = None if lookup is None else formula.lookup(lookup)
    hosts = Adapter() if settings is None else adapter.load(settings)
    found = fabric.read(directory, asic.chosen(chip, directory), table)
    cables = cabling.of(found, links)
    made = convert.convert(found, cables)
    notes = [
        *_of_hosts(found, hosts, roce_dscp),
        *cables.notes,
        *made.notes,
        *(f"assumed: {text}" for text in unknown_properties(found, with_values=True)),
        *([] if settings is None else [f"{settings.name}, line {line}: {text}" for line, text in hosts.notes]),
    ]
    notes = [formatting.plain(one) for one in dict.fromkeys(notes)]
    place = Path("out") / formatting.file_name(directory.resolve().name) if out is None else out
    written = scenario.write(place, cables, made, hosts, notes)
    if as_json:
        print(json.dumps({"scenario": str(written[0]), "files": [str(one) for one in written], "notes": notes}))
        return
    for text in notes[:_SHOWN]:
        print(f"xoff: {text}", file=sys.stderr)
    if len(notes) > _SHOWN:
        print(f"xoff: … and {len(notes) - _SHOWN:,} more; {written[-1]} has all", file=sys.stderr)
    print(
        f"{formatting.plain(str(written[0]))}: {len(cables.switches):,} switches, {len(cables.hosts):,} hosts, "
        f"{len(cables.cables):,} links"
    )


def _of_hosts(found: Fabric, hosts: Adapter, roce_dscp: int | None) -> list[str]:
    """Returns a note if the switches have the hosts' RoCE packets in a lossy class."""
    code = roce_dscp if roce_dscp is not None else hosts.roce_dscp if hosts.roce_dscp is not None else DEFAULT_ROCE_DSCP
    for switch in found.switches.values():
        for port in switch.up:
            if port.neighbour and port.neighbour[0] not in found.switches and port.priority_of_dscp(code) is None:
                traffic_class = port.maps.class_of(code)
                return [f"{switch.name} {port.name}: DSCP {code} of RoCE is in class {traffic_class}, which is lossy"]
    return []
