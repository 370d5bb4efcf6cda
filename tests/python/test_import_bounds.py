"""Large, truncated or hostile files of other simulators: time and memory are bounded by their size."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from imports import CONFIG, EXAMPLES, FLOWS, MATRIX, TOPO, TOPOLOGY, Import, document_of
from small import Command
from xoff import InputError
from xoff.importing import chakra, goal, hpcc, hpcc_topology, htsim, notes, requests, simai, source
from xoff.importing.source import Source, read

_STAR = "5 1 4\n4\n" + "".join(f"{host} 4 100Gbps 1000ns 0\n" for host in range(4))


def _file(place: Path, text: str | bytes) -> Path:
    place.write_bytes(text.encode() if isinstance(text, str) else text)
    return place


def _peak(work: Callable[[], Any]) -> int:
    """Returns the peak memory of Python's objects during some work."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


_FLOWS_IN_ONE_FILE = 20_000


def _hpcc(place: Path, count: int) -> Callable[[], Any]:
    flows = "".join(f"{n % 4} {(n + 1) % 4} 3 {n % 4} {1000 + n} 2.{n:09d}\n" for n in range(count))
    files = _file(place / "topology", _STAR), _file(place / "flows", f"{count}\n{flows}")
    return lambda: hpcc.convert(read(files[0]), read(files[1]), None)


def _htsim(place: Path, count: int) -> Callable[[], Any]:
    flows = "".join(f"{n % 4}->{(n + 1) % 4} id {n + 1} start {n} size {1000 + n}\n" for n in range(count))
    file = _file(place / "matrix", f"Nodes 4\nConnections {count}\n{flows}")
    return lambda: htsim.convert(read(file), None, "ps")


def _requests(place: Path, count: int) -> Callable[[], Any]:
    rows = "".join(
        f'{{"timestamp": {n}, "input_length": 9, "output_length": 9, "hash_ids": [{n}]}}\n' for n in range(count)
    )
    file = _file(place / "trace", rows)
    return lambda: requests.convert(read(file), requests.Choices())


@pytest.mark.parametrize(("make", "most"), [(_hpcc, 350), (_htsim, 600), (_requests, 300)])
def test_memory_grows_with_flows_and_by_little(
    tmp_path: Path, make: Callable[[Path, int], Callable[[], Any]], most: int
) -> None:
    """Ten million flows fit into the memory of a laptop."""
    few, many = (_peak(make(tmp_path, count)) for count in (100, _FLOWS_IN_ONE_FILE))
    assert (many - few) / _FLOWS_IN_ONE_FILE < most


@pytest.mark.parametrize(
    "convert", [lambda one: hpcc.convert(one, one, None), lambda one: htsim.convert(one, one, "us")]
)
@pytest.mark.parametrize("content", ["\n" * 10**6, "1 " * 10**6, "x" * 10**6], ids=["lines", "words", "word"])
def test_large_files_without_meaning_take_their_own_size(
    tmp_path: Path, content: str, convert: Callable[[Source], Any]
) -> None:
    """Neither a list of their lines nor a list of their words is kept."""
    file = _file(tmp_path / "large", content)

    def refused() -> None:
        with pytest.raises(InputError) as error:
            convert(read(file))
        assert len(str(error.value)) < 500

    assert _peak(refused) < 6 * 10**6


def test_more_lines_than_flows_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_MAX_LINES", 100)
    assert read(_file(tmp_path / "fits", "\n" * 99)).last == 100
    with pytest.raises(InputError, match="more: has more than 100 lines"):
        read(_file(tmp_path / "more", "\n" * 100))


