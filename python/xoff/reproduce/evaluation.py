"""Runs experiments, judges their claims, and writes the pages of their documents."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xoff._core import InputError
from xoff.reproduce.changes import changed
from xoff.reproduce.design import design_of, found_in, key, screened, section
from xoff.reproduce.design_figure import draw
from xoff.reproduce.faults import planted
from xoff.reproduce.finding import Experiment, documents, experiments, select
from xoff.reproduce.page import Changes, Outcome, Table, row, write
from xoff.reproduce.runs import Runner

if TYPE_CHECKING:
    from xoff.display import StudyBar


@dataclass(frozen=True, slots=True)
class Request:
    """The selected experiments, their size, and the number of threads of a run."""

    experiments: Sequence[Experiment]
    quick: bool = False
    threads: int = 1
    runs: Path | None = None
    """The directory of kept runs, which are not repeated; if None, runs are kept in `out` until the command is done."""
    ids: Sequence[str] = ()
    """The ids of the command, which the page shows."""
    changes: Changes = ()
    """Settings applied to the scenarios."""
    design: bool = False
    """Whether open choices are screened, too: of whole documents at full size."""


def evaluate(request: Request, *, out: Path | None = None, bar: StudyBar | None = None) -> list[Outcome]:
    """Runs experiments and judges their claims; with `out`, draws figures and writes the documents' pages."""
    made = {one.id: one.module.scenarios(request.quick) for one in request.experiments}
    derived = {one.id: one.derived for one in request.experiments if one.derived is not None}
    scenarios = changed(made, request.changes, derived)
    outcomes = []
    if out is not None:
        # An unwritable destination is noticed before the runs.
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    scratch = None if out is None else out / ".unfinished"
    asked = {one.id: one for one in request.experiments}
    reads = {id: one.reads for id, one in asked.items()}
    with Runner(scenarios, reads=reads, threads=request.threads, runs=request.runs, scratch=scratch) as runner:
        for id, results in runner.each(None if bar is None else bar.report_of):
            one = asked[id]
            claims = one.module.claims(results, request.quick)
            figure = f"{one.id.replace('/', '-')}{_suffix(request)}.svg"
            if out is not None:
                # A figure that would lack a run is not drawn.
                with contextlib.suppress(*((LookupError,) if results.failures else ())):
                    one.module.figure(results, out / figure)
            tables: Mapping[str, Table] = {}
            folded: Mapping[str, str] = {}
            with contextlib.suppress(*((LookupError,) if results.failures else ())):
                tables = one.tables(results)
                folded = one.folded(results)
            rows = {name: row(result) for name, result in results.items()}
            text = one.module.__doc__ or ""
            faults = documents()[one.id.partition("/")[0]].faults
            checked = planted(one, faults, results, claims, request.quick) if out is not None else ()
            place = Path(figure) if out is None else out / figure
            figures = {claim.id: one.figure_of(claim.id.partition("/")[2], place).name for claim in claims}
            parts = (one.module.CITATION, one.parameters, tables, folded, checked, figures)
            outcomes.append(Outcome(one.id, text, claims, rows, figure, *parts))
        cpu_seconds = runner.cpu_seconds
    if out is not None:
        for document in dict.fromkeys(one.id.partition("/")[0] for one in request.experiments):
            of_it = [outcome for outcome in outcomes if outcome.experiment.partition("/")[0] == document]
            of_all = [one.id for one in experiments() if one.id.partition("/")[0] == document]
            name = _name(document, [one.experiment for one in of_it], of_all) + _suffix(request)
            found = _design(document, request, out, bar) if name == document else None
            chart = f"{document}-decides.svg"
            write(
                document,
                documents()[document].introduction,
                of_it,
                out / name,
                quick=request.quick,
                ids=request.ids or [document],
                changes=request.changes,
                design=found,
                chart=chart if found and draw(found, out / chart) else "",
                cpu_seconds=sum(cpu_seconds[one.experiment] for one in of_it),
            )
    return outcomes


def _design(document: str, request: Request, out: Path, bar: StudyBar | None) -> dict[str, Any] | None:
    """Screens the open choices of a document, or returns the screening of an earlier page if it is still valid."""
    try:
        design = design_of(document)
    except InputError:
        if request.design:
            raise
        return None
    every = select([document])
    parts = screened(design, every)
    if not request.design:
        return _kept(out / f"{document}.json", key(design, parts))
    statements: dict[str, Any] = {}
    runs = {id: part.scenarios for id, part in parts.items()}
    reads = {one.id: one.reads for one in every if one.id in runs}
    scratch = out / ".unfinished"
    with Runner(runs, reads=reads, threads=request.threads, runs=request.runs, scratch=scratch) as runner:
        for id, results in runner.each(None if bar is None else lambda of, how: bar.report_of(f"{of}: screening", how)):
            statements |= found_in(parts[id], results)
    return section(design, every, statements)


def _kept(page: Path, valid_for: str) -> dict[str, Any] | None:
    """Returns the screening of a page; None if its choices, runs or statements have changed since."""
    try:
        found = json.loads(page.read_text("utf-8")).get("design")
    except (OSError, ValueError, AttributeError):
        return None
    return found if isinstance(found, dict) and found.get("valid_for") == valid_for else None


def _suffix(request: Request) -> str:
    """Returns the suffix for files of quick or changed runs, which must not replace the published pages and figures."""
    return ("-quick" if request.quick else "") + ("-changed" if request.changes else "")


def _name(document: str, done: Sequence[str], of_all: Sequence[str]) -> str:
    """Returns the name of a page; the name of the document alone is for all of its experiments."""
    part = "+".join(one.partition("/")[2] for one in done)
    return document if len(done) == len(of_all) else f"{document}-{part if len(part) < 100 else 'part'}"


def record(ids: Sequence[str] = ()) -> list[Path]:
    """Writes the verdicts of quick variants into ``verdicts.json`` of their packages; returns the paths.

    ids: the documents to record; verdicts of other documents stay. All if empty.
    """
    outcomes = evaluate(Request(select(ids), quick=True))
    found = {claim.id: claim.words for outcome in outcomes for claim in outcome.claims}
    of_each = documents()
    files = list(dict.fromkeys(of_each[outcome.experiment.partition("/")[0]].verdicts for outcome in outcomes))
    for file in files:
        kept = json.loads(file.read_text("utf-8")) if ids and file.is_file() else {}
        known = [
            id
            for one in experiments()
            if of_each[one.id.partition("/")[0]].verdicts == file
            for id in one.module.CLAIMS
        ]
        verdicts = {id: words for id in known if (words := found.get(id) or kept.get(id))}
        file.write_text(json.dumps(verdicts, indent=2) + "\n", "utf-8")
    return files
