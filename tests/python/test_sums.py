"""A sum over flows, queues or moments is labelled, or is a mean or a share: no reader takes it for one thing."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

import xoff
from xoff import Result, formatting, plots
from xoff.insight import ports, words
from xoff.insight.trees import Forest
from xoff.report import charts
from xoff.results import counts
from xoff.results.spans import covered

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="module")
def result() -> Result:
    """An incast whose pauses ask again and again: the same waiting bytes are seen at hundreds of requests."""
    return xoff.run(EXAMPLES / "incast.toml", overrides={"probe.delays": "all"})


@pytest.mark.parametrize("seed", range(30))
def test_covered_time_is_the_time_with_a_span(seed: int) -> None:
    draw = random.Random(seed)
    spans = [(start, start + draw.randint(0, 12)) for start in (draw.randint(0, 40) for _ in range(draw.randint(0, 9)))]
    assert covered(spans) == sum(any(start <= at < end for start, end in spans) for at in range(60))


def test_no_flow_fills_a_queue_with_more_than_its_size(result: Result) -> None:
    sizes = dict(zip(result.flows["flow"].to_pylist(), result.flows["size_bytes"].to_pylist(), strict=True))
    forest = Forest(result)
    assert max(tree.requests for tree in forest.trees) > 100
    for tree in forest.trees:
        assert all(size <= sizes[flow] for flow, size in tree.waiting.items())
        text = "\n".join(words.tree(tree, forest))
        for flow, number, unit in re.findall(r"flow (\d+) \(([\d.]+) ([KM]?B), ", text):
            assert float(number) * {"B": 1, "KB": 1e3, "MB": 1e6}[unit] <= 1.05 * sizes[int(flow)], text
        assert ("on average over" in text) == (tree.requests > 1 and bool(tree.contributors))
        assert (" together, " in text) == (len(tree.lost) > 1)
        (found,) = {one["mean_bytes"] - tree.waiting[one["flow"]] for one in tree.to_dict()["contributors"]} or {0}
        assert found == 0


def test_no_port_is_paused_for_longer_than_the_run(result: Result) -> None:
    whole = result.summary["simulated_ps"]
    for _, spans in plots.paused_ports(result):
        assert 0 < plots.paused_us(spans) * 1e6 <= whole
    assert all(float(row["share"].rstrip("%")) <= 100 for row in charts.timeline(result))
    for name in {f"{row['node']}:{row['port']}" for row in result.pauses.to_pylist()}:
        assert all(0 < pause["ps"] <= whole for pause in ports.facts(result, name)["pauses"])


def test_pauses_of_several_queues_do_not_add_up(monkeypatch: pytest.MonkeyPatch, result: Result) -> None:
    """Two queues of a port are paused at the same time."""
    rows = result.pauses.to_pylist()[:1] * 2
    monkeypatch.setitem(result._cache, "pauses", type(result.pauses).from_pylist(rows, result.pauses.schema))
    ((_, spans),) = plots.paused_ports(result)
    one = rows[0]["end_ps"] - rows[0]["start_ps"]
    assert plots.paused_us(spans) * 1e6 == pytest.approx(one)
    (pause,) = ports.facts(result, f"{rows[0]['node']}:{rows[0]['port']}")["pauses"]
    assert (pause["count"], pause["ps"]) == (2, one)


def test_every_time_of_a_part_is_labelled_as_a_sum(result: Result) -> None:
    rows = dict(result.rows())
    assert rows["PFC: paused"] == f"{formatting.time(result.summary['pfc']['paused_ps'])} (summed over the network)"
    for group in counts.groups():
        for count in group.counts:
            assert ("summed over" in count.text(7)) == (count.unit == "ps")
            assert "summed" not in count.text(0)
