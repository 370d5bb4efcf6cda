"""Statements, readings, open choices and reasons: what a verdict is made of, without a single run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import pytest

from xoff.reproduce import Cases, Judged, Part, Readings, Spread, about_the_same, as_results, lowest, run_name, whole
from xoff.reproduce.cases import choice_of
from xoff.reproduce.page import text_of
from xoff.reproduce.runs import Results, RunFailed
from xoff.reproduce.verdict import tally, tally_in_words
from xoff.results import Result


@dataclass(frozen=True)
class Case:
    """What the cases here are."""

    size: int = 1
    seed: int = 0


def _sized(case: Case, choice: str, quick: bool) -> dict[int | None, Case]:
    if choice and quick:
        return {}
    return {seed: replace(case, seed=seed) for seed in ((1,) if quick or choice else (1, 2))}


_CASES = Cases(
    cases={"small": Case(), "large": Case(9)},
    variants=("pfc", "sfc"),
    scenario=lambda case, variant: {"size": case.size, "seed": case.seed, "variant": variant},
    sized=_sized,
    choices={"twice": {"size": 2}},
)


def _judge(runs: tuple[str, str]) -> dict[str, Part]:
    choice, reading = runs
    if choice == "lost":
        raise RunFailed("a: lost")
    holds = reading == "one" and not choice
    return {"1-a": Part(holds, {"a": 1}), "1-b": Part(True, {"b": 2}, void="nothing to judge"), "2": Part(False, {})}


def _judged(**more: Any) -> Judged[tuple[str, str]]:
    return Judged(
        document="document",
        statements={"1": "whole", "1-a": "first", "1-b": "second", "2": "alone"},
        runs=lambda _, choice, reading: (choice, reading),
        judge=_judge,
        readings={"one": "as written", "other": "as meant"},
        reasons={"1-a/other": "of this reading", "2": "of both"},
        **more,
    )


def _results(*names: str) -> Mapping[str, Result]:
    # Nobody looks at them.
    return dict.fromkeys(names, cast(Result, None))


def test_cases_are_run_by_variant_and_seed_and_with_each_choice() -> None:
    assert list(_CASES.scenarios(quick=True)) == [
        f"{case}/{one}/seed 1" for case in _CASES.cases for one in ("pfc", "sfc")
    ]
    full = _CASES.scenarios(quick=False)
    assert len(full) == 2 * 2 * 2 + 2 * 2
    assert full["twice: large/sfc/seed 1"] == {"size": 2, "seed": 1, "variant": "sfc"}
    assert run_name("case", choice="choice") == "choice: case"
    assert choice_of("choice: case/seed 1") == "choice"
    assert choice_of("case/seed 1") == ""


def test_each_statement_has_a_verdict_in_each_reading() -> None:
    judged = _judged()
    assert list(judged.listed)[:3] == ["document/1", "document/1/other", "document/1-a"]
    claims = {claim.id: claim for claim in judged.claims({}, quick=False)}
    assert list(claims)[:5] == ["document/1", "document/1-a", "document/1-b", "document/2", "document/1/other"]
    assert claims["document/1"].holds
    assert claims["document/1"].measured == {"1-a": "holds", "1-b": "void"}
    assert not claims["document/1/other"].holds
    assert claims["document/1/other"].subject == "other (as meant)"


def test_reasons_are_of_full_size_unless_they_say_otherwise() -> None:
    def reasons(*, quick: bool, **more: Any) -> dict[str, str]:
        return {claim.id: claim.reason for claim in _judged(**more).claims({}, quick) if claim.reason}

    both = {
        "document/1-b": "nothing to judge",
        "document/1/other": "see 1-a",
        "document/1-b/other": "nothing to judge",
        "document/2": "of both",
        "document/1-a/other": "of this reading",
        "document/2/other": "of both",
    }
    assert reasons(quick=False) == reasons(quick=True, quick_reasons=True) == both
    # Why nothing is judged is said of any size.
    assert set(reasons(quick=True)) == {"document/1-b", "document/1-b/other"}


def test_open_choices_are_judged_beside_the_verdict() -> None:
    cases = replace(_CASES, choices={"twice": {}, "lost": {}, "not run": {}})
    results = _results("small/pfc/seed 1", "twice: small/pfc/seed 1", "lost: small/pfc/seed 1")
    claims = {claim.id: claim for claim in _judged(cases=cases, varied_failure="lost").claims(results, quick=False)}
    assert claims["document/1-a"].measured == {"a": 1, "with other choices": {"twice": "does not hold", "lost": "lost"}}
    assert claims["document/1"].measured["with other choices"] == {"twice": "does not hold", "lost": "lost"}
    some = _judged(cases=cases, varied=("1-a",), varied_as="otherwise").claims(results, quick=False)
    assert [claim.id for claim in some if "otherwise" in claim.measured] == ["document/1-a", "document/1-a/other"]


def test_nothing_holds_without_a_run() -> None:
    results = Results({}, {"a": "a pause was not taken back"})
    judged = Judged(
        document="document",
        statements={"1": "whole", "1-a": "part"},
        runs=as_results,
        judge=lambda runs: {"1-a": Part(runs.one("a").ok, {})},
    )
    claims = judged.claims(results, quick=True)
    assert [(claim.id, claim.holds, claim.measured) for claim in claims] == [
        ("document/1", False, {}),
        ("document/1-a", False, {}),
    ]
    assert {claim.reason for claim in claims} == {"a: a pause was not taken back"}


def test_runs_are_read_once_and_found_by_case_and_seed() -> None:
    results = Results(_results("a/seed 2", "a/seed 1", "twice: a/seed 1"), {"b/seed 1": "lost"})
    read: list[object] = []

    def value(result: Result) -> int:
        read.append(result)
        return len(read)

    runs = Readings(results, value)
    assert runs.names == ["a/seed 2", "a/seed 1", "b/seed 1"]
    assert "a" in runs
    assert "twice" not in runs
    assert runs.each("a") == [1, 2]
    assert runs.mean("a", float) == 1.5
    assert Readings(results, value).each("a") == [1, 2]
    assert Readings(results, value, "twice").each("a") == [3]
    with pytest.raises(RunFailed):
        runs.each("b")


def test_predicates() -> None:
    assert about_the_same(114, 100)
    assert not about_the_same(114, 100, 0.1)
    assert lowest({"a": 1, "b": 2}, "a")
    assert not lowest({"a": 2, "b": 2}, "a")
    assert not whole({}).holds


def test_a_whole_is_void_where_all_of_it_is() -> None:
    holds, fails, void = Part(True, {}), Part(False, {}), Part(True, {}, void="it never paused")
    assert whole({"a": holds, "b": void}).verdict == "holds"
    assert whole({"a": holds, "b": fails, "c": void}).verdict == "does not hold"
    nothing = whole({"a": void, "b": void})
    assert (nothing.verdict, nothing.void, nothing.measured) == ("void", "it never paused", {"a": "void", "b": "void"})


def test_what_holds_in_a_fair_reading_alone_holds_under_it() -> None:
    def verdicts(holding: set[tuple[str, str]], **more: Any) -> dict[str, str]:
        judged = Judged(
            document="document",
            statements={"1": "alone"},
            runs=lambda _, choice, reading: (choice, reading),
            judge=lambda runs: {"1": Part(runs in holding, {})},
            readings={"one": "as written", "other": "as meant"},
            cases=replace(_CASES, choices={"twice": {}, "slow": {}}),
            reasons={"1": "why"},
            **more,
        )
        results = _results("small/pfc/seed 1", "twice: small/pfc/seed 1", "slow: small/pfc/seed 1")
        claims = judged.claims(results, quick=False)
        assert all(bool(claim.reason) == (claim.verdict != "holds") for claim in claims)
        return {claim.id: claim.words for claim in claims}

    other = "document/1/other"
    assert verdicts(set()) == {"document/1": "does not hold", other: "does not hold"}
    assert verdicts({("", "one")}) == {"document/1": "holds", other: "does not hold"}
    assert verdicts({("", "other")}) == {"document/1": "holds under other", other: "holds"}
    assert verdicts({("twice", "one")}) == {"document/1": "holds under twice", other: "does not hold"}
    assert verdicts({("twice", "other")}) == {"document/1": "does not hold", other: "holds under twice"}
    # With a choice that changes nothing it holds as well: it is not for the other one.
    assert verdicts({("twice", "one"), ("slow", "one")}, control="slow")["document/1"] == "does not hold"
    assert verdicts({("twice", "one")}, control="slow")["document/1"] == "holds under twice"


def test_the_tally_counts_each_statement_of_the_document_once() -> None:
    def counted(**more: Any) -> list[str]:
        return [claim.id for claim in _judged(**more).claims({}, quick=True) if claim.counted]

    assert counted() == ["document/1", "document/2"]
    assert counted(ours=("2",)) == ["document/1"]
    assert counted(ours=("1", "1-b")) == ["document/1-a", "document/2"]
    claims = _judged().claims({}, quick=True)
    assert tally(claims) == {"holds": 1, "holds under": 0, "does not hold": 1, "void": 0}
    assert tally_in_words(claims) == "2 statements: 1 holds, 1 does not hold"


def test_published_numbers_stand_beside_measured_ones() -> None:
    judge = {"1": Part(True, {"a": 1}, published={"a": 3})}
    judged = Judged(document="document", statements={"1": "alone"}, runs=as_results, judge=lambda _: judge)
    (first,) = judged.claims({}, quick=True)
    assert (first.measured, first.published) == ({"a": 1}, {"a": 3})
    assert first.as_json()["holds"] is True


def test_a_spread_is_mean_and_range() -> None:
    spread = Spread.of([1, 2, 6])
    assert (spread.mean, spread.low, spread.high, spread.runs) == (3, 1, 6, 3)
    assert text_of({"FCT (µs)": spread}) == "FCT (µs): 3 (1 to 6)"
