"""Writes the scenarios of experiments and a study of them as commented TOML: ``xoff reproduce ID --export DIR``.

The directory of an experiment has ``study.toml``, and in ``scenarios/`` a file for each run of the study with the first
seed. Runs that differ only in the seed are seeds of the study.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tomlkit

from xoff._core import InputError
from xoff.files.new_files import write_files
from xoff.reproduce.cases import choice_of
from xoff.reproduce.finding import Experiment
from xoff.reproduce.parameters import rows


def export(
    experiments: Sequence[Experiment], scenarios: Mapping[str, Mapping[str, dict[str, Any]]], to: Path
) -> list[Path]:
    """Writes the runs of experiments without open choices; returns the paths of the studies that have runs.

    scenarios: by the id of the experiment, and by name.

    Raises `InputError` if the directory is not empty.
    """
    if to.exists() and any(to.iterdir()):
        raise InputError(f"--export {to}: is not empty; name a new directory")
    texts: dict[Path, str] = {}
    studies = []
    for one in experiments:
        runs, seeds = _runs({name: made for name, made in scenarios[one.id].items() if not choice_of(name)})
        if not runs:
            continue
        place = to / one.id
        head = list(_head(one))
        for index, (name, scenario) in enumerate(runs.items(), 1):
            file = place / "scenarios" / f"{index:03}-{_slug(name)}.toml"
            texts[file] = _toml([*head, f"Run: {name}"], scenario)
        studies.append(place / "study.toml")
        texts[studies[-1]] = _toml([*head, "`xoff sweep study.toml` runs the study."], _study(one, runs, seeds))
    write_files(texts)
    return studies


def _runs(named: Mapping[str, dict[str, Any]]) -> tuple[dict[str, dict[str, Any]], list[int]]:
    """Returns the runs of the first seed by name, and all seeds; all runs, if runs differ in more than the seed."""
    groups: dict[str, dict[int, dict[str, Any]]] = {}
    for name, scenario in named.items():
        plain = re.sub(r"/?seed \d+$", "", name) or "all"
        groups.setdefault(plain, {})[scenario.get("seed", 1)] = {k: v for k, v in scenario.items() if k != "seed"}
    seeds = [list(of) for of in groups.values()]
    is_seeded = all(one == seeds[0] for one in seeds) and sum(map(len, seeds)) == len(named)
    if is_seeded and all(other == next(iter(of.values())) for of in groups.values() for other in of.values()):
        return {name: next(iter(of.values())) for name, of in groups.items()}, seeds[0] if seeds else []
    return dict(named), [1]


def _study(one: Experiment, runs: Mapping[str, dict[str, Any]], seeds: Sequence[int]) -> dict[str, Any]:
    common = _common([{k: v for k, v in run.items() if k not in {"name", "seed"}} for run in runs.values()])
    variants = {
        name: _rest({k: v for k, v in run.items() if k not in {"name", "seed"}}, common) for name, run in runs.items()
    }
    return {"name": one.id, "seeds": list(seeds), "scenario": common, "variants": variants}


def _common(documents: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the keys and values that all documents share."""
    first, *others = documents
    found: dict[str, Any] = {}
    for key, value in first.items():
        if not all(key in other for other in others):
            continue
        if isinstance(value, dict) and all(isinstance(other[key], dict) for other in others):
            if part := _common([value, *(other[key] for other in others)]):
                found[key] = part
        elif all(other[key] == value for other in others):
            found[key] = value
    return found


def _rest(document: Mapping[str, Any], common: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the part of a document that is not in the common part."""
    found: dict[str, Any] = {}
    for key, value in document.items():
        if key not in common:
            found[key] = value
        elif isinstance(value, dict) and (part := _rest(value, common[key])):
            found[key] = part
    return found


def _head(one: Experiment) -> Iterable[str]:
    yield f"{one.id}: {one.module.CITATION}"
    yield from (f"{name}: {value} ({source})" for name, value, source, _ in rows(one.parameters))


def _toml(comments: Iterable[str], document: Mapping[str, Any]) -> str:
    lines = [line for text in comments for line in textwrap.wrap(text, 118, subsequent_indent="  ")]
    return "".join(f"# {line}\n" for line in lines) + "\n" + tomlkit.dumps(_without_none(document))


def _without_none(value: Any) -> Any:
    """Returns a value without None, since TOML has no null."""
    if isinstance(value, Mapping):
        return {key: _without_none(part) for key, part in value.items() if part is not None}
    if isinstance(value, list | tuple):
        return [_without_none(part) for part in value]
    return value


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower()[:80] or "run"
