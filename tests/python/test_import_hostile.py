"""From any input, an importer writes a scenario that `xoff check` accepts, or prints the problem in one line."""

from __future__ import annotations

import json
import os
import random
import re
from pathlib import Path

import pytest

import xoff
from imports import CONFIG, EXAMPLES, FLOWS, MATRIX, TOPO, TOPOLOGY
from small import Command
from xoff.files.tables import read_table

# The files of an import, and its options.
KINDS: dict[str, tuple[list[Path], tuple[str, ...]]] = {
    "hpcc": ([TOPOLOGY, FLOWS, CONFIG], ()),
    "htsim": ([MATRIX, TOPO], ("--start-unit", "us")),
    "goal": ([EXAMPLES / "ring.goal"], ()),
    "simai": ([EXAMPLES / "layers.txt"], ("--gpus", "16")),
    "simai-topology": ([EXAMPLES / "layers.txt", EXAMPLES / "rails.topo"], ("--gpus", "16")),
    "chakra": ([EXAMPLES / "chakra.0.json", EXAMPLES / "chakra.1.json"], ()),
    "requests": ([EXAMPLES / "requests.jsonl"], ()),
}
PLACES = [(kind, place) for kind, (files, _) in KINDS.items() for place in range(len(files))]
UNSEEN = "\x1b[31m\u202e\x07\u2066\x9b"
NUMBERS = ["0", "1", "2", "7", "-1", "65536", "1e300", "4294967296", "10000000000000000", "9223372036854775807", "0.5"]
HOSTILE = [*NUMBERS, "", "x", "\x1b[31mred", "NaN", "²", "a:b", "{", "ALLREDUCE"]


def with_file(kind: str, place: int, file: Path) -> list[str | Path]:
    files, options = KINDS[kind]
    given = [file if at == place else one for at, one in enumerate(files)]
    if kind == "simai-topology":
        return ["import", "simai", given[0], "--topology", given[1], *options]
    return ["import", kind, *given, *options]


def outcome(command: Command, words: list[str | Path], out: Path) -> str:
    """Imports files. Returns the error.

    A written scenario passes `check`, a written table of requests is read, and a refused import leaves no files.
    """
    done = command(*words, "--out", out)
    assert done.returncode in {0, 2}, done.stderr
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", done.stdout + done.stderr)
    if done.returncode == 0:
        if words[1] == "requests":
            assert read_table("requests", out / "requests.csv").num_rows > 0
        else:
            xoff.check(str(out / "scenario.toml"))
        return ""
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    assert not out.exists()
    return done.stderr


@pytest.mark.parametrize(("kind", "place"), PLACES)
def test_what_is_no_regular_file_is_refused(xoff_here: Command, tmp_path: Path, kind: str, place: int) -> None:
    """Neither an endless device nor a pipe without a writer is read."""
    os.mkfifo(tmp_path / "pipe")
    for file in (Path("/dev/zero"), tmp_path / "pipe", tmp_path):
        said = outcome(xoff_here, with_file(kind, place, file), tmp_path / "out")
        assert f"{file}: {'cannot be read: Is a directory' if file == tmp_path else 'is not a regular file'}" in said


@pytest.mark.parametrize(("kind", "place"), PLACES)
def test_files_without_bounds_are_refused(xoff_here: Command, tmp_path: Path, kind: str, place: int) -> None:
    """By their length, before reading."""
    file = tmp_path / "large"
    with file.open("wb") as large:
        large.truncate(2**40)
    assert f"{file}: is larger than" in outcome(xoff_here, with_file(kind, place, file), tmp_path / "out")


@pytest.mark.parametrize(("kind", "place"), PLACES)
@pytest.mark.parametrize("content", ["", "\n", " ", "{}", "[]", "0\n", "num_ranks 0\n", '{"workload_graph": []}'])
def test_files_with_nothing_in_them(xoff_here: Command, tmp_path: Path, kind: str, place: int, content: str) -> None:
    file = tmp_path / "empty"
    file.write_text(content)
    said = outcome(xoff_here, with_file(kind, place, file), tmp_path / "out")
    # A file of settings, a flow table without flows, and a trace beside a nonempty trace may be empty.
    assert str(file) in said or kind in {"hpcc", "chakra"}


