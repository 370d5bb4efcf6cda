"""Runs cases in xoff and in the simulator that a congestion control comes from, and compares completion times.

    python tools/agreement.py list
    python tools/agreement.py write out/cases hpcc-dcqcn-tree
    python tools/agreement.py run --peers PEERS --out out/agreement hpcc-dcqcn-tree uec-nscc-incast-8
    python tools/agreement.py compare out/agreement/CASE/seed-1/fct.txt out/agreement/CASE/xoff/seed-1

PEERS holds the programs, built as docs/beside-others.md describes, in the directories `hpcc`, `conweave` and `htsim`
(with the target `htsim_ndp`). Output of another program is kept: a case with such output runs only in xoff. A
completion time ends with the last ACK at the sender.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq
from beside_others import fat_tree, write_htsim

# Start of traffic in the ns-3 simulators.
BEGIN_NS = 2 * 10**9
# Largest allowed relative differences of means, and of 99th percentiles.
BOUNDS = (0.01, 0.03)

Key = tuple[int, ...]
Times = dict[Key, float]
"""Completion times in nanoseconds, by source, destination, and other values that identify a flow."""


@dataclass(frozen=True)
class Flow:
    """A flow between two hosts."""

    src: int
    dst: int
    size: int
    start_ns: int = 0


@dataclass(frozen=True)
class Network:
    """A network whose hosts are numbered first; a link is its two nodes and Gb/s."""

    hosts: int
    switches: int
    links: list[tuple[int, int, int]]


def star(hosts: int) -> Network:
    """Returns hosts around one switch."""
    return Network(hosts, 1, [(host, hosts, 100) for host in range(hosts)])


def fat() -> Network:
    """Returns the fat tree of docs/beside-others.md."""
    hosts, switches, links = fat_tree(8)
    return Network(hosts, switches, [(*link, 100) for link in links])


# Sizes as in a search cluster: each with the share of flows up to it, uniform in between.
_SIZES = (
    *((0, 0.0), (10_000, 0.15), (20_000, 0.2), (30_000, 0.3), (50_000, 0.4), (80_000, 0.53)),
    *((200_000, 0.6), (1_000_000, 0.7), (2_000_000, 0.8), (5_000_000, 0.9), (10_000_000, 0.97), (30_000_000, 1.0)),
)


def search(hosts: int, count: int, load: float, seed: int) -> list[Flow]:
    """Returns flows between random hosts, at random times that give the load of the hosts' links."""
    drawn = random.Random(seed)  # noqa: S311 - nothing here is a secret
    steps = list(pairwise(_SIZES))
    mean = sum((high[0] + low[0]) / 2 * (high[1] - low[1]) for low, high in steps)
    gap_ns = mean * 8 / (hosts * 100 * load)
    found, start = [], 0.0
    for _ in range(count):
        start += drawn.expovariate(1 / gap_ns)
        src, dst = drawn.sample(range(hosts), 2)
        share = drawn.random()
        low, high = next(step for step in steps if share <= step[1][1])
        size = low[0] + (high[0] - low[0]) * (share - low[1]) / (high[1] - low[1])
        found.append(Flow(src, dst, max(1, round(size)), round(start / 10) * 10))
    return found


def incast(senders: int, size: int, dst: int) -> list[Flow]:
    """Returns an incast from hosts 0 to `senders` - 1, which begins at once."""
    return [Flow(src, dst, size) for src in range(senders)]


@dataclass(frozen=True)
class Traffic:
    """A network of links of 1 us, and its flows by the seed of a run."""

    network: Network
    flows: Callable[[int], list[Flow]]


