"""The search for the best settings of a study: ``xoff tune``.

    tuning = xoff.tune("study.toml", out="tuned")
    tuning.best[0].settings          # the settings of the scenario
    tuning.best[0].unseen            # each metric on seeds that the search never saw

Optuna proposes settings by the Tree-structured Parzen Estimator, in batches whose size is a key of the study: the
proposals depend on the seed of the search and the results so far, and not on the order in which runs end. A restarted
search proposes the same settings again and finds their runs in the store. Limits are the estimator's constraints:
settings within them are ranked first. Among many settings with few seeds, the best was also lucky: so the best settings
run again with unseen seeds, and the reported values are of those seeds.

Sources: J. Bergstra et al., "Algorithms for Hyper-Parameter Optimization", NeurIPS 2011; S. Watanabe and F. Hutter,
"c-TPE: Tree-structured Parzen Estimator with Inequality Constraints", IJCAI 2023; T. Akiba et al., "Optuna", KDD 2019.
"""

from __future__ import annotations

import contextlib
import json
import math
import statistics as plain_statistics
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xoff import statistics
from xoff._core import InputError
from xoff.functions import TIMEOUT_SECONDS, Functions
from xoff.statistics import Interval
from xoff.study import Advance, Report, Study, python_metrics
from xoff.study.axes import Factor, Level
from xoff.study.examination import check_start
from xoff.study.execution import Task, Watch, execute
from xoff.study.figures import point_words
from xoff.study.metrics import metrics as metrics_of
from xoff.study.objective import Objective, read
from xoff.study.plan import Point, point_of, read_factors
from xoff.study.settings import value_of
from xoff.study.store import write_text
from xoff.study.tune_conclusion import Conclusion, conclude, shown
from xoff.study.tune_figure import DOCUMENT, draw
from xoff.study.tune_settings import Setting, Tried

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FINALISTS = 3
_FRONT = 12
# A setting within this share of a range's end counts as being at the end.
_EDGE = 0.02
# An excess above that of any setting with a result.
_FAR = 1e6


