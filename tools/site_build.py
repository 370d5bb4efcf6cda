"""Builds the documentation into ``site/``.

Zensical builds the pages. In pages that are opened as files the search needs a script, which Zensical would load from
another server: this tool makes the pages load the copy in ``docs/assets``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_ELSEWHERE = "https://unpkg.com/iframe-worker/shim"


def build(project: Path) -> None:
    """Builds the pages of a folder with ``mkdocs.yml`` and ``docs`` into the folder ``site``. A warning is an error."""
    site = project / "site"
    shutil.rmtree(site, ignore_errors=True)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (_ROOT / "tools", _ROOT / "python")))}
    command = [str(Path(sys.executable).with_name("zensical")), "build", "--strict", "--clean"]
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"xoff: error: the documentation has warnings\n{done.stdout}{done.stderr}")
    for page in site.rglob("*.html"):
        here = os.path.relpath(site / "assets" / "iframe-worker.js", page.parent)
        page.write_text(page.read_text("utf-8").replace(_ELSEWHERE, Path(here).as_posix()), "utf-8")


if __name__ == "__main__":
    build(_ROOT)
