"""The cost of a run in a line: speed, folding, fast-forward and threads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xoff import formatting

_WAITED = 2.0
"""CPU-seconds from which on the line names the blockers of fast-forwarding."""


def cost_line(performance: Mapping[str, Any]) -> str:
    """Returns the cost of a run in a line, from ``performance`` of its summary; empty for a run without packets."""
    hops, cpu = performance.get("data_packet_hops"), performance.get("cpu_seconds")
    if not hops or not cpu:
        return ""
    speed = f"{formatting.count(hops)} packet-hops in {cpu:.2f} CPU-seconds ({formatting.count(hops / cpu)}/s)"
    return speed + _folded(performance) + _skipped(performance) + _threads(performance)


def _folded(performance: Mapping[str, Any]) -> str:
    """Returns the part of a symmetric network that was simulated, or the obstacle to folding."""
    folding = performance.get("folding")
    if not folding:
        return ""
    shared = "; equal servers share random draws" if folding["draws"] == "shared" else ""
    if folding["obstacle"] is None:
        return f"; folded: one of {folding['times']:,} equal parts simulated{shared}"
    return formatting.plain(f"; not folded: {folding['obstacle']}") + shared


def _skipped(performance: Mapping[str, Any]) -> str:
    """Returns the share of packet-hops that was fast-forwarded, and for slow runs the blockers."""
    fast_forward, hops = performance.get("fast_forward") or {}, performance.get("data_packet_hops", 0)
    skipped, apart = fast_forward.get("packet_hops", 0), fast_forward.get("packet_hops_in_components", 0)
    parts = f" ({apart / hops:.1%} in independent components)" if apart else ""
    blockers = fast_forward.get("blockers", [])
    # Only a run of `_WAITED` CPU-seconds that fast-forwarded less than half of its packet-hops names its blockers.
    is_long = performance.get("cpu_seconds", 0) >= _WAITED and skipped < hops / 2
    why = formatting.plain(f"; kept from fast-forwarding by {', '.join(blockers)}") if is_long and blockers else ""
    return (f"; {skipped / hops:.1%} fast-forwarded{parts}" if skipped else "") + why


def _threads(performance: Mapping[str, Any]) -> str:
    """Returns the share of events on a single thread, if more threads would have been slower."""
    threads, alone = performance.get("threads", 1), performance.get("events_on_one_thread", 0)
    share = alone / performance["events"] if performance.get("events") else 0
    return (
        f"; {share:.0%} of the events on one of {threads} threads, which was faster"
        if threads > 1 and share >= 0.01
        else ""
    )
