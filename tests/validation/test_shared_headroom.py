"""A shared buffer with a pool of headroom, cells, and a fixed level of resume: closed forms of whole runs."""

from __future__ import annotations

from typing import Any

import pytest

import xoff

FRAME = 1000
HEADROOM = 60_000
SENDERS = 4


def star(**shared: Any) -> dict[str, Any]:
    """Returns senders that fill an input each: frames of 1,000 B to a slow receiver, at 100 Gb/s over 1 µs."""
    return {
        "network": {
            "star": {"hosts": SENDERS + 1, "link": {"rate": "100Gbps", "delay": "1us"}},
            "overrides": [{"link": "host0-*", "rate": "1Gbps"}],
        },
        "framing": {"payload": f"{FRAME}B", "header": "0B"},
        "switch": {
            "buffer": {"shared": {"alpha": 1.0, "reserve": "0B", "headroom": f"{HEADROOM}B"} | shared},
            "flow_control": {"pfc": {}},
        },
        "host": {"transport": {"raw": {}}},
        "workload": [{"incast": {"senders": list(range(1, SENDERS + 1)), "receiver": 0, "size": "1MB"}}],
        "audits": {"loss": "record", "completion": "record"},
    }


def headroom_used(result: xoff.Result) -> int:
    """Returns the most bytes of headroom that all inputs used, as a sum of their peaks."""
    return sum(row["bytes"] for row in result.high_water.to_pylist() if row["kind"] == "headroom")


def test_a_pool_as_large_as_all_headroom_changes_nothing() -> None:
    """B is the same: the memory less 4 · 60,000 B in both cases; the link of the receiver has headroom, too."""
    total = 400_000 + (SENDERS + 1) * HEADROOM
    own = xoff.run(star(total=f"{total}B"))
    pool = xoff.run(star(total=f"{total}B", headroom_pool=f"{(SENDERS + 1) * HEADROOM}B"))
    assert own.fingerprint == pool.fingerprint
    assert own.summary["drops"] == 0


def test_a_pool_below_the_used_headroom_loses_packets() -> None:
    """Inputs pause at the same time, and each receives a round trip of bytes: the pool needs the sum."""
    used = headroom_used(xoff.run(star(total="700KB")))
    assert used > 0
    enough = xoff.run(star(total=f"{400_000 + used}B", headroom_pool=f"{used}B"))
    assert enough.summary["drops"] == 0
    half = used // 2
    lossy = xoff.run(star(total=f"{400_000 + half}B", headroom_pool=f"{half}B"))
    assert lossy.summary["drops"] > 0


@pytest.mark.parametrize(("payload", "cells"), [(208, 1), (209, 2), (416, 2)])
def test_frames_fill_whole_cells(payload: int, cells: int) -> None:
    """Without PFC: an input alone holds αB/(1 + α) of 100 cells of memory; of the other frames each is lost."""
    scenario = star(total=f"{2 * 120 * 208}B", cell="208B")
    scenario["framing"] = {"payload": f"{payload}B", "header": "0B"}
    scenario["switch"]["flow_control"] = {}
    scenario["workload"] = [{"incast": {"senders": [1], "receiver": 0, "size": f"{payload * 200}B"}}]
    result = xoff.run(scenario)
    # While 200 frames arrive at 100 Gb/s, the receiver takes a hundredth of them, and the one in transmission.
    held = 120 // cells
    drops = result.summary["drops"]
    assert 200 - held - 4 <= drops <= 200 - held


def test_a_fixed_level_makes_pauses_longer_and_fewer() -> None:
    """Offset 3 KiB: a pause ends after a few frames. Level 10,000 B: the group drains from B/5 to 10,000 B."""
    base = star(total=f"{400_000 + (SENDERS + 1) * HEADROOM}B")
    often = xoff.run(base)
    base["switch"]["flow_control"]["pfc"] = {"resume_at": "10000B"}
    rarely = xoff.run(base)
    assert rarely.summary["drops"] == 0
    assert rarely.summary["pfc"]["pauses"] < often.summary["pfc"]["pauses"] / 3
    base["switch"]["flow_control"]["pfc"] = {"resume_at": "1B", "xon": "3KiB"}
    assert xoff.run(base).fingerprint == often.fingerprint


@pytest.mark.parametrize(
    ("switch", "says"),
    [
        ({"buffer": {"per_port": "400KB"}, "flow_control": {"pfc": {"resume_at": "1KB"}}}, "pfc.resume_at: belongs to"),
        ({"buffer": {"shared": {"total": "1MB", "cell": "1MB"}}}, "shared.cell: 1MB is out of range"),
        (
            {"buffer": {"shared": {"total": "1MB", "headroom_pool": "2MB"}}, "flow_control": {"pfc": {}}},
            "headroom_pool",
        ),
        (
            {
                "buffer": {"shared": {"total": "1MB"}},
                "overrides": [{"rate": "100Gbps", "buffer": {"total": "2MB"}}],
            },
            "select whole switches",
        ),
    ],
)
def test_values_without_sense_are_refused(switch: dict[str, Any], says: str) -> None:
    with pytest.raises(xoff.InputError, match=says):
        xoff.check(star(total="1MB") | {"switch": switch})


