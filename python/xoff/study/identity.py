"""What decides the result of a run, as a key: its resolved scenario (which has the seed), its tables, and the engine.

Whatever else changes around a run whose key is known, it need not be done again.
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

SHOWN = ("name", "description")
"""What a scenario says that changes nothing that is measured."""


def table_digest(table: pa.Table) -> str:
    """A hash of what a table says, however it lies in memory."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return hashlib.sha256(sink.getvalue()).hexdigest()


def run_key(prepared: running.Prepared, digest: Callable[[pa.Table], str] = table_digest) -> str:
    """The key of a run: equal for runs that yield the same."""
    document = {key: value for key, value in prepared.document.items() if key not in SHOWN}
    tables = {key: digest(table) for key, table in prepared.tables.items()}
    text = json.dumps({"engine": engine(), "scenario": document, "tables": tables}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


@cache
def engine() -> str:
    """What computes the runs: the version, and for a build of one's own also a hash of the compiled core.

    Two builds of a working copy have the same version and may yield different results. A released build is known by
    its version alone, so that machines of several kinds can share a study.
    """
    try:
        released = importlib.metadata.distribution("xoff").read_text("direct_url.json") is None
    except importlib.metadata.PackageNotFoundError:
        released = False
    if released:
        return _core.version()
    content = Path(str(_core.__file__)).read_bytes()
    return f"{_core.version()}+{hashlib.sha256(content).hexdigest()[:12]}"
