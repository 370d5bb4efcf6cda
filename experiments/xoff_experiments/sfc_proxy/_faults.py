"""Planted faults: runs and settings with which the statements of SFC's proxy mode fail (`xoff.reproduce.faults`)."""

from __future__ import annotations

from collections.abc import Mapping

from xoff.reproduce.faults import Fault, instead, matching

FAULTS: Mapping[str, Fault] = {
    "P.1": instead("proxy", "dcqcn"),
    "P.2": instead("proxy", "dcqcn"),
    "P.3-degrades": instead("model 3", "model 0"),
    "P.3-stable": instead("proxy", "dcqcn"),
    "P.4-like": matching("^model 0/isolation/", "model 3/proxy/", "model 3, proxy in place of model 0"),
    "P.4-better": instead("isolation", "proxy"),
    "P.4-stable": instead("isolation", "proxy"),
    "P.4-models": instead("isolation", "proxy"),
    "P.5": instead("nic", "proxy"),
    "P.5-clearly": instead("nic", "proxy"),
    "P.6": instead("proxy", "dcqcn"),
    "P.6-deadlock": instead("proxy", "pfc"),
    # One seed of the quick runs needs an eighth of the memory.
    "P.7": matching(r"^model \d/isolation/seed \d$", "model 0/isolation/seed 1", "one seed in place of all"),
    "P.8": matching("^model 0/host/", "model 0/dcqcn/", "DCQCN alone in place of SFC at the hosts"),
}
"""By statement."""
