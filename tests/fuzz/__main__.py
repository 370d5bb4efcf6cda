"""Fuzzing: ``python -m tests.fuzz`` draws cases of all kinds until its minutes are over, and keeps those that fail.

    make fuzz MINUTES=10 SEED=1
    python -m tests.fuzz --seed 1 --cases documents=1000 --cases mixed=50
    python -m tests.fuzz --repeat out/fuzz/seed-1/documents-0a1b2c3d

A case follows from the seed, the fuzzer and a number alone. Cases are done by another process, which is started again
when one ends it. Exit code 1 if something was found.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

from tests.fuzz import FUZZERS, judging
from tests.fuzz.case import Case, load, save
from tests.fuzz.minimising import minimised

_ROOT = Path(__file__).resolve().parents[2]
# Cases of a fuzzer per turn.
_BATCH = {"mixed": 10, "directories": 100}
_DEFAULT_BATCH = 1000
_ATTEMPTS_AFTER_DEATH = 40
# Many times the processor time of a case.
_PATIENCE_SECONDS = 3600.0


def drawn(fuzzer: str, seed: int, number: int) -> Case:
    """The case of a fuzzer with this number."""
    return FUZZERS[fuzzer](Random(f"{seed}/{fuzzer}/{number}"))


def kind_of(finding: str) -> str:
    """Returns the common part of findings with the same fault: the step, and the beginning of the sentence."""
    step, _, text = finding.partition(": ")
    return re.sub(r"[0-9a-f]{6,}|\d+|/\S+", "#", f"{step.split()[0]} {text}")[:70] if finding else ""


def examine(fuzzer: str, seed: int, number: int, out: Path, place: Path) -> str:
    """Runs a case and returns its finding. The first case of a kind is saved, minimised."""
    judging.bound()
    case = drawn(fuzzer, seed, number)
    finding = judging.finding(case, place)
    if not finding:
        return ""
    kind = kind_of(finding)

    def is_same(smaller: Case) -> bool:
        judging.bound()
        return kind_of(judging.finding(smaller, place)) == kind

    if not (kept := _kept(fuzzer, kind, out)).exists():
        save(minimised(case, is_same), f"{fuzzer} {number}, seed {seed}: {finding}", kept)
    return _told(fuzzer, number, finding, kept)


def _kept(fuzzer: str, kind: str, out: Path) -> Path:
    """Returns the directory for a case of a kind."""
    return out / f"{fuzzer}-{hashlib.sha256(kind.encode('utf-8', 'replace')).hexdigest()[:8]}"


def _told(fuzzer: str, number: int, finding: str, kept: Path) -> str:
    text = finding.encode("ascii", "backslashreplace").decode()
    return f"{fuzzer} {number}: {text}\n  repeat: {Path(sys.executable)} -m tests.fuzz --repeat {kept}"


def _worker(fuzzer: str, seed: int, first: int, last: int, out: Path) -> None:
    """Runs cases, and prints the number of the next case and findings to standard output, as lines of JSON."""
    with tempfile.TemporaryDirectory() as work:
        for number in range(first, last):
            print(json.dumps({"number": number}), flush=True)
            if text := examine(fuzzer, seed, number, out, Path(work) / "case"):
                print(json.dumps({"found": text}), flush=True)
        print(json.dumps({"number": last}), flush=True)


def batch(fuzzer: str, seed: int, first: int, last: int, out: Path) -> list[str]:
    """Runs cases in another process. A case that ends the process is a finding, too."""
    found = []
    while first < last:
        words = [sys.executable, "-W", "ignore", "-m", "tests.fuzz", "--worker", fuzzer, str(first), str(last)]
        words += ["--seed", str(seed), "--out", str(out)]
        with subprocess.Popen(words, cwd=_ROOT, stdout=subprocess.PIPE, text=True, env=_environment()) as process:
            watch = _watched(process)
            for line in process.stdout or ():
                watch.cancel()
                said = json.loads(line)
                first = said.get("number", first)
                found += [said["found"]] if "found" in said else []
                watch = _watched(process)
            watch.cancel()
        code = process.returncode
        if first < last:
            found.append(_died(fuzzer, seed, first, code, out))
            first += 1
    return found


def _watched(process: subprocess.Popen[str]) -> threading.Timer:
    """Ends a process without output for a long time: a sleeping process uses no processor time."""
    timer = threading.Timer(_PATIENCE_SECONDS, process.kill)
    timer.daemon = True
    timer.start()
    return timer


def _environment() -> dict[str, str]:
    """Returns the environment of a worker: the same paths in any directory."""
    paths = [str(_ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths), "RUST_BACKTRACE": "0"}


def _died(fuzzer: str, seed: int, number: int, code: int, out: Path) -> str:
    """Saves a case that ended its process, minimised."""
    why = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    # A killed process was asleep; a repeated run may or may not sleep.
    is_quick = why not in {"SIGXCPU", "SIGKILL"}
    reasons = {
        "SIGXCPU": f": more than {judging.CPU_SECONDS} seconds of the processor",
        "SIGKILL": ": it slept, or took all of the memory",
    }
    finding = f"case: the process ended with {why}{reasons.get(why, '')}"
    if (kept := _kept(fuzzer, finding, out)).exists():
        return _told(fuzzer, number, finding, kept)
    case = drawn(fuzzer, seed, number)
    with tempfile.TemporaryDirectory() as work:

        def is_same(smaller: Case) -> bool:
            save(smaller, finding, Path(work))
            words = [sys.executable, "-W", "ignore", "-m", "tests.fuzz", "--repeat", work]
            done = subprocess.run(words, cwd=_ROOT, capture_output=True, check=False, env=_environment())
            return done.returncode == code

        # A case that takes minutes each time is saved unchanged.
        case = minimised(case, is_same, _ATTEMPTS_AFTER_DEATH) if is_quick else case
    save(case, f"{fuzzer} {number}, seed {seed}: {finding}", kept)
    return _told(fuzzer, number, finding, kept)


def _repeat(place: Path) -> int:
    judging.bound()
    with tempfile.TemporaryDirectory() as work:
        finding = judging.finding(load(place), Path(work) / "case")
    print(finding.encode("ascii", "backslashreplace").decode() or "nothing is wrong with this case")
    return 1 if finding else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz as the arguments say; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="after this long no batch is begun (default: 10)")
    parser.add_argument("--seed", type=int, help="from which all cases follow (default: drawn, and printed)")
    parser.add_argument(
        "--cases",
        action="append",
        default=[],
        metavar="NAME=N",
        help=f"so many of a fuzzer ({', '.join(FUZZERS)}), no others",
    )
    parser.add_argument("--out", type=Path, default=_ROOT / "out" / "fuzz", help="where failing cases are kept")
    parser.add_argument("--repeat", type=Path, metavar="DIR", help="does a case again that was kept")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.repeat is not None:
        return _repeat(given.repeat)
    seed = secrets.randbelow(2**31) if given.seed is None else given.seed
    if given.worker is not None:
        fuzzer, first, last = given.worker
        _worker(fuzzer, seed, int(first), int(last), given.out)
        return 0
    wanted = {name: int(number) for name, _, number in (one.partition("=") for one in given.cases)}
    if unknown := set(wanted) - set(FUZZERS):
        parser.error(f"--cases: {', '.join(sorted(unknown))}: there are {', '.join(FUZZERS)}")
    print(f"seed {seed}", flush=True)
    return _fuzz(seed, wanted, given.minutes, given.out.resolve() / f"seed-{seed}")


def _fuzz(seed: int, wanted: dict[str, int], minutes: float, out: Path) -> int:
    """Runs batches of all fuzzers in turn until the time is over, or all wanted cases are done."""
    end = time.monotonic() + 60 * minutes
    done = dict.fromkeys(wanted or FUZZERS, 0)
    found = 0
    while time.monotonic() < end:
        left = [name for name in done if not wanted or done[name] < wanted[name]]
        if not left:
            break
        for name in left:
            size = _BATCH.get(name, _DEFAULT_BATCH)
            last = min(done[name] + size, wanted.get(name, done[name] + size))
            texts = batch(name, seed, done[name], last, out)
            found += len(texts)
            done[name] = last
            print("".join(f"{text}\n" for text in texts) + f"{name}: {last:,} cases", flush=True)
            if time.monotonic() >= end:
                break
    counts = ", ".join(f"{number:,} {name}" for name, number in done.items())
    print(f"seed {seed}: {counts}; {found} failing" + (f", kept in {out}" if found else ""))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
