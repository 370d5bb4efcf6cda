"""Writes the pages of docs/ into the package: ``xoff docs`` prints and searches them where no checkout is.

The archive is equal for equal pages.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_ARCHIVE = Path("python", "xoff", "documentation", "pages.zip")


def write(root: Path) -> Path:
    """Writes the archive of a checkout or of exported sources; returns the path."""
    target = root / _ARCHIVE
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for file in sorted((root / "docs").rglob("*.md")):
            # The time of an entry is the first that the format can express.
            entry = zipfile.ZipInfo(file.relative_to(root / "docs").as_posix(), (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, file.read_bytes())
    return target


if __name__ == "__main__":
    print(write(Path(sys.argv[1]) if len(sys.argv) > 1 else _ROOT))
