"""Statements, readings, open choices and reasons: the ingredients of a verdict, without a single run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import pytest

from xoff.reproduce import (
    Cases,
    Claim,
    Judged,
    Part,
    Range,
    Readings,
    SetUp,
    Spread,
    as_results,
    positive,
    run_name,
    whole,
)
from xoff.reproduce.cases import choice_of
from xoff.reproduce.page import text_of
from xoff.reproduce.runs import Results, RunFailed
from xoff.reproduce.verdict import shares_in_words, tally, tally_in_words
from xoff.results import Result


@dataclass(frozen=True)
class Case:
    """The case of these tests."""

    size: int = 1
    seed: int = 0


def _sized(case: Case, choice: str, quick: bool) -> dict[int | None, Case]:
    if choice and quick:
        return {}
    return {seed: replace(case, seed=seed) for seed in ((1,) if quick else (1, 2))}


_CASES = Cases(
    cases={"small": Case(), "large": Case(9)},
    variants=("pfc", "sfc"),
    scenario=lambda case, variant: {"size": case.size, "seed": case.seed, "variant": variant},
    sized=_sized,
    choices={"twice": {"size": 2}},
    probes={"size": {"size 3": {"size": 3}, "size 4": {"size": 4}}},
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
        reasons={"2": "of it"},
        **more,
    )


def _one(found: Mapping[tuple[str, str], Part | bool], names: Sequence[str] = ("twice", "slow"), **more: Any) -> Claim:
    """Returns the claim of one statement, for a choice and a reading."""

    def judge(runs: tuple[str, str]) -> dict[str, Part]:
        one = found.get(runs, False)
        return {"1": one if isinstance(one, Part) else Part(one, {})}

    judged = Judged(
        document="document",
        statements={"1": "alone"},
        runs=lambda _, choice, reading: (choice, reading),
        judge=judge,
        readings={"one": "as written", "other": "as meant"},
        reasons={"1": "why"},
        **{"cases": replace(_CASES, choices={"twice": {"size": 2}, "slow": {"seed": 7}})} | more,
    )
    (claim,) = judged.claims(_results("small/pfc/seed 1", *(f"{name}: small/pfc/seed 1" for name in names)), False)
    return claim


def _results(*names: str) -> Mapping[str, Result]:
    # No reader uses these values.
    return dict.fromkeys(names, cast(Result, None))


def test_cases_are_run_by_variant_and_seed_and_with_each_choice() -> None:
    assert list(_CASES.scenarios(quick=True)) == [
        f"{case}/{one}/seed 1" for case in _CASES.cases for one in ("pfc", "sfc")
    ]
    full = _CASES.scenarios(quick=False)
    assert len(full) == (1 + 1 + 2) * 2 * 2 * 2
    assert full["twice: large/sfc/seed 1"] == {"size": 2, "seed": 1, "variant": "sfc"}
    assert full["size 4: large/sfc/seed 2"] == {"size": 4, "seed": 2, "variant": "sfc"}
    assert _CASES.main() == {"size": 1}
    assert run_name("case", choice="choice") == "choice: case"
    assert choice_of("choice: case/seed 1") == "choice"
    assert choice_of("case/seed 1") == ""


def test_each_statement_is_judged_once() -> None:
    judged = _judged()
    assert list(judged.listed) == ["document/1", "document/1-a", "document/1-b", "document/2"]
    claims = {claim.id: claim for claim in judged.claims({}, quick=False)}
    assert list(claims) == list(judged.listed)
    assert claims["document/1"].holds
    assert claims["document/1"].measured == {"1-a": "holds", "1-b": "void"}
    assert claims["document/1"].others == {"other": "does not hold"}


def test_reasons_are_of_full_size_unless_they_say_otherwise() -> None:
    def reasons(*, quick: bool, **more: Any) -> dict[str, str]:
        return {claim.id: claim.reason for claim in _judged(**more).claims({}, quick) if claim.reason}

    both = {"document/1-b": "nothing to judge", "document/2": "of it"}
    assert reasons(quick=False) == reasons(quick=True, quick_reasons=True) == both
    # The reason for a missing verdict is given for any size.
    assert set(reasons(quick=True)) == {"document/1-b"}


def test_open_choices_stand_beside_the_direction() -> None:
    cases = replace(_CASES, choices={"twice": {}, "lost": {}, "not run": {}}, probes={})
    results = _results("small/pfc/seed 1", "twice: small/pfc/seed 1", "lost: small/pfc/seed 1")
    claims = {claim.id: claim for claim in _judged(cases=cases).claims(results, quick=False)}
    expected = {"other": "does not hold", "twice": "does not hold", "lost": "does not hold"}
    assert claims["document/1-a"].others == claims["document/1"].others == expected
    some = _judged(cases=cases, varied=("1-a",)).claims(results, quick=False)
    assert [claim.id for claim in some if claim.others] == ["document/1-a"]


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


def test_a_whole_is_what_its_parts_are() -> None:
    holds, fails, void = Part(True, {}), Part(False, {}), Part(True, {}, void="it never paused")
    unsure = Part(positive([1, -2, 3]), {"gain": 2}, published={"gain": 4})
    assert whole({"a": holds, "b": void}).direction == "holds"
    assert whole({"a": holds, "b": fails, "c": void}).direction == "does not hold"
    assert not whole({}).decision.leans
    nothing = whole({"a": void, "b": void})
    assert (nothing.direction, nothing.void, nothing.measured) == (
        "void",
        "it never paused",
        {"a": "void", "b": "void"},
    )
    some = whole({"a": holds, "b": unsure})
    assert some.direction == "undecided"
    assert some.decision.seeds == unsure.decision.seeds
    # The sizes of a statement's parts belong to the parts.
    assert (some.measured["gain"], some.published) == (2, {"gain": 4})


def test_what_holds_with_a_choice_alone_holds_under_it() -> None:
    assert _one({}).words == "does not hold"
    assert _one({("", "one"): True}).words == "holds"
    assert _one({("", "other"): True}).words == "holds under other"
    twice = _one({("twice", "one"): True})
    assert (twice.words, twice.holds, twice.reading) == ("holds under twice", False, {"size": 2, "seed": 0})
    assert _one({("twice", "one"): True, ("", "other"): True}).under == "other"
    # A choice is judged in the main reading.
    assert _one({("twice", "other"): True}).words == "does not hold"
    # With a choice that changes nothing the statement holds as well: the other choice is not the cause.
    both = {("twice", "one"): True, ("slow", "one"): True}
    assert _one(both, control="slow").words == "does not hold"
    assert _one({("twice", "one"): True}, control="slow").words == "holds under twice"
    for found in ({}, both, {("", "one"): True}):
        claim = _one(found)
        assert bool(claim.reason) == (not claim.holds)


def test_the_fewest_choices_under_which_it_holds_are_named() -> None:
    cases = replace(_CASES, choices={"twice": {"size": 2}, "twice, other seed": {"size": 2, "seed": 7}}, probes={})
    names = ("twice", "twice, other seed")
    pair: Mapping[tuple[str, str], Part | bool] = {("twice, other seed", "one"): True}
    assert _one(pair, names, cases=cases).words == "holds under twice, other seed"
    assert _one(pair, names, cases=cases).reading == {"size": 2, "seed": 7}
    assert _one({**pair, ("twice", "one"): True}, names, cases=cases).words == "holds under twice"


def test_chance_is_a_direction_of_its_own() -> None:
    claim = _one({("", "one"): Part(positive([1, -2, 3]), {})})
    assert claim.direction == "undecided"
    found = claim.as_json()
    assert (found["verdict"], found["holds"]) == ("undecided", False)
    assert found["seeds_that_would_decide"] == claim.decision.seeds
    assert found["seeds_alone"] == {"hold": 2, "of": 3}
    # A choice with an undecided result is no choice under which the statement holds.
    assert _one({("twice", "one"): Part(positive([1, -2, 3]), {})}).words == "does not hold"


def test_what_holds_in_a_set_up_that_was_searched_says_so() -> None:
    set_up = SetUp("the authors' set-up", {"size": "1"}, "seed 3", "seeds 1 and 2", "statement 2 fails.")
    claim = _one({("", "one"): True}, set_up=set_up)
    assert (claim.words, claim.holds, claim.set_up) == ("holds under the authors' set-up", True, set_up)
    assert claim.reading == {"size": 1, "seed": 0}
    assert tally_in_words([claim]) == "1 statement: 1 holds under the set-up of the page"
    assert not _one({}, set_up=set_up).holds


def test_the_nearest_setting_at_which_it_stops_is_told() -> None:
    near, far = ("size 3", "one"), ("size 4", "one")
    names = ("twice", "size 3", "size 4")
    holding = {("", "one"): True, ("", "other"): True, ("twice", "one"): True}
    assert _one({**holding, near: True}, names).stops == {
        "size": "size 4",
        "other choices": "holds with each, or is undecided",
    }
    assert _one({**holding, near: True, far: True}, names).stops["size"] == "holds to size 4"
    unsure = Part(positive([1, -2, 3]), {})
    assert _one({**holding, near: True, far: unsure}, names).stops["size"] == "undecided from size 4 on"
    assert _one({("", "one"): True}, names).stops == {"size": "size 3", "other choices": "other; twice"}
    # A failing statement has no limit, and a probe with a failure is no reading.
    assert _one({near: True}, names).stops == {}
    assert _one({near: True}, names).words == "does not hold"


def test_where_nothing_is_varied_it_is_told_why() -> None:
    def stops(*, holds: bool, **more: Any) -> dict[str, str]:
        judged = Judged(
            document="document",
            statements={"1": "alone"},
            runs=lambda *_: None,
            judge=lambda _: {"1": Part(holds, {})},
            **more,
        )
        (claim,) = judged.claims({}, quick=False)
        return claim.stops

    limits = {"1": "it is a formula"}
    assert stops(holds=True, limits=limits) == {"nothing is varied": "it is a formula"}
    assert stops(holds=True) == stops(holds=True, limits={"2": "no"}) == stops(holds=False, limits=limits) == {}


def test_the_tally_counts_each_statement_of_the_document_once() -> None:
    def counted(**more: Any) -> list[str]:
        return [claim.id for claim in _judged(**more).claims({}, quick=True) if claim.counted]

    assert counted() == ["document/1", "document/2"]
    assert counted(ours=("2",)) == ["document/1"]
    assert counted(ours=("1", "1-b")) == ["document/1-a", "document/2"]
    claims = _judged().claims({}, quick=True)
    assert tally(claims) == {
        "holds": 1,
        "holds under": 0,
        "does not hold": 1,
        "refuted": 0,
        "undecided": 0,
        "void": 0,
        "in the set-up": 0,
        "decided": 2,
        "share as published": 0.5,
        "share that holds": 0.5,
        "median ratio": None,
        "sizes": 0,
    }
    assert tally_in_words(claims) == "2 statements: 1 holds, 1 does not hold"


def test_the_share_of_decided_directions_that_hold_leaves_out_choices_apart_and_chance() -> None:
    set_up = SetUp("the authors' set-up", {"size": "1"}, "seed 3", "seeds 1 and 2", "statement 2 fails.")
    plain, found = _one({("", "one"): True}), _one({("", "one"): True}, set_up=set_up)
    apart, fails = _one({("twice", "one"): True}), _one({})
    unsure = _one({("", "one"): Part(positive([1, -2, 3]), {})})
    assert (apart.direction, fails.direction) == ("holds under", "does not hold")
    words = (
        "Of 5 statements 1 is undecided and none is refuted by the document itself. Of the other 4, 1 holds as "
        "published (25 %), and 1 more with a declared set-up (50 % with both)."
    )
    counts = tally([plain, found, apart, fails, unsure])
    assert shares_in_words([counts]) == words
    assert (counts["share as published"], counts["share that holds"]) == (0.25, 0.5)
    assert shares_in_words([counts, counts], "of two documents").startswith("Of 10 statements of two documents 2 are")
    nothing = "Of 1 statement 1 is undecided and none is refuted by the document itself."
    assert shares_in_words([tally([unsure])]) == nothing
    assert tally([unsure])["share that holds"] is None


def test_a_statement_that_its_document_contradicts_is_outside_both_shares() -> None:
    counter = {"2": "two queues for three directions"}
    whole, refuted = _judged(refuted=counter).claims({}, quick=True)[::3]
    assert (refuted.direction, refuted.words, refuted.holds) == ("refuted", "refuted by the document itself", False)
    assert (refuted.reason, refuted.as_json()["verdict"]) == (counter["2"], "refuted")
    assert tally([refuted]) | {"refuted": 1, "decided": 0, "does not hold": 0} == tally([refuted])
    assert tally_in_words([whole, refuted]) == "2 statements: 1 holds, 1 is refuted by the document itself"
    # Runs in which the statement holds, and chance, refute nothing; another reading does not save it.
    held = _judged(refuted={"1": "no"}).claims({}, quick=True)[0]
    assert held.direction == "holds"
    saved = _one({("twice", "one"): True}, refuted={"1": "counter"})
    assert (saved.direction, saved.under) == ("refuted", "")
    assert _one({("", "one"): Part(positive([1, -2, 3]), {})}, refuted={"1": "counter"}).direction == "undecided"


def test_a_size_stands_beside_the_direction_and_is_not_counted_as_one() -> None:
    def sized(measured: Any, published: Any) -> float | None:
        claim = _one({("", "one"): Part(True, {"a": measured}, published={"a": published})})
        assert claim.holds
        size = claim.size
        assert size is not None
        assert (size.published, size.measured) == ({"a": published}, {"a": measured})
        return size.ratio

    assert sized(1, 4) == 0.25
    assert sized({"x": 1, "y": 8, "z": 3, "of ours": 9}, {"x": 4, "y": 4, "z": 4}) == 0.75
    assert sized(Spread.of([1, 3]), 4) == 0.5
    # Inside the range the value is the published value; outside, the nearer end counts.
    assert [sized(value, Range(2, 4)) for value in (1, 3, 8)] == [0.5, 1, 2]
    assert sized({"x": 1, "y": 3}, Range(2, 4)) == 0.75
    assert sized(1, "MB levels") is None
    claim = _one({("", "one"): Part(True, {"a": 1}, published={"a": Range(2, 4)})})
    found = claim.as_json()["size"]
    assert (found["published"], found["measured"], found["ratio"]) == ({"a": Range(2, 4)}, {"a": 1}, 0.5)
    assert _one({("", "one"): True}).as_json()["size"] is None
    assert text_of(claim.published) == "a: 2 to 4"
    words = "1 statement: 1 holds; measured over published is 0.5 of one size"
    assert tally_in_words([claim]) == words


def test_a_spread_is_mean_and_range() -> None:
    spread = Spread.of([1, 2, 6])
    assert (spread.mean, spread.low, spread.high, spread.runs) == (3, 1, 6, 3)
    assert text_of({"FCT (µs)": spread}) == "FCT (µs): 3 (1 to 6)"
