"""N.4: average throughput in NDC(4, 1), with three workloads and 8-to-1 incasts.

Source: the PortFC paper, section V-B, figure 11, which does not define the average. The main reading is the payload of
all flows over the sum of their FCT: four of the published factors follow from the published mean FCTs in this reading
(87.3 % lower is 7.9 times, 49.9 % 2.0 times, 40.9 % 1.7 times, 58.4 % 2.4 times). The mean over flows is shown as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from xoff.reproduce import Decision, Part, Range, all_of, chosen, higher
from xoff.results import Result
from xoff_experiments.portfc._figures import bars
from xoff_experiments.portfc._mixed import judged
from xoff_experiments.portfc._ndc import COMPARED, WORKLOADS
from xoff_experiments.portfc._parameters import mixed
from xoff_experiments.portfc._runs import Run, Runs, Value, by_seed, compared, name_of, told

CITATION = "Revisiting Flow Control in Node-Centric Datacenter Networks, figure 11"

RIVALS = COMPARED[1:]
READINGS: dict[str, str] = {
    "bytes": "the payload of all flows over the sum of their FCT",
    "flows": "the mean over flows of payload over FCT",
}
VALUES: dict[str, Callable[..., float]] = {"bytes": Run.bytes_gbps, "flows": Run.throughput_gbps}
AVERAGED = chosen(
    "average throughput",
    "all bytes over all FCTs",
    "not told; four published factors are the inverse of published mean FCTs",
    "mean over flows of payload over FCT",
)
TIMES: Mapping[str, Range | Mapping[str, float]] = {
    "irn": Range(1.7, 2.3),
    "go_back_n": Range(2.4, 3.9),
    "pfc_star": {"Hadoop": 2.0, "Storage": 8.0, "WebSearch": 2.0},
}
"""PortFC's throughput divided by the other mechanisms', in the paper."""


def judge(runs: Runs) -> dict[str, Part]:
    """Judges the highest throughput, and the factors."""
    value = VALUES[runs.reading]
    found = {sizes: compared(runs, sizes, COMPARED, value) for sizes in WORKLOADS}
    over = {
        rival: {WORKLOADS[sizes]: round(one["portfc"] / one[rival], 2) for sizes, one in found.items()}
        for rival in RIVALS
    }
    return {
        "N.4-higher": Part(
            all_of(
                *(
                    higher(of["portfc"], of[rival])
                    for of in (by_seed(runs, sizes, COMPARED, value) for sizes in WORKLOADS)
                    for rival in RIVALS
                )
            ),
            {
                f"{title}: average throughput (Gb/s)": told(runs, sizes, COMPARED, value)
                for sizes, title in WORKLOADS.items()
            }
            | {f"PortFC against {name_of(rival)} (times)": of for rival, of in over.items()},
            published={f"PortFC against {name_of(rival)} (times)": published for rival, published in TIMES.items()},
        ),
        "N.4-storage": Part(
            _most_on_storage(runs, value), {"PortFC against PFC*, by workload (times)": over["pfc_star"]}
        ),
    }


def _most_on_storage(runs: Runs, value: Value) -> Decision:
    """Decides whether PortFC's lead over PFC* on Storage is above its lead on each other workload."""
    lead = {}
    for sizes in WORKLOADS:
        of = by_seed(runs, sizes, ("portfc", "pfc_star"), value)
        lead[sizes] = [mine / other for mine, other in zip(of["portfc"], of["pfc_star"], strict=True)]
    return all_of(*(higher(lead["storage"], of) for sizes, of in lead.items() if sizes != "storage"))


JUDGED = judged(
    4,
    readings=READINGS,
    statements={
        "N.4": "PortFC has high throughput performance, and outperforms PFC* most on Storage",
        "N.4-higher": "NDC(4,1): the average throughput of PortFC is the highest in all three workloads",
        "N.4-storage": "Its lead over PFC* is largest on Storage",
    },
    judge=judge,
)
PARAMETERS = mixed(4, [AVERAGED])
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws average throughput in both readings."""
    runs = JUDGED.runs(results, "", "")
    panels = {}
    for reading, value in VALUES.items():
        series = {name: [runs.mean(f"{sizes}/{name}", value) for sizes in WORKLOADS] for name in COMPARED}
        title = "mean over flows" if reading == "flows" else "all bytes over all FCTs"
        panels[title] = (list(WORKLOADS.values()), series, "throughput (Gb/s)")
    bars(path, panels)
