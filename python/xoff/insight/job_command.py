"""The command ``xoff explain --job``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from xoff import formatting
from xoff.insight import job_causes, what_if, words
from xoff.insight.job_causes import CAUSES, Causes
from xoff.insight.job_path import MOST_OPERATIONS, jobs
from xoff.insight.rerun import cost_in_words, is_at_hand, repeated, repetition_seconds
from xoff.insight.trees import Forest
from xoff.results import Result

_MOST = 8


_LONG_SECONDS = 60


def explain(result: Result, directory: Path) -> tuple[list[Causes], Forest | None]:
    """Returns the breakdown of each job's critical path, and the trees of pauses.

    If the result lacks the delays of messages on the path, the run is repeated with them. If that would take more than
    a minute, the time in the network stays one part, there are no trees, and a message says what the repetition costs.
    """
    found = [(job, job.path()) for job in jobs(result)]
    flows: set[int] = set()
    for _, steps in found:
        flows |= job_causes.flows(steps)
    if flows and not is_at_hand(result, flows, directory) and (seconds := repetition_seconds(result)) > _LONG_SECONDS:
        cost = cost_in_words(seconds)
        why = f'the time of messages in the network is not divided; a run with probe.delays = "all" would take {cost}'
        print(f"xoff: {why}", file=sys.stderr)
        return [job_causes.causes(job, steps, result, None) for job, steps in found], None
    traced = repeated(result, flows, directory) if flows else result
    forest = Forest(traced)
    return [job_causes.causes(job, steps, traced, forest) for job, steps in found], forest


def gains(result: Result, found: list[Causes], *, asked: bool | None) -> list[list[what_if.Gain]] | None:
    """Measures the gain of each job by second runs; None if they are not wanted.

    asked: whether second runs are wanted; None: only if the run was short.
    """
    took = float((result.summary.get("performance") or {}).get("cpu_seconds") or 0)
    if asked is False or (asked is None and took > what_if.SHORT_CPU_SECONDS):
        return None

    def tell(text: str) -> None:
        print(f"xoff: {formatting.plain(text)}", file=sys.stderr, flush=True)

    runs = what_if.Runs(result, patience=None if asked else what_if.PATIENCE_SECONDS, tell=tell)
    return [[runs.gain(one.job, change) for change in changes(result, one)] for one in found]


def changes(result: Result, causes: Causes) -> list[what_if.Change]:
    """Returns the changes to measure: a faster costliest link, and no need of the costliest pauses."""
    wanted: list[what_if.Change | None] = []
    if (link := what_if.dearest(result, causes)) is not None:
        wanted.append(what_if.faster_link(result, *link))
    if causes.by_root:
        wanted.append(what_if.without_pauses(result, job_causes.largest(causes.by_root)[0][0].cause))
    return [one for one in wanted if one is not None]


def show(causes: Causes, forest: Forest | None, measured: list[what_if.Gain] | None, *, everything: bool) -> None:
    """Prints the breakdown of a job."""
    from rich.markup import escape

    from xoff import display

    job = causes.job
    several = "" if job.iterations == 1 else f", {job.iterations:,} iterations"
    title = f"{formatting.plain(job.name)}: {formatting.time(job.total_ps)}{several}, along its critical path"
    display.out.print(f"[b]{escape(title)}[/b]", soft_wrap=True)

    def section(name: str, rows: Mapping[str, int], *, whole: bool) -> None:
        if rows:
            most = None if everything else _MOST
            words.show_sums(name, dict(job_causes.largest(rows)), job.total_ps, most=most, adds_up=whole)

    section("by cause", {CAUSES[cause]: ps for cause, ps in causes.by_cause.items()}, whole=True)
    labels = {"computing" if label == "compute" else label: ps for label, ps in causes.by_label.items()}
    section("by category", labels, whole=True)
    section("by operation", causes.by_operation, whole=False)
    section("by channel and NIC", causes.by_channel, whole=False)
    if forest is not None:
        _show_places(causes, forest, section)
    for line in [*sentences(measured), _slack(causes)]:
        display.out.print(escape(line), soft_wrap=True)


def _show_places(causes: Causes, forest: Forest, section: Callable[..., None]) -> None:
    """Prints the parts of a breakdown by ports and by roots of pauses."""
    section(
        "waiting at",
        {words.place(node, port, forest.peers): ps for (node, port, _), ps in causes.by_link.items()},
        whole=False,
    )
    section(
        "congestion control, by the port with the most marks",
        {
            "no port on the way marked" if place is None else words.place(*place[:2], forest.peers): ps
            for place, ps in causes.by_marking.items()
        },
        whole=False,
    )
    section(
        "pauses that begin at", {words.root_place(root, forest): ps for root, ps in causes.by_root.items()}, whole=False
    )


def sentences(measured: list[what_if.Gain] | None) -> list[str]:
    """Returns the measured gains in sentences."""
    if measured is None:
        return ["--what-if measures the gain of a faster link, and of no pauses, by second runs."]
    return [line for gain in measured for line in (f"{gain.change.why}.", gain.sentence())]


def _slack(causes: Causes) -> str:
    """Returns a sentence on operations without slack."""
    if causes.job.count > MOST_OPERATIONS:
        return f"The slack is computed for jobs of at most {MOST_OPERATIONS:,} operations."
    slack = causes.job.slack()
    ranks: dict[int, int] = {}
    for (rank, _), ps in slack.items():
        ranks[rank] = min(ranks.get(rank, ps), ps)
    tight = sum(1 for ps in ranks.values() if ps == 0)
    return (
        f"{tight:,} of {len(ranks):,} ranks have an operation without slack: a later end delays the job; "
        f"{sum(1 for ps in slack.values() if ps):,} of {len(slack):,} operations have slack."
    )


def answer(found: list[Causes], measured: list[list[what_if.Gain]] | None) -> list[dict[str, Any]]:
    """Returns the content of ``--json``."""
    if measured is None:
        return [{**one.to_dict(), "what_if": None} for one in found]
    pairs = zip(found, measured, strict=True)
    return [{**one.to_dict(), "what_if": [gain.to_dict() for gain in gains]} for one, gains in pairs]
