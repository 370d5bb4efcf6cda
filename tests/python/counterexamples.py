"""For each statement of the experiments, runs in which the statement fails: a run without any effect passes nothing.

Runs of the quick variants stand in for others: PFC alone for SFC, the smallest buffer for a larger buffer. A statement
is named as in `Judged.statements`. A statement with parts fails if a part fails, and is not listed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from xoff.reproduce import documents

_FAULTS = {id: one.faults for id, one in documents().items() if one.faults}
"""The planted faults of the five documents, which their pages publish."""
Swap = Callable[[str], str]
"""Maps the name of a run to the name of the run that stands in for it."""


def instead(of: str, other: str) -> Swap:
    """Lets runs with one name part stand in for runs with another: ``instead("pfc-sfc", "pfc")``."""
    return lambda name: "/".join(other if part == of else part for part in name.split("/"))


def matching(pattern: str, other: str) -> Swap:
    """Lets runs stand in by a regular expression."""
    return lambda name: re.sub(pattern, other, name)


def _unharmed(row: str) -> Swap:
    """Lets a row's runs without a fault stand in for its runs with a fault."""
    return matching(f"^flows, (slow|failed) link/{re.escape(row)}/", f"flows, no fault/{row}/")


_BEST, _WORST, _SPRAYED = "trimming + NSCC + spray", "PFC", "PFC + DCTCP + spray"
_FIELD: Mapping[str, Swap] = {
    "1.1": instead("BFC", "PFC + DCQCN"),
    "1.2": instead("BFC", "PFC + DCQCN"),
    "1.3": instead("PFC + DCQCN + flowlets", "BFC"),
    "0.1": instead(_SPRAYED, "PFC + DCQCN"),
    "0.2": instead(_SPRAYED, "PFC + DCQCN"),
    "0.3": instead("PFC", _SPRAYED),
    "0.4": instead("PFC + DCQCN", _SPRAYED),
    "0.5": instead(_BEST, "PFC + DCQCN"),
    "0.6": _unharmed(_SPRAYED),
    "0.7": _unharmed(_SPRAYED),
    "0.8": _unharmed(_BEST),
    "0.9": _unharmed(_SPRAYED),
    "0.91": matching(r"stalls/trimming \+ NSCC \+ spray/", "stalls/PFC/"),
    "0.92": matching(r"stalls/trimming \+ NSCC \+ spray/", "stalls/PFC/"),
    "2.1": instead(_BEST, _WORST),
    "2.11": instead("BFC", _WORST),
    "2.12": instead("trimming + Swift + spray", _WORST),
    "2.2": instead(_BEST, _WORST),
    "2.3": instead(_SPRAYED, _WORST),
    "2.4": instead("PFC + DCQCN + spray", "BFC"),
    "2.5": instead("PFC + DCQCN, window", "PFC + DCQCN"),
    "2.6": instead("selective + DCTCP", _WORST),
    "2.61": instead("IRN + DCTCP", _WORST),
    "2.7": instead("selective + DCTCP + spray", _WORST),
    "2.8": instead(_BEST, _WORST),
    "2.9": instead("BFC", _WORST),
    "2.91": instead(_WORST, _BEST),
    "2.92": instead("credits (CBFC)", "PFC by port"),
    "2.93": instead("trimming + NDP + spray", _WORST),
    "2.94": instead(_SPRAYED, "PFC + DCQCN"),
    "2.95": matching("2:1/PFC/", "2:1/selective + DCTCP/"),
    "3.1": instead("PFC + HPCC", "PFC + TIMELY"),
    "3.2": instead("PFC + DCQCN", "PFC + HPCC"),
    "3.3": instead("PFC + TIMELY, window", "PFC + TIMELY"),
    "3.4": instead("PFC + HPCC", "PFC + TIMELY"),
    "4.1": instead("PFC + HPCC", "PFC + DCQCN"),
    "4.2": instead("PFC + HPCC", "PFC + DCQCN"),
    "5.1": instead("trimming + NDP + spray", "PFC + QCN"),
    "5.2": instead("trimming + NSCC + spray", "PFC + QCN"),
    "5.3": instead("trimming + RCCC + spray", "trimming + NSCC + spray"),
    "6.1": instead("trimming + NSCC", "trimming + NSCC + REPS"),
    "6.2": instead("trimming + NSCC + REPS", "trimming + NSCC + spray"),
    "7.1": matching("^40 us/", "15 us/"),
}

