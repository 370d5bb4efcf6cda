"""``xoff size pfc``: the headroom step by step, from a scenario, and measured in the worst case."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import xoff
from small import Command
from xoff.sizing import headroom

LINK = {"rate": "100Gbps", "link_delay": "500ns", "switch_delay": "300ns", "max_frame": "1000B", "pause_frame": "64B"}


def test_the_steps_are_those_of_the_formula() -> None:
    """12.5 B a nanosecond: 500 ns each way and 300 ns of the switch are 16,250 B; three frames and a pause more."""
    answer = headroom.calculate(LINK)
    assert answer["headroom_bytes"] == 16_250 + 3 * 1000 + 64
    assert sum(step["bytes"] for step in answer["steps"]) == answer["headroom_bytes"]
    late = headroom.calculate(LINK | {"response_time": "2.02us"})
    assert late["headroom_bytes"] - answer["headroom_bytes"] == 25_250


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"rate": "400Gbps"},
        {"link_delay": "0"},
        {"max_frame": "9000B"},
        {"response_time": "1us"},
        {"switch_delay": "0"},
        {"cut_through": "64B"},
        {"cut_through": "1000B"},
    ],
)
def test_the_worst_case_needs_what_is_calculated_within_a_frame(change: dict[str, str]) -> None:
    """The measured headroom is a whole number of frames above XOFF, and at most the calculated headroom."""
    values = LINK | change
    answer, found = headroom.calculate(values), headroom.verify(values)
    frame = answer["steps"][1]["bytes"]
    assert answer["headroom_bytes"] - frame < found["lossless_bytes"] <= answer["headroom_bytes"]
    assert found["lossy_bytes"] == found["lossless_bytes"] - frame


def test_links_and_frames_come_from_a_scenario(xoff_here: Command, tmp_path: Path) -> None:
    file = tmp_path / "mixed.toml"
    file.write_text(
        '[network.leaf_spine]\nleaves = 2\nspines = 1\nhosts_per_leaf = 2\nlink = { rate = "100Gbps", delay = "1us" }\n'
        '[[network.overrides]]\nlink = "leaf*-spine0"\nrate = "400Gbps"\n'
        '[framing]\npayload = "4000B"\nheader = "50B"\npreamble_and_ifg = "20B"\n'
        '[switch]\nforwarding_latency = "100ns"\n[switch.flow_control.pfc]\n'
    )
    answer = xoff_here("size", "pfc", "--scenario", file, "--json")
    links = json.loads(answer.stdout)["links"]
    assert [(link["rate"], link["steps"][0]["bytes"], link["steps"][2]["bytes"]) for link in links] == [
        ("100Gbps", 4070, 84),
        ("400Gbps", 4070, 84),
    ]
    # The headroom reserved by a scenario is the same.
    rows = json.loads(xoff_here("check", file, "--json").stdout)["headroom"]
    assert [row["needed_bytes"] for row in rows] == [link["headroom_bytes"] for link in links]


def test_switches_that_cut_through_count_a_header(xoff_here: Command, tmp_path: Path) -> None:
    """From 100 Gb/s a leaf may have to have three quarters of a frame for an output of 400 Gb/s, and back 64 B."""
    file = tmp_path / "mixed.toml"
    file.write_text(
        '[network.leaf_spine]\nleaves = 2\nspines = 1\nhosts_per_leaf = 2\nlink = { rate = "100Gbps", delay = "1us" }\n'
        'fabric_link = { rate = "400Gbps", delay = "1us" }\n'
        '[framing]\npayload = "4000B"\n[switch]\ncut_through = {}\n[switch.flow_control.pfc]\n'
    )
    answer = xoff_here("size", "pfc", "--scenario", file, "--json")
    links = json.loads(answer.stdout)["links"]
    assert [(link["rate"], link["steps"][0]["bytes"]) for link in links] == [("100Gbps", 3036), ("400Gbps", 64)]
    assert all(link["steps"][1]["bytes"] == 4048 for link in links)
    rows = json.loads(xoff_here("check", file, "--json").stdout)["headroom"]
    assert [row["needed_bytes"] for row in rows] == [link["headroom_bytes"] for link in links]


def test_a_check_says_the_thresholds_of_a_shared_buffer() -> None:
    """A port that alone fills its share x of the pool B is paused at x = alpha (B - x), on top of its reserve."""
    scenario = {
        "network": {"star": {"hosts": 4, "link": {"rate": "100Gbps", "delay": "500ns"}}},
        "framing": {"payload": "1000B", "header": "0B"},
        "switch": {"buffer": {"shared": {"total": "1MB", "alpha": 0.25}}, "flow_control": {"pfc": {"xon": "2KB"}}},
    }
    (row,) = xoff.check(scenario)["headroom"]
    needed = 12_500 + 3 * 1000 + 64
    threshold = 4096 + (10**6 - 4 * (4096 + needed)) * 0.25 / 1.25
    assert row["needed_bytes"] == row["available_bytes"] == needed
    assert row["xoff_bytes"] == int(threshold)
    assert row["xon_bytes"] == int(threshold) - 2000
    # A class with a threshold of its own may fill the pool, also above the share of a port.
    pool = 10**6 - 4 * (4096 + needed)
    for xoff_bytes, is_late in ((195_000, False), (930_000, True)):
        fixed = xoff.check(scenario, overrides={"switch.flow_control.pfc": {"xoff": f"{xoff_bytes}B"}})
        assert fixed["headroom"][0]["available_bytes"] == pool + 4096 + needed - xoff_bytes
        assert any("packets may be lost" in warning["message"] for warning in fixed["warnings"]) == is_late


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "--max-frame: missing; give --max-frame 4096B"),
        (["--max-frame", "1500B", "--rate", "fast"], "--rate: "),
        (["--max-frame", "1500B", "--link-delay", "1 furlong"], "--link-delay: "),
        (["--scenario", "none.toml"], "none.toml"),
        (["--scenario", "x.toml", "--rate", "1Gbps"], "--rate: not allowed with --scenario"),
    ],
)
def test_bad_requests_are_one_message(xoff_here: Command, words: list[str], message: str) -> None:
    answer = xoff_here("size", "pfc", *words)
    assert answer.returncode == 2
    assert message in answer.stderr
    assert "Traceback" not in answer.stderr
