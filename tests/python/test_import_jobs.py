"""Jobs of GOAL, Chakra and SimAI: the same job has the same answer, and bad files are refused."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import xoff
from imports import Import, messages, refused
from small import Command
from xoff.importing.chakra_messages import METADATA, NODE

GOAL = """num_ranks 2
rank 0 { // computes, then a ring of two steps
c: calc 10000
s0: send 500000b to 1 tag 1
r0: recv 500000b from 1 tag 1
s1: send 500000b to 1 tag 2
r1: recv 500000b from 1 tag 2
s0 requires c
s1 requires r0
s1 requires c
}
rank 1 {
c: calc 10000 cpu 1
s0: send 500000b to 0 tag 1
r0: recv 500000b from 0 tag 1 /* the other
half */
s1: send 500000b to 0 tag 2
r1: recv 500000b from 0 tag 2
s0 requires c
s1 requires r0
s1 requires c
}
"""
SIMAI = """HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 8 ga: 1 all_gpus: 2
1
layer -1 10000 ALLREDUCE 1000000 0 NONE 0 0 NONE 0 100
"""


def trace(*nodes: dict[str, Any]) -> bytes:
    """Returns a trace as bytes: metadata, then nodes, each after its length."""
    content = b""
    for number, one in enumerate([METADATA(version="0.0.4"), *(NODE() for _ in nodes)]):
        if number:
            node = dict(nodes[number - 1])
            for key, value in node.pop("attr", {}).items():
                kind = (
                    "bool_val" if isinstance(value, bool) else "string_val" if isinstance(value, str) else "int64_val"
                )
                one.attr.add(name=key, **{kind: value})
            one.ctrl_deps.extend(node.pop("ctrl_deps", ()))
            one.data_deps.extend(node.pop("data_deps", ()))
            for key, value in node.items():
                setattr(one, key, value)
        text = one.SerializeToString()
        length, left = b"", len(text)
        while left > 0x7F:
            length, left = length + bytes([left & 0x7F | 0x80]), left >> 7
        content += length + bytes([left]) + text
    return content


COMPUTE = {"id": 3, "type": 4, "duration_micros": 10, "attr": {"is_cpu_op": False}}
REDUCE = {"id": 7, "type": 7, "data_deps": [3], "attr": {"comm_type": 0, "comm_size": 1_000_000, "pg_name": "all"}}


def traces(folder: Path, *contents: bytes) -> list[Path]:
    files = []
    for rank, content in enumerate(contents):
        files.append(folder / f"trace.{rank}.et")
        files[-1].write_bytes(content)
    return files


def job_of(scenario: str, **overrides: Any) -> dict[str, Any]:
    xoff.check(scenario, overrides=overrides)
    result = xoff.run(scenario, overrides=overrides)
    assert set(result.audits.values()) == {"ok"}
    found: dict[str, Any] = {**result.summary["workloads"]["job"]["job"]}
    return found


def test_the_same_job_has_the_same_answer(imported: Import, xoff_here: Command, tmp_path: Path) -> None:
    link: dict[str, Any] = {"network.star.link.rate": "400Gbps", "network.star.link.delay": "500ns"}
    link |= {"framing.payload": "1000B", "host.transport.raw": {}}
    goal = job_of(imported("goal", GOAL)["scenario"], **link)
    (tmp_path / "simai.txt").write_text(SIMAI)
    said = json.loads(xoff_here("import", "simai", "simai.txt", "--out", "simai", "--json").stdout)
    simai = job_of(str(tmp_path / said["scenario"]), **link)
    files = traces(tmp_path, trace(COMPUTE, REDUCE), trace(COMPUTE, REDUCE))
    said = json.loads(xoff_here("import", "chakra", *files, "--out", "chakra", "--json").stdout)
    chakra = job_of(str(tmp_path / said["scenario"]), **link)
    nodes = [
        {"Id": 3, "NodeType": 4, "runtime": 10, "is_cpu_op": False},
        {"Id": 7, "NodeType": "COMM_COLL_NODE", "data_deps": [3], "comm_type": "ALL_REDUCE", "comm_size": 1_000_000},
    ]
    files = traces(tmp_path, *2 * [json.dumps({"workload_graph": nodes}).encode()])
    said = json.loads(xoff_here("import", "chakra", *files, "--out", "feeder", "--json").stdout)
    feeder = job_of(str(tmp_path / said["scenario"]), **link)
    # Two messages of 500 packets, one more for the switch, and two links each.
    assert goal["iteration_ps"] == 10_000_000 + 2 * (501 * 1048 * 20 + 1_000_000)
    for other in (simai, chakra, feeder):
        assert other["iteration_ps"] == goal["iteration_ps"]
        assert other["compute_ps"] == goal["compute_ps"] == 10_000_000


# As LogGOPSim with G = 1 ns and L = 3000 ns: two links of 1 us, and a packet's time at the switch.
AS_LOGGOPS: dict[str, Any] = {
    "network.star.link": {"rate": "8Gbps", "delay": "1us"},
    "framing": {"payload": "1000B", "header": "0B"},
    "switch": {},
    "host.transport.raw": {},
}


@pytest.mark.parametrize(
    ("case", "in_turn", "sharing"), [("bbcast16", 4.012e9, 10.006e9), ("dring", 9.024e9, 12.019e9)]
)
def test_messages_of_a_rank_leave_in_the_order_of_the_source(
    imported: Import, case: str, in_turn: float, sharing: float
) -> None:
    # A binomial broadcast of 16 and a double ring: LogGOPSim has 4.012 and 9.024 ms.
    file = Path(__file__).parent / "cases" / f"{case}.goal"
    said = imported("goal", file)
    assert "leave one after another, as in LogGOPSim" in messages(said)
    assert job_of(said["scenario"], **AS_LOGGOPS)["iteration_ps"] == pytest.approx(in_turn, rel=1e-3)
    said = imported("goal", file, options=("--order", "packet"), out="sharing")
    assert "share the interface packet by packet" in messages(said)
    assert job_of(said["scenario"], **AS_LOGGOPS)["iteration_ps"] == pytest.approx(sharing, rel=1e-3)


def test_what_is_lost_is_said(imported: Import) -> None:
    goal = GOAL.replace("recv 500000b from 1 tag 2", "recv 1b from -1 tag -1")
    said = imported("goal", goal.replace("to 0 tag 1", "to 0 tag 1 nic 3"))
    text = messages(said)
    assert "the network is not in the file" in text
    assert "LogGOPS" in text
    assert "gets the message that arrives first" in text
    assert "network interfaces beyond the first" in text
    assert (said["flows"], said["bytes"]) == (2, 2_000_000)


def test_a_processor_computes_one_thing_at_a_time(imported: Import) -> None:
    text = "num_ranks 1\nrank 0 {\na: calc 1000\nb: calc 2000\nc: calc 4000 cpu 1\nd: calc 100\nd irequires c\n}\n"
    said = imported("goal", text)
    result = xoff.run(said["scenario"])
    ends = {row["name"]: (row["start_ps"], row["end_ps"]) for row in result.operations.to_pylist()}
    us = 1_000_000
    assert ends == {"o0": (0, us), "o1": (us, 3 * us), "o2": (0, 4 * us), "o3": (3 * us, 3 * us + us // 10)}


def test_the_rounds_of_a_binomial_tree(imported: Import) -> None:
    """A broadcast to eight: each rank with the data sends to one further rank, in three rounds of one byte."""
    lines = ["num_ranks 8"]
    for rank in range(8):
        lines.append(f"rank {rank} {{")
        step = 1 << rank.bit_length() if rank else 1
        if rank:
            lines.append(f"r: recv 1b from {rank - (step >> 1)}")
        names = []
        while rank + step < 8:
            lines.append(f"s{step}: send 1b to {rank + step}")
            names.append(f"s{step}")
            step <<= 1
        lines += [f"{name} requires r" for name in names if rank]
        lines += [f"{later} requires {earlier}" for earlier, later in pairwise(names)]
        lines.append("}")
    said = imported("goal", "\n".join(lines) + "\n")
    link = {
        "framing.payload": "1000B",
        "framing.header": "48B",
        "framing.min_frame_size": "64B",
        "host.transport.raw": {},
    }
    frame, links = 64 * 20, 1_000_000
    # A send is over when its packet begins to leave: the packets of a rank follow one another on its link. The last
    # receiver is rank 7, from rank 3, from rank 1, from rank 0.
    assert job_of(said["scenario"], **link)["iteration_ps"] == 3 * (2 * frame + links)


def test_a_layer_of_simai_waits_for_what_it_says(imported: Import) -> None:
    text = SIMAI.replace("all_gpus: 2", "all_gpus: 4").replace("\n1\n", "\n2\n")
    text += "more -1 1000 NONE 0 2000 ALLREDUCE 500000 3000 REDUCESCATTER 1000000 100\n"
    said = imported("simai", text)
    result = xoff.run(said["scenario"])
    rows = {row["name"]: row for row in result.operations.to_pylist() if row["rank"] == 0}
    kinds = [rows[f"o{number}"]["kind"] for number in range(len(rows))]
    assert kinds == [
        "compute", "all_reduce", "compute", "compute", "all_reduce", "compute", "reduce_scatter", "compute", "compute",
    ]  # fmt: skip
    # The collective of weights overlaps with the next operations.
    assert rows["o7"]["start_ps"] == rows["o5"]["end_ps"] < rows["o6"]["end_ps"]
    assert rows["o6"]["label"] == "DP"
    assert rows["o1"]["label"] == "TP"


@pytest.mark.parametrize(
    ("kind", "text", "line", "why"),
    [
        ("goal", "rank 0 {\n}\n", 1, "a schedule begins with num_ranks"),
        ("goal", "num_ranks 1\nrank 0 {\ncalc 5\n", 4, "the file ends within a rank"),
        ("goal", "num_ranks 1\nrank 2 {\n}\n", 2, "is not a whole number from 0 to 0"),
        ("goal", "num_ranks 2\nrank 0 {\nsend 5b to 1\n}\n", 3, "rank 1 receives no message"),
        ("goal", "num_ranks 2\nrank 0 {\nrecv 5b from -1\n}\n", 3, "no rank sends rank 0"),
        ("goal", "num_ranks 1\nrank 0 {\na: calc 5\na requires z\n}\n", 4, "no operation of this rank has the label"),
        ("goal", "num_ranks 1\nrank 0 {\njump 5\n}\n", 3, "send, recv, calc"),
        ("simai", "HYBRID\n", 2, "the file ends before the layers"),
        ("simai", "HYBRID model_parallel_NPU_group: 2\n1\n", 1, "give --gpus"),
        ("simai", SIMAI.replace(" 100\n", "\n"), 3, "a layer has 12 values; found: 11"),
        ("simai", SIMAI.replace("\n1\n", "\n5\n"), 4, "5 layers are announced"),
    ],
)
def test_bad_files_are_refused(xoff_here: Command, tmp_path: Path, kind: str, text: str, line: int, why: str) -> None:
    refused(xoff_here, tmp_path, kind, [text], "0.txt", line, why)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\xff" * 12, "is not a sequence of messages"),
        (trace(COMPUTE)[:-3], "ends within a message"),
        (trace(COMPUTE, {**REDUCE, "data_deps": [99]}), "depends on node 99"),
        (trace({**REDUCE, "data_deps": (), "attr": {"comm_type": 0, "pg_name": "tp"}}), "give --groups"),
        (trace({"id": 1, "type": 5, "attr": {"comm_dst": 4}}), "comm_dst is not a whole number from 0 to 1"),
        (b'{"workload_graph": [{"NodeType": 4}]}', "has no number"),
        (bytes(10**6), "the message at byte 1 is empty; is this file a Chakra trace?"),
        (trace(COMPUTE) + trace(COMPUTE)[len(trace()) :] * 10**5, "node 3: an earlier node has the same number"),
        (trace({**REDUCE, "attr": {"comm_size": 9}, "data_deps": ()}), "node 7: comm_type is missing"),
        (trace({**REDUCE, "attr": {"comm_type": "FOLD"}, "data_deps": ()}), "comm_type: `FOLD` is unknown; known are"),
        (trace({"id": 1, "type": 5, "attr": {"comm_size": 9}}), "node 1: comm_dst is missing"),
        (trace({"id": 1, "type": 6, "attr": {"comm_tag": 9}}), "node 1: comm_src is missing"),
        (trace({"id": 1, "type": 0, "name": "x"}), "node 1 (`x`): is of the type INVALID"),
        (b"{", "is not JSON"),
    ],
)
def test_bad_traces_are_refused(xoff_here: Command, tmp_path: Path, content: bytes, why: str) -> None:
    done = xoff_here("import", "chakra", *traces(tmp_path, content, trace(COMPUTE)), "--out", "chakra")
    assert (done.returncode, done.stdout) == (2, "")
    assert why in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "chakra").exists()
