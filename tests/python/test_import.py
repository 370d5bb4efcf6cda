"""Scenarios of other simulators: values are read exactly, and values that are not carried over are reported."""

from __future__ import annotations

import random
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import xoff
from imports import CONFIG, FLOWS, MATRIX, TOPO, TOPOLOGY, Import, document_of, messages, ran, refused
from params import first_fast
from small import Command
from xoff.importing.hpcc_keys import FLAGS

# Four hosts in two racks under two spines, all of 100 Gb/s: the smallest of its kind.
_LEAF_SPINE = """8 4 8
4 5 6 7
0 4 100Gbps 1000ns 0
1 4 100Gbps 1000ns 0
2 5 100Gbps 1000ns 0
3 5 100Gbps 1000ns 0
4 6 100Gbps 1000ns 0
4 7 100Gbps 1000ns 0
5 6 100Gbps 1000ns 0
5 7 100Gbps 1000ns 0
"""
# Three hosts in each of two racks, of 100 Gb/s, and one link of 400 Gb/s between the racks.
_TWO_RATES = """8 2 7
6 7
0 6 100Gbps 1000ns 0
1 6 100Gbps 1000ns 0
2 6 100Gbps 1000ns 0
3 7 100Gbps 1000ns 0
4 7 100Gbps 1000ns 0
5 7 100Gbps 1000ns 0
6 7 400Gbps 1000ns 0
"""
_FIVE = "2\n0 2 3 20000 2.000000000\n3 1 3 1000 2.000100000\nwritten by a generator\n"
_SIX = _FIVE.replace(" 3 ", " 3 100 ")
_MAPS = "KMAX_MAP 1 100000000000 400\nKMIN_MAP 1 100000000000 100\nPMAX_MAP 1 100000000000 0.2\n"


def test_flows_of_hpcc_are_those_of_the_input(imported: Import) -> None:
    said = imported("hpcc", TOPOLOGY, FLOWS, CONFIG)
    rows = [line.split() for line in FLOWS.read_text().splitlines()[1:]]
    expected = [
        (
            str(index),
            f"h{row[0]}",
            f"h{row[1]}",
            f"group {row[2]}, port {row[3]}",
            int(row[4]),
            (Decimal(row[5]) - 2) * 10**12,
        )
        for index, row in enumerate(rows)
    ]
    flows = ran(said)
    columns = ("label", "src", "dst", "workload", "size_bytes", "start_ps")
    assert [tuple(row[column] for column in columns) for row in flows] == expected
    assert (said["flows"], said["bytes"]) == (5, sum(int(row[4]) for row in rows))


def test_completion_times_follow_from_the_topology(imported: Import) -> None:
    # 1000 B and 48 B of headers at 25 Gb/s take 335.36 ns on each of two links of 1 us; the ACK of 60 B takes 19.2 ns.
    last = ran(imported("hpcc", TOPOLOGY, FLOWS, CONFIG))[-1]
    assert last["fct_ps"] == 2 * (335_360 + 1_000_000)
    assert last["fct_acked_ps"] == last["fct_ps"] + 2 * (19_200 + 1_000_000)
    # Twenty packets of 83.84 ns over four links of 100 Gb/s; the last crosses behind the others.
    first = ran(imported("hpcc", _LEAF_SPINE, _FIVE, out="five"))[0]
    assert first["fct_ps"] == (20 + 3) * 83_840 + 4 * 1_000_000


def test_flows_of_conweave_have_five_values(imported: Import) -> None:
    said = imported("hpcc", _LEAF_SPINE, _FIVE, f"CC_MODE 1\nFLOWGEN_START_TIME 2.0\nBUFFER_SIZE 9\n{_MAPS}")
    document = document_of(said)
    assert [row["size_bytes"] for row in ran(said)] == [20_000, 1000]
    assert [row["start_ps"] for row in ran(said)] == [0, 100_000_000]
    assert document["workload"][0]["name"] == "group 3"
    # 2 · 1 us · 100 Gb/s and two frames of 1048 B; the longest round trip is 8.32 us, as in ConWeave.
    assert document["switch"]["buffer"]["shared"] == {
        "total": "9437184B", "alpha": 0.0625, "reserve": "1048B",
    }  # fmt: skip
    assert document["host"]["congestion_control"]["dcqcn"] == {"preset": "conweave", "window": "104000B"}


