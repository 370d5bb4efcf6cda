"""Changes a copy of the core in 40 drawn places, and says for each change which test fails first.

    .venv/bin/python tools/mutants.py [STEP…] [--out out/mutants] [--seed N]

Steps: ``build`` draws the mutants and compiles them into one core, where the environment variable ``XOFF_MUTANT`` is
the number of the mutant that acts; ``record`` runs all tests without a mutant and notes which mutants they reach;
``kill`` runs the reaching tests for each mutant, cheapest first; ``rust`` runs the tests of the crates for each mutant;
``report`` writes the tables. No step changes a tracked file, so no release has a mutant or the switch.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import mutant_report
from mutant_places import KINDS, Place, places, switch

ROOT = Path(__file__).resolve().parents[1]
SEED = 1
# Files and folders of each area; no file is in two of them.
AREAS = {
    "ports": ("models/queueing", "models/node", "models/cut_through.rs", "models/mechanisms"),
    "transports and controls": ("models/transport", "models/congestion_control", "models/pulls", "models/endpoint"),
    "fast-forward and folding": ("scenario/fast_forward", "scenario/folding", "models/symmetry", "engine/state"),
    "jobs": ("models/job", "models/nccl", "models/serving", "models/workload/training", "models/workload/graph"),
    "results": ("scenario/results", "scenario/summary.rs"),
}
OF_A_KIND = 2  # In each area.
ENOUGH = 5  # Functions of tests that fail.
BUDGET_SECONDS = 90  # CPU time of the tests that are run for a mutant; LAST_SECONDS more if none of them fails.
LAST_SECONDS = 100
MEMORY_BYTES = 6 << 30
HANGS_SECONDS = 20  # A test hangs after this time and ten times the longest test of its file.

_SWITCH = """//! Mutants of this copy.

use std::io::Write as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static REACHED: AtomicU64 = AtomicU64::new(0);
static ACTS: OnceLock<u32> = OnceLock::new();

/// Whether a mutant acts.
#[inline]
pub fn on(number: u32) -> bool {
    if REACHED.load(Relaxed) >> number & 1 == 0 {
        reach(number);
    }
    *ACTS.get_or_init(|| std::env::var("XOFF_MUTANT").ok().and_then(|n| n.parse().ok()).unwrap_or(0)) == number
}

#[cold]
fn reach(number: u32) {
    if REACHED.fetch_or(1 << number, Relaxed) >> number & 1 == 1 {
        return;
    }
    if let Some(file) = std::env::var_os("XOFF_MUTANTS_REACHED") {
        if let Ok(mut file) = std::fs::OpenOptions::new().append(true).create(true).open(file) {
            let _ = file.write_all(format!("{number}\\n").as_bytes());
        }
    }
}

