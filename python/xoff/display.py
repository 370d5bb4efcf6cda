"""The terminal output of the commands: progress bars on standard error, tables on standard output."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, ProgressColumn, Task, TaskID, TaskProgressColumn, TextColumn
from rich.progress import Progress as Bars
from rich.segment import Segment
from rich.table import Column, Table
from rich.text import Text

from xoff import formatting
from xoff.running import Progress

if TYPE_CHECKING:
    from xoff.study import Advance


class _Harmless(Console):
    """A console that replaces control characters in text, which may be foreign, and keeps the controls of Rich."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=formatting.shown(segment.text))


# Text to a file or a pipe is not cut to the width of a terminal.
out = _Harmless(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 160)
err = _Harmless(stderr=True, highlight=False, soft_wrap=True)

# A shorter run shows no bar, which would only flicker.
_PATIENCE_SECONDS = 1.0
LOG_SECONDS = 30.0
"""Interval in which a run or study reports its progress to a log."""
# An estimate of the time left needs this share of the run.
_LEAST_SHARE = 0.01


class _Remaining(ProgressColumn):
    """The estimated time left, from the mean speed so far; empty until 1 % of the run is done."""

    def render(self, task: Task) -> Text:
        elapsed, done = task.fields["elapsed_seconds"], task.completed
        if task.finished or not task.total or done < _LEAST_SHARE * task.total:
            return Text("")
        left = elapsed * (task.total - done) / done
        minutes, seconds = divmod(round(left), 60)
        return Text(f"about {minutes}:{seconds:02d} left", style="cyan")


class _Log:
    """A log on standard error, which takes a line every `LOG_SECONDS`."""

    def __init__(self) -> None:
        self._told = time.monotonic()

    def tell(self, line: Callable[[], str]) -> None:
        """Prints a line, unless the last line is too recent."""
        if time.monotonic() - self._told >= LOG_SECONDS:
            self._told = time.monotonic()
            print(f"xoff: {line()}", file=sys.stderr, flush=True)


class RunBars:
    """Progress bars of one or more runs. Call `report` as the ``progress`` callback of each.

    keep: leave the bar of each run on the terminal, from the start, instead of showing a bar only while runs last.
    """

    def __init__(self, *, keep: bool = False) -> None:
        self._bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(bar_width=28),
            TaskProgressColumn(),
            TextColumn("{task.fields[detail]}", table_column=Column(no_wrap=True, overflow="ellipsis")),
            _Remaining(table_column=Column(no_wrap=True, min_width=16)),
            console=err,
            transient=not keep,
        )
        self._keep = keep
        self._started = time.monotonic()
        self._run_started = self._started
        self._log = _Log()
        self._shown = False
        self._task: TaskID | None = None
        # Building a large network takes seconds, in which the run reports nothing.
        self._silent = threading.Timer(_PATIENCE_SECONDS, self._show)
        self._silent.daemon = True

    def __enter__(self) -> Self:
        self._silent.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._silent.cancel()
        self._silent.join()
        if self._shown:
            self._bars.stop()

    def begin(self, description: str) -> None:
        """Starts the bar of another run."""
        self._run_started = time.monotonic()
        fields: dict[str, Any] = {"detail": "building the network", "elapsed_seconds": 0.0}
        if self._task is None or self._keep:
            self._task = self._bars.add_task(description, total=None, **fields)
        else:
            self._bars.reset(self._task, total=None, description=description, **fields)
        self._show()

    def report(self, progress: Progress) -> None:
        """Moves the bar to the share of the run that is done; in a pipe prints a line every `LOG_SECONDS`."""
        if not err.is_terminal:
            self._log.tell(lambda: self._line(progress))
            return
        counts = {
            "flows": (progress.flows_completed, progress.flows_total),
            "operations": (progress.operations_completed, progress.operations_total),
        }
        words = [f"{done:,}/{total:,} {what}" for what, (done, total) in counts.items() if total]
        self._update(progress.share, 1.0, ", ".join([*words, f"{formatting.time(progress.simulated_ps)} simulated"]))

    def _line(self, progress: Progress) -> str:
        elapsed, share = time.monotonic() - self._run_started, progress.share
        rest = f", about {_clock(elapsed * (1 - share) / share)} left" if share >= _LEAST_SHARE else ""
        return f"{share:.1%} after {_clock(elapsed)}{rest}; {formatting.time(progress.simulated_ps)} simulated"

    def end(self, detail: str) -> None:
        """Fills the bar of the run that has ended."""
        self._update(1, 1, detail)

    def _update(self, completed: float, total: float, detail: str) -> None:
        self._show()
        if self._shown and self._task is not None:
            elapsed = time.monotonic() - self._run_started
            self._bars.update(
                self._task, completed=completed, total=total or None, detail=detail, elapsed_seconds=elapsed
            )

    def _show(self) -> None:
        patient = self._keep or time.monotonic() - self._started >= _PATIENCE_SECONDS
        if err.is_terminal and patient and not self._shown:
            self._bars.start()
            self._shown = True