# The quick variants have no sizes from 256 MiB: `test_hardware.py` has runs in which H.3 and H.4 fail.
_LONGER = matching(", (8|1024|268435456) B$", ", 16777216 B")
_HARDWARE: Mapping[str, Swap] = {
    "H.1": _LONGER,
    "H.2": _LONGER,
    "H.3": _LONGER,
    "H.4": _LONGER,
    "G": matching("; cables of .*$", "; proxy's time 2 µs, not 1 µs"),
    "M": matching("; (NVLSTree|proxy's).*$", "; as judged"),
    **dict.fromkeys(("E.1", "E.2", "E.3", "E.4", "E.5", "E.F"), matching(", EP32$", ", EP16")),
    "E.6": matching(", EP32 H100$", ", EP16 H100"),
    "E.G": matching("; cables of .*$", "; a path for each connection (ECMP), not all in turn"),
    "E.M": matching("^DeepEP low latency, .*; a switch ", "Perplexity, ConnectX-7, EP8; a switch "),
    **dict.fromkeys(("K.1", "K.2", "K.3", "P", "K.F"), matching(", 4,096 tokens", ", 2,048 tokens")),
}

# The quick variants have a run with KV first at the main setting alone.
_KV_FIRST = matching("^whole caches, ECMP, [^/]+/(experts first|one class)/", "whole caches, ECMP, PFC/KV first/")
_SERVING: Mapping[str, Swap] = {
    "L.1": instead("equal turns", "experts first"),
    "L.2": instead("experts first", "equal turns"),
    "L.3": instead("equal turns", "experts first"),
    "L.4": instead("weights 1 to 4", "equal turns"),
    "L.5": instead("KV first", "equal turns"),
    "L.6": instead("one class, XOFF 320 KB", "one class, XOFF 10 KB"),
    "L.7": instead("one class, XOFF 320 KB", "one class, XOFF 10 KB"),
    "L.8": instead("equal turns", "experts first"),
    "F.1": instead("equal turns", "one class"),
    "F.2": _KV_FIRST,
    "F.3": instead("experts first", "one class"),
    "F.4": instead("KV first", "experts first"),
    "F.5": instead("weights 4 to 1", "weights 1 to 4"),
    "F.7": matching("^layers, ", "whole caches, "),
    "F.8": matching("^whole caches, spraying, ", "whole caches, ECMP, "),
    "F.9": matching(", XOFF 20 KB/", ", XOFF 320 KB/"),
    "F.10": matching(", (DCQCN|SFC|NSCC)/", ", PFC/"),
    "F.11": matching(", (DCQCN|SFC|NSCC)/one class/", ", PFC/KV first/"),
}

