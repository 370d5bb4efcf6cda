"""The response time of a neighbour to a pause: headroom that is enough, a frame less, and limits of 802.3."""

from __future__ import annotations

import re
from typing import Any

import pytest

import xoff
from xoff.sizing import headroom
from xoff.sonic import formula

FRAME = 1000


def scenario(rate: str = "100Gbps", headroom: int | None = None, **pfc: Any) -> dict[str, Any]:
    """Returns four senders that pause behind a slow receiver, in a shared buffer with cells of a frame."""
    shared = {"total": "2MB", "alpha": 1.0, "reserve": "0B"}
    return {
        "network": {
            "star": {"hosts": 5, "link": {"rate": rate, "delay": "1us"}},
            "overrides": [{"link": "host0-*", "rate": "1Gbps"}],
        },
        "framing": {"payload": f"{FRAME}B", "header": "0B"},
        "switch": {
            "buffer": {"shared": shared if headroom is None else shared | {"headroom": f"{headroom}B"}},
            "flow_control": {"pfc": pfc},
        },
        "host": {"transport": {"raw": {}}},
        "workload": [{"incast": {"senders": [1, 2, 3, 4], "receiver": 0, "size": "1MB"}}],
        "audits": {"loss": "record", "completion": "record"},
    }


def needed(document: dict[str, Any]) -> dict[str, int]:
    """Returns the computed headroom by rate."""
    return {row["rate"]: row["needed_bytes"] for row in xoff.check(document)["headroom"]}


@pytest.mark.parametrize("response_ps", [0, 2_017_280, 5_000_000])
def test_the_headroom_with_the_response_is_enough_and_a_frame_less_is_not(response_ps: int) -> None:
    """C·(2t + R) + 3F + c of the worst case, in whole frames: measured by runs with the response of the model."""
    values = {"rate": "100Gbps", "link_delay": "150ns", "max_frame": "1000B", "pause_frame": "64B"}
    values |= {"response_time": f"{response_ps}ps"} if response_ps else {}
    computed = headroom.calculate(values)["headroom_bytes"]
    assert computed == -(-(300_000 + response_ps) // 80) + 3 * FRAME + 64
    found = headroom.verify(values)
    # The phases of the runs are steps of a sixteenth of a frame.
    assert computed - FRAME - FRAME // headroom.PHASES < found["lossless_bytes"] <= computed
    assert found["lossless_bytes"] - found["lossy_bytes"] == FRAME


QUANTA = {
    1_000: 2, 2_500: 67, 5_000: 67, 10_000: 67, 25_000: 80, 40_000: 118, 50_000: 147, 100_000: 394, 200_000: 453,
    400_000: 905, 800_000: 905,
}  # fmt: skip
"""The limits of IEEE Std 802.3, 31B.3.7: quanta by speed in Mb/s."""


def test_the_limits_are_those_of_the_standard() -> None:
    assert formula.QUANTA == QUANTA


@pytest.mark.parametrize("mbps", sorted(QUANTA))
def test_limits_of_the_standard_count_in_the_headroom(mbps: int) -> None:
    """The computed headroom has quanta · 64 B more, at each rate with a limit."""
    rate = f"{mbps}Mbps"
    document, own = scenario(rate), scenario(rate, response="802.3")
    before, after = needed(document), needed(own)
    assert len(before) == len(after) == (1 if mbps == 1000 else 2)
    difference = {key: after[key] - before[key] for key in before}
    expected = {QUANTA[mbps] * 64, QUANTA[1000] * 64}
    assert set(difference.values()) == expected


def test_a_run_needs_the_headroom_of_the_response() -> None:
    """Inputs pause at the same time: each receives a round trip and C·R; without C·R packets are lost."""
    own = scenario(response="5us")
    (without, enough) = (max(needed(document).values()) for document in (scenario(), own))
    assert enough == without + 62_500
    result = xoff.run(own)
    assert result.summary["drops"] == 0
    peak = max(row["bytes"] for row in result.high_water.to_pylist() if row["kind"] == "headroom")
    assert without < peak <= enough
    assert xoff.run(scenario(response="5us", headroom=without)).summary["drops"] > 0
    assert xoff.run(scenario(headroom=without)).summary["drops"] == 0


def test_no_response_and_a_response_of_zero_are_equal() -> None:
    assert xoff.run(scenario()).fingerprint == xoff.run(scenario(response="0ps")).fingerprint
    assert xoff.run(scenario()).fingerprint != xoff.run(scenario(response="1us")).fingerprint


def test_any_number_of_threads_gives_the_same_run() -> None:
    prints = {xoff.run(scenario(response="802.3"), threads=threads).fingerprint for threads in (1, 2, 3)}
    assert len(prints) == 1


@pytest.mark.parametrize(
    ("rate", "pfc", "says"),
    [
        ("101Gbps", {"response": "802.3"}, "pfc.response: 802.3 has no limit for 101Gbps; give a time"),
        ("100Gbps", {"response": "soon"}, "pfc.response"),
        ("100Gbps", {"response": 5}, "pfc.response"),
        ("100Gbps", {"response": "5us", "quanta": 100}, "pfc.response: 5us is not below the pause"),
    ],
)
def test_a_response_without_sense_is_refused(rate: str, pfc: dict[str, Any], says: str) -> None:
    with pytest.raises(xoff.InputError, match=re.escape(says)):
        xoff.check(scenario(rate, **pfc))
