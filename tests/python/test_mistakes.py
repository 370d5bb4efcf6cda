"""Mistakes in documents and settings: all at once, each with its line, in a message of bearable length."""

from __future__ import annotations

import json
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import xoff
from patience import PATIENCE_SECONDS, wait_until
from small import TOML, Command
from xoff import InputError, running
from xoff.files import memory, tables
from xoff.running.document import typed


def test_all_mistakes_of_a_file_come_at_once(scenario_file: Path, xoff_command: Command) -> None:
    text = TOML.replace("seed = 7", "seed = true").replace("payload", "payloat").replace("receiver = 0, ", "")
    scenario_file.write_text(text)
    lines = {name: text[: text.index(name)].count("\n") + 1 for name in ("seed =", "payloat", "incast = {")}
    done = xoff_command("check", scenario_file)
    assert (done.returncode, done.stdout) == (2, "")
    first, second, third = done.stderr.splitlines()
    assert (
        first == f"xoff: error: seed: true was given; a whole number, zero or more is needed (line {lines['seed =']})"
    )
    assert second.startswith("  framing.payloat: unknown key `payloat` (did you mean `payload`?); allowed are")
    assert second.endswith(f"(line {lines['payloat']})")
    assert third == f"  workload[0].incast: missing key `receiver` (line {lines['incast = {']})"
    told = json.loads(xoff_command("check", scenario_file, "--json").stdout)
    assert [one["line"] for one in told["errors"]] == list(lines.values())
    assert [one["path"] for one in told["errors"]] == ["seed", "framing.payloat", "workload[0].incast"]
    assert told["error"].splitlines()[0] + "\n" in done.stderr


def test_what_is_set_on_top_has_no_line(scenario_file: Path) -> None:
    with pytest.raises(InputError, match=r"^framing.payload: 5 was given; .*\n  seed: `x` was given; .*is needed$"):
        xoff.check(scenario_file, overrides={"framing.payload": 5, "seed": "x"})
    with pytest.raises(InputError, match=r"^fault\[0\]\.at: [^(]*$"):
        xoff.check(scenario_file, overrides={"fault": [{"at": 5}]})


def test_a_name_that_people_use_is_understood(scenario: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"unknown key `ci` \(did you mean `congestion_isolation`\?\)"):
        xoff.check(scenario, overrides={"switch.flow_control.ci": {}})


def test_a_text_stays_a_text(scenario: dict[str, Any]) -> None:
    for name in ("123", "true", "[1]", '"', "\\", "\x7f\t\n"):
        assert xoff.resolve(scenario, overrides={"name": name})["name"] == name
    # On a command line all values are text, and are read as TOML values.
    assert [typed(text) for text in ("7", "0.5", "true", "[1, 2]", '"7"', "10us", "1979-05-27", "a\nb")] == [
        7, 0.5, True, [1, 2], "7", "10us", "1979-05-27", "a\nb",
    ]  # fmt: skip


def test_seeds_have_one_range_in_every_way_in(scenario_file: Path, xoff_here: Command, tmp_path: Path) -> None:
    last = 2**63 - 1
    scenario = running.resolve(scenario_file)
    study: dict[str, Any] = {"base": scenario, "keep": []}
    assert xoff.resolve(scenario_file, seed=last)["seed"] == last
    with pytest.raises(InputError, match=f"^seed: {last + 1} is out of range; whole numbers go up to {last}"):
        xoff.resolve(scenario_file, seed=last + 1)
    (tmp_path / "s.json").write_text(json.dumps(scenario | {"seed": last + 1}))
    with pytest.raises(
        InputError, match=f"^seed: {last + 1} is out of range; allowed are whole numbers from 0 to {last}"
    ):
        xoff.resolve(tmp_path / "s.json")
    with pytest.raises(InputError, match="seed"):
        xoff.sweep(study | {"seeds": [last + 1]}, out=tmp_path / "study")
    assert xoff_here("check", scenario_file, "--seed", str(last + 1)).returncode == 2
    assert xoff_here("check", scenario_file, "--set", f"seed={last + 1}").returncode == 2


@pytest.mark.parametrize(
    "setting",
    [
        "name=[1]" + "x" * 10**6,
        "switch.forwarding_latency=" + "9" * 10**6,
        f"{'k' * 10**6}=1",
        "switch.forwarding_latency=\x1b[31m",
        "switch.\x07=1",
    ],
    ids=["value", "quantity", "key", "escape", "bell"],
)
def test_messages_are_short_and_plain(scenario_file: Path, xoff_here: Command, setting: str) -> None:
    done = xoff_here("check", scenario_file, "--set", setting)
    assert done.returncode in {0, 2}
    assert len(done.stderr) < 5000
    assert all(letter.isprintable() or letter == "\n" for letter in done.stderr)


