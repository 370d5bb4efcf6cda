"""The conclusion of a search: the setting to run, and the evidence that it is better than the base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xoff.formatting import percent
from xoff.statistics import largest_share

if TYPE_CHECKING:
    from xoff.statistics import Comparison
    from xoff.study.objective import Goal, Objective
    from xoff.study.tune_settings import Setting


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The final sentence of a search, and the recommended setting."""

    text: str
    recommended: Setting | None
    """A setting that kept the limits with every unseen seed and was shown to be better than the base. Without unseen
    seeds, the best setting of the search. Else None."""


def shown(objective: Objective, one: Setting) -> str:
    """Returns what a setting's unseen seeds show: ``with 95 % confidence, at most 31.2 % of all seeds break a limit``.

    The unseen seeds are a random sample of all seeds, so the share is the upper end of a Clopper–Pearson interval.
    """
    return _bound(objective, one.breaking_at_most(objective.confidence) or 0.0)


def proof(objective: Objective) -> str:
    """Returns what the unseen seeds can show at best, and the number of seeds for a smaller share."""
    count = f"{objective.confirm} unseen seeds" if objective.confirm != 1 else "1 unseen seed"
    if not objective.confirm:
        return f"No unseen seed confirms the best settings{_needed(objective)}."
    return f"If a setting keeps the limits with {count}, then {_bound(objective, _best_share(objective))}" + (
        f"{_needed(objective)}."
    )


def _bound(objective: Objective, share: float) -> str:
    return f"with {percent(objective.confidence)} confidence at most {percent(share)} of all seeds break a limit"


def _best_share(objective: Objective) -> float:
    return largest_share(0, objective.confirm, objective.confidence)


def _needed(objective: Objective) -> str:
    """Returns the number of unseen seeds that show the wanted share; empty if there are as many."""
    if objective.confirm >= objective.seeds_needed:
        return ""
    table = f"confirm = {{ at_most = {objective.at_most:g} }}"
    return f"; at most {percent(objective.at_most)} needs {objective.seeds_needed} unseen seeds (objective.{table})"


def conclude(objective: Objective, base: Setting | None, best: Sequence[Setting]) -> Conclusion:
    """Returns the conclusion from the base and the best settings, the best first.

    A setting is better than the base if the base has no result, if the base exceeds a limit with an unseen seed, or if
    the interval of a goal's difference excludes zero on the better side.
    """
    goals = objective.goals
    if not best:
        return Conclusion("No setting keeps the limits.", None)
    kept = [one for one in best if one.confirmed]
    if not kept:
        one = max(best, key=lambda one: one.kept)
        unseen = f"{one.of} unseen seeds"
        text = f"None of the best kept the limits with all {unseen}; {one.words} did with {one.kept}"
        return Conclusion(f"{text}, so {shown(objective, one)}.", None)
    better = [one for one in kept if _is_better(goals, base, one)]
    one = (better or kept)[0]
    name = f"The best: {one.words}." if len(goals) == 1 else f"One of the front: {one.words}."
    if not one.of:
        return Conclusion(f"{name} No unseen seed confirms the setting (objective.confirm is 0).", one)
    if better:
        more = _kept(objective, one, base)
        if base is None:
            more += " The base has no result for a comparison."
        elif not one.against:
            more += " The base has no value of the goal for a comparison."
        return Conclusion(name + more, one)
    if any(_is(goal, one.against.get(goal.metric), worse=True) for goal in goals):
        return Conclusion(f"The base is better than {one.words}, the best setting that was found.", None)
    why = "More seeds (objective.confirm) may show one."
    return Conclusion(
        f"No difference between the base and {one.words}, the best that was found, was shown. {why}", None
    )


def _kept(objective: Objective, one: Setting, base: Setting | None) -> str:
    """Returns the sentence on the unseen seeds of the setting to run, and on those of the base."""
    against = "" if base is None or base.confirmed else f"; the base with {base.kept}"
    if not objective.limits:
        return f" The setting has a result with all {one.of} unseen seeds{against}." if against else ""
    kept = f" The setting kept the limits with all {one.of} unseen seeds{against}."
    bound = shown(objective, one)
    return f"{kept} So {bound}{_needed(objective)}."


def _is_better(goals: Sequence[Goal], base: Setting | None, one: Setting) -> bool:
    if base is None or not one.of or not base.confirmed or not one.against:
        return True
    return any(_is(goal, one.against.get(goal.metric), worse=False) for goal in goals)


def _is(goal: Goal, found: Comparison | None, *, worse: bool) -> bool:
    """Whether a goal was shown to be better with a setting than with the base, or worse."""
    return found is not None and found.verdict == ("lower" if goal.is_least is not worse else "higher")
