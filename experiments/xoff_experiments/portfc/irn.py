"""N.12: the cost of IRN's timeouts and of IRN's window.

Source: the PortFC paper, sections I, V-B and V-E. Ours: the sweep of timeouts, from 5 µs to 10 ms, is under the
overload of N.9 in NDC(8, 1), because IRN loses many packets there and both harms can appear: short timeouts repeat
packets in vain, and long ones leave lost packets waiting. The window is measured with one flow of 10 MB on three paths:
within a server of the Rail-only network (two links of 160 Gb/s), from server to server along a rail, and over both. A
window with a cost makes a flow more than 15 % slower.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from matplotlib import rc_context

from xoff.plots import COLOURS, STYLE, Canvas, write
from xoff.reproduce import ABOUT_THE_SAME, Cases, Judged, Part, Spread, chosen, given
from xoff.results import Result
from xoff_experiments.portfc._mixed import SEEDS
from xoff_experiments.portfc._ndc import SET_UP, Setting, mixed, ndc, rail_only, scenario
from xoff_experiments.portfc._parameters import table
from xoff_experiments.portfc._runs import Run, Runs, Value, runs_of

CITATION = "Revisiting Flow Control in Node-Centric Datacenter Networks, sections I, V-B and V-E"

TIMEOUTS_US = ((5, 16), (25, 80), (100, 320), (400, 1280), (2000, 6400), (10000, 32000))
"""RTO_low and RTO_high, in the ratio of the paper's 100 and 320."""
SWEEP = [f"{low} and {high}" for low, high in TIMEOUTS_US]
PATHS = {"within a server": 1, "along a rail": 8, "over both": 9}
"""Destination of a flow from GPU 0 of a server of 8."""
CHOICES: dict[str, dict[str, Any]] = {
    "IRN's window 104 KB": {"irn_kb": 104},
    "IRN's window 75 KB": {"irn_kb": 75},
    "IRN's window 156 KB": {"irn_kb": 156},
}


@dataclass(frozen=True, slots=True)
class Case(Setting):
    """A path for the window's experiment; mixed traffic for the timeouts."""

    dst: int | None = None
    n: int = 8
    port_load: float | None = 0.7
    seed: int = 1


def scenario_of(case: Case, variant: str) -> dict[str, Any]:
    """Returns the scenario of a path under a mechanism, or of mixed traffic with some timeouts."""
    if case.dst is not None:
        flow = {"src": 0, "dst": case.dst, "size": "10MB"}
        return scenario(variant, rail_only(8), [{"flows": [flow]}], case, seed=case.seed)
    made = scenario("irn", ndc(case.n), mixed(case.n, "websearch", case), case, seed=case.seed)
    low, high = variant.split(" and ")
    made["host"]["transport"]["irn"] |= {"rto_low": f"{low}us", "rto_high": f"{high}us"}
    return made


def _sized(case: Case, choice: str, quick: bool) -> dict[int | None, Case]:
    if case.dst is not None:
        return {} if quick and choice else {None: case}
    if quick:
        return {} if choice else {seed: replace(case, n=4, seed=seed, arrivals_ms=1) for seed in SEEDS[:2]}
    return {seed: replace(case, seed=seed, arrivals_ms=3) for seed in SEEDS[: 3 if choice else 5]}


