"""The pages of docs/models: their form, and each named path, key, default and test."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_FOLDER = _ROOT / "docs" / "models"
_PAGES = sorted(_FOLDER.glob("*.md"))
_HEADINGS = ("Model", "Equations", "Parameters", "Limits", "Tests", "Sources")
# A page without a key has no parameters; equations are optional everywhere.
_OPTIONAL = {"Equations"}
_REQUIRED = "required"
_FORBIDDEN = {
    "mechanisms.md": r"(?<![\w-])mechanisms\.md",
    "peers.md": r"(?<![\w-])peers\.md",
    "[RES]": r"\[RES\]",
    "[MEM]": r"\[MEM\]",
}
# Tables with options as keys; each option has a page.
_OPTIONS = ("switch.flow_control", "switch.routing", "host.transport", "host.congestion_control", "workload[]")
# Keys of every workload; the other keys are kinds of traffic.
_OF_EVERY_WORKLOAD = {"name", "start", "class", "connections", "connections_per_channel", "nccl"}

Sections = dict[str, dict[str, str]]


def _opening(page: str) -> str:
    """The text between the title and the first heading."""
    return page.partition("\n## ")[0]


def _section(page: str, heading: str) -> str:
    found = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", page, re.M | re.S)
    return found[1] if found else ""


def _keys(page: str) -> list[str]:
    """Returns the keys after ``Key:`` or ``Keys:`` on a page."""
    found = re.search(r"\bKeys?:\s+(.*?)\.(?=\s|\*)", _opening(page), re.S)
    return re.findall(r"`([^`]+)`", found[1]) if found else []


def _paths(page: str) -> list[str]:
    found = re.search(r"\bCode:\s+(.*?)\.\*", _opening(page), re.S)
    return re.findall(r"`([^`]+)`", found[1]) if found else []


def _plain(path: str) -> str:
    return path.replace("[]", "")


@cache
def _sections() -> tuple[Sections, frozenset[str]]:
    """Returns the tables of the scenario reference with printed defaults, and the paths that repeat another table."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(_ROOT / "tools"))
        generate = runpy.run_path(str(_ROOT / "tools" / "generate.py"))
    schema: dict[str, Any] = json.loads((_ROOT / "schema" / "scenario.schema.json").read_text("utf-8"))
    sections: Sections = {}
    repeated = set()
    for part in generate["reference"](schema).split("\n## ")[1:]:
        heading, _, body = part.partition("\n")
        path = _plain(heading.strip("`")) if heading.startswith("`") else ""
        if "The keys are those of" in body:
            repeated.add(path)
            continue
        for line in body.splitlines():
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            if len(cells) == 4 and cells[0].startswith("`"):
                sections.setdefault(path, {})[cells[0].strip("`")] = cells[2]
    return sections, frozenset(repeated)


def _rows(key: str) -> tuple[dict[str, str], set[str]]:
    """Returns the keys of an option and its sub-tables with defaults, and the keys that are tables and need no row."""
    sections, repeated = _sections()
    rows: dict[str, str] = {}
    tables: set[str] = set()
    for path, keys in sections.items():
        if path == key or path.startswith(f"{key}."):
            for name, default in keys.items():
                whole = f"{path}.{name}"
                rows[whole] = default
                if whole in sections or whole in repeated:
                    tables.add(whole)
    if not rows:
        parent, _, name = key.rpartition(".")
        if name in sections.get(parent, {}):
            rows[key] = sections[parent][name]
    return rows, tables


def _exists(key: str) -> bool:
    sections, repeated = _sections()
    parent, _, name = _plain(key).rpartition(".")
    return _plain(key) in sections or _plain(key) in repeated or name in sections.get(parent, {})


def _parameters(page: str) -> dict[str, tuple[str, str]]:
    """The rows of the table of parameters: default and source by key."""
    rows = {}
    for line in _section(page, "Parameters").splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 3 and cells[0].startswith("`"):
            rows[_plain(cells[0].strip("`"))] = (cells[1], cells[2])
    return rows


def _is_same_default(printed: str, stated: str) -> bool:
    """True when a page states the default of the reference; where the reference has none, any but a requirement."""
    if printed == _REQUIRED or stated == _REQUIRED:
        return printed == stated
    if not printed:
        return bool(stated)
    return printed.strip('`"') == stated.strip('`"')


def test_there_are_pages() -> None:
    assert len(_PAGES) > 30


