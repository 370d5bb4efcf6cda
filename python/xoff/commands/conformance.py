"""The command ``xoff conformance``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from xoff import formatting
from xoff._core import InputError
from xoff.commands.options import Json

if TYPE_CHECKING:
    from xoff.conformance.checks import Check

_DRAWS = 12
_LISTED = 3
"""Failed draws of a check that are listed."""


def _complete(incomplete: str) -> list[str]:
    from xoff.conformance import parts

    return sorted({part.name for part in parts.acting() if part.name.startswith(incomplete)})


def command(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="The part, of xoff or of a plug-in: [b]pfc[/b], [b]plugins.early_warning[/b].",
            show_default=False,
            autocompletion=_complete,
        ),
    ],
    draws: Annotated[int, typer.Option(min=1, max=100_000, metavar="N", help="Random scenarios.")] = _DRAWS,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Number of the first draw: other numbers are other scenarios.")
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Writes the scenarios of failed draws into this folder.", show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Checks a part in random scenarios: audits, threads, fast-forward and counts; exit code 1 if a check fails."""
    from xoff.conformance import checks, parts
    from xoff.display import PlanBar

    found = parts.find(name)
    if out is not None and out.exists() and not out.is_dir():
        raise InputError(f"--out: {formatting.plain(str(out))} is no folder")
    done = 0

    def advance() -> None:
        nonlocal done
        done += 1
        bar.report(done, draws * len(found))

    with PlanBar("Examining", "draws") as bar:
        examined = [checks.examine(part, range(seed, seed + draws), advance) for part in found]
    rows = [(str(one.part), check) for one in examined for check in one.checks]
    if (counts := checks.counts_check(found[0].name, examined)) is not None:
        rows.append((found[0].name if len(found) > 1 else str(found[0]), counts))
    files = _written(out, rows)
    if as_json:
        print(json.dumps(_as_json(found[0].name, seed, draws, rows, files)))
    else:
        _show(name, rows, files)
    raise typer.Exit(0 if all(check.is_passed for _, check in rows) else 1)


def _written(out: Path | None, rows: list[tuple[str, Check]]) -> dict[tuple[str, str, int], Path]:
    """Writes the scenarios of failed draws; returns the files by part, check and draw."""
    from xoff.conformance.checks import document

    files: dict[tuple[str, str, int], Path] = {}
    if out is None:
        return files
    for part, check in rows:
        for failure in check.failures:
            file = out / f"{part}-{check.name}-{failure.draw}.json"
            out.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(document(failure.scenario), indent=2) + "\n", "utf-8")
            files[part, check.name, failure.draw] = file
    return files


def _as_json(
    name: str, seed: int, draws: int, rows: list[tuple[str, Check]], files: dict[tuple[str, str, int], Path]
) -> dict[str, Any]:
    from xoff.conformance.checks import document

    listed = [
        {
            "part": part,
            "check": check.name,
            "passed": check.is_passed,
            "draws": check.draws,
            "detail": check.problem or check.detail,
            "failures": [
                {
                    "draw": one.draw,
                    "problem": one.problem,
                    "scenario": document(one.scenario),
                    "file": str(files[part, check.name, one.draw]) if files else None,
                }
                for one in check.failures
            ],
        }
        for part, check in rows
    ]
    return {
        "name": name,
        "seed": seed,
        "draws": draws,
        "passed": all(check.is_passed for _, check in rows),
        "checks": listed,
    }


def _show(name: str, rows: list[tuple[str, Check]], files: dict[tuple[str, str, int], Path]) -> None:
    from rich.markup import escape

    from xoff import display

    table = display.table("part", "check", "result", "draws", "", right=(3,))
    for part, check in rows:
        result = "passed" if check.is_passed else "[red]failed[/red]"
        table.add_row(escape(part), check.name, result, str(check.draws), escape(check.detail or check.about))
    display.out.print(table)
    for part, check in rows:
        if check.problem:
            display.out.print(f"{escape(part)}, {check.name}: {escape(check.problem)}")
        elif not check.failures and not check.is_passed:
            display.out.print(f"{escape(part)}, {check.name}: no draw has a run with an end; give more --draws")
        for one in check.failures[:_LISTED]:
            display.out.print(f"{escape(part)}, {check.name}, draw {one.draw}: {escape(one.problem)}")
            file = files.get((part, check.name, one.draw))
            repeat = f"xoff conformance {name} --draws 1 --seed {one.draw} --out DIR"
            where = f"scenario: {file}" if file else f"to get the scenario: {repeat}"
            display.out.print(f"  {escape(formatting.plain(where))}")
        if len(check.failures) > _LISTED:
            display.out.print(f"  and {len(check.failures) - _LISTED} more draws")
