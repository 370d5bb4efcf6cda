"""Builds a core with xoff's parts and those of plug-ins.

The sources of xoff's crates come with the package, or are those of the checkout. Cargo links xoff's crates and the
crates of the plug-ins into one library. Compiled crates are kept, so that a second build compiles the plug-ins alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xoff import formatting, own_core
from xoff._core import InputError
from xoff.files import locks
from xoff.files.safe_read import read_bytes
from xoff.version import __version__

REASONS = ("never_repeats", "rare_counts")
"""Tables of ``package.metadata.xoff``: reasons by part, and reasons by count, ``"PART.COUNT"``."""
ARCHIVE = Path(__file__).with_name("crates.tar.gz")
"""The sources of xoff's crates in a wheel."""


@dataclass(frozen=True, slots=True)
class Package:
    """The package of a plug-in: folder, name of the crate, version, and reasons for ``xoff conformance``."""

    folder: Path
    name: str
    version: str
    reasons: dict[str, dict[str, str]]

    @property
    def crate(self) -> str:
        """The name of the crate in Rust."""
        return self.name.replace("-", "_")


def packages(folders: Sequence[Path]) -> list[Package]:
    """Reads the packages of plug-ins.

    Raises `InputError` for a folder without a package, a package for another version of xoff, and two packages of a
    name.
    """
    found: list[Package] = []
    for folder in folders:
        one = _package(folder.absolute())
        if other := next((other for other in found if other.name == one.name), None):
            raise InputError(f"plugins: {other.folder} and {one.folder} have the name `{one.name}`; rename one")
        found.append(one)
    return found


def _package(folder: Path) -> Package:
    file = folder / "Cargo.toml"
    shown = formatting.shown(str(file))
    try:
        # Opening a pipe would wait for ever.
        document = tomllib.loads(read_bytes(file).decode("utf-8"))
    except FileNotFoundError:
        remedy = "`xoff new plugin NAME` writes one"
        raise InputError(f"plugins: {formatting.shown(str(folder))} has no Cargo.toml; {remedy}") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{shown}: cannot be read: {error}") from None
    package = document.get("package")
    name, version = (package.get(key) if isinstance(package, dict) else None for key in ("name", "version"))
    if not isinstance(name, str) or not name.replace("-", "_").isidentifier():
        raise InputError(f"{shown}: package.name: a name of letters, digits, `-` and `_` is needed")
    if not isinstance(version, str):
        raise InputError(f'{shown}: package.version: a version such as "0.1.0" is needed')
    _check_versions(shown, document)
    return Package(folder, name, version, _reasons(shown, package))


def _check_versions(shown: str, document: dict[str, Any]) -> None:
    """Refuses a package that is for another version of xoff, or for none."""
    here = ".".join(__version__.split(".")[:2])
    given = {"dependencies.xoff-models": None} | {
        f"{section}.{crate}": version.get("version") if isinstance(version, dict) else version
        for section in ("dependencies", "dev-dependencies")
        for crate, version in _table(document.get(section)).items()
        if crate.startswith("xoff-")
    }
    for key, wanted in given.items():
        if not isinstance(wanted, str) or ".".join(wanted.lstrip("^=~ ").split(".")[:2]) != here:
            said = f'"{formatting.shown(str(wanted))}"' if wanted is not None else "nothing"
            raise InputError(
                f"{shown}: {key}: {said} is given, and this is xoff {__version__}; "
                f'adapt the plug-in to xoff {here}, and give "{here}" for each of xoff\'s crates'
            )


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _reasons(shown: str, package: Any) -> dict[str, dict[str, str]]:
    """Returns the reasons of a package by kind: parts that never repeat, and counts of rare situations."""
    metadata = package.get("metadata")
    given = metadata.get("xoff", {}) if isinstance(metadata, dict) else {}
    for kind in given if isinstance(given, dict) else [""]:
        table = given.get(kind) if isinstance(given, dict) else None
        if kind not in REASONS:
            raise InputError(f"{shown}: package.metadata.xoff: a table with {' or '.join(REASONS)} is needed")
        if not isinstance(table, dict) or not all(isinstance(reason, str) for reason in table.values()):
            raise InputError(f'{shown}: package.metadata.xoff.{kind}: lines such as NAME = "reason" are needed')
    return {kind: dict(given.get(kind, {})) for kind in REASONS}


