"""Exporters to the formats of other tools: ``xoff export`` writes the recorded data of a run.

The docstring of each module, and docs/how-to/export.md, state the limits of its format.
"""

from __future__ import annotations

from xoff.exporting.format import Format, Written

__all__ = ["FORMATS", "Format", "Written"]

FORMATS: dict[str, Format] = {
    "perfetto": Format("xoff.exporting.perfetto", ".perfetto-trace"),
    "pcapng": Format("xoff.exporting.pcapng", ".pcapng.gz"),
    "fct": Format("xoff.exporting.fct", ".fct.txt"),
    "counters": Format("xoff.exporting.counters", ".counters.csv"),
    "csv": Format("xoff.exporting.csv_tables", "-csv"),
}
"""The formats, by their option."""
