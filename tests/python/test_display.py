"""The bars on a terminal: their text during work, and no trace of the bars on a pipe."""

from __future__ import annotations

import io
import re
import time

import pytest
from rich.console import Console

from patience import wait_until
from xoff import display
from xoff.running import Progress
from xoff.study import Advance


class Terminal:
    """Text written to a terminal."""

    def __init__(self) -> None:
        self._file = io.StringIO()
        self.console = Console(file=self._file, force_terminal=True, width=120, highlight=False)

    @property
    def text(self) -> str:
        """Returns the text without colours and cursor movements."""
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self._file.getvalue())


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    made = Terminal()
    monkeypatch.setattr(display, "err", made.console)
    monkeypatch.setattr(display, "_PATIENCE_SECONDS", 0.0)
    return made


def _progress(share: float) -> Progress:
    return Progress(2_000_000, 3, 12, 100, 400, 5, 20, 70, 30.0, 60.0, share)


def test_a_run_that_says_nothing_yet_has_a_bar(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display, "_PATIENCE_SECONDS", 0.05)
    with display.run_bar("fat tree") as bar:
        wait_until(lambda: "building the network" in terminal.text)
        bar.report(_progress(0.5))
    assert "fat tree" in terminal.text


def test_a_run_says_how_far_it_is(terminal: Terminal) -> None:
    with display.run_bar("incast") as bar:
        bar.report(_progress(0.25))
    assert "25%" in terminal.text
    assert "3/12 flows, 5/20 operations, 2.000 µs simulated" in terminal.text
    assert re.search(r"about \d+:\d\d left", terminal.text)


def test_a_short_run_shows_nothing(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display, "_PATIENCE_SECONDS", 600)
    with display.run_bar("incast") as bar:
        bar.report(_progress(0.5))
    assert terminal.text == ""


def test_planning_says_how_far_it_is_when_it_lasts(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display, "_PATIENCE_SECONDS", 600)
    with display.PlanBar() as bar:
        bar.report(0, 20_000)
        assert terminal.text == ""
        monkeypatch.setattr(display, "_PATIENCE_SECONDS", 0.0)
        bar.report(5_000, 20_000)
    assert "Planning" in terminal.text
    assert "5000/20000 runs" in terminal.text


def test_a_study_says_how_far_it_is(terminal: Terminal) -> None:
    with display.StudyBar() as bar:
        bar.begin("pauses")
        bar.report(Advance(40, 10, (90.0, 200.0)))
    assert "pauses" in terminal.text
    assert "10/40 runs" in terminal.text
    assert "1:30 to 3:20 left" in terminal.text


def test_a_pipe_gets_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.StringIO()
    monkeypatch.setattr(display, "err", Console(file=pipe, force_terminal=False))
    monkeypatch.setattr(display, "_PATIENCE_SECONDS", 0.0)
    with display.run_bar("incast") as bar, display.StudyBar() as study, display.PlanBar() as planning:
        bar.report(_progress(0.5))
        study.report(Advance(40, 10, None))
        planning.report(5_000, 20_000)
        time.sleep(0.05)
    assert pipe.getvalue() == ""


def test_a_run_in_a_pipe_says_every_half_minute_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [100.0]
    monkeypatch.setattr("xoff.display.time.monotonic", lambda: now[0])
    with display.run_bar("fat tree") as bar:
        for at, share in [(110.0, 0.1), (131.0, 0.25), (150.0, 0.4), (165.0, 0.5), (200.0, 0.004)]:
            now[0] = at
            bar.report(_progress(share))
    assert capsys.readouterr().err.splitlines() == [
        "xoff: 25.0% after 0:31, about 1:33 left; 2.000 µs simulated",
        "xoff: 50.0% after 1:05, about 1:05 left; 2.000 µs simulated",
        "xoff: 0.4% after 1:40; 2.000 µs simulated",
    ]