@pytest.mark.parametrize(
    ("config", "path", "value"),
    [
        (
            "CC_MODE 1\nHAS_WIN 0\nRP_TIMER 300\nRATE_AI 5Mb/s",
            "host.congestion_control.dcqcn.increase_interval",
            "300us",
        ),
        ("CC_MODE 1\nHAS_WIN 0\nRATE_AI 5Mb/s", "host.congestion_control.dcqcn.additive_increase", "5Mbps"),
        ("CC_MODE 1\nHAS_WIN 0\nCLAMP_TARGET_RATE 1", "host.congestion_control.dcqcn.clamp_target", True),
        # Twice four links of 1 us, and 1000 B without headers on each link: 80 ns.
        (
            "CC_MODE 3\nU_TARGET 0.9\nMI_THRESH 5",
            "host.congestion_control.hpcc",
            {"eta": 0.9, "max_stage": 5, "round_trip": "8320ns"},
        ),
        ("CC_MODE 3", "framing.header", "90B"),
        ("CC_MODE 3", "switch.telemetry", {}),
        (
            "CC_MODE 10\nU_TARGET 0.9\nPINT_PROB 0.5",
            "host.congestion_control.hpcc_pint",
            {"eta": 0.9, "probability": 0.5, "round_trip": "8320ns"},
        ),
        ("CC_MODE 10", "switch.telemetry", {"pint": {"base": 1.05, "round_trip": "8320ns"}}),
        ("CC_MODE 10", "framing.header", "49B"),
        ("CC_MODE 10\nPINT_LOG_BASE 1.01", "switch.telemetry.pint.base", 1.01),
        ("CC_MODE 10\nPINT_LOG_BASE 1.01", "framing.header", "50B"),
        ("CC_MODE 8\nVAR_WIN 1", "host.congestion_control.dctcp", {"round_trip": "8320ns"}),
        ("CC_MODE 8\nPACKET_PAYLOAD_SIZE 1005", "host.congestion_control.dctcp.round_trip", "8320ns"),
        ("CC_MODE 7\nHAS_WIN 0\nVAR_WIN 1", "host.congestion_control.timely", {}),
        (
            "CC_MODE 7\nHAS_WIN 1\nVAR_WIN 1",
            "host.congestion_control.timely",
            {"window": True, "round_trip": "8320ns"},
        ),
        ("CC_MODE 7", "host.congestion_control.timely.window", True),
        (
            "CC_MODE 0\nLB_MODE 9\nCONWEAVE_REPLY_TIMEOUT_EXTRA 7\nCONWEAVE_PATH_PAUSE_TIME 8",
            "switch.routing",
            {"conweave": {"reply_slack": "7us", "path_pause": "8us"}},
        ),
        ("CC_MODE 3\nLB_MODE 9", "switch.routing", None),
        ("CC_MODE 0\nLB_MODE 6", "switch.routing", {"flowlet": {}}),
        ("CC_MODE 0", "host", {"acks": "switches"}),
        ("CC_MODE 0\nPACKET_PAYLOAD_SIZE 4096", "framing.payload", "4096B"),
        ("CC_MODE 0\nENABLE_QCN 0", "switch.ecn", None),
        *(
            (f"CC_MODE {mode}\nHAS_WIN 0", "switch.ecn", {"red": {"kmin": "100KB", "kmax": "400KB", "pmax": 0.2}})
            for mode in (1, 8)
        ),
        # No host reacts to marks.
        *((f"CC_MODE {mode}", "switch.ecn", None) for mode in (0, 3, 7, 10)),
        ("CC_MODE 0\nENABLE_PFC 0", "switch.flow_control", None),
        ("CC_MODE 0\nENABLE_IRN 1", "host.transport.irn.bdp_cap", "104000B"),
        ("CC_MODE 0\nBUFFER_SIZE 32", "switch.buffer.shared.total", "33554432B"),
        ("CC_MODE 0\nSIMULATOR_STOP_TIME 2.5", "until", "500ms"),
        ("CC_MODE 0\nRANDOM_SEED 7", "seed", 7),
        ("CC_MODE 0\nRANDOM_SEED 7\nRANDOM_SEED 8 {the last holds}", "seed", 8),
    ],
)
def test_settings_of_hpcc(imported: Import, config: str, path: str, value: object) -> None:
    said = imported("hpcc", _LEAF_SPINE, _SIX, f"{config}\n{_MAPS}")
    found: Any = document_of(said)
    for key in path.split("."):
        found = found.get(key) if found is not None else None
    assert found == value
    ran(said)


def test_the_headroom_is_that_of_hpcc_where_it_is_enough(imported: Import) -> None:
    # Three products of 100 Gb/s and 1 us.
    said = imported("hpcc", _LEAF_SPINE, _SIX, f"CC_MODE 0\n{_MAPS}")
    assert document_of(said)["switch"]["buffer"]["shared"]["headroom"] == "37500B"
    short = imported("hpcc", _LEAF_SPINE.replace("1000ns", "1ns"), "0\n", f"CC_MODE 0\n{_MAPS}", out="short")
    assert "headroom" not in document_of(short)["switch"]["buffer"]["shared"]
    assert "headroom of PFC: xoff computes the headroom of each link" in messages(short)


