"""Published experiments: finds the files in ``experiments/``, runs their scenarios, and judges their claims.

An experiment is one file, ``experiments/<document>/<experiment>.py``, with

- ``CITATION``: what it reproduces, in one sentence;
- ``CLAIMS``: the published claims by id, such as ``{"sfc/5.1": "…"}``, written before the first run;
- ``scenarios(quick) -> dict[str, dict]``: the scenarios to run by name; ``quick`` asks for small variants;
- ``claims(results) -> list[Claim]``: the verdicts, from a `Result` for each of those names;
- ``figure(results, path)``: writes the figure to a path.

The folder ``experiments/sfc_proxy`` is the document ``sfc-proxy``. A file whose ``CLAIMS`` is empty is left out.
Files whose name starts with an underscore hold what experiments of a document share; ``page.md`` introduces the page of
the document. ``python -m xoff.reproduce`` records the verdicts of the quick variants, which a test compares.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from xoff._core import InputError
from xoff.reproduce_page import Outcome, by_statement, row, text_of, write
from xoff.reproduce_readings import Claim, Readings, Statements
from xoff.reproduce_runs import RunFailed, Runner
from xoff.results import Result

if TYPE_CHECKING:
    from xoff.display import StudyBar

__all__ = [
    "Claim",
    "Experiment",
    "Readings",
    "Request",
    "RunFailed",
    "Statements",
    "command",
    "directory",
    "evaluate",
    "experiments",
    "select",
]


class Module(Protocol):
    """What the file of an experiment defines."""

    CITATION: str
    CLAIMS: dict[str, str]

    def scenarios(self, quick: bool) -> dict[str, dict[str, Any]]:
        """Return the scenarios to run, by name."""
        ...

    def claims(self, results: Mapping[str, Result]) -> list[Claim]:
        """Return the verdict on each claim."""
        ...

    def figure(self, results: Mapping[str, Result], path: Path) -> None:
        """Draw the figure into a file."""
        ...


@dataclass(frozen=True, slots=True)
class Experiment:
    """One experiment file: its id (``document/experiment``) and what it defines."""

    id: str
    module: Module


def directory() -> Path:
    """Where the experiments are: in the source checkout of this package, or else beside the current directory."""
    for root in (Path(__file__).resolve().parents[2], Path.cwd()):
        if (root / "experiments").is_dir() and (root / "pyproject.toml").is_file():
            return root / "experiments"
    raise InputError("experiments: there are none here; run this command in a source checkout of xoff")


def experiments() -> list[Experiment]:
    """Find all experiments, in the order of their documents and claims."""
    root = directory()
    if str(root.parent) not in sys.path:
        sys.path.insert(0, str(root.parent))
    found = []
    for file in sorted(root.glob("*/*.py")):
        if not file.name.startswith("_"):
            module = importlib.import_module(f"experiments.{file.parent.name}.{file.stem}")
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


@dataclass(frozen=True, slots=True)
class Request:
    """What to run: the chosen experiments, at full size or the quick variants, and how many threads simulate a run."""

    experiments: Sequence[Experiment]
    quick: bool = False
    threads: int = 1
    runs: Path | None = None
    """Where runs are kept, and looked for before they are done; if none, in `out` until all is done."""
    ids: Sequence[str] = ()
    """What was asked for; the page says so."""


def evaluate(request: Request, *, out: Path | None = None, bar: StudyBar | None = None) -> list[Outcome]:
    """Run experiments and judge their claims; with `out` draw their figures, and write the pages of their documents.

    A claim that needs a run which violated an audit does not hold.
    """
    scenarios = {one.id: one.module.scenarios(request.quick) for one in request.experiments}
    outcomes = []
    if out is not None:
        # A place that cannot be written is to be noticed before the runs.
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    scratch = None if out is None else out / ".unfinished"
    with Runner(scenarios, threads=request.threads, runs=request.runs, scratch=scratch) as runner:
        for one in request.experiments:
            if bar is not None:
                bar.begin(one.id)
            results = runner.results(one.id, bar.report if bar is not None else None)
            try:
                claims = one.module.claims(results)
            except LookupError:
                if not results.failures:
                    raise
                note = "; ".join(f"{name}: {text}" for name, text in results.failures.items())
                claims = [Claim(id, text, {}, False, note) for id, text in one.module.CLAIMS.items()]
            figure = f"{one.id.replace('/', '-')}{'-quick' if request.quick else ''}.svg"
            if out is not None:
                # A figure that lacks a run says less than none.
                with contextlib.suppress(*((LookupError,) if results.failures else ())):
                    one.module.figure(results, out / figure)
            rows = {name: row(result) for name, result in results.items()}
            shown = frozenset(rows if request.quick else one.module.scenarios(quick=True))
            runner.release(one.id)
            outcomes.append(Outcome(one.id, one.module.__doc__ or "", claims, rows, shown, figure))
    if out is not None:
        for document in dict.fromkeys(one.id.partition("/")[0] for one in request.experiments):
            of_it = [outcome for outcome in outcomes if outcome.experiment.partition("/")[0] == document]
            of_all = [one.id for one in experiments() if one.id.partition("/")[0] == document]
            name = _name(document, [one.experiment for one in of_it], of_all, quick=request.quick)
            asked = " ".join([*(request.ids or [document]), *(["--quick"] if request.quick else [])])
            write(document, _introduction(document), of_it, out / name, quick=request.quick, command=asked)
    return outcomes


def _name(document: str, done: Sequence[str], of_all: Sequence[str], *, quick: bool) -> str:
    """Return the name of a page; that of the document alone is for all of it at full size."""
    part = "+".join(one.partition("/")[2] for one in done)
    name = document if len(done) == len(of_all) else f"{document}-{part if len(part) < 100 else 'part'}"
    return f"{name}-quick" if quick else name


def _introduction(document: str) -> str:
    file = directory() / document.replace("-", "_") / "page.md"
    return file.read_text("utf-8") if file.is_file() else ""


def command(
    ids: Sequence[str], *, list_only: bool, quick: bool, out: Path, threads: int, runs: Path | None, as_json: bool
) -> int:
    """Do what ``xoff reproduce`` does; return its exit code."""
    from rich.markup import escape

    from xoff import display

    chosen = select(ids)
    if list_only:
        listed = [(claim, one.id, text) for one in chosen for claim, text in one.module.CLAIMS.items()]
        if as_json:
            print(
                json.dumps(
                    {"claims": [{"id": id, "experiment": where, "published": text} for id, where, text in listed]}
                )
            )
            return 0
        table = display.table("claim", "experiment", "published")
        for id, where, text in listed:
            table.add_row(id, where, escape(text))
        display.out.print(table)
        return 0
    with display.StudyBar() as bar:
        outcomes = evaluate(Request(chosen, quick, threads, runs, ids), out=out, bar=bar)
    # An id of a claim asks for that claim alone, unless its experiment or document is asked for, too.
    verdicts = [
        claim
        for outcome in outcomes
        for claim in outcome.claims
        if not ids or {outcome.experiment, outcome.experiment.partition("/")[0], claim.id} & set(ids)
    ]
    if as_json:
        print(json.dumps({"claims": [asdict(claim) for claim in verdicts]}))
    else:
        for published, claims in by_statement(verdicts).items():
            display.out.print(f"\n[b]{escape(claims[0].id)}[/b]  {escape(published)}")
            for claim in claims:
                mark = "[green]holds[/green]" if claim.holds else "[red]does not hold[/red]"
                display.out.print(f"  {mark}  {escape(claim.id)}" + (f"  ({escape(claim.note)})" if claim.note else ""))
                for key, value in claim.measured.items():
                    display.out.print(f"    {escape(key)}: {escape(text_of(value))}")
        held = sum(claim.holds for claim in verdicts)
        place = escape(str(out))
        display.out.print(f"\n{held} of {len(verdicts)} claims hold; the figures and the page are in [b]{place}[/b]")
    return 0 if all(claim.holds for claim in verdicts) else 1


def record() -> Path:
    """Write the verdicts of all quick variants into ``experiments/verdicts.json``; return its path."""
    verdicts = {
        claim.id: claim.holds for outcome in evaluate(Request(experiments(), quick=True)) for claim in outcome.claims
    }
    file = directory() / "verdicts.json"
    file.write_text(json.dumps(verdicts, indent=2) + "\n", "utf-8")
    return file


if __name__ == "__main__":
    print(f"recorded the verdicts of the quick variants in {record()}")
