"""The files of pages that git does not track: `make pages` builds them, and the pages have their digests."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import generate
import pages
import pytest
from pages import PagesError

from xoff import reproduce
from xoff.reproduce.page import figures_of

_ROOT = Path(__file__).resolve().parents[2]
_PLACE = _ROOT / "docs" / "experiments"
_PAGES = pages.pages(_PLACE)
_NAME = "sfc-incast_3_to_1-quick"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a page of one experiment in its quick variant, which takes a tenth of a CPU-second."""
    place = tmp_path_factory.mktemp("built")
    reproduce.evaluate(reproduce.Request(reproduce.select(["sfc/5.1"]), quick=True, ids=["sfc/5.1"]), out=place)
    return place


@pytest.fixture
def fresh(built: Path, tmp_path: Path) -> Path:
    """A folder with only the tracked files of this page, as in a fresh clone."""
    place = tmp_path / "fresh"
    place.mkdir()
    for end in ("md", "json"):
        shutil.copy(built / f"{_NAME}.{end}", place)
    return place


@pytest.fixture
def archive(built: Path, tmp_path: Path) -> Path:
    """The archive of this page."""
    pages.pack(list(pages.pages(built).values()), built, tmp_path / "pages.zip")
    return tmp_path / "pages.zip"


def _unpacked(archive: Path, place: Path) -> int:
    known = list(pages.pages(place).values())
    return pages.unpack(archive, known, known, place)


@pytest.mark.parametrize("document", list(_PAGES))
def test_a_page_names_the_rows_and_the_figures_that_it_shows(document: str) -> None:
    figures = figures_of((_PLACE / f"{document}.md").read_text("utf-8"))
    assert _PAGES[document].built.keys() == {f"{document}.runs.json", *figures}
    claims = json.loads((_PLACE / f"{document}.json").read_text("utf-8"))
    assert "runs" not in claims
    assert claims["cpu_seconds"] > 0
    # In a fresh clone all are missing. A file that is there is the one of the page.
    stale = [name for name in _PAGES[document].missing(_PLACE) if (_PLACE / name).exists()]
    assert stale == [], "these files are of another state of the page: build them again (make pages), or remove them"


def test_an_archive_has_the_files_of_the_page(archive: Path, built: Path, fresh: Path) -> None:
    (page,) = pages.pages(fresh).values()
    assert page.missing(fresh) == [f"{_NAME}.runs.json", "sfc-incast_3_to_1-quick.svg"]
    assert _unpacked(archive, fresh) == 2
    assert page.missing(fresh) == []
    for name in page.built:
        assert (fresh / name).read_bytes() == (built / name).read_bytes()
    assert {file.name for file in fresh.iterdir()} == {f"{_NAME}.md", f"{_NAME}.json", *page.built}
    pages.pack([page], fresh, fresh / "again.zip")
    assert (fresh / "again.zip").read_bytes() == archive.read_bytes()


def test_rows_of_other_numbers_are_noticed(archive: Path, fresh: Path) -> None:
    """The page and the rows belong together: a changed row, and a page with other numbers."""
    _unpacked(archive, fresh)
    (page,) = pages.pages(fresh).values()
    rows = fresh / f"{_NAME}.runs.json"
    text = rows.read_text("utf-8")
    first = next(iter(next(iter(json.loads(text).values())).values()))
    column, value = next((column, value) for column, value in first.items() if isinstance(value, float))
    rows.write_text(text.replace(f'"{column}": {value}', f'"{column}": {value + 1}', 1), "utf-8")
    assert page.missing(fresh) == [rows.name]
    with pytest.raises(PagesError, match=r"runs\.json of .*: missing, or differs from its digest; `make pages` builds"):
        pages.pack([page], fresh, fresh / "pages.zip")
    claims = fresh / f"{_NAME}.json"
    claims.write_text(claims.read_text("utf-8").replace(page.built[rows.name], 64 * "0"), "utf-8")
    rows.unlink()
    with pytest.raises(PagesError, match="is not the file of the tracked page, whose JSON has another digest"):
        _unpacked(archive, fresh)
    assert not rows.exists()


def _packed(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


_SVG = "sfc-incast_3_to_1-quick.svg"
_HOSTILE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "other content": (lambda _: _packed({_SVG: b"<svg/>"}), "another digest"),
    "another file": (lambda _: _packed({"conf.py": b""}), "has 'conf.py', and only files of pages are allowed"),
    "a path outside": (lambda _: _packed({f"../{_SVG}": b""}), "only files of pages are allowed"),
    "an absolute path": (lambda _: _packed({f"/tmp/{_SVG}": b""}), "only files of pages are allowed"),  # noqa: S108
    "a page": (lambda _: _packed({f"{_NAME}.md": b""}), "only files of pages are allowed"),
    "too large": (lambda _: _packed({_SVG: bytes(33 * 2**20)}), "is larger than 32 MiB"),
    "another method": (lambda _: _packed({_SVG: b""}, zipfile.ZIP_LZMA), "another method than deflate"),
    "no archive": (lambda _: b"<html>", "is not a readable archive"),
    "cut": (lambda whole: whole[:-40], "is not a readable archive"),
    "damaged": (lambda whole: whole[:2000] + bytes(200) + whole[2200:], "is not a readable archive|another digest"),
}


