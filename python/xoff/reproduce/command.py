"""What ``xoff reproduce`` does and prints."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.markup import escape

from xoff import display
from xoff.reproduce.evaluation import Request, evaluate
from xoff.reproduce.finding import select
from xoff.reproduce.page import by_statement, text_of


def command(
    ids: Sequence[str], *, list_only: bool, quick: bool, out: Path, threads: int, runs: Path | None, as_json: bool
) -> int:
    """Do what ``xoff reproduce`` does; return its exit code."""
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
