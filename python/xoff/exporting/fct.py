"""Completion times in the format of HPCC's analysis scripts: ``fct.txt``, a line for each delivered flow.

Source: ``qp_finish`` of HPCC's ``third.cc`` and ``analysis/fct_analysis.py``. A line has eight columns: source and
destination as hexadecimal addresses, source and destination port, payload in bytes, start, completion time and ideal
completion time in nanoseconds. The scripts divide the seventh by the eighth, choose flows by the destination port (100,
or 200 for incast), and leave out flows that end after a moment.

There are two differences from HPCC's own file. Its completion times are to the sender's last ACK, and its ideal times
are an estimate from the round trip; here both are to the receiver's last byte (``fct_ps`` and ``ideal_fct_ps``), so the
slowdown of the scripts is that of the table. Undelivered flows are left out.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from xoff._core import InputError
from xoff.exporting.format import Written
from xoff.exporting.rows import Nodes, again, given, rows
from xoff.results import Result, connections

VARIANTS = ("hpcc",)
_NORMAL, _INCAST = 100, 200
_FIRST_PORT = 10_000


def write(result: Result, place: Path, choices: list[str]) -> Written:
    """Writes the completion times of a result."""
    for variant in choices:
        if variant not in VARIANTS:
            raise InputError(f"--fct: `{variant}` is no form of completion times; allowed: {', '.join(VARIANTS)}")
    nodes = Nodes(result)
    incasts = _incasts(result)
    ports: Counter[tuple[str, str]] = Counter()
    carried = connections.ends(result)
    written = left_out = 0
    columns = ("flow", "src", "dst", "workload", "size_bytes", "start_ps", "fct_ps?", "ideal_fct_ps")
    with place.open("w", encoding="ascii") as file:
        for flow, src, dst, workload, size, start, fct, ideal in rows(result, "flows", *columns):
            if fct is None:
                left_out += flow not in carried
                continue
            # HPCC numbers the flows of a pair from 10000 on; a port has 16 bits.
            port = _FIRST_PORT + ports[src, dst] % (2**16 - _FIRST_PORT)
            ports[src, dst] += 1
            ends = f"{_address(nodes.number(src)):08x} {_address(nodes.number(dst)):08x}"
            kind = _INCAST if workload in incasts else _NORMAL
            times = " ".join(str((time + 500) // 1000) for time in (start, fct, ideal))
            file.write(f"{ends} {port} {kind} {size} {times}\n")
            written += 1
    notes = [f"{left_out:,} flows did not end and are left out"] if left_out else []
    if carried:
        notes.append(f"{len(carried):,} connections of jobs are left out: completion times belong to messages")
    if given(result, "probe", "flows") is False:
        notes.append(f"the result has no table of flows; repeat the run: {again(result, 'probe.flows=true')}")
    return Written({"flows": written}, tuple(notes))


def _address(node: int) -> int:
    """Returns the address that HPCC gives to a node."""
    return (0x0B000001 + (node // 256) * 0x10000 + (node % 256) * 0x100) & 0xFFFFFFFF


def _incasts(result: Result) -> set[str]:
    """Returns the names of the workloads that are incasts."""
    workloads = given(result, "workload")
    found = (
        [one for one in workloads if isinstance(one, dict) and "incast" in one] if isinstance(workloads, list) else []
    )
    return {str(one.get("name") or "incast") for one in found}
