"""An extension of griffe for the documentation: names the parameters of a docstring.

Docstrings of xoff describe a parameter in a line that begins with the name and a colon. The reader of docstrings knows
such lines after the word `Args`.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Function

_LINE = re.compile(r"(\w+): ")


def marked(text: str, names: set[str]) -> str:
    """Returns a docstring with ``Args:`` before each block of lines that describe parameters."""
    blocks = []
    for block in re.split(r"\n{2,}", text):
        first = _LINE.match(block)
        if first is not None and first[1] in names:
            block = "Args:\n" + "\n".join(f"    {line}" for line in block.split("\n"))
        blocks.append(block)
    return "\n\n".join(blocks)


class Parameters(Extension):  # type: ignore[misc] # the library is not followed
    """Marks the parameters of functions."""

    def on_function(self, *, func: Function, **_: Any) -> None:
        """Rewrites the docstring of a function."""
        if func.docstring is not None:
            func.docstring.value = marked(func.docstring.value, {one.name for one in func.parameters})
