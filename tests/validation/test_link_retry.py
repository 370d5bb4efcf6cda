"""Link-level retry (`network.link_retry`): the cost of a damaged frame, and the value of a buffer."""

import json
import math
from random import Random
from typing import Any

import pytest
from tests.validation.test_faults import CONTROL_PS, FRAME_PS, LINK_PS, WAY_PS, star

import xoff
from xoff.conformance.drawing import draw_scenario
from xoff.conformance.runs import WAYS, same_however_it_runs

RAW: dict[str, Any] = {"transport": {"raw": {}}}
LOOP_PS = 2 * LINK_PS + CONTROL_PS
"""From the end of a frame until its acknowledgement: both directions, and a NACK between."""


def noisy(
    packets: int, rate: float, retry: dict[str, Any], link: str = "host0 -> switch0", **more: Any
) -> dict[str, Any]:
    scenario = star(packets, [{"link": link, "bit_error_rate": rate}] if rate else [], host=RAW) | more
    scenario["network"]["link_retry"] = retry
    return scenario


WASTED = math.ceil(LOOP_PS / FRAME_PS)
"""Frames sent between a damaged frame and its retransmission, from the next boundary on."""


@pytest.mark.parametrize("link", ["host0 -> switch0", "switch0 -> host1"])
@pytest.mark.parametrize("rate", [1e-7, 1e-6, 1e-5])
def test_goodput_is_what_is_left_of_the_line(link: str, rate: float) -> None:
    """A frame is damaged with p, and costs itself and the frames behind: goodput is (1 - p) / (1 - p + p w)."""
    packets = 50_000
    result = xoff.run(noisy(packets, rate, {}, link))
    assert set(result.audits.values()) == {"ok"}
    assert result.summary["fault"]["lost"] == result.summary["drops"] == 0
    retried = result.summary["fault"]["retried"]
    fct = result.flows["fct_ps"][0].as_py()
    p = 1 - (1 - rate) ** 8000
    # A frame damaged again costs no more than the timeout, and the last frames waste less behind them.
    again = packets * p * p
    assert fct - (packets - 1) * FRAME_PS - WAY_PS >= retried * FRAME_PS - WASTED * FRAME_PS
    damaged = packets * p / (1 - p)
    spread = 4 * math.sqrt(damaged) + 1
    assert abs(retried / (1 + WASTED) - damaged) < spread + again * 4
    waits = result.flows["fct_ps"][0].as_py() - (packets - 1 + retried) * FRAME_PS - WAY_PS
    assert -WASTED * FRAME_PS <= waits <= (again + 4 * math.sqrt(again) + 1) * 10_000_000


def test_one_damaged_frame_costs_itself_and_what_was_sent_behind_it() -> None:
    """The first seed with exactly one damaged frame of 300: to the picosecond."""
    for seed in range(1, 200):
        result = xoff.run(noisy(300, 4e-7, {}, seed=seed))
        retried = result.summary["fault"]["retried"]
        if retried == 1 + WASTED:
            break
    assert result.flows["fct_ps"][0].as_py() == (300 + 1 + WASTED - 1) * FRAME_PS + WAY_PS
    assert result.summary["fault"]["retried_bytes"] == 1000 * retried
    # Without retry the frame is lost.
    plain = star(300, [{"link": "host0 -> switch0", "bit_error_rate": 4e-7}], host=RAW, seed=seed)
    assert xoff.run(plain).summary["fault"]["lost"] == 1


def test_a_buffer_that_holds_less_than_a_round_trip_holds_the_link_up() -> None:
    """One buffer of frames per loop: each frame must be acknowledged before the next frame fits."""
    for frames in (1, 5, 20):
        result = xoff.run(noisy(400, 0.0, {"frames": frames}))
        round_ps = max(FRAME_PS + LOOP_PS, frames * FRAME_PS)
        rounds, rest = divmod(400 - 1, frames)
        assert result.flows["fct_ps"][0].as_py() == rounds * round_ps + rest * FRAME_PS + WAY_PS
    by_bytes = xoff.run(noisy(400, 0.0, {"buffer": "5KB"})).flows["fct_ps"]
    assert by_bytes == xoff.run(noisy(400, 0.0, {"frames": 5})).flows["fct_ps"]


