"""Whether what was read from a file of somebody else has the types that are declared for it."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

_WORDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false", types.NoneType: "null"}


_Check: TypeAlias = Callable[[Any], tuple[str, str] | None]
"""Says where below a value something is not as it should be, and what is needed there; None if all is."""


def mismatch(value: Any, kind: Any, path: str = "") -> str:
    """Say what of a value is not of a type, such as ``flows.total: a whole number is needed``; nothing if all is.

    kind: a class, a union, ``list[…]``, ``dict[str, …]`` or a `TypedDict`, of which keys may be missing, and others may
        be there: those of older and newer versions.
    """
    found = _check(kind)(value)
    return f"{path}{found[0]}: {found[1]}".lstrip(".") if found else ""


@cache
def _check(kind: Any) -> _Check:
    """How a type is looked for, worked out once: a study has thousands of summaries."""
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
    """Of these keys, or of any with values of one type."""

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
    # True is no number, and a whole number is one.
    allowed = (int, float) if kind is float else kind

    def check(value: Any) -> tuple[str, str] | None:
        if not isinstance(value, allowed) or isinstance(value, bool) != (kind is bool):
            return "", f"{_WORDS[kind]} is needed"
        # What counts and times are kept in.
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            return "", "it is beyond 64 bits"
        return None

    return check