def sources() -> Path:
    """Returns the folder with xoff's crates: the checkout, or the extracted archive of the wheel."""
    root = Path(__file__).resolve().parents[3]
    if (root / "crates" / "models").is_dir() and (root / "Cargo.lock").is_file():
        return root
    if not ARCHIVE.is_file():
        raise InputError("plugins: this installation has no sources of xoff's crates; install xoff from a wheel")
    digest = hashlib.sha256(ARCHIVE.read_bytes()).hexdigest()[:12]
    to = _cache() / f"crates-{digest}"
    if not to.is_dir():
        with tempfile.TemporaryDirectory(dir=_cache()) as work:
            with tarfile.open(ARCHIVE) as archive:
                archive.extractall(work, filter="data")
            with contextlib.suppress(OSError):  # Another process was first.
                Path(work).rename(to)
            Path(work).mkdir(exist_ok=True)
    return to


def _workspace(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "Cargo.toml").read_text("utf-8"))


def _crates(root: Path) -> dict[str, Path]:
    """Returns the folders of xoff's crates by name; a plug-in's core needs all except the one for browsers."""
    folders = [root / member for member in _workspace(root)["workspace"]["members"]]
    return {f"xoff-{folder.name}": folder for folder in folders if folder.name != "wasm"}


def _patches(root: Path) -> dict[str, Path]:
    """Returns the folders of the crates that a plug-in depends on by their version."""
    return {name: folder for name, folder in _crates(root).items() if name != "xoff-python"}


def build(folders: Sequence[Path], *, is_debug: bool = False) -> list[Package]:
    """Builds the core of this environment with the plug-ins of the folders, and of no others.

    is_debug: compiles without optimisation and with checks of arithmetic, as for tests.

    Raises `InputError` if Cargo is missing, a package is not valid, or a plug-in does not compile or load. The core of
    before then stays.
    """
    found = packages(folders)
    root, place = sources(), own_core.place()
    workspace = _cache() / f"core-{hashlib.sha256(str(root).encode()).hexdigest()[:12]}"
    workspace.mkdir(parents=True, exist_ok=True)
    with locks.held(workspace):
        _write(workspace, root, found)
        # Apart from builds of the checkout: a library for Python has no hash in the name of its file.
        target = _target(root, workspace) / "plugins"
        profile = "debug" if is_debug else "release"
        if not any((target / profile).glob("*xoff_core.*")):
            _announce(is_debug=is_debug)
        command = ["build", *(() if is_debug else ("--release",))]
        _cargo(command, workspace / "Cargo.toml", found, target)
        compiled = next(
            file for file in (target / profile).glob("*xoff_core.*") if file.suffix in {".so", ".dylib", ".dll"}
        )
        with tempfile.TemporaryDirectory(dir=workspace) as work:
            new = Path(work)
            shutil.copyfile(compiled, new / own_core.CORE)
            listed = [
                {"name": one.name, "version": one.version, "folder": str(one.folder)} | one.reasons for one in found
            ]
            text = json.dumps({"xoff": __version__, "beside": own_core.beside(), "packages": listed}, indent=2)
            (new / own_core.MANIFEST).write_text(text + "\n", "utf-8")
            _try(new)
            # The folder may have files of others, which stay. A process that runs keeps the core of before.
            place.mkdir(parents=True, exist_ok=True)
            for name in (own_core.CORE, own_core.MANIFEST):
                beside = place / f".{name}"
                shutil.copyfile(new / name, beside)
                beside.replace(place / name)
    return found


def test(folder: Path) -> None:
    """Runs the tests of a plug-in's crate. Raises `InputError` if a test fails."""
    found = packages([folder])
    root = sources()
    patch = [f"patch.crates-io.{name}.path={json.dumps(str(crate))}" for name, crate in _patches(root).items()]
    options = [option for one in patch for option in ("--config", one)]
    _cargo(["test", *options], folder.absolute() / "Cargo.toml", found, _target(root, _cache()))


def remove() -> bool:
    """Removes the core with plug-ins of this environment; returns whether there was one."""
    place = own_core.place()
    if not (place / own_core.MANIFEST).is_file():
        return False
    for name in (own_core.MANIFEST, own_core.CORE):
        (place / name).unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # The folder has files of others.
        place.rmdir()
    return True


def _cache() -> Path:
    place = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "xoff", "plugins")
    place.mkdir(parents=True, exist_ok=True)
    return place


def _target(root: Path, workspace: Path) -> Path:
    """Returns the folder of compiled crates; beside a checkout, the folder with the crates of the checkout."""
    is_checkout = (root / "tests").is_dir()
    return Path(os.environ.get("CARGO_TARGET_DIR") or (root if is_checkout else workspace) / "target")


