"""The published experiments of xoff: a folder for each document, and a file for each experiment.

`xoff.reproduce` defines the content of an experiment's file. The package is found by its entry point in the group
``xoff.experiments``. ``verdicts.json`` has the verdicts of the quick variants, which a test compares with new runs.
"""

from __future__ import annotations

DOCUMENTS = (
    "sfc",
    "sfc-proxy",
    "congestion-isolation",
    "bcn",
    "portfc",
    # Our own studies follow the five documents.
    "field",
    "ai-fabrics",
    "serving",
    "hardware",
)
"""The order of the documents in lists."""
