"""Studies: one scenario with many settings and seeds. A study is a store of runs, and a data set over all runs.

    study = xoff.sweep("study.toml", out="study")
    study.runs                                     # an Arrow table: one row for each run, parameters as columns
    study.compare("victim_fct_mean_ps", "PFC only", "PFC + SFC")

A repeated call does only the missing runs, also after an interruption.
"""

from __future__ import annotations

import contextlib
import html
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from xoff import statistics
from xoff._core import InputError
from xoff.files import locks
from xoff.files.new_files import check_name, synchronise
from xoff.files.safe_read import read_bytes, read_json
from xoff.formatting import file_name
from xoff.functions import TIMEOUT_SECONDS, Functions
from xoff.results import Result, counts
from xoff.results.reading import declared
from xoff.statistics import Comparison
from xoff.study import dataset, python_metrics
from xoff.study.axes import VARIANT, Column
from xoff.study.examination import read
from xoff.study.execution import Advance, Report, Task, Watch, cores, execute
from xoff.study.metrics import sizes_differ, unknown
from xoff.study.plan import Plan, Run
from xoff.study.store import Store, write_text

if TYPE_CHECKING:
    from xoff.study.effects import Effects
    from xoff.study.figures import StudyPlot

__all__ = ["Advance", "Compared", "Mean", "Report", "Status", "Study", "sweep"]

_DOCUMENT = "study.json"
# Maximum number of points in the table of a notebook.
_SHOWN = 60
# Maximum number of links to runs; nobody reads a larger folder.
_NAMED = 2000


@dataclass(frozen=True, slots=True)
class Status:
    """The progress of a study, in runs. Several points with the same scenario and seed share one run."""

    total: int
    complete: int
    """Runs with a result."""
    failed: int
    """Runs without a result: the run violated an audit, or found bad input."""
    impossible: int
    """Combinations of point and seed with an invalid scenario."""
    missing: int
    """Runs to do."""
    others: int
    """Runs in the store of earlier versions of the study, and not of the present version."""

    @property
    def done(self) -> bool:
        """True if no run is missing."""
        return self.missing == 0


@dataclass(frozen=True, slots=True)
class Mean:
    """The values of a metric at one point, over all seeds."""

    point: Mapping[str, Any]
    """The value of each parameter, by column name."""
    values: Mapping[int, float]
    """The values by seed."""

    @property
    def interval(self) -> statistics.Interval:
        """The mean, with a confidence interval."""
        return statistics.positive(list(self.values.values()))


@dataclass(frozen=True, slots=True)
class Compared:
    """The comparison of two variants at one point of the other parameters."""

    point: Mapping[str, Any]
    """The values of the other columns."""
    comparison: Comparison


_OF_SERVING = ("_ttft_p99_ps", "_itl_p99_ps", "_slo_attainment")
"""Ends of the metrics of serving that are shown first."""


