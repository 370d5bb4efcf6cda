"""N.9r: what a relay of the Rail-only network needs, where 160 Gb/s flow into a rail of 100 Gb/s.

Source: the PortFC paper, section III-E, is silent on relays; the statement is ours, and was written after a first run.
Two GPUs of a server send by GPU 0 to the next server, 4 or 8 MB each; starts are drawn within 1 µs, ten times. A relay
has 5 MB for each port, as much as a switch has in all, and marks nothing, as the paper has ECN at switches. Other
memories, and relays that mark (`host.relay.ecn`), stand beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from matplotlib import rc_context

from xoff.plots import STYLE, Canvas, grouped_bars, write
from xoff.reproduce import Cases, Judged, Part, chosen, given
from xoff.results import Result
from xoff_experiments.portfc._ndc import SET_UP, Setting, rail_only, scenario
from xoff_experiments.portfc._parameters import table
from xoff_experiments.portfc._runs import Run, Runs, runs_of
from xoff_experiments.portfc._victims import flow

CITATION = "Revisiting Flow Control in Node-Centric Datacenter Networks, section III-E"

SENT = {"4 MB each of two": (4, (1, 2)), "8 MB each of two": (8, (1, 2)), "16 MB of one": (16, (1,))}
"""Megabytes of a GPU, and which GPUs send."""
CHOICES: dict[str, dict[str, Any]] = {
    "10 MB a port": {"relay_buffer": "10MB"},
    "20 MB a port": {"relay_buffer": "20MB"},
    "unlimited memory": {"relay_buffer": "unlimited"},
    "relays mark": {"relay_marks": True},
    "relays mark, unlimited memory": {"relay_marks": True, "relay_buffer": "unlimited"},
}


@dataclass(frozen=True, slots=True)
class Case(Setting):
    """The GPUs that send through one relay, and the size of each flow."""

    size_mb: int = 4
    gpus: tuple[int, ...] = (1, 2)
    seed: int = 1


def _scenario(case: Case, mechanism: str) -> dict[str, Any]:
    draw = Random(case.seed)  # noqa: S311
    flows = [flow((gpu, 4, ("server0", "host0", "rail0")), f"{case.size_mb}MB", draw.random()) for gpu in case.gpus]
    return scenario(mechanism, rail_only(4), [{"flows": flows}], case, seed=case.seed)


def _sized(case: Case, choice: str, quick: bool) -> dict[int | None, Case]:
    del choice
    return {seed: replace(case, seed=seed) for seed in range(1, 3 if quick else 11)}


def judge(runs: Runs) -> dict[str, Part]:
    """Judges whether the relay loses packets, and reports the nodes that PortFC pauses."""
    return {
        "N.9r": Part(
            all(not _lost(run) for case in SENT for run in runs.each(f"{case}/portfc")),
            {
                "packets lost at the relay": {case: runs.spread(f"{case}/portfc", _lost) for case in SENT},
                "pauses": {case: runs.spread(f"{case}/portfc", _pauses) for case in SENT},
                "longest queue of the relay (KB)": {case: runs.spread(f"{case}/portfc", _longest) for case in SENT},
            },
        )
    }


def _lost(run: Run) -> float:
    return run.result.summary["drops"]


def _pauses(run: Run) -> float:
    return run.result.summary["portfc"]["pauses"]


def _longest(run: Run) -> float:
    columns = (run.result.queues[name].to_pylist() for name in ("node", "max_bytes"))
    return float(max(size for node, size in zip(*columns, strict=True) if node == "host0")) / 1000


JUDGED = Judged(
    document="portfc",
    set_up=SET_UP,
    statements={
        "N.9r": "Ours: in Rail-only, too, no packet is lost where 160 Gb/s flow into a rail of 100 Gb/s by a relay",
    },
    ours=("N.9r",),
    runs=runs_of,
    judge=judge,
    cases=Cases(
        cases={name: Case(size_mb=size, gpus=gpus) for name, (size, gpus) in SENT.items()},
        variants=("portfc",),
        scenario=_scenario,
        sized=_sized,
        choices=CHOICES,
    ),
    quick_reasons=True,
    reasons={
        "N.9r": "A relay pauses nobody, and nobody who feeds it is paused: 60 Gb/s pile up for as long as the flows "
        "last. With unlimited memory and no marks PortFC never pauses the relay's feeder: what it has for it is "
        "memory, or marks.",
    },
)
PARAMETERS = table(
    [given("network", "160 Gb/s in a server, 100 Gb/s on rails", "section V-E")],
    [
        chosen("memory of a relay", "5 MB a port", "as much as a switch has in all", "10, 20 MB, unlimited"),
        chosen("relays mark", "no", "the paper has ECN at switches", "as switches do"),
        chosen("starts", "drawn within 1 µs, ten times", "nothing else is random"),
    ],
)
READS = ("flows", "queues")
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the peak of the relay's memory, by the size of the memory."""
    with rc_context(STYLE):
        drawing = Canvas(figsize=(6.4, 3.2), layout="constrained")
        axes = drawing.subplots()
        choices = ["", *CHOICES]
        series = [(name, [runs_of(results, one).mean(f"{name}/portfc", _longest) for one in choices]) for name in SENT]
        grouped_bars(axes, ["5 MB a port", *CHOICES], series, digits=0)
        axes.tick_params(axis="x", labelrotation=20, labelsize=7)
        axes.set_ylabel("longest queue of the relay (KB)")
        axes.legend(fontsize=8)
        write(drawing, path)
