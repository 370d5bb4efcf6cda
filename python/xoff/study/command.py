"""The command ``xoff sweep``: runs a study, or reports its progress."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Any

from rich.markup import escape

from xoff import display, formatting, running
from xoff._core import InputError
from xoff.functions import TIMEOUT_SECONDS, Functions
from xoff.running.replacing import check_study
from xoff.statistics import Interval
from xoff.study import Report, Status, Study, effects
from xoff.study.axes import VARIANT
from xoff.study.examination import look_at, reason
from xoff.study.figures import words
from xoff.study.plan import Impossible, Plan, begin

# Maximum number of mistakes printed.
_ROWS = 30
_LOOKED_AT = 2_000
"""Maximum number of points that `xoff check` examines; of more points, a sample of this size."""
_NOTHING_RANDOM = "Every seed gave the same result: the scenario has no random choice, and one seed is enough"


def command(
    file: Path,
    *,
    out: Path | None,
    status: bool,
    shard: str,
    workers: int | None,
    threads: int,
    dask: str | None,
    rows: int | None,
    as_json: bool,
    keep: Sequence[str] = (),
    force: bool = False,
    allow_python: bool = False,
    python_timeout: float = TIMEOUT_SECONDS,
) -> int:
    """Runs ``xoff sweep``; returns the exit code: 0 if every run has a result, else 1.

    rows: maximum number of points and comparisons printed; all if None.
    """
    part = _shard(shard)
    with display.PlanBar() as planning:
        study = Study(
            file,
            out if out is not None else place_of(file),
            progress=planning.report,
            keep=keep,
            allow_python=allow_python,
            python_timeout=python_timeout,
        )
    if status:
        _show_status(study, as_json)
        return 0
    study.allow = partial(check_study, study.directory, study.plan.name, force=force)
    study.allow()
    _warn_impossible(study)
    _announce(study)
    try:
        with executor_of(dask) as executor, display.StudyBar() as bar:
            bar.begin(escape(study.plan.name))
            report = study.run(executor=executor, workers=workers, threads=threads, shard=part, progress=bar.report)
    except KeyboardInterrupt:
        print(formatting.plain(f"xoff: {kept(study)}"), file=sys.stderr)
        raise
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise OSError(error.errno, f"{where}{error.strerror or error}: {kept(study)}") from None
    found = study.status()
    if as_json:
        print(json.dumps(_machine(study, found, report)))
    else:
        _show(study, found, report, part, rows)
    is_lost = found.missing and part == (1, 1)
    return 0 if not (found.failed or found.impossible or report.failures or is_lost) else 1


def place_of(file: Path) -> Path:
    """Returns the default directory of a study: a folder of its own for each file below the current directory."""
    folders = Path(os.path.relpath(file.parent)).parts
    # A file outside the current directory is named by its own folder.
    known = [file.absolute().parent.name] if ".." in folders else folders
    return Path("out") / "-".join([*known, file.stem])


def check(file: Path, functions: Functions, *, as_json: bool) -> int:
    """Checks each point of a study without running it; returns the exit code: 1 if some points are impossible."""
    plan = begin(file, functions=functions)
    with display.PlanBar() as planning:
        looked_at = look_at(plan, _LOOKED_AT, planning.report)
    whole = len(looked_at) == len(plan.points)
    found: dict[str, list[str]] = {}
    reports: list[dict[str, Any]] = []
    cannot_start: list[Impossible] = []
    first = {run.point.index: run for run in reversed(plan.runs)}
    with display.PlanBar("Checking", "points") as checking:
        for number, point in enumerate(point for point in looked_at if point.index in first):
            checking.report(number, len(first))
            prepared = plan.prepare_again(point, first[point.index].seed, first[point.index].key)
            try:
                report = running.check_prepared(prepared)
            except InputError as error:
                cannot_start.append(Impossible(point, first[point.index].seed, str(error)))
                continue
            reports.append({"point": plan.values(point), **{key: report[key] for key in ("network", "workload")}})
            for one in report["warnings"]:
                found.setdefault(f"{one['path']}: {one['message']}", []).append(plan.coordinates(point))
    if cannot_start and not reports:
        raise InputError(reason(plan, cannot_start[0].point, cannot_start[0].message, starts=True))
    plan.impossible += cannot_start
    lost = {one.point.index for one in cannot_start}
    plan.runs = [run for run in plan.runs if run.point.index not in lost]
    impossible = _groups(plan)
    # The points outside the sample may be impossible.
    runs = len(plan.runs) if whole else len(plan.points) * len(plan.seeds)
    if as_json:
        print(
            json.dumps(
                {
                    "name": plan.name,
                    "points": reports,
                    "seeds": list(plan.seeds),
                    "runs": runs,
                    "checked": len(looked_at),
                    "impossible": [{"point": where, "message": message} for where, message in impossible],
                    "warnings": [{"message": message, "points": points} for message, points in found.items()],
                }
            )
        )
        return 1 if impossible else 0
    seeds = f"{len(plan.seeds)} seed{'s' if len(plan.seeds) > 1 else ''}"
    verdict = "is valid" if not impossible else "has combinations that are impossible"
    count = len(first) - len(lost) if whole else len(plan.points)
    points = f"{count:,} point{'s' if count != 1 else ''}"
    display.out.print(f"[b]{escape(str(file))}[/b] {verdict}: {points}, {seeds}, {runs:,} runs")
    if not whole:
        display.out.print(f"{len(looked_at):,} were checked: first and last values, others at random")
    if plan.design is not None:
        display.out.print(escape(plan.design.words()))
    for where, message in impossible[:_ROWS]:
        display.out.print(f"[red]impossible[/red] {escape(where)}: {escape(message)}")
    for message, where_found in list(found.items())[:_ROWS]:
        shown = "; ".join(where_found[:3]) + (f"; … {len(where_found):,} points in all" if len(where_found) > 3 else "")
        display.out.print(f"[yellow]warning[/yellow] {escape(message)} ({escape(shown)})")
    if (more := len(impossible[_ROWS:]) + len(list(found)[_ROWS:])) > 0:
        display.out.print(f"… and {more:,} more (--json lists all)")
    return 1 if impossible else 0


def kept(study: Study) -> str:
    """Returns a sentence on the runs of a stopped study that are kept."""
    found = study.status()
    return (
        f"{found.complete + found.failed} of {found.total} runs are complete and kept in {study.directory}; "
        "the same command runs the others"
    )


def _shard(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise InputError(f"--shard: `{text}` was given; I/N with 1 ≤ I ≤ N is needed, such as 1/4")
    return int(found[1]), int(found[2])


@contextlib.contextmanager
def executor_of(dask: str | None) -> Iterator[Executor | None]:
    """Yields the workers of a Dask scheduler, or None if no scheduler is given."""
    if dask is None:
        yield None
        return
    from xoff.study.cluster import connected

    with connected(dask) as executor:
        yield executor


def _groups(plan: Plan) -> list[tuple[str, str]]:
    """Returns each impossible combination and the reason; once, if the reason holds for every seed."""
    seeds: dict[tuple[int, str], list[int]] = {}
    for one in plan.impossible:
        seeds.setdefault((one.point.index, one.message), []).append(one.seed)
    return [
        (plan.coordinates(plan.points[index], None if len(found) == len(plan.seeds) else found[0]), message)
        for (index, message), found in seeds.items()
    ]


def _warn_impossible(study: Study) -> None:
    groups = _groups(study.plan)
    for where, message in groups[:_ROWS]:
        print(formatting.shown(f"xoff: impossible: {where}: {message}"), file=sys.stderr)
    if len(groups) > _ROWS:
        print(f"xoff: … and {len(groups) - _ROWS:,} more impossible combinations", file=sys.stderr)


def _announce(study: Study) -> None:
    """Prints the size of a design before it is run."""
    design, found = study.plan.design, study.status()
    if design is not None:
        seeds = f"{len(study.plan.seeds)} seed{'s' if len(study.plan.seeds) > 1 else ''}"
        there = f"; {found.complete + found.failed:,} are there" if found.complete + found.failed else ""
        runs = f"{len(study.plan.points):,} points × {seeds}: {found.total:,} runs{there}"
        display.err.print(f"xoff: {escape(design.words())}\nxoff: {runs}")


def _show_status(study: Study, as_json: bool) -> None:
    found = study.status()
    if as_json:
        print(json.dumps(_machine(study, found, None)))
        return
    table = display.table("", "", title=escape(study.plan.name))
    table.show_header = False
    counts = [
        ("runs", found.total),
        ("complete", found.complete),
        ("failed", found.failed),
        ("missing", found.missing),
        ("impossible combinations", found.impossible),
        ("runs of earlier versions of the study", found.others),
    ]
    for what, count in counts:
        if count or what in {"runs", "complete", "missing"}:
            table.add_row(what, f"{count:,}")
    display.out.print(table)


def _machine(study: Study, found: Status, report: Report | None) -> dict[str, Any]:
    plan = study.plan
    document: dict[str, Any] = {
        "name": plan.name,
        "directory": str(study.directory),
        "runs": {
            "total": found.total,
            "complete": found.complete,
            "failed": found.failed,
            "missing": found.missing,
            "others": found.others,
        },
        "impossible": [
            {"point": plan.values(one.point), "seed": one.seed, "message": one.message} for one in plan.impossible
        ],
    }
    if report is not None:
        document["simulated"] = report.simulated
        document["crashed"] = [
            {"run": key, "message": outcome.message} for key, outcome in sorted(report.failures.items())
        ]
        document["tables"] = [str(path) for path in study.tables() if path.exists()] if found.done else []
        metrics = study.metrics() if found.complete else []
        document["warnings"] = study.warnings
        document["means"] = [
            {"metric": metric, "point": dict(one.point), **_json(one.interval), "of_seeds": len(plan.seeds)}
            for metric in metrics
            for one in study.means(metric)
        ]
        if plan.design is not None:
            shown = effects.shown(study) if found.complete else []
            document["effects"] = [row for one in shown for row in effects.documents(one)]
            document["notes"] = [f"{one.metric}: {note}" for one in shown for note in one.notes]
    return document


def _json(interval: Interval) -> dict[str, Any]:
    return {"mean": interval.mean, "low": interval.low, "high": interval.high, "seeds": interval.count}


def _show(study: Study, found: Status, report: Report, part: tuple[int, int], rows: int | None) -> None:
    plan = study.plan
    for message, keys in _alike(report).items():
        display.err.print(f"xoff: {len(keys)} runs were not done: {escape(message)}")
    failed = [run for run in plan.runs if study.store.holds(run.key, plan.keep) and study.store.failure(run.key)]
    for run in failed[:_ROWS]:
        _, message = study.store.failure(run.key) or ("", "")
        display.err.print(f"xoff: no result: {escape(plan.coordinates(run.point, run.seed))}: {escape(message)}")
    if found.complete and plan.design is not None:
        _show_effects(study, rows)
    elif found.complete:
        _show_means(study, rows)
    for warning, count in study.warnings.items():
        display.err.print(f"xoff: warning: {escape(warning)} ({count:,} of {found.total:,} runs)")
    done = f"{report.simulated:,} simulated, {report.found:,} were there"
    display.out.print(f"\n{found.complete:,} of {found.total:,} runs are complete ({done})")
    if found.done and found.complete:
        place = escape(str(study.directory))
        names = ", ".join(f"[b]{path.name}[/b]" for path in study.tables())
        display.out.print(f"The data set is in [b]{place}[/b]: {names}")
        display.out.print(f"Figures and a page: [b]xoff report {place}[/b]")
    elif part != (1, 1) and not report.failures:
        display.out.print(f"Part {part[0]} of {part[1]} is done; the last part to end writes the data set")


def _alike(report: Report) -> dict[str, list[str]]:
    messages: dict[str, list[str]] = {}
    for key, outcome in report.failures.items():
        messages.setdefault(outcome.message, []).append(key)
    return messages


def _show_means(study: Study, rows: int | None) -> None:
    plan = study.plan
    metrics = study.metrics()
    means = {metric: {json.dumps(one.point): one for one in study.means(metric)} for metric in metrics}
    with_result = study.seeds_with_result()
    keys = list(with_result)
    # If points differ in their number of seeds with a result, each point shows its number.
    several = any(count != len(plan.seeds) for count in with_result.values())
    heads = [*(column.key for column in plan.columns), *(["seeds"] if several else [])]
    seeds = f" (mean of {len(plan.seeds)} seeds ± 95 % interval)" if len(plan.seeds) > 1 else ""
    table = display.table(
        *heads,
        *(words(metric) for metric in metrics),
        title=escape(plan.name) + seeds,
        right=tuple(range(len(heads), len(heads) + len(metrics))),
    )
    for key in keys[:rows]:
        point = json.loads(key)
        cells = [escape(column.text(point[column.name])) for column in plan.columns]
        cells += [f"{with_result[key]} of {len(plan.seeds)}"] if several else []
        found = [means[metric].get(key) for metric in metrics]
        table.add_row(
            *cells,
            *(measured(metric, one.interval if one else None) for metric, one in zip(metrics, found, strict=True)),
        )
    display.out.print(table)
    if rows is not None and len(keys) > rows:
        display.out.print(f"… and {len(keys) - rows:,} more points (--all prints them)")
    _show_comparison(study, metrics, rows)
    if len(plan.seeds) > 1 and _nothing_random(study):
        display.out.print(_NOTHING_RANDOM)


def _show_comparison(study: Study, metrics: list[str], rows: int | None) -> None:
    """Prints the difference of each other variant from the first, and the verdict on it."""
    if not study.plan.columns or study.plan.columns[0].path != VARIANT:
        return
    found = [(metric, name, one) for metric in metrics for name, one in study.against_first(metric)]
    if not found:
        return
    first, others = study.variants()[0], [column for column in study.plan.columns if column.path != VARIANT]
    several = len(study.plan.seeds) > 1
    title = f"\nAgainst {first}" + (", paired by seed" if several else "")
    heads = ["", *(column.key for column in others), "metric", "difference", *(["is"] if several else [])]
    table = display.table(*heads, title=escape(title))
    for metric, name, one in found[:rows]:
        cells = [column.text(one.point[column.name]) for column in others]
        share = "" if one.comparison.relative is None else f" ({one.comparison.relative:+.1%})"
        difference = measured(metric, one.comparison.difference) + share
        last = [one.comparison.verdict] if several else []
        table.add_row(escape(name), *map(escape, cells), words(metric), difference, *last)
    display.out.print(table)
    if rows is not None and len(found) > rows:
        display.out.print(f"… and {len(found) - rows:,} more comparisons (--all prints them)")


def _show_effects(study: Study, rows: int | None) -> None:
    """Prints the effect of each factor on the metrics that are shown first."""
    several = f" ({len(study.plan.seeds)} seeds, ± 95 % interval)" if len(study.plan.seeds) > 1 else ""
    for index, found in enumerate(effects.shown(study)):
        if index:
            display.out.print()
        heads, made = effects.by_factor(found)
        right = tuple(index for index in range(3, len(heads)) if heads[index] not in {"is", effects.NOT_TOLD})
        table = display.table(*heads, title=escape(f"Effects on {words(found.metric)}{several}"), right=right)
        for cells in made[:rows]:
            table.add_row(*(escape(text) for text, _ in cells))
        if made:
            display.out.print(table)
        if rows is not None and len(made) > rows:
            display.out.print(f"… and {len(made) - rows:,} more (--all prints them)")
        for note in found.notes:
            display.out.print(f"{escape(words(found.metric))}: {escape(note)}")
    if study.plan.design is not None:
        display.out.print(f"\n{escape(effects.LEGENDS[study.plan.design.method])}")
    if len(study.plan.seeds) > 1 and _nothing_random(study):
        display.out.print(_NOTHING_RANDOM)


def _nothing_random(study: Study) -> bool:
    runs = study.runs
    points: dict[str, set[str]] = {}
    for row in runs.select([*(column.name for column in study.plan.columns), "fingerprint"]).to_pylist():
        fingerprint = row.pop("fingerprint")
        if fingerprint is not None:
            points.setdefault(json.dumps(row), set()).add(fingerprint)
    return bool(points) and all(len(found) == 1 for found in points.values())


def measured(metric: str, interval: Interval | None) -> str:
    """Returns a mean and its margin as text in the unit of the mean: ``222.5 ± 48.4 µs``."""
    if interval is None:
        return "–"
    scale, unit = formatting.scale(interval.mean, metric)
    margin = formatting.spread(interval.mean, interval.low, interval.high, scale)
    return f"{formatting.number(interval.mean / scale, 4)}{margin} {unit}".rstrip()