@pytest.mark.parametrize(("kind", "place"), PLACES)
def test_signs_of_a_file_reach_no_terminal(xoff_here: Command, tmp_path: Path, kind: str, place: int) -> None:
    """Neither from the file's name nor from its words, in refusals and in notes."""
    content = KINDS[kind][0][place].read_text()
    words = [found.end() for found in re.finditer(r"[^\s\",:{}\[\]]+", content)]
    escaped = json.dumps(UNSEEN)[1:-1] if kind in {"chakra", "requests"} else UNSEEN
    for number, end in enumerate(words[:: max(1, len(words) // 6)]):
        file = tmp_path / f"{number}{UNSEEN}.txt"
        file.write_text(content[:end] + escaped + content[end:], "utf-8")
        outcome(xoff_here, with_file(kind, place, file), tmp_path / f"out{number}{UNSEEN}")


@pytest.mark.parametrize(("kind", "place"), PLACES)
@pytest.mark.parametrize("seed", range(2))
def test_damaged_files_are_imported_or_refused(
    xoff_here: Command, tmp_path: Path, kind: str, place: int, seed: int
) -> None:
    """Other words, numbers that are too large, missing or repeated lines."""
    draw = random.Random(f"{kind} {place} {seed}")
    content = KINDS[kind][0][place].read_text()
    for number in range(8):
        damaged = content
        for _ in range(draw.randint(1, 2)):
            if draw.random() < 0.7:
                start, end = draw.choice([one.span() for one in re.finditer(r"[^\s\",:{}\[\]]+", damaged)])
                damaged = damaged[:start] + draw.choice(HOSTILE) + damaged[end:]
            else:
                lines = damaged.splitlines(keepends=True)
                at = draw.randrange(len(lines))
                damaged = "".join([*lines[:at], *draw.choice([[], 2 * [lines[at]]]), *lines[at + 1 :]])
        file = tmp_path / f"{number}.txt"
        file.write_text(damaged, "utf-8")
        out = tmp_path / f"out{number}"
        said = outcome(xoff_here, with_file(kind, place, file), out)
        assert not said or said.startswith(tuple(f"xoff: error: {one}: " for one in (file, *KINDS[kind][0]))), said


@pytest.mark.parametrize("kind", KINDS)
def test_a_refused_import_leaves_nothing(
    xoff_here: Command, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither files nor new directories, also if the scenario is refused after it has been written."""

    def refuse(_: Path) -> None:
        raise xoff.InputError("is refused at last")

    monkeypatch.setattr("xoff.importing.directory.synchronise", refuse)
    words = with_file(kind, 0, KINDS[kind][0][0])
    (tmp_path / "kept").mkdir()
    for out in ("new/deeper/out", "kept/out"):
        assert outcome(xoff_here, words, tmp_path / out) == "xoff: error: is refused at last\n"
    done = xoff_here(*words)
    assert done.returncode == 2
    assert [path.name for path in tmp_path.rglob("*")] == ["kept"]


GOAL = "num_ranks 2\nrank 0 {{\n{0}\n}}\nrank 1 {{\n{1}\n}}\n"


@pytest.mark.parametrize(
    ("kind", "text", "where", "why"),
    [
        ("goal", GOAL.format("a: calc 5\na requires a", ""), "line 3", "would wait for itself"),
        ("goal", GOAL.format("a: calc 5\nb: calc 5\na requires b\nb irequires a", ""), "line 4", "wait for itself"),
        (
            "goal",
            GOAL.format("send 10000000000000000b to 1", "recv 1b from 0"),
            "line 3",
            "is not a whole number from 0",
        ),
        ("goal", GOAL.format("send 4398046511104b to 1", "recv 1b from 0"), "line 3", "from 0 to 4294967294999"),
        ("goal", GOAL.format("calc 1000000000000", ""), "line 3", "is not a whole number from 0 to 281000000000"),
        ("goal", GOAL.format("send 5b to 0\nrecv 5b from 0", ""), "line 3", "no other rank"),
        ("goal", "num_ranks 2\n", "line 2", "no operations"),
        ("goal", GOAL.format("calc 1 /* not closed", ""), "line 3", "the comment does not end; close it by `*/`"),
        ("goal", GOAL.format("calc 1 /*/", ""), "line 3", "the comment does not end"),
        ("goal", GOAL.format("send 5b to 1 tag 1 tag 2", "recv 5b from 0 tag 2"), "line 3", "tag is given twice"),
        ("goal", GOAL.format("send 5b to 1 tag -1", "recv 5b from 0"), "line 3", "tag: `-1` is not a whole number"),
        ("goal", GOAL.format("calc 5 cpu", ""), "line 3", "`cpu` is not an option with a value"),
        ("goal", "num_ranks 20000\n", "line 1", "is not a whole number from 0 to 16000"),
        ("simai", "HYBRID all_gpus: 4\n0\n", "line 3", "no layers"),
        ("simai", "HYBRID all_gpus: 65536\n65536\n", "line 2", "12,884,901,888 operations or more"),
        ("chakra", [{"Id": 3, "NodeType": 4, "data_deps": [3]}], "node 3", "would wait for itself"),
        ("chakra", [{"Id": 3, "NodeType": 4, "runtime": 10**9}], "node 3", "is not a number of microseconds"),
        ("chakra", [{"Id": 3, "NodeType": 5, "comm_dst": 0, "comm_size": 1}], "node 3", "no other rank"),
        ("chakra", [{"Id": 3, "NodeType": 4, "data_deps": 7}], "node 3", "the dependencies are not a list of numbers"),
        ("htsim", "Nodes 2\nConnections 1\n0->1 start 0 size 10000000000000000\n", "line 3", "is too large for a size"),
    ],
)
def test_the_place_of_what_is_refused_is_named(
    xoff_here: Command, tmp_path: Path, kind: str, text: str | list[object], where: str, why: str
) -> None:
    file = tmp_path / "hostile"
    file.write_text(text if isinstance(text, str) else json.dumps({"workload_graph": text}))
    said = outcome(xoff_here, ["import", kind, file], tmp_path / "out")
    assert said.startswith(f"xoff: error: {file}: {where}: ")
    assert why in said


@pytest.mark.parametrize("size", [10**13, 10**16, 2**63 - 1])
@pytest.mark.parametrize("at", [0, 3])
def test_the_line_of_a_flow_that_is_too_large_is_named(xoff_here: Command, tmp_path: Path, size: int, at: int) -> None:
    topology = tmp_path / "topology"
    topology.write_text("3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n")
    flows = tmp_path / "flows"
    rows = "".join(f"0 1 3 100 {size if row == at else 1000} 2.0\n" for row in range(5))
    flows.write_text(f"5\n{rows}remarks\n")
    said = outcome(xoff_here, ["import", "hpcc", topology, flows], tmp_path / "out")
    assert said.startswith(f"xoff: error: {flows}: line {at + 2}: size: ")


def test_what_begins_together_takes_no_time_to_find(xoff_here: Command, tmp_path: Path) -> None:
    """Operations begin with the preceding operation, twice each: 2^200 paths back; all begin when the first is over."""
    lines = ["a: calc 1000", "o0: calc 1", "o0 requires a"]
    lines += [f"o{n}: calc 1 cpu {n}" for n in range(1, 200)]
    lines += 2 * [f"o{n} irequires o{n - 1}" for n in range(1, 200)]
    file = tmp_path / "chain.goal"
    file.write_text("num_ranks 1\nrank 0 {\n" + "\n".join(lines) + "\n}\n")
    assert not outcome(xoff_here, ["import", "goal", file], tmp_path / "out")
    rows = xoff.run(str(tmp_path / "out" / "scenario.toml")).operations.to_pylist()
    assert {row["start_ps"] for row in rows if row["name"] != "o0"} == {1_000_000}


def test_an_import_says_what_the_run_has(xoff_here: Command, tmp_path: Path) -> None:
    """An all-reduce of 1 MiB on 8 ranks: 14 steps of 128 KiB from each, 14.7 MB, on 8 connections."""
    files = []
    for rank in range(8):
        files.append(tmp_path / f"{rank}.json")
        node = {"Id": 1, "NodeType": 7, "comm_type": 0, "comm_size": 2**20}
        files[-1].write_text(json.dumps({"workload_graph": [node]}))
    done = xoff_here("import", "chakra", *files, "--out", "out")
    assert done.stdout == "out/scenario.toml: 8 flows of 14.7 MB together\n"
    said = json.loads(xoff_here("import", "chakra", *files, "--out", "again", "--json").stdout)
    flows = xoff.run(str(tmp_path / "again" / "scenario.toml")).flows.to_pylist()
    assert (said["flows"], said["bytes"]) == (len(flows), sum(row["size_bytes"] for row in flows)) == (8, 14 * 2**20)
