"""The compiled simulator. JSON texts cross the border, and tables as Arrow C streams."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

class ArrowStream(Protocol):
    """Anything that hands its rows over as an Arrow C stream: PyArrow, polars, pandas and DuckDB tables do."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class InputError(ValueError):
    """Bad input: the one complete message names the key, its value, and what is allowed."""

    errors: list[dict[str, Any]]
    """All problems of a scenario: `path`, `message`, and `change` if one change of the scenario removes the problem:
    its `key`, and its new `value`, where null removes the key."""

class PluginError(RuntimeError):
    """A plug-in panicked. The message names the plug-in, the function and the place."""

class CallError(RuntimeError):
    """A congestion control in Python failed: the number of the class, the method and the reason are the arguments."""

class Output:
    """What one run left behind."""

    summary: str
    was_stopped: bool
    tables: list[str]
    def table(self, name: str) -> ArrowStream: ...

def version() -> str: ...
def schema() -> str: ...
def groups() -> str: ...
def listeners() -> str: ...
def pause_quanta() -> list[tuple[int, int]]: ...
def tables() -> str: ...
def measures() -> str: ...
def plugins() -> str: ...
def resolve(
    text: str, format: Literal["toml", "json"], overrides: Sequence[tuple[str, str]]
) -> tuple[str, list[tuple[str, str]]]: ...
def run(
    resolved: str,
    tables: Mapping[str, Any],
    threads: int,
    progress: Callable[[str], object] | None = None,
    sink: Callable[[str | None, ArrowStream | None], None] | None = None,
    poll: Callable[[], None] | None = None,
    window_ps: int | None = None,
    partitions: int | None = None,
    clusters: bool = True,
    fast_forward: bool = True,
    rows: bool = True,
    python: tuple[str, float] | None = None,
    fold: bool = True,
) -> Output: ...
def check(resolved: str, tables: Mapping[str, Any]) -> str: ...
def settle(resolved: str, tables: Mapping[str, Any]) -> str: ...
def hosts(resolved: str, tables: Mapping[str, Any]) -> str: ...
def size_pfc(text: str) -> str: ...
def size_sfc(text: str) -> str: ...