def test_ports_of_another_rate_have_a_headroom_of_their_own(imported: Import) -> None:
    """One override for each rate has all differing settings."""
    maps = "KMAX_MAP 2 {0} 400 {1} 1600 KMIN_MAP 2 {0} 100 {1} 400 PMAX_MAP 2 {0} 0.2 {1} 0.2"
    config = f"CC_MODE 1\nHAS_WIN 0\n{maps.format(100 * 10**9, 400 * 10**9)}\n"
    said = imported("hpcc", _TWO_RATES, _SIX, config)
    switch = document_of(said)["switch"]
    # Three products of the rate and 1 us.
    assert switch["buffer"]["shared"]["headroom"] == "37500B"
    assert switch["overrides"] == [
        {
            "rate": "400Gbps",
            "ecn": {"red": {"kmin": "400KB", "kmax": "1600KB", "pmax": 0.2}},
            "buffer": {"alpha": 0.5, "headroom": "150000B"},
        }
    ]
    assert "headroom" not in messages(said)
    ran(said)


def test_ports_of_one_rate_whose_links_differ_have_the_headroom_that_xoff_computes(imported: Import) -> None:
    config = f"CC_MODE 0\n{_MAPS}"
    topology = _TWO_RATES.replace("6 7 400Gbps 1000ns", "6 7 400Gbps 2000ns").replace(
        "5 7 100Gbps 1000ns", "5 7 100Gbps 5us"
    )
    said = imported("hpcc", topology, _SIX, config)
    switch = document_of(said)["switch"]
    assert "headroom" not in switch["buffer"]["shared"]
    assert switch["overrides"] == [{"rate": "400Gbps", "buffer": {"alpha": 0.5, "headroom": "300000B"}}]
    assert "headroom of PFC at ports of 100Gbps: xoff computes the headroom of each link" in messages(said)
    ran(said)


@pytest.mark.parametrize(("rate", "alpha"), [("200Gbps", 0.25), ("300Gbps", 0.5), ("6400Gbps", 1.0)])
def test_alpha_doubles_for_each_halving_that_brings_a_rate_to_that_of_hosts(
    imported: Import, rate: str, alpha: float
) -> None:
    """At most three times, so that a port may use at most all free bytes."""
    said = imported("hpcc", _TWO_RATES.replace("400Gbps", rate), _SIX, f"CC_MODE 0\n{_MAPS}")
    assert [one["buffer"]["alpha"] for one in document_of(said)["switch"]["overrides"]] == [alpha]


def _weights(said: dict[str, Any], text: str) -> list[bool]:
    """Whether each of the notes with a text matters."""
    return [note["matters"] for note in said["notes"] if text in note["message"]]


_KEEPS = "the window follows the rate in xoff, and is constant in the original"


@pytest.mark.parametrize(
    ("config", "text", "weights"),
    [
        ("CC_MODE 7\nHAS_WIN 1\nVAR_WIN 1", "VAR_WIN: ", []),
        ("CC_MODE 7\nHAS_WIN 1\nVAR_WIN 0", f"VAR_WIN: {_KEEPS}", [True]),
        ("CC_MODE 7\nHAS_WIN 0\nVAR_WIN 0", "VAR_WIN: has an effect with a window alone", [False]),
        # The simulator's defaults.
        ("CC_MODE 7", f"VAR_WIN: missing; the default is 0; {_KEEPS}", [True]),
        ("CC_MODE 3\nVAR_WIN 1", "MULTI_RATE: missing; the default is 1; in xoff a flow has one rate", [True]),
        ("CC_MODE 3\nVAR_WIN 1\nMULTI_RATE 0", "MULTI_RATE: ", []),
        ("CC_MODE 0", "HAS_WIN: flows have a window of 104000 B in the original, and none in xoff", [True]),
        ("CC_MODE 0\nHAS_WIN 0", "HAS_WIN: flows have no window in xoff", [False]),
        # HPCC's law alone reads the key.
        ("CC_MODE 3\nFAST_REACT 0", "FAST_REACT: in xoff each ACK changes the rate", [True]),
        *((f"CC_MODE {mode}\nFAST_REACT 0", "each ACK changes", []) for mode in (1, 7, 8, 10)),
        ("CC_MODE 3\nINT_MULTI 4", "INT_MULTI: telemetry is exact in xoff", [True]),
        ("CC_MODE 3\nINT_MULTI 1", "INT_MULTI: telemetry is exact in xoff", [False]),
        ("ENABLE_QCN 1", "ACK_HIGH_PRIO: a pause of priority group 3 holds ACKs at hosts in the original", [True]),
        ("ACK_HIGH_PRIO 0", "ACK_HIGH_PRIO: a pause of priority group 3 holds ACKs at hosts in the original", [True]),
        ("ENABLE_PFC 0", "ACK_HIGH_PRIO: a pause of priority group 3 holds ACKs at hosts in the original", [False]),
        ("CC_MODE 3", "KMIN_MAP: left out, because no host reacts to marks with CC_MODE 3", [False]),
        ("CC_MODE 1", "KMIN_MAP: ", []),
        ("CC_MODE 1\nCC_MODE 1", "CC_MODE: also given in line 2; the last value counts", [False]),
        ("ACK_HIGH_PRIO 1", "ACK_HIGH_PRIO: ignored: ACKs wait with data at switches", [False]),
    ],
)
def test_what_is_said_of_settings_of_hpcc(imported: Import, config: str, text: str, weights: list[bool]) -> None:
    assert _weights(imported("hpcc", _LEAF_SPINE, _SIX, f"{config}\n{_MAPS}"), text) == weights


