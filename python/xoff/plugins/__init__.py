"""Plug-ins: mechanisms, congestion controls, transports and workloads of other packages, in Rust.

``xoff plugins build FOLDER…`` links a core with xoff's parts and those of the plug-ins. Each environment has one such
core, which ``xoff`` then uses in the place of the core of the package.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from xoff import _core


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a plug-in: the path of its table in a scenario, and the documentation of the table."""

    path: str
    about: str


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plug-in of the core."""

    name: str
    version: str
    parts: tuple[Part, ...]


def installed() -> list[Plugin]:
    """Returns the plug-ins of the core, by name."""
    listed = json.loads(_core.plugins())
    return [Plugin(one["name"], one["version"], tuple(Part(**part) for part in one["parts"])) for one in listed]
