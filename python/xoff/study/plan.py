"""A study as given: a base scenario, parameters, seeds, and tables to keep; and the runs that follow.

A *point* is a combination of values; a *run* is a point with a seed.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypedDict, overload

import pyarrow as pa

from xoff import running
from xoff._core import InputError
from xoff.files.tables import is_table, read_table
from xoff.files.type_check import mismatch
from xoff.functions import FunctionError, Functions, Metric, NotAllowedError
from xoff.functions import workloads as functions_of_workloads
from xoff.results.reading import declared
from xoff.running.document import parse_json, parse_toml, read_text
from xoff.study import design as designs
from xoff.study import frames, metrics, python_metrics
from xoff.study.axes import MAX_COMBINATIONS, Column, Factor, Level, check_path, columns, dimensions, factors, unset
from xoff.study.design import Design
from xoff.study.identity import engine, run_key, table_digest
from xoff.study.store import input_file

KEYS = {
    "name": "shown in results",
    "description": "the subject of the study",
    "base": "the scenario file that is varied",
    "scenario": "the scenario itself, instead of `base`",
    "unset": "settings that the base has and the study leaves out",
    "axes": "paths of settings, each to a list of values or a range",
    "zip": "lists of axes that move together instead of being combined",
    "variants": "named sets of settings",
    "design": "the method that selects combinations to estimate the effect of each factor",
    "objective": "goals, limits and number of runs of `xoff tune`",
    "seeds": "the number of seeds, or a list of seeds",
    "keep": "the tables to keep of each run",
    "metrics": "the columns of the runs to show first, and Python functions that compute further columns",
}
_KEPT = ["flows", "links"]
# Names that parameters may not take in any study; further names are the columns of its kept tables.
_TAKEN = frozenset({
    "run", "seed", "status", "message", "fingerprint", "time_ps", "node", "port", "in_port", "peer", "queue",
    "class", "cause", "reason", "flow", "seq", "workload", "label", "src", "dst", "size_bytes", "start_ps",
    "end_ps", "fct_ps", "fct_acked_ps", "ideal_fct_ps", "slowdown", "packets_sent", "retransmitted",
    "notifications", "holds", "paused_ps", "via", "rate_bps", "delay_ps", "data_bytes", "control_bytes", "busy_ps",
    "data_packets", "utilisation", "max_bytes", "packets", "bytes", "marked", "dropped", "simulated_ps", "drops",
})  # fmt: skip


class _Settings(TypedDict):
    settings: list[list[Any]]
    labels: dict[str, Any]


class _Document(TypedDict):
    """The result of `Plan.to_dict`."""

    name: str
    description: str
    columns: list[dict[str, str | None]]
    keep: list[str]
    metrics: list[str]
    functions: list[list[str]]
    seeds: list[int]
    points: list[_Settings]
    runs: list[list[int | str]]
    impossible: list[list[int | str]]
    design: designs.Document | None
    document: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Point:
    """A combination of values."""

    index: int
    settings: tuple[tuple[str, Any], ...]
    """The settings of the scenario, by path."""
    labels: Mapping[str, Any]
    """The labels: a value for each path that varies, or for ``variant``."""


class Combinations(Sequence[Point]):
    """Every combination of the levels of some dimensions, the last changing first; points are made on demand."""

    def __init__(self, dimensions: Sequence[Sequence[Level]]) -> None:
        self._dimensions = tuple(dimensions)
        self._count = math.prod(map(len, self._dimensions))

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Point: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Point]: ...
    def __getitem__(self, index: int | slice) -> Point | Sequence[Point]:
        if isinstance(index, slice):
            return [self[one] for one in range(*index.indices(len(self)))]
        number = rest = range(self._count)[index]
        levels = []
        for dimension in reversed(self._dimensions):
            rest, place = divmod(rest, len(dimension))
            levels.append(dimension[place])
        return point_of(levels[::-1], number)

    def sample(self, count: int) -> list[Point]:
        """Returns `count` points, the same on each call: combinations of first and last levels, and random points."""
        corners = itertools.product(*({0, len(dimension) - 1} for dimension in self._dimensions))
        chosen = {0, self._count - 1, *(self._index(corner) for corner in itertools.islice(corners, count // 2 - 1))}
        draw = random.Random(0)  # noqa: S311 (it decides what is looked at, and nothing that is secret)
        while len(chosen) < min(count, self._count):
            chosen.add(draw.randrange(self._count))
        return [self[index] for index in sorted(chosen)]

    def _index(self, places: Sequence[int]) -> int:
        index = 0
        for dimension, place in zip(self._dimensions, places, strict=True):
            index = index * len(dimension) + place
        return index


@dataclass(frozen=True, slots=True)
class Run:
    """A point with a seed."""

    point: Point
    seed: int
    key: str


@dataclass(frozen=True, slots=True)
class Impossible:
    """A combination of point and seed whose scenario is not valid, and the reason."""

    point: Point
    seed: int
    message: str


@dataclass
class Plan:
    """All runs of a study, and the combinations that are impossible."""

    name: str
    description: str
    columns: tuple[Column, ...]
    keep: tuple[str, ...]
    metrics: tuple[str, ...]
    points: Sequence[Point]
    seeds: tuple[int, ...]
    document: Mapping[str, Any]
    """The study as given, including the base scenario."""
    design: Design | None = None
    """The design that selects the points; None if all combinations are points."""
    base: Any = None
    """The argument of `running.prepare`: a text or a document; None in a plan from `from_dict`, which cannot run."""
    directory: Path | None = None
    """The base directory of paths of table files in a document."""
    measured: tuple[Metric, ...] = ()
    """The metrics that Python functions compute."""
    folder: Path = Path()
    """The directory of the study's file, in which the modules of these functions are looked up first."""
    file: Path | None = None
    """The study's file, for messages; None for a dictionary."""
    functions: Functions = field(default_factory=Functions)
    """The permission to call Python functions."""
    frames: Mapping[str, pa.Table] = field(default_factory=dict, repr=False)
    """The data frames of axes and variants, by the text in their place."""
    runs: list[Run] = field(default_factory=list)
    impossible: list[Impossible] = field(default_factory=list)
    _tables: dict[tuple[str, Any], pa.Table] = field(default_factory=dict, repr=False)
    _digests: dict[int, str] = field(default_factory=dict, repr=False)
    _keys: dict[tuple[int, int], str | None] = field(default_factory=dict, repr=False)
    _possible: set[str] = field(default_factory=set, repr=False)

    def prepare(self, point: Point, seed: int) -> running.Prepared:
        """Returns the prepared scenario of a run. Raises `InputError` if the combination is impossible."""
        try:
            prepared = running.prepare(
                self.base,
                overrides=[*((path, None) for path in self.document.get("unset", ())), *point.settings],
                seed=seed,
                directory=self.directory,
                read=self._read,
                functions=self.functions,
                tables=frames.of_settings(point.settings, self.frames),
            )
        except NotAllowedError:
            raise
        except FunctionError as error:
            raise FunctionError(f"{error}; at {self.coordinates(point, seed)}") from None
        stored = {key: input_file(self._digest(table)) for key, table in prepared.tables.items()}
        return replace(prepared, stored=stored) if stored else prepared

    def prepare_again(self, point: Point, seed: int, key: str) -> running.Prepared:
        """Returns the prepared scenario of a run with a known key. Raises `InputError` for rows other than planned."""
        prepared = self.prepare(point, seed)
        if functions_of_workloads.has_function(prepared.document) and run_key(prepared, self._digest) != key:
            functions_of_workloads.refuse_other_rows(prepared.document)
        return prepared

    def key(self, point: Point, seed: int) -> str | None:
        """Returns the key of a run, even if its seed is not in the plan; None if the run is impossible."""
        if (point.index, seed) not in self._keys:
            try:
                found: str | None = run_key(self.prepare(point, seed), self._digest)
            except FunctionError:
                raise
            except InputError:
                found = None
            self._keys[point.index, seed] = found
        return self._keys[point.index, seed]

    def coordinates(self, point: Point, seed: int | None = None) -> str:
        """Returns a point in words: ``pause 10us, threshold 200KB, seed 3``."""
        named = [(column, point.labels.get(column.path)) for column in self.columns]
        # Values as given in the study, except tables and lists.
        parts = [
            f"{column.key} {label if isinstance(label, str | int | float) else column.text(column.value(label))}"
            for column, label in named
            if label is not None
        ]
        return ", ".join([*parts, *([] if seed is None else [f"seed {seed}"])]) or "the base scenario"

    def values(self, point: Point) -> dict[str, Any]:
        """Returns a value for each column."""
        return {column.name: column.value(point.labels.get(column.path)) for column in self.columns}

    def to_dict(self) -> dict[str, Any]:
        """Returns the plan as JSON can hold it; `from_dict` reads it back."""
        return {
            "name": self.name,
            "description": self.description,
            "engine": engine(),
            "columns": [asdict(column) | {"type": str(column.type)} for column in self.columns],
            "keep": self.keep,
            "metrics": self.metrics,
            "functions": [[one.name, one.function, one.digest] for one in self.measured],
            "seeds": self.seeds,
            "points": [{"settings": point.settings, "labels": point.labels} for point in self.points],
            "runs": [[run.point.index, run.seed, run.key] for run in self.runs],
            "impossible": [[one.point.index, one.seed, one.message] for one in self.impossible],
            "design": None if self.design is None else self.design.to_dict(),
            "document": self.document,
        }

    @staticmethod
    def from_dict(found: Mapping[str, Any]) -> Plan:
        """Returns the plan of a `to_dict` result, which lists the runs and cannot do them.

        Raises `ValueError` for anything but a plan: the file may be foreign, and keys name directories.
        """
        if wrong := mismatch(found, _Document):
            raise ValueError(wrong)
        if keys := [key for _, _, key in found["runs"] if not re.fullmatch("[0-9a-f]{24}", str(key))]:
            raise ValueError(f"runs: {keys[0]!r} is not the key of a run")
        if unknown := set(found["keep"]) - declared().keys():
            raise ValueError(f"keep: unknown table {min(unknown)!r}")
        points = tuple(
            Point(index, tuple((path, value) for path, value in one["settings"]), one["labels"])
            for index, one in enumerate(found["points"])
        )
        told = {(index, seed) for index, seed, _ in (*found["runs"], *found["impossible"])}
        if told != set(itertools.product(range(len(points)), found["seeds"])):
            raise ValueError("runs: a point and seed is missing")
        plan = Plan(
            name=found["name"],
            description=found["description"],
            columns=tuple(
                Column(one["name"], one["path"], one["unit"], pa.type_for_alias(one["type"]))
                for one in found["columns"]
            ),
            keep=tuple(found["keep"]),
            metrics=tuple(found["metrics"]),
            measured=python_metrics.from_rows(found.get("functions", [])),
            points=points,
            seeds=tuple(found["seeds"]),
            document=found["document"],
            design=None if found.get("design") is None else Design.from_dict(found["design"], len(points)),
            runs=[Run(points[index], seed, key) for index, seed, key in found["runs"]],
            impossible=[Impossible(points[index], seed, message) for index, seed, message in found["impossible"]],
        )
        for column in plan.columns:
            try:
                pa.array([column.value(point.labels.get(column.path)) for point in points], column.type)
            except (pa.ArrowException, ArithmeticError, ValueError, TypeError):
                raise ValueError(f"points: some have no value of the column {column.name!r}") from None
        return plan

    def digest(self) -> str:
        """Returns a hash of the plan: the tables over the study depend on the plan and the runs' results."""
        text = json.dumps(self.to_dict(), default=lambda value: type(value).__name__)
        return hashlib.sha256(text.encode()).hexdigest()

    def add(self, settings: Sequence[Level]) -> Point:
        """Adds the point of these levels and the runs; returns the point, or an existing point with these settings."""
        point = point_of(settings, len(self.points))
        known = next((one for one in self.points if one.settings == point.settings), None)
        if known is not None:
            return known
        self.points = (*self.points, point)
        self.find_runs([point], self.seeds, None)
        return point

    def find_runs(
        self, points: Sequence[Point], seeds: Sequence[int], progress: Callable[[int, int], None] | None
    ) -> None:
        """Finds the keys of the runs of these points and seeds, and the impossible combinations."""
        total = len(points) * len(seeds)
        for number, (point, seed) in enumerate((point, seed) for point in points for seed in seeds):
            if progress is not None and number % 256 == 0:
                progress(number, total)
            try:
                prepared = self.prepare(point, seed)
            except FunctionError:
                raise
            except InputError as error:
                self.impossible.append(Impossible(point, seed, str(error)))
                continue
            lacking = next((name for name in self.keep if not prepared.records(name)), None)
            if lacking is not None:
                key, value = next(iter(running.PROBES[lacking].items()))
                raise InputError(
                    f"keep: the runs do not record `{lacking}`; set `probe.{key} = {value}` in the scenario"
                )
            if not self._possible or not self._possible.issuperset(self._of_summaries()):
                self._possible |= metrics.possible(prepared.document)
            self.runs.append(Run(point, seed, run_key(prepared, self._digest)))

    def check_metrics(self) -> None:
        """Raises `InputError` for a metric that no run can have, if any run is possible."""
        wrong = next((name for name in self._of_summaries() if name not in self._possible), None)
        if self.runs and wrong is not None:
            raise InputError(f"metrics: {metrics.unknown(wrong, sorted(self._possible))}")
        if taken := next((one.name for one in self.measured if one.name in self._possible), None):
            raise InputError(f"metrics.{taken}: runs have this metric without a function; choose another name")

    def _of_summaries(self) -> list[str]:
        """Returns the metrics that no function computes."""
        measured = {one.name for one in self.measured}
        return [name for name in self.metrics if name not in measured]

    def inputs(self) -> dict[str, pa.Table]:
        """Returns the tables that the examined combinations read, by the path from the directory of a run."""
        return {input_file(self._digest(table)): table for table in self._tables.values()}

    def _digest(self, table: pa.Table) -> str:
        # Only shared tables stay: the rows of a function may get the address of rows that are gone.
        if id(table) not in self._digests:
            return table_digest(table)
        return self._digests[id(table)]

    def _read(self, key: str, source: Any) -> pa.Table:
        # All runs share a table; the key is part of the lookup because messages name it.
        known = (key, str(source) if isinstance(source, str | Path) else id(source))
        if known not in self._tables:
            table = self._tables[known] = read_table(key, source)
            self._digests[id(table)] = table_digest(table)
        return self._tables[known]


