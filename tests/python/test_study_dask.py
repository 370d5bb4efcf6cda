"""Studies on a Dask cluster of worker processes: the same rows, and nothing lost or doubled when a worker dies."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import pytest

import xoff
from patience import PATIENCE_SECONDS, wait_until
from small import TOML, Command
from xoff.study import Study
from xoff.study.cluster import connected

distributed = pytest.importorskip("distributed")
# Warnings of Dask and its server about arriving and leaving workers are not ours.
pytestmark = pytest.mark.filterwarnings("default")

_STUDY = f"""
base = "small.toml"
keep = ["flows"]

[axes]
"workload[0].incast.size" = {json.dumps([f"{size}KB" for size in range(2000, 6000, 100)])}
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options, silence_logs=50) as one:
        yield one


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "small.toml").write_text(TOML)
    (tmp_path / "study.toml").write_text(_STUDY)
    return tmp_path


def _pids(cluster: Any) -> set[int]:
    with distributed.Client(cluster, set_as_default=False) as client:
        return set(client.run(os.getpid).values())


@pytest.mark.slow
def test_a_worker_that_is_killed_costs_no_run(cluster: Any, place: Path) -> None:
    study = Study(place / "study.toml", place / "out")
    killed: list[int] = []

    def kill() -> None:
        wait_until(lambda: len(study.store.keys()) >= 5)
        killed.append(len(study.store.keys()))
        os.kill(victim, signal.SIGKILL)

    before = _pids(cluster)
    assert os.getpid() not in before
    victim = min(before)
    thread = threading.Thread(target=kill, daemon=True)
    with connected(cluster.scheduler_address) as executor:
        # The victim gets runs and ends none, so that it has some when it is killed.
        os.kill(victim, signal.SIGSTOP)
        thread.start()
        report = study.run(executor=executor)
    thread.join()
    # The worker died in the middle of the run, and another worker replaced it.
    assert 5 <= killed[0] < len(study.plan.runs)
    assert victim not in _pids(cluster)
    assert report.failures == {}
    assert report.simulated + report.found == len(study.plan.runs)
    rows = study.runs.to_pylist()
    assert Counter(row["status"] for row in rows) == {"ok": len(study.plan.runs)}
    assert max(Counter(study.flows["run"].to_pylist()).values()) == 3
    alone = xoff.sweep(place / "study.toml", out=place / "alone")
    assert study.runs == alone.runs
    assert (place / "out" / "flows.parquet").read_bytes() == (place / "alone" / "flows.parquet").read_bytes()


def test_a_result_counts_though_its_worker_is_lost_as_it_arrives(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    gather = distributed.Client._gather

    async def gather_and_lose(client: Any, futures: Any, *args: Any, **kwargs: Any) -> Any:
        result = await gather(client, futures, *args, **kwargs)
        for future in futures:
            client._handle_lost_data(future.key)
        return result

    monkeypatch.setattr(distributed.Client, "_gather", gather_and_lose)
    with connected(cluster.scheduler_address) as executor:
        assert [executor.submit(pow, 2, power).result(PATIENCE_SECONDS) for power in range(5)] == [1, 2, 4, 8, 16]


def test_a_run_that_is_cancelled_or_fails_says_so(cluster: Any, tmp_path: Path) -> None:
    with connected(cluster.scheduler_address) as executor:
        with pytest.raises(ZeroDivisionError):
            executor.submit(divmod, 1, 0).result(PATIENCE_SECONDS)
        gate = tmp_path / "gate"

        def wait() -> None:
            while not gate.exists():
                time.sleep(0.01)

        # Two workers may have begun two of the runs, and no run ends before the last is cancelled.
        waiting = [executor.submit(wait) for _ in range(6)]
        assert waiting[-1].cancel()
        gate.touch()
        with pytest.raises(CancelledError):
            waiting[-1].result(PATIENCE_SECONDS)
        assert [one.result(PATIENCE_SECONDS) for one in waiting[:-1]] == [None] * 5


def test_the_command_takes_the_address_of_a_scheduler(cluster: Any, place: Path, xoff_here: Command) -> None:
    done = xoff_here("sweep", place / "study.toml", "--out", "out", "--dask", cluster.scheduler_address, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["simulated"] == 40


def test_no_scheduler_is_one_message(place: Path, xoff_here: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xoff.study.cluster._WAIT_SECONDS", 1)
    done = xoff_here("sweep", place / "study.toml", "--dask", "tcp://127.0.0.1:1")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("xoff: error: --dask: no scheduler at tcp://127.0.0.1:1")


def test_a_search_is_the_same_on_a_cluster(cluster: Any, place: Path) -> None:
    study = {
        "base": str(place / "small.toml"),
        "keep": [],
        "axes": {"switch.flow_control.pfc.xoff": {"from": "20KB", "to": "150KB"}},
        "objective": {"minimise": "fct_mean_ps", "runs": 16, "confirm": 2},
    }
    with connected(cluster.scheduler_address) as executor:
        far = xoff.tune(study, out=place / "far", executor=executor)
    near = xoff.tune(study, out=place / "near")
    assert [(one.shares, one.values) for one in far.tried] == [(one.shares, one.values) for one in near.tried]
    assert far.to_dict() | {"directory": ""} == near.to_dict() | {"directory": ""}
    assert far.report.simulated > 16


def test_functions_are_called_where_the_study_was_begun_alone(cluster: Any, place: Path) -> None:
    """Workers get rows, and need neither the module nor the permission."""
    calling = "def web(hosts, seed):\n"
    calling += "    return [{'src': 0, 'dst': 1, 'size': 1 + seed % 10**5}]\n"
    calling += "def flows(result):\n    return result.flows.num_rows\n"
    (place / "lab.py").write_text(calling, "utf-8")
    text = TOML.partition("[[workload]]")[0] + '[[workload]]\npython = { function = "lab:web" }\n'
    (place / "base.toml").write_text(text, "utf-8")
    (place / "called.toml").write_text('base = "base.toml"\nseeds = 4\nmetrics = { count = "lab:flows" }\n', "utf-8")
    study = Study(place / "called.toml", place / "out", allow_python=True)

    def forbid() -> None:
        import xoff.functions

        vars(xoff.functions)["Interpreter"] = None

    with distributed.Client(cluster, set_as_default=False) as client:
        client.run(forbid)
    with connected(cluster.scheduler_address) as executor:
        assert study.run(executor=executor).failures == {}
    alone = xoff.sweep(place / "called.toml", out=place / "alone", allow_python=True)
    assert study.runs == alone.runs
    assert study.runs["count"].to_pylist() == [1] * 4