class Study:
    """A study and its directory.

    source: the file of the study, or a dictionary with the keys ``base`` (a scenario: a path, a dictionary or a
        `Scenario`), ``axes``, ``zip``, ``variants``, ``design``, ``seeds``, ``keep``, ``metrics``, ``name``,
        ``description``.
    out: the directory for runs and tables. The directory need not exist.
    progress: called during planning with the number of combinations examined and the number of all combinations.
    keep: tables of each run to keep, in addition to the study's ``keep``.
    allow_python: allows the Python functions that study and base name as workloads and metrics. Read their code first.
    python_timeout: the longest time of a call of a Python function, in seconds.

    Raises `InputError` with the key if the study or the base is wrong. A combination with an invalid scenario raises no
    error: ``plan.impossible`` lists the combination, and all other combinations run.
    """

    allow: Callable[[], None] | None = None
    """Called before the study's document is written; raises `InputError` if another study has begun there."""

    def __init__(
        self,
        source: str | Path | Mapping[str, Any],
        out: str | Path,
        *,
        progress: Callable[[int, int], None] | None = None,
        keep: Sequence[str] = (),
        allow_python: bool = False,
        python_timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        with Functions(allow_python, python_timeout) as functions:
            self.plan: Plan = read(source, progress, keep, functions)
        """The runs to do."""
        self.directory = Path(out)
        """The directory of the study."""
        self._runs: tuple[set[str], pa.Table] | None = None
        self._check_place()

    @staticmethod
    def open(directory: str | Path) -> Study:
        """Opens the directory of a study for reading. Raises `InputError` for any other directory."""
        study = Study.__new__(Study)
        study.directory = Path(directory)
        study._runs = None
        try:
            study.plan = Plan.from_dict(read_json(study.directory / _DOCUMENT))
        except (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
            why = f": {error}" if isinstance(error, ValueError) else ""
            raise InputError(f"{directory}: is not the directory of a study (no readable {_DOCUMENT}{why})") from None
        return study

    @staticmethod
    def of(plan: Plan, directory: str | Path) -> Study:
        """Returns the study of a plan. The plan may still grow, and the directory need not exist."""
        study = Study.__new__(Study)
        study.plan, study.directory, study._runs = plan, Path(directory), None
        study._check_place()
        return study

    @property
    def store(self) -> Store:
        """The store of the runs, by key."""
        return Store(self.directory / "runs")

    def run(
        self,
        *,
        executor: Executor | None = None,
        workers: int | None = None,
        threads: int = 1,
        shard: tuple[int, int] = (1, 1),
        progress: Callable[[Advance], None] | None = None,
    ) -> Report:
        """Does the missing runs, and writes the data set when no run is missing.

        executor: any `concurrent.futures.Executor`, such as the executor of a Dask client. None: threads of this
            process.
        workers: number of concurrent runs on threads of this process. None: one per core.
        threads: number of threads for each run.
        shard: ``(i, n)`` does the i-th of n parts of the study, 1 ≤ i ≤ n; the n processes need no communication.
        progress: called a few times a second with an `Advance`.

        Raises `KeyboardInterrupt` when interrupted, `OSError` when the disk is full, and `InputError` if a Python
        function fails; complete runs stay in the store.
        """
        if self.plan.base is None:
            raise InputError(f"{self.directory}: opened read-only; run the study from its file")
        self.begin()
        tasks = [
            Task(
                run.key, run.point.index, partial(self.plan.prepare_again, run.point, run.seed, run.key), self.plan.keep
            )
            for run in self.part(*shard)
        ]
        watch = Watch()
        do = partial(execute, executor=executor, workers=workers, threads=threads, watch=watch, kept=self.measure)
        with self.calling(watch):
            report = do(tasks, self.store, progress=progress)
            # Another process may have removed or damaged runs meanwhile. Such runs are repeated once.
            if lost := [task for task in tasks if not self._knows(task.key, report)]:
                again = do(lost, self.store)
                report.simulated += again.simulated
                report.failures |= again.failures
            self.measure(*(run.key for run in self.plan.runs), workers=workers or cores())
        self.write()
        return report

    @contextlib.contextmanager
    def calling(self, watch: Watch) -> Iterator[None]:
        """Lets a watch interrupt Python functions, and ends their processes at the end."""
        with self.plan.functions as functions:
            functions.poll = watch.poll
            try:
                yield
            finally:
                functions.poll = None

    def measure(self, *keys: str, workers: int = 1) -> None:
        """Computes the metrics of Python functions for these runs, where a run has a result and lacks a value.

        workers: number of concurrent calls.
        """
        if not self.plan.measured:
            return
        plan = self.plan
        ready = [key for key in dict.fromkeys(keys) if self._has_result(key)]
        python_metrics.measure(plan.measured, self.store, ready, self._words, plan.functions, plan.folder, workers)

    def _words(self, key: str) -> str:
        """Returns a run in words, for messages: the point and the seed."""
        run = next((run for run in self.plan.runs if run.key == key), None)
        return f"run {key}" if run is None else self.plan.coordinates(run.point, run.seed)

    def _has_result(self, key: str) -> bool:
        return self.store.holds(key, self.plan.keep) and self.store.failure(key) is None

    def begin(self) -> None:
        """Writes the study's document before the runs: other processes then can read the progress."""
        self.store.open()
        for relative, table in self.plan.inputs().items():
            self.store.keep_input(relative, table)
        with locks.held(self.store.directory):
            self._write_document()

    def write(self) -> None:
        """Writes the data set if no run is missing."""
        if self.status().done:
            self._write_tables()
            self._name_runs()

    def _name_runs(self) -> None:
        """Writes a directory ``named`` with a link to each run, named by the point and the seed of the run."""
        place = self.directory / "named"
        if len(self.plan.runs) > _NAMED or (place.exists() and not place.is_dir()):
            return
        wanted: dict[str, str] = {}
        for run in self.plan.runs:
            name = file_name(re.sub(r"[^\w.+-]+", "_", self.plan.coordinates(run.point, run.seed)))
            # Long names are shortened to the limit of file systems, and may then be equal.
            wanted[f"{name}_{run.key[:6]}" if name in wanted else name] = f"../runs/{run.key}"
        # A file system may lack links, or another process may write the same links: runs then have only keys.
        with contextlib.suppress(OSError):
            place.mkdir(exist_ok=True)
            for link in place.iterdir():
                if link.is_symlink() and wanted.get(link.name) != str(link.readlink()):
                    link.unlink()
            for name, target in wanted.items():
                if not (place / name).is_symlink():
                    (place / name).symlink_to(target, target_is_directory=True)

    def _knows(self, key: str, report: Report) -> bool:
        return key in report.failures or self.store.holds(key, self.plan.keep)

    def part(self, number: int, parts: int) -> list[Run]:
        """Returns the runs of part `number` of `parts`, such as 1 of 4. Each run is in exactly one part."""
        if not (isinstance(number, int) and isinstance(parts, int) and 1 <= number <= parts):
            raise InputError(f"shard: {number}/{parts} was given; i/n with 1 ≤ i ≤ n is needed, such as 1/4")
        # The key decides: a value added to the study moves no run to another part.
        return [run for run in self.plan.runs if int(run.key, 16) % parts == number - 1]

    def status(self) -> Status:
        """Returns the progress of the study."""
        keys = {run.key for run in self.plan.runs}
        known = self.store.keys()
        held = {key for key in keys & known if self.store.holds(key, self.plan.keep)}
        failed = sum(self.store.failure(key) is not None for key in held)
        return Status(
            total=len(keys),
            complete=len(held) - failed,
            failed=failed,
            impossible=len(self.plan.impossible),
            missing=len(keys) - len(held),
            others=len(known - keys),
        )

    @property
    def runs(self) -> pa.Table:
        """One row per completed or failed run: ``run``, parameters, ``seed``, ``status``, metrics of the summary."""
        # All figures and means use this table. The table changes only with added runs.
        keys = self.store.keys()
        if self._runs is None or self._runs[0] != keys:
            self._runs = keys, dataset.runs_table(self.plan, self.store)
        return self._runs[1]

    @property
    def flows(self) -> pa.Table:
        """One row per flow of every run, with the parameters as columns."""
        return self.table("flows")

    def table(self, name: str) -> pa.Table:
        """Returns the rows of one table of all runs.

        Raises `LookupError` if the study does not keep the table, and `InputError` if no run has a result.
        """
        if name not in self.plan.keep:
            raise LookupError(f"the study does not keep `{name}`; kept are {', '.join(self.plan.keep) or 'summaries'}")
        tables = list(dataset.rows_of(self.plan, self.store, name))
        if not tables:
            raise InputError(f"{self.directory}: no run of this study has a result")
        return pa.concat_tables(tables)

    def flows_at(self, points: Collection[int]) -> pa.Table | None:
        """Returns size, completion time and slowdown of the flows at some points (by index), for all seeds together.

        The result has no times of jobs: connections have neither times nor slowdowns, and studies keep no messages.
        """
        known = self.store.keys()
        keys = dict.fromkeys(run.key for run in self.plan.runs if run.point.index in points and run.key in known)
        columns = ["size_bytes", "fct_ps", "slowdown"]
        tables = [self.store.result(key).flows.select(columns) for key in keys if self.store.failure(key) is None]
        return pa.concat_tables(tables) if tables else None

    def results(self) -> list[tuple[Mapping[str, Any], int, Result]]:
        """Returns the value of each column, the seed, and the `Result`, for every run with a result."""
        known = self.store.keys()
        return [
            (self.plan.values(run.point), run.seed, self.store.result(run.key))
            for run in self.plan.runs
            if run.key in known and self.store.failure(run.key) is None
        ]

    def metrics(self) -> list[str]:
        """Returns the metrics to show first: the study's ``metrics``, or a choice of times, counts and drops."""
        runs = self.runs
        names = [field.name for field in runs.schema if not pa.types.is_string(field.type)]
        names = [name for name in names if name not in {"seed", *(column.name for column in self.plan.columns)}]
        if self.plan.metrics:
            # If no run has a result, the table has no columns of metrics.
            return [name for name in self.plan.metrics if name in names]
        # Requests of serving are no flows: a column of completion times may have no value at all.
        serving = [name for name in names if name.startswith("serving_") and name.endswith(_OF_SERVING)]
        known = {name for name in names if any(value is not None for value in runs[name].to_pylist())}
        means = [name for name in names if name.endswith("fct_mean_ps") and (not serving or name in known)]
        # With one workload, the mean of the workload equals the mean over all flows.
        means = ["fct_mean_ps"] if len(means) == 2 else means
        others = ["fct_p99_ps", *(count.metric for count in counts.headlines()), "drops"]
        if sizes_differ(self.plan.document["scenario"]):
            # Large flows dominate a mean completion time over flows of different sizes.
            means = [name.replace("fct_mean_ps", part) for name in means for part in ("slowdown_p50", "slowdown_p99")]
            others = others[1:]
        means += [name for name in names if name.endswith("_collective_bus_bps")]
        chosen = [*means, *(name for name in serving if name in known)]
        return [*chosen, *(name for name in others if name in names and any(runs[name].to_pylist()))]

    def means(self, metric: str) -> list[Mean]:
        """Returns the `Mean` of a metric at each point with a result."""
        self.check_metric(metric)
        runs, names = self.runs, [column.name for column in self.plan.columns]
        found: dict[str, Mean] = {}
        values: dict[str, dict[int, float]] = {}
        for row in runs.select([*names, "seed", metric]).to_pylist():
            if row[metric] is not None:
                point = {name: row[name] for name in names}
                key = json.dumps(point)
                values.setdefault(key, {})[row["seed"]] = row[metric]
                found.setdefault(key, Mean(point, values[key]))
        return list(found.values())

    def check_metric(self, metric: str) -> None:
        """Raises `InputError`, with the nearest name, unless the metric is a column of numbers of `runs`."""
        numbers = [field.name for field in self.runs.schema if not pa.types.is_string(field.type)]
        if metric not in numbers:
            raise InputError(unknown(metric, numbers))

    def effects(self, metric: str) -> Effects:
        """Returns the effect of each factor on a metric, with intervals, for a study with a design.

        metric: a column of `runs`, or ``without_result``: 1 for a run without a result, and 0 otherwise.

        Raises `InputError` if the study has no design, or `runs` lacks the metric.
        """
        from xoff.study.effects import effects

        return effects(self, metric)

    def seeds_with_result(self) -> dict[str, int]:
        """Returns the number of seeds with a result for each point, by the JSON text of the point's values."""
        names = [column.name for column in self.plan.columns]
        found: dict[str, int] = {}
        for row in self.runs.select([*names, "status"]).to_pylist():
            key = json.dumps({name: row[name] for name in names})
            found[key] = found.get(key, 0) + (row["status"] == "ok")
        return found

    @property
    def warnings(self) -> dict[str, int]:
        """Warnings about scenarios of the study, and the number of runs with each."""
        found: Counter[str] = Counter()
        for _, _, result in self.results():
            found.update(f"{one['path']}: {one['message']}" for one in result.summary.get("warnings", ()))
        return dict(found)

    def compare(self, metric: str, first: Any, second: Any, of: str = VARIANT) -> list[Compared]:
        """Compares a metric between two values of a column, paired by seed.

        metric: a column of `runs`, such as ``fct_mean_ps``.
        first, second: two variants, or two values of the column, as numbers (``5000000``) or as text (``"5us"``).
        of: the column.

        Each comparison is between two points with equal values in all other columns. Exception: an axis of one variant
        has no value on the side of the other variant, and does not count as a difference.

        Raises `InputError` for an unknown column, value or metric.
        """
        column = next((one for one in self.plan.columns if of in {one.name, one.path}), None)
        if column is None:
            raise InputError(f"of: {unknown(of, [one.name for one in self.plan.columns])}")
        wanted = [_wanted(column, value, self.plan) for value in (first, second)]
        return self._compared(self.means(metric), column, wanted)

    def _compared(self, means: list[Mean], column: Column, wanted: list[Any]) -> list[Compared]:
        sides = [[one for one in means if one.point[column.name] == value] for value in wanted]
        found = []
        for one in sides[0]:
            for other in sides[1]:
                pairs = {name: (one.point[name], other.point[name]) for name in one.point if name != column.name}
                if (
                    all(a == b or a is None or b is None for a, b in pairs.values())
                    and one.values.keys() & other.values
                ):
                    point = {name: b if a is None else a for name, (a, b) in pairs.items()}
                    found.append(Compared(point, statistics.compare(one.values, other.values)))
        return found

    def variants(self) -> list[Any]:
        """Returns the values of the first column. In a study with variants, these are the names of the variants."""
        column = self.plan.columns[0]
        return list(dict.fromkeys(column.value(point.labels.get(column.path)) for point in self.plan.points))

    def against_first(self, metric: str) -> list[tuple[Any, Compared]]:
        """Compares the first value of the first column with each other value. Empty for a study of one point."""
        if not self.plan.columns:
            return []
        first, *others = self.variants()
        column, means = self.plan.columns[0], self.means(metric)
        return [(other, one) for other in others for one in self._compared(means, column, [first, other])]

    @property
    def plot(self) -> StudyPlot:
        """Figures of the study, such as ``study.plot.metric("fct_mean_ps")``."""
        from xoff.study.figures import StudyPlot

        return StudyPlot(self)

    def column(self, name: str) -> Column:
        """Returns the column of a parameter by its name."""
        return next(column for column in self.plan.columns if column.name == name)

    def __repr__(self) -> str:
        found = self.status()
        return f"<xoff.Study {self.plan.name}: {found.complete} of {found.total} runs, {found.failed} failed>"

    def _repr_html_(self) -> str:
        """Returns the means by point as HTML for a notebook."""
        from xoff.study.means import by_point

        caption = html.escape(repr(self).strip("<>"))
        if not self.status().complete:
            return f"<p>{caption}</p>"
        heads, rows = by_point(self, self.metrics())
        head = "".join(f"<th>{html.escape(one)}</th>" for one in heads)
        cells = ["".join(f"<td>{html.escape(text)}</td>" for text, _ in row) for row in rows[:_SHOWN]]
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        rest = f"<p>… and {len(rows) - _SHOWN:,} more points</p>" if len(rows) > _SHOWN else ""
        return f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"

    def _check_place(self) -> None:
        check_name(self.directory)
        try:
            if self.directory.exists() and not self.directory.is_dir():
                raise InputError(f"{self.directory}: exists and is not a directory; choose another place for the study")
            if self.directory.is_dir():
                names = {entry.name for entry in self.directory.iterdir() if not entry.name.startswith(".")}
                if names and not names & {_DOCUMENT, "runs"}:
                    raise InputError(f"{self.directory}: exists and is not a study; choose another directory")
        except OSError as error:
            raise InputError(f"{self.directory}: cannot be read: {error.strerror}") from None

    def tables(self) -> list[Path]:
        """Returns the paths of the tables over all runs. The tables exist once no run is missing."""
        names = ("runs", *self.plan.keep, *(["effects"] if self.plan.design is not None else []))
        return [self.directory / f"{name}.parquet" for name in names]

    def _write_tables(self) -> None:
        # Under the lock, tables and document belong to one version of the study.
        with locks.held(self.store.directory):
            # Existing tables of the same plan are complete, and stay.
            if not all(dataset.is_of(self.plan, file) for file in self.tables()):
                # Another version of the study may have begun in this directory meanwhile.
                self._write_document()
                dataset.write(self.plan, self.store, self.directory, self._effects_table())

    def _effects_table(self) -> dict[str, pa.Table]:
        if self.plan.design is None:
            return {}
        from xoff.study import effects

        return {"effects": effects.table(effects.shown(self))}

    def _write_document(self) -> None:
        """Writes the document of the plan, after removing tables of an earlier version of the study."""
        if self.allow is not None:
            self.allow()
        text = json.dumps(self.plan.to_dict(), indent=1, ensure_ascii=False, default=lambda value: type(value).__name__)
        with contextlib.suppress(OSError, ValueError):
            if read_bytes(self.directory / _DOCUMENT) == f"{text}\n".encode():
                return
        for name in ("runs", "effects", *declared()):
            (self.directory / f"{name}.parquet").unlink(missing_ok=True)
        with self.store.workspace() as work:
            write_text(work / _DOCUMENT, text + "\n")
            (work / _DOCUMENT).rename(self.directory / _DOCUMENT)
        synchronise(self.directory)


def sweep(
    source: str | Path | Mapping[str, Any],
    *,
    out: str | Path,
    executor: Executor | None = None,
    workers: int | None = None,
    threads: int = 1,
    progress: Callable[[Advance], None] | None = None,
    allow_python: bool = False,
    python_timeout: float = TIMEOUT_SECONDS,
) -> Study:
    """Runs a study, and returns the study. Existing runs are not repeated. Arguments as for `Study` and `Study.run`.

    source: such as ``{"base": "incast.toml", "axes": {"switch.flow_control.sfc.pause": ["5us", "10us"]}, "seeds": 5}``.
    """
    study = Study(source, out, allow_python=allow_python, python_timeout=python_timeout)
    study.run(executor=executor, workers=workers, threads=threads, progress=progress)
    return study


def _wanted(column: Column, value: Any, plan: Plan) -> Any:
    known = list(dict.fromkeys(column.value(point.labels.get(column.path)) for point in plan.points))
    for one in known:
        if one is not None and value in {one, column.text(one)}:
            return one
    if column.unit is not None and isinstance(value, str) and column.value(value) in known:
        return column.value(value)
    raise InputError(
        f"{column.name}: unknown value {value!r}; known are {', '.join(column.text(one) for one in known)}"
    )
