"""Builds the files of ``docs/experiments`` that are not tracked: the figures of the pages, and a row for each run.

The tracked JSON of a page has the digest of each of its files, and the CPU time of its runs. `make pages` says which
files are missing and what they cost. It makes them in one of three ways:

- ``make pages RUNS=DIR`` draws them from finished runs: ``DIR/DOCUMENT``, or ``DIR`` for all documents, is what
  ``xoff reproduce DOCUMENT --runs`` keeps. It simulates nothing.
- ``make pages ARCHIVE=FILE`` takes them from the archive of a release. It needs no build.
- ``make pages RUN=1`` simulates the missing runs, too.

``DOCUMENTS="bcn sfc"`` selects pages. No tracked file changes: if a file differs from its digest, the numbers have
changed, and ``xoff reproduce DOCUMENT --out docs/experiments`` publishes the new page. ``QUICK=1`` builds pages of the
quick variants into ``out/pages/quick``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import sys
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import package

_ROOT = Path(__file__).resolve().parents[1]
_PLACE = _ROOT / "docs" / "experiments"
_WORK = _ROOT / "out" / "pages"
_MOST_BYTES = 32 * 2**20
"""The largest archive, and the largest file in it. The archive of all pages has 2 MB, and its largest file 4 MB."""


class PagesError(Exception):
    """A file or an argument that cannot be used; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Page:
    """A tracked page, and its files that are not tracked."""

    document: str
    built: Mapping[str, str]
    """The digest of each file, by name."""
    cpu_hours: float
    """CPU time of the runs."""

    def missing(self, place: Path) -> list[str]:
        """Returns the names of files that are absent from a folder, or have another content there."""
        return [name for name, known in self.built.items() if _digest(place / name) != known]


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


def page(file: Path) -> Page:
    """Returns a page of which the Markdown and the JSON are in a folder."""
    claims = file.with_suffix(".json")
    found = json.loads(claims.read_text("utf-8"))
    if unfit := [name for name in found["built"] if not re.fullmatch(r"\w[\w.+-]*", name)]:
        raise PagesError(f"{claims}: built: {unfit[0]!r} is not the name of a file")
    return Page(file.stem, found["built"], found["cpu_seconds"] / 3600)


def pages(place: Path) -> dict[str, Page]:
    """Returns the pages of a folder by document."""
    return {file.stem: page(file) for file in sorted(place.glob("*.md"))}


def pack(chosen: Sequence[Page], place: Path, archive: Path) -> None:
    """Writes the files of pages into an archive; equal files give equal archives.

    Raises `PagesError` if a file is missing.
    """
    if missing := [name for one in chosen for name in one.missing(place)]:
        more = f" and {len(missing) - 1} more files" if len(missing) > 1 else ""
        raise PagesError(
            f"{missing[0]}{more} of {place}: missing, or differs from its digest; `make pages` builds the files"
        )
    with zipfile.ZipFile(archive, "w") as packed:
        for name in sorted(name for one in chosen for name in one.built):
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o644 << 16
            packed.writestr(entry, (place / name).read_bytes(), zipfile.ZIP_DEFLATED, 9)


