"""Jobs: durations of graphs of operations, against arithmetic; errors of invalid graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import xoff
from xoff.insight.job_path import jobs

PACKET_PS = 83_840
"""1000 B and headers of 48 B at 100 Gb/s."""
LINKS_PS = 2_000_000 + PACKET_PS
"""Two links of 1 us, and once more the packet at the switch."""


def star(hosts: int, graph: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "network": {"star": {"hosts": hosts, "link": {"rate": "100Gbps", "delay": "1us"}}},
        "framing": {"payload": "1000B", "header": "48B"},
        "host": {"transport": {"raw": {}}},
        "workload": [{"name": "job", "graph": graph, **more}],
    }


def row(rank: int, kind: str, name: str, *after: str, **more: Any) -> dict[str, Any]:
    return {"rank": rank, "kind": kind, "name": name, "after": list(after), **more}


def ended(result: xoff.Result) -> dict[tuple[int, str], tuple[int, int]]:
    return {(one["rank"], one["name"]): (one["start_ps"], one["end_ps"]) for one in result.operations.to_pylist()}


def summary_of(result: xoff.Result, workload: str = "training") -> dict[str, Any]:
    found: dict[str, Any] = {**result.summary["workloads"][workload]["job"]}
    return found


def message_ps(packets: int) -> int:
    return packets * PACKET_PS + LINKS_PS


def test_a_graph_of_computation_alone_takes_what_its_longest_chain_takes() -> None:
    rows = [
        row(0, "compute", "a", duration="5us"),
        row(0, "compute", "b", duration="7us", stream="s"),
        row(0, "compute", "c", "a", duration="1us", stream="s"),
        row(0, "compute", "d", "a", "c", duration="0ns"),
        row(1, "compute", "a", duration="3us"),
    ]
    result = xoff.run(star(2, {"operations": rows}))
    found = ended(result)
    assert found[0, "c"] == (7_000_000, 8_000_000)
    assert found[0, "d"] == (8_000_000, 8_000_000)
    job = summary_of(result, "job")
    assert job["iteration_ps"] == 8_000_000
    # Rank 0 computes in two streams at once and is always busy; rank 1 waits for rank 0's end.
    assert (job["compute_ps"], job["bubble_ps"]) == ((8 + 3) * 500_000, 5 * 500_000)


def test_a_message_goes_when_its_operation_begins_and_is_received_when_somebody_waits() -> None:
    rows = [
        row(0, "compute", "a", duration="3us"),
        row(0, "send", "s", "a", peer=1, size="9999B"),
        row(1, "recv", "r", peer=0),
        row(1, "compute", "b", "r", duration="2us"),
        row(0, "send", "early", peer=2, size="1KB"),
        row(2, "compute", "long", duration="50us"),
        row(2, "recv", "late", "long", peer=0),
    ]
    found = ended(xoff.run(star(3, {"operations": rows})))
    # The last packet is one byte shorter, and waits for the preceding packet at the switch.
    arrived = 3_000_000 + message_ps(10) - 80
    assert found[1, "r"] == (0, arrived)
    assert found[1, "b"] == (arrived, arrived + 2_000_000)
    assert found[2, "late"] == (50_000_000, 50_000_000)


@pytest.mark.parametrize("is_table", [False, True])
def test_a_class_of_an_operation_overtakes_lower_classes(tmp_path: Path, is_table: bool) -> None:
    """A packet of class 1 waits for one packet of class 0 at the sender, and for none at the switch."""

    def run(**short: Any) -> dict[tuple[int, str], tuple[int, int]]:
        rows = [
            row(0, "send", "long", peer=1, size="100KB"),
            row(0, "compute", "wait", duration="1us"),
            row(0, "send", "short", "wait", peer=1, tag=1, size="1KB", **short),
            row(1, "recv", "long", peer=0),
            row(1, "recv", "short", peer=0, tag=1),
        ]
        graph: dict[str, Any] = {"operations": rows}
        if is_table:
            columns = ("rank", "kind", "name", "after", "peer", "tag", "size", "duration", "class")
            lines = [",".join(columns)]
            for one in rows:
                cells = {**one, "after": ";".join(one["after"])}
                lines.append(",".join(str(cells.get(column, "")) for column in columns))
            (tmp_path / "operations.csv").write_text("\n".join(lines) + "\n")
            graph = {"operations_table": str(tmp_path / "operations.csv")}
        return ended(xoff.run({**star(2, graph), "switch": {"classes": 2}}))

    found = run()
    assert (found[1, "long"][1], found[1, "short"][1]) == (message_ps(100), message_ps(101))
    found = run(**{"class": 1})
    # Eleven packets of `long` left within 1 us; the twelfth was on the line.
    assert found[1, "short"][1] == 12 * PACKET_PS + message_ps(1)
    assert found[1, "long"][1] == message_ps(101)


def test_collectives_of_two_classes_take_connections_of_their_own() -> None:
    """Two all-gathers of a group, one in each class: each class has half of the connections and bytes."""
    rows = [
        row(rank, "all_gather", f"g{number}", group="g", size="64KB", **{"class": number % 2})
        for rank in range(4)
        for number in range(4)
    ]
    graph = {"operations": rows, "groups": {"g": [0, 1, 2, 3]}}
    result = xoff.run({**star(4, graph), "switch": {"classes": 2}})
    assert len(result.flows.to_pylist()) == 2 * 4
    of_class: dict[int, int] = {}
    names = {one["operation"]: one["name"] for one in result.operations.to_pylist()}
    for one in result.messages.to_pylist():
        number = int(names[one["operation"]][1:]) % 2
        assert of_class.setdefault(one["flow"], number) == number, "a connection has one class"
    assert sorted(of_class.values()) == 4 * [0] + 4 * [1]


def test_ranks_may_compute_for_longer_than_a_flow_may_gain_nothing() -> None:
    rows = [
        row(0, "send", "first", peer=1, size="1KB"),
        row(0, "compute", "long", "first", duration="250ms"),
        row(0, "send", "second", "long", peer=1, size="1KB"),
        row(1, "recv", "r", peer=0),
        row(1, "recv", "s", "r", peer=0),
    ]
    for transport in ("raw", "go_back_n"):
        found = ended(xoff.run({**star(2, {"operations": rows}), "host": {"transport": {transport: {}}}}))
        assert found[1, "s"][1] == found[0, "long"][1] + message_ps(1) >= 250_000_000_000


def test_collectives_of_a_graph_take_what_they_take_by_themselves() -> None:
    collective = {"operation": "all_reduce", "size": "8MB", "chunk": "100KB", "channels": 2}
    alone = star(4, {})
    alone["workload"] = [{"collective": collective}]
    time = xoff.run(alone).collectives.to_pylist()[0]["time_ps"]
    rows = [row(rank, "all_reduce", "r", group="all", size="8MB", chunk="100KB", channels=2) for rank in (2, 0, 3, 1)]
    result = xoff.run(star(4, {"operations": rows, "groups": {"all": [0, 1, 2, 3]}}))
    [found] = result.collectives.to_pylist()
    assert (found["time_ps"], found["last_rank_arrived_ps"], found["group"]) == (time, 0, "all")


def test_a_barrier_lets_nobody_through_before_the_last_has_come() -> None:
    rows = [row(rank, "compute", "c", duration=f"{10 * rank}us") for rank in range(6)]
    rows += [row(rank, "barrier", "b", "c", group="all") for rank in range(6)]
    found = ended(xoff.run(star(6, {"operations": rows, "groups": {"all": list(range(6))}})))
    frame = (8 + 48) * 80
    for rank in range(6):
        _, end = found[rank, "b"]
        assert end >= 50_000_000
        # Three rounds at most after the last has come.
        assert end <= 50_000_000 + 3 * (2_000_000 + 4 * max(frame, 64 * 80))


PIPELINE: dict[str, Any] = {
    "model": {"layers": 4, "hidden": 64, "heads": 4, "sequence": 64, "vocabulary": 64},
    "parallel": {"pipeline": 4},
    # Computation dwarfs the messages between stages.
    "compute": {"forward": "10ms", "backward": "20ms"},
}


@pytest.mark.parametrize("micro_batches", [4, 7, 16])
def test_the_bubble_of_a_pipeline(micro_batches: int) -> None:
    """(p - 1) / (m + p - 1) of the time, but for what messages take: a few microseconds of hundreds of milliseconds."""
    training = {**PIPELINE, "global_batch": micro_batches}
    scenario = star(4, {})
    scenario["workload"] = [{"training": training}]
    job = summary_of(xoff.run(scenario))
    ideal = (micro_batches + 3) * 30_000_000_000
    assert ideal < job["iteration_ps"] < ideal * 1.0005
    assert job["compute_ps"] == micro_batches * 30_000_000_000
    assert job["bubble_ps"] / job["iteration_ps"] == pytest.approx(3 / (micro_batches + 3), rel=1e-3)


def test_interleaving_makes_the_bubble_smaller() -> None:
    """(p - 1) / v of the time of a micro-batch."""
    scenario = star(4, {})
    training = {**PIPELINE, "model": {**PIPELINE["model"], "layers": 8}, "global_batch": 8}
    times = {}
    for interleave in (1, 2):
        parallel = {"pipeline": 4, "interleave": interleave}
        scenario["workload"] = [{"training": {**training, "parallel": parallel}}]
        job = summary_of(xoff.run(scenario))
        times[interleave] = job["bubble_ps"] / job["compute_ps"]
    assert times[1] == pytest.approx(3 / 8, rel=2e-3)
    assert times[2] == pytest.approx(3 / (2 * 8), rel=5e-3)


def test_parts_of_every_rank_add_up_and_so_does_the_critical_path() -> None:
    scenario = star(8, {})
    model = {"layers": 4, "hidden": 64, "heads": 4, "sequence": 64, "vocabulary": 500, "experts": 4, "top_k": 2}
    parallel = {"tensor": 2, "pipeline": 2, "data": 2, "expert": 2, "sequence": True}
    training = {
        "model": model,
        "parallel": parallel,
        "iterations": 3,
        "buckets": 2,
        "compute": {"peak": 1e12, "jitter": 0.2},
    }
    scenario["workload"] = [{"training": training}, {"all_to_all": {"size": "40KB"}}]
    scenario["host"] = {}
    scenario["switch"] = {"flow_control": {"pfc": {}}}
    result = xoff.run({**scenario, "probe": {"delays": "all"}})
    job = summary_of(result)
    assert (job["iterations"], job["completed"]) == (3, 3)
    sums: dict[tuple[int, int], int] = {}
    for part in result.jobs.to_pylist():
        key = (part["iteration"], part["rank"])
        sums[key] = sums.get(key, 0) + part["time_ps"]
    ends = [max(o["end_ps"] for o in result.operations.to_pylist() if o["iteration"] <= i) for i in range(3)]
    times = [end - start for start, end in zip([0, *ends], ends, strict=False)]
    assert sums == {(iteration, rank): times[iteration] for iteration in range(3) for rank in range(8)}
    parts = job["compute_ps"] + job["exposed_ps"] + job["bubble_ps"]
    assert parts == pytest.approx(job["iteration_ps"], abs=3)
    assert {*job["groups"]} == {"TP", "PP", "DP", "EP"}
    [found] = jobs(result)
    steps = found.path()
    assert sum(step.ps for step in steps) == found.total_ps == ends[-1]
    slack = found.slack()
    assert min(slack.values()) == 0
    assert slack[found.last["rank"], found.last["index"]] == 0
    # The parts of all messages add up.
    delays: dict[tuple[int, int], int] = {}
    for part in result.table("delays").to_pylist():
        if part["operation"] is not None:
            key = (part["operation"], part["message"])
            delays[key] = delays.get(key, 0) + part["time_ps"]
    assert delays == {(m["operation"], m["message"]): m["fct_ps"] for m in result.messages.to_pylist()}


def test_gpt_13bs_first_round_of_gradients_takes_what_arithmetic_says() -> None:
    """Sixteen ranks of a rail at 400 Gb/s, links of 500 ns, 1000 B and 48 B of headers."""
    scenario = star(16, {})
    scenario["network"] = {"star": {"hosts": 16, "link": {"rate": "400Gbps", "delay": "500ns"}}}
    # A hundredth of the data for a short run: 2,030,388 B a message.
    size = 3_248_619_520 // 100
    rows = [row(rank, "all_gather", "weights", group="DP", size=f"{size}B") for rank in range(16)]
    scenario["workload"] = [{"graph": {"operations": rows, "groups": {"DP": list(range(16))}}}]
    [found] = xoff.run(scenario).collectives.to_pylist()
    shares = [size // 16 + (1 if share < size % 16 else 0) for share in range(16)]
    largest = max(shares)
    wire = largest + -(-largest // 1000) * 48
    round_ps = wire * 20 + 1048 * 20 + 1_000_000
    assert found["time_ps"] == pytest.approx(15 * round_ps, rel=1e-4)


IDLE = row(1, "compute", "idle", duration="1us")


def deadlocked() -> list[dict[str, Any]]:
    return [
        row(0, "recv", "in", peer=1),
        row(0, "send", "out", "in", peer=1, size="1KB"),
        row(1, "recv", "in", peer=0),
        row(1, "send", "out", "in", peer=0, size="1KB"),
    ]


def test_operations_that_wait_for_one_another_are_named() -> None:
    with pytest.raises(
        xoff.AuditError, match=r"`in` of rank 0 waits for `out` of rank 1.*`in` of rank 1 waits for `out` of rank 0"
    ):
        xoff.run(star(2, {"operations": deadlocked()}))


@pytest.mark.parametrize(
    ("rows", "groups", "why"),
    [
        (
            [row(0, "compute", "a", "b", duration="1us"), row(0, "compute", "b", "a", duration="1us")],
            {},
            r"operations\[[01]\]\.after: `[ab]` \(compute\) of rank 0: the operation would wait for itself",
        ),
        (
            # An operation behind the circle is not on it.
            [
                row(0, "compute", "behind", "a", duration="1us"),
                row(0, "compute", "a", "b", duration="1us"),
                row(0, "compute", "b", "a", duration="1us"),
            ],
            {},
            r"operations\[[12]\]\.after: `[ab]` \(compute\) of rank 0: the operation would wait for itself",
        ),
        (
            [IDLE, row(0, "send", "s", peer=1, size="1KB")],
            {},
            r"`s` \(send\) of rank 0: rank 1 has no matching recv",
        ),
        ([IDLE, row(0, "recv", "r", peer=1)], {}, r"`r` \(recv\) of rank 0: rank 1 has no matching send"),
        ([row(0, "send", "s", peer=7, size="1KB")], {}, r"\.peer: `s` \(send\) of rank 0: 7 is no other rank"),
        (
            [row(3, "all_gather", "g", group="g", size="1KB")],
            {"g": [0, 1]},
            r"`g` \(all_gather\) of rank 3: the rank is not in the group",
        ),
        (
            [row(0, "all_gather", "g", group="g", size="1KB")],
            {"g": [0, 1]},
            r"rank 1 of the group `g` takes part in only 0 collectives",
        ),
        ([row(0, "all_gather", "g", group="h", size="1KB")], {"g": [0, 1]}, r"unknown group `h`; groups are g"),
        ([row(0, "barrier", "g", group="g")], {"g": [0, 1, 0]}, r"groups\.g: a rank is listed twice"),
        ([row(0, "compute", "a", "z", duration="1us")], {}, r"the rank has no operation `z`"),
        ([row(0, "compute", "a")], {}, r"\.duration: `a` \(compute\) of rank 0: missing"),
        ([row(0, "compute", "a", flop=1e9)], {}, r"graph\.processor"),
        ([row(0, "compute", "a", duration="1us", size="1KB")], {}, r"\.size: .*not allowed for `compute`; remove it"),
        (
            [row(0, "all_gather", "g", group="g", size="1KB"), row(1, "all_gather", "g", group="g", size="2KB")],
            {"g": [0, 1]},
            r"`g` \(all_gather\) of rank 1: rank 0 has a different collective",
        ),
        (
            [
                row(0, "all_gather", "g", group="g", size="1KB"),
                row(1, "all_gather", "g", group="g", size="1KB", **{"class": 0}),
            ],
            {"g": [0, 1]},
            r"`g` \(all_gather\) of rank 1: rank 0 has a different collective",
        ),
        (
            [row(0, "send", "s", peer=1, size="1KB", **{"class": 1}), row(1, "recv", "r", peer=0)],
            {},
            r"operations\[0\]\.class: `s` \(send\) of rank 0: 1 is out of range; the switches have 1",
        ),
        (
            [row(0, "send", "s", peer=1, size="1KB"), row(1, "recv", "r", peer=0, **{"class": 0})],
            {},
            r"operations\[1\]\.class: `r` \(recv\) of rank 1: not allowed for `recv`",
        ),
        (
            [row(0, "compute", "a", duration="1us"), row(0, "compute", "a", duration="1us")],
            {},
            "duplicate name of an operation",
        ),
        ([row(9, "compute", "a", duration="1us")], {}, r"4 hosts are in the network; the job has 10 ranks"),
    ],
)
def test_a_wrong_graph_is_refused(rows: list[dict[str, Any]], groups: dict[str, Any], why: str) -> None:
    with pytest.raises(xoff.InputError, match=why):
        xoff.check(star(4, {"operations": rows, "groups": groups}))
