"""What a page consists of, whether it is about a result or about a study."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup
from matplotlib.figure import Figure

from xoff import wording

_MOST_ROWS = 1000


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table: its text, and what it is sorted by."""

    text: str
    key: float | str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table that sorts."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    open: bool = True
    """Whether it is unfolded at first."""

    @property
    def numeric(self) -> list[bool]:
        """Which columns are of numbers."""
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
    """A figure in the page, and what is to be said of it."""

    title: str
    svg: str
    notes: Sequence[str]


@dataclass(frozen=True, slots=True)
class Part:
    """A job: its numbers, tables of its time, notes on these, and figures."""

    title: str
    facts: Sequence[tuple[str, str]]
    tables: Sequence[Table]
    notes: Sequence[str]
    pictures: Sequence[Picture]


@dataclass(frozen=True, slots=True)
class Replay:
    """What there is to replay."""

    data: dict[str, Any] | None
    """For the script; none if the run did not record what it takes."""
    notes: list[str]
    """What is left out, and why; how to have it."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a bar: what it is, and where it lies, in percent of the longest bar."""

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
    """What, where and picoseconds."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The pauses that begin at one place."""

    title: str
    lines: list[str]
    root: int | None
    """The output there, by its row in the table of links."""
    ports: list[int]
    """The ports that were paused."""


@dataclass(frozen=True, slots=True)
class Delays:
    """Why flows were slow, and where pauses begin."""

    groups: list[tuple[str, str]]
    """What the colours of bars mean."""
    bars: list[Bar]
    trees: list[Spread]
    notes: list[str]
    """What is left out; how to have it."""


@dataclass(frozen=True, slots=True)
class Audit:
    """An audit, what it is about, and what it found."""

    name: str
    meaning: str
    state: str
    passed: bool


@dataclass(frozen=True, slots=True)
class Again:
    """How to do it again."""

    command: str
    file: str
    text: str
    note: str


@dataclass(slots=True)
class Page:
    """All that a page shows."""

    title: str
    subtitle: str
    facts: list[tuple[str, str]]
    story: list[tuple[str, list[str]]]
    again: Again
    audits: list[Audit] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    """What looks wrong with the scenario."""
    networks: list[Network] = field(default_factory=list)
    replay: Replay | None = None
    delays: Delays | None = None
    charts: list[dict[str, Any]] = field(default_factory=list)
    """Groups of charts: ``id``, ``title``, and ``charts``, of which one is shown at a time."""
    jobs: list[Part] = field(default_factory=list)
    measured: list[Picture] = field(default_factory=list)
    """What a study asks for, where there is no parameter to draw it along."""
    effects: list[Picture] = field(default_factory=list)
    """What decides each metric of a study with a design."""
    timeline: list[dict[str, Any]] = field(default_factory=list)
    times: list[str] = field(default_factory=list)
    causes: list[tuple[str, str]] = field(default_factory=list)
    """Causes of pauses and their colours."""
    tables: list[Table] = field(default_factory=list)
    figures: dict[str, Callable[[], Figure]] = field(default_factory=dict)
    use_colours: list[str] = field(default_factory=list)
    paused_colours: list[str] = field(default_factory=list)


MEANINGS = {
    "completion": "every flow was delivered when nothing was left to do",
    "conservation": "bytes in = delivered + dropped + queued + on links",
    "deadlock": "no ports wait for one another in a circle",
    "delays": "parts of a completion time add up to it, where they are asked for",
    "loss": "nothing is dropped in a class that is to lose nothing",
    "order": "no packet overtakes another of its flow",
    "pauses": "every pause was taken back",
    "slowdown": "no flow takes less than its ideal, unless a link has a fault",
}
"""What each audit looks at; of one that is not here only the name is shown."""


def table(
    title: str, heads: dict[str, str], rows: Iterable[dict[str, Any]], *, note: str = "", open: bool = False
) -> Table:
    """A table of rows by column; `heads` has the columns to show, with their titles. A long one is cut, and says so."""
    listed = list(rows)
    if len(listed) > _MOST_ROWS:
        cut = f"The first {_MOST_ROWS:,} of {len(listed):,} rows; all of them are in the data set."
        note = f"{note} {cut}".strip()
    made = [[cell(column, row.get(column)) for column in heads] for row in listed[:_MOST_ROWS]]
    return Table(title, list(heads.values()), made, note, open)


def cell(column: str, value: Any) -> Cell:
    """A value as people read it, by the unit at the end of its column."""
    if isinstance(value, Cell):
        return value
    if value is None:
        return Cell("–")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Cell(str(value), str(value))
    if column.endswith("_ps"):
        return Cell(wording.time(value), value)
    if column.endswith("bytes"):
        return Cell(wording.size(value), value)
    if column.endswith("_bps"):
        return Cell(wording.rate(int(value)), value)
    if column in {"utilisation", "paused"}:
        return Cell(f"{value:.1%}", value)
    return Cell(wording.number(value, 4) if isinstance(value, float) else f"{value:,}", value)


def document_text(document: Any) -> str:
    """A document as text, to be kept in a file and run again."""
    return json.dumps(document, indent=2, ensure_ascii=False, default=lambda value: type(value).__name__)
