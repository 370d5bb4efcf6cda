"""A summary of one page for decision makers: the question, one figure, three sentences, and the settings.

Every number in the sentences is a number of the summary or the tables of the run or study.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from matplotlib import image, rc_context
from matplotlib.figure import Figure

from xoff import formatting, plots
from xoff._core import InputError
from xoff.report import run_page, study_page
from xoff.report.narrative import tell
from xoff.results import SERVICE_TIMES, Result, counts, load, measured, measured_counts
from xoff.statistics import Interval
from xoff.study import Mean, Study, differences
from xoff.study.figures import point_words, words

# A4, in inches.
_SIZE = (8.27, 11.69)
_LEFT, _LINE = 0.09, 0.0165
_LETTERS, _SMALL_LETTERS = 86, 108
_SETTINGS = 18
# The most letters of the words of a point in a sentence.
_WORDS = 90


def write(directory: str | Path) -> list[Path]:
    """Writes ``summary.pdf`` and ``summary.png`` into the directory of a result or study; returns their paths.

    Raises `InputError` if the directory holds neither, or no run of the study is complete.
    """
    path = Path(directory)
    if (path / "study.json").is_file():
        question, draw, told, settings = _of_study(Study.open(path))
    elif (path / "summary.json").is_file():
        question, draw, told, settings = _of_result(load(path))
    else:
        raise InputError(f"{path}: holds neither a result (xoff run --out) nor a study (xoff sweep)")
    page = _page(question, draw, told, settings)
    return plots.save(page, path, "summary", ("pdf", "png"))


_Parts = tuple[str, Callable[[], Figure], list[str], list[str]]


def _of_result(result: Result) -> _Parts:
    scenario = result.scenario
    times = plots.measured(result) if "flows" in result.tables else None
    figures = run_page.figures(result, times)
    if not figures:
        raise InputError(f"{result.directory}: has no table that a figure could be drawn of")
    name = next(
        (one for one in ("job_parts", "serving_times", "fct_cdf", "fct_bars") if one in figures), next(iter(figures))
    )
    return _question(scenario), figures[name], sentences(result), _settings(scenario)


def sentences(result: Result) -> list[str]:
    """Returns three sentences on a run."""
    summary: Any = result.summary
    what, times = measured(summary), summary["fct_ps"]
    done, total = measured_counts(summary)
    told = [
        f"{done:,} of {total:,} {what} were delivered"
        + (
            f"; half of them took {formatting.time(times['p50'])} at most, 99 of 100 {formatting.time(times['p99'])}, "
            f"and the slowest {formatting.time(times['max'])}."
            if times.get("p50") is not None
            else "."
        )
    ]
    found = [(count, summary.get(count.group, {}).get(count.name)) for count in counts.headlines()]
    counted = [f"{count.title} {count.text(value)}" for count, value in found if value]
    lost = "no packet was lost" if not summary["drops"] else f"{summary['drops']:,} packets were lost"
    told.append(f"In the network {lost}" + (f"; counts: {', '.join(counted[:4])}." if counted else "."))
    told.append(_slowest(result) or _audited(result))
    served = list(_served(summary))
    if served and not total:
        # No flow and no message is measured: connections of serving stay open.
        told = told[1:]
    first = [*_iterations(summary), *served][:1]
    return [*first, *told[: 3 - len(first)]]


def _served(summary: Any) -> Iterator[str]:
    """Yields a sentence for each serving workload with requests."""
    for name, found in (summary.get("serving") or {}).items():
        if not found["requests"]:
            continue
        times = [
            f"{SERVICE_TIMES[key]} {formatting.time(found[key]['p50'])} and {formatting.time(found[key]['p99'])}"
            for key in ("ttft_ps", "tpot_ps", "itl_ps")
            if found[key]["p50"] is not None
        ]
        text = f"{found['completed']:,} of {found['requests']:,} requests of {formatting.plain(name)} were completed"
        text += f"; median and 99th percentile: {', '.join(times)}" if times else ""
        share = found["slo_attainment"]
        yield f"{text}; {share:.1%} met the service levels." if share is not None else f"{text}."


def _iterations(summary: Any) -> Iterator[str]:
    """Yields a sentence for each job that completed an iteration."""
    for name, workload in summary["workloads"].items():
        if (job := workload.get("job")) and job["completed"]:
            whole = job["iteration_ps"] or 1
            shares = [f"{job[key] / whole:.1%}" for key in ("compute_ps", "exposed_ps", "bubble_ps")]
            parts = "{} computing, {} exposed communication, {} waiting for other ranks".format(*shares)
            yield f"An iteration of {formatting.plain(name)} took {formatting.time(job['iteration_ps'])}: {parts}."


def _slowest(result: Result) -> str:
    if "flows" not in result.tables:
        return ""
    rows = [row for row in result.flows.to_pylist() if row["slowdown"] is not None]
    if not rows:
        return ""
    worst = max(rows, key=lambda row: row["slowdown"])
    ends = f"{formatting.plain(worst['src'])} → {formatting.plain(worst['dst'])}"
    took = f"{formatting.time(worst['fct_ps'])}, {worst['slowdown']:.2f} times the time of an empty network"
    return f"The largest slowdown had flow {worst['flow']} ({ends}, {formatting.size(worst['size_bytes'])}): {took}."


def _audited(result: Result) -> str:
    wrong = [f"{name} {state}" for name, state in result.audits.items() if state != "ok"]
    return f"Audits: {'; '.join(wrong)}." if wrong else "All audits of the run hold."


def _of_study(study: Study) -> _Parts:
    page = study_page.build(study)
    found = study_page.searched(study)
    if not page.figures:
        raise InputError(f"{study.directory}: has no figure; the study has too many points for one")
    name = "differences" if "differences" in page.figures else next(iter(page.figures))
    base = study.plan.document["scenario"]
    question = study.plan.description or study.plan.name
    varies = [line for heading, lines in page.story if heading == "Parameters" for line in lines]
    told = study_sentences(study) if found is None else search_sentences(found)
    return question, page.figures[name], told, [*varies, *_settings(base)]


def search_sentences(found: dict[str, Any]) -> list[str]:
    """Returns up to three sentences on the findings of `xoff tune`."""
    tried = len(found["tried"])
    if not found["best"]:
        return [f"None of the {tried:,} settings that were tried keeps the limits."]
    best, goal = found["best"][0], found["goals"][0]
    metric = goal["metric"]
    known = best["unseen"] or best["seen"]
    seeds = "unseen seeds" if best["unseen"] else "the seeds of the search"
    which = _short(best["words"])
    told = [f"Of {tried:,} settings that were tried the best is {which}."]
    if metric in known:
        one = known[metric]
        value = f"{words(metric)} {_value(metric, _interval(one))} over {one.get('seeds') or 1} {seeds}"
        told = [f"Of {tried:,} settings that were tried the best has {value}: {which}."]
    if best.get("kept_limits") != best.get("of"):
        told.append(f"The setting kept the limits with {best['kept_limits']} of {best['of']} unseen seeds.")
    against = best.get("against_base", {}).get(metric, {})
    if against.get("relative") is not None:
        real = against.get("verdict") in {"lower", "higher"}
        sure = "beyond chance" if real else "within chance"
        told.append(f"That is {against['relative']:+.1%} against the scenario as it was, {sure}.")
    return told


def _interval(one: dict[str, Any]) -> Interval:
    return Interval(one["mean"], one.get("low"), one.get("high"), one.get("seeds") or 1)


def study_sentences(study: Study) -> list[str]:
    """Returns two or three sentences on a study, about the first of its metrics."""
    metric = study.metrics()[0]
    means = study.means(metric)
    ordered = sorted(means, key=lambda mean: mean.interval.mean)
    least, most = ordered[0], ordered[-1]
    seeds = len(study.plan.seeds)
    over = f", means of {seeds} seeds with 95 % intervals" if seeds > 1 else ", of one seed"
    told = [
        f"{words(metric)} is lowest, {_value(metric, least.interval)}, with {_at(study, least)}, "
        f"and highest, {_value(metric, most.interval)}, with {_at(study, most)}{over}."
    ]
    found = [(other, one) for other, one in study.against_first(metric) if one.comparison.relative is not None]
    cost = differences.price(study, study.metrics())
    if cost is not None:
        told.append(cost)
    elif found and study.plan.design is None:
        other, one = max(found, key=lambda pair: abs(pair[1].comparison.relative or 0))
        column = study.plan.columns[0]
        first = column.text(study.variants()[0])
        rest = point_words(study.plan.columns[1:], {column.name: None, **one.point})
        where = f" ({_short(rest)})" if rest else ""
        sure = {
            "lower": "beyond chance",
            "higher": "beyond chance",
            "one seed": "with one seed only",
        }
        told.append(
            f"{column.text(other)} differs most from {first}{where}: by {one.comparison.relative or 0:+.1%}, "
            f"{sure.get(one.comparison.verdict, 'within chance')}."
        )
    status = study.status()
    rest_of = status.total - status.complete
    without = f"; {rest_of:,} have no result" if rest_of else ", and all have a result"
    told.append(f"The study is {status.total:,} runs{without}.")
    if cost is None and len(told) < 3 and len(study.metrics()) > 1:
        second = study.metrics()[1]
        ranked = sorted(study.means(second), key=lambda mean: mean.interval.mean)
        told.insert(
            1,
            f"{words(second)} goes from {_value(second, ranked[0].interval)} to {_value(second, ranked[-1].interval)}.",
        )
    return told


def _at(study: Study, mean: Mean) -> str:
    return _short(point_words(study.plan.columns, mean.point) or "the base")


def _short(text: str) -> str:
    """Returns the words of a point, cut where they would push the number of their sentence off the page."""
    return textwrap.shorten(text, _WORDS, placeholder=" …") if len(text) > _WORDS else text


def _value(metric: str, interval: Interval) -> str:
    scale, unit = formatting.scale(interval.mean, metric)
    spread = formatting.spread(interval.mean, interval.low, interval.high, scale)
    return f"{formatting.number(interval.mean / scale, 4)}{spread} {unit}".rstrip()


def _question(scenario: Any) -> str:
    return str(scenario.get("description") or scenario.get("name") or "One run")


def _settings(scenario: Any) -> list[str]:
    return [f"{heading}: {' '.join(lines)}" for heading, lines in tell(scenario) if heading != "Audits"]


def _page(question: str, draw: Callable[[], Figure], told: list[str], settings: list[str]) -> Figure:
    picture = draw()
    pixels = image.imread(io.BytesIO(plots.png(picture)))
    with rc_context(plots.STYLE):
        page = plots.Canvas(figsize=_SIZE)
        place = 0.955
        for line in textwrap.wrap(formatting.plain(question), 52)[:3]:
            page.text(_LEFT, place, line, fontsize=15, weight="bold", va="top")
            place -= 0.026
        place -= 0.012
        for sentence in told:
            for line in textwrap.wrap(formatting.plain(sentence[:1].upper() + sentence[1:]), _LETTERS)[:4]:
                page.text(_LEFT, place, line, fontsize=10, va="top")
                place -= _LINE
            place -= 0.007
        small = [line for one in settings for line in textwrap.wrap(formatting.plain(one), _SMALL_LETTERS)[:3]]
        if len(small) > _SETTINGS:
            small = [*small[: _SETTINGS - 1], "… all settings are in the file of the scenario"]
        bottom = 0.05 + 0.0125 * (len(small) + 2)
        axes = page.add_axes((_LEFT, bottom + 0.02, 1 - 2 * _LEFT, place - bottom - 0.03))
        axes.imshow(pixels, interpolation="antialiased")
        axes.set_axis_off()
        page.text(_LEFT, bottom, "Settings", fontsize=9, weight="bold", va="top")
        for number, line in enumerate(small, 1):
            page.text(_LEFT, bottom - 0.0145 - 0.0125 * (number - 1), line, fontsize=7, va="top", color="#444444")
        return page
