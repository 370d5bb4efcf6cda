"""The parameters of an experiment: values given by the document, with the place, and chosen values with reasons."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Parameter:
    """A row of an experiment's table of parameters."""

    name: str
    value: str
    source: str
    """The slide, section or figure with the value; or the reason of the choice."""
    is_given: bool
    also: str = ""
    """The other values with which every statement is judged, too."""


def given(name: str, value: str, where: str) -> Parameter:
    """Returns a parameter given by the document, with the place; it is never varied."""
    return Parameter(name, value, where, is_given=True)


def chosen(name: str, value: str, why: str, also: str = "") -> Parameter:
    """Returns a parameter that the document leaves open, with the reason of the value and other judged values."""
    return Parameter(name, value, why, is_given=False, also=also)


def rows(parameters: Iterable[Parameter]) -> Iterable[tuple[str, str, str, str]]:
    """Yields name, value, origin, and other judged values."""
    for one in parameters:
        yield one.name, one.value, f"{'given' if one.is_given else 'chosen'}: {one.source}", one.also or "–"