def begin(source: str | Path | Mapping[str, Any], keep: Sequence[str] = (), functions: Functions | None = None) -> Plan:
    """Returns the plan of a study, from its file or as a dictionary, without examining its combinations.

    keep: tables of each run that are kept in addition to those of the study's ``keep``.
    functions: the permission to call Python functions; none if None.

    Raises `InputError` with the key.
    """
    document, directory, name, found = _opened(source)
    if keep:
        document = {**document, "keep": [*_texts(document.get("keep", _KEPT), "keep"), *keep]}
    if "objective" in document:
        named = f"xoff tune {source}" if isinstance(source, str | Path) else "xoff tune"
        why = f"`{named}` runs the search; `xoff sweep` needs a study without [objective]"
        raise InputError(f"objective: {why}")
    plan = _begun(document, directory, name, functions, lambda seeds, taken: _layout(document, seeds, taken))
    return replace(plan, frames=found, file=_file(source))


def read_factors(
    source: str | Path | Mapping[str, Any], functions: Functions | None = None
) -> tuple[Plan, tuple[Factor, ...]]:
    """Returns a plan without points, and the factors of a study whose points are chosen later.

    Raises `InputError` with the key.
    """
    document, directory, name, found = _opened(source)
    varied = factors(document)
    # A range between two whole numbers may hold fractions: inner places decide on the type of the column.
    shown = [factor.levels or tuple(factor.at(share) for share in (0, 0.31, 0.618, 0.77, 1)) for factor in varied]
    plan = _begun(document, directory, name, functions, lambda _, taken: (columns(shown, taken), (), None))
    return replace(plan, frames=found, file=_file(source)), varied


