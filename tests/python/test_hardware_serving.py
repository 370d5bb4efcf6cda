"""Published times of serving: files as the sources print them, closed forms beside runs, and claims that can fail."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import xoff
from xoff import reproduce
from xoff.reproduce import as_results
from xoff.reproduce.runs import Runner
from xoff_experiments.hardware import (
    _kernel_rows,
    _kv_rows,
    kernel_misses,
    kernels,
    kv_caches,
)
from xoff_experiments.hardware._kernel_rows import BOTH, COMBINE, DISPATCH, HELD_OUT, SETS, SHOWN, overhead_us, reached
from xoff_experiments.hardware._kv_rows import OF_PREFILL, OF_RATE, SGLANG, VLLM, prefill_of, rows_of

_ROOT = Path(__file__).resolve().parents[2]
_PAGE = (_ROOT / "docs" / "experiments" / "hardware.md").read_text("utf-8")
_MODULES: Mapping[str, ModuleType] = {"kernels": kernels, "kernel_misses": kernel_misses, "kv_caches": kv_caches}
Results = Mapping[str, Mapping[str, Any]]
_DEEPEP = "DeepEP low latency, H800, ConnectX-7"
# Ranks, dispatch and combine in µs; for DeepEP and UCCL-EP with the printed GB/s of both.
_KERNELS: Mapping[str, tuple[tuple[float, ...], ...]] = {
    _DEEPEP: (
        (8, 77, 114, 98, 127),
        (16, 118, 195, 63, 74),
        (32, 155, 273, 48, 53),
        (64, 173, 314, 43, 46),
        (128, 192, 369, 39, 39),
        (256, 194, 360, 39, 40),
    ),
    "Perplexity, ConnectX-7": ((8, 50.5, 65.3), (16, 110.2, 185.5), (32, 153.9, 266.3), (64, 187.5, 309.1)),
    "DeepEP at Perplexity, ConnectX-7": ((8, 42.6, 72.0), (16, 123.9, 203.0), (32, 159.1, 285.0), (64, 177.9, 325.0)),
    "Perplexity, EFA": ((8, 49.7, 64.2), (16, 214.8, 241.5), (32, 229.1, 335.0), (64, 266.7, 391.2)),
    "UCCL-EP, EFA, H200": ((16, 226, 293, 36, 48), (24, 386, 580, 20, 26), (32, 465, 694, 16, 25)),
    "UCCL-EP, EFA, B200": ((16, 228, 318, 33, 46), (24, 448, 566, 17, 26), (32, 406, 617, 19, 24)),
    "UCCL-EP, MI300X, ConnectX-7": ((8, 65, 92, 114, 157), (16, 136, 207, 55, 70), (32, 224, 341, 30, 42)),
}
# Ranks, and GB/s of dispatch and combine.
_BANDWIDTHS: Mapping[str, tuple[tuple[int, int, int], ...]] = {
    "DeepEP V2, ConnectX-7": ((16, 90, 81), (32, 61, 61), (16, 90, 91)),
    "DeepEP V2, NVLink": ((8, 726, 740), (8, 643, 675)),
    "DeepEP V1 normal kernels, H800, ConnectX-7": ((8, 153, 158), (16, 43, 43), (32, 58, 57), (64, 51, 50)),
}
_TOKENS = (128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768)
# Transfer in ms, TTFT in ms, printed GB/s.
_KV_CACHES: Mapping[str, tuple[tuple[float, ...], ...]] = {
    SGLANG: (
        (2.07, 2.58, 2.98, 3.96, 6.43, 10.95, 20.31, 39.14, 76.78),
        (129.21, 125.76, 133.91, 125.84, 172.05, 304.02, 591.14, 1305.15, 3260.14),
        (23.79, 38.27, 66.18, 99.47, 122.66, 144.05, 155.26, 161.19, 164.33),
    ),
    VLLM: (
        (0.54, 0.61, 0.92, 1.50, 2.51, 4.75, 8.84, 16.43, 31.65),
        (46.09, 48.04, 59.91, 67.29, 85.31, 124.42, 212.05, 387.52, 749.62),
        (36.53, 60.78, 78.73, 95.23, 112.88, 119.00, 127.57, 137.09, 142.25),
    ),
}


def _listed(name: str) -> dict[str, list[dict[str, str]]]:
    """Returns the lines of a file by table."""
    found: dict[str, list[dict[str, str]]] = {}
    with (reproduce.documents()["hardware"].folder / name).open(newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            found.setdefault(line["table"], []).append(line)
    return found


@pytest.fixture(scope="module")
def quick() -> Iterator[Results]:
    """Yields the results of the quick variants by experiment and name. Tables are read while the runs are kept."""
    scenarios = {name: module.scenarios(True) for name, module in _MODULES.items()}
    reads = {name: module.READS for name, module in _MODULES.items()}
    with Runner(scenarios, reads=reads) as runner:
        yield {name: dict(runner.results(name).items()) for name in scenarios}


def test_the_file_of_kernels_has_the_published_numbers() -> None:
    listed = _listed("kernels.csv")
    assert set(listed) == {*_KERNELS, *_BANDWIDTHS}
    for table, rows in _KERNELS.items():
        keys = ("dispatch_us", "combine_us", "dispatch_GBps", "combine_GBps")[: len(rows[0]) - 1]
        found = [(8 * int(line["servers"]), *(float(line[key]) for key in keys)) for line in listed[table]]
        assert found == list(rows), table
    for table, bandwidths in _BANDWIDTHS.items():
        keys = ("dispatch_GBps", "combine_GBps")
        found = [(8 * int(line["servers"]), *(float(line[key]) for key in keys)) for line in listed[table]]
        assert found == list(bandwidths), table


def test_printed_bandwidths_of_kernels_are_copies_over_time() -> None:
    """The printed GB/s count the copies of all tokens, local ones too. One printed pair contradicts itself."""
    for table in (_DEEPEP, "UCCL-EP, EFA, H200", "UCCL-EP, EFA, B200"):
        for ranks, *values in _KERNELS[table]:
            for time, bandwidth, size in zip(values[:2], values[2:], (7408, 14336), strict=True):
                ratio = bandwidth * time * 1e3 / (1024 * size)
                is_odd = (table, ranks, size) == ("UCCL-EP, EFA, H200", 32, 14336)
                assert (abs(ratio - 1) > 0.15) is is_odd, (table, ranks)
                assert is_odd or abs(ratio - 1) < 0.08


def test_the_file_of_kv_caches_has_the_published_numbers() -> None:
    listed = _listed("kv_caches.csv")
    for table, columns in _KV_CACHES.items():
        for key, values in zip(("transfer_ms", "ttft_ms", "GBps"), columns, strict=True):
            assert [float(line[key]) for line in listed[table]] == list(values)
        # vLLM's sizes and bandwidths count GiB, and its chat template adds tokens.
        unit, added = (1e6, 0) if table == SGLANG else (2**30 / 1e3, 14)
        for row, bandwidth in zip(rows_of(table), columns[2], strict=True):
            size = row.bytes * (row.tokens + added) / row.tokens
            assert size / row.transfer_ms / unit == pytest.approx(bandwidth, rel=0.02)
    single = {table: float(lines[0]["GBps"]) for table, lines in listed.items() if table not in _KV_CACHES}
    assert single == {"Mooncake engine, 4 x 200G": 87, "Mooncake engine, 8 x 400G": 190, "NIXL, 400G": 42.6}


@pytest.mark.parametrize("name", ["kernels.csv", "kv_caches.csv"])
def test_each_line_has_a_public_source(name: str) -> None:
    for lines in _listed(name).values():
        for line in lines:
            assert re.match(r"https://github\.com/[\w.-]+/[\w.-]+/(pull|blob)/\S+( \(.+\))?$", line["source"])


def test_one_row_of_a_table_sets_and_does_not_judge(quick: Results) -> None:
    for table in {row.table for row in _kernel_rows.measured()}:
        roles = [row.role for row in _kernel_rows.measured() if row.table == table]
        assert roles.count(SETS) == 1
        assert set(roles) <= {SETS, SHOWN, HELD_OUT}
    runs = as_results(quick["kernels"], "", "")
    judged = sum(part.measured["rows"] for key, part in kernels.judge(runs).items() if key in kernels.TABLES)
    times = [(row, one) for row in _kernel_rows.measured() if row.ranks <= 32 for one, _ in row.times]
    assert judged == sum(row.role != SETS for row, _ in times)
    part = kv_caches.judge(as_results(quick["kv_caches"], "", ""))
    long = sum(1024 <= tokens <= 8192 for tokens in _TOKENS)
    assert [part[key].measured["rows"] for key in ("K.1", "K.2", "K.3", "P")] == [
        2 * long,
        long - 1,
        long - 1,
        long - 1,
    ]


def test_the_closed_form_of_kernels() -> None:
    rate = 50e3 * 4096 / 4144
    for row in _kernel_rows.measured():
        if row.copies == "expert" and row.servers > 1:
            share = (row.ranks - 8) / row.ranks
            assert row.line_us(DISPATCH) == pytest.approx(1024 * 7408 * share / rate), row.name
            assert row.line_us(COMBINE) == pytest.approx(1024 * 14336 * share / rate), row.name
    one = _row(_DEEPEP, 8)
    assert one.line_us(DISPATCH) == pytest.approx(1024 * 7408 * 7 / 8 / 164.8e3)
    assert overhead_us(_DEEPEP, DISPATCH) == pytest.approx(77 - 40.277, abs=1e-3)
    assert overhead_us("UCCL-EP, EFA, H200", COMBINE) == pytest.approx(293 - 148.521, abs=1e-2)
    assert reached(256, 2) == pytest.approx(2 - 2 * math.prod((128 - i) / (256 - i) for i in range(8)))
    # Half of the copies of two servers are local: 90 GB/s are 45 GB/s of the NIC.
    v2 = _row("DeepEP V2, ConnectX-7", 16)
    sizes = {7408: 90e3, 14336: 81e3}
    published = sum(8192 * reached(256, 2) * size / bandwidth for size, bandwidth in sizes.items())
    assert dict(v2.times)[BOTH] == pytest.approx(published)
    assert v2.line_us(BOTH) == pytest.approx(8192 * reached(256, 2) / 2 * (7408 + 14336) / rate)


def _row(table: str, ranks: int) -> _kernel_rows.Row:
    return next(row for row in _kernel_rows.measured() if row.table == table and row.ranks == ranks)


def test_runs_take_the_closed_form_between_servers(quick: Results) -> None:
    """Of the runs without copies by server each is within 5 % of the bytes of a rank over the NIC."""
    checked = 0
    for row in _kernel_rows.measured():
        if row.name in quick["kernels"] and row.copies == "expert" and row.servers > 1:
            simulated = kernels.simulated_us(quick["kernels"][row.name])
            for direction in (DISPATCH, COMBINE):
                assert 1 < simulated[direction] / row.line_us(direction) < 1.05, row.name
                checked += 1
    assert checked == 28


def test_overheads_delay_a_dispatch_and_a_combine(quick: Results) -> None:
    """`experts.overhead` makes a step longer by twice the overhead: an overhead may be added to a simulated time."""
    row = _row(_DEEPEP, 16)
    document = row.scenario()
    document["workload"][0]["serving"]["experts"]["overhead"] = "36700ns"
    late = kernels.simulated_us(xoff.run(document))
    alone = kernels.simulated_us(quick["kernels"][row.name])
    assert late[BOTH] - alone[BOTH] == pytest.approx(2 * 36.7, abs=0.05)
    for direction in (DISPATCH, COMBINE):
        assert late[direction] == pytest.approx(alone[direction], rel=1e-3)


def test_constants_of_kv_caches_follow_from_their_rows(quick: Results) -> None:
    """The rows that set a constant are met to a rounding: a run with the constants gives their times back."""
    rate, overhead = _kv_rows.reached(SGLANG)
    assert rate == pytest.approx(385_024 * (32768 - 8192) / (76.78 - 20.31))
    assert overhead == pytest.approx(20.31 - 8192 * 385_024 / rate)
    assert _kv_rows.overhead_ms(SGLANG) == pytest.approx(2.07 - 128 * 385_024 / (200e6 * 4096 / 4144))
    for table in (SGLANG, VLLM):
        for row in rows_of(table):
            for of, name in ((128, row.name), (8192, f"{row.name}; rate reached")):
                if row.tokens == of:
                    request = quick["kv_caches"][name].requests.to_pylist()[0]
                    added = _kv_rows.overhead_ms(table) if of == 128 else _kv_rows.reached(table)[1]
                    assert request["kv_bytes"] == row.bytes
                    assert request["kv_transfer_ps"] / 1e9 + added == pytest.approx(row.transfer_ms, rel=2e-3)
    efficiency, added = prefill_of(SGLANG)
    for row in rows_of(SGLANG):
        if row.tokens in OF_PREFILL:
            assert _kv_rows.prefill_line_ms(row.tokens, efficiency) + added == pytest.approx(row.prefill_ms)
    assert 0.5 < efficiency < 1
    assert set(OF_RATE) & {row.tokens for row in rows_of(SGLANG)}


def test_verdicts_of_the_quick_variants(quick: Results) -> None:
    claims = {claim.id: claim for name, module in _MODULES.items() for claim in module.claims(quick[name], True)}
    holding = {id.partition("/")[2] for id, claim in claims.items() if claim.direction == "holds"}
    assert holding == {"E.1", "E.2", "E.M", "K.2", "P", "K.F"}
    assert len(claims) == 14
    assert "EP8, dispatch (held out, ratio 1.539)" in claims["hardware/E.3"].reason
    assert claims["hardware/E.5"].measured["missed"] == 8


def _wrong_kernels(monkeypatch: pytest.MonkeyPatch, table: str, ranks: int, factor: float) -> None:
    wrong = tuple(
        replace(row, times=tuple((one, time * factor) for one, time in row.times))
        if (row.table, row.ranks) == (table, ranks)
        else row
        for row in _kernel_rows.measured()
    )
    assert wrong != _kernel_rows.measured()
    monkeypatch.setattr(kernels, "measured", lambda: wrong)


@pytest.mark.parametrize("factor", [0.85, 1.2])
def test_a_wrong_time_of_a_kernel_is_missed(quick: Results, monkeypatch: pytest.MonkeyPatch, factor: float) -> None:
    runs = as_results(quick["kernels"], "", "")
    before = kernels.judge(runs)["E.1"]
    assert before.found
    _wrong_kernels(monkeypatch, _DEEPEP, 32, factor)
    after = kernels.judge(runs)["E.1"]
    assert not after.found
    assert after.measured["missed"] == before.measured["missed"] + 2
    assert f"{_DEEPEP}, EP32, dispatch (shown, ratio " in after.reason


@pytest.mark.parametrize(("key", "value", "statement"), [("transfer_ms", 11.6, "K.2"), ("ttft_ms", 340.0, "P")])
def test_a_wrong_time_of_a_kv_cache_is_missed(
    quick: Results, monkeypatch: pytest.MonkeyPatch, key: str, value: float, statement: str
) -> None:
    runs = as_results(quick["kv_caches"], "", "")
    assert kv_caches.judge(runs)[statement].found
    right = _kv_rows.rows_of
    changes: dict[str, Any] = {key: value}
    monkeypatch.setattr(
        kv_caches,
        "rows_of",
        lambda table: [replace(row, **changes) if row.tokens == 4096 else row for row in right(table)],
    )
    part = kv_caches.judge(runs)[statement]
    assert not part.found
    assert f"{SGLANG}, 4,096 tokens (ratio " in part.reason


def test_ranks_in_a_server_begin_with_the_next_rank(quick: Results) -> None:
    """Each rank has its messages when 7 have passed; in the order of ranks the last would wait for 13 of them."""
    row = _row(_DEEPEP, 8)
    message = 128 * 7408 / 164.8e3
    steps = [step for step in quick["kernels"][row.name].steps.to_pylist() if step["step"] == 0]
    times = {step["rank"]: step["exposed_dispatch_ps"] / 1e6 for step in steps}
    assert len(times) == 8
    assert list(times.values()) == pytest.approx([7 * message + 0.5] * 8, abs=0.1)


def test_the_numbers_of_the_introduction_are_those_of_the_runs() -> None:
    text = " ".join(_PAGE.partition("## Inference serving")[2].partition("Written by")[0].split())
    found = json.loads((_ROOT / "docs/experiments/hardware.json").read_text())["claims"]
    by_key = {claim["id"].partition("/")[2]: claim for claim in found}
    assert "`kernels.csv` (36 rows) and `kv_caches.csv` (21 rows)" in text
    assert [sum(map(len, _listed(name).values())) for name in ("kernels.csv", "kv_caches.csv")] == [36, 21]
    assert f"compares {len(_kernel_rows.measured())} sizes of dispatch and combine and 21 KV caches" in " ".join(
        _PAGE.split()
    )
    near = [by_key[key] for key in ("E.1", "E.2", "E.3")]
    missed = sum(claim["measured"]["missed"] for claim in near)
    of_server = sum(claim["reason"].count(", EP8, ") for claim in near)
    rows = sum(claim["measured"]["rows"] for claim in near)
    assert f"{rows - 4 - (missed - of_server)} of {rows - 4} judged times from 16 to 256 ranks" in text
    assert of_server == 2
    assert "Of four judged times of 8 ranks with ConnectX-7, two are within their limits" in text
    assert by_key["E.5"]["measured"]["missed"] == by_key["E.5"]["measured"]["rows"] == 8
    least, largest = (1 / by_key["E.5"]["measured"][key] for key in ("largest ratio", "least ratio"))
    assert f"take {least:.1f} to {largest:.1f} times as long as in xoff" in text
    assert by_key["K.2"]["direction"] == by_key["P"]["direction"] == "holds"
    assert f"{by_key['K.2']['measured']['rate'].split()[0]} of the payload rate".replace("%", " %") in text
    assert "of 0.889 and an overhead of 70.9 ms" in text
    assert by_key["P"]["measured"]["efficiency"] == 0.889
    assert by_key["P"]["measured"]["overhead (ms)"] == 70.9
    assert "makes a dispatch of 32 ranks 18 % longer (E.G)" in text
    assert by_key["E.G"]["measured"][next(iter(kernels.GUESSES))].startswith("dispatch +18.0%")