def test_millions_of_workloads_are_refused(scenario_file: Path, xoff_here: Command) -> None:
    scenario_file.write_text(TOML + "[[workload]]\n" * 70_000)
    done = xoff_here("check", scenario_file)
    assert (done.returncode, "workload: too many workloads; the maximum is 65535" in done.stderr) == (2, True)


def test_a_table_is_counted_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(pa.table({"src": [1] * 100}), tmp_path / "flows.parquet")
    monkeypatch.setattr(tables, "MAX_ROWS", 99)
    with pytest.raises(InputError, match=r"workload\[0\].table: .*flows.parquet has 100 rows; 99 are possible"):
        tables.read_table("workload[0].table", tmp_path / "flows.parquet")


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("key", ["workload[0].table", "network.explicit.links", "workload[0].graph.operations"])
def test_a_table_that_memory_has_no_room_for_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, kind: str
) -> None:
    file = tmp_path / f"rows.{kind}"
    rows = pa.table({"src": [1] * 100})
    pq.write_table(rows, file) if kind == "parquet" else csv.write_csv(rows, file)
    assert tables.read_table(key, file).num_rows == 100
    monkeypatch.setattr(tables, "_LARGE_FILE", 10)
    monkeypatch.setattr(memory, "allowed", lambda: 20_000)
    wanted = re.escape(f"{key}: {file} has 10") + r"\d rows, about 40.\d KB; 20.0 KB of memory are left"
    with pytest.raises(InputError, match=wanted):
        tables.read_table(key, file)
    monkeypatch.setattr(tables, "MAX_ROWS", 99)
    with pytest.raises(InputError, match=r"has 10\d rows; 99 are possible"):
        tables.read_table(key, file)


def test_millions_of_rows_in_a_small_file_end_in_one_message_under_a_limit(tmp_path: Path) -> None:
    """A column of one value is tiny in a file, and takes gigabytes in memory."""
    rows = 20_000_000
    column = pa.nulls(rows, pa.int64()).fill_null(0)
    pq.write_table(pa.table({"src": column, "dst": column, "size": column}), tmp_path / "flows.parquet")
    assert (tmp_path / "flows.parquet").stat().st_size < 1_000_000
    (tmp_path / "many.toml").write_text(TOML[: TOML.index("[[workload]]")] + '[[workload]]\ntable = "flows.parquet"\n')
    words = f"ulimit -v 3000000; exec {sys.executable} -m xoff check many.toml"
    done = subprocess.run(
        ["/bin/bash", "-c", words], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )
    assert (done.returncode, done.stderr) == (
        2,
        "xoff: error: workload[0].table: flows.parquet has 20,000,000 rows; 16,777,216 are possible\n",
    )


def test_memory_is_what_limits_leave() -> None:
    code = "from xoff.files import memory; print(memory.allowed())"
    found = []
    for limit in ("unlimited", "4000000"):
        words = ["/bin/bash", "-c", f"ulimit -v {limit}; {sys.executable} -c '{code}'"]
        found.append(
            int(subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=True).stdout)
        )
    assert 0 < found[1] < 4_096_000_000
    assert found[1] < found[0] or found[0] < 4_096_000_000


def test_ctrl_c_while_a_network_is_built(tmp_path: Path) -> None:
    (tmp_path / "large.toml").write_text(
        "[network.rail]\nservers = 2000\ngpus_per_server = 8\n"
        'scale_up = { rate = "400Gbps", delay = "1us" }\nrail = { rate = "100Gbps", delay = "1us" }\n'
        '[[workload]]\npermutation = { size = "10KB" }\n'
    )
    words = [str(Path(sys.executable).with_name("xoff")), "run", "large.toml"]
    process = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    stat = Path(f"/proc/{process.pid}/stat")

    def ticks() -> int:
        return sum(map(int, stat.read_text().rpartition(")")[2].split()[11:13]))

    begun = ticks() + 200
    wait_until(lambda: ticks() > begun, process)
    before = ticks() / 100
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    process.send_signal(signal.SIGINT)
    _, messages = process.communicate(timeout=PATIENCE_SECONDS)
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    after = now.ru_utime + now.ru_stime - spent.ru_utime - spent.ru_stime
    assert (process.returncode, messages) == (130, "xoff: interrupted\n")
    # Without an answer the command would continue for half a minute.
    assert after - before < 10
