"""The key of a run: a hash of the resolved scenario (with the seed), the tables, and the engine.

A run with a known key need not be repeated.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pyarrow as pa

from xoff import _core, running
from xoff.plugins import installed

SHOWN = ("name", "description")
"""Keys of a scenario that influence no measurement."""


def table_digest(table: pa.Table) -> str:
    """Returns a hash of the content of a table, independent of the layout in memory."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return hashlib.sha256(sink.getvalue()).hexdigest()


def run_key(prepared: running.Prepared, digest: Callable[[pa.Table], str] = table_digest) -> str:
    """Returns the key of a run: equal for runs with equal results."""
    document = {key: value for key, value in prepared.document.items() if key not in SHOWN}
    if workloads := document.get("workload"):
        # The rows that a function returned decide, not the function and its arguments.
        document["workload"] = [{key: one[key] for key in one if key != "python"} for one in workloads]
    tables = {key: digest(table) for key, table in prepared.tables.items()}
    text = json.dumps({"engine": engine(), "scenario": document, "tables": tables}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


@cache
def engine() -> str:
    """Returns the identity of the core: the version, and for a local build also a hash of the compiled core.

    Two builds of a working copy have the same version and may give different results; so have two cores with plug-ins.
    The identity of a released build is only the version, so that machines of several kinds can share a study.
    """
    try:
        released = importlib.metadata.distribution("xoff").read_text("direct_url.json") is None
    except importlib.metadata.PackageNotFoundError:
        released = False
    if released and not installed():
        return _core.version()
    content = Path(str(_core.__file__)).read_bytes()
    return f"{_core.version()}+{hashlib.sha256(content).hexdigest()[:12]}"
