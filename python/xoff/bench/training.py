"""The simulation time of collectives and iterations of training jobs, with and without fast-forward."""

from __future__ import annotations

import math
from typing import Any

from rich.markup import escape

from xoff import display
from xoff.bench.measure import running_seconds, simulated

_FRAMING = {"payload": "1000B", "header": "48B"}
_RED = {"red": {"kmin": "400KB", "kmax": "1600KB", "pmax": 0.2}}
_PFC: dict[str, Any] = {"flow_control": {"pfc": {}}}
_GPT_13B = 203_038_720
"""Bytes of a message of the all-gather of GPT-13B's parameters among 16 ranks; the reduce-scatter has twice as many."""
_CONTROLS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "none": ({}, {}),
    "DCQCN": ({"ecn": _RED}, {"congestion_control": {"dcqcn": {}}}),
    "HPCC": ({"telemetry": {}}, {"congestion_control": {"hpcc": {}}}),
    "TIMELY": ({}, {"congestion_control": {"timely": {}}}),
}
_HALVES = ("attention", "network")
PART = 64
"""The speed without fast-forward is measured with this fraction of the data (1/64)."""


def _rails(gpus: int) -> dict[str, Any]:
    return {
        "rail": {
            "servers": gpus // 8,
            "gpus_per_server": 8,
            "scale_up": {"rate": "3.6Tbps", "delay": "25ns"},
            "rail": {"rate": "400Gbps", "delay": "500ns"},
        }
    }


def _rings(gpus: int, part: int, operation: str) -> list[dict[str, Any]]:
    """Returns a ring for each rail, over all servers, as the data-parallel groups with tensor parallelism of 8."""
    servers = gpus // 8
    size = _GPT_13B * 16 * (2 if operation == "reduce_scatter" else 1) // part
    return [
        {
            "name": f"rail{rank}",
            "collective": {
                "operation": operation,
                "algorithm": "ring",
                "size": f"{size}B",
                "hosts": list(range(rank, gpus, 8)) if servers > 1 else [],
            },
        }
        for rank in range(8)
    ]


def _collective(gpus: int, control: str, operation: str = "all_gather", of: int = 1) -> tuple[str, Any]:
    switch, host = _CONTROLS[control]
    title = f"{gpus} GPUs on rails, GPT-13B's {operation.replace('_', '-')}, congestion control: {control}"
    if of > 1:
        title += f"; of the data one part in {of} (without repetition)"
    return title, lambda part: {
        "network": _rails(gpus),
        "framing": _FRAMING,
        "switch": {**_PFC, **switch},
        "host": host,
        "workload": _rings(gpus, part * of, operation),
        "probe": {"flows": False},
    }


def _fat_tree(part: int) -> dict[str, Any]:
    """Returns a ring in which ECMP paths collide."""
    size = f"{8 * 16_777_216 // part}B"
    return {
        "network": {"fat_tree": {"k": 8, "link": {"rate": "400Gbps", "delay": "500ns"}}},
        "framing": _FRAMING,
        "switch": _PFC,
        "workload": [{"collective": {"operation": "all_gather", "algorithm": "ring", "size": size}}],
        "probe": {"flows": False},
    }


def _mixture(part: int) -> dict[str, Any]:
    """Returns the all-to-all of a mixture of experts: 8 groups of 8 ranks."""
    size = f"{16_777_216 * 8 // part}B"
    return {
        "network": _rails(64),
        "framing": _FRAMING,
        "switch": _PFC,
        "workload": [
            {
                "name": f"experts{rank}",
                "collective": {"operation": "all_to_all", "size": size, "hosts": list(range(rank, 64, 8))},
            }
            for rank in range(8)
        ],
        "probe": {"flows": False},
    }


