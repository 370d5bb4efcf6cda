"""Published experiments: finds the files in ``experiments/``, runs their scenarios, and judges their claims.

An experiment is one file, ``experiments/<document>/<experiment>.py``, with

- ``CITATION``: what it reproduces, in one sentence;
- ``CLAIMS``: the published claims by id, such as ``{"sfc/5.1": "…"}``, written before the first run;
- ``scenarios(quick) -> dict[str, dict]``: the scenarios to run by name; ``quick`` asks for small variants;
- ``claims(results) -> list[Claim]``: the verdicts, from a `Result` for each of those names;
- ``figure(results, path)``: writes the figure to a path.

Files whose name starts with an underscore hold what experiments of a document share.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast

import xoff
from xoff._core import InputError
from xoff.results import AuditError, Result


@dataclass(frozen=True, slots=True)
class Claim:
    """What a document claims, what was measured, and whether it holds."""

    id: str
    published: str
    measured: dict[str, Any]
    holds: bool
    note: str = field(default="")


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
    """Find all experiments, in the order of their names."""
    root = directory()
    if str(root.parent) not in sys.path:
        sys.path.insert(0, str(root.parent))
    found = []
    for file in sorted(root.glob("*/*.py")):
        if not file.name.startswith("_"):
            module = importlib.import_module(f"experiments.{file.parent.name}.{file.stem}")
            found.append(Experiment(f"{file.parent.name}/{file.stem}", cast(Module, module)))
    return found


def select(ids: Sequence[str]) -> list[Experiment]:
    """Choose experiments by the ids of claims, experiments or documents; all if none is given."""
    known = experiments()
    chosen: dict[str, Experiment] = {}
    for wanted in ids:
        matches = [one for one in known if wanted in {one.id, one.id.partition("/")[0]} or wanted in one.module.CLAIMS]
        if not matches:
            names = ", ".join(f"`{name}`" for one in known for name in (one.id, *one.module.CLAIMS))
            raise InputError(f"`{wanted}` is neither a document, an experiment nor a claim; there are {names}")
        chosen |= {one.id: one for one in matches}
    return [one for one in known if one.id in chosen] if ids else known


def evaluate(
    experiment: Experiment, *, quick: bool = False, threads: int = 1, bars: Any = None, figures: Path | None = None
) -> list[Claim]:
    """Run one experiment and judge its claims. A run that violates an audit makes all its claims fail."""
    results: dict[str, Result] = {}
    scenarios = experiment.module.scenarios(quick)
    for number, (name, scenario) in enumerate(scenarios.items(), 1):
        if bars is not None:
            bars.begin(f"{experiment.id} {number}/{len(scenarios)}")
        try:
            results[name] = xoff.run(scenario, threads=threads, progress=bars.report if bars is not None else None)
        except AuditError as error:
            note = f"{name}: {error}"
            return [Claim(id, text, {}, holds=False, note=note) for id, text in experiment.module.CLAIMS.items()]
        except InputError as error:
            raise InputError(f"experiment {experiment.id}, scenario {name}: {error}") from None
    verdicts = experiment.module.claims(results)
    if figures is not None:
        figures.mkdir(parents=True, exist_ok=True)
        experiment.module.figure(results, figures / f"{experiment.id.replace('/', '-')}.svg")
    return verdicts


def command(ids: Sequence[str], *, list_only: bool, quick: bool, out: Path, threads: int, as_json: bool) -> int:
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
    wanted = {id for id in ids if any(id in one.module.CLAIMS for one in chosen)}
    verdicts: list[Claim] = []
    with display.RunBars() as bars:
        for one in chosen:
            found = evaluate(one, quick=quick, threads=threads, bars=bars, figures=out)
            # An id of a claim asks for that claim alone, unless its experiment or document is asked for, too.
            whole = not ids or one.id in ids or one.id.partition("/")[0] in ids
            verdicts += [claim for claim in found if whole or claim.id in wanted]
    if as_json:
        print(json.dumps({"claims": [asdict(claim) for claim in verdicts]}))
    else:
        table = display.table("claim", "holds", "published", "measured")
        for claim in verdicts:
            measured = "\n".join(f"{key}: {_measured_text(value)}" for key, value in claim.measured.items())
            mark = "[green]yes[/green]" if claim.holds else "[red]no[/red]"
            table.add_row(
                claim.id, mark, escape(claim.published), escape(measured + (f"\n{claim.note}" if claim.note else ""))
            )
        display.out.print(table)
        held = sum(claim.holds for claim in verdicts)
        display.out.print(f"{held} of {len(verdicts)} claims hold; the figures are in [b]{escape(str(out))}[/b]")
    return 0 if all(claim.holds for claim in verdicts) else 1


def _measured_text(value: Any) -> str:
    """A measured value as text: numbers with four digits, groups of values on one line."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {_measured_text(part)}" for key, part in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
