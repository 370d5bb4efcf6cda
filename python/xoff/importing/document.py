"""An imported scenario: settings with comments, and tables; and the output of both into a directory."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from xoff import formatting, running
from xoff._core import InputError
from xoff.importing.directory import write_new
from xoff.importing.notes import HEADINGS, Notes

Value: TypeAlias = "str | int | float | bool | Sequence[Value] | Mapping[str, Value]"

SCENARIO = "scenario.toml"
# Listed operations of a job.
MAX_OPERATIONS = 2**23
# Operations of all ranks together, of a job whose ranks share a program.
MAX_SHARED = 2**31
# Hosts of a star.
MAX_STAR = 16_000
_WIDTH = 118
# The line of the written scenario, which a refused import removes.
_LINE = re.compile(r" \(line \d+\)$")
# The core's message on a row of a table. The name of an operation is one that the importer generated.
_ROW = re.compile(
    r"workload\[(\d+)\]\.(?:table|graph\.operations_table)\[(\d+)\]\.(\w+): "
    r"(?:`\w+` \(\w+\) of (?:every rank|rank \d+), line \d+ of the file: )?(.*)",
    re.S,
)


@dataclass(slots=True)
class Table:
    """A table of the scenario: path, settings, and the comment above the table."""

    path: str
    values: dict[str, Value] = field(default_factory=dict)
    comment: str = ""
    is_listed: bool = False
    """Whether the table is an element of a list (``[[workload]]``)."""

    def text(self) -> str:
        """Returns the table as TOML."""
        header = f"[[{self.path}]]\n" if self.is_listed else f"[{self.path}]\n" if self.path else ""
        values = "".join(f"{key} = {_toml(value)}\n" for key, value in self.values.items())
        return commented(self.comment) + header + values


@dataclass(slots=True)
class Flow:
    """A flow of an input file: hosts by name or number, size in bytes, start in picoseconds."""

    src: str | int
    dst: str | int
    size: int
    start: int
    id: str | int
    after: Sequence[str] = ()
    is_endless: bool = False
    """Whether the flow has no end in the input: the size is a number that no run reaches."""


@dataclass(slots=True)
class Workload:
    """Flows that share a name and a class."""

    name: str
    flows: list[Flow]
    priority: int = 0
    """The class of the flows."""
    comment: str = ""
    is_added: bool = False
    """True if the input lacks the flows: messages in the place of triggers."""


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of a rank of a job; `xoff.scenario.Row` describes each value."""

    rank: int | None
    """None for an operation of every rank."""
    kind: str
    name: str
    after: Sequence[str] = ()
    stream: str = ""
    unit: str = ""
    duration: int | None = None
    """In picoseconds."""
    peer: int | None = None
    tag: int | None = 0
    """Before messages are matched (`matching.py`), a receive from any rank has no peer, and of any tag no tag."""
    size: int | None = None
    group: str = ""
    label: str = ""
    flop: int | None = None
    memory: int | None = None
    """In bytes."""
    where: int = 0
    """The place in the input: a line, or the number of a node."""

    def row(self, *, is_computed: bool) -> str:
        """Returns the operation as a row of a table; none of its values can contain a separator.

        is_computed: whether the table has columns for operations whose duration a processor decides.
        """
        duration = "" if self.duration is None else f"{self.duration}ps"
        size = "" if self.size is None else f"{self.size}B"
        peer = "" if self.peer is None else self.peer
        after = ";".join(self.after)
        rank = () if self.rank is None else (self.rank,)
        cells = (*rank, self.kind, self.name, after, self.stream, self.unit, duration, peer, self.tag or "", size)
        more: tuple[str | int, ...] = ()
        if is_computed:
            more = "" if self.flop is None else self.flop, "" if self.memory is None else f"{self.memory}B"
        return ",".join(map(str, (*cells, self.group, self.label, *more))) + "\n"


