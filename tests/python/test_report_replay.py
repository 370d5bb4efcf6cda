"""The replay on the page of a run: the embedded data equals the tables, to the byte and the picosecond."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from random import Random
from typing import Any

import pytest

import xoff
from small import Command
from xoff import report
from xoff.report import replay, run_page

_INCAST = Path(__file__).resolve().parents[2] / "examples" / "incast.toml"


@pytest.fixture(scope="module")
def incast() -> xoff.Result:
    return xoff.run(_INCAST, overrides={"probe.replay": True})


def built(result: xoff.Result, **budget: int) -> tuple[dict[str, Any], list[str]]:
    """Returns the embedded data, as a browser reads it, and its description."""
    made = replay.build(result, replay.BUDGET | budget)
    assert made.data is not None
    return json.loads(json.dumps(made.data)), made.notes


def waiting(data: dict[str, Any], time: int) -> dict[tuple[str, int, int, int], int]:
    """Returns the queues at a moment in the embedded data: by node, port, queue and class."""
    found = {}
    for at, queue, tag, changes in data["queues"]:
        look, depth = 0, 0
        for step, size in zip(changes[::2], changes[1::2], strict=True):
            look += step
            if look * data["every"] > time:
                break
            depth = size
        node, _, port, _ = data["ports"][at]
        if depth:
            found[data["nodes"][node][0], port, queue, tag] = depth
    return found


def paused(data: dict[str, Any], time: int) -> set[tuple[Any, ...]]:
    """Returns the queues paused at a moment in the embedded data, with the pausing node and the start."""
    return {
        (data["nodes"][data["ports"][at][0]][0], data["ports"][at][2], queue, tag, data["causes"][cause][0], start)
        for at, queue, tag, cause, start, length in data["pauses"]
        if start <= time and (length < 0 or time < start + length)
    }


def moments(result: xoff.Result) -> list[int]:
    """Returns moments anywhere, starts and ends of intervals, and moments just before."""
    end = result.summary["simulated_ps"]
    rng = Random(3)
    edges = [*result.pauses["start_ps"].to_pylist(), *(at for at in result.pauses["end_ps"].to_pylist() if at)]
    edges += result.samples["time_ps"].to_pylist() if "samples" in result.tables else []
    some = [at - back for at in rng.sample(edges, 150) for back in (0, 1)]
    return [at for at in [0, *some, *(rng.randrange(end) for _ in range(150)), end - 1] if 0 <= at < end]


@pytest.mark.parametrize("budget", [{}, {"samples": 20_000}])
def test_a_moment_is_that_of_the_tables(incast: xoff.Result, budget: dict[str, int]) -> None:
    data, notes = built(incast, **budget)
    thinned = data["every"] // incast.summary["sampled_every_ps"]
    # Thinned by half repeatedly, and no more than needed.
    assert thinned & (thinned - 1) == 0
    assert (thinned > 1) is bool(budget)
    assert any("would not fit" in note for note in notes) is bool(budget)
    if budget:
        assert 5_000 < len(json.dumps(data["queues"], separators=(",", ":"))) <= 20_000
    classes = {(row["node"], row["port"], row["queue"]): row["class"] for row in incast.queues.to_pylist()}
    samples: dict[int, dict[tuple[str, int, int, int], int]] = defaultdict(dict)
    for row in incast.samples.to_pylist():
        key = (row["node"], row["port"], row["queue"])
        samples[row["time_ps"]][*key, classes[key]] = row["bytes"]
    pauses = incast.pauses.to_pylist()
    seen = 0
    for time in moments(incast):
        assert waiting(data, time) == samples[time // data["every"] * data["every"]]
        on = {
            (row["node"], row["port"], row["queue"], row["class"], row["cause"].upper(), row["start_ps"])
            for row in pauses
            if row["start_ps"] <= time and (row["end_ps"] is None or time < row["end_ps"])
        }
        assert paused(data, time) == on
        seen += bool(on)
    assert seen > 100


def test_flows_are_those_of_the_table(incast: xoff.Result) -> None:
    data, _ = built(incast)
    names = [node[0] for node in data["nodes"]]
    made = {
        (name, names[src], names[dst], start, fct, size, ", ".join(names[node] for node in via))
        for name, src, dst, start, fct, size, via in data["flows"]
    }
    columns = ("label", "src", "dst", "start_ps", "fct_ps", "size_bytes", "via")
    assert made == {tuple(row[column] for column in columns) for row in incast.flows.to_pylist()}


def test_what_does_not_fit_is_said(incast: xoff.Result) -> None:
    data, notes = built(incast, pauses=3_000, flows=100)
    pauses = incast.pauses.to_pylist()
    assert 3_000 - 100 < len(json.dumps(data["pauses"], separators=(",", ":"))) <= 3_000
    kept = sorted((row[5] for row in data["pauses"]), reverse=True)
    assert kept == sorted((row["end_ps"] - row["start_ps"] for row in pauses), reverse=True)[: len(kept)]
    assert f"Of {len(pauses)} pauses the {len(kept)} longest are shown; the table of pauses has all." in notes
    assert f"Of 4 flows the {len(data['flows'])} largest are shown; the table of flows has all." in notes
    assert 0 < len(data["flows"]) < 4


def test_what_waits_for_ever_waits_to_the_end(scenario: dict[str, Any]) -> None:
    hosts = [{"name": f"h{i}", "kind": "host"} for i in range(3)]
    switches = [{"name": f"s{i}", "kind": "switch"} for i in range(3)]
    link = {"rate": "100Gbps", "delay": "1us"}
    links = [{"a": f"h{i}", "b": f"s{i}", **link} for i in range(3)]
    links += [{"a": f"s{i}", "b": f"s{(i + 1) % 3}", **link} for i in range(3)]
    flows = [
        {"src": f"h{i}", "dst": f"h{(i + 2) % 3}", "size": "2MB", "via": [f"s{(i + j) % 3}" for j in range(3)]}
        for i in range(3)
    ]
    pfc = {"switch.flow_control.pfc.xoff": "20KB", "audits.deadlock": "record", "probe.replay": True}
    ring = scenario | {
        "network": {"explicit": {"nodes": [*hosts, *switches], "links": links}},
        "workload": [{"flows": flows}],
    }
    result = xoff.run(ring, overrides=pfc)
    data, _ = built(result)
    for time in (data["end"] - 1, data["end"]):
        stuck = {(node, port) for node, port, *_ in paused(data, time) if node[0] == "s"}
        assert len(stuck) == 3
        assert stuck <= {(node, port) for node, port, *_ in waiting(data, time)}


def test_pauses_alone_make_a_replay() -> None:
    result = xoff.run(_INCAST)
    data, notes = built(result)
    assert (data["queues"], data["every"]) == ([], 0)
    assert len(data["pauses"]) == result.pauses.num_rows
    assert notes == [
        "Queues were not recorded: the pauses alone are shown. To see queues, too: "
        "xoff run scenario.json --set probe.replay=true --out result"
    ]


def test_a_run_without_records_says_what_to_set(scenario_file: Path, xoff_here: Command) -> None:
    def page(*settings: str) -> str:
        assert xoff_here("run", scenario_file, *settings, "--out", "result", "--force").returncode == 0
        assert xoff_here("report", "result", "--format", "html").returncode == 0
        return (scenario_file.parent / "result" / "report.html").read_text("utf-8")

    text = page("--set", "switch.flow_control.pfc.xoff=150KB")
    # An empty section is not drawn: the end of the page says how to record the replay.
    assert '<section id="replay">' not in text
    (hint,) = re.findall(r'<p class="hint">(This run recorded no queues.*)</p>', text.partition('id="again"')[2])
    assert hint == (
        "This run recorded no queues, and no port was paused; for a replay set probe.replay = true: "
        "xoff run scenario.json --set probe.replay=true --out result."
    )
    assert "replay-data" not in text
    # The printed command is typed.
    assert xoff_here("run", "result/scenario.json", "--set", "probe.replay=true", "--out", "again").returncode == 0
    assert built(xoff.load(scenario_file.parent / "again"))[0]["queues"]
    # One flow alone never waits, and the page has no moment to set.
    text = page("--set", "probe.replay=true", "--set", "workload[0].incast.senders=[1]")
    assert "No packet waited, and no port was paused." in text


def test_names_are_no_markup(scenario: dict[str, Any]) -> None:
    name = '</script><img src=x onerror="alert(1)">'
    nodes = [{"name": name, "kind": "host"}, *({"name": f"h{i}", "kind": "host"} for i in range(2))]
    nodes.append({"name": "<b>z</b>", "kind": "switch"})
    links = [{"a": node["name"], "b": "<b>z</b>", "rate": "100Gbps", "delay": "1us"} for node in nodes[:3]]
    flows = [{"id": f"<i>{src}", "src": src, "dst": name, "size": "200KB"} for src in ("h0", "h1")]
    network = {"explicit": {"nodes": nodes, "links": links}}
    result = xoff.run(scenario | {"network": network, "workload": [{"flows": flows}], "probe": {"replay": True}})
    text = report.render(run_page.build(result))
    data = replay.build(result).data
    assert data is not None
    assert name in [node[0] for node in data["nodes"]]
    for tag in ("<img", "<b>z", "<i>h"):
        assert tag not in text
    (embedded,) = re.findall(r'<script type="application/json" id="replay-data">(.*?)</script>', text)
    assert json.loads(embedded) == json.loads(json.dumps(data))


def test_what_fails_is_at_its_ports_while_it_lasts() -> None:
    faults = [
        {"link": "leaf0-spine1", "state": "down", "at": "50us", "duration": "200us"},
        {"link": "leaf0 -> spine0", "rate": "10Gbps", "at": "80us"},
        {"host": "host3", "stall": True, "at": "90us", "duration": "1us"},
    ]
    scenario = Path(__file__).resolve().parents[2] / "examples" / "faults.toml"
    result = xoff.run(scenario, overrides={"fault": faults, "probe.replay": True})
    data, notes = built(result)
    names = [node[0] for node in data["nodes"]]
    found = [
        (name, start, length, {(names[data["ports"][port][0]], names[data["ports"][port][1]]) for port in ports})
        for name, start, length, ports in data["faults"]
    ]
    assert found == [
        ("leaf0-spine1 (down)", 50_000_000, 200_000_000, {("leaf0", "spine1"), ("spine1", "leaf0")}),
        ("leaf0 -> spine0 (rate)", 80_000_000, -1, {("leaf0", "spine0")}),
        ("host3 (stall)", 90_000_000, 1_000_000, {("host3", "leaf0"), ("leaf0", "host3")}),
    ]
    assert not any("faults" in note for note in notes)
    few, notes = built(result, faults=60)
    assert len(few["faults"]) < 3
    assert any("faults" in note for note in notes)
    tables = {one.title: one for one in run_page.build(result).tables}
    assert [row[0].text for row in tables["Faults, in the order in which they began"].rows] == [
        "leaf0-spine1", "leaf0 -> spine0", "host3",
    ]  # fmt: skip
