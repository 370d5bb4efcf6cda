"""The page of a document: every claim with its verdict and numbers, the figures, and a row for each run.

``xoff reproduce DOCUMENT --out DIR`` writes it as ``DIR/DOCUMENT.md``, and the same as JSON beside it; a part of the
document or the quick variants have names that say so. Its introduction is ``page.md`` beside the experiments, and each
section begins with the head of an experiment's file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from xoff import counts
from xoff.reproduce.parameters import Parameter, rows
from xoff.reproduce.readings import Spread
from xoff.reproduce.verdict import Claim, tally, tally_in_words
from xoff.results import Result

Changes: TypeAlias = Sequence[tuple[str, str]]
"""Path of a setting, and its value."""
Table: TypeAlias = Sequence[Sequence[str]]
"""Rows of cells, the heads first."""

# By what a count is divided, and the unit that this gives.
_SCALES = {"ps": (1e6, " (µs)"), "bytes": (1e3, " (KB)")}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an experiment."""

    experiment: str
    text: str
    """The head of its file."""
    claims: Sequence[Claim]
    rows: Mapping[str, Mapping[str, Any]]
    """By the name of the run, what `row` measures."""
    shown: frozenset[str]
    """The runs that the page lists; all are in the JSON."""
    figure: str
    """Its file name."""
    parameters: Sequence[Parameter] = ()
    tables: Mapping[str, Table] = field(default_factory=dict)
    """Of its own, by title."""


def row(result: Result) -> dict[str, Any]:
    """What a page says of a run: mean FCT by workload and size class and of all flows, in µs, and counts."""
    made: dict[str, Any] = {}
    # What Bernoulli sources offer is as long as the run.
    endless = {one.get("name") for one in result.scenario["workload"] if "bernoulli" in one}
    workloads = {name: found for name, found in result.summary["workloads"].items() if name not in endless}
    named = [one["name"] for one in result.scenario["workload"] if one.get("name") in workloads]
    for name in dict.fromkeys([*named, *workloads]):
        found = workloads[name]
        if (mean := found["fct_ps"]["mean"]) is not None:
            made[f"{name} FCT (µs)"] = mean / 1e6
        for part in found.get("by_size", ()):
            if (mean := part["fct_ps"]["mean"]) is not None:
                made[f"{name} from {text_of(part['from_bytes'] / 1e3)} KB (µs)"] = mean / 1e6
    mean = result.summary["fct_ps"]["mean"]
    made["mean FCT (µs)"] = mean / 1e6 if mean is not None and not endless else None
    made["lost packets"] = result.summary["drops"]
    return made | counted(result.summary)


def counted(summary: Mapping[str, Any]) -> dict[str, float]:
    """Return what parts counted in a run, by what a page calls it: the columns of its table of runs."""
    found: dict[str, float] = {}
    for count, value in counts.counted(summary):
        scale, unit = _SCALES.get(count.unit, (1, ""))
        found[count.title + unit] = value / scale if unit else value
    return found


def write(
    document: str,
    introduction: str,
    outcomes: Sequence[Outcome],
    name: Path,
    *,
    quick: bool,
    ids: Sequence[str],
    changes: Changes,
) -> None:
    """Write the page and the JSON of a document.

    name: their path without ``.md`` and ``.json``; they appear when they are complete.
    ids: what was asked for.
    changes: what was set on the scenarios; both say so on top.
    """
    page = "\n".join(_page(document, introduction, outcomes, ids, quick=quick, changes=changes))
    for suffix, text in ((".json", "\n".join(_lines(document, outcomes, quick, changes)) + "\n"), (".md", page)):
        file = name.parent / f"{name.name}{suffix}"
        part = name.parent / f".{name.name}{suffix}.part"
        part.write_text(text, "utf-8")
        part.replace(file)


def _lines(document: str, outcomes: Sequence[Outcome], quick: bool, changes: Changes) -> Iterable[str]:
    """The JSON, with a line for each claim and each run, so that it can be read in a diff."""
    claims = [_json(claim.as_json()) for outcome in outcomes for claim in outcome.claims]
    counts = _json(tally(claim for outcome in outcomes for claim in outcome.claims))
    head = (
        f'"document": {_json(document)}, "quick": {_json(quick)}, "changes": {_json(dict(changes))}, "tally": {counts}'
    )
    yield f'{{{head}, "claims": ['
    yield ",\n".join(claims)
    yield '], "runs": {'
    yield ",\n".join(
        f"{_json(outcome.experiment)}: {{\n"
        + ",\n".join(f"{_json(name)}: {_json(_some(row))}" for name, row in outcome.rows.items())
        + "}"
        for outcome in outcomes
    )
    yield "}}"


def _some(row: Mapping[str, Any]) -> dict[str, Any]:
    """What a run has of a row: most mechanisms are not in most runs."""
    return {column: value for column, value in row.items() if value}


def _json(value: Any) -> str:
    return json.dumps(_rounded(value), ensure_ascii=False)


def by_statement(claims: Iterable[Claim]) -> dict[str, list[Claim]]:
    """Claims that judge one statement, together, in the order of the first of each."""
    grouped: dict[str, list[Claim]] = {}
    for claim in claims:
        grouped.setdefault(claim.statement, []).append(claim)
    return grouped