@dataclass(slots=True)
class Job:
    """A graph of operations. Names are generated, since names in a file may hold any character."""

    name: str
    operations: list[Operation] = field(default_factory=list)
    groups: dict[str, list[int]] = field(default_factory=dict)
    families: dict[str, dict[str, Value]] = field(default_factory=dict)
    """Stride and count of each family of groups, for operations of every rank."""
    settings: dict[str, Value] = field(default_factory=dict)
    processor: dict[str, Value] = field(default_factory=dict)
    """The speed of the ranks' processor, for operations without a duration."""

    def tables(self) -> dict[str, Iterable[str]]:
        """Returns the tables of the job by file name."""
        is_computed = bool(self.processor)
        rank = "rank," if self.operations and self.operations[0].rank is not None else ""
        head = f"{rank}kind,name,after,stream,unit,duration,peer,tag,size,group,label"
        rows = (one.row(is_computed=is_computed) for one in self.operations)
        tables: dict[str, Iterable[str]] = {
            "operations.csv": (f"{head},flop,memory\n" if is_computed else f"{head}\n", *rows)
        }
        if self.groups:
            members = (f"{name},{rank}\n" for name, ranks in self.groups.items() for rank in ranks)
            tables["groups.csv"] = ("group,rank\n", *members)
        return tables

    def documents(self) -> list[Table]:
        """Returns the workload of the job."""
        values: dict[str, Value] = {"operations_table": "operations.csv", **self.settings}
        if self.groups:
            values["groups_table"] = "groups.csv"
        found = [Table("workload", {"name": self.name}, is_listed=True), Table("workload.graph", values)]
        more = {"families": dict[str, Value](self.families), "processor": self.processor}
        return [*found, *(Table(f"workload.graph.{key}", values) for key, values in more.items() if values)]


@dataclass(slots=True)
class Imported:
    """The scenario made from another simulator's files."""

    about: str
    """The names of the source files, in one line."""
    name: str
    top: dict[str, Value] = field(default_factory=dict)
    """Settings outside of tables."""
    tables: list[Table] = field(default_factory=list)
    nodes: list[tuple[str, str, int | None]] = field(default_factory=list)
    """Name, kind, and own delay in picoseconds; empty if the network is a shape."""
    links: list[tuple[str, str, int, int]] = field(default_factory=list)
    """Two names, bits per second, picoseconds."""
    workloads: list[Workload] = field(default_factory=list)
    job: Job | None = None
    """A graph of operations."""
    notes: Notes = field(default_factory=Notes)
    file: Path | None = None
    """The first of the files."""
    place: Callable[[int, int], str] | None = None
    """Returns the place in the files of a row of a table: ``job.goal: line 5``. The arguments are the number of the
    workload, among those with flows, and the number of the row."""
    origins: dict[str, str] = field(default_factory=dict)
    """The places in the files of settings outside of tables, by key: ``config.txt: line 3: U_TARGET``."""
    _of_job: dict[str, int] = field(default_factory=dict)

    @property
    def flows(self) -> int:
        """The number of flows of the input; of a written job, the number of its connections."""
        return self._of_job.get("flows", 0) + sum(len(one.flows) for one in self.workloads if not one.is_added)

    @property
    def endless(self) -> int:
        """The number of flows without an end in the input."""
        return sum(flow.is_endless for one in self.workloads for flow in one.flows)

    @property
    def bytes(self) -> int:
        """The payload of the input's flows with an end, in bytes; of a written job, of all its messages."""
        return self._of_job.get("bytes", 0) + sum(
            flow.size for one in self.workloads if not one.is_added for flow in one.flows if not flow.is_endless
        )

    def write(self, out: Path) -> list[Path]:
        """Writes the scenario and its tables into a new directory, which appears when complete; returns the files.

        Raises `InputError` if the directory is not empty, or if the scenario is not valid, with the place in the input.
        """
        return write_new(out, self._write)

    def _check(self, scenario: Path) -> None:
        """Raises `InputError` if `xoff check` would refuse the scenario."""
        try:
            found = running.check(scenario)["workload"]
        except InputError as error:
            raise InputError(self._refusal(str(error))) from None
        if self.job is not None:
            self._of_job = {"flows": found["flows"], "bytes": found["bytes"]}

    def _refusal(self, text: str) -> str:
        """Returns a message on the input for a message on the scenario."""
        text = _LINE.sub("", text)
        key, _, why = text.partition(": ")
        if key in self.origins:
            return f"{self.origins[key]}: {why}"
        if self.place is not None and (found := _ROW.fullmatch(text)) is not None:
            which, row, key, why = found.groups()
            # Names of groups are generated.
            why = re.sub(r"the group `\w+`", "its group", why)
            return f"{self.place(int(which), int(row))}: {key}: {why}"
        return text if self.file is None else f"{self.file}: {text}"

    def _write(self, place: Path) -> list[str]:
        tables: dict[str, Iterable[str]] = {}
        if self.nodes:
            tables["nodes.csv"] = self._node_rows()
            tables["links.csv"] = (
                "a,b,rate,delay\n",
                *(f"{a},{b},{rate}bps,{delay}ps\n" for a, b, rate, delay in self.links),
            )
        documents = []
        given = [one for one in self.workloads if one.flows]
        for index, one in enumerate(given):
            file = "flows.csv" if len(given) == 1 else f"flows-{index}.csv"
            tables[file] = _flow_rows(one.flows)
            more: dict[str, Value] = {"class": one.priority} if one.priority else {}
            values: dict[str, Value] = {"name": one.name, **more, "table": file}
            documents.append(Table("workload", values, one.comment, is_listed=True))
        if self.job is not None:
            tables |= self.job.tables()
            documents += self.job.documents()
        (place / SCENARIO).write_text(self._text(documents), "utf-8")
        for name, rows in tables.items():
            with (place / name).open("w", encoding="utf-8") as file_:
                file_.writelines(rows)
        self._check(place / SCENARIO)
        return [SCENARIO, *tables]

    def _node_rows(self) -> Iterable[str]:
        has_delay = any(delay is not None for _, _, delay in self.nodes)
        yield "name,kind,delay\n" if has_delay else "name,kind\n"
        for name, kind, delay in self.nodes:
            yield f"{name},{kind}" + (("," if delay is None else f",{delay}ps") if has_delay else "") + "\n"

    def _text(self, workloads: list[Table]) -> str:
        head = f"{self.about}\n  xoff check {SCENARIO}\n  xoff run {SCENARIO} --out result"
        tables: dict[str, Table] = {}
        lists = [one for one in self.tables if one.is_listed]
        for one in (one for one in self.tables if not one.is_listed):
            before = tables.get(one.path, Table(one.path))
            comment = "\n".join(filter(None, (before.comment, one.comment)))
            tables[one.path] = Table(one.path, before.values | one.values, comment)
        parts = [Table("", {"name": self.name, **self.top}, head), *tables.values(), *lists, *workloads]
        for heading, notes in zip(HEADINGS, self.notes.texts(), strict=True):
            if notes:
                said = "\n".join(f"- {text}" for text in notes)
                parts.append(Table("", comment=f"{heading}\n{said}"))
        return "\n".join(part.text() for part in parts)


