"""The verdict on a statement of a document: the direction, and the size if numbers are published."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, field
from statistics import median
from typing import Any, Literal, NamedTuple, TypeAlias

from xoff.reproduce.decision import Decision, all_of, fact

Direction: TypeAlias = Literal["holds", "holds under", "does not hold", "refuted", "undecided", "void"]
"""``holds under``: holds with a named choice or set of choices. ``refuted``: does not hold, and the document's own
algorithm contradicts the statement, whatever a simulator does. ``undecided``: the difference may be chance
(`decision.py`). ``void``: the runs never met the condition of the statement."""

DIRECTIONS: tuple[Direction, ...] = ("holds", "holds under", "does not hold", "refuted", "undecided", "void")
REFUTED = "refuted by the document itself"


class Range(NamedTuple):
    """A range given by a document; a measured value is compared with the nearer end, or lies within."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}"


@dataclass(frozen=True, slots=True)
class SetUp:
    """Choices for a whole document, found by a search: the main reading, under which statements hold."""

    name: str
    """Such as ``the authors' set-up``."""
    choices: Mapping[str, str]
    """The chosen quantities and their values, as text for readers."""
    searched: str
    """The seeds of the search."""
    confirmed: str
    """The seeds of the page, different from the search's."""
    cost: str
    """The statements that fail in the set-up and hold elsewhere."""


@dataclass(frozen=True, slots=True)
class Size:
    """The published numbers, the measured numbers, and the median of measured over published."""

    published: dict[str, Any]
    measured: dict[str, Any]
    ratio: float | None
    """None if no published value is a number."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of a document, its measured values, and the verdict."""

    id: str
    statement: str
    direction: Direction
    measured: dict[str, Any]
    _: KW_ONLY
    decision: Decision
    """The decision of the runs of the main reading."""
    under: str = ""
    """With ``holds under``, the name of the choice or of the set of choices; several are separated by semicolons."""
    set_up: SetUp | None = None
    """The set-up of the whole document, if the statement holds under it: the main reading, which was found by a
    search."""
    reading: dict[str, Any] = field(default_factory=dict)
    """The values of the choices of the judged reading, or with ``holds under`` of the choice under which it holds, by
    name."""
    others: dict[str, str] = field(default_factory=dict)
    """The verdict with each other choice, or set of choices."""
    stops: dict[str, str] = field(default_factory=dict)
    """If the statement holds: by varied quantity, the nearest setting at which it does not hold, or the range in which
    it does."""
    counted: bool = True
    """Whether the tally counts the statement: a statement of the document, and not a part of another statement."""
    published: dict[str, Any] = field(default_factory=dict)
    """The numbers of the document, by the names of the measured values."""
    reason: str = ""
    """The reason, if the statement does not hold in the main reading, or is void."""

    @property
    def holds(self) -> bool:
        """Whether the statement holds in the main reading."""
        return self.direction == "holds" or self.set_up is not None

    @property
    def size(self) -> Size | None:
        """The numbers of the document beside the measured numbers; None without published numbers."""
        if not self.published:
            return None
        measured = {name: self.measured[name] for name in self.published if name in self.measured}
        ratios = [one for name, found in measured.items() for one in _ratios(found, self.published[name])]
        return Size(self.published, measured, median(ratios) if ratios else None)

    @property
    def margin(self) -> tuple[float, float] | None:
        """The margin of the deciding comparison in percent: mean over the seeds, and half of the 95 % interval."""
        nearest = self.decision.nearest
        return None if nearest is None else (100 * nearest[0], 100 * nearest[1])

    @property
    def words(self) -> str:
        """The direction as text for readers."""
        if self.direction == "holds under":
            return f"holds under {self.under}"
        if self.direction == "refuted":
            return REFUTED
        return self.decision.words if self.direction == "undecided" else self.direction

    def as_json(self) -> dict[str, Any]:
        """Returns the claim for ``--json`` and the JSON of a page; `verdict` is another name of the direction."""
        found = asdict(self)
        del found["decision"], found["published"], found["set_up"]
        alone = self.decision.alone
        return found | {
            "verdict": self.direction,
            "holds": self.holds,
            "in_set_up": self.set_up is not None,
            "margin": self.margin,
            "words": self.words,
            "size": asdict(self.size) if self.size else None,
            "seeds_that_would_decide": self.decision.seeds if self.direction == "undecided" else None,
            "seeds_alone": {"hold": sum(alone), "of": len(alone)} if alone else None,
        }


@dataclass(frozen=True, slots=True)
class Part:
    """The findings of runs on one statement, and the measured values."""

    found: Decision | bool
    """Whether the statement holds; a plain truth value without randomness, see `decision.fact`."""
    measured: dict[str, Any]
    _: KW_ONLY
    published: dict[str, Any] = field(default_factory=dict)
    """The numbers of the document for `measured`, by the same names: its sizes."""
    reason: str = ""
    """The reason of a failure that depends on the runs. `Judged.reasons` has all other reasons."""
    void: str = ""
    """The condition that the runs never met, which makes the statement void; empty if the runs met the condition."""

    @property
    def decision(self) -> Decision:
        """The decision of the runs."""
        return self.found if isinstance(self.found, Decision) else fact(self.found)

    @property
    def direction(self) -> Direction:
        """The direction, without regard to other choices."""
        return "void" if self.void else self.decision.answer

    @property
    def words(self) -> str:
        """The direction as text for readers."""
        return "void" if self.void else self.decision.words


