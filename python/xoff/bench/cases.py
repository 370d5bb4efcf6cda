"""The scenarios of the benchmark: cases for speed, and pairs of runs with one different number, for memory."""

from __future__ import annotations

from typing import Any

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
        "switch": {"forwarding_latency": "0ns", "buffer": "unlimited", "flow_control": _PFC_1000, "ecn": _RED},
        "workload": [{"permutation": {"size": "2MB"}}],
    }
    if dcqcn:
        scenario["host"] = {"congestion_control": {"dcqcn": {"preset": "conweave"}}}
    return scenario


def kernel(leaves: int, size: str) -> dict[str, Any]:
    """Returns the case of the reference kernel: the permutation, and the spine of each flow."""
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
        "switch": {"forwarding_latency": "0ns", "buffer": "unlimited", "flow_control": _PFC_4096},
        "workload": [{"permutation": {"size": size}}],
    }


def _incast() -> dict[str, Any]:
    scenario = _leaf_spine(8, dcqcn=True)
    scenario["workload"] = [{"incast": {"senders": list(range(64, 128)), "receiver": 0, "size": "2MB"}}]
    return scenario


LARGE = "fat-tree-65536"
"""A case that runs only on request."""

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "leaf-spine-128": ("128 hosts, permutation of 2 MB, PFC + RED: the reference kernel's own case", kernel(8, "2MB")),
    "leaf-spine-1024": ("the same with 1024 hosts and 1 MB", kernel(64, "1MB")),
    "leaf-spine-128-dcqcn": ("128 hosts, permutation of 2 MB, PFC + RED + DCQCN", _leaf_spine(8, dcqcn=True)),
    "fat-tree-128": ("k = 8, permutation of 20.48 MB, PFC", _fat_tree(8, "20.48MB")),
    "fat-tree-1024": ("k = 16, permutation of 8.192 MB, PFC", _fat_tree(16, "8.192MB")),
    "fat-tree-8192": ("k = 32, permutation of 409.6 KB, PFC", _fat_tree(32, "409.6KB")),
    "incast-64": ("64-to-1 of 2 MB, PFC + RED + DCQCN", _incast()),
    LARGE: ("k = 64, one packet a host, PFC: only by name", _fat_tree(64, "4096B")),
}


def queued(size: str) -> dict[str, Any]:
    """Returns a 64-to-1 incast whose queue holds 63 of 64 packets at the end of the burst."""
    return {
        "network": {"star": {"hosts": 65, "link": _LINK}},
        "framing": _FRAMING_1000,
        "switch": {"forwarding_latency": "0ns", "buffer": "unlimited"},
        "host": {"transport": {"go_back_n": {"rto": "10s"}}},
        "workload": [{"incast": {"senders": list(range(1, 65)), "receiver": 0, "size": size}}],
    }


def _all_to_all(hosts_per_leaf: int, until: str) -> dict[str, Any]:
    scenario = _leaf_spine(16)
    scenario["network"]["leaf_spine"]["hosts_per_leaf"] = hosts_per_leaf
    # Rows of the result are not counted as memory of a flow.
    return scenario | {"until": until, "workload": [{"all_to_all": {"size": "1MB"}}], "probe": {"flows": False}}


def waiting(hosts_per_leaf: int) -> dict[str, Any]:
    """Returns an all-to-all that stops when every flow has started and waits for a turn."""
    return _all_to_all(hosts_per_leaf, "1ns")


def active(hosts_per_leaf: int) -> dict[str, Any]:
    """Returns the same flows, stopped when packets of each have arrived: a host sends a packet in 84 ns."""
    return _all_to_all(hosts_per_leaf, f"{2 * 16 * hosts_per_leaf * 84 + 50_000}ns")


# Parameters of `idle`: leaves, spines and few hosts per leaf, and four times as many hosts or links.
LEAVES, FEW, MANY = 128, 16, 64


def idle(hosts_per_leaf: int, parallel: int) -> dict[str, Any]:
    """Returns an idle network; four parallel links add as many links as four times the hosts."""
    shape = {"leaves": LEAVES, "spines": FEW, "hosts_per_leaf": hosts_per_leaf, "link": _LINK, "parallel": parallel}
    flow = {"src": "host0", "dst": "host1", "size": "1B"}
    scenario = _leaf_spine(LEAVES) | {"until": "1ns", "workload": [{"flows": [flow]}], "probe": {"flows": False}}
    return scenario | {"network": {"leaf_spine": shape}}


def million() -> dict[str, Any]:
    """Returns an all-to-all of a packet among 1024 hosts: 1,047,552 flows."""
    return _leaf_spine(64) | {"workload": [{"all_to_all": {"size": "1000B"}}]}
