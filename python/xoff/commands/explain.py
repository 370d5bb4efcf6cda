"""``xoff explain``: the options of the command that explains slow flows, jobs and requests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from xoff._core import InputError
from xoff.commands.options import Json


def command(
    directory: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="The directory of a result.", show_default=False)
    ] = None,
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
    counters: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="Explains counters of a real network instead of a result: who paused whom, where pauses begin, "
            "and what contradicts. Needs --scenario.",
            show_default=False,
        ),
    ] = None,
    scenario: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="With --counters: a scenario with the network and its PFC classes.", show_default=False
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Names all flows and all pauses, not the largest.")] = False,
    as_json: Json = False,
) -> None:
    """Explains the time of flows, jobs and requests to the picosecond, and which ports caused pauses."""
    if counters is not None or scenario is not None:
        others = (flow, worst, pauses, port, job, request, token, stretch, what_if)
        _of_counters(counters, scenario, directory, others, everything=everything, as_json=as_json)
        return
    if directory is None:
        raise InputError("no result: give DIR, or --counters FILE --scenario FILE")
    from xoff.insight.command import Question, command

    question = Question(flow or [], worst, pauses, port, job, request, token, stretch, what_if)
    command(directory, question, everything=everything, as_json=as_json)


def _of_counters(
    counters: Path | None,
    scenario: Path | None,
    directory: Path | None,
    others: Sequence[object],
    *,
    everything: bool,
    as_json: bool,
) -> None:
    from xoff.counters.command import command as explain

    if counters is None or scenario is None or directory is not None:
        raise InputError("--counters: needs --scenario FILE, and no DIR")
    if any(other is not None and other is not False for other in others):
        raise InputError("--counters: not allowed with another question: counters know no flow, job or request")
    explain(counters, scenario, everything=everything, as_json=as_json)
