"""Explanations of slow flows and of pauses: completion times cut into parts, and pauses in trees.

Both are computed from the records of ``probe.delays``; a run without them is repeated exactly. `repeated` returns such
a result, a `Breakdown` has the parts of a flow's completion time, and a `Forest` the trees of all pauses.
"""

from xoff.insight.breakdown import Breakdown, Part, breakdowns
from xoff.insight.origins import Pause, Root
from xoff.insight.repeat import repeated
from xoff.insight.trees import Forest, Tree

__all__ = ["Breakdown", "Forest", "Part", "Pause", "Root", "Tree", "breakdowns", "repeated"]
