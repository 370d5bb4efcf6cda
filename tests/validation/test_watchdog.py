"""The PFC watchdog against arithmetic: storms begin and end at polls, and end deadlocks that would otherwise remain.

Polls are every 50 us. A storm is a pause of 200 us, and ends after 400 quiet us.
"""

from typing import Any

import pytest
from tests.validation.long_flows import to_one
from tests.validation.test_audits import recorded, ring, violations

import xoff

POLL, DETECTION, RESTORATION = 50_000_000, 200_000_000, 400_000_000
WATCHDOG: dict[str, Any] = {"poll": "50us", "detection": "200us", "restoration": "400us"}
FRAME_PS = 80_000
"""A frame of 1000 B at 100 Gb/s."""


def polled(since_ps: int, lasts_ps: int) -> int:
    """The poll that finds a condition of a given start and duration, counted from the first poll after the start."""
    return -(-since_ps // POLL) * POLL + lasts_ps


def deadlock(**pfc: Any) -> dict[str, Any]:
    """A ring of three switches stopped by PFC forever; its hosts send raw frames without end."""
    scenario = ring(3, size="20MB", host={"transport": {"raw": {}}}, until="1200us")
    scenario["switch"] = {"forwarding_latency": "300ns", "flow_control": {"pfc": {"xoff": "50KB", **pfc}}}
    return scenario


def around(result: xoff.Result) -> list[tuple[int, int | None]]:
    """The long pauses of the ring's links, in order: start and end."""
    rows = [row for row in result.pauses.to_pylist() if row["node"][0] == "s" and row["peer"][0] == "s"]
    lasting = [row for row in rows if row["end_ps"] is None or row["end_ps"] - row["start_ps"] > POLL]
    return sorted({(row["start_ps"], row["end_ps"]) for row in lasting}, key=lambda pause: pause[0])


def test_without_it_a_deadlock_stands_for_ever() -> None:
    result, carried = recorded(deadlock() | {"audits": {"deadlock": "record", "completion": "record"}, "until": "20ms"})
    assert "s0 port 1 (to s1), class 0 → s1" in carried["deadlock"]
    ((began, ended),) = around(result)
    assert began < POLL
    assert ended is None
    assert result.summary["pfc"]["storms"] == 0


def test_a_deadlock_is_resolved_at_a_poll_and_forms_again_when_pauses_hold_again() -> None:
    """All three outputs stop within a frame, and are storms at one poll; queued and arriving packets are dropped."""
    result = xoff.run(deadlock(watchdog=WATCHDOG))
    assert {state for state in result.audits.values() if not state.startswith("cut")} == {"ok"}
    first, second = around(result)
    storm = polled(first[0], DETECTION)
    assert (storm, first[1]) == (250_000_000, storm)
    # Each switch resumes its neighbour when it drops packets: 64 B and 1 us later the ring has no pause.
    quiet = storm + 64 * 80 + 1_000_000
    over = polled(quiet, RESTORATION)
    times = [row["time_ps"] for row in result.drops.to_pylist()]
    in_first = [at for at in times if at < over + POLL]
    assert min(in_first) == storm
    # Frames on a line arrive one frame time apart: the last frame of the storm is dropped, and the next is not.
    assert over - 2 * FRAME_PS < max(in_first) < over
    # The ring fills again with the same flows, and is found again.
    assert over < second[0] < over + POLL
    assert second[1] == polled(second[0], DETECTION)
    assert result.summary["pfc"]["storms"] == 6
    assert result.summary["drops"] == result.summary["pfc"]["dropped_in_storms"] == len(times)
    assert {row["reason"] for row in result.drops.to_pylist()} == {"PFC watchdog"}


def test_what_waits_is_dropped_at_once() -> None:
    """At the poll each switch drops its 50 KB from the ring, and packets of its host queued behind."""
    result = xoff.run(deadlock(watchdog=WATCHDOG))
    at_once = [row for row in result.drops.to_pylist() if row["time_ps"] == 250_000_000]
    by_input: dict[tuple[str, int], int] = {}
    for row in at_once:
        key = (row["node"], row["in_port"])
        by_input[key] = by_input.get(key, 0) + 1000
    marks = {(r["node"], r["port"]): r["bytes"] for r in result.high_water.to_pylist() if r["kind"] == "ingress"}
    # Only flows to the next switch's host go to the host instead.
    assert len(by_input) == 6
    assert all(50_000 <= size <= marks[key] for key, size in by_input.items())


def test_forwarding_only_ignores_pauses() -> None:
    """With unlimited memory nothing is dropped: queued packets leave, and the flows end."""
    scenario = deadlock(watchdog={**WATCHDOG, "action": "forward"})
    scenario["workload"] = ring(3)["workload"]
    result = xoff.run(scenario)
    assert set(result.audits.values()) == {"ok"}
    assert result.summary["flows"] == {"total": 3, "completed": 3}
    assert result.summary["drops"] == 0
    assert around(result)[0][1] == 250_000_000
    assert result.summary["pfc"]["storms"] == 3
    assert result.summary["pfc"]["dropped_in_storms"] == 0


@pytest.mark.parametrize("until", [None, "20ms"])
def test_a_deadlock_that_it_will_end_is_none_yet(until: str | None) -> None:
    """The search for deadlocks finds those of 1 ms, and waits for a watchdog of 2 ms, unless the run ends before."""
    scenario = deadlock(watchdog={"detection": "2ms", "poll": "1ms", "action": "forward"})
    scenario["workload"] = ring(3)["workload"]
    del scenario["until"]
    result = xoff.run(scenario if until is None else scenario | {"until": until})
    assert set(result.audits.values()) == {"ok"}
    assert [pause[1] for pause in around(result)] == [3_000_000_000]
    _, failed = violations(scenario | {"until": "2500us"})
    assert list(failed) == ["deadlock"]


def slow_receiver(**pfc: Any) -> dict[str, Any]:
    """A line of 1 Gb/s behind the second of two switches: it pauses the first, which drains 90 KB meanwhile, 720 us."""
    scenario = to_one(1, 1.0, last_gbps=1, switch={"flow_control": {"pfc": {"xoff": "100KB", "xon": "10KB", **pfc}}})
    explicit = scenario["network"]["explicit"]
    explicit["nodes"].append({"name": "switch1", "kind": "switch"})
    explicit["links"][1]["b"] = "switch1"
    explicit["links"].append({"a": "switch1", "b": "switch0", "rate": "100Gbps", "delay": "1us"})
    scenario["workload"] = [{"flows": [{"src": 1, "dst": 0, "size": "1MB"}]}]
    return scenario


def pauses(result: xoff.Result) -> list[tuple[int, int]]:
    """Times at which the second switch paused the first, in order."""
    rows = [row for row in result.pauses.to_pylist() if (row["node"], row["peer"]) == ("switch1", "switch0")]
    return sorted((row["start_ps"], row["end_ps"]) for row in rows)


@pytest.mark.parametrize("detection_us", [1000, 940])
def test_a_pause_that_is_shorter_changes_nothing(detection_us: int) -> None:
    """The same events as without a watchdog, though pauses follow one another for 8 ms."""
    plain = xoff.run(slow_receiver())
    assert 700 < max(end - start for start, end in pauses(plain)) / 1e6 < detection_us
    watched = xoff.run(slow_receiver(watchdog={"detection": f"{detection_us}us", "poll": "100us"}))
    assert watched.summary["fingerprint"] == plain.summary["fingerprint"]
    assert watched.summary["pfc"] == plain.summary["pfc"]
    assert len(pauses(plain)) > 5


@pytest.mark.parametrize("poll_us", [50, 70, 350])
def test_a_longer_one_is_a_storm_at_its_poll(poll_us: int) -> None:
    """350 us from the first poll during the pause, rounded up to polls; until then both runs are equal."""
    poll = poll_us * 1_000_000
    polls = -(-350_000_000 // poll)
    plain = pauses(xoff.run(slow_receiver()))
    storms = [(start, (-(-start // poll) + polls) * poll) for start, _ in plain]
    first = next(i for i, (_, end) in enumerate(plain) if storms[i][1] < end)
    result = xoff.run(slow_receiver(watchdog={"detection": "350us", "poll": f"{poll_us}us"}))
    assert pauses(result)[: first + 1] == [*plain[:first], storms[first]]
    assert min(row["time_ps"] for row in result.drops.to_pylist()) == storms[first][1]
    # Dropped packets are retransmitted.
    assert result.summary["flows"] == {"total": 1, "completed": 1}
    assert result.summary["pfc"]["storms"] >= 1


@pytest.mark.parametrize(
    ("watchdog", "switch", "why"),
    [
        ({"detection": "0us"}, {}, "pfc.watchdog.detection: 0ps is out of range"),
        ({"restoration": "61s"}, {}, "pfc.watchdog.restoration: 61s is out of range"),
        ({"detection": "1ms", "poll": "2ms"}, {}, "pfc.watchdog.poll: 2ms is longer than detection, 1ms"),
        ({"restoration": "1ms", "poll": "2ms"}, {}, "pfc.watchdog.poll: 2ms is longer than restoration, 1ms"),
        ({"poll": "1ns"}, {}, "pfc.watchdog.poll: 1ns is below the minimum"),
        ({}, {"queueing": "iq"}, "pfc.watchdog.action: drop needs queues at the outputs"),
    ],
)
def test_what_makes_no_sense_is_refused(watchdog: dict[str, Any], switch: dict[str, Any], why: str) -> None:
    control = {"flow_control": {"pfc": {"xoff": "50KB", "watchdog": watchdog}}, **switch}
    with pytest.raises(xoff.InputError, match=why):
        xoff.check(to_one(2, 1, switch=control))
    if switch:
        watchdog["action"] = "forward"
        xoff.check(to_one(2, 1, switch=control))
