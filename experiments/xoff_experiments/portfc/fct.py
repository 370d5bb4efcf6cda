"""N.1 and N.3: completion times in NDC(4, 1), with three workloads and 8-to-1 incasts.

Source: the PortFC paper, section V-B, figures 8 and 10. Which workload has how many long flows is measured: the share
of the Poisson flows' bytes that are in flows of 1 MB or more. Small flows are those below 100 KB.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib import rc_context

from xoff.plots import STYLE, Canvas, legend_below, write
from xoff.reproduce import Decision, Part, Range, all_of, lower, lowest, ordered, positive
from xoff.results import Result
from xoff_experiments.portfc._figures import COLOUR, bars
from xoff_experiments.portfc._mixed import ONE_WAY, judged
from xoff_experiments.portfc._ndc import COMPARED, MECHANISMS, WORKLOADS
from xoff_experiments.portfc._parameters import mixed
from xoff_experiments.portfc._runs import Run, Runs, Value, by_seed, compared, runs_of, told

CITATION = "Revisiting Flow Control in Node-Centric Datacenter Networks, figures 8 and 10"

RIVALS = COMPARED[1:]
SMALL_BYTES = 100_000
BACK = Range(58.4, 97.9)
"""Go-Back-N in section I: mean and tail, including the tail in NDC(8, 1)."""
BELOW_IRN = {"Hadoop": 11.7, "Storage": 40.9, "WebSearch": 69.2}
LOWER: Mapping[str, Mapping[str, Range | Mapping[str, float]]] = {
    "mean": {
        "irn": BELOW_IRN,
        "pfc_star": Range(49.9, 87.3),
        "go_back_n": BACK,
    },
    "tail": {"irn": Range(16.9, 41.3), "pfc_star": Range(53.3, 87.7), "go_back_n": BACK},
}
"""Percentages by which PortFC's mean and tail are below the other mechanisms', in the paper."""


def judge(runs: Runs) -> dict[str, Part]:
    """Judges mean and tail, the size of PortFC's gains, the second-best mechanism, small flows and incasts."""
    kinds: dict[str, Value] = {"mean": Run.mean_us, "tail": lambda run: run.tail_us(0.99)}
    found = {
        kind: {sizes: compared(runs, sizes, COMPARED, value) for sizes in WORKLOADS} for kind, value in kinds.items()
    }
    times = {
        kind: {
            f"{title}: {'mean' if kind == 'mean' else 'p99'} FCT (µs)": told(runs, sizes, COMPARED, value)
            for sizes, title in WORKLOADS.items()
        }
        for kind, value in kinds.items()
    }
    below = {
        kind: {rival: {sizes: 100 * (1 - of["portfc"] / of[rival]) for sizes, of in by.items()} for rival in RIVALS}
        for kind, by in found.items()
    }
    small = {sizes: by_seed(runs, sizes, COMPARED, Run.small_us) for sizes in WORKLOADS}
    return {
        **{
            f"N.1-{kind}": Part(
                _first(runs, value),
                times[kind] | {_what(kind, rival): _by_title(below[kind][rival]) for rival in RIVALS},
                published={_what(kind, rival): published for rival, published in LOWER[kind].items()},
            )
            for kind, value in kinds.items()
        },
        "N.1c-mean": Part(_irn_second(runs, kinds["mean"]), times["mean"]),
        "N.1c-tail": Part(_irn_second(runs, kinds["tail"]), times["tail"]),
        "N.1d": _by_long_flows(runs),
        "N.3-small": Part(
            all_of(*(lower(of["portfc"], of["irn"]) for of in small.values())),
            {
                f"{title}: {what} FCT below 100 KB (µs)": told(runs, sizes, COMPARED, value)
                for what, value in (("mean", Run.small_us), ("p99.9", _small_tail_us))
                for sizes, title in WORKLOADS.items()
            },
        ),
        "N.3-incast": Part(
            _first(runs, _incast_us),
            {
                f"{title}: mean FCT of incast flows (µs)": told(runs, sizes, COMPARED, _incast_us)
                for sizes, title in WORKLOADS.items()
            },
        ),
    }


