"""The bench cases: how fast xoff simulates, counted in data packet-hops per CPU-second, and how much memory it takes.

Every measurement is a process of its own, so that one case's memory does not count for the next; the best of several
runs counts, because machines are noisy. Bytes per queued packet and per waiting flow are properties of the simulator
and not of a case: they are measured once, as the growth of the peak memory over two runs that differ in that number.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from xoff import _core, wording
from xoff._core import InputError

# Threads of numerical libraries spin for a while after they start, and would count as ours.
_QUIET = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
_LINK = {"rate": "100Gbps", "delay": "1us"}
_FRAMING_1000 = {"payload": "1000B", "header": "48B"}
_FRAMING_4096 = {"payload": "4096B", "header": "64B"}
# 50 and 40 packets of an ingress port; the reference kernel pauses above its XOFF, xoff at it.
_PFC_1000 = {"pfc": {"xoff": "52401B", "xon": "41920B"}}
_PFC_4096 = {"pfc": {"xoff": "208000B", "xon": "166400B"}}
_RED = {"red": {"kmin": "40KB", "kmax": "160KB", "pmax": 0.2}}


def _leaf_spine(leaves: int, *, dcqcn: bool = False) -> dict[str, Any]:
    scenario: dict[str, Any] = {
        "network": {"leaf_spine": {"leaves": leaves, "spines": 16, "hosts_per_leaf": 16, "link": _LINK}},
        "framing": _FRAMING_1000,
        "switch": {"delay": "0ns", "buffer": "unlimited", "flow_control": _PFC_1000, "ecn": _RED},
        "workload": [{"permutation": {"size": "2MB"}}],
    }
    if dcqcn:
        scenario["host"] = {"congestion_control": {"dcqcn": {"preset": "conweave"}}}
    return scenario


def _kernel(leaves: int, size: str) -> dict[str, Any]:
    """The case of the reference kernel: its permutation, and its spine for each flow."""
    hosts = 16 * leaves
    flows = []
    for i in range(hosts):
        j = (i + 16 * (1 + i % (leaves - 1))) % hosts
        via = [f"leaf{i // 16}", f"spine{i * 7 % 16}", f"leaf{j // 16}"]
        flows.append({"src": f"host{i}", "dst": f"host{j}", "size": size, "via": via})
    return _leaf_spine(leaves) | {"workload": [{"flows": flows}]}


def _fat_tree(k: int, size: str) -> dict[str, Any]:
    return {
        "network": {"fat_tree": {"k": k, "link": _LINK}},
        "framing": _FRAMING_4096,
        "switch": {"delay": "0ns", "buffer": "unlimited", "flow_control": _PFC_4096},
        "workload": [{"permutation": {"size": size}}],
    }


def _incast() -> dict[str, Any]:
    scenario = _leaf_spine(8, dcqcn=True)
    scenario["workload"] = [{"incast": {"senders": list(range(64, 128)), "receiver": 0, "size": "2MB"}}]
    return scenario


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "leaf-spine-128": ("128 hosts, permutation of 2 MB, PFC + RED: the reference kernel's own case", _kernel(8, "2MB")),
    "leaf-spine-1024": ("the same with 1024 hosts and 1 MB", _kernel(64, "1MB")),
    "leaf-spine-128-dcqcn": ("128 hosts, permutation of 2 MB, PFC + RED + DCQCN", _leaf_spine(8, dcqcn=True)),
    "fat-tree-128": ("k = 8, permutation of 20.48 MB, PFC", _fat_tree(8, "20.48MB")),
    "fat-tree-1024": ("k = 16, permutation of 8.192 MB, PFC", _fat_tree(16, "8.192MB")),
    "fat-tree-8192": ("k = 32, permutation of 409.6 KB, PFC", _fat_tree(32, "409.6KB")),
    "incast-64": ("64-to-1 of 2 MB, PFC + RED + DCQCN", _incast()),
}


def _queued(size: str) -> dict[str, Any]:
    """Most of what 64 senders send at line rate waits in one queue: 63 of 64 packets at the end of the burst."""
    return {
        "network": {"star": {"hosts": 65, "link": _LINK}},
        "framing": _FRAMING_1000,
        "switch": {"delay": "0ns", "buffer": "unlimited"},
        "host": {"transport": {"go_back_n": {"rto": "10s"}}},
        "workload": [{"incast": {"senders": list(range(1, 65)), "receiver": 0, "size": size}}],
    }


def _waiting(hosts_per_leaf: int) -> dict[str, Any]:
    """Every flow of an all-to-all has started and waits for its turn when the run stops."""
    scenario = _leaf_spine(16)
    scenario["network"]["leaf_spine"]["hosts_per_leaf"] = hosts_per_leaf
    # Rows of the result are no part of what a flow takes while it waits.
    return scenario | {"until": "1ns", "workload": [{"all_to_all": {"size": "1MB"}}], "probe": {"flows": False}}


def measure(scenario: dict[str, Any], threads: int) -> dict[str, Any]:
    """Simulate in this process, without keeping tables; return the summary's performance and the peak memory."""
    resolved = _core.resolve(json.dumps(scenario), "json", [])
    output = _core.run(resolved, {}, threads, None, lambda _name, _stream: None)
    summary = json.loads(output.summary)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    failed = [f"{name}: {state}" for name, state in summary["audits"].items() if state.startswith("failed")]
    performance: dict[str, Any] = summary["performance"]
    return performance | {
        "peak_rss_bytes": peak,
        "flows": summary["flows"]["total"],
        "fingerprint": summary["fingerprint"],
        "failed": failed,
    }


