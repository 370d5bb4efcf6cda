"""The tutorial and the how-to pages: the test follows each page in an empty folder."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import documented
from patience import PATIENCE_SECONDS
from small import Command

_ROOT = Path(__file__).resolve().parents[2]
_SLOW = {"which-choice-decides", "size-for-serving", "try-in-python", "slow-nccl-tests"}
"""Pages with commands that take a minute."""


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.slow if page.stem in _SLOW else (), id=page.stem)
        for page in documented.pages()
    ],
)
def test_page(page: Path, tmp_path: Path, xoff_here: Command, capfd: pytest.CaptureFixture[str]) -> None:
    def python(text: str) -> str:
        exec(compile(text, page.name, "exec"), {})  # noqa: S102 (the pages are ours)
        return capfd.readouterr().out

    documented.follow(page, tmp_path, xoff_here, python)
    if page.stem == "tutorial":
        figures = tmp_path / "pause" / "figures"
        _same_figure(figures / "victim_fct_mean_ps.svg", _ROOT / "docs" / "images" / "tutorial-victim.svg")
    if page.stem == "check-sonic":
        figures = tmp_path / "result" / "figures"
        _same_figure(figures / "switch_memory.svg", _ROOT / "docs" / "images" / "switch-memory.svg")


def _same_figure(drawn: Path, shown: Path) -> None:
    # Versions of the drawing library place things a little differently; words and ticks are the same.
    texts = re.compile(r"<text[^>]*>([^<]+)</text>")
    found = texts.findall(drawn.read_text("utf-8"))
    assert found == texts.findall(shown.read_text("utf-8"))
    assert len(found) > 8


@pytest.mark.parametrize("page", documented.pages(), ids=lambda page: page.stem)
def test_rust_of_a_page_is_code_that_is_compiled(page: Path) -> None:
    """A block is a piece of a test in Rust. ``room.py`` compiles the blocks of ``add-a-measure.md``."""
    blocks = [content for language, content, _ in documented.blocks(page) if language == "rust"]
    if page.stem == "add-a-measure":
        assert len(blocks) == 2
        return
    files = [*_ROOT.glob("crates/*/tests/*.rs"), *_ROOT.glob("python/xoff/examples/plugins/*/src/*.rs")]
    sources = [_without_indents(file.read_text("utf-8")) for file in files]
    assert [block for block in blocks if not any(_without_indents(block) in source for source in sources)] == []


def _without_indents(text: str) -> str:
    """Returns a text without indents: a page may show lines from the middle of a function."""
    return "\n".join(line.strip() for line in text.strip().splitlines())


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
    # Those of experiments are built by `make pages`.
    assert len(figures) > 15
    assert not [path.name for path in figures if "\ufffd" in path.read_text("utf-8")]
