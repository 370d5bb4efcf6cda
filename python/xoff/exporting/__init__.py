"""Results for other tools: ``xoff export`` writes what a run recorded in the formats of theirs.

What a format cannot hold is said where its module begins, and in docs/how-to/export.md.
"""

from __future__ import annotations

from xoff.exporting.format import Format, Written

__all__ = ["FORMATS", "Format", "Written"]

FORMATS: dict[str, Format] = {
    "perfetto": Format("xoff.exporting.perfetto", ".perfetto-trace"),
    "pcapng": Format("xoff.exporting.pcapng", ".pcapng.gz"),
    "fct": Format("xoff.exporting.fct", ".fct.txt"),
    "csv": Format("xoff.exporting.csv_tables", "-csv"),
}
"""The formats, by the option of each."""
