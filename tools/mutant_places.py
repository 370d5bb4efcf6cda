"""Finds the places of a Rust file where a mutant can stand, and the line with the mutant behind its switch.

All forms are on single lines of formatted code, where the extent of an operand is certain. A place that does not
compile is not an error: the draw goes on to the next place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

KINDS = ("off by one", "swapped comparison", "lost update", "order of events")
# The switch; @ becomes the number of the mutant.
ON = "xoff_units::mutants::on(@)"

_BOUNDARY = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_SWAPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "!=", "!=": "=="}
_COMPARISON = re.compile(r"(?<= )(==|!=|<=|>=|<|>)(?= )")
# A summand, the start of a range, or the argument of a method that counts.
_ONE = re.compile(r"(?<=[\w)\]] [+-] )1\b(?![.\w])|(?<=\b(?:skip|take)\()1(?=\))|(?<=_(?:sub|add)\()1(?=\))")
_START = re.compile(r"(?<![\w.)\]])[01](?=\.\.(?!\.))(?!.*=>)")
_ENDS = {
    "push_back": "push_front",
    "push_front": "push_back",
    "pop_front": "pop_back",
    "first": "last",
    "last": "first",
}
_END = re.compile(r"\.(pop_front|first|last)\(\)")
_EXTREME = re.compile(r"\.(min|max)\(")
_ORDER = re.compile(r"\.cmp\(")
_UPDATE = re.compile(
    r"[*a-z_][\w.*]*(\[.+\])?[\w.\[\]]* [-+|]?= .+;|[\w.\[\]()]+\.(push|insert|remove|extend|clear|add|set)\(.*\);"
)
_CALL = re.compile(r"[a-z][\w.\[\]]*\.\w+\(.*\);")
_SORT = re.compile(r"[a-z][\w.]*\.sort\w*\(.*\);")
_KEYWORDS = (
    "let",
    "return",
    "break",
    "continue",
    "use",
    "pub",
    "if",
    "match",
    "for",
    "while",
    "else",
    "const",
    "static",
)
_OPEN, _CLOSE = "([{", ")]}"


@dataclass(frozen=True)
class Place:
    """A place of a mutant: line numbers begin with 1, and @ in the switched line is the mutant's number."""

    file: str
    line: int
    function: str
    original: str
    mutated: str
    switched: str
    lines: int


def places(file: str, text: str) -> dict[str, list[Place]]:
    """Returns the places of each kind in a file, in the order of the lines."""
    lines = text.splitlines()
    found: dict[str, list[Place]] = {kind: [] for kind in KINDS}
    for at in _code(lines):
        function = _function(lines, at)
        if function:
            for kind, mutated, switched, length in _changes(lines, at):
                original = " ".join(line.strip() for line in lines[at : at + length])
                found[kind].append(Place(file, at + 1, function, original, mutated.strip(), switched, length))
    return found


def switch(text: str, place: Place, number: int) -> str:
    """Returns the text of a file with a mutant; no line changes its number."""
    lines = text.splitlines()
    lines[place.line - 1] = place.switched.replace("@", str(number))
    lines[place.line : place.line + place.lines - 1] = [""] * (place.lines - 1)
    return "\n".join(lines) + "\n"


def _code(lines: list[str]) -> Iterator[int]:
    """Yields the lines inside of functions, without tests, macros, assertions, constants, texts and comments."""
    end = None
    for at, line in enumerate(lines):
        bare = line.strip()
        indent = line[: len(line) - len(line.lstrip())]
        if end is not None:
            end = None if line in (indent + "}", indent + ");", indent + "};") and indent == end else end
        elif re.match(r"#\[cfg\(test\)\]|(debug_)?assert\w*!\($|(pub )?const |static ", bare) or (
            not indent and re.match(r"\w+! ?\w* ?\{$", bare)
        ):
            end = None if bare.endswith(";") else indent
        elif indent and "//" not in bare and '"' not in bare and "!(" not in bare and not bare.startswith("#"):
            yield at


def _function(lines: list[str], at: int) -> str:
    """Returns the name of the function around a line; empty outside of functions and in constant ones."""
    indent = len(lines[at]) - len(lines[at].lstrip())
    for line in reversed(lines[:at]):
        head = re.match(r"( *)(?:pub(?:\(\w+\))? )?(const )?fn (\w+)", line)
        if head and len(head[1]) < indent:
            return "" if head[2] else head[3]
        if line and not line.startswith((" ", "}", ")")) and not head:
            return ""
    return ""


