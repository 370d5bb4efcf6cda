"""Congestion controls in Python: the declarations of the classes of a scenario, and the process of a run's objects.

The objects of a run live in one process, which xoff can kill: a method in an endless loop is interrupted. The compiled
core asks the process at a socket, without this interpreter.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xoff._core import CallError
from xoff.functions import FunctionError, Functions, NotAllowedError


@dataclass(frozen=True, slots=True)
class Controls:
    """The classes of the congestion controls of a scenario, which the caller allowed."""

    functions: Functions
    """The permission, with the limit of a call."""
    directory: Path
    """The folder in which modules are looked up first."""
    seed: int
    """The seed of the scenario."""
    classes: tuple[tuple[str, Mapping[str, Any]], ...]
    """Key and table of each class, in the order of the core."""


def tables(document: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Returns key and table of each congestion control in Python of a resolved scenario, in the order of the core."""
    host = document.get("host", {})
    places = [("host", host)]
    places += [(f"host.overrides[{number}]", one) for number, one in enumerate(host.get("overrides", ()))]
    return [
        (f"{key}.congestion_control.python", found["python"])
        for key, one in places
        if (found := one.get("congestion_control")) and "python" in found
    ]


def declare(
    functions: Functions | None, document: Mapping[str, Any], resolved: str, directory: Path
) -> tuple[str, Controls | None]:
    """Adds the declarations of the classes to a resolved scenario. Returns the text of the scenario, and the classes.

    functions: the permission; None for a command that runs no code.
    document, resolved: the resolved scenario, which changes, and its text.
    directory: the folder in which modules are looked up first.

    Raises `InputError` with the key if classes may not be run, or a class is wrong.
    """
    found = tables(document)
    if not found:
        return resolved, None
    if functions is None:
        key, python = found[0]
        raise NotAllowedError(
            f"{key}: `{python['class']}` is Python code, which this command does not run; `xoff run --allow-python` "
            "runs the scenario, with `--set probe.delays=all --out DIR` for `xoff explain DIR`"
        )
    for key, python in found:
        declared = functions.declared(key, python["class"], directory, python.get("parameters", {}))
        if python.get("declared", declared)["code"] != declared["code"]:
            raise FunctionError(
                f"{key}.declared.code: the code of `{python['class']}` is another than that of the result; remove "
                "`declared` to run the code as it is"
            )
        python["declared"] = declared
    return json.dumps(document), Controls(functions, directory.absolute(), int(document["seed"]), tuple(found))


@contextlib.contextmanager
def serving(controls: Controls | None, poll: Callable[[], None] | None) -> Iterator[tuple[str, float] | None]:
    """Runs the process of the objects of a run; yields the socket and the limit of a call for the core.

    Raises `InputError` with the key, the class and the method for a failed call of the run.
    """
    if controls is None:
        yield None
        return
    limit = controls.functions.timeout
    names = [(key, *python["class"].split(":")) for key, python in controls.classes]
    classes = [
        {
            "module": module,
            "class": name,
            "parameters": python.get("parameters", {}),
            "code": python["declared"]["code"],
        }
        for (_, module, name), (_, python) in zip(names, controls.classes, strict=True)
    ]
    with controls.functions.lent(controls.directory) as process:
        request = {"ask": "serve", "seed": controls.seed, "classes": classes}
        found = process.tell(request, limit, poll)
        if "why" in found:
            key, module, name = names[found.get("number", 0)]
            raise FunctionError(f"{key}: `{module}:{name}` {found['why']}")
        try:
            yield found["socket"], limit
        except CallError as error:
            number, method, reason = error.args
            key, module, name = names[number]
            raise FunctionError(f"{key}: `{module}:{name}.{method}` {process.ending(reason, limit)}") from None
        process.finish()
