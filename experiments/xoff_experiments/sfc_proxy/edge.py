"""The edge: where PFC pauses, how long hosts are paused, and what isolation keeps at the source ToRs.

Source: "Improvements on SFC Proxy Mode", contribution to IEEE P802.1Qdw, slides "Analysis of Proxy Mode Performance"
and "Proposal Inspired by CI (on STOR)". Traffic and configuration: see `_traffic.py`.

- "Pushes PFC to the edge": with the proxy PFC pauses hosts, and switches at most a hundredth as often as without.
- "It will not need large buffer": all congestion queues of a source ToR together hold less than a ninth of the 32 MB at
  each moment (3.6 MB, sampled every 10 µs), and PFC pauses no host. The document gives no size. A ninth is the share
  that a dynamic threshold with HPCC's alpha of 1/8 leaves to a single busy port. The page also says for which of other
  shares, 5 to 75 %, the statement would hold. The queues grow while incasts arrive, so the short runs of open choices
  decide nothing: the page shows the share of each choice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from statistics import fmean

from matplotlib import rc_context

from xoff.plots import STYLE, Canvas, grouped_bars, write
from xoff.reproduce import Part, RunFailed, Spread, all_of, choice_of, given, lower, never, some
from xoff.results import Result
from xoff_experiments.sfc_proxy._parameters import PARAMETERS as _SHARED
from xoff_experiments.sfc_proxy._runs import TABLES, Run, Runs, judged
from xoff_experiments.sfc_proxy._traffic import MECHANISMS, MODELS

CITATION = "Improvements on SFC Proxy Mode, IEEE P802.1Qdw, Analysis of Proxy Mode Performance"

_MECHANISMS = ("dcqcn", "proxy", "isolation")
_BUFFER_BYTES = 32e6
_LARGE = 1 / 9
"""Share of the buffer from which congestion queues need a large buffer."""
_OTHER_SIZES = (0.05, 0.25, 0.5, 0.75)
"""Other shares, for the sensitivity of the judgement."""
_SHORT = "congestion queues grow while incasts arrive, and arrivals for 0.25 ms are too short"
_HARDLY = 0.01
"""Share of the pauses of switches without the proxy. Remaining pauses are at the edge."""


def judge(runs: Runs) -> dict[str, Part]:
    """Judges the two statements of the experiment."""
    return {"P.6": spreading(runs), "P.7": memory(runs)}


def spreading(runs: Runs) -> Part:
    """Judges whether the proxy takes PFC's pauses from the switches to the hosts."""
    found = {(model, one): runs.of(model, one) for model in runs.models for one in _MECHANISMS}
    pauses = {
        f"{model}: PFC pauses of switches / of hosts, all seeds": {
            one: " / ".join(str(sum(run.pfc_pauses[kind] for run in found[model, one])) for kind in ("switch", "host"))
            for one in _MECHANISMS
        }
        for model in runs.models
    }
    paused = {
        f"{model}: hosts' time paused (%)": {
            one: Spread.of(100 * run.host_paused_share for run in found[model, one]) for one in _MECHANISMS
        }
        for model in runs.models
    }
    sfcms = {
        f"{model}: SFCMs": {one: Spread.of(run.sfcms for run in found[model, one]) for one in _MECHANISMS[1:]}
        for model in runs.models
    }
    at_switches = {one: _pauses(runs, one, "switch") for one in _MECHANISMS}
    return Part(
        all_of(
            lower(at_switches["proxy"], [_HARDLY * one for one in at_switches["dcqcn"]]),
            some(_pauses(runs, "proxy", "host")),
        ),
        {"PFC pauses of switches, a seed": {one: Spread.of(counts) for one, counts in at_switches.items()}}
        | pauses
        | paused
        | sfcms,
        void="" if any(at_switches["dcqcn"]) else "without the proxy, too, PFC pauses no switch",
    )


