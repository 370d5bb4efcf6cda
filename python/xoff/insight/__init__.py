"""Why a flow was slow, and who paused whom: completion times cut into parts, and pauses in trees.

Both come from what a run writes down with ``probe.delays``; for a result without it the run is repeated, exactly.
`repeated` does so, `Tiling` cuts the completion time of a flow, and `Forest` has the trees of all pauses.
"""

from xoff.insight.origins import Pause, Root
from xoff.insight.repeat import repeated
from xoff.insight.tiling import Part, Tiling, tilings
from xoff.insight.trees import Forest, Tree

__all__ = ["Forest", "Part", "Pause", "Root", "Tiling", "Tree", "repeated", "tilings"]
