"""Studies: one scenario with many settings and seeds, as a store of runs and one data set.

    study = xoff.sweep("study.toml", out="study")
    study.runs                                     # an Arrow table: one row for each run, parameters as columns
    study.compare("victim_fct_mean_ps", "PFC only", "PFC + SFC")

Whatever stops a study, the same call goes on with the runs that are missing.
"""

from __future__ import annotations

import contextlib
import html
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from xoff import counts, locks, statistics
from xoff._core import InputError
from xoff.documents import read_bytes, read_json
from xoff.results import Result, check_name, synchronise
from xoff.statistics import Comparison
from xoff.study import dataset
from xoff.study.axes import VARIANT, Column
from xoff.study.execution import Advance, Report, Task, execute
from xoff.study.metrics import sizes_differ, unknown
from xoff.study.plan import Plan, Run, read
from xoff.study.store import Store, write_text
from xoff.wording import file_name

if TYPE_CHECKING:
    from xoff.study.effects import Effects
    from xoff.study.figures import StudyPlot

__all__ = ["Advance", "Compared", "Mean", "Report", "Status", "Study", "sweep"]

_DOCUMENT = "study.json"
# A notebook shows so many points.
_SHOWN = 60
# A folder with more names helps nobody.
_NAMED = 2000


@dataclass(frozen=True, slots=True)
class Status:
    """How far a study is, in runs; equal runs of several points count once."""

    total: int
    complete: int
    """Runs that have a result."""
    failed: int
    """Runs that violated an audit, or whose input turned out to be bad."""
    impossible: int
    """Combinations that no run can have."""
    missing: int
    """Runs that are still to be done."""
    others: int
    """Runs in the store that this study does not have: those of earlier versions of it."""

    @property
    def done(self) -> bool:
        """Whether nothing is left to do."""
        return self.missing == 0


@dataclass(frozen=True, slots=True)
class Mean:
    """A metric at one point, over its seeds."""

    point: Mapping[str, Any]
    """The value of each column."""
    values: Mapping[int, float]
    """By seed."""

    @property
    def interval(self) -> statistics.Interval:
        """The mean and its confidence interval."""
        return statistics.positive(list(self.values.values()))


@dataclass(frozen=True, slots=True)
class Compared:
    """Two variants at one point of what else varies."""

    point: Mapping[str, Any]
    """The values of the other columns."""
    comparison: Comparison


