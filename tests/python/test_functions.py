"""Workloads as Python functions: the rows of a table, a seed for each call, and nothing called without permission."""

from __future__ import annotations

import hashlib
import json
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import xoff
from patience import PATIENCE_SECONDS, wait_until
from small import Command
from xoff import _core, running
from xoff.functions import Functions, Hosts
from xoff.functions.rows import tables
from xoff.functions.workloads import seed_of
from xoff.running.document import parse_toml
from xoff.study.identity import run_key

MODULE = """
import os, random, resource, signal, sys, time

def web(hosts, seed, count=12, largest=30_000):
    draw = random.Random(seed)
    rows = []
    for number in range(count):
        src, dst = draw.sample(range(len(hosts)), 2)
        rows.append({"src": src, "dst": hosts.names[dst], "size": draw.randint(1, largest), "start": f"{number}us"})
    return rows

def marks(hosts, seed):
    open("called", "a").write("x")
    return [{"src": 0, "dst": 1, "size": "1KB"}]

def told(hosts, seed):
    assert len(hosts) == len(hosts.rates_bps) == len(hosts.switches)
    rows = [{"src": 0, "dst": 1, "size": seed + 1}]
    rows += [{"src": 0, "dst": 1, "size": rate // 10**9} for rate in hosts.rates_bps]
    return rows

def ring(hosts, seed, ranks=4):
    names = [{"rank": rank, "kind": "all_reduce", "group": "dp", "size": "100KB"} for rank in range(ranks)]
    return {"operations": names, "groups": {"dp": list(range(ranks))}}

calls = 0

def counts(hosts, seed):
    global calls
    calls += 1
    return [{"src": 0, "dst": 1, "size": calls}]

def undeclared(hosts, seed):
    return [{"src": random.randrange(4), "dst": 1 - random.randrange(2), "size": 1000} for _ in range(9)][:0] + [
        {"src": 0, "dst": 1, "size": 1 + random.randrange(10**6)}
    ]

def unseeded(hosts, seed):
    return [{"src": 0, "dst": 1, "size": 1 + int.from_bytes(os.urandom(4), "big")}]

def prints(hosts, seed):
    print("from the function")
    os.write(1, b"from below\\n")
    return web(hosts, seed)

def forks(hosts, seed):
    os.fork()
    return web(hosts, seed)

def forks_and_waits(hosts, seed):
    if (child := os.fork()) == 0:
        # A fork that writes a file dies.
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        return web(hosts, seed)
    assert os.waitpid(child, 0)[1] == 0
    return web(hosts, seed)

def forks_in_a_row(hosts, seed):
    child = os.fork()
    yield from web(hosts, seed) if child else ()
    if child:
        os.waitpid(child, 0)

def raises_in_a_fork(hosts, seed):
    if (child := os.fork()) == 0:
        raise ValueError("in the fork")
    os.waitpid(child, 0)
    return web(hosts, seed)

def leaves_one(hosts, seed):
    child = os.fork()
    if child == 0:
        while True:
            time.sleep(1)
    open("child", "w").write(str(child))
    return web(hosts, seed)

def forever(hosts, seed):
    return sum(iter(int, 1))

def sleeps(hosts, seed):
    open("begun", "w").write("x")
    time.sleep(3600)

def raises(hosts, seed):
    return {}["no such key"]

def deep(hosts, seed):
    return random.Random().sample([1], 2)

def leaves(hosts, seed):
    sys.exit(0)

def dies(hosts, seed):
    os._exit(3)

def crashes(hosts, seed):
    os.kill(os.getpid(), 11)

def recurses(hosts, seed):
    return recurses(hosts, seed)

def nonsense(hosts, seed, value=None):
    return {"none": None, "number": 3, "text": "abc", "mixed": [1], "key": [{1: 2}], "object": [{"src": object()}],
            "nan": [{"src": 0, "dst": 1, "size": float("nan")}], "short": {"src": [0], "dst": [1, 2]},
            "columns": {"src": 3}, "big": [{"src": 2**70}]}[value]

def yields(hosts, seed):
    yield {"src": 0, "dst": 1, "size": 1}
    raise ValueError("later")

def frame(hosts, seed):
    import pandas
    return pandas.DataFrame({"src": [0, 1], "dst": [1, 0], "size": [b"x", 3]})

def faulty(hosts, seed, rows=()):
    return [dict(row) for row in rows]

def grouped(hosts, seed):
    return {"operations": [{"rank": 0, "kind": "barrier", "group": "dp"}], "groups": {"dp": 3}}

not_a_function = 3
"""


