"""Curves of marks by class, and curves that drop packets without ECT: closed forms of whole runs."""

from __future__ import annotations

import re
from typing import Any

import pytest

import xoff

FRAME = 1000


def scenario(ecn: dict[str, Any], classes: tuple[int, ...] = (0, 1)) -> dict[str, Any]:
    """Returns four senders to a receiver behind a link at half of their rate, for each class."""
    size = f"{200 * FRAME}B"
    return {
        "network": {"star": {"hosts": 5, "link": {"rate": "100Gbps", "delay": "1us"}}},
        "framing": {"payload": f"{FRAME}B", "header": "0B"},
        "switch": {"classes": 2, "buffer": "unlimited", "ecn": ecn},
        "host": {"transport": {"raw": {}}},
        "workload": [
            {"name": f"c{one}", "class": one, "incast": {"senders": [1, 2, 3, 4], "receiver": 0, "size": size}}
            for one in classes
        ],
        "audits": {"loss": "record", "completion": "record"},
    }


def counts(result: xoff.Result, column: str) -> dict[int, int]:
    """Returns a column of the queues to the receiver by class."""
    return {row["queue"]: row[column] for row in result.queues.to_pylist() if row["peer"] == "host0"}


def step(threshold: int, classes: list[int], **more: Any) -> dict[str, Any]:
    return {"classes": classes, "step": {"threshold": f"{threshold}B"}, **more}


def test_profiles_with_the_general_curve_change_nothing() -> None:
    general = {"step": {"threshold": "100KB"}}
    one = xoff.run(scenario(general))
    assert one.fingerprint == xoff.run(scenario({"profiles": [step(100_000, [0, 1])]})).fingerprint
    assert one.fingerprint == xoff.run(scenario(general | {"profiles": [step(100_000, [1])]})).fingerprint


@pytest.mark.parametrize("threshold", [50_000, 200_000])
def test_each_class_has_its_threshold(threshold: int) -> None:
    """A step marks each packet that leaves more than the threshold behind: 800 packets of a class queue up.

    The queue of a class grows while senders send, and drains from its peak. Alone in its class the curve of the other
    class does not count.
    """
    alone = xoff.run(scenario({"step": {"threshold": f"{threshold}B"}}))
    own = xoff.run(scenario({"profiles": [step(threshold, [0]), step(4_000_000, [1])]}))
    (first, second), (expected, _) = counts(own, "marked").values(), counts(alone, "marked").values()
    assert (first, second) == (expected, 0)
    assert first > 0


def test_a_queue_without_ect_ends_at_its_step() -> None:
    """A packet that arrives above the threshold is dropped: the queue holds the threshold and a frame at most."""
    result = xoff.run(scenario({"profiles": [step(50_000, [1], ect=False)]}))
    dropped, deepest = counts(result, "dropped"), counts(result, "max_bytes")
    (lossless, lossy) = dropped
    assert (dropped[lossless], deepest[lossy]) == (0, 50_000 + FRAME)
    assert dropped[lossy] > 0
    assert deepest[lossless] > 100_000
    assert result.summary["ecn"]["marked"] == 0


def test_red_without_ect_drops_the_share_of_its_curve() -> None:
    """With kmin = 0 and kmax above any queue a packet is dropped with pmax · q / kmax: at most pmax in all."""
    curve = {"classes": [1], "red": {"kmin": "0B", "kmax": "1MB", "pmax": 0.5}, "ect": False}
    dropped = counts(xoff.run(scenario({"profiles": [curve]})), "dropped")
    of_class = max(dropped)
    assert 20 < dropped[of_class] < 800 * 0.5


@pytest.mark.parametrize(
    ("ecn", "says"),
    [
        ({"profiles": [{"classes": [0]}]}, "ecn.profiles: entry 0: give exactly one of red and step"),
        ({"profiles": [step(1000, [2])]}, "ecn.profiles: entry 0: 2 is out of range"),
        ({"profiles": [step(1000, [])]}, "ecn.profiles: entry 0: the list is empty"),
        ({"profiles": [step(1000, [0]), step(2000, [0])]}, "entry 1: class 0 has another profile"),
        ({"profiles": []}, "give exactly one of red and step"),
        (
            {"profiles": [{"classes": [0], "red": {"kmin": "2KB", "kmax": "1KB"}}]},
            "entry 0: red.kmin: 2KB is above kmax",
        ),
    ],
)
def test_profiles_without_sense_are_refused(ecn: dict[str, Any], says: str) -> None:
    with pytest.raises(xoff.InputError, match=re.escape(says)):
        xoff.check(scenario(ecn))