def whole(parts: Mapping[str, Part], names: Iterable[str] | None = None) -> Part:
    """Returns the part of a statement that holds if all or the named parts hold. Void parts are ignored."""
    chosen = {name: parts[name] for name in (parts if names is None else names)}
    judged = [part.decision for part in chosen.values() if not part.void]
    void = "" if judged else "; ".join(dict.fromkeys(part.void for part in chosen.values()))
    published = {key: value for part in chosen.values() for key, value in part.published.items()}
    measured = {name: part.words for name, part in chosen.items()}
    sizes = {key: part.measured[key] for part in chosen.values() for key in part.published if key in part.measured}
    found = all_of(*judged) if judged else fact(is_so=False)
    return Part(found, measured | sizes, published=published, void=void)


def tally(claims: Iterable[Claim]) -> dict[str, Any]:
    """Returns the number of the document's statements by direction, the shares, and the median ratio of all sizes.

    - ``in the set-up``: the number of statements that hold under the set-up of the whole document
    - ``decided``: the number of statements that are neither undecided, void, nor refuted by the document itself
    - ``share as published``: the share of decided statements that hold plainly
    - ``share that holds``: the share of decided statements that hold plainly or in the set-up
    """
    counted = [claim for claim in claims if claim.counted]
    ratios = [size.ratio for claim in counted if (size := claim.size) and size.ratio is not None]
    found: dict[str, Any] = {one: sum(claim.direction == one for claim in counted) for one in DIRECTIONS}
    found["in the set-up"] = sum(claim.set_up is not None for claim in counted)
    found["decided"] = found["holds"] + found["holds under"] + found["does not hold"]
    holding = found["holds"] + found["in the set-up"]
    found["share as published"] = found["holds"] / found["decided"] if found["decided"] else None
    found["share that holds"] = holding / found["decided"] if found["decided"] else None
    return found | {"median ratio": median(ratios) if ratios else None, "sizes": len(ratios)}


def tally_in_words(claims: Iterable[Claim]) -> str:
    """Returns the tally in words, such as ``12 statements: 7 hold, 2 hold under a named choice, 3 do not hold``."""
    found = tally(claims)
    total = sum(found[one] for one in DIRECTIONS)
    kinds = [
        (found["holds"], "holds", "hold"),
        (found["in the set-up"], "holds under the set-up of the page", "hold under the set-up of the page"),
        (found["holds under"] - found["in the set-up"], "holds under another choice", "hold under another choice"),
        (found["does not hold"], "does not hold", "do not hold"),
        (found["refuted"], f"is {REFUTED}", f"are {REFUTED}"),
        (found["undecided"], "is undecided", "are undecided"),
        (found["void"], "is void", "are void"),
    ]
    parts = [f"{count} {words[count != 1]}" for count, *words in kinds if count]
    text = f"{total} statement{'' if total == 1 else 's'}" + (f": {', '.join(parts)}" if parts else "")
    ratio, sizes = found["median ratio"], found["sizes"]
    of_sizes = "of one size" if sizes == 1 else f"in the median of {sizes} sizes"
    many = f"measured over published is {ratio:.2g} {of_sizes}" if sizes else ""
    return f"{text}; {many}" if many else text


def shares_in_words(tallies: Sequence[Mapping[str, Any]], of: str = "") -> str:
    """Returns the shares of statements that hold, the published one first, in words.

    tallies: what `tally` returns, of one document or of several.
    of: whose statements they are, such as ``of the five documents``.
    """

    def total(*keys: str) -> int:
        return sum(one.get(key, 0) for one in tallies for key in keys)

    every, unsure, refuted = total(*DIRECTIONS), total("undecided", "void"), total("refuted")
    others, plain, more = total("decided"), total("holds"), total("in the set-up")
    whose = f"statement{'' if every == 1 else 's'}{f' {of}' if of else ''}"
    text = f"Of {every} {whose} {_some_are(unsure)} undecided and {_some_are(refuted)} {REFUTED}."
    if not others:
        return text
    share, larger = (f"{100 * count / others:.0f} %" for count in (plain, plain + more))
    return (
        f"{text} Of the other {others}, {plain or 'none'} {'hold' if plain > 1 else 'holds'} as published ({share}), "
        f"and {more or 'no'} more with a declared set-up ({larger} with both)."
    )


def _some_are(count: int) -> str:
    return f"{count} are" if count > 1 else f"{count or 'none'} is"


def _ratios(measured: Any, published: Any) -> list[float]:
    """Returns measured over published, number by number; a range is compared by its nearer end."""
    if isinstance(measured, dict):
        known = {
            key: published[key] if isinstance(published, dict) else published
            for key in measured
            if not isinstance(published, dict) or key in published
        }
        return [one for key, wanted in known.items() for one in _ratios(measured[key], wanted)]
    value = getattr(measured, "mean", measured)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return []
    if isinstance(published, Range):
        published = min(max(value, published.low), published.high)
    return [value / published] if isinstance(published, int | float) and published else []