class _CountBar:
    """A bar that counts runs, and ends with its ``with`` block."""

    def __init__(self, description: str, last: ProgressColumn, what: str = "runs") -> None:
        counts = TextColumn(f"{{task.completed:.0f}}/{{task.total:.0f}} {what}")
        columns = (TextColumn(description), BarColumn(bar_width=28), counts, last)
        self._bars = Bars(*columns, console=err, transient=True)
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._bars.stop()


class PlanBar(_CountBar):
    """The progress bar of a study that is planned or examined. Call `report` as its ``progress`` callback."""

    def __init__(self, doing: str = "Planning", what: str = "runs") -> None:
        super().__init__(doing, _Remaining(table_column=Column(no_wrap=True, min_width=16)), what)
        self._started = time.monotonic()
        self._what = what
        self._log = _Log()

    def report(self, done: int, total: int) -> None:
        """Moves the bar to the share of planned runs; in a pipe prints a line every `LOG_SECONDS`."""
        elapsed = time.monotonic() - self._started
        if not err.is_terminal:
            rest = elapsed / max(done, 1) * (total - done)
            self._log.tell(lambda: f"{done:,} of {total:,} {self._what}, {left((rest, rest))}")
            return
        if elapsed < _PATIENCE_SECONDS:
            return
        if self._task is None:
            self._task = self._bars.add_task("", total=total, elapsed_seconds=elapsed)
            self._bars.start()
        self._bars.update(self._task, completed=done, elapsed_seconds=elapsed)


class StudyBar(_CountBar):
    """The progress bar of a study. Call `report` as its ``progress`` callback."""

    def __init__(self) -> None:
        column = Column(no_wrap=True, min_width=20)
        super().__init__("{task.description}", TextColumn("{task.fields[left]}", style="cyan", table_column=column))
        self._title = ""
        self._log = _Log()

    def begin(self, title: str) -> None:
        """Sets the title of the runs that follow."""
        self._title = title

    def report_of(self, title: str, advance: Advance) -> None:
        """Sets the title and reports the progress of its runs."""
        self._title = title
        self.report(advance)

    def report(self, advance: Advance) -> None:
        """Moves the bar to the share of complete runs, and shows the time left."""
        if not err.is_terminal:
            self._log.tell(lambda: self._line(advance))
            return
        if self._task is None:
            self._task = self._bars.add_task("", total=advance.total, left="")
            self._bars.start()
        self._bars.update(
            self._task,
            description=self._title,
            total=advance.total,
            completed=advance.complete,
            left=left(advance.left_seconds),
        )

    @staticmethod
    def _line(advance: Advance) -> str:
        rest = f", {left(advance.left_seconds)}" if advance.left_seconds is not None else ""
        return f"{advance.complete:,} of {advance.total:,} runs{rest}"


def left(seconds: tuple[float, float] | None) -> str:
    """Returns the time left in words: ``about 3:10 left``, or a range if the estimate is uncertain."""
    if seconds is None:
        return ""
    low, high = seconds
    if high - low <= max(0.2 * high, 2):
        return f"about {_clock((low + high) / 2)} left"
    return f"{_clock(low)} to {_clock(high)} left"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


@contextmanager
def run_bar(description: str) -> Iterator[RunBars]:
    """Yields the progress bar of one run."""
    with RunBars() as bars:
        bars.begin(description)
        yield bars


def table(*columns: str, title: str | None = None, right: tuple[int, ...] = ()) -> Table:
    """Returns an empty table in the style of all commands; the columns of `right` hold numbers."""
    made = Table(title=title, title_justify="left", title_style="bold", header_style="bold", box=None, pad_edge=False)
    for index, column in enumerate(columns):
        made.add_column(column, justify="right" if index in right else "left", no_wrap=index == 0)
    return made
