"""``xoff nccl-tests``: the options of the command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from xoff.commands.options import Json, Set, settings


def _operations() -> list[str]:
    from xoff.nccl import OPERATIONS

    return list(OPERATIONS)


def command(
    operation: Annotated[
        str,
        typer.Argument(
            metavar="OPERATION",
            help="all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, reduce or sendrecv.",
            autocompletion=_operations,
        ),
    ] = "all_reduce",
    begin: Annotated[str, typer.Option("--begin", "-b", metavar="SIZE", help="The first size: 8, 64K, 1M.")] = "8",
    end: Annotated[str, typer.Option("--end", "-e", metavar="SIZE", help="The last size.")] = "16G",
    factor: Annotated[int, typer.Option("--factor", "-f", metavar="N", help="From a size to the next size.")] = 2,
    servers: Annotated[int, typer.Option(min=1, metavar="N", help="Servers.")] = 2,
    gpus_per_server: Annotated[int, typer.Option(min=1, metavar="N", help="GPUs of a server.")] = 8,
    nics: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="NICs of a server. Default: one for each GPU.", show_default=False),
    ] = None,
    nic_rate: Annotated[str, typer.Option(metavar="RATE", help="Rate of a NIC.")] = "400Gbps",
    gpu: Annotated[str, typer.Option(metavar="TYPE", help="Type of the GPUs, such as a100, h100 or b200.")] = "h100",
    cpu: Annotated[str, typer.Option(metavar="MAKER", help="Maker of the CPUs: intel, amd or arm.")] = "intel",
    algorithm: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="ring, tree, nvls, nvls_tree or pat. Default: NCCL's choice.", show_default=False
        ),
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="simple, ll or ll128. Default: NCCL's choice.", show_default=False),
    ] = None,
    nccl_version: Annotated[
        str | None, typer.Option("--nccl-version", metavar="X.Y", help="Version of NCCL.", show_default=False)
    ] = None,
    network: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A scenario with network.servers, whose network, switches and hosts are used. Default: a "
            "rail-optimised fabric that never blocks.",
            show_default=False,
        ),
    ] = None,
    set: Set = None,
    no_fast_forward: Annotated[
        bool, typer.Option("--no-fast-forward", help="Simulates everything; the result is the same.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Prints the table of nccl-tests for servers and a network on paper."""
    from xoff import nccl

    nccl.command(
        as_json=as_json,
        operation=operation,
        begin=begin,
        end=end,
        factor=factor,
        servers=servers,
        gpus_per_server=gpus_per_server,
        nics=nics,
        nic_rate=nic_rate,
        gpu=gpu,
        cpu=cpu,
        algorithm=algorithm,
        protocol=protocol,
        version=nccl_version,
        network=network,
        overrides=settings(set),
        fast_forward=not no_fast_forward,
    )
