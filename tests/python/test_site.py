"""The documentation and the package: navigation, folds, the notebook, absolute links, and what the search finds."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import package
import pytest
import site_build
import site_docstrings
import site_tables

import xoff
from xoff.results.notebook import table_html

_ROOT = Path(__file__).resolve().parents[2]
_NAV = (_ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
_NOTEBOOK = _ROOT / "examples" / "notebook" / "victim.ipynb"


def test_five_entries_lead_to_every_page() -> None:
    assert re.findall(r"^  - (\w+):$", _NAV, re.M) == ["Learn", "Do", "Reference", "Results", "Project"]
    pages = {file.relative_to(_ROOT / "docs").as_posix() for file in (_ROOT / "docs").rglob("*.md")}
    # The pages of models are listed by models.md.
    assert set(re.findall(r"[\w/-]+\.md", _NAV)) == {page for page in pages if not page.startswith("models/")}


def test_a_long_table_of_an_experiment_is_folded() -> None:
    import markdown

    def shown(rows: int, first: str) -> str:
        table = "| a | b \\| c |\n|---|---|\n" + "| 1 | 2 |\n" * rows
        extensions = ["tables", "md_in_html", "pymdownx.superfences", "site_tables"]
        return str(markdown.markdown(f"{first}\n\n{table}\nText.\n", extensions=extensions))

    most, written = site_tables.MOST_ROWS, "Written by `xoff reproduce sfc`."
    assert f"<summary>Table of {most + 1} rows: a, b | c</summary>" in shown(most + 1, written)
    assert shown(most + 1, written).count("<tr>") == most + 2
    assert "<details" not in shown(most, written)
    assert "<details" not in shown(most + 1, "Another page.")
    pages = sorted((_ROOT / "docs" / "experiments").glob("*.md"))
    assert [page.name for page in pages if "<details" not in site_tables.folded(page.read_text("utf-8"))] == []


def test_a_sentence_replaces_a_figure_that_is_not_built(tmp_path: Path) -> None:
    (tmp_path / "there.svg").write_text("<svg/>", "utf-8")
    page = '<p><img alt="{0}" src="{1}.svg"></p>'
    text = page.format("Pauses &amp; time", "away") + page.format("Queues", "there")
    shown = site_build.with_sentences(text, tmp_path)
    sentence = "<em>Figure: Pauses &amp; time. It is not built here; <code>make pages</code> builds it.</em>"
    assert shown == f"<p>{sentence}</p>" + page.format("Queues", "there")


def test_parameters_of_a_docstring_are_marked() -> None:
    told = site_docstrings.marked(
        "Runs.\n\nseed: the seed.\nout: the place,\n    kept.\n\nNote: more.", {"seed", "out"}
    )
    assert told == "Runs.\n\nArgs:\n    seed: the seed.\n    out: the place,\n        kept.\n\nNote: more."


def test_the_notebook_is_that_of_its_page() -> None:
    cells = json.loads(_NOTEBOOK.read_text("utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert not [cell for cell in cells if cell.get("outputs")]
    page = (_ROOT / "docs" / "how-to" / "notebook.md").read_text("utf-8")
    (shown,) = re.findall(r"```python\n(.*?)```", page, re.S)
    # The page leaves out the cell that ends with the result.
    joined = "\n".join(code).replace("\npfc\n", "\n")
    assert joined.split() == shown.split()


def test_the_notebook_runs(tmp_path: Path) -> None:
    pytest.importorskip("nbclient")
    script = (
        "import sys, nbformat, nbclient\n"
        "book = nbformat.read(sys.argv[1], 4)\n"
        "place = {'metadata': {'path': sys.argv[2]}}\n"
        "nbclient.NotebookClient(book, kernel_name='python3', resources=place).execute()\n"
        "nbformat.write(book, sys.argv[2] + '/done.ipynb')\n"
    )
    python_path = str(Path(xoff.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": python_path, "HOME": str(tmp_path)}
    command = [sys.executable, "-W", "ignore", "-c", script, str(_NOTEBOOK), str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    cells = json.loads((tmp_path / "done.ipynb").read_text("utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    assert ["text/html" in one.get("data", {}) for one in outputs] == [True, True, False, False]
    page = (_ROOT / "docs" / "how-to" / "notebook.md").read_text("utf-8")
    printed = "".join(outputs[2]["text"])
    assert f"```text\n{printed}```" in page
    assert "image/png" in outputs[3]["data"]


def test_a_table_is_shown_by_its_ends() -> None:
    import pyarrow as pa

    shown = table_html(pa.table({"<n>": list(range(30)), "x": [None] * 30}))
    assert "<caption>30 rows, 2 columns</caption>" in shown
    assert "<th>&lt;n&gt;</th>" in shown
    assert re.findall(r"<tr><th>(\d+)</th>", shown) == ["0", "1", "2", "3", "4", "25", "26", "27", "28", "29"]
    assert shown.count("<td>…</td>") == 1
    assert table_html(pa.table({"a": list(range(10))})).count("<tr>") == 11


def test_links_of_the_package_page_are_absolute() -> None:
    readme = package.absolute((_ROOT / "README.md").read_text("utf-8"), "https://host.test/me/xoff", "1.2.3")
    targets = re.findall(r"\]\(([^)]+)\)", readme)
    assert len(targets) > 50
    assert not [target for target in targets if not target.startswith(("https://", "#"))]
    assert "](https://host.test/me/xoff/blob/v1.2.3/docs/index.md)" in readme
    assert "](https://host.test/me/xoff/raw/v1.2.3/docs/images/tutorial-victim.svg)" in readme
    for place in ("pyproject.toml", "experiments/pyproject.toml"):
        text = (_ROOT / place).read_text("utf-8")
        project = tomllib.loads(package.with_urls(text, "https://host.test/me/xoff", "", "1.2.3"))["project"]
        urls = project.pop("urls")
        assert urls["Documentation"] == "https://host.test/me/xoff/blob/v1.2.3/docs/index.md"
        assert project == tomllib.loads(text)["project"]


@pytest.mark.parametrize("file", sorted(_ROOT.glob("crates/*/Cargo.toml")), ids=lambda file: file.parent.name)
def test_a_crate_names_what_a_registry_needs(file: Path) -> None:
    text = package.crate_with_urls(file.read_text("utf-8"), "https://host.test/me/xoff", "https://docs.test/xoff")
    crate = tomllib.loads(text)["package"]
    assert (crate["repository"], crate["documentation"]) == ("https://host.test/me/xoff", "https://docs.test/xoff/rust")
    other = tomllib.loads(package.crate_with_urls(file.read_text("utf-8"), "https://host.test/me/xoff", ""))
    assert other["package"]["documentation"] == "https://host.test/me/xoff"
    assert 20 < len(crate["description"]) < 100
    assert crate["license"] == crate["version"] == {"workspace": True}
    if file.parent.name in {"python", "wasm"}:
        assert crate["publish"] is False
        return
    assert "publish" not in crate
    # Files outside of the crate are not in the package.
    for source in file.parent.rglob("*.rs"):
        is_kept = "tests" not in source.relative_to(file.parent).parts[:1]
        for name in re.findall(r'include_(?:str|bytes)!\("([^"]+)"\)', source.read_text("utf-8")) if is_kept else ():
            assert (source.parent / name).resolve().is_relative_to(file.parent), name
    assert not (file.parent / "tests").is_dir() or crate["exclude"] == ["/tests"]
    command = ["cargo", "package", "--list", "--allow-dirty", "--offline", "--package", crate["name"]]
    listed = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert {"Cargo.toml", "src/lib.rs"} <= {*listed}
    assert not any(name.startswith("tests/") for name in listed)


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []

    def handle_data(self, data: str) -> None:
        self.words += re.findall(r"\w+", data.lower())


def _figures(page: Path) -> list[str]:
    return re.findall(r'<img[^>]+src="([^":]+)"', page.read_text("utf-8"))


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_the_search_finds_words(tmp_path: Path) -> None:
    config = (_ROOT / "mkdocs.yml").read_text("utf-8")
    (tmp_path / "mkdocs.yml").write_text(config.replace("[python]", f"[{_ROOT / 'python'}]"), "utf-8")
    shutil.copytree(_ROOT / "docs", tmp_path / "docs")
    # One figure is there, and one is not, whether or not `make pages` has built them.
    (tmp_path / "docs/experiments/bcn-many.svg").unlink(missing_ok=True)
    (tmp_path / "docs/experiments/bcn-degree.svg").write_text("<svg/>", "utf-8")
    site_build.build(tmp_path)
    experiment = (tmp_path / "site/experiments/bcn.html").read_text("utf-8")
    assert 'src="bcn-degree.svg"' in experiment
    assert 'src="bcn-many.svg"' not in experiment
    assert "It is not built here; <code>make pages</code> builds it.</em>" in experiment
    for page in (tmp_path / "site").rglob("*.html"):
        assert [name for name in _figures(page) if not (page.parent / name).is_file()] == [], page
    items = json.loads((tmp_path / "site" / "search.json").read_text("utf-8"))["items"]
    found: dict[str, set[str]] = {}
    for item in items:
        reader = _Words()
        reader.feed(f"{item['title']} {item['text']}")
        for word in reader.words:
            found.setdefault(word, set()).add(item["location"].partition("#")[0])
    assert "install.html" in found["install"]
    assert "how-to/notebook.html" in found["notebook"]
    assert "how-to/slow-nccl-tests.html" in found["nccl"]
    for page in (tmp_path / "site").rglob("*.html"):
        assert not re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="https?://', page.read_text("utf-8")), page