def test_a_switch_has_its_own_memory() -> None:
    """Two switches in a row: the closed form αB/(1 + α) of each, with the total of the override."""
    scenario = {
        "network": {"line": {"switches": 2, "hosts_per_switch": 1, "link": {"rate": "100Gbps", "delay": "1us"}}},
        "switch": {
            "buffer": {"shared": {"total": "1MB", "alpha": 1.0, "reserve": "0B", "headroom": "50KB"}},
            "flow_control": {"pfc": {}},
            "overrides": [{"switches": ["*1"], "buffer": {"total": "600KB", "reserve": "10KB"}}],
        },
    }
    found = {row["xoff_bytes"] for row in xoff.check(scenario)["headroom"]}
    assert found == {(1_000_000 - 2 * 50_000) // 2, 10_000 + (600_000 - 2 * 60_000) // 2}


def test_an_output_drops_lossless_packets() -> None:
    """A queue of 100 KB ends before its inputs pause: packets are lost with headroom free, and none with 2 MB."""
    total = f"{400_000 + (SENDERS + 1) * HEADROOM}B"
    for limit, is_lossy in ((100_000, True), (2_000_000, False)):
        result = xoff.run(star(total=total, egress=[{"total": "4MB", "limit": f"{limit}B"}]))
        assert (result.summary["drops"] > 0) == is_lossy
        marks = result.summary["high_water"]
        assert marks["queue"]["bytes"] <= limit
        assert (marks["headroom"]["bytes"] == 0) == is_lossy


def test_classes_of_a_group_have_their_own_threshold() -> None:
    """Alone at B/2 with alpha 1, and at B/3 with alpha 1/2: one sender of each class without PFC."""
    cells = 240
    base = star(total=f"{cells * FRAME}B", groups=[{"classes": [1], "alpha": 0.5}])
    base["switch"] |= {"classes": 2, "flow_control": {}}
    for number, share in ((0, 2), (1, 3)):
        flow = {"class": number, "incast": {"senders": [1], "receiver": 0, "size": f"{cells * FRAME}B"}}
        result = xoff.run(base | {"workload": [flow]})
        held = cells // share
        assert cells - held - 5 <= result.summary["drops"] <= cells - held


def _two_classes(**group: Any) -> dict[str, Any]:
    """Returns a sender with two flows, of classes 1 and 2, which share a group."""
    cells = 240
    base = star(total=f"{cells * FRAME}B", groups=[{"classes": [1, 2], **group}])
    base["switch"]["classes"] = 3
    base["workload"] = [
        {"name": f"c{one}", "class": one, "incast": {"senders": [1], "receiver": 0, "size": f"{cells * FRAME}B"}}
        for one in (1, 2)
    ]
    return base


def test_classes_that_count_together_have_one_threshold() -> None:
    """Without PFC, alpha 1, B = 240 frames: B/2 together; apart B/2, and B/4 of the class that the host sends later."""
    for together, held in ((True, 120), (False, 180)):
        base = _two_classes(together=together)
        base["switch"]["flow_control"] = {}
        drops = xoff.run(base).summary["drops"]
        assert 480 - held - 9 <= drops <= 480 - held


def test_classes_that_count_together_pause_together() -> None:
    """Each XOFF of the group pauses both classes, each XON resumes both, and no packet is lost."""
    base = _two_classes(together=True)
    base["switch"]["buffer"]["shared"] |= {"total": "640KB"}
    base["audits"] = {}
    result = xoff.run(base)
    assert result.summary["flows"]["completed"] == 2
    assert result.summary["drops"] == 0
    of_host = [row for row in result.pauses.to_pylist() if row["node"] == "host1"]
    begins = [sorted(row["start_ps"] for row in of_host if row["class"] == one) for one in (1, 2)]
    # A frame for each class: the second is 64 B later.
    assert begins[0]
    assert {abs(first - second) for first, second in zip(*begins, strict=True)} == {64 * 80}
    # The memory has one headroom for the group, and one for class 0: 640 KB - 2 · 5 · 60 KB.
    pool = next(row for row in result.high_water.to_pylist() if row["kind"] == "pool")
    assert pool["threshold_bytes"] == 640_000 - 2 * (SENDERS + 1) * HEADROOM
    assert {xoff.run(base, threads=threads).fingerprint for threads in (2, 3)} == {result.fingerprint}


def test_a_group_of_one_class_counts_alike() -> None:
    base = star(total="2MB", groups=[{"classes": [0], "alpha": 0.5}])
    own = star(total="2MB", groups=[{"classes": [0], "alpha": 0.5, "together": True}])
    assert xoff.run(base).fingerprint == xoff.run(own).fingerprint


@pytest.mark.parametrize(("flow_control", "drops"), [({"pfc": {"xoff": "50KB", "xon": "40KB"}}, 0), ({}, 1)])
def test_a_fixed_xoff_may_fill_the_pool(flow_control: dict[str, Any], drops: int) -> None:
    """With alpha 1/64 a lossy input alone holds B/65 = 15 KB of 1 MB. PFC takes more than 50 KB, as memory is free."""
    case = star(total="1MB", headroom="0B", alpha=1 / 64)
    case["switch"]["flow_control"] = flow_control
    result = xoff.run(case)
    assert min(result.summary["drops"], 1) == drops
    if not drops:
        most = max(row["max_bytes"] for row in result.queues.to_pylist() if row["node"] != "host0")
        assert most > 50_000


def test_a_fixed_xoff_drops_when_the_pool_is_full() -> None:
    """Four inputs hold 50 KB each, and a round trip more: a pool of 150 KB is too small, and one of 1 MB is not."""
    for total, is_lossy in (("150KB", True), ("1MB", False)):
        case = star(total=total, headroom="0B", alpha=1 / 64)
        case["switch"]["flow_control"] = {"pfc": {"xoff": "50KB", "xon": "40KB"}}
        assert (xoff.run(case).summary["drops"] > 0) == is_lossy
