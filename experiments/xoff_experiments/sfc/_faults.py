"""Planted faults: runs and settings with which the statements of SFC's slides fail (`xoff.reproduce.faults`)."""

from __future__ import annotations

from collections.abc import Mapping

from xoff.reproduce.faults import Fault, instead, matching

_SFC_IS_PFC = instead("pfc-sfc", "pfc")
FAULTS: Mapping[str, Fault] = {
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
    "5.4-short": matching(r"^4\.[456]/", "4/", "case 4 in place of 4.4 to 4.6"),
    "5.5-long": matching(r"^5\.[5678]/", "5/", "case 5 in place of 5.5 to 5.8"),
    "5.5-short": matching(r"^5\.[12]/", "5/", "case 5 in place of 5.1 and 5.2"),
    "5.5-wide": _SFC_IS_PFC,
    "R": matching(r"^5(\.\d)?/", "5/", "every pause is that of case 5"),
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
    "Q.2-mismatch": matching(r"^large-to-small/iq/", "many-to-one/iq/", "many-to-one: another cause"),
    "Q.3": matching(r"^(α 1: )?shared/", "dedicated/", "dedicated buffers in place of shared"),
    "T-alone": instead("lossy-sfc", "lossy"),
    "T-dcqcn": instead("lossy-dcqcn-sfc", "lossy-dcqcn"),
    "X": matching(r", dynamic[a-z ]*/", ", fixed/", "fixed pauses in place of dynamic ones"),
}
"""By statement."""
