"""Whether what was read from a file of somebody else has the types that are declared for it."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any

_WORDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false", types.NoneType: "null"}


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def mismatch(value: Any, kind: Any, path: str = "") -> str:
    """Say what of a value is not of a type, such as ``flows.total: a whole number is needed``; nothing if all is.

    kind: a class, a union, ``list[…]``, ``dict[str, …]`` or a `TypedDict`, of which keys may be missing, and others may
        be there: those of older and newer versions.
    """
    if kind is Any:
        return ""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in {types.UnionType, typing.Union}:
        found = [mismatch(value, one, path) for one in inner]
        return "" if "" in found else found[0]
    if typing.is_typeddict(kind) or origin is dict:
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            return f"{path}: a table is needed"
        hints = _hints(kind) if origin is None else dict.fromkeys(value, inner[1])
        parts = [mismatch(value[key], hint, f"{path}.{key}".lstrip(".")) for key, hint in hints.items() if key in value]
        return next(filter(None, parts), "")
    if origin is list or origin is tuple:
        if not isinstance(value, list | tuple):
            return f"{path}: a list is needed"
        parts = [mismatch(part, inner[0], f"{path}[{index}]") for index, part in enumerate(value)]
        return next(filter(None, parts), "")
    # True is no number, and a whole number is one.
    allowed = (int, float) if kind is float else kind
    is_right = isinstance(value, allowed) and isinstance(value, bool) == (kind is bool)
    # What counts and times are kept in.
    if is_right and isinstance(value, int) and not -(2**63) <= value < 2**63:
        return f"{path}: it is beyond 64 bits"
    return "" if is_right else f"{path}: {_WORDS[kind]} is needed"
