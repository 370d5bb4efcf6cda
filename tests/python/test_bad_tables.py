"""Invalid tables, as files or as data frames, are refused with their key."""

from __future__ import annotations

import datetime
import decimal
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import xoff
from small import TOML, Command
from test_errors import refused

_HEAD = TOML.partition("[[workload]]")[0]
_ROW = {"src": ["host1"], "dst": ["host0"], "size": ["1KB"]}


def _table(**columns: Any) -> pa.Table:
    return pa.table({name: values for name, values in (_ROW | columns).items() if values is not None})


@pytest.mark.parametrize(
    ("table", "key", "part"),
    [
        (_table(size=None), "", "no column `size`"),
        (pa.table({}), "", "no column `src`"),
        (_table(dst=["host1"]), "[0]", "itself"),
        (_table(dst=["host77"]), "[0].dst", "host77"),
        (_table(src=[-1]), "[0].src", "`-1`"),
        (_table(src=[1.5]), "[0].src", "`1.5`"),
        (_table(src=[float("nan")]), "[0].src", "NaN"),
        (_table(src=[True]), "", "allowed are numbers and text"),
        (_table(src=[None]), "[0].src", "empty"),
        (_table(size=["a lot"]), "[0].size", "a lot"),
        (_table(size=["9" * 100_000]), "[0].size", "too large"),
        (_table(size=[-5]), "[0].size", "negative"),
        (_table(size=[0]), "[0].size", "must be at least 1B"),
        (_table(size=[1.5]), "[0].size", "finer"),
        (_table(size=[float("nan")]), "[0].size", "NaN"),
        (_table(size=[float("inf")]), "[0].size", "inf"),
        (_table(size=[1e30]), "[0].size", "too large"),
        (_table(size=pa.array([2**64 - 1], pa.uint64())), "[0].size", "too large"),
        (_table(size=[None]), "[0].size", "empty"),
        (_table(size=[datetime.date(2024, 1, 1)]), "", "allowed are numbers and text"),
        (_table(size=[decimal.Decimal("1.5")]), "", "allowed are numbers and text"),
        (_table(size=[b"\xff"]), "", "allowed are numbers and text"),
        (_table(size=[[1]]), "", "allowed are numbers and text"),
        (_table(size=[{"a": 1}]), "", "allowed are numbers and text"),
        (_table(start=["soon"]), "[0].start", "soon"),
        (_table(start=[-1]), "[0].start", "negative"),
        (_table(colour=[1]), "", "unknown column `colour`"),
        (_table(after=["x"]), "[0].after[0]", "`x`"),
        (_table(via=["leaf9"]), "[0].via[0]", "leaf9"),
        (pa.Table.from_arrays([pa.array(["host1"])] * 2, ["src", "src"]), "", "duplicate column `src`"),
        (pa.concat_tables([_table(id=["a"])] * 2), "[1].id", "`a` is the id of two flows"),
    ],
)
def test_bad_flows(scenario: dict[str, Any], table: pa.Table, key: str, part: str) -> None:
    scenario["workload"] = [{"table": table}]
    with pytest.raises(xoff.InputError) as caught:
        xoff.check(scenario)
    assert str(caught.value).startswith(f"workload[0].table{key}: " if key else "workload[0].")
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("bytes_", "percent", "part"),
    [
        ([], [], "two points"),
        ([0], [0], "two points"),
        ([0, "big"], [0, 100], "bytes"),
        ([0, float("nan")], [0, 100], "NaN"),
        ([-4, 10], [0, 100], "out of range"),
        ([0, 10], [0, float("inf")], "out of range"),
        ([0, 10], [0, 50], "100"),
    ],
)
def test_bad_points(scenario: dict[str, Any], bytes_: list[Any], percent: list[Any], part: str) -> None:
    cells = [str(value) for value in bytes_] if any(isinstance(value, str) for value in bytes_) else bytes_
    table = pa.table({"bytes": cells, "percent": percent})
    scenario["workload"] = [{"poisson": {"load": 0.5, "flows": 10, "cdf_file": table}}]
    with pytest.raises(xoff.InputError, match=r"^workload\[0\]\.poisson\.cdf") as caught:
        xoff.check(scenario)
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("table", "before", "after", "key"),
    [
        ("nodes", "switch", "router", "nodes_table[2].kind: "),
        ("nodes", "b,host", ",host", "nodes_table[1].name: "),
        ("nodes", "b,host", "a,host", "nodes_table[1].name: "),
        ("nodes", "kind", "type", "nodes_table: "),
        ("links", "delay", "latency", "links_table: "),
        ("links", "100Gbps", "-1Gbps", "links_table[0].rate: "),
        ("links", "100Gbps", "100", "a link rate of 100bps"),
        ("links", "1us", "soon", "links_table[0].delay: "),
        ("links", "b,s", "c,s", "links_table[1].a: "),
        ("links", "b,s", "s,s", "links_table[1]: "),
    ],
)
def test_bad_network(xoff_here: Command, tmp_path: Path, table: str, before: str, after: str, key: str) -> None:
    texts = {
        "nodes": "name,kind\na,host\nb,host\ns,switch\n",
        "links": "a,b,rate,delay\na,s,100Gbps,1us\nb,s,100Gbps,1us\n",
    }
    texts[table] = texts[table].replace(before, after, 1)
    for name, text in texts.items():
        (tmp_path / f"{name}.csv").write_text(text)
    document = '[network.explicit]\nnodes_table = "nodes.csv"\nlinks_table = "links.csv"\n'
    document += '[[workload]]\nflows = [{ src = "a", dst = "b", size = "1KB" }]\n'
    (tmp_path / "tables.toml").write_text(document)
    refused(xoff_here("check", "tables.toml"), "network.explicit", key)


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("flows.csv", b"", "flows.csv"),
        ("flows.csv", b"\n\n\n", "flows.csv"),
        ("flows.csv", b"src,dst,size\nhost1,host0\n", "flows.csv"),
        ("flows.csv", b"src,dst,size\nhost1,host0,1KB,9\n", "flows.csv"),
        ("flows.csv", b"src,dst,size\n\xff\xfe,host0,1KB\n", "UTF-8"),
        ("flows.csv", "src,dst,size\nhost1,host0,1KB\n".encode("utf-16"), "flows.csv"),
        ("flows.csv", b'src,dst,size\n"host1,host0,1KB\n', "flows.csv"),
        ("flows.csv", b"src;dst;size\nhost1;host0;1KB\n", "src;dst;size"),
        ("flows.csv", b"src,dst,size,size\nhost1,host0,1KB,2KB\n", "`size`"),
        ("flows.parquet", b"", "flows.parquet"),
        ("flows.parquet", b"PAR1 and no more", "flows.parquet"),
        ("flows.xlsx", b"x", ".csv"),
        ("flows", b"x", ".csv"),
        ("flows.csv", None, "no such file"),
        ("flows" * 100 + ".csv", None, "cannot be read"),
        (".", None, "directory"),
        ("/dev/null", None, "not a regular file"),
    ],
)
def test_bad_file(xoff_here: Command, tmp_path: Path, name: str, content: bytes | None, part: str) -> None:
    (tmp_path / "tables.toml").write_text(f'{_HEAD}[[workload]]\ntable = "{name}"\n', "utf-8")
    if content is not None:
        (tmp_path / name).write_bytes(content)
    refused(xoff_here("run", "tables.toml"), "workload[0].table: ", part)


