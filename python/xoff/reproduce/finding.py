"""Finds the experiments, and selects experiments by id."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

from xoff._core import InputError
from xoff.reproduce.changes import Derived
from xoff.reproduce.parameters import Parameter
from xoff.reproduce.verdict import Claim
from xoff.results import Result


class Module(Protocol):
    """The definitions in an experiment's file."""

    CITATION: str
    CLAIMS: dict[str, str]

    def scenarios(self, quick: bool) -> dict[str, dict[str, Any]]:
        """Returns the scenarios to run, by name."""
        ...

    def claims(self, results: Mapping[str, Result], quick: bool) -> list[Claim]:
        """Returns the verdict on each claim; the results are those of the quick variants, or at full size."""
        ...

    def figure(self, results: Mapping[str, Result], path: Path) -> None:
        """Draws the figure into a file."""
        ...


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment file: the id (``document/experiment``) and the module."""

    id: str
    module: Module

    @property
    def reads(self) -> Collection[str]:
        """The tables of the runs to read: ``READS`` of the file, or ``flows``."""
        return getattr(self.module, "READS", ("flows",))

    @property
    def parameters(self) -> Sequence[Parameter]:
        """The given and the chosen parameters: ``PARAMETERS`` of the file, or none."""
        return getattr(self.module, "PARAMETERS", ())

    def tables(self, results: Mapping[str, Result]) -> Mapping[str, Sequence[Sequence[str]]]:
        """Returns the additional tables of the page: ``tables`` of the file, or none."""
        make = getattr(self.module, "tables", None)
        return make(results) if make else {}

    def folded(self, results: Mapping[str, Result]) -> Mapping[str, str]:
        """Returns the folded texts of the page by title: ``folded`` of the file, or none."""
        make = getattr(self.module, "folded", None)
        return make(results) if make else {}

    @property
    def derived(self) -> Derived | None:
        """The settings that follow a changed scenario (`changed`): ``DERIVED`` of the file, or None."""
        return getattr(self.module, "DERIVED", None)


def directory() -> Path:
    """Returns the directory of the experiments, a folder of this package."""
    return Path(__file__).resolve().parents[1] / "experiments"


def experiments() -> list[Experiment]:
    """Returns all experiments, in the order of their documents and claims."""
    found = []
    for file in sorted(directory().glob("*/*.py")):
        if not file.name.startswith("_"):
            module = importlib.import_module(f"xoff.experiments.{file.parent.name}.{file.stem}")
            document = file.parent.name.replace("_", "-")
            # A file without claims needs a feature that this build lacks.
            if module.CLAIMS:
                found.append(Experiment(f"{document}/{file.stem}", cast(Module, module)))
    return sorted(found, key=lambda one: (one.id.partition("/")[0], next(iter(one.module.CLAIMS))))


def select(ids: Sequence[str]) -> list[Experiment]:
    """Returns experiments by the ids of claims, experiments or documents; all without ids.

    Raises `InputError` for an unknown id.
    """
    known = experiments()
    chosen: dict[str, Experiment] = {}
    for wanted in ids:
        matches = [one for one in known if wanted in {one.id, one.id.partition("/")[0]} or wanted in one.module.CLAIMS]
        if not matches:
            names = {name: None for one in known for name in (one.id.partition("/")[0], one.id, *one.module.CLAIMS)}
            near = difflib.get_close_matches(wanted, names, n=3)
            hint = f"did you mean {' or '.join(f'`{name}`' for name in near)}? " if near else ""
            why = "is neither a document, an experiment nor a claim"
            raise InputError(f"`{wanted}` {why}; {hint}`xoff reproduce --list` lists all")
        chosen |= {one.id: one for one in matches}
    return [one for one in known if one.id in chosen] if ids else known
