"""A screening of a document's open choices, all varied together, for the effect of each choice on each statement.

A document declares its open choices in ``DESIGN``, in ``_design.py`` beside its experiments: for each choice the main
reading and one other level. Experiments with `Cases` and a counted statement run a regular fraction of the combinations
(`factorial.py`), with the seeds and lengths of their open choices. The number of a statement is the margin in each
seed (`Decision.shares`). A second number is the share of combinations and seeds in which the statement is true. An
experiment leaves out a choice without a field in the cases, and a choice with different values among the cases.
Statements of experiments without choices are listed.

A run with a violated audit makes the statement false, with a margin of -100 %. If a statement is void with some
combinations, the effects are effects on the possibility to judge the statement.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib import import_module
from statistics import fmean
from typing import Any

from xoff import _core
from xoff._core import InputError
from xoff.reproduce.cases import Cases
from xoff.reproduce.finding import Experiment, documents
from xoff.reproduce.judged import Judged
from xoff.reproduce.verdict import Part
from xoff.results import Result
from xoff.statistics.factorial import Levels, effects, fraction

RESOLUTION = 5
"""At this resolution, choices and pairs have no aliases."""
_PREFIX = "design run "
_SHOWN = 5
"""The number of effects per statement in a table."""
LEAST_POINTS = 2.0
"""The least size in points of an effect in a table."""
_SURE = 2
"""Number of equal seeds assumed for runs without randomness. Effects then have no deviation."""
_HOW_TO_READ = """\
*True in* is the share of combinations and seeds in which a statement is true. The *margin* is the distance of a
statement from failing. A statement compares values; the margin is the difference of the two values as a share of the
larger, in the comparison that is nearest to failing. A negative margin means that the statement is false. A statement
without a comparison has a margin of 100 or -100 %. For values that must be equal within 15 %, the margin is the unused
part of the 15 %. Margins are means over combinations and seeds; a column has the margin of the main reading.

An effect is the change of the share or of the margin, in points of a hundred, at the other level of a choice, averaged
over all levels of the other choices, with a 95 % interval over the seeds (no interval if all seeds agree). The effect
of a pair is half of the difference between the effects of one choice at the two levels of the other. The table leaves
out effects within chance, effects on the share from one combination alone, and effects on the margin of less than two
points. No effect is confounded with another.""".splitlines()


@dataclass(frozen=True, slots=True)
class Factor:
    """An open choice at two levels."""

    main: str
    """The main reading, in words."""
    other: str
    changes: Mapping[str, Any]
    """The fields of a case that make the other level."""


@dataclass(frozen=True, slots=True)
class Design:
    """The open choices of a document that a screening varies, by name."""

    factors: Mapping[str, Factor]


@dataclass(frozen=True, slots=True)
class Screened:
    """An experiment's part of a design: the choices with fields in the cases, and the runs."""

    judged: Judged[Any]
    names: tuple[str, ...]
    levels: tuple[Levels, ...]
    cases: Cases[Any]
    """The cases with each run of the design as an open choice."""

    @property
    def scenarios(self) -> dict[str, dict[str, Any]]:
        """The scenarios of the design by name."""
        return {name: one for name, one in self.cases.scenarios(quick=False).items() if name.startswith(_PREFIX)}


def design_of(document: str) -> Design:
    """Returns the design of a document. Raises `InputError` if the document declares none."""
    known = documents().get(document)
    if known is None or not (known.folder / "_design.py").is_file():
        raise InputError(f"`{document}` declares no choices to screen: `_design.py` beside its experiments")
    found: Design = import_module(f"{known.module}._design").DESIGN
    return found


def screened(design: Design, experiments: Iterable[Experiment]) -> dict[str, Screened]:
    """Returns the parts of a design by experiment, for experiments whose cases have some of the choices."""
    found = {}
    for one in experiments:
        judged: Judged[Any] | None = getattr(one.module, "JUDGED", None)
        if judged is None or judged.cases is None:
            continue
        if not any(map(judged.is_counted, judged.statements)):
            continue
        # A statement that is also judged by runs outside the cases cannot be judged with choices.
        if one.module.scenarios(quick=False) != judged.cases.scenarios(quick=False):
            continue
        names = [name for name, factor in design.factors.items() if _varies(judged.cases, factor)]
        if names:
            levels = fraction(len(names), RESOLUTION)
            runs = {
                f"{_PREFIX}{number}": _merged(design, names, one_run) for number, one_run in enumerate(levels, start=1)
            }
            cases = replace(judged.cases, choices=runs, probes={})
            found[one.id] = Screened(judged, tuple(names), tuple(levels), cases)
    return found