class Tuning:
    """A search and its directory; arguments as for `xoff.tune`."""

    def __init__(
        self,
        source: str | Path | Mapping[str, Any],
        out: str | Path,
        *,
        runs: int | None = None,
        allow_python: bool = False,
        python_timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        with Functions(allow_python, python_timeout) as functions:
            self.plan, self.factors = read_factors(source, functions)
        self.objective: Objective = read(self.plan.document, len(self.plan.seeds), runs, self.plan.columns)
        if not self.factors:
            raise InputError('axes: missing; give ranges, such as { from = "5KB", to = "400KB" }')
        if one := next((one for one in self.factors if len(one.levels) == 1), None):
            raise InputError(f"{one.key}: one value was given; a search needs two at least, or a range")
        self.plan.metrics = tuple(dict.fromkeys((*self.objective.metrics, *self.plan.metrics)))
        self.study = Study.of(self.plan, out)
        """The tried settings as a study: tables, figures and runs."""
        self.tried: list[Tried] = []
        """The tried settings, in the order of the search."""
        self.base: Setting | None = None
        """The base scenario without changes; None if it has no result."""
        self.best: list[Setting] = []
        """The best settings, the best first; with several goals, the settings of the front, ordered by the first
        goal."""
        self.warnings: list[str] = []
        self.lost: dict[str, str] = {}
        """The runs that were not done, and the reasons."""
        self._report = Report()

    @property
    def directory(self) -> Path:
        """The directory of runs and tables."""
        return self.study.directory

    @property
    def points(self) -> int:
        """The number of settings that the search tries."""
        return self.objective.runs // len(self.plan.seeds)

    @property
    def unseen(self) -> tuple[int, ...]:
        """The seeds that the search never uses."""
        first = max(self.plan.seeds) + 1
        return tuple(range(first, first + self.objective.confirm))

    @property
    def report(self) -> Report:
        """The numbers of simulated runs and of runs found in the store."""
        return self._report

    def check_start(self) -> None:
        """Raises `InputError` if neither the base nor a setting at the ends or in the middle of the ranges can start.

        The settings of the search are not known before its runs, so `xoff check` tries these instead.
        """
        shares = (0.0, 0.5, 1.0)
        points = [point_of([factor.at(share) for factor in self.factors]) for share in shares]
        check_start(self.plan, [*points, point_of([])])

    def run(
        self,
        *,
        executor: Executor | None = None,
        workers: int | None = None,
        threads: int = 1,
        progress: Callable[[Advance], None] | None = None,
    ) -> None:
        """Searches, confirms, and writes the tables; arguments as for `Study.run`.

        Raises `InputError` if no run can have a metric of the objective, or no setting is possible.
        """
        self.check_start()
        watch = Watch()
        do = partial(execute, executor=executor, workers=workers, threads=threads, watch=watch, kept=self.study.measure)
        self.study.store.open()
        with self.study.calling(watch):
            base = self.plan.add([])
            self._do([base], self.plan.seeds, do, progress)
            self._search(do, progress)
            finalists = self._finalists()
            self._do([one.point for one in finalists] + [base], self.unseen, do, progress)
        self._judge(base, finalists)
        self.study.write()
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False)
        with self.study.store.workspace() as work:
            write_text(work / DOCUMENT, text + "\n")
            (work / DOCUMENT).rename(self.directory / DOCUMENT)

    def _search(self, do: Callable[..., Report], progress: Callable[[Advance], None] | None) -> None:
        try:
            import optuna
        except ImportError:
            raise InputError(
                'objective: the search needs Optuna, which is not installed; install it with: pip install "xoff[tune]"'
            ) from None
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        sampler = optuna.samplers.TPESampler(seed=self.objective.seed, multivariate=True, constant_liar=True)
        directions = ["minimize" if goal.is_least else "maximize" for goal in self.objective.goals]
        search = optuna.create_study(directions=directions, sampler=sampler)
        while len(self.tried) < self.points:
            count = min(self.objective.at_once, self.points - len(self.tried))
            asked = [self._ask(search) for _ in range(count)]
            self._do([point for _, _, point in asked], self.plan.seeds, do, progress)
            if not self.tried:
                self.plan.check_metrics()
            for trial, shares, point in asked:
                one = self._tried(point, shares)
                self.tried.append(one)
                for number, excess in enumerate([0.0 if one.values else _FAR, *one.excess]):
                    trial.set_constraint(str(number), min(excess, _FAR))
                # The values of a setting without a result, or beyond a limit, decide nothing.
                search.tell(trial, list(one.values or [0.0] * len(self.objective.goals)))
        if not self.plan.runs:
            lost = self.plan.impossible[0]
            raise InputError(f"no setting is possible; the first, {self.plan.coordinates(lost.point)}: {lost.message}")

    def _ask(self, search: Any) -> tuple[Any, tuple[float, ...], Point]:
        trial = search.ask()
        shares = tuple(self._share(trial, factor) for factor in self.factors)
        levels = [factor.at(share) for factor, share in zip(self.factors, shares, strict=True)]
        return trial, shares, self.plan.add(levels)

    def _share(self, trial: Any, factor: Factor) -> float:
        if not factor.levels:
            return float(trial.suggest_float(factor.key, 0.0, 1.0))
        count = len(factor.levels)
        if self._is_ordered(factor):
            place = trial.suggest_int(factor.key, 0, count - 1)
        else:
            place = trial.suggest_categorical(factor.key, list(range(count)))
        return float((place + 0.5) / count)

    def _is_ordered(self, factor: Factor) -> bool:
        """Whether the levels of a list are numbers that rise or fall."""
        columns = {column.path: column for column in self.plan.columns}
        found = [_number(columns, level) for level in factor.levels]
        numbers = [one for one in found if one is not None]
        return len(numbers) == len(found) and (numbers == sorted(numbers) or numbers == sorted(numbers, reverse=True))

    def _do(
        self,
        points: Sequence[Point],
        seeds: Sequence[int],
        do: Callable[..., Report],
        progress: Callable[[Advance], None] | None,
    ) -> None:
        tasks = []
        for point in {one.index: one for one in points}.values():
            for seed in seeds:
                if (key := self.plan.key(point, seed)) is not None:
                    prepare = partial(self.plan.prepare_again, point, seed, key)
                    tasks.append(Task(key, point.index, prepare, self.plan.keep))
        done = self._report.simulated + self._report.found
        total = self.objective.runs + len(self.plan.seeds) + (_FINALISTS + 1) * len(self.unseen)

        def told(advance: Advance) -> None:
            if progress is not None:
                progress(Advance(max(total, done + advance.complete), done + advance.complete))

        report = do(tasks, self.study.store, progress=told)
        self.study.measure(*dict.fromkeys(task.key for task in tasks))
        self._report.simulated += report.simulated
        self._report.found += report.found
        self.lost |= {key: outcome.message for key, outcome in report.failures.items()}
        self.study.begin()

    def _read(self, point: Point, seeds: Sequence[int]) -> dict[int, dict[str, float]]:
        """Returns the metrics of the objective for each seed with a result."""
        found: dict[int, dict[str, float]] = {}
        store = self.study.store
        for seed in seeds:
            key = self.plan.key(point, seed)
            if key is None or key in self.lost or not store.holds(key, ()) or store.failure(key) is not None:
                continue
            measured = metrics_of(store.summary(key)) | python_metrics.values(self.plan.measured, store, key)
            known = {name: float(value) for name in self.objective.metrics if (value := measured.get(name)) is not None}
            found[seed] = known | self._goals_set(point)
        return found

    def _goals_set(self, point: Point) -> dict[str, float]:
        """Returns the value of each goal that is a setting; the base's value for a point without the setting."""
        found = {}
        for goal in self.objective.goals:
            if goal.path is None:
                continue
            column = self.study.column(goal.metric)
            label = point.labels.get(goal.path, value_of(self.plan.document["scenario"], goal.path))
            # The base may have no number, such as an unlimited buffer.
            with contextlib.suppress(ValueError, TypeError):
                if (value := column.value(label)) is not None:
                    found[goal.metric] = float(value)
        return found

    def _excess(self, by_seed: Mapping[int, Mapping[str, float]]) -> tuple[float, ...]:
        return tuple(
            max((limit.excess(one.get(limit.metric)) for one in by_seed.values()), default=math.inf)
            for limit in self.objective.limits
        )

    def _tried(self, point: Point, shares: tuple[float, ...]) -> Tried:
        by_seed = self._read(point, self.plan.seeds)
        goals = [list(_of(by_seed, goal.metric).values()) for goal in self.objective.goals]
        whole = all(len(values) == len(self.plan.seeds) for values in goals)
        values = tuple(map(plain_statistics.fmean, goals)) if whole else None
        return Tried(point, shares, values, self._excess(by_seed))

    def _signed(self, values: Sequence[float]) -> tuple[float, ...]:
        return tuple(
            value if goal.is_least else -value for value, goal in zip(values, self.objective.goals, strict=True)
        )

    def front(self) -> list[Tried]:
        """Returns the settings within all limits, sorted by goals. With several goals: only undominated settings."""
        distinct = {one.point.index: one for one in self.tried if one.keeps}
        kept = sorted(distinct.values(), key=lambda one: self._signed(one.values or ()))
        if len(self.objective.goals) == 1:
            return kept
        found: list[Tried] = []
        for one in kept:
            mine = self._signed(one.values or ())
            others = [self._signed(other.values or ()) for other in kept if other is not one]
            if not any(all(a <= b for a, b in zip(other, mine, strict=True)) and other != mine for other in others):
                found.append(one)
        return found

    def _finalists(self) -> list[Tried]:
        found = self.front()
        if len(self.objective.goals) == 1:
            return found[:_FINALISTS]
        if len(found) <= _FRONT:
            return found
        return [found[round(index * (len(found) - 1) / (_FRONT - 1))] for index in range(_FRONT)]

    def _judge(self, base: Point, finalists: Sequence[Tried]) -> None:
        unseen = self._read(base, self.unseen)
        self.base = self._setting(base, {}) if self._read(base, self.plan.seeds) else None
        found = [self._setting(one.point, unseen) for one in finalists]
        if len(self.objective.goals) == 1:
            goal = self.objective.goals[0]

            def rank(one: Setting) -> tuple[bool, float]:
                known = one.unseen or one.seen
                mean = known[goal.metric].mean
                return not one.confirmed, mean if goal.is_least else -mean

            found.sort(key=rank)
        self.best = found
        self.warnings = list(self._warned())

    def _setting(self, point: Point, base: Mapping[int, Mapping[str, float]]) -> Setting:
        seen, unseen = self._read(point, self.plan.seeds), self._read(point, self.unseen)
        kept = sum(not any(self._excess({seed: one})) for seed, one in unseen.items())
        against = {
            goal.metric: statistics.compare(first, second)
            for goal in self.objective.goals
            if (first := _of(base, goal.metric)).keys() & (second := _of(unseen, goal.metric)).keys()
        }
        words = point_words(self.plan.columns, self.plan.values(point)) or "the base"
        return Setting(point, words, _intervals(seen), _intervals(unseen), kept, len(self.unseen), against)

    def _warned(self) -> list[str]:
        found = []
        shares = {one.point.index: one.shares for one in self.tried}
        best = [shares[one.point.index] for one in (self.best if len(self.objective.goals) > 1 else self.best[:1])]
        for place, factor in enumerate(self.factors):
            ends = [_edge(factor, one[place], self._is_ordered(factor) if factor.levels else True) for one in best]
            if ends and ends[0] and len(set(ends)) == 1:
                name = " and ".join(path.rpartition(".")[2] for path in factor.paths)
                which = "the best is" if len(self.objective.goals) == 1 else "all of the best are"
                value = _text(factor.at(0.0 if ends[0] == "low" else 1.0))
                found.append(f"{factor.key}: {which} at the {ends[0]} end of {name}, {value}: try a wider range")
        if lost := len(self.lost):
            found.append(f"{lost:,} runs were not done: {next(iter(self.lost.values()))}")
        found += [
            f"{one.words}: kept the limits with {one.kept} of {one.of} unseen seeds; {shown(self.objective, one)}"
            for one in self.best
            if not one.confirmed
        ]
        return found

    @property
    def conclusion(self) -> Conclusion:
        """The setting to run, if one was shown to be better than the base."""
        return conclude(self.objective, self.base, self.best)

    def nearest(self) -> Tried | None:
        """Returns the setting with a result and the least excess over the limits; None if no setting has a result."""
        known = [one for one in self.tried if one.values is not None]
        return min(known, key=lambda one: sum(one.excess), default=None)

    @property
    def plot(self) -> Figure:
        """The tried settings as a figure."""
        return draw(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Returns all findings as JSON can hold them."""
        plan = self.plan
        goals = [{"metric": goal.metric, "is": goal.words} for goal in self.objective.goals]
        limits = [
            {
                "metric": one.metric,
                "at_least": None if math.isinf(one.least) else one.least,
                "at_most": None if math.isinf(one.most) else one.most,
            }
            for one in self.objective.limits
        ]
        return {
            "name": plan.name,
            "directory": str(self.directory),
            "goals": goals,
            "constraints": limits,
            "factors": [self._factor(factor) for factor in self.factors],
            "seeds": list(plan.seeds),
            "unseen_seeds": list(self.unseen),
            "confidence": self.objective.confidence,
            "seeds_needed": {"breaking_at_most": self.objective.at_most, "seeds": self.objective.seeds_needed},
            "tried": [
                {
                    "point": plan.values(one.point),
                    "shares": list(one.shares),
                    "values": None if one.values is None else list(one.values),
                    "keeps": one.keeps,
                }
                for one in self.tried
            ],
            "base": None if self.base is None else self._document(self.base),
            "best": [self._document(one) for one in self.best],
            "warnings": self.warnings,
            "conclusion": self.conclusion.text,
            "recommended": None if (one := self.conclusion.recommended) is None else dict(one.point.settings),
        }

    def _factor(self, factor: Factor) -> dict[str, Any]:
        name = " and ".join(path.rpartition(".")[2] for path in factor.paths)
        count = len(factor.levels)
        places = [(one + 0.5) / count for one in range(count)] if factor.levels else [0.0, 0.5, 1.0]
        return {"name": name, "key": factor.key, "ticks": [[share, _text(factor.at(share))] for share in places]}

    def _document(self, one: Setting) -> dict[str, Any]:
        return {
            "settings": dict(one.point.settings),
            "words": one.words,
            "seen": {name: _json(interval) for name, interval in one.seen.items()},
            "unseen": {name: _json(interval) for name, interval in one.unseen.items()},
            "kept_limits": one.kept,
            "of": one.of,
            "confirmed": one.confirmed,
            "breaking_at_most": one.breaking_at_most(self.objective.confidence),
            "against_base": {
                name: {"relative": found.relative, "verdict": found.verdict, "difference": _json(found.difference)}
                for name, found in one.against.items()
            },
        }


def tune(
    source: str | Path | Mapping[str, Any],
    *,
    out: str | Path,
    runs: int | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    threads: int = 1,
    progress: Callable[[Advance], None] | None = None,
    allow_python: bool = False,
    python_timeout: float = TIMEOUT_SECONDS,
) -> Tuning:
    """Searches for the best settings of a study and returns the search; existing runs are not repeated.

    source: a study with ``objective``, such as ``{"base": "incast.toml", "axes": {"switch.ecn.step.threshold": {"from":
        "5KB", "to": "400KB"}}, "objective": {"minimise": "fct_p99_ps", "constraints": {"pfc_pauses": 0}}}``.
    out: the directory of its runs and tables, which need not exist.
    runs: replaces ``objective.runs``, the number of runs of the search.

    The other arguments are those of `Study` and `Study.run`. Raises `InputError` as `xoff.sweep` does.
    """
    tuning = Tuning(source, out, runs=runs, allow_python=allow_python, python_timeout=python_timeout)
    tuning.run(executor=executor, workers=workers, threads=threads, progress=progress)
    return tuning


def _number(columns: Mapping[str, Any], level: Level) -> float | None:
    """Returns the number of a level; None if it is not a number, or the level has several labels."""
    if len(level.labels) != 1:
        return None
    ((path, label),) = level.labels
    column = columns[path]
    return float(column.value(label)) if column.numeric and label is not None else None


def _edge(factor: Factor, share: float, is_ordered: bool) -> str:
    """Returns ``low`` or ``high`` for a share at an end, else an empty text; a list of two levels has no ends."""
    if factor.levels and (not is_ordered or len(factor.levels) < 3):
        return ""
    near = 1 / len(factor.levels) if factor.levels else _EDGE
    return "low" if share < near else "high" if share > 1 - near else ""


def _text(level: Level) -> str:
    return ", ".join(str(label) for _, label in level.labels)


def _of(by_seed: Mapping[int, Mapping[str, float]], metric: str) -> dict[int, float]:
    return {seed: one[metric] for seed, one in by_seed.items() if metric in one}


def _intervals(by_seed: Mapping[int, Mapping[str, float]]) -> dict[str, Interval]:
    names = dict.fromkeys(name for one in by_seed.values() for name in one)
    return {name: statistics.positive(list(_of(by_seed, name).values())) for name in names}


def _json(interval: Interval) -> dict[str, Any]:
    return {"mean": interval.mean, "low": interval.low, "high": interval.high, "seeds": interval.count}
