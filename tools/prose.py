"""Counts pronouns and indefinites per 100 words of prose, and doc sentences that begin with a question word.

Usage: ``prose.py [--worst N] [FILE...]``. Without files: all that git lists. ``tests/python/test_prose.py`` holds
the counts of each group of files below a ceiling. CONTRIBUTING.md has the rules of prose.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_LIST = """
it its itself they them their theirs that those these what who whom whose whoever whatever wherever so such one ones
somebody someone anybody nobody nothing something anything everything everybody others there thereof thus
"""
VAGUE = frozenset(_LIST.split())
"""Words that refer to a noun elsewhere, or to none."""
_QUESTION = re.compile(r"(What|Whether|So (many|much)|How|Who|Whose|Where|When|Which)\b")
_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*")


@dataclass(frozen=True, slots=True)
class Count:
    """The words of some text."""

    vague: int
    words: int

    def __add__(self, other: Count) -> Count:
        return Count(self.vague + other.vague, self.words + other.words)

    @property
    def per_100(self) -> float:
        """Vague words per 100 words; zero without words."""
        return 100 * self.vague / self.words if self.words else 0.0


def group_of(name: str) -> str | None:
    """Returns the group of a file of the repository by its path; None for a file without prose of ours."""
    if name.endswith(".md"):
        if "/experiments/" in name or "/reference/" in name:
            return None
        return "docs" if name.startswith("docs/") else "top pages"
    return {".rs": "comments of Rust", ".py": "docstrings of Python"}.get(Path(name).suffix)


def prose(name: str, text: str) -> str:
    """Returns the prose of a file: pages without code and tables, doc comments, or docstrings."""
    if name.endswith(".md"):
        text = re.sub(r"```.*?```", " ", text, flags=re.S)
        text = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", " X ", text))
        return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith(("|", "#", "![")))
    found = "\n".join(_doc_comments(text) if name.endswith(".rs") else _docstrings(text))
    return re.sub(r"``[^`]*``|`[^`]*`", " X ", found)


def _doc_comments(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if (stripped := line.strip()).startswith(("///", "//!")):
            yield re.sub(r"^//[/!] ?", "", stripped)


def _docstrings(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        for number, item in enumerate(body):
            if not (isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant)):
                continue
            # The first of a body, or the text below an attribute.
            is_doc = number == 0 or isinstance(body[number - 1], ast.Assign | ast.AnnAssign)
            if is_doc and isinstance(item.value.value, str):
                yield item.value.value


def count(text: str) -> Count:
    """Counts the words of a text."""
    words = [word.lower() for word in _WORD.findall(text)]
    return Count(sum(word in VAGUE for word in words), len(words))


def questions(text: str) -> Count:
    """Counts the doc comments of a Rust file that begin with a question word, among all."""
    lines = list(_doc_comments(text))
    starts = [line for at, line in enumerate(lines) if line and (at == 0 or lines[at - 1].rstrip().endswith((".", "")))]
    return Count(sum(bool(_QUESTION.match(line)) for line in starts), len(starts))


def measured(names: Iterable[str]) -> tuple[dict[str, Count], dict[str, Count], Count]:
    """Returns the counts by group and by file, and the question words of Rust files; ``names`` relative to the root."""
    groups: dict[str, Count] = defaultdict(lambda: Count(0, 0))
    files: dict[str, Count] = {}
    asked = Count(0, 0)
    for name in names:
        group = group_of(name)
        path = ROOT / name
        if group is None or not path.is_file() or path.is_symlink():
            continue
        text = path.read_text("utf-8")
        files[name] = count(prose(name, text))
        groups[group] += files[name]
        if name.endswith(".rs"):
            asked += questions(text)
    return dict(groups), files, asked


def listed() -> list[str]:
    """Returns the files that git lists."""
    command = ["git", "-C", str(ROOT), "ls-files"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def main() -> None:
    """Prints the counts of each group, and the densest files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--worst", type=int, default=10)
    arguments = parser.parse_args()
    groups, files, asked = measured(arguments.files or listed())
    for group, found in sorted(groups.items()):
        print(f"{group:22} {found.per_100:5.1f} per 100 of {found.words:,} words")
    print(f"{'question words':22} {asked.per_100:5.1f} per 100 of {asked.words:,} doc comments")
    dense = sorted(((one.per_100, one.words, name) for name, one in files.items() if one.words >= 100), reverse=True)
    for value, words, name in dense[: arguments.worst]:
        print(f"{value:6.1f} of {words:6,}  {name}")


if __name__ == "__main__":
    main()
