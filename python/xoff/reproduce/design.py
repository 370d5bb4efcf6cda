"""What decides a statement: a screening of a document's open choices, all varied together.

A document declares its open choices in ``DESIGN``, in the file ``_design.py`` of its experiments: of each the main
reading and one other level. Every experiment that has `Cases` is run with a regular fraction of the combinations
(`xoff.factorial`), on the seeds and lengths of its open choices, and every statement is judged in each of these runs.

The number of a statement is in how many of them it is so: of each seed 1 or 0. What a choice does is by how much its
other level changes that share, with a 95 % interval over the seeds. A choice is left out of an experiment whose cases
have no such field, or are themselves about that field; a statement whose experiment has none of the choices is named.
Where a run violated an audit, the statement is not so.
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
from xoff.factorial import Effect, Levels, effects, fraction
from xoff.reproduce.cases import Cases
from xoff.reproduce.finding import Experiment
from xoff.reproduce.judged import Judged
from xoff.reproduce.verdict import Part
from xoff.results import Result

RESOLUTION = 5
"""Choices and pairs of them are all told apart: no effect has an alias."""
_PREFIX = "design run "
_SHOWN = 5
"""Effects that a table names of each statement."""


@dataclass(frozen=True, slots=True)
class Factor:
    """An open choice at two levels."""

    main: str
    """What the main reading has, in words."""
    other: str
    changes: Mapping[str, Any]
    """The fields of a case that make the other level."""


@dataclass(frozen=True, slots=True)
class Design:
    """The open choices of a document that a screening varies, by name."""

    factors: Mapping[str, Factor]


@dataclass(frozen=True, slots=True)
class Screened:
    """An experiment's part of a design: the choices that its cases have, and its runs."""

    judged: Judged[Any]
    names: tuple[str, ...]
    levels: tuple[Levels, ...]
    cases: Cases[Any]
    """With each run of the design as one of its open choices."""

    @property
    def scenarios(self) -> dict[str, dict[str, Any]]:
        """The scenarios of the design by name."""
        return {name: one for name, one in self.cases.scenarios(quick=False).items() if name.startswith(_PREFIX)}


def design_of(document: str) -> Design:
    """Return what a document declares. Raises `InputError` if it declares nothing."""
    name = f"xoff.experiments.{document.replace('-', '_')}._design"
    try:
        found: Design = import_module(name).DESIGN
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise InputError(f"`{document}` declares no choices to screen: `_design.py` beside its experiments") from None
    return found


