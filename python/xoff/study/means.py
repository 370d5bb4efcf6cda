"""The means of metrics by point, as rows of a table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from xoff import formatting
from xoff.study.figures import scaled

if TYPE_CHECKING:
    from xoff.study import Mean, Study


def by_point(study: Study, metrics: list[str]) -> tuple[list[str], list[list[tuple[str, Any]]]]:
    """Returns heads, and for each point its cells, each as text and sort key.

    The column after the parameters holds the number of seeds with a result.
    """
    columns, seeds = study.plan.columns, study.seeds_with_result()
    found: dict[str, dict[str, Mean]] = {key: {} for key in seeds}
    for metric in metrics:
        for mean in study.means(metric):
            found[json.dumps(mean.point)][metric] = mean
    heads, scales = [*(column.key for column in columns), "seeds"], {}
    for metric in metrics:
        scales[metric], head = scaled(metric, [one[metric].interval.mean for one in found.values() if metric in one])
        heads.append(head)
    rows = []
    for key, by_metric in found.items():
        point = json.loads(key)
        cells: list[tuple[str, Any]] = [(column.text(point[column.name]), point[column.name]) for column in columns]
        cells.append((f"{seeds[key]} of {len(study.plan.seeds)}", seeds[key]))
        for metric in metrics:
            one = by_metric[metric].interval if metric in by_metric else None
            margin = formatting.spread(one.mean, one.low, one.high, scales[metric]) if one else ""
            text = f"{formatting.number(one.mean / scales[metric], 4)}{margin}" if one else "–"
            cells.append((text, one.mean if one else None))
        rows.append(cells)
    return heads, rows
