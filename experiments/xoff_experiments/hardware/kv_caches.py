"""KV caches and prefill: published times of a lone request beside serving.

Each row is one request with one prompt length: eight ranks compute the prompt, send the KV cache to eight ranks in
another server, and two GPUs share a NIC in the first table. Transfer and prefill of xoff are `kv_transfer` and `ttft`
without the transfer (`requests`). Prompts from 1,024 tokens on judge.

**At the rate of the line** the overhead of a table is the time of the prompt of 128 tokens, less its bytes at the
payload rate of the NICs. **At the rate reached** the rows of 8,192 and 32,768 tokens set a rate and an overhead, and
judge nothing: NICs of xoff have that rate. xoff has no model of the engine that keeps a NIC below its line. **Prefill**
has an efficiency and an overhead from the rows of 1,024 and 32,768 tokens, which judge nothing.

Three more bandwidths have one row each, which cannot both set an overhead and judge. They are shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from matplotlib import rc_context

from xoff.plots import COLOURS, STYLE, Canvas, write
from xoff.reproduce import Judged, Part, Readings, as_results, chosen, given
from xoff.results import Result
from xoff_experiments.hardware._kv_rows import (
    OF_OVERHEAD,
    OF_PREFILL,
    OF_RATE,
    REACHED,
    SGLANG,
    VLLM,
    Row,
    measured,
    overhead_ms,
    prefill_line_ms,
    prefill_of,
    reached,
    rows_of,
)

CITATION = "Published times of KV caches and prefill, by the sources in kv_caches.csv"

LIMIT, PREFILL_LIMIT, FORMULA_LIMIT = 0.05, 0.08, 0.01
"""The largest difference of a judged row, and of a run from its closed form, as a share."""
_TABLES = (SGLANG, VLLM)
_QUICK_TOKENS = 8192


def _runs_of(quick: bool) -> Iterable[tuple[Row, bool]]:
    """Yields each row, at the rate of the line and, in tables, at the rate reached."""
    for row in measured():
        if not quick or row.tokens <= _QUICK_TOKENS:
            yield row, True
            if row.table in _TABLES:
                yield row, False


def _name(row: Row, at_line: bool) -> str:
    return row.name if at_line else f"{row.name}; {REACHED}"


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenario of each row and rate; the quick variant has prompts up to 8,192 tokens."""
    return {_name(row, at_line): row.scenario(at_line=at_line) for row, at_line in _runs_of(quick)}


def _request(result: Result) -> Mapping[str, Any]:
    (row,) = result.requests.to_pylist()
    return dict(row)


def _transfer_ms(runs: Readings[Result], row: Row, at_line: bool) -> float:
    """Returns the simulated time of a transfer, without overhead."""
    return float(_request(runs.one(_name(row, at_line)))["kv_transfer_ps"]) / 1e9


def _prefill_ms(runs: Readings[Result], row: Row) -> float:
    """Returns the simulated time to the first token, without transfer and overhead."""
    request = _request(runs.one(_name(row, at_line=False)))
    return float(request["ttft_ps"] - request["kv_transfer_ps"]) / 1e9


def _overhead_ms(row: Row, at_line: bool) -> float:
    return overhead_ms(row.table) if at_line else reached(row.table)[1]


def _rows(runs: Readings[Result], table: str) -> list[Row]:
    return [row for row in rows_of(table) if row.name in runs.names]


def _ratios(runs: Readings[Result], table: str, at_line: bool) -> dict[Row, float]:
    """Returns simulated over measured transfer of a table's judging rows."""
    judging = [row for row in _rows(runs, table) if row.is_long and (at_line or row.tokens not in OF_RATE)]
    return {row: (_transfer_ms(runs, row, at_line) + _overhead_ms(row, at_line)) / row.transfer_ms for row in judging}


def _prefill_ratios(runs: Readings[Result]) -> dict[Row, float]:
    overhead = prefill_of(SGLANG)[1]
    judging = [row for row in _rows(runs, SGLANG) if row.is_long and row.tokens not in OF_PREFILL]
    return {row: (_prefill_ms(runs, row) + overhead) / row.prefill_ms for row in judging}


