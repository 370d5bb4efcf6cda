"""The conclusion of a search: the setting to run, and the evidence that it is better than the base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xoff.statistics import Comparison
    from xoff.study.objective import Goal
    from xoff.study.tune_settings import Setting


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The final sentence of a search, and the recommended setting."""

    text: str
    recommended: Setting | None
    """A setting that kept the limits with every unseen seed and was shown to be better than the base. Without unseen
    seeds, the best setting of the search. Else None."""


def conclude(goals: Sequence[Goal], base: Setting | None, best: Sequence[Setting]) -> Conclusion:
    """Returns the conclusion from the base and the best settings, the best first.

    A setting is better than the base if the base has no result, if the base exceeds a limit with an unseen seed, or if
    the interval of a goal's difference excludes zero on the better side.
    """
    if not best:
        return Conclusion("No setting keeps the limits.", None)
    kept = [one for one in best if one.confirmed]
    if not kept:
        one = max(best, key=lambda one: one.kept)
        unseen = f"{one.of} unseen seeds"
        return Conclusion(f"None of the best kept the limits with all {unseen}; {one.words} did with {one.kept}.", None)
    better = [one for one in kept if _is_better(goals, base, one)]
    one = (better or kept)[0]
    name = f"The best: {one.words}." if len(goals) == 1 else f"One of the front: {one.words}."
    if not one.of:
        return Conclusion(f"{name} No unseen seed confirms the setting (objective.confirm is 0).", one)
    if better:
        more = ""
        if base is None:
            more = " The base has no result for a comparison."
        elif not base.confirmed:
            more = f" The setting kept the limits with all {one.of} unseen seeds; the base with {base.kept}."
        return Conclusion(name + more, one)
    if any(_is(goal, one.against.get(goal.metric), worse=True) for goal in goals):
        return Conclusion(f"The base is better than {one.words}, the best setting that was found.", None)
    why = "More seeds (objective.confirm) may show one."
    return Conclusion(
        f"No difference between the base and {one.words}, the best that was found, was shown. {why}", None
    )


def _is_better(goals: Sequence[Goal], base: Setting | None, one: Setting) -> bool:
    if base is None or not one.of or not base.confirmed:
        return True
    return any(_is(goal, one.against.get(goal.metric), worse=False) for goal in goals)


def _is(goal: Goal, found: Comparison | None, *, worse: bool) -> bool:
    """Whether a goal was shown to be better with a setting than with the base, or worse."""
    return found is not None and found.verdict == ("lower" if goal.is_least is not worse else "higher")
