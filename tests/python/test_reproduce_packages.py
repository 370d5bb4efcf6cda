"""Experiments are found in installed packages: those of xoff in their order, those of users, and none."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from small import Command
from xoff import reproduce
from xoff._core import InputError
from xoff.commands.completion import claims
from xoff.templates.writing import create

Package = Callable[..., Path]
_ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Package]:
    """Installs a package of experiments, with one experiment in each of the given documents; returns its folder."""
    site = tmp_path / "site"
    before = set(sys.modules)

    def install(name: str, *folders: str, entry: str = "", init: str = "") -> Path:
        # The skeleton of an experiment, which holds in every document.
        made = tmp_path / f"checkout-of-{name}"
        for folder in ("crates/models/src", "experiments"):
            (made / folder).mkdir(parents=True)
        for folder in folders:
            create("experiment", f"{folder}/one", made)
        root = site / name
        (made / "experiments/xoff_experiments").rename(root) if folders else root.mkdir(parents=True)
        (root / "__init__.py").write_text(init, "utf-8")
        info = site / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", "utf-8")
        (info / "entry_points.txt").write_text(f"[xoff.experiments]\n{name} = {entry or name}\n", "utf-8")
        return root

    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    yield install
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in {"acme", "beta"}:
            del sys.modules[name]


def test_the_five_documents_come_first() -> None:
    listed = list(dict.fromkeys(one.id.partition("/")[0] for one in reproduce.select([])))
    assert listed[:5] == ["sfc", "sfc-proxy", "congestion-isolation", "bcn", "portfc"]
    assert listed[5:] == ["field", "ai-fabrics", "serving", "hardware"]


@pytest.mark.parametrize("words", [["--list"], ["sfc/5.1", "--quick"], ["--export", "here"], ["sfc", "--design"]])
def test_without_experiments_the_command_says_how_to_install_them(
    words: list[str], xoff_here: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: ())
    done = xoff_here("reproduce", *words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        "xoff: error: reproduce: no published experiments are installed; install them with: "
        "pip install 'xoff[experiments]', or in a checkout with: make build\n"
    )
    assert claims("sfc") == []


def test_a_package_of_a_user_is_found(package: Package, xoff_here: Command) -> None:
    root = package("acme", "first_paper", "other", init='DOCUMENTS = ("other", "first-paper", "lost")\n')
    (root / "other" / "page.md").write_text("# Of our own\n", "utf-8")
    mine = [id for id, one in reproduce.documents().items() if one.module.startswith("acme.")]
    assert mine == ["other", "first-paper"]
    done = xoff_here("reproduce", "other", "first-paper", "--quick", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "2 statements: 2 hold" in done.stdout
    assert Path("out/other-quick.md").read_text("utf-8").startswith("# Of our own\n")
    assert reproduce.record(["other"]) == [root / "verdicts.json"]
    assert reproduce.record(["first-paper"]) == [root / "verdicts.json"]
    recorded = json.loads((root / "verdicts.json").read_text("utf-8"))
    assert recorded == {"other/one": "holds", "first-paper/one": "holds"}


def test_two_packages_with_one_document_are_refused(package: Package) -> None:
    package("acme", "paper")
    package("beta", "paper")
    with pytest.raises(InputError, match="document `paper` is in `acme` and `beta`; uninstall one"):
        reproduce.documents()


def test_a_package_that_is_not_there_is_named(package: Package) -> None:
    package("acme", entry="acme_of_before")
    with pytest.raises(InputError, match="the package `acme_of_before` of entry point `acme` is missing; install it"):
        reproduce.documents()


def test_an_entry_point_of_a_module_is_named(package: Package) -> None:
    (package("acme", entry="acme.paper") / "paper.py").write_text("", "utf-8")
    with pytest.raises(InputError, match=r"entry point `acme` names the module `acme\.paper`; name a package"):
        reproduce.documents()


def test_a_package_whose_library_is_missing_names_the_library(package: Package) -> None:
    package("acme", init="import a_library_of_nobody\n")
    with pytest.raises(ModuleNotFoundError, match="a_library_of_nobody"):
        reproduce.documents()
