"""Critical paths of jobs whose messages over NVLink have no rows, and of runs that are too long to repeat."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import xoff
from xoff.insight import job_command
from xoff.insight.job_path import jobs
from xoff.insight.rows_by_key import RowsByKey

JOB: dict[str, Any] = {
    "network": {
        "servers": {"gpu": "h100", "gpus": 4},
        "rail": {"servers": 4, "gpus_per_server": 4, "rail": {"rate": "400Gbps", "delay": "500ns"}},
    },
    "framing": {"payload": "9000B"},
    "workload": [
        {
            "training": {
                "model": {"preset": "llama3_70b", "layers": 2, "sequence": 256},
                "parallel": {"tensor": 4, "sequence": True, "pipeline": 2, "data": 2},
                "micro_batch": 1,
                "global_batch": 4,
                "compute": {"peak": 989e12},
            }
        }
    ],
}


@pytest.mark.parametrize("slices", [False, True])
def test_a_path_adds_up_with_and_without_rows_over_nvlink(slices: bool) -> None:
    """`path` itself raises if the steps do not add up to the time of the job."""
    result = xoff.run({**JOB, "probe": {"slices": slices}})
    assert (None in result.messages["flow"].to_pylist()) is slices
    (job,) = jobs(result)
    kinds = {step.kind for step in job.path()}
    assert ("inside" in kinds) is not slices
    assert "compute" in kinds


def test_a_collective_without_rows_begins_with_its_last_rank() -> None:
    with_rows, without = (xoff.run({**JOB, "probe": {"slices": slices}}) for slices in (True, False))
    assert with_rows.fingerprint == without.fingerprint
    computing = [
        sum(step.ps for step in job.path() if step.kind == "compute")
        for result in (with_rows, without)
        for job in jobs(result)
    ]
    assert computing[0] == computing[1]


def test_a_long_run_is_not_repeated_for_its_delays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    result = xoff.run(JOB, out=tmp_path / "run")
    monkeypatch.setattr(job_command, "_LONG_SECONDS", -1)
    (found,), forest = job_command.explain(result, tmp_path / "run")
    assert forest is None
    assert found.by_cause["network"] > 0
    assert sum(found.by_cause.values()) == found.job.total_ps
    assert 'a run with probe.delays = "all" would take about' in capsys.readouterr().err


def test_rows_are_found_by_pairs() -> None:
    table = pa.table({"a": [3, 1, 3, None], "b": [0, 7, 5, 5], "name": ["x", "y", "z", "w"]})
    rows = RowsByKey(pa.concat_tables([table.slice(0, 1), table.slice(1)]), "a", "b")
    assert rows.get(3, 5) == {"a": 3, "b": 5, "name": "z"}
    assert [row["name"] for row in rows.of(3)] == ["x", "z"]
    assert rows.get(3, 6) is None
    assert rows.get(None, 5) is None
    assert rows.of(2) == []
