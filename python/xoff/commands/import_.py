"""The command ``xoff import``: a sub-command for each simulator and each format."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from xoff._core import InputError
from xoff.commands.options import AdapterFile, Asic, Json, Lookup, RoceDscp

app = typer.Typer(
    help="Writes a scenario or requests from foreign files, and lists the parts that were not carried over.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

ImportedTo = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Writes the scenario and its tables into this new directory. Default: out/ and the name of a file.",
        show_default=False,
    ),
]

Verbose = Annotated[bool, typer.Option("--verbose", help="Also prints notes without effect on results.")]


@app.command("hpcc")
def import_hpcc(
    topology: Annotated[Path, typer.Argument(metavar="TOPOLOGY", help="Nodes and links.", show_default=False)],
    flows: Annotated[Path, typer.Argument(metavar="FLOWS", help="Flows, of 6 or 5 values.", show_default=False)],
    config: Annotated[
        Path | None, typer.Argument(metavar="[CONFIG]", help="Settings: KEY VALUE.", show_default=False)
    ] = None,
    out: ImportedTo = None,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """The HPCC family of ns-3 simulators (HPCC, ConWeave, ns3-datacenter)."""
    from xoff.importing.command import command
    from xoff.importing.hpcc import convert

    command(convert, [topology, flows, config], name=flows, out=out, as_json=as_json, is_verbose=verbose)


@app.command("htsim")
def import_htsim(
    matrix: Annotated[Path, typer.Argument(metavar="CM", help="The connection matrix.", show_default=False)],
    topology: Annotated[Path | None, typer.Argument(metavar="[TOPO]", help="The topology.", show_default=False)] = None,
    start_unit: Annotated[
        str | None,
        typer.Option(
            metavar="UNIT",
            help="Unit of starts: us for main_uec and main_swift, ps for other programs. Needed if any start is not 0.",
            show_default=False,
        ),
    ] = None,
    out: ImportedTo = None,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """The simulator htsim (csg-htsim, uet-htsim)."""
    from xoff.importing.command import command
    from xoff.importing.htsim import UNITS, convert

    if start_unit is not None and start_unit not in UNITS:
        raise InputError(f"--start-unit: `{start_unit}` is not a unit of starts; allowed are {', '.join(UNITS)}")
    started = partial(convert, unit=start_unit)
    command(started, [matrix, topology], name=matrix, out=out, as_json=as_json, is_verbose=verbose)


@app.command("goal")
def import_goal(
    file: Annotated[Path, typer.Argument(metavar="GOAL", help="A schedule, as text.", show_default=False)],
    order: Annotated[
        str,
        typer.Option(
            metavar="message|packet",
            help="Order of the messages of a rank: one after another, or packet by packet in turn.",
        ),
    ] = "message",
    out: ImportedTo = None,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """A job in GOAL, the format of LogGOPSim and ATLAHS: sends, receives and computation of ranks."""
    from xoff.importing.command import command
    from xoff.importing.goal import ORDERS, convert
    from xoff.importing.source import MAX_JOB_BYTES

    if order not in ORDERS:
        raise InputError(f"--order: `{order}` is not an order of messages; allowed are {', '.join(ORDERS)}")
    command(
        partial(convert, order=order),
        [file],
        name=file,
        out=out,
        as_json=as_json,
        is_verbose=verbose,
        most=MAX_JOB_BYTES,
    )


@app.command("simai")
def import_simai(
    file: Annotated[Path, typer.Argument(metavar="WORKLOAD", help="A workload of AICB.", show_default=False)],
    gpus: Annotated[
        int | None,
        typer.Option(min=1, max=2**20, metavar="N", help="Number of GPUs, if the file has none.", show_default=False),
    ] = None,
    per_server: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=4096,
            metavar="N",
            help="GPUs of a server. Default: as in the topology, or 8.",
            show_default=False,
        ),
    ] = None,
    topology: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="SimAI's topology. Default: rails as in its template.", show_default=False),
    ] = None,
    library: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="nccl or textbook. Default: nccl where servers with NVLink are known and groups share servers evenly.",
            show_default=False,
        ),
    ] = None,
    out: ImportedTo = None,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """A job of SimAI: the layers of its workload file, with tensor, data and expert parallelism."""
    from xoff.importing.command import command
    from xoff.importing.simai import convert
    from xoff.importing.source import MAX_JOB_BYTES

    if library not in (None, "nccl", "textbook"):
        raise InputError(f"--library: unknown library {library!r}; give nccl or textbook")
    converted = partial(convert, gpus=gpus, per_server=per_server, library=library)
    command(converted, [file, topology], name=file, out=out, as_json=as_json, is_verbose=verbose, most=MAX_JOB_BYTES)


@app.command("chakra")
def import_chakra(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="ET…", help="A trace for each rank, in the order of ranks: protobuf or JSON.", show_default=False
        ),
    ],
    groups: Annotated[
        Path | None,
        typer.Option(metavar="JSON", help="The ranks of each group, by the name of the group.", show_default=False),
    ] = None,
    flops: Annotated[
        float | None,
        typer.Option(
            metavar="N",
            help="FLOP/s of an accelerator, such as 1e15: sets the time of nodes with num_ops.",
            show_default=False,
        ),
    ] = None,
    memory_bandwidth: Annotated[
        float | None,
        typer.Option(
            metavar="N",
            help="Memory bandwidth of an accelerator in B/s, such as 3e12: computation reads tensor_size bytes.",
            show_default=False,
        ),
    ] = None,
    out: ImportedTo = None,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """A job in Chakra execution traces, the format of MLCommons and ASTRA-sim."""
    from xoff.importing.chakra import convert
    from xoff.importing.command import command

    for option, value in (("--flops", flops), ("--memory-bandwidth", memory_bandwidth)):
        if value is not None and not 1 <= value <= 1e21:
            raise InputError(f"{option}: {value:g} was given; a number from 1 to 1e21 is needed")
    if memory_bandwidth is not None and flops is None:
        raise InputError("--memory-bandwidth: needs --flops")
    converted = partial(convert, paths=files, groups=groups, flops=flops, memory=memory_bandwidth)
    command(converted, [], name=files[0], out=out, as_json=as_json, is_verbose=verbose)


@app.command("sonic")
def import_sonic(
    directory: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="One file a switch: NAME.json, or NAME/config_db.json.", show_default=False),
    ],
    links: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Links as CSV: a, a_port, b, b_port, length. Default: DEVICE_NEIGHBOR and CABLE_LENGTH.",
            show_default=False,
        ),
    ] = None,
    asic: Asic = None,
    lookup: Lookup = None,
    adapter: AdapterFile = None,
    roce_dscp: RoceDscp = None,
    out: ImportedTo = None,
    as_json: Json = False,
) -> None:
    """Switches as SONiC configures them: the config_db.json of each switch of a fabric."""
    from xoff.sonic.import_command import command

    command(
        directory,
        links=links,
        chip=asic,
        lookup=lookup,
        settings=adapter,
        roce_dscp=roce_dscp,
        out=out,
        as_json=as_json,
    )


@app.command("requests")
def import_requests(
    file: Annotated[
        Path, typer.Argument(metavar="TRACE", help="A trace of Mooncake, Azure or BurstGPT.", show_default=False)
    ],
    begin: Annotated[
        str, typer.Option("--from", metavar="TIME", help="Start of a window, from the first request of the trace.")
    ] = "0",
    length: Annotated[
        str | None,
        typer.Option("--for", metavar="TIME", help="Length of the window. Default: the rest.", show_default=False),
    ] = None,
    speed: Annotated[float, typer.Option(metavar="X", help="Divides all times by X.")] = 1.0,
    spread: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Spreads requests of one moment evenly over this time; 0 does not. Default: the tick of Mooncake's "
            "clock, and 0 for other traces.",
            show_default=False,
        ),
    ] = None,
    cache_tokens: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=10**15,
            metavar="N",
            help="Tokens of the prefix cache, for traces of Mooncake. Default: no limit.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Writes requests.csv into this new directory. Default: out/ and the name of the file.",
            show_default=False,
        ),
    ] = None,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Requests to an LLM service, from a trace: a table of arrivals and tokens."""
    from xoff.importing.requests_command import command

    command(
        file,
        begin=begin,
        length=length,
        speed=speed,
        spread=spread,
        cache_tokens=cache_tokens,
        out=out,
        as_json=as_json,
        is_verbose=verbose,
    )