def judge(runs: Readings[Result]) -> dict[str, Part]:
    """Judges transfers at both rates, prefill, and the closed forms."""
    at_line = {row: ratio for table in _TABLES for row, ratio in _ratios(runs, table, at_line=True).items()}
    shares = {table: f"{reached(table)[0] / rows_of(table)[0].line_bytes_per_ms:.1%} of the line" for table in _TABLES}
    parts = {"K.1": _within(at_line, LIMIT, shares)}
    for key, table in (("K.2", SGLANG), ("K.3", VLLM)):
        parts[key] = _within(_ratios(runs, table, at_line=False), LIMIT, {"rate": shares[table]})
    efficiency, overhead = prefill_of(SGLANG)
    numbers = {"efficiency": round(efficiency, 3), "overhead (ms)": round(overhead, 1)}
    parts["P"] = _within(_prefill_ratios(runs), PREFILL_LIMIT, numbers)
    return parts | {"K.F": _formula(runs)}


def _within(ratios: Mapping[Row, float], limit: float, more: Mapping[str, Any]) -> Part:
    missed = {row: ratio for row, ratio in ratios.items() if abs(ratio - 1) > limit}
    numbers: dict[str, Any] = {"rows": len(ratios), "missed": len(missed)}
    numbers["least ratio"] = round(min(ratios.values()), 3)
    numbers["largest ratio"] = round(max(ratios.values()), 3)
    late = "; ".join(f"{row.name} (ratio {ratio:.3f})" for row, ratio in missed.items())
    return Part(not missed, {**numbers, **more}, reason=f"Beyond the limit of {limit:.0%}: {late}." if late else "")


def _formula(runs: Readings[Result]) -> Part:
    """Judges the simulated times of all judging rows by their closed forms."""
    ratios: dict[str, float] = {}
    for table in _TABLES:
        for row in _rows(runs, table):
            if row.is_long:
                rate = reached(table)[0]
                ratios[row.name] = _transfer_ms(runs, row, at_line=True) * row.line_bytes_per_ms / row.bytes
                ratios[f"{row.name}; {REACHED}"] = _transfer_ms(runs, row, at_line=False) * rate / row.bytes
    for row in _rows(runs, SGLANG):
        if row.is_long:
            ratios[f"{row.name}, prefill"] = _prefill_ms(runs, row) / prefill_line_ms(row.tokens, prefill_of(SGLANG)[0])
    late = [f"{name} ({ratio:.4f})" for name, ratio in ratios.items() if abs(ratio - 1) > FORMULA_LIMIT]
    numbers = {"rows": len(ratios), "least ratio": round(min(ratios.values()), 4)}
    numbers["largest ratio"] = round(max(ratios.values()), 4)
    reason = f"Beyond the limit of {FORMULA_LIMIT:.0%}: {'; '.join(late)}." if late else ""
    return Part(not late, numbers, reason=reason)


_SETTING = "Each prompt length is a setting of its own."
JUDGED = Judged(
    document="hardware",
    statements={
        "K.1": "KV caches at the rate of the line, from 1,024 tokens on: each row within 5 %",
        "K.2": "KV caches with SGLang at the rate reached, from 1,024 tokens on: each other row within 5 %",
        "K.3": "KV caches with vLLM at the rate reached, from 1,024 tokens on: each other row within 5 %",
        "P": "Prefill of Qwen3-235B on eight H20, from 1,024 tokens on: each other row within 8 %",
        "K.F": "Without overheads, each simulated transfer and prefill is within 1 % of its closed form",
    },
    ours=("K.F",),
    runs=as_results,
    judge=judge,
    reasons={},
    limits=dict.fromkeys(("K.1", "K.2", "K.3", "P", "K.F"), _SETTING),
)
PARAMETERS = (
    given("model, GPUs, NICs, rates, tokens", "of each row", "kv_caches.csv"),
    chosen("overhead at the rate of the line", "one for each table", "time of 128 tokens, less its closed form"),
    chosen("rate reached, and its overhead", "one for each table", "times of 8,192 and 32,768 tokens"),
    chosen("efficiency and overhead of prefill", "one each", "TTFT less transfer of 1,024 and 32,768 tokens"),
    chosen("fabric", "rail-optimised, never blocking; 10 m, 300 ns", "as for collectives; no source names switches"),
)
READS = ("requests",)
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def tables(results: Mapping[str, Result]) -> dict[str, list[list[str]]]:
    """Returns the transfers of each table, prefill, and the bandwidths with one row."""
    runs = as_results(results, "", "")
    made = {f"{table}, transfer. Source: {rows_of(table)[0].link}": _transfers(runs, table) for table in _TABLES}
    made[f"{SGLANG}, prefill. Source: {rows_of(SGLANG)[0].link}"] = _prefills(runs)
    alone = [["system", "bytes", "measured (GB/s)", "line (GB/s)", "xoff (GB/s)", "source"]]
    for row in measured():
        if row.table not in _TABLES and row.name in runs.names:
            rates = (row.bytes / row.transfer_ms, row.line_bytes_per_ms, row.bytes / _transfer_ms(runs, row, True))
            alone.append([row.table, f"{row.bytes:,}", *(f"{rate / 1e6:.1f}" for rate in rates), row.link])
    if len(alone) > 1:
        made["Bandwidths with one row, which judge nothing"] = alone
    return made


