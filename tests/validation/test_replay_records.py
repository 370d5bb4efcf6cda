"""Records of `probe.replay`: samples of queues, as often as a budget of rows allows, without any other effect."""

from pathlib import Path
from typing import Any

import pytest
from tests.validation.test_audits import ring

import xoff

_INCAST = Path(__file__).resolve().parents[2] / "examples" / "incast.toml"
_ROWS = 100_000
_FINEST_PS = 100_000
# Flows of 20 MB take four times as long as the example's.
_LONG = {f"workload[0].flows[{flow}].size": "20MB" for flow in range(3)}


def rows(result: xoff.Result) -> list[tuple[Any, ...]]:
    """The samples in a fixed order."""
    return sorted(zip(*(column.to_pylist() for column in result.samples.columns), strict=True))


def test_a_short_run_is_sampled_as_finely_as_possible() -> None:
    replay = xoff.run(_INCAST, overrides={"probe.replay": True})
    samples = xoff.run(_INCAST, overrides={"probe.queues": "100ns"})
    assert replay.summary["sampled_every_ps"] == samples.summary["sampled_every_ps"] == _FINEST_PS
    assert rows(replay) == rows(samples)
    plain = xoff.run(_INCAST)
    assert "sampled_every_ps" not in plain.summary
    assert "samples" not in plain.tables
    assert plain.fingerprint == replay.fingerprint == samples.fingerprint
    assert plain.flows.equals(replay.flows)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_long_run_is_sampled_less_often(threads: int, tmp_path: Path) -> None:
    replay = xoff.run(_INCAST, overrides={**_LONG, "probe.replay": True}, out=tmp_path / "out", threads=threads)
    interval = replay.summary["sampled_every_ps"]
    # A power of two times the finest, at which there is room, and half of which leaves none.
    found = rows(replay)
    assert interval == 2 * _FINEST_PS
    assert _ROWS / 2 < len(found) <= _ROWS
    # The samples equal the samples of a run with this interval from the start.
    samples = xoff.run(_INCAST, overrides={**_LONG, "probe.queues": f"{interval}ps"})
    assert found == rows(samples)
    # In order of time, in the recorded order.
    times = replay.samples["time_ps"].to_pylist()
    assert times == sorted(times)
    assert replay.fingerprint == samples.fingerprint


@pytest.mark.parametrize("probe", [{"replay": True}, {"queues": "1us"}])
def test_what_waits_for_ever_is_sampled_to_the_end(probe: dict[str, Any]) -> None:
    result = xoff.run(ring(audits={"deadlock": "record"}, probe=probe))
    interval, end = result.summary["sampled_every_ps"], result.summary["simulated_ps"]
    last = (end - 1) // interval * interval
    assert interval <= last
    waiting = {(node, port) for time, node, port, _, _ in rows(result) if time == last}
    # The permanently paused ports: each holds the packets that the preceding port waits for.
    stuck = {
        (row["node"], row["port"])
        for row in result.pauses.to_pylist()
        if row["end_ps"] is None and row["node"][0] == "s"
    }
    assert len(stuck) == 3
    assert stuck <= waiting


def test_the_interval_is_given_or_found() -> None:
    both = ring(probe={"replay": True, "queues": "1us"})
    with pytest.raises(xoff.InputError, match=r"probe\.replay: mutually exclusive with probe\.queues"):
        xoff.check(both)
