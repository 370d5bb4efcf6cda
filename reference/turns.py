"""The order in which the classes of a port send: strict classes first, then turns by weight."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Classes:
    """The settings of classes: class n is strict, or may send `quanta_bytes[n]` each round."""

    strict: tuple[bool, ...]
    quanta_bytes: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.strict)


def read_classes(switch: dict[str, Any], largest_bytes: int) -> Classes:
    """Returns the settings of classes of a scenario, with frames of at most `largest_bytes`."""
    count = switch.get("classes", 1)
    match switch.get("scheduler", "strict"):
        case "strict":
            return Classes((True,) * count, (0,) * count)
        case {"queues": queues, **others} if not others:
            queues = [*queues, *[{"type": "dwrr"}] * (count - len(queues))]
            strict = tuple(queue["type"] == "strict" for queue in queues)
            return Classes(strict, tuple(largest_bytes * queue.get("weight", 1) for queue in queues))
    raise ValueError("the reference models strict priority, and a scheduler for each class")


@dataclass
class Turns:
    """The turns of the classes of a port: the round has the classes that may send and are not strict."""

    classes: Classes
    round: deque[int] = field(default_factory=deque)
    deficit_bytes: dict[int, int] = field(default_factory=dict)

    def join(self, number: int) -> None:
        """Adds a class that is not strict to the back of the round, unless the class is in the round."""
        if not self.classes.strict[number] and number not in self.round:
            self.round.append(number)

    def leave(self, number: int) -> None:
        """Removes a class from the round; what is left of its bytes is lost."""
        if number in self.round:
            self.round.remove(number)
        self.deficit_bytes[number] = 0

    def strict_class(self, may_send: Callable[[int], bool]) -> int | None:
        """Returns the highest strict class that may send."""
        numbers = reversed(range(len(self.classes)))
        return next((number for number in numbers if self.classes.strict[number] and may_send(number)), None)

    def next_by_frames(self, may_send: Callable[[int], bool]) -> int | None:
        """Returns the next class of a host; classes that are not strict take turns frame by frame."""
        strict = self.strict_class(may_send)
        if strict is not None:
            return strict
        if not self.round:
            return None
        self.round.rotate(-1)
        return self.round[-1]

    def next_by_bytes(self, sizes: Callable[[int], list[int]]) -> int | None:
        """Returns the next class of a switch. `sizes` gives the first two frames of a class that may send."""
        strict = self.strict_class(lambda number: bool(sizes(number)))
        if strict is not None:
            return strict
        if not self.round:
            return None
        number = self.round[0]
        size, *following = sizes(number)
        deficit = self.deficit_bytes.get(number, 0)
        if deficit < size:
            deficit += self.classes.quanta_bytes[number]
        self.deficit_bytes[number] = deficit - size
        if not following or following[0] > deficit - size:
            self.round.rotate(-1)
        return number
