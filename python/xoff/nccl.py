"""The table of ``nccl-tests`` for servers and a network on paper.

    import xoff

    rows = xoff.nccl_tests("all_reduce", begin="8", end="16G", servers=2, gpus_per_server=8)
    rows[0]["time_us"], rows[-1]["busbw_GBps"]

Each size is a run of its own: one operation of ``library = "nccl"`` among all GPUs. nccl-tests divides the time of 20
operations in a row by 20, which is the same where the end of an operation overlaps nothing of the next operation.

Without a network file the servers are on a rail-optimised fabric that never blocks: a switch for each NIC of a server,
above the switches as many more as there are servers, cables of 10 m, switches of 300 ns with unlimited buffers, and
packets of 4,096 B.

Source of the columns: nccl-tests (a0b82b2), doc/PERFORMANCE.md and src/alltoall.cu. Limits: docs/models/nccl.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypedDict

from xoff import _core, formatting, running
from xoff._core import InputError

# The operations of nccl-tests, with the operation of a scenario.
OPERATIONS = {
    "all_reduce": "all_reduce",
    "all_gather": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "all_to_all": "all_to_all",
    "broadcast": "broadcast",
    "reduce": "reduce",
    "sendrecv": "send_receive",
}
# Operations whose size is that of the parts of all ranks together.
_SHARED = ("all_gather", "reduce_scatter", "all_to_all")
# The least part of a rank, a number of 4 bytes.
_LEAST_PART = 4
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class Row(TypedDict):
    """A row of the table: times in microseconds, bandwidths in 1e9 bytes a second."""

    bytes: int
    time_us: float
    algbw_GBps: float
    busbw_GBps: float
    algorithm: str
    protocol: str
    channels: int
    predicted_us: float | None
    """The time that NCCL's own model predicts; None for messages between pairs."""


def size_of(text: str | int, key: str) -> int:
    """Returns the bytes of a size as nccl-tests writes sizes: 8, 64K, 16G, in powers of 1,024."""
    found = re.fullmatch(r"\s*(\d{1,15})\s*([KMGT]?)(i?B)?\s*", str(text), re.IGNORECASE)
    if found is None or int(found[1]) == 0:
        raise InputError(f"{key}: {text!r} is no size; give a size such as 8, 64K or 16G")
    return int(found[1]) * _UNITS[found[2].upper()]


def sizes(begin: str | int, end: str | int, factor: int) -> list[int]:
    """Returns the sizes from ``begin`` to ``end``, each ``factor`` times the size before."""
    first, last = size_of(begin, "begin"), size_of(end, "end")
    if factor < 2:
        raise InputError(f"factor: {factor} is out of range; must be at least 2")
    if last < first:
        raise InputError(f"end: {end} is less than begin, {begin}; give at least begin")
    found = []
    while first <= last:
        found.append(first)
        first *= factor
    return found


