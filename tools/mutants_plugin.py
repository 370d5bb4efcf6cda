"""Pytest plug-in of tools/mutants.py: writes a line for each test, with costs, outcome and the mutants it reaches.

``XOFF_MUTANTS_PLAN`` is a JSON file: ``log`` (where lines go), ``tests`` (which run, in this order; null for all) and
``most`` (functions of tests that may fail before the run ends; 0 for any number). The first failure of a function skips
its other cases.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from mutant_report import function_of

_PLAN = json.loads(Path(os.environ["XOFF_MUTANTS_PLAN"]).read_text("utf-8"))
# Processes of a test append what they reach; workers of pytest have a file each.
_REACHED = Path(tempfile.gettempdir(), f"xoff-mutants-{os.getpid()}")


def pytest_configure(config: pytest.Config) -> None:
    """Registers the plug-in where tests run."""
    os.environ["XOFF_MUTANTS_REACHED"] = str(_REACHED)
    config.pluginmanager.register(_Recorder(), "recorder")


def pytest_unconfigure() -> None:
    """Removes the file of this process."""
    _REACHED.unlink(missing_ok=True)


def _cpu() -> float:
    """CPU seconds of this process and of its processes that ended."""
    return sum(
        used.ru_utime + used.ru_stime
        for used in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )


def _take() -> set[int]:
    """Returns the mutants reached since the last call."""
    core = sys.modules.get("xoff._core")
    bits = getattr(core, "mutants_reached", int)()
    text = _REACHED.read_text("utf-8") if _REACHED.exists() else ""
    _REACHED.unlink(missing_ok=True)
    return {number for number in range(64) if bits >> number & 1} | set(map(int, text.split()))


class _Recorder:
    def __init__(self) -> None:
        self._log = Path(f"{_PLAN['log']}{os.environ.get('PYTEST_XDIST_WORKER', '')}")
        self._reached: set[int] = set()
        self._of_fixtures: dict[str, set[int]] = {}
        self._message: str | None = None
        self._failed: set[str] = set()

    def _write(self, line: dict[str, Any]) -> None:
        with self._log.open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if _PLAN["tests"] is not None:
            place = {test: place for place, test in enumerate(_PLAN["tests"])}
            items[:] = sorted((item for item in items if item.nodeid in place), key=lambda item: place[item.nodeid])

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, bool, bool]:
        function = function_of(item.nodeid)
        if _PLAN["most"] and function in self._failed:
            item.add_marker(pytest.mark.skip("another case of the function failed"))
        _take()
        self._reached, self._message = set(), None
        self._write({"start": item.nodeid, "at": time.time()})
        start, cpu = time.perf_counter(), _cpu()
        done = yield
        spent = {"seconds": round(time.perf_counter() - start, 3), "cpu": round(_cpu() - cpu, 3)}
        reached = self._reached | _take()
        # What a fixture of several tests reached is reached by each of these tests.
        for name in getattr(item, "fixturenames", ()):
            reached |= self._of_fixtures.get(name, set())
        self._write({"test": item.nodeid, "failure": self._message, **spent, "reached": sorted(reached)})
        if self._message is not None:
            self._failed.add(function)
            if _PLAN["most"] and len(self._failed) >= _PLAN["most"]:
                item.session.shouldstop = "enough tests failed"
        return done

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, object, object]:
        self._reached |= _take()
        done = yield
        reached = _take()
        self._reached |= reached
        if fixturedef.scope != "function":
            self._of_fixtures.setdefault(fixturedef.argname, set()).update(reached)
        return done

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and self._message is None:
            crash = getattr(report.longrepr, "reprcrash", None)
            self._message = str(getattr(crash, "message", report.longrepr)).strip()[:300]
