"""Parameters of the PortFC paper: given values and our choices."""

from __future__ import annotations

from collections.abc import Sequence

from xoff.reproduce import Parameter, chosen, given

_SETUP = "section V-A"
_GIVEN = [
    given("links, switch memory", "100 Gb/s, 1 µs; 5 MB", _SETUP),
    given("DCQCN", "K_min 100 KB, K_max 400 KB, P_max 0.2", _SETUP),
    given("X_OFF, X_ON", "6 and 4 BDP, of PFC and PFC*, too", _SETUP),
    given("IRN, Go-Back-N", "RTO 100 and 320 µs, N = 3; RTO 10 ms", _SETUP),
]
_CHOSEN = [
    chosen(
        "BDP of the thresholds",
        "25 KB, a link there and back",
        "found by a search",
        '12.5 KB: "the delay D is the single-hop latency"',
    ),
    chosen(
        "IRN's window",
        "50 KB",
        "found by a search; two links there and back",
        "104 KB (four links); in NDC(4, 1) 75, 156 KB",
    ),
    chosen(
        "DCQCN's other parameters",
        "preset `hpcc_config`",
        'found by a search; "recommendations in the Mellanox firmware", as the simulators that it builds on have them',
        "those of adapters' firmware, and of ConWeave's code, from which the thresholds are",
    ),
    chosen(
        "marks compare K_min with", "each queue", "RoCE switches mark by queue; PortFC has n of them", "the whole port"
    ),
    chosen("sharing of the 5 MB", "dynamic threshold, alpha 1/8", "HPCC's; without it nothing is lost", "one pool"),
    chosen("packets", "1048 B, of which 1000 B payload", "HPCC's", "4048 B"),
    chosen(
        "path where both digits differ", "one order of digits", "found by a search; BCube's", "by a hash of the flow"
    ),
    chosen("nodes under PFC and PFC*", "pass pauses on", "section II-C.3", "detect as switches do"),
    chosen("relayed packets at a node's port", "before its own", "nobody may pause them", "in turn with its own"),
    chosen("delay of a relay", "none", "not told", "1 µs"),
    chosen("Go-Back-N's NACKs", "one a gap and 4 µs", "not told", "one a gap and 500 µs"),
]


def table(given_too: Sequence[Parameter] = (), chosen_too: Sequence[Parameter] = ()) -> list[Parameter]:
    """Returns the parameter table of an experiment: common parameters, followed by the experiment's own."""
    return [*_GIVEN, *given_too, *chosen_too, *_CHOSEN]


def mixed(n: int, chosen_too: Sequence[Parameter] = ()) -> list[Parameter]:
    """Returns the table of Poisson traffic with incasts in NDC(n, 1)."""
    senders, of_ports, length = {4: (8, 84, "10 ms"), 8: (32, 93, "4 ms")}[n]
    less, often = ("; 30 %", "0.5, 4 ms") if n == 4 else ("", "4 ms")
    return table(
        [
            given("network", f"NDC({n}, 1)", _SETUP),
            given("traffic", f"Poisson arrivals of three workloads; {senders} nodes send 1 MB each to one", _SETUP),
        ],
        [
            chosen(
                "Poisson load",
                "50 % of each link",
                "a packet crosses up to two switches: load is what links carry",
                f"50 % of both ports of a node, which is {of_ports} % of each link{less}",
            ),
            chosen("incasts", "one every 0.25 ms, drawn at random", "found by a search", often),
            chosen("length", f"{length} of arrivals, ten seeds", "all flows are completed", "three shorter ones"),
            *chosen_too,
        ],
    )
