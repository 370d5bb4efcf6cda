"""The new directory of an import, which appears when complete."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from xoff._core import InputError
from xoff.files.new_files import check_name, synchronise


def write_new(out: Path, write: Callable[[Path], Sequence[str]]) -> list[Path]:
    """Writes files into a new directory and returns the files.

    write: writes the files into an existing empty directory, and returns the names of the files. If `write` raises,
        neither a file nor a new directory is left.

    Raises `InputError` if the directory is not empty or cannot be written.
    """
    check_name(out)
    try:
        target = Path(os.path.realpath(out))
        is_free = not target.exists() or (target.is_dir() and not any(target.iterdir()))
    except (OSError, ValueError):
        raise InputError(f"--out {str(out)!r}: is not the name of a directory") from None
    if not is_free:
        raise InputError(f"--out {out}: exists and is not empty; name a new directory")
    # The directories that this import makes, from the innermost to the outermost.
    made = [parent for parent in target.parents if not parent.exists()]
    try:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            place = Path(tempfile.mkdtemp(prefix=".import-", dir=target.parent))
        except OSError as error:
            raise InputError(f"--out {out}: cannot be written: {error.strerror}") from None
        try:
            place.chmod(0o755)
            names = write(place)
            for name in (*names, "."):
                synchronise(place / name)
            place.rename(target)
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
    except BaseException:
        # Another program may have written into one of them meanwhile: such a directory remains.
        with contextlib.suppress(OSError):
            for parent in made:
                parent.rmdir()
        raise
    return [out / name for name in names]
