"""Published experiments: finds installed experiments, runs their scenarios, and judges their claims.

The experiments are in packages of their own, because the simulator does not need them. ``xoff[experiments]`` installs
those of xoff. A package names itself by an entry point in the group ``xoff.experiments``:

    [project.entry-points."xoff.experiments"]
    my-experiments = "my_experiments"

A folder in the package is a document, and a file in this folder is an experiment:
``my_experiments/<document>/<experiment>.py``. ``DOCUMENTS`` in the package's ``__init__.py`` is optional, and gives the
order of the documents in lists. An experiment defines:

- ``CITATION``: the reproduced publication, in one sentence;
- ``CLAIMS``: the published claims by id, such as ``{"sfc/5.1": "…"}``, written before the first run;
- ``scenarios(quick) -> dict[str, dict]``: the scenarios to run by name; ``quick`` selects small variants;
- ``claims(results, quick) -> list[Claim]``: the verdicts, from a `Result` for each name;
- ``figure(results, path)``: writes the figure to a path;
- ``PARAMETERS``, optional: a table of values with their place in the document (`given`) or a reason (`chosen`);
- ``tables(results)``, optional: tables of the experiment by title: rows of cells, the heads first. A line of
  ``page.md`` such as ``{sfc/buffer: title}`` places a table in the introduction; further tables follow the figure, each
  below its title;
- ``folded(results)``, optional: texts by title that the page shows when opened;
- ``FIGURES``, optional: by statement, the ending of the name of a further figure that explains it;
- ``DERIVED``, optional: settings that follow changes of ``--set`` (`changes.Derived`).

``CLAIMS``, ``scenarios`` and ``claims`` are usually those of a `Judged`: statements, predicates on `Readings`, `Cases`
to run, open choices with which each statement is also judged, and reasons for failing statements. A statement
has one claim with two judgements: a *direction*, a `Decision` over the seeds, and a *size*, published beside measured
numbers (`verdict.py`).

The folder ``sfc_proxy`` is the document ``sfc-proxy``. A file with empty ``CLAIMS`` is left out. Files
whose name begins with an underscore are shared by the experiments of a document; ``page.md`` is the introduction of its
page; ``_design.py`` declares the open choices that ``--design`` screens (`design.py`). ``python -m xoff.reproduce``
records the verdicts of the quick variants for comparison by a test.
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
from xoff.reproduce.finding import Document, Experiment, documents, experiments, select
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
    "Document",
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
    "documents",
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
