"""The claim of a run on a result directory: of two different runs that start together, one is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Claim:
    """The claim of a run on its result directory, which other runs into the same directory must agree with."""

    scenario: Mapping[str, Any]
    """The resolved scenario."""
    check: Callable[[Path | None], None]
    """Raises `InputError` if the directory, or the unfinished directory of a live run, has another scenario."""
