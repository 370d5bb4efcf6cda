"""Draws parts that have no strategy: parts that are new in the schema, and parts of plug-ins."""

import json
import re
from decimal import Decimal
from random import Random
from typing import Any

from xoff import _core
from xoff.conformance.draw import Draw
from xoff.conformance.schema import part, resolved

PLUGINS = "plugins"
"""The key of the parts of plug-ins, beside xoff's parts of a kind."""
FACTORS = (1 / 16, 1 / 4, 4)
"""Factors of the default of a parameter of a plug-in."""


def generic(d: Draw, path: str, option: str) -> Any:
    """Draws a part without a strategy: an example for each key without a default."""
    if "oneOf" in part(path):
        variant = next(one for one in part(path)["oneOf"] if option in {one.get("const"), *one.get("properties", {})})
        return None if "const" in variant else example(d, variant["properties"][option])
    made = example(d, part(f"{path}.{option}"))
    if path == "network":
        resolved_text, _ = _core.resolve(json.dumps({"network": {option: made}}), "json", [])
        d.hosts = json.loads(_core.check(resolved_text, {}))["network"]["hosts"]
    return made


def example(d: Draw, schema: dict[str, Any]) -> Any:
    """Returns a value allowed by the schema."""
    if schema.get("$ref", "").endswith("/Link"):
        return d.link()
    schema = resolved(schema) if schema.get("type") != "array" else schema
    if "examples" in schema:
        return schema["examples"][0]
    if schema.get("type") == "object":
        return {key: example(d, schema["properties"][key]) for key in schema.get("required", [])}
    simple = {"integer": max(schema.get("minimum", 0), 4), "number": 0.5, "boolean": False, "array": []}
    return simple[schema["type"]]


def plugged(d: Draw, path: str) -> dict[str, Any]:
    """Returns the forced part of a plug-in with drawn parameters: an example, or the default times a factor."""
    name = d.forced[path]
    parameters = part(f"{path}.{name}")
    drawn = example(d, parameters)
    for key, schema in parameters.get("properties", {}).items():
        if "default" in schema and key not in drawn and d.settings.random() < 0.5:
            drawn[key] = scaled(schema["default"], d.settings)
    return {name: drawn}


def scaled(value: Any, rng: Random) -> Any:
    """Returns a number, or a quantity such as ``100KB``, times a drawn factor; another value as it is."""
    factor = rng.choice(FACTORS)
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value * factor)
    if isinstance(value, float):
        return value * factor
    quantity = re.fullmatch(r"(\d+(?:\.\d+)?) ?([A-Za-z]+)", value) if isinstance(value, str) else None
    return f"{(Decimal(quantity[1]) * Decimal(factor)).normalize():f}{quantity[2]}" if quantity else value
