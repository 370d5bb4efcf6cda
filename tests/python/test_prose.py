"""Prose is plain: pronouns, indefinites and question words stay below ceilings that only fall.

`tools/prose.py` counts. An author who makes prose plainer lowers the ceiling; a ceiling that is too high fails as well.
"""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import prose

CEILINGS = {"comments of Rust": 3.3, "docs": 3.6, "docstrings of Python": 3.6, "top pages": 2.9}
"""Vague words per 100 words, by group. Targets are 4 for pages, and 6 for comments and docstrings."""
QUESTIONS = 0.3
"""Doc comments of Rust that begin with a question word, in percent. The target is 3."""
SLACK = 0.3

GROUPS, FILES, ASKED = prose.measured(prose.listed())


@pytest.mark.parametrize("group", sorted(CEILINGS))
def test_a_group_is_below_its_ceiling(group: str) -> None:
    found = round(GROUPS[group].per_100, 1)
    worst = sorted(FILES, key=lambda name: -FILES[name].vague * (prose.group_of(name) == group))[:5]
    assert found <= CEILINGS[group], f"more vague words than before; many are in {worst}; `tools/prose.py` counts"
    assert found > CEILINGS[group] - SLACK, f"plainer than the ceiling says: lower the ceiling of {group} to {found}"


def test_all_groups_have_a_ceiling() -> None:
    assert GROUPS.keys() == CEILINGS.keys()


def test_few_comments_begin_with_a_question_word() -> None:
    found = round(ASKED.per_100, 1)
    assert QUESTIONS - SLACK < found <= QUESTIONS


def test_vague_words_are_counted() -> None:
    text = "//! What it does is told by those who know.\n/// Sends a frame.\nfn a() {}\n"
    assert prose.count(prose.prose("a.rs", text)) == prose.Count(4, 12)
    assert prose.questions(text) == prose.Count(1, 2)
    page = "# It is\n\n| it |\n\nIt `it` is [one](it.md).\n\n```\nit\n```\n"
    assert prose.count(prose.prose("a.md", page)) == prose.Count(2, 4)
    assert prose.group_of("docs/experiments/a.md") is None
    source = "'''It.'''\nA = 1\n'''Its.'''\n'''no doc: it'''\n"
    assert prose.count(prose.prose("a.py", source)) == prose.Count(2, 2)
