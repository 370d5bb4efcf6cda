"""The command ``xoff``.

Exit codes: 0 done; 1 an audit or a claim failed; 2 bad input, with one message on standard error; 130 interrupted.
"""

from __future__ import annotations

import io
import json
import os
import signal
import sys
from pathlib import Path
from typing import Annotated, Any, TextIO, cast

import typer
from typer.core import TyperGroup

from xoff import _core, formatting, running
from xoff._core import InputError
from xoff.conformance.command import conformance
from xoff.failures import Aside, guarded
from xoff.functions import TIMEOUT_SECONDS, Functions
from xoff.importing.app import importing
from xoff.nccl_command import nccl_tests
from xoff.new_command import examples, new
from xoff.options import (
    AdapterFile,
    AllowPython,
    Asic,
    CnpDscp,
    File,
    Force,
    Json,
    Lookup,
    NoFold,
    PythonTimeout,
    ResultDirectory,
    RoceDscp,
    ScenarioOrStudy,
    Seed,
    Set,
    Threads,
    overrides,
    settings,
)
from xoff.plugins.command import app as plugins
from xoff.results import AuditError, Result
from xoff.sizing import size
from xoff.version import __version__, documentation


class _Commands(TyperGroup):
    """The commands, whose help ends with the address of the documentation."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Writes the help."""
        first = "First steps: [b]xoff new scenario[/b] writes a file, [b]xoff examples[/b] lists more."
        self.epilog = f"{first} Documentation: {documentation()}"
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
app.add_typer(size, name="size")
app.add_typer(importing, name="import")
app.add_typer(plugins, name="plugins")
app.command("nccl-tests")(nccl_tests)
app.command("new")(new)
app.command("examples")(examples)
app.command("conformance")(conformance)


def _complete_claim(incomplete: str) -> list[str]:
    from xoff.completion import claims

    return claims(incomplete)


def _complete_fct() -> list[str]:
    from xoff.exporting.fct import VARIANTS

    return list(VARIANTS)


def _complete_result(incomplete: str) -> list[str]:
    from xoff.completion import results

    return results(incomplete)


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


