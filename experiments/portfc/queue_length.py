"""N.2: the length of switch ports' queues over time in NDC(4, 1).

Source: the PortFC paper, section V-B, figure 9. Ours: the workload of the figure is WebSearch with incasts, ports are
looked at every 10 µs while flows arrive, and the length of a port's queue is that of all of its queues together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.portfc._figures import COLOUR
from experiments.portfc._ndc import COMPARED, MECHANISMS, Setting, mixed, ndc, scenario
from experiments.portfc._runs import Runs, names, runs_of
from matplotlib import rc_context

from xoff.plots import STYLE, Canvas, legend_below, write
from xoff.reproduce import Judged, Part
from xoff.results import Result

CITATION = "PortFC: Designing High-Performance Deadlock-Free BCube Networks, figure 9"


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Return the scenarios by name."""
    setting = Setting(arrivals_ms=1.5, period_ms=0.5) if quick else Setting()
    return {
        f"{name}/seed 1": scenario(name, ndc(4), mixed(4, "websearch", setting), setting, probe={"queues": "10us"})
        for name in COMPARED
    }


def _longest(result: Result) -> dict[int, float]:
    """Return the longest queue of any switch port in KB by time in µs."""
    samples = result.samples
    ports: defaultdict[tuple[int, str, int], int] = defaultdict(int)
    columns = (samples[name].to_pylist() for name in ("time_ps", "node", "port", "bytes"))
    for time, node, port, size in zip(*columns, strict=True):
        if node.startswith("level"):
            ports[time, node, port] += size
    longest: defaultdict[int, float] = defaultdict(float)
    for (time, _, _), size in ports.items():
        longest[time // 1_000_000] = max(longest[time // 1_000_000], size / 1000)
    return dict(sorted(longest.items()))


def judge(runs: Runs) -> dict[str, Part]:
    """Judge the longest queue, its mean over time, and what is lost."""
    longest = {name: _longest(runs.each(name)[0].result) for name in COMPARED}
    end = min(max(found) for found in longest.values())
    peak = {name: max(found.values()) for name, found in longest.items()}
    mean = {name: sum(v for t, v in found.items() if t <= end) / (end / 10) for name, found in longest.items()}
    lost = {name: float(runs.each(name)[0].result.summary["drops"]) for name in COMPARED}
    others = COMPARED[1:]
    return {
        "N.2-shortest": Part(
            all(peak["portfc"] < peak[other] and mean["portfc"] < mean[other] for other in others),
            {"longest queue (KB)": names(peak), "mean over time of the longest (KB)": names(mean)},
        ),
        "N.2-mb": Part(
            all(peak[other] >= 1000 for other in ("irn", "go_back_n")),
            {"longest queue (KB)": names(peak)},
        ),
        "N.2-loss": Part(
            all(lost[other] > 0 for other in ("irn", "go_back_n")) and lost["portfc"] == 0,
            {"packets lost": names(lost)},
        ),
    }


_JUDGED = Judged(
    document="portfc",
    statements={
        "N.2": "PortFC keeps the switch port queue shortest; without it queues reach MBs, and packets are lost",
        "N.2-shortest": "The longest queue of a switch port, and the mean over time of the longest, are lowest with "
        "PortFC",
        "N.2-mb": "Without it (IRN, Go-Back-N) queues reach 1 MB or more",
        "N.2-loss": "Without it (IRN, Go-Back-N) packets are lost",
    },
    runs=runs_of,
    judge=judge,
    reasons={
        "N.2-mb": "Go-Back-N's queues reach 2.2 MB. IRN's stay just below 1 MB: an incast of eight windows of 104 KB "
        "makes 0.83 MB, to which Poisson flows add.",
        "N.2-loss": "A switch has 5 MB for all ports, and the longest queue is 2.2 MB. The paper does not say how the "
        "memory is shared; only a part of it for each port would lose packets.",
    },
)
CLAIMS = _JUDGED.listed
claims = _JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw the longest queue over time."""
    runs = runs_of(results)
    with rc_context(STYLE):
        drawing = Canvas(figsize=(7, 3.2), layout="constrained")
        axes = drawing.subplots()
        for name in reversed(COMPARED):
            found = _longest(runs.each(name)[0].result)
            axes.plot(
                [t / 1000 for t in found],
                list(found.values()),
                color=COLOUR[name],
                label=MECHANISMS[name],
                linewidth=0.8,
            )
        axes.set_yscale("log")
        axes.set_ylim(bottom=1)
        # What is left when arrivals have ended says nothing of them.
        axes.set_xlim(0, min(max(_longest(runs.each(name)[0].result)) for name in COMPARED) / 1000)
        axes.set_xlabel("time (ms)")
        axes.set_ylabel("longest queue of a switch port (KB)")
        legend_below(drawing, 5)
        write(drawing, path)
