"""``xoff export``: the options of the command that writes files for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from xoff._core import InputError
from xoff.commands.options import Asic, Json


def _complete_fct() -> list[str]:
    from xoff.exporting.fct import VARIANTS

    return list(VARIANTS)


def _complete_result(incomplete: str) -> list[str]:
    from xoff.commands.completion import results

    return results(incomplete)


def command(
    directory: Annotated[
        Path,
        typer.Argument(
            metavar="DIR|sonic",
            help="The directory of a result, or the word sonic before a scenario.",
            show_default=False,
            autocompletion=_complete_result,
        ),
    ],
    scenario: Annotated[
        Path | None,
        typer.Argument(
            metavar="[SCENARIO]",
            help="After sonic: writes the config_db.json of the scenario's switches.",
            show_default=False,
        ),
    ] = None,
    perfetto: Annotated[
        bool, typer.Option("--perfetto", help="Pauses, queues and flows over time, for the Perfetto UI.")
    ] = False,
    pcapng: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LINK",
            help="The frames on a link, for Wireshark: the names of both ends, such as [b]leaf1-spine3[/b], in either "
            "order; [b]*[/b] stands for any characters; repeatable.",
            show_default=False,
        ),
    ] = None,
    fct: Annotated[
        str | None,
        typer.Option(
            metavar="FORM",
            help="Completion times in the format of another simulator's scripts: [b]hpcc[/b].",
            show_default=False,
            autocompletion=_complete_fct,
        ),
    ] = None,
    counters: Annotated[
        bool,
        typer.Option(
            "--counters",
            help="PFC frames, pause times, drops and marks of each port, with the names of SONiC and of ethtool -S.",
        ),
    ] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Every table as a CSV file.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="PLACE",
            help="Writes this new file; with --csv, this new directory. Default: beside the result.",
            show_default=False,
        ),
    ] = None,
    switch: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="With sonic: prints the tables of this switch.", show_default=False),
    ] = None,
    is_all: Annotated[
        bool, typer.Option("--all", help="With sonic: writes a file for each switch into the new directory of --out.")
    ] = False,
    asic: Asic = None,
    as_json: Json = False,
) -> None:
    """Writes the recorded data of a run in the formats of other tools, or switches as SONiC configurations."""
    if scenario is not None:
        from xoff.sonic.export_command import command as export_sonic

        if directory != Path("sonic") or perfetto or pcapng or fct or counters or csv or as_json:
            raise InputError(f"{scenario}: a scenario goes with `xoff export sonic` alone: give --switch, or --all")
        export_sonic(scenario, switch=switch, is_all=is_all, chip=asic, out=out)
        return
    if switch is not None or is_all or asic is not None:
        raise InputError("--switch, --all and --asic: need `xoff export sonic SCENARIO`")
    from xoff.exporting.command import command

    chosen = {"perfetto": [""] * perfetto, "pcapng": pcapng or [], "fct": [fct] if fct else []}
    chosen |= {"counters": [""] * counters, "csv": [""] * csv}
    command(directory, {name: choices for name, choices in chosen.items() if choices}, out=out, as_json=as_json)
