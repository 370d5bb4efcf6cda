"""Scenarios of other simulators: ``xoff import`` turns their files into a scenario with its tables.

What is carried over has the same meaning here; all else is said, with the file and the lines that it is about.
"""

from __future__ import annotations

from xoff.importing.document import Imported

__all__ = ["Imported"]
