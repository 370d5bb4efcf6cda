"""The effects of the factors of a designed study on a metric, with intervals.

A screening gives an effect for each seed, and the interval of the mean effect over the seeds. All points run with the
same seeds: a common influence of a seed cancels in each effect. The methods of Morris and Sobol use the mean over the
seeds. Their intervals combine two margins, by adding the squares: the margin of the drawn places (SALib's bootstrap
over trajectories or samples), and the margin of the seeds (Student's, over the effects of each seed alone).

A missing metric of a run is never substituted. Effects that depend on a missing metric are left out, and
`Effects.notes` lists such effects.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from xoff import formatting
from xoff._core import InputError
from xoff.statistics import Interval, factorial, interval
from xoff.statistics.factorial import Effect
from xoff.study.design import Design, problem

if TYPE_CHECKING:
    from xoff.study import Study

WITHOUT_RESULT = "without_result"
"""A metric of designs: 1 for a run without a result, else 0."""
_RESAMPLES = 1000
# Measures that cannot be negative, whose intervals end at zero.
_POSITIVE = ("mu_star", "total")
# The measures by which the effects of a design are ordered.
LEADING = {"screening": ("main", "pair"), "morris": ("mu_star",), "sobol": ("total",)}


@dataclass(frozen=True, slots=True)
class Effects:
    """The effects on one metric."""

    metric: str
    design: Design
    rows: tuple[Effect, ...]
    """The effects, the largest first; empty if too many runs are missing."""
    notes: tuple[str, ...]
    """Notes for readers: omitted runs, and limits of the effects."""
    runs: int
    """The number of runs with the metric."""
    mean: float | None
    """The mean over these runs."""

    def of(self, *factors: str) -> Effect:
        """Returns the effect of a factor or pair; for methods with several measures, ``mu_star`` or ``total``.

        Raises `LookupError` if there is no such effect.
        """
        for row in self.rows:
            for names in (row.factors, *row.aliases):
                if set(names) == set(factors) and (len(factors) > 1 or row.measure in LEADING[self.design.method]):
                    return row
        known = ", ".join(row.name for row in self.rows)
        raise LookupError(f"unknown effect {' × '.join(factors)}; known are {known or 'none'}")

    @property
    def table(self) -> pa.Table:
        """The effects as an Arrow table, one row each."""
        return table([self])


_FIELDS = pa.schema([
    ("metric", pa.string()), ("factor", pa.string()), ("with", pa.string()), ("measure", pa.string()),
    ("effect", pa.float64()), ("low", pa.float64()), ("high", pa.float64()), ("same_as", pa.string()),
    ("design", pa.string()), ("runs", pa.int64()),
])  # fmt: skip


def table(found: Sequence[Effects]) -> pa.Table:
    """Returns the effects on several metrics as an Arrow table, one row each."""
    return pa.Table.from_pylist([row for one in found for row in documents(one)], _FIELDS)


def documents(found: Effects) -> list[dict[str, Any]]:
    """Returns the effects on one metric as rows of a table."""
    return [
        {
            "metric": found.metric,
            "factor": row.factors[0],
            "with": row.factors[1] if len(row.factors) > 1 else None,
            "measure": row.measure,
            "effect": row.interval.mean,
            "low": row.interval.low,
            "high": row.interval.high,
            "same_as": ", ".join(" × ".join(names) for names in row.aliases) or None,
            "design": found.design.method,
            "runs": found.runs,
        }
        for row in found.rows
    ]


NOT_TOLD = "confounded with"
_MEASURES = {
    "screening": {"": "effect"},
    "morris": {"mu_star": "µ*", "mu": "µ", "sigma": "σ"},
    "sobol": {"first": "first order", "total": "total order", "pair": "pair"},
}
LEGENDS = {
    "screening": "the change from the first level to the last, averaged over all else; of a pair, half of the "
    "difference between the changes by one factor at the last and the first level of the other",
    "morris": "µ*: the mean absolute change over the whole range; µ: the mean change; σ: the spread of changes over "
    "the values of the other factors",
    "sobol": "shares of the variance: first order, of a factor alone; total order, with all interactions of the factor",
}
"""Explanations of the measures of each method."""


def by_factor(found: Effects) -> tuple[list[str], list[list[tuple[str, Any]]]]:
    """Returns heads and rows: a factor or pair, its levels and its measures, each as text and sort key."""
    method = found.design.method
    rows: dict[tuple[Any, Any], dict[str, Effect]] = {}
    for row in found.rows:
        rows.setdefault((row.factors, row.aliases), {})[row.measure if method != "screening" else ""] = row
    shared, measures = any(row.aliases for row in found.rows), _MEASURES[method]
    if not found.design.options.get("pairs", True):
        measures = {key: head for key, head in measures.items() if key != "pair"}
    scale, unit = formatting.scale(max((abs(row.interval.mean) for row in found.rows), default=0.0), found.metric)
    if method == "sobol":
        scale, unit = 1, ""
    heads = ["factor", "from", "to", *(f"{head} ({unit})" if unit else head for head in measures.values())]
    heads += ["of the mean", "is"] if method == "screening" else []
    heads += [NOT_TOLD] if shared else []
    ends = dict(zip(found.design.factors, found.design.ends, strict=True))
    made = []
    for (factors, aliases), by_measure in rows.items():
        first, last = ends[factors[0]] if len(factors) == 1 else ("", "")
        name = " × ".join(factors)
        cells: list[tuple[str, Any]] = [(name, name), (first, first), (last, last)]
        cells += [_cell(by_measure.get(measure), scale) for measure in measures]
        if method == "screening":
            row = by_measure[""]
            share = row.interval.mean / found.mean if found.mean else None
            cells += [("–" if share is None else f"{share:+.1%}", share), (row.verdict, row.verdict)]
        others = ", ".join(" × ".join(names) for names in aliases)
        made.append([*cells, *([(others, others)] if shared else [])])
    return heads, made


def _cell(row: Effect | None, scale: float) -> tuple[str, Any]:
    if row is None:
        return "", None
    margin = f" ± {formatting.number(row.interval.margin / scale, 3)}" if row.interval.margin else ""
    return f"{formatting.number(row.interval.mean / scale, 4)}{margin}", row.interval.mean


def effects(study: Study, metric: str) -> Effects:
    """Returns the effects on a metric of a study. Raises `InputError` without a design, or without such a metric."""
    design = study.plan.design
    if design is None:
        raise InputError('effects: the study has no design; set `design = "screening"`, "morris" or "sobol" in it')
    values, notes = _values(study, metric)
    rows, more = of_values(design, values, study.plan.seeds)
    every = [value for by_seed in values for value in by_seed.values()]
    return Effects(metric, design, tuple(rows), (*notes, *more), len(every), fmean(every) if every else None)


def of_values(
    design: Design, values: Sequence[Mapping[int, float]], seeds: Sequence[int]
) -> tuple[list[Effect], list[str]]:
    """Returns the effects on the values of each point, the largest first, and notes on them.

    values: for each point of the design, the values by seed; a missing seed has no value.
    """
    method = _screening if design.method == "screening" else _sampled
    rows, notes = method(design, values, seeds)
    order = {name: index for index, name in enumerate(design.factors)}
    leads = LEADING[design.method]
    size = {row.name: abs(row.interval.mean) for row in rows if row.measure in leads}
    rows.sort(key=lambda row: (-size.get(row.name, 0.0), [order[name] for name in row.factors]))
    return rows, notes


def _values(study: Study, metric: str) -> tuple[list[dict[int, float]], list[str]]:
    """Returns the metric of each point, by seed, and notes on points without the metric."""
    found: list[dict[int, float]] = [{} for _ in study.plan.points]
    every = len(found) * len(study.plan.seeds)
    if metric == WITHOUT_RESULT:
        for one in study.plan.impossible:
            found[one.point.index][one.seed] = 1.0
    else:
        study.check_metric(metric)
    column = "status" if metric == WITHOUT_RESULT else metric
    counts = [name for name in ("flows_completed", "flows_total") if name in study.runs.column_names]
    rows = {row["run"]: row for row in study.runs.select([*dict.fromkeys(["run", column, *counts])]).to_pylist()}
    cut = 0
    for run in study.plan.runs:
        row = rows.get(run.key, {})
        if row.get(column) is None:
            continue
        found[run.point.index][run.seed] = float(row[column] != "ok" if metric == WITHOUT_RESULT else row[column])
        if len(counts) == 2 and row["flows_total"] is not None:
            cut += row["flows_completed"] < row["flows_total"]
    notes = []
    lacking = every - sum(map(len, found))
    if lacking:
        notes.append(f"{lacking:,} of {every:,} runs do not have this number; none is imputed")
    if cut and any(word in metric for word in ("fct", "slowdown")):
        notes.append(f"in {cut:,} runs not all flows were complete at the end, and the others are not in this number")
    return found, notes


def _screening(
    design: Design, values: Sequence[Mapping[int, float]], seeds: Sequence[int]
) -> tuple[list[Effect], list[str]]:
    runs = [values[point] for point in design.points]
    shared = set(runs[0]).intersection(*runs[1:])
    if not shared:
        return [], ["no seed has this number in every run: no effects can be computed"]
    notes = []
    if len(shared) < len(seeds):
        notes.append(f"{len(shared)} of {len(seeds)} seeds have this number in every run; only these count")
    if len(shared) == 1:
        notes.append("one seed gives no interval; use `seeds = 3` or more")
    return factorial.effects(design.factors, runs, design.levels()), notes


def _sampled(
    design: Design, values: Sequence[Mapping[int, float]], seeds: Sequence[int]
) -> tuple[list[Effect], list[str]]:
    blocks = design.blocks(lambda point: len(values[point]) == len(seeds))
    every = len(design.rows) // design.block
    what = "trajectories" if design.method == "morris" else "samples"
    if len(blocks) < design.least:
        return [], [
            f"{len(blocks)} of {every} {what} have this number in every run; at least {design.least} are needed"
        ]
    notes = (
        [f"{len(blocks)} of {every} {what} have this number in every run; only these count"]
        if len(blocks) < every
        else []
    )
    rows = [row for block in blocks for row in block]
    by_seed = [[values[design.points[row]][seed] for row in rows] for seed in seeds]
    means = [math.fsum(one) / len(seeds) for one in zip(*by_seed, strict=True)]
    if design.method == "sobol" and not _varies(design, means):
        why = (
            "the same in all runs"
            if len(set(means)) == 1
            else "equal at both ends of all samples; more samples may show a change"
        )
        return [], [*notes, f"the metric is {why}: no variance to divide"]
    places = [design.rows[row] for row in rows]
    found = _analysed(design, places, means, _RESAMPLES)
    # Of a single seed only the mean effect is used.
    each = [_analysed(design, places, one, 2) for one in by_seed if _varies(design, one)] if len(seeds) > 1 else []
    effects = [
        Effect(names, measure, _widened(one, [other[names, measure].mean for other in each], measure in _POSITIVE))
        for (names, measure), one in found.items()
    ]
    return effects, notes


def _varies(design: Design, values: Sequence[float]) -> bool:
    """Whether there is a variance to divide: the values at the first and last places of Sobol samples differ."""
    if design.method == "morris":
        return True
    return len({values[row] for row in range(len(values)) if row % design.block in {0, design.block - 1}}) > 1


def _widened(found: Interval, by_seed: Sequence[float], is_positive: bool) -> Interval:
    """Returns an interval with the margin of the seeds added to the margin of the places."""
    if found.high is None:
        return found
    margin = found.high - found.mean
    if len(by_seed) > 1:
        margin = math.hypot(margin, interval(by_seed).margin or 0.0)
    low = found.mean - margin
    return Interval(found.mean, max(low, 0.0) if is_positive else low, found.mean + margin, found.count)


def _analysed(
    design: Design, places: Sequence[Sequence[float]], values: Sequence[float], resamples: int
) -> dict[tuple[tuple[str, ...], str], Interval]:
    """Returns SALib's effects by factor or pair, and measure."""
    import numpy

    given = problem(len(design.factors))
    options, seed, count = design.options, design.options["seed"], len(values) // design.block
    analyze = _analyzer(design.method)
    outputs = numpy.asarray(values, dtype=float)
    if design.method == "morris":
        made = analyze(
            given, numpy.asarray(places, dtype=float), outputs,
            num_levels=options["levels"], num_resamples=resamples, seed=seed,
        )  # fmt: skip
        measures = {"mu_star": ("mu_star", "mu_star_conf"), "mu": ("mu", None), "sigma": ("sigma", None)}
    else:
        pairs = options["pairs"]
        with warnings.catch_warnings():
            # SALib warns of a resample with constant values, whose effect is zero.
            warnings.filterwarnings("ignore", "Constant values encountered", UserWarning)
            made = analyze(given, outputs, calc_second_order=pairs, num_resamples=resamples, seed=seed)
        measures = {"first": ("S1", "S1_conf"), "total": ("ST", "ST_conf")}
    found: dict[tuple[tuple[str, ...], str], Interval] = {
        ((name,), measure): _around(made[key][index], made[margin][index] if margin else None, count)
        for index, name in enumerate(design.factors)
        for measure, (key, margin) in measures.items()
    }
    if design.method == "sobol" and options["pairs"]:
        for (one, first), (other, second) in itertools.combinations(enumerate(design.factors), 2):
            found[(first, second), "pair"] = _around(made["S2"][one, other], made["S2_conf"][one, other], count)
    return found


def _analyzer(method: str) -> Any:
    try:
        from SALib.analyze import morris, sobol
    except ImportError:
        raise InputError(
            f'design: {method} needs SALib, which is not installed; install it with: pip install "xoff[design]"'
        ) from None
    return {"morris": morris, "sobol": sobol}[method].analyze


def _around(mean: Any, margin: Any, count: int) -> Interval:
    mean = float(mean)
    if margin is None:
        return Interval(mean, None, None, count)
    return Interval(mean, mean - float(margin), mean + float(margin), count)


def shown(study: Study) -> list[Effects]:
    """Returns the effects on the metrics that the study shows first, and on the lack of a result if runs have none."""
    metrics: Mapping[str, None] = dict.fromkeys(study.metrics())
    lacking = any(status != "ok" for status in study.runs["status"].to_pylist())
    return [effects(study, metric) for metric in (*metrics, *([WITHOUT_RESULT] if lacking else []))]
