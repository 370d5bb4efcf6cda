"""The command ``xoff tune``: searches for the best settings, and reports the confidence in them."""

from __future__ import annotations

import json
import shlex
from functools import partial
from pathlib import Path
from typing import Any

from rich.markup import escape

from xoff import display, formatting, plots, running
from xoff.functions import TIMEOUT_SECONDS, Functions
from xoff.functions.workloads import has_function
from xoff.running.document import given
from xoff.running.replacing import check_study
from xoff.study.command import executor_of, kept, measured, place_of
from xoff.study.figures import words
from xoff.study.tune import Tuning
from xoff.study.tune_conclusion import proof
from xoff.study.tune_settings import Setting

_SHOWN = 12


def command(
    file: Path,
    *,
    out: Path | None,
    force: bool,
    runs: int | None,
    workers: int | None,
    threads: int,
    dask: str | None,
    as_json: bool,
    allow_python: bool = False,
    python_timeout: float = TIMEOUT_SECONDS,
) -> int:
    """Runs ``xoff tune``; returns the exit code: 0, or 1 if no setting keeps the limits with every seed."""
    place = out if out is not None else place_of(file)
    tuning = Tuning(file, place, runs=runs, allow_python=allow_python, python_timeout=python_timeout)
    tuning.study.allow = partial(check_study, tuning.directory, tuning.plan.name, force=force)
    tuning.study.allow()
    display.err.print(f"xoff: {escape(_asked(tuning))}", soft_wrap=True)
    try:
        with executor_of(dask) as executor, display.StudyBar() as bar:
            bar.begin(escape(tuning.plan.name))
            tuning.run(executor=executor, workers=workers, threads=threads, progress=bar.report)
    except KeyboardInterrupt:
        print(formatting.plain(f"xoff: {kept(tuning.study)}"), file=display.err.file)
        raise
    figures = (
        plots.save(tuning.plot, tuning.directory / "figures", "tune")
        if any(one.values is not None for one in tuning.tried)
        else []
    )
    if as_json:
        print(json.dumps(tuning.to_dict() | {"figures": [str(path) for path in figures]}))
    else:
        _show(tuning, file, figures)
    return 0 if any(one.confirmed for one in tuning.best) else 1


def check(file: Path, functions: Functions, *, as_json: bool) -> int:
    """Prints the plan of a search, without runs, after reading objective, ranges and base. Returns 0."""
    tuning = Tuning(file, place_of(file), allow_python=functions.allowed, python_timeout=functions.timeout)
    tuning.check_start()
    if as_json:
        found = tuning.to_dict()
        keys = (
            "name", "goals", "constraints", "factors", "seeds", "unseen_seeds", "confidence", "seeds_needed",
        )  # fmt: skip
        print(json.dumps({key: found[key] for key in keys} | {"settings": tuning.points}))
    else:
        display.out.print(f"[b]{escape(str(file))}[/b] is valid: {escape(_asked(tuning))}", soft_wrap=True)
        if tuning.objective.limits:
            display.out.print(f"{escape(proof(tuning.objective))}", soft_wrap=True)
    return 0


def _asked(tuning: Tuning) -> str:
    objective = tuning.objective
    goals = ", ".join(f"{goal.words} {words(goal.metric)}" for goal in objective.goals)
    limits = "".join(f"; {text}" for text in map(_limit, objective.limits))
    count, seeds = len(tuning.factors), len(tuning.plan.seeds)
    size = f"{tuning.points:,} settings × {seeds} seed{'s' if seeds != 1 else ''}"
    return f"{goals}{limits}: {count} setting{'s' if count != 1 else ''} may vary, {size} are tried"


def _limit(limit: Any) -> str:
    ends = []
    if limit.least > float("-inf"):
        ends.append(f"at least {_value(limit.metric, limit.least)}")
    if limit.most < float("inf"):
        ends.append(f"at most {_value(limit.metric, limit.most)}")
    return f"{words(limit.metric)} {' and '.join(ends)}"


def _value(metric: str, value: float) -> str:
    from xoff.statistics import Interval

    return measured(metric, Interval(value, None, None, 1))


def _show(tuning: Tuning, file: Path, figures: list[Path]) -> None:
    if not tuning.best:
        _show_none(tuning)
        return
    metrics = tuning.objective.columns
    where = f"mean of {len(tuning.unseen)} unseen seeds ± 95 % interval"
    title = f"{tuning.plan.name} ({where if tuning.unseen else 'means of the seeds of the search'})"
    right = tuple(range(1, 1 + len(metrics)))
    table = display.table("", *map(words, metrics), "against the base", title=escape(title), right=right)
    rows = [("the base", tuning.base)] if tuning.base is not None else []
    rows += [(one.words, one) for one in tuning.best[:_SHOWN]]
    for name, one in rows:
        known = one.unseen or one.seen
        table.add_row(escape(name), *(measured(metric, known.get(metric)) for metric in metrics), _against(tuning, one))
    display.out.print(table)
    for warning in tuning.warnings:
        display.out.print(f"[yellow]warning[/yellow] {escape(warning)}")
    report = tuning.report
    display.out.print(f"\n{report.simulated:,} runs were simulated, {report.found:,} were there")
    conclusion = tuning.conclusion
    run_it = " Run it:" if conclusion.recommended else ""
    display.out.print(f"[b]{escape(conclusion.text)}[/b]{run_it}", soft_wrap=True)
    if conclusion.recommended is not None:
        display.out.print(f"  {escape(repeat(tuning, conclusion.recommended, file))}", soft_wrap=True)
    place = escape(str(tuning.directory))
    display.out.print(f"All settings are in [b]{place}/runs.parquet[/b], and the findings in [b]{place}/tune.json[/b]")
    if figures:
        display.out.print(f"The figure: [b]{escape(str(figures[0]))}[/b]")


def _show_none(tuning: Tuning) -> None:
    nearest = tuning.nearest()
    display.out.print("None of the settings that were tried has a result within the limits.")
    if nearest is None:
        one = next(iter(tuning.plan.impossible), None)
        why = f": {one.message}" if one is not None else "; `xoff run` of the base prints details"
        display.out.print(f"No run has a result{escape(why)}")
        return
    exceeded = [_limit(limit) for limit, excess in zip(tuning.objective.limits, nearest.excess, strict=True) if excess]
    name = tuning.plan.coordinates(nearest.point)
    display.out.print(f"Nearest to the limits is {escape(name)}. Exceeded: {escape('; '.join(exceeded))}.")
    display.out.print("Widen a range, loosen a limit, or try more settings (--runs).")


def _against(tuning: Tuning, one: Setting) -> str:
    parts = []
    for goal in tuning.objective.goals:
        found = one.against.get(goal.metric)
        if found is None or one is tuning.base:
            continue
        share = "" if found.relative is None else f"{found.relative:+.1%} "
        parts.append(f"{share}({found.verdict})")
    return ", ".join(parts) or "–"


def repeat(tuning: Tuning, one: Setting, file: Path) -> str:
    """Returns the command for a run of a setting."""
    base = tuning.plan.base
    name = str(base.path) if isinstance(base, running.Text) else str(file)
    pairs = [f"--set {shlex.quote(f'{path}={given(value)}')}" for path, value in one.settings.items()]
    allowed = ["--allow-python"] if has_function(tuning.plan.document["scenario"]) else []
    return " ".join([f"xoff run {shlex.quote(name)}", *allowed, *pairs])
