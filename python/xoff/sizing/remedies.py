"""Errors that propose a change: the change is data, from which the sentence is made.

A test can therefore apply the change to the input that failed, and see that the error is gone.
"""

from __future__ import annotations

from dataclasses import dataclass

from xoff._core import InputError


@dataclass(frozen=True, slots=True)
class Change:
    """A proposed change of one option or key."""

    key: str
    """An option, such as ``--round-trip``, or the path of a key."""
    value: str | None = ""
    """The value to give; empty for an option without a value, None to remove the option or key."""
    why: str = ""
    """What the value is, or where it comes from."""

    def sentence(self) -> str:
        """Returns the change in words: ``give --round-trip 8us``, or ``remove --rate``."""
        text = f"remove {self.key}" if self.value is None else f"give {self.key} {self.value}".rstrip()
        return f"{text} ({self.why})" if self.why else text


class ChangeError(InputError):
    """An input with a mistake that any of some changes removes."""

    def __init__(self, key: str, problem: str, *changes: Change) -> None:
        remedy = ", or ".join(change.sentence() for change in changes)
        message = f"{problem}; {remedy}"
        super().__init__(f"{key}: {message}")
        first = [{"key": change.key, "value": change.value} for change in changes[:1]]
        self.errors = [{"path": key, "message": message, **({"change": first[0]} if first else {})}]
        self.key = key
        """The option or key with the mistake."""
        self.changes = changes
        """The proposed changes; each of them removes this error."""
