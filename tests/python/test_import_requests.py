"""Traces of requests: three formats, windows, ticks, the prefix cache, and refusals of broken rows."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imports import EXAMPLES, messages
from small import Command
from xoff import formatting
from xoff.importing import traces
from xoff.importing.notes import Notes
from xoff.importing.prefix_cache import PrefixCache
from xoff.importing.requests import Choices, convert
from xoff.importing.source import Source

Requests: TypeAlias = Callable[..., tuple[dict[str, Any], list[tuple[int, int, int, int]]]]
"""The type of the fixture that imports a trace."""

AZURE = """TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:15:46.6805900,374,44
2023-11-16 18:15:50.9951690,396,109
2023-11-17 00:00:00.0000001,8,1"""
BURSTGPT = """Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
5,ChatGPT,472,18,490,Conversation log
45,ChatGPT,1087,0,1087,API log
45.25,GPT-4,417,276,693,API log
118,ChatGPT,0,3,3,API log
"""
SESSIONS = """Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type
5.0,,3.5,ChatGPT,472,18,490,API log
"7.5","a,b",2,GPT-4,10,2,12,"Conversation log"
"""


def record(time: object, input: object = 512, output: object = 9, blocks: object = (1,)) -> str:
    """Returns a row of a trace of Mooncake."""
    return json.dumps({"timestamp": time, "input_length": input, "output_length": output, "hash_ids": blocks})


def mooncake(*times: int) -> str:
    return "".join(f"{record(time)}\n" for time in times)


def picoseconds(text: str) -> int:
    value, unit = formatting.quantity(text) or (0, "")
    assert unit == "ps"
    return value


@pytest.fixture
def requests(xoff_here: Command, tmp_path: Path) -> Requests:
    """Imports a trace; returns the output of ``--json``, and the rows with arrivals in milliseconds."""

    def run(content: str, *options: str) -> tuple[dict[str, Any], list[tuple[int, int, int, int]]]:
        (tmp_path / "trace").write_text(content, "utf-8", newline="")
        out = f"out{len(list(tmp_path.iterdir()))}"
        done = xoff_here("import", "requests", "trace", "--out", out, "--json", *options)
        assert done.returncode == 0, done.stderr
        said: dict[str, Any] = json.loads(done.stdout)
        assert said["files"] == [said["table"]] == [f"{out}/requests.csv"]
        with Path(said["table"]).open(newline="") as file:
            found = list(csv.DictReader(file))
        assert list(found[0]) == ["arrival", "input_tokens", "output_tokens", "cached_tokens"]
        rows: list[tuple[int, int, int, int]] = []
        for one in found:
            arrival, given, made, cached = one.values()
            rows.append((picoseconds(arrival) // 10**9, int(given), int(made), int(cached)))
        assert said["requests"] == len(rows)
        return said, rows

    return run


def arrivals(rows: Sequence[tuple[int, ...]]) -> list[int]:
    return [row[0] for row in rows]


def test_azure(requests: Requests) -> None:
    """Dates of seven decimals; the end of a row may be CR LF."""
    for text in (AZURE, AZURE.replace("\n", "\r\n"), f"\ufeff{AZURE}\n\n"):
        said, rows = requests(text)
        assert rows == [(0, 374, 44, 0), (4314, 396, 109, 0), (20653319, 8, 1, 0)]
        assert (said["format"], said["left_out"]) == ("Azure", 0)
        assert said["span_ps"] == 20653_319_410_100_000
        assert said["input_tokens"] == {"mean": 778 / 3, "p50": 374, "p99": 396}
        assert "no prefixes" in messages(said)


def test_dates_with_offsets(requests: Requests) -> None:
    """The traces of 2024 have an offset and six decimals."""
    head = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    text = f"{head}2024-05-10 00:00:00.009930+00:00,2162,5\n2024-05-10T02:00:01+02:00,3,4\n2024-05-10 00:00:02Z,3,4\n"
    assert arrivals(requests(text)[1]) == [0, 990, 1990]


def test_burstgpt(requests: Requests) -> None:
    """A request without tokens failed."""
    said, rows = requests(BURSTGPT)
    assert rows == [(0, 472, 18, 0), (40250, 417, 276, 0)]
    assert (said["format"], said["left_out"]) == ("BurstGPT", 2)
    notes = {note["message"]: note["lines"] for note in said["notes"]}
    assert notes["requests without output tokens failed, and are left out"] == [[3, 3]]
    assert notes["requests without input tokens failed, and are left out"] == [[5, 5]]
    said, rows = requests(SESSIONS)
    assert rows == [(0, 472, 18, 0), (2500, 10, 2, 0)]


def test_mooncake(requests: Requests) -> None:
    """Four of seven inputs share a prefix with a preceding input."""
    said, rows = requests((EXAMPLES / "requests.jsonl").read_text())
    assert said["format"] == "Mooncake"
    assert arrivals(rows) == [0, 1000, 2000, 3000, 4499, 5999, 7499]
    assert [row[3] for row in rows] == [0, 512, 0, 1536, 999, 0, 1536]
    assert said["cached_tokens"] == sum(row[3] for row in rows)
    assert said["cached_share"] == said["cached_tokens"] / sum(row[1] for row in rows)


def test_unknown_columns_are_said(requests: Requests) -> None:
    said, rows = requests(AZURE.replace("TIMESTAMP", "NumImages,TIMESTAMP").replace("\n2", "\n3,2"))
    assert rows[0] == (0, 374, 44, 0)
    assert "the column `NumImages` is not carried over" in messages(said)
    said, _ = requests(record(0).replace("{", '{"priority": 3, '))
    assert "the key `priority` is not carried over" in messages(said)


def test_the_summary_as_text(xoff_here: Command, tmp_path: Path) -> None:
    done = xoff_here("import", "requests", EXAMPLES / "requests.jsonl", "--cache-tokens", "0", "--spread", "0")
    assert done.stdout.splitlines() == [
        "out/requests/requests.csv: 7 requests of Mooncake in 5.999 s",
        "  input tokens   mean 1,219, median 1,000, p99 2,100",
        "  output tokens  mean 21, median 20, p99 40",
        "  cached tokens  0.0 % of input tokens",
    ]
    assert (tmp_path / "out/requests/requests.csv").read_text().splitlines()[:2] == [
        "arrival,input_tokens,output_tokens,cached_tokens",
        "0ps,1000,20,0",
    ]


# Requests at 0 s, 1 s, … 9 s.
SECONDS = mooncake(*range(0, 10_000, 1000))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), range(0, 10_000, 1000)),
        (("--from", "3s"), range(0, 7000, 1000)),
        (("--from", "2500ms"), range(0, 7000, 1000)),
        (("--for", "3s"), range(0, 3000, 1000)),
        (("--for", "3001ms"), range(0, 4000, 1000)),
        (("--from", "4s", "--for", "2s"), [0, 1000]),
        (("--speed", "2.5"), range(0, 4000, 400)),
        (("--speed", "0.1", "--for", "2s"), [0, 10_000]),
        (("--from", "8s", "--speed", "4"), [0, 250]),
    ],
)
def test_windows_and_speed(requests: Requests, options: tuple[str, ...], expected: Sequence[int]) -> None:
    """A window is of the trace, before the division, and its first request arrives at zero."""
    assert arrivals(requests(SECONDS, *options)[1]) == list(expected)


def test_a_window_keeps_the_cache_of_the_requests_before(requests: Requests) -> None:
    _, rows = requests(SECONDS, "--from", "5s")
    assert {row[3] for row in rows} == {511}


def test_a_failed_request_starts_a_trace(requests: Requests) -> None:
    """Times of a window count from the first row."""
    text = BURSTGPT.replace("5,ChatGPT,472,18", "5,ChatGPT,472,0")
    assert arrivals(requests(text)[1]) == [0]
    assert requests(text, "--from", "40s")[0]["requests"] == 1


def test_requests_after_the_longest_simulation_are_said(requests: Requests) -> None:
    text = mooncake(0, 281_000, 281_001, 900_000)
    why = "of 4 requests arrive after 281s, the end of the longest simulation"
    assert f"2 {why}; --for 281s or --speed 4 fits" in messages(requests(text)[0])
    assert f"1 {why}; --for 562s or --speed 4 fits" in messages(requests(text, "--speed", "2")[0])
    assert "longest" not in messages(requests(text, "--speed", "4")[0])


def test_unordered_rows_are_sorted_and_keep_ties(requests: Requests) -> None:
    times = [3000, 1000, 3000, 0, 1000]
    text = "".join(f"{record(time, 10 + place)}\n" for place, time in enumerate(times))
    said, rows = requests(text, "--spread", "0")
    assert [row[:2] for row in rows] == [(0, 13), (1000, 11), (1000, 14), (3000, 10), (3000, 12)]
    # The cache sees the requests in the order of arrival.
    assert [row[3] for row in rows] == [0, 10, 13, 9, 11]
    (note,) = [note for note in said["notes"] if "requests are sorted" in note["message"]]
    assert note["lines"] == [[2, 2], [4, 5]]


def test_requests_of_a_tick_are_spread_evenly(requests: Requests) -> None:
    """The clock of the source ticks every 3 s, give or take a few milliseconds."""
    times = [0, 0, 0, 3000, 5999, 5999, 8999, 8999, 8999, 14998, 14998, 14998]
    expected = [0, 1000, 2000, 3000, 5999, 7499, 8999, 9999, 10999, 14998, 15998, 16998]
    said, rows = requests(mooncake(*times))
    assert arrivals(rows) == expected
    assert "12 requests arrive at 5 moments: the requests of a moment are spread evenly over a tick of 3s" in messages(
        said
    )
    assert arrivals(requests(mooncake(*times), "--spread", "0")[1]) == times
    # A spread above the tick keeps the order.
    assert arrivals(requests(mooncake(*times), "--spread", "9s")[1])[:5] == [0, 1000, 2000, 3000, 5999]
    assert arrivals(requests(mooncake(*times), "--spread", "1500ms")[1])[:5] == [0, 500, 1000, 3000, 5999]


def test_clocks_without_ticks_are_not_spread(requests: Requests) -> None:
    """Few requests share a moment, moments are at no multiples of a tick, or there is one moment."""
    for times in ([0, 0, 40, 277, 471, 529], [0, 0, 100, 100, 137, 137, 400, 400, 999, 999], [7, 7, 7]):
        said, rows = requests(mooncake(*times))
        assert arrivals(rows) == [time - times[0] for time in times]
        assert f"{len(times)} requests arrive at {len(set(times))} moments, as in the trace" in messages(said)
    assert arrivals(requests(mooncake(7, 7, 7), "--spread", "3s")[1]) == [0, 1000, 2000]


def test_other_traces_are_spread_if_asked(requests: Requests) -> None:
    text = BURSTGPT.replace("45.25", "5").replace("45", "5").replace("118", "5")
    assert arrivals(requests(text)[1]) == [0, 0]
    assert arrivals(requests(text, "--spread", "1s")[1]) == [0, 500]


@given(
    st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=6, unique=True), max_size=30),
    st.none() | st.integers(0, 12),
)
def test_the_cache_is_that_of_a_list(inputs: list[list[int]], room: int | None) -> None:
    """A list of blocks, from the most recently used block on, that is searched and cut after each request."""
    cache, listed = PrefixCache(room), list[int]()
    for blocks in inputs:
        hits = 0
        while hits < len(blocks) and blocks[hits] in listed:
            hits += 1
        assert cache.take(blocks) == hits
        listed = (blocks + [one for one in listed if one not in blocks])[:room]


def test_the_cache_holds_whole_blocks_and_drops_the_ends_first(requests: Requests) -> None:
    """1,200 tokens are two blocks. The third input finds the first block of the first input, and not the second."""
    rows = [record(0, 1024, 1, [1, 2]), record(1, 512, 1, [3]), record(2, 1024, 1, [1, 2])]
    assert [row[3] for row in requests("\n".join(rows), "--cache-tokens", "1200")[1]] == [0, 0, 512]
    assert [row[3] for row in requests("\n".join(rows))[1]] == [0, 0, 1023]
    assert [row[3] for row in requests("\n".join(rows), "--cache-tokens", "0")[1]] == [0, 0, 0]


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(1, 40)), min_size=1, max_size=40),
    st.integers(0, 10**10),
    st.integers(1, 50),
)
def test_arrivals_keep_order_and_number(rows: list[tuple[int, int]], spread: int, speed: int) -> None:
    text = "".join(f"{record(time, 7 + size)}\n" for time, size in rows)
    choices = Choices(spread=spread, speed=speed * Choices().speed)
    found = convert(Source(Path("trace"), text.encode()), choices)
    assert found.arrivals[0] == 0
    assert list(found.arrivals) == sorted(found.arrivals)
    assert list(found.inputs) == [7 + size for _, size in sorted(rows, key=lambda row: row[0])]
    assert all(cached < given for cached, given in zip(found.cached, found.inputs, strict=True))


GOOD = record(0)
ROW = "2023-11-16 18:15:46,374,44"
HEAD = AZURE.splitlines()[0]
BURST = BURSTGPT.splitlines()[0]


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("", 1, "the header `` is of no known trace; known are JSON lines with timestamp"),
        ("a,b,c\n1,2,3\n", 1, "the header `a,b,c` is of no known trace"),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:4b\n", 1, "is a pointer of Git LFS"),
        (f"{HEAD}\n", 2, "the trace has no requests"),
        (f"{HEAD},TIMESTAMP\n", 1, "the header has a column twice"),
        (f"{HEAD}\n{ROW}\n\n{ROW},5\n", 4, "4 values, and the header has 3"),
        (f'{HEAD}\n{ROW}\n"{ROW}\n', 3, "is not a row of CSV"),
        (f"{HEAD}\n2023-11-16 18:15:46,374,nan\n", 2, "GeneratedTokens: `nan` is not a whole number from 0 to"),
        (f"{HEAD}\n2023-11-16 18:15:46,-374,4\n", 2, "ContextTokens: `-374` is not a whole number"),
        (f"{HEAD}\n2023-11-16 18:15:46,{'9' * 99},4\n", 2, "ContextTokens: `9999"),
        (f"{HEAD}\n2023-11-31 18:15:46,1,4\n", 2, "TIMESTAMP: `2023-11-31 18:15:46` is not a date from 1970 to 2096"),
        (f"{HEAD}\n0001-01-01 00:00:00+14:00,1,4\n", 2, "TIMESTAMP: `0001"),
        (f"{HEAD}\n2023-11-16 18:15:46+99:99,1,4\n", 2, "TIMESTAMP: `2023"),
        (f"{HEAD}\n1969-12-31 23:59:59,1,4\n", 2, "TIMESTAMP: `1969"),
        (f"{HEAD}\n5,1,4\n", 2, "TIMESTAMP: `5` is not a date"),
        (f"{BURST}\ninf,ChatGPT,1,1,2,API log\n", 2, "Timestamp: `inf` is not a number of zero or more"),
        (f"{BURST}\n-1,ChatGPT,1,1,2,API log\n", 2, "Timestamp: `-1` is not a number"),
        (f"{BURST}\n1e99,ChatGPT,1,1,2,API log\n", 2, "Timestamp: `1e99` is too late; allowed are times up to 40"),
        (f"{BURST}\n1,ChatGPT,1.5,1,2,API log\n", 2, "Request tokens: `1.5` is not a whole number"),
        ("{\n", 1, "is not an object of JSON with unique keys"),
        (f"{GOOD}\n[1]\n", 2, "is not an object of JSON"),
        (f"{GOOD}\n{'[' * 60_000}\n", 2, "is not an object of JSON"),
        (f"{GOOD}\n{GOOD[:-1]}, \"timestamp\": 3}}\n", 2, "is not an object of JSON with unique keys"),
        (f"{GOOD}\n{GOOD.replace('512', 'NaN')}\n", 2, "is not an object of JSON"),
        ('{"timestamp": 5}\n', 1, "input_length: missing"),
        (record(-5), 1, "timestamp: `-5` is not a number of zero or more"),
        (record("5"), 1, "timestamp: `5` is not a number"),
        (record(10**13), 1, "timestamp: `10000000000000` is too late; allowed are times up to 4000000000000"),
        (record(0, 1e300), 1, "input_length: `1e+300` is not a whole number from 0 to 16777216"),
        (record(0, [1]), 1, "input_length: a list or an object is not a number"),
        (record(0, True), 1, "input_length: `True` is not a number"),
        (record(0, 512, None), 1, "output_length: `None` is not a number"),
        (record(0, 512, 2**24 + 1), 1, "output_length: `16777217` is not"),
        (record(0, 512, 1, 7), 1, "hash_ids: a list of numbers is needed"),
        (record(0, 512, 1, ["7"]), 1, "hash_ids: `7` is not a number"),
        (record(0, 512, 1, [-7]), 1, "hash_ids: `-7` is not a whole number"),
        (record(0, 512, 1, [7, 8]), 1, "hash_ids: 2 blocks for 512 tokens; a block has 512 tokens"),
        (f"{GOOD}\n{' ' * 2**20}{GOOD}\n", 2, "is longer than 1.0 MB"),
    ],
)  # fmt: skip
def test_broken_rows_are_refused(xoff_here: Command, tmp_path: Path, text: str, line: int, why: str) -> None:
    file = tmp_path / "trace"
    file.write_text(text, "utf-8")
    done = xoff_here("import", "requests", file, "--out", "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"xoff: error: {file}: line {line}: {why}"), done.stderr
    assert len(done.stderr) < 500
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--from", "10m"), "--from: `10m` was given; a time in whole nanoseconds is needed, such as 600s"),
        (("--for", "0"), "--for: the window is empty"),
        (("--for", "1ps"), "--for: `1ps` was given"),
        (("--spread", "nan"), "--spread: `nan` was given"),
        (("--spread", "-1s"), "--spread: `-1s` was given"),
        (("--speed", "0"), "--speed: 0 was given; a number from 1e-06 to 1e+06 is needed"),
        (("--speed", "nan"), "--speed: nan was given"),
        (("--cache-tokens", "511"), "--cache-tokens: 511 is less than a block of 512 tokens"),
        (("--from", "10s"), "--from, --for: no request is in this window"),
    ],
)
def test_wrong_options_are_refused(xoff_here: Command, tmp_path: Path, options: tuple[str, ...], why: str) -> None:
    (tmp_path / "trace").write_text(SECONDS)
    done = xoff_here("import", "requests", "trace", "--out", "out", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"xoff: error: {why}"), done.stderr
    assert not (tmp_path / "out").exists()


def test_a_cache_for_traces_without_prefixes_is_refused(xoff_here: Command, tmp_path: Path) -> None:
    (tmp_path / "trace").write_text(AZURE)
    done = xoff_here("import", "requests", "trace", "--cache-tokens", "1024")
    assert (done.returncode, done.stderr) == (
        2,
        "xoff: error: --cache-tokens: traces of Azure have no prefixes; remove the option\n",
    )


def test_arrivals_beyond_all_bounds_are_refused(xoff_here: Command, tmp_path: Path) -> None:
    (tmp_path / "trace").write_text(mooncake(0, 4 * 10**12))
    done = xoff_here("import", "requests", "trace", "--speed", "1e-6")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--speed: requests would arrive after" in done.stderr


def test_existing_files_stay(xoff_here: Command, tmp_path: Path) -> None:
    (tmp_path / "trace").write_text(SECONDS)
    (tmp_path / "out").mkdir()
    (tmp_path / "out/requests.csv").write_text("mine")
    done = xoff_here("import", "requests", "trace", "--out", "out")
    assert (done.returncode, done.stderr) == (
        2,
        "xoff: error: --out out: exists and is not empty; name a new directory\n",
    )
    assert (tmp_path / "out/requests.csv").read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "why"),
    [("MAX_REQUESTS", "the trace has more than 3 requests"), ("_MAX_BLOCKS", "hash_ids: the trace has")],
)
def test_requests_and_blocks_are_bounded(monkeypatch: pytest.MonkeyPatch, name: str, why: str) -> None:
    monkeypatch.setattr(traces, name, 3)
    assert len(traces.read_trace(Source(Path("trace"), mooncake(0, 1, 2).encode()), Notes()).times) == 3
    with pytest.raises(Exception, match=f"trace: line 4: {why}"):
        traces.read_trace(Source(Path("trace"), mooncake(0, 1, 2, 3).encode()), Notes())
