"""Importers of other simulators' scenarios: ``xoff import`` turns their files into a scenario with its tables.

Imported values keep their meaning; every other setting is reported, with file and lines.
"""

from __future__ import annotations

from xoff.importing.document import Imported

__all__ = ["Imported"]