def screened(design: Design, experiments: Iterable[Experiment]) -> dict[str, Screened]:
    """Return the parts of a design, by experiment: of those that have cases with some of the choices."""
    found = {}
    for one in experiments:
        judged: Judged[Any] | None = getattr(one.module, "JUDGED", None)
        if judged is None or judged.cases is None:
            continue
        # What is judged by other runs as well cannot be judged with choices made in its cases alone.
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
    """Tell whether a choice can be made in these cases: all have its fields, alike, and with another value."""
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
    """Return what a design's results are valid for: its choices, its runs and its statements."""
    made = {
        "choices": {name: [one.main, one.other, dict(one.changes)] for name, one in design.factors.items()},
        "runs": {id: one.scenarios for id, one in parts.items()},
        "statements": {id: dict(one.judged.statements) for id, one in parts.items()},
    }
    return hashlib.sha256(json.dumps(made, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:16]


def found_in(part: Screened, results: Mapping[str, Result]) -> dict[str, dict[str, Any]]:
    """Return of each counted statement of an experiment in how many runs it is so, and what each choice does.

    results: of the runs of the design, by name.
    """
    runs = []
    for number in range(1, len(part.levels) + 1):
        runs.append(part.judged.parts(results, f"{_PREFIX}{number}"))
        for one in results.values():
            # Tables of every packet that was lost, of all runs together, are more than a machine holds.
            one.forget()
    made = {}
    for short in part.judged.statements:
        if not part.judged.is_counted(short):
            continue
        judged = [run[short] for run in runs]
        void = sum(bool(one.void) for one in judged)
        shares = [] if void else _by_seed(judged)
        made[f"{part.judged.document}/{short}"] = {
            "runs": len(judged),
            "void": void,
            "so": fmean(value for one in shares for value in one.values()) if shares else None,
            "effects": [_told(one) for one in effects(part.names, shares, part.levels)] if shares else [],
        }
    return made


def section(design: Design, experiments: Sequence[Experiment], statements: Mapping[str, Any]) -> dict[str, Any]:
    """Return all that a page and its JSON tell of a screening.

    experiments: all of the document.
    statements: what `found_in` returns, of all parts.
    """
    parts = screened(design, experiments)
    return {
        "valid_for": key(design, parts),
        "version": _core.version(),
        "runs": sum(len(part.scenarios) for part in parts.values()),
        "choices": {name: [one.main, one.other] for name, one in design.factors.items()},
        "statements": dict(statements),
        "without_choices": [id for one in experiments if one.id not in parts for id in _counted(one)],
    }


def _counted(experiment: Experiment) -> list[str]:
    """Return the statements of an experiment that the tally counts."""
    judged: Judged[Any] | None = getattr(experiment.module, "JUDGED", None)
    if judged is None:
        return list(experiment.module.CLAIMS)
    return [f"{judged.document}/{short}" for short in judged.statements if judged.is_counted(short)]


def _by_seed(judged: Sequence[Part]) -> list[dict[int, float]]:
    """Return of each run and seed 1 if the statement is so, and 0 if not; what has no seeds is the same in all."""
    # Where chance has no part in any run, two seeds alike say so: what is found then has no deviation.
    seeds = max((len(one.decision.alone) for one in judged), default=0) or 2
    return [
        dict(enumerate(map(float, one.decision.alone)))
        if len(one.decision.alone) == seeds
        else dict(enumerate((float(one.decision.leans),) * seeds))
        for one in judged
    ]


def _told(one: Effect) -> dict[str, Any]:
    """Return an effect for the page: in points of a hundred."""
    return {
        "of": list(one.factors),
        "points": 100 * one.interval.mean,
        "low": None if one.interval.low is None else 100 * one.interval.low,
        "high": None if one.interval.high is None else 100 * one.interval.high,
    }


def lines(found: Mapping[str, Any]) -> Iterable[str]:
    """The section of a page: the choices, and of each statement what decides it."""
    yield f"In a screening of {found['runs']:,} runs, by version {found['version']}, all of these are varied together."
    yield "*So* is the share of combinations and seeds in which a statement is true. An effect is by how many points"
    yield "of a hundred the other level changes that share, with its 95 % interval over the seeds, or without where"
    yield "all agree. A pair is half of by how much more the one does with the other at its other level. Effects that"
    yield "chance may have made are left out, and none has an alias. Many of one size are a single combination's."
    yield from ("", "| choice | main reading | other level |", "|---|---|---|")
    yield from (f"| {name} | {main} | {other} |" for name, (main, other) in found["choices"].items())
    yield from ("", "| statement | so in | what decides it |", "|---|---|---|")
    for id, one in found["statements"].items():
        so = "–" if one["so"] is None else f"{100 * one['so']:.0f} %"
        yield f"| {id} | {so} | {_decides(one)} |"
    if found["without_choices"]:
        without = ", ".join(found["without_choices"])
        yield from (
            "",
            f"Not varied, as their experiments have none of these choices or ask for other runs: {without}.",
        )


def _decides(one: Mapping[str, Any]) -> str:
    """Name the effects that are beyond chance, the largest first."""
    if one["void"]:
        return f"void in {one['void']} of {one['runs']} combinations"
    sure = [effect for effect in one["effects"] if effect["low"] is not None and effect["low"] * effect["high"] > 0]
    sure.sort(key=lambda effect: -abs(effect["points"]))
    if sure:
        rest = f"; and {len(sure) - _SHOWN} no larger" if len(sure) > _SHOWN else ""
        return "; ".join(map(_effect, sure[:_SHOWN])) + rest
    return {0.0: "none of them: it is never so", 1.0: "none of them: it is always so"}.get(one["so"], "chance")


def _effect(effect: Mapping[str, Any]) -> str:
    half = (effect["high"] - effect["low"]) / 2
    # A few seeds that agree are not without any doubt, as ± 0 would say.
    return f"{' × '.join(effect['of'])} {effect['points']:+.0f}" + (f" ± {half:.0f}" if half else "")
