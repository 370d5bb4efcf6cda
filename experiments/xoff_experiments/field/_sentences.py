"""Sentences of the short answer: each is a predicate judged at every setting.

A predicate compares rows seed by seed. At each setting the predicate holds, does not hold, or is undecided because of
chance (`xoff.reproduce`). A sentence holds if its predicate holds at every setting. Pages show the number of settings
at which the sentence holds, the settings at which the sentence does not hold, and the ratio: the median and range over
the settings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from xoff.reproduce import Decision, Judged, Part, about_the_same, all_of, fact, lower, lowest, positive
from xoff_experiments.field._runs import Runs, Value, short


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence with its predicate for a case; None for a case without the sentence's rows."""

    text: str
    decide: Callable[[Runs, str], Decision | None]
    ratio: Callable[[Runs, str], float | None]
    """The size of the effect at a case."""
    what: str
    """The quantity of the ratio."""


def _pairs(runs: Runs, case: str, one: str, other: str, value: Value) -> tuple[list[float], list[float]] | None:
    """Returns the values of two rows, seed by seed, without seeds in which a row has no value."""
    if not {one, other} <= set(runs.rows(case)):
        return None
    both = zip(runs.by_seed_of(case, one, value), runs.by_seed_of(case, other, value), strict=True)
    found = [(mine, theirs) for mine, theirs in both if mine is not None and theirs is not None]
    return ([mine for mine, _ in found], [theirs for _, theirs in found]) if found else None


def shorter(text: str, one: str, other: str, value: Value, what: str, times: float = 1.0) -> Sentence:
    """Returns a sentence: a value of one row, multiplied by `times`, is below the value of another row."""

    def decide(runs: Runs, case: str) -> Decision | None:
        found = _pairs(runs, case, one, other, value)
        return None if found is None else lower([times * mine for mine in found[0]], found[1])

    return Sentence(text, decide, _ratio(other, one, value), f"{what}: {other}, times {one}")


def alike(text: str, one: str, other: str, value: Value, what: str) -> Sentence:
    """Returns a sentence: a value of one row is within 15 % of the value of another row."""

    def decide(runs: Runs, case: str) -> Decision | None:
        found = _pairs(runs, case, one, other, value)
        return None if found is None else about_the_same(*found)

    return Sentence(text, decide, _ratio(one, other, value), f"{what}: {one}, times {other}")


def best(text: str, one: str, others: Sequence[str], value: Value, what: str) -> Sentence:
    """Returns a sentence: a value of one row is the lowest of several rows."""

    def decide(runs: Runs, case: str) -> Decision | None:
        rows = [row for row in dict.fromkeys((one, *others)) if row in runs.rows(case)]
        values = {row: [found for found in runs.by_seed_of(case, row, value) if found is not None] for row in rows}
        if one not in values or len(rows) < 2 or not all(values.values()):
            return None
        return lowest(values, one) if len({len(found) for found in values.values()}) == 1 else None

    def ratio(runs: Runs, case: str) -> float | None:
        found = {row: runs.of(case, row, value) for row in (one, *others) if row in runs.rows(case)}
        rest = [number for row, number in found.items() if row != one]
        return min(rest) / found[one] if one in found and rest else None

    return Sentence(text, decide, ratio, f"{what}: the lowest other one, times {one}")


def above(text: str, row: str, value: Value, least: float, what: str) -> Sentence:
    """Returns a sentence: a value of a row is above a number."""
    return _bounded(text, row, value, what, lambda one: one - least)


def beneath(text: str, row: str, value: Value, most: float, what: str) -> Sentence:
    """Returns a sentence: a value of a row is below a number."""
    return _bounded(text, row, value, what, lambda one: most - one)


def _bounded(text: str, row: str, value: Value, what: str, margin: Callable[[float], float]) -> Sentence:
    def decide(runs: Runs, case: str) -> Decision | None:
        found = runs.values(case, row, value) if row in runs.rows(case) else []
        return positive([margin(one) for one in found]) if found else None

    def number(runs: Runs, case: str) -> float | None:
        found = runs.values(case, row, value) if row in runs.rows(case) else []
        return fmean(found) if found else None

    return Sentence(text, decide, number, f"{what}: {row}")


def _ratio(one: str, other: str, value: Value) -> Callable[[Runs, str], float | None]:
    def ratio(runs: Runs, case: str) -> float | None:
        found = _pairs(runs, case, one, other, value)
        return None if found is None else fmean(found[0]) / fmean(found[1])

    return ratio


def parts(sentences: Mapping[str, Sentence], runs: Runs) -> dict[str, Part]:
    """Judges each sentence at each case."""
    return {id: _part(one, runs) for id, one in sentences.items()}


def _said(sentence: Sentence, runs: Runs) -> dict[str, Decision]:
    """Returns the decision at each case with rows of the sentence."""
    return {case: found for case in runs.cases if (found := sentence.decide(runs, case)) is not None}


def _part(sentence: Sentence, runs: Runs) -> Part:
    said = _said(sentence, runs)
    if not said:
        return Part(fact(is_so=False), {}, void="no setting has the rows that it speaks of")
    names = {
        answer: [case for case, one in said.items() if one.answer == answer]
        for answer in ("holds", "undecided", "does not hold")
    }
    ratios = [one for case in said if (one := sentence.ratio(runs, case)) is not None and math.isfinite(one)]
    measured = {
        "holds at": f"{len(names['holds'])} of {len(said)} settings",
        "undecided at": "; ".join(names["undecided"]) or "none",
        "does not hold at": "; ".join(names["does not hold"]) or "none",
        sentence.what: f"{short(median(ratios))} ({short(min(ratios))} to {short(max(ratios))})" if ratios else "–",
    }
    reason = f"at {len(names['holds'])} of {len(said)} settings it holds, at {len(names['undecided'])} it is undecided"
    return Part(all_of(*said.values()), measured, reason=reason)


def table(sentences: Mapping[str, Sentence], runs: Runs) -> list[list[str]]:
    """Returns the sentences with the share of settings at which each holds."""
    made = [["", "sentence", "holds at", "undecided at", "by how much: median (range) over the settings"]]
    for id, part in parts(sentences, runs).items():
        if part.void:
            continue
        sentence, found = sentences[id], part.measured
        undecided = sum(one.answer == "undecided" for one in _said(sentence, runs).values())
        ratio = f"{sentence.what}: {found[sentence.what]}"
        made.append([id, sentence.text, found["holds at"], str(undecided), ratio])
    return made


def judged(sentences: Mapping[str, Sentence]) -> Judged[Runs]:
    """Returns the judgement of sentences, all of them ours."""
    return Judged(
        document="field",
        statements={id: one.text for id, one in sentences.items()},
        runs=Runs,
        judge=lambda runs: parts(sentences, runs),
        ours=list(sentences),
    )
