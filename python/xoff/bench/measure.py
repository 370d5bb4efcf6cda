"""The cost of a case: CPU time, memory, and cache misses.

Every measurement is a separate process, so that memory of a case does not count for the next case; the best of several
runs counts, because machines are noisy. Bytes of a packet, a flow or a port are properties of the simulator and not of
a case: they are measured once, as the growth of peak memory between two runs with different numbers.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from xoff import _core, running
from xoff._core import InputError
from xoff.bench import cases, misses, processes
from xoff.files.memory import peak

# Threads of numerical libraries spin for a while after their start, and would count as CPU time of xoff.
QUIET = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def measure(
    scenario: dict[str, Any], threads: int, out: str | None, *, fast_forward: bool, fold: bool
) -> dict[str, Any]:
    """Simulates in this process; returns the summary's performance, memory and cache misses.

    out: the directory of tables; they are discarded if None.
    fast_forward: whether repeating traffic is fast-forwarded.
    fold: whether one of many equal servers is simulated.
    """
    began = time.process_time()
    with misses.Counter() as counter:
        if out is None:
            resolved, _ = _core.resolve(json.dumps(scenario), "json", [])
            output = _core.run(
                resolved, {}, threads, None, lambda _name, _stream: None, fast_forward=fast_forward, fold=fold
            )
            summary = json.loads(output.summary)
        else:
            summary = running.run(scenario, threads=threads, out=out, fast_forward=fast_forward, fold=fold).summary
    failed = [f"{name}: {state}" for name, state in summary["audits"].items() if state.startswith("failed")]
    performance: dict[str, Any] = summary["performance"]
    return performance | {
        "peak_rss_bytes": performance["peak_rss_bytes"] or peak(),
        "cache_misses": counter.count,
        "call_cpu_seconds": time.process_time() - began,
        "flows": summary["flows"]["total"],
        "fingerprint": summary["fingerprint"],
        "failed": failed,
    }


def child() -> None:
    """Answers the request on standard input."""
    request = json.load(sys.stdin)
    try:
        print(json.dumps(measure(**request)))
    except InputError as error:
        sys.exit(str(error))


def simulated(
    scenario: dict[str, Any],
    threads: int = 1,
    out: Path | None = None,
    *,
    fast_forward: bool = True,
    fold: bool = True,
) -> dict[str, Any]:
    """Measures in a separate process. Raises `InputError` if the process fails or an audit fails."""
    where = None if out is None else str(out)
    request = json.dumps(
        {"scenario": scenario, "threads": threads, "out": where, "fast_forward": fast_forward, "fold": fold}
    )
    done = processes.run([sys.executable, "-m", "xoff.bench"], text=request, environment=QUIET)
    if done.code != 0:
        raise InputError(f"bench: {done.reason()}")
    answer: dict[str, Any] = json.loads(done.output)
    if answer["failed"]:
        raise InputError(f"bench: a run violated an audit: {answer['failed'][0]}")
    return answer


def cores() -> int:
    """Returns the number of threads that can run at a time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def run_case(name: str, repeats: int) -> dict[str, Any]:
    """Measures one case: the best of several runs with one thread, interleaved with runs with two threads."""
    scenario = cases.CASES[name][1]
    ones, twos = [], []
    for _ in range(repeats):
        ones.append(simulated(scenario))
        if cores() > 1:
            twos.append(simulated(scenario, threads=2))
    best = min(ones, key=running_seconds)
    if any(two["fingerprint"] != best["fingerprint"] for two in twos):
        raise InputError(f"bench: {name} has another fingerprint with two threads")
    hops = best["data_packet_hops"]
    counted = [one["cache_misses"] for one in ones if one["cache_misses"] is not None]
    speedup = min(one["wall_seconds"] for one in ones) / min(two["wall_seconds"] for two in twos) if twos else None
    return {
        "name": name,
        "data_packet_hops_per_cpu_second": hops / running_seconds(best),
        "events_per_packet_hop": best["events"] / hops,
        "cache_misses_per_packet_hop": min(counted) / hops if counted else None,
        "peak_rss_bytes": best["peak_rss_bytes"],
        "two_thread_speedup": speedup,
        "data_packet_hops": hops,
        "cpu_seconds": best["cpu_seconds"],
        "build_cpu_seconds": best["build_cpu_seconds"],
        "wall_seconds": best["wall_seconds"],
    }


def running_seconds(performance: dict[str, Any]) -> float:
    """Returns the CPU time of the simulation without building the network."""
    seconds: float = performance["cpu_seconds"] - performance["build_cpu_seconds"]
    return seconds


def memory() -> dict[str, float]:
    """Measures the growth of peak memory for each kind of part of a network or its traffic."""
    small, large = (simulated(cases.queued(size))["peak_rss_bytes"] for size in ("20MB", "40MB"))
    packets = 20_000 * 63

    def by_flow(make: Callable[[int], dict[str, Any]], *hosts_per_leaf: int) -> float:
        few, many = (simulated(make(hosts)) for hosts in hosts_per_leaf)
        grown: int = many["peak_rss_bytes"] - few["peak_rss_bytes"]
        return max(grown, 0) / int(many["flows"] - few["flows"])

    idle, hosts, links = (
        simulated(cases.idle(*sizes))["peak_rss_bytes"]
        for sizes in ((cases.FEW, 1), (cases.MANY, 1), (cases.FEW, cases.MANY // cases.FEW))
    )
    added = cases.LEAVES * (cases.MANY - cases.FEW)
    by_link = max(links - idle, 0) / added
    return {
        # A host comes with its link; a link has memory only at its two ports.
        "bytes_per_host": max(hosts - idle, 0) / added - by_link,
        "bytes_per_port": by_link / 2,
        "bytes_per_link": by_link,
        "bytes_per_queued_packet": max(large - small, 0) / packets,
        "bytes_per_active_flow": by_flow(cases.active, 16, 32),
        "bytes_per_waiting_flow": by_flow(cases.waiting, 16, 64),
    }