def _opened(source: str | Path | Mapping[str, Any]) -> tuple[Mapping[str, Any], Path, str, dict[str, pa.Table]]:
    """Returns the document of a study, the directory of the files, the default name, and the data frames by text."""
    if isinstance(source, str | Path):
        path = Path(source)
        document: Mapping[str, Any] = _parsed(path)
        directory, name = path.parent, path.stem
    elif isinstance(source, Mapping):
        directory, name = Path(), "study"
        try:
            document = _copied(source)
        except RecursionError:
            raise InputError("study: nested too deeply") from None
    else:
        raise InputError(f"study: a path or a dictionary is needed, not {type(source).__name__}")
    for key in document:
        if key not in KEYS:
            allowed = ", ".join(f"`{one}`" for one in KEYS)
            raise InputError(f"{key}: unknown key of a study; allowed are {allowed}")
    document, found = frames.taken(document)
    return document, directory, name, found


def _file(source: str | Path | Mapping[str, Any]) -> Path | None:
    return Path(source) if isinstance(source, str | Path) else None


def _begun(
    document: Mapping[str, Any],
    directory: Path,
    name: str,
    functions: Functions | None,
    layout: Callable[[int, frozenset[str]], tuple[tuple[Column, ...], Sequence[Point], Design | None]],
) -> Plan:
    """Returns the plan of a study without its runs; `layout` gets the number of seeds and the taken column names."""
    base, base_directory = _base(document, directory)
    for path in unset(document, "unset"):
        check_path(path, "unset")
    seeds = _seeds(document.get("seeds"), base, base_directory)
    keep = _keep(document.get("keep", _KEPT))
    functions = functions or Functions()
    taken = _TAKEN.union(*(declared()[name] for name in keep))
    shown, measured = python_metrics.read(document.get("metrics", []), taken)
    varied, points, design = layout(len(seeds), taken.union(one.name for one in measured))
    return Plan(
        name=_text(document, "name", name),
        description=_text(document, "description", ""),
        columns=varied,
        keep=keep,
        metrics=shown,
        measured=python_metrics.with_digests(measured, functions, directory),
        folder=directory,
        functions=functions,
        points=points,
        seeds=seeds,
        document={
            **{key: value for key, value in document.items() if key != "base"},
            "scenario": _whole(base, base_directory),
        },
        design=design,
        base=base,
        directory=base_directory,
    )


