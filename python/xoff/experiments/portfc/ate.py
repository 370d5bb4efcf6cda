"""N.7b: what Asymmetric Traffic Engineering does to PortFC: its threshold p, its window, and what it moves.

Source: the PortFC paper, sections III-E and III-F. The traffic is that of `experts.py` in Rail-only(4). Algorithm 5
acts if T >= p B; equation 3 also raises the weight again. A flow of four hops crosses both domains once, whichever
comes first; ATE chooses the order. What a domain carries is the bytes on its links from nodes, and what it carries
first those of packets on their first hop, of flows that take both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from matplotlib import rc_context

from xoff.experiments.portfc._parameters import table
from xoff.experiments.portfc._runs import Run, Runs, Value, runs_of
from xoff.experiments.portfc.experts import MOE, SEEDS, TRAFFIC, WITHOUT_ATE, Case, scenario_of
from xoff.plots import STYLE, Canvas, grouped_bars, legend_below, write
from xoff.reproduce import Judged, Part, Spread, chosen
from xoff.results import Result

CITATION = "Revisiting Flow Control in Node-Centric Datacenter Networks, sections III-E and III-F"

MAIN = "p 0.9, 10 µs"
NONE = "without"
SETTINGS: dict[str, dict[str, Any]] = {
    MAIN: {},
    "p 0.5, 10 µs": {"threshold": 0.5},
    "p 0.7, 10 µs": {"threshold": 0.7},
    "p 1, 10 µs": {"threshold": 1.0},
    "p 0.9, 100 µs": {"window_us": 100},
    "p 0.9, 1000 µs": {"window_us": 1000},
}
READINGS = {
    "algorithm": "Algorithm 5: the weight changes only if T >= p B",
    "equation": "equation 3: the weight rises again, too",
}
P = [name for name in SETTINGS if name.endswith(", 10 µs")]


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Return the scenarios by name."""
    seeds, rounds = (SEEDS[:2], 3) if quick else (SEEDS, 20)
    made = {}
    for seed in seeds:
        case = Case(rounds=rounds, seed=seed)
        made[f"{NONE}/seed {seed}"] = scenario_of(case, WITHOUT_ATE)
        for reading in READINGS:
            for name, changes in SETTINGS.items():
                some = replace(case, raises=reading == "equation", **changes)
                made[f"{reading}, {name}/seed {seed}"] = scenario_of(some, "portfc")
    return made


def _tail_us(run: Run) -> float:
    return run.tail_us(0.99)


def _inside_share(run: Run) -> float:
    """Return the share of what nodes send that goes into the high-bandwidth domain, in percent."""
    columns = (run.result.links[name].to_pylist() for name in ("node", "peer", "data_bytes"))
    sent = {"server": 0, "rail": 0}
    for node, peer, size in zip(*columns, strict=True):
        kind = peer.rstrip("0123456789")
        if node.startswith("host") and kind in sent:
            sent[kind] += size
    return 100 * sent["server"] / sum(sent.values())


def judge(runs: Runs) -> dict[str, Part]:
    """Judge ATE against the hash, p = 0.9 against other thresholds, and what each domain carries."""
    cases = {NONE: NONE} | {name: f"{runs.reading}, {name}" for name in SETTINGS}

    def by_setting(value: Value) -> dict[str, Spread]:
        return {name: runs.spread(case, value) for name, case in cases.items()}

    mean, tail, inside = by_setting(Run.mean_us), by_setting(_tail_us), by_setting(_inside_share)
    shown = {"mean FCT (µs)": mean, "p99 FCT (µs)": tail}
    return {
        "N.7b": Part(mean[MAIN].mean < mean[NONE].mean and tail[MAIN].mean < tail[NONE].mean, shown),
        "N.7c": Part(
            inside[MAIN].mean < inside[NONE].mean - 1,
            {"of what nodes send, into the high-bandwidth domain (%)": inside},
        ),
        "N.7p": Part(
            all(mean[MAIN].mean <= 1.02 * mean[name].mean for name in P),
            {"mean FCT (µs)": {name: mean[name] for name in P}},
        ),
    }


_JUDGED = Judged(
    document="portfc",
    statements={
        "N.7b": "ATE is particularly effective for NDC networks with heterogeneous bandwidth: with it PortFC's mean "
        "and 99th percentile of the FCT are lower than without",
        "N.7c": "ATE reroutes overflowing traffic from the high-bandwidth domain to the network domain: of what nodes "
        "send, the share that goes into the former is lower by more than a point",
        "N.7p": "p is generally set to 0.9: the mean FCT is then no more than 2 % above that with any other p",
    },
    ours=("N.7p",),
    readings=READINGS,
    runs=runs_of,
    judge=judge,
    reasons={
        "N.7b": "Every flow of four hops crosses both domains once, whichever comes first: ATE moves no load, and only "
        "changes the order (N.7c). In Rail-only(4) 50 % of the bytes that are relayed take the faster domain first by "
        "the hash, 19 % under Algorithm 5 over 10 µs, and 50 % over 100 µs and more, where T hardly ever reaches p B; "
        "under equation 3 it is 44, 93 and 85 %. The hash is within 1 % of the best everywhere, and windows of 10 µs "
        "are slowest. Beside Poisson traffic and incasts ATE does help, by 13 to 19 % (N.7n).",
        "N.7c": "Of what nodes send, the same bytes go into the high-bandwidth domain, whatever the weight is: a flow "
        "that does not cross it on the first hop does so on the third.",
    },
    quick_reasons=True,
)
PARAMETERS = table(TRAFFIC, [*MOE, chosen("p, window, direction", "as in the experiment on MoE traffic", "swept here")])
CLAIMS = _JUDGED.listed
claims = _JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw mean and tail by setting and reading."""
    runs = runs_of(results)
    kinds: dict[str, Value] = {"mean FCT (µs)": Run.mean_us, "99th percentile of the FCT (µs)": _tail_us}
    with rc_context(STYLE):
        drawing = Canvas(figsize=(9, 3.4), layout="constrained")
        for axes, (label, value) in zip(drawing.subplots(1, len(kinds)), kinds.items(), strict=True):
            series = [
                (
                    meaning.partition(":")[0],
                    [runs.mean(NONE, value), *(runs.mean(f"{reading}, {name}", value) for name in SETTINGS)],
                )
                for reading, meaning in READINGS.items()
            ]
            grouped_bars(axes, [NONE, *SETTINGS], series, digits=0)
            axes.tick_params(axis="x", labelrotation=30, labelsize=7)
            axes.set_ylabel(label)
        legend_below(drawing, 2)
        write(drawing, path)
