"""Receives of GOAL and Chakra get the first message that arrives, and a job that could never end is refused."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xoff
from imports import Import, messages
from small import Command
from xoff import InputError
from xoff.importing.document import Operation
from xoff.importing.matching import matched

# Rank 1 sends its second message only after it has heard from rank 0, which first waits for two messages.
MASTER = """num_ranks 3
rank 0 {
a: recv 8b from -1 tag -1
b: recv 8b from -1 tag -1
b requires a
c: send 8b to 1 tag 5
c requires b
d: recv 8b from -1 tag -1
d requires c
}
rank 1 {
a: send 8b to 0 tag 1
b: recv 8b from 0 tag 5
c: send 8b to 0 tag 3
c requires b
}
rank 2 {
a: send 8b to 0 tag 2
}
"""


def never_ends(operations: Sequence[Operation]) -> list[str]:
    """Returns the operations that never end if the i-th send between two ranks with a tag meets the i-th receive."""
    ends: dict[tuple[object, ...], list[int]] = {}
    names = {(one.rank, one.name): index for index, one in enumerate(operations)}
    before: list[set[int]] = []
    for index, one in enumerate(operations):
        before.append({names[one.rank, name] for name in one.after})
        if one.kind == "send":
            ends.setdefault((one.rank, one.peer, one.tag), []).append(index)
    seen = Counter[tuple[object, ...]]()
    for index, one in enumerate(operations):
        if one.kind == "recv":
            channel = one.peer, one.rank, one.tag
            before[index].add(ends[channel][seen[channel]])
            seen[channel] += 1
    after: dict[int, list[int]] = {}
    for index, several in enumerate(before):
        for other in several:
            after.setdefault(other, []).append(index)
    left = [len(several) for several in before]
    ready = deque(index for index, count in enumerate(left) if not count)
    while ready:
        for index in after.get(ready.popleft(), ()):
            left[index] -= 1
            if not left[index]:
                ready.append(index)
    return [operations[index].name for index, count in enumerate(left) if count]


def overtakes(operations: Sequence[Operation]) -> bool:
    """Whether ends of a channel with several messages may begin in another order than listed, as they wait."""
    channels: dict[tuple[object, ...], list[Operation]] = {}
    for one in operations:
        ends = (one.rank, one.peer) if one.kind == "send" else (one.peer, one.rank)
        channels.setdefault((*ends, one.tag), []).append(one)
    return any(len(several) > 2 and any(one.after or one.unit for one in several) for several in channels.values())


def test_a_master_and_its_workers_end_after_three_messages(imported: Import) -> None:
    """LogGOPSim's example ``schedule.goal``, cut to three ranks."""
    said = imported("goal", MASTER)
    result = xoff.run(said["scenario"])
    assert set(result.audits.values()) == {"ok"}
    job: dict[str, Any] = {**result.summary["workloads"]["job"]["job"]}
    # Three messages, one after another, each over two links of 500 ns and with two frames of 64 B.
    assert 3 * 1_000_000 < job["iteration_ps"] < 3 * 1_010_000
    assert "gets the message that arrives first" in messages(said)


def test_the_first_message_that_arrives_is_received_first(imported: Import) -> None:
    """Rank 1 computes before it sends, so the first receive from any rank gets the message of rank 2."""
    text = """num_ranks 3
rank 0 {
a: recv 8b from -1
b: recv 8b from -1
b requires a
}
rank 1 {
a: calc 9000
b: send 8b to 0
b requires a
}
rank 2 {
a: send 8b to 0
}
"""
    said = imported("goal", text)
    rows = {row["name"]: row for row in xoff.run(said["scenario"]).operations.to_pylist() if row["rank"] == 0}
    assert rows["o0"]["end_ps"] < 2_000_000 < 9_000_000 < rows["o1"]["end_ps"]


def test_messages_of_one_tag_are_received_as_they_arrive(imported: Import) -> None:
    """By the order of the file, the first receive would wait for the second send, and the job would never end."""
    text = """num_ranks 2
rank 0 {
a: recv 8b from 1
b: recv 8b from 1
a requires c
c: send 8b to 1
c requires b
}
rank 1 {
x: send 8b to 0
y: recv 8b from 0
z: send 8b to 0
z requires y
}
"""
    said = imported("goal", text)
    result = xoff.run(said["scenario"])
    assert set(result.audits.values()) == {"ok"}
    assert "messages of one tag arrive in another order" in messages(said)


def test_a_receive_from_any_rank_leaves_the_messages_that_others_name(imported: Import) -> None:
    text = """num_ranks 3
rank 0 {
a: recv 8b from -1
b: recv 8b from 1
b requires a
}
rank 1 {
a: send 8b to 0
}
rank 2 {
c: calc 5000
a: send 8b to 0
a requires c
}
"""
    said = imported("goal", text)
    rows = (Path(said["scenario"]).parent / "operations.csv").read_text().splitlines()
    assert [row.split(",")[7] for row in rows if row.startswith("0,recv")] == ["2", "1"]


_ECHO = "a: recv 1b from {0}\nb: send 1b to {0}\nb requires a"


