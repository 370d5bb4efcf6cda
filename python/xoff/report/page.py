"""The parts of a page about a result or a study."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup
from matplotlib.figure import Figure

from xoff import formatting
from xoff.report.switch_memory import Drawing

_MOST_ROWS = 1000


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table: text and sort key."""

    text: str
    key: float | str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A sortable table."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    open: bool = True
    """Whether the table is initially unfolded."""

    @property
    def numeric(self) -> list[bool]:
        """Whether each column has numeric keys."""
        keys = [[row[index].key for row in self.rows if row[index].key is not None] for index in range(len(self.heads))]
        return [bool(found) and all(isinstance(key, int | float) for key in found) for found in keys]


@dataclass(frozen=True, slots=True)
class Network:
    """A drawing of the network."""

    title: str
    svg: Markup
    note: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure in the page, with notes."""

    title: str
    svg: str
    notes: Sequence[str]
    spans: Mapping[str, Any] | None = None
    """In the place of a drawing: spans of time in rows, which the script of the page draws."""


@dataclass(frozen=True, slots=True)
class Part:
    """A job or a serving workload: numbers, tables of times, notes, and figures."""

    title: str
    facts: Sequence[tuple[str, str]]
    tables: Sequence[Table]
    notes: Sequence[str]
    pictures: Sequence[Picture]
    source: str = "operations and jobs"
    """The tables with the numbers of the figures."""


@dataclass(frozen=True, slots=True)
class Replay:
    """The replay of a run."""

    data: dict[str, Any] | None
    """The data for the script; None if the run did not record it."""
    notes: list[str]
    """The omitted data, and the way to record them."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a bar: group, text, and position in percent of the longest bar."""

    group: str
    colour: str
    text: str
    left: float
    width: float


@dataclass(frozen=True, slots=True)
class Bar:
    """The completion time of a flow."""

    flow: int
    title: str
    total: str
    pieces: list[Piece]
    rows: list[tuple[str, str, int]]
    """Description, place and picoseconds."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The pauses of one root."""

    title: str
    lines: list[str]
    root: int | None
    """The root output, by its row in the table of links."""
    ports: list[int]
    """The paused ports."""


@dataclass(frozen=True, slots=True)
class Delays:
    """The delays of flows, and the roots of pauses."""

    groups: list[tuple[str, str]]
    """Names and colours of the groups in bars."""
    bars: list[Bar]
    trees: list[Spread]
    notes: list[str]
    """The omitted data, and the way to record them."""
    title: str


@dataclass(frozen=True, slots=True)
class Audit:
    """An audit with subject and finding."""

    name: str
    meaning: str
    state: str
    passed: bool


@dataclass(frozen=True, slots=True)
class Again:
    """The command to repeat the run, and the file."""

    command: str
    file: str
    text: str
    note: str


@dataclass(slots=True)
class Page:
    """The whole content of a page."""

    title: str
    subtitle: str
    facts: list[tuple[str, str]]
    story: list[tuple[str, list[str]]]
    again: Again
    audits: list[Audit] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    notes_title: str = "Warnings"
    warnings: list[str] = field(default_factory=list)
    """Warnings about the scenario; of a run first what happened."""
    networks: list[Network] = field(default_factory=list)
    memory: list[Drawing] = field(default_factory=list)
    """The memory of switches with a shared buffer."""
    replay: Replay | None = None
    delays: Delays | None = None
    charts: list[dict[str, Any]] = field(default_factory=list)
    """Groups of charts: ``id``, ``title``, and ``charts``, of which one is shown at a time."""
    jobs: list[Part] = field(default_factory=list)
    serving: list[Part] = field(default_factory=list)
    measured: list[Picture] = field(default_factory=list)
    """The metrics of a study without a numeric parameter."""
    effects: list[Picture] = field(default_factory=list)
    """The effects on each metric of a study with a design."""
    timeline: list[dict[str, Any]] = field(default_factory=list)
    times: list[tuple[str, float]] = field(default_factory=list)
    """Ticks of the time axis: label, and place in percent."""
    causes: list[tuple[str, str]] = field(default_factory=list)
    """Causes of pauses and their colours."""
    tables: list[Table] = field(default_factory=list)
    figures: dict[str, Callable[[], Figure]] = field(default_factory=dict)
    use_colours: list[str] = field(default_factory=list)
    paused_colours: list[str] = field(default_factory=list)


MEANINGS = {
    "completion": "every flow was delivered when no event was left",
    "conservation": "bytes in = delivered + dropped + queued + on links",
    "deadlock": "no cycle of ports in which each port waits for the next",
    "delays": "recorded parts of a completion time add up to the completion time",
    "loss": "no packet of a lossless class is dropped",
    "order": "no packet overtakes another packet of the same flow",
    "pauses": "every pause ended",
    "serving": "requests end, reserved memory is freed, and the parts of each time add up",
    "slowdown": "no flow takes less than its ideal, unless a link has a fault",
}
"""The subject of each audit; any other audit is shown by name only."""


def table(
    title: str, heads: dict[str, str], rows: Iterable[dict[str, Any]], *, note: str = "", open: bool = False
) -> Table:
    """Returns a table of rows by column. A long table is cut, and a note states it.

    heads: the columns to show, with their titles.
    """
    listed = list(rows)
    if len(listed) > _MOST_ROWS:
        cut = f"The first {_MOST_ROWS:,} of {len(listed):,} rows; the data set has all."
        note = f"{note} {cut}".strip()
    made = [[cell(column, row.get(column)) for column in heads] for row in listed[:_MOST_ROWS]]
    return Table(title, list(heads.values()), made, note, open)


def cell(column: str, value: Any) -> Cell:
    """Returns a value as a cell, in the unit of its column's suffix."""
    if isinstance(value, Cell):
        return value
    if value is None:
        return Cell("–")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Cell(str(value), str(value))
    if column.endswith("_ps"):
        return Cell(formatting.time(value), value)
    if column.endswith("bytes"):
        return Cell(formatting.size(value), value)
    if column.endswith("_bps"):
        return Cell(formatting.rate(int(value)), value)
    if column in {"utilisation", "paused"}:
        return Cell(f"{value:.1%}", value)
    return Cell(formatting.number(value, 4) if isinstance(value, float) else f"{value:,}", value)


def document_text(document: Any) -> str:
    """Returns a document as text, for a file that can be run again."""
    return json.dumps(document, indent=2, ensure_ascii=False, default=lambda value: type(value).__name__)