def _write(workspace: Path, root: Path, found: Sequence[Package]) -> None:
    """Writes the package of the core: a module of Python that adds the plug-ins."""
    whole = _workspace(root)
    python: dict[str, Any] = tomllib.loads((root / "crates" / "python" / "Cargo.toml").read_text("utf-8"))
    pyo3 = python["dependencies"]["pyo3"]
    features = json.dumps([*pyo3["features"], "extension-module"])
    crate = json.dumps(str(root / "crates" / "python"))
    # As in the workspace of xoff, whose members have the level of the profile; here they are crates of others.
    release = whole["profile"]["release"]
    own = {name: {"opt-level": release["opt-level"]} for name in (*_crates(root), *(one.name for one in found))}
    levels = {name: json.dumps(given["opt-level"]) for name, given in (own | release["package"]).items()}
    lines = [
        *("[package]", 'name = "xoff-core-with-plugins"', f'version = "{__version__}"'),
        *(f'edition = "{whole["workspace"]["package"]["edition"]}"', "publish = false", "", "[workspace]", ""),
        *("[lib]", 'name = "xoff_core"', 'crate-type = ["cdylib"]', 'path = "lib.rs"', "", "[dependencies]"),
        f'pyo3 = {{ version = "{pyo3["version"]}", features = {features} }}',
        f'of_xoff = {{ package = "xoff-python", path = {crate}, default-features = false }}',
        *(f"{one.name} = {{ path = {json.dumps(str(one.folder))} }}" for one in found),
        *("", "[patch.crates-io]"),
        *(f"{name} = {{ path = {json.dumps(str(folder))} }}" for name, folder in _patches(root).items()),
        *("", "[profile.dev]", "debug = false"),
        *("", "[profile.release]", f"codegen-units = {release['codegen-units']}"),
        *(f"[profile.release.package.{json.dumps(name)}]\nopt-level = {level}" for name, level in levels.items()),
        "",
    ]
    plugins = ", ".join(f"&{one.crate}::PLUGIN" for one in found)
    code = (
        "//! The compiled simulator, with plug-ins.\n#![forbid(unsafe_code)]\n\nuse pyo3::prelude::*;\n\n#[pymodule]\n"
        f"fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {{\n    of_xoff::fill(module, vec![{plugins}])\n}}\n"
    )
    _replace(workspace / "Cargo.toml", "\n".join(lines))
    _replace(workspace / "lib.rs", code)
    if not (workspace / "Cargo.lock").is_file():
        shutil.copyfile(root / "Cargo.lock", workspace / "Cargo.lock")


def _replace(file: Path, text: str) -> None:
    """Writes a file, unless it has the text: Cargo compiles what changed."""
    if not file.is_file() or file.read_text("utf-8") != text:
        file.write_text(text, "utf-8")


# CPU-seconds of the first build on the machine of docs/how-to/write-a-plugin.md, and the cores that it uses.
_COSTS = {False: 450, True: 230}
_CORES = 2


def _announce(*, is_debug: bool) -> None:
    """Says what the first build costs, before it starts."""
    cores = min(_CORES, os.cpu_count() or 1)
    minutes = {debug: round(cost / 60 / cores) for debug, cost in _COSTS.items()}
    alternative = "" if is_debug else f" With --debug it takes about {minutes[True]}, but runs take five times longer."
    print(
        f"The first build compiles all of xoff, in about {minutes[is_debug]} minutes; later builds take seconds."
        f"{alternative} It needs a network once, for the crates that xoff uses.",
        file=sys.stderr,
    )


def _cargo(command: list[str], manifest: Path, found: Sequence[Package], target: Path) -> None:
    cargo = shutil.which("cargo")
    if cargo is None:
        raise InputError("plugins: cargo is not there; install a Rust toolchain (https://rustup.rs)")
    # PyO3 compiles again when PATH or the Python of the shell differ, unless both are named.
    environment = os.environ | {
        "CARGO_TARGET_DIR": str(target),
        "PYO3_PYTHON": sys.executable,
        "PYO3_ENVIRONMENT_SIGNATURE": f"xoff-{sys.implementation.cache_tag}-{sys.executable}",
    }
    named = ["--manifest-path", str(manifest)]
    # Once all crates are here, Cargo needs no network, even if a plug-in is new.
    look = [cargo, "metadata", "--offline", "--format-version", "1", *named]
    is_complete = subprocess.run(look, env=environment, capture_output=True, check=False).returncode == 0
    full = [cargo, *command, *(("--offline",) if is_complete else ()), *named]
    done = subprocess.run(full, env=environment, stdout=sys.stderr, check=False)
    if done.returncode:
        names = ", ".join(f"`{one.name}`" for one in found)
        raise InputError(f"plugins: cargo {command[0]} failed for {names}; the messages of cargo are above")


def _try(folder: Path) -> None:
    """Loads a core in a process of its own: plug-ins that cannot stand beside one another say so."""
    command = [sys.executable, "-P", "-c", "from xoff import plugins; plugins.installed()"]
    environment = os.environ | {"XOFF_PLUGINS": str(folder), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["the core cannot be loaded"]
        raise InputError(f"plugins: {formatting.shown(lines[-1].removeprefix('RuntimeError: '))}")
