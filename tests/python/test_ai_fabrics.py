"""SFC in AI fabrics: rows differ in one change, sizes follow the document, and the page has the numbers of the runs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from xoff import running
from xoff_experiments.ai_fabrics import checkpoint, decode, headroom, tuning
from xoff_experiments.ai_fabrics._checkpoint import ALONE, GPUS, JOB, STORAGE, WRITES, Setting, scenario
from xoff_experiments.ai_fabrics._decode import scenario as decode_scenario
from xoff_experiments.ai_fabrics._rows import (
    CI,
    CI_ROWS,
    DCQCN,
    DCQCN_CI,
    DCQCN_SFC,
    DYNAMIC,
    ISOLATION,
    PFC,
    PRIORITY,
    PROXY,
    ROWS,
    SFC,
    TARGET,
    TURNS,
    Fabric,
)

_ROOT = Path(__file__).resolve().parents[2]
_DOCUMENT = _ROOT / "docs" / "experiments" / "ai-fabrics"
_CHANGES: Mapping[str, tuple[str, set[str]]] = {
    TURNS: (PFC, {"switch.classes", "switch.scheduler", "class"}),
    PRIORITY: (TURNS, {"switch.scheduler"}),
    SFC: (PFC, {"switch.flow_control.sfc"}),
    DYNAMIC: (SFC, {"switch.flow_control.sfc"}),
    TARGET: (SFC, {"switch.flow_control.sfc"}),
    PROXY: (SFC, {"switch.flow_control.sfc"}),
    ISOLATION: (PROXY, {"switch.flow_control.sfc"}),
    CI: (PFC, {"switch.classes", "switch.scheduler", "switch.flow_control.congestion_isolation", "class"}),
    DCQCN: (PFC, {"switch.ecn", "host.congestion_control"}),
    DCQCN_SFC: (DCQCN, {"switch.flow_control.sfc"}),
    DCQCN_CI: (DCQCN, {"switch.classes", "switch.scheduler", "switch.flow_control.congestion_isolation", "class"}),
}
"""Of each row: the row before the change, and the changed tables."""
_DECODE = decode.SETTINGS[decode.MAIN]


def _leaves(table: Any, path: str = "") -> dict[str, Any]:
    """Returns the values of a scenario by path."""
    if isinstance(table, Mapping):
        found: dict[str, Any] = {}
        for key, value in table.items():
            found |= _leaves(value, f"{path}.{key}" if path else str(key))
        return found
    if isinstance(table, list):
        found = {}
        for place, value in enumerate(table):
            found |= _leaves(value, f"{path}[{place}]")
        return found
    return {path: table}


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> set[str]:
    mine, theirs = _leaves(one), _leaves(other)
    return {path for path in mine.keys() | theirs.keys() if mine.get(path) != theirs.get(path)} - {"name"}


@pytest.mark.parametrize("row", list(_CHANGES))
def test_a_row_differs_from_another_row_in_one_change(row: str) -> None:
    before, tables = _CHANGES[row]
    for one, other in (
        (scenario(Setting(), row), scenario(Setting(), before)),
        (decode_scenario(_DECODE, row), decode_scenario(_DECODE, before)),
    ):
        paths = _differing(one, other)
        known = {path for path in paths if any(path == table or path.startswith(f"{table}.") for table in tables)}
        known |= {path for path in paths if "class" in tables and path.endswith(".class")}
        assert paths == known
        assert paths


def test_every_row_has_a_listed_change() -> None:
    assert {PFC, *_CHANGES} == set(ROWS)


@pytest.mark.parametrize("row", ROWS)
def test_all_rows_have_the_same_xoff(row: str) -> None:
    for at, setting in checkpoint.SETTINGS.items():
        pfc = scenario(setting, row)["switch"]["flow_control"]["pfc"]
        assert pfc == scenario(setting, PFC)["switch"]["flow_control"]["pfc"], at
    main = running.resolve(scenario(Setting(), row))["switch"]["flow_control"]
    assert main["pfc"]["xoff"] == "1.6MB"
    if row in CI_ROWS:
        assert main["congestion_isolation"]["cim_threshold"] == "800KB"


def test_sizes_of_sfc_are_those_of_the_documents_calculation() -> None:
    # 3 links of 150 ns, 5 switches of 300 ns: R = 2.4 us; (8 - 1) R = 16.8 us; half of the range of 8 us above.
    fabric = Fabric()
    assert fabric.round_trip_us == pytest.approx(2.4)
    assert fabric.headroom_us == pytest.approx(16.8)
    assert fabric.sfc_us == pytest.approx((8.0, 20.8))
    assert fabric.size(8) == "400000B"
    assert Fabric(gbps=200).size(8) == "200000B"
    # Where XOFF leaves too little headroom, the threshold sinks to the document's smallest, 50 KB at 200 Gb/s.
    assert Fabric(xoff_us=8).sfc_us == pytest.approx((2.0, 17.8))
    assert Fabric(link_ns=10_000).sfc_us[0] == 2.0
    # The target is a quarter of the threshold, and below it also where the threshold sinks.
    sunk = scenario(checkpoint.SETTINGS["XOFF 8 µs"], TARGET)["switch"]["flow_control"]["sfc"]
    assert (sunk["threshold"], sunk["target"]) == ("100000B", "25000B")
    assert headroom.of_document(Fabric()) == pytest.approx(1_240_000)
    assert headroom.by_input(Fabric()) == pytest.approx(520_000)


def test_rates_scale_sizes_alone() -> None:
    slow, fast = (scenario(checkpoint.SETTINGS[at], SFC)["switch"] for at in ("main", "800G"))
    assert fast["flow_control"]["sfc"]["pause"] == slow["flow_control"]["sfc"]["pause"]
    assert fast["flow_control"]["sfc"]["threshold"] == "800000B"
    assert slow["flow_control"]["sfc"]["threshold"] == "400000B"


def test_settings_are_what_they_are_called() -> None:
    made = {at: scenario(setting, PFC) for at, setting in checkpoint.SETTINGS.items()}
    main = made[checkpoint.MAIN]
    writes = {at: one["workload"][1]["flows"] for at, one in made.items()}
    assert len(writes["main"]) == GPUS
    assert {flow["dst"] for flow in writes["main"]} == set(range(GPUS, GPUS + STORAGE))
    assert len(writes["16 writers"]) == 16
    apart = made["another job writes"]["workload"]
    assert not {flow["src"] for flow in writes["another job writes"]} & set(apart[0]["training"]["hosts"])
    shape = main["network"]["leaf_spine"]
    assert shape["hosts_per_leaf"] == 2 * shape["spines"]
    across = made["ring across leaves"]["workload"][0]["training"]["hosts"]
    assert sorted(across) == list(range(GPUS))
    assert all(one // 8 != other // 8 for one, other in zip(across, [*across[1:], across[0]], strict=True))
    alone = scenario(Setting(), next(iter(ALONE)))
    assert [one["name"] for one in alone["workload"]] == [JOB]
    assert [one["name"] for one in main["workload"]] == [JOB, WRITES]


def test_every_setting_changes_the_main_setting() -> None:
    for module, make in ((checkpoint, scenario), (decode, decode_scenario)):
        main = make(module.SETTINGS[module.MAIN], SFC)
        for at, setting in module.SETTINGS.items():
            assert bool(_differing(make(setting, SFC), main)) == (at != module.MAIN), at


def test_variants_change_the_row_of_their_mechanism() -> None:
    for row, variants, jobs in tuning.GROUPS.values():
        for name, fabric in variants.items():
            for job in jobs:
                base = tuning.JOBS[job]
                changed = scenario(Setting(job=base.job, fabric=fabric), row)
                assert _differing(changed, scenario(base, row)), name


_LINES = _DOCUMENT.with_suffix(".md").read_text("utf-8").partition("Written by")[0].splitlines()
_PAGE = " ".join(" ".join(line for line in _LINES if not line.startswith("|")).split())
"""The prose of the introduction, without its tables."""
_CLAIMS = {one["id"]: one for one in json.loads(_DOCUMENT.with_suffix(".json").read_text("utf-8"))["claims"]}


def test_the_counts_of_the_page_are_those_of_the_runs() -> None:
    told = re.findall(r"at (\d+) of (\d+) settings \(([CDHTV]\.\d+)\)", _PAGE)
    assert len(told) >= 15
    for held, every, short in told:
        measured = _CLAIMS[f"ai-fabrics/{short}"]["measured"]
        assert measured["holds at"] == f"{held} of {every} settings", short


def test_every_sentence_that_fails_is_on_the_page() -> None:
    named = set(re.findall(r"\b([CDHTV]\.\d+)\b", _PAGE))
    failing = {id.partition("/")[2] for id, one in _CLAIMS.items() if one["direction"] != "holds"}
    assert failing <= named


def test_the_first_paragraph_has_the_costs_of_the_main_setting() -> None:
    rows = re.findall(r"^\| ([^|]+) \| ([\d.]+) ± [\d.]+ \|", "\n".join(_LINES), re.M)
    costs = {row: float(cost) for row, cost in reversed(rows)}
    told = re.findall(
        r"(\d+) % (?:longer )?(?:under|with) (?:a )?(PFC|SFC with a fixed|SFC with a pause to a target|second class)",
        _PAGE,
    )
    named = {"SFC with a fixed": SFC, "SFC with a pause to a target": TARGET, "second class": TURNS, "PFC": PFC}
    first = {named[what]: int(cost) for cost, what in reversed(told)}
    assert set(first) == {PFC, SFC, TARGET, TURNS}
    assert {row: round(costs[row]) for row in first} == first
