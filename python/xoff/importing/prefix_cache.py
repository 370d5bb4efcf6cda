"""A cache of prefixes: blocks of input tokens, of which the least recently used block leaves first.

A request hits the longest run of cached blocks from the start of the input. The last block of a request counts as used
first, since a block is of use only with all preceding blocks of the input. vLLM frees blocks in this order as well
(``SingleTypeKVCacheManager.free``).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence


class PrefixCache:
    """The cached blocks, from the least recently used block to the most recently used block."""

    def __init__(self, room: int | None) -> None:
        """room: the largest number of blocks; None without a limit."""
        self._room = room
        self._held: OrderedDict[int, None] = OrderedDict()

    def take(self, blocks: Sequence[int]) -> int:
        """Adds the blocks of a request, and returns the number of leading blocks that were cached before."""
        held, hits = self._held, 0
        for block in blocks:
            if block not in held:
                break
            hits += 1
        for block in reversed(blocks):
            held[block] = None
            held.move_to_end(block)
        while self._room is not None and len(held) > self._room:
            held.popitem(last=False)
        return hits