def _copied(value: Any) -> Any:
    """Returns a copy of a document, which later changes of the original do not reach. Tables are not copied."""
    if isinstance(value, running.SupportsToDict) and not is_table(value):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {key: _copied(inner) for key, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, list) else value


def is_study(path: Path) -> bool:
    """Whether a file is a study, which names or contains a base."""
    try:
        found = _parsed_text(path, read_text(path))
    except InputError:
        return False
    return "network" not in found and bool({"base", "scenario", "axes", "variants", "objective"} & found.keys())


def is_search(path: Path) -> bool:
    """Whether the file of a study has an objective."""
    return "objective" in _parsed(path)


def _parsed_text(path: Path, text: str) -> dict[str, Any]:
    if not text.strip():
        raise InputError(f"{path}: is empty; `xoff new study` writes one to begin with")
    try:
        found: Any = parse_json(path, text) if path.suffix == ".json" else parse_toml(text)
    except InputError:
        raise
    except RecursionError:
        raise InputError(f"{path}: nested too deeply") from None
    except ValueError as error:
        raise InputError(f"{path}: this is not {'JSON' if path.suffix == '.json' else 'TOML'}: {error}") from None
    if not isinstance(found, dict):
        raise InputError(f"{path}: a table of keys is needed")
    return found


def _parsed(path: Path) -> dict[str, Any]:
    found = _parsed_text(path, read_text(path))
    if "network" in found:
        raise InputError(f'{path}: is a scenario; a study names one: base = "{path.name}", with [axes] and seeds')
    return found