@pytest.mark.parametrize("mode", [0, 1, 3, 7, 8, 10])
def test_no_warning_asks_for_what_the_file_decides(imported: Import, mode: int) -> None:
    """HPCC's own settings have thresholds of ECN with every CC_MODE."""
    said = imported("hpcc", _LEAF_SPINE, _SIX, f"CC_MODE {mode}\n{_MAPS}")
    warnings = xoff.check(said["scenario"])["warnings"]
    assert not [one for one in warnings if "host.congestion_control" in str(one)]


def test_flows_beyond_the_announced_number_are_said(imported: Import) -> None:
    """Their lines are read by neither program."""
    text = "2\n0 2 3 100 20000 2.0\n3 1 3 100 1000 2.1\n1 2 3 100 9 2.2\n1 3 3 100 9 2.2\n\nwritten by a generator\n"
    said = imported("hpcc", _LEAF_SPINE + "1 2 100Gbps 1us 0\n# end\n", text)
    assert said["flows"] == 2
    found = {
        note["message"]: (note["lines"], note["matters"]) for note in said["notes"] if "is after" in note["message"]
    }
    assert found == {
        "is after the announced number of flows: further flows are left out, as in the original": ([[4, 5]], True),
        "is after the last flow, and left out, as in the original": ([[7, 7]], False),
        "is after the announced number of links: further links are left out, as in the original": ([[11, 11]], True),
        "is after the last link, and left out, as in the original": ([[12, 12]], False),
    }


def test_windows_are_those_of_there_where_all_hosts_have_one_rate(imported: Import) -> None:
    config = f"CC_MODE 8\nVAR_WIN 1\n{_MAPS}"
    assert "the window of all flows" not in messages(imported("hpcc", _TWO_RATES, _SIX, config))
    topology = _TWO_RATES.replace("5 7 100Gbps", "5 7 50Gbps")
    said = imported("hpcc", topology, _SIX, config, out="mixed")
    # From host 5 the last link takes 160 ns; the largest product is that of two hosts of 100 Gb/s: 6 us and 180 ns.
    assert document_of(said)["host"]["congestion_control"]["dctcp"]["round_trip"] == "6260ns"
    assert "the window of all flows is 77250 B in the original" in messages(said)


@pytest.mark.parametrize(("config", "last"), [("", "5us"), ("PAUSE_TIME 12.7\n", "12us")])
def test_pauses_of_conweave_end_and_those_of_hpcc_do_not(imported: Import, config: str, last: str) -> None:
    text = f"CC_MODE 1\n{config}{_MAPS}"
    said = imported("hpcc", _LEAF_SPINE, _FIVE, text)
    assert _weights(said, f"PAUSE_TIME: in the original a pause ends after {last} unless an arriving packet") == [True]
    assert _weights(said, "PAUSE_TIME: ignored") == []
    lossy = imported("hpcc", _LEAF_SPINE, _FIVE, f"{text}ENABLE_PFC 0\n", out="lossy")
    assert not any(_weights(lossy, "PAUSE_TIME: "))
    of_hpcc = imported("hpcc", _LEAF_SPINE, _SIX, f"{text}PAUSE_TIME 5\n", out="hpcc")
    assert _weights(of_hpcc, "PAUSE_TIME: ignored: pauses last until the resume") == [False]


