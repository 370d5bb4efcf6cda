"""Makes a case smaller as long as the same is found: files are left out, then parts of documents, then bytes."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator

from tests.fuzz import values
from tests.fuzz.case import Case

_MAX_ATTEMPTS = 400


def minimised(case: Case, is_found: Callable[[Case], bool], attempts: int = _MAX_ATTEMPTS) -> Case:
    """Returns the smallest case found in at most `attempts` attempts."""
    while attempts > 0:
        for smaller in _smaller(case):
            attempts -= 1
            if is_found(smaller):
                case = smaller
                break
            if attempts <= 0:
                break
        else:
            return case
    return case


def _smaller(case: Case) -> Iterator[Case]:
    """Yields smaller cases by one reduction, from large reductions to small ones."""
    if len(case.steps) > 1:
        for index in range(len(case.steps)):
            yield Case(case.files, case.steps[:index] + case.steps[index + 1 :])
    for name in case.files:
        yield case.without(name)
    for name, content in case.files.items():
        document = _document(name, content)
        if document is None:
            yield from (case.replaced(name, part) for part in _pieces(content))
        else:
            yield from (case.replaced(name, part) for part in _parts(document))


def _document(name: str, content: bytes) -> object:
    try:
        return json.loads(content) if name.endswith(".json") else None
    except (ValueError, RecursionError):
        return None


def _parts(document: object) -> Iterator[bytes]:
    """Yields the document without each of its parts, the largest parts first."""
    try:
        count = len(values.places(document))
        for index in range(count):
            smaller = copy.deepcopy(document)
            holder, key = values.places(smaller)[index]
            del holder[key]
            yield values.as_json(smaller)
    except RecursionError:
        return


def _pieces(content: bytes) -> Iterator[bytes]:
    """Yields the content without each of its halves, quarters, and so on down to single bytes."""
    size = len(content) // 2
    while size > 0:
        for at in range(0, len(content), size):
            yield content[:at] + content[at + size :]
        size //= 2
