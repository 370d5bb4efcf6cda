"""Reports without a browser: the scenario in words, the drawing, the figures, and a page without external needs."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import xoff
from small import Command
from xoff import InputError, plots, report
from xoff.report import charts, run_page, topology
from xoff.report.narrative import tell
from xoff.study import Study

_ROOT = Path(__file__).resolve().parents[2]


def test_a_scenario_in_words() -> None:
    overrides = {"switch.flow_control.sfc": {"threshold": "200KB", "pause": "10us"}, "audits.loss": "record"}
    told = dict(tell(xoff.resolve(_ROOT / "examples" / "incast.toml", overrides=overrides)))
    assert told["Network"] == [
        "Leaves with hosts, each linked to every spine. "
        "Leaves 8, spines 8, hosts per leaf 8, link rate 200 Gb/s and delay 150 ns, parallel 1."
    ]
    assert "Source Flow Control: threshold 200 KB, pause 10 µs, hold flow" in told["Flow control"][1]
    assert told["Traffic"][1] == "“victim”: 1 flow: host9 → host1 5 MB."
    assert told["Audits"] == ["A violation of `loss` is recorded."]


@pytest.mark.parametrize("file", sorted((_ROOT / "examples").glob("[!s]*.toml")), ids=lambda file: file.stem)
def test_every_example_can_be_told(file: Path) -> None:
    for heading, lines in tell(xoff.resolve(file)):
        assert heading
        assert all(
            line.endswith(".") and "{" not in line and "None" not in line for line in lines[:1] if line != "None."
        )


def _links(result: xoff.Result) -> tuple[str, str]:
    ends = {*result.flows["src"].to_pylist(), *result.flows["dst"].to_pylist()}
    return topology.draw(result.links, result.summary["simulated_ps"], ends)


def test_tiers_of_a_fat_tree() -> None:
    svg, note = _links(xoff.run(_ROOT / "examples" / "websearch.toml"))
    assert note == ""
    # 16 hosts, 8 + 8 switches in pods and 4 cores; 16 + 16 + 16 links.
    assert (svg.count("<circle"), svg.count("<rect"), svg.count("<path")) == (16, 20, 48)
    heights = {float(y) for y in re.findall(r'<(?:circle|rect)[^>]*? c?y="([\d.]+)"', svg)}
    assert len({round(height, -1) for height in heights}) == 4


def test_a_large_network_is_drawn_without_hosts_or_not_at_all() -> None:
    def star(switches: int, hosts: int) -> pa.Table:
        pairs = [(f"leaf{index}", f"spine{spine}") for index in range(switches) for spine in range(4)]
        pairs += [(f"host{index}", f"leaf{index % switches}") for index in range(hosts)]
        rows = [
            {"node": a, "peer": b, "rate_bps": 10**11, "utilisation": 0.5, "paused_ps": 0}
            for pair in pairs
            for a, b in (pair, pair[::-1])
        ]
        return pa.Table.from_pylist(rows)

    svg, note = topology.draw(star(50, 4000), 1, [])
    assert svg.count("<path") == 200
    assert "Hosts are left out" in note
    assert "<circle" not in svg
    svg, note = topology.draw(star(1000, 10), 1, [])
    assert (svg, note) == ("", "The network is too large for a drawing; see the table of links.")


def test_hosts_of_a_server_are_in_a_box() -> None:
    rail = {"servers": 4, "gpus_per_server": 8, "rail": {"rate": "400Gbps", "delay": "500ns"}}
    scenario = {"network": {"rail": rail, "servers": {"gpus": 8}}}
    assert (topology.gpus(scenario), topology.gpus({"network": {"star": {"hosts": 4}}})) == (8, 1)
    pairs = [(f"host{8 * server + gpu}", f"rail{gpu}") for server in range(4) for gpu in range(8)]
    rows = [
        {"node": a, "peer": b, "rate_bps": 10**11, "utilisation": 0.5, "paused_ps": 0}
        for pair in pairs
        for a, b in (pair, pair[::-1])
    ]
    svg, _ = topology.draw(pa.Table.from_pylist(rows), 1, [], 8)
    boxes = re.findall(r'class="server" d="M([\d.]+) [\d.]+H([\d.]+)[^>]*><title>([^<]*)', svg)
    assert [name for *_, name in boxes][1] == "server 1: host8 to host15"
    edges = [float(edge) for left, right, _ in boxes for edge in (left, right)]
    assert len(edges) == 8
    assert edges == sorted(edges)
    places = {float(x) for x in re.findall(r'<circle cx="([\d.]+)"', svg)}
    inside = [sum(float(left) < x < float(right) for x in places) for left, right, _ in boxes]
    assert inside == [8, 8, 8, 8]
    assert re.findall(r'class="tier"[^>]*>([^<]*)', svg) == ["8 × rail", "32 × host"]
    # Without consecutive hosts nothing is known of servers.
    assert "server" not in topology.draw(pa.Table.from_pylist(rows[2:]), 1, [], 8)[0]


@pytest.mark.parametrize(
    ("end", "ticks"),
    [
        (609_186_000, [("0", 0.0), ("200 µs", 32.831), ("400 µs", 65.661), ("600 µs", 98.492)]),
        (10**9, [("0", 0.0), ("200 µs", 20.0), ("400 µs", 40.0), ("600 µs", 60.0), ("800 µs", 80.0), ("1 ms", 100.0)]),
        (7, [("0", 0.0), ("2 ps", 28.571), ("4 ps", 57.143), ("6 ps", 85.714)]),
    ],
)
def test_ticks_are_at_round_times(end: int, ticks: list[tuple[str, float]]) -> None:
    result: Any = SimpleNamespace(summary={"simulated_ps": end})
    assert charts.times(result) == ticks


def test_numbers_of_the_traffic_come_first_and_of_the_run_last(scenario: dict[str, Any]) -> None:
    found = [what for what, _ in run_page.build(xoff.run(scenario)).facts]
    assert found[0] == "flows"
    assert found[-5:] == ["simulated", "performance", "fingerprint", "seed", "engine"]


def test_hosts_that_forward_are_hosts(scenario: dict[str, Any]) -> None:
    nodes = [{"name": f"n{index}", "kind": "relay"} for index in range(3)]
    link = {"rate": "100Gbps", "delay": "1us"}
    scenario["network"] = {
        "explicit": {"nodes": nodes, "links": [{"a": "n0", "b": "n1", **link}, {"a": "n1", "b": "n2", **link}]}
    }
    scenario["workload"] = [{"flows": [{"src": "n0", "dst": "n2", "size": "10KB"}]}]
    svg, _ = _links(xoff.run(scenario))
    assert (svg.count("<circle"), svg.count("<rect"), svg.count("<path")) == (2, 1, 2)


def test_the_slowdown_by_size_has_bins_of_equally_many_flows() -> None:
    flows = pa.table(
        {"size_bytes": list(range(100, 0, -1)), "slowdown": [1.0 + size / 10 for size in range(100, 0, -1)]}
    )
    bins = plots.size_bins(flows)
    assert [one.flows for one in bins] == [5] * 20
    assert [one.largest_bytes for one in bins] == list(range(5, 101, 5))
    # Of 1.1 to 1.5: the value at index ⌊5 · 0.5⌋ = 2, and at ⌊5 · 0.99⌋ = 4.
    assert bins[0].median == pytest.approx(1.3)
    assert bins[0].p99 == pytest.approx(1.5)
    assert [one.flows for one in plots.size_bins(flows.slice(0, 3))] == [1, 1, 1]
    assert plots.size_bins(flows.slice(0, 0)) == []


def test_the_report_of_a_result(scenario_file: Path, xoff_here: Command) -> None:
    more = ["--set", "probe.queues=1us", "--set", "switch.flow_control.pfc.xoff=60KB"]
    assert xoff_here("run", scenario_file, *more, "--out", "result").returncode == 0
    done = xoff_here("report", "result")
    assert done.returncode == 0
    place = scenario_file.parent / "result"
    page = (place / "report.html").read_text("utf-8")
    names = {file.name for file in (place / "figures").iterdir()}
    assert names == {
        f"{name}.{kind}"
        for name in ("fct_bars", "fct_cdf", "queue_depth", "pauses", "link_use")
        for kind in ("svg", "png")
    }
    result = xoff.load(place)
    assert result.fingerprint in page
    # Nothing is loaded: no source, no link except within the page.
    for found in re.findall(r'(?:src|href)="([^"]*)"', page):
        assert found.startswith("data:"), found
    assert "Copyright (c) 2022 Leon Sorokin" in page
    assert "@import" not in page
    assert "url(" not in page
    # The embedded scenario runs again, to the same fingerprint.
    (again,) = re.findall(r'download="scenario.json" href="data:application/json;base64,([^"]*)"', page)
    (scenario_file.parent / "again.json").write_bytes(base64.b64decode(again))
    assert xoff.run(scenario_file.parent / "again.json").fingerprint == result.fingerprint
    # A result with its report is a result that another run may replace, report included.
    assert xoff_here("run", scenario_file, "--seed", "8", "--out", "result", "--force").returncode == 0
    assert not (place / "report.html").exists()


def test_the_report_of_a_study(scenario_file: Path, xoff_here: Command) -> None:
    place = scenario_file.parent
    (place / "study.toml").write_text(
        'base = "small.toml"\nname = "<b>small</b>"\nseeds = 2\n[axes]\n"workload[0].incast.size" = ["10KB", "20KB"]\n'
        'switch.flow_control.pfc.xoff = ["90KB", "300KB"]\n'
    )
    assert xoff_here("sweep", "study.toml", "--out", "study").returncode == 1
    assert xoff_here("report", "study").returncode == 0
    page = (place / "study" / "report.html").read_text("utf-8")
    assert "<b>small</b>" not in page
    assert "impossible: switch.flow_control.pfc.xoff: 300KB is above" in page
    (again,) = re.findall(r'download="study.json" href="data:application/json;base64,([^"]*)"', page)
    (place / "study.json").write_bytes(base64.b64decode(again))
    done = xoff_here("sweep", "study.json", "--out", "study", "--json")
    assert json.loads(done.stdout)["simulated"] == 0


def test_an_interrupted_report_leaves_the_one_of_before(scenario_file: Path) -> None:
    place = scenario_file.parent / "result"
    xoff.run(scenario_file, out=place)
    report.write(place)
    before = {file: file.read_bytes() for file in place.rglob("*") if file.is_file()}
    drawn: list[str] = []

    def interrupt(name: str) -> None:
        drawn.append(name)
        if len(drawn) == 2:
            raise KeyboardInterrupt

    (place / "summary.json").write_bytes(before[place / "summary.json"].replace(b"small", b"other"))
    with pytest.raises(KeyboardInterrupt):
        report.write(place, figure=interrupt)
    after = {file: file.read_bytes() for file in place.rglob("*") if file.is_file()}
    assert {file for file in after if after[file] != before.get(file)} == {place / "summary.json"}
    assert after.keys() == before.keys()


def test_a_report_needs_a_result(tmp_path: Path, xoff_here: Command, scenario: dict[str, Any]) -> None:
    done = xoff_here("report", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "holds neither a result (xoff run --out) nor a study (xoff sweep)" in done.stderr
    study = Study({"base": scenario}, tmp_path / "study")
    study.store.open()
    study._write_document()
    with pytest.raises(InputError, match="no run of this study has a result yet"):
        report.write(tmp_path / "study")


def test_a_metric_is_drawn_with_its_intervals(tmp_path: Path) -> None:
    base = {
        "network": {"star": {"hosts": 4, "link": {"rate": "100Gbps", "delay": "1us"}}},
        "switch": {"buffer": {"per_port": "400KB"}, "flow_control": {"pfc": {}}},
        "workload": [{"poisson": {"load": 0.5, "cdf": [[100, 0], [50000, 100]], "flows": 30}}],
    }
    study = xoff.sweep(
        {"base": base, "axes": {"switch.forwarding_latency": ["1us", "2us", "5us"]}, "seeds": 3},
        out=tmp_path / "out",
    )
    (axes,) = study.plot.metric("fct_mean_ps").axes
    assert axes.get_xlabel() == "forwarding latency (µs)"
    assert axes.get_ylabel() == "FCT mean (µs)"
    ((line, *_),) = [container.lines for container in axes.containers]
    means = [one.interval.mean / 1e6 for one in study.means("fct_mean_ps")]
    assert list(line.get_xdata()) == [1, 2, 5]
    assert list(line.get_ydata()) == pytest.approx(means)
    with pytest.raises(InputError, match="x: unknown parameter `delay`; known are forwarding_latency_ps"):
        study.plot.metric("fct_mean_ps", x="delay")
    # Texts are no formulas, including texts of a logarithmic axis.
    axes.set_yscale("log")
    (file,) = plots.save(axes.figure, tmp_path, "log", ("svg",))
    assert "mathdefault" not in file.read_text("utf-8")
    # The same bytes each time.
    one, other = (plots.save(study.plot.bars(), tmp_path / name, "bars") for name in ("one", "other"))
    assert [file.read_bytes() for file in one] == [file.read_bytes() for file in other]