def _by_long_flows(runs: Runs) -> Part:
    """Judges with both readings of D whether the gain over IRN grows with the bytes in long flows.

    The literal reading decides. The quick variants and open choices have one reading alone.
    """
    one_way = runs_of(runs.results, ONE_WAY)
    readings = {"D one way": one_way, "D a round trip": runs} if one_way.names and not runs.choice else {"": runs}
    decisions: list[Decision] = []
    measured: dict[str, Any] = {}
    for name, found in readings.items():
        long = {sizes: found.mean(f"{sizes}/irn", _long_share) for sizes in WORKLOADS}
        means = {sizes: compared(found, sizes, ("portfc", "irn"), Run.mean_us) for sizes in WORKLOADS}
        gains = {sizes: 100 * (1 - of["portfc"] / of["irn"]) for sizes, of in means.items()}
        decisions.append(_grows(found, sorted(long, key=lambda sizes: long[sizes])))
        measured[", ".join(filter(None, ("mean lower than IRN's (%)", name)))] = _by_title(gains)
        if len(decisions) == 1:
            measured["bytes in flows of 1 MB or more (%)"] = _by_title({key: 100 * of for key, of in long.items()})
        if name:
            measured[f"decision, {name}"] = decisions[-1].words
    return Part(decisions[0], measured)