@pytest.mark.parametrize("at", [0, 5, 2**20 - 2, 2**20 - 1, 2**20, 3 * 2**20])
def test_the_line_of_what_is_no_text_is_named_wherever_it_is(tmp_path: Path, at: int) -> None:
    """Files are decoded in pieces, with multi-byte characters at the borders."""
    whole = ("é\n" * (at // 3 + 1)).encode()[:at]
    while whole and whole[-1] & 0xC0 == 0xC0:
        whole = whole[:-1]
    with pytest.raises(InputError, match=f"line {whole.count(10) + 1}: is not UTF-8 text"):
        read(_file(tmp_path / "file", whole + b"\xff\n"))
    assert read(_file(tmp_path / "whole", b"\xef\xbb\xbf" + "é ☃\n".encode() * 2**18)).last == 2**18 + 1
    with pytest.raises(InputError, match="line 2: is not UTF-8 text"):
        read(_file(tmp_path / "cut", "é\né".encode()[:-1]))


def test_a_barrier_of_many_for_many_is_refused(xoff_here: Command, tmp_path: Path) -> None:
    """3000 wait for 3000 others: 9 million messages from a file of a few thousand lines."""
    fire = "".join(f"{n % 9}->9 id {n + 1} start 0 size 1 send_done_trigger 1\n" for n in range(3000))
    wait = "".join(f"{n % 9}->9 id {n + 5001} trigger 1 size 1\n" for n in range(3000))
    text = f"Nodes 10\n{fire}{wait}trigger id 1 barrier count 3000\n"
    text = text.replace("\n", "\nConnections 6000\nTriggers 1\n", 1)
    file = _file(tmp_path / "m.cm", text)
    done = xoff_here("import", "htsim", file, "--start-unit", "us", "--out", "imported")
    why = "line 6004: 3,000 connections wait for 3,000 each; 4,194,304 waits are allowed in all"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"xoff: error: {file}: {why}\n")


def test_triggers_in_a_circle_take_no_time(imported: Import) -> None:
    """A ring of barriers without an entry, and a ring entered by a flow."""
    lines = []
    for first, start in ((1, ""), (1001, "start 0 ")):
        for n in range(1000):
            begin = start if start and n == 0 else f"trigger {first + n} "
            lines.append(f"0->1 id {first + n} {begin}size 1 send_done_trigger {first + (n + 1) % 1000}")
    lines += [f"trigger id {n + 1} barrier count 1" for n in range(2000)]
    said = imported("htsim", "\n".join(["Nodes 2", "Connections 2000", "Triggers 2000", *lines]))
    assert said["flows"] == 1000
    assert [note["lines"] for note in said["notes"] if note["message"].startswith("never starts")] == [[[4, 1003]]]


def test_rates_and_places_of_hosts_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(hosts: int, rates: int, why: str) -> None:
        links = "".join(f"{n} {hosts} {100 + n % rates}Gbps {n}ns 0\n" for n in range(hosts))
        topology = _file(tmp_path / "topology", f"{hosts + 1} 1 {hosts}\n{hosts}\n{links}")
        with pytest.raises(InputError, match=f"topology: line 1: {why}"):
            hpcc.convert(read(topology), read(_file(tmp_path / "flows", "0\n")), None)

    refused(300, 300, "the links have 300 rates; at most 256 are allowed")
    monkeypatch.setattr(hpcc_topology, "_MAX_SEARCH", 1599)
    refused(40, 40, "hosts at 40 places and 40 links; 1,599 are possible, one times the other")


def test_what_is_said_of_many_words_is_said_once(imported: Import) -> None:
    """A message for each of a hundred thousand words would be a scenario of many megabytes."""
    many = 3 * notes._MOST
    links = "".join(f"{n} {many} 100Gbps 1000ns 0.{n + 1:03d}\n" for n in range(many))
    config = "".join(f"UNKNOWN_{n} 1\n" for n in range(many)) + "CC_MODE 0\nRATE_BOUND 0\n"
    said = imported("hpcc", f"{many + 1} 1 {many}\n{many}\n{links}", "1\n0 1 3 9 2.0\n", config)
    texts = [note["message"] for note in said["notes"]]
    assert len([text for text in texts if "at random" in text]) == 1
    assert len([text for text in texts if "unknown, and" in text]) == notes._MOST + 1
    # Messages about known keys remain.
    assert "RATE_BOUND: xoff paces flows" in texts
    last = next(note for note in said["notes"] if note["message"].startswith("more words are unknown"))
    assert last["lines"] == [[notes._MOST + 1, many]]
    assert document_of(said)["network"]


@pytest.mark.parametrize("kind", ["hpcc", "htsim"])
def test_files_that_are_cut_off_are_imported_or_refused(xoff_here: Command, tmp_path: Path, kind: str) -> None:
    """At any cut, the import succeeds or a message names the file and no files are left."""
    files = [TOPOLOGY, FLOWS, CONFIG] if kind == "hpcc" else [MATRIX, TOPO]
    for hit in files:
        content = hit.read_bytes()
        for at in range(0, len(content), max(1, len(content) // 40)):
            cut = _file(tmp_path / hit.name, content[:at])
            before = sorted(tmp_path.iterdir())
            done = xoff_here("import", kind, *(cut if one is hit else one for one in files), "--out", f"{hit.name}{at}")
            assert done.returncode in {0, 2}, (hit.name, at)
            if done.returncode == 2:
                assert done.stderr.count("\n") == 1
                assert str(cut) in done.stderr or hit in {TOPO, CONFIG}, done.stderr
                assert sorted(tmp_path.iterdir()) == before


def _refuses_beyond(module: Any, name: str, count: int, convert: Callable[[], Any]) -> str:
    """Imports files with this many operations at the limit, and returns the refusal one below the limit."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, name, count)
        convert()
        patch.setattr(module, name, count - 1)
        with pytest.raises(InputError) as error:
            convert()
    return str(error.value)


def test_operations_are_counted_before_any_is_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    schedule = """num_ranks 2
rank 0 { // calc 1
  a: calc 5 cpu 1
  /* send 5b to 1
  calc 7 */
\tsend 5b to 1
  calc: recv 5b from 1
  calc requires a
}
rank 1 {
l2:  send 5b to 0
recv 5b from 0
}
"""
    file = _file(tmp_path / "job.goal", schedule)

    def made() -> object:
        return goal.convert(read(file))

    said = _refuses_beyond(goal, "_MAX_OPERATIONS", 5, made)
    assert said == f"{file}: has 5 operations; at most 4 are allowed"
    monkeypatch.setattr(goal, "_MAX_OPERATIONS", 4)
    monkeypatch.setattr(goal, "_operation", None)
    with pytest.raises(InputError):
        made()


def test_nodes_of_traces_are_counted_before_any_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    traces = [EXAMPLES / f"chakra.{rank}.json" for rank in range(2)]
    counts = [path.read_text().count('"NodeType"') for path in traces]

    def made() -> object:
        return chakra.convert(paths=traces, groups=None)

    said = _refuses_beyond(chakra, "MAX_OPERATIONS", sum(counts), made)
    assert said.startswith(f"{traces[1]}: the traces up to this file have {sum(counts)} nodes; ")
    said = _refuses_beyond(chakra, "_MAX_NODES", max(counts), made)
    assert f"has {max(counts)} nodes; at most" in said
    monkeypatch.setattr(chakra, "MAX_OPERATIONS", 1)
    monkeypatch.setattr(chakra, "_read", None)
    with pytest.raises(InputError):
        made()


def test_a_job_of_simai_beyond_the_limit_is_refused_with_its_number(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    head = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 all_gpus: 16"
    file = _file(tmp_path / "layers.txt", f"{head}\n2\n" + 2 * "a -1 1 ALLREDUCE 9 1 NONE 0 1 NONE 0 1\n")

    def made() -> object:
        return simai.convert(read(file), None, None, 8)

    # Three computations and a collective for each layer, at each of 16 GPUs.
    said = _refuses_beyond(simai, "MAX_SHARED", 2 * 4 * 16, made)
    assert "8 operations of 16 GPUs are 128; at most 127 are allowed" in said
    monkeypatch.setattr(simai, "MAX_SHARED", 2 * 3 * 16 - 1)
    with pytest.raises(InputError, match="line 2: 2 layers on 16 GPUs are 96 operations or more; at most 95"):
        made()
