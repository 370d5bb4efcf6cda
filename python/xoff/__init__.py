"""Simulates, packet by packet, flow control and congestion management in data-centre networks.

    import xoff

    result = xoff.run("scenario.toml")
    result.flows              # an Arrow table: one row for each flow
    result.plot.fct_cdf()     # a Matplotlib figure

    study = xoff.sweep("study.toml", out="study")
    study.runs                # one row for each run, with its parameters as columns

Numbers carry their unit last (``fct_ps`` is in picoseconds, ``max_bytes`` in bytes).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from xoff import own_core

if TYPE_CHECKING:
    from xoff._core import InputError
    from xoff.functions import Hosts
    from xoff.nccl import nccl_tests
    from xoff.results import AuditError, Result, load
    from xoff.running import Progress, check, resolve, run
    from xoff.scenario import Scenario
    from xoff.study import Study, sweep
    from xoff.study.tune import Tuning, tune
    from xoff.summary import Summary
    from xoff.version import __version__

# The module of each name. A name is imported at its first use: the command answers, and can be interrupted, before the
# modules of a run are loaded.
_FROM = {
    "AuditError": "xoff.results",
    "Hosts": "xoff.functions",
    "InputError": "xoff._core",
    "Progress": "xoff.running",
    "Result": "xoff.results",
    "Scenario": "xoff.scenario",
    "Study": "xoff.study",
    "Summary": "xoff.summary",
    "Tuning": "xoff.study.tune",
    "__version__": "xoff.version",
    "check": "xoff.running",
    "load": "xoff.results",
    "nccl_tests": "xoff.nccl",
    "resolve": "xoff.running",
    "run": "xoff.running",
    "sweep": "xoff.study",
    "tune": "xoff.study.tune",
}

__all__ = [
    "AuditError",
    "Hosts",
    "InputError",
    "Progress",
    "Result",
    "Scenario",
    "Study",
    "Summary",
    "Tuning",
    "__version__",
    "check",
    "load",
    "nccl_tests",
    "resolve",
    "run",
    "sweep",
    "tune",
]


own_core.use()


def __getattr__(name: str) -> Any:
    if name not in _FROM:
        raise AttributeError(f"module 'xoff' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_FROM[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