def _headings_stand_in_order(page: Path) -> None:
    text = page.read_text("utf-8")
    assert text.startswith("# ")
    found = re.findall(r"^## (.*)$", text, re.M)
    wanted = [
        heading
        for heading in _HEADINGS
        if heading in found or not (heading in _OPTIONAL or (heading == "Parameters" and not _keys(text)))
    ]
    assert found == wanted
    assert re.findall(r"^# ", text, re.M) == ["# "]
    # Rows of tables and single words cannot be broken.
    lines = [line for line in text.splitlines() if len(line) > 120 and not line.startswith("|")]
    assert [line for line in lines if " " in line.strip()] == []


def _limits_are_titled_items(page: Path) -> None:
    items = [line for line in _section(page.read_text("utf-8"), "Limits").splitlines() if line[:1].strip()]
    assert items
    assert [line for line in items if not re.match(r"- \*\*[^*]+\.\*\* ", line + " ")] == []


def _paths_and_keys_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    paths = _paths(text)
    assert paths
    assert [path for path in paths if not (_ROOT / path).exists()] == []
    assert [key for key in _keys(text) if not _exists(key)] == []


def _parameters_are_those_of_the_schema(page: Path) -> None:
    text = page.read_text("utf-8")
    stated = _parameters(text)
    accepted: set[str] = set()
    missing, wrong = [], []
    for key in map(_plain, _keys(text)):
        rows, tables = _rows(key)
        for whole, default in rows.items():
            # A row has the path of its key below the option, or more of the path.
            relative = whole.removeprefix(f"{key}.") if whole != key else whole.rpartition(".")[2]
            names = [name for name in stated if whole == name or whole.endswith(f".{name}")]
            names = [name for name in names if name.count(".") >= relative.count(".")]
            accepted |= set(names)
            if not names and whole not in tables:
                missing.append(whole)
            if names and whole not in tables and not any(_is_same_default(default, stated[name][0]) for name in names):
                wrong.append((whole, default, [stated[name][0] for name in names]))
    assert (missing, wrong, sorted(set(stated) - accepted)) == ([], [], [])
    assert [name for name, (_, source) in stated.items() if not source] == []


def _tests_that_are_named_exist(page: Path) -> None:
    named = re.findall(r"`([\w/.-]+\.(?:py|rs))::(\w+)`", _section(page.read_text("utf-8"), "Tests"))
    assert named
    absent = []
    for file, name in named:
        path = _ROOT / file
        if not path.is_file() or not re.search(rf"\b(?:def|fn) {name}\b", path.read_text("utf-8")):
            absent.append(f"{file}::{name}")
    assert absent == []


def _links_between_pages_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+\.md)(?:#[^)]*)?\)", page.read_text("utf-8"))
    assert [link for link in links if not (page.parent / link).resolve().is_file()] == []


def test_every_option_has_a_page() -> None:
    named = {_plain(key) for page in _PAGES for key in _keys(page.read_text("utf-8"))}
    sections, _ = _sections()
    wanted = {
        f"{table}.{name}"
        for table in map(_plain, _OPTIONS)
        for name in sections[table]
        # The author of a plug-in writes the page of the plug-in.
        if name != "plugins" and (table != "workload" or name not in _OF_EVERY_WORKLOAD | {"table"})
    }
    assert sorted(wanted - named) == []


def _files() -> list[Path]:
    """Returns the repository's files that may cite a source."""
    folders = ("crates", "python", "tests", "tools", "docs", "schema")
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is not installed")
    listed = subprocess.run(
        [git, "ls-files", "--cached", "--others", "--exclude-standard", "--", *folders],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("not a checkout of git")
    suffixes = {".rs", ".py", ".md", ".toml", ".json", ".txt", ".sh"}
    paths = [_ROOT / line for line in listed.stdout.splitlines()]
    return [path for path in paths if path.suffix in suffixes and path.is_file() and path != Path(__file__).resolve()]


def test_every_citation_resolves() -> None:
    faults = []
    for path in _files():
        text = path.read_text("utf-8")
        name = path.relative_to(_ROOT)
        faults += [f"{name}: {word}" for word, pattern in _FORBIDDEN.items() if re.search(pattern, text)]
        cited = set(re.findall(r"\bdocs/models/([\w-]+)\.md", text)) - {"NAME"}
        faults += [f"{name}: docs/models/{one}.md" for one in sorted(cited) if not (_FOLDER / f"{one}.md").is_file()]
    assert faults == []


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.stem)
def test_a_page_is_like_the_others_and_names_what_exists(page: Path) -> None:
    for check in (
        _headings_stand_in_order,
        _limits_are_titled_items,
        _paths_and_keys_exist,
        _parameters_are_those_of_the_schema,
        _tests_that_are_named_exist,
        _links_between_pages_lead_somewhere,
    ):
        check(page)