/// The mutants reached since the last call, as bits.
pub fn reached() -> u64 {
    REACHED.swap(0, Relaxed)
}
"""
_BINDING = """
#[pyfunction]
fn mutants_reached() -> u64 {
    xoff_units::mutants::reached()
}
"""
_FILL = '    module.add("InputError", module.py().get_type::<InputError>())?;\n'


class Mutants:
    """The mutants of a seed, and the folder with their copy, core and results."""

    def __init__(self, out: Path, target: Path | None, seed: int) -> None:
        self.out = out
        self.source = out / "source"
        self.target = target or out / "target"
        self.seed = seed

    def build(self) -> None:
        """Draws mutants and compiles them; places that do not compile are drawn again."""
        files = subprocess.run(
            ["/usr/bin/env", "git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout
        texts = {name: (ROOT / name).read_bytes() for name in files.split("\0") if name and (ROOT / name).is_file()}
        for name, text in texts.items():
            _write(self.source / name, text)
        draws = {area: _Draw(random.Random(f"{self.seed} {area}"), paths, texts) for area, paths in AREAS.items()}  # noqa: S311
        while True:
            mutants = [mutant for area, draw in draws.items() for mutant in draw.mutants(area)]
            for number, mutant in enumerate(mutants, 1):
                mutant["number"] = number
            self._change(texts, mutants)
            wrong = self._compile(mutants)
            if not wrong:
                break
            for draw in draws.values():
                draw.wrong |= wrong
            print("do not compile:", ", ".join(sorted(wrong)), flush=True)
            for mutant in mutants:
                _write(self.source / mutant["file"], texts[mutant["file"]])
        _write_json(self.out / "mutants.json", mutants)

    def _change(self, texts: dict[str, bytes], mutants: list[dict[str, Any]]) -> None:
        """Writes the switch, its binding and the mutants into the copy."""
        units, binding = "crates/units/src/lib.rs", "crates/python/src/lib.rs"
        _write(self.source / "crates/units/src/mutants.rs", _SWITCH.encode())
        _write(self.source / units, texts[units].replace(b"mod index;", b"pub mod mutants;\nmod index;", 1))
        filled = _FILL + "    module.add_function(wrap_pyfunction!(mutants_reached, module)?)?;\n"
        bound = texts[binding].decode().replace(_FILL, filled, 1) + _BINDING
        _write(self.source / binding, bound.encode())
        for mutant in mutants:
            text = texts[mutant["file"]].decode()
            place = Place(**{name: mutant[name] for name in Place.__dataclass_fields__})
            _write(self.source / mutant["file"], switch(text, place, mutant["number"]).encode())

    def _compile(self, mutants: list[dict[str, Any]]) -> set[str]:
        """Compiles the core and the tests of the crates; returns the places that do not compile."""
        core = ["build", "--profile", "try", "--package", "xoff-python", "--features", "pyo3/extension-module"]
        tests = ["test", "--workspace", "--exclude", "xoff-wasm", "--no-run"]
        binaries: list[dict[str, str]] = []
        for command in (core, tests):
            done = subprocess.run(
                ["/usr/bin/env", "cargo", *command, "--locked", "--message-format=json"],
                cwd=self.source,
                env=os.environ | {"CARGO_TARGET_DIR": str(self.target), "PYO3_PYTHON": sys.executable},
                stdout=subprocess.PIPE,
                text=True,
                check=False,
            )
            messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
            if done.returncode:
                errors = [m["message"] for m in messages if m.get("message", {}).get("level") == "error"]
                spans = {(span["file_name"], span["line_start"]) for error in errors for span in error["spans"]}
                found = {f"{m['file']}:{m['line']}" for m in mutants if any(m["file"] == file for file, _ in spans)}
                if not found:
                    sys.exit("\n".join(error["rendered"] for error in errors) or "the build failed")
                return found
            for message in messages:
                if message.get("executable") and message["profile"]["test"]:
                    folder = str(Path(message["manifest_path"]).parent)
                    binaries.append({"binary": message["executable"], "folder": folder})
        _write(self.out / "core" / "_core.abi3.so", (self.target / "try" / "lib_core.so").read_bytes())
        _write(self.out / "core" / "core.json", b'{"beside": null, "packages": []}\n')
        _write_json(self.out / "binaries.json", binaries)
        return set()

    def _pytest(self, name: str, mutant: int, tests: list[str] | None, options: list[str]) -> subprocess.Popen[bytes]:
        """Starts pytest with the core of the mutants; results are in runs/NAME.log."""
        folder = self.out / "runs"
        folder.mkdir(exist_ok=True)
        for old in folder.glob(f"{name}.log*"):
            old.unlink()
        _write_json(folder / f"{name}.plan", {"log": f"{folder / name}.log", "tests": tests, "most": mutant and ENOUGH})
        environment = os.environ | {
            "XOFF_PLUGINS": str(self.out / "core"),
            "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "python", ROOT / "experiments", ROOT / "tools"))),
            "XOFF_MUTANTS_PLAN": str(folder / f"{name}.plan"),
            "XOFF_MUTANT": str(mutant),
        }
        files = sorted({_file(test) for test in tests or []})
        with (folder / f"{name}.txt").open("wb") as output:
            return subprocess.Popen(
                [sys.executable, "-m", "pytest", "-p", "mutants_plugin", "-p", "no:cacheprovider", *options, *files],
                cwd=ROOT,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES)),
            )

    def record(self) -> None:
        """Runs all tests that are not slow, without a mutant."""
        process = self._pytest("all", 0, None, ["-m", "not slow", "--numprocesses", "logical", "--dist", "loadfile"])
        process.wait()
        lines = [line for log in sorted((self.out / "runs").glob("all.log*")) for line in _lines(log)]
        tests = [line for line in lines if "test" in line]
        _write_json(self.out / "tests.json", sorted(tests, key=lambda test: test["test"]))
        print(len(tests), "tests;", sum(test["failure"] is not None for test in tests), "fail without a mutant")

    def kill(self, only: list[int]) -> None:
        """Runs the tests that reach each mutant, two mutants at a time."""
        mutants = _read_json(self.out / "mutants.json")
        tests = _read_json(self.out / "tests.json")
        results = _read_json(self.out / "killed.json") if only else {}
        numbers = [mutant["number"] for mutant in mutants if not only or mutant["number"] in only]
        with ThreadPoolExecutor(2) as threads:
            for number, result in zip(numbers, threads.map(lambda n: self._kill(n, tests), numbers), strict=True):
                results[str(number)] = result
                _write_json(self.out / "killed.json", results)
                first = result["failures"][0]["test"] if result["failures"] else "survives"
                print(number, first, f"({len(result['failures'])} of {result['tests']} tests)", flush=True)

    def _kill(self, number: int, tests: list[dict[str, Any]]) -> dict[str, Any]:
        """Runs the tests that reach a mutant, cheapest first, until enough of them fail."""
        usual = {test["test"]: test for test in tests}
        left = _order([test for test in tests if number in test["reached"] and test["failure"] is None])
        result: dict[str, Any] = {"tests": len(left), "failures": [], "ran": 0, "cpu": 0.0}
        for budget in (BUDGET_SECONDS, LAST_SECONDS):
            chosen: list[str] = []
            while left and budget > 0:
                chosen.append(left.pop(0))
                budget -= usual[chosen[-1]]["cpu"]
            while chosen and len(result["failures"]) < ENOUGH:
                hung = self._run(number, chosen, usual, result)
                if hung is None:
                    break
                function = mutant_report.function_of(hung)
                rest = chosen[chosen.index(hung) + 1 :]
                chosen = [test for test in rest if mutant_report.function_of(test) != function]
            if result["failures"]:
                break
        return result

    def _run(
        self, number: int, chosen: list[str], usual: dict[str, dict[str, Any]], result: dict[str, Any]
    ) -> str | None:
        """Runs tests for a mutant, and adds to the result; returns the test that hung or ended the process."""
        process = self._pytest(f"mutant-{number}", number, chosen, [])
        log = self.out / "runs" / f"mutant-{number}.log"
        # A test may be the first to need what another test has built in the record.
        slowest: dict[str, float] = {}
        for test in usual.values():
            slowest[_file(test["test"])] = max(test["seconds"], slowest.get(_file(test["test"]), 0.0))
        started: dict[str, Any] | None = None
        while process.poll() is None:
            time.sleep(0.2)
            last = (_lines(log) or [{}])[-1]
            started = last if "start" in last else None
            if started and time.time() - started["at"] > HANGS_SECONDS + 10 * slowest[_file(started["start"])]:
                break
        lines = _lines(log)
        _end(process, number)
        for line in lines:
            if "test" in line:
                result["ran"] += 1
                result["cpu"] += line["cpu"]
                if line["failure"] is not None:
                    result["failures"].append({**line, "cpu_before": round(result["cpu"], 2)})
        if lines and "start" in lines[-1]:
            test = lines[-1]["start"]
            failure = {"test": test, "failure": "hangs or ends the process", "cpu": usual[test]["cpu"]}
            result["failures"].append(
                {**failure, "cpu_before": round(result["cpu"] + time.time() - lines[-1]["at"], 2)}
            )
            return str(test)
        return None

    def rust(self, only: list[int]) -> None:
        """Runs the tests of the crates for each mutant."""
        found: dict[str, list[str]] = _read_json(self.out / "rust.json") if only else {}
        mutants = _read_json(self.out / "mutants.json")
        for mutant in [{"number": 0}, *(mutant for mutant in mutants if not only or mutant["number"] in only)]:
            environment = os.environ | {"XOFF_MUTANT": str(mutant["number"])}
            failed: list[str] = []
            for binary in _read_json(self.out / "binaries.json"):
                command = [binary["binary"], "--test-threads", "2"]
                process = subprocess.Popen(
                    command,
                    cwd=binary["folder"],
                    env=environment,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                )
                try:
                    output = process.communicate(timeout=600)[0]
                except subprocess.TimeoutExpired:
                    process.kill()
                    output = process.communicate()[0]
                    failed.append(f"{Path(binary['binary']).name} hangs")
                name = Path(binary["binary"]).name.rpartition("-")[0]
                failed += [f"{name} {line.split()[1]}" for line in output.splitlines() if line.endswith("... FAILED")]
            found[str(mutant["number"])] = failed
            print(mutant["number"], len(failed), "Rust tests fail:", *failed[:2], flush=True)
            _write_json(self.out / "rust.json", found)


class _Draw:
    """The draw of an area: every file has at most one mutant, so an error of a file is an error of its mutant."""

    def __init__(self, rng: random.Random, paths: tuple[str, ...], texts: dict[str, bytes]) -> None:
        roots = [path.replace("/", "/src/", 1) for path in paths]
        names = [
            name
            for name in sorted(texts)
            for root in roots
            if name.endswith(".rs") and not name.endswith("tests.rs") and f"{name}/".startswith(f"crates/{root}/")
        ]
        found = {name: places(name, texts[name].decode()) for name in names}
        self.wrong: set[str] = set()
        self._order: dict[str, list[Place]] = {}
        for kind in KINDS:
            of_files = [rng.sample(found[name][kind], len(found[name][kind])) for name in names if found[name][kind]]
            rng.shuffle(of_files)
            # The first place of each file, then the second of each.
            rounds = range(max((len(of_file) for of_file in of_files), default=0))
            self._order[kind] = [of_file[turn] for turn in rounds for of_file in of_files if turn < len(of_file)]

    def mutants(self, area: str) -> Iterator[dict[str, Any]]:
        """Yields the mutants of the area, without the places that do not compile."""
        used: set[str] = set()
        # Kinds with few places choose first.
        chosen: dict[str, list[Place]] = {}
        for kind in sorted(KINDS, key=lambda kind: len(self._order[kind])):
            free = (p for p in self._order[kind] if f"{p.file}:{p.line}" not in self.wrong)
            chosen[kind] = []
            for place in free:
                if place.file not in used and len(chosen[kind]) < OF_A_KIND:
                    chosen[kind].append(place)
                    used.add(place.file)
        for kind in KINDS:
            for place in chosen[kind]:
                yield {"area": area, "kind": kind, **asdict(place)}


def _order(tests: list[dict[str, Any]]) -> list[str]:
    """Orders tests by cost; of each function six cases come before the rest."""
    turns: dict[str, int] = {}
    keyed = []
    for test in sorted(tests, key=lambda test: (test["cpu"], test["test"])):
        function = mutant_report.function_of(test["test"])
        turns[function] = turns.get(function, 0) + 1
        keyed.append((turns[function] > 6, test["cpu"], test["test"]))
    return [name for _, _, name in sorted(keyed)]


def _file(test: str) -> str:
    return test.partition("::")[0]


def _end(process: subprocess.Popen[bytes], number: int) -> None:
    """Ends a run of pytest, with the processes that it left."""
    mark = f"\0XOFF_MUTANT={number}\0".encode()
    for file in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in b"\0" + file.read_bytes():
                os.kill(int(file.parent.name), signal.SIGKILL)
        except OSError:
            continue
    process.wait()


def _lines(log: Path) -> list[dict[str, Any]]:
    text = log.read_text("utf-8") if log.exists() else ""
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def _write(file: Path, content: bytes) -> None:
    """Writes a file if it changes, so that cargo compiles no unchanged crate."""
    if not file.exists() or file.read_bytes() != content:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def _write_json(file: Path, content: object) -> None:
    _write(file, json.dumps(content, indent=1).encode())


def _read_json(file: Path) -> Any:
    return json.loads(file.read_text("utf-8"))


def main() -> None:
    """Runs the steps that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="*", help="build, record, kill, rust, report; all without a name")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "mutants")
    parser.add_argument("--target", type=Path, help="cargo's folder; in the folder of --out without this option")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--only", type=int, nargs="*", default=[], help="numbers of mutants, for kill and rust")
    given = parser.parse_args()
    mutants = Mutants(given.out.resolve(), given.target, given.seed)
    for step in given.steps or ("build", "record", "kill", "rust", "report"):
        if step in ("kill", "rust"):
            {"kill": mutants.kill, "rust": mutants.rust}[step](given.only)
        elif step == "report":
            mutant_report.write(mutants.out)
        else:
            {"build": mutants.build, "record": mutants.record}[step]()


if __name__ == "__main__":
    main()
