"""Published experiments: finds the files in ``xoff/experiments/``, runs their scenarios, and judges their claims.

An experiment is one file, ``xoff/experiments/<document>/<experiment>.py``, with

- ``CITATION``: what it reproduces, in one sentence;
- ``CLAIMS``: the published claims by id, such as ``{"sfc/5.1": "…"}``, written before the first run;
- ``scenarios(quick) -> dict[str, dict]``: the scenarios to run by name; ``quick`` asks for small variants;
- ``claims(results, quick) -> list[Claim]``: the verdicts, from a `Result` for each of those names;
- ``figure(results, path)``: writes the figure to a path;
- ``PARAMETERS``: what the document gives and where (`given`), and what is chosen and why (`chosen`): a table;
- ``tables(results)``, if it has tables of its own: rows of cells by title, the heads first. A line of ``page.md`` such
  as ``{sfc/buffer: title}`` places one in the introduction; others stand below the figure;
- ``folded(results)``, if it has texts that are shown when they are opened: by title;
- ``DERIVED``, if settings follow from others (`changes.Derived`): what ``--set`` changes, they follow.

``CLAIMS``, ``scenarios`` and ``claims`` are what a `Judged` has: statements, the predicates on them, `Cases` to run,
open choices with which each statement is judged, too, and reasons for what does not hold. A predicate looks at
`Readings`. Each statement has one claim with two judgements: a *direction*, which is a `Decision` over the seeds, and a
*size*, the published numbers beside the measured ones. So much is the model: `decision.py` says what seeds decide,
`verdict.py` what a claim is, `judged.py` how readings, choices and parts make one of a statement.

The folder ``xoff/experiments/sfc_proxy`` is the document ``sfc-proxy``. A file whose ``CLAIMS`` is empty is left out.
Files whose name starts with an underscore hold what experiments of a document share; ``page.md`` introduces the page of
the document, and ``_design.py`` declares the open choices that ``--design`` screens (`design.py`). ``python -m
xoff.reproduce`` records the verdicts of the quick variants, which a test compares.
"""

from __future__ import annotations

from xoff.reproduce.cases import Cases, choice_of, run_name
from xoff.reproduce.decision import (
    ABOUT_THE_SAME,
    Decision,
    about_the_same,
    all_of,
    any_of,
    below,
    fact,
    higher,
    lower,
    lowest,
    never,
    opposite,
    ordered,
    positive,
    some,
    within,
)
from xoff.reproduce.design import Design, Factor
from xoff.reproduce.evaluation import Request, evaluate, record
from xoff.reproduce.finding import Experiment, directory, experiments, select
from xoff.reproduce.judged import Judged
from xoff.reproduce.parameters import Parameter, chosen, given
from xoff.reproduce.readings import Readings, Spread, as_results
from xoff.reproduce.runs import RunFailed
from xoff.reproduce.verdict import Claim, Part, Range, SetUp, whole

__all__ = [
    "ABOUT_THE_SAME",
    "Cases",
    "Claim",
    "Decision",
    "Design",
    "Experiment",
    "Factor",
    "Judged",
    "Parameter",
    "Part",
    "Range",
    "Readings",
    "Request",
    "RunFailed",
    "SetUp",
    "Spread",
    "about_the_same",
    "all_of",
    "any_of",
    "as_results",
    "below",
    "choice_of",
    "chosen",
    "directory",
    "evaluate",
    "experiments",
    "fact",
    "given",
    "higher",
    "lower",
    "lowest",
    "never",
    "opposite",
    "ordered",
    "positive",
    "record",
    "run_name",
    "select",
    "some",
    "whole",
    "within",
]