def _base(document: Mapping[str, Any], directory: Path) -> tuple[Any, Path | None]:
    if ("base" in document) == ("scenario" in document):
        raise InputError('base: one of `base = "scenario.toml"` and a table [scenario] is needed')
    key = "scenario" if "scenario" in document else "base"
    base = document[key]
    if key == "base" and isinstance(base, str | Path):
        # Runs use the current content of the file, and are kept under its key.
        return running.Text.of(directory / base), None
    if not isinstance(base, Mapping | running.SupportsToDict):
        raise InputError(f"{key}: {'a table' if key == 'scenario' else 'the file of a scenario'} is needed")
    return base, directory


def _whole(base: Any, directory: Path | None) -> dict[str, Any]:
    """Returns the base scenario as a document; a valid base with all defaults."""
    try:
        return running.prepare(base, directory=directory, read=None).document
    except InputError:
        if isinstance(base, running.Text):
            return _parsed_text(base.path, base.text)
        return dict(base.to_dict() if isinstance(base, running.SupportsToDict) else base)


def _layout(
    document: Mapping[str, Any], seeds: int, taken: frozenset[str]
) -> tuple[tuple[Column, ...], Sequence[Point], Design | None]:
    """Returns the columns and points of a study with `seeds` seeds: every combination, or the points of the design."""
    asked = designs.read(document)
    if asked is None:
        found = dimensions(document)
        _check_count([len(one) for one in found], seeds)
        return columns(found, taken), Combinations(found), None
    varied = factors(document)
    rows = designs.rows(*asked, varied, MAX_COMBINATIONS // seeds)
    _check_count([len(rows)], seeds)
    combinations, places = designs.combinations(varied, rows)
    shown = [
        (factor.at(0), factor.at(1), *(levels[index] for levels in combinations)) for index, factor in enumerate(varied)
    ]
    made = columns(shown, taken)
    names, ends = designs.named(varied, made)
    return (
        made,
        tuple(point_of(levels, index) for index, levels in enumerate(combinations)),
        Design(*asked, names, ends, tuple(rows), tuple(places)),
    )


def _check_count(lengths: Sequence[int], seeds: int) -> None:
    """Raises `InputError` for more runs than a study may have, before they are made."""
    if (count := math.prod(lengths)) * seeds > MAX_COMBINATIONS:
        product = f" ({' × '.join(f'{length:,}' for length in lengths)})" if len(lengths) > 1 else ""
        with_seeds = f"with {seeds:,} seed{'s' if seeds > 1 else ''}"
        raise InputError(
            f"axes: {count:,} combinations{product} {with_seeds} are too many; {MAX_COMBINATIONS:,} runs are possible"
        )


def point_of(levels: Sequence[Level], index: int = 0) -> Point:
    """Returns the point of these levels."""
    settings = tuple(pair for level in levels for pair in level.settings)
    return Point(index, settings, {path: label for level in levels for path, label in level.labels})


def _seeds(found: Any, base: Any, directory: Path | None) -> tuple[int, ...]:
    if found is None:
        # One run per point, with the seed of the scenario.
        return (int(running.prepare(base, directory=directory, read=None).document["seed"]),)
    whole = isinstance(found, int) and not isinstance(found, bool)
    if whole and 1 <= found <= MAX_COMBINATIONS:
        return tuple(range(1, found + 1))
    if isinstance(found, list | tuple) and found and all(type(one) is int and 0 <= one < 2**63 for one in found):
        if len(set(found)) < len(found):
            raise InputError("seeds: duplicate seed")
        return tuple(found)
    raise InputError(f"seeds: {found!r} was given; a number of seeds, or a list of them such as [1, 2, 3], is needed")


def _keep(found: Any) -> tuple[str, ...]:
    for name in _texts(found, "keep"):
        if name not in {*declared(), "summary"}:
            allowed = ", ".join(f"`{one}`" for one in declared())
            raise InputError(f"keep: unknown table `{name}`; allowed are {allowed}; the summary is always kept")
    return tuple(name for name in declared() if name in found)


def _texts(found: Any, key: str) -> list[str]:
    if not isinstance(found, list | tuple) or not all(isinstance(one, str) for one in found):
        raise InputError(f"{key}: {found!r} was given; a list of names is needed")
    return list(found)


def _text(document: Mapping[str, Any], key: str, default: str) -> str:
    found = document.get(key, default)
    if not isinstance(found, str):
        raise InputError(f"{key}: {found!r} was given; a text is needed")
    return found
