"""Differences of all metrics of a study from its first variant: what the best choice gains, and what it costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import xoff
from small import Command
from xoff.report import study_page
from xoff.study import Study, differences

METRICS = ["first_fct_mean_ps", "second_fct_mean_ps", "drops"]


@pytest.fixture
def study(scenario: dict[str, Any], tmp_path: Path) -> Study:
    """Two flows share a link; the variants give one of them a higher class."""
    scenario["switch"] |= {"classes": 2, "scheduler": "strict"}
    scenario["workload"] = [
        {"name": name, "class": 0, "flows": [{"src": src, "dst": 0, "size": "400KB"}]}
        for name, src in (("first", 1), ("second", 2))
    ]
    first, second = ({f"workload[{number}].class": 1} for number in range(2))
    variants = {"equal": {}, "first goes first": first, "second goes first": second}
    document = {"scenario": scenario, "variants": variants, "seeds": 2, "metrics": METRICS}
    return xoff.sweep(document, out=tmp_path / "study")


def test_every_metric_has_its_difference_in_percent(study: Study) -> None:
    found = differences.of_study(study, METRICS)
    assert [(one.metric, one.variant) for one in found] == [
        (metric, variant) for metric in METRICS for variant in ("first goes first", "second goes first")
    ]
    means = {(one.point["variant"], metric): one.interval.mean for metric in METRICS for one in study.means(metric)}
    for one in found[:4]:
        expected = 100 * (means[one.variant, one.metric] / means["equal", one.metric] - 1)
        assert one.percent is not None
        assert one.percent[0] == pytest.approx(expected)
        assert one.percent[1] <= one.percent[0] <= one.percent[2]
    # Nothing is lost in any variant: a share of zero does not exist.
    assert [one.percent for one in found[4:]] == [None, None]


def test_the_best_is_told_with_its_price(study: Study) -> None:
    told = differences.price(study, METRICS)
    assert told is not None
    assert told.startswith("Against equal, first goes first changes first FCT mean -")
    assert "second FCT mean +" in told or "second FCT mean -" in told
    assert differences.price(study, METRICS[:1]) is None


def test_the_page_and_the_table_show_every_metric(study: Study, tmp_path: Path, xoff_here: Command) -> None:
    page = study_page.build(study)
    assert "differences" in page.figures
    assert [one.title for one in page.effects] == ["Differences from equal"]
    assert page.effects[0].notes == [differences.price(study, METRICS)]
    figure = page.figures["differences"]()
    [axes] = figure.axes
    assert len(axes.get_yticks()) == 4
    assert "difference from equal in percent" in axes.get_xlabel()
    again = xoff_here("report", "study", "--summary")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "study" / "summary.pdf").is_file()