_KEYS = {
    "ENABLE_QCN": "0", "ENABLE_PFC": "0", "ENABLE_IRN": "1", "USE_DYNAMIC_PFC_THRESHOLD": "0", "PAUSE_TIME": "10",
    "PACKET_PAYLOAD_SIZE": "1500", "L2_CHUNK_SIZE": "1000", "L2_ACK_INTERVAL": "4", "L2_BACK_TO_ZERO": "1",
    "SIMULATOR_STOP_TIME": "2.2", "CC_MODE": "7", "ALPHA_RESUME_INTERVAL": "55", "RATE_DECREASE_INTERVAL": "5",
    "CLAMP_TARGET_RATE": "1", "RP_TIMER": "900", "EWMA_GAIN": "0.1", "FAST_RECOVERY_TIMES": "5", "RATE_AI": "6Mb/s",
    "RATE_HAI": "60Mb/s", "MIN_RATE": "1Gb/s", "DCTCP_RATE_AI": "5Mb/s", "ERROR_RATE_PER_LINK": "0.01", "HAS_WIN": "0",
    "VAR_WIN": "1", "GLOBAL_T": "0", "FAST_REACT": "0", "U_TARGET": "0.9", "MI_THRESH": "5", "INT_MULTI": "4",
    "MULTI_RATE": "1", "SAMPLE_FEEDBACK": "1", "PINT_LOG_BASE": "1.01", "PINT_PROB": "0.5", "RATE_BOUND": "0",
    "ACK_HIGH_PRIO": "1", "LINK_DOWN": "10 4 6", "BUFFER_SIZE": "4", "LB_MODE": "9", "CONWEAVE_TX_EXPIRY_TIME": "300",
    "RANDOM_SEED": "5", "FLOWGEN_START_TIME": "1.0", "FLOWGEN_STOP_TIME": "2.4", "LOAD": "50",
    "TRACE_FILE": "trace.txt", "QLEN_MON_START": "2000000000", "SOMETHING_NEW": "1", "KMIN_MAP": "1 100000000000 50",
    "KMAX_MAP": "1 100000000000 800", "PMAX_MAP": "1 100000000000 0.1",
}  # fmt: skip


@pytest.mark.parametrize("mode", first_fast(["1", "7", "3", "8", "10", "0"], 2))
def test_nothing_is_dropped_silently(imported: Import, mode: str) -> None:
    """Every given setting changes the scenario, or is reported."""
    flows = _SIX

    def texts(out: str, config: str) -> tuple[str, list[list[int]]]:
        """Returns the text of the files without comments, and the reported lines."""
        said = imported("hpcc", _LEAF_SPINE, flows, config, out=out)
        lines = "".join(Path(file).read_text("utf-8") for file in said["files"]).splitlines()
        plain = "\n".join(line for line in lines if not line.startswith("#"))
        return plain, [stretch for note in said["notes"] for stretch in note["lines"]]

    base = f"{_MAPS}CC_MODE {mode}\n"
    plain, _ = texts("plain", base)
    # For these keys xoff has one behaviour, which depends on the congestion control.
    keys = _KEYS | {"VAR_WIN": "1" if mode == "1" else "0", "CC_MODE": "1" if mode == "7" else "7"}
    for index, (key, value) in enumerate(keys.items()):
        found, lines = texts(f"out{index}", f"{base}{key} {value}\n")
        assert [5, 5] in lines or found != plain, key


def test_what_is_said_stands_in_the_scenario_and_on_standard_error(xoff_here: Command, tmp_path: Path) -> None:
    done = xoff_here("import", "hpcc", TOPOLOGY, FLOWS, CONFIG, "--verbose")
    assert done.returncode == 0
    assert done.stdout == "out/hpcc-flows/scenario.toml: 5 flows of 2.0 MB together\n"
    line = "hpcc-config.txt, line 5: TOPOLOGY_FILE: the topology of the command line is used"
    assert f"xoff: {line}\n" in done.stderr
    comment = (tmp_path / "out" / "hpcc-flows" / "scenario.toml").read_text("utf-8").replace("\n#  ", "")
    assert f"# - {line}\n" in comment


@pytest.mark.parametrize("files", [("hpcc", TOPOLOGY, FLOWS, CONFIG), ("htsim", MATRIX, TOPO)])
def test_what_changes_results_is_said_first(
    imported: Import, xoff_here: Command, tmp_path: Path, files: tuple[str, Path, Path]
) -> None:
    """Other notes take one line, unless all are requested; a program gets both, and the scenario, too."""
    kind, *paths = files
    notes = imported(kind, *paths)["notes"]
    weights = [note["matters"] for note in notes]
    assert weights == sorted(weights, reverse=True)
    matters, rest = weights.count(True), weights.count(False)
    short, full = (
        xoff_here("import", kind, *paths, "--out", f"out{index}", *options).stderr.splitlines()
        for index, options in enumerate(([], ["--verbose"]))
    )
    first, second = "With effect on results:", "Without effect on results:"
    assert (short[0], full[0]) == (f"xoff: {first}",) * 2
    assert short[: matters + 1] == full[: matters + 1]
    if rest:
        assert short[matters + 1 :] == [f"xoff: … and {rest} notes without effect on results; --verbose lists all"]
        assert full[matters + 1] == f"xoff: {second}"
    assert all(note["message"] in line for note, line in zip(notes[:matters], full[1:], strict=False))
    assert all(note["message"] in line for note, line in zip(notes[matters:], full[matters + 2 :], strict=True))
    comment = (tmp_path / "out0" / "scenario.toml").read_text("utf-8").replace("\n#  ", "")
    texts = [line.removeprefix("xoff: ") for line in full]
    assert all(f"# {text}\n" in comment or f"# - {text}\n" in comment for text in texts)


