"""What an experiment judges: statements of a document, by predicates over runs, with reasons for what does not hold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from xoff.reproduce.cases import Cases, choice_of
from xoff.reproduce.runs import RunFailed
from xoff.reproduce.verdict import Claim, Part, Verdict, whole
from xoff.results import Result

R = TypeVar("R")


_Found: TypeAlias = tuple[Mapping[str, Part], str]
"""The verdicts on all parts; or none, and which run violated an audit."""


@dataclass(frozen=True, kw_only=True)
class Judged(Generic[R]):
    """What is claimed, of which runs, and how it is judged.

    document: what ids begin with.
    statements: by id without the document, such as ``{"5.3": …, "5.3-buffer": …}``, in the order of the page. One that
        `judge` leaves out is a whole: it holds if all those do whose ids go on with a hyphen, but for `ours`.
    runs: from all results, an open choice and a reading, what `judge` looks at; mostly a kind of `Readings`.
    judge: the verdict on each part. If it looks at a run that violated an audit, nothing holds.
    cases: what is run, with its open choices: each statement is judged with each of those, too. Experiments whose runs
        are of many kinds list them themselves.
    readings: where the document can be read in several ways, each with what it means, the main one first; every
        statement is judged in each. Ids in the first are plain, in others they end in ``/reading``.
    control: the open choice that changes nothing, where choices are run shorter or with fewer seeds: what holds with it
        holds with the others for that alone, and under none of them.
    ours: the statements that are not the document's: extensions, and what we wrote to look closer. They are shown, and
        not counted. Nor are the parts of a whole counted, nor readings other than the main one.
    reasons: why a statement does not hold at full size, by id, or by id and reading: ``{"5.3/voq": …}``.
    quick_reasons: whether the reasons say something of the quick variants, too.
    varied: which statements are judged with the open choices; all if none is named.
    varied_as: what these verdicts are called.
    varied_failure: what is said of a choice with which a run violated an audit.
    """

    document: str
    statements: Mapping[str, str]
    runs: Callable[[Mapping[str, Result], str, str], R]
    judge: Callable[[R], Mapping[str, Part]]
    cases: Cases[Any] | None = None
    readings: Mapping[str, str] = field(default_factory=lambda: {"": ""})
    control: str = ""
    ours: Collection[str] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)
    quick_reasons: bool = False
    varied: Collection[str] = ()
    varied_as: str = "with other choices"
    varied_failure: str = "does not hold"

    @property
    def listed(self) -> dict[str, str]:
        """Every claim's full id and statement."""
        return {self._id(short, reading): text for short, text in self.statements.items() for reading in self.readings}

    def scenarios(self, quick: bool) -> dict[str, dict[str, Any]]:
        """Return the scenarios of the cases by name."""
        return self.cases.scenarios(quick) if self.cases else {}

    def claims(self, results: Mapping[str, Result], quick: bool) -> list[Claim]:
        """Judge each statement in each reading, and with each open choice that was run."""
        made = {choice_of(name) for name in results}
        choices = [choice for choice in (self.cases.choices if self.cases else ()) if choice in made]
        found = {reading: self._parts(results, "", reading) for reading in self.readings}
        main = next(iter(self.readings))
        made_claims = []
        for reading in self.readings:
            others = {choice: self._parts(results, choice, reading) for choice in choices}
            fair = {choice: one for choice, one in others.items() if choice != self.control}
            if reading == main:
                fair = {name: one for name, one in found.items() if name != main} | fair
            made_claims += [
                self._claim(short, found[reading], others, fair, reading, quick) for short in self.statements
            ]
        return made_claims

    def _claim(
        self,
        short: str,
        found: _Found,
        others: Mapping[str, _Found],
        fair: Mapping[str, _Found],
        reading: str,
        quick: bool,
    ) -> Claim:
        """Make the claim of a statement in one reading.

        others: what is found with each open choice.
        fair: what is found in each other reading of the document; if the statement holds in one, it holds under that.
        """
        parts, failure = found
        part = self._part(parts, short)
        is_varied = short in self.varied or not self.varied
        measured = dict(part.measured)
        if others and is_varied:
            measured[self.varied_as] = {
                choice: self.varied_failure if violated else self._part(varied, short).verdict
                for choice, (varied, violated) in others.items()
            }
        verdict: Verdict = "does not hold" if failure else part.verdict
        under = [
            name
            for name, (varied, violated) in fair.items()
            if not violated and self._part(varied, short).verdict == "holds"
        ]
        if self.control in others and self._part(others[self.control][0], short).verdict == "holds":
            under = [name for name in under if name not in others]
        if verdict != "holds" and under and is_varied:
            verdict = "holds under"
        reason = self.reasons.get(f"{short}/{reading}", self.reasons.get(short, "")) or self._which_fail(parts, short)
        why = part.void or part.reason or (reason if self.quick_reasons or not quick else "")
        subject = f"{reading} ({self.readings[reading]})" if reading else ""
        return Claim(
            self._id(short, reading),
            self.statements[short],
            verdict,
            measured,
            reading=", ".join(under) if verdict == "holds under" else reading,
            counted=self._is_counted(short, reading),
            published=part.published,
            reason=failure or ("" if verdict == "holds" else why),
            subject=part.subject or subject,
        )

    def _is_counted(self, short: str, reading: str) -> bool:
        """Tell whether the tally counts it: once for a statement, in its main reading, and as a whole."""
        if reading != next(iter(self.readings)) or short in self.ours:
            return False
        return not any(short.startswith(f"{name}-") for name in self.statements if name not in self.ours)

    def _parts(self, results: Mapping[str, Result], choice: str, reading: str) -> _Found:
        """Judge the runs of a choice; or say which of them violated an audit."""
        try:
            return self.judge(self.runs(results, choice, reading)), ""
        except RunFailed as error:
            return {}, str(error)

    def _part(self, parts: Mapping[str, Part], short: str) -> Part:
        """Return the verdict on a statement: its own, or that of a whole."""
        if short in parts:
            return parts[short]
        return whole(parts, [name for name in parts if name.startswith(f"{short}-") and name not in self.ours])

    def _which_fail(self, parts: Mapping[str, Part], short: str) -> str:
        """Name the parts that make a whole fail."""
        if short in parts:
            return ""
        fail = [name for name in self._part(parts, short).measured if parts[name].verdict == "does not hold"]
        return f"see {', '.join(fail)}" if fail else ""

    def _id(self, short: str, reading: str) -> str:
        suffix = "" if reading == next(iter(self.readings)) else f"/{reading}"
        return f"{self.document}/{short}{suffix}"
