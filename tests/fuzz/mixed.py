"""Runs with mixed mechanisms as in the conformance harness, on 1, 2, 3 and 7 threads.

Half of the runs have some settings at the ends of their ranges.
"""

from __future__ import annotations

import io
from random import Random
from typing import Any

import pyarrow.csv
from tests.fuzz import extremes, values
from tests.fuzz.case import Case, steps

import xoff
from xoff.conformance.drawing import draw_scenario

# A flow of a published size distribution can have a gigabyte; a collective of chunks of a byte, a million flows.
_MAX_BYTES, _MAX_FLOWS = 20_000_000, 5_000


def draw(rng: Random) -> Case:
    """Draws a valid scenario with tables as files."""
    while True:
        scenario = draw_scenario(rng, {})
        if _fits(xoff.check(scenario)):
            break
    files: dict[str, bytes] = {}
    if rng.random() < 0.5:
        scenario = extremes.changed(rng, scenario, _fits)
    elif rng.random() < 0.3:
        scenario["until"] = rng.choice(["3us", "30us", "300us"])
    for index, one in enumerate(scenario["workload"]):
        if "table" in one:
            files[f"flows-{index}.csv"] = _csv(one["table"])
            one["table"] = f"flows-{index}.csv"
    return Case({**files, "case.json": values.as_json(scenario)}, steps(["threads", "case.json"]))


def _fits(found: Any) -> bool:
    return bool(found["workload"]["bytes"] < _MAX_BYTES and found["workload"]["flows"] < _MAX_FLOWS)


def _csv(table: Any) -> bytes:
    file = io.BytesIO()
    # As rows, because some libraries have text types without a CSV writer.
    pyarrow.csv.write_csv(pyarrow.Table.from_pylist(pyarrow.table(table).to_pylist()), file)
    return file.getvalue()