def fabric(servers: int, gpus: int, nics: int, nic_rate: str) -> dict[str, Any]:
    """Returns a scenario with servers on a rail-optimised fabric that never blocks.

    Where a server has more NICs than GPUs, a link stands for the NICs of a GPU, with the sum of their rates.
    """
    hosts = min(gpus, nics)
    rate = _times(nic_rate, max(1, nics // gpus))
    link = {"rate": rate, "delay": "10m"}
    rail: dict[str, Any] = {"servers": servers, "gpus_per_server": hosts, "rail": link}
    if hosts > 1:
        rail["aggregation"] = {"switches": servers, "link": link}
    return {
        "network": {"rail": rail},
        "switch": {"forwarding_latency": "300ns"},
        "framing": {"payload": "4096B"},
    }


def _times(rate: str, factor: int) -> str:
    if factor == 1:
        return rate
    found = re.fullmatch(r"([0-9.]+)(.*)", rate.strip())
    return rate if found is None else f"{float(found[1]) * factor:g}{found[2]}"


def scenario(
    operation: str,
    *,
    servers: int,
    gpus_per_server: int,
    nics: int,
    nic_rate: str,
    gpu: str,
    cpu: str,
    network: Mapping[str, Any] | None,
    collective: Mapping[str, Any],
    nccl: Mapping[str, Any],
) -> dict[str, Any]:
    """Returns the scenario of an operation, without a size."""
    if operation not in OPERATIONS:
        raise InputError(f"operation: unknown operation {operation!r}; allowed are {', '.join(OPERATIONS)}")
    base = dict(network) if network is not None else fabric(servers, gpus_per_server, nics, nic_rate)
    around = dict(base.get("network", {}))
    if network is None:
        around["servers"] = {"gpus": gpus_per_server, "nics": nics, "gpu": gpu, "cpu": cpu}
    elif "servers" not in around:
        raise InputError("network.servers: missing in the network file; give the servers, such as gpus = 8")
    own = {"library": "nccl", "operation": OPERATIONS[operation], **collective}
    workload: dict[str, Any] = {"collective": own}
    if nccl:
        workload["nccl"] = dict(nccl)
    return {**base, "network": around, "workload": [workload]}


def _document(network: str | Path | Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns a scenario with its defaults filled in, without its workloads."""
    document = running.prepare(network).document
    return {key: value for key, value in document.items() if key not in ("workload", "name")}


def _positive(**counts: int) -> None:
    for key, count in counts.items():
        if count < 1:
            raise InputError(f"{key}: {count} is out of range; must be at least 1")


def _measure(document: Mapping[str, Any], size: int, overrides: running.Overrides, fast_forward: bool) -> Row:
    """Runs one operation of a size."""
    workload = document["workload"][0]
    collective = {**workload["collective"], "size": f"{size}B"}
    prepared = running.prepare({**document, "workload": [{**workload, "collective": collective}]}, overrides=overrides)
    result = running.run_prepared(prepared, fast_forward=fast_forward, keep=())
    found = next(iter(result.summary["workloads"].values()))["collective"]
    return Row(
        bytes=size,
        time_us=(found["time_ps"] or 0) / 1e6,
        algbw_GBps=(found["algorithm_bps"] or 0) / 8e9,
        busbw_GBps=(found["bus_bps"] or 0) / 8e9,
        algorithm=found["algorithm"],
        protocol=found["protocol"] or "",
        channels=found["channels"],
        predicted_us=None if found["predicted_ps"] is None else found["predicted_ps"] / 1e6,
    )


def nccl_tests(
    operation: str = "all_reduce",
    *,
    begin: str | int = "8",
    end: str | int = "16G",
    factor: int = 2,
    servers: int = 2,
    gpus_per_server: int = 8,
    nics: int | None = None,
    nic_rate: str = "400Gbps",
    gpu: str = "h100",
    cpu: str = "intel",
    algorithm: str | None = None,
    protocol: str | None = None,
    version: str | None = None,
    network: str | Path | Mapping[str, Any] | None = None,
    overrides: running.Overrides = (),
    fast_forward: bool = True,
    each: Callable[[Row], None] | None = None,
) -> list[Row]:
    """Returns the table of nccl-tests, a row for each size from ``begin`` to ``end``.

    operation: one of `OPERATIONS`. Sizes count as in nccl-tests: for all_gather, reduce_scatter and all_to_all the
        parts of all ranks together. A size that leaves no 4 bytes for each rank has no row.
    nics: the NICs of a server; if None, one for each GPU.
    algorithm, protocol: force a choice, as ``NCCL_ALGO`` and ``NCCL_PROTO`` do.
    network: a scenario whose network, switches and hosts take the place of the servers and of the fabric. Its
        workloads are not run.
    overrides: settings for each run, as ``--set`` takes settings.
    each: called with each row as the row is measured.

    Raises `InputError` if the input is bad.
    """
    nics = gpus_per_server if nics is None else nics
    _positive(servers=servers, gpus_per_server=gpus_per_server, nics=nics)
    collective: dict[str, Any] = {} if algorithm is None else {"algorithm": algorithm}
    nccl = {key: value for key, value in (("protocol", protocol), ("version", version)) if value is not None}
    document = scenario(
        operation,
        servers=servers,
        gpus_per_server=gpus_per_server,
        nics=nics,
        nic_rate=nic_rate,
        gpu=gpu,
        cpu=cpu,
        network=None if network is None else _document(network),
        collective=collective,
        nccl=nccl,
    )
    rows: list[Row] = []
    grain = _ranks(document) * _LEAST_PART if operation in _SHARED else 1
    for size in sizes(begin, end, factor):
        if size >= grain:
            row = _measure(document, size - size % grain, overrides, fast_forward)
            rows.append(row)
            if each is not None:
                each(row)
    return rows


def _ranks(document: Mapping[str, Any]) -> int:
    """Returns the number of GPUs of a network."""
    workload = {"collective": {**document["workload"][0]["collective"], "operation": "all_reduce", "size": "64KiB"}}
    servers = document["network"]["servers"]
    hosts = json.loads(_core.check(running.prepare({**document, "workload": [workload]}).resolved, {}))["network"][
        "hosts"
    ]
    per_server = min(servers["gpus"], servers.get("nics") or servers["gpus"])
    return int(hosts // per_server * servers["gpus"])


def command(*, as_json: bool, **arguments: Any) -> None:
    """Prints the table of ``xoff nccl-tests``: row by row, or as one JSON list."""
    if as_json:
        print(json.dumps(nccl_tests(**arguments)))
        return
    where = arguments["network"] or "a rail-optimised fabric that never blocks"
    print(f"# {arguments['operation']} on {formatting.plain(str(where))}")
    print(f"#{'size':>13} {'time':>12} {'algbw':>8} {'busbw':>8}  {'algorithm':<10}{'protocol':<9}{'channels':>8}")
    print(f"#{'(B)':>13} {'(us)':>12} {'(GB/s)':>8} {'(GB/s)':>8}")
    rows = nccl_tests(**arguments, each=lambda row: print(_line(row), flush=True))
    if not rows:
        raise InputError(f"end: {arguments['end']} leaves no 4 bytes for each rank; give a larger size")


def _line(row: Row) -> str:
    """Returns a row as a line of the table."""
    time = f"{row['time_us']:.2f}" if row["time_us"] < 1e5 else f"{row['time_us']:.0f}"
    return (
        f"{row['bytes']:>14} {time:>12} {row['algbw_GBps']:>8.2f} {row['busbw_GBps']:>8.2f}  "
        f"{row['algorithm']:<10}{row['protocol']:<9}{row['channels']:>8}"
    )
