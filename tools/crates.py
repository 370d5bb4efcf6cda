"""Writes the sources of xoff's crates into the package: ``xoff plugins build`` compiles them where no checkout is.

The archive is equal for equal sources.
"""

from __future__ import annotations

import gzip
import io
import sys
import tarfile
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_ARCHIVE = Path("python", "xoff", "plugins", "crates.tar.gz")


def files(root: Path) -> list[Path]:
    """Returns the files of the archive, relative to the root: manifests and crates, without the folders of tests."""
    crates = [file.relative_to(root) for file in (root / "crates").rglob("*") if file.is_file()]
    return sorted([Path("Cargo.toml"), Path("Cargo.lock"), *(file for file in crates if file.parts[2] != "tests")])


def write(root: Path) -> Path:
    """Writes the archive of a checkout or of exported sources; returns the path."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w") as archive,
    ):
        for file in files(root):
            content = (root / file).read_bytes()
            entry = tarfile.TarInfo(file.as_posix())
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    target = root / _ARCHIVE
    target.write_bytes(packed.getvalue())
    return target


if __name__ == "__main__":
    print(write(Path(sys.argv[1]) if len(sys.argv) > 1 else _ROOT))
