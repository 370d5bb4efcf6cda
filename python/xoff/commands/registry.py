"""The command ``xoff``: the list of its commands, and its start and end.

Exit codes: 0 done; 1 an audit or a claim failed; 2 bad input, with one message on standard error; 130 interrupted.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from importlib import import_module
from keyword import iskeyword
from typing import Annotated, Any, TextIO, cast

import typer
from typer.core import TyperGroup

from xoff.commands.failures import Aside, guarded
from xoff.running.interrupts import INTERRUPTING
from xoff.version import __version__, documentation


class _Commands(TyperGroup):
    """The commands, whose help ends with the address of the documentation."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Writes the help."""
        first = "First steps: [b]xoff new scenario[/b] writes a file, [b]xoff examples[/b] lists more."
        address = "" if (known := documentation()) == "xoff docs" else f" Also at {known}."
        self.epilog = f"{first} [b]xoff docs[/b] prints and searches the documentation, without a network.{address}"
        super().format_help(ctx, formatter)


app = typer.Typer(
    name="xoff",
    cls=_Commands,
    help="Simulates, packet by packet, flow control and congestion management in data-centre networks.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

COMMANDS = (
    "nccl-tests",
    "new",
    "examples",
    "conformance",
    "run",
    "check",
    "schema",
    "docs",
    "keys",
    "models",
    "sweep",
    "tune",
    "explain",
    "report",
    "export",
    "reproduce",
    "bench",
    "size",
    "import",
    "plugins",
)
"""The commands in the order of ``xoff --help``.

A command is a file of this folder with a function ``command``; a group of commands is a file with ``app``. A file has
the command's name, with underscores instead of hyphens, and one more after a keyword of Python.
"""


def _register(name: str) -> None:
    slug = name.replace("-", "_")
    module = import_module(f"xoff.commands.{slug}_" if iskeyword(slug) else f"xoff.commands.{slug}")
    if hasattr(module, "app"):
        app.add_typer(module.app, name=name)
    else:
        app.command(name)(module.command)


for _name in COMMANDS:
    _register(_name)


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[
        bool, typer.Option("-V", "--version", help="Prints the version and ends.", is_eager=True)
    ] = False,
) -> None:
    if version:
        print(f"xoff {__version__}")
        raise typer.Exit(0)


@app.command("help", hidden=True)
def help_(context: typer.Context) -> None:
    """Prints the list of commands."""
    if context.parent is not None:
        print(context.parent.get_help())


def main() -> None:
    """Runs the command, and turns every failure into one message and an exit code."""
    # A shell may start the command with these streams closed (`>&-`).
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123
    for stream in (sys.stdout, sys.stderr):
        # A file name may be bytes that are not text.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.stderr = cast(TextIO, Aside(sys.stderr))
    # SIGTERM, SIGHUP and SIGQUIT clean up as Ctrl-C does.
    for number in INTERRUPTING:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
    sys.exit(guarded(lambda: app(prog_name="xoff", standalone_mode=False)))


if __name__ == "__main__":
    main()
