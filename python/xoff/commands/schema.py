"""``xoff schema``: the JSON Schema of scenarios."""

from __future__ import annotations

import json

from xoff import _core


def command() -> None:
    """Prints the JSON Schema of the scenario, from which editors complete and check."""
    print(json.dumps(json.loads(_core.schema()), indent=2))