def test_ports_of_another_speed_have_thresholds_and_a_share_of_their_own(imported: Import) -> None:
    """Alpha is an eighth at the speed of hosts, and doubles with the speed."""
    switch = document_of(imported("hpcc", TOPOLOGY, FLOWS, CONFIG))["switch"]
    main = switch["ecn"]["red"]
    others = {one["rate"]: one["ecn"]["red"] for one in switch["overrides"] if "ecn" in one}
    assert others
    assert all(red != main for red in others.values())
    assert switch["buffer"]["shared"]["alpha"] == 0.125
    assert [one["buffer"]["alpha"] for one in switch["overrides"] if "buffer" in one] == [0.5]


def test_acks_wait_with_data_at_switches_whatever_the_file_says(imported: Import) -> None:
    """ACKs of HPCC; ACKs of ConWeave precede data, as in xoff beside ConWeave's routing."""
    cases = {
        "none": (_SIX, "", "switches"),
        "zero": (_SIX, "ACK_HIGH_PRIO 0", "switches"),
        "one": (_SIX, "ACK_HIGH_PRIO 1", "switches"),
        "conweave": (_FIVE, "", None),
        "zero of conweave": (_FIVE, "ACK_HIGH_PRIO 0", None),
        "beside conweave": (_SIX, "CC_MODE 0\nLB_MODE 9", None),
    }
    for out, (flows, words, expected) in cases.items():
        said = imported("hpcc", _LEAF_SPINE, flows, f"{_MAPS}{words}\n", out=out)
        assert document_of(said).get("host", {}).get("acks") == expected
    without_settings = imported("hpcc", _LEAF_SPINE, _SIX, out="without settings")
    assert document_of(without_settings)["host"] == {"acks": "switches"}
    ran(without_settings)


def test_classes_are_priority_groups(imported: Import) -> None:
    said = imported("hpcc", _LEAF_SPINE, "3\n0 1 5 9 2.0\n1 0 3 9 2.0\n2 0 5 9 2.0\n")
    document = document_of(said)
    assert document["switch"]["classes"] == 2
    assert [(one["name"], one.get("class", 0)) for one in document["workload"]] == [("group 3", 0), ("group 5", 1)]
    ran(said)


def test_flows_that_start_before_two_seconds_keep_their_times(imported: Import) -> None:
    said = imported("hpcc", _LEAF_SPINE, "1\n0 1 3 9 0.001\n")
    assert ran(said)[0]["start_ps"] == 10**9
    assert "no time is subtracted" in messages(said)


def test_links_are_carried_over_in_their_order(imported: Import) -> None:
    text = "4 2 4\n0 3\n1 0 40Gb/s 0.001ms 0\n2 3 25000000000.0 1us 0.5\n3 0 100Gbps 2us 0\n0 3 100Gbps 2us 0\n"
    said = imported("hpcc", text, "1\n1 2 3 9 2.0\n")
    folder = Path(said["scenario"]).parent
    assert (folder / "nodes.csv").read_text().split() == ["name,kind", "s0,switch", "h1,host", "h2,host", "s3,switch"]
    assert (folder / "links.csv").read_text().split()[1:] == [
        "h1,s0,40000000000bps,1000000ps",
        "h2,s3,25000000000bps,1000000ps",
        "s3,s0,100000000000bps,2000000ps",
        "s0,s3,100000000000bps,2000000ps",
    ]
    lines = {note["message"]: note["lines"] for note in said["notes"]}
    assert next(where for text, where in lines.items() if "at random" in text) == [[4, 4]]
    assert next(where for text, where in lines.items() if "one more link" in text) == [[6, 6]]


