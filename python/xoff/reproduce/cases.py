"""The runs of an experiment: cases × variants × seeds, repeated with each open choice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, replace
from typing import Any, ClassVar, Generic, Protocol, TypeVar


class IsDataclass(Protocol):
    """A dataclass, as `dataclasses.replace` takes it."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


C = TypeVar("C", bound=IsDataclass)


@dataclass(frozen=True, kw_only=True)
class Cases(Generic[C]):
    """The runs of an experiment, named ``choice: case/variant/seed N`` without absent parts.

    cases: by name; a case is a dataclass with the values of the document, and a default for each open value.
    variants: the compared variants, on the same cases and seeds.
    scenario: makes the scenario of a case under a variant.
    sized: the case to run by seed (None: without randomness), for an open choice (``""``: none), quick or at full size;
        empty if the case is not run with this choice.
    choices: values that the document leaves open: the replaced fields of a case, by the name of the choice or set of
        choices. Each choice is judged by several seeds if its runs are random.
    probes: settings that are no reading of the document and show the range in which a statement holds: by varied
        quantity, the replaced fields by name of the setting, from the nearest setting outward.
    """

    cases: Mapping[str, C]
    scenario: Callable[[C, str], dict[str, Any]]
    sized: Callable[[C, str, bool], Mapping[int | None, C]]
    variants: Sequence[str] = ("",)
    choices: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    probes: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)

    @property
    def probed(self) -> dict[str, Mapping[str, Any]]:
        """The settings of all probes by name."""
        return {name: changes for settings in self.probes.values() for name, changes in settings.items()}

    def main(self) -> dict[str, Any]:
        """Returns the values of the main reading for all fields that choices replace, from the first case."""
        first = next(iter(self.cases.values()))
        return {name: getattr(first, name) for changes in self.choices.values() for name in changes}

    def scenarios(self, quick: bool) -> dict[str, dict[str, Any]]:
        """Returns the scenarios by name."""
        return {
            run_name(case, variant, seed, choice): self.scenario(replace(sized, **changes), variant)
            for choice, changes in {"": {}, **self.choices, **self.probed}.items()
            for case, stated in self.cases.items()
            for seed, sized in self.sized(stated, choice, quick).items()
            for variant in self.variants
        }


def run_name(case: str, variant: str = "", seed: int | None = None, choice: str = "") -> str:
    """Returns the name of a run."""
    parts = (case, variant, "" if seed is None else f"seed {seed}")
    return (f"{choice}: " if choice else "") + "/".join(part for part in parts if part)


def choice_of(name: str) -> str:
    """Returns the open choice of a run by its name; an empty text if it has none."""
    choice, colon, _ = name.partition(": ")
    return choice if colon else ""
