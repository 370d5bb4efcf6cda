"""N.5t: average throughput of Poisson and of incast flows in NDC(8, 1), with three workloads and 32-to-1 incasts.

Source: the PortFC paper, section V-C, figure 14. What is averaged is read in two ways, as in `throughput.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from xoff.reproduce import Part, all_of, higher
from xoff.results import Result
from xoff_experiments.portfc._figures import bars
from xoff_experiments.portfc._mixed import judged
from xoff_experiments.portfc._ndc import COMPARED, WORKLOADS
from xoff_experiments.portfc._parameters import mixed
from xoff_experiments.portfc._runs import Runs, by_seed, compared, name_of, times, told
from xoff_experiments.portfc.throughput import AVERAGED, READINGS, VALUES

CITATION = "Revisiting Flow Control in Node-Centric Datacenter Networks, figure 14"

RIVALS = COMPARED[1:]
WEBSEARCH = {
    "poisson": {"irn": 2.3, "go_back_n": 4.7, "pfc_star": 2.0},
    "incast": {"irn": 1.9, "go_back_n": 21.6, "pfc_star": 2.2},
}
"""PortFC's throughput on WebSearch divided by the other mechanisms', in the paper."""


def judge(runs: Runs) -> dict[str, Part]:
    """Judges the highest throughput, the factors, and differences between workloads."""
    parts: dict[str, Part] = {}
    for kind, wanted in WEBSEARCH.items():
        value = partial(VALUES[runs.reading], workload=kind)
        found = {sizes: compared(runs, sizes, COMPARED, value) for sizes in WORKLOADS}
        gbps = {
            f"{title}: throughput of {kind} flows (Gb/s)": told(runs, sizes, COMPARED, value)
            for sizes, title in WORKLOADS.items()
        }
        ratios = {f"{WORKLOADS[sizes]}: PortFC against (times)": times(one, RIVALS) for sizes, one in found.items()}
        what = f"WebSearch, {kind}: PortFC against (times)"
        each = {sizes: by_seed(runs, sizes, COMPARED, value) for sizes in WORKLOADS}
        parts[f"N.5t-{kind}"] = Part(
            all_of(*(higher(of["portfc"], of[rival]) for of in each.values() for rival in RIVALS)),
            gbps | ratios | {what: times(found["websearch"], RIVALS)},
            published={what: {name_of(rival): one for rival, one in wanted.items()}},
        )
        if kind == "poisson":
            parts["N.5w"] = Part(
                all_of(
                    *(
                        higher(each["websearch"][name], of[name])
                        for name in COMPARED
                        for sizes, of in each.items()
                        if sizes != "websearch"
                    )
                ),
                gbps,
            )
    return parts


JUDGED = judged(
    8,
    readings=READINGS,
    statements={
        "N.5t": "NDC(8,1): across the three workloads PortFC significantly improves the average throughput",
        "N.5t-poisson": "The average throughput of Poisson flows is highest with PortFC in all three workloads",
        "N.5t-incast": "The average throughput of incast flows is highest with PortFC in all three workloads",
        "N.5w": "Poisson traffic of WebSearch achieves higher throughput beside incasts than that of Hadoop and "
        "Storage, with each mechanism",
    },
    judge=judge,
    reasons={
        "N.5t-poisson": (
            "Poisson flows have 18, 22 and 3 % less throughput than under IRN on Hadoop, Storage and "
            "WebSearch. IRN's incasts lose packets and are slowed by DCQCN. They leave the links to Poisson "
            "flows, and take 1.7 times as long as PortFC's incasts."
        ),
    },
)
PARAMETERS = mixed(8, [AVERAGED])
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the throughput of Poisson and of incast flows, in both readings."""
    runs = JUDGED.runs(results, "", "")
    panels: dict[str, Any] = {}
    for kind in WEBSEARCH:
        for reading, average in VALUES.items():
            value = partial(average, workload=kind)
            series = {name: [runs.mean(f"{sizes}/{name}", value) for sizes in WORKLOADS] for name in COMPARED}
            how = "mean over flows" if reading == "flows" else "all bytes over all FCTs"
            panels[f"{kind}: {how}"] = (list(WORKLOADS.values()), series, "throughput (Gb/s)")
    bars(path, panels)