@pytest.mark.parametrize("case", list(_HOSTILE))
def test_an_archive_of_anyone_is_refused_whole(case: str, archive: Path, fresh: Path) -> None:
    change, message = _HOSTILE[case]
    before = {file.name: file.read_bytes() for file in fresh.iterdir()}
    archive.write_bytes(change(archive.read_bytes()))
    with pytest.raises(PagesError, match=message):
        _unpacked(archive, fresh)
    assert {file.name: file.read_bytes() for file in fresh.iterdir()} == before
    assert {file.name for file in fresh.parent.iterdir()} == {"fresh", "pages.zip"}


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_twice_and_a_folder_are_refused(archive: Path, fresh: Path) -> None:
    with zipfile.ZipFile(archive, "a") as more:
        more.writestr(_SVG, b"<svg/>")
    with pytest.raises(PagesError, match="has 'a file twice'"):
        _unpacked(archive, fresh)
    with pytest.raises(PagesError, match="is not a file of at most 32 MiB"):
        _unpacked(fresh, fresh)


def test_a_name_with_a_path_in_the_json_is_refused(fresh: Path) -> None:
    claims = fresh / f"{_NAME}.json"
    claims.write_text(claims.read_text("utf-8").replace(f'"{_SVG}": "', f'"../{_SVG}": "'), "utf-8")
    with pytest.raises(PagesError, match="is not the name of a file"):
        pages.pages(fresh)


def test_missing_files_are_told_with_their_cost(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for file in ("bcn.md", "bcn.json", "hardware.md", "hardware.json"):
        shutil.copy(_PLACE / file, tmp_path)
    monkeypatch.setattr(pages, "_PLACE", tmp_path)
    monkeypatch.setattr(pages, "build", lambda *_: pytest.fail("it ran"))
    chosen = list(pages.pages(tmp_path).values())
    assert pages.complete(chosen, None, run=False) == 1
    hours = sum(one.cpu_hours for one in chosen)
    files = len(_PAGES["bcn"].built)
    told = capsys.readouterr().out
    assert f"bcn: {files} of {files} files are missing: {_PAGES['bcn'].cpu_hours:.2g} CPU-hours\n" in told
    assert f"`make pages RUN=1` simulates the missing runs: about {hours:.2g} CPU-hours." in told
    # A directory of runs without these runs saves nothing.
    assert pages.complete(chosen[:1], tmp_path / "runs", run=False) == 1
    assert f"and 1,026 of 1,026 runs are not in {tmp_path / 'runs'}: " in capsys.readouterr().out


@pytest.mark.slow
def test_a_page_is_drawn_from_finished_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """`make pages RUNS=DIR` with the page of a document of one experiment at full size."""
    (one,) = reproduce.select(["sfc/5.1"])
    small = one.module.scenarios(True)
    monkeypatch.setattr(one.module, "scenarios", lambda *_, **__: small)
    monkeypatch.setattr("xoff.reproduce.select", lambda _: [one])
    monkeypatch.setattr("xoff.reproduce.evaluation.experiments", lambda: [one])
    runs, place = tmp_path / "runs", tmp_path / "pages"
    reproduce.evaluate(reproduce.Request([one], runs=runs, ids=["sfc"]), out=place)
    monkeypatch.setattr(pages, "_PLACE", place)
    monkeypatch.setattr(pages, "_WORK", tmp_path / "work")
    monkeypatch.setattr("xoff.running.run_prepared", lambda *_: pytest.fail("it ran"))
    chosen = list(pages.pages(place).values())
    for name in chosen[0].built:
        (place / name).unlink()
    assert pages.complete(chosen, runs, run=False) == 0
    assert "files of 1 pages are in docs/experiments" in capsys.readouterr().out
    # A page with other words is told, and not changed.
    (place / "sfc.md").write_text("another page", "utf-8")
    (place / chosen[0].document).with_suffix(".runs.json").unlink()
    assert pages.complete(chosen, runs, run=False) == 1
    assert f"xoff reproduce sfc --runs {runs} --out docs/experiments" in capsys.readouterr().out
    assert (place / "sfc.md").read_text("utf-8") == "another page"


def test_a_clone_is_small() -> None:
    """Pictures of experiments and rows of runs are not tracked: the files of a clone have less than 15 MB."""
    command = ["git", "ls-files", "-z"]
    listed = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=True).stdout
    names = listed.rstrip("\0").split("\0")
    assert [name for name in names if name.startswith("docs/experiments/") and Path(name).suffix != ".md"] == [
        f"docs/experiments/{document}.json" for document in _PAGES
    ]
    assert sum((_ROOT / name).lstat().st_size for name in names) < 15e6


def test_generated_files_are_marked_for_reviews() -> None:
    written = re.findall(r"^- ``([^`]+)``", generate.__doc__ or "", re.M)
    assert len(written) > 10
    locks = ("requirements.lock", "requirements-dev.lock")
    names = [*written, "docs/experiments/sfc.json", "docs/experiments/sfc.md", *locks]
    command = ["git", "check-attr", "linguist-generated", *names]
    told = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=True).stdout
    assert told.splitlines() == [f"{name}: linguist-generated: set" for name in names]


def test_the_command_names_unknown_pages() -> None:
    done = subprocess.run(
        [sys.executable, str(_ROOT / "tools" / "pages.py"), "bnc"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr == f"xoff: error: bnc: is not a page; pages are {', '.join(_PAGES)}\n"
