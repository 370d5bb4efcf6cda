"""Data frames as values of a study's parameters: a text stands for each frame, and the frames are kept by text.

The text is a hash of rows, types and metadata: a study with an equal frame finds the runs of an earlier study. The
metadata of pandas and of polars differ, so that equal rows of the two libraries are two frames.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from xoff._core import InputError
from xoff.files.tables import is_table, read_table
from xoff.study.identity import table_digest

_PARTS = ("axes", "variants")
_DIGITS = 16


def taken(document: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, pa.Table]]:
    """Returns a study with a text in the place of each data frame of an axis or a variant, and the frames by text.

    Raises `InputError` with the key for a frame without a name, or a frame that is no table.
    """
    found: dict[str, pa.Table] = {}

    def text(frame: Any, key: str) -> str:
        table = read_table(key, frame)
        name = f"frame-{table_digest(table)[:_DIGITS]}"
        found[name] = table
        return name

    parts = {key: _replaced(document[key], key, text) for key in _PARTS if key in document}
    return {**document, **parts}, found


def of_settings(settings: Sequence[tuple[str, Any]], frames: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """Returns the frames that these settings name, by text."""
    return {value: frames[value] for _, value in settings if isinstance(value, str) and value in frames}


def _replaced(value: Any, key: str, text: Callable[[Any, str], str]) -> Any:
    if is_table(value):
        return text(value, key)
    if isinstance(value, Mapping):
        return {name: _replaced(inner, f"{key}.{name}", text) for name, inner in value.items()}
    if isinstance(value, list | tuple) and any(is_table(inner) for inner in value):
        path = key.partition(".")[2]
        raise InputError(
            f"{key}: a data frame needs a name in tables and figures; give "
            f'{{"{path}": {{"values": {{"small": frame, "large": other}}}}}}'
        )
    return value