def _changes(lines: list[str], at: int) -> Iterator[tuple[str, str, str, int]]:
    """Yields kind, mutated line, switched line and number of lines of each mutant that can stand at a line."""
    line = lines[at]

    def change(kind: str, start: int, end: int, mutated: str) -> tuple[str, str, str, int]:
        switched = f"(if {ON} {{ {mutated} }} else {{ {line[start:end]} }})"
        return kind, line[:start] + mutated + line[end:], line[:start] + switched + line[end:], 1

    for sign in _COMPARISON.finditer(line):
        start, end = _left(line, sign.start() - 1), _right(line, sign.end() + 1)
        goes_on = at + 1 < len(lines) and re.match(r"\s*([.+*/?-]|as )", lines[at + 1]) and end == len(line)
        if re.match(r"[.+/?-]|\* ", line[start:]) or start == end or goes_on or end == sign.end() + 1:
            continue
        for kind, changed in (("off by one", _BOUNDARY), ("swapped comparison", _SWAPPED)):
            if sign[1] in changed:
                mutated = line[start : sign.start()] + changed[sign[1]] + line[sign.end() : end]
                yield change(kind, start, end, mutated)
    for number in (*_ONE.finditer(line), *_START.finditer(line)):
        yield change("off by one", *number.span(), "1" if number[0] == "0" else "0")
    for call in (*_EXTREME.finditer(line), *_END.finditer(line), *_ORDER.finditer(line)):
        start, end = _receiver(line, call.start()), _closing(line, call.end() - 1 - call[0].endswith(")"))
        if start == call.start() or end == 0:
            continue
        before, after = line[start : call.start()], line[call.end() : end]
        if call.re is _EXTREME:
            other = "max" if call[1] == "min" else "min"
            yield change("swapped comparison", start, end, f"{before}.{other}({after}")
        elif call.re is _END:
            yield change("order of events", start, end, f"{before}.{_ENDS.get(call[1], 'pop_back')}()")
        else:
            yield change("order of events", start, end, line[start:end] + ".reverse()")
    if _is_statement(lines, at):
        indent, bare = line[: len(line) - len(line.lstrip())], line.strip()
        if _UPDATE.fullmatch(bare):
            yield "lost update", "(lost)", f"{indent}if !{ON} {{ {bare} }}", 1
        pushes = re.fullmatch(r"(.+)\.(push_back|push_front)\((.*)\);", bare)
        if pushes:
            mutated = f"{pushes[1]}.{_ENDS[pushes[2]]}({pushes[3]});"
            yield "order of events", mutated, f"{indent}if {ON} {{ {mutated} }} else {{ {bare} }}", 1
        elif _SORT.fullmatch(bare):
            yield "order of events", "(lost)", f"{indent}if !{ON} {{ {bare} }}", 1
        elif _CALL.fullmatch(bare) and _is_statement(lines, at + 1) and lines[at + 1].startswith(indent):
            following = lines[at + 1].strip()
            if _CALL.fullmatch(following) and _depend(bare, following):
                both = f"{following} {bare}"
                yield "order of events", both, f"{indent}if {ON} {{ {both} }} else {{ {bare} {following} }}", 2


def _depend(first: str, second: str) -> bool:
    """Whether the order of two calls may matter: both act through a context, on the node, or on one receiver."""
    if any(".set_" in call or call.startswith(("walk.", "tally.")) for call in (first, second)):
        return False
    a, b = (call.split("(")[0].rsplit(".", 1)[0] for call in (first, second))
    return a == b or any(
        re.search(rf"\b{name}\b", first) and re.search(rf"\b{name}\b", second) for name in ("cx", "fx")
    )


def _is_statement(lines: list[str], at: int) -> bool:
    """Whether a line is one statement, neither the rest of one nor the start."""
    bare = lines[at].strip()
    before = next((line.strip() for line in reversed(lines[:at]) if not line.strip().startswith(("//", "#"))), "")
    is_first = before.endswith((";", "{", "}")) or not before
    is_balanced = all(bare.count(a) == bare.count(b) for a, b in zip(_OPEN, _CLOSE, strict=True))
    return is_first and is_balanced and bare.endswith(";") and not re.match(rf"({'|'.join(_KEYWORDS)})\b", bare)


def _left(line: str, end: int) -> int:
    """Returns where the left operand of a comparison starts."""
    depth, at = 0, end
    while at > 0:
        sign = line[at - 1]
        depth += (sign in _CLOSE) - (sign in _OPEN)
        if depth < 0 or (
            depth == 0 and ((sign in ",;=|&{" and line[at : at + 1] in " ,;=|&") or line[at - 2 : at] == "..")
        ):
            break
        at -= 1
    words = list(re.finditer(r"\b(if|while|return|match|else|in|let)\s|=> ", line[at:end]))
    start = at + (words[-1].end() if words else 0)
    return start + len(line[start:end]) - len(line[start:end].lstrip())


def _right(line: str, start: int) -> int:
    """Returns where the right operand of a comparison ends."""
    depth = 0
    for at in range(start, len(line)):
        sign = line[at]
        if depth == 0 and (sign in ",;{" or sign in _CLOSE or line[at : at + 3] in ("&& ", "|| ", "=> ")):
            return at - (line[at - 1] == " ")
        depth += (sign in _OPEN) - (sign in _CLOSE)
    return len(line)


def _receiver(line: str, end: int) -> int:
    """Returns where the receiver of a method starts: names, calls and indices, joined by dots and colons."""
    at = end
    while at > 0 and (re.match(r"[\w.:?]", line[at - 1]) or line[at - 1] in ")]"):
        at -= 1
        if line[at] in ")]":
            depth = 1
            while depth and at > 0:
                at -= 1
                depth += (line[at] in _CLOSE) - (line[at] in _OPEN)
    return end if line[at : at + 1] in (".", "?") else at


def _closing(line: str, start: int) -> int:
    """Returns the end of the brackets that open at a place; 0 if they close on a later line."""
    depth = 0
    for at in range(start, len(line)):
        depth += (line[at] in _OPEN) - (line[at] in _CLOSE)
        if depth == 0:
            return at + 1
    return 0