def _in_process(scenario: dict[str, Any], threads: int = 1) -> dict[str, Any]:
    request = json.dumps({"scenario": scenario, "threads": threads})
    done = subprocess.run(
        [sys.executable, "-m", "xoff.bench"], input=request, capture_output=True, text=True, check=False, env=_QUIET
    )
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise InputError(f"bench: {lines[-1]}")
    answer: dict[str, Any] = json.loads(done.stdout)
    if answer["failed"]:
        raise InputError(f"bench: a run violated an audit: {answer['failed'][0]}")
    return answer


def run_case(name: str, repeats: int) -> dict[str, Any]:
    """Measure one case: the best of several runs with one thread, and interleaved with them with two."""
    scenario = CASES[name][1]
    ones, twos = [], []
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    for _ in range(repeats):
        ones.append(_in_process(scenario))
        if cores > 1:
            twos.append(_in_process(scenario, threads=2))
    best = min(ones, key=lambda one: float(one["cpu_seconds"]))
    if any(two["fingerprint"] != best["fingerprint"] for two in twos):
        raise InputError(f"bench: {name} has another fingerprint with two threads")
    hops = best["data_packet_hops"]
    speedup = min(one["wall_seconds"] for one in ones) / min(two["wall_seconds"] for two in twos) if twos else None
    return {
        "name": name,
        "data_packet_hops_per_cpu_second": hops / best["cpu_seconds"],
        "events_per_packet_hop": best["events"] / hops,
        "peak_rss_bytes": best["peak_rss_bytes"],
        "two_thread_speedup": speedup,
        "data_packet_hops": hops,
        "cpu_seconds": best["cpu_seconds"],
        "wall_seconds": best["wall_seconds"],
    }


def memory() -> dict[str, float]:
    """Measure the growth of peak memory by queued packet and by waiting flow."""
    small, large = (_in_process(_queued(size))["peak_rss_bytes"] for size in ("20MB", "40MB"))
    packets = 20_000 * 63
    few, many = (_in_process(_waiting(hosts)) for hosts in (16, 64))
    flows = many["flows"] - few["flows"]
    return {
        "bytes_per_queued_packet": max(large - small, 0) / packets,
        "bytes_per_waiting_flow": max(many["peak_rss_bytes"] - few["peak_rss_bytes"], 0) / flows,
    }


def command(names: Sequence[str], *, repeats: int, list_only: bool, as_json: bool) -> int:
    """Do what ``xoff bench`` does; return its exit code."""
    from xoff import display

    for name in names:
        if name not in CASES:
            raise InputError(f"bench: `{name}` is not a case; the cases are {', '.join(CASES)}")
    if list_only and as_json:
        print(json.dumps({"cases": [{"name": name, "description": text} for name, (text, _) in CASES.items()]}))
        return 0
    if list_only:
        for name, (description, _) in CASES.items():
            print(f"{name:<22}{description}")
        return 0
    by_memory = memory()
    cases = []
    for name in names or CASES:
        display.err.print(f"{name}: {CASES[name][0]}")
        cases.append(run_case(name, repeats) | by_memory)
    if as_json:
        print(json.dumps({"cases": cases}))
        return 0
    table = display.table(
        "case", "packet-hops per CPU-second", "events per packet-hop", "peak memory", "two threads", right=(1, 2, 3, 4)
    )
    for case in cases:
        speedup = case["two_thread_speedup"]
        table.add_row(
            case["name"],
            wording.count(case["data_packet_hops_per_cpu_second"]),
            f"{case['events_per_packet_hop']:.2f}",
            wording.size(case["peak_rss_bytes"]),
            "–" if speedup is None else f"×{speedup:.2f}",
        )
    display.out.print(table)
    per_packet, per_flow = (round(by_memory[key]) for key in ("bytes_per_queued_packet", "bytes_per_waiting_flow"))
    display.out.print(f"memory: {per_packet} bytes a queued packet, {per_flow} bytes a waiting flow")
    return 0


def _child() -> None:
    request = json.load(sys.stdin)
    try:
        print(json.dumps(measure(request["scenario"], request["threads"])))
    except InputError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    _child()
