"""``xoff check --estimate``: costs of a run from a sample of the run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import xoff
from patience import PATIENCE_SECONDS
from small import TOML
from xoff.commands import check
from xoff.commands.registry import app
from xoff.running import prepare
from xoff.running.estimate import _Sample, estimate

LINK = {"rate": "100Gbps", "delay": "1us"}
PFC: dict[str, Any] = {"flow_control": {"pfc": {}}}

JOBS: dict[str, dict[str, Any]] = {
    "all-to-all on rails": {
        "network": {
            "rail": {
                "servers": 24,
                "gpus_per_server": 8,
                "scale_up": {"rate": "2400Gbps", "delay": "25ns"},
                "rail": {"rate": "200Gbps", "delay": "500ns"},
            }
        },
        "workload": [{"collective": {"operation": "all_to_all", "size": "1MiB", "library": "textbook"}}],
    },
    "websearch": {
        "network": {"leaf_spine": {"leaves": 4, "spines": 4, "hosts_per_leaf": 8, "link": LINK}},
        "workload": [{"poisson": {"load": 0.6, "sizes": "websearch", "flows": 2500}}],
    },
    "incasts": {
        "network": {"star": {"hosts": 33, "link": LINK}},
        "workload": [{"repeated_incast": {"senders": 32, "size": "20KB", "period": "60us", "count": 120}}],
    },
    "permutation with losses": {
        "network": {"fat_tree": {"k": 4, "link": LINK}},
        "workload": [{"permutation": {"size": "4MB"}}],
        "host": {"jitter": 0.05},
    },
}


@pytest.mark.parametrize("name", JOBS)
def test_an_estimate_of_packet_hops_is_within_a_factor_of_two(name: str) -> None:
    """A tenth of a second is sampled; packet-hops are counted, so that no load of the machine matters."""
    scenario = {"switch": PFC, **JOBS[name]}
    hops = xoff.check(scenario)["workload"]["packet_hops"]
    found = estimate(prepare(scenario), hops, seconds=0.1)
    whole = xoff.run(scenario).summary["performance"]["data_packet_hops"]
    assert hops == pytest.approx(whole, rel=0.1)
    assert found.packet_hops is not None
    assert whole / 2 <= found.packet_hops <= 2 * whole
    assert None not in {found.cpu_seconds, found.memory_bytes}


def test_a_short_run_is_measured(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(TOML)
    shown = CliRunner().invoke(app, ["check", str(file), "--estimate", "--json"])
    assert shown.exit_code == 0
    found = json.loads(shown.stdout)["estimate"]
    assert found["share"] == 1.0
    assert found["packet_hops"] == xoff.run(file).summary["performance"]["data_packet_hops"]
    text = CliRunner().invoke(app, ["check", str(file), "--estimate"]).stdout
    assert "measured, as the run ended within the sample: " in text
    assert "estimate" not in json.loads(CliRunner().invoke(app, ["check", str(file), "--json"]).stdout)


def test_a_sample_that_finishes_nothing_has_no_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is divided by a share of zero, and the command says so."""
    monkeypatch.setattr("xoff.running.estimate._Sample.share", lambda _: 0.0)
    scenario = {"switch": PFC, **JOBS["websearch"]}
    found = estimate(prepare(scenario), None, seconds=0.0)
    assert (found.packet_hops, found.cpu_seconds, found.memory_bytes, found.share) == (None, None, None, 0.0)
    assert "not estimated: nothing was delivered in" in check.costs_in_words(found)


@pytest.mark.parametrize(("serves", "what"), [(True, "serving finished no request"), (False, "nothing was delivered")])
def test_a_sample_without_an_end_says_what_was_missing(*, serves: bool, what: str) -> None:
    found = _Sample(0.0, None, serves=serves).estimate()
    assert check.costs_in_words(found) == f"not estimated: {what} in 0.0 CPU-seconds"


FOLDED: dict[str, Any] = {
    "ties": "relative",
    "network": {
        "servers": {"gpus": 8},
        "rail": {"servers": 8, "gpus_per_server": 8, "rail": {"rate": "400Gbps", "delay": "500ns"}},
    },
    "framing": {"payload": "4096B"},
    "switch": PFC,
    "workload": [{"collective": {"operation": "all_reduce", "size": "1GB", "library": "nccl", "algorithm": "ring"}}],
}
_PEAK = """
import json, sys, xoff
from xoff.running import estimate
from xoff.running import prepare, run_prepared
# The sample ends with the share of the run, not with the clock, so a slow machine samples as much as a fast one.
estimate._LEAST_SHARE, estimate._LONGEST_SAMPLE = 0.5, 1e12
scenario, what = json.loads(sys.argv[1]), sys.argv[2]
if what == "estimate":
    hops = xoff.check(scenario)["workload"]["packet_hops"]
    print(estimate.estimate(prepare(scenario), hops, seconds=1e-9).memory_bytes)
elif what == "without":
    print(run_prepared(prepare(scenario), keep=()).summary["performance"]["peak_rss_bytes"])
else:
    print(xoff.run(scenario, out=what).summary["performance"]["peak_rss_bytes"])
"""


def test_a_folded_run_keeps_no_rows_in_memory(tmp_path: Path) -> None:
    """Processes of their own: the peak memory of a process never falls."""
    estimated, without, peak = [
        int(
            subprocess.run(
                [sys.executable, "-c", _PEAK, json.dumps(FOLDED), what],
                capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=True,
            ).stdout
        )
        for what in ("estimate", "without", str(tmp_path / "run"))
    ]  # fmt: skip
    assert peak < 1.2 * without + 256e6
    assert peak / 2 < estimated < 2 * peak


_PARENT = """
import subprocess, sys
held = b"x" * 1_000_000_000
subprocess.run([sys.executable, "-c", "from xoff.files import memory; print(memory.peak())"], check=True)
"""


def test_the_peak_memory_of_a_process_is_its_own() -> None:
    """A process begins with the `ru_maxrss` of the process that started it."""
    words = [sys.executable, "-c", _PARENT]
    shown = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=True).stdout
    assert 10e6 < int(shown) < 900e6