def _job(preset: str, gpus: int, parallel: dict[str, int], batch: int, **model: Any) -> Any:
    return lambda part: {
        "network": _rails(gpus),
        "framing": {"payload": "9000B", "header": "48B"},
        "switch": _PFC,
        "workload": [
            {
                "training": {
                    "library": "textbook",
                    "model": {"preset": preset, **model},
                    "parallel": parallel,
                    "micro_batch": 1,
                    "global_batch": max(batch // part, parallel.get("data", 1)),
                    "compute": {"peak": 312e12},
                }
            }
        ],
        "probe": {"flows": False},
    }


def _llama(part: int) -> dict[str, Any]:
    """Returns a fifth of an iteration of Llama 70B by NCCL on 64 servers in two rail-optimised tiers."""
    aggregation = {"switches": 32, "segments": 2, "link": {"rate": "400Gbps", "delay": "250ns"}}
    rail = {"servers": 32, "gpus_per_server": 8, "rail": {"rate": "400Gbps", "delay": "150ns"}}
    return {
        "ties": "relative",
        "draws": "shared",
        "network": {"servers": {"gpus": 8, "gpu": "h100"}, "rail": {**rail, "aggregation": aggregation}},
        "framing": {"payload": "9000B", "header": "48B"},
        "switch": {"forwarding_latency": "600ns", **_PFC, "buffer": {"shared": {"total": "64MB", "alpha": 0.125}}},
        "workload": [
            {
                "training": {
                    "model": {"preset": "llama3_70b", "layers": 16, "sequence": 8192},
                    "parallel": {"tensor": 8, "sequence": True, "pipeline": 4, "data": 16},
                    "micro_batch": 1,
                    "global_batch": max(64 // part, 16),
                    "compute": {"peak": 989e12, "efficiency": 0.5},
                }
            }
        ],
        "probe": {"flows": False},
    }


def _dense(gpus: int, layers: int) -> Any:
    """Returns layers of GPT-13B as a program of every rank: 8-fold tensor parallel in a server, replicas on rails."""
    parts = [f"{way} {n} {half}" for way in ("forward", "backward") for n in range(layers) for half in _HALVES]

    def scenario(part: int) -> dict[str, Any]:
        rows: list[dict[str, Any]] = []
        for name in parts:
            rows.append({"kind": "compute", "name": name, "duration": "1ms"})
            # An all-reduce of 2048 tokens x 5120 numbers of 2 B.
            rows.append(
                {"kind": "all_reduce", "name": f"sum of {name}", "group": "TP", "size": f"{20_971_520 // part}B"}
            )
        # The gradients of 13 billion parameters with 2 B each, of which a rank has an eighth. Shares of one size
        # repeat: the size is a multiple of 1,152 ranks.
        rows.append({"kind": "all_reduce", "name": "gradients", "group": "DP", "size": f"{3_251_404_800 // part}B"})
        rows = [{**row, "stream": "all"} for row in rows]
        families = {"TP": {"stride": 1, "count": 8}, "DP": {"stride": 8, "count": gpus // 8}}
        graph = {"library": "textbook", "ranks": gpus, "families": families, "operations": rows}
        return {
            "network": _rails(gpus),
            "framing": {"payload": "9000B", "header": "48B"},
            "switch": _PFC,
            "workload": [{"name": "job", "graph": graph}],
            "probe": {"flows": False},
        }

    return scenario


def _all_to_all(gpus: int) -> Any:
    """Returns an all-to-all of messages of one packet. A part of the data has fewer GPUs, and messages as large."""

    def scenario(part: int) -> dict[str, Any]:
        ranks = gpus // math.isqrt(part)
        size = {"operation": "all_to_all", "library": "textbook", "size": f"{4096 * ranks}B"}
        return {
            "network": _rails(ranks),
            "framing": {"payload": "4096B"},
            "switch": _PFC,
            "workload": [{"name": "job", "collective": size}],
            "probe": {"flows": False},
        }

    return scenario


CASES: dict[str, tuple[str, Any]] = {
    "llama-70b-nccl-512": ("16 layers of Llama 70B by NCCL on 512 GPUs, two tiers, folded, packets of 9000 B", _llama),
    **{f"rails-{gpus}": _collective(gpus, "none") for gpus in (64, 128, 256, 1024)},
    "rails-128-reduce-scatter": _collective(128, "none", "reduce_scatter"),
    "rails-128-dcqcn": _collective(128, "DCQCN"),
    **{f"rails-128-{name.lower()}": _collective(128, name, of=16) for name in ("HPCC", "TIMELY")},
    "fat-tree-128-ring": ("128 GPUs in a fat tree, one ring with colliding paths, PFC", _fat_tree),
    "experts-64": ("64 GPUs on rails, all-to-all of a mixture of experts, PFC", _mixture),
    "gpt-13b-128": (
        "an iteration of GPT-13B on 128 GPUs, 8-fold tensor parallel, packets of 9000 B",
        _job("gpt_13b", 128, {"tensor": 8, "data": 16}, 16),
    ),
    "dense-9216": (
        "two of the 40 layers of GPT-13B on 9,216 GPUs as a program of every rank, packets of 9000 B",
        _dense(9216, 2),
    ),
    "all-to-all-2048": ("2,048 GPUs on rails, all-to-all of messages of one packet of 4096 B", _all_to_all(2048)),
    # The case of SimAI's issue 293.
    "mixtral-8x7b-64": (
        "an iteration of Mixtral 8x7B on 64 GPUs, tensor parallel by 8, context by 4, experts by 4, packets of 9000 B",
        _job("mixtral_8x7b", 64, {"tensor": 8, "context": 4, "data": 2, "expert": 4}, 2),
    ),
}
"""Title of each case, and a function from n to its scenario with 1/n of the data."""


def training(names: list[str]) -> dict[str, Any]:
    """Simulates each case with fast-forward, and a part of its data without; extrapolates the time of all data."""
    cases = []
    for name in names or CASES:
        title, make = CASES[name]
        display.err.print(f"{name}: {escape(title)}")
        is_job = "training" in make(1)["workload"][0]
        full = simulated(make(1))
        part = simulated(make(1 if is_job else PART), fast_forward=False, fold=False)
        speed = part["data_packet_hops"] / running_seconds(part)
        hops = full["data_packet_hops"]
        cases.append(
            {
                "name": name,
                "data_packet_hops": hops,
                "cpu_seconds": running_seconds(full),
                "fast_forwarded": full["fast_forward"]["packet_hops"] / hops,
                "without_packet_hops_per_cpu_second": speed,
                "without_cpu_seconds": hops / speed,
                "without_is_measured": is_job,
                "blockers": full["fast_forward"]["blockers"],
            }
        )
    return {"cases": cases}