_HOSTILE = {
    "empty topology": (["", _FIVE], "0.txt", 1, "the file ends; the number of nodes"),
    "truncated topology": ([_LEAF_SPINE.partition("bps")[0], _FIVE], "0.txt", 3, "`100G` is not a rate"),
    "missing links": (["3 1 9\n0\n1 0 1Gbps 1us 0\n2 0 1Gbps 1us 0\n", _FIVE], "0.txt", 5, "the file ends"),
    "huge counts": (["99999999999 1 1\n", _FIVE], "0.txt", 1, "the number of nodes: `99999999999`"),
    "negative": (["3 1 -2\n", _FIVE], "0.txt", 1, "the number of links: `-2`"),
    "another header": (["8 4 2 8 H100\n", _FIVE], "0.txt", 1, "5 values; the first line is `nodes switches links`"),
    "no such node": (["3 1 1\n0\n1 7 1Gbps 1us 0\n", _FIVE], "0.txt", 3, "a node of a link: `7`"),
    "itself": (["3 1 1\n0\n1 1 1Gbps 1us 0\n", _FIVE], "0.txt", 3, "linked to itself"),
    "alone": (["3 1 1\n0\n1 0 1Gbps 1us 0\n", _FIVE], "0.txt", 3, "node 2 has no link"),
    "zero rate": (["2 1 1\n0\n1 0 0Gbps 1us 0\n", _FIVE], "0.txt", 3, "the rate of a link: must be above zero"),
    "rate": (["2 1 1\n0\n1 0 9e9Gbps 1us 0\n", _FIVE], "0.txt", 3, "is not a rate"),
    "delay": (["2 1 1\n0\n1 0 9Gbps 1min 0\n", _FIVE], "0.txt", 3, "`1min` is not a time"),
    "NUL": ([_LEAF_SPINE.replace("7", "\0", 1), _FIVE], "0.txt", 2, "`\ufffd` is not a whole number"),
    "many flows": ([_LEAF_SPINE, "999999999999\n"], "1.txt", 1, "the number of flows"),
    "truncated flows": ([_LEAF_SPINE, "2\n0 1 3 100 9 2.0\n0 1 3\n"], "1.txt", 4, "the file ends;"),
    "columns": ([_LEAF_SPINE, "1\n0 1 3 2.0\n"], "1.txt", 2, "4 values; a flow has 6"),
    "switch sends": ([_LEAF_SPINE, "1\n4 1 3 9 2.0\n"], "1.txt", 2, "node 4 is a switch"),
    "to itself": ([_LEAF_SPINE, "1\n1 1 3 9 2.0\n"], "1.txt", 2, "sends to itself"),
    "negative bytes": ([_LEAF_SPINE, "1\n0 1 3 -9 2.0\n"], "1.txt", 2, "the bytes of a flow: `-9`"),
    "bytes": ([_LEAF_SPINE, f"1\n0 1 3 {'9' * 5000} 2.0\n"], "1.txt", 2, "is not a whole number"),
    "a path": (
        [_LEAF_SPINE, "1\n../../etc/passwd 1 3 9 2.0\n"],
        "1.txt",
        2,
        "`../../etc/passwd` is not a whole number",
    ),
    "start": ([_LEAF_SPINE, "1\n0 1 3 9 nan\n"], "1.txt", 2, "`nan` is not a number"),
    "late": ([_LEAF_SPINE, "1\n0 1 3 9 1e9\n"], "1.txt", 2, "is too late"),
    "group": ([_LEAF_SPINE, "1\n0 1 8 9 2.0\n"], "1.txt", 2, "the priority group of a flow: `8`"),
    "map": ([_LEAF_SPINE, _FIVE, "KMIN_MAP 2 1 2 3\n"], "2.txt", 2, "the file ends; an entry of KMIN_MAP"),
    "map count": ([_LEAF_SPINE, _FIVE, "KMIN_MAP 1000000000\n"], "2.txt", 1, "entries of KMIN_MAP"),
    "no value": ([_LEAF_SPINE, _FIVE, "CC_MODE"], "2.txt", 1, "the value of CC_MODE"),
    "error rate": (
        ["2 1 1\n0\n1 0 9Gbps 1us 2\n", _FIVE],
        "0.txt",
        3,
        "rate of a link: `2` is not a number from 0 to 1",
    ),
    "error": ([_LEAF_SPINE, _FIVE, "ERROR_RATE_PER_LINK 1.5"], "2.txt", 1, "`1.5` is not a number from 0 to 1"),
    "no error": (["2 1 1\n0\n1 0 9Gbps 1us nan\n", _FIVE], "0.txt", 3, "`nan` is not a number from 0 to 1"),
    "slow": (
        ["2 1 1\n0\n1 0 9 1us 0\n", _FIVE],
        "0.txt",
        3,
        "the rate of a link: must be above zero, and 1Mbps or more",
    ),
    "far": (["2 1 1\n0\n1 0 9Gbps 2s 0\n", _FIVE], "0.txt", 3, "the delay of a link: must be 1s or less"),
    "mode": (
        [_LEAF_SPINE, _FIVE, "CC_MODE 999"],
        "2.txt",
        1,
        "CC_MODE: `999` is unknown; known are 0 (none), 1 (DCQCN), 3 (HPCC), 7 (TIMELY), 8 (DCTCP) and 10 (HPCC-PINT)",
    ),
    "balancing": (
        [_LEAF_SPINE, _FIVE, "LB_MODE 4"],
        "2.txt",
        1,
        "LB_MODE: `4` is unknown; known are 0 (ECMP), 2 (DRILL)",
    ),
    **{
        key: ([_LEAF_SPINE, _SIX, f"{key} 2\n"], "2.txt", 1, f"{key}: `2` is not a whole number from 0 to 1")
        for key in FLAGS
    },
    "flag": ([_LEAF_SPINE, _FIVE, "ENABLE_PFC 2"], "2.txt", 1, "ENABLE_PFC: `2` is not a whole number from 0 to 1"),
    **{
        key: ([_LEAF_SPINE, _SIX, f"CC_MODE {mode}\n{key} {value}\n{_MAPS}HAS_WIN 0"], "2.txt", 2, f"{key}: {why}")
        for key, mode, value, why in (
            ("U_TARGET", 3, "5", "5 is out of range"),
            ("EWMA_GAIN", 1, "3", "3 is out of range"),
            ("PINT_PROB", 10, "7", "7 is out of range"),
            ("PINT_LOG_BASE", 10, "9", "9 is out of range"),
            ("MIN_RATE", 7, "0b/s", "0bps is below the minimum"),
            ("PACKET_PAYLOAD_SIZE", 0, "0", "must be at least 1B"),
            ("BUFFER_SIZE", 0, "2000000000", "`2097152000000000B` is too large"),
        )
    },
    "thresholds": (
        [_LEAF_SPINE, _FIVE, f"CC_MODE 1\n{_MAPS}KMIN_MAP 1 100000000000 500\n"],
        "2.txt",
        5,
        "KMIN_MAP: 500 kB for 100Gbps is above 400 kB, the value of KMAX_MAP",
    ),
    "probability": (
        [_LEAF_SPINE, _FIVE, f"CC_MODE 3\n{_MAPS}PMAX_MAP 1 100000000000 1.2\n"],
        "2.txt",
        5,
        "a value of PMAX_MAP: `1.2` is not a number from 0 to 1",
    ),
    "no number": ([_LEAF_SPINE, _FIVE, f"CC_MODE 1\nRP_TIMER x\nHAS_WIN 0\n{_MAPS}"], "2.txt", 2, "RP_TIMER: `x`"),
    "no entry": ([_LEAF_SPINE, _FIVE, "KMIN_MAP 0 KMAX_MAP 0\n\nPMAX_MAP 0"], "2.txt", 1, "need an entry for 100Gbps"),
}