class Study:
    """A study and its directory.

    source: the file of the study, or the same as a dictionary: ``base`` (a scenario: a path, a dictionary or a
        `Scenario`), ``axes``, ``zip``, ``variants``, ``design``, ``seeds``, ``keep``, ``metrics``, ``name``,
        ``description``.
    out: the directory of its runs and tables, which need not exist.
    progress: called while runs are planned, with how many combinations are looked at, and how many there are.
    keep: tables of each run that are kept beside those that the study names.

    Raises `InputError`, which names the key, if the study or its base is wrong. A combination of values that is
    impossible is no error: it is in ``plan.impossible``, and the other combinations run.
    """

    def __init__(
        self,
        source: str | Path | Mapping[str, Any],
        out: str | Path,
        *,
        progress: Callable[[int, int], None] | None = None,
        keep: Sequence[str] = (),
    ) -> None:
        self.plan: Plan = read(source, progress, keep)
        """What is to be run."""
        self.directory = Path(out)
        """Where the study is kept."""
        self._runs: tuple[set[str], pa.Table] | None = None
        self._check_place()

    @staticmethod
    def open(directory: str | Path) -> Study:
        """Open the directory of a study to read what it holds. Raises `InputError` if it is none."""
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
        """The study of a plan that may still grow, in a directory that need not exist."""
        study = Study.__new__(Study)
        study.plan, study.directory, study._runs = plan, Path(directory), None
        study._check_place()
        return study

    @property
    def store(self) -> Store:
        """The runs, by key."""
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
        """Do the runs that are missing, and write the data set when all are there.

        executor: any `concurrent.futures.Executor`, such as that of a Dask client; threads of this process if None.
        workers: how many runs at a time on threads of this process; one a core if None.
        threads: how many threads simulate each run.
        shard: ``(i, n)`` does the i-th of n parts of the study, 1 ≤ i ≤ n, for n processes that know nothing of one
            another.
        progress: called a few times a second with an `Advance`.

        Raises `KeyboardInterrupt` when interrupted and `OSError` when the disk is full; what is complete stays.
        """
        if self.plan.base is None:
            raise InputError(f"{self.directory}: was opened to be read; run the study from its file")
        self.begin()
        tasks = [
            Task(run.key, run.point.index, partial(self.plan.prepare, run.point, run.seed), self.plan.keep)
            for run in self.part(*shard)
        ]
        report = execute(
            tasks,
            self.store,
            executor=executor,
            workers=workers,
            threads=threads,
            progress=progress,
        )
        # Somebody may have removed or damaged some meanwhile: they are done once more.
        if lost := [task for task in tasks if not self._knows(task.key, report)]:
            again = execute(lost, self.store, executor=executor, workers=workers, threads=threads)
            report.simulated += again.simulated
            report.failures |= again.failures
        self.write()
        return report

    def begin(self) -> None:
        """Write what is to be run, so that whoever looks at the directory meanwhile knows how far it is."""
        self.store.open()
        with locks.held(self.store.directory):
            self._write_document()

    def write(self) -> None:
        """Write the data set, if all runs are there."""
        if self.status().done:
            self._write_tables()
            self._name_runs()

    def _name_runs(self) -> None:
        """Links to the directories of runs, called after their settings: ``named/pause_10us_seed_1``."""
        place = self.directory / "named"
        if len(self.plan.runs) > _NAMED or (place.exists() and not place.is_dir()):
            return
        wanted: dict[str, str] = {}
        for run in self.plan.runs:
            name = file_name(re.sub(r"[^\w.+-]+", "_", self.plan.coordinates(run.point, run.seed)))
            # Names that are cut to what a disk can hold may be the same.
            wanted[f"{name}_{run.key[:6]}" if name in wanted else name] = f"../runs/{run.key}"
        # Where there are no links, or somebody else writes them at this moment, runs have their keys.
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
        """The runs of one of several parts: every run is in exactly one."""
        if not (isinstance(number, int) and isinstance(parts, int) and 1 <= number <= parts):
            raise InputError(f"shard: {number}/{parts} was given; i/n with 1 ≤ i ≤ n is needed, such as 1/4")
        # By the key, so that adding a value moves no run to another part.
        return [run for run in self.plan.runs if int(run.key, 16) % parts == number - 1]

    def status(self) -> Status:
        """How far the study is."""
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
        """One row a run that was done: ``run``, the parameters, ``seed``, ``status``, every metric of its summary."""
        # Every figure and mean is drawn from this table, and nothing in it changes while no run is added.
        keys = self.store.keys()
        if self._runs is None or self._runs[0] != keys:
            self._runs = keys, dataset.runs_table(self.plan, self.store)
        return self._runs[1]

    @property
    def flows(self) -> pa.Table:
        """One row a flow of every run, with the parameters as columns."""
        return self.table("flows")

    def table(self, name: str) -> pa.Table:
        """The rows of one table of all runs.

        Raises `LookupError` if the study does not keep it, and `InputError` if no run has a result.
        """
        if name not in self.plan.keep:
            raise LookupError(f"the study does not keep `{name}`; it keeps {', '.join(self.plan.keep) or 'summaries'}")
        tables = list(dataset.rows_of(self.plan, self.store, name))
        if not tables:
            raise InputError(f"{self.directory}: no run of this study has a result")
        return pa.concat_tables(tables)

    def flows_at(self, points: Collection[int]) -> pa.Table | None:
        """The sizes, completion times and slowdowns of the flows at some points (by index), all seeds together.

        Connections of jobs have neither times nor slowdowns; the messages that have them are kept by no study.
        """
        known = self.store.keys()
        keys = dict.fromkeys(run.key for run in self.plan.runs if run.point.index in points and run.key in known)
        columns = ["size_bytes", "fct_ps", "slowdown"]
        tables = [self.store.result(key).flows.select(columns) for key in keys if self.store.failure(key) is None]
        return pa.concat_tables(tables) if tables else None

    def results(self) -> list[tuple[Mapping[str, Any], int, Result]]:
        """Every run that has a result: the value of each column, the seed, and the `Result`."""
        known = self.store.keys()
        return [
            (self.plan.values(run.point), run.seed, self.store.result(run.key))
            for run in self.plan.runs
            if run.key in known and self.store.failure(run.key) is None
        ]

    def metrics(self) -> list[str]:
        """The metrics to look at first: those that the study names, or else completion times, counts and drops."""
        runs = self.runs
        names = [field.name for field in runs.schema if not pa.types.is_string(field.type)]
        names = [name for name in names if name not in {"seed", *(column.name for column in self.plan.columns)}]
        if self.plan.metrics:
            # Without a single result there is none.
            return [name for name in self.plan.metrics if name in names]
        means = [name for name in names if name.endswith("fct_mean_ps")]
        # With one workload its mean is the mean over all.
        means = ["fct_mean_ps"] if len(means) == 2 else means
        others = ["fct_p99_ps", *(count.metric for count in counts.headlines()), "drops"]
        if sizes_differ(self.plan.document["scenario"]):
            # A mean over small and large flows is one of the large ones.
            means = [name.replace("fct_mean_ps", part) for name in means for part in ("slowdown_p50", "slowdown_p99")]
            others = others[1:]
        means += [name for name in names if name.endswith("_collective_bus_bps")]
        return [*means, *(name for name in others if name in names and any(runs[name].to_pylist()))]

    def means(self, metric: str) -> list[Mean]:
        """A metric at each point that has a result: its value for each seed, its mean and confidence interval."""
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
        """Refuse what is no column of numbers of `runs`, and name the nearest one that is."""
        numbers = [field.name for field in self.runs.schema if not pa.types.is_string(field.type)]
        if metric not in numbers:
            raise InputError(unknown(metric, numbers))

    def effects(self, metric: str) -> Effects:
        """What each factor of a study with a design does to a metric, with intervals.

        metric: a column of `runs`, or ``without_result``, which is 1 for a run that has none.

        Raises `InputError` if the study has no design, or no such metric.
        """
        from xoff.study.effects import effects

        return effects(self, metric)

    def seeds_with_result(self) -> dict[str, int]:
        """How many seeds of each point have a result, by the values of its columns as JSON, in the order of points."""
        names = [column.name for column in self.plan.columns]
        found: dict[str, int] = {}
        for row in self.runs.select([*names, "status"]).to_pylist():
            key = json.dumps({name: row[name] for name in names})
            found[key] = found.get(key, 0) + (row["status"] == "ok")
        return found

    @property
    def warnings(self) -> dict[str, int]:
        """What looks wrong with scenarios of the study, and with how many of its runs."""
        found: Counter[str] = Counter()
        for _, _, result in self.results():
            found.update(f"{one['path']}: {one['message']}" for one in result.summary.get("warnings", ()))
        return dict(found)

    def compare(self, metric: str, first: Any, second: Any, of: str = VARIANT) -> list[Compared]:
        """Compare two values of a column by a metric, paired by seed, wherever all else is equal.

        metric: a column of `runs`, such as ``fct_mean_ps``.
        first, second: two variants, or two values of the column, as numbers (``5000000``) or as text (``"5us"``).
        of: the column.

        A setting that only one of the two varies (an axis of a variant) is no difference between them.
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
        """The values of the first column: the names of the variants, if the study has variants."""
        column = self.plan.columns[0]
        return list(dict.fromkeys(column.value(point.labels.get(column.path)) for point in self.plan.points))

    def against_first(self, metric: str) -> list[tuple[Any, Compared]]:
        """Compare the first value of the first column with each other one; empty if nothing varies."""
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
        """The column of a parameter by its name."""
        return next(column for column in self.plan.columns if column.name == name)

    def __repr__(self) -> str:
        found = self.status()
        return f"<xoff.Study {self.plan.name}: {found.complete} of {found.total} runs, {found.failed} failed>"

    def _repr_html_(self) -> str:
        """The means by point, as a notebook shows them."""
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
                    raise InputError(
                        f"{self.directory}: exists and holds something other than a study; choose another one"
                    )
        except OSError as error:
            raise InputError(f"{self.directory}: cannot be read: {error.strerror}") from None

    def tables(self) -> list[Path]:
        """Where the tables over all runs are, when all are there."""
        names = ("runs", *self.plan.keep, *(["effects"] if self.plan.design is not None else []))
        return [self.directory / f"{name}.parquet" for name in names]

    def _write_tables(self) -> None:
        # Whose tables are there is whose document is there, whoever else ends at this moment.
        with locks.held(self.store.directory):
            # What is there is of this very study, and was written when all its runs were there.
            if not all(dataset.is_of(self.plan, file) for file in self.tables()):
                # Another version of the study may have begun here since.
                self._write_document()
                dataset.write(self.plan, self.store, self.directory, self._effects_table())

    def _effects_table(self) -> dict[str, pa.Table]:
        if self.plan.design is None:
            return {}
        from xoff.study import effects

        return {"effects": effects.table(effects.shown(self))}

    def _write_document(self) -> None:
        """Write what is to be run; tables of an earlier version of the study are removed before."""
        text = json.dumps(self.plan.to_dict(), indent=1, ensure_ascii=False, default=lambda value: type(value).__name__)
        with contextlib.suppress(OSError, ValueError):
            if read_bytes(self.directory / _DOCUMENT) == f"{text}\n".encode():
                return
        for file in {*self.tables(), self.directory / "effects.parquet"}:
            file.unlink(missing_ok=True)
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
) -> Study:
    """Run a study and return it; what an earlier call did is not done again. Arguments as for `Study` and `Study.run`.

    source: such as ``{"base": "incast.toml", "axes": {"switch.flow_control.sfc.pause": ["5us", "10us"]}, "seeds": 5}``.
    """
    study = Study(source, out)
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
        f"{column.name}: there is no value {value!r}; there are {', '.join(column.text(one) for one in known)}"
    )
