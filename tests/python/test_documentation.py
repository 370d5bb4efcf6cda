"""The documentation in the terminal: pages, searches, keys and models."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from xoff import InputError, _core, documentation
from xoff.commands.models import parts
from xoff.commands.registry import app
from xoff.documentation import keys

_ROOT = Path(__file__).resolve().parents[2]
_DOCS = _ROOT / "docs"
_COMMAND = CliRunner()


def _done(*words: str) -> str:
    done = _COMMAND.invoke(app, words)
    assert done.exit_code == 0, done.output
    return done.output


def test_the_archive_of_a_wheel_has_all_pages(tmp_path: Path) -> None:
    tool = _ROOT / "tools" / "documentation.py"
    (tmp_path / "python/xoff/documentation").mkdir(parents=True)
    (tmp_path / "docs").symlink_to(_DOCS)
    written = [subprocess.run([sys.executable, tool, tmp_path], capture_output=True, text=True, check=True)]
    place = Path(written[0].stdout.strip())
    first = place.read_bytes()
    with zipfile.ZipFile(place) as archive:
        packed = {name: archive.read(name) for name in archive.namelist()}
    assert packed == {file.relative_to(_DOCS).as_posix(): file.read_bytes() for file in _DOCS.rglob("*.md")}
    subprocess.run([sys.executable, tool, tmp_path], capture_output=True, check=True)
    assert place.read_bytes() == first


@pytest.mark.parametrize(
    ("name", "page"),
    [
        ("tutorial", "tutorial"),
        ("models/pfc", "models/pfc"),
        ("PFC", "models/pfc"),
        ("how-to/write-a-plugin.md", "how-to/write-a-plugin"),
        ("plugin", "how-to/write-a-plugin"),
        ("headroom", "how-to/size-headroom"),
        ("sonic", "models/sonic"),
    ],
)
def test_a_page_is_found_by_its_name_or_a_part_of_it(name: str, page: str) -> None:
    found = documentation.find(name)
    assert found is not None
    assert found.name == page
    assert _done("docs", name) == found.text
    assert json.loads(_done("docs", name, "--json"))["title"] == found.title


@pytest.mark.parametrize("name", ["", "scenario files", "a", "xyz"])
def test_a_name_of_no_page_or_of_several_finds_none(name: str) -> None:
    assert documentation.find(name) is None


@pytest.mark.parametrize(
    ("words", "first"),
    [
        (("lossless", "headroom"), "how-to/size-headroom"),
        (("watchdog", "storm"), "models/pfc"),
        (("fast-forward",), "fast-forward"),
        (("notebook",), "how-to/notebook"),
    ],
)
def test_a_search_names_the_page_about_the_words_first(words: tuple[str, ...], first: str) -> None:
    hits = documentation.search(words)
    assert hits[0].page.name == first
    for hit in hits:
        text = f"{hit.page.name} {hit.page.text}".lower()
        assert all(word in text for word in words)
        assert not hit.line or hit.line in hit.page.text
    listed = json.loads(_done("docs", "--search", *words, "--json"))["pages"]
    assert [one["name"] for one in listed] == [hit.page.name for hit in hits]
    assert first in _done("docs", "--search", *words)


def test_words_of_no_page_get_the_remedy() -> None:
    done = _COMMAND.invoke(app, ["docs", "xyzzy"])
    assert isinstance(done.exception, InputError)
    assert str(done.exception) == "xyzzy: no page has this word; `xoff docs` lists all pages"


def test_all_pages_are_listed() -> None:
    names = {one["name"] for one in json.loads(_done("docs", "--json"))["pages"]}
    assert names == {file.relative_to(_DOCS).with_suffix("").as_posix() for file in _DOCS.rglob("*.md")}
    listed = _done("docs")
    assert all(name in listed for name in names)


def test_every_key_is_found_by_its_path() -> None:
    listed = [key for section in keys.sections(json.loads(_core.schema())) for key in section.keys]
    assert len(listed) > 600
    for key in listed[::7]:
        section, found = keys.below(key.path)
        assert found == [key] if section is None else section.path.removesuffix("[]") == key.path


def test_a_key_has_type_default_meaning_and_choices() -> None:
    listed = json.loads(_done("keys", "switch.flow_control.pfc", "--json"))["keys"]
    pfc = {key["path"].rpartition(".")[2]: key for key in listed}
    assert pfc["xoff"]["kinds"] == ["size"]
    assert pfc["accounting"]["default"] == '"ingress"'
    assert "Pause at this many bytes." in _done("keys", "switch.flow_control.pfc.xoff")
    assert "Required." in _done("keys", "workload[0].incast.size")
    assert "delay or length" in _done("keys", "network.star.link")
    # A table like an earlier one has the keys of that one.
    assert "delay or length" in _done("keys", "network.leaf_spine.fabric_link.delay")


def test_an_unknown_key_names_the_nearest() -> None:
    with pytest.raises(InputError, match=r"^switch\.pfc\.xof: no such key; did you mean .*xoff"):
        keys.below("switch.pfc.xof")


def test_every_model_has_a_page_and_a_key() -> None:
    found = list(parts())
    assert len({part.key for part in found}) == len(found) > 45
    known = documentation.pages()
    assert [part.key for part in found if part.page and part.page not in known] == []
    assert [part.key for part in found if not part.page] == []
    for part in found:
        section, _ = keys.below(part.key)
        assert section is None or section.path.startswith(part.key)
    assert all(part.key in _done("models") for part in found)
