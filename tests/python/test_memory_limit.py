"""A run that needs more memory than allowed ends with a message, before it starts where the plan tells."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import xoff
from patience import PATIENCE_SECONDS
from small import Command


def test_rows_that_will_not_fit_are_refused_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = {
        "network": {"star": {"hosts": 512, "link": {"rate": "100Gbps", "delay": "1us"}}},
        "workload": [{"collective": {"operation": "all_to_all", "size": "1MB", "channels": 4}}],
    }
    monkeypatch.setenv("XOFF_MEMORY", "200MB")
    with pytest.raises(xoff.InputError, match="1047040 messages and operations would need at least 209 MB") as refused:
        xoff.run(scenario)
    assert str(refused.value).startswith("XOFF_MEMORY: ")
    assert "`out` in Python" in str(refused.value)


def test_a_run_that_would_take_too_much_memory_ends_with_a_message(
    tmp_path: Path, xoff_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = tmp_path / "large.toml"
    scenario.write_text(
        f"""
        [network.star]
        hosts = 65
        link = {{ rate = "400Gbps", delay = "1us" }}
        [[workload]]
        incast = {{ senders = {list(range(1, 65))}, receiver = 0, size = "100MB" }}
        """
    )
    monkeypatch.setenv("XOFF_MEMORY", "200MB")
    done = xoff_command("run", scenario, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "200 MB are allowed" in done.stderr
    assert len(done.stderr.splitlines()) < 8
    assert "Traceback" not in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["large.toml"]
    monkeypatch.setenv("XOFF_MEMORY", "much")
    done = xoff_command("run", scenario)
    assert done.returncode == 2
    assert "XOFF_MEMORY" in done.stderr


def test_a_run_that_is_not_kept_holds_no_rows(
    tmp_path: Path, xoff_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lossy run writes a row for each lost packet, a million in this test, and no option asks for the rows."""
    scenario = tmp_path / "lossy.toml"
    scenario.write_text(
        f"""
        until = "4ms"
        audits.completion = "record"
        [network.star]
        hosts = 49
        link = {{ rate = "100Gbps", delay = "1us" }}
        [switch]
        buffer = {{ per_port = "50KB" }}
        [[workload]]
        incast = {{ senders = {list(range(1, 49))}, receiver = 0, size = "50MB" }}
        """
    )
    kept = xoff.run(scenario)
    rows = kept.table("drops")
    assert rows.num_rows > 10**6
    # Half of the memory of the rows, in addition to the memory of a run.
    monkeypatch.setenv("XOFF_MEMORY", f"{(100_000_000 + rows.nbytes // 2) // 1_000_000}MB")
    done = xoff_command("run", scenario, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["drops"] == kept.summary["drops"] == rows.num_rows
    # Options that need a directory are refused without one.
    monkeypatch.setenv("XOFF_MEMORY", "70MB")
    code = f"import xoff; xoff.run({str(scenario)!r})"
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )
    assert "InputError: XOFF_MEMORY: the run was ended at" in ended.stderr
    assert "`out` in Python" in ended.stderr
