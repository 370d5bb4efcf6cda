"""Values of all kinds, right and wrong, near the limits and far beyond, and what is done to documents and bytes."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any

NUMBERS = [0, 1, 2, 3, 8, 9, 255, 256, 65_535, 65_536, -1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 10**12, 10**30]
FLOATS = [0.0, -0.0, 0.5, 1.0, 1.5, -1.0, 1e-320, 1e308, 1e300, float("nan"), float("inf"), float("-inf")]
_DIGITS = ["0", "1", "7", "1000", "999999999", "-1", "0.5", "1e3", "", "99999999999999999999", "nan", "0.0000000001"]
_UNITS = ["B", "KB", "GiB", "TB", "ps", "ns", "us", "s", "bps", "Mbps", "Tbps", "", " parsecs", "µs"]
TEXTS = [
    *("host0", "host1", "switch0", "leaf0", "websearch", "oq", "iq", "voq", "unlimited", "record", "flows.csv"),
    *(
        "☃",
        "\0",
        "../x",
        "/etc/passwd",
        "a\nb",
        "\u2028",
        "$x^$",
        "<script>",
        "x" * 5000,
        "\x1b[31m",
        "%s%n",
        "{}",
        "\ud800",
    ),
]
_KEYS = ["hosts", "link", "size", "senders", "flows", "load", "xoff", "xon", "pfc", "sfc", "via", "after", "shared"]
_KEYS += ["table", "__class__", "a.b", "", "☃", "x" * 300]


def amount(rng: Random) -> str:
    """A number and a unit, perhaps of a quantity."""
    return rng.choice(_DIGITS) + rng.choice(_UNITS)


_NEAR: dict[str, list[Any]] = {
    "ps": ["0ps", "1ps", "1ns", "300ns", "1us", "7us", "1ms", "4ms", "1s", "280s", "999999s"],
    "bytes": ["0B", "1B", "64B", "1KB", "9KB", "100KB", "1MB", "16MiB", "4GiB", "10TB"],
    "bps": ["1bps", "1Mbps", "1Gbps", "25Gbps", "100Gbps", "400Gbps", "10Tbps"],
    "integer": [0, 1, 2, 3, 4, 7, 8, 16, 64, 255, 65_535, 2**32, 2**63 - 1],
    "number": [0, 1e-9, 0.01, 0.125, 0.5, 0.9, 1, 1.5, 2, 100.0, 1e300],
    "boolean": [True, False],
    "object": [{}],
}


def of_kind(rng: Random, kind: str) -> Any:
    """Draws a plausible value of a kind (`xoff.study.settings`)."""
    return copy.copy(rng.choice(_NEAR[kind])) if kind in _NEAR and rng.random() < 0.85 else value(rng)


def leaf(rng: Random) -> Any:
    """Draws a value that is neither a list nor a table."""
    kind = rng.randrange(7)
    if kind == 0:
        return rng.choice([None, True, False])
    if kind == 1:
        return rng.choice(FLOATS)
    if kind == 2:
        return rng.choice(TEXTS)
    return rng.choice(NUMBERS) if kind == 3 else amount(rng)


def value(rng: Random, depth: int = 3) -> Any:
    """Draws any value that a document can hold."""
    kind = rng.randrange(10) if depth else 9
    if kind == 0:
        return [value(rng, depth - 1) for _ in range(rng.randrange(4))]
    if kind == 1:
        return {rng.choice(_KEYS): value(rng, depth - 1) for _ in range(rng.randrange(4))}
    if kind == 2 and depth == 3:
        return deep(rng.choice([5, 90, 110, 150]), rng.random() < 0.5)
    return leaf(rng)


def deep(levels: int, is_list: bool) -> Any:
    """Returns nested lists or tables."""
    found: Any = 1
    for _ in range(levels):
        found = [found] if is_list else {"a": found}
    return found


def places(document: Any) -> list[tuple[Any, Any]]:
    """Returns every place in a document: a table or list with a key or index."""
    if isinstance(document, dict):
        steps = list(document.items())
    else:
        steps = list(enumerate(document)) if isinstance(document, list) else []
    return [place for key, part in steps for place in [(document, key), *places(part)]]


def damaged(rng: Random, document: Any) -> Any:
    """Returns a document with one to three parts replaced, removed, doubled, swapped or wrapped."""
    document = copy.deepcopy(document)
    for _ in range(rng.randint(1, 3)):
        found = places(document)
        if not found:
            return value(rng)
        holder, key = rng.choice(found)
        change = rng.choice(["replace", "replace", "replace", "delete", "duplicate", "swap", "wrap", "rename"])
        if change == "delete":
            del holder[key]
        elif change == "duplicate":
            again = copy.deepcopy(holder[key])
            holder.append(again) if isinstance(holder, list) else holder.update({rng.choice(_KEYS): again})
        elif change == "swap":
            other, place = rng.choice(found)
            holder[key], other[place] = copy.deepcopy(other[place]), copy.deepcopy(holder[key])
        elif change == "rename" and isinstance(holder, dict):
            holder[rng.choice(_KEYS)] = holder.pop(key)
        else:
            new = value(rng)
            holder[key] = [holder[key], new] if change == "wrap" else new
    return document


def flipped(rng: Random, content: bytes) -> bytes:
    """Returns the content with a few bytes changed, removed or doubled, or cut off."""
    if rng.random() < 0.2:
        return content[: rng.randrange(len(content) + 1)]
    found = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(found) + 1)
        new = rng.choice([b"", b"[", b'"', b"{", b"= ", b"\n", b"\0", b"\xff", b"#", rng.randbytes(4), b"[[", b"."])
        found[at : at + rng.choice([0, 1, 1, 2, 8, 20])] = new
    return bytes(found)


def nested(rng: Random) -> bytes:
    """Returns a text nested deeper than any reader accepts."""
    levels = rng.choice([100, 1000, 100_000])
    first, last = rng.choice(
        [(b"[", b"]"), (b'{"a":', b"}"), (b"a=[", b"]"), (b"a={a=", b"}"), (b"a.", b"=1"), (b"[[a", b"]]")]
    )
    return first * levels + rng.choice([b"", b"1"]) + last * rng.choice([0, 1, levels])


def as_json(document: Any) -> bytes:
    """Returns a document as JSON, with names for numbers outside JSON (`NaN`)."""
    return json.dumps(document).encode("utf-8", "surrogatepass")
