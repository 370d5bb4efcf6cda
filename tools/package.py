"""Writes the sources of a release: links of the README become absolute, and the package names the project's addresses.

The page of a package index has no files beside the README. The addresses of the project are given, not stored: a copy
of the project on another server releases with the addresses of that server.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tarfile
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_LINK = re.compile(r"(!?\[[^\]]*\]\()(?!https?://|#|mailto:)([^)]+\))")


def absolute(text: str, address: str, version: str) -> str:
    """Returns Markdown whose relative links lead to the files of a version; images lead to the raw files."""

    def link(found: re.Match[str]) -> str:
        kind = "raw" if found[1].startswith("!") else "blob"
        return f"{found[1]}{address}/{kind}/v{version}/{found[2]}"

    return _LINK.sub(link, text)


def with_urls(project: str, address: str, documentation: str, version: str) -> str:
    """Returns the text of a ``pyproject.toml`` with a table of addresses."""
    urls = {
        "Homepage": address,
        "Documentation": documentation or f"{address}/blob/v{version}/docs/index.md",
        "Changelog": f"{address}/blob/v{version}/CHANGELOG.md",
        "Issues": f"{address}/issues",
        "Schema": f"{address}/raw/v{version}/schema/scenario.schema.json",
    }
    table = "[project.urls]\n" + "".join(f'{name} = "{url}"\n' for name, url in urls.items())
    return re.sub(r"^(?=\[project\.(?:scripts|entry-points))", lambda _: f"{table}\n", project, count=1, flags=re.M)


def crate_with_urls(manifest: str, address: str, documentation: str) -> str:
    """Returns the text of a crate's ``Cargo.toml`` with the addresses of repository and documentation."""
    pages = f"{documentation}/rust" if documentation else address
    lines = f'repository = "{address}"\ndocumentation = "{pages}"\n'
    return re.sub(r"^license\.workspace = true\n", lambda found: found[0] + lines, manifest, count=1, flags=re.M)


def version() -> str:
    """Returns the version of the workspace."""
    found = re.search(r'^version = "([^"]+)"', (_ROOT / "Cargo.toml").read_text("utf-8"), re.M)
    if found is None:
        raise SystemExit("Cargo.toml: has no version")
    return found[1]


def export(to: Path, address: str, documentation: str = "") -> None:
    """Writes the committed files of the checkout into a folder, with absolute links and addresses."""
    number = version()
    command = ["git", "archive", "HEAD"]
    with (
        subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE) as process,
        tarfile.open(fileobj=process.stdout, mode="r|") as archive,
    ):
        archive.extractall(to, filter="data")
    readme = to / "README.md"
    readme.write_text(absolute(readme.read_text("utf-8"), address, number), "utf-8")
    for manifest in to.glob("crates/*/Cargo.toml"):
        manifest.write_text(crate_with_urls(manifest.read_text("utf-8"), address, documentation), "utf-8")
    for project in (to / "pyproject.toml", to / "experiments" / "pyproject.toml"):
        project.write_text(with_urls(project.read_text("utf-8"), address, documentation, number), "utf-8")


def main() -> None:
    """Runs the tool."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="new or empty folder of the sources")
    parser.add_argument("--address", required=True, help="address of the repository: https://…")
    parser.add_argument("--docs", default="", help="address of the documentation; default: the files of the repository")
    given = parser.parse_args()
    if not re.fullmatch(r"https://[^\s\"]+[^\s\"/]", given.address):
        sys.exit(f"--address {given.address}: must begin with https:// and end without a slash")
    if not re.search(rf"^## {re.escape(version())}\b", (_ROOT / "CHANGELOG.md").read_text("utf-8"), re.M):
        sys.exit(f"CHANGELOG.md: has no section {version()}; name the section of the release")
    if given.folder.exists() and any(given.folder.iterdir()):
        sys.exit(f"{given.folder}: is not empty; choose another name")
    given.folder.mkdir(parents=True, exist_ok=True)
    export(given.folder, given.address, given.docs)


if __name__ == "__main__":
    main()
