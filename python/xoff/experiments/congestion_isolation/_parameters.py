"""Parameters of the document on Congestion Isolation: given values and our choices."""

from __future__ import annotations

from xoff.reproduce import Parameter, chosen, given

_SETUP = "Simulation Set-up"
_COMPARED = "Compared Solutions"
PARAMETERS: list[Parameter] = [
    given("network", "two tiers: N ToRs, N/2 spines, N²/2 servers; 100 Gb/s, 200 ns a link", _SETUP),
    given("traffic", "data mining, 82 % of mice", _SETUP),
    given("without CI", "flows hashed by destination onto two queues, PFC and ECN on both", _COMPARED),
    given("queues", "1 MB; XOFF 750 KB, XON 4 KB", _COMPARED),
    given("ECN without CI; CI", "low 10 KB, high 300 KB, at most 1 %", _COMPARED),
    chosen(
        "what is marked with CI",
        "the packet that selects its flow; and by ECN's curve on both queues, as without CI",
        '"PFC + ECN with CI", "ECN is marked once a packet is isolated"; none makes more whole statements hold',
        "ECN on the congested queue alone; all isolated packets; the selecting packet alone",
    ),
    chosen(
        "sizes",
        "VL2's, the largest 5 % up to 30 MB",
        "82 % of mice as the document; every flow is completed under the load",
        "up to 1 GB, as VL2 has them",
    ),
    chosen(
        "load",
        "60 % offered, and from the start as many flows under way as it has in equilibrium",
        "none is stated; a cold fabric carries 8 % in 10 ms and never reaches XOFF",
        "VL2 up to 1 GB, cold; with 1.5 and 3 flows a server under way, 30 and 80 % (C.1, C.7)",
    ),
    chosen("arrivals", "3 ms, ten seeds; above 128 servers 1 ms, one", "every flow is completed", "three seeds"),
    chosen("XOFF is compared with", "the egress queue", "the document compares queue depths with it", "each input"),
    chosen(
        "DCQCN",
        "Mellanox preset: CNPs as frames",
        "the document counts CNP frames; what adapters had in 2018",
        "its paper's",
    ),
    chosen(
        "order of a flow's packets",
        "kept: those in the other queue wait behind the flow's in the congested one",
        "the document says nothing of order",
        "they may overtake",
    ),
    chosen("upstream is told at", "375 KB", "half of XOFF", "150 and 600 KB (C.1)"),
    chosen("servers", "have both queues, and do what a CIM says", "they are the last upstream", "ignore CIMs (C.1)"),
    chosen("turns of the queues", "deficit round robin, equal weights", "as without CI", "congested last (C.1)"),
    chosen(
        "a flow leaves isolation",
        "without a packet in the congested queue, and that below 10 KB",
        "CI's low",
        "or none there for 2 µs (C.1)",
    ),
    chosen("isolated flows an output", "1024", "no run fills it", "1 (C.1)"),
    chosen("packets", "1500 B with 48 B of headers", "Ethernet's", "4048 B (C.1)"),
]
