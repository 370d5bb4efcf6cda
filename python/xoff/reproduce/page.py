"""The page of a document: one table of all statements first, then findings, then details with the figures.

``xoff reproduce DOCUMENT --out DIR`` writes three files: ``DIR/DOCUMENT.md`` is the page, ``DOCUMENT.json`` has the
claims, and ``DOCUMENT.runs.json`` has a row for each run. Pages of a part of the document or of quick variants have
longer names. The introduction is ``page.md`` beside the experiments: its first paragraph goes before the table, the
findings after it, and what follows the heading of the details into the details. Each section of the details begins
with the docstring of an experiment's file.

The JSON of the claims also has the SHA-256 of the rows and of every figure (``built``). A repository can therefore
track only the page and the claims, and can still tell whether figures and rows from elsewhere belong to them.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from xoff.files.new_files import write_files
from xoff.reproduce import overview
from xoff.reproduce.design import lines as design_lines
from xoff.reproduce.faults import Planted
from xoff.reproduce.judged import NOTHING_VARIED
from xoff.reproduce.parameters import Parameter, rows
from xoff.reproduce.readings import Spread
from xoff.reproduce.verdict import Claim, Range, SetUp, shares_in_words, tally, tally_in_words
from xoff.results import Result, counts

Changes: TypeAlias = Sequence[tuple[str, str]]
"""Path of a setting, and its value."""
Table: TypeAlias = Sequence[Sequence[str]]
"""Rows of cells, the heads first."""

# Divisor and unit of a count.
_SCALES = {"ps": (1e6, " (µs)"), "bytes": (1e3, " (KB)")}
_FIGURE = re.compile(r"\]\(([^/()\s]+\.svg)\)")
DETAILS = "## Details"
"""The heading between what a reader needs, of at most 2,000 words, and the rest."""
ROWS = ".runs.json"
"""The end of the name of the file with a row for each run."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of an experiment."""

    experiment: str
    text: str
    """The docstring of the experiment's file."""
    claims: Sequence[Claim]
    rows: Mapping[str, Mapping[str, Any]]
    """The row of each run (`row`), by the name of the run."""
    figure: str
    """The file name of the figure."""
    citation: str
    """The document and the place in it (`Module.CITATION`)."""
    parameters: Sequence[Parameter] = ()
    tables: Mapping[str, Table] = field(default_factory=dict)
    """The experiment's tables by title."""
    folded: Mapping[str, str] = field(default_factory=dict)
    """Folded texts by title."""
    faults: Sequence[Planted] = ()
    """The counted statements under planted faults."""
    figures: Mapping[str, str] = field(default_factory=dict)
    """The file name of the figure that explains a statement, by its id, if it is a further figure."""


def row(result: Result) -> dict[str, Any]:
    """Returns a run's row of a page: mean FCT in µs by workload, by size class and of all flows, and counts."""
    made: dict[str, Any] = {}
    # Flows of Bernoulli sources last as long as the run, and have no completion time.
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
    """Returns the counts of parts in a run by their title: the columns of a page's table of runs."""
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
    design: Mapping[str, Any] | None = None,
    chart: str = "",
    cpu_seconds: float = 0,
) -> None:
    """Writes the page, the claims and the rows of a document, whose figures are already drawn.

    name: the path without ``.md`` and ``.json``; the files appear when complete.
    ids: the ids of the command.
    changes: the settings applied to the scenarios; page and JSON list them at the top.
    design: the result of a screening of the open choices (`design.py`), if there was one.
    chart: the file name of the screening's chart.
    cpu_seconds: the CPU time of the runs. The JSON has two digits of it.
    """
    page = "\n".join(
        _page(document, introduction, outcomes, ids, quick=quick, changes=changes, design=design, chart=chart)
    )
    rows = rows_json({one.experiment: {run: _some(row) for run, row in one.rows.items()} for one in outcomes})
    figures = [name.parent / figure for figure in sorted(figures_of(page))]
    built = {f"{name.name}{ROWS}": digest(rows.encode())}
    built |= {figure.name: digest(figure.read_bytes()) for figure in figures if figure.is_file()}
    claims = [claim for outcome in outcomes for claim in outcome.claims]
    set_up = _set_up(outcomes)
    head = {
        "document": document,
        "quick": quick,
        "changes": dict(changes),
        "cpu_seconds": float(f"{cpu_seconds:.2g}"),
        "set_up": asdict(set_up) if set_up else None,
        "tally": tally(claims),
        "faults": [asdict(one) for outcome in outcomes for one in outcome.faults],
        "design": design,
    }
    found = claims_json(head, [claim.as_json() for claim in claims], built)
    texts = {f"{name.name}.json": found, f"{name.name}{ROWS}": rows, f"{name.name}.md": page}
    write_files({name.parent / file: text for file, text in texts.items()})


