"""The command ``xoff explain``."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from xoff import formatting
from xoff._core import InputError
from xoff.insight import (
    Breakdown,
    Forest,
    breakdowns,
    job_command,
    ports,
    serving_command,
    serving_path,
    validate,
    words,
)
from xoff.insight.rerun import given, repeated, whole
from xoff.results import Result, incidents
from xoff.results.connections import ends

_TREES = 5
_JOBS = {"collective", "graph", "training", "serving"}
"""Kinds of workloads whose flows are connections."""
_NO_FLOWS = "--worst: all flows are connections of jobs; use --job"


@dataclass(frozen=True, slots=True)
class Question:
    """The questions about a result; without any, the five slowest flows and the trees of pauses."""

    flows: Sequence[int] = ()
    worst: int | None = None
    pauses: bool = False
    port: str | None = None
    job: bool = False
    request: str | None = None
    token: int | None = None
    stretch: bool = False
    what_if: bool | None = None
    """Whether second runs measure the gains of jobs; None: only for short runs."""

    @property
    def is_of_network(self) -> bool:
        """Whether a question about flows, pauses or ports is asked."""
        return bool(self.flows or self.worst or self.pauses or self.port)

    @property
    def is_general(self) -> bool:
        """Whether the whole run is in question, and not a flow, a port or a request."""
        return not (self.flows or self.port or self.request is not None or self.stretch)


def command(directory: Path, question: Question, *, everything: bool, as_json: bool) -> None:
    """Explains a result. Raises `InputError` if a question does not apply to it."""
    result = given(directory)
    _refuse(result, question)
    result = whole(result, directory)
    validate.check(result, "flows", "pauses", "queues", "drops")
    flows, worst, pauses, port = question.flows, question.worst, question.pauses, question.port
    is_more = question.is_of_network
    if question.stretch:
        _explain_stretch(result, directory, everything=everything, as_json=as_json)
        return
    if question.request is not None:
        _explain_request(result, directory, question, everything=everything, as_json=as_json)
        return
    if not is_more and not question.job and (latest := serving_command.latest(result)) is not None:
        if not as_json:
            _show_incidents(result, everything=everything)
        _explain_request(result, directory, Question(request=latest), everything=everything, as_json=as_json)
        return
    if question.job or (not is_more and _is_of_jobs(result)):
        _explain_jobs(result, directory, question.what_if, everything=everything, as_json=as_json)
        return
    if question.what_if:
        raise InputError("--what-if: needs --job")
    if not is_more:
        worst, pauses = 5, True
    for flow in flows:
        _check_known(result, flow)
    connections = ends(result)
    if (carried := next((flow for flow in flows if flow in connections), None)) is not None:
        why = "is a connection: its messages are explained one by one; --job follows the messages on the critical path"
        raise InputError(f"--flow {carried}: {why}")
    slowest = _slowest(result, worst) if worst else []
    asked = {*flows, *slowest}
    answer: dict[str, Any] = {"happened": incidents.lines(result.summary)} if question.is_general else {}
    facts = ports.facts(result, port) if port is not None else None
    if question.is_general and not as_json:
        _show_incidents(result, everything=everything, says_nothing=not is_more)
    if asked or pauses:
        # The total cost of pauses needs the delays of all flows.
        result = repeated(result, None if pauses else asked, directory)
    forest = Forest(result) if asked or pauses else None
    found = {one.number: one for one in breakdowns(result, forest)} if asked else {}
    if late := [flow for flow in flows if flow not in found]:
        raise InputError(f"--flow {late[0]}: the flow had not started at the end of the run")
    if flows:
        texts = [found[flow].to_dict() for flow in flows]
        answer |= {"flow": texts[0]} if len(texts) == 1 else {"flows": texts}
    if worst:
        answer["worst"] = [found[flow].to_dict() for flow in slowest if flow in found]
    if pauses and forest is not None:
        answer["trees"] = [tree.to_dict() for tree in forest.trees]
    if facts is not None:
        answer["port"] = facts
    if as_json:
        print(json.dumps(answer))
        return
    if forest is not None:
        for flow in flows:
            _show_flow(found[flow], forest, everything=everything)
        if pauses:
            _show_trees(forest, everything=everything)
        if worst:
            _show_worst([found[flow] for flow in slowest if flow in found], forest, directory)
    if facts is not None:
        _show_port(facts)


def _show_incidents(result: Result, *, everything: bool, says_nothing: bool = True) -> None:
    """Prints what happened out of the ordinary, and the warnings: five lines, or all.

    says_nothing: print a line if nothing happened.
    """
    from rich.markup import escape

    from xoff import display

    lines = incidents.lines(result.summary)
    shown = lines if everything else lines[: incidents.MOST]
    for line in shown or ([incidents.NOTHING] if says_nothing else []):
        display.out.print(f"[b]{escape(formatting.plain(line))}[/b]", soft_wrap=True)
    if len(shown) < len(lines):
        display.out.print(f"… and {len(lines) - len(shown):,} more (--all or --json lists all)")


def _refuse(result: Result, question: Question) -> None:
    """Raises `InputError` for questions that exclude each other or do not apply to the result; repeats no run."""
    others = question.is_of_network
    if question.token is not None and question.request is None:
        raise InputError("--token: needs --request")
    if question.stretch and (others or question.job or question.request is not None):
        raise InputError("--stretch: excludes the other questions; run two commands")
    if question.request is not None and (others or question.job):
        raise InputError("--request: excludes --flow, --worst, --pauses, --port and --job; run two commands")
    if question.job and others:
        raise InputError("--job: excludes --flow, --worst, --pauses and --port; run two commands")
    if question.worst and _has_only_jobs(result.scenario):
        raise InputError(_NO_FLOWS)
    if "flows" in result.tables:
        for flow in question.flows:
            _check_known(result, flow)


def _has_only_jobs(scenario: Mapping[str, Any]) -> bool:
    """Whether all workloads of a scenario are jobs, whose flows are connections."""
    workloads = scenario.get("workload") or []
    return (
        isinstance(workloads, list)
        and bool(workloads)
        and all(isinstance(one, Mapping) and _JOBS & one.keys() for one in workloads)
    )


def _explain_jobs(result: Result, directory: Path, wanted: bool | None, *, everything: bool, as_json: bool) -> None:
    found, forest = job_command.explain(result, directory)
    measured = job_command.gains(result, found, asked=wanted)
    if as_json:
        print(json.dumps({"happened": incidents.lines(result.summary), "jobs": job_command.answer(found, measured)}))
        return
    _show_incidents(result, everything=everything)
    for number, one in enumerate(found):
        job_command.show(one, forest, None if measured is None else measured[number], everything=everything)


def _explain_request(result: Result, directory: Path, question: Question, *, everything: bool, as_json: bool) -> None:
    request = serving_command.find(result, question.request or "")
    traced = repeated(result, None, directory)
    found, forest = serving_command.late(traced, request, question.token)
    if as_json:
        print(json.dumps(serving_command.answer(request, found)))
        return
    serving_command.show(request, found, forest, everything=everything)


def _explain_stretch(result: Result, directory: Path, *, everything: bool, as_json: bool) -> None:
    if not serving_path.workloads(result):
        raise InputError("--stretch: the result has no steps of a serving workload")
    traced = repeated(result, None, directory)
    table = serving_path.stretch(traced)
    if as_json:
        print(json.dumps(serving_command.stretch_answer(traced, table)))
        return
    serving_command.show_stretch(traced, table, serving_path.pauses(traced), everything=everything)


def _check_known(result: Result, flow: int) -> None:
    """Raises `InputError` if the table `flows` has no flow of this number."""
    rows = result.flows
    if pc.is_in(pa.array([flow], rows["flow"].type), rows["flow"]).to_pylist() == [True]:
        return
    if not rows.num_rows:
        raise InputError(f"--flow {flow}: the result has no flows (probe.flows is false, or none started)")
    least, most = pc.min_max(rows["flow"]).as_py().values()
    raise InputError(f"--flow {flow}: out of range; allowed are {least} to {most}")


def _is_of_jobs(result: Result) -> bool:
    """Whether all flows are connections of jobs."""
    return result.flows.num_rows > 0 and set(result.flows["flow"].to_pylist()) <= set(ends(result))


def _slowest(result: Result, count: int) -> list[int]:
    """Returns the flows with the largest slowdowns; undelivered flows come first."""
    rows = result.flows.select(["flow", "slowdown"])
    connections = pa.array(sorted(ends(result)), rows["flow"].type)
    if rows.num_rows and not (rows := rows.filter(pc.invert(pc.is_in(rows["flow"], connections)))).num_rows:
        raise InputError(_NO_FLOWS)
    if not rows.num_rows:
        raise InputError("--worst: the result has no flows (probe.flows is false, or none started)")
    rows = rows.set_column(1, "slowdown", pc.fill_null(rows["slowdown"], math.inf))
    slowest = rows.sort_by([("slowdown", "descending"), ("flow", "ascending")])
    return [int(flow) for flow in slowest["flow"].slice(0, count).to_pylist()]


def _show_flow(breakdown: Breakdown, forest: Forest, *, everything: bool) -> None:
    from rich.markup import escape

    from xoff import display

    for line in words.headline(breakdown, forest):
        display.out.print(escape(line), soft_wrap=True)
    table = display.table("part", "where", "µs", "share", right=(2, 3))
    for text, where, ps in words.rows(breakdown, forest, everything=everything):
        table.add_row(escape(text), escape(where), words.micro(ps), f"{breakdown.share(ps):.1%}")
    table.add_section()
    table.add_row("[b]together[/b]", "", f"[b]{words.micro(breakdown.total_ps)}[/b]", "")
    table.columns[0].no_wrap = False
    display.out.print(table)


def _show_worst(found: list[Breakdown], forest: Forest, directory: Path) -> None:
    from rich.markup import escape

    from xoff import display

    table = display.table(
        "flow", "from, to", "size", "took", "slowdown", "largest delay", right=(0, 2, 3, 4), title="slowest flows"
    )
    for one in found:
        flow, part = one.flow, one.worst
        most = (
            "none" if part is None else f"{one.share(part.ps):.0%} {words.of_flow(part, one)}, at {_at(part, forest)}"
        )
        slowdown = "–" if flow["slowdown"] is None else f"{flow['slowdown']:.2f}"
        took = "not delivered" if flow["fct_ps"] is None else formatting.time(flow["fct_ps"])
        ends = f"{formatting.plain(flow['src'])} → {formatting.plain(flow['dst'])}"
        table.add_row(str(one.number), escape(ends), formatting.size(flow["size_bytes"]), took, slowdown, escape(most))
    display.out.print(table)
    if found:
        again = f"xoff explain {formatting.plain(str(directory))} --flow {found[0].number}"
        display.out.print(f"All parts of the first: [b]{escape(again)}[/b]", soft_wrap=True)


def _at(part: Any, forest: Forest) -> str:
    return words.place(part.node, part.port, forest.peers)


def _show_trees(forest: Forest, *, everything: bool) -> None:
    from rich.markup import escape

    from xoff import display

    if not forest.trees:
        display.out.print("No queue was paused.")
        return
    shown = forest.trees if everything else forest.trees[:_TREES]
    display.out.print("[b]pauses, by where they begin[/b]")
    for tree in shown:
        first, *rest = words.tree(tree, forest)
        display.out.print(f"[b]{escape(first)}[/b]", soft_wrap=True)
        for line in rest:
            display.out.print(escape(line), soft_wrap=True)
    if len(shown) < len(forest.trees):
        display.out.print(f"… and {len(forest.trees) - len(shown):,} more (--all or --json lists all)")


def _show_port(facts: dict[str, Any]) -> None:
    from rich.markup import escape

    from xoff import display

    table = display.table("", "", title=escape(f"{formatting.plain(facts['node'])} port {facts['port']}"))
    table.show_header = False
    for name, text in words.port_facts(facts):
        table.add_row(escape(name), escape(text))
    display.out.print(table)
