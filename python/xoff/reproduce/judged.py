"""Judgement of an experiment: statements of a document, predicates over runs, and reasons for failures."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from xoff.reproduce.cases import Cases, choice_of
from xoff.reproduce.decision import fact
from xoff.reproduce.runs import RunFailed
from xoff.reproduce.verdict import Claim, Direction, Part, SetUp, whole
from xoff.results import Result

R = TypeVar("R")


NOTHING_VARIED = "nothing is varied"
"""The key of a claim's `stops` if no setting is varied."""
_Found: TypeAlias = tuple[Mapping[str, Part], str]
"""The parts by statement; or no parts, and the run with a violated audit."""


@dataclass(frozen=True, kw_only=True)
class Judged(Generic[R]):
    """The statements of an experiment, their runs, and the judgement of them.

    document: the first part of the ids.
    statements: by id without the document, such as ``{"5.3": …, "5.3-buffer": …}``, in the order of the page. A
        statement without a part from `judge` is a *whole*. Example: the whole 5.3 holds if 5.3-buffer and all other
        statements with ids ``5.3-…`` hold, except the statements in `ours`.
    runs: makes the argument of `judge`, mostly a kind of `Readings`, from all results, an open choice and a reading.
    judge: returns the part of each statement. If `judge` reads a run with a violated audit, no statement holds.
    cases: the runs with open choices. Every statement is judged with each choice, too. Experiments with many kinds of
        runs list the scenarios separately.
    readings: the readings of the same runs with the meanings of the readings, the main reading first.
    set_up: the set-up of the whole document, if a search has found the main reading: statements hold under the set-up.
    control: the open choice without a changed value, if choices run shorter or with fewer seeds. If a statement holds
        with the control, no other choice is the reason.
    ours: statements of our own: extensions of the document, and details. The page shows and does not count the
        statements, like the parts of a whole.
    reasons: by id, the reason of a statement that does not hold at full size.
    refuted: by id, the counter-example to a statement that the document's own algorithm contradicts. The statement is
        refuted by the document itself if the runs agree, that is, if it does not hold in the main reading.
    quick_reasons: if true, the reasons apply to the quick variants, too.
    varied: the statements to judge with the open choices; all if empty.
    limits: for statements without other settings, by id: the setting at which the statement stops to hold, as another
        statement shows, or the reason for varying no setting. Parts inherit the entry of the whole.
    """

    document: str
    statements: Mapping[str, str]
    runs: Callable[[Mapping[str, Result], str, str], R]
    judge: Callable[[R], Mapping[str, Part]]
    cases: Cases[Any] | None = None
    readings: Mapping[str, str] = field(default_factory=lambda: {"": ""})
    set_up: SetUp | None = None
    control: str = ""
    ours: Collection[str] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)
    refuted: Mapping[str, str] = field(default_factory=dict)
    quick_reasons: bool = False
    varied: Collection[str] = ()
    limits: Mapping[str, str] = field(default_factory=dict)

    @property
    def listed(self) -> dict[str, str]:
        """The full id and statement of every claim."""
        return {f"{self.document}/{short}": text for short, text in self.statements.items()}

    def scenarios(self, quick: bool) -> dict[str, dict[str, Any]]:
        """Returns the scenarios of the cases by name."""
        return self.cases.scenarios(quick) if self.cases else {}

    def claims(self, results: Mapping[str, Result], quick: bool) -> list[Claim]:
        """Judges each statement in the main reading, in each other reading, and with each choice that was run."""
        made = {choice_of(name) for name in results}
        main, *others = self.readings
        found = self._parts(results, "", main)
        beside = {reading: self._parts(results, "", reading) for reading in others}
        choices = self.cases.choices if self.cases else {}
        probes = self.cases.probed if self.cases else {}
        beside |= {one: self._parts(results, one, main) for one in choices if one in made}
        probed = {one: self._parts(results, one, main) for one in probes if one in made}
        return [self._claim(short, found, beside, probed, quick) for short in self.statements]

    def parts(self, results: Mapping[str, Result], choice: str = "") -> dict[str, Part]:
        """Returns the part of each statement with an open choice, in the main reading."""
        found = self._parts(results, choice, next(iter(self.readings)))
        return {short: self._part(*found, short) for short in self.statements}

    def _claim(
        self, short: str, found: _Found, beside: Mapping[str, _Found], probed: Mapping[str, _Found], quick: bool
    ) -> Claim:
        """Returns the claim of a statement.

        beside: the parts in other readings and with other choices. A statement that holds with such a reading or choice
            "holds under" the reading or choice.
        probed: the parts with further settings. The settings are no reading, and show the range
            in which a statement holds.
        """
        parts, failure = found
        part = self._part(parts, failure, short)
        is_varied = short in self.varied or not self.varied
        others = {name: self._part(*one, short) for name, one in beside.items()} if is_varied else {}
        direction: Direction = part.direction
        holds = direction == "holds"
        under = ""
        counter = self.refuted.get(short, "") if direction == "does not hold" else ""
        if holds and self.set_up:
            direction, under = "holds under", self.set_up.name
        elif counter:
            direction = "refuted"
        elif not holds and (fair := self._fair(others)):
            direction, under = "holds under", "; ".join(fair)
        reason = self.reasons.get(short, "") or self._which_fail(parts, short)
        why = counter or part.void or part.reason or (reason if self.quick_reasons or not quick else "")
        reading = "" if holds else under.partition("; ")[0]
        tried = others | {name: self._part(*one, short) for name, one in probed.items()}
        return Claim(
            f"{self.document}/{short}",
            self.statements[short],
            direction,
            dict(part.measured),
            decision=part.decision,
            under=under,
            set_up=self.set_up if holds else None,
            reading=self._table(reading),
            others={name: one.words for name, one in others.items()},
            stops=self._stops(short, tried if is_varied else {}) if holds else {},
            counted=self.is_counted(short),
            published=dict(part.published),
            reason=failure or ("" if holds else why),
        )

    def _fair(self, others: Mapping[str, Part]) -> list[str]:
        """Returns the readings and choices under which a statement holds; of sets of choices, only the smallest.

        If the statement also holds with the control, the other choices do not cause it to hold.
        """
        holding = [name for name, one in others.items() if name != self.control and one.direction == "holds"]
        if self.control in others and others[self.control].direction == "holds":
            holding = [name for name in holding if name in self.readings]
        fewest = min((len(self._table_of(name)) for name in holding), default=0)
        return [name for name in holding if len(self._table_of(name)) == fewest]

    def _table_of(self, choice: str) -> Mapping[str, Any]:
        return self.cases.choices.get(choice, {}) if self.cases else {}

    def _table(self, choice: str) -> dict[str, Any]:
        """Returns the values of all replaceable fields: of the main reading, or of a choice."""
        if choice in self.readings and choice:
            return {"reading": choice}
        if self.cases is None:
            return {}
        return self.cases.main() | dict(self._table_of(choice))

    def _stops(self, short: str, tried: Mapping[str, Part]) -> dict[str, str]:
        """Returns, by varied quantity, the nearest setting at which a statement does not hold.

        If the statement holds with every setting, the entry says so.
        """
        ladders = self.cases.probes if self.cases else {}
        found: dict[str, str] = {}
        for what, steps in ladders.items():
            ran = [step for step in steps if step in tried and tried[step].direction != "void"]
            failing = [step for step in ran if tried[step].direction == "does not hold"]
            unsure = [step for step in ran if tried[step].direction == "undecided"]
            if failing:
                found[what] = failing[0]
            elif ran:
                found[what] = f"undecided from {unsure[0]} on" if unsure else f"holds to {ran[-1]}"
        single = [name for name in tried if name != self.control and not any(name in of for of in ladders.values())]
        choices = [name for name in single if tried[name].direction == "does not hold"]
        if single:
            found["other choices"] = "; ".join(choices) or "holds with each, or is undecided"
        told = next((text for one, text in self.limits.items() if short == one or short.startswith(f"{one}-")), "")
        return found or ({NOTHING_VARIED: told} if told else {})

    def is_counted(self, short: str) -> bool:
        """True if the tally counts a statement: a statement of the document, and not a part of a whole."""
        if short in self.ours:
            return False
        return not any(short.startswith(f"{name}-") for name in self.statements if name not in self.ours)

    def _parts(self, results: Mapping[str, Result], choice: str, reading: str) -> _Found:
        """Returns the parts of the runs of a choice; or no parts, and the run with a violated audit."""
        try:
            return self.judge(self.runs(results, choice, reading)), ""
        except RunFailed as error:
            return {}, str(error)

    def _part(self, parts: Mapping[str, Part], failure: str, short: str) -> Part:
        """Returns the part of a statement, also of a whole; after a failed run, a failing part."""
        if failure:
            return Part(fact(is_so=False), {}, reason=failure)
        if short in parts:
            return parts[short]
        return whole(parts, [name for name in parts if name.startswith(f"{short}-") and name not in self.ours])

    def _which_fail(self, parts: Mapping[str, Part], short: str) -> str:
        """Returns a reference to the failing parts of a whole."""
        if short in parts or not parts:
            return ""
        of_it = [name for name in parts if name.startswith(f"{short}-") and name not in self.ours]
        fail = [name for name in of_it if parts[name].direction in {"does not hold", "undecided"}]
        return f"see {', '.join(fail)}" if fail else ""
