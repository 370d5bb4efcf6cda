"""The command ``xoff reproduce``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rich.markup import escape

from xoff import display
from xoff._core import InputError
from xoff.reproduce.changes import changed
from xoff.reproduce.design import design_of
from xoff.reproduce.evaluation import Request, evaluate
from xoff.reproduce.export import export
from xoff.reproduce.finding import Experiment, select
from xoff.reproduce.page import text_of
from xoff.reproduce.verdict import Claim, tally, tally_in_words


def command(
    ids: Sequence[str],
    *,
    list_only: bool,
    quick: bool,
    design: bool,
    out: Path,
    threads: int,
    runs: Path | None,
    changes: Sequence[tuple[str, str]],
    export_to: Path | None,
    as_json: bool,
) -> int:
    """Runs ``xoff reproduce``; returns the exit code: 0 if all claims hold, else 1."""
    chosen = select(ids)
    if list_only:
        listed = [(claim, one.id, text) for one in chosen for claim, text in one.module.CLAIMS.items()]
        if as_json:
            print(
                json.dumps(
                    {"claims": [{"id": id, "experiment": where, "statement": text} for id, where, text in listed]}
                )
            )
            return 0
        table = display.table("claim", "experiment", "text of the document")
        for id, where, text in listed:
            table.add_row(id, where, escape(text))
        display.out.print(table)
        return 0
    if export_to is not None:
        derived = {one.id: one.derived for one in chosen if one.derived is not None}
        made = changed({one.id: one.module.scenarios(quick) for one in chosen}, changes, derived)
        studies = export(chosen, made, export_to)
        if as_json:
            print(json.dumps({"studies": [str(study) for study in studies]}))
        else:
            display.out.print("\n".join(f"xoff sweep {escape(str(study))}" for study in studies))
        return 0
    if design:
        _check_design(chosen, quick=quick, changes=changes)
    with display.StudyBar() as bar:
        outcomes = evaluate(Request(chosen, quick, threads, runs, ids, changes, design), out=out, bar=bar)
    # The id of a claim selects only that claim, unless its experiment or document is selected too.
    verdicts = [
        claim
        for outcome in outcomes
        for claim in outcome.claims
        if not ids or {outcome.experiment, outcome.experiment.partition("/")[0], claim.id} & set(ids)
    ]
    if as_json:
        found = {"tally": tally(verdicts), "claims": [claim.as_json() for claim in verdicts]}
        print(json.dumps({"changes": dict(changes)} | found))
    else:
        if changes:
            display.out.print(f"[b]Changed[/b]: {escape('; '.join(f'{path} = {value}' for path, value in changes))}")
        for claim in verdicts:
            _print(claim)
        place = escape(str(out))
        display.out.print(f"\n{tally_in_words(verdicts)}; the figures and the page are in [b]{place}[/b]")
    return 0 if all(claim.holds for claim in verdicts) else 1


def _check_design(chosen: Sequence[Experiment], *, quick: bool, changes: Sequence[tuple[str, str]]) -> None:
    """Raises `InputError` unless the selection is whole documents with declared choices, unchanged and at full size."""
    if quick or changes:
        left = "--quick" if quick else "--set"
        raise InputError(f"--design is of the published experiments at full size: leave out {left}")
    asked = {one.id for one in chosen}
    for document in dict.fromkeys(one.id.partition("/")[0] for one in chosen):
        if not {one.id for one in select([document])} <= asked:
            raise InputError(f"--design is of a whole document: `xoff reproduce {document} --design`")
        design_of(document)


_COLOURS = {
    "holds": "green",
    "holds under": "cyan",
    "does not hold": "red",
    "refuted": "red",
    "undecided": "magenta",
    "void": "yellow",
}


def _print(claim: Claim) -> None:
    colour = _COLOURS[claim.direction]
    reason = f"  ({escape(claim.reason)})" if claim.reason else ""
    display.out.print(f"\n[b]{escape(claim.id)}[/b]  {escape(claim.statement)}")
    display.out.print(f"  [{colour}]{escape(claim.words)}[/{colour}]{reason}")
    for key, value in claim.measured.items():
        known = f"  (published: {escape(text_of(claim.published[key]))})" if key in claim.published else ""
        display.out.print(f"    {escape(key)}: {escape(text_of(value))}{known}")
    if claim.size and claim.size.ratio is not None:
        display.out.print(f"    measured over published: {text_of(claim.size.ratio)}")
    if claim.others:
        display.out.print(f"    with other choices: {escape(text_of(claim.others))}")
