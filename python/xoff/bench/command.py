"""The command ``xoff bench``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.markup import escape

from xoff import display, formatting
from xoff._core import InputError
from xoff.bench.cases import CASES, LARGE
from xoff.bench.compare import compare
from xoff.bench.kernel import kernel
from xoff.bench.measure import memory, run_case
from xoff.bench.rows import rows
from xoff.bench.training import CASES as JOBS
from xoff.bench.training import training


def command(
    names: Sequence[str],
    *,
    repeats: int,
    list_only: bool,
    kernel_at: Path | None,
    commit: str | None,
    with_rows: bool,
    as_json: bool,
) -> int:
    """Runs ``xoff bench``; returns the exit code. Raises `InputError` for unknown cases or conflicting options."""
    if names[:1] == ["training"]:
        return _training(names[1:], list_only, kernel_at is not None or commit is not None or with_rows, as_json)
    for name in names:
        if name not in CASES:
            raise InputError(f"bench: `{name}` is not a case; the cases are {', '.join(CASES)}")
    for option, given, others in (
        ("--kernel", kernel_at is not None, commit is not None or with_rows),
        ("--rows", with_rows, commit is not None),
    ):
        if given and (names or others):
            raise InputError(f"bench {option}: has its own cases; remove the cases and the other measurements")
    chosen = list(names) or [name for name in CASES if name != LARGE]
    if list_only:
        _list(as_json)
    elif kernel_at is not None:
        _answer({"cases": kernel(kernel_at, repeats)}, _KERNEL, as_json)
    elif commit is not None:
        _answer(compare(commit, chosen, repeats), _COMPARED, as_json)
    elif with_rows:
        _show_rows(rows(repeats), as_json)
    else:
        _measure(chosen, repeats, as_json)
    return 0


def _training(names: Sequence[str], list_only: bool, has_others: bool, as_json: bool) -> int:
    """Measures collectives and iterations of training jobs, with and without fast-forward."""
    for name in names:
        if name not in JOBS:
            raise InputError(f"bench training: `{name}` is not a case; the cases are {', '.join(JOBS)}")
    if has_others:
        raise InputError("bench training: has its own cases; remove the other measurements")
    if list_only:
        _list(as_json, JOBS)
    else:
        _answer(training(list(names)), _SKIPPED, as_json)
    return 0


def _list(as_json: bool, cases: Mapping[str, tuple[str, Any]] = CASES) -> None:
    if as_json:
        print(json.dumps({"cases": [{"name": name, "description": text} for name, (text, _) in cases.items()]}))
        return
    for name, (description, _) in cases.items():
        print(f"{name:<26}{description}")


def _measure(names: Sequence[str], repeats: int, as_json: bool) -> None:
    display.err.print("memory: runs that differ in one number")
    by_memory = memory()
    cases = []
    for name in names:
        display.err.print(f"{name}: {escape(CASES[name][0])}")
        cases.append(run_case(name, repeats) | by_memory)
    if as_json:
        print(json.dumps({"cases": cases}))
        return
    _table(
        cases,
        {
            "case": lambda case: case["name"],
            "packet-hops per CPU-second": lambda case: formatting.count(case["data_packet_hops_per_cpu_second"]),
            "events per packet-hop": lambda case: f"{case['events_per_packet_hop']:.2f}",
            "cache misses per packet-hop": lambda case: _maybe(case["cache_misses_per_packet_hop"], "{:.2f}"),
            "building": lambda case: f"{case['build_cpu_seconds']:.2f} s",
            "peak memory": lambda case: formatting.size(case["peak_rss_bytes"]),
            "two threads": lambda case: _maybe(case["two_thread_speedup"], "×{:.2f}"),
        },
    )
    if all(case["cache_misses_per_packet_hop"] is None for case in cases):
        display.out.print("cache misses: not counted here")
    display.out.print(f"bytes: {', '.join(f'{round(by_memory[key])} {part}' for key, part in _PARTS.items())}")


_PARTS = {
    "bytes_per_host": "a host",
    "bytes_per_port": "a port",
    "bytes_per_link": "a link with two ports",
    "bytes_per_queued_packet": "a queued packet",
    "bytes_per_active_flow": "an active flow",
    "bytes_per_waiting_flow": "a waiting flow",
}


def _maybe(value: float | None, text: str) -> str:
    return "–" if value is None else text.format(value)


_Columns = Mapping[str, Any]


def _ratio(case: Mapping[str, Any], key: str = "ratio") -> str:
    ratio = case[key]
    return f"{ratio['median']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f})"


_KERNEL: _Columns = {
    "case": lambda case: case["name"],
    "xoff, packet-hops per CPU-second": lambda case: formatting.count(case["data_packet_hops_per_cpu_second"]),
    "the kernel": lambda case: formatting.count(case["kernel_data_packet_hops_per_cpu_second"]),
    "ratio": _ratio,
}
_COMPARED: _Columns = {
    "case": lambda case: case["name"],
    "this xoff, packet-hops per CPU-second": lambda case: formatting.count(case["data_packet_hops_per_cpu_second"]),
    "the commit": lambda case: formatting.count(case["commit_data_packet_hops_per_cpu_second"]),
    "ratio": _ratio,
    "building": lambda case: "apart" if case["building_apart"] else "counted on both sides",
    "fingerprint": lambda case: "the same" if case["same_fingerprint"] else "another",
}
_SKIPPED: _Columns = {
    "case": lambda case: case["name"],
    "packet-hops": lambda case: formatting.count(case["data_packet_hops"]),
    "fast-forwarded": lambda case: f"{case['fast_forwarded']:.1%}",
    "CPU-seconds": lambda case: f"{case['cpu_seconds']:.2f}",
    "without fast-forward": lambda case: (
        f"{case['without_cpu_seconds']:,.0f}" + ("" if case["without_is_measured"] else " (from a part)")
    ),
    "blockers": lambda case: ", ".join(case["blockers"]) or "-",
}
_ROWS: _Columns = {
    "rows": lambda case: case["name"],
    "CPU time, recorded": lambda case: _ratio(case, "recorded"),
    "and on disk": lambda case: _ratio(case, "on_disk"),
}


def _answer(answer: Mapping[str, Any], columns: _Columns, as_json: bool) -> None:
    """Prints ratios as a table, and below the table the cases refused on either side."""
    if as_json:
        print(json.dumps(answer))
        return
    cases = answer["cases"]
    measured = [case for case in cases if "refused" not in case]
    if measured:
        _table(measured, columns)
    for case in cases:
        if "refused" in case:
            display.out.print(escape(f"{case['name']}: {case['refused']}"))


def _show_rows(answer: Mapping[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(answer))
        return
    _table(answer["probes"], _ROWS)
    flows = answer["million_flows"]
    display.out.print(
        f"{flows['flows']:,} flows: {flows['wall_seconds']:.1f} s from the start to a table of "
        f"{formatting.size(flows['table_bytes'])} on disk, {flows['cpu_seconds']:.1f} CPU-seconds, "
        f"peak memory {formatting.size(flows['peak_rss_bytes'])}"
    )


def _table(cases: Sequence[Mapping[str, Any]], columns: _Columns) -> None:
    table = display.table(*columns, right=tuple(range(1, len(columns))))
    for case in cases:
        table.add_row(*(escape(show(case)) for show in columns.values()))
    display.out.print(table)
