"""Places that list new compiled parts: run by ``test_new.py`` in a checkout with one part of each kind.

Only a file and a line of a registry tell the checkout about a part.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import xoff
import xoff.scenario
import xoff.summary
from small import Command
from xoff import running
from xoff.conformance.schema import registered
from xoff.report import run_page
from xoff.study import metrics

_ROOT = Path(__file__).resolve().parents[2]
_TABLES = {
    "switch.flow_control": "brand_new_mechanism",
    "switch.routing": "brand_new_routing",
    "host.transport": "brand_new_transport",
    "host.congestion_control": "brand_new_congestion_control",
    "network": "brand_new_topology",
    "workload": "brand_new_workload",
}
_COUNTS = {
    "brand_new_mechanism": "marks",
    "brand_new_routing": "choices",
    "brand_new_congestion_control": "notifications",
}
_LABELS = {"Brand new mechanism", "Brand new routing", "Brand new congestion control"}
_LINK = {"rate": "100Gbps", "delay": "1us"}
_STAR = {"brand_new_topology": {"hosts": 4, "link": _LINK}}


@pytest.fixture(params=["own-topology", "leaf-spine"])
def scenario(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Returns a scenario with all new parts; the second network has a choice of ports."""
    leaf_spine = {"leaf_spine": {"leaves": 2, "spines": 2, "hosts_per_leaf": 2, "link": _LINK}}
    return {
        "network": _STAR if request.param == "own-topology" else leaf_spine,
        "switch": {"flow_control": {"brand_new_mechanism": {"threshold": "5KB"}}, "routing": {"brand_new_routing": {}}},
        "host": {"transport": {"brand_new_transport": {}}, "congestion_control": {"brand_new_congestion_control": {}}},
        "workload": [
            {"brand_new_workload": {"size": "100KB"}},
            {"incast": {"senders": [1, 2, 3], "receiver": 0, "size": "100KB"}},
        ],
    }


def test_they_are_here() -> None:
    assert Path(xoff.__file__).is_relative_to(_ROOT)


@pytest.mark.parametrize(("path", "name"), _TABLES.items())
def test_schema_reference_and_classes_have_each(path: str, name: str) -> None:
    assert name in registered(path)
    assert f'"{name}"' in (_ROOT / "schema" / "scenario.schema.json").read_text("utf-8")
    assert f"| `{name}` |" in (_ROOT / "docs" / "reference" / "scenario.md").read_text("utf-8")
    section = {"switch.flow_control": "FlowControl", "host.congestion_control": "CongestionControl"}.get(path)
    assert name in get_type_hints(getattr(xoff.scenario, section or path.rpartition(".")[2].capitalize()))


@pytest.mark.parametrize(("name", "count"), _COUNTS.items())
def test_the_typed_summary_has_a_class_for_each_that_counts(name: str, count: str) -> None:
    assert count in get_type_hints(get_type_hints(xoff.Summary)[name])
    assert re.search(rf"^## `{name}`$", (_ROOT / "docs" / "reference" / "summary.md").read_text("utf-8"), re.M)


def test_a_run_shows_them(xoff_here: Command, scenario: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "new.json"
    file.write_text(json.dumps(scenario), "utf-8")
    text = " ".join(xoff_here("run", file).stdout.split())
    assert all(label in text for label in _LABELS)
    summary = json.loads(xoff_here("run", file, "--json").stdout)
    assert {*_COUNTS, "brand_new_transport"} <= {*summary["components"]}
    assert summary["brand_new_mechanism"]["marks"] > 0
    assert summary["brand_new_congestion_control"]["notifications"] > 0
    assert (summary["brand_new_routing"]["choices"] > 0) == ("leaf_spine" in scenario["network"])


def test_a_measure_has_a_key_and_a_table(scenario: dict[str, Any]) -> None:
    result = xoff.run(scenario)
    assert {name: one["largest"] for name, one in result.summary["workloads"].items()} == {  # type: ignore[typeddict-item]
        "brand_new_workload": {"bytes": 100_000},
        "incast": {"bytes": 100_000},
    }
    assert result.table("largest_flows").to_pylist() == [{"bytes": 100_000}] * 2
    assert "largest" in get_type_hints(xoff.summary.WorkloadSummary)
    resolved = running.prepare(scenario).document
    assert "incast_largest_bytes" in metrics.metrics(result.summary).keys() & metrics.possible(resolved)


def test_a_frame_of_a_new_kind_goes_to_the_neighbour(scenario: dict[str, Any]) -> None:
    """Each mark sends a frame, each received frame counts a thousand, and the packet table has the frame's value."""
    result = xoff.run(scenario | {"probe": {"packets": True}})
    heard, marked = divmod(result.summary["brand_new_mechanism"]["marks"], 1000)  # type: ignore[typeddict-item]
    frames = [row for row in result.table("packets").to_pylist() if row["kind"] == "brand_new"]
    assert heard == marked == len([row for row in frames if row["event"] == "depart"]) > 0
    assert len({row["payload_field"] for row in frames}) > 1


@pytest.mark.parametrize("transport", ["brand_new_transport", "go_back_n", "selective", "irn"])
@pytest.mark.parametrize("telemetry", [{}, {"telemetry": {}}], ids=["alone", "telemetry"])
def test_a_field_of_a_control_comes_back_on_answers(
    scenario: dict[str, Any], transport: str, telemetry: dict[str, Any]
) -> None:
    """The control ends the run at an ACK without a tag, or with a tag that differs from its packet's tag."""
    host = scenario["host"] | {"transport": {transport: {}}}
    exact = {"brand_new_congestion_control": {"minimum_rate": "99999999bps"}}
    switch = scenario["switch"] | telemetry
    # With packets of a flow on one path no packet is overtaken, and none is retransmitted.
    in_order = {**switch, "routing": {}}
    kept = xoff.run(scenario | {"switch": in_order, "host": host | {"congestion_control": exact}}).summary
    assert kept["retransmitted"] == 0
    assert kept["flows"]["completed"] == kept["flows"]["total"]
    if transport in {"selective", "irn"}:
        # The others would lose their retransmissions again and again, in step.
        small = switch | {"buffer": {"per_port": "10KB"}}
        lossy = xoff.run(scenario | {"switch": small, "host": host}).summary
        assert lossy["drops"] > 0
        assert lossy["flows"]["completed"] == lossy["flows"]["total"]


def test_a_study_and_a_page_have_their_counts(scenario: dict[str, Any], tmp_path: Path) -> None:
    metrics = [f"{name}_{count}" for name, count in _COUNTS.items()]
    axes = {"switch.flow_control.brand_new_mechanism.threshold": ["5KB", "50KB"]}
    study = xoff.sweep({"base": scenario, "axes": axes, "metrics": metrics}, out=tmp_path / "study")
    assert study.metrics() == metrics
    first, second = (row["brand_new_mechanism_marks"] for row in study.runs.to_pylist())
    assert first > second
    result = xoff.run(scenario)
    (table,) = (table for table in run_page.build(result).tables if table.title == "Counts of parts")
    shown = {row[0].text: row[2].key for row in table.rows}
    assert shown.keys() >= _LABELS
    assert first == result.summary["brand_new_mechanism"]["marks"]  # type: ignore[typeddict-item]
