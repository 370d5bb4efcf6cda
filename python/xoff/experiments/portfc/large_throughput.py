"""N.5t: average throughput of Poisson and of incast flows in NDC(8, 1), with three workloads and 32-to-1 incasts.

Source: the PortFC paper, section V-C, figure 14. What is averaged is read in two ways, as in `throughput.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from xoff.experiments.portfc._figures import bars
from xoff.experiments.portfc._mixed import judged
from xoff.experiments.portfc._ndc import COMPARED, WORKLOADS
from xoff.experiments.portfc._parameters import mixed
from xoff.experiments.portfc._runs import Run, Runs, about, compared, name_of, names, times, told
from xoff.experiments.portfc.throughput import AVERAGED, READINGS
from xoff.reproduce import Part
from xoff.results import Result

CITATION = "Revisiting Flow Control in Node-Centric Datacenter Networks, figure 14"

RIVALS = COMPARED[1:]
AVERAGE = {"flows": Run.throughput_gbps, "bytes": Run.bytes_gbps}
WEBSEARCH = {
    "poisson": {"irn": 2.3, "go_back_n": 4.7, "pfc_star": 2.0},
    "incast": {"irn": 1.9, "go_back_n": 21.6, "pfc_star": 2.2},
}
"""How many times that of the others PortFC's throughput is on WebSearch, in the paper."""


def judge(runs: Runs) -> dict[str, Part]:
    """Judge who is highest, by which factors, and under which workload."""
    parts: dict[str, Part] = {}
    poisson: dict[str, dict[str, float]] = {}
    for kind, wanted in WEBSEARCH.items():
        value = partial(AVERAGE[runs.reading], workload=kind)
        found = {sizes: compared(runs, sizes, COMPARED, value) for sizes in WORKLOADS}
        poisson = poisson or found
        gbps = {
            f"{title}: throughput of {kind} flows (Gb/s)": told(runs, sizes, COMPARED, value)
            for sizes, title in WORKLOADS.items()
        }
        ratios = {f"{WORKLOADS[sizes]}: PortFC against (times)": times(one, RIVALS) for sizes, one in found.items()}
        what = "WebSearch: PortFC against (times)"
        of_web = found["websearch"]
        parts[f"N.5t-{kind}"] = Part(
            all(one["portfc"] > one[rival] for one in found.values() for rival in RIVALS), gbps | ratios
        )
        parts[f"N.5u-{kind}"] = Part(
            all(about(of_web["portfc"] / of_web[rival], published) for rival, published in wanted.items()),
            {what: times(of_web, RIVALS)},
            published={what: {name_of(rival): one for rival, one in wanted.items()}},
        )
    parts["N.5w"] = Part(
        all(
            poisson["websearch"][name] > poisson[sizes][name]
            for name in COMPARED
            for sizes in WORKLOADS
            if sizes != "websearch"
        ),
        {f"{WORKLOADS[sizes]}: throughput of poisson flows (Gb/s)": names(one) for sizes, one in poisson.items()},
    )
    return parts


_JUDGED = judged(
    8,
    readings=READINGS,
    statements={
        "N.5t": "NDC(8,1): across the three workloads PortFC significantly improves the average throughput",
        "N.5t-poisson": "The average throughput of Poisson flows is highest with PortFC in all three workloads",
        "N.5t-incast": "The average throughput of incast flows is highest with PortFC in all three workloads",
        "N.5u": "WebSearch: PortFC increases the average throughput compared to Go-Back-N, IRN and PFC* by 4.7, 2.3 "
        "and 2.0 times under Poisson traffic, and by 21.6, 1.9 and 2.2 times under incasts",
        "N.5u-poisson": "Poisson flows: 4.7, 2.3 and 2.0 times, within 10 %",
        "N.5u-incast": "Incast flows: 21.6, 1.9 and 2.2 times, within 10 %",
        "N.5w": "Poisson traffic of WebSearch achieves higher throughput beside incasts than that of Hadoop and "
        "Storage, with each mechanism",
    },
    judge=judge,
    reasons={
        "N.5t-poisson": "Small flows are faster under IRN, whose queues are marked (N.3), and most flows are small. "
        "Go-Back-N passes PortFC on Hadoop and Storage alone.",
        "N.5t-poisson/bytes": "Poisson flows of Hadoop and Storage are 5 and 17 % faster under IRN: its incasts, which "
        "DCQCN slows to a third, leave them the links.",
        "N.5t-incast": "PFC* is ahead by 5 to 8 % in the mean over flows, whose flows of an incast end less "
        "alike; all bytes over all FCTs put PortFC ahead.",
        "N.5u-poisson": "The mean over flows is that of small ones. What is published for Go-Back-N and IRN, 4.7 and "
        "2.3 times, is not traced.",
        "N.5u-incast": "IRN's factor is met; Go-Back-N's 21.6 is not: DCQCN keeps its losses at 250 000 packets a run. "
        "Without DCQCN it loses millions in NDC(4, 1) alone (N.14).",
        "N.5u-incast/bytes": "4.4, 5.4 and 1.5 times: DCQCN slows IRN's incasts more than the paper's.",
    },
)
PARAMETERS = mixed(8, [AVERAGED])
CLAIMS = _JUDGED.listed
scenarios = _JUDGED.scenarios
claims = _JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw the throughput of Poisson and of incast flows, in both readings."""
    runs = _JUDGED.runs(results, "", "")
    panels: dict[str, Any] = {}
    for kind in WEBSEARCH:
        for reading, average in AVERAGE.items():
            value = partial(average, workload=kind)
            series = {name: [runs.mean(f"{sizes}/{name}", value) for sizes in WORKLOADS] for name in COMPARED}
            how = "mean over flows" if reading == "flows" else "all bytes over all FCTs"
            panels[f"{kind}: {how}"] = (list(WORKLOADS.values()), series, "throughput (Gb/s)")
    bars(path, panels)
