"""Documents as text: scenarios and studies in TOML and JSON, and single values as in ``--set``."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xoff._core import InputError

MAX_DEPTH = 100
"""Largest depth of nested tables and lists in TOML and JSON."""
# A larger file is not a scenario. Without a limit, reading `/dev/zero` would never end.
_MAX_SCENARIO_BYTES = 64 * 2**20
# Characters that cannot occur in an unquoted key of TOML.
_NO_KEY = frozenset(" \t={}[],")


def read_text(path: Path) -> str:
    """Returns the text of a document.

    Raises `InputError` if the file is missing, too large, or not text.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_SCENARIO_BYTES + 1)
        text = content[:_MAX_SCENARIO_BYTES].decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a directory; a scenario file is needed") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text (byte {error.start} is not valid)") from None
    except ValueError:
        raise InputError(f"{str(path)!r}: is not the name of a file") from None
    if len(content) > _MAX_SCENARIO_BYTES:
        raise InputError(f"{path}: is larger than 64 MiB; large lists of nodes, links or flows go into tables")
    return text


def parse_toml(text: str) -> dict[str, Any]:
    """Returns the document of a TOML text. Raises `ValueError` for other text, or a key of more than 100 parts."""
    # The reader's memory grows with the square of the number of parts of a key.
    if any(_is_deep(line) for line in text.splitlines() if line.count(".") > MAX_DEPTH):
        raise ValueError("nested too deeply")
    return tomllib.loads(text)


def _is_deep(line: str) -> bool:
    """Returns true if a line has a key of more than `MAX_DEPTH` parts."""
    parts = 0
    for part in line.split("."):
        parts = 0 if _NO_KEY.intersection(part.strip()) else parts + 1
        if parts > MAX_DEPTH:
            return True
    return False


def parse_json(path: Path, text: str) -> Any:
    """Returns the document of a JSON text. Raises `ValueError` for other text, and `InputError` for a repeated key."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
            raise InputError(f"{path}: duplicate key `{twice}`")
        return found

    return json.loads(text, object_pairs_hook=unique)


def typed(text: str) -> Any:
    """Returns the value of the text after ``--set key=``. A TOML value (number, boolean, list, quoted text) is parsed.

    Other text stays text. Exception: ``null`` becomes None, which removes a key.
    """
    try:
        value = None if "\n" in text or "\r" in text else parse_toml(f"v = {text}")["v"]
    except (ValueError, RecursionError):
        value = None
    if text.strip() == "null":
        return None
    # A scenario has no dates: a date of TOML stays text.
    return value if isinstance(value, str | int | float | list | dict) else text


def given(value: Any) -> str:
    """Returns a value as the text after ``--set key=``; the inverse of `typed`."""
    if value is None:
        return "null"
    return value if isinstance(value, str) and typed(value) == value else as_toml(value)


def as_toml(value: Any) -> str:
    """Returns a value as TOML."""
    if isinstance(value, str):
        return json.dumps(value).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{as_toml(key)} = {as_toml(part)}" for key, part in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    return json.dumps(value)