def line(code: str) -> int:
    """Returns the number of the line of the module with this code."""
    return next(number for number, one in enumerate(MODULE.splitlines(), 1) if code in one)


SCENARIO = """
seed = 7
[network.star]
hosts = 4
link = { rate = "100Gbps", delay = "1us" }
[switch.flow_control.pfc]
[[workload]]
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a module of functions and a scenario for each function."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "traffic.py").write_text(MODULE, "utf-8")
    return tmp_path


def written(place: Path, function: str, parameters: str = "", more: str = "") -> Path:
    file = place / "scenario.toml"
    given = f", parameters = {{ {parameters} }}" if parameters else ""
    file.write_text(f'{SCENARIO}python = {{ function = "{function}"{given} }}\n{more}', "utf-8")
    return file


def refused(file: Path, timeout: float = 60.0) -> str:
    with pytest.raises(xoff.InputError) as error:
        xoff.run(file, allow_python=True, python_timeout=timeout)
    return str(error.value)


def web(seed: int, count: int = 12, largest: int = 30_000) -> list[dict[str, Any]]:
    """The rows of `web` of the module, written a second time."""
    draw = random.Random(seed)
    rows = []
    for number in range(count):
        src, dst = draw.sample(range(4), 2)
        rows.append({"src": src, "dst": f"host{dst}", "size": draw.randint(1, largest), "start": f"{number}us"})
    return rows


def test_a_function_gives_the_run_of_the_same_rows_in_a_table(place: Path) -> None:
    called = xoff.run(written(place, "traffic:web", "count = 9"), allow_python=True)
    seed = int.from_bytes(hashlib.sha256(b"7/0").digest()[:4], "big")
    lines = [",".join(map(str, row.values())) for row in web(seed, count=9)]
    (place / "rows.csv").write_text("\n".join(["src,dst,size,start", *lines, ""]), "utf-8")
    (place / "table.toml").write_text(f'{SCENARIO}table = "rows.csv"\n', "utf-8")
    listed = xoff.run(place / "table.toml")
    assert called.fingerprint == listed.fingerprint
    assert called.tables == listed.tables
    for name in called.tables:
        assert called.table(name).equals(listed.table(name)), name
    summaries = [{key: value for key, value in one.summary.items() if key != "performance"} for one in (called, listed)]
    assert summaries[0] == summaries[1]
    report = [xoff.check(written(place, "traffic:web", "count = 9"), allow_python=True), xoff.check("table.toml")]
    assert report[0] == report[1]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fast_forward", [True, False])
def test_no_result_depends_on_threads_or_fast_forward(place: Path, threads: int, fast_forward: bool) -> None:
    file = written(place, "traffic:web", "count = 200")
    one = xoff.run(file, allow_python=True)
    assert xoff.run(file, allow_python=True, threads=threads, fast_forward=fast_forward).fingerprint == one.fingerprint


def test_each_seed_and_each_workload_calls_with_a_seed_of_its_own(place: Path) -> None:
    assert seed_of(7, 0) == int.from_bytes(hashlib.sha256(b"7/0").digest()[:4], "big")
    file = written(place, "traffic:told", more='[[workload]]\npython = { function = "traffic:told" }\n')
    for seed in (7, 8):
        with Functions(True) as functions:
            prepared = running.prepare(file, seed=seed, functions=functions)
        sizes = [prepared.tables[f"workload[{one}].python.rows"]["size"].to_pylist() for one in (0, 1)]
        # The rest of the rows are the rates of the hosts in Gb/s.
        assert sizes == [[seed_of(seed, one) + 1, 100, 100, 100, 100] for one in (0, 1)]
    assert len({seed_of(seed, one) for seed in range(30) for one in range(30)}) == 900
    runs = [xoff.run(written(place, "traffic:web"), seed=seed, allow_python=True).fingerprint for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


def test_random_numbers_without_a_generator_are_repeatable_and_others_are_found(place: Path) -> None:
    file = written(place, "traffic:undeclared")
    xoff.check(file, allow_python=True)
    assert len({xoff.run(file, allow_python=True).fingerprint for _ in range(2)}) == 1
    with pytest.raises(xoff.InputError, match=r"workload\[0\]\.python: `traffic:unseeded` returned other rows"):
        xoff.check(written(place, "traffic:unseeded"), allow_python=True)


def test_no_call_sees_an_earlier_call(place: Path) -> None:
    file = written(place, "traffic:counts", more='[[workload]]\npython = { function = "traffic:counts" }\n')
    assert xoff.run(file, allow_python=True).flows["size_bytes"].to_pylist() == [1, 1]
    assert xoff.check(file, allow_python=True)["workload"]["bytes"] == 2


def test_given_rows_take_the_place_of_a_call(place: Path) -> None:
    rows = pa.table({"src": [0], "dst": [1], "size": [5]})
    file = written(place, "traffic:marks")
    assert xoff.run(file, tables={"workload[0].python.rows": rows}).flows["size_bytes"].to_pylist() == [5]
    document = {**parse_toml(file.read_text("utf-8"))}
    document["workload"][0]["python"]["rows"] = rows
    assert xoff.run(document).flows["size_bytes"].to_pylist() == [5]
    assert not (place / "called").exists()


def test_a_function_writes_a_job_with_groups(place: Path) -> None:
    called = xoff.run(written(place, "traffic:ring", more="graph = {}\n"), allow_python=True, out="called")
    rows = [{"rank": rank, "kind": "all_reduce", "group": "dp", "size": "100KB"} for rank in range(4)]
    document = parse_toml(SCENARIO)
    document["workload"] = [{"graph": {"operations": rows, "groups": {"dp": [0, 1, 2, 3]}}}]
    listed = xoff.run(document)
    assert called.fingerprint == listed.fingerprint
    assert {name: called.table(name) for name in called.tables} == {name: listed.table(name) for name in listed.tables}
    again = xoff.run("called/scenario.json")
    assert again.fingerprint == called.fingerprint
    in_memory = xoff.run(written(place, "traffic:ring", more="graph = {}\n"), allow_python=True)
    assert running.run_prepared(running.prepare(in_memory.scenario, tables=in_memory.inputs)).fingerprint == (
        called.fingerprint
    )


def test_a_result_names_the_function_and_needs_it_no_more(place: Path, xoff_here: Command) -> None:
    done = xoff_here("run", written(place, "traffic:web", "count = 5"), "--allow-python", "--out", "result")
    assert done.returncode == 0, done.stderr
    document = json.loads((place / "result/scenario.json").read_text("utf-8"))
    python = document["workload"][0]["python"]
    assert (python["function"], python["parameters"]) == ("traffic:web", {"count": 5})
    (place / "traffic.py").unlink()
    for words in (["run", "result/scenario.json"], ["check", "result/scenario.json"], ["report", "result"]):
        done = xoff_here(*words)
        assert done.returncode == 0, done.stderr
    assert xoff.run("result/scenario.json").fingerprint == xoff.load("result").fingerprint


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "columns", "generator"])
def test_rows_are_frames_tables_columns_or_dictionaries(kind: str) -> None:
    rows: list[dict[str, Any]] = [{"src": 0, "dst": 1, "size": 5}, {"src": 1, "dst": 0, "size": 7}]
    columns: Any = {"src": [0, 1], "dst": [1, 0], "size": [5, 7]}
    if kind == "pandas":
        pandas = pytest.importorskip("pandas")
        columns["size"].insert(0, 99)
        frame = pandas.DataFrame({"src": [9, 0, 1], "dst": [9, 1, 0], "size": columns["size"]})
        value: Any = frame[frame["size"] < 99]
    elif kind == "polars":
        value = pytest.importorskip("polars").DataFrame(columns)
    elif kind == "arrow":
        value = pytest.importorskip("pyarrow").table(columns)
    else:
        value = columns if kind == "columns" else (row for row in rows)
    assert tables(value, is_job=False)["rows"].to_pylist() == rows


def test_cells_may_be_mixed_missing_numpy_or_lists_of_names() -> None:
    numpy = pytest.importorskip("numpy")
    rows = [
        {"src": numpy.int64(0), "dst": 1, "size": 1000, "id": "a"},
        {"src": 1, "dst": numpy.int32(0), "size": "1MB", "after": ["a", "b"]},
    ]
    found = tables(rows, is_job=False)["rows"].to_pydict()
    assert found == {
        "src": [0, 1], "dst": [1, 0], "size": ["1000", "1MB"], "id": ["a", None], "after": [None, "a;b"],
    }  # fmt: skip
    assert tables([], is_job=False)["rows"].column_names == ["src", "dst", "size"]
    assert tables([], is_job=True)["rows"].column_names == ["rank", "kind"]
    assert len(Hosts(("a",), (1,), ("b",))) == 1


ANY = [["run"], ["check"], ["run", "--json"], ["check", "--estimate"]]


@pytest.mark.parametrize("words", ANY, ids=" ".join)
def test_nothing_is_imported_without_permission(place: Path, xoff_here: Command, words: list[str]) -> None:
    (place / "traffic.py").write_text("open('called', 'w').close()\n" + MODULE, "utf-8")
    file = written(place, "traffic:marks")
    done = xoff_here(words[0], file, *words[1:])
    assert done.returncode == 2
    for text in ("workload[0].python: `traffic:marks`", "--allow-python"):
        assert text in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (place / "called").exists()


@pytest.mark.parametrize("words", [["size", "pfc", "scenario.toml"], ["nccl-tests", "scenario.toml"]], ids=" ".join)
def test_a_command_without_the_option_names_another_way(place: Path, xoff_here: Command, words: list[str]) -> None:
    written(place, "traffic:marks")
    done = xoff_here(*words)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert not (place / "called").exists()


def test_the_core_alone_refuses_a_function_that_was_not_called(place: Path) -> None:
    prepared = running.prepare(written(place, "traffic:marks"), read=None)
    with pytest.raises(xoff.InputError, match=r"^workload\[0\]\.python: `traffic:marks` was not called"):
        _core.check(prepared.resolved, prepared.tables)
    hosts = json.loads(_core.hosts(prepared.resolved, {}))
    assert hosts == {
        "names": ["host0", "host1", "host2", "host3"], "rates_bps": [10**11] * 4, "switches": ["switch0"] * 4,
    }  # fmt: skip
    assert xoff.resolve(place / "scenario.toml")["workload"][0]["python"] == {"function": "traffic:marks"}
    assert not (place / "called").exists()


def test_hosts_may_stand_in_tables(place: Path) -> None:
    (place / "nodes.csv").write_text("name,kind\na,host\nb,host\nc,host\nd,host\nhub,switch\n", "utf-8")
    links = "".join(
        f"{one},hub,{rate}Gbps,1us\n" for one, rate in (("a", 100), ("a", 100), ("b", 40), ("c", 1), ("d", 1))
    )
    (place / "links.csv").write_text(f"a,b,rate,delay\n{links}", "utf-8")
    text = '[network.explicit]\nnodes_table = "nodes.csv"\nlinks_table = "links.csv"\n'
    text += '[[workload]]\npython = { function = "traffic:told" }\n'
    (place / "tables.toml").write_text(text, "utf-8")
    with Functions(True) as functions:
        prepared = running.prepare(place / "tables.toml", functions=functions)
    assert prepared.tables["workload[0].python.rows"]["size"].to_pylist()[1:] == [200, 40, 1, 1]


def test_a_file_cannot_permit_itself(place: Path) -> None:
    for key in ("allow_python", "python_timeout"):
        file = written(place, "traffic:marks", more="")
        file.write_text(f"{key} = true\n" + file.read_text("utf-8"), "utf-8")
        with pytest.raises(xoff.InputError, match=f"unknown key `{key}`"):
            xoff.run(file)
    (place / "scenario.toml").write_text(
        f'{SCENARIO}python = {{ function = "traffic:marks", allow = true }}\n', "utf-8"
    )
    with pytest.raises(xoff.InputError, match="unknown key `allow`"):
        xoff.run(place / "scenario.toml")
    assert not (place / "called").exists()


@pytest.mark.parametrize(
    "name",
    ["", "traffic", "traffic:", ":web", "../traffic:web", "/etc/x:web", "traffic.py:web", "a b:c", "os:system('x')",
     "os;sys:x", "traffic:web.x", "ｔraffic:web", "a\\u0000b:c", "-m:x", f"{'a' * 300}:b", "a..b:c", "1a:b"],
)  # fmt: skip
def test_a_hostile_name_is_refused_before_any_import(place: Path, name: str) -> None:
    why = refused(written(place, name))
    if name == "traffic.py:web":
        # A package `traffic` with a module `py` would have this name.
        assert "is missing" in why or "cannot be imported" in why
    else:
        assert "workload[0].python.function" in why
        assert "is not of the form module:function" in why
    assert len(why) < 600


def test_parameters_are_names_that_the_function_has(place: Path) -> None:
    for given, why in (
        ("seed = 1", "workload[0].python.parameters.seed: the function gets `seed` in any case"),
        ("hosts = 1", "workload[0].python.parameters.hosts: the function gets `hosts` in any case"),
        ('"a b" = 1', "workload[0].python.parameters: `a b` cannot name an argument"),
        ("largest = 1979-05-27", "workload[0].python.parameters.largest: a date is not allowed; give a text"),
        ("cuont = 1", "`traffic:web` cannot be called with (hosts, seed, cuont): got an unexpected keyword"),
    ):
        assert why in refused(written(place, "traffic:web", given))
    for more, why in (
        ('table = "x.csv"', "workload[0]: table and python are given"),
        ('permutation = { size = "1MB" }', "workload[0]: permutation and python are given"),
    ):
        assert why in refused(written(place, "traffic:web", more=more))
    file = place / "scenario.toml"
    file.write_text(f'{SCENARIO}python = {{ function = "traffic:web", groups = "x.csv" }}\n', "utf-8")
    assert "workload[0].python.groups: needs `graph`" in refused(file)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        ("traffic:raises", f"raised KeyError: 'no such key' (traffic.py, line {line('no such key')})"),
        (
            "traffic:deep",
            f"raised ValueError: Sample larger than population or is negative (traffic.py, line {line('sample([1]')})",
        ),
        ("traffic:yields", f"raised ValueError: later (traffic.py, line {line('later')})"),
        ("traffic:frame", "returned a DataFrame that is no table: "),
        ("traffic:leaves", f"raised SystemExit: 0 (traffic.py, line {line('sys.exit')})"),
        ("traffic:dies", "ended its process with exit code 3"),
        ("traffic:crashes", "ended its process with signal SIGSEGV"),
        (
            "traffic:recurses",
            f"raised RecursionError: maximum recursion depth exceeded (traffic.py, line {line('return recurses')})",
        ),
        ("traffic:wbe", "is missing: `traffic` has the functions web, marks, told"),
        ("traffic:not_a_function", "is no function, but of type int"),
        ("trafic:web", "is missing: no `trafic.py` in "),
        ("broken:web", "cannot be imported: the module raised SyntaxError: invalid syntax (broken.py, line 2)"),
        ("needs:web", "cannot be imported: the module raised ModuleNotFoundError: No module named 'nowhere'"),
        ("random:web", "is in random.py, which has the name of another module; rename the file"),
    ],
)
def test_a_failing_function_is_one_message_with_its_line(place: Path, function: str, why: str) -> None:
    (place / "broken.py").write_text("def web():\n  return return\n", "utf-8")
    (place / "needs.py").write_text("import nowhere\n", "utf-8")
    (place / "random.py").write_text("def web():\n  return []\n", "utf-8") if function == "random:web" else None
    message = refused(written(place, function))
    assert message.startswith(f"workload[0].python: `{function}` {why}")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("none", "returned a value of type NoneType; a data frame"),
        ("number", "returned a value of type int"),
        ("text", "returned a value of type str"),
        ("mixed", "returned row 0 of type int"),
        ("key", "returned row 0 with the key 1; keys are text"),
        ("object", "returned row 0 with `src` = <object object"),
        ("nan", "returned row 0 with `size` = nan; a finite number is needed"),
        ("short", "returned columns of different lengths: src 1, dst 2"),
        ("columns", "returned 'src': 3"),
        ("big", f"returned row 0 with `src` = {2**70}; whole numbers go up to"),
    ],
)
def test_nonsense_is_a_fault_of_the_function(place: Path, value: str, why: str) -> None:
    message = refused(written(place, "traffic:nonsense", f'value = "{value}"'))
    assert message.startswith(f"workload[0].python: `traffic:nonsense` {why}")


def test_a_wrong_row_is_named_as_in_a_table_with_the_function(place: Path) -> None:
    for rows, why in (
        ("{ src = 0, dst = 9, size = 5 }", "rows[0].dst: unknown host 9; hosts are numbered 0 to 3"),
        ("{ src = 0, dst = 1, size = 5 }, { src = 1, dst = 0, size = '5kg' }", "rows[1].size: `kg` in `5kg`"),
        ("{ src = 0, dst = 1 }", "rows: the table has no column `size`"),
        ("{ src = 0, dst = 1, size = 5, colour = 3 }", "rows: unknown column `colour`"),
    ):
        message = refused(written(place, "traffic:faulty", f"rows = [{rows}]"))
        assert message.startswith(f"workload[0].python.{why}")
        assert message.endswith("(returned by `traffic:faulty`)")
    rows = "rows = [{ rank = 0, kind = 'send', peer = 1, size = 5 }]"
    message = refused(written(place, "traffic:faulty", rows, more="graph = {}\n"))
    assert message.startswith("workload[0].python.rows[0]")
    message = refused(written(place, "traffic:grouped", more="graph = {}\n"))
    assert "returned the group 'dp' = 3; a list is needed" in message


def test_a_function_that_does_not_return_is_interrupted_and_named(place: Path) -> None:
    # A sum over an endless iterator is a loop in C, which no exception from outside would end.
    message = refused(written(place, "traffic:forever"), timeout=2.0)
    assert message == (
        "workload[0].python: `traffic:forever` did not return within 2 s and was interrupted at traffic.py, line "
        f"{line('iter(int, 1)')}; --python-timeout SECONDS (python_timeout) sets the limit"
    )
    (place / "endless.py").write_text("while True:\n    pass\n", "utf-8")
    message = refused(written(place, "endless:web"), timeout=2.0)
    assert "`endless:web` did not return within 2 s and was interrupted at endless.py, line" in message
    for limit in (0, -1, True, "3", float("nan"), 1e9):
        with pytest.raises(xoff.InputError, match="python_timeout: "):
            xoff.run(written(place, "traffic:web"), allow_python=True, python_timeout=limit)  # type: ignore[arg-type]


def test_prints_and_forks_disturb_no_output(place: Path, xoff_command: Command) -> None:
    expected = xoff.run(written(place, "traffic:web"), allow_python=True).fingerprint
    for function in ("prints", "forks", "leaves_one"):
        done = xoff_command("run", written(place, f"traffic:{function}"), "--allow-python", "--json", cwd=place)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["fingerprint"] == expected, function
        assert ("from below" in done.stderr) is (function == "prints")
    left = int((place / "child").read_text("utf-8"))
    wait_until(lambda: not _is_alive(left))


@pytest.mark.parametrize("function", ["forks_and_waits", "forks_in_a_row", "raises_in_a_fork"])
def test_a_fork_that_leaves_a_function_ends_and_writes_no_rows(place: Path, function: str) -> None:
    expected = xoff.run(written(place, "traffic:web"), allow_python=True).fingerprint
    assert xoff.run(written(place, f"traffic:{function}"), allow_python=True).fingerprint == expected


def test_a_fork_that_leaves_a_module_ends_and_answers_nothing(place: Path) -> None:
    expected = xoff.run(written(place, "traffic:web"), allow_python=True).fingerprint
    # The module waits for the end of the fork, and a fork that answers requests waits for the next one.
    waits = "import os\nif (child := os.fork()):\n    os.waitpid(child, 0)\n"
    (place / "forking.py").write_text(waits + MODULE, "utf-8")
    assert (
        xoff.run(written(place, "forking:web"), allow_python=True, python_timeout=PATIENCE_SECONDS).fingerprint
        == expected
    )


def _is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text("utf-8").split(")")[-1].split()[0] != "Z"
    except OSError:
        return False


def test_ctrl_c_ends_a_function(place: Path) -> None:
    file = written(place, "traffic:sleeps")
    words = [str(Path(sys.executable).with_name("xoff")), "run", str(file), "--allow-python"]
    with subprocess.Popen(words, cwd=place, text=True, stderr=subprocess.PIPE) as process:
        wait_until((place / "begun").exists, process)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate()
    assert process.returncode == 130
    assert told.strip().endswith("xoff: interrupted")
    assert "Traceback" not in told


def test_the_key_of_a_run_covers_the_rows_and_not_the_code(place: Path) -> None:
    def key(function: str, parameters: str = "") -> str:
        with Functions(True) as functions:
            return run_key(running.prepare(written(place, function, parameters), functions=functions))

    known = key("traffic:web")
    assert key("traffic:prints") == known
    assert key("traffic:web", "largest = 30000") == known
    assert key("traffic:web", "largest = 20000") != known
    # A changed module with equal rows keeps the run; other rows are another run.
    (place / "traffic.py").write_text(MODULE.replace("number in range(count)", "number in range(count + 0)"), "utf-8")
    assert key("traffic:web") == known
    (place / "traffic.py").write_text(MODULE.replace("number in range(count)", "number in range(count + 1)"), "utf-8")
    assert key("traffic:web") != known


def test_a_module_that_runs_xoff_begins_no_processes_without_end(place: Path) -> None:
    text = "import xoff\nxoff.run('scenario.toml', allow_python=True)\n" + MODULE
    (place / "traffic.py").write_text(text, "utf-8")
    message = refused(written(place, "traffic:web"))
    assert 'put the call under `if __name__ == "__main__":` (traffic.py, line 2)' in message
    (place / "traffic.py").write_text("if __name__ == '__main__':\n    import missing\n" + MODULE, "utf-8")
    assert xoff.run(written(place, "traffic:web"), allow_python=True).ok


def test_no_process_and_no_folder_is_left(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = place / "tmp"
    kept.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(kept))
    xoff.run(written(place, "traffic:web"), allow_python=True)
    refused(written(place, "traffic:forever"), timeout=1.0)
    refused(written(place, "traffic:crashes"))
    assert list(kept.iterdir()) == []
