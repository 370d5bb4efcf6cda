"""``Cargo.toml`` alone defines the version; all other places read or are compared with the definition."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import xoff

_ROOT = Path(__file__).resolve().parents[2]
_VERSION = tomllib.loads((_ROOT / "Cargo.toml").read_text("utf-8"))["workspace"]["package"]["version"]


def test_the_package_has_the_version_of_the_workspace() -> None:
    assert xoff.__version__ == _VERSION
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert "version" in project["dynamic"]
    assert "version" not in project
    for file in (_ROOT / "crates").glob("*/Cargo.toml"):
        assert tomllib.loads(file.read_text("utf-8"))["package"]["version"] == {"workspace": True}, file


def test_crates_need_crates_of_the_same_version() -> None:
    needed = tomllib.loads((_ROOT / "Cargo.toml").read_text("utf-8"))["workspace"]["dependencies"]
    own = {name: crate["version"] for name, crate in needed.items() if name.startswith("xoff-")}
    assert own == dict.fromkeys(
        ["xoff-units", "xoff-engine", "xoff-models", "xoff-applications", "xoff-document", "xoff-scenario"], _VERSION
    )


def test_the_experiments_have_it_and_need_it() -> None:
    project = tomllib.loads((_ROOT / "experiments" / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["version"] == _VERSION
    assert project["dependencies"] == [f"xoff[figures]=={_VERSION}"]


def test_the_citation_has_it() -> None:
    (version,) = re.findall(r"^version: (.+)$", (_ROOT / "CITATION.cff").read_text("utf-8"), re.M)
    assert version == _VERSION


def test_the_changelog_ends_with_it_or_says_what_is_not_released() -> None:
    headings = re.findall(r"^## (\S+)", (_ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert [heading for heading in headings if heading != "Unreleased"][:1] in ([], [_VERSION])
