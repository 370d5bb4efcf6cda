"""N.2: the length of switch ports' queues over time in NDC(4, 1).

Source: the PortFC paper, section V-B, figure 9. Ours: the figure's workload is WebSearch with incasts, ports are
sampled every 10 µs while flows arrive, and the length of a port's queue is the sum over the port's queues. Each
mechanism has a verdict of its own, because mechanisms without flow control per port fail in different ways.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from matplotlib import rc_context

from xoff.plots import STYLE, Canvas, legend_below, write
from xoff.reproduce import Part, Readings, Spread, all_of, lowest
from xoff.results import Result
from xoff_experiments.portfc._figures import COLOUR
from xoff_experiments.portfc._mixed import judged
from xoff_experiments.portfc._ndc import COMPARED, MECHANISMS
from xoff_experiments.portfc._parameters import mixed
from xoff_experiments.portfc._runs import Run, Runs, name_of

CITATION = "Revisiting Flow Control in Node-Centric Datacenter Networks, figure 9"

WITHOUT = {"irn": "irn", "go_back_n": "go-back-n"}
"""Mechanisms without flow control, with the suffixes of their verdicts' ids."""


@dataclass(frozen=True, slots=True)
class Queues:
    """The longest queue of any switch port in KB by time in us, and what is lost."""

    longest: dict[float, float]
    lost: int

    @classmethod
    def of(cls, result: Result) -> Queues:
        """Reads the samples of a result."""
        samples = result.samples
        ports: defaultdict[tuple[int, str, int], int] = defaultdict(int)
        columns = (samples[name].to_pylist() for name in ("time_ps", "node", "port", "bytes"))
        for time, node, port, size in zip(*columns, strict=True):
            if node.startswith("level"):
                ports[time, node, port] += size
        longest: defaultdict[float, float] = defaultdict(float)
        for (time, _, _), size in ports.items():
            longest[time / 1e6] = max(longest[time / 1e6], size / 1000)
        return cls(dict(sorted(longest.items())), result.summary["drops"])

    def mean_kb(self, until_us: float) -> float:
        """Returns the mean over time; ports without a sample are empty."""
        return sum(size for time, size in self.longest.items() if time <= until_us) / (until_us / 10)

    @property
    def peak_kb(self) -> float:
        """The longest of all."""
        return max(self.longest.values())


def judge(runs: Runs) -> dict[str, Part]:
    """Judges the longest queue, its mean over time, and losses."""
    found = _queues(runs)
    # Samples after the end of arrivals are left out of the mean.
    end = min(max(one.longest) for of_it in found.values() for one in of_it)
    peak = {name: Spread.of(one.peak_kb for one in of_it) for name, of_it in found.items()}
    mean = {name: Spread.of(one.mean_kb(end) for one in of_it) for name, of_it in found.items()}
    lost = {name: Spread.of(one.lost for one in of_it) for name, of_it in found.items()}
    longest = {"longest queue (KB)": {name_of(name): one for name, one in peak.items()}}
    drops = {"packets lost": {name_of(name): one for name, one in lost.items()}}
    parts = {
        "N.2-shortest": Part(
            all_of(
                lowest({name: [one.peak_kb for one in of_it] for name, of_it in found.items()}, "portfc"),
                lowest({name: [one.mean_kb(end) for one in of_it] for name, of_it in found.items()}, "portfc"),
            ),
            longest | {"mean over time of the longest (KB)": {name_of(name): one for name, one in mean.items()}},
        ),
        "N.2-prevents": Part(lost["portfc"].high == 0 and lost["go_back_n"].low > 0, drops),
    }
    for name, short in WITHOUT.items():
        parts[f"N.2-mb-{short}"] = Part(
            peak[name].high >= 1000, longest, published={f"longest queue of {name_of(name)}": "MB levels"}
        )
        parts[f"N.2-loss-{short}"] = Part(lost[name].high > 0, drops)
    return parts


def _queues(runs: Runs) -> dict[str, list[Queues]]:
    of_samples = Readings(runs.results, Queues.of, runs.choice)
    return {name: of_samples.each(f"websearch/{name}") for name in COMPARED}


JUDGED = judged(
    4,
    workloads=("websearch",),
    probe=True,
    statements={
        "N.2": "PortFC keeps the queues of switch ports shortest, and prevents loss; without it they reach MB levels, "
        "leading to packet loss",
        "N.2-shortest": "The longest queue of a switch port, and the mean over time of the longest, are lowest with "
        "PortFC",
        "N.2-prevents": "PortFC loses nothing where Go-Back-N does",
        "N.2-mb-irn": "Without it queues can reach 1 MB or more: IRN",
        "N.2-mb-go-back-n": "Without it queues can reach 1 MB or more: Go-Back-N",
        "N.2-loss-irn": "Without it packets are lost: IRN",
        "N.2-loss-go-back-n": "Without it packets are lost: Go-Back-N",
    },
    judge=judge,
)
PARAMETERS = mixed(4)
READS = ("flows", "samples")
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the longest queue over time, of the first seed (figure 9)."""
    runs: Readings[Run] = JUDGED.runs(results, "", "")
    found = {name: of_it[0].longest for name, of_it in _queues(runs).items()}
    with rc_context(STYLE):
        drawing = Canvas(figsize=(7, 3.2), layout="constrained")
        axes = drawing.subplots()
        for name in reversed(COMPARED):
            axes.plot(
                [time / 1000 for time in found[name]],
                list(found[name].values()),
                color=COLOUR[name],
                label=MECHANISMS[name],
                linewidth=0.8,
            )
        axes.set_yscale("log")
        axes.set_ylim(bottom=1)
        axes.set_xlim(0, min(max(of_it) for of_it in found.values()) / 1000)
        axes.set_xlabel("time (ms)")
        axes.set_ylabel("longest queue of a switch port (KB)")
        legend_below(drawing, 5)
        write(drawing, path)