@app.command()
def run(
    file: File,
    set: Set = None,
    seed: Seed = None,
    threads: Threads = 1,
    out: ResultDirectory = None,
    force: Force = False,
    no_fast_forward: Annotated[
        bool, typer.Option("--no-fast-forward", help="Simulates traffic that repeats, too. The result is the same.")
    ] = False,
    no_fold: NoFold = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Prints no table of the result.")] = False,
    allow_python: AllowPython = False,
    python_timeout: PythonTimeout = TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """Simulates one scenario."""
    from rich.markup import escape

    from xoff.display import run_bar

    with Functions(allow_python, python_timeout) as functions:
        prepared = running.prepare(running.source(file), overrides=settings(set), seed=seed, functions=functions)
        functions.close(unless=prepared.controls is not None)
        claimed = None
        if out is not None:
            from xoff.replacing import check_result, claim

            check_result(out, prepared, force=force)
            claimed = claim(out, prepared, force=force)
        try:
            with run_bar(escape(formatting.plain(prepared.name))) as bar, running.Interrupts(out) as interrupts:
                keep = () if out is None else None  # A lossy run writes millions of rows, discarded without --out.
                result = running.run_prepared(
                    prepared,
                    threads=threads,
                    fast_forward=not no_fast_forward,
                    fold=not no_fold,
                    out=out,
                    keep=keep,
                    progress=bar.report,
                    poll=interrupts.poll,
                    stops=interrupts.stops,
                    claim=claimed,
                )
        except running.CutError as error:
            if error.result is not None:
                print(f"xoff: the run is cut; what was complete is in {error.result.directory}", file=sys.stderr)
            raise typer.Exit(130) from None
        except AuditError as error:
            if as_json:
                print(json.dumps(error.result.summary))
            raise
    if as_json:
        print(json.dumps(result.summary))
        return
    if not quiet:
        _show(result, formatting.plain(prepared.name))


def _show(result: Result, title: str) -> None:
    from rich.markup import escape

    from xoff import display
    from xoff.insight.serving_command import stretch_rows

    table = display.table("", "", title=escape(title))
    table.show_header = False
    for what, text in [*result.rows(), *stretch_rows(result)]:
        table.add_row("[yellow]warning[/yellow]" if what == "warning" else what, escape(text))
    display.out.print(table)
    if result.directory is not None:
        display.out.print(f"The result is in [b]{escape(str(result.directory))}[/b]")


@app.command()
def check(
    file: ScenarioOrStudy = None,
    set: Set = None,
    seed: Seed = None,
    deadlock: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.json",
            help="If a deadlock is possible: writes a scenario of the flows that close the cyclic buffer dependency.",
            show_default=False,
        ),
    ] = None,
    sonic: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Checks the switches of this folder in place of a scenario: NAME.json, or NAME/config_db.json.",
            show_default=False,
        ),
    ] = None,
    asic: Asic = None,
    lookup: Lookup = None,
    adapter: AdapterFile = None,
    roce_dscp: RoceDscp = None,
    cnp_dscp: CnpDscp = None,
    estimate: Annotated[
        bool,
        typer.Option("--estimate", help="Estimates packet-hops, CPU-seconds and memory, from a sample of the run."),
    ] = False,
    allow_python: AllowPython = False,
    python_timeout: PythonTimeout = TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """Validates a scenario without running it and describes its network; validates each variant of a study.

    With --sonic the command names the settings of switches that would lose packets; exit code 1 with an error.
    """
    beside = {"--asic": asic, "--lookup": lookup, "--adapter": adapter, "--roce-dscp": roce_dscp}
    beside |= {"--cnp-dscp": cnp_dscp}
    if sonic is not None:
        from xoff.sonic import check_command

        if file is not None or set or seed is not None or deadlock is not None or estimate or allow_python:
            others = "--set, --seed, --deadlock, --estimate and --allow-python"
            raise InputError(f"--sonic: not allowed with a scenario, {others}")
        found = check_command.context(
            sonic, chip=asic, lookup=lookup, settings=adapter, roce_dscp=roce_dscp, cnp_dscp=cnp_dscp
        )
        raise typer.Exit(check_command.command(found, as_json=as_json))
    if alone := next((name for name, value in beside.items() if value is not None), None):
        raise InputError(f"{alone}: needs --sonic")
    if file is None:
        raise InputError("no scenario: give FILE, or --sonic DIR")
    from xoff.check_command import command

    with Functions(allow_python, python_timeout, is_checked=True) as functions:
        code = command(
            file,
            settings(set),
            seed,
            functions,
            deadlock=deadlock,
            estimates=estimate,
            as_json=as_json,
        )
    raise typer.Exit(code)


@app.command()
def schema() -> None:
    """Prints the JSON Schema of the scenario, from which editors complete and check."""
    print(json.dumps(json.loads(_core.schema()), indent=2))


@app.command()
def sweep(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The study: a TOML file.", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keeps the study in this directory. Default: out/ and the name of the file, with the folder if "
            "there is one: out/headroom for headroom.toml, out/a-headroom for a/headroom.toml.",
            show_default=False,
        ),
    ] = None,
    force: Force = False,
    status: Annotated[
        bool, typer.Option("--status", help="Prints the progress of the study without running it.")
    ] = False,
    shard: Annotated[
        str, typer.Option(metavar="I/N", help="Does the I-th of N parts of the study, as in a job array.")
    ] = "1/1",
    workers: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Runs at a time. Default: one a core.", show_default=False),
    ] = None,
    threads: Threads = 1,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Runs on the workers of a Dask scheduler: address, or scheduler file.",
            show_default=False,
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TABLE",
            help="Also keeps this table of each run, such as pauses; repeatable. Else xoff explain repeats the run.",
            show_default=False,
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Prints every point and comparison, not the first 30.")
    ] = False,
    allow_python: AllowPython = False,
    python_timeout: PythonTimeout = TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """Runs one scenario with many settings and seeds; a restart does only the missing runs."""
    from xoff.study.command import command

    code = command(
        file,
        out=out,
        status=status,
        shard=shard,
        workers=workers,
        threads=threads,
        dask=dask,
        rows=None if everything else 30,
        as_json=as_json,
        keep=keep or (),
        force=force,
        allow_python=allow_python,
        python_timeout=python_timeout,
    )
    raise typer.Exit(code)


