"""The screening of a document's choices: deciding choices are found, kept with the page, and discarded when stale."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from small import Command
from xoff import reproduce
from xoff._core import InputError
from xoff.reproduce import Cases, Design, Experiment, Factor, Judged, Part, Readings, all_of, fact, lower, positive
from xoff.reproduce.design import Screened, design_of, found_in, key, lines, screened, section
from xoff.reproduce.design_figure import draw
from xoff.reproduce.evaluation import _kept
from xoff.reproduce.runs import Results


@dataclass(frozen=True)
class Toy:
    """Three open choices, and cases."""

    a: int = 0
    b: int = 0
    c: int = 0
    about: int = 0
    seed: int = 0


class Row(dict[str, Any]):
    """A run that is its own result: judged values are the chosen values."""

    def forget(self) -> None:
        """Does nothing: a row has no tables."""


def _judge(runs: Readings[Any]) -> dict[str, Part]:
    every = runs.each("one")
    high = [30.0 if one["a"] else 10.0 for one in every]
    return {
        "T.1": Part(positive([2 * one["a"] - 1.0 for one in every]), {}),
        "T.2": Part(positive([1.0 if one["a"] == one["b"] else -1.0 for one in every]), {}),
        "T.3": Part(positive([one["seed"] - 1.5 for one in every]), {}),
        "T.4": Part(True, {}, void="nothing met it" if any(one["c"] for one in every) else ""),
        "T.5": Part(True, {}),
        "T.6": Part(fact(bool(every[0]["a"])), {}),
        "T.7": Part(positive([one["a"] + (one["b"] if one["seed"] == 3 else 1) - 1.5 for one in every]), {}),
        "T.8": Part(all_of(lower([20.0] * len(high), high), lower([9.0] * len(high), high)), {}),
    }


class _Module:
    JUDGED = Judged(
        document="toy",
        statements={f"T.{number}": "…" for number in range(1, 9)},
        runs=lambda results, choice, reading: Readings(results, lambda one: one, choice, reading),
        judge=_judge,
        cases=Cases(
            cases={"one": Toy(about=1), "two": Toy(about=2)},
            scenario=lambda case, _: {"a": case.a, "b": case.b, "c": case.c, "seed": case.seed},
            sized=lambda case, _, quick: (
                {} if quick else {seed: Toy(about=case.about, seed=seed) for seed in (1, 2, 3)}
            ),
        ),
    )

    @staticmethod
    def scenarios(quick: bool) -> dict[str, Any]:
        return _Module.JUDGED.scenarios(quick)


class _Without:
    """Has statements and no cases."""

    JUDGED = Judged(
        document="toy",
        statements={"U.1": "…", "U.1-part": "…", "U.2": "…"},
        runs=lambda results, choice, reading: Readings(results, lambda one: one, choice, reading),
        judge=lambda _: {},
        ours=("U.2",),
    )
    CLAIMS = JUDGED.listed


class _Ours(_Module):
    """Has cases, and no counted statements."""

    JUDGED = replace(_Module.JUDGED, ours=tuple(_Module.JUDGED.statements))
    CLAIMS = JUDGED.listed


class _OtherRuns(_Module):
    """Is judged by runs outside its cases."""

    @staticmethod
    def scenarios(quick: bool) -> dict[str, Any]:
        return {**_Module.JUDGED.scenarios(quick), "apart": {}}


TOY = Experiment("toy/one", _Module)  # type: ignore[arg-type]
WITHOUT = Experiment("toy/two", _Without)  # type: ignore[arg-type]
OURS = Experiment("toy/ours", _Ours)  # type: ignore[arg-type]
OTHER_RUNS = Experiment("toy/other", _OtherRuns)  # type: ignore[arg-type]

DESIGN = Design(
    {
        "A": Factor("low", "high", {"a": 1}),
        "B": Factor("low", "high", {"b": 1}),
        "C": Factor("low", "high", {"c": 1}),
        "what the cases are about": Factor("one", "three", {"about": 3}),
        "elsewhere": Factor("low", "high", {"other": 1}),
    }
)


@pytest.fixture
def part() -> Screened:
    (found,) = screened(DESIGN, [TOY, WITHOUT, OURS, OTHER_RUNS]).values()
    return found


def test_a_screening_finds_what_decides(part: Screened) -> None:
    assert part.names == ("A", "B", "C")
    results = {name: Row(one) for name, one in part.scenarios.items()}
    found = found_in(part, results)  # type: ignore[arg-type]
    effects = {
        id: {tuple(one["of"]): one["points"] for one in of["effects"] if one["points"]} for id, of in found.items()
    }
    assert effects["toy/T.1"] == {("A",): 200}
    assert effects["toy/T.2"] == {("A", "B"): 200}
    assert effects["toy/T.3"] == {}
    assert (found["toy/T.1"]["so"], found["toy/T.1"]["margin"], found["toy/T.1"]["main"]) == (50, 0, -100)
    assert found["toy/T.3"]["so"] == pytest.approx(200 / 3)
    assert found["toy/T.4"]["void"] == len(part.levels) / 2
    # 20 exceeds 10 by half of 20, and is below 30 by a third: the number is the comparison nearest to failing.
    assert (found["toy/T.8"]["so"], found["toy/T.8"]["main"]) == (50, -50)
    assert effects["toy/T.8"] == {("A",): pytest.approx(100 / 3 + 50)}
    told = section(DESIGN, [TOY, WITHOUT], found)
    page = "\n".join(lines(told))
    # The subjects of the two cases are no part of a run: half of the runs are the same.
    assert told["runs"] == len(part.scenarios) / 2 == 3 * len(part.levels)
    assert "| A | low | high |" in page
    assert "| toy/T.1 | 50 % | A +100 | 0 % | -100 % | A +200 |" in page
    assert "| toy/T.2 | 50 % | A × B +100 | 0 % | 100 % | A × B +200 |" in page
    assert "| toy/T.3 | 67 % | none | 33 % | 33 % | none |" in page
    void = f"void with {len(part.levels) // 2} of {len(part.levels)} combinations"
    assert f"| toy/T.4 | 100 % | {void}; effects on void: C -100 | – | 100 % | – |" in page
    assert "| toy/T.5 | 100 % | none | 100 % | 100 % | none |" in page
    # A result without randomness has no seeds, and still depends on a choice.
    assert "| toy/T.6 | 50 % | A +100 | 0 % | -100 % | A +200 |" in page
    assert "| toy/T.8 | 50 % | A +100 | -8 % | -50 % | A +83 |" in page
    assert "none of these choices or need other runs: toy/U.1." in page


def test_a_screening_has_intervals_over_the_seeds_and_says_where_runs_failed(part: Screened) -> None:
    results = Results({name: Row(one) for name, one in part.scenarios.items()}, {})  # type: ignore[misc]
    seven = found_in(part, results)["toy/T.7"]
    # With B the margin of seed 3 alone rises: by 100 points with A, and without from -150, counted as -100, to -50.
    (by_b,) = (one for one in seven["effects"] if one["of"] == ["B"])
    assert by_b["points"] == pytest.approx(25)
    assert by_b["low"] < 0 < by_b["high"]
    # The number of seeds in which the statement holds: 100, 100 and 50 points; Student's 4.303 times 28.9 / sqrt(3).
    (by_a,) = (one for one in seven["so_effects"] if one["of"] == ["A"])
    assert by_a["points"] == pytest.approx(250 / 3)
    assert by_a["high"] - by_a["points"] == pytest.approx(71.7, abs=0.1)
    failing = next(iter(results))
    some = Results({name: one for name, one in results.items() if name != failing}, {failing: "a loss"})
    found = found_in(part, some)
    assert (found["toy/T.1"]["failed"], found["toy/T.5"]["so"]) == (1, 87.5)
    assert "in 8 combinations. Runs are as short" in "\n".join(lines(section(DESIGN, [TOY], found)))
    assert "; runs fail with 1 of 8 combinations |" in "\n".join(lines(section(DESIGN, [TOY], found)))


def test_a_screening_has_a_chart_with_a_panel_for_each_statement_that_a_choice_moves(
    part: Screened, tmp_path: Path
) -> None:
    results = Results({name: Row(one) for name, one in part.scenarios.items()}, {})  # type: ignore[misc]
    told = section(DESIGN, [TOY], found_in(part, results))
    file = tmp_path / "toy-decides.svg"
    assert draw(told, file)
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", file.read_text("utf-8"))
    panels = [text for text in texts if text.startswith("T.")]
    # Nothing moves T.3 and T.5; T.4 is void in some combinations, and its page says whether it can be judged.
    assert panels == ["T.1", "T.2", "T.4: whether it can be judged", "T.6", "T.7", "T.8"]
    # Every choice has a bar in each chart, and pairs beyond chance have bars.
    assert [texts.count(name) for name in "ABC"] == [len(panels)] * 3
    assert texts.count("A × B") == 1
    assert {"a choice", "a pair of choices", "chance may have made it"} <= set(texts)
    assert "](toy-decides.svg)" in "\n".join(lines(told, file.name))
    still = told | {"statements": {id: one for id, one in told["statements"].items() if id in {"toy/T.3", "toy/T.5"}}}
    assert not draw(still, tmp_path / "none.svg")
    assert not (tmp_path / "none.svg").exists()


_UNSCREENED = {"congestion-isolation", "portfc"}
"""Pages whose statements have changed since their screening: `xoff reproduce DOCUMENT --design` screens them again."""


@pytest.mark.parametrize("document", ["sfc", "sfc-proxy", "congestion-isolation", "portfc", "bcn"])
def test_every_page_has_the_screening_of_its_choices_and_the_chart(document: str, tmp_path: Path) -> None:
    pages = Path(__file__).parents[2] / "docs" / "experiments"
    design = design_of(document)
    found = _kept(pages / f"{document}.json", key(design, screened(design, reproduce.select([document]))))
    chart = f"{document}-decides.svg"
    page = (pages / f"{document}.md").read_text("utf-8")
    if document in _UNSCREENED:
        # A page does not show the screening of other choices, runs or statements.
        assert found is None
        assert chart not in page
        return
    assert found is not None, "the screening of this page is of other choices, runs or statements"
    assert "\n".join(lines(found, chart)) in page
    # The chart is drawn from the page alone.
    assert draw(found, tmp_path / chart)
    drawn = (tmp_path / chart).read_text("utf-8")
    for choice in found["choices"]:
        assert choice.split()[0] in drawn


@pytest.mark.parametrize("document", ["sfc", "sfc-proxy", "congestion-isolation", "portfc", "bcn"])
def test_every_statement_that_holds_has_where_it_stops(document: str) -> None:
    page = Path(__file__).parents[2] / "docs" / "experiments" / f"{document}.json"
    claims = json.loads(page.read_text("utf-8"))["claims"]
    assert [one["id"] for one in claims if one["counted"] and one["holds"] and not one["stops"]] == []


def test_a_screening_is_let_go_when_its_choices_change(part: Screened, tmp_path: Path) -> None:
    page = tmp_path / "toy.json"
    assert _kept(page, "now") is None
    page.write_text(json.dumps({"design": {"valid_for": "now"}}))
    assert _kept(page, "now") == {"valid_for": "now"}
    assert _kept(page, "later") is None
    page.write_text("no JSON")
    assert _kept(page, "now") is None
    other = Design({**DESIGN.factors, "A": Factor("low", "higher", {"a": 2})})
    assert key(DESIGN, {"toy/one": part}) != key(other, {"toy/one": part})


@pytest.mark.parametrize("document", ["sfc", "sfc-proxy", "congestion-isolation", "portfc", "bcn"])
def test_every_document_declares_choices_that_its_cases_have(document: str) -> None:
    design = design_of(document)
    parts = screened(design, reproduce.select([document]))
    assert set(design.factors) == {name for part in parts.values() for name in part.names}


def test_what_cannot_be_screened_is_refused(xoff_here: Command) -> None:
    with pytest.raises(InputError, match="declares no choices"):
        design_of("field")
    for words, why in (
        (["sfc/5.1", "--design"], "`xoff reproduce sfc --design`"),
        (["sfc", "--design", "--quick"], "leave out --quick"),
        (["field", "--design"], "declares no choices"),
    ):
        done = xoff_here("reproduce", *words)
        assert done.returncode == 2, words
        assert why in done.stderr
