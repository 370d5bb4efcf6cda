"""A ring of switches, in which PFC deadlocks, without and with the proxy.

Source: "Improvements on SFC Proxy Mode", contribution to IEEE P802.1Qdw, slide "Analysis of Proxy Mode Performance":
"No PFC deadlock". In the document's fat tree no run can deadlock, with PFC or without, since its paths go up and then
down. Ours: four switches in a ring, each with two hosts; every host sends 40 MB to a host two switches on, clockwise,
so that each link of the ring is offered twice its rate and feeds the next. Rates, buffer, thresholds and packets are
the document's; the links of the ring have 100 Gb/s, and there is no DCQCN, which would hide what flow control does.
Congestion is on the ring and not at a destination's switch: every switch sends SFCMs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib import rc_context

from xoff.plots import STYLE, canvas, grouped_bars, write
from xoff.reproduce import Judged, Part, Readings, as_results, chosen, given, never, run_name
from xoff.results import Result
from xoff_experiments.sfc_proxy._traffic import MECHANISMS, SFC_MODES

CITATION = "Improvements on SFC Proxy Mode, IEEE P802.1Qdw, Analysis of Proxy Mode Performance (no PFC deadlock)"

_SWITCHES, _HOSTS = 4, 2
_VARIANTS = {"pfc": "PFC", **{mode: MECHANISMS[mode].removeprefix("+ ") for mode in ("proxy", "isolation")}}
_END_MS = 20


def _scenario(variant: str, seed: int, megabytes: int) -> dict[str, Any]:
    hosts = [(f"h{ring}_{index}", f"S{ring}") for ring in range(_SWITCHES) for index in range(_HOSTS)]
    ends = [*hosts, *((f"S{ring}", f"S{(ring + 1) % _SWITCHES}") for ring in range(_SWITCHES))]
    control: dict[str, Any] = {"pfc": {}}
    if variant != "pfc":
        control["sfc"] = {
            "threshold": "1000KB", "mode": SFC_MODES[variant], "pause": "3ms", "resume": "200KB", "interval": "100us",
        }  # fmt: skip
    flows = [
        {
            "id": f"{host} to two on",
            "src": host,
            "dst": f"h{(ring + 2) % _SWITCHES}_{index}",
            "size": f"{megabytes}MB",
            "start": f"{(seed * 7 + ring * 3 + index * 5) % 11 * 100}ns",
            "via": [f"S{(ring + step) % _SWITCHES}" for step in range(3)],
        }
        for ring in range(_SWITCHES)
        for index in range(_HOSTS)
        for host in [f"h{ring}_{index}"]
    ]
    return {
        "seed": seed,
        "until": f"{_END_MS}ms",
        "network": {
            "explicit": {
                "nodes": [{"name": name, "kind": "host"} for name, _ in hosts]
                + [{"name": f"S{ring}", "kind": "switch"} for ring in range(_SWITCHES)],
                "links": [{"a": one, "b": other, "rate": "100Gbps", "delay": "1us"} for one, other in ends],
            }
        },
        "framing": {"payload": "1000B", "header": "48B"},
        "switch": {
            "forwarding_latency": "0ns",
            "buffer": {"shared": {"total": "32MB", "alpha": 0.5}},
            "flow_control": control,
        },
        "workload": [{"name": "ring", "flows": flows}],
        "audits": {"deadlock": "record", "completion": "record"},
    }


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenarios by variant and seed, which moves the starts of flows."""
    return {
        run_name("ring", variant, seed): _scenario(variant, seed, 40)
        for variant in _VARIANTS
        for seed in range(1, 2 if quick else 6)
    }


def judge(runs: Readings[Result]) -> dict[str, Part]:
    """Judge: PFC deadlocks in every run, and with the proxy, in either mode, none does."""
    found = {variant: runs.each(f"ring/{variant}") for variant in _VARIANTS}
    stuck = {variant: sum(run.audits["deadlock"] != "ok" for run in each) for variant, each in found.items()}
    delivered = {variant: sum(run.summary["flows"]["completed"] for run in each) for variant, each in found.items()}
    return {
        "P.6-deadlock": Part(
            never([run.audits["deadlock"] != "ok" for one in ("proxy", "isolation") for run in found[one]]),
            {"runs that deadlock": stuck, "of": len(found["pfc"]), "flows delivered": delivered},
            void="" if stuck["pfc"] == len(found["pfc"]) else "PFC does not deadlock in every run",
        )
    }


JUDGED = Judged(
    document="sfc-proxy",
    statements={"P.6-deadlock": "With SFC proxy mode there is no PFC deadlock where PFC alone deadlocks"},
    runs=as_results,
    judge=judge,
    limits={
        "P.6-deadlock": "The ring is ours, as no run of the document's fat tree can deadlock; only starts are varied."
    },
)
PARAMETERS = [
    given(
        "hosts, packets, buffer", "100 Gb/s, 1 KB, 32 MB shared with dynamic thresholds", "System Configuration; Backup"
    ),
    given("SFC", "1000 KB trigger, 200 KB target, pause and resume messages", "Backup"),
    chosen("network", "a ring of four switches with two hosts each, 100 Gb/s", "the document's paths cannot deadlock"),
    chosen("flows", "40 MB from each host to one two switches on", "each link of the ring feeds the next"),
    chosen("who sends SFCMs", "every switch", "congestion is on the ring"),
    chosen("DCQCN", "none", "it would hide what flow control does"),
    chosen("alpha, longest pause, interval", "1/2, 3 ms, 0.1 ms", "as in the simulations"),
]
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws how many of the flows are delivered under each variant."""
    runs = as_results(results)
    with rc_context(STYLE):
        drawing, axes = canvas()
        shares = []
        for variant in _VARIANTS:
            each = runs.each(f"ring/{variant}")
            done = sum(run.summary["flows"]["completed"] for run in each)
            shares.append(100 * done / sum(run.summary["flows"]["total"] for run in each))
        grouped_bars(axes, list(_VARIANTS.values()), [("delivered", shares)], digits=0)
        axes.set_ylabel(f"flows delivered within {_END_MS} ms (%)")
        write(drawing, path)
