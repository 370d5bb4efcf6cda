"""The edge: where PFC pauses, how long hosts are paused, and what isolation keeps at the source ToRs.

Source: "Improvements on SFC Proxy Mode", contribution to IEEE P802.1Qdw, slides "Analysis of Proxy Mode Performance"
and "Proposal Inspired by CI (on STOR)". Traffic and configuration: see `_traffic.py`.

- "Pushes PFC to the edge": with the proxy PFC pauses hosts, and switches at most a hundredth as often as without.
- "It will not need large buffer": the congestion queues of the source ToRs fit beside all else in the 32 MB: nothing is
  lost, and PFC pauses no host. What all congestion queues of the fullest source ToR hold at one moment, sampled every
  10 µs, stands beside that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import fmean

from matplotlib import rc_context

from xoff.experiments.sfc_proxy._parameters import PARAMETERS as _SHARED
from xoff.experiments.sfc_proxy._runs import TABLES, Run, Runs, judged
from xoff.experiments.sfc_proxy._traffic import MECHANISMS, MODELS
from xoff.plots import STYLE, Canvas, grouped_bars, write
from xoff.reproduce import Part, Spread, all_of, given, lower, never, some
from xoff.results import Result

CITATION = "Improvements on SFC Proxy Mode, IEEE P802.1Qdw, Analysis of Proxy Mode Performance"

_MECHANISMS = ("dcqcn", "proxy", "isolation")
_BUFFER_BYTES = 32e6
_HARDLY = 0.01
"""Share of the pauses of switches without the proxy. Remaining pauses are at the edge."""


def judge(runs: Runs) -> dict[str, Part]:
    """Judge: no run of the proxy pauses a switch; congestion queues stay below a ninth of the buffer."""
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
    largest = {model: max(run.congestion_queues_bytes for run in found[model, "isolation"]) for model in runs.models}
    at_switches = {one: _pauses(runs, one, "switch") for one in _MECHANISMS}
    return {
        "P.6": Part(
            all_of(
                lower(at_switches["proxy"], [_HARDLY * one for one in at_switches["dcqcn"]]),
                some(_pauses(runs, "proxy", "host")),
            ),
            {"PFC pauses of switches, a seed": {one: Spread.of(counts) for one, counts in at_switches.items()}}
            | pauses
            | paused
            | sfcms,
            void="" if any(at_switches["dcqcn"]) else "without the proxy, too, PFC pauses no switch",
        ),
        "P.7": Part(
            never(_pauses(runs, "isolation", "host")),
            void="" if any(largest.values()) else "nothing is isolated",
            measured={
                "PFC pauses of hosts with isolation, a seed": Spread.of(_pauses(runs, "isolation", "host")),
                "congestion queues of the fullest source ToR (KB)": {
                    model: size / 1000 for model, size in largest.items()
                },
                "deepest congestion queue (KB)": {
                    model: max(run.congestion_queue_bytes for run in found[model, "isolation"]) / 1000
                    for model in runs.models
                },
                "share of the 32 MB (%)": {model: 100 * size / _BUFFER_BYTES for model, size in largest.items()},
            },
        ),
    }


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
