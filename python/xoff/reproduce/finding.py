"""Finds the experiments of installed packages, and selects experiments by id.

A package with experiments names itself by an entry point in the group ``xoff.experiments``. The package has a folder
for each document, and may define ``DOCUMENTS``, the ids of its documents in the order of lists.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, cast

from xoff._core import InputError
from xoff.reproduce.changes import Derived
from xoff.reproduce.parameters import Parameter
from xoff.reproduce.verdict import Claim
from xoff.results import Result

if TYPE_CHECKING:
    from xoff.reproduce.faults import Fault


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

    def figure_of(self, short: str, figure: Path) -> Path:
        """Returns the figure that explains a statement: the experiment's, or a further one that was drawn for it.

        ``FIGURES`` of the file has the ending of the further figure's name by statement, such as ``{"N.3": "-small"}``.
        """
        ending = getattr(self.module, "FIGURES", {}).get(short, "")
        further = figure.with_stem(f"{figure.stem}{ending}")
        return further if further.is_file() else figure

    @property
    def derived(self) -> Derived | None:
        """The settings that follow a changed scenario (`changed`): ``DERIVED`` of the file, or None."""
        return getattr(self.module, "DERIVED", None)


GROUP = "xoff.experiments"
"""The group of the entry points by which packages of experiments are found."""


@dataclass(frozen=True, slots=True)
class Document:
    """A folder of experiments in an installed package."""

    id: str
    module: str
    """The name of the folder as a module: ``xoff_experiments.sfc_proxy`` for the document ``sfc-proxy``."""
    folder: Path

    @property
    def introduction(self) -> str:
        """The introduction of the document's page: ``page.md``, or an empty text."""
        file = self.folder / "page.md"
        return file.read_text("utf-8") if file.is_file() else ""

    @property
    def faults(self) -> Mapping[str, Fault]:
        """The planted faults by statement: ``FAULTS`` of ``_faults.py``, or none."""
        if not (self.folder / "_faults.py").is_file():
            return {}
        return cast("Mapping[str, Fault]", importlib.import_module(f"{self.module}._faults").FAULTS)

    @property
    def verdicts(self) -> Path:
        """The file of the recorded verdicts, which the documents of a package share."""
        return self.folder.parent / "verdicts.json"


def documents() -> dict[str, Document]:
    """Returns the documents of all installed packages by id, in the order of lists.

    Raises `InputError` if a package cannot be imported, or two packages have a document of the same name.
    """
    found: dict[str, Document] = {}
    for entry in sorted(metadata.entry_points(group=GROUP), key=lambda one: one.name):
        for document in _documents(_imported(entry)):
            other = found.setdefault(document.id, document)
            if other.module != document.module:
                packages = " and ".join(f"`{one.module.partition('.')[0]}`" for one in (other, document))
                raise InputError(f"reproduce: document `{document.id}` is in {packages}; uninstall one of the two")
    return found


def _imported(entry: metadata.EntryPoint) -> ModuleType:
    """Returns the package of an entry point."""
    try:
        package = importlib.import_module(entry.module)
    except ModuleNotFoundError as error:
        # A library that the package imports is another case: the message names the library.
        if error.name is None or error.name.partition(".")[0] != entry.module.partition(".")[0]:
            raise
        raise InputError(
            f"reproduce: the package `{entry.module}` of entry point `{entry.name}` is missing; install it again"
        ) from None
    if not hasattr(package, "__path__"):
        raise InputError(
            f"reproduce: entry point `{entry.name}` names the module `{entry.module}`; name a package, a folder with a "
            "folder for each document"
        )
    return package


def _documents(package: ModuleType) -> Iterator[Document]:
    """Yields the documents of a package: those of ``DOCUMENTS``, then the others sorted by name."""
    root = Path(package.__path__[0])
    known = {
        folder.name.replace("_", "-"): folder
        for folder in sorted(root.iterdir())
        if folder.is_dir() and any(folder.glob("[!_]*.py"))
    }
    first = [id for id in getattr(package, "DOCUMENTS", ()) if id in known]
    for id in dict.fromkeys([*first, *known]):
        yield Document(id, f"{package.__name__}.{known[id].name}", known[id])


def experiments() -> list[Experiment]:
    """Returns all experiments, in the order of their documents and claims."""
    found = []
    for document in documents().values():
        modules = {
            file.stem: importlib.import_module(f"{document.module}.{file.stem}")
            for file in sorted(document.folder.glob("[!_]*.py"))
        }
        # A file without claims needs a feature that this build lacks.
        of_it = [
            Experiment(f"{document.id}/{name}", cast(Module, module))
            for name, module in modules.items()
            if module.CLAIMS
        ]
        found += sorted(of_it, key=lambda one: next(iter(one.module.CLAIMS)))
    return found


def select(ids: Sequence[str]) -> list[Experiment]:
    """Returns experiments by the ids of claims, experiments or documents; all without ids.

    Raises `InputError` for an unknown id, and if no experiments are installed.
    """
    known = experiments()
    if not known:
        raise InputError(
            "reproduce: no published experiments are installed; install them with: pip install 'xoff[experiments]', "
            "or in a checkout with: make build"
        )
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