@pytest.mark.parametrize("damage", ["end", "middle", "first half"])
def test_damaged_parquet(xoff_here: Command, tmp_path: Path, damage: str) -> None:
    file = tmp_path / "flows.parquet"
    pq.write_table(pa.table(_ROW), file)
    content = file.read_bytes()
    middle = content[:30] + b"\xff\xff\xff\xff" + content[34:]
    file.write_bytes({"end": content[:-20], "middle": middle, "first half": content[: len(content) // 2]}[damage])
    (tmp_path / "tables.toml").write_text(f'{_HEAD}[[workload]]\ntable = "flows.parquet"\n', "utf-8")
    refused(xoff_here("run", "tables.toml"), "workload[0].table: ", "flows.parquet")


def test_a_pipe_is_not_waited_for(xoff_here: Command, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "flows.csv")
    (tmp_path / "tables.toml").write_text(f'{_HEAD}[[workload]]\ntable = "flows.csv"\n', "utf-8")
    refused(xoff_here("check", "tables.toml"), "workload[0].table: ", "not a regular file")


def test_unknown_table_and_unknown_type(scenario: dict[str, Any]) -> None:
    with pytest.raises(xoff.InputError, match=r"workload\[5\]\.table"):
        xoff.run(scenario, tables={"workload[5].table": pa.table({"src": [1]})})
    for wrong in ([1], 3):
        with pytest.raises(xoff.InputError, match="tables: a dictionary"):
            xoff.run(scenario, tables=wrong)  # type: ignore[arg-type]
    scenario["workload"] = [{"table": "flows.csv"}]
    with pytest.raises(xoff.InputError, match=r"workload\[0\]\.table: a data frame or a file name"):
        xoff.run(scenario, tables={"flows.csv": 3})


def test_columns_that_say_little_are_read(scenario: dict[str, Any], tmp_path: Path) -> None:
    """Categories, optional columns without a value, and tables without a row."""
    plain = xoff.run(scenario | {"workload": [{"table": pa.table(_ROW)}]}).fingerprint
    words = pa.table({name: pa.array(values).dictionary_encode() for name, values in _ROW.items()})
    empty = pa.table(_ROW | {"start": [None], "id": [None]})
    for table in (words, empty):
        assert xoff.run(scenario | {"workload": [{"table": table}]}).fingerprint == plain
    (tmp_path / "none.csv").write_text("src,dst,size\n")
    assert xoff.check(scenario | {"workload": [{"table": str(tmp_path / "none.csv")}]})["workload"]["flows"] == 0


def test_a_list_beside_a_table_is_refused(scenario: dict[str, Any]) -> None:
    scenario["workload"] = [{"table": _table(), "flows": [{"src": 1, "dst": 0, "size": "1KB"}]}]
    with pytest.raises(xoff.InputError, match=r"^workload\[0\]\.table: mutually exclusive with `flows`"):
        xoff.check(scenario)
    points = pa.table({"bytes": [0, 10], "percent": [0, 100]})
    drawn = {"load": 0.5, "flows": 10, "cdf_file": points, "cdf": [[0, 0], [10, 100]]}
    with pytest.raises(xoff.InputError, match=r"^workload\[0\]\.poisson\.cdf_file: mutually exclusive with `cdf`"):
        xoff.check(scenario | {"workload": [{"poisson": drawn}]})
