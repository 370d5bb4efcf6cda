"""Comparison of xoff with the reference kernel, a program for one case that shows the attainable speed.

The kernel is a Cargo package with one program, ``HOSTS PACKETS THREADS WINDOW_PS FLAGS``: leaves of 16 hosts and 16
spines, 100 Gb/s and 1 us, a flow of PACKETS packets of 1048 bytes from each host to a host behind another leaf, four
hops for each packet. The program prints the events and the events per packet-hop; the packet-hops must equal those of
xoff's case. CPU time is the process's, less the CPU time of a process without packets, which builds the same network;
xoff measures the building separately.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

from rich.markup import escape

from xoff import display, formatting
from xoff._core import InputError
from xoff.bench import building, processes
from xoff.bench.cases import CASES
from xoff.bench.measure import running_seconds, simulated
from xoff.bench.ratio import Ratio, in_turn

# The case of xoff, hosts, and packets per flow.
_CASES = (("leaf-spine-128", 128, 2000), ("leaf-spine-1024", 1024, 1000))
_HOPS_A_PACKET = 4
_WINDOW_PS = 1_000_000
_PFC_AND_RED = 3
# Hosts are placed with their leaf, as in xoff: the faster placement of the kernel.
_PLACEMENT = {"GROUP": "1"}
_ANSWER = re.compile(r"ev/hop ([0-9.]+) evs ([0-9]+)")


def kernel(source: Path, pairs: int) -> list[dict[str, Any]]:
    """Builds the kernel and measures both of its cases; returns the content of ``--json``.

    Raises `InputError` if the directory is not the kernel's package, or the build fails.
    """
    what = f"bench --kernel: {formatting.plain(str(source))}"
    if not (source / "Cargo.toml").is_file():
        raise InputError(f"{what} is no Cargo package; give the directory of the reference kernel's Cargo.toml")
    with building.workplace() as place:
        # Cargo writes beside a Cargo.toml, and the directory is the user's.
        copy = place / "kernel"
        shutil.copytree(source, copy, ignore=shutil.ignore_patterns("target", ".git"))
        display.err.print("building the kernel")
        made = building.cargo(copy, place / "target", what=what)
        programs = [Path(one["executable"]) for one in made if one.get("executable")]
        if len(programs) != 1:
            raise InputError(f"{what} makes {len(programs)} programs; the reference kernel is one")
        return [_measured(programs[0], what, *case, pairs=pairs) for case in _CASES]


def _measured(program: Path, what: str, name: str, hosts: int, packets: int, *, pairs: int) -> dict[str, Any]:
    hops = _HOPS_A_PACKET * hosts * packets

    def theirs() -> float:
        building_alone = _run(program, what, hosts, 0).cpu_seconds
        done = _run(program, what, hosts, packets)
        answer = _ANSWER.search(done.output)
        if answer is None or abs(int(answer[2]) / hops - float(answer[1])) > 0.006:
            raise InputError(f"{what}: the answer does not equal {hops} packet-hops of the reference kernel's case")
        return hops / max(done.cpu_seconds - building_alone, 1e-9)

    def ours() -> float:
        done = simulated(CASES[name][1])
        if done["data_packet_hops"] != hops:
            raise InputError(f"bench: {name} has {done['data_packet_hops']} packet-hops, and the kernel {hops}")
        return hops / running_seconds(done)

    display.err.print(f"{name}: {escape(CASES[name][0])}")
    speeds = in_turn(pairs, ours, theirs)
    best_ours, best_theirs = (max(one) for one in zip(*speeds, strict=True))
    return {
        "name": name,
        "data_packet_hops": hops,
        "data_packet_hops_per_cpu_second": best_ours,
        "kernel_data_packet_hops_per_cpu_second": best_theirs,
        "ratio": Ratio([mine / yours for mine, yours in speeds]).as_json(),
    }


def _run(program: Path, what: str, hosts: int, packets: int) -> processes.Done:
    words: list[str | Path] = [program, *map(str, (hosts, packets, 1, _WINDOW_PS, _PFC_AND_RED))]
    done = processes.run(words, environment=os.environ | _PLACEMENT)
    if done.code != 0:
        raise InputError(f"{what} does not run: {done.reason()}")
    return done
