"""The first screen of a document's page: a row for every statement with the document's number, ours and the verdict.

The row of a statement also has the settings that matter, and links to the details and to the figure. *Ours* ends with
the margin: how far the statement is from failing, as a share of the larger of two compared values, in the comparison
that decides; with the 95 % interval over the seeds. It is negative if the statement is false.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Any

from xoff.reproduce.judged import NOTHING_VARIED
from xoff.reproduce.readings import Spread
from xoff.reproduce.verdict import Claim, Range

HEADS = ("statement", "in the document", "in xoff", "settings that matter", "verdict", "more")
_KEYS = 2
"""The most quantities of a row; the details have all."""
_SETTINGS = 2


def places(citations: Mapping[str, str]) -> dict[str, str]:
    """Returns the place in the document (figures, sections, slides) of each experiment, from the citations.

    A citation is the document, a comma, and the place. The document is the part that all citations share.
    """
    parts = {experiment: citation.split(", ") for experiment, citation in citations.items()}
    shared = 0
    if len(parts) > 1:
        columns = zip(*parts.values(), strict=False)
        shared = sum(1 for _ in takewhile(lambda column: len({*column}) == 1, columns))
    return {experiment: ", ".join(one[shared:] or one) for experiment, one in parts.items()}


def anchor(id: str) -> str:
    """Returns the anchor of a statement on its page."""
    return re.sub(r"[^a-z0-9]+", "-", id.partition("/")[2].lower()).strip("-")


@dataclass(frozen=True, slots=True)
class Row:
    """A counted claim, its place in the document, the file name of its figure, and its parts."""

    claim: Claim
    place: str
    figure: str
    parts: Sequence[Claim] = ()


def lines(rows: Iterable[Row]) -> Iterable[str]:
    """Yields the table in Markdown."""
    yield f"| {' | '.join(HEADS)} |"
    yield "|---" * len(HEADS) + "|"
    for row in rows:
        claim = row.claim
        document = f"{row.place}{f': {text}' if (text := short(claim.published)) else ''}"
        links = f"[details](#{anchor(claim.id)}), [figure]({row.figure})"
        cells = (f"**{claim.id.partition('/')[2]}** {claim.statement}", document, _ours(row), _settings(claim))
        verdict = "holds under the set-up" if claim.set_up else claim.words
        yield f"| {' | '.join(map(_cell, (*cells, verdict)))} | {links} |"


def _ours(row: Row) -> str:
    """Returns the measured numbers beside the published ones, or the first measured ones, and the margin.

    A statement with parts has the numbers of the first part with the same verdict.
    """
    claim = row.claim
    alike = [part for part in row.parts if part.decision.answer == claim.decision.answer]
    numbers = [(key, value) for one in (claim, *alike) for key, value in one.measured.items() if _has_numbers(value)]
    found = claim.size.measured if claim.size else dict(numbers[:1])
    margin = claim.margin
    parts = [short(found)] if found else []
    if margin is not None:
        parts.append(f"margin {margin[0]:+.0f} ± {margin[1]:.0f} %")
    elif not parts:
        parts.append("true in every run" if claim.decision.leans else "false")
    return "; ".join(parts)


def _settings(claim: Claim) -> str:
    """Returns the choices under which a statement holds, or the nearest at which it stops to hold."""
    if claim.direction == "holds under" and not claim.set_up:
        return _some(claim.under.split("; "), "only with ")
    if claim.holds:
        found = [
            step
            for what, step in claim.stops.items()
            if what not in {NOTHING_VARIED, "other choices"} and not step.startswith(("holds", "undecided"))
        ]
        others = claim.stops.get("other choices", "")
        found += [] if others.startswith("holds with each") else [one for one in others.split("; ") if one]
        return _some(list(dict.fromkeys(found)), "not with ") if found else "–"
    return f"none of {len(claim.others)} tried" if claim.others else "–"


def _some(names: Sequence[str], before: str) -> str:
    more = f", and {len(names) - _SETTINGS} more" if len(names) > _SETTINGS else ""
    return f"{before}{', '.join(names[:_SETTINGS])}{more}"


def short(numbers: Mapping[str, Any]) -> str:
    """Returns numbers as text: of a group of values the least and the greatest, and of many quantities the first."""
    shown = [f"{key}: {_range(value)}" for key, value in islice(numbers.items(), _KEYS)]
    return "; ".join(shown) + (" …" if len(numbers) > _KEYS else "")


def _range(value: Any) -> str:
    found = list(_leaves(value))
    values = [one for one in found if isinstance(one, int | float)]
    if not values or len(values) < len(found):
        return ", ".join(dict.fromkeys(map(str, found)))
    least, most = (f"{one:.3g}" if abs(one) < 1000 else f"{one:,.0f}" for one in (min(values), max(values)))
    return least if least == most else f"{least} to {most}"


def _has_numbers(value: Any) -> bool:
    found = list(_leaves(value))
    return bool(found) and all(isinstance(one, int | float) for one in found)


def _leaves(value: Any) -> Iterable[Any]:
    if isinstance(value, Spread):
        yield value.mean
    elif isinstance(value, Range):
        yield from value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _leaves(part)
    elif isinstance(value, bool):
        yield "yes" if value else "no"
    else:
        yield value


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
