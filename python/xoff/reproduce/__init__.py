"""Published experiments: finds the files in ``experiments/``, runs their scenarios, and judges their claims.

An experiment is one file, ``experiments/<document>/<experiment>.py``, with

- ``CITATION``: what it reproduces, in one sentence;
- ``CLAIMS``: the published claims by id, such as ``{"sfc/5.1": "…"}``, written before the first run;
- ``scenarios(quick) -> dict[str, dict]``: the scenarios to run by name; ``quick`` asks for small variants;
- ``claims(results) -> list[Claim]``: the verdicts, from a `Result` for each of those names;
- ``figure(results, path)``: writes the figure to a path.

The folder ``experiments/sfc_proxy`` is the document ``sfc-proxy``. A file whose ``CLAIMS`` is empty is left out.
Files whose name starts with an underscore hold what experiments of a document share; ``page.md`` introduces the page of
the document. ``python -m xoff.reproduce`` records the verdicts of the quick variants, which a test compares.
"""

from __future__ import annotations

from xoff.reproduce.evaluation import Request, evaluate, record
from xoff.reproduce.finding import Experiment, directory, experiments, select
from xoff.reproduce.readings import Claim, Readings, Statements
from xoff.reproduce.runs import RunFailed

__all__ = [
    "Claim",
    "Experiment",
    "Readings",
    "Request",
    "RunFailed",
    "Statements",
    "directory",
    "evaluate",
    "experiments",
    "record",
    "select",
]
