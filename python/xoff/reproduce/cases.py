"""What an experiment runs: cases × variants × seeds, and all of it again with each open choice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, replace
from typing import Any, ClassVar, Generic, Protocol, TypeVar


class IsDataclass(Protocol):
    """What `dataclasses.replace` takes."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


C = TypeVar("C", bound=IsDataclass)


@dataclass(frozen=True, kw_only=True)
class Cases(Generic[C]):
    """The runs of an experiment. A run is named ``choice: case/variant/seed N``, without what it does not have.

    cases: by name; a case is a dataclass with what the document states, and a default for what it leaves open.
    variants: what is compared, on the same cases and seeds.
    scenario: makes the scenario of a case under a variant.
    sized: the case as it is run, by seed (None: nothing in it is random), with an open choice (or with none, ``""``),
        and quick or at full size; empty if it is not run so.
    choices: values that the document leaves open: the fields of a case to replace, by the name of the choice, or of the
        set of choices. Each is judged by several seeds, as everything is that chance has a part in.
    probes: settings that are no reading of the document, and show how far from the main reading a statement holds: by
        what is varied, the fields to replace by the name of the setting, from the nearest one outward.
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
        """Return what the main reading has where choices differ: the first case's."""
        first = next(iter(self.cases.values()))
        return {name: getattr(first, name) for changes in self.choices.values() for name in changes}

    def scenarios(self, quick: bool) -> dict[str, dict[str, Any]]:
        """Return the scenarios by name."""
        return {
            run_name(case, variant, seed, choice): self.scenario(replace(sized, **changes), variant)
            for choice, changes in {"": {}, **self.choices, **self.probed}.items()
            for case, stated in self.cases.items()
            for seed, sized in self.sized(stated, choice, quick).items()
            for variant in self.variants
        }


def run_name(case: str, variant: str = "", seed: int | None = None, choice: str = "") -> str:
    """Return the name of a run."""
    parts = (case, variant, "" if seed is None else f"seed {seed}")
    return (f"{choice}: " if choice else "") + "/".join(part for part in parts if part)


def choice_of(name: str) -> str:
    """Return the open choice that a run was made with; nothing if with none."""
    choice, colon, _ = name.partition(": ")
    return choice if colon else ""