def figures_of(page: str) -> set[str]:
    """Returns the file names of the figures that a page shows."""
    return set(_FIGURE.findall(page))


def digest(content: bytes) -> str:
    """Returns the digest of a file, as ``sha256sum`` prints it."""
    return hashlib.sha256(content).hexdigest()


def claims_json(head: Mapping[str, Any], claims: Iterable[Any], built: Mapping[str, str]) -> str:
    """Returns the JSON of the claims, with a line for each claim and each built file, for readable diffs.

    built: the digest of each file that belongs to the page, by name.
    """
    first = "".join(f"{_json(key)}: {_json(value)}, " for key, value in head.items())
    files = ",\n".join(f"{_json(file)}: {_json(found)}" for file, found in built.items())
    return f'{{{first}"claims": [\n' + ",\n".join(map(_json, claims)) + f'\n], "built": {{\n{files}\n}}}}\n'


def rows_json(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """Returns the JSON of the rows by experiment and by the name of the run, with a line for each run."""
    parts = (
        f"{_json(experiment)}: {{\n" + ",\n".join(f"{_json(name)}: {_json(one)}" for name, one in of.items()) + "}"
        for experiment, of in rows.items()
    )
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _some(row: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the values of a row that are not zero: most mechanisms are absent from most runs."""
    return {column: value for column, value in row.items() if value}


def _json(value: Any) -> str:
    return json.dumps(_rounded(value), ensure_ascii=False)


def text_of(value: Any) -> str:
    """Returns a measured value as text: numbers with four digits, groups of values on one line."""
    if isinstance(value, dict):
        return ", ".join(f"{key}: {text_of(part)}" for key, part in value.items())
    if isinstance(value, Range):
        return str(value)
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
    document: str,
    introduction: str,
    outcomes: Sequence[Outcome],
    ids: Sequence[str],
    *,
    quick: bool,
    changes: Changes,
    design: Mapping[str, Any] | None,
    chart: str,
) -> Iterable[str]:
    claims = [claim for outcome in outcomes for claim in outcome.claims]
    if changes:
        settings = "; ".join(f"`{path} = {value}`" for path, value in changes)
        yield f"> **Changed:** {settings}, in every run that has the key."
        yield "> Verdicts and numbers are of the changed experiment; the words here are about the published one."
        yield ""
    head, findings, rest = _parted(_placed(introduction.rstrip(), outcomes) or f"# {document}")
    yield from (head, "")
    size = "the quick variants" if quick else "full size"
    yield f"{shares_in_words([tally(claims)])} Written by `{_command(ids, quick=quick, changes=changes)}` at {size}."
    yield from ("", *overview.lines(_counted(outcomes)), "")
    yield "The *margin* is how far a statement is from failing, in percent of the larger value, in the comparison that"
    yield "decides, with the 95 % interval over the seeds."
    if findings:
        yield from ("", findings)
    yield from ("", DETAILS, "")
    yield f"**{tally_in_words(claims)}.** `{document}.json` has each verdict with every other choice (`others`), and"
    yield f"`{document}{ROWS}` a row for each run."
    if rest:
        yield from ("", rest)
    yield from _set_up_lines(_set_up(outcomes))
    yield from _parts(claims)
    yield from _fragility(claims)
    yield from _faults(outcomes)
    if design:
        yield from ("", "## Effects of choices on each statement", "")
        yield from design_lines(design, chart)
    for outcome in outcomes:
        yield from _section(outcome, introduction, quick=quick, changes=changes)
    yield ""


def _parted(introduction: str) -> tuple[str, str, str]:
    """Returns the title with the first paragraph of an introduction, the findings, and the text of the details."""
    title, _, text = introduction.partition("\n\n")
    first, _, rest = text.partition("\n\n")
    findings, _, details = rest.partition(f"{DETAILS}\n")
    return f"{title}\n\n{first}".rstrip(), findings.strip(), details.strip()


def _counted(outcomes: Sequence[Outcome]) -> Iterable[overview.Row]:
    """Yields each counted claim with its place in the document, its figure and its parts."""
    places = overview.places({one.experiment: one.citation for one in outcomes})
    for outcome in outcomes:
        for claim in outcome.claims:
            if claim.counted:
                figure = outcome.figures.get(claim.id, outcome.figure)
                parts = [one for one in outcome.claims if one.id.startswith(f"{claim.id}-")]
                yield overview.Row(claim, places[outcome.experiment], figure, parts)


def _set_up(outcomes: Sequence[Outcome]) -> SetUp | None:
    """Returns the set-up of the document, if a statement holds under it."""
    return next((claim.set_up for one in outcomes for claim in one.claims if claim.set_up), None)


def _set_up_lines(found: SetUp | None) -> Iterable[str]:
    """Yields the choices of the set-up, and its origin."""
    if found is None:
        return
    yield from ("", f"## {found.name[0].upper()}{found.name[1:]}", "")
    yield f"A search found the set-up ({found.searched}). The statements are judged on other seeds ({found.confirmed})."
    yield f"Cost of the set-up: {found.cost}"
    yield from ("", "| choice | in the set-up |", "|---|---|")
    yield from (f"| {_cell(what)} | {_cell(value)} |" for what, value in found.choices.items())


def _parts(claims: Sequence[Claim]) -> Iterable[str]:
    """Yields the parts of statements and the statements of our own, which are not counted."""
    rest = [claim for claim in claims if not claim.counted]
    if not rest:
        return
    yield from ("", "## Parts of statements, and our own", "")
    yield "These rows are not counted. The ratio is measured over published: the median of several numbers, and the"
    yield from ("nearer end of a range.", "")
    yield "| statement | text of the document | verdict | published | measured | ratio | with other choices |"
    yield "|---|---|---|---|---|---|---|"
    for claim in rest:
        size = claim.size
        published, measured = (_short(size.published), _short(size.measured)) if size else ("–", "–")
        ratio = text_of(size.ratio) if size else "–"
        cells = (claim.id, claim.statement, claim.words, published, measured, ratio, _beside(claim))
        yield f"| {' | '.join(map(_cell, cells))} |"


def _short(numbers: Mapping[str, Any]) -> str:
    """Returns the numbers of a size as text, or a reference if the text is too long for a cell."""
    text = text_of(numbers)
    return text if len(text) <= 160 else "see there"


def _beside(claim: Claim) -> str:
    """Returns the counts of verdicts with other choices."""
    kinds = [words.partition(" (")[0] for words in claim.others.values()]
    return ", ".join(f"{kind}: {kinds.count(kind)}" for kind in dict.fromkeys(kinds)) or "–"


def _fragility(claims: Sequence[Claim]) -> Iterable[str]:
    """Yields the limits of statements that hold: in single seeds, and over quantities varied one at a time."""
    shown = [claim for claim in claims if claim.holds and (claim.stops or len(claim.decision.alone) > 1)]
    if not shown:
        return
    yield from ("", "## Limits of statements", "")
    yield "For each statement that holds: the number of single seeds with which the statement holds, and the nearest"
    yield (
        "setting with which the statement does not hold. A sentence marks statements that are run with one "
        "setting only."
    )
    yield from ("", "| statement | seeds alone | stops at |", "|---|---|---|")
    for claim in shown:
        alone = claim.decision.alone
        seeds = f"{sum(alone)} of {len(alone)}" if alone else "–"
        told = claim.stops.get(NOTHING_VARIED)
        stops = told or "; ".join(f"**{what}**: {where}" for what, where in claim.stops.items()) or "–"
        yield f"| {claim.id} | {seeds} | {_cell(stops)} |"


def _faults(outcomes: Sequence[Outcome]) -> Iterable[str]:
    """Yields the counted predicates, the fault that was planted for each, and the verdict under the fault."""
    claims = {claim.id: claim for outcome in outcomes for claim in outcome.claims}
    found = [one for outcome in outcomes for one in outcome.faults]
    if not found:
        return
    yield from ("", "## Planted faults", "")
    yield "Every counted predicate can fail: a fault is planted, and the same predicate judges again. Mostly runs of"
    yield from ("the page stand in for other runs.", "")
    yield from ("| predicate | verdict | fault | verdict under the fault |", "|---|---|---|---|")
    for one in found:
        cells = (one.id, claims[one.id].words, one.fault, one.verdict)
        yield f"| {' | '.join(map(_cell, cells))} |"


def _placed(introduction: str, outcomes: Sequence[Outcome]) -> str:
    """Returns the introduction with tables in the place of lines such as ``{sfc/buffer: title}``."""
    for outcome in outcomes:
        for title, table in outcome.tables.items():
            introduction = introduction.replace(_place(outcome, title), "\n".join(_table(table)))
    return introduction


def _place(outcome: Outcome, title: str) -> str:
    return f"{{{outcome.experiment}: {title}}}"


def _table(table: Table) -> Iterable[str]:
    """Yields a table of an experiment in Markdown."""
    heads, *cells = table
    yield f"| {' | '.join(map(_cell, heads))} |"
    yield "|---" * len(heads) + "|"
    yield from (f"| {' | '.join(map(_cell, one))} |" for one in cells)


def _section(outcome: Outcome, introduction: str, *, quick: bool, changes: Changes) -> Iterable[str]:
    title, _, text = outcome.text.strip().partition("\n")
    yield from ("", f"## {title.rstrip('.')}", "", text.strip(), "")
    asked = _command([outcome.experiment], quick=quick, changes=changes)
    yield from (f"`{asked}` runs the experiment.", "", f"![{title}]({outcome.figure})")
    for title, table in outcome.tables.items():
        if _place(outcome, title) not in introduction:
            yield from ("", f"**{title}**", "", *_table(table))
    for title, text in outcome.folded.items():
        yield from ("", f"<details><summary>{html.escape(title)}</summary>", f"<pre><code>{html.escape(text)}")
        yield "</code></pre></details>"
    if outcome.parameters:
        yield from ("", "| parameter | value | from | also judged with |", "|---|---|---|---|")
        yield from (f"| {' | '.join(map(_cell, cells))} |" for cells in rows(outcome.parameters))
    for claim in outcome.claims:
        yield from _claim_lines(claim)


def _claim_lines(claim: Claim) -> Iterable[str]:
    """Yields a claim with all measured values, and the counts of its verdicts with other choices."""
    yield from ("", f'<a id="{overview.anchor(claim.id)}"></a>', "", f"### {claim.id}: {claim.statement}", "")
    yield f"**{claim.words}**{f' ({claim.reason})' if claim.reason else ''}"
    yield ""
    for key, value in claim.measured.items():
        known = claim.published.get(key)
        yield f"- {key}: {text_of(value)}{'' if known is None else f' – **published: {text_of(known)}**'}"
    for key, value in claim.published.items():
        if key not in claim.measured:
            yield f"- published, {key}: {text_of(value)}"
    if claim.others:
        yield f"- with other choices: {_beside(claim)}"


def _command(ids: Sequence[str], *, quick: bool, changes: Changes) -> str:
    words = [
        "xoff reproduce",
        *ids,
        *(["--quick"] if quick else []),
        *(f"--set {path}={value}" for path, value in changes),
    ]
    return " ".join(words)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _rounded(value: Any) -> Any:
    """Returns numbers with six digits, so that a page is equal on every machine and readable in a diff."""
    if isinstance(value, Spread):
        value = asdict(value)
    if isinstance(value, Range):
        return list(value)
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(part) for part in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value