_TIMEOUTS = Cases(cases={"timeouts": Case()}, variants=SWEEP, scenario=scenario_of, sized=_sized, choices=CHOICES)
_WINDOWS = Cases(
    cases={label: Case(dst=dst) for label, dst in PATHS.items()},
    variants=("portfc", "irn"),
    scenario=scenario_of,
    sized=_sized,
    choices=CHOICES,
)


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenarios of both sweeps by name."""
    return _TIMEOUTS.scenarios(quick) | _WINDOWS.scenarios(quick)


def _timeouts(runs: Runs, what: Value) -> dict[str, Spread]:
    return {name: runs.spread(f"timeouts/{name}", what) for name in SWEEP}


def in_vain(run: Run) -> float:
    """Returns the number of spurious retransmissions."""
    return run.result.summary["transport"]["spurious_retransmissions"]


def fall(spurious: Mapping[str, Spread]) -> bool:
    """Tell whether the means fall from one setting to the next, until less than 1 % of the first is left."""
    values = [one.mean for one in spurious.values()]
    return values[-1] < values[0] and all(other <= max(one, values[0] / 100) for one, other in pairwise(values))


def _again(run: Run) -> float:
    return run.result.summary["retransmitted"]


def judge(runs: Runs) -> dict[str, Part]:
    """Judges the sweep, and flows alone."""
    spurious = _timeouts(runs, in_vain)
    small, speed = _timeouts(runs, Run.small_us), _timeouts(runs, Run.throughput_gbps)
    alone = {
        label: {
            text: round(runs.one(f"{label}/{name}").throughput_gbps(), 1)
            for text, name in (("PortFC", "portfc"), ("IRN", "irn"))
        }
        for label in PATHS
    }
    least, most = min(one.mean for one in small.values()), max(one.mean for one in speed.values())
    inside = alone["within a server"]
    again = _timeouts(runs, _again)
    void = "" if any(one.high for one in again.values()) else "nothing is lost, nor sent again"
    both = {"mean FCT below 100 KB (µs), by RTO_low and RTO_high (µs)": small, "mean throughput (Gb/s)": speed}
    return {
        "N.12-timeouts": Part(
            fall(spurious),
            {
                "sent again in vain, by RTO_low and RTO_high (µs)": spurious,
                "sent again in all": again,
            },
            void=void,
        ),
        "N.12-tradeoff": Part(
            not any(small[name].mean <= 1.02 * least and speed[name].mean >= 0.98 * most for name in SWEEP),
            both,
            void=void,
        ),
        "N.12-window": Part(
            inside["IRN"] < (1 - ABOUT_THE_SAME) * inside["PortFC"],
            {f"a flow {label} (Gb/s)": found for label, found in alone.items()},
        ),
    }


JUDGED = Judged(
    document="portfc",
    set_up=SET_UP,
    statements={
        "N.12": "IRN: no setting of the timeouts serves both low latency and high throughput; BDP-FC underuses the "
        "high-bandwidth domain",
        "N.12-timeouts": "Short timeouts repeat packets in vain: spurious retransmissions fall as the timeouts grow",
        "N.12-tradeoff": "No setting of the timeouts is within 2 % of both the lowest FCT of small flows and the "
        "highest throughput",
        "N.12-window": "IRN's window leaves much of the high-bandwidth domain unused: a flow alone there is more than "
        "15 % slower than with PortFC",
    },
    runs=runs_of,
    judge=judge,
    reasons={
        "N.12-tradeoff": (
            "Both harms appear, and the given timeouts avoid both. With RTO_low of 5 µs IRN repeats 107,178 packets in "
            "vain, and small flows take 31 instead of 22 µs; with 10 ms they take 50 µs, as lost packets wait. In "
            "between, 100 and 320 µs are within 2 % of the best in latency and in throughput."
        ),
    },
    # The runs form two families of cases; the family of timeouts names the choices.
    cases=_TIMEOUTS,
)
PARAMETERS = table(
    [given("Rail-only", "160 Gb/s in a server, 100 Gb/s on rails", "section V-E")],
    [
        chosen("timeouts", "100 and 320 µs, as given, and RTO_low from 5 µs to 10 ms", "the paper names no others"),
        chosen(
            "traffic of the sweep",
            "WebSearch at 70 % of both ports and 32-to-1 incasts in NDC(8, 1), 3 ms, five seeds",
            "the overload of N.9: both harms appear",
        ),
    ],
)
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws spurious retransmissions, FCT of small flows and throughput against the timeouts."""
    runs = runs_of(results)
    found: tuple[tuple[str, Value], ...] = (
        ("packets sent again in vain", in_vain),
        ("mean FCT below 100 KB (µs)", Run.small_us),
        ("mean throughput (Gb/s)", Run.throughput_gbps),
    )
    with rc_context(STYLE):
        drawing = Canvas(figsize=(9, 2.8), layout="constrained")
        for index, (axes, (label, value)) in enumerate(zip(drawing.subplots(1, 3), found, strict=True)):
            means = {name: one.mean for name, one in _timeouts(runs, value).items()}
            axes.plot(
                [name.replace(" and ", " / ") for name in means], list(means.values()), "o-", color=COLOURS[index]
            )
            axes.set_ylabel(label)
            axes.set_ylim(bottom=0)
            axes.set_xlabel("RTO_low / RTO_high (µs)")
            axes.tick_params(axis="x", labelsize=7)
        write(drawing, path)