def _flow_rows(flows: list[Flow]) -> Iterable[str]:
    has_after = any(flow.after for flow in flows)
    yield "src,dst,size,start,id,after\n" if has_after else "src,dst,size,start,id\n"
    for flow in flows:
        row = f"{flow.src},{flow.dst},{flow.size}B,{flow.start}ps,{flow.id}"
        yield f"{row},{';'.join(flow.after)}\n" if has_after else f"{row}\n"


def _toml(value: Value) -> str:
    """Returns a value as TOML; tables and lists in one line."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(one)}" for key, one in value.items()) + " }"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)


def commented(text: str) -> str:
    """Returns a text as lines of comment; a line that begins with a space or a dash is continued with an indent."""
    lines = []
    for line in filter(None, text.split("\n")):
        inner = "  " if line.startswith(("-", " ")) else ""
        lines += textwrap.wrap(formatting.plain(line), _WIDTH, subsequent_indent=inner, break_on_hyphens=False)
    return "".join(f"# {line}\n" for line in lines)


def time(value_ps: int) -> str:
    """Returns a time as a scenario writes it."""
    return formatting.quantity_text(value_ps, "ps")


def size(value: int) -> str:
    """Returns a size as a scenario writes it."""
    return formatting.quantity_text(value, "bytes")


def rate(value: int) -> str:
    """Returns a rate as a scenario writes it."""
    return formatting.quantity_text(value, "bps")


def listed(values: Iterable[Any]) -> str:
    """Returns values as a list in a sentence."""
    *most, last = [str(value) for value in values] or [""]
    return f"{', '.join(most)} and {last}" if most else last
