"""Bars of parts and trees of pauses on the page of a run equal the result."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

import xoff
from xoff import report
from xoff.insight import Forest, breakdowns
from xoff.report import delays, run_page


@pytest.fixture
def result(scenario: dict[str, Any]) -> xoff.Result:
    """The small scenario with little memory, and all of its delays."""
    return xoff.run(
        {
            **scenario,
            "switch": {"buffer": {"per_port": "60KB"}, "flow_control": {"pfc": {}}},
            "probe": {"delays": "all"},
        }
    )


def test_bars_are_as_long_as_completion_times(result: xoff.Result) -> None:
    shown = delays.build(result)
    assert shown is not None
    found = sorted(breakdowns(result), key=lambda one: -one.flow["slowdown"])
    assert [bar.flow for bar in shown.bars] == [one.number for one in found]
    longest = max(one.total_ps for one in found)
    for bar, one in zip(shown.bars, found, strict=True):
        assert sum(ps for _, _, ps in bar.rows) == one.total_ps
        ends = [(piece.left, piece.left + piece.width) for piece in bar.pieces]
        assert ends[0][0] == 0
        assert ends[-1][1] == pytest.approx(100 * one.total_ps / longest, abs=0.03)
        # Pieces follow one another, and neighbours differ.
        assert all(a[1] == pytest.approx(b[0], abs=0.03) for a, b in pairwise(ends))
        groups = [piece.group for piece in bar.pieces]
        assert all(a != b for a, b in pairwise(groups))
    assert {name for name, _ in shown.groups} == {piece.group for bar in shown.bars for piece in bar.pieces}


def test_a_tree_names_its_ports_as_the_map_does(result: xoff.Result) -> None:
    [tree] = Forest(result).trees
    built = delays.build(result)
    assert built is not None
    [shown] = built.trees
    links = [(row["node"], row["port"]) for row in result.links.to_pylist()]
    assert {links[port] for port in shown.ports} == tree.ports
    assert shown.root is not None
    assert links[shown.root] == ("switch0", 0)
    page = report.render(run_page.build(result))
    assert f'data-root="{shown.root}" data-ports="{" ".join(map(str, shown.ports))}"' in page
    assert '<a href="#flow-2">flow 2</a>' in page


def test_without_the_records_it_says_how_to_have_them(scenario: dict[str, Any]) -> None:
    shown = delays.build(xoff.run(scenario))
    assert shown is not None
    assert (shown.bars, shown.trees) == ([], [])
    [note] = shown.notes
    assert "probe.delays" in note
    assert "xoff explain" in note
    some = delays.build(xoff.run({**scenario, "probe": {"delays": [1]}}))
    assert some is not None
    assert [bar.flow for bar in some.bars] == [1]
    assert any("Only some flows" in note for note in some.notes)


def test_names_stay_text(scenario: dict[str, Any]) -> None:
    hosts = ["<script>alert(1)</script>", "flow 1", "h2"]
    nodes = [{"name": name, "kind": "host"} for name in hosts] + [{"name": "s", "kind": "switch"}]
    links = [{"a": name, "b": "s", "rate": "100Gbps", "delay": "1us"} for name in hosts]
    document = {
        **scenario,
        "network": {"explicit": {"nodes": nodes, "links": links}},
        "switch": {"buffer": {"per_port": "30KB"}, "flow_control": {"pfc": {}}},
        "workload": [{"incast": {"senders": hosts[1:], "receiver": hosts[0], "size": "100KB"}}],
        "probe": {"delays": "all"},
    }
    page = report.render(run_page.build(xoff.run(document)))
    assert "<script>alert" not in page
