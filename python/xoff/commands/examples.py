"""``xoff examples``: the examples of the package, which the commands of the documentation use.

Examples are scenarios, studies and files of other programs.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from xoff import formatting
from xoff._core import InputError
from xoff.commands.options import Json
from xoff.files.new_files import write_files

PLACE = Path(__file__).resolve().parents[1] / "examples"
"""The folder of the examples in the installed package."""


def command(
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Writes all examples into this new folder. The documentation calls the folder [b]examples[/b].",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Lists the examples; with --out, writes all examples into a folder."""
    from xoff import display

    if out is not None:
        paths = write(out)
        if as_json:
            print(json.dumps({"files": [str(path) for path in paths]}))
        else:
            print(f"{len(paths)} files are in {formatting.plain(str(out))}")
        return
    listed = [{"name": name, "title": title(name)} for name in names()]
    if as_json:
        print(json.dumps({"examples": listed}))
        return
    table = display.table("example", "question or content")
    for one in listed:
        table.add_row(one["name"], one["title"])
    display.out.print(table)
    display.out.print("[b]xoff new --example NAME[/b] writes one, [b]xoff examples --out examples[/b] writes all.")


def names() -> list[str]:
    """Returns the names of the scenarios and studies: the path in the folder without ``.toml``.

    The files of plug-ins (`PLACE / "plugins"`) need a core with the plug-in, and are written with all examples.
    """
    files = (file.relative_to(PLACE) for file in PLACE.rglob("*.toml"))
    own = (file.with_suffix("").as_posix() for file in files if file.parts[0] != "plugins")
    return sorted(own, key=lambda name: ("/" in name, name))


def title(name: str) -> str:
    """Returns the first sentence of an example's leading comment."""
    lines = (PLACE / f"{name}.toml").read_text("utf-8").splitlines()
    comment = []
    for line in lines:
        if not line.startswith("#"):
            break
        comment.append(line.lstrip("# ").rstrip())
    return re.split(r"(?<=[.?:])\s", " ".join(comment), maxsplit=1)[0].rstrip(":")


def write(directory: Path) -> list[Path]:
    """Writes all examples into a new or empty folder; returns the paths.

    Raises `InputError` if the folder holds anything.
    """
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise InputError(f"--out {directory}: is not empty; choose another name")
    files = sorted(file.relative_to(PLACE) for file in PLACE.rglob("*") if file.is_file())
    kept = [file for file in files if "__pycache__" not in file.parts]
    write_files({directory / file: (PLACE / file).read_text("utf-8") for file in kept})
    return [directory / file for file in kept]


def write_one(example: str, name: str = "") -> list[Path]:
    """Writes an example, and the files that the example names, side by side; returns the paths.

    name: the file, with or without ``.toml``; the last part of the example's name if empty.

    Raises `InputError` if there is no such example, or one of the files exists.
    """
    known = names()
    if example not in known:
        near = difflib.get_close_matches(example, known, n=1, cutoff=0.5)
        hint = f"did you mean `{near[0]}`? " if near else ""
        raise InputError(f"--example {formatting.plain(example)}: no such example; {hint}`xoff examples` lists all")
    source = PLACE / f"{example}.toml"
    target = Path(name or source.name)
    target = target if target.suffix == ".toml" else target.with_name(f"{target.name}.toml")
    files = {target: source}
    for other in _named(tomllib.loads(source.read_text("utf-8")), source.parent):
        files[target.with_name(other.name)] = other
    for place in files:
        if place.exists():
            raise InputError(f"{place}: exists; choose another name")
    texts = {place: file.read_text("utf-8") for place, file in files.items()}
    texts[target] = texts[target].replace(f"examples/{example}.toml", str(target))
    write_files(texts)
    return list(files)


def _named(value: Any, folder: Path) -> list[Path]:
    """Returns the files of a folder that the values of a document name, and the files that these name."""
    if isinstance(value, dict):
        return [file for one in value.values() for file in _named(one, folder)]
    if isinstance(value, list):
        return [file for one in value for file in _named(one, folder)]
    if not isinstance(value, str) or "/" in value or not (folder / value).is_file():
        return []
    file = folder / value
    more = _named(tomllib.loads(file.read_text("utf-8")), folder) if file.suffix == ".toml" else []
    return [file, *more]