def unpack(archive: Path, known: Sequence[Page], chosen: Sequence[Page], place: Path) -> int:
    """Writes the files of an archive that belong to chosen pages into a folder; returns their number.

    The archive may come from anywhere. Only files with the name and the digest of a page are accepted, and nothing is
    written unless all are.

    Raises `PagesError` for any other archive.
    """
    names = {name for one in known for name in one.built}
    digests = {name: found for one in chosen for name, found in one.built.items()}
    contents: dict[str, bytes] = {}
    try:
        if not archive.is_file() or archive.stat().st_size > _MOST_BYTES:
            raise PagesError(f"{archive}: is not a file of at most {_MOST_BYTES // 2**20} MiB")
        with zipfile.ZipFile(archive) as packed:
            entries = {entry.filename: entry for entry in packed.infolist()}
            if len(entries) < len(packed.infolist()) or entries.keys() - names:
                odd = next(iter(entries.keys() - names), "a file twice")
                raise PagesError(f"{archive}: has {odd[:80]!r}, and only files of pages are allowed")
            for name in entries.keys() & digests.keys():
                content = _content(packed, entries[name])
                # Each file is checked before the next one is read, which bounds the memory.
                if hashlib.sha256(content).hexdigest() != digests[name]:
                    raise PagesError(
                        f"{archive}: {name} is not the file of the tracked page, whose JSON has another digest. An "
                        "archive fits the pages of its own release; DOCUMENTS selects pages"
                    )
                contents[name] = content
    except (OSError, RuntimeError, EOFError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise PagesError(f"{archive}: is not a readable archive: {error}") from None
    for name, content in contents.items():
        part = place / f".{name}.part"
        part.write_bytes(content)
        part.replace(place / name)
    return len(contents)


def _content(packed: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    # Other methods may need much more memory than the file has bytes.
    if entry.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        raise ValueError(f"{entry.filename} is compressed by another method than deflate")
    with packed.open(entry) as stream:
        content = stream.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise ValueError(f"{entry.filename} is larger than {_MOST_BYTES // 2**20} MiB")
    return content


def build(one: Page, runs: Path | None) -> list[str]:
    """Makes the files of a page at full size, and moves them to their place; returns the names of files that differ.

    runs: the directory of kept runs; missing runs are simulated.
    """
    from xoff import display
    from xoff.reproduce import Request, evaluate, select

    _WORK.mkdir(parents=True, exist_ok=True)
    # The page has the effects of choices, which are not screened again.
    shutil.copy(_PLACE / f"{one.document}.json", _WORK)
    with display.StudyBar() as bar:
        evaluate(Request(select([one.document]), runs=runs, ids=[one.document]), out=_WORK, bar=bar)
    for name in one.built:
        if (_WORK / name).is_file():
            (_WORK / name).replace(_PLACE / name)
    tracked = f"{one.document}.md"
    is_same = (_WORK / tracked).read_bytes() == (_PLACE / tracked).read_bytes()
    return one.missing(_PLACE) + ([] if is_same else [tracked])


def quick(document: str, out: Path) -> Page:
    """Builds the page of a document's quick variants, which is checked as a tracked page is; returns the page."""
    from xoff import display
    from xoff.reproduce import Request, evaluate, select

    with display.StudyBar() as bar:
        outcomes = evaluate(Request(select([document]), quick=True, ids=[document]), out=out, bar=bar)
    found = page(out / f"{document}-quick.md")
    if lacking := [one.figure for one in outcomes if one.figure not in found.built] + found.missing(out):
        raise PagesError(f"{out}: the page of {document} lacks {', '.join(lacking)}")
    return found


def lacking(document: str, runs: Path) -> tuple[int, int]:
    """Returns the number of runs of a document that a directory lacks, and the number of all its runs."""
    from xoff.reproduce import select
    from xoff.reproduce.runs import Runner

    chosen = select([document])
    scenarios = {one.id: one.module.scenarios(False) for one in chosen}
    with Runner(scenarios, reads={one.id: one.reads for one in chosen}, runs=runs) as runner:
        return runner.missing, runner.distinct


def complete(chosen: Sequence[Page], runs: Path | None, *, run: bool) -> int:
    """Builds the missing files of pages. Simulates nothing without `run`; returns the exit code."""
    code, hours = 0, 0.0
    for one in chosen:
        if not (missing := one.missing(_PLACE)):
            continue
        store, absent, total = None, 1, 1
        if runs is not None:
            store = runs / one.document if (runs / one.document).is_dir() else runs
            absent, total = lacking(one.document, store)
        if absent and not run:
            where = f", and {absent:,} of {total:,} runs are not in {store}" if store else ""
            cost = one.cpu_hours * absent / total
            print(f"{one.document}: {len(missing)} of {len(one.built)} files are missing{where}: {cost:.2g} CPU-hours")
            hours += cost
            code = 1
        elif differing := build(one, store):
            kept = f" --runs {store}" if store else ""
            print(f"{one.document}: not as the tracked page says: {', '.join(differing)}. This publishes the new page:")
            print(f"  xoff reproduce {one.document}{kept} --out docs/experiments")
            code = 1
    if hours:
        print("Name finished runs with RUNS=DIR, or the archive of a release with ARCHIVE=FILE.")
        print(f"`make pages RUN=1` simulates the missing runs: about {hours:.2g} CPU-hours.")
    if not code:
        print(f"{sum(len(one.built) for one in chosen)} files of {len(chosen)} pages are in docs/experiments.")
    return code


def main() -> int:
    """Runs the tool; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", nargs="*", metavar="DOCUMENT", help="pages to build; default: all")
    parser.add_argument("--runs", type=Path, metavar="DIR", help="directory of finished runs")
    parser.add_argument("--archive", type=Path, metavar="FILE", help="archive of a release")
    parser.add_argument("--run", action="store_true", help="simulate missing runs")
    parser.add_argument("--quick", action="store_true", help="build the quick variants into out/pages/quick")
    parser.add_argument("--pack", type=Path, metavar="DIR", help="write the archive of a release into a directory")
    given = parser.parse_args()
    known = pages(_PLACE)
    if unknown := [one for one in given.documents if one not in known]:
        raise PagesError(f"{unknown[0]}: is not a page; pages are {', '.join(known)}")
    chosen = [one for one in known.values() if one.document in given.documents or not given.documents]
    if given.archive is not None:
        print(
            f"{unpack(given.archive, list(known.values()), chosen, _PLACE)} files are unpacked into docs/experiments."
        )
    elif given.pack is not None:
        archive = given.pack / f"xoff-experiments-{package.version()}-pages.zip"
        pack(list(known.values()), _PLACE, archive)
        print(archive)
    elif given.quick:
        for one in chosen:
            built = quick(one.document, _WORK / "quick").built
            print(f"The page {one.document}-quick.md and its {len(built)} files are in out/pages/quick.")
    else:
        return complete(chosen, given.runs, run=given.run)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PagesError as error:
        sys.exit(f"xoff: error: {error}")
