"""The comparison of mechanisms: sizes follow links, rows differ in one part, bounds are bounds, sentences can fail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

import xoff
from xoff import reproduce, running
from xoff.reproduce.changes import changed
from xoff.reproduce.runs import Results
from xoff_experiments.field import answers, main
from xoff_experiments.field._chooser import SWITCHES, choices
from xoff_experiments.field._fabric import AFTER_MS, MAIN, Setting, scenario
from xoff_experiments.field._links import Link, Products
from xoff_experiments.field._mechanisms import CONTROLS, LOSSES, PATHS, grid, name_of, row_of, rows, why_not
from xoff_experiments.field._runs import Alone, Run, Runs, p99, read
from xoff_experiments.field._sentences import above, parts, shorter

_RATE = "network.leaf_spine.link.rate"
_DELAY = "network.leaf_spine.link.delay"
_NDP, _NSCC = "trimming + NDP + spray", "trimming + NSCC + spray"


def _set(setting: Setting, row: str, *changes: tuple[str, str]) -> dict[str, Any]:
    """Returns the scenario of a row after `--set`."""
    name = f"case/{row}/seed 1"
    made = changed({"field/main": {name: scenario(setting, row)}}, changes, {"field/main": main.DERIVED})
    return made["field/main"][name]


@pytest.mark.parametrize("row", list(rows()))
def test_what_follows_from_links_follows_a_rate_that_is_set(row: str) -> None:
    found = _set(MAIN, row, (_RATE, "400Gbps"))
    wanted = running.resolve(scenario(replace(MAIN, gbps=400), row))
    assert found["switch"] == wanted["switch"]
    assert found["host"] == wanted["host"]


def test_products_follow_a_delay_and_what_is_set_itself_wins() -> None:
    link = Link(100_000_000_000, 3_000_000)
    found = _set(MAIN, _NSCC, (_DELAY, "3us"), ("switch.ecn.red.kmin", "7KB"))
    # Eight links of 3 us, and four times a packet and an ACK.
    assert Products().of(link) == round((8 * 3e6 + 4 * 1112 * 80) / 80) == 304_448
    assert found["switch"]["trimming"]["limit"] == "304448B"
    red = found["switch"]["ecn"]["red"]
    assert (red["kmin"], red["kmax"]) == ("7KB", "243558B")


@pytest.fixture(scope="module")
def incasts() -> Mapping[str, tuple[Run, Run]]:
    """One incast alone at 100 Gb/s and, with `--set`, at 400 Gb/s."""
    alone = Setting(traffic="incast")
    rows = ("PFC", "PFC + DCTCP", "BFC", _NDP, _NSCC, "PFC + HPCC")
    # Four times the product is under way: with 12 MB BFC's queues find no room at 400 Gb/s.
    more = ("switch.buffer.shared.total", "48MB")
    return {
        row: (read(xoff.run(scenario(alone, row))), read(xoff.run(_set(alone, row, (_RATE, "400Gbps"), more))))
        for row in rows
    }


def test_no_incast_ends_before_the_least_possible_at_any_rate(incasts: Mapping[str, tuple[Run, Run]]) -> None:
    for row, pair in incasts.items():
        for run in pair:
            assert run.incast is not None
            assert run.incast >= 1, row


def test_ratios_at_400_gbps_are_near_those_at_100(incasts: Mapping[str, tuple[Run, Run]]) -> None:
    for row, (slow, fast) in incasts.items():
        assert fast.incast == pytest.approx(slow.incast, rel=0.15), row


def test_ndp_fills_a_line() -> None:
    settled = running.resolve(scenario(MAIN, _NDP), settled=True)
    product = 8.356e-6 * 100e9 / 8
    window = settled["host"]["transport"]["ndp"]["window"] * 1048
    assert product <= window + 1048
    assert window <= product + 2 * 1048
    setting = replace(MAIN, ms=0.4, oversubscription=1)
    ndp, nscc = (read(xoff.run(scenario(setting, row))) for row in (_NDP, _NSCC))
    assert ndp.long_gbps is not None
    assert nscc.long_gbps is not None
    assert ndp.long_gbps > 0.8 * nscc.long_gbps


def test_what_a_flow_takes_alone_is_the_same_without_a_stamp_and_with_one() -> None:
    told, alone = [], []
    for row in ("PFC", "PFC + HPCC-PINT", "PFC + HPCC"):
        result = xoff.run(scenario(replace(MAIN, ms=0.05, senders=0), row))
        assert result.scenario["framing"]["header"] == f"{48 + row_of(row).stamp}B"
        times = Alone.of(result)
        flows = result.flows.to_pylist()
        told.append(sum(flow["ideal_fct_ps"] for flow in flows))
        alone.append(sorted(round(times.time_ps(flow)) for flow in flows))
    assert told[0] < told[1] < told[2]
    assert alone[0] == alone[1] == alone[2]


def test_what_a_run_was_cut_for_is_a_bound() -> None:
    cut = scenario(replace(MAIN, ms=0.3), "PFC + DCQCN") | {"until": "400us"}
    whole = scenario(replace(MAIN, ms=0.3), "PFC + DCQCN")
    runs = Runs(Results({"a/cut/seed 1": xoff.run(cut), "a/whole/seed 1": xoff.run(whole)}, {}))
    assert runs.told("a", "cut", p99("all"), "all").startswith("≥ ")
    assert not runs.told("a", "whole", p99("all"), "all").startswith("≥")
    assert whole["until"] == f"{0.3 + AFTER_MS:g}ms"


def test_cells_differ_in_one_thing() -> None:
    for (one, mine), (other, theirs) in combinations(grid()[0].items(), 2):
        same = [mine.loss == theirs.loss, mine.control == theirs.control, mine.path == theirs.path]
        assert one != other
        if same == [True, True, False]:
            assert mine.host == theirs.host
            assert _without(mine.switch, "routing") == _without(theirs.switch, "routing")
        if same == [True, False, True] and "NDP" not in {mine.control, theirs.control}:
            assert _without(mine.host, "congestion_control") == _without(theirs.host, "congestion_control")
            assert _without(mine.switch, "ecn", "telemetry") == _without(theirs.switch, "ecn", "telemetry")
        if same == [False, True, True] and {mine.loss, theirs.loss} == {"PFC", "PFC by port"}:
            assert (mine.switch, mine.host) == (theirs.switch, theirs.host)
            assert mine.memory != theirs.memory


def _without(table: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key not in keys}


def test_every_cell_is_a_row_or_has_its_reason() -> None:
    for loss in LOSSES:
        for control in CONTROLS:
            for path in PATHS:
                name = name_of(loss, control, path)
                assert not (why_not(loss, control, path) and name in grid()[0]), name
    # xoff refuses these combinations, and no list repeats the refusals.
    assert not why_not("trimming", "RCCC", "REPS")
    assert name_of("trimming", "RCCC", "REPS") not in grid()[0]
    paths = {row.path for row in grid()[0].values() if (row.loss, row.control) == ("PFC", "DCTCP")}
    assert paths == set(PATHS)
    assert {row.path for row in grid()[0].values() if (row.loss, row.control) == ("PFC", "HPCC")} == {""}


def test_credits_and_pfc_have_the_same_buffer_a_port() -> None:
    one, other = (scenario(MAIN, row)["switch"]["buffer"] for row in ("credits (CBFC)", "PFC by port"))
    assert one == other == {"per_port": "500000B"}


def test_no_collective_is_below_its_bound() -> None:
    for case, setting in main.QUICK.items():
        if case == "main":
            continue
        for row in ("PFC", _NSCC):
            for ratio in (1, 2):
                made = scenario(replace(setting, oversubscription=ratio), row)
                run = read(xoff.run(made))
                assert run.collective_ms is not None
                assert 1 <= run.collective_ms / main.least_ms(made) < 6, (case, row)
    # 62 steps of 32 KB, each on a line and over four links.
    rings = scenario(Setting(traffic="rings", size="1024KB", oversubscription=1), "PFC")
    step_ps = 32 * 1048 * 80 + 4 * 1_000_000 + 3 * 1048 * 80
    assert main.least_ms(rings) == pytest.approx(62 * step_ps / 1e9)


def test_a_sentence_is_told_with_where_it_holds() -> None:
    results = {
        f"{case}/{row}/seed {seed}": xoff.run(scenario(replace(setting, seed=seed), row))
        for case, setting in {
            "incasts": replace(MAIN, ms=0.4),
            "calm": replace(MAIN, ms=0.1, senders=0, load=0.1),
        }.items()
        for row in ("PFC", _NSCC)
        for seed in (1, 2, 3)
    }
    runs = Runs(Results(results, {}))
    sentences = {
        "1": shorter("NSCC is below PFC", _NSCC, "PFC", p99("all"), "p99"),
        "2": shorter("PFC is below NSCC", "PFC", _NSCC, p99("all"), "p99"),
        "3": above("PFC is beyond all", "PFC", p99("all"), 1e9, "p99"),
        "4": shorter("nobody runs it", "BFC", "PFC", p99("all"), "p99"),
    }
    found = parts(sentences, runs)
    assert "incasts" in found["2"].measured["does not hold at"]
    assert found["1"].measured["holds at"] in {"1 of 2 settings", "2 of 2 settings"}
    assert found["3"].measured["holds at"] == "0 of 2 settings"
    assert not found["3"].decision.leans
    assert found["4"].void
    ratio = runs.of("incasts", "PFC", p99("all")) / runs.of("incasts", _NSCC, p99("all"))
    assert ratio > 1
    chosen = choices(runs, {"incasts": ["incasts"]}, p99("all"))
    by_ability = {(can, row[0]): row[2] for row in chosen[1:] for can in row[1].split("; ")}
    assert by_ability["pause", "no"].startswith("**PFC**")
    assert by_ability["mark, trim", "yes"].startswith(f"**{_NSCC}**")
    # Rows for adapters without reordering have no spraying.
    assert ("mark, trim", "no") not in by_ability
    assert {can for can, _ in by_ability} <= set(SWITCHES)


def test_every_order_is_of_five_seeds() -> None:
    for one in reproduce.select(["field"]):
        if one.id == "field/delay":
            continue
        seeds: dict[str, set[str]] = {}
        for name in one.module.scenarios(False):
            row, _, seed = name.rpartition("/seed ")
            seeds.setdefault(row, set()).add(seed)
        assert all(len(of) >= 5 for of in seeds.values()), one.id


def test_the_settings_are_those_that_the_page_promises() -> None:
    settings = answers.CASES.values()
    assert {one.oversubscription for one in settings} == {1, 2}
    assert {one.gbps for one in settings} == {100, 400}
    assert {one.buffer_mb for one in settings} >= {2, 12, 48}
    assert {one.leaves for one in settings} == {8, 64}
    assert {one.senders for one in settings} == {0, 16, 60}


def test_names_of_settings_are_parts_of_names_of_runs() -> None:
    for one in reproduce.select(["field"]):
        if one.id != "field/delay":
            assert {name.count("/") for quick in (True, False) for name in one.module.scenarios(quick)} == {2}, one.id
