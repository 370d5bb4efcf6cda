"""Type checks of values read from foreign files, against declared types."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

_WORDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false", types.NoneType: "null"}


_Check: TypeAlias = Callable[[Any], tuple[str, str] | None]
"""Returns the path of the first mismatch below a value, and the needed type; None if the value matches."""


def mismatch(value: Any, kind: Any, path: str = "") -> str:
    """Returns the first mismatch of a value, such as ``flows.total: a whole number is needed``; empty if none.

    kind: a class, a union, ``list[…]``, ``dict[str, …]`` or a `TypedDict`. A `TypedDict` may lack keys or have
        additional ones, as in files of older and newer versions.
    """
    found = _check(kind)(value)
    return f"{path}{found[0]}: {found[1]}".lstrip(".") if found else ""


@cache
def _check(kind: Any) -> _Check:
    """Returns the check of a type. It is built once: a study has thousands of summaries."""
    if kind is Any:
        return lambda _: None
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in {types.UnionType, typing.Union}:
        return _any([_check(one) for one in inner])
    if typing.is_typeddict(kind):
        return _table({key: _check(hint) for key, hint in typing.get_type_hints(kind).items()})
    if origin is dict:
        return _table(None, _check(inner[1]))
    if origin is list or origin is tuple:
        return _list(_check(inner[0]))
    return _plain(kind)


def _any(checks: Sequence[_Check]) -> _Check:
    def check(value: Any) -> tuple[str, str] | None:
        found = [one(value) for one in checks]
        return None if None in found else found[0]

    return check


def _table(keys: Mapping[str, _Check] | None, each: _Check | None = None) -> _Check:
    """Returns the check of a table with these keys, or with any keys if None."""

    def check(value: Any) -> tuple[str, str] | None:
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            return "", "a table is needed"
        for key in value if keys is None else keys:
            one = each if keys is None else keys[key]
            if key in value and one is not None and (found := one(value[key])):
                return f".{key}{found[0]}", found[1]
        return None

    return check


def _list(each: _Check) -> _Check:
    def check(value: Any) -> tuple[str, str] | None:
        if not isinstance(value, list | tuple):
            return "", "a list is needed"
        for index, part in enumerate(value):
            if found := each(part):
                return f"[{index}]{found[0]}", found[1]
        return None

    return check


def _plain(kind: Any) -> _Check:
    # True is not a number; a whole number is a float.
    allowed = (int, float) if kind is float else kind

    def check(value: Any) -> tuple[str, str] | None:
        if not isinstance(value, allowed) or isinstance(value, bool) != (kind is bool):
            return "", f"{_WORDS[kind]} is needed"
        # Counts and times are 64 bits wide.
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            return "", "beyond 64 bits"
        return None

    return check
