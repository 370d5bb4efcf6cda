"""The first screen of a page, the shares of the five documents, and the planted faults of their predicates."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, cast

import pytest

from xoff.reproduce import Claim, Part, Range, SetUp, Spread, positive
from xoff.reproduce.decision import fact
from xoff.reproduce.faults import instead, matching, setting, swapped
from xoff.reproduce.overview import HEADS, Row, anchor, lines, places, short
from xoff.reproduce.page import DETAILS
from xoff.reproduce.runs import Results
from xoff.reproduce.verdict import shares_in_words
from xoff.results import Result

_ROOT = Path(__file__).resolve().parents[2]
_DOCUMENTS = ("sfc", "sfc-proxy", "congestion-isolation", "bcn", "portfc")
_MOST_WORDS = 2000
_RULE = (
    "A value that a document gives never changes. A value that it leaves open may be searched in a declared search, "
    "and is judged on seeds that the search has not seen."
)


def _page(document: str) -> tuple[str, dict[str, Any]]:
    place = _ROOT / "docs" / "experiments"
    return (place / f"{document}.md").read_text("utf-8"), json.loads((place / f"{document}.json").read_text("utf-8"))


def _claim(part: Part, **more: Any) -> Claim:
    return Claim("d/N.1c", "a statement", part.direction, part.measured, decision=part.decision, **more)


def test_a_place_is_what_the_citations_do_not_share() -> None:
    citations = {"a": "Paper, 2026, figures 8, 10 and 15", "b": "Paper, 2026, section V"}
    assert places(citations) == {"a": "figures 8, 10 and 15", "b": "section V"}
    assert places({"a": "Paper, figure 1"}) == {"a": "Paper, figure 1"}
    assert places({"a": "Paper", "b": "Paper"}) == {"a": "Paper", "b": "Paper"}


def test_numbers_of_a_group_are_a_range() -> None:
    numbers = {"lower (%)": {"A": 11.7, "B": {"C": 69.2}}, "other": Range(50, 87.3), "third": 1}
    assert short(numbers) == "lower (%): 11.7 to 69.2; other: 50 to 87.3 …"
    assert short({"FCT (µs)": Spread.of([1, 2, 6]), "longest": "MB levels"}) == "FCT (µs): 3; longest: MB levels"


def test_a_row_has_both_numbers_the_margin_the_settings_and_the_verdict() -> None:
    part = Part(positive([1.0, 2.0, 3.0], [0.1, 0.2, 0.3]), {"lower (%)": {"A": 20.0}})
    set_up = SetUp("the set-up", {}, "", "", "")
    claim = _claim(
        part,
        set_up=set_up,
        under="the set-up",
        published={"lower (%)": Range(10, 30)},
        stops={"load": "30 %", "window": "holds to 9 KB", "other choices": "x; y"},
    )
    heads, _, row = lines([Row(claim, "figure 8", "n.svg")])
    assert heads == f"| {' | '.join(HEADS)} |"
    assert row == (
        "| **N.1c** a statement | figure 8: lower (%): 10 to 30 | lower (%): 20; margin +20 ± 25 % | not with 30 %, x, "
        "and 1 more | holds under the set-up | [details](#n-1c), [figure](n.svg) |"
    )
    # Facts have no margin, and a statement that fails says how many choices were tried.
    fails = _claim(Part(fact(is_so=False), {}), others={"x": "does not hold"})
    *_, row = lines([Row(fails, "section V", "n.svg")])
    assert row.split(" | ")[2:5] == ["false", "none of 1 tried", "does not hold"]
    # A statement with parts shows the numbers of a part with its verdict.
    parts = [_claim(Part(is_so, {"count": number})) for is_so, number in ((True, 1), (False, 2))]
    *_, row = lines([Row(fails, "section V", "n.svg", parts)])
    assert row.split(" | ")[2] == "count: 2"


def test_a_fault_lets_runs_stand_in_and_keeps_what_was_read() -> None:
    runs = {name: cast(Result, object()) for name in ("a/sfc/seed 1", "a/pfc/seed 1", "choice: a/sfc/seed 1")}
    results = Results(runs, {})
    results.known = {("read", name): f"reading of {name}" for name in runs}
    fault = instead("sfc", "pfc")
    assert fault.text == "`pfc` in place of `sfc`"
    assert fault.swap is not None
    found = swapped(results, fault.swap)
    # No run of the choice stands in for its run.
    same = {"choice: a/sfc/seed 1": runs["choice: a/sfc/seed 1"]}
    assert found == dict.fromkeys(("a/sfc/seed 1", "a/pfc/seed 1"), runs["a/pfc/seed 1"]) | same
    assert found.known["read", "a/sfc/seed 1"] == "reading of a/pfc/seed 1"
    assert matching("^a/s", "a/p", "").swap is not None
    assert setting("a.b", "1", "why").changes == (("a.b", "1"),)


@pytest.mark.parametrize("document", _DOCUMENTS)
def test_a_page_has_the_table_first_and_few_words_before_its_details(document: str) -> None:
    page, found = _page(document)
    first, _, details = page.partition(f"\n{DETAILS}\n")
    assert details
    # Bars of a table are no words.
    assert sum(any(map(str.isalnum, word)) for word in first.split()) <= _MOST_WORDS
    before, _, table = first.partition(f"| {' | '.join(HEADS)} |\n")
    assert len(before.split()) <= 150
    rows = re.findall(r"^\| \*\*(\S+)\*\* .*\[details\]\(#(\S+)\), \[figure\]\((\S+)\) \|$", table, re.M)
    counted = {claim["id"]: claim for claim in found["claims"] if claim["counted"]}
    assert [f"{document}/{id}" for id, *_ in rows] == list(counted)
    for id, target, figure in rows:
        assert target == anchor(f"{document}/{id}")
        assert f'<a id="{target}"></a>' in details
        assert figure in found["built"]
    assert shares_in_words([found["tally"]]) in " ".join(before.split())
    # A statement that does not hold has a reason, or names the parts that fail.
    assert all(claim["reason"] for claim in counted.values() if not claim["holds"])


@pytest.mark.parametrize("document", _DOCUMENTS)
def test_each_counted_predicate_fails_under_a_planted_fault(document: str) -> None:
    _, found = _page(document)
    planted = {one["id"]: one["verdict"] for one in found["faults"]}
    counted = {claim["id"]: claim for claim in found["claims"] if claim["counted"]}
    # The formulas of the calculator are compared with the printed numbers, without runs.
    assert counted.keys() - {"sfc/P"} == planted.keys()
    assert not [id for id, verdict in planted.items() if counted[id]["holds"] and verdict == "holds"]


def test_the_shares_of_the_five_documents_are_those_of_the_pages() -> None:
    tallies = [_page(document)[1]["tally"] for document in _DOCUMENTS]
    text = " ".join((_ROOT / "README.md").read_text("utf-8").split())
    assert shares_in_words(tallies, "of the five documents") in text
    for file in ("README.md", "CONTRIBUTING.md"):
        assert _RULE in " ".join((_ROOT / file).read_text("utf-8").split()), file
