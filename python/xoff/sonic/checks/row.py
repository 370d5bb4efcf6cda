"""A check, its findings, and the configurations that it reads."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from xoff.sonic import memory
from xoff.sonic.fabric import Fabric
from xoff.sonic.formula import Lookup
from xoff.sonic.memory import Memory
from xoff.sonic.switch import Switch

LEVELS = ("error", "warning", "note")


@dataclass(frozen=True, slots=True)
class Row:
    """A setting that a check names."""

    id: str
    level: str
    switch: str
    port: str
    """Empty for a setting of the whole switch."""
    table: str
    key: str
    field: str
    value: str
    required: str
    """The value that would pass."""
    why: str

    def record(self) -> dict[str, Any]:
        """Returns the row as JSON."""
        return asdict(self)


@dataclass
class Context:
    """The switches under check, and facts that no configuration of a switch holds."""

    fabric: Fabric
    lookup: Lookup | None = None
    roce_dscp: int | None = None
    """The DSCP of RoCE data at the hosts."""
    cnp_dscp: int | None = None
    host_pfc: tuple[int, ...] | None = None
    """Priorities under PFC at the hosts; None if unknown."""
    unchecked: dict[str, str] = field(default_factory=dict)
    """By id, the reason for which a check had no input."""

    @cached_property
    def memories(self) -> dict[str, Memory | None]:
        """The memory of the lossless groups of each switch."""
        return {name: memory.of(one) for name, one in self.fabric.switches.items()}

    def supposing(self, values: Mapping[str, Any]) -> Context:
        """Returns the same switches with values for the properties of their chips that are unknown."""
        switches = {}
        for name, one in self.fabric.switches.items():
            supposed = {key: value for key, value in values.items() if key in one.asic.unknown}
            # A copy keeps the resolved references, which do not depend on these properties.
            switches[name] = copy.copy(one)
            switches[name].asic = dataclasses.replace(one.asic, **supposed)
        fabric = Fabric(self.fabric.directory, switches)
        return Context(fabric, self.lookup, self.roce_dscp, self.cnp_dscp, self.host_pfc, self.unchecked)

    def with_memory(self) -> Iterator[tuple[Switch, Memory]]:
        """Yields the switches with lossless groups in a pool."""
        for name, one in self.fabric.switches.items():
            if (found := self.memories[name]) is not None:
                yield one, found


def depends_on(switch: Switch, names: Sequence[str]) -> str:
    """Returns the reason for which a check is not made: the properties of the chip that are not known."""
    unknown = [name for name in names if name in switch.asic.unknown]
    return f"{switch.name}: depends on {', '.join(unknown)} of {switch.chip_name}: give --asic FILE"


@dataclass(frozen=True, slots=True)
class Check:
    """A check: findings, and the text of its entry in the reference."""

    id: str
    level: str
    fails: str
    """The condition, as a sentence."""
    effect: str
    """The effect of the failure on traffic."""
    remedy: str
    source: str
    find: Callable[[Context], Iterator[Row]]
    needs: tuple[str, ...] = ()
    """The properties of the chip on which the findings depend."""