@app.command()
def tune(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="The study, with goals and limits in \\[objective].", show_default=False),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Keeps the search in this directory. Default: as for sweep.", show_default=False
        ),
    ] = None,
    force: Force = False,
    runs: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Replaces objective.runs, the budget of the search.", show_default=False),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Runs at a time. Default: one a core.", show_default=False),
    ] = None,
    threads: Threads = 1,
    dask: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Runs on the workers of a Dask scheduler.", show_default=False),
    ] = None,
    allow_python: AllowPython = False,
    python_timeout: PythonTimeout = TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """Searches for the best settings within limits; a restart continues the search."""
    from xoff.study.tune_command import command

    code = command(
        file,
        out=out,
        force=force,
        runs=runs,
        workers=workers,
        threads=threads,
        dask=dask,
        as_json=as_json,
        allow_python=allow_python,
        python_timeout=python_timeout,
    )
    raise typer.Exit(code)


@app.command()
def explain(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The directory of a result.", show_default=False)],
    flow: Annotated[
        list[int] | None,
        typer.Option(min=0, metavar="N", help="Cuts the completion time of this flow into parts; repeatable."),
    ] = None,
    worst: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Names the flows with the largest slowdowns.", show_default=False),
    ] = None,
    pauses: Annotated[
        bool,
        typer.Option(
            "--pauses", help="Names the ports where pauses begin, the flows that filled them, and the delayed flows."
        ),
    ] = False,
    port: Annotated[
        str | None,
        typer.Option(metavar="NODE:PORT", help="Lists the flows, queues and pauses of this port.", show_default=False),
    ] = None,
    job: Annotated[bool, typer.Option("--job", help="Follows jobs along their critical paths, by cause.")] = False,
    request: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="Cuts the time of this request of a serving workload into parts, and follows its latest token to the "
            "packets that made the token late. NAME:N with several workloads.",
            show_default=False,
        ),
    ] = None,
    token: Annotated[
        int | None,
        typer.Option(min=0, metavar="M", help="With --request: follows this token.", show_default=False),
    ] = None,
    stretch: Annotated[
        bool,
        typer.Option(
            "--stretch", help="Lists how much the traffic of others stretched the steps of serving, and where."
        ),
    ] = False,
    what_if: Annotated[
        bool | None,
        typer.Option(
            "--what-if/--no-what-if",
            help="With --job: measures the gain of a faster link, and of no pauses, by second runs. Default: if a "
            "run is short.",
            show_default=False,
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Names all flows and all pauses, not the largest.")] = False,
    as_json: Json = False,
) -> None:
    """Explains the time of flows, jobs and requests to the picosecond, and which ports caused pauses."""
    from xoff.insight.command import Question, command

    question = Question(flow or [], worst, pauses, port, job, request, token, stretch, what_if)
    command(directory, question, everything=everything, as_json=as_json)


@app.command()
def report(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="The directory of a result or of a study.", show_default=False)
    ],
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="Formats: html (the page), svg, png, pdf (figures); repeatable. Default: html, svg and png.",
            show_default=False,
            autocompletion=lambda: ["html", "svg", "png", "pdf"],
        ),
    ] = None,
    summary: Annotated[
        bool,
        typer.Option("--summary", help="Writes one page alone: the question, a figure, three sentences, the settings."),
    ] = False,
) -> None:
    """Draws the figures of a result or a study, and writes a self-contained page."""
    from xoff.report import command, summarise

    if summary and formats:
        raise InputError("--summary: is a PDF and a PNG; leave --format out")
    raise typer.Exit(summarise(directory) if summary else command(directory, formats))