def _varies(cases: Cases[Any], factor: Factor) -> bool:
    """Whether a choice applies to these cases: all cases have the fields of the choice, with an equal other value."""
    every = list(cases.cases.values())
    known = {field.name for field in fields(every[0])}
    if not factor.changes.keys() <= known:
        return False
    return all(
        len({getattr(one, name) for one in every}) == 1 and getattr(every[0], name) != value
        for name, value in factor.changes.items()
    )


def _merged(design: Design, names: Sequence[str], levels: Levels) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, level in zip(names, levels, strict=True):
        if level:
            made |= design.factors[name].changes
    return made


def key(design: Design, parts: Mapping[str, Screened]) -> str:
    """Returns a hash of the inputs of a design's results: choices, runs and statements."""
    made = {
        "number": "margin",
        "choices": {name: [one.main, one.other, dict(one.changes)] for name, one in design.factors.items()},
        "runs": {id: one.scenarios for id, one in parts.items()},
        "statements": {id: dict(one.judged.statements) for id, one in parts.items()},
    }
    return hashlib.sha256(json.dumps(made, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:16]


def found_in(part: Screened, results: Mapping[str, Result]) -> dict[str, dict[str, Any]]:
    """Returns for each counted statement of an experiment its margin and the effects of the choices on it.

    results: the runs of the design, by name.
    """
    runs = []
    for number in range(1, len(part.levels) + 1):
        runs.append(part.judged.parts(results, f"{_PREFIX}{number}"))
        for one in results.values():
            # The tables of all runs together, every lost packet included, exceed a machine's memory.
            one.forget()
    return {
        f"{part.judged.document}/{short}": _found([run[short] for run in runs], part)
        for short in part.judged.statements
        if part.judged.is_counted(short)
    }


def _found(judged: Sequence[Part], part: Screened) -> dict[str, Any]:
    """Returns the findings on a statement. `judged`: its part in each combination, the main reading first."""
    void = [bool(one.void) for one in judged]
    known = [one.decision for one in judged if not one.void]
    alone = _by_seed([one.alone or (one.leans,) for one in known])
    margins = _by_seed([one.shares or (1.0 if one.leans else -1.0,) for one in known])
    found: dict[str, Any] = {
        "combinations": len(judged),
        "void": sum(void),
        # The reason of a failed run begins with the name of the run.
        "failed": sum(one.reason.startswith(_PREFIX) for one in judged),
        "so": _mean(alone),
        "margin": None if any(void) else _mean(margins),
        "main": None if void[0] else _mean(margins[:1]),
    }
    if any(void):
        can_be_judged = [dict.fromkeys(range(_SURE), float(not one)) for one in void]
        return found | {"effects": [], "so_effects": [], "void_effects": _told(part, can_be_judged)}
    return found | {"effects": _told(part, margins), "so_effects": _told(part, alone), "void_effects": []}


def _mean(runs: Sequence[Mapping[int, float]]) -> float | None:
    """Returns the mean over runs and seeds in percent; None if there is no run."""
    return 100 * fmean(fmean(one.values()) for one in runs) if runs else None


def section(design: Design, experiments: Sequence[Experiment], statements: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the content of a screening for a page and its JSON.

    experiments: all experiments of the document.
    statements: the results of `found_in`, of all parts.
    """
    parts = screened(design, experiments)
    return {
        "valid_for": key(design, parts),
        "version": _core.version(),
        "runs": _distinct(parts.values()),
        "choices": {name: [one.main, one.other] for name, one in design.factors.items()},
        "statements": dict(statements),
        "without_choices": [id for one in experiments if one.id not in parts for id in _counted(one)],
    }


def _distinct(parts: Iterable[Screened]) -> int:
    """Returns the number of distinct runs; a choice leaves some runs unchanged."""
    scenarios = (one for part in parts for one in part.scenarios.values())
    return len({json.dumps(one | {"name": ""}, sort_keys=True) for one in scenarios})


def _counted(experiment: Experiment) -> list[str]:
    """Returns the statements of an experiment that the tally counts."""
    judged: Judged[Any] | None = getattr(experiment.module, "JUDGED", None)
    if judged is None:
        return list(experiment.module.CLAIMS)
    return [f"{judged.document}/{short}" for short in judged.statements if judged.is_counted(short)]


def _by_seed(runs: Sequence[Sequence[float]]) -> list[dict[int, float]]:
    """Returns the numbers of each run by seed; a fact has one number, which is repeated for all seeds.

    Raises `ValueError` if runs have different seeds.
    """
    seeds = max((len(one) for one in runs), default=0)
    if any(len(one) not in {1, seeds} for one in runs):
        raise ValueError("combinations have different seeds")
    return [dict(enumerate(map(float, one if len(one) > 1 else [*one] * max(seeds, _SURE)))) for one in runs]


def _told(part: Screened, runs: Sequence[Mapping[int, float]]) -> list[dict[str, Any]]:
    """Returns the effects of the choices on a number of each run and seed, in percentage points."""
    return [
        {
            "of": list(one.factors),
            "points": 100 * one.interval.mean,
            "low": None if one.interval.low is None else 100 * one.interval.low,
            "high": None if one.interval.high is None else 100 * one.interval.high,
        }
        for one in effects(part.names, runs, part.levels)
    ]


def lines(found: Mapping[str, Any], figure: str = "") -> Iterable[str]:
    """Yields the section of a page: the choices, and the effects on each statement.

    figure: the file name of the chart (`design_figure.py`), or empty.
    """
    combinations = sorted({one["combinations"] for one in found["statements"].values()})
    yield f"In a screening of {found['runs']:,} runs, by version {found['version']}, these choices are varied together,"
    yield f"in {' or '.join(map(str, combinations))} combinations. Runs are as short, and seeds as few, as in the runs"
    yield "that change one choice at a time."
    yield from ("", "| choice | main reading | other level |", "|---|---|---|")
    yield from (f"| {name} | {main} | {other} |" for name, (main, other) in found["choices"].items())
    yield from ("", *_HOW_TO_READ, "")
    if figure:
        yield from (f"![Effects on the margin of each statement]({figure})", "")
        yield "Each choice has a bar with the 95 % interval, as have the three largest pairs beyond chance. A statement"
        yield from ("without an effect of two points has no panel.", "")
    yield "| statement | true in | effects on the share | margin | in the main reading | effects on the margin |"
    yield "|---|---|---|---|---|---|"
    for id, one in found["statements"].items():
        so, margin, main = ("–" if one[key] is None else f"{one[key]:.0f} %" for key in ("so", "margin", "main"))
        yield f"| {id} | {so} | {_decides(one)} | {margin} | {main} | {_moves(one)} |"
    if found["without_choices"]:
        without = ", ".join(found["without_choices"])
        yield from (
            "",
            f"Not varied, since the experiments have none of these choices or need other runs: {without}.",
        )


def _decides(one: Mapping[str, Any]) -> str:
    """Returns the effects on whether a statement is true, or can be judged."""
    # A single combination changes the share by 200 / combinations points, whichever choice caused it.
    least = 200 / one["combinations"] + 0.1
    found = _listed(one["so_effects"], least)
    if one["void"]:
        where = f"void with {one['void']} of {one['combinations']} combinations"
        found = f"{where}; effects on void: {_listed(one['void_effects'], least)}"
    return found + (f"; runs fail with {one['failed']} of {one['combinations']} combinations" if one["failed"] else "")


def _moves(one: Mapping[str, Any]) -> str:
    """Returns the effects on the margin of a statement."""
    return "–" if one["void"] else _listed(one["effects"], LEAST_POINTS)


def is_sure(effect: Mapping[str, Any], least: float) -> bool:
    """Whether an effect is beyond chance, and of at least `least` points."""
    low, high = effect["low"], effect["high"]
    return low is not None and low * high > 0 and abs(effect["points"]) >= least


def _listed(effects: Sequence[Mapping[str, Any]], least: float) -> str:
    """Returns the effects beyond chance and of at least `least` points, the largest first."""
    sure = sorted((one for one in effects if is_sure(one, least)), key=lambda one: -abs(one["points"]))
    rest = f"; and {len(sure) - _SHOWN} no larger" if len(sure) > _SHOWN else ""
    return "; ".join(map(_effect, sure[:_SHOWN])) + rest if sure else "none"


def _effect(effect: Mapping[str, Any]) -> str:
    half = (effect["high"] - effect["low"]) / 2
    # A few equal seeds are no certainty: ± 0 is not printed.
    return f"{' × '.join(effect['of'])} {effect['points']:+.0f}" + (f" ± {half:.0f}" if half >= 0.5 else "")