def test_without_damage_and_with_room_nothing_happens_otherwise() -> None:
    plain = xoff.run(star(1000, []))
    scenario = star(1000, [])
    scenario["network"]["link_retry"] = {}
    result = xoff.run(scenario)
    assert (result.fingerprint, result.flows) == (plain.fingerprint, plain.flows)


def test_what_is_always_damaged_is_lost_after_its_attempts() -> None:
    deaf = noisy(10, 1.0, {"max_retries": 3, "timeout": "20us"})
    deaf["fault"][0]["duration"] = "100us"
    result = xoff.run(deaf)
    # A NACK, and a timeout after a damaged retransmission, take 22.25 us for each: four are lost before 100 us.
    assert result.drops["seq"].to_pylist() == [0, 1, 2, 3]
    assert result.audits["conservation"] == "ok"
    (arrived,) = (row for row in result.links.to_pylist() if (row["node"], row["peer"]) == ("switch0", "host1"))
    assert arrived["data_packets"] == 6


@pytest.mark.parametrize("transport", ["go_back_n", "irn", "selective"])
def test_transports_hear_of_nothing(transport: str) -> None:
    result = xoff.run(noisy(20_000, 1e-6, {}, link="*", host={"transport": {transport: {}}}))
    assert result.flows["retransmitted"][0].as_py() == 0
    assert set(result.audits.values()) == {"ok"}
    assert result.summary["fault"]["retried"] > 0


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("network.link_retry.links[0]", {"network": {"link_retry": {"links": ["host7-*"]}}}),
        ("network.link_retry.buffer", {"network": {"link_retry": {"buffer": "100B"}}}),
        ("network.link_retry.max_retries", {"network": {"link_retry": {"max_retries": 0}}}),
        ("network.link_retry", {"network": {"link_retry": {}}, "switch": {"cut_through": {}}}),
        ("network.link_retry", {"network": {"link_retry": {}}, "probe": {"delays": "all"}}),
        ("fault[0]", {"network": {"link_retry": {}}, "fault": [{"link": "*", "state": "down"}]}),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_key(path: str, change: dict[str, Any]) -> None:
    scenario = star(1, [])
    network = scenario["network"] | change["network"]
    with pytest.raises(xoff.InputError) as caught:
        xoff.check(scenario | change | {"network": network})
    assert path in str(caught.value)


@pytest.mark.parametrize("seed", range(40))
def test_whatever_is_damaged_the_audits_hold_and_threads_change_nothing(seed: int) -> None:
    rng = Random(seed)
    while True:
        scenario = draw_scenario(rng, {"workload": "incast"})
        links = rng.choice([["*"], ["*0-*", "*1-*"]])
        scenario["network"]["link_retry"] = {
            "links": links,
            "frames": rng.choice([3, 100]),
            "max_retries": rng.choice([1, 2, 8]),
        }
        scenario["fault"] = [{"link": "*", "bit_error_rate": rng.choice([1e-6, 1e-5]), "at": "3us"}]
        if (
            "raw" in scenario["host"].get("transport", {"raw": {}})
            and scenario["network"]["link_retry"]["max_retries"] < 8
        ):
            # A frame beyond the retry limit is lost.
            scenario["audits"] = {**scenario.get("audits", {}), "completion": "record"}
        try:
            xoff.check(scenario)
            break
        except xoff.InputError:
            continue
    try:
        result = xoff.run(scenario)
    except xoff.AuditError as error:
        error.add_note(json.dumps(scenario))
        raise
    same_however_it_runs(scenario, result, WAYS[seed % 6 :][:2])
