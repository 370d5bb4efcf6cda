"""A hash of the code of a function: of its module, and of the modules of the same folder that the module imports."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from pathlib import Path


def code_digest(module: str, function: str, directory: Path, own: Path | None) -> str:
    """Returns a hash of the name of a function and the text of its module and imports.

    The imports are those that the texts state, within `directory` and directly or through others. Installed modules
    and imports at run time are left out.

    own: the file of the module; None for a module without a file.
    """
    found = hashlib.sha256(f"{module}:{function}".encode())
    known: dict[str, bytes] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        file = _file(name, directory) or (own if name == module else None)
        if name in known or file is None:
            continue
        known[name] = file.read_bytes()
        is_package = file.name == "__init__.py"
        waiting += _parents(name)
        if file.suffix == ".py":
            waiting += _imports(known[name], name if is_package else name.rpartition(".")[0])
    for name in sorted(known):
        found.update(f"\0{name}\0{len(known[name])}\0".encode() + known[name])
    return found.hexdigest()


def _file(module: str, directory: Path) -> Path | None:
    place = directory.joinpath(*module.split("."))
    return next((one for one in (place.with_suffix(".py"), place / "__init__.py") if one.is_file()), None)


def _parents(module: str) -> list[str]:
    parts = module.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]


def _imports(text: bytes, package: str) -> Iterator[str]:
    """Yields the modules that a text may import; `package` is the base of relative imports."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return  # No module imports this text.
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".") if package else []
            base = parts[: len(parts) - node.level + 1] if node.level else []
            name = ".".join([*base, *([node.module] if node.module else [])])
            if name:
                yield name
            yield from (f"{name}.{alias.name}" if name else alias.name for alias in node.names)
