"""A finished flow is written to disk and leaves the memory, so that a run of a million flows fits into any machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import xoff
from patience import PATIENCE_SECONDS
from xoff import _core, running

# A kept row takes more than this alone; a few times and counters of each flow remain for the summary.
_BYTES_PER_FINISHED_FLOW = 200

_RUN = """
import json, sys
import xoff

summary = xoff.run(json.loads(sys.argv[1]), out=sys.argv[2]).summary
print(json.dumps([summary["flows"]["completed"], summary["performance"]["peak_rss_bytes"]]))
"""


def _poisson(flows: int) -> dict[str, Any]:
    return {
        "network": {"star": {"hosts": 16, "link": {"rate": "100Gbps", "delay": "1us"}}},
        "switch": {"flow_control": {"pfc": {}}},
        "workload": [{"poisson": {"load": 0.3, "cdf": [[100, 0], [2000, 100]], "flows": flows}}],
    }


def test_rows_leave_while_the_run_lasts() -> None:
    prepared = running.prepare(_poisson(200_000))
    batches: list[tuple[str | None, int]] = []

    def sink(name: str | None, stream: Any) -> None:
        batches.append((name, pa.table(stream).num_rows))

    output = _core.run(prepared.resolved, {}, 1, None, sink)
    streamed = [rows for name, rows in batches if name == "flows"]
    rest = pa.table(output.table("flows")).num_rows
    assert sum(streamed) + rest == 200_000
    assert len(streamed) >= 2
    assert max(*streamed, rest) < 100_000


def _peak_bytes(flows: int, out: Path) -> int:
    words = [sys.executable, "-c", _RUN, json.dumps(_poisson(flows)), str(out)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=True)
    completed, peak = json.loads(done.stdout)
    assert completed == flows
    return int(peak)


def test_memory_does_not_hold_finished_flows(tmp_path: Path) -> None:
    # Both runs are larger than a batch of rows, so that the difference is the memory left by each further flow.
    few, many = 200_000, 800_000
    grown = _peak_bytes(many, tmp_path / "many") - _peak_bytes(few, tmp_path / "few")
    assert grown / (many - few) < _BYTES_PER_FINISHED_FLOW
    assert xoff.load(tmp_path / "many").flows.num_rows == many


@pytest.mark.parametrize("threads", [1, 2])
def test_streamed_rows_are_those_of_the_whole(tmp_path: Path, threads: int) -> None:
    rows = xoff.run(_poisson(100_000), out=tmp_path / "result", threads=threads).flows
    assert sorted(rows["flow"].to_pylist()) == list(range(100_000))
    assert rows["fct_ps"].null_count == 0
