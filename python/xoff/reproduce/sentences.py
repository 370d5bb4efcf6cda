"""Sentences of the short answer: each is a predicate judged at every setting.

A sentence holds if the predicate holds at every setting with the runs of the sentence. Pages show the number of
settings at which the sentence holds, the other settings, and the size of the effect: median and range over the
settings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any, Generic, TypeVar

from xoff.reproduce.decision import Decision, all_of, fact
from xoff.reproduce.judged import Judged
from xoff.reproduce.verdict import Part
from xoff.results import Result

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Found:
    """The decision on a sentence at a setting, and the size of the effect."""

    decision: Decision
    effect: float


@dataclass(frozen=True, slots=True)
class Sentence(Generic[R]):
    """A sentence with the predicate."""

    text: str
    decide: Callable[[R], Mapping[str, Found]]
    """Returns the decision by setting."""
    what: str
    """The quantity of the effect."""


def judged(
    document: str, sentences: Mapping[str, Sentence[R]], runs: Callable[[Mapping[str, Result], str, str], R]
) -> Judged[R]:
    """Returns the judgement of the sentences of a document."""
    return Judged(
        document=document,
        statements={id: one.text for id, one in sentences.items()},
        runs=runs,
        judge=lambda found: {id: _part(one, found) for id, one in sentences.items()},
        limits=dict.fromkeys(sentences, "The settings are part of the sentence."),
    )


def _part(sentence: Sentence[R], runs: R) -> Part:
    found = sentence.decide(runs)
    if not found:
        return Part(fact(is_so=False), {}, void="no setting has the runs of the sentence")
    held, failing, unsure = (_named(found, answer) for answer in ("holds", "does not hold", "undecided"))
    measured: dict[str, Any] = {
        "holds at": f"{len(held)} of {len(found)} settings",
        "does not hold at": "; ".join(failing) or "none",
        "undecided at": "; ".join(unsure) or "none",
        sentence.what: _spread(found),
    }
    reason = f"holds at {len(held)} of {len(found)} settings, undecided at {len(unsure)}"
    return Part(all_of(*(one.decision for one in found.values())), measured, reason=reason)


def _named(found: Mapping[str, Found], answer: str) -> list[str]:
    """Returns the settings with an answer."""
    return [setting for setting, one in found.items() if one.decision.answer == answer]


def _spread(found: Mapping[str, Found]) -> str:
    effects = [one.effect for one in found.values()]
    return f"{short(median(effects))} ({short(min(effects))} to {short(max(effects))})"


def short(value: float) -> str:
    """Returns a number of three digits, or more before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def table(sentences: Mapping[str, Sentence[R]], runs: R) -> list[list[str]]:
    """Returns the sentences with the number of settings at which each holds."""
    made = [["", "sentence", "holds at", "does not hold at", "undecided at", "size: median (range) over the settings"]]
    for id, sentence in sentences.items():
        if found := sentence.decide(runs):
            held, failing, unsure = (_named(found, answer) for answer in ("holds", "does not hold", "undecided"))
            size = f"{sentence.what}: {_spread(found)}"
            counts = [f"{len(held)} of {len(found)}", str(len(failing)), str(len(unsure))]
            made.append([id, sentence.text, *counts, size])
    return made
