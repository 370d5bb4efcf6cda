"""What ``xoff explain --job`` prints."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xoff import wording
from xoff.insight import job_causes, words
from xoff.insight.again import repeated
from xoff.insight.job_causes import CAUSES, Causes
from xoff.insight.job_path import jobs
from xoff.insight.trees import Forest
from xoff.results import Result

_MOST = 8


def explain(result: Result, directory: Path) -> tuple[list[Causes], Forest]:
    """Cut the jobs of a result at their critical paths; the run is repeated for what delayed their messages."""
    found = [(job, job.path()) for job in jobs(result)]
    flows: set[int] = set()
    for _, steps in found:
        flows |= job_causes.flows(steps)
    traced = repeated(result, flows, directory) if flows else result
    forest = Forest(traced)
    return [job_causes.causes(job, steps, traced, forest) for job, steps in found], forest


def show(causes: Causes, forest: Forest, *, everything: bool) -> None:
    """Print a job."""
    from rich.markup import escape

    from xoff import display

    job = causes.job
    iterations = 1 + max(row["iteration"] for row in job.operations)
    several = "" if iterations == 1 else f", {iterations:,} iterations"
    title = f"{wording.plain(job.name)}: {wording.time(job.total_ps)}{several}, along its critical path"
    display.out.print(f"[b]{escape(title)}[/b]", soft_wrap=True)

    def section(name: str, rows: Mapping[str, int], *, whole: bool) -> None:
        if not rows:
            return
        shown = job_causes.largest(rows)
        rest = [] if everything else shown[_MOST:]
        table = display.table(name, "µs", "share", right=(1, 2))
        for text, ps in shown[: None if everything else _MOST]:
            table.add_row(escape(wording.plain(text)), words.micro(ps), f"{causes.share(ps):.1%}")
        if rest:
            together = sum(ps for _, ps in rest)
            table.add_row(
                f"{len(rest):,} others (all with --all)", words.micro(together), f"{causes.share(together):.1%}"
            )
        if whole:
            table.add_section()
            table.add_row("[b]together[/b]", f"[b]{words.micro(sum(rows.values()))}[/b]", "")
        table.columns[0].no_wrap = False
        display.out.print(table)

    section("by cause", {CAUSES[cause]: ps for cause, ps in causes.by_cause.items()}, whole=True)
    labels = {"computing" if label == "compute" else label: ps for label, ps in causes.by_label.items()}
    section("by what it is counted as", labels, whole=True)
    section("by operation", causes.by_operation, whole=False)
    section(
        "waiting at",
        {words.place(node, port, forest.peers): ps for (node, port, _), ps in causes.by_link.items()},
        whole=False,
    )
    section(
        "pauses that begin at", {words.root_place(root, forest): ps for root, ps in causes.by_root.items()}, whole=False
    )
    for line in _sentences(causes, forest):
        display.out.print(escape(line), soft_wrap=True)


def _sentences(causes: Causes, forest: Forest) -> list[str]:
    """What would be gained, and what is nearest to the path."""
    lines = []
    if causes.by_link:
        (node, port, _), ps = job_causes.largest(causes.by_link)[0]
        at = words.place(node, port, forest.peers)
        lines.append(f"Were {at} free, the job would gain {wording.time(ps)} at most ({causes.share(ps):.1%}).")
    if causes.by_root:
        root, ps = job_causes.largest(causes.by_root)[0]
        gain = f"{wording.time(ps)} at most ({causes.share(ps):.1%})"
        lines.append(f"Without the pauses that begin at {words.root_place(root, forest)} it would gain {gain}.")
    slack = causes.job.slack()
    ranks: dict[int, int] = {}
    for (rank, _), ps in slack.items():
        ranks[rank] = min(ranks.get(rank, ps), ps)
    tight = sum(1 for ps in ranks.values() if ps == 0)
    lines.append(
        f"{tight:,} of {len(ranks):,} ranks have an operation that could not have ended later without the job "
        f"doing so; {sum(1 for ps in slack.values() if ps):,} of {len(slack):,} operations could have."
    )
    return lines


def answer(found: list[Causes]) -> list[dict[str, Any]]:
    """Return what ``--json`` has."""
    return [one.to_dict() for one in found]
