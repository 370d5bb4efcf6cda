"""Writes one network and its traffic as files of other simulators, into a new directory.

    python tools/beside_others.py out/beside

The network is a k-ary fat tree of links of 100 Gb/s and 1 us. Host i sends to host i + n / 2 modulo n, for n hosts:
each packet crosses six links on any path, so that the packet-hops of a run follow from its flows. docs/beside-others.md
describes the use of the files. The meaning of the settings was verified in the code of the simulators.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

Link = tuple[int, int]


def fat_tree(k: int) -> tuple[int, int, list[Link]]:
    """Returns the numbers of hosts and switches, and the links between them; hosts are numbered first."""
    half = k // 2
    hosts, edges = half * half * k, half * k
    edge, aggregation, core = hosts, hosts + edges, hosts + 2 * edges
    links = [(host, edge + host // half) for host in range(hosts)]
    for lower in range(edges):
        links += [(edge + lower, aggregation + lower // half * half + upper) for upper in range(half)]
    for upper in range(edges):
        links += [(aggregation + upper, core + upper % half * half + top) for top in range(half)]
    return hosts, 2 * edges + half * half, links


def flows(hosts: int) -> Iterator[Link]:
    """Yields the flows, to a host of another pod: one from each host, and one to each host."""
    return ((host, (host + hosts // 2) % hosts) for host in range(hosts))


def write_htsim(directory: Path, k: int, size: int) -> None:
    """Writes a connection matrix and a topology; all other values are options of the program."""
    hosts, _, _ = fat_tree(k)
    half = k // 2
    matrix = [f"Nodes {hosts}", f"Connections {hosts}"]
    matrix += [f"{src}->{dst} id {number} start 0 size {size}" for number, (src, dst) in enumerate(flows(hosts), 1)]
    _write(directory / f"htsim-{hosts}.cm", matrix)
    tier = "Downlink_speed_Gbps 100\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 0"
    topology = [f"Nodes {hosts}", "Tiers 3", f"Podsize {half * half}"]
    topology += [f"Tier 0\nOversubscribed 1\nRadix_Down {half}\nRadix_Up {half}\n{tier}"]
    topology += [f"Tier 1\nOversubscribed 1\nRadix_Down {half}\nRadix_Up {half}\nBundle 1\n{tier}"]
    topology += [f"Tier 2\nRadix_Down {k}\nBundle 1\n{tier}"]
    _write(directory / f"htsim-{hosts}.topo", topology)


# DCQCN at 100 Gb/s as in each simulator's `run.py`; marks in kB, the buffer in MB of 1024 * 1024 B.
_DCQCN = """\
CC_MODE 1
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
CLAMP_TARGET_RATE 0
RP_TIMER 300
EWMA_GAIN 0.00390625
FAST_RECOVERY_TIMES 1
L2_CHUNK_SIZE 4000
L2_ACK_INTERVAL 1
L2_BACK_TO_ZERO 0
HAS_WIN 0
GLOBAL_T 1
RATE_BOUND 1
ENABLE_QCN 1
USE_DYNAMIC_PFC_THRESHOLD 1
PACKET_PAYLOAD_SIZE 1000
ERROR_RATE_PER_LINK 0.0000
LINK_DOWN 0 0 0
PMAX_MAP 1 100000000000 0.2"""
# Of a simulator's output, only completion times are kept.
_HPCC = """\
TRACE_FILE none.txt
TRACE_OUTPUT_FILE /dev/null
FCT_OUTPUT_FILE hpcc-fct.txt
PFC_OUTPUT_FILE /dev/null
QLEN_MON_FILE /dev/null
QLEN_MON_START 2000000000
QLEN_MON_END 2000000000
ENABLE_TRACE 0
SIMULATOR_STOP_TIME {stop:.4f}
ACK_HIGH_PRIO 1
RATE_AI 20Mb/s
RATE_HAI 200Mb/s
MIN_RATE 1000Mb/s
KMIN_MAP 1 100000000000 400
KMAX_MAP 1 100000000000 1600
BUFFER_SIZE 32"""
_CONWEAVE = """\
FLOW_INPUT_FILE /dev/null
CNP_OUTPUT_FILE /dev/null
FCT_OUTPUT_FILE conweave-fct.txt
PFC_OUTPUT_FILE /dev/null
QLEN_MON_FILE /dev/null
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
RATE_AI 40Mb/s
RATE_HAI 100Mb/s
MIN_RATE 100Mb/s
KMIN_MAP 1 100000000000 100
KMAX_MAP 1 100000000000 400
BUFFER_SIZE 9"""
# ConWeave's program derives the bandwidth-delay product from the name of the topology: six links of 1 us and 1000 B.
_TOPOLOGY = "fat_k8_100G_OS2.txt"


def write_ns3(directory: Path, packets: int) -> None:
    """Writes the topology of 128 hosts, and for each of the two simulators flows and settings."""
    # DCQCN's timers run until HPCC's program stops, at a given time: twelve times the time that the lines need.
    hpcc = _HPCC.format(stop=2.0001 + packets * 1e-6)
    hosts, switches, links = fat_tree(8)
    topology = [f"{hosts + switches} {switches} {len(links)}"]
    topology += [" ".join(str(switch) for switch in range(hosts, hosts + switches))]
    topology += [f"{lower} {upper} 100Gbps 1000ns 0.000000" for lower, upper in links]
    _write(directory / _TOPOLOGY, topology)
    # The number of nodes to trace, and of flows in a run that only builds the network.
    _write(directory / "none.txt", ["0"])
    for name, port, settings in (("hpcc", " 100", hpcc), ("conweave", "", _CONWEAVE)):
        _write(
            directory / f"{name}-flows.txt",
            [str(hosts), *(f"{src} {dst} 3{port} {packets * 1000} 2.0" for src, dst in flows(hosts))],
        )
        files = [f"TOPOLOGY_FILE {_TOPOLOGY}", f"FLOW_FILE {name}-flows.txt"]
        _write(directory / f"{name}-config.txt", [*files, settings, _DCQCN])


def _write(file: Path, lines: list[str]) -> None:
    file.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def main() -> None:
    """Writes all files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("directory", type=Path, help="a new directory")
    parser.add_argument("--packets", type=int, default=5000, help="of a flow; a fifth of them with 1024 hosts")
    chosen = parser.parse_args()
    try:
        chosen.directory.mkdir(parents=True)
    except FileExistsError:
        parser.error(f"{chosen.directory} is there already")
    write_htsim(chosen.directory, 8, chosen.packets * 4086)
    write_htsim(chosen.directory, 16, chosen.packets // 5 * 4086)
    write_ns3(chosen.directory, chosen.packets)


if __name__ == "__main__":
    main()
