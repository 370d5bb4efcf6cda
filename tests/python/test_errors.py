"""Bad input ends in exit code 2 and one message that names the key; there is no traceback, and nothing is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import xoff
from small import TOML, Command


def _refused(done: Any, *parts: str) -> None:
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("xoff: error: ")
    assert done.stderr.count("xoff: error: ") == 1
    assert "Traceback" not in done.stderr
    assert "panicked" not in done.stderr
    for part in parts:
        assert part in done.stderr


@pytest.mark.parametrize(
    ("setting", "parts"),
    [
        ("switch.flow_control.pfc.xof=1KB", ["switch.flow_control.pfc", "xof"]),
        ("switch.flow_control.pfc.xoff=10us", ["switch.flow_control.pfc.xoff", "10us"]),
        ("switch.delay=-5ns", ["switch.delay", "-5ns"]),
        ("network.star.hosts=1000000000", ["network.star.hosts"]),
        ("network.star.hosts=0", ["network.star"]),
        ("network.star.link.rate=0Gbps", ["network.star", "0bps"]),
        ("framing.payload=0B", ["framing.payload"]),
        ("seed=x", ["seed"]),
        ("no_such_key=1", ["no_such_key"]),
        ("novalue", ["novalue"]),
    ],
)
def test_bad_setting(xoff_command: Command, scenario_file: Path, setting: str, parts: list[str]) -> None:
    _refused(xoff_command("run", scenario_file, "--out", "result", "--set", setting), *parts)
    assert sorted(scenario_file.parent.iterdir()) == [scenario_file]


@pytest.mark.parametrize(
    ("before", "after", "parts"),
    [
        ("receiver = 0", "receiver = 9", ["workload[0]", "9"]),
        ("receiver = 0", "receiver = 1", ["workload[0]"]),
        ('size = "100KB"', "size = 100", ["workload[0].incast.size"]),
        ('size = "100KB"', 'size = "-1KB"', ["workload[0].incast.size", "-1KB"]),
        ("hosts = 4", "hosts = true", ["network.star.hosts"]),
        ("[network.star]", "[network.ring]", ["network", "ring"]),
        ("[network.star]", "[network.star", ["line 5"]),
    ],
)
def test_bad_document(xoff_command: Command, tmp_path: Path, before: str, after: str, parts: list[str]) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(TOML.replace(before, after, 1), "utf-8")
    for command in ("run", "check"):
        _refused(xoff_command(command, file), *parts)
    assert sorted(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", TOML.encode()[:60], b"{" * 100_000, b"a = [" * 5000])
def test_broken_file(xoff_command: Command, tmp_path: Path, content: bytes) -> None:
    for name in ("broken.toml", "broken.json"):
        (tmp_path / name).write_bytes(content)
        _refused(xoff_command("run", name))


def test_files_that_are_not_there(xoff_command: Command, tmp_path: Path) -> None:
    _refused(xoff_command("run", "nowhere.toml"), "nowhere.toml", "no such file")
    _refused(xoff_command("check", tmp_path), "is a directory")


@pytest.mark.parametrize(
    "arguments",
    [
        ["run"],
        ["run", "small.toml", "--bogus"],
        ["run", "small.toml", "--threads", "0"],
        ["run", "small.toml", "--seed", "-1"],
        ["unknown"],
        ["reproduce", "no-such-claim"],
        ["bench", "no-such-case"],
        ["size", "sfc", "--incast", "1"],
        ["size", "sfc", "--incast", "3", "--rate", "fast"],
        ["size", "pfc", "--link-delay", "3KB"],
        ["new", "gadget", "thing"],
        ["new", "mechanism", "Not A Slug"],
    ],
)
def test_bad_arguments(xoff_command: Command, scenario_file: Path, arguments: list[str]) -> None:
    _refused(xoff_command(*arguments, cwd=scenario_file.parent))


def test_out_that_is_no_result_is_left_alone(xoff_command: Command, scenario_file: Path) -> None:
    precious = scenario_file.parent / "papers"
    precious.mkdir()
    (precious / "thesis.tex").write_text("x")
    _refused(xoff_command("run", scenario_file, "--out", precious), "papers")
    _refused(xoff_command("run", scenario_file, "--out", scenario_file), "not a directory")
    assert (precious / "thesis.tex").read_text() == "x"


@pytest.mark.parametrize(
    ("table", "part"),
    [
        (pa.table({"src": ["host1"], "dst": ["host0"]}), "size"),
        (pa.table({"src": ["host1"], "dst": ["host1"], "size": ["1KB"]}), "host1"),
        (pa.table({"src": ["host1"], "dst": ["host77"], "size": ["1KB"]}), "host77"),
        (pa.table({"src": ["host1"], "dst": ["host0"], "size": ["a lot"]}), "a lot"),
        (pa.table({"src": ["host1"], "dst": ["host0"], "size": ["1KB"], "colour": [1]}), "colour"),
        (pa.table({"src": ["host1"] * 2, "dst": ["host0"] * 2, "size": ["1KB"] * 2, "id": ["a", "a"]}), "a"),
    ],
)
def test_bad_table(scenario: dict[str, Any], table: pa.Table, part: str) -> None:
    scenario["workload"] = [{"table": table}]
    with pytest.raises(xoff.InputError, match=r"workload\[0\]") as caught:
        xoff.run(scenario)
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("flows.csv", b""),
        ("flows.csv", b"src,dst,size\nhost1,host0\n"),
        ("flows.csv", b"src,dst,size\n\xff\xfe,host0,1KB\n"),
        ("flows.parquet", b"PAR1 and no more"),
        ("flows.xlsx", b"x"),
        ("flows.csv", None),
    ],
)
def test_bad_table_file(xoff_command: Command, tmp_path: Path, name: str, content: bytes | None) -> None:
    file = tmp_path / "tables.toml"
    file.write_text(TOML.partition("[[workload]]")[0] + f'[[workload]]\ntable = "{name}"\n', "utf-8")
    if content is not None:
        (tmp_path / name).write_bytes(content)
    _refused(xoff_command("run", file), "workload[0].table", name)


def test_unknown_table_and_unknown_type(scenario: dict[str, Any]) -> None:
    with pytest.raises(xoff.InputError, match=r"workload\[5\]\.table"):
        xoff.run(scenario, tables={"workload[5].table": pa.table({"src": [1]})})
    with pytest.raises(xoff.InputError, match="object"):
        xoff.run(scenario | {"seed": object()})
    with pytest.raises(xoff.InputError, match="list"):
        xoff.run([1, 2])  # type: ignore[arg-type]
    with pytest.raises(xoff.InputError, match="threads"):
        xoff.run(scenario, threads=0)
