"""Simulates, packet by packet, flow control and congestion management in data-centre networks.

    import xoff

    result = xoff.run("scenario.toml")
    result.flows              # an Arrow table: one row for each flow
    result.plot.fct_cdf()     # a Matplotlib figure

    study = xoff.sweep("study.toml", out="study")
    study.runs                # one row for each run, with its parameters as columns

Numbers carry their unit last (``fct_ps`` is in picoseconds, ``max_bytes`` in bytes).
"""

from xoff._core import InputError
from xoff.results import AuditError, Result, load
from xoff.running import Progress, check, resolve, run
from xoff.scenario import Scenario
from xoff.study import Study, sweep
from xoff.summary import Summary
from xoff.version import __version__

__all__ = [
    "AuditError",
    "InputError",
    "Progress",
    "Result",
    "Scenario",
    "Study",
    "Summary",
    "__version__",
    "check",
    "load",
    "resolve",
    "run",
    "sweep",
]
