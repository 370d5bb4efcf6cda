"""Shared options of commands: ``--set``, ``--json``, ``--force``, and facts beside SONiC configurations."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from xoff import running
from xoff._core import InputError
from xoff.running.document import typed


def _complete_setting(incomplete: str) -> list[str]:
    from xoff.commands.completion import settings

    return settings(incomplete)


Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Replaces a setting, such as [b]switch.flow_control.pfc.xoff=300KB[/b]; repeatable.",
        autocompletion=_complete_setting,
    ),
]
File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="The scenario: a TOML file, or a JSON file; - reads TOML from standard input.",
        show_default=False,
    ),
]
ScenarioOrStudy = Annotated[
    Path | None,
    typer.Argument(metavar="[FILE]", help="The scenario, or the study: a TOML or JSON file.", show_default=False),
]
Seed = Annotated[
    int | None, typer.Option(min=0, metavar="N", help="Replaces the seed of the scenario.", show_default=False)
]
Threads = Annotated[
    int, typer.Option(min=1, max=running.MAX_THREADS, metavar="N", help="Threads; results are equal for any number.")
]
ResultDirectory = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Keeps the result in this directory; one of the same scenario is replaced. "
        "After an interrupt, DIR.cut has what was complete.",
        show_default=False,
    ),
]
NoFold = Annotated[
    bool, typer.Option("--no-fold", help="Simulates each of many equal servers (ties). The result is the same.")
]
Json = Annotated[bool, typer.Option("--json", help="Prints one JSON object alone on standard output.")]
Force = Annotated[
    bool, typer.Option("--force", help="Replaces the result of another scenario or study in the directory.")
]

AllowPython = Annotated[
    bool,
    typer.Option(
        "--allow-python",
        help="Calls the Python functions that the file names. Read their code first: it may do anything.",
    ),
]
PythonTimeout = Annotated[
    float,
    typer.Option(
        "--python-timeout",
        metavar="SECONDS",
        help="Interrupts a Python function that does not return within this time.",
    ),
]

Asic = Annotated[
    str | None,
    typer.Option(
        "--asic",
        metavar="NAME|FILE",
        help="With --sonic: the chip of all switches, such as tomahawk or spectrum3, or a TOML file with properties of "
        "the chip. Default: from platform and hwsku.",
        show_default=False,
    ),
]
Lookup = Annotated[
    Path | None,
    typer.Option("--lookup", metavar="FILE", help="With --sonic: the table pg_profile_lookup.ini.", show_default=False),
]
AdapterFile = Annotated[
    Path | None,
    typer.Option(
        "--adapter",
        metavar="FILE",
        help="With --sonic: settings of the hosts' adapters: mlnx_qos, cma_roce_tos, DCQCN parameters.",
        show_default=False,
    ),
]
RoceDscp = Annotated[
    int | None,
    typer.Option("--roce-dscp", min=0, max=63, metavar="N", help="DSCP of RoCE data at the hosts.", show_default=False),
]
CnpDscp = Annotated[
    int | None,
    typer.Option("--cnp-dscp", min=0, max=63, metavar="N", help="DSCP of CNPs at the hosts.", show_default=False),
]


# An entry of a list, which may also be written as a step of the path: workload.0.start is workload[0].start.
_LIST = re.compile(r"\.(\d+)(?=\.|$)")


def settings(given: list[str] | None) -> list[tuple[str, Any]]:
    """Returns the pairs of key and value of ``--set``, values typed as by `typed`.

    Raises `InputError` if an argument is not KEY=VALUE, or a value has several lines.
    """
    pairs = overrides(given)
    for key, text in pairs:
        if len(text.splitlines()) > 1:
            raise InputError(f"{key}: the value has more than one line; a setting is one value")
    return [(key, typed(text)) for key, text in pairs]


def overrides(given: list[str] | None) -> list[tuple[str, str]]:
    """Returns the pairs of key and text of ``--set``. Raises `InputError` for other forms than KEY=VALUE."""
    pairs = []
    for setting in given or []:
        key, separator, value = setting.partition("=")
        if not separator or not key.strip():
            raise InputError(
                f"--set: `{setting}` is not of the form KEY=VALUE, such as switch.flow_control.pfc.xoff=300KB"
            )
        pairs.append((_LIST.sub(r"[\1]", key.strip()), value.strip()))
    return pairs
