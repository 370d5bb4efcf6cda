"""Importers of other simulators' scenarios: ``xoff import`` turns files into a scenario with tables.

Imported values keep the meaning; every setting that is not imported is reported, with file and lines.
"""

from __future__ import annotations

from xoff.importing.document import Imported

__all__ = ["Imported"]