def tree(racks: int, hosts: int, uplink: int) -> Network:
    """Returns racks below one switch: one path between two hosts, without a hash that decides on collisions."""
    first = racks * hosts
    links = [(host, first + host // hosts, 100) for host in range(first)]
    return Network(first, racks + 1, [*links, *((first + rack, first + racks, uplink) for rack in range(racks))])


def pairs(count: int) -> list[Flow]:
    """Returns two flows to each of `count` hosts, the second later, with a delay that grows from pair to pair."""
    return [
        Flow(3 * pair + which, 3 * pair + 2, 5_000_000, which * (100_000 + 1_130 * pair))
        for pair in range(count)
        for which in (0, 1)
    ]


def incasts(count: int, senders: int, size: int, seed: int) -> list[Flow]:
    """Returns `count` incasts, whose flows begin within a microsecond."""
    drawn = random.Random(seed)  # noqa: S311
    group = senders + 1
    return [
        Flow(first + sender, first + senders, size, drawn.randrange(0, 1000, 10))
        for first in range(0, count * group, group)
        for sender in range(senders)
    ]


# By the names of cases. Starts are whole nanoseconds in ns-3, and whole microseconds in htsim. With randomly drawn
# marks, few flows show little, so small networks are repeated.
_HPCC_TRAFFIC = {
    "pairs": Traffic(star(48), lambda _: pairs(16)),
    "incasts": Traffic(star(102), lambda seed: incasts(6, 16, 200_000, seed)),
    "tree": Traffic(tree(4, 8, 400), lambda seed: search(32, 400, 0.5, seed)),
}
# ConWeave's program supports only links of 1 us, and derives the bandwidth-delay product from the name of a topology:
# this name is that of four links of 100 Gb/s.
_CONWEAVE_TOPOLOGY = "leaf_spine_128_100G_OS2.txt"
_CONWEAVE_TRAFFIC = {
    "pairs": Traffic(tree(48, 1, 100), lambda _: pairs(16)),
    "incasts": Traffic(tree(27, 1, 100), lambda seed: incasts(3, 8, 200_000, seed)),
    "bursts": Traffic(tree(102, 1, 100), lambda seed: incasts(6, 16, 200_000, seed)),
    "tree": Traffic(tree(16, 2, 100), lambda seed: search(32, 400, 0.3, seed)),
}
_LATE = [Flow(0, 127, 20_000_000), Flow(32, 127, 20_000_000), Flow(64, 127, 4_000_000, 500_000)]
_HTSIM_TRAFFIC = {
    "single": Traffic(fat(), lambda _: [Flow(0, 64, 2_000_000)]),
    "incast-8": Traffic(fat(), lambda _: incast(8, 2_000_000, 127)),
    "incast-64": Traffic(fat(), lambda _: incast(64, 1_000_000, 127)),
    "late": Traffic(fat(), lambda _: _LATE),
    "permutation": Traffic(fat(), lambda _: [Flow(host, (host + 64) % 128, 2_000_000) for host in range(128)]),
}


@dataclass(frozen=True)
class Case:
    """A case of the table: network, flows, and the settings of both programs."""

    name: str
    peer: Peer
    traffic: Traffic
    settings: Mapping[str, str]
    """Settings of the other program: of its file, or its options."""
    xoff: Mapping[str, str] = field(default_factory=dict)
    """Settings of xoff in addition to the import."""
    seeds: int = 1
    """Number of runs with different seeds that are evaluated together, if flows or marks are random."""


@dataclass(frozen=True)
class Peer:
    """Another program: the function that writes the files of a run with a seed, and the command."""

    name: str
    write: Callable[[Case, Path, int], None]
    command: Callable[[Case, Path], list[str]]
    imported: tuple[str, ...]
    """The arguments of `xoff import`."""
    library: str = ""


def _settings(text: str) -> dict[str, str]:
    """Returns settings in the format of the ns-3 programs: a key and its value on each line."""
    lines = (line.partition(" ") for line in text.split("\n") if line)
    return {key: value for key, _, value in lines}


# Settings that no case changes; of the programs' output, only completion times are kept.
_BOTH = """
FLOW_FILE flows.txt
FCT_OUTPUT_FILE fct.txt
PFC_OUTPUT_FILE /dev/null
QLEN_MON_FILE /dev/null
PACKET_PAYLOAD_SIZE 1003
USE_DYNAMIC_PFC_THRESHOLD 1
ENABLE_QCN 1
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
CLAMP_TARGET_RATE 0
RP_TIMER 300
FAST_RECOVERY_TIMES 1
EWMA_GAIN 0.00390625
DCTCP_RATE_AI 1000Mb/s
ERROR_RATE_PER_LINK 0.0000
L2_CHUNK_SIZE 4000
L2_ACK_INTERVAL 1
L2_BACK_TO_ZERO 0
GLOBAL_T 1
HAS_WIN 0
VAR_WIN 0
FAST_REACT 0
U_TARGET 0.95
MI_THRESH 0
INT_MULTI 1
MULTI_RATE 0
SAMPLE_FEEDBACK 0
RATE_BOUND 1
LINK_DOWN 0 0 0
"""
_HPCC = _settings(f"""{_BOTH}
TOPOLOGY_FILE topology.txt
TRACE_FILE trace.txt
TRACE_OUTPUT_FILE /dev/null
ENABLE_TRACE 0
QLEN_MON_START 2000000000
QLEN_MON_END 2000000000
SIMULATOR_STOP_TIME 2.1
MIN_RATE 1000Mb/s
ACK_HIGH_PRIO 0
BUFFER_SIZE 32
PINT_LOG_BASE 1.01
PINT_PROB 1.0
KMIN_MAP 2 100000000000 400 400000000000 1600
KMAX_MAP 2 100000000000 1600 400000000000 6400
PMAX_MAP 2 100000000000 0.20 400000000000 0.20
""")
_CONWEAVE = _settings(f"""{_BOTH}
TOPOLOGY_FILE {_CONWEAVE_TOPOLOGY}
FLOW_INPUT_FILE /dev/null
CNP_OUTPUT_FILE /dev/null
VOQ_MON_FILE /dev/null
VOQ_MON_DETAIL_FILE /dev/null
UPLINK_MON_FILE /dev/null
CONN_MON_FILE /dev/null
EST_ERROR_MON_FILE /dev/null
SW_MONITORING_INTERVAL 100000000
FLOWGEN_START_TIME 2.0
FLOWGEN_STOP_TIME 2.1
LB_MODE 0
ENABLE_PFC 1
ENABLE_IRN 0
MIN_RATE 100Mb/s
BUFFER_SIZE 9
KMIN_MAP 2 100000000000 100 400000000000 100
KMAX_MAP 2 100000000000 400 400000000000 400
PMAX_MAP 2 100000000000 0.2 400000000000 0.2
""")
_WINDOW = {"HAS_WIN": "1", "VAR_WIN": "1"}
# Frames of 1051 or 1101 B take little more than whole nanoseconds at 100 and at 400 Gb/s; ns-3 truncates the rest.
_TELEMETRY = _WINDOW | {"RATE_AI": "40Mb/s", "RATE_HAI": "40Mb/s", "FAST_REACT": "1", "INT_MULTI": "4"}
_INT = _TELEMETRY | {"CC_MODE": "3", "PACKET_PAYLOAD_SIZE": "1011"}
_TIMELY = {"CC_MODE": "7", "RATE_AI": "100Mb/s", "RATE_HAI": "500Mb/s", "PACKET_PAYLOAD_SIZE": "995"}
_DCTCP = _WINDOW | _settings("""
CC_MODE 8
RATE_AI 10Mb/s
RATE_HAI 10Mb/s
EWMA_GAIN 0.0625
DCTCP_RATE_AI 615Mb/s
KMIN_MAP 2 100000000000 300 400000000000 1200
KMAX_MAP 2 100000000000 300 400000000000 1200
PMAX_MAP 2 100000000000 1.00 400000000000 1.00
""")
_NONE = {"CC_MODE": "0", "ENABLE_QCN": "0", "RATE_AI": "20Mb/s", "RATE_HAI": "200Mb/s", "ACK_HIGH_PRIO": "1"}
# The settings of HPCC's run.py for each congestion control at 100 Gb/s.
_OF_HPCC: dict[str, dict[str, str]] = {
    "none": _NONE,
    "dcqcn": {"CC_MODE": "1", "RATE_AI": "20Mb/s", "RATE_HAI": "200Mb/s", "ACK_HIGH_PRIO": "1"},
    "hpcc": _INT,
    "hpcc-fine": _INT | {"INT_MULTI": "1"},
    "timely": _TIMELY | {"ACK_HIGH_PRIO": "1"},
    "timely-window": _TIMELY | _WINDOW | {"ACK_HIGH_PRIO": "1"},
    "dctcp": _DCTCP,
    "pint": _TELEMETRY | {"CC_MODE": "10", "PACKET_PAYLOAD_SIZE": "1001"},
}
# ConWeave's run.py has settings only for DCQCN: the others are HPCC's, with the remaining settings of ConWeave. With
# TIMELY a frame has 1063 B, since payloads below 1000 B would change the bandwidth-delay product.
_DCQCN = {"CC_MODE": "1", "RATE_AI": "40Mb/s", "RATE_HAI": "100Mb/s"}
_OF_CONWEAVE: dict[str, dict[str, str]] = {
    "dcqcn": _DCQCN,
    "irn": _DCQCN | {"ENABLE_PFC": "0", "ENABLE_IRN": "1"},
    "hpcc": _INT,
    "hpcc-fine": _INT | {"INT_MULTI": "1"},
    "timely": _TIMELY | {"PACKET_PAYLOAD_SIZE": "1007"},
    "dctcp": _DCTCP,
}

# Of htsim: packets of 4086 + 64 B; queues and marks as its programs compute them for the 14.02 us of the fat tree.
# htsim_ndp refuses a topology whose file gives no queues; without a file it has the same fat tree.
_TOPOLOGY = {"-topo": "topology.topo"}
_FRAMING = {"framing.payload": "4086B", "framing.header": "64B"}
_MARKS = 'ecn={red={kmin="37350B", kmax="145250B", pmax=1.0}}'
_TRIMMING = 'trimming={limit="178450B", headers="356900B", turns=255}'
# 64 entropy values per flow, which each switch hashes.
_ENTROPIES = '{spray={choice="entropy"}}'
_SELECTIVE = 'transport={selective={rto="100.656us", sack_threshold="16KiB"}}'
# If receivers grant credit, links to hosts mark no packet. With credit only, no sender reads marks.
_NO_MARKS = '{switches=["* -> host*"], ecn={red={kmin="1GB", kmax="2GB"}}}'
_OF_UEC: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "nscc": (
        {**_TOPOLOGY, "-sender_cc_only": "", "-load_balancing_algo": "reps"},
        {
            "switch": f"{{{_TRIMMING}, {_MARKS}, routing={{reps={{}}}}}}",
            "host": f"{{{_SELECTIVE}, congestion_control={{nscc={{}}}}}}",
        },
    ),
    "nscc-drop": (
        {**_TOPOLOGY, "-sender_cc_only": "", "-load_balancing_algo": "oblivious", "-disable_trim": ""},
        {
            "switch": f'{{buffer={{per_port="892250B"}}, {_MARKS}, routing={_ENTROPIES}}}',
            "host": '{transport={selective={rto="443.28us", sack_threshold="16KiB"}}, congestion_control={nscc={}}}',
        },
    ),
    "rccc": (
        {**_TOPOLOGY, "-receiver_cc_only": "", "-load_balancing_algo": "oblivious"},
        {
            "switch": f"{{{_TRIMMING}, routing={_ENTROPIES}}}",
            "host": f"{{{_SELECTIVE}, congestion_control={{rccc={{}}}}}}",
        },
    ),
    "both": (
        {**_TOPOLOGY, "-sender_cc_algo": "nscc", "-receiver_cc": "", "-load_balancing_algo": "oblivious"},
        {
            "switch": f"{{{_TRIMMING}, {_MARKS}, overrides=[{_NO_MARKS}], routing={_ENTROPIES}}}",
            "host": f"{{{_SELECTIVE}, congestion_control={{nscc={{}}, rccc={{}}}}}}",
        },
    ),
}
_OF_NDP = (
    {"-strat": "perm", "-nodes": "128", "-mtu": "4086", "-q": "8", "-cwnd": "15"},
    {
        "switch": '{trimming={limit="32688B", headers="65376B", return_to_sender=false}, routing={spray={}}}',
        "host": '{transport={ndp={window=15, rto="50ms"}}}',
    },
)


def _write_ns3(case: Case, directory: Path, seed: int) -> None:
    """Writes topology, flows and settings, and a file of nodes to trace, which is required and empty."""
    network = case.traffic.network
    first, last = network.hosts, network.hosts + network.switches
    topology = [f"{last} {network.switches} {len(network.links)}", " ".join(map(str, range(first, last)))]
    topology += [f"{a} {b} {rate}Gbps 1000ns 0.000000" for a, b, rate in network.links]
    _write(directory / case.settings["TOPOLOGY_FILE"], topology)
    port = " 100" if case.peer is HPCC else ""
    flows = [
        f"{one.src} {one.dst} 3{port} {one.size} {(BEGIN_NS + one.start_ns) / 1e9:.9f}"
        for one in case.traffic.flows(seed)
    ]
    _write(directory / "flows.txt", [str(len(flows)), *flows])
    _write(directory / "trace.txt", ["0"])
    _write(directory / "config.txt", [f"{key} {value}" for key, value in case.settings.items()])


def _write_htsim(case: Case, directory: Path, seed: int) -> None:
    """Writes the matrix, and the topology of docs/beside-others.md."""
    write_htsim(directory, 8, 1)
    (directory / "htsim-128.topo").rename(directory / "topology.topo")
    (directory / "htsim-128.cm").unlink()
    # Starts are microseconds in one program and picoseconds in the other.
    flows = [
        f"{one.src}->{one.dst} id {number} "
        f"start {one.start_ns // 1000 if case.peer is UEC else one.start_ns * 1000} size {one.size}"
        for number, one in enumerate(case.traffic.flows(seed), 1)
    ]
    _write(directory / "flows.cm", [f"Nodes {case.traffic.network.hosts}", f"Connections {len(flows)}", *flows])


def _write(file: Path, lines: Iterable[str]) -> None:
    file.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def _htsim_command(program: str) -> Callable[[Case, Path], list[str]]:
    def command(case: Case, peers: Path) -> list[str]:
        binary = peers / "htsim/htsim/sim/build/datacenter" / program
        options = [word for option in case.settings.items() for word in option if word]
        return [str(binary), "-tm", "flows.cm", "-o", "log.dat", "-end", "100000", *options]

    return command


HPCC = Peer(
    "hpcc",
    _write_ns3,
    lambda _, peers: [str(peers / "hpcc/simulation/build/scratch/third"), "config.txt"],
    ("hpcc", "topology.txt", "flows.txt", "config.txt"),
    "hpcc/simulation/build",
)
CONWEAVE = Peer(
    "conweave",
    _write_ns3,
    lambda _, peers: [str(peers / "conweave/build/scratch/network-load-balance"), "config.txt"],
    ("hpcc", _CONWEAVE_TOPOLOGY, "flows.txt", "config.txt"),
    "conweave/build",
)
UEC = Peer(
    "uec", _write_htsim, _htsim_command("htsim_uec"), ("htsim", "flows.cm", "topology.topo", "--start-unit", "us")
)
NDP = Peer(
    "ndp", _write_htsim, _htsim_command("htsim_ndp"), ("htsim", "flows.cm", "topology.topo", "--start-unit", "ps")
)


# Marks are drawn between two thresholds; DCTCP has one threshold, and other controls have none.
_DRAWN = ("dcqcn", "irn")


def _cases() -> Iterator[Case]:
    for peer, base, controls, networks in (
        (HPCC, _HPCC, _OF_HPCC, _HPCC_TRAFFIC),
        (CONWEAVE, _CONWEAVE, _OF_CONWEAVE, _CONWEAVE_TRAFFIC),
    ):
        for network, traffic in networks.items():
            for name, settings in controls.items():
                # ns-3 truncates times to nanoseconds: an ACK of 60 B takes 4 ns, as an ACK of 50 B should.
                xoff = {} if settings["CC_MODE"] == "3" else {"framing.control_frame_size": "50B"}
                # With random marks, the tails of few draws of such sizes show little.
                seeds = (16 if name in _DRAWN else 4) if network == "tree" else 5 if name in _DRAWN else 1
                yield Case(f"{peer.name}-{name}-{network}", peer, traffic, base | settings, xoff, seeds)
    for network, traffic in _HTSIM_TRAFFIC.items():
        for name, (options, sets) in _OF_UEC.items():
            yield Case(f"uec-{name}-{network}", UEC, traffic, options, _FRAMING | sets, 8)
        yield Case(f"ndp-{network}", NDP, traffic, _OF_NDP[0], _FRAMING | _OF_NDP[1], 8)


CASES = {case.name: case for case in _cases()}


_FLOW_OF_NS3 = re.compile(r"([0-9a-f]+) ([0-9a-f]+) \d+ \d+ (\d+) (\d+) (\d+) \d+")
_EVENT_OF_HTSIM = re.compile(r"(?:Flow|startflow) \w*?_(\d+)_(\d+) .*?\b(finished at|at) ([0-9.e+]+)")


def read_other(file: Path) -> Times:
    """Returns the completion times in the output of another program."""
    text = file.read_text("utf-8", "replace")
    found: Times = {}
    starts: Times = {}
    for line in text.splitlines():
        if match := _FLOW_OF_NS3.fullmatch(line):
            src, dst = map(_node, match.groups()[:2])
            size, start, lasted = map(int, match.groups()[2:])
            found[src, dst, size, _tens(start - BEGIN_NS)] = lasted
        elif match := _EVENT_OF_HTSIM.match(line):
            key = int(match[1]), int(match[2])
            at = float(match[4]) * 1000
            if match[3] == "at":
                starts[key] = at
            else:
                found[key] = at - starts[key]
    return found


def _tens(start_ns: float) -> int:
    """Returns a start in tens of nanoseconds: a start in seconds may be read as a nanosecond less."""
    return round(start_ns / 10)


def _node(word: str) -> int:
    """Returns the number of a host; HPCC writes an address that contains it."""
    return int(word, 16) >> 8 & 0xFFFF if len(word) == 8 else int(word)


def read_xoff(directory: Path, *, is_ns3: bool) -> Times:
    """Returns the completion times of a result directory, by the keys of the other program."""
    columns = ["src", "dst", "size_bytes", "start_ps", "fct_acked_ps"]
    found: Times = {}
    for row in pq.read_table(directory / "flows.parquet", columns=columns).to_pylist():
        if row["fct_acked_ps"] is None:
            continue
        key: Key = tuple(int(row[end].lstrip("host")) for end in ("src", "dst"))
        if is_ns3:
            key = (*key, row["size_bytes"], _tens(row["start_ps"] / 1000))
        found[key] = row["fct_acked_ps"] / 1000
    return found


def _percentile(times: Iterable[float], share: float) -> float:
    ranked = sorted(times)
    return ranked[max(0, math.ceil(share * len(ranked)) - 1)]


_MEASURES: dict[str, Callable[[list[float]], float]] = {
    "mean": lambda times: sum(times) / len(times),
    "p50": lambda times: _percentile(times, 0.5),
    "p99": lambda times: _percentile(times, 0.99),
    "max": max,
}
_HEAD = f"{'case':<28} {'flows':>11}" + "".join(f" {name + ' us':>21} {'ratio':>7}" for name in _MEASURES)


def compared(name: str, other: Times, xoff: Times) -> str:
    """Returns one line: measures of the other program and of xoff, and ratios; a star marks one beyond its bound."""
    line = f"{name:<28} {len(other):>5}/{len(xoff):<5}"
    if not other or not xoff:
        return f"{line} nothing to compare"
    for measure, (of, bound) in zip(_MEASURES, ((_MEASURES[key], _bound(key)) for key in _MEASURES), strict=True):
        there, here = of(list(other.values())) / 1000, of(list(xoff.values())) / 1000
        star = "*" if bound and abs(here / there - 1) > bound else " "
        line += f" {there:>10.2f} {here:>10.2f} {here / there:>6.4f}{star if measure else ''}"
    return line


def _bound(measure: str) -> float | None:
    return {"mean": BOUNDS[0], "p99": BOUNDS[1]}.get(measure)


def differences(other: Times, xoff: Times, count: int) -> Iterator[str]:
    """Yields the flows with the largest relative differences, and the flows missing on a side."""
    both = sorted(other.keys() & xoff.keys(), key=lambda key: -abs(math.log(xoff[key] / other[key])))
    for key in both[:count]:
        there, here = other[key] / 1000, xoff[key] / 1000
        yield f"    {key[0]:>4} -> {key[1]:<4} {key[2:]!s:<26} {there:>10.2f} {here:>10.2f} {here / there:>7.4f}"
    for where, keys in (("there", other.keys() - xoff.keys()), ("here", xoff.keys() - other.keys())):
        if keys:
            yield f"    only {where}: {len(keys)}, such as {min(keys)}"


def _run_peer(case: Case, peers: Path, directory: Path, seed: int) -> Path:
    """Runs the other program unless its output exists; returns the file with completion times."""
    said = directory / "said.txt"
    answer = directory / "fct.txt" if case.peer.library else said
    if not (directory / "seconds.txt").exists():
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        case.peer.write(case, directory, seed)
        command, environment = case.peer.command(case, peers), dict(os.environ)
        if case.peer.library:
            environment |= {"LD_LIBRARY_PATH": str(peers / case.peer.library), "NS_GLOBAL_VALUE": f"RngRun={seed}"}
        else:
            command += ["-seed", str(seed)]
        began = time.monotonic()
        with said.open("w", encoding="utf-8") as output:
            subprocess.run(command, cwd=directory, env=environment, stdout=output, stderr=subprocess.STDOUT, check=True)
        _write(directory / "seconds.txt", [f"{time.monotonic() - began:.1f}"])
    return answer


def _run_xoff(case: Case, command: list[str], files: list[Path], directory: Path, more: list[str]) -> Iterator[Path]:
    """Imports the files of each run of the other program and runs them in xoff; yields the result directories."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    directory = directory.resolve()
    sets = [word for key, value in case.xoff.items() for word in ("--set", f"{key}={value}")]
    sets += [word for one in more for word in ("--set", one)]
    with (directory / "said.txt").open("w", encoding="utf-8") as output:
        for seed, inputs in enumerate(files, 1):
            scenario, result = directory / f"scenario-{seed}", directory / f"seed-{seed}"
            imported = [*command, "import", *case.peer.imported, "--out", str(scenario)]
            run = [*command, "run", str(scenario / "scenario.toml"), "--seed", str(seed), *sets, "--out", str(result)]
            for words, place in ((imported, inputs), (run, None)):
                subprocess.run(words, cwd=place, stdout=output, stderr=subprocess.STDOUT, check=True)
            yield result


def _together(runs: Iterable[Times]) -> Times:
    """Returns the flows of all runs, identified by their seeds."""
    return {(*key, seed): lasted for seed, times in enumerate(runs, 1) for key, lasted in times.items()}


def _run(chosen: argparse.Namespace) -> int:
    print(_HEAD)
    failed = 0
    for name in chosen.cases or CASES:
        case, directory = CASES[name], chosen.out / name
        try:
            seeds = range(1, case.seeds + 1)
            answers = [_run_peer(case, chosen.peers.resolve(), directory / f"seed-{seed}", seed) for seed in seeds]
            if chosen.peer_only:
                continue
            command = shlex.split(chosen.xoff)
            files = [one.parent for one in answers]
            here = _run_xoff(case, command, files, directory / chosen.label, chosen.set)
            xoff = _together(read_xoff(one, is_ns3=bool(case.peer.library)) for one in here)
            other = _together(read_other(one) for one in answers)
        except (OSError, subprocess.CalledProcessError) as wrong:
            print(f"{name:<28} {wrong}", flush=True)
            failed += 1
            continue
        print(compared(name, other, xoff), flush=True)
        for line in differences(other, xoff, chosen.flows):
            print(line)
    return 1 if failed else 0


def _compare(chosen: argparse.Namespace) -> int:
    other = read_other(chosen.other)
    xoff = read_xoff(chosen.xoff, is_ns3=any(len(key) > 2 for key in other))
    print(_HEAD)
    print(compared(chosen.xoff.name, other, xoff))
    for line in differences(other, xoff, chosen.flows):
        print(line)
    return 0


def _write_cases(chosen: argparse.Namespace) -> int:
    for name in chosen.cases or CASES:
        directory = chosen.directory / name
        directory.mkdir(parents=True)
        CASES[name].peer.write(CASES[name], directory, 1)
        words = CASES[name].peer.command(CASES[name], Path("PEERS"))
        print(f"{name}: {shlex.join(words)}")
    return 0


def _list(_: argparse.Namespace) -> int:
    for case in CASES.values():
        hosts, flows = case.traffic.network.hosts, len(case.traffic.flows(1))
        print(f"{case.name:<28} {hosts:>4} hosts {flows:>4} flows {case.seeds:>2} seeds")
    return 0


def main() -> int:
    """Runs the requested command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    listing = commands.add_parser("list", help="say which cases there are")
    listing.set_defaults(do=_list)
    writing = commands.add_parser("write", help="write the files of cases, and say how the other program takes them")
    writing.add_argument("directory", type=Path)
    writing.set_defaults(do=_write_cases)
    running = commands.add_parser("run", help="run cases in both programs, and compare")
    running.add_argument("--peers", type=Path, required=True, help="where the other programs were built")
    running.add_argument("--out", type=Path, required=True, help="a directory for all that is written")
    running.add_argument("--xoff", default=f"{shlex.quote(sys.executable)} -m xoff", help="the command")
    running.add_argument("--label", default="xoff", help="of the directory of a case that results of xoff go to")
    running.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="set in xoff, in all cases")
    running.add_argument("--peer-only", action="store_true", help="leave xoff for later")
    running.set_defaults(do=_run)
    comparing = commands.add_parser("compare", help="compare what both wrote")
    comparing.add_argument("other", type=Path, help="completion times of an ns-3, or what an htsim said")
    comparing.add_argument("xoff", type=Path, help="a result directory")
    comparing.set_defaults(do=_compare)
    for command in (writing, running):
        command.add_argument("cases", nargs="*", metavar="CASE", help="default: all")
    for command in (running, comparing):
        command.add_argument("--flows", type=int, default=0, metavar="N", help="show the N flows that differ most")
    chosen = parser.parse_args()
    if unknown := sorted(set(getattr(chosen, "cases", ())) - CASES.keys()):
        parser.error(f"no such case: {', '.join(unknown)}")
    done: int = chosen.do(chosen)
    return done


if __name__ == "__main__":
    sys.exit(main())
