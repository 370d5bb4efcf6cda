"""With ``--json`` a command puts one JSON object on standard output, with the documented keys, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

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
