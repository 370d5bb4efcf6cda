"""Counts of components are shown, kept and typed as declared, everywhere: no other list of components exists."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from random import Random
from typing import Any, get_type_hints

import pytest

import xoff
import xoff.summary
from small import Command
from xoff.conformance.drawing import draw_scenario
from xoff.conformance.schema import CHOICES, registered
from xoff.report import run_page
from xoff.results import counts
from xoff.study import metrics

_PACKAGE = Path(xoff.__file__).parent
# These pages are about certain mechanisms, with calculators and benchmarks; two are generated.
_NAMING = {"marking.py", "import_.py", "size.py", "cases.py", "training.py", "headroom.py", "scenario.py", "summary.py"}
_BCN = {"switch.flow_control.bcn": {"sample_base": "30KB"}, "host.congestion_control.bcn": {}}


def _given(group: str) -> dict[str, Any]:
    """Returns a small scenario with a component."""
    for path in CHOICES:
        if group in registered(path):
            return draw_scenario(Random(1), {path: group})
        if path.endswith(f".{group}"):
            return draw_scenario(Random(1), {path: registered(path)[0]})
    scenario = draw_scenario(Random(1), {})
    return scenario | {"fault": [{"link": "*-*", "state": "down", "at": "1s"}]} if group == "fault" else scenario


def test_what_is_declared_can_be_told_apart() -> None:
    for group in counts.groups():
        assert len({count.name for count in group.counts}) == len({count.label for count in group.counts})
        assert len({count.name for count in group.counts}) == len(group.counts)
        for count in group.counts:
            endings = {unit for unit in ("ps", "bytes") if count.name.endswith(f"_{unit}")}
            assert endings == {count.unit} - {"number"}
    found = counts.by_metric().values()
    assert len({count.title for count in found}) == len(found) == sum(len(group.counts) for group in counts.groups())


# `tests/python/test_python_controls.py` has the counts of classes in Python, which need permission.
@pytest.mark.parametrize(
    "group", [group for group in counts.groups() if group.name != "python"], ids=lambda group: group.name
)
def test_every_count_is_in_the_summary_the_metrics_and_the_page(group: counts.Group) -> None:
    result = xoff.run(_given(group.name))
    summary: dict[str, Any] = json.loads(json.dumps(result.summary))
    assert summary[group.name].keys() == {count.name for count in group.counts}
    assert metrics.metrics(summary).items() >= {c.metric: summary[group.name][c.name] for c in group.counts}.items()
    page = run_page.build(result)
    (table,) = (table for table in page.tables if table.title == "Counts of parts")
    told = {(row[0].text, row[1].text): row[2].key for row in table.rows}
    # The order of flows is no option: mechanisms that need the order provide it.
    assert group.name in summary["components"] or group.name == "reorder_gates"
    shown = [fact for fact in page.facts if fact[0] in {count.title for count in counts.by_metric().values()}]
    for other in counts.groups():
        for count in other.counts:
            value, is_given = summary[other.name][count.name], other.name in summary["components"]
            assert told.get((count.part, count.label)) == (value if value or is_given else None)
            is_first = is_given and count is other.counts[0]
            assert ((count.title, count.text(value)) in shown) == bool(value or is_first)


def test_the_typed_summary_is_that_of_a_run(scenario: dict[str, Any], tmp_path: Path) -> None:
    sized = scenario | {"ties": "relative", "probe": {"size_classes": ["0B", "50KB"], "replay": True}}
    kept = xoff.load(xoff.run(sized).save(tmp_path / "result")).summary
    types = vars(xoff.summary)
    found: dict[str, Any] = get_type_hints(xoff.Summary)
    # Only runs of serving and of applications of plug-ins have these keys; `cut` is of a run that an interrupt ended.
    assert found.keys() - {"serving", "applications", "cut"} == kept.keys()
    plain: dict[str, Any] = json.loads(json.dumps(kept))
    for group in counts.groups():
        assert found[group.name].__annotations__.keys() == {count.name for count in group.counts}
        assert Path(xoff.summary.__file__).read_text("utf-8").count(f"    {group.name}: ") == 1
    workload = plain["workloads"]["incast"]
    for name, part in {
        "Flows": plain["flows"],
        "Times": plain["fct_ps"],
        "Performance": plain["performance"],
        "Folding": plain["performance"]["folding"],
        "WorkloadSummary": workload,
        "SizeClass": workload["by_size"][0],
    }.items():
        # Counts of collectives and jobs exist for collectives and jobs alone.
        assert types[name].__annotations__.keys() - {"collective", "job"} == part.keys(), name


def test_a_run_shows_the_parts_that_it_has(xoff_here: Command, scenario_file: Path, scenario: dict[str, Any]) -> None:
    changes = [word for key, value in _BCN.items() for word in ("--set", f"{key}={_toml(value)}")]
    text = xoff_here("run", scenario_file, *changes).stdout
    assert "BCN: frames sampled" in text
    assert "SFC" not in text
    assert "DCQCN" not in text
    # Of many counts the nonzero counts; of each component the first.
    calm = scenario | {"workload": [{"flows": [{"src": "host1", "dst": "host0", "size": "1KB"}]}]}
    rows = dict(xoff.run(calm).rows())
    assert rows["PFC pauses"] == "0"
    assert "PFC frames" not in rows
    busy = dict(xoff.run(scenario, overrides={"switch.flow_control.pfc.xoff": "30KB"}).rows())
    assert busy["PFC: paused"].endswith(" µs (summed over the network)")


def _toml(value: dict[str, str]) -> str:
    return "{" + ", ".join(f'{key} = "{text}"' for key, text in value.items()) + "}"


def test_a_study_has_every_count_as_a_metric(scenario: dict[str, Any], tmp_path: Path) -> None:
    every = list(counts.by_metric())
    study = xoff.sweep({"base": scenario, "metrics": every}, out=tmp_path / "study")
    assert study.metrics() == every
    ((_, _, result),) = study.results()
    (row,) = study.runs.to_pylist()
    summary: dict[str, Any] = json.loads(json.dumps(result.summary))
    for metric, count in counts.by_metric().items():
        assert row[metric] == summary[count.group][count.name], metric
        assert study.means(metric)[0].values == {7: row[metric]}


def test_a_study_shows_what_its_parts_counted_first(scenario: dict[str, Any], tmp_path: Path) -> None:
    base = xoff.resolve(scenario, overrides=_BCN | {"switch.flow_control.pfc.xoff": "30KB"})
    study = xoff.sweep({"base": base, "keep": []}, out=tmp_path / "study")
    assert study.metrics() == ["fct_mean_ps", "fct_p99_ps", "pfc_pauses", "bcn_samples"]
    with pytest.raises(xoff.InputError, match="unknown column `bcn_sample`; did you mean `bcn_samples`"):
        xoff.sweep({"base": base, "keep": [], "metrics": ["bcn_sample"]}, out=tmp_path / "other").metrics()


_FOREIGN = {"conformance", "importing", "exporting", "sonic", "counters"}
"""Folders about things that have names of their own elsewhere."""


def test_generic_code_names_no_part() -> None:
    parts = {*registered("switch.flow_control"), *registered("host.congestion_control")}
    labels = {group.label for group in counts.groups() if group.name in parts}
    files = [
        file
        for file in _PACKAGE.rglob("*.py")
        if file.name not in _NAMING
        and not {"conformance", "importing", "exporting", "sonic", "counters"} & {*file.parts}
    ]
    assert len(files) > 40
    for file in files:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            assert text not in parts | labels, (file, text)
            assert not text.startswith(tuple(f"{part}_" for part in parts)), (file, text)