def _transfers(runs: Readings[Result], table: str) -> list[list[str]]:
    made = [["tokens", "role", "measured (ms)"]]
    for of in ("line", "rate reached"):
        made[0] += [f"{of}: closed form (ms)", "network in xoff (ms)", "with overhead (ms)", "ratio"]
    rates = (rows_of(table)[0].line_bytes_per_ms, reached(table)[0])
    for row in _rows(runs, table):
        cells = [f"{row.tokens:,}", _role(row), f"{row.transfer_ms:.2f}"]
        for at_line, rate in zip((True, False), rates, strict=True):
            network = _transfer_ms(runs, row, at_line)
            whole = network + _overhead_ms(row, at_line)
            cells += [f"{row.bytes / rate:.2f}", f"{network:.2f}", f"{whole:.2f}", f"{whole / row.transfer_ms:.3f}"]
        made.append(cells)
    return made


def _role(row: Row) -> str:
    if row.tokens in OF_RATE:
        return "sets the rate reached"
    if row.tokens == OF_OVERHEAD:
        return "sets the overhead of the line"
    return "judges" if row.is_long else "shown"


def _prefills(runs: Readings[Result]) -> list[list[str]]:
    efficiency, overhead = prefill_of(SGLANG)
    made = [
        ["tokens", "role", "TTFT less transfer (ms)", "closed form (ms)", "xoff (ms)", "with overhead (ms)", "ratio"]
    ]
    for row in _rows(runs, SGLANG):
        simulated = _prefill_ms(runs, row)
        role = "judges" if row.is_long else "shown"
        role = "sets efficiency and overhead" if row.tokens in OF_PREFILL else role
        line = f"{prefill_line_ms(row.tokens, efficiency):,.1f}" if row.is_long else "–"
        cells = [f"{row.tokens:,}", role, f"{row.prefill_ms:,.1f}", line, f"{simulated:,.1f}"]
        made.append([*cells, f"{simulated + overhead:,.1f}", f"{(simulated + overhead) / row.prefill_ms:.3f}"])
    return made


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws measured and simulated transfers of both tables, and prefill."""
    runs = as_results(results, "", "")
    with rc_context(STYLE):
        drawing = Canvas(figsize=(8.6, 3.4), layout="constrained")
        left, right = drawing.subplots(1, 2)
        for colour, table in zip(COLOURS, _TABLES, strict=False):
            rows = _rows(runs, table)
            tokens = [row.tokens for row in rows]
            left.plot(tokens, [row.transfer_ms for row in rows], "o", color=colour, markersize=4)
            for at_line, style in ((True, ":"), (False, "-")):
                times = [_transfer_ms(runs, row, at_line) + _overhead_ms(row, at_line) for row in rows]
                label = f"{table}, {'line' if at_line else REACHED}"
                left.plot(tokens, times, style, color=colour, linewidth=1, label=label)
        rows, overhead = _rows(runs, SGLANG), prefill_of(SGLANG)[1]
        tokens = [row.tokens for row in rows]
        right.plot(tokens, [row.prefill_ms for row in rows], "o", color=COLOURS[0], markersize=4)
        right.plot(tokens, [_prefill_ms(runs, row) + overhead for row in rows], color=COLOURS[0], linewidth=1)
        for axes, what in ((left, "transfer"), (right, "TTFT less transfer")):
            axes.set_xscale("log", base=2)
            axes.set_yscale("log")
            axes.set_xticks([128, 1024, 8192, 32768], ["128", "1,024", "8,192", "32,768"], minor=False)
            axes.set_xlabel("tokens of a prompt; points: measured, lines: xoff")
            axes.set_ylabel(f"{what} (ms)")
        left.legend(fontsize=6)
        write(drawing, path)
