"""The command ``xoff check --sonic``: the findings of all checks on a folder of switches."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from xoff import formatting
from xoff.sonic import adapter, asic, fabric, formula
from xoff.sonic.checks import registry
from xoff.sonic.checks.row import Context, Row
from xoff.sonic.fabric import Fabric
from xoff.sonic.memory import reserve

_SHOWN = 20
_STYLES = {"error": "red", "warning": "yellow", "note": "dim"}


def context(
    directory: Path,
    *,
    chip: str | None = None,
    lookup: Path | None = None,
    settings: Path | None = None,
    roce_dscp: int | None = None,
    cnp_dscp: int | None = None,
) -> Context:
    """Reads a folder of switches, and facts beside it: chip, lookup table, settings of the hosts' adapters."""
    table = None if lookup is None else formula.lookup(lookup)
    hosts = adapter.Adapter() if settings is None else adapter.load(settings)
    found = fabric.read(directory, asic.chosen(chip, directory), table)
    return Context(
        found,
        table,
        hosts.roce_dscp if roce_dscp is None else roce_dscp,
        hosts.cnp_dscp if cnp_dscp is None else cnp_dscp,
        hosts.lossless,
    )


def command(found: Context, *, as_json: bool) -> int:
    """Prints the findings, and returns the exit code: 1 if an error is among them."""
    rows = registry.findings(found)
    code = 1 if any(row.level == "error" for row in rows) else 0
    if as_json:
        unread = {name: one.config.unread for name, one in found.fabric.switches.items() if one.config.unread}
        answer = {
            "switches": {name: one.asic.name for name, one in found.fabric.switches.items()},
            "rows": [row.record() for row in rows],
            "unchecked": [{"id": name, "why": why} for name, why in found.unchecked.items()],
            "unread": unread,
        }
        print(json.dumps(answer))
        return code
    _show(found, rows)
    return code


def _show(found: Context, rows: list[Row]) -> None:
    from rich.markup import escape

    from xoff import display

    ports = sum(len(one.up) for one in found.fabric.switches.values())
    chips = formatting.listed(dict(sorted(_counts(one.asic.name for one in found.fabric.switches.values()).items())))
    display.out.print(f"{len(found.fabric.switches):,} switches ({escape(chips)}), {ports:,} ports that are up")
    groups = grouped(rows)
    for level, head, why in groups[:_SHOWN]:
        display.out.print(f"[{_STYLES[level]}]{level}[/{_STYLES[level]}] {escape(head)}")
        display.out.print(f"  {escape(why)}")
    hidden = len(groups) - _SHOWN
    if hidden > 0:
        display.out.print(f"… and {hidden:,} more findings (--json lists all)")
    for name, why in found.unchecked.items():
        display.out.print(f"not checked: {name} ({escape(why)})")
    for text in unknown_properties(found.fabric):
        display.out.print(f"unknown: {escape(text)}")
    if unread := unread_names(found.fabric):
        display.out.print(f"not read: {escape(', '.join(unread[:_SHOWN]))}" + (", …" if len(unread) > _SHOWN else ""))
    _show_memory(found)
    counts = _counts(row.level for row in rows)
    totals = ", ".join(f"{counts.get(level, 0):,} {level}s" for level in _STYLES)
    display.out.print(f"{totals}; docs/reference/sonic-checks.md explains each check")


def _show_memory(found: Context) -> None:
    """Prints the memory of lossless groups as the profiles cut it; switches with equal values are one row."""
    from rich.markup import escape

    from xoff import display

    rows: dict[tuple[str, ...], list[str]] = {}
    for switch, memory in found.with_memory():
        profile = switch.lossless[0].profile
        alone, together = (memory.threshold(profile, groups) for groups in (1, memory.groups))
        shared = memory.shared and memory.shared * memory.slices
        shares = [share and share + reserve(switch, profile) for share in (alone, together)]
        is_known = not set(switch.asic.unknown) & {"slices", "headroom_in_pool", "reserve_in_pool"}
        held = memory.reserves, memory.headroom, *((shared, *shares) if is_known else (None, None, None))
        cells = ["–" if value is None else formatting.size(value) for value in held]
        groups = "–" if "slices" in switch.asic.unknown else str(memory.groups)
        rows.setdefault((*cells, groups), []).append(switch.name)
    if not rows:
        return
    columns = ("switch", "reserves", "headroom", "shared", "XOFF alone", "XOFF with all groups", "groups in a slice")
    table = display.table(*columns, title="memory of lossless groups", right=tuple(range(1, len(columns))))
    for values, names in list(rows.items())[:_SHOWN]:
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        table.add_row(escape(f"{names[0]}{more}"), *values)
    display.out.print(table)


def _counts(names: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name in names:
        found[name] = found.get(name, 0) + 1
    return found


def grouped(rows: list[Row]) -> list[tuple[str, str, str]]:
    """Returns level, place and reason of findings; those of several ports or switches with equal reason are one."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        key = row.key.replace(row.port, "*") if row.port else row.key
        why = row.why if row.id != "map-neighbour" else ""
        groups.setdefault((row.id, row.level, row.table, key, row.field, row.value, row.required, why), []).append(row)
    found = []
    for members in groups.values():
        row = members[0]
        places = list(dict.fromkeys(f"{one.switch} {one.port}".strip() for one in members))
        more = f" and {len(places) - 1:,} more {'ports' if row.port else 'switches'}" if len(places) > 1 else ""
        value = f" = {row.value}" if row.value else " is missing"
        key = f"|{row.key}" if row.key else ""
        needed = f"; passes with {row.required}" if row.required else ""
        where = f"{places[0]}{more}: " if places[0] else ""
        found.append((row.level, f"{row.id}: {where}{row.table}{key} {row.field}{value}{needed}", row.why))
    return found


def unknown_properties(found: Fabric, *, with_values: bool = False) -> list[str]:
    """Returns, for each chip, the properties whose values are not known.

    with_values: adds the values that an import assumes.
    """
    chips = {one.chip_name: one.asic for one in found.switches.values() if one.asic.unknown}
    texts = []
    for name, chip in chips.items():
        keys = [f"{key} = {getattr(chip, key)}" if with_values else key for key in chip.unknown]
        texts.append(f"{', '.join(keys)} of {name}; --asic FILE gives the values")
    return texts


def unread_names(found: Fabric) -> list[str]:
    """Returns tables and fields that are not read, of all switches."""
    return list(dict.fromkeys(name for one in found.switches.values() for name in one.config.unread))