def _small_tail_us(run: Run) -> float:
    """Returns the 99.9th percentile of the FCT of flows below 100 KB."""
    times = sorted(fct / 1e6 for _, size, fct in run.flows if size < SMALL_BYTES)
    return times[max(0, -int(-0.999 * len(times) // 1) - 1)]


def _first(runs: Runs, value: Value) -> Decision:
    """Decides whether PortFC's value is the lowest in all three workloads."""
    return all_of(*(lowest(by_seed(runs, sizes, COMPARED, value), "portfc") for sizes in WORKLOADS))


def _incast_us(run: Run) -> float:
    return run.mean_us("incast")


def _long_share(run: Run) -> float:
    """Returns the share of the Poisson flows' bytes in flows of 1 MB or more."""
    sizes = [size for name, size, _ in run.flows if name == "poisson"]
    return sum(size for size in sizes if size >= 1_000_000) / sum(sizes)


def _by_title(values: Mapping[str, float]) -> dict[str, float]:
    return {WORKLOADS[sizes]: round(value, 1) for sizes, value in values.items()}


def _what(kind: str, rival: str) -> str:
    """Names a size: by how much PortFC is below another mechanism."""
    return f"{kind} lower than that of {MECHANISMS[rival]} (%)"


def _irn_second(runs: Runs, value: Value) -> Decision:
    """Decides whether PortFC is before IRN, and IRN before the others, in all workloads."""
    each = [by_seed(runs, sizes, COMPARED, value) for sizes in WORKLOADS]
    return all_of(*(ordered([of["portfc"], of["irn"], of[last]]) for of in each for last in ("pfc_star", "go_back_n")))


def _grows(runs: Runs, rising: list[str]) -> Decision:
    """Decides whether PortFC's gain over IRN is above zero, and grows from one of the workloads to the next."""
    each = [by_seed(runs, sizes, ("portfc", "irn"), Run.mean_us) for sizes in rising]
    gains = [[1 - mine / other for mine, other in zip(of["portfc"], of["irn"], strict=True)] for of in each]
    return all_of(positive(gains[0]), ordered(gains))


JUDGED = judged(
    4,
    statements={
        "N.1": "NDC(4,1): PortFC achieves the lowest average and tail FCT across all three patterns",
        "N.1-mean": "NDC(4,1): the mean FCT of PortFC is the lowest in all three workloads",
        "N.1-tail": "NDC(4,1): the 99th percentile of PortFC is the lowest in all three workloads",
        "N.1c": "The second-best method is IRN: PortFC, then IRN, then PFC* and Go-Back-N, in all three workloads",
        "N.1c-mean": "… by the mean FCT",
        "N.1c-tail": "… by the 99th percentile",
        "N.1d": "The reduction over IRN is more highlighted with a larger proportion of long flows: it grows with the "
        "share of bytes that are in flows of 1 MB or more",
        "N.3": "Figure 10: IRN is second to the best PortFC also with incasts seen apart, but its small flows are not "
        "ideal",
        "N.3-small": "The mean FCT of flows below 100 KB is lower with PortFC than with IRN in all three workloads",
        "N.3-incast": "The mean FCT of incast flows (dashed in figure 10) is lowest with PortFC in all three workloads",
    },
    judge=judge,
    reasons={
        "N.1d": (
            "More than half of the reduction comes from incast flows, which are the same beside all three "
            "workloads: 13, 15 and 12 points of 22, 26 and 20 on Hadoop, Storage and WebSearch. Poisson flows of 1 MB "
            "and more gain 20, 28 and 15 %: least where they carry most bytes. With the one-way BDP the reduction is "
            "33, 29 and 40 %, and the statement holds."
        ),
        "N.3-small": (
            "IRN's small flows wait behind one window of each other flow, so IRN's window sets their FCT. On "
            "short runs they take 8.5, 10.2 and 16.4 µs with 50 KB, 9.9, 12.8 and 16.4 with 104 KB, "
            "12.0, 15.5 and 17.8 with 156 KB; PortFC's small flows take 10.4, 12.9 and 17.9. "
            "The window that makes IRN second also makes its small flows fast."
        ),
    },
)
PARAMETERS = mixed(4)
FIGURES = {"N.3": "-small"}
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws mean and tail FCT (figure 8) beside the distributions of figure 10.

    Diamonds are the paper's reductions of the mean, taken from IRN's measured mean.
    """
    runs = JUDGED.runs(results, "", "")
    kinds: dict[str, Value] = {
        "mean FCT": Run.mean_us,
        "95th percentile": lambda run: run.tail_us(0.95),
        "99th percentile": lambda run: run.tail_us(0.99),
        "99.9th percentile": lambda run: run.tail_us(0.999),
    }
    panels: dict[str, Any] = {}
    for title, value in kinds.items():
        series = {name: [runs.mean(f"{sizes}/{name}", value) for sizes in WORKLOADS] for name in COMPARED}
        panels[title] = (list(WORKLOADS.values()), series, "FCT (µs)")
    of_irn = dict(zip(WORKLOADS, panels["mean FCT"][1]["irn"], strict=True))
    bars(path, panels, {"mean FCT": [mean * (1 - BELOW_IRN[WORKLOADS[one]] / 100) for one, mean in of_irn.items()]})
    with rc_context(STYLE):
        drawing = Canvas(figsize=(9, 3), layout="constrained")
        for axes, (sizes, title) in zip(drawing.subplots(1, len(WORKLOADS)), WORKLOADS.items(), strict=True):
            for name in COMPARED:
                for workload, dashes in (("poisson", "-"), ("incast", "--")):
                    found = sorted(fct for run in runs.each(f"{sizes}/{name}") for fct in run.fct_us(workload))
                    shares = [(rank + 1) / len(found) for rank in range(len(found))]
                    label = MECHANISMS[name] if workload == "poisson" else None
                    axes.step(found, shares, dashes, where="post", color=COLOUR[name], label=label, linewidth=1)
            axes.set_xscale("log")
            axes.set_title(f"{title} (dashed: incasts)", fontsize=8)
            axes.set_xlabel("FCT (µs)")
        drawing.axes[0].set_ylabel("share of the flows")
        legend_below(drawing, 5)
        write(drawing, path.with_stem(f"{path.stem}-distribution"))
    of_small: dict[str, Value] = {
        "mean FCT below 100 KB": Run.small_us,
        "99.9th percentile below 100 KB": _small_tail_us,
    }
    few = {
        title: (
            list(WORKLOADS.values()),
            {name: [runs.mean(f"{sizes}/{name}", value) for sizes in WORKLOADS] for name in COMPARED},
            "FCT (µs)",
        )
        for title, value in of_small.items()
    }
    bars(path.with_stem(f"{path.stem}-small"), few)