def text_of(value: Any) -> str:
    """A measured value as text: numbers with four digits, groups of values on one line."""
    if isinstance(value, dict):
        return ", ".join(f"{key}: {text_of(part)}" for key, part in value.items())
    if isinstance(value, Spread):
        return f"{text_of(value.mean)} ({text_of(value.low)} to {text_of(value.high)})"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
    return str(value)


def _page(
    document: str, introduction: str, outcomes: Sequence[Outcome], ids: Sequence[str], *, quick: bool, changes: Changes
) -> Iterable[str]:
    claims = [claim for outcome in outcomes for claim in outcome.claims]
    if changes:
        settings = "; ".join(f"`{path} = {value}`" for path, value in changes)
        yield f"> **Changed:** {settings}, in every run that has the key."
        yield "> Verdicts and numbers are of the changed experiment; the words here are about the published one."
        yield ""
    yield _placed(introduction.rstrip(), outcomes) or f"# {document}"
    yield ""
    size = "the quick variants" if quick else "full size"
    shown = sum(not claim.counted for claim in claims)
    yield f"Written by `{_command(ids, quick=quick, changes=changes)}` at {size}: **{tally_in_words(claims)}.**"
    if shown:
        yield f"{shown} verdicts on parts of statements, on other readings and of our own are beside them, uncounted."
    yield ""
    yield "## Verdicts"
    yield ""
    yield "| statement | the document says | verdict | published | also judged for |"
    yield "|---|---|---|---|---|"
    for outcome in outcomes:
        for statement, group in by_statement(outcome.claims).items():
            first, *others = group
            also = "; ".join(f"{_subject(claim)}: {claim.words}" for claim in others)
            mark = first.words if first.counted else f"({first.words})"
            numbers = text_of(first.published) if len(first.published) <= 3 else "see there"
            yield f"| {first.id} | {_cell(statement)} | {mark} | {_cell(numbers) or '–'} | {_cell(also) or '–'} |"
    yield ""
    yield "Verdicts in parentheses are not counted: parts of a statement, or our own."
    for outcome in outcomes:
        yield from _section(outcome, introduction, quick=quick, changes=changes)
    yield ""


def _placed(introduction: str, outcomes: Sequence[Outcome]) -> str:
    """The introduction with the tables that it asks for, by lines such as ``{sfc/buffer: title}``."""
    for outcome in outcomes:
        for title, table in outcome.tables.items():
            introduction = introduction.replace(_place(outcome, title), "\n".join(_table(table)))
    return introduction


def _place(outcome: Outcome, title: str) -> str:
    return f"{{{outcome.experiment}: {title}}}"


def _table(table: Table) -> Iterable[str]:
    """A table of an experiment in Markdown."""
    heads, *cells = table
    yield f"| {' | '.join(map(_cell, heads))} |"
    yield "|---" * len(heads) + "|"
    yield from (f"| {' | '.join(map(_cell, one))} |" for one in cells)


def _section(outcome: Outcome, introduction: str, *, quick: bool, changes: Changes) -> Iterable[str]:
    title, _, text = outcome.text.strip().partition("\n")
    yield from ("", f"## {title.rstrip('.')}", "", text.strip(), "")
    asked = _command([outcome.experiment], quick=quick, changes=changes)
    yield from (f"`{asked}` runs it.", "", f"![{title}]({outcome.figure})")
    for title, table in outcome.tables.items():
        if _place(outcome, title) not in introduction:
            yield from ("", *_table(table))
    if outcome.parameters:
        yield from ("", "| parameter | value | from | also judged with |", "|---|---|---|---|")
        yield from (f"| {' | '.join(map(_cell, cells))} |" for cells in rows(outcome.parameters))
    for statement, claims in by_statement(outcome.claims).items():
        yield from ("", f"### {claims[0].id}: {statement}", "")
        for claim in claims:
            verdict = claim.words if claim.verdict == "holds" else f"**{claim.words}**"
            yield f"- {_subject(claim)}: {verdict}{f' ({claim.reason})' if claim.reason else ''}"
            for key, value in claim.measured.items():
                known = claim.published.get(key)
                yield f"    - {key}: {text_of(value)}{'' if known is None else f' – **published: {text_of(known)}**'}"
            for key, value in claim.published.items():
                if key not in claim.measured:
                    yield f"    - published, {key}: {text_of(value)}"
    # At full size an experiment may have none of its quick runs: then there are hundreds.
    shown = {name: values for name, values in outcome.rows.items() if name in outcome.shown}
    if not shown:
        return
    columns = [
        column
        for column in dict.fromkeys(column for values in shown.values() for column in values)
        if any(values.get(column) for values in shown.values())
    ]
    yield from ("", "Runs:", "", f"| run | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|")
    for name, values in shown.items():
        yield f"| {_cell(name)} | {' | '.join(text_of(values.get(column)) for column in columns)} |"


def _command(ids: Sequence[str], *, quick: bool, changes: Changes) -> str:
    words = [
        "xoff reproduce",
        *ids,
        *(["--quick"] if quick else []),
        *(f"--set {path}={value}" for path, value in changes),
    ]
    return " ".join(words)


def _subject(claim: Claim) -> str:
    return claim.subject.partition(" (")[0] or "verdict"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _rounded(value: Any) -> Any:
    """Numbers with six digits, so that a page is the same on every machine and readable in a diff."""
    if isinstance(value, Spread):
        value = asdict(value)
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(part) for part in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value