def memory(runs: Runs) -> Part:
    """Judges whether the congestion queues of the source ToRs need less than a large buffer."""
    isolated = {model: runs.of(model, "isolation") for model in runs.models}
    fullest = _fullest(runs)
    largest = {model: max(run.congestion_queues_bytes for run in found) for model, found in isolated.items()}
    by_size = {share: lower(fullest, [share * _BUFFER_BYTES] * len(fullest)) for share in (_LARGE, *_OTHER_SIZES)}
    return Part(
        all_of(by_size[_LARGE], never(_pauses(runs, "isolation", "host"))),
        void=_SHORT if runs.choice else "" if any(fullest) else "nothing is isolated",
        measured={
            "PFC pauses of hosts with isolation, a seed": Spread.of(_pauses(runs, "isolation", "host")),
            "congestion queues of the fullest source ToR (KB)": {model: size / 1000 for model, size in largest.items()},
            "deepest congestion queue (KB)": {
                model: max(run.congestion_queue_bytes for run in found) / 1000 for model, found in isolated.items()
            },
            "share of the 32 MB (%)": {model: 100 * size / _BUFFER_BYTES for model, size in largest.items()},
            "share of the 32 MB in the fullest model (%), a seed": Spread.of(
                100 * one / _BUFFER_BYTES for one in fullest
            ),
            "congestion queues below other shares of the 32 MB": {
                f"{100 * share:.0f} %": by_size[share].words for share in _OTHER_SIZES
            },
        }
        | _with_choices(runs),
    )


def _with_choices(runs: Runs) -> dict[str, dict[str, Spread]]:
    """Returns the share of the memory that the fullest congestion queues take, by open choice; empty for a choice."""
    found: dict[str, Spread] = {}
    for name in dict.fromkeys(map(choice_of, runs.results)):
        if name and not runs.choice:
            with suppress(RunFailed):
                found[name] = Spread.of(100 * one / _BUFFER_BYTES for one in _fullest(Runs(runs.results, name)))
    return {"share of the fullest model (%) with other choices, arrivals for 0.25 ms": found} if found else {}


def _fullest(runs: Runs) -> list[float]:
    """Returns what the congestion queues of the fullest source ToR of any model hold, of each seed."""
    of_models = [[float(run.congestion_queues_bytes) for run in runs.of(model, "isolation")] for model in runs.models]
    return [max(of_seed) for of_seed in zip(*of_models, strict=True)]


def _pauses(runs: Runs, mechanism: str, whom: str) -> list[float]:
    """Returns how often PFC pauses switches, or hosts, in all models of a seed."""
    of_models = [[run.pfc_pauses[whom] for run in runs.of(model, mechanism)] for model in runs.models]
    return [sum(counts) for counts in zip(*of_models, strict=True)]


JUDGED = judged(
    statements={
        "P.6": "SFC proxy mode pushes PFC to the edge: no congestion spreading between switches",
        "P.7": "Distributed over the source ToRs, the congested flows will not need large buffer to be queued",
    },
    traffic=MODELS,
    mechanisms=_MECHANISMS,
    judge=judge,
    reasons={
        "P.7": (
            "PFC pauses no host, so the queues fit. But the queues are large: in the fullest of four models the "
            "fullest source ToR holds 28 to 54 % of its 32 MB, 36 % in the mean of five seeds. An incast of 120 times "
            "256 KB is 31 MB, or 1.5 MB for each of 20 ToRs. At 8 % load several incasts are under way at a time, and "
            "a host whose flow is held goes on with later incasts. The statement would hold if a large buffer were "
            "half of the memory."
        ),
    },
)
PARAMETERS = [
    *_SHARED,
    given(
        "background, incasts",
        "Google RPC at 50 %; 120-to-1 of 256 KB at 8 %; models 0 to 3",
        "Analysis of Proxy Mode Performance",
    ),
]
READS = TABLES
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw, for each model, PFC pauses of switches and hosts, the hosts' paused time, and the congestion queues."""
    runs = Runs(results)
    found = {one: [runs.of(model, one) for model in MODELS] for one in _MECHANISMS}
    with rc_context(STYLE):
        drawing = Canvas(figsize=(10, 6), layout="constrained")
        grid = drawing.subplots(2, 2)
        panels: list[tuple[str, Callable[[Run], float]]] = [
            ("PFC pauses of switches", lambda run: float(run.pfc_pauses["switch"])),
            ("PFC pauses of hosts", lambda run: float(run.pfc_pauses["host"])),
            ("hosts' time paused (%)", lambda run: 100 * run.host_paused_share),
            ("fullest ToR's congestion queues (KB)", lambda run: run.congestion_queues_bytes / 1000),
        ]
        for axes, (label, value) in zip(grid.flat, panels, strict=True):
            series = [(MECHANISMS[one], [fmean(map(value, runs)) for runs in each]) for one, each in found.items()]
            grouped_bars(axes, list(MODELS), series, digits=0)
            axes.set_ylabel(label)
        drawing.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
        write(drawing, path)
