"""For each statement of the experiments, runs in which the statement fails: a run without any effect passes nothing.

Runs of the quick variants stand in for others: PFC alone for SFC, the smallest buffer for a larger buffer. A statement
is named as in `Judged.statements`. A statement with parts fails if a part fails, and is not listed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

Swap = Callable[[str], str]
"""Maps the name of a run to the name of the run that stands in for it."""


def instead(of: str, other: str) -> Swap:
    """Lets runs with one name part stand in for runs with another: ``instead("pfc-sfc", "pfc")``."""
    return lambda name: "/".join(other if part == of else part for part in name.split("/"))


def matching(pattern: str, other: str) -> Swap:
    """Lets runs stand in by a regular expression."""
    return lambda name: re.sub(pattern, other, name)


_SFC_IS_PFC = instead("pfc-sfc", "pfc")
_SFC: Mapping[str, Swap] = {
    "4.1-precise": _SFC_IS_PFC,
    "4.1-victims": _SFC_IS_PFC,
    "4.1-both": instead("pfc-dcqcn-sfc", "pfc-dcqcn"),
    "4.2-victims": _SFC_IS_PFC,
    "4.2-peak": _SFC_IS_PFC,
    "4.2-peak-all": _SFC_IS_PFC,
    "4.2-pfc": instead("case 2b (7-to-1)", "case 1 (3-to-1)"),
    "4.3-stable": _SFC_IS_PFC,
    "4.3-stable-all": _SFC_IS_PFC,
    "4.3-dcqcn": instead("pfc-dcqcn", "pfc"),
    "4.3-dcqcn-all": instead("pfc-dcqcn", "pfc"),
    "4.3-behind": instead("pfc-sfc", "pfc-dcqcn"),
    "4.3-behind-all": instead("pfc-sfc", "pfc-dcqcn"),
    "4.3-victims": _SFC_IS_PFC,
    "4.4": _SFC_IS_PFC,
    "5.1": _SFC_IS_PFC,
    "5.1-headroom": _SFC_IS_PFC,
    "5.1-both": instead("pfc-dcqcn-sfc", "pfc-dcqcn"),
    "5.2-victim": instead("2.5", "2"),
    "5.2-eightfold": instead("2.4", "2"),
    "5.2-overall": instead("2.5", "2"),
    "5.3-buffer": instead("3.2", "3.1"),
    "5.3-gain": _SFC_IS_PFC,
    "5.3-headroom": instead("3.1b", "3.1"),
    "5.4-enough": _SFC_IS_PFC,
    "5.4-short": matching(r"^4\.[456]/", "4/"),
    "5.5-long": matching(r"^5\.[5678]/", "5/"),
    "5.5-short": matching(r"^5\.[12]/", "5/"),
    "5.5-wide": _SFC_IS_PFC,
    "R": matching(r"^5(\.\d)?/", "5/"),
    "H": instead("pfc-dcqcn", "pfc-sfc"),
    "Q.0-iq": instead("iq", "voq"),
    "Q.0-voq": instead("voq", "iq"),
    "Q.1-iq": _SFC_IS_PFC,
    "Q.1-oq": _SFC_IS_PFC,
    "Q.1-shared": _SFC_IS_PFC,
    "Q.1-voq": _SFC_IS_PFC,
    "Q.2-many-spread": instead("oq-egress", "iq"),
    "Q.2-many-fewer": instead("oq-egress", "iq"),
    "Q.2-downstream-spread": instead("oq-egress", "voq"),
    "Q.2-downstream-blocking": instead("oq-egress", "iq"),
    # Both pause alike: one has another cause.
    "Q.2-mismatch": matching(r"^large-to-small/iq/", "many-to-one/iq/"),
    "Q.3": matching(r"^(α 1: )?shared/", "dedicated/"),
    "T-alone": instead("lossy-sfc", "lossy"),
    "T-dcqcn": instead("lossy-dcqcn-sfc", "lossy-dcqcn"),
    "X": matching(r", dynamic[a-z ]*/", ", fixed/"),
}

_BCN: Mapping[str, Swap] = {
    "B.2": matching(r"^A/\d+/", "A/10/"),
    "B.3": matching(r"^B/(\d+)/", r"A/\1/"),
    "B.4": matching(r"^A/40/", "A/10/"),
    "B.5": matching(r"/25/", "/10/"),
}

_PROXY: Mapping[str, Swap] = {
    "P.1": instead("proxy", "dcqcn"),
    "P.2": instead("proxy", "dcqcn"),
    "P.3-degrades": instead("model 3", "model 0"),
    "P.3-stable": instead("proxy", "dcqcn"),
    "P.4-like": matching("^model 0/isolation/", "model 3/proxy/"),
    "P.4-better": instead("isolation", "proxy"),
    "P.4-stable": instead("isolation", "proxy"),
    "P.4-models": instead("isolation", "proxy"),
    "P.5": instead("nic", "proxy"),
    "P.5-clearly": instead("nic", "proxy"),
    "P.6": instead("proxy", "dcqcn"),
    "P.6-deadlock": instead("proxy", "pfc"),
    # One seed of the quick runs needs an eighth of the memory.
    "P.7": matching(r"^model \d/isolation/seed \d$", "model 0/isolation/seed 1"),
    "P.8": matching("^model 0/host/", "model 0/dcqcn/"),
}

_PORTFC_IS_IRN = instead("portfc", "irn")
_PORTFC: Mapping[str, Swap] = {
    "N.1-mean": _PORTFC_IS_IRN,
    "N.1-tail": _PORTFC_IS_IRN,
    "N.1c-mean": instead("irn", "pfc_star"),
    "N.1c-tail": instead("irn", "pfc_star"),
    "N.1d": _PORTFC_IS_IRN,
    "N.2-shortest": instead("portfc", "pfc_star"),
    "N.2-prevents": instead("portfc", "go_back_n"),
    "N.2-mb-irn": instead("irn", "portfc"),
    "N.2-mb-go-back-n": instead("go_back_n", "portfc"),
    "N.2-loss-irn": instead("irn", "portfc"),
    "N.2-loss-go-back-n": instead("go_back_n", "portfc"),
    "N.3-small": _PORTFC_IS_IRN,
    "N.3-incast": _PORTFC_IS_IRN,
    "N.4-higher": instead("portfc", "pfc_star"),
    "N.4-storage": instead("portfc", "pfc_star"),
    "N.5-mean": _PORTFC_IS_IRN,
    "N.5-tail": _PORTFC_IS_IRN,
    "N.5c": instead("websearch", "storage"),
    "N.5d": instead("websearch", "storage"),
    "N.5e": instead("portfc", "go_back_n"),
    "N.5f": instead("websearch", "storage"),
    "N.5t-poisson": instead("portfc", "pfc_star"),
    "N.5t-incast": _PORTFC_IS_IRN,
    "N.5w": instead("websearch", "storage"),
    "N.6-first": _PORTFC_IS_IRN,
    "N.6-broadcast": matching(r"^NDC\(4,1\), 1 MB/irn/", "NDC(4,1), 2 MB/irn/"),
    "N.6-fct": _PORTFC_IS_IRN,
    "N.6c": _PORTFC_IS_IRN,
    "N.7-tail": _PORTFC_IS_IRN,
    "N.7-mean": _PORTFC_IS_IRN,
    "N.7-throughput": instead("portfc", "pfc_star"),
    "N.7m-mean": _PORTFC_IS_IRN,
    "N.7m-tail": _PORTFC_IS_IRN,
    "N.7m-loss": matching("^storage/portfc/", "storage/go_back_n/"),
    "N.7b-mixed": instead("portfc", "portfc without ATE"),
    "N.7b-moe": matching("^without/", "algorithm, p 0.9/"),
    "N.7c": matching("^without/", "algorithm, p 0.9/"),
    "N.7p": matching("^(algorithm|equation), p 0.9/", r"\1, payload in 10 µs/"),
    "N.8-pfc": instead("pfc", "pfc_star"),
    "N.8-star": instead("pfc_star", "pfc"),
    "N.8b": instead("pfc_star", "portfc"),
    "N.9-loss": _PORTFC_IS_IRN,
    "N.9-switch": instead("portfc", "pfc"),
    "N.9-deadlock": _PORTFC_IS_IRN,
    "N.9b": instead("portfc", "pfc"),
    "N.9r": matching("^.*/portfc/", "16 MB of one/portfc/"),
    "N.10-one": instead("NDC(2,1)", "NDC(4,1)"),
    "N.10-more": instead("NDC(2,2)", "NDC(2,1)"),
    "N.11-victim": instead("portfc", "pfc"),
    "N.11-deadlock": instead("figure 5", "two flows alone"),
    "N.12-timeouts": matching("^timeouts/.* and .*/", "timeouts/100 and 320/"),
    "N.12-tradeoff": matching("^timeouts/.* and .*/", "timeouts/100 and 320/"),
    "N.12-window": instead("irn", "portfc"),
    "N.13-deadlock": instead("pfc", "pfc_star"),
    "N.13-zero": instead("pfc", "pfc_star"),
    "N.14-order": instead("irn", "pfc_star"),
    "N.14-small": _PORTFC_IS_IRN,
    "N.14-server": matching("^1 MB, without/irn/", "1 MB, with/irn/"),
    "N.15": instead("portfc", "pfc"),
    "N.16": matching("^B_H (160|240)/", "B_H 120/"),
    "N.16a": matching("^B_H (160|240)/", "B_H 120/"),
    "N.17": _PORTFC_IS_IRN,
    "N.14-timeouts": matching("^timeouts, without/.* and .*/", "timeouts, without/100 and 320/"),
}

_CI_IS_NONE = instead("ci", "none")
_SAME_XOFF = matching("^XOFF 1500 KB/ci/", "XOFF 750 KB/ci/")
_SAME_HIGH = matching("^high 600 KB/ci/", "high 300 KB/ci/")
_NO_LATENCY = matching("^400 ns a switch/", "no latency/")
_CI: Mapping[str, Swap] = {
    "C.1-lower": _CI_IS_NONE,
    "C.1-mice": _CI_IS_NONE,
    "C.1-more": matching("^128 servers/ci/", "128 servers/none/"),
    "C.2": matching("^128 servers, three queues/none/", "128 servers/none/"),
    "C.2-others": _CI_IS_NONE,
    "C.3": matching("^queues of 2 MB/ci/", "queues of 2 MB/none/"),
    "C.4-large": _SAME_XOFF,
    "C.4-pauses": _SAME_XOFF,
    "C.4-cnps": _SAME_XOFF,
    "C.5-large": _SAME_HIGH,
    "C.5-pauses": _SAME_HIGH,
    "C.5-cnps": _SAME_HIGH,
    "C.6-small": _NO_LATENCY,
    "C.6-elephants": _NO_LATENCY,
    "C.6-elephants-without": _NO_LATENCY,
    "C.6e": _NO_LATENCY,
    "C.6-little": matching("^400 ns a switch/ci/", "400 ns a switch/none/"),
    "C.7-most": _CI_IS_NONE,
    "C.7-average": _CI_IS_NONE,
    "C.7-shallow": _CI_IS_NONE,
    "C.7-max": _CI_IS_NONE,
    "C.7-alike": instead("none", "ci"),
    "C.7-fewer": _CI_IS_NONE,
    "C.8-rate": _CI_IS_NONE,
    "C.8-performance": _CI_IS_NONE,
    "C.8-flows": _CI_IS_NONE,
    "C.8-only": _CI_IS_NONE,
    "C.9": matching("^XOFF 1500 KB/ci/", "queues of 2 MB/ci/"),
}


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
    "sfc": _SFC,
    "sfc-proxy": _PROXY,
    "bcn": _BCN,
    "congestion-isolation": _CI,
    "portfc": _PORTFC,
    "field": _FIELD,
    "hardware": _HARDWARE,
    "serving": _SERVING,
    "ai-fabrics": _AI_FABRICS,
}
"""By document and statement."""

_NEVER_SLOWED = (("host.congestion_control.bcn.gd", "0.000001"),)
CHANGES: Mapping[str, Sequence[tuple[str, str]]] = {
    "bcn/baseline": (("switch.flow_control.bcn.q_eq", "48000B"),),
    "bcn/B.1": _NEVER_SLOWED,
    "bcn/B.1-throughput": _NEVER_SLOWED,
    "bcn/B.1-pause": _NEVER_SLOWED,
    "bcn/beyond": _NEVER_SLOWED,
    "serving/F.6": (("network.leaf_spine.link.rate", "20Gbps"),),
    "serving/F.12": (("workload[0].serving.slo.itl", "500us"),),
    "portfc/N.7r": (("host.relay.buffer.per_port", "20KB"),),
}
"""For statements without a run to stand in: settings under which the statement fails."""

WITHOUT_RUNS = {"sfc/P", "sfc/P-printed"}
"""Statements on formulas, tested in `test_sizes.py`."""
