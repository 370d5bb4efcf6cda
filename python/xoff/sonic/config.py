"""A ``config_db.json`` file: untrusted JSON becomes tables of texts, with errors that name file, table, key and field.

A file is read as SONiC writes it: tables, entries and fields, each an object, and each value a text. Tables and fields
that `xoff.sonic.fields` does not list are named and not read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from xoff import formatting
from xoff._core import InputError
from xoff.importing.source import read_bytes, shown
from xoff.sonic.fields import PLAIN_MAPS, TABLES, Kind

MAX_BYTES = 2**25
"""Size limit of a file. A switch with 512 ports has less than 1 MB."""
MAX_ENTRIES = 2**14
"""Limit of the entries of a table. A switch with 512 ports and a separate entry for each queue has 8,192."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
_REFERENCE = re.compile(r"\[(\w+)\|([^\[\]]*)\]")
_RANGE = re.compile(r"([0-9]{1,2})(?:-([0-9]{1,2}))?")

Entry = Mapping[str, str]


@dataclass(slots=True)
class Config:
    """The tables of a file that xoff reads, by table, key and field."""

    path: Path
    name: str
    """The name of the switch."""
    tables: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    """Tables and fields (``TABLE.field``) without a meaning here."""

    def table(self, name: str) -> dict[str, dict[str, str]]:
        """Returns the entries of a table; none if the file lacks the table."""
        return self.tables.get(name, {})

    def wrong(self, table: str, key: str, why: str, fieldname: str = "") -> NoReturn:
        """Raises `InputError` for an entry or a field."""
        raise InputError(f"{self.path}: {place(table, key, fieldname)}: {why}")

    def number(self, table: str, key: str, fieldname: str, default: int | None = None) -> int | None:
        """Returns a field as a whole number, or the default without the field."""
        text = self.table(table).get(key, {}).get(fieldname)
        return default if text is None else int(text)

    def target(self, table: str, key: str, fieldname: str) -> str | None:
        """Returns the key that a field refers to, as ``name`` or ``[TABLE|name]``; None without the field.

        Raises `InputError` if the entry is missing.
        """
        text = self.table(table).get(key, {}).get(fieldname)
        if text is None:
            return None
        wanted = TABLES[table].fields[fieldname].refers
        found = _REFERENCE.fullmatch(text)
        if found and found[1] != wanted:
            self.wrong(table, key, f"{shown(text)} refers to {found[1]}; an entry of {wanted} is needed", fieldname)
        name = found[2] if found else text
        if name not in self.table(wanted):
            self.wrong(table, key, f"{wanted} has no entry {shown(name)}", fieldname)
        return name

    def ports_and_numbers(self, table: str, key: str, most: int) -> tuple[list[str], list[int]]:
        """Returns the ports and the numbers of a key such as ``Ethernet0,Ethernet4|3-4``."""
        ports, bar, numbers = key.rpartition("|")
        found = _RANGE.fullmatch(numbers)
        first = int(found[1]) if found else 0
        last = int(found[2] or found[1]) if found else -1
        if not bar or not ports or not first <= last <= most:
            self.wrong(table, key, f"the key is not PORT|N or PORT|N-M with numbers from 0 to {most}")
        return ports.split(","), list(range(first, last + 1))


def place(table: str, key: str = "", fieldname: str = "") -> str:
    """Returns table, key and field as messages name the place, shortened."""
    parts = [part if len(part) <= 80 else f"{part[:80]}…" for part in (table, key) if part]
    return formatting.plain("|".join(parts) + (f": {fieldname[:80]}" if fieldname else ""))


def read(path: Path, default_name: str) -> Config:
    """Returns the tables of a file.

    default_name: the name of the switch if the file has no hostname.

    Raises `InputError` if the file is not the configuration of a switch.
    """
    return of(path, default_name, _parsed(path))


def of(path: Path, default_name: str, document: Any) -> Config:
    """Returns the tables of a parsed file, as `read` does."""
    if not isinstance(document, dict):
        raise InputError(f"{path}: is not a JSON object of tables, as config_db.json is")
    found = Config(path, default_name)
    for table, entries in document.items():
        _take(found, table, entries)
    hostname = found.table("DEVICE_METADATA").get("localhost", {}).get("hostname", default_name)
    if not _NAME.fullmatch(hostname):
        where = place("DEVICE_METADATA", "localhost", "hostname") if hostname is not default_name else "file name"
        raise InputError(
            f"{path}: {where}: {shown(hostname)} is not a name of letters, digits, dots, dashes and underscores"
        )
    found.name = hostname
    return found


def is_name(text: str) -> bool:
    """True if a text can be the name of a node."""
    return _NAME.fullmatch(text) is not None


def _parsed(path: Path) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            seen: set[str] = set()
            twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            raise InputError(f"{path}: {shown(twice)} is there twice in one object; remove one")
        return found

    def constant(text: str) -> NoReturn:
        raise InputError(f"{path}: {text} is not a JSON value; values are texts")

    content = read_bytes(path, MAX_BYTES)
    try:
        return json.loads(content.decode("utf-8-sig"), object_pairs_hook=unique, parse_constant=constant)
    except InputError:
        # A subclass of ValueError.
        raise
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8 text") from None
    except RecursionError:
        raise InputError(f"{path}: is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{path}: line {error.lineno}: is not JSON: {error.msg}") from None
    except ValueError:
        # A number with more digits than Python converts.
        raise InputError(f"{path}: a number is too long; values are texts") from None


def _take(config: Config, table: str, entries: Any) -> None:
    """Takes a table of the file if its name is known."""
    known = TABLES.get(table)
    if known is None:
        config.unread.append(formatting.plain(table[:80]))
        return
    if not isinstance(entries, dict):
        raise InputError(f"{config.path}: {table}: is {_kind(entries)}; an object of entries is needed")
    if len(entries) > MAX_ENTRIES:
        raise InputError(f"{config.path}: {table}: has {len(entries):,} entries; at most {MAX_ENTRIES:,} are allowed")
    taken = config.tables.setdefault(table, {})
    unread: dict[str, None] = {}
    for key, values in entries.items():
        if not isinstance(values, dict):
            config.wrong(table, key, f"is {_kind(values)}; an object of fields is needed")
        if len(values) > MAX_ENTRIES:
            config.wrong(table, key, f"has {len(values):,} fields; at most {MAX_ENTRIES:,} are allowed")
        taken[key] = {}
        for name, value in values.items():
            if name == "NULL":
                continue
            kind = known.rest if table in PLAIN_MAPS else known.fields.get(name, known.rest)
            if kind is None:
                unread.setdefault(f"{table}.{formatting.plain(name[:80])}")
                continue
            taken[key][name] = _value(config, table, key, name, value, kind)
    config.unread += list(unread)[:100]


def _value(config: Config, table: str, key: str, name: str, value: Any, kind: Kind) -> str:
    if not isinstance(value, str):
        config.wrong(table, key, f"is {_kind(value)}; a text is needed", name)
    # Templates ship texts such as '6217728 '.
    text = value.strip()
    if (problem := kind.problem(text)) is not None:
        config.wrong(table, key, f"{shown(text)} {problem}", name)
    return text


def _kind(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return {int: "a number", float: "a number", str: "a text", list: "a list", dict: "an object"}[type(value)]
