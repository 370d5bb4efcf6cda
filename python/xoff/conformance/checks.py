"""The checks of a part.

Each draw makes two scenarios with the part and with the component of its signals:

- a short scenario with all kinds of traffic, for the audits, for the ways of running, and for delays
- a loaded scenario, with long flows or an incast, for fast-forward, and for counts
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pyarrow as pa

import xoff
from xoff import formatting
from xoff._core import InputError, PluginError
from xoff.conformance import loads, parts, runs
from xoff.conformance.drawing import draw_scenario, draw_small
from xoff.conformance.parts import Part

_MANY_PACKET_HOPS = 500_000
"""From this size on a scenario runs in one other way only."""
_PROBLEMS = (xoff.AuditError, InputError, PluginError, runs.DifferenceError)


@dataclass(frozen=True, slots=True)
class Failure:
    """A draw that failed a check."""

    draw: int
    problem: str
    scenario: dict[str, Any]


@dataclass(slots=True)
class Check:
    """A check of a part, with the number of draws that ran and the draws that failed."""

    name: str
    about: str
    draws: int = 0
    failures: list[Failure] = field(default_factory=list)
    problem: str = ""
    """A problem of all draws together."""
    detail: str = ""

    @property
    def is_passed(self) -> bool:
        """True if at least one draw ran, and no draw and no sum over draws has a problem."""
        return not self.failures and not self.problem and self.draws > 0

    @contextmanager
    def guarded(self, draw: int, scenario: dict[str, Any]) -> Iterator[None]:
        """Counts a draw, and keeps the problem of the block as a failure."""
        self.draws += 1
        try:
            yield
        except _PROBLEMS as error:
            self.failures.append(Failure(draw, said(error), scenario))


@dataclass(slots=True)
class Examined:
    """The checks of one part, shares of fast-forward by draw, and counts that some draw added to."""

    part: Part
    checks: list[Check]
    shares: list[float] = field(default_factory=list)
    counted: Counter[str] = field(default_factory=Counter)


def said(error: Exception) -> str:
    """Returns the problem in a line."""
    text = error.found if isinstance(error, xoff.AuditError) else str(error)
    return formatting.plain(text.strip().partition("\n")[0])


def examine(part: Part, numbers: Sequence[int], progress: Callable[[], object] = lambda: None) -> Examined:
    """Runs the checks of one part in the draws of these numbers. Raises `InputError` if no scenario is accepted."""
    short = [
        Check("audits", "audits pass under random traffic"),
        Check("ways", "threads, windows and partitions change nothing"),
        Check("delays", "parts of completion times add up"),
    ]
    forward = Check("fast-forward", "a run with fast-forward equals a run without")
    examined = Examined(part, [*short, forward])
    for number in numbers:
        examine_short(part, number, *short)
        examine_loaded(examined, forward, number)
        progress()
    if part.has_state:
        examined.checks.append(_repeats(examined))
    return examined


def examine_short(part: Part, number: int, audits: Check, ways: Check, delays: Check) -> None:
    """Runs a scenario with all kinds of traffic, in several ways, and with `probe.delays`."""
    rng = Random(f"{part.path}={part.option} {number}")
    scenario = draw_small(rng, parts.beside(part, rng))
    if scenario is None:
        return
    result = None
    with audits.guarded(number, scenario):
        result = runs.unless_doomed(scenario)
    if result is None:
        return
    is_long = result.summary["performance"]["data_packet_hops"] > _MANY_PACKET_HOPS
    with ways.guarded(number, scenario):
        runs.same_however_it_runs(scenario, result, runs.WAYS[3:4] if is_long else runs.WAYS)
    if is_long:
        return
    probed = scenario | {"probe": {**scenario["probe"], "delays": "all"}}
    with delays.guarded(number, probed):
        # The audit of delays adds up the parts.
        if xoff.run(probed).fingerprint != result.fingerprint:
            raise runs.DifferenceError("with and without probe.delays: another fingerprint")


def draw_loaded(part: Part, number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns a loaded scenario of a part, lean in draws of odd numbers, and the options of a run."""
    rng = Random(f"net {part.path}={part.option} {number}")
    forced = parts.beside(part, rng)
    if part.path.startswith("workload"):
        scenario = draw_small(rng, forced) or draw_scenario(rng, {})
    else:
        scenario = loads.loaded(draw_scenario(rng, forced), part.path, number % 2 == 1, rng)
    return scenario, rng.choice(runs.FORWARDED)


def examine_loaded(examined: Examined, forward: Check, number: int) -> None:
    """Compares a loaded run with and without fast-forward, and keeps share and counts."""
    scenario, plan = draw_loaded(examined.part, number)
    if examined.part.path.startswith("workload"):
        scenario = scenario | {"audits": loads.RECORDED}
    with forward.guarded(number, scenario):
        summary, whole, performance = runs.compared(scenario, plan)
        examined.shares.append(performance["fast_forward"]["packet_hops"] / max(1, whole["data_packet_hops"]))
        group = summary.get(examined.part.name, {})
        names = parts.counts_of(examined.part.name)
        examined.counted.update(count for count in names if group.get(count, 0) > 0)


def _repeats(examined: Examined) -> Check:
    check = Check("repeats", "some draw is fast-forwarded", draws=len(examined.shares))
    reason = parts.never_repeats().get(examined.part.name)
    most = max(examined.shares, default=0.0)
    if most > 0:
        check.detail = f"at most {most:.1%} of packet-hops"
    elif reason is not None:
        check.detail = f"never: {formatting.plain(reason)}"
    else:
        check.problem = (
            "no draw was fast-forwarded: give more --draws. If a field only grows, correct its class in `state!`; "
            f"else give the reason in package.metadata.xoff.never_repeats.{examined.part.name}"
        )
    return check


def silent(name: str, several: Sequence[Examined]) -> list[str]:
    """Returns the declared counts of a part that no draw added to, except counts of rare situations."""
    counted = {count for one in several for count in one.counted}
    return [
        count
        for count in parts.counts_of(name)
        if count not in counted and f"{name}.{count}" not in parts.rare_counts()
    ]


def counts_check(name: str, several: Sequence[Examined]) -> Check | None:
    """Checks that draws add to each declared count of a part; None if the part declares no count."""
    declared = parts.counts_of(name)
    if not declared:
        return None
    check = Check("counts", "draws add to each declared count", draws=sum(len(one.shares) for one in several))
    rare = [count for count in declared if f"{name}.{count}" in parts.rare_counts()]
    check.detail = ", ".join(count for count in declared if count not in rare)
    check.detail += f"; not drawn: {', '.join(rare)}" if rare else ""
    if nothing := silent(name, several):
        check.problem = (
            f"no draw adds to {', '.join(nothing)}: give more --draws, and look for the hook in `watches`. "
            "For a rare situation give a reason in package.metadata.xoff.rare_counts"
        )
    return check


def document(scenario: dict[str, Any]) -> dict[str, Any]:
    """Returns a scenario as a file has it: a data frame of flows becomes a list."""
    workloads = [
        {"flows": one["table"].to_pylist()} | {key: value for key, value in one.items() if key != "table"}
        if isinstance(one.get("table"), pa.Table)
        else one
        for one in scenario["workload"]
    ]
    return scenario | {"workload": workloads}
