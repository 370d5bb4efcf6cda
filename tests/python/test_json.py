"""With ``--json`` a command prints one JSON object with the documented keys to standard output, and no other text."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from patience import PATIENCE_SECONDS
from small import Command


def test_run(xoff_command: Command, scenario_file: Path) -> None:
    done = xoff_command("run", scenario_file, "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    summary = json.loads(done.stdout)
    assert {"fingerprint", "simulated_ps", "flows", "fct_ps", "pfc", "drops", "audits", "performance"} <= summary.keys()
    assert {"total": 3, "completed": 3}.items() <= summary["flows"].items()
    assert {"mean", "p50", "p99", "max"} <= summary["fct_ps"].keys()
    assert summary["pfc"]["pauses"] >= 0
    assert summary["drops"] == 0
    assert set(summary["audits"].values()) == {"ok"}
    assert {"data_packet_hops", "events", "cpu_seconds", "wall_seconds", "peak_rss_bytes"} <= summary[
        "performance"
    ].keys()
    assert summary["performance"]["data_packet_hops"] == 3 * 100 * 2


def test_seed_and_set_change_the_scenario(xoff_command: Command, scenario_file: Path) -> None:
    done = xoff_command("run", scenario_file, "--seed", "9", "--set", "workload[0].incast.size=1KB", "--out", "result")
    assert done.returncode == 0, done.stderr
    resolved = json.loads((scenario_file.parent / "result" / "scenario.json").read_text("utf-8"))
    assert resolved["seed"] == 9
    summary = json.loads((scenario_file.parent / "result" / "summary.json").read_text("utf-8"))
    assert summary["performance"]["data_packet_hops"] == 6


def test_check(xoff_command: Command, scenario_file: Path) -> None:
    done = xoff_command("check", scenario_file, "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert {"hosts": 4, "switches": 1, "links": 4}.items() <= report["network"].items()
    assert {"headroom", "warnings", "workload"} <= report.keys()


def test_schema(xoff_command: Command) -> None:
    schema = json.loads(xoff_command("schema").stdout)
    assert {"network", "workload", "switch"} <= schema["properties"].keys()


def test_readable_output(xoff_command: Command, scenario_file: Path) -> None:
    done = xoff_command("run", scenario_file)
    assert done.returncode == 0
    for part in ("3 of 3 completed", "PFC pauses", "audits", "fingerprint"):
        assert part in done.stdout
    assert "is valid" in xoff_command("check", scenario_file).stdout
    assert xoff_command("--version").stdout.startswith("xoff ")
    assert "reproduce" in xoff_command().stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["size", "sfc", "--incast", "3", "--json"],
        ["size", "sfc", "--json"],
        ["size", "pfc", "--max-frame", "1500B", "--json"],
        ["reproduce", "--list", "--json"],
        ["schema"],
    ],
)
def test_one_object_and_nothing_else(xoff_here: Command, arguments: list[str]) -> None:
    done = xoff_here(*arguments)
    assert done.returncode == 0, done.stderr
    assert isinstance(json.loads(done.stdout), dict)
    assert done.stderr == ""


def test_a_failed_audit_still_yields_its_summary(xoff_here: Command, scenario_file: Path) -> None:
    changes = ['switch.buffer={per_port="20KB"}', 'switch.flow_control.pfc={xoff="18KB",xon="10KB"}']
    done = xoff_here("run", scenario_file, "--json", *[word for change in changes for word in ("--set", change)])
    assert done.returncode == 1
    assert json.loads(done.stdout)["audits"]["loss"].startswith("failed: ")
    assert done.stderr.startswith("xoff: error: the run violated an audit")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("xoff r", ["run", "report", "reproduce"]),
        ("xoff sweep --sh", ["--shard"]),
        ("xoff size ", ["sfc", "pfc", "ecn", "buffer"]),
        ("xoff new t", ["training", "transport", "topology"]),
        ("xoff run --th", ["--threads"]),
        ("xoff run a.toml --set swi", ["switch"]),
        (
            "xoff run a.toml --set switch.flow_control.pfc.x",
            ["switch.flow_control.pfc.xoff=", "switch.flow_control.pfc.xon="],
        ),
        ("xoff run a.toml --set workload[0].incast.s", [f"workload[0].incast.{key}=" for key in ("senders", "size")]),
        ("xoff run a.toml --set audits.loss=r", ["audits.loss=record"]),
        ("xoff reproduce sfc/5.1-h", ["sfc/5.1-headroom"]),
        ("xoff report --format p", ["png", "pdf"]),
    ],
)
def test_tab_completion(words: str, expected: list[str]) -> None:
    environment = os.environ | {"_XOFF_COMPLETE": "complete_bash", "COMP_WORDS": words}
    environment["COMP_CWORD"] = str(words.count(" "))
    command = [str(Path(sys.executable).with_name("xoff"))]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )
    assert done.stdout.split() == expected, done.stderr


@pytest.mark.parametrize(
    "command",
    ["", "run", "check", "schema", "size sfc", "size pfc", "reproduce", "bench", "new"],
    ids=lambda name: name,
)
def test_help(xoff_here: Command, command: str) -> None:
    for option in ("--help", "-h"):
        done = xoff_here(*command.split(), option)
        assert done.returncode == 0
        assert "Usage: xoff" in done.stdout
