"""Fuzzers: each draws cases of a kind from a random stream; what a case may do and must not is the same for all."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.fuzz import directories, documents, imports, mixed, studies, tables
from tests.fuzz.case import Case

FUZZERS: dict[str, Callable[[Random], Case]] = {
    "documents": documents.draw,
    "tables": tables.draw,
    "studies": studies.draw,
    "directories": directories.draw,
    "imports": imports.draw,
    "mixed": mixed.draw,
}
