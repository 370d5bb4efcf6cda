"""Plug-ins: packages outside of the checkout, which are built into a core and used as xoff's own parts."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from xoff import InputError, __version__, own_core, plugins
from xoff.plugins import building
from xoff.templates.writing import PARTS_OF_PLUGINS, create_plugin, hooks

_ROOT = Path(__file__).resolve().parents[2]


def _xoff(*command: str | Path, cwd: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    full = [sys.executable, "-m", "xoff", *map(str, command)]
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    return subprocess.run(full, cwd=cwd, env=kept | environment, capture_output=True, text=True, check=False)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XOFF_PLUGINS", str(tmp_path / "core"))
    return tmp_path


def test_a_new_plug_in_has_a_file_for_each_part(here: Path) -> None:
    kinds = [kind for kind in PARTS_OF_PLUGINS if kind != "routing"]
    paths = create_plugin("early_warning", kinds)
    assert all(path.is_file() for path in paths)
    assert {path.name for path in paths} == {
        *("Cargo.toml", "lib.rs", "scenario.toml", ".gitignore"),
        *(f"{kind}.rs" for kind in kinds),
    }
    for path in paths:
        text = path.read_text("utf-8")
        assert "{slug}" not in text
        assert "crate::" not in text
    (one,) = building.packages([here / "early_warning"])
    assert (one.name, one.crate, one.version) == ("early_warning", "early_warning", "0.1.0")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["new", "plugin", "Early"], "new: `Early` is not a name"),
        (["new", "plugin", "taken"], "new: taken exists; choose another name"),
        (["new", "plugin", "x", "--part", "topology"], "new: --part: `topology` is no part of a plug-in; allowed are "),
        (["new", "plugin", "x", "--part", "mechanism", "--part", "routing"], "new: --part: routing is a mechanism"),
        (["new", "scenario", "x", "--part", "mechanism"], "new: --part is for plug-ins"),
        (["plugins", "build", "taken"], "plugins: "),
        (["plugins", "build", "old"], 'dependencies.xoff-models: "0.1" is given, and this is xoff'),
        (["plugins", "build", "half"], 'dev-dependencies.xoff-units: "0.1" is given, and this is xoff'),
        (["plugins", "build", "none"], "dependencies.xoff-models: nothing is given, and this is xoff"),
        (["plugins", "build", "damaged"], "Cargo.toml: cannot be read"),
        (["plugins", "build", "nameless"], "Cargo.toml: package.name: a name of letters"),
        (["plugins", "build", "twin", "other"], "have the name `twin`; rename one"),
    ],
)
def test_a_wrong_folder_gets_one_message(here: Path, command: list[str], words: str) -> None:
    version = ".".join(__version__.split(".")[:2])
    package = '[package]\nname = "{}"\nversion = "1.0.0"\n[dependencies]\nxoff-models = "{}"\n'
    for folder, text in {
        "taken": None,
        "old": package.format("old", "0.1"),
        "half": package.format("half", version) + '[dev-dependencies]\nxoff-units = {version = "0.1"}\n',
        "none": '[package]\nname = "none"\nversion = "1.0.0"\n',
        "damaged": "[package\n",
        "nameless": '[package]\nversion = "1.0.0"\n',
        "twin": package.format("twin", version),
        "other": package.format("twin", version),
    }.items():
        (here / folder).mkdir()
        if text is not None:
            (here / folder / "Cargo.toml").write_text(text, "utf-8")
    done = _xoff(*command, cwd=here, environment={})
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("xoff: error: ")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (here / "core").exists()
    assert not (here / "x").exists()


def test_a_pipe_as_manifest_is_refused(here: Path) -> None:
    (here / "mine").mkdir()
    os.mkfifo(here / "mine" / "Cargo.toml")
    done = _xoff("plugins", "build", "mine", cwd=here, environment={})
    assert (done.returncode, "Cargo.toml: cannot be read" in done.stderr) == (2, True)


def test_without_plug_ins_nothing_is_listed_and_a_key_gets_the_remedy(here: Path) -> None:
    assert plugins.installed() == []
    assert not building.remove()
    assert "No plug-ins" in _xoff("plugins", "list", cwd=here, environment={}).stdout
    assert json.loads(_xoff("plugins", "list", "--json", cwd=here, environment={}).stdout) == []
    assert _xoff("new", "plugin", "early_warning", cwd=here, environment={}).returncode == 0
    done = _xoff("check", "early_warning/scenario.toml", cwd=here, environment={})
    assert done.returncode == 2
    assert "switch.plugins.early_warning: unknown mechanism; no plug-in with a mechanism is installed" in done.stderr
    assert "`xoff plugins build FOLDER`" in done.stderr


def test_a_core_beside_another_build_is_left_out(here: Path) -> None:
    core = here / "core"
    core.mkdir()
    text = json.dumps({"beside": [1, 2], "packages": [{"name": "a", "version": "1", "folder": "/a"}]})
    (core / own_core.MANIFEST).write_text(text, "utf-8")
    (core / own_core.CORE).write_bytes(b"no library")
    done = _xoff("plugins", "list", cwd=here, environment={})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "The core with plug-ins is of another build of xoff: run `xoff plugins build /a`.\n"
    assert _xoff("plugins", "remove", cwd=here, environment={}).stdout == "Removed.\n"
    assert not core.exists()


@pytest.mark.parametrize(("beside", "is_current"), [("own", True), (None, True), ([1, 2], False), ("missing", False)])
def test_a_core_is_used_beside_its_package_or_for_itself(here: Path, beside: object, is_current: bool) -> None:
    """`make try` writes a core for itself, which needs no other core."""
    (here / "core").mkdir()
    text = {} if beside == "missing" else {"beside": own_core.beside() if beside == "own" else beside}
    (here / "core" / own_core.MANIFEST).write_text(json.dumps(text), "utf-8")
    assert own_core.is_current() == is_current


@pytest.mark.parametrize("is_complete", [True, False])
def test_a_build_needs_a_network_only_until_all_crates_are_there(
    here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], is_complete: bool
) -> None:
    """A program in the place of Cargo notes its arguments and environment, and builds nothing."""
    cargo = here / "bin" / "cargo"
    cargo.parent.mkdir()
    found = f"exit {int(not is_complete)}"
    cargo.write_text(f'#!/bin/sh\necho "$PYO3_PYTHON $*" >> {here}/calls\n[ "$1" = metadata ] && {found}\nexit 1\n')
    cargo.chmod(0o755)
    monkeypatch.setenv("PATH", f"{cargo.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("CARGO_TARGET_DIR", str(here / "target"))
    create_plugin("mine", ["mechanism"])
    with pytest.raises(InputError, match="cargo build failed for `mine`"):
        building.build([Path("mine")])
    look, build = (here / "calls").read_text("utf-8").splitlines()
    assert look.startswith(f"{sys.executable} metadata --offline ")
    assert ("--offline" in build) == is_complete
    said = capfd.readouterr().err
    assert "The first build compiles all of xoff, in about " in said
    assert "It needs a network once" in said


def test_a_skeleton_names_all_methods_of_its_contract(here: Path) -> None:
    create_plugin("mine", ["mechanism", "congestion_control", "transport"])
    for kind, trait, file in (
        ("mechanism", "Hooks", "mechanisms"),
        ("congestion_control", "Control", "hosts/congestion_control"),
        ("transport", "Transport", "hosts/transport"),
    ):
        contract = (_ROOT / "crates/models/src" / file / "contract.rs").read_text("utf-8")
        text = (here / "mine" / "src" / f"{kind}.rs").read_text("utf-8")
        named = [name for name, _ in hooks(contract, trait)]
        assert len(named) > 10
        assert [name for name in named if f"`{name}`" not in text and f"fn {name}(" not in text] == []


def test_the_sources_in_a_wheel_are_those_of_the_checkout(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, _ROOT / "tools" / "crates.py"], capture_output=True, text=True, check=True)
    with tarfile.open(done.stdout.strip()) as archive:
        archive.extractall(tmp_path, filter="data")
    for file in tmp_path.rglob("*"):
        if file.is_file():
            assert file.read_bytes() == (_ROOT / file.relative_to(tmp_path)).read_bytes()
    included = [
        file.parent / name
        for file in tmp_path.rglob("*.rs")
        for name in re.findall(r'include_(?:str|bytes)!\("([^"]+)"\)', file.read_text("utf-8"))
    ]
    assert included
    assert [file for file in included if not file.is_file()] == []
    command = ["cargo", "metadata", "--no-deps", "--offline", "--format-version", "1"]
    found = json.loads(subprocess.run(command, cwd=tmp_path, capture_output=True, check=True).stdout)
    assert {package["name"] for package in found["packages"]} >= {"xoff-models", "xoff-scenario", "xoff-python"}


_KEPT = _ROOT / "tests" / "plugins-0.3.0"
_EXAMPLE = _ROOT / "python" / "xoff" / "examples" / "plugins" / "ping_pong"
_TURN = ("sent_ps", "answered_ps")
"""Plug-ins as they were written for xoff 0.3.0."""
_KEPT_NAMES = sorted(folder.name for folder in _KEPT.iterdir() if folder.is_dir())

_PANIC = """
    fn on_dequeue(&mut self, event: &Dequeued<'_>, core: &Core, effects: &mut Effects) {
        assert!(core.egress_bytes(event.port, event.queue) < 50_000, "the queue is too long");
"""


_MODE = 'if std::env::var("HOSTILE").unwrap_or_default()'
_EFFECT = "xoff_models::effects::Effect"
_HOSTILE_HOOK = f"""
        {_MODE} == "queue" {{
            effects.push({_EFFECT}::MoveQueue(event.port, event.queue, xoff_models::ids::QueueId::at(200)));
        }}
        {_MODE} == "port" {{
            let port = xoff_models::ids::PortId::at(200);
            effects.push({_EFFECT}::MoveQueue(port, event.queue, event.queue));
        }}
        {_MODE} == "past" {{
            effects.push({_EFFECT}::Timer(xoff_units::Moment(1), 0));
        }}
"""
_CONDITION = "if core.egress_bytes(event.port, event.queue) >= "


def _replace(file: Path, changes: dict[str, str]) -> None:
    text = file.read_text("utf-8")
    for before, after in changes.items():
        assert before in text
        text = text.replace(before, after)
    file.write_text(text, "utf-8")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A folder with two plug-ins, and the environment in which their core is used."""
    place = tmp_path_factory.mktemp("plugins")
    environment = {"XOFF_PLUGINS": str(place / "core"), "XDG_CACHE_HOME": str(place / "cache")}
    # The build of the checkout has fetched every crate.
    environment["CARGO_NET_OFFLINE"] = "true"
    parts = [kind for kind in PARTS_OF_PLUGINS if kind != "routing"]
    options = [option for kind in parts for option in ("--part", kind)]
    assert _xoff("new", "plugin", "early_warning", *options, cwd=place, environment=environment).returncode == 0
    assert _xoff("new", "plugin", "wrong", cwd=place, environment=environment).returncode == 0
    head = "\n    fn on_dequeue(&mut self, event: &Dequeued<'_>, core: &Core, effects: &mut Effects) {\n"
    _replace(place / "wrong" / "src" / "mechanism.rs", {head: _PANIC})
    # The mark depends on a field that is declared a total.
    assert _xoff("new", "plugin", "forgetful", cwd=place, environment=environment).returncode == 0
    _replace(
        place / "forgetful" / "src" / "mechanism.rs",
        {
            "    threshold: u32,\n    marks: u64,\n}": "    threshold: u32,\n    marks: u64,\n    seen: u64,\n}",
            "marks: 0 }": "marks: 0, seen: 0 }",
            "total: marks;": "total: marks, seen;",
            f"{_CONDITION}self.threshold {{": "self.seen += 1;\n        if self.seen.is_multiple_of(7) {",
        },
    )
    # The node never calls the hook that counts.
    assert _xoff("new", "plugin", "deaf", cwd=place, environment=environment).returncode == 0
    _replace(place / "deaf" / "src" / "mechanism.rs", {"Watches::DEQUEUE": "Watches::NONE"})
    # Mistakes at the border, chosen by a variable.
    both = ("--part", "mechanism", "--part", "congestion_control")
    assert _xoff("new", "plugin", "hostile", *both, cwd=place, environment=environment).returncode == 0
    source = place / "hostile" / "src"
    _replace(source / "mechanism.rs", {head: head + _HOSTILE_HOOK})
    _replace(
        source / "congestion_control.rs",
        {
            "let rate = line.rate.0 as f64;": f'{_MODE} == "new" {{ panic!("no new") }} let rate = line.rate.0 as f64;',
            "if params.minimum_rate.0 < 1_000 {": (
                f'{_MODE} == "validate" {{ panic!("no values") }} if params.minimum_rate.0 < 1_000 {{'
            ),
            "        Duration((sent": (
                f'{_MODE} == "exit" {{ std::process::exit(0) }}\n'
                f'{_MODE} == "forever" {{ return Duration(u64::MAX) }}\n        Duration((sent'
            ),
        },
    )
    # Plug-ins for 0.3.0, after the edit that the error asks for.
    for name in _KEPT_NAMES:
        shutil.copytree(_KEPT / name, place / name)
        manifest = place / name / "Cargo.toml"
        version = ".".join(__version__.split(".")[:2])
        manifest.write_text(re.sub(r'"0\.3(\.0)?"', f'"{version}"', manifest.read_text("utf-8")), "utf-8")
    shutil.copytree(_EXAMPLE, place / "ping_pong", ignore=shutil.ignore_patterns("target", "Cargo.lock"))
    # A file of somebody else in the folder of the core stays.
    (place / "core").mkdir()
    (place / "core" / "mine.txt").write_text("mine", "utf-8")
    plug_ins = ("early_warning", "wrong", "forgetful", "deaf", "hostile", "ping_pong", *_KEPT_NAMES)
    done = _xoff("plugins", "build", *plug_ins, "--debug", cwd=place, environment=environment)
    assert done.returncode == 0, done.stderr
    assert (place / "core" / "mine.txt").read_text("utf-8") == "mine"
    return place, environment


@pytest.mark.slow
def test_a_plug_in_is_used_as_a_part_of_xoff(built: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    place, environment = built

    def done(*command: str | Path) -> str:
        found = _xoff(*command, cwd=tmp_path, environment=environment)
        assert found.returncode == 0, found.stderr
        return found.stdout

    listed = {one["name"]: one for one in json.loads(done("plugins", "list", "--json"))}
    assert list(listed) == sorted(("deaf", "early_warning", "forgetful", "hostile", "ping_pong", "wrong", *_KEPT_NAMES))
    assert [part["path"] for part in listed["early_warning"]["parts"]] == [
        "switch.plugins.early_warning",
        "host.congestion_control.plugins.early_warning",
        "host.transport.plugins.early_warning",
        "workload[].plugins.early_warning",
    ]
    done("run", place / "early_warning" / "scenario.toml")
    scenario = tmp_path / "incast.toml"
    text = (place / "early_warning" / "scenario.toml").read_text("utf-8")
    incast = 'incast = { senders = [1, 2, 3, 4], receiver = 0, size = "1MB" }'
    assert 'plugins.early_warning = { size = "1MB" }' in text
    scenario.write_text(text.replace('plugins.early_warning = { size = "1MB" }', incast), "utf-8")
    settings = ("--set", "switch.plugins.early_warning.threshold=20KB")
    summaries = [
        json.loads(done("run", scenario, *settings, *more, "--json"))
        for more in ((), ("--no-fast-forward",), ("--threads", "2"))
    ]
    assert len({summary["fingerprint"] for summary in summaries}) == 1
    assert summaries[0]["early_warning"]["marks"] > 0
    assert summaries[0]["flows"]["completed"] == 4
    # A setting is read by the plug-in's own type, and a wrong one is named.
    wrong = _xoff(
        "check", scenario, "--set", "switch.plugins.early_warning.treshold=1KB", cwd=tmp_path, environment=environment
    )
    assert wrong.returncode == 2
    assert "switch.plugins.early_warning.treshold: unknown key `treshold` (did you mean `threshold`?)" in wrong.stderr
    # A study varies a key of the plug-in, and has the counts of the plug-in.
    study = tmp_path / "study.toml"
    study.write_text(
        f'base = {json.dumps(str(scenario))}\nmetrics = ["early_warning_marks", "fct_max_ps"]\n'
        '[axes]\n"switch.plugins.early_warning.threshold" = ["20KB", "400KB"]\n',
        "utf-8",
    )
    done("sweep", study, "--out", tmp_path / "study")


@pytest.mark.slow
def test_an_application_is_fast_forwarded_and_folded(built: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    """Each message of a pair is answered after a fixed time, so that every turn of a host has one length."""
    place, environment = built
    scenario, rounds = place / "ping_pong" / "scenario.toml", 200
    results = {}
    for options in ((), ("--no-fast-forward",), ("--no-fold",), ("--no-fold", "--no-fast-forward", "--threads", "2")):
        out = tmp_path / "-".join(("out", *options))
        settings = ("--set", f"workload[0].plugins.ping_pong.rounds={rounds}")
        done = _xoff(
            "run", scenario, *settings, *options, "--json", "--out", out, cwd=tmp_path, environment=environment
        )
        assert done.returncode == 0, done.stderr
        summary = json.loads(done.stdout)
        table = pyarrow.parquet.read_table(out / "turns.parquet")
        results[options] = summary, table
    summaries, tables = zip(*results.values(), strict=True)
    assert len({summary["fingerprint"] for summary in summaries}) == 1
    assert all(table.equals(tables[0]) for table in tables)
    assert [summary["performance"]["folding"]["times"] for summary in summaries] == [8, 8, 1, 1]
    forwarded = [summary["performance"]["fast_forward"]["by_kind"]["layers"] for summary in summaries]
    hops = summaries[0]["performance"]["data_packet_hops"]
    assert [n > hops / 2 for n in forwarded] == [True, False, True, False]
    # The first host of a pair gets an answer to all its messages, the second to all but the last.
    turns = 8 * (2 * rounds - 1)
    times = {end - start for start, end in zip(*(tables[0][name].to_pylist() for name in _TURN), strict=True)}
    assert tables[0].num_rows == turns
    assert len(times) == 1
    assert all(one["applications"] == {"ping_pong": {"turns": turns, "longest_ps": max(times)}} for one in summaries)


@pytest.mark.slow
@pytest.mark.parametrize("name", _KEPT_NAMES)
def test_a_plug_in_for_version_0_3_0_runs(built: tuple[Path, dict[str, str]], tmp_path: Path, name: str) -> None:
    place, environment = built
    out = str(tmp_path / "out")
    done = _xoff("run", str(place / name / "scenario.toml"), "--out", out, cwd=tmp_path, environment=environment)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_panic_names_the_plug_in_and_leaves_no_result(built: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    place, environment = built
    done = _xoff(
        "run", place / "wrong" / "scenario.toml", "--out", tmp_path / "result", cwd=tmp_path, environment=environment
    )
    assert done.returncode == 2
    assert done.stderr.count("xoff: error: ") == 1
    assert "plug-in `wrong` panicked in " in done.stderr
    assert "mechanism::Wrong" in done.stderr
    assert "the queue is too long" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "result").exists()


_HOOK = "plug-in `hostile`: `{}` of the part `hostile` returned or asked for something that the core cannot use: "


@pytest.mark.slow
@pytest.mark.parametrize("command", ["run", "check", "conformance"])
@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("new", ("plug-in `hostile` panicked in ", "Control>::new: no new")),
        ("validate", ("plug-in `hostile` panicked in ", "Control>::validate: no values")),
        ("queue", (_HOOK.format("on_dequeue"), "index out of bounds")),
        ("port", (_HOOK.format("on_dequeue"), "index out of bounds")),
        ("past", (_HOOK.format("on_dequeue"), "a timer is set in the past")),
    ],
)
def test_a_mistake_at_the_border_names_plug_in_and_hook(
    built: tuple[Path, dict[str, str]], tmp_path: Path, command: str, mode: str, words: tuple[str, ...]
) -> None:
    place, environment = built
    scenario = place / "hostile" / "scenario.toml"
    arguments = ["plugins.hostile"] if command == "conformance" else [scenario]
    done = _xoff(command, *arguments, cwd=tmp_path, environment=environment | {"HOSTILE": mode})
    if command == "check" and mode in {"queue", "port", "past"}:
        assert (done.returncode, done.stderr) == (0, "")
        return
    assert "Traceback" not in done.stderr
    if command == "conformance" and done.returncode == 1:
        # The draws that failed are listed.
        assert all(word in done.stdout.replace("\n", " ") for word in words[:1])
        return
    assert done.returncode == 2
    assert done.stderr.count("xoff: error: ") == 1
    assert all(word in done.stderr for word in words)


@pytest.mark.slow
def test_a_plug_in_that_stops_a_flow_or_the_process_is_no_success(
    built: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    place, environment = built
    scenario = place / "hostile" / "scenario.toml"
    # The gap after the first packet is for ever: the flow stops, and does not send at full speed.
    done = _xoff("run", scenario, cwd=tmp_path, environment=environment | {"HOSTILE": "forever"})
    assert done.returncode == 1
    assert "8 of 8 flows were not delivered" in done.stderr
    done = _xoff("run", scenario, "--out", "result", cwd=tmp_path, environment=environment | {"HOSTILE": "exit"})
    assert done.returncode not in {0, 1}
    assert "xoff: error: plug-in `hostile`: `on_sent` of the part `hostile` ended the process" in done.stderr
    assert not (tmp_path / "result").exists()


@pytest.mark.slow
def test_conformance_finds_the_mistakes_of_plug_ins(built: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    _, environment = built

    def failed(name: str) -> dict[str, dict[str, Any]]:
        done = _xoff("conformance", name, "--json", cwd=tmp_path, environment=environment)
        checks = json.loads(done.stdout)["checks"]
        assert done.returncode == int(any(not check["passed"] for check in checks)), done.stderr
        return {f"{check['part']} {check['check']}": check for check in checks if not check["passed"]}

    assert failed("early_warning") == {}
    assert [*failed("plugins.deaf")] == ["switch.plugins.deaf counts"]
    (differs,) = failed("forgetful").values()
    assert (differs["check"], differs["part"]) == ("fast-forward", "switch.plugins.forgetful")
    assert "forgetful.marks" in str(differs["failures"])
    panics = failed("wrong")
    assert {"switch.plugins.wrong audits", "switch.plugins.wrong fast-forward"} & panics.keys()
    assert "plug-in `wrong` panicked in " in json.dumps(panics)
    (tmp_path / "draw.json").write_text(json.dumps(differs["failures"][0]["scenario"]), "utf-8")
    assert _xoff("check", "draw.json", cwd=tmp_path, environment=environment).returncode == 0


@pytest.mark.slow
def test_a_plug_in_that_does_not_compile_leaves_the_core(built: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    _, environment = built
    assert _xoff("new", "plugin", "broken", cwd=tmp_path, environment=environment).returncode == 0
    (tmp_path / "broken" / "src" / "lib.rs").write_text("fn main() { 1 + \n", "utf-8")
    done = _xoff("plugins", "build", "broken", "--debug", cwd=tmp_path, environment=environment)
    assert done.returncode == 2
    assert "plugins: cargo build failed for `broken`; the messages of cargo are above" in done.stderr
    assert "broken/src/lib.rs:1" in done.stderr
    assert "early_warning 0.1.0" in _xoff("plugins", "list", cwd=tmp_path, environment=environment).stdout
    # The second plug-in has the name of a part of xoff.
    assert _xoff("new", "plugin", "pfc", cwd=tmp_path, environment=environment).returncode == 0
    done = _xoff("plugins", "build", "pfc", "--debug", cwd=tmp_path, environment=environment)
    assert done.returncode == 2
    assert "plug-in `pfc`: xoff has a part `pfc`; give the part another name" in done.stderr
    assert "early_warning 0.1.0" in _xoff("plugins", "list", cwd=tmp_path, environment=environment).stdout


@pytest.mark.slow
def test_skeletons_pass_their_tests(built: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    place, environment = built
    done = _xoff("plugins", "test", place / "early_warning", cwd=tmp_path, environment=environment)
    assert done.returncode == 0, done.stderr
    assert "4 passed" in done.stderr


def test_a_folder_without_a_package_is_no_plug_in(here: Path) -> None:
    with pytest.raises(InputError, match=r"has no Cargo\.toml; `xoff new plugin NAME` writes one"):
        building.packages([here])
