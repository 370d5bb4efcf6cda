"""`until` ends a run exactly at its time, and open pauses and frames count up to the end."""

from pathlib import Path

import pytest

import xoff

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.parametrize("until_us", [15, 20, 5000])
def test_until_is_exact(until_us: int) -> None:
    """No event happens after `until`, and `until` is the simulated time.

    Flows are unfinished at 15 and at 20 us (both inside the first incast); at 5 ms no flow is, and more start at 30 ms.
    """
    until_ps = until_us * 1_000_000
    result = xoff.run(
        {
            "network": {"star": {"hosts": 3, "link": {"rate": "100Gbps", "delay": "1us"}}},
            "workload": [
                {"incast": {"senders": [1, 2], "receiver": 0, "size": "1MB"}},
                {"incast": {"senders": [1, 2], "receiver": 0, "size": "1MB"}, "start": "30ms"},
            ],
            "until": f"{until_us}us",
            "probe": {"packets": True},
        }
    )
    assert max(result.packets["time_ps"].to_pylist()) <= until_ps
    assert result.summary["simulated_ps"] == until_ps


def test_pauses_that_stand_count_as_paused_time() -> None:
    """`pfc.paused_ps` and the links' `paused_ps` are sums over the pauses; open pauses count up to the end."""
    link = {"rate": "100Gbps", "delay": "1us"}
    result = xoff.run(
        {
            "network": {
                "explicit": {
                    "nodes": [
                        {"name": "a", "kind": "host"},
                        {"name": "slow", "kind": "host"},
                        {"name": "s", "kind": "switch"},
                    ],
                    "links": [{"a": "a", "b": "s", **link}, {"a": "slow", "b": "s", "rate": "10Mbps", "delay": "0ns"}],
                }
            },
            "switch": {"flow_control": {"pfc": {"xoff": "20KB"}}},
            "workload": [{"flows": [{"src": "a", "dst": "slow", "size": "1MB"}]}],
            "until": "1ms",
        }
    )
    (pause,) = result.pauses.to_pylist()
    assert pause["end_ps"] is None
    expected = result.summary["simulated_ps"] - pause["start_ps"]
    assert result.summary["pfc"]["paused_ps"] == expected
    assert sum(result.links["paused_ps"].to_pylist()) == expected


@pytest.mark.parametrize("until_us", [100, 300])
def test_frames_that_overtake_are_under_way_when_a_run_is_cut_short(until_us: int) -> None:
    """Frames that end at a relay skip its delay; frames in flight to the relay count, on any number of threads."""
    runs = [xoff.run(EXAMPLES / "portfc.toml", overrides={"until": f"{until_us}us"}, threads=n) for n in (1, 2, 3)]
    assert runs[0].summary["audits"]["conservation"] == "ok"
    assert all(run.summary["audits"] == runs[0].summary["audits"] for run in runs)


@pytest.mark.parametrize("until", [None, "400ns", "1us", "5us", "20us"])
def test_no_link_sends_for_more_than_the_time_there_was(until: str | None) -> None:
    """A frame in transmission at the end counts by its sent part; 4 KB take 328 ns."""
    document = {
        "network": {"star": {"hosts": 3, "link": {"rate": "100Gbps", "delay": "1us"}}},
        "framing": {"payload": "4000B", "header": "100B"},
        "workload": [{"incast": {"senders": [1, 2], "receiver": 0, "size": "100KB"}}],
    }
    links = xoff.run(document | ({} if until is None else {"until": until})).links.to_pylist()
    assert all(link["utilisation"] <= 1 for link in links)
    if until == "400ns":
        # The first 4100 B of each sender, and 72 ns of the next.
        busy = {link["node"]: link["busy_ps"] for link in links if link["node"] != "switch0"}
        assert busy == {"host0": 0, "host1": 400_000, "host2": 400_000}
