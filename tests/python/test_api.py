"""The Python interface: accepted inputs, outputs, tables and figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from matplotlib.figure import Figure

import xoff
from xoff.scenario import Buffer, FlowControl, Framing, Incast, Link, Network, Pfc, Scenario, Star, Switch, Workload


def test_sources_agree(scenario: dict[str, Any], scenario_file: Path) -> None:
    prints = {xoff.run(source).fingerprint for source in (scenario, scenario_file, str(scenario_file))}
    assert len(prints) == 1


def test_threads_do_not_matter(scenario: dict[str, Any]) -> None:
    assert len({xoff.run(scenario, threads=threads).fingerprint for threads in (1, 2, 3)}) == 1


def test_overrides(scenario: dict[str, Any]) -> None:
    result = xoff.run(
        scenario, overrides={"network.star.link.delay": "2us", "workload[0].incast.senders": [1, 3]}, seed=11
    )
    assert result.scenario["seed"] == 11
    assert result.flows.num_rows == 2
    assert xoff.resolve(scenario, seed=3)["seed"] == 3


def test_tables(scenario: dict[str, Any]) -> None:
    result = xoff.run(scenario)
    assert result.ok
    flows = pl.DataFrame(result.flows)
    assert flows["workload"].to_list() == ["incast"] * 3
    assert flows["src"].to_list() == ["host1", "host2", "host3"]
    assert (flows["fct_ps"] >= flows["ideal_fct_ps"]).all()
    assert {"links", "pauses", "queues", "drops"} <= set(result.tables)
    assert result.drops.num_rows == 0
    assert sum(result.queues["dropped"].to_pylist()) == 0
    assert all(0 <= share <= 1 for share in result.links["utilisation"].to_pylist())
    with pytest.raises(LookupError, match=r"probe\.packets"):
        _ = result.packets


def test_probes(scenario: dict[str, Any]) -> None:
    result = xoff.run(scenario | {"probe": {"packets": True, "queues": "1us"}})
    assert result.packets.num_rows > 600
    assert result.samples.num_rows > 0
    assert isinstance(result.plot.queue_depth(), Figure)


def test_data_frames(scenario: dict[str, Any], tmp_path: Path) -> None:
    flows = pl.DataFrame({"src": ["host1", "host2"], "dst": ["host0", "host0"], "size": ["100KB", "20KB"]})
    inside = xoff.run(scenario | {"workload": [{"table": flows}]})
    named = scenario | {"workload": [{"table": "flows.csv"}]}
    prints = {inside.fingerprint}
    prints.add(xoff.run(named, tables={"workload[0].table": flows}).fingerprint)
    prints.add(xoff.run(named, tables={"flows.csv": flows.to_arrow()}).fingerprint)
    flows.write_csv(tmp_path / "flows.csv")
    flows.write_parquet(tmp_path / "flows.parquet")
    for name in ("flows.csv", "flows.parquet"):
        prints.add(xoff.run(scenario | {"workload": [{"table": str(tmp_path / name)}]}).fingerprint)
    assert len(prints) == 1


def test_progress(scenario: dict[str, Any]) -> None:
    seen: list[xoff.Progress] = []
    xoff.run(scenario, progress=seen.append)
    assert all(0 <= one.bytes_completed <= one.bytes_total for one in seen)


def test_figures(scenario: dict[str, Any], tmp_path: Path) -> None:
    result = xoff.run(scenario)
    figures = [result.plot.fct_cdf(), result.plot.fct_cdf(slowdown=True, by=None), result.plot.fct_bars(by="src")]
    figures.append(result.plot.pauses())
    for number, figure in enumerate(figures):
        assert "(" in figure.axes[0].get_xlabel() + figure.axes[0].get_ylabel()
        figure.savefig(tmp_path / f"{number}.png")
    with pytest.raises(LookupError, match="colour"):
        result.plot.fct_bars(by="colour")


def test_the_distribution_of_one_flow_is_seen(scenario: dict[str, Any]) -> None:
    scenario["workload"] = [{"flows": [{"src": 0, "dst": 1, "size": "10KB"}]}]
    curve = xoff.run(scenario).plot.fct_cdf().axes[0].lines[0]
    assert list(curve.get_ydata()) == [0, 1]


def test_shown_in_a_notebook(scenario: dict[str, Any]) -> None:
    scenario["name"] = "<b>bold</b>"
    result = xoff.run(scenario)
    shown = result._repr_html_()
    assert "&lt;b&gt;" in shown
    assert result.fingerprint in shown
    assert "3 of 3 flows" in repr(result)


def test_check(scenario: dict[str, Any]) -> None:
    assert xoff.check(scenario)["network"]["hosts"] == 4


def test_a_typed_scenario(scenario: dict[str, Any]) -> None:
    typed = Scenario(
        name="small",
        seed=7,
        network=Network(star=Star(hosts=4, link=Link(rate="100Gbps", delay="1us"))),
        framing=Framing(payload="1000B"),
        switch=Switch(buffer=Buffer(per_port="200KB"), flow_control=FlowControl(pfc=Pfc())),
        workload=[Workload(name="incast", incast=Incast(senders=[1, 2, 3], receiver=0, size="100KB"))],
    )
    assert typed.to_dict() == scenario
    assert xoff.run(typed).fingerprint == xoff.run(scenario).fingerprint


def test_an_arrow_table_of_numbers(scenario: dict[str, Any]) -> None:
    flows = pa.table({"src": ["host1"], "dst": ["host0"], "size": [1000]})
    assert xoff.run(scenario | {"workload": [{"table": flows}]}).flows["size_bytes"].to_pylist() == [1000]
