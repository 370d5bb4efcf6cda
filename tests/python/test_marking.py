"""``xoff size ecn`` and ``size buffer``: published numbers, closed forms, and runs that agree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from small import Command
from xoff.sizing import marking
from xoff.sizing.remedies import ChangeError

PATH = marking.Path(100 * 10**9, 8 * 10**6, 1048)


def test_the_threshold_before_pauses_is_that_of_the_paper() -> None:
    """DCQCN's paper has 12 MB, 32 ports, 8 classes, 22.4 KB of headroom and β = 8, and comes to 21.75 KB."""
    memory = {"total_bytes": 12_000_000, "ports": 32, "classes": 8, "headroom_bytes": 22_400, "alpha": 8}
    assert marking.below_pfc(memory) == pytest.approx(21_750, abs=10)
    answer = marking.ecn(PATH, "dcqcn", 2, memory=memory)
    # The preset's own threshold is too low at 40 Gb/s and at 100 Gb/s; the threshold of HPCC's code is not.
    slow = marking.ecn(marking.Path(40 * 10**9, 8 * 10**6, 1048), "dcqcn", 2, memory=memory)
    assert slow["rows"][0]["kmin_bytes"] == 5000
    assert [row["kmin_bytes"] > 21_755 for row in answer["rows"]] == [False, True]
    assert len(answer["warnings"]) == 1
    with pytest.raises(ChangeError, match="leave no threshold below that of PFC"):
        marking.ecn(PATH, "dctcp", 2, memory=memory | {"headroom_bytes": 60_000})


@pytest.mark.parametrize("flows", [2, 8])
@pytest.mark.parametrize("trip_us", [8, 20])
def test_the_link_is_busy_from_the_calculated_threshold_on(flows: int, trip_us: int) -> None:
    path = marking.Path(100 * 10**9, trip_us * 10**6, 1048)
    (row,) = marking.ecn(path, "dctcp", flows)["rows"]
    assert row["kmin_bytes"] == pytest.approx(path.product_bytes / 7, abs=1)
    measured = marking.verify_ecn(path, "dctcp", [row], flows)
    busy = {one["kmin_bytes"]: marking.is_busy(one) for one in measured}
    # At the computed size and above the link is full; at an eighth of the size the link is not.
    assert [busy[key] for key in sorted(busy)][-2:] == [True, True]
    assert not busy[min(busy)]
    assert sorted(one["busy"] for one in measured) == [one["busy"] for one in measured]


@pytest.mark.parametrize(("senders", "window"), [(2, 20_000), (8, 125_000), (32, 50_000)])
def test_senders_that_begin_at_once_need_what_is_calculated_within_a_frame(senders: int, window: int) -> None:
    path = marking.Path(100 * 10**9, 8 * 10**6, 1000)
    row = marking.buffer(path, 2, senders, window, None, 1)["rows"][-1]
    found = marking.verify_buffer(path, senders, window)
    assert found["lossy_bytes"] <= row["bytes"] <= found["lossless_bytes"]
    assert found["lossless_bytes"] - found["lossy_bytes"] == 1000


def test_the_command_prints_and_reads_a_scenario(xoff_here: Command, scenario_file: Path) -> None:
    answer = json.loads(xoff_here("size", "ecn", "--scenario", scenario_file, "--json").stdout)
    # Two links of 1 µs each way, four times a packet or an answer.
    assert answer["rate_bps"] == 100 * 10**9
    assert 4e6 < answer["round_trip_ps"] < 4.3e6
    given = ("--rate", "100Gbps", "--round-trip", "8us", "--max-frame", "1000B")
    shown = xoff_here("size", "ecn", *given, "--control", "nscc", "--verify").stdout
    assert "Ultra Ethernet" in shown
    assert "20,000  80,000" in shown
    assert "measured" in shown
    shown = xoff_here("size", "buffer", *given, "--incast", "8", "--headroom", "60KB", "--verify").stdout
    assert "700,000" in shown
    assert "the largest of these, plus headroom: 760,000 B" in shown
    many = json.loads(xoff_here("size", "buffer", *given, "--flows", "100", "--json").stdout)
    assert many["rows"][0]["bytes"] == 10_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ecn",), "--round-trip: missing; give --round-trip 8us"),
        (("ecn", "--round-trip", "8"), "--round-trip: '8' is not a quantity; give --round-trip 8us"),
        (("ecn", "--round-trip", "8us", "--control", "tcp"), "--control: `tcp` is not known"),
        (
            ("ecn", "--round-trip", "8us", "--buffer", "12MB"),
            "--headroom: missing, and --buffer needs it; give --headroom 27352B",
        ),
        (("ecn", "--round-trip", "2s"), "--round-trip: 2s is out of range"),
        (("ecn", "--scenario", "small.toml", "--rate", "1Gbps"), "--rate: not allowed with --scenario"),
        (("buffer", "--round-trip", "8us", "--verify"), "--verify: runs senders that start together"),
    ],
)
def test_what_makes_no_sense_is_refused(
    arguments: tuple[str, ...], message: str, xoff_here: Command, scenario_file: Path
) -> None:
    assert scenario_file.exists()
    done = xoff_here("size", *arguments)
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.parametrize("control", ["dctcp", "dcqcn", "nscc"])
@pytest.mark.parametrize("xoff", ["20KB", "60KB", "150KB", "1MB", "5MB"])
@pytest.mark.parametrize("rate", ["100Gbps", "800Gbps"])
def test_what_is_offered_for_a_scenario_is_judged_as_check_does(
    xoff_here: Command, tmp_path: Path, control: str, xoff: str, rate: str
) -> None:
    document = {
        "network": {"star": {"hosts": 4, "link": {"rate": rate, "delay": "2us"}}},
        "switch": {"buffer": "unlimited", "flow_control": {"pfc": {"xoff": xoff}}},
        "workload": [{"incast": {"senders": [1, 2, 3], "receiver": 0, "size": "100KB"}}],
    }
    (tmp_path / "s.json").write_text(json.dumps(document))
    done = xoff_here("size", "ecn", "--scenario", "s.json", "--control", control, "--json")
    answer = json.loads(done.stdout)
    limit = {"20KB": 20_000, "60KB": 60_000, "150KB": 150_000, "1MB": 10**6, "5MB": 5 * 10**6}[xoff]
    late = {row["what"] for row in answer["rows"] if row["kmin_bytes"] > limit}
    told = {one.partition(": ")[0] for one in answer["warnings"] if "marking starts above XOFF" in one}
    assert told == late
    for row in answer["rows"]:
        red = {"kmin": f"{row['kmin_bytes']}B", "kmax": f"{row['kmax_bytes']}B", "pmax": row["pmax"]}
        done = xoff_here("check", "s.json", "--json", "--set", f"switch.ecn.red={toml(red)}")
        warned = any("marking starts above XOFF" in one["message"] for one in json.loads(done.stdout)["warnings"])
        assert warned == (row["what"] in told)


def toml(table: dict[str, Any]) -> str:
    return "{" + ", ".join(f"{key} = {json.dumps(value)}" for key, value in table.items()) + "}"