@app.command()
def migrate(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Scenarios and studies, TOML or JSON.", show_default=False),
    ],
    as_json: Json = False,
) -> None:
    """Rewrites files that use names of an earlier release. Comments and layout of TOML files stay."""
    from xoff.migrating import migrate as rewrite

    found = {str(file): changes for file, changes in rewrite(files).items()}
    if as_json:
        typer.echo(
            json.dumps({name: [{"old": one.old, "new": one.new} for one in changes] for name, changes in found.items()})
        )
        return
    for name, changes in found.items():
        typer.echo(f"{name}: " + (f"{len(changes)} renamed" if changes else "nothing to rename"))
        for one in changes:
            typer.echo(f"  {one.old} is {one.new}")


@app.command()
def export(
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

        if directory != Path("sonic") or perfetto or pcapng or fct or csv or as_json:
            raise InputError(f"{scenario}: a scenario goes with `xoff export sonic` alone: give --switch, or --all")
        export_sonic(scenario, switch=switch, is_all=is_all, chip=asic, out=out)
        return
    if switch is not None or is_all or asic is not None:
        raise InputError("--switch, --all and --asic: need `xoff export sonic SCENARIO`")
    from xoff.exporting.command import command

    chosen = {"perfetto": [""] * perfetto, "pcapng": pcapng or [], "fct": [fct] if fct else [], "csv": [""] * csv}
    command(directory, {name: choices for name, choices in chosen.items() if choices}, out=out, as_json=as_json)


@app.command()
def reproduce(
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID",
            help="Claims (sfc/5.1), experiments (sfc/incast_3_to_1) or documents (sfc).",
            show_default=False,
            autocompletion=_complete_claim,
        ),
    ] = None,
    list_only: Annotated[
        bool, typer.Option("--list", help="Lists the experiments and their claims without running them.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Runs the small variants.")] = False,
    design: Annotated[
        bool,
        typer.Option(
            "--design", help="Also screens the open choices of a document: the choices that decide each statement."
        ),
    ] = False,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Directory of the figures.")] = Path("out/reproduce"),
    runs: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keeps the runs here. Only missing runs are run, also after an interruption.",
            show_default=False,
        ),
    ] = None,
    set: Set = None,
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Writes the scenarios and a study of each experiment here, as commented TOML, without running them.",
            show_default=False,
        ),
    ] = None,
    threads: Threads = 1,
    as_json: Json = False,
) -> None:
    """Runs published experiments and prints each claim: published, measured, and the verdict."""
    from xoff.reproduce.command import command

    raise typer.Exit(
        command(
            ids or [],
            list_only=list_only,
            quick=quick,
            design=design,
            out=out,
            threads=threads,
            runs=runs,
            changes=overrides(set),
            export_to=export,
            as_json=as_json,
        )
    )


@app.command()
def bench(
    cases: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CASE",
            help="Names of cases; default: all. training and its cases: jobs, with fast-forward.",
            show_default=False,
        ),
    ] = None,
    repeats: Annotated[
        int, typer.Option(min=1, help="Takes the best of this many runs, or the median of as many pairs.")
    ] = 3,
    list_only: Annotated[bool, typer.Option("--list", help="Lists the cases without running them.")] = False,
    kernel: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Builds the reference kernel from the Cargo package in this directory, and alternates with it.",
            show_default=False,
        ),
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(
            metavar="COMMIT",
            help="Builds this commit of the checkout around the current directory, and alternates with it.",
            show_default=False,
        ),
    ] = None,
    rows: Annotated[bool, typer.Option("--rows", help="Measures the cost of probes and of tables on disk.")] = False,
    as_json: Json = False,
) -> None:
    """Measures packet-hops per CPU-second, memory and the gain of a second thread, alone or against another program."""
    from xoff.bench.command import command

    code = command(
        cases or [],
        repeats=repeats,
        list_only=list_only,
        kernel_at=kernel,
        commit=compare,
        with_rows=rows,
        as_json=as_json,
    )
    raise typer.Exit(code)


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
    for number in running.INTERRUPTING:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
    sys.exit(guarded(lambda: app(prog_name="xoff", standalone_mode=False)))


if __name__ == "__main__":
    main()
