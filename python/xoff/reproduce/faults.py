"""Planted faults: for each statement, runs or a setting with which its predicate has to fail.

A predicate that no fault can change proves nothing. A document lists its faults in ``_faults.py`` as ``FAULTS``, by the
statement's id without the document. Mostly runs of a page stand in for others, which costs no simulation: PFC alone for
SFC is the mechanism switched off. A page lists each counted predicate, the fault, and the verdict under the fault.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xoff.reproduce.finding import Experiment
from xoff.reproduce.runs import Results
from xoff.reproduce.verdict import Claim
from xoff.results import Result


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault: runs that stand in for others, or changed settings."""

    text: str
    swap: Callable[[str], str] | None = None
    """Maps the name of a run to the name of the run that stands in for it."""
    changes: Sequence[tuple[str, str]] = ()
    """Settings by path, for statements without a run to stand in."""


def instead(of: str, other: str, text: str = "") -> Fault:
    """Lets runs with one name part stand in for runs with another: ``instead("pfc-sfc", "pfc")``."""
    return Fault(
        text or f"`{other}` in place of `{of}`",
        lambda name: "/".join(other if part == of else part for part in name.split("/")),
    )


def matching(pattern: str, other: str, text: str) -> Fault:
    """Lets runs stand in by a regular expression."""
    return Fault(text, lambda name: re.sub(pattern, other, name))


def setting(path: str, value: str, text: str) -> Fault:
    """Changes a setting."""
    return Fault(f"`{path} = {value}`: {text}", changes=((path, value),))


@dataclass(frozen=True, slots=True)
class Planted:
    """A counted statement, the fault, and the verdict under the fault."""

    id: str
    fault: str
    verdict: str


def swapped(results: Results, swap: Callable[[str], str]) -> Results:
    """Returns the results with runs that stand in for others. Readings are kept."""
    source = {name: other if (other := swap(name)) in results else name for name in results}
    made = Results({name: results[other] for name, other in source.items()}, results.failures)
    made.known = {
        (read, name): results.known[read, other]
        for read in {key[0] for key in results.known}
        for name, other in source.items()
        if (read, other) in results.known
    }
    return made


def planted(
    one: Experiment, faults: Mapping[str, Fault], results: Mapping[str, Result], claims: Sequence[Claim], quick: bool
) -> list[Planted]:
    """Returns the verdict on each counted statement of an experiment under its fault.

    A statement with parts has the fault of its first part with one.
    """
    found = []
    for claim in claims:
        short = claim.id.partition("/")[2]
        chosen = [short, *(name for name in faults if name.startswith(f"{short}-"))]
        fault = next((faults[name] for name in chosen if name in faults), None)
        if not claim.counted or fault is None:
            continue
        # Changed settings need runs of their own; a test runs the quick variants with each (`counterexamples.CHANGES`).
        verdict = "does not hold in the quick variant"
        if fault.swap is not None and isinstance(results, Results):
            verdict = _words(one, swapped(results, fault.swap), claim.id, quick)
        found.append(Planted(claim.id, fault.text, verdict))
    return found


def _words(one: Experiment, results: Results, id: str, quick: bool) -> str:
    judged: Any = getattr(one.module, "JUDGED", None)
    if judged is not None:
        return str(judged.parts(results)[id.partition("/")[2]].words)
    return next(claim.words for claim in one.module.claims(results, quick) if claim.id == id)
