"""Flows that wait for operations, and operations that wait for flows or for operations of other jobs."""

from __future__ import annotations

from typing import Any

import pytest

import xoff
from xoff.insight.job_path import Job

FRAME = 4058
"""Bytes of a full frame; at 100 Gb/s 324,640 ps."""


def star(workload: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """Four hosts at a switch without delay in the switch."""
    return {
        "network": {"star": {"hosts": 4, "link": {"rate": "100Gbps", "delay": "1us"}}},
        "framing": {"payload": "4000B", "header": "58B"},
        "workload": workload,
        **more,
    }


def compute(rank: int, us: int, name: str, after: list[str] | None = None) -> dict[str, Any]:
    return {"rank": rank, "kind": "compute", "duration": f"{us}us", "name": name, "after": after or []}


def job(name: str, operations: list[dict[str, Any]]) -> dict[str, Any]:
    return {"name": name, "graph": {"operations": operations}}


def ends(result: xoff.Result) -> dict[str, tuple[int, int]]:
    """Start and end of each operation, by job and name."""
    rows = result.table("operations").to_pylist()
    return {f"{row['workload']}/{row['name']}": (row["start_ps"], row["end_ps"]) for row in rows}


PACKET_PS = 2 * 324_640 + 2 * 1_000_000
"""One packet over two links."""


def test_a_flow_waits_for_an_operation_and_an_operation_for_the_flow() -> None:
    """Rank 0 computes, sends a checkpoint to host 3, and the job of host 3 goes on when the checkpoint is there."""
    scenario = star(
        [
            job("train", [compute(0, 10, "step"), compute(0, 5, "next", ["step"])]),
            {"name": "save", "flows": [{"src": 0, "dst": 3, "size": "4000B", "id": "ckpt", "after": ["train/step"]}]},
            {"name": "store", "graph": {"operations": [compute(0, 7, "write", ["save/ckpt"])], "hosts": [3]}},
        ]
    )
    result = xoff.run(scenario)
    found = ends(result)
    assert found["train/step"] == (0, 10_000_000)
    assert found["train/next"] == (10_000_000, 15_000_000)
    (flow,) = result.flows.to_pylist()
    assert (flow["start_ps"], flow["fct_ps"]) == (10_000_000, PACKET_PS)
    arrives = 10_000_000 + PACKET_PS
    assert found["store/write"] == (arrives, arrives + 7_000_000)
    (write,) = [row for row in result.table("operations").to_pylist() if row["workload"] == "store"]
    assert write["released_by"] == "elsewhere"
    assert set(result.audits.values()) == {"ok"}
    assert xoff.run(scenario, threads=3).fingerprint == result.fingerprint


def test_jobs_take_turns_at_a_host() -> None:
    """Two jobs at host 0 alternate: each computation waits for one of the other job, and for its own."""
    turns = 3
    first = [
        compute(0, 10, f"a{n}", ([f"a{n - 1}"] if n else []) + ([f"second/b{n - 1}"] if n else []))
        for n in range(turns)
    ]
    second = [compute(0, 20, f"b{n}", [f"first/a{n}"] + ([f"b{n - 1}"] if n else [])) for n in range(turns)]
    found = ends(xoff.run(star([job("first", first), job("second", second)])))
    for n in range(turns):
        assert found[f"first/a{n}"] == (n * 30_000_000, n * 30_000_000 + 10_000_000)
        assert found[f"second/b{n}"] == (n * 30_000_000 + 10_000_000, (n + 1) * 30_000_000)


def test_the_path_of_a_job_names_the_wait_for_others() -> None:
    """The path of a job adds up, with the wait for a flow as a part."""
    scenario = star(
        [
            {"name": "load", "flows": [{"src": 1, "dst": 0, "size": "4000B", "id": "data", "start": "50us"}]},
            job("train", [compute(0, 10, "first"), compute(0, 5, "second", ["first", "load/data"])]),
        ],
        probe={"delays": "all"},
    )
    steps = Job(xoff.run(scenario), "train").path()
    assert [step.kind for step in steps] == ["elsewhere", "compute"]
    assert sum(step.ps for step in steps) == 50_000_000 + PACKET_PS + 5_000_000


@pytest.mark.parametrize(
    ("workload", "path", "message"),
    [
        (
            [job("train", [compute(0, 1, "a", ["save/x"])])],
            "workload[0].graph.operations[0].after",
            "no flow with this id ends at the host of the rank",
        ),
        (
            [job("train", [compute(0, 1, "a", ["train/a"])])],
            "workload[0].graph.operations[0].after",
            "no flow with this id ends at the host of the rank",
        ),
        (
            # The flow ends at another host.
            [
                {"name": "save", "flows": [{"src": 0, "dst": 3, "size": "1KB", "id": "x"}]},
                job("train", [compute(0, 1, "a", ["save/x"])]),
            ],
            "workload[1].graph.operations[0].after",
            "no flow with this id ends at the host of the rank",
        ),
        (
            # The operation is at another host.
            [
                job("train", [compute(0, 1, "a")]),
                {"name": "save", "flows": [{"src": 1, "dst": 3, "size": "1KB", "after": ["train/a"]}]},
            ],
            "workload[1].flows[0].after[0]",
            "unknown flow `train/a`",
        ),
    ],
)
def test_a_wrong_name_is_refused(workload: list[dict[str, Any]], path: str, message: str) -> None:
    with pytest.raises(xoff.InputError) as caught:
        xoff.check(star(workload))
    assert path in str(caught.value)
    assert message in str(caught.value)


def test_workloads_in_a_circle_fail_the_run() -> None:
    """A flow waits for an operation that waits for the flow: no verdict says that all is well."""
    scenario = star(
        [
            job("train", [compute(0, 1, "a", ["save/x"])]),
            {
                "name": "save",
                "flows": [
                    {"src": 0, "dst": 1, "size": "1KB", "id": "y", "after": ["train/a"]},
                    {"src": 1, "dst": 0, "size": "1KB", "id": "x", "after": ["y"]},
                ],
            },
        ]
    )
    with pytest.raises(xoff.AuditError):
        xoff.run(scenario)
