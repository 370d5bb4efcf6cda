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
        "probability above High",
        "the line from Low to High goes on: 2.6 % at XOFF, 3.4 % at 1 MB",
        'found by a search; "Max Probability 1 %"',
        "certainty; 1 % as a bound",
    ),
    chosen(
        "what is marked with CI",
        "every isolated packet",
        'found by a search; "ECN is marked once a packet is isolated"',
        'by ECN\'s curve in both queues, and the selecting packet ("PFC + ECN with CI")',
    ),
    chosen("CNPs of a flow", "at most one each 4 µs", "DCQCN's preset", "12 µs"),
    chosen(
        "sizes",
        "VL2's, the largest 5 % up to 30 MB",
        "82 % of mice as the document; every flow is completed under the load",
    ),
    chosen(
        "load",
        "60 % offered, and from the start as many flows under way as it has in equilibrium",
        "none is stated; a cold fabric carries 8 % in 10 ms and never reaches XOFF",
        "80 % (C.7)",
    ),
    chosen("arrivals", "3 ms, ten seeds; above 128 servers 1 ms, one", "every flow is completed", "three seeds"),
    chosen(
        "XOFF is compared with",
        "the egress queue",
        "the document compares queue depths with it",
        "each input (C.1, C.7)",
    ),
    chosen(
        "DCQCN",
        "Mellanox preset: CNPs as frames",
        "the document counts CNP frames; what adapters had in 2018",
    ),
    chosen(
        "order of a flow's packets",
        "kept: those in the other queue wait behind the flow's in the congested one",
        "the document says nothing of order",
        "they may overtake (C.1)",
    ),
    chosen("upstream is told at", "375 KB", "half of XOFF"),
    chosen("servers", "have both queues, and do what a CIM says", "they are the last upstream"),
    chosen("turns of the queues", "deficit round robin, equal weights", "as without CI"),
    chosen(
        "a flow leaves isolation",
        "without a packet in the congested queue, and that below 10 KB",
        "CI's low",
    ),
    chosen("isolated flows an output", "1024", "no run fills it"),
    chosen("packets", "1500 B with 48 B of headers", "Ethernet's"),
]