_DYNAMIC_IS_PFC = instead("SFC, dynamic pause", "PFC")
_TARGET_IS_PFC = instead("SFC, pause to a target", "PFC")
_AI_FABRICS: Mapping[str, Swap] = {
    "C.1": instead("SFC", "PFC"),
    "C.2": instead("SFC", "PFC"),
    "C.3": _DYNAMIC_IS_PFC,
    "C.4": instead("SFC, dynamic pause", "SFC"),
    "C.5": instead("alone, SFC", "PFC"),
    "C.6": instead("alone, SFC, dynamic pause", "PFC"),
    "C.7": instead("SFC", "DCQCN"),
    "C.8": instead("SFC, dynamic pause", "DCQCN"),
    "C.9": instead("SFC, dynamic pause", "CI"),
    "C.10": instead("CI", "PFC"),
    "C.11": instead("DCQCN + CI", "DCQCN"),
    "C.12": instead("DCQCN + SFC, dynamic pause", "DCQCN"),
    "C.13": instead("second class", "SFC, dynamic pause"),
    "C.14": _DYNAMIC_IS_PFC,
    "C.15": instead("second class, priority", "PFC"),
    "C.16": _DYNAMIC_IS_PFC,
    "C.17": instead("SFC, dynamic pause", "SFC proxy, isolation"),
    "C.18": instead("SFC proxy", "PFC"),
    "C.19": instead("SFC proxy, isolation", "SFC proxy"),
    "C.20": _TARGET_IS_PFC,
    "C.21": instead("SFC, pause to a target", "SFC"),
    "C.22": instead("SFC, pause to a target", "SFC, dynamic pause"),
    "C.23": instead("alone, SFC, pause to a target", "PFC"),
    "C.24": instead("SFC, pause to a target", "CI"),
    "C.25": _TARGET_IS_PFC,
    "C.26": _TARGET_IS_PFC,
    "C.27": instead("SFC, pause to a target", "SFC proxy, isolation"),
    "C.28": instead("second class", "SFC, pause to a target"),
    "D.1": instead("SFC", "PFC"),
    "D.2": instead("SFC", "PFC"),
    "D.3": _DYNAMIC_IS_PFC,
    "D.4": instead("SFC", "SFC proxy"),
    "D.5": instead("SFC, dynamic pause", "SFC proxy"),
    "D.6": instead("SFC, dynamic pause", "DCQCN"),
    "D.7": instead("SFC, dynamic pause", "CI"),
    "D.8": instead("CI", "PFC"),
    "D.9": instead("DCQCN + CI", "DCQCN"),
    "D.10": instead("DCQCN + SFC, dynamic pause", "DCQCN"),
    "D.11": instead("second class", "SFC, dynamic pause"),
    "D.12": instead("second class, priority", "DCQCN"),
    "D.13": instead("SFC, dynamic pause", "SFC proxy"),
    "D.14": _DYNAMIC_IS_PFC,
    "D.15": instead("SFC, dynamic pause", "DCQCN"),
    "D.16": instead("SFC proxy", "PFC"),
    "D.17": instead("SFC proxy, isolation", "SFC proxy"),
    "D.18": _TARGET_IS_PFC,
    "D.19": instead("SFC, pause to a target", "SFC proxy"),
    "D.20": instead("SFC, pause to a target", "DCQCN"),
    "D.21": instead("SFC, pause to a target", "SFC proxy"),
    "D.22": _TARGET_IS_PFC,
    "D.23": _TARGET_IS_PFC,
    "T.1": matching("/(pause|resume|threshold|last hop)[^/]*/", "/PFC/"),
    "T.2": matching("/(pause|resume|threshold|last hop)[^/]*/", "/second class/"),
    "T.3": matching("/(pause to|resume)[^/]*/", "/SFC/"),
    "T.4": matching("/(preset|marks) [^/]*/", "/SFC, dynamic pause/"),
    "T.5": matching("/(selection|CIM|hosts) [^/]*/", "/SFC, dynamic pause/"),
    "T.6": matching("/proxy, [^/]*/", "/PFC/"),
    "V.1": matching("/(pause|threshold) [^/]*/", "/PFC/"),
    "V.2": matching("/(pause|threshold) [^/]*/", "/SFC/"),
    "V.3": matching("/(pause|threshold) [^/]*/", "/second class, priority/"),
    "H.1": instead("8 to 1", "32 to 1"),
    "H.2": instead("8 to 1", "32 to 1"),
    "H.3": instead("8 to 1", "32 to 1"),
    "H.4": instead("32 to 1", "8 to 1"),
}

SWAPS: Mapping[str, Mapping[str, Swap]] = {
    **{
        document: {short: fault.swap for short, fault in faults.items() if fault.swap is not None}
        for document, faults in _FAULTS.items()
    },
    "field": _FIELD,
    "hardware": _HARDWARE,
    "serving": _SERVING,
    "ai-fabrics": _AI_FABRICS,
}
"""By document and statement."""

CHANGES: Mapping[str, Sequence[tuple[str, str]]] = {
    **{
        f"{document}/{short}": fault.changes
        for document, faults in _FAULTS.items()
        for short, fault in faults.items()
        if fault.changes
    },
    "bcn/baseline": (("switch.flow_control.bcn.q_eq", "48000B"),),
    "bcn/beyond": (("host.congestion_control.bcn.gd", "0.000001"),),
    "serving/F.6": (("network.leaf_spine.link.rate", "20Gbps"),),
    "serving/F.12": (("workload[0].serving.slo.itl", "500us"),),
}
"""For statements without a run to stand in: settings under which the statement fails."""

WITHOUT_RUNS = {"sfc/P", "sfc/P-printed"}
"""Statements on formulas, tested in `test_sizes.py`."""
