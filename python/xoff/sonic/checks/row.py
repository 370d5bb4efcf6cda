"""A check, its findings, and the configurations that it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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

    def with_memory(self) -> Iterator[tuple[Switch, Memory]]:
        """Yields the switches with lossless groups in a pool."""
        for name, one in self.fabric.switches.items():
            if (found := self.memories[name]) is not None:
                yield one, found


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
