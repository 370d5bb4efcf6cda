"""Finds the experiments, and chooses those that are asked for."""

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
    """What the file of an experiment defines."""

    CITATION: str
    CLAIMS: dict[str, str]

    def scenarios(self, quick: bool) -> dict[str, dict[str, Any]]:
        """Return the scenarios to run, by name."""
        ...

    def claims(self, results: Mapping[str, Result], quick: bool) -> list[Claim]:
        """Return the verdict on each claim; the results are those of the quick variants, or at full size."""
        ...

    def figure(self, results: Mapping[str, Result], path: Path) -> None:
        """Draw the figure into a file."""
        ...


@dataclass(frozen=True, slots=True)
class Experiment:
    """One experiment file: its id (``document/experiment``) and what it defines."""

    id: str
    module: Module

    @property
    def reads(self) -> Collection[str]:
        """The tables of its runs that it looks at: ``READS``, if the file has it, and else ``flows``."""
        return getattr(self.module, "READS", ("flows",))

    @property
    def parameters(self) -> Sequence[Parameter]:
        """What its document gives, and what is chosen: ``PARAMETERS``, if the file has it."""
        return getattr(self.module, "PARAMETERS", ())

    def tables(self, results: Mapping[str, Result]) -> Mapping[str, Sequence[Sequence[str]]]:
        """Return what its page tells in tables of its own: ``tables``, if the file has it."""
        make = getattr(self.module, "tables", None)
        return make(results) if make else {}

    def folded(self, results: Mapping[str, Result]) -> Mapping[str, str]:
        """Return texts that its page shows when they are opened, by title: ``folded``, if the file has it."""
        make = getattr(self.module, "folded", None)
        return make(results) if make else {}

    @property
    def derived(self) -> Derived | None:
        """What follows from a changed scenario (`changed`): ``DERIVED``, if the file has it."""
        return getattr(self.module, "DERIVED", None)


def directory() -> Path:
    """Where the experiments are: a folder of this package."""
    return Path(__file__).resolve().parents[1] / "experiments"


def experiments() -> list[Experiment]:
    """Find all experiments, in the order of their documents and claims."""
    found = []
    for file in sorted(directory().glob("*/*.py")):
        if not file.name.startswith("_"):
            module = importlib.import_module(f"xoff.experiments.{file.parent.name}.{file.stem}")
            document = file.parent.name.replace("_", "-")
            # A file without claims needs something that this build lacks.
            if module.CLAIMS:
                found.append(Experiment(f"{document}/{file.stem}", cast(Module, module)))
    return sorted(found, key=lambda one: (one.id.partition("/")[0], next(iter(one.module.CLAIMS))))


def select(ids: Sequence[str]) -> list[Experiment]:
    """Choose experiments by the ids of claims, experiments or documents; all if none is given."""
    known = experiments()
    chosen: dict[str, Experiment] = {}
    for wanted in ids:
        matches = [one for one in known if wanted in {one.id, one.id.partition("/")[0]} or wanted in one.module.CLAIMS]
        if not matches:
            names = {name: None for one in known for name in (one.id.partition("/")[0], one.id, *one.module.CLAIMS)}
            near = difflib.get_close_matches(wanted, names, n=3)
            hint = f"did you mean {' or '.join(f'`{name}`' for name in near)}? " if near else ""
            why = "is neither a document, an experiment nor a claim"
            raise InputError(f"`{wanted}` {why}; {hint}`xoff reproduce --list` lists them")
        chosen |= {one.id: one for one in matches}
    return [one for one in known if one.id in chosen] if ids else known