@pytest.mark.parametrize(
    ("ranks", "line", "why"),
    [
        ([_ECHO.format(1), _ECHO.format(0)], 3, "break the circle"),
        (
            [_ECHO.format(1).replace("from 1", "from -1"), _ECHO.format(0)],
            3,
            "give source and tag of the receives of rank 0 from any rank or of any tag",
        ),
        (["a: calc 5\nb: calc 5\na requires b\nb requires a", ""], 3, "break the circle"),
        (["a: send 1b to 1\na requires b\nb: recv 1b from 1 tag 7", "a: recv 1b from 0\nb: send 1b to 0 tag 7\n"
          "b requires a"], 3, "break the circle"),
    ],
)  # fmt: skip
def test_circles_over_messages_are_refused(
    xoff_here: Command, tmp_path: Path, ranks: list[str], line: int, why: str
) -> None:
    file = tmp_path / "circle.goal"
    file.write_text("num_ranks 2\n" + "".join(f"rank {n} {{\n{text}\n}}\n" for n, text in enumerate(ranks)))
    done = xoff_here("import", "goal", file, "--out", "new/out")
    assert done.returncode == 2
    assert done.stderr.startswith(f"xoff: error: {file}: line {line}: the operation would wait for itself")
    assert why in done.stderr
    assert list(tmp_path.iterdir()) == [file]


def test_a_receive_that_another_receive_starves_is_named(xoff_here: Command, tmp_path: Path) -> None:
    file = tmp_path / "starved.goal"
    file.write_text(
        "num_ranks 2\nrank 0 {\na: recv 1b from -1 tag -1\nb: recv 1b from 1 tag -1\nc: recv 1b from -1 tag 2\n}\n"
        "rank 1 {\nx: send 1b to 0 tag 2\ny: send 1b to 0 tag 3\ny requires x\nz: send 1b to 0 tag 4\nz requires y\n}\n"
    )
    done = xoff_here("import", "goal", file)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{file}: line 5: no rank sends rank 0 a message for this receive; if another message" in done.stderr


def test_circles_of_a_trace_are_refused(xoff_here: Command, tmp_path: Path) -> None:
    """Over messages, and over collectives of two groups that two ranks run in opposite orders."""

    def refused(*ranks: list[dict[str, object]]) -> None:
        files = [tmp_path / f"{rank}.json" for rank in range(len(ranks))]
        for file, nodes in zip(files, ranks, strict=True):
            file.write_text(json.dumps({"workload_graph": nodes}))
        (tmp_path / "groups").write_text('{"x": [0, 1], "y": [0, 1]}')
        done = xoff_here("import", "chakra", *files, "--groups", "groups", "--out", "new/out")
        assert done.returncode == 2, done.stdout
        assert done.stderr.startswith(f"xoff: error: {files[0]}: node 1: the operation would wait for itself")
        assert not (tmp_path / "new").exists()

    recv = {"Id": 1, "NodeType": 6, "comm_size": 1}
    send = {"Id": 2, "NodeType": 5, "comm_size": 1, "data_deps": [1]}
    refused([{**recv, "comm_src": 1}, {**send, "comm_dst": 1}], [{**recv, "comm_src": 0}, {**send, "comm_dst": 0}])
    first: dict[str, object] = {"Id": 1, "NodeType": 7, "comm_type": 0, "comm_size": 9}
    both: list[dict[str, object]] = [first, {**first, "Id": 2, "data_deps": [1]}]
    refused(
        [{**one, "pg_name": name} for one, name in zip(both, "xy", strict=True)],
        [{**one, "pg_name": name} for one, name in zip(both, "yx", strict=True)],
    )


@st.composite
def schedules(draw: st.DrawFn) -> list[Operation]:
    """Draws sends and receives of three ranks with random requirements, in which some receives accept any message."""
    ends: list[tuple[int, str, int | None, int | None]] = []
    for _ in range(draw(st.integers(1, 7))):
        source, to = draw(st.permutations(range(3)))[:2]
        tag = draw(st.integers(0, 1))
        ends.append((source, "send", to, tag))
        is_any = draw(st.tuples(*2 * [st.integers(0, 3).map(lambda n: n == 0)]))
        ends.append((to, "recv", None if is_any[0] else source, None if is_any[1] else tag))
    found: list[Operation] = []
    for rank in range(3):
        own = draw(st.permutations([one for one in ends if one[0] == rank]))
        for number, (_, kind, peer, wanted) in enumerate(own):
            others = [f"o{other}" for other in range(len(own)) if other != number]
            few = min(1, len(others)) if draw(st.booleans()) else 0
            after = draw(st.permutations(others))[:few]
            size = draw(st.integers(1, 5)) if kind == "send" else None
            unit = "nic0" if kind == "send" and draw(st.booleans()) else ""
            found.append(Operation(rank, kind, f"o{number}", tuple(after), unit=unit, peer=peer, tag=wanted, size=size))
    return found


@settings(deadline=None, max_examples=300)
@given(operations=schedules())
def test_a_matched_schedule_ends(operations: list[Operation]) -> None:
    """Or the schedule is refused, but never if the listed order is the only one, and ends.

    As in MPI, a receive gets the first message sent. If a send waits, a later one of the channel goes first, so a
    schedule that would end in the listed order may never end.
    """
    is_open = any(one.kind == "recv" and None in (one.peer, one.tag) for one in operations)
    try:
        found, message_of = matched(operations, {}, lambda one: f"rank {one.rank} {one.name}", byte_ps=3)
    except InputError:
        assert is_open or overtakes(operations) or never_ends(operations)
        return
    assert never_ends(found) == []
    for before, after, message in zip(operations, found, message_of, strict=True):
        assert (before.kind, before.name, before.after, before.size) == (
            after.kind,
            after.name,
            after.after,
            after.size,
        )
        if before.kind == "recv":
            assert before.peer in (None, operations[message].rank)
            assert before.tag in (None, operations[message].tag)
    assert sorted(one for one in message_of if one >= 0) == [
        index for index, one in enumerate(operations) if one.kind == "send"
    ]
