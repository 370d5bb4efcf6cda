"""The counters that are read, under their names in SONiC's COUNTERS_DB and in ``ethtool -S``.

Sources: the enumerations of the Switch Abstraction Interface (``saiport.h``, ``saiqueue.h``, ``saibuffer.h``); the
fields of SONiC's ``pfcwd``; the page "Ethtool counters" of the Linux driver ``mlx5``. ``P`` stands for the priority.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Meaning:
    """A counter of a port and class."""

    key: str
    """The name in this package."""
    sonic: str
    """The name in COUNTERS_DB, with ``P`` for the priority."""
    ethtool: str | None
    """The name of ``ethtool -S``, with ``P`` for the priority."""


MEANINGS = (
    Meaning("received", "SAI_PORT_STAT_PFC_P_RX_PKTS", "rx_prioP_pause"),
    Meaning("sent", "SAI_PORT_STAT_PFC_P_TX_PKTS", "tx_prioP_pause"),
    Meaning("paused_us", "SAI_PORT_STAT_PFC_P_RX_PAUSE_DURATION_US", "rx_prioP_pause_duration"),
    Meaning("dropped_in", "SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS", "rx_prioP_discards"),
    Meaning("dropped_out", "SAI_QUEUE_STAT_DROPPED_PACKETS", None),
    Meaning("marked", "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS", None),
    Meaning("storms", "PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED", None),
)
"""All counters: PFC frames received and sent (pauses and resumes), time paused by received frames in µs, packets
dropped that came by the port and that were to leave by it, marked packets, and storms of the PFC watchdog."""


def _patterns() -> list[tuple[re.Pattern[str], str]]:
    found = []
    for one in MEANINGS:
        for name in filter(None, (one.sonic, one.ethtool)):
            pattern = re.escape(name).replace("_P_", r"_(?P<priority>\d)_").replace("prioP", r"prio(?P<priority>\d)")
            found.append((re.compile(f"{pattern}$"), one.key))
    return found


_PATTERNS = _patterns()


def meaning(counter: str) -> tuple[str, int | None] | None:
    """Returns the key of a counter's name, and the priority in the name, if there is one; None for other counters."""
    for pattern, key in _PATTERNS:
        if (match := pattern.match(counter)) is not None:
            priority = match.groupdict().get("priority")
            return key, None if priority is None else int(priority)
    return None


def name(key: str, priority: int, *, is_host: bool) -> str | None:
    """Returns the name of a counter at a host (``ethtool -S``) or a switch (SONiC); None if a host has none."""
    of = next(one for one in MEANINGS if one.key == key)
    text = of.ethtool if is_host else of.sonic
    return None if text is None else text.replace("_P_", f"_{priority}_").replace("prioP", f"prio{priority}")
