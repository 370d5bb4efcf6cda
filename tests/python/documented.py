"""Follows a page of the documentation: writes the printed files, and types the printed commands.

A block of ``sh`` is typed. A block of ``toml`` is written into the file named in bold by the text before; a block
without a name is an excerpt. A block of ``python`` is written likewise, and run without a name. A block of ``text`` is
the output of the preceding command or code. A block of ``bash`` needs a cluster or a build, and is only parsed.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Callable
from pathlib import Path

from small import Command
from xoff.commands import examples

_ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.M | re.S)
_BUILD = ("source .venv/bin/activate",)
_WRITES_EXAMPLES = re.compile(r"^xoff examples --out examples$", re.M)


def others() -> list[Path]:
    """Returns the further pages with commands, which tests of their own follow in a checkout."""
    return [_ROOT / "README.md", _ROOT / "docs" / "gallery.md"]


def pages() -> list[Path]:
    """Returns the pages whose commands are followed one by one."""
    docs = _ROOT / "docs"
    return [
        docs / "install.md",
        docs / "folding.md",
        *sorted(docs.glob("tutorial*.md")),
        docs / "reference" / "python.md",
        *sorted((docs / "how-to").glob("*.md")),
    ]


def follow(page: Path, folder: Path, command: Command, python: Callable[[str], str]) -> None:
    """Follows a page in a folder, and compares what is printed with the page.

    command: runs the command ``xoff`` in the folder. python: runs a program in the folder, and returns its output.
    """
    if not _WRITES_EXAMPLES.search(page.read_text("utf-8")):
        examples.write(folder / "examples")
    printed = ""
    for language, content, file in blocks(page):
        if file and file.endswith((".toml", ".py")[language == "python"]) and language in {"toml", "python"}:
            (folder / file).write_text(content, "utf-8")
        elif language == "toml":
            tomllib.loads(content)
        elif language == "sh":
            for line in content.splitlines():
                program, *arguments = shlex.split(line, comments=True)
                if line not in _BUILD and program != "make":
                    assert program in {"xoff", ".venv/bin/xoff"}
                    done = command(*arguments)
                    assert done.returncode == 0, done.stderr
                    printed = done.stdout
        elif language == "text":
            assert [line.rstrip() for line in content.splitlines()] == [
                line.rstrip() for line in printed.splitlines()[: len(content.splitlines())]
            ]
        elif language == "python":
            printed = python(content)
        else:
            assert language in {"bash", "rust"}


def blocks(page: Path) -> list[tuple[str, str, str]]:
    """Returns the blocks of a page: language, content, and the file named by the text before."""
    text = page.read_text("utf-8")
    found, end = [], 0
    for block in _BLOCK.finditer(text):
        named = re.findall(r"\*\*([\w-]+\.(?:toml|py))\*\*", text[end : block.start()])
        found.append((block[2], re.sub(f"^{block[1]}", "", block[3], flags=re.M), named[-1] if named else ""))
        end = block.end()
    return found
