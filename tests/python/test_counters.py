"""Counters of a network: the counters of a run must lead to its planted cause, and no damaged file is believed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

import xoff
from params import first_fast
from planted import KINDS, LINES, sound
from small import Command
from xoff.counters import command, names
from xoff.counters.diagnosis import diagnose
from xoff.exporting import counters as exporting

RULES = {
    "stall": r"begin at a host: (?P<place>host\d+) ",
    "port does not obey": r"^(?P<place>\w+) port \d+ .* did not obey",
    "port sends no pauses": r"^(?P<place>\w+) port \d+ .* does not pause class",
    "a workload without PFC": r"of class (?P<place>0), which is not lossless, were dropped",
    "short watchdog": r"the PFC (?P<place>watchdog) fired",
    "small headroom of a shared buffer": r"look at the (?P<place>headroom)",
}
"""Kinds of causes that counters can tell, by the words of the finding."""
PLACES = {"a workload without PFC": "0", "short watchdog": "watchdog", "small headroom of a shared buffer": "headroom"}


def planted(kind: str, seed: int) -> tuple[dict[str, Any], str]:
    """Returns a scenario with a planted cause and small buffers, in which the cause has consequences, and the place."""
    rng = Random(f"counters {kind} {seed}")
    document = sound(rng)
    place = KINDS[kind](document, rng)
    total = {"stall": "24MB", "small headroom of a shared buffer": "3MB"}.get(kind, "6MB")
    document["switch"]["buffer"]["shared"]["total"] = total
    document["workload"][1]["incast"]["size"] = "2MB"
    document["host"].pop("congestion_control")
    document["switch"].pop("ecn", None)
    document["switch"]["flow_control"]["pfc"].setdefault("watchdog", {"detection": "200ms"})
    return document, PLACES.get(kind, place)


def written(document: dict[str, Any], folder: Path) -> tuple[xoff.Result, Path, Path]:
    """Runs a scenario, and writes its counters and itself."""
    try:
        result = xoff.run(document)
    except xoff.AuditError as error:
        result = error.result
    counters, scenario = folder / "counters.csv", folder / "scenario.json"
    exporting.write(result, counters, [])
    scenario.write_text(json.dumps(document), "utf-8")
    return result, counters, scenario


@pytest.mark.parametrize("kind", RULES)
@pytest.mark.parametrize("seed", first_fast(range(10), 1))
def test_counters_of_a_run_lead_to_the_planted_cause(kind: str, seed: int, tmp_path: Path) -> None:
    document, place = planted(kind, seed)
    _, counters, scenario = written(document, tmp_path)
    found, lossless = command.of_scenario(counters, scenario)
    lines = command.lines(found, diagnose(found, lossless), everything=False)[:LINES]
    first = next(
        (name, match["place"]) for line in lines for name, rule in RULES.items() if (match := re.search(rule, line))
    )
    assert first == (kind, place), lines


def test_counters_are_those_of_the_tables(tmp_path: Path) -> None:
    result, counters, scenario = written(planted("port does not obey", 0)[0], tmp_path)
    found, _ = command.of_scenario(counters, scenario)
    rows = result.table("pause_frames").to_pylist()
    assert rows
    for row in rows:
        at = (row["node"], row["port"])
        assert (found.of(at, row["class"], "sent"), found.of(at, row["class"], "received")) == (
            row["sent"],
            row["received"],
        )
    lost = sum(values.get("dropped_in", 0) for values in found.values.values())
    assert lost == result.drops.num_rows > 0
    assert found.silent == []


def line_of(tmp_path: Path, *values: tuple[str, int | str, str, str]) -> tuple[Path, Path]:
    """Writes a line of two switches with two hosts each, and counters: node, port, counter, value."""
    link = {"rate": "100Gbps", "delay": "1us"}
    network = {"leaf_spine": {"leaves": 2, "spines": 1, "hosts_per_leaf": 2, "link": link}}
    document = {"network": network, "switch": {"classes": 4, "flow_control": {"pfc": {"classes": [3]}}}, "workload": []}
    scenario, counters = tmp_path / "scenario.json", tmp_path / "counters.csv"
    scenario.write_text(json.dumps(document), "utf-8")
    rows = [f"{node},{port},,{name},{value}" for node, port, name, value in values]
    counters.write_text("node,port,class,counter,value\n" + "".join(f"{row}\n" for row in rows), "utf-8")
    return counters, scenario


PAUSED = "SAI_PORT_STAT_PFC_3_RX_PAUSE_DURATION_US"
RECEIVED, SENT = "SAI_PORT_STAT_PFC_3_RX_PKTS", "SAI_PORT_STAT_PFC_3_TX_PKTS"


def test_a_pause_follows_the_output_that_was_paused_for_half_of_its_time(tmp_path: Path) -> None:
    """host0 is paused by leaf0, which waits for spine0, which waits for leaf1: leaf1 is the root, three links back."""
    chain: list[tuple[str, int | str, str, str]] = [
        ("host0", 0, "rx_prio3_pause_duration", "100"),
        ("leaf0", 2, PAUSED, "80"),
        ("spine0", 1, PAUSED, "50"),
    ]
    found, lossless = command.of_scenario(*line_of(tmp_path, *chain))
    [tree] = diagnose(found, lossless).trees
    assert (tree.node, tree.is_host, tree.paused_us) == ("leaf1", False, 230.0)
    assert {at: depth for at, _, depth in tree.paused} == {("host0", 0): 3, ("leaf0", 2): 2, ("spine0", 1): 1}
    # Spine0 waited for less than half of the time for which it paused leaf0: spine0 itself is too full.
    chain[2] = ("spine0", 1, PAUSED, "39")
    found, lossless = command.of_scenario(*line_of(tmp_path, *chain))
    assert [(tree.node, tree.paused_us) for tree in diagnose(found, lossless).trees] == [
        ("spine0", 180.0),
        ("leaf1", 39),
    ]


def test_contradictions_between_the_ends_of_a_link_are_told(tmp_path: Path) -> None:
    ends = [("leaf0", 2, SENT, "500"), ("spine0", 0, RECEIVED, "3"), ("spine0", 0, PAUSED, "0")]
    found, lossless = command.of_scenario(*line_of(tmp_path, *ends))
    findings = diagnose(found, lossless).findings
    assert findings[0].startswith("spine0 port 0 (to leaf0) did not obey: it received 3 pause frames of class 3")
    assert findings[1].startswith("leaf0 port 2 (to spine0) sent 500 pause frames of class 3, and spine0 received 3: ")


def test_what_a_file_lacks_is_said(tmp_path: Path) -> None:
    rows: list[tuple[str, int | str, str, str]] = [
        ("leaf0", "spine0", PAUSED, "1"),
        ("leaf0", 0, "SAI_PORT_STAT_IF_IN_OCTETS", "77"),
    ]
    found, lossless = command.of_scenario(*line_of(tmp_path, *rows))
    gaps = diagnose(found, lossless).gaps
    assert gaps[0] == "no counters of 2 switches (leaf1, spine0): pauses that pass them cannot be followed"
    assert gaps[1] == "no counter of received, sent, dropped_in: what needs it is not checked"
    assert gaps[2] == "1 rows of other counters are not used"


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("leaf9,0,3,{0},1", "row 1: the scenario has no node 'leaf9'"),
        ("leaf0,9,3,{0},1", "row 1: leaf0 has no port '9': give a number, 0 to 2, or the neighbour's name"),
        ("leaf0,host3,3,{0},1", "row 1: leaf0 has no port 'host3'"),
        ("leaf0,0,4,{0},1", "row 1: class 4 is out of range: the scenario has the classes 0 to 3"),
        ("leaf0,0,three,{0},1", "row 1: class 'three' is not a number"),
        ("leaf0,0,,SAI_QUEUE_STAT_DROPPED_PACKETS,1", "row 1: no class: the name of this counter has no priority"),
        ("leaf0,0,3,{0},-1", "row 1: value '-1' is not a number of zero or more"),
        ("leaf0,0,3,{0},many", "row 1: value 'many' is not a number of zero or more"),
        ("leaf0,0,3,{0},1\nleaf0,host0,3,{0},2", "row 2: {0} is given twice, with other values"),
        ("leaf0,0,3,octets,1", "no row has a known counter; `xoff new counters` writes the names"),
    ],
)
def test_a_damaged_file_is_refused_with_its_row(row: str, why: str, tmp_path: Path, xoff_here: Command) -> None:
    counters, scenario = line_of(tmp_path)
    counters.write_text("node,port,class,counter,value\n" + row.format(PAUSED) + "\n", "utf-8")
    done = xoff_here("explain", "--counters", counters.name, "--scenario", scenario.name)
    assert (done.returncode, done.stdout) == (2, "")
    assert why.format(PAUSED) in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--counters", "counters.csv"], "--counters: needs --scenario FILE, and no DIR"),
        ([], "no result: give DIR, or --counters FILE --scenario FILE"),
        (["--counters", "none.csv", "--scenario", "scenario.json"], "--counters: no such file: none.csv"),
    ],
)
def test_a_question_without_its_files_is_refused(
    arguments: list[str], why: str, tmp_path: Path, xoff_here: Command
) -> None:
    line_of(tmp_path)
    done = xoff_here("explain", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert why in " ".join(done.stderr.split())


def test_a_column_that_is_missing_is_named(tmp_path: Path, xoff_here: Command) -> None:
    counters, scenario = line_of(tmp_path)
    counters.write_text("node,port,counter,value\nleaf0,0,x,1\n", "utf-8")
    done = xoff_here("explain", "--counters", counters.name, "--scenario", scenario.name)
    assert (done.returncode, "no column `class`" in done.stderr) == (2, True)


def test_the_template_has_every_name_and_can_be_read(tmp_path: Path, xoff_here: Command) -> None:
    _, scenario = line_of(tmp_path)
    made = xoff_here("new", "counters", "mine")
    assert (made.returncode, made.stdout.strip()) == (0, "mine.csv")
    text = (tmp_path / "mine.csv").read_text("utf-8")
    assert all(str(names.name(one.key, 3, is_host=False)) in text for one in names.MEANINGS)
    assert "tx_prio3_pause" in text
    done = xoff_here("explain", "--counters", "mine.csv", "--scenario", scenario.name)
    assert done.returncode == 0
    assert done.stdout.startswith("No pauses, no drops and no contradictions")
    assert xoff_here("new", "counters", "mine").returncode == 2


def test_the_answer_as_json_has_findings_trees_and_gaps(tmp_path: Path, xoff_here: Command) -> None:
    counters, scenario = line_of(tmp_path, ("host0", 0, "rx_prio3_pause_duration", "12"))
    done = xoff_here("explain", "--counters", counters.name, "--scenario", scenario.name, "--json")
    answer = json.loads(done.stdout)
    assert answer["findings"] == []
    [tree] = answer["trees"]
    assert (tree["node"], tree["class"], tree["paused_us"]) == ("leaf0", 3, 12.0)
    assert answer["gaps"]


def found_in(tmp_path: Path, *values: tuple[str, int | str, str, str]) -> list[str]:
    """Returns what is printed about counters of the line of two switches."""
    found, lossless = command.of_scenario(*line_of(tmp_path, *values))
    return command.lines(found, diagnose(found, lossless), everything=True)


def test_packets_that_queues_refused_are_told(tmp_path: Path) -> None:
    lines = found_in(tmp_path, ("leaf0", 0, "SAI_PORT_STAT_PFC_3_RX_PKTS", "0"))
    assert lines[0].startswith("No pauses, no drops")
    counters, scenario = line_of(tmp_path)
    counters.write_text("node,port,class,counter,value\nleaf0,0,3,SAI_QUEUE_STAT_DROPPED_PACKETS,50\n", "utf-8")
    found, lossless = command.of_scenario(counters, scenario)
    expected = "queues dropped 50 packets of class 3, most at leaf0 port 0 (to host0)"
    assert diagnose(found, lossless).findings == [expected]


def test_pauses_of_unknown_length_are_a_gap(tmp_path: Path) -> None:
    lines = found_in(tmp_path, ("leaf0", 2, RECEIVED, "50"))
    gap = "gap: 1 ports received pauses without a counter of the time, such as leaf0 port 2 (to spine0)"
    assert any(line.startswith(gap) for line in lines)


def test_only_a_neighbour_that_was_paused_is_said_to_be(tmp_path: Path) -> None:
    counters, scenario = line_of(tmp_path)
    drops = "leaf0,2,3,SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS,5"

    def told(*rows: str) -> str:
        counters.write_text("node,port,class,counter,value\n" + "".join(f"{row}\n" for row in (drops, *rows)), "utf-8")
        return diagnose(*command.of_scenario(counters, scenario)).findings[0]

    assert told() == "leaf0 port 2 (to spine0) dropped 5 packets of class 3, which is lossless"
    assert "although spine0 was paused: look at the headroom" in told(f"spine0,0,3,{PAUSED},9")


def test_a_ring_of_pauses_is_told_as_a_ring(tmp_path: Path) -> None:
    names = ["s0", "s1", "s2"]
    nodes = [{"name": name, "kind": "switch"} for name in names] + [{"name": f"h{n}", "kind": "host"} for n in range(3)]
    link = {"rate": "100Gbps", "delay": "1us"}
    links = [{"a": names[n], "b": names[(n + 1) % 3], **link} for n in range(3)]
    links += [{"a": f"h{n}", "b": names[n], **link} for n in range(3)]
    document = {"network": {"explicit": {"nodes": nodes, "links": links}}, "workload": []}
    document["switch"] = {"flow_control": {"pfc": {}}}
    scenario, counters = tmp_path / "ring.json", tmp_path / "ring.csv"
    scenario.write_text(json.dumps(document), "utf-8")
    paused = "SAI_PORT_STAT_PFC_0_RX_PAUSE_DURATION_US"
    rows = [f"{names[n]},{names[(n + 1) % 3]},0,{paused},100\n" for n in range(3)]
    counters.write_text("node,port,class,counter,value\n" + "".join(rows), "utf-8")
    found, lossless = command.of_scenario(counters, scenario)
    [line] = [text for text in command.lines(found, diagnose(found, lossless), everything=True) if "ring" in text]
    assert "lead in a ring, so a deadlock is possible: s0 port" in line
    assert "3 ports paused for 300.000 µs together" in line


def test_hosts_of_a_table_of_nodes_are_known_by_their_kind(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("name,kind\na,host\nb,host\ns,switch\n", "utf-8")
    (tmp_path / "links.csv").write_text("a,b,rate,delay\na,s,100Gbps,1us\nb,s,100Gbps,1us\n", "utf-8")
    tables = {"nodes_table": "nodes.csv", "links_table": "links.csv"}
    document = {"network": {"explicit": tables}, "switch": {"flow_control": {"pfc": {}}}, "workload": []}
    scenario, counters = tmp_path / "tables.json", tmp_path / "counters.csv"
    scenario.write_text(json.dumps(document), "utf-8")
    # A row of another counter may hold anything.
    counters.write_text("node,port,class,counter,value\na,0,0,tx_prio0_pause,2\n7,,1.5,other,\n", "utf-8")
    found, _ = command.of_scenario(counters, scenario)
    assert found.hosts == {"a", "b"}
    assert (found.of(("a", 0), 0, "sent"), found.others, found.silent) == (2, 1, ["s"])


def test_counters_go_with_no_other_question(tmp_path: Path, xoff_here: Command) -> None:
    counters, scenario = line_of(tmp_path)
    done = xoff_here("explain", "--counters", counters.name, "--scenario", scenario.name, "--worst", "3")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--counters: not allowed with another question" in " ".join(done.stderr.split())