@pytest.mark.parametrize("case", _HOSTILE)
def test_bad_input_of_hpcc_names_file_and_line(xoff_here: Command, tmp_path: Path, case: str) -> None:
    contents, file, line, why = _HOSTILE[case]
    refused(xoff_here, tmp_path, "hpcc", contents, file, line, why)


def test_nothing_is_written_over(xoff_here: Command, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for out in ("mine", "file"):
        done = xoff_here("import", "hpcc", TOPOLOGY, FLOWS, "--out", out)
        assert done.returncode == 2
        assert done.stderr == f"xoff: error: --out {out}: exists and is not empty; name a new directory\n"
    (tmp_path / "empty").mkdir()
    assert xoff_here("import", "hpcc", TOPOLOGY, FLOWS, "--out", "empty").returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "file", "mine"]
    assert xoff_here("import", "hpcc", TOPOLOGY, FLOWS, "--out", "file/in").returncode == 2
    assert xoff_here("import", "hpcc", TOPOLOGY, FLOWS, "--out", "a\0b").returncode == 2
    assert xoff_here("import", "hpcc", tmp_path, FLOWS).returncode == 2
    assert xoff_here("import", "hpcc", "none.txt", FLOWS).returncode == 2


def test_names_of_files_become_no_paths(xoff_here: Command, tmp_path: Path) -> None:
    name = tmp_path / '..."\u2028] = {}.txt'
    name.write_bytes(FLOWS.read_bytes())
    done = xoff_here("import", "hpcc", TOPOLOGY, name)
    assert done.returncode == 0, done.stderr
    (place,) = (tmp_path / "out").iterdir()
    assert tomllib.loads((place / "scenario.toml").read_text("utf-8"))["name"] == name.stem
    assert place.name[0] not in "./"


@pytest.mark.parametrize("seed", range(6))
def test_damaged_files_end_in_one_message(xoff_here: Command, tmp_path: Path, seed: int) -> None:
    """A damaged file is imported, or one message names the problem."""
    draw = random.Random(seed)
    words = [
        b"",
        b"-1",
        b"0",
        b"9" * 25,
        b"nan",
        b"\0",
        b"\xff",
        b"../x",
        b"1e9",
        b"->",
        b"\n",
        b"KMIN_MAP",
        b"trigger",
    ]
    for number in range(20):
        kind, files = draw.choice([("hpcc", [TOPOLOGY, FLOWS, CONFIG]), ("htsim", [MATRIX, TOPO])])
        paths = [tmp_path / file.name for file in files]
        for file, path in zip(files, paths, strict=True):
            path.write_bytes(file.read_bytes())
        hit = draw.choice(paths)
        content = bytearray(hit.read_bytes())
        for _ in range(draw.randint(1, 3)):
            at = draw.randrange(len(content) + 1)
            content[at : at + draw.choice([0, 1, 2, 8, 2000])] = draw.choice(words)
        hit.write_bytes(content)
        done = xoff_here("import", kind, *paths, "--out", f"out{number}", "--json")
        assert done.returncode in {0, 2}, (content, done.stderr)
        assert done.returncode == 0 or done.stderr.count("\n") == 1
        assert done.returncode == 0 or str(hit) in done.stderr or hit.name.endswith(".topo"), done.stderr
