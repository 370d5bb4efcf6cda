"""Builds the documentation into ``site/``.

Zensical builds the pages. In pages that are opened as files the search needs a script, which Zensical would load from
another server: this tool makes the pages load the copy in ``docs/assets``.

The figures of experiments are not tracked. If `make pages` has not built them, a sentence replaces each of them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_ELSEWHERE = "https://unpkg.com/iframe-worker/shim"
_FIGURE = re.compile(r'<img alt="([^"]*)" src="([^":]+\.svg)"[^>]*>')


def with_sentences(text: str, folder: Path) -> str:
    """Returns the HTML of a page in a folder with a sentence in place of each figure that is not there."""

    def shown(found: re.Match[str]) -> str:
        if (folder / found[2]).is_file():
            return found[0]
        return f"<em>Figure: {found[1]}. It is not built here; <code>make pages</code> builds it.</em>"

    return _FIGURE.sub(shown, text)


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
        text = page.read_text("utf-8").replace(_ELSEWHERE, Path(here).as_posix())
        page.write_text(with_sentences(text, page.parent), "utf-8")


if __name__ == "__main__":
    build(_ROOT)
