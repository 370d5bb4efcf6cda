"""The tutorial and the how-to pages: the test writes the printed files, and types the printed commands.

A block of ``sh`` is typed. A block of ``toml`` is written into the file named in bold by the text before; a block
without a name is an excerpt. A block of ``python`` is run. A block of ``text`` is the output of the preceding
command or code.
A block of ``bash`` needs a cluster or a build, and is only parsed.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from patience import PATIENCE_SECONDS
from small import Command
from xoff import shipped

_ROOT = Path(__file__).resolve().parents[2]
_PAGES = [
    _ROOT / "docs" / "install.md",
    *sorted((_ROOT / "docs").glob("tutorial*.md")),
    _ROOT / "docs" / "reference" / "python.md",
    *sorted((_ROOT / "docs" / "how-to").glob("*.md")),
]
_BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.M | re.S)
_BUILD = ("make build", "source .venv/bin/activate")


def _blocks(page: Path) -> list[tuple[str, str, str]]:
    """Returns the blocks of a page: language, content, and the file named by the text before."""
    text = page.read_text("utf-8")
    found, end = [], 0
    for block in _BLOCK.finditer(text):
        named = re.findall(r"\*\*([\w-]+\.toml)\*\*", text[end : block.start()])
        found.append((block[2], re.sub(f"^{block[1]}", "", block[3], flags=re.M), named[-1] if named else ""))
        end = block.end()
    return found


_WRITES_EXAMPLES = re.compile(r"^xoff examples --out examples$", re.M)
_SLOW = {"which-choice-decides"}
"""Pages with commands that take a minute."""


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=pytest.mark.slow if page.stem in _SLOW else (), id=page.stem) for page in _PAGES]
)
def test_page(page: Path, tmp_path: Path, xoff_here: Command, capfd: pytest.CaptureFixture[str]) -> None:
    if not _WRITES_EXAMPLES.search(page.read_text("utf-8")):
        shipped.write(tmp_path / "examples")
    printed = ""
    for language, content, file in _blocks(page):
        if language == "toml" and file:
            (tmp_path / file).write_text(content, "utf-8")
        elif language == "toml":
            tomllib.loads(content)
        elif language == "sh":
            for line in content.splitlines():
                if line not in _BUILD:
                    program, *arguments = shlex.split(line)
                    assert program == "xoff"
                    done = xoff_here(*arguments)
                    assert done.returncode == 0, done.stderr
                    printed = done.stdout
        elif language == "text":
            assert [line.rstrip() for line in content.splitlines()] == [
                line.rstrip() for line in printed.splitlines()[: len(content.splitlines())]
            ]
        elif language == "python":
            exec(compile(content, page.name, "exec"), {})  # noqa: S102 (the pages are ours)
            printed = capfd.readouterr().out
        else:
            assert language == "bash"
    if page.stem == "tutorial":
        figures = tmp_path / "pause" / "figures"
        _same_figure(figures / "victim_fct_mean_ps.svg", _ROOT / "docs" / "images" / "tutorial-victim.svg")


def _same_figure(drawn: Path, shown: Path) -> None:
    # Versions of the drawing library place things a little differently; words and ticks are the same.
    texts = re.compile(r"<text[^>]*>([^<]+)</text>")
    found = texts.findall(drawn.read_text("utf-8"))
    assert found == texts.findall(shown.read_text("utf-8"))
    assert len(found) > 8


@pytest.mark.parametrize("script", ["slurm_dask", "kubernetes_dask"])
def test_a_cluster_script_runs_a_study(script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster on this machine replaces the cluster that the script starts."""
    distributed = pytest.importorskip("distributed")
    asked: dict[str, object] = {}

    class Cluster(distributed.LocalCluster):  # type: ignore[misc, name-defined]
        def __init__(self, **options: object) -> None:
            asked.update(options)
            super().__init__(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0")

        def adapt(self, **limits: object) -> None:
            asked.update(limits)

    for name, kind in (("dask_jobqueue", "SLURMCluster"), ("dask_kubernetes.operator", "KubeCluster")):
        module = ModuleType(name)
        setattr(module, kind, Cluster)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "dask_kubernetes", ModuleType("dask_kubernetes"))
    study = _ROOT / "examples" / "sweep-incast-pause.toml"
    more = ["--image", "xoff"] if script == "kubernetes_dask" else []
    monkeypatch.setattr(sys, "argv", [script, str(study), str(tmp_path / "out"), *more])
    source = (_ROOT / "examples" / "cluster" / f"{script}.py").read_text("utf-8")
    exec(compile(source, script, "exec"), {"__name__": "__main__", "__doc__": ""})  # noqa: S102
    assert (tmp_path / "out" / "runs.parquet").is_file()
    assert asked["image"] == "xoff" if more else asked["cores"] == 8


def test_the_job_array_runs_a_study(tmp_path: Path) -> None:
    study = _ROOT / "examples" / "sweep-incast-pause.toml"
    script = _ROOT / "examples" / "cluster" / "slurm-array.sh"
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    for task in ("1", "2"):
        assert (tmp_path / "out" / "runs.parquet").exists() is False
        environment = {
            "PATH": path,
            "SLURM_ARRAY_TASK_ID": task,
            "SLURM_ARRAY_TASK_COUNT": "2",
            "SLURM_CPUS_PER_TASK": "2",
        }
        words = [str(shutil.which("bash")), str(script), str(study), str(tmp_path / "out")]
        subprocess.run(words, env=environment, check=True, capture_output=True, timeout=PATIENCE_SECONDS)
    assert (tmp_path / "out" / "runs.parquet").is_file()


def test_no_figure_has_a_sign_in_the_place_of_another() -> None:
    """A line break in a label would be drawn as U+FFFD, as foreign names are cleaned."""
    figures = [path for folder in ("experiments", "images") for path in (_ROOT / "docs" / folder).glob("*.svg")]
    assert len(figures) > 40
    assert not [path.name for path in figures if "\ufffd" in path.read_text("utf-8")]
