"""The page of a study."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from matplotlib.figure import Figure

from xoff import formatting, plots
from xoff._core import InputError
from xoff.files.safe_read import read_json
from xoff.report import charts, topology
from xoff.report.narrative import tell, value
from xoff.report.page import Again, Cell, Network, Page, Picture, Table, document_text, table
from xoff.report.run_page import audits, drawing
from xoff.results import Result
from xoff.study import Study, differences, effects, tune_figure
from xoff.study.axes import OF_VARIANTS, VARIANT, leaves, read_axes
from xoff.study.effects import Effects
from xoff.study.figures import draw_effects, words
from xoff.study.means import by_point

_FEW = 20
_NETWORKS = 12
_PANELS = 24
# Maximum number of points in a figure of bars.
_BARS = 40
_PICTURES = 8


def build(study: Study) -> Page:
    """Returns the page of a study. Raises `InputError` if no run of it has a result."""
    plan, status = study.plan, study.status()
    results = study.results()
    if not results:
        raise InputError(f"{study.directory}: no run of this study has a result yet")
    _, _, first = results[0]
    metrics = study.metrics()
    decided = effects.shown(study) if plan.design is not None else []
    search = searched(study)
    facts = [
        ("points", f"{len(plan.points):,}"),
        ("seeds", _seeds(plan.seeds)),
        ("runs", f"{status.complete:,} of {status.total:,} complete"),
    ]
    if status.failed or status.impossible:
        facts.append(("without result", f"{status.failed:,} failed, {status.impossible:,} impossible"))
    facts.append(("engine", f"xoff {first.summary.get('version')}"))
    page = Page(
        title=plan.name,
        subtitle=plan.description,
        facts=facts,
        story=[("Parameters", _varies(study)), *_base(study)],
        again=Again(
            "xoff sweep study.json --out study",
            "study.json",
            document_text(plan.document),
            "Every run has a fingerprint in runs.parquet: equal fingerprints prove equal runs, event for event.",
        ),
        audits=audits(_worst(study, results)),
        failures=_failures(study),
        warnings=[f"{warning} ({count:,} of {status.total:,} runs)" for warning, count in study.warnings.items()],
        measured=list(_measured(study, metrics)),
        effects=[*_pictures(decided), *_search(search), *_differences(study, metrics)],
        charts=list(_charts(study, metrics)),
        tables=[*_effects(decided), _means(study, metrics), *_comparisons(study, metrics), _runs(study)],
        figures=_drawn(study, metrics, decided, search),
    )
    page.networks = list(_networks(study, results))
    if page.networks:
        page.use_colours, page.paused_colours = topology.legend(topology.USE), topology.legend(topology.PAUSED)
    return page


def searched(study: Study) -> dict[str, Any] | None:
    """Returns the findings of a search, if the study is a search that has ended; else None.

    Raises `InputError` if the file of the findings is damaged.
    """
    if "objective" not in study.plan.document:
        return None
    file = study.directory / tune_figure.DOCUMENT
    try:
        found: dict[str, Any] = read_json(file)
        tune_figure.check(found)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: cannot be read ({error}); `xoff tune` writes it anew") from None
    return found


def _search(found: dict[str, Any] | None) -> Iterator[Picture]:
    """Yields the figure of a search, with its findings."""
    if found is not None:
        said = found.get("conclusion")
        notes = [said] if isinstance(said, str) else []
        notes += [f"Among the best: {one['words']}." for one in found["best"][:_FEW]] + found["warnings"]
        yield Picture("The search", plots.svg(tune_figure.draw(found)), notes or ["No setting keeps the limits."])


def _drawn(
    study: Study, metrics: list[str], decided: list[Effects], searched: dict[str, Any] | None
) -> dict[str, Callable[[], Figure]]:
    if study.plan.design is not None:
        return _bars(decided)
    if "objective" in study.plan.document:
        return {} if searched is None else {"tune": partial(tune_figure.draw, searched)}
    return _figures(study, metrics)


def _seeds(seeds: tuple[int, ...]) -> str:
    if len(seeds) > 3 and list(seeds) == list(range(seeds[0], seeds[-1] + 1)):
        return f"{len(seeds)} ({seeds[0]} to {seeds[-1]})"
    return ", ".join(map(str, seeds))


def _base(study: Study) -> list[tuple[str, list[str]]]:
    """Returns the base scenario in words, without the seed. Variants may replace parts of the base."""
    told = [one for one in tell(study.plan.document["scenario"]) if one[0] != "Seed"]
    return [(f"{heading} of the base", lines) for heading, lines in told] if study.plan.columns else told


def _varies(study: Study) -> list[str]:
    plan = study.plan
    lines = [f"{plan.design.words()}."] if plan.design is not None else []
    for column in plan.columns:
        if column.path == VARIANT:
            lines += [_variant(name, changes) for name, changes in plan.document["variants"].items()]
            continue
        values = dict.fromkeys(column.value(point.labels.get(column.path)) for point in plan.points)
        known = [value for value in values if value is not None]
        shown = ", ".join(map(column.text, known))
        if plan.design is not None and column.numeric and len(known) > _FEW:
            shown = f"{len(known)} values from {column.text(min(known))} to {column.text(max(known))}"
        lines.append(f"{column.path}: {shown}.")
    return lines or ["Only the seed."]


def _variant(name: str, changes: Mapping[str, Any]) -> str:
    fixed = leaves({key: part for key, part in changes.items() if key not in OF_VARIANTS})
    own = [axis.path for axis in read_axes(changes.get("axes", {}), "axes")]
    parts = [f"without {path}" for path in changes.get("unset", [])]
    parts += [*(f"{path} {value(part)}".rstrip() for path, part in fixed), *(f"{path} as below" for path in own)]
    return f"“{name}”: {', '.join(parts) or 'the base'}."


def _worst(study: Study, results: list[tuple[Any, int, Result]]) -> dict[str, str]:
    """Returns the worst state of each audit over all runs, runs without result included."""
    store = study.store
    states = [result.audits for _, _, result in results]
    states += [store.failed_audits(run.key) for run in study.plan.runs if store.failure(run.key) is not None]
    found: dict[str, str] = {}
    for one in states:
        for name, state in one.items():
            if name not in found or _severity(state) > _severity(found[name]):
                found[name] = state
    return found


def _severity(state: str) -> int:
    return 0 if state == "ok" else 2 if state.startswith("failed") else 1


def _failures(study: Study) -> list[str]:
    plan = study.plan
    lines = []
    for run in plan.runs:
        if (failure := study.store.failure(run.key)) is not None:
            lines.append(f"{plan.coordinates(run.point, run.seed)}: {failure[1]}")
    impossible = {(plan.coordinates(one.point), one.message): None for one in plan.impossible}
    return [*lines, *(f"{where}: impossible: {message}" for where, message in impossible)]


def _pictures(decided: list[Effects]) -> Iterator[Picture]:
    """Yields the effects on each metric as bars."""
    for index, found in enumerate(decided):
        notes = [*found.notes, *([effects.LEGENDS[found.design.method] + "."] if not index else [])]
        yield Picture(words(found.metric), plots.svg(draw_effects(found)) if found.rows else "", notes)


def _bars(decided: list[Effects]) -> dict[str, Callable[[], Figure]]:
    return {f"effects_{found.metric}": partial(draw_effects, found) for found in decided if found.rows}


def _effects(decided: list[Effects]) -> Iterator[Table]:
    for found in decided:
        heads, rows = effects.by_factor(found)
        cells = [[Cell(text, key) for text, key in row] for row in rows]
        yield Table(f"Effects on {words(found.metric)}", heads, cells, f"{found.design.words()}.")


def _charts(study: Study, metrics: list[str]) -> Any:
    if study.plan.design is not None or "objective" in study.plan.document:
        # A design or a search has many points, which no line connects.
        return
    plot = study.plot
    x = plot.x()
    if x is not None:
        for index, metric in enumerate(metrics):
            panels = [
                charts.metric(f"m{index}p{number}", metric, x, panel)
                for number, panel in enumerate(plot.panels(metric, x))
            ]
            yield {"id": f"m{index}", "title": f"{words(metric)} against {words(x.name)}", "charts": panels}
    if "flows" in study.plan.keep and _enough(study):
        found, every = plot.flow_panels(_PANELS)
        if not found:
            # All flows are connections of jobs.
            return
        part = "" if len(found) == every else f", {len(found)} of {every} points"
        cdfs = [charts.cdf(f"c{index}", title or "all points", flows) for index, (title, flows) in enumerate(found)]
        yield {"id": "fct", "title": f"Flow completion times, all seeds together{part}", "charts": cdfs}
        bins = [
            charts.slowdown(f"s{index}", title or "all points", flows) for index, (title, flows) in enumerate(found)
        ]
        yield {"id": "slowdown", "title": f"Slowdown by flow size, in bins of equally many flows{part}", "charts": bins}


def _enough(study: Study) -> bool:
    """Whether points have enough flows for distributions."""
    runs = study.runs
    delivered = sum(runs["flows_completed"].drop_null().to_pylist()) if "flows_completed" in runs.column_names else 0
    return bool(delivered >= _FEW * len(study.plan.points))


def _figures(study: Study, metrics: list[str]) -> dict[str, Callable[[], Figure]]:
    plot = study.plot
    made: dict[str, Callable[[], Figure]] = {}
    if plot.x() is not None or len(study.plan.points) <= _BARS:
        made = {metric: partial(plot.metric, metric) for metric in metrics}
    if len(study.plan.points) <= _BARS and sum(one.endswith("fct_mean_ps") for one in metrics) > 1:
        made["fct_bars"] = plot.bars
    if "flows" in study.plan.keep and _enough(study) and plot.flow_panels(1)[0]:
        made |= {"fct_cdf": plot.fct_cdf, "slowdown_by_size": plot.slowdown_by_size}
    found = differences.of_study(study, metrics)
    if differences.can_be_drawn(found):
        made["differences"] = partial(differences.draw, study, found)
    return made


def _differences(study: Study, metrics: list[str]) -> Iterator[Picture]:
    """Yields the differences of all metrics from the first variant, if they can be drawn."""
    found = differences.of_study(study, metrics)
    if differences.can_be_drawn(found):
        cost = differences.price(study, metrics)
        title = f"Differences from {study.plan.columns[0].text(study.variants()[0])}"
        yield Picture(title, plots.svg(differences.draw(study, found)), [cost] if cost else [])


def _measured(study: Study, metrics: list[str]) -> Iterator[Picture]:
    """Yields bars of the metrics if no parameter is numeric."""
    is_designed = study.plan.design is not None or "objective" in study.plan.document
    if is_designed or study.plot.x() is not None or not 1 < len(study.plan.points) <= _BARS:
        return
    for metric in metrics[:_PICTURES]:
        yield Picture(words(metric), plots.svg(study.plot.bars(metric)), [])


def _means(study: Study, metrics: list[str]) -> Table:
    heads, rows = by_point(study, metrics)
    seeds = study.seeds_with_result()
    note = (
        "After each mean: the 95 % confidence interval over the seeds, as ± half width, or as both ends."
        if len(study.plan.seeds) > 1
        else ""
    )
    if any(count < len(study.plan.seeds) for count in seeds.values()):
        note += " A mean over fewer seeds than others covers only seeds with a result: the worst seeds may be missing."
    return Table("Means by point", heads, [[Cell(text, key) for text, key in row] for row in rows], note)


def _comparisons(study: Study, metrics: list[str]) -> Any:
    columns = study.plan.columns
    if not columns or len(study.variants()) < 2 or study.plan.design is not None or "objective" in study.plan.document:
        return
    first, others = columns[0], columns[1:]
    base = first.text(study.variants()[0])
    several = len(study.plan.seeds) > 1
    heads = [
        first.key,
        *(column.key for column in others),
        "metric",
        "difference",
        "relative",
        *(["is"] if several else []),
    ]
    rows = []
    for metric in metrics:
        for name, one in study.against_first(metric):
            found = one.comparison
            scale, unit = formatting.scale(found.difference.mean, metric)
            margin = formatting.spread(found.difference.mean, found.difference.low, found.difference.high, scale)
            difference = f"{formatting.number(found.difference.mean / scale, 4)}{margin} {unit}".rstrip()
            relative = Cell("–") if found.relative is None else Cell(f"{found.relative:+.1%}", found.relative)
            rows.append([
                Cell(first.text(name), name),
                *(Cell(column.text(one.point[column.name]), one.point[column.name]) for column in others),
                Cell(words(metric), metric),
                Cell(difference, found.difference.mean),
                relative,
                *([Cell(found.verdict, found.verdict)] if several else []),
            ])  # fmt: skip
    note = (
        "Paired by seed. “lower” and “higher” mean that the 95 % interval of the ratio excludes one, or that of "
        "the difference zero if no ratio exists."
        if several
        else "One seed cannot tell a difference from chance; several seeds can."
    )
    yield Table(
        f"Compared with {first.key} {base}" if first.path != "variant" else f"Compared with {base}", heads, rows, note
    )


def _runs(study: Study) -> Table:
    heads = {column.name: column.key for column in study.plan.columns}
    heads |= {"seed": "seed", "status": "status", "fingerprint": "fingerprint", "run": "directory"}
    rows = [row | {"run": f"runs/{row['run']}" if row["run"] else None} for row in study.runs.to_pylist()]
    note = "Each directory is a result: xoff report and xoff.load read it."
    return table("Runs", heads, rows, note=note)


def _networks(study: Study, results: list[tuple[Any, int, Result]]) -> Any:
    """Yields the network of the first run of each value of the first column, if links are kept."""
    seen: set[Any] = set()
    columns = study.plan.columns
    for point, seed, result in results:
        value = point[columns[0].name] if columns else None
        if value in seen or len(seen) >= _NETWORKS or "links" not in result.tables:
            continue
        seen.add(value)
        title = ", ".join(
            f"{column.key} {column.text(point[column.name])}" for column in columns if point[column.name] is not None
        )
        flows = result.flows if "flows" in result.tables else None
        found = drawing(f"{title}, seed {seed}", result, flows)
        yield Network(found.title, found.svg, found.note)
