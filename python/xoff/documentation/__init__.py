"""The documentation pages, which the wheel contains: ``xoff docs`` prints and searches them without a network."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from xoff._core import InputError

ARCHIVE = Path(__file__).with_name("pages.zip")
"""The pages in a wheel, which ``tools/documentation.py`` writes."""
# A word in a title or heading says more about a page than one in the text.
_WEIGHTS = {"name": 50, "title": 30, "heading": 8}
_MOST_IN_TEXT = 5
# Lists have all words, and explain none of them.
_LISTS = ("reference/", "changelog")


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its name (the path below ``docs`` without ``.md``) and its Markdown."""

    name: str
    text: str

    @property
    def title(self) -> str:
        """The first heading, or the name if there is none."""
        found = re.search(r"^# (.+)$", self.text, re.M)
        return found[1].strip() if found else self.name


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that contains all words of a search, with its best line."""

    page: Page
    score: int
    heading: str
    line: str


@cache
def pages() -> dict[str, Page]:
    """Returns all pages by name, from the checkout or from the wheel.

    Raises `InputError` for an own build that has neither.
    """
    root = Path(__file__).resolve().parents[3]
    if (root / "crates" / "models").is_dir() and (root / "docs" / "index.md").is_file():
        folder = root / "docs"
        texts = {file.relative_to(folder).as_posix(): file.read_text("utf-8") for file in folder.rglob("*.md")}
    elif ARCHIVE.is_file():
        with zipfile.ZipFile(ARCHIVE) as archive:
            texts = {name: archive.read(name).decode() for name in archive.namelist()}
    else:
        raise InputError("docs: this installation has no pages; install xoff from a wheel")
    names = sorted((name.removesuffix(".md"), text) for name, text in texts.items())
    return {name: Page(name, text) for name, text in names}


def find(name: str) -> Page | None:
    """Returns the page with a name, with a last part, or with a part that no other page's name has."""
    known = pages()
    name = name.strip("/").removesuffix(".md").lower()
    if name in known:
        return known[name]
    for matches in (
        [page for page in known if page.rpartition("/")[2] == name],
        [page for page in known if name and name in page.rpartition("/")[2].split("-")],
    ):
        if len(matches) == 1:
            return known[matches[0]]
    return None


def search(words: Sequence[str]) -> list[Hit]:
    """Returns the pages that contain all words, the best first. A word also finds longer words that begin with it."""
    patterns = [re.compile(rf"\b{re.escape(word)}", re.I) for word in words]
    hits = [hit for page in pages().values() if (hit := _hit(page, patterns))]
    return sorted(hits, key=lambda hit: (-hit.score, hit.page.name))


def _hit(page: Page, patterns: list[re.Pattern[str]]) -> Hit | None:
    if not all(pattern.search(page.text) or pattern.search(page.name) for pattern in patterns):
        return None

    def count(text: str) -> int:
        return sum(len(pattern.findall(text)) for pattern in patterns)

    score = _WEIGHTS["name"] * count(page.name) + _WEIGHTS["title"] * count(page.title)
    # A long page has more words, but is not more about them.
    score += sum(min(len(pattern.findall(page.text)), _MOST_IN_TEXT) for pattern in patterns)
    heading, headings, best, is_code = page.title, 0, (0, page.title, ""), False
    for line in page.text.splitlines():
        is_code ^= line.lstrip().startswith("```")
        if line.startswith("#") and not is_code:
            heading = line.lstrip("# ").strip()
            headings += count(heading)
        elif line.strip():
            together = sum(pattern.search(line) is not None for pattern in patterns)
            best = max(best, (together, heading, line.strip()), key=lambda one: one[0])
    score += _WEIGHTS["heading"] * min(headings, _MOST_IN_TEXT)
    return Hit(page, score // 4 if page.name.startswith(_LISTS) else score, best[1], best[2])
