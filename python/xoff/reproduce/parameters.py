"""The parameters of an experiment: what the document gives, and where, and what is chosen, and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Parameter:
    """One row of an experiment's table."""

    name: str
    value: str
    source: str
    """The slide, section or figure that gives it; or why it is chosen so."""
    is_given: bool
    also: str = ""
    """The other values that every statement is judged with, too."""


def given(name: str, value: str, where: str) -> Parameter:
    """Return what the document gives, and where: it is never changed."""
    return Parameter(name, value, where, is_given=True)


def chosen(name: str, value: str, why: str, also: str = "") -> Parameter:
    """Return what the document leaves open, why it is chosen so, and what else is judged."""
    return Parameter(name, value, why, is_given=False, also=also)


def rows(parameters: Iterable[Parameter]) -> Iterable[tuple[str, str, str, str]]:
    """Name, value, where it is from, and what else is judged."""
    for one in parameters:
        yield one.name, one.value, f"{'given' if one.is_given else 'chosen'}: {one.source}", one.also or "–"
