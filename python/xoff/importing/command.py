"""The output of ``xoff import``: the written files, and on standard error the notes on the import."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from xoff import formatting
from xoff.importing.document import Imported
from xoff.importing.notes import HEADINGS, Notes
from xoff.importing.source import MAX_BYTES, Source, read


def command(
    convert: Callable[..., Imported],
    files: list[Path | None],
    *,
    name: Path,
    out: Path | None,
    as_json: bool,
    is_verbose: bool = False,
    most: int = MAX_BYTES,
) -> None:
    """Imports files as a scenario, and prints a summary.

    name: the file that names the default directory.
    is_verbose: whether notes without effect on results are printed, too.
    most: largest size of a file in bytes.
    """
    sources: list[Source | None] = [None if file is None else read(file, most) for file in files]
    found = convert(*sources)
    directory = Path("out") / formatting.file_name(name.stem) if out is None else out
    written = found.write(directory)
    if as_json:
        summary = {
            "scenario": str(written[0]),
            "files": [str(file) for file in written],
            "flows": found.flows,
            "endless": found.endless,
            "bytes": found.bytes,
            "notes": found.notes.records(),
        }
        print(json.dumps(summary))
        return
    print_notes(found.notes, is_verbose=is_verbose)
    flows = "1 flow" if found.flows == 1 else f"{found.flows:,} flows"
    if found.endless:
        flows += f" ({found.endless:,} without an end)"
    print(f"{formatting.plain(str(written[0]))}: {flows} of {formatting.size(found.bytes)} together")


def print_notes(notes: Notes, *, is_verbose: bool) -> None:
    """Prints the notes on standard error.

    is_verbose: whether notes without effect on results are printed, too.
    """
    for text in _said(notes, is_verbose=is_verbose):
        print(f"xoff: {formatting.plain(text)}", file=sys.stderr)


def _said(notes: Notes, *, is_verbose: bool) -> Iterator[str]:
    """Yields notes under headings: notes on changed results, then other notes, or only the number if not verbose."""
    matters, rest = notes.texts()
    if matters:
        yield HEADINGS[0]
        yield from matters
    if rest and is_verbose:
        yield HEADINGS[1]
        yield from rest
    elif rest:
        many = "1 note" if len(rest) == 1 else f"{len(rest):,} notes"
        yield f"… and {many} without effect on results; --verbose lists all"
