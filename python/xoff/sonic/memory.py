"""The memory of a switch as its profiles cut it: reserves, shared memory, headroom, and what alpha leaves.

A slice of memory with B shared bytes, of which u are used, gives a group the threshold α·(B − u) beyond its reserve.
n groups that are full together hold αB/(1 + nα) each (Choudhury and Hahne 1998).
"""

from __future__ import annotations

from dataclasses import dataclass

from xoff.sonic.switch import Pool, Profile, Switch


@dataclass(frozen=True, slots=True)
class Memory:
    """The ingress memory of lossless groups, in bytes."""

    pool: Pool
    shared: int | None
    """B of a slice; None if the size of the pool is unknown, or negative if reserves and headroom exceed the pool."""
    reserves: int
    """The sum of reserves of all groups in the pool."""
    headroom: int
    """The shared headroom pool, or the sum of headroom of the lossless groups."""
    slices: int
    groups: int
    """Lossless groups of ports that are up, in a slice."""

    def threshold(self, profile: Profile, groups: int) -> float | None:
        """Returns the bytes of shared memory that each of some full groups may hold; None if unknown."""
        if profile.dynamic_th is None:
            return None if profile.static_th is None else float(profile.static_th)
        alpha = profile.alpha
        if alpha is None or self.shared is None or self.shared <= 0:
            return None
        return alpha * self.shared / (1 + groups * alpha)

    def held(self, profile: Profile, reserve: int, groups: int) -> float | None:
        """Returns the most bytes that some full groups hold in a slice: reserves, shared memory and headroom."""
        share = self.threshold(profile, groups)
        if share is None or self.shared is None:
            return None
        headroom = min(groups * (profile.xoff or 0), self.headroom // self.slices)
        return min(groups * share, self.shared) + groups * reserve + headroom


def reserve(switch: Switch, profile: Profile) -> int:
    """Returns the memory that only one group may use: the size, less the headroom that the size may contain."""
    if switch.has_shared_headroom or not profile.xoff:
        return profile.size
    return profile.size - profile.xoff if profile.size >= profile.xoff else profile.size


def of(switch: Switch) -> Memory | None:
    """Returns the memory of the lossless groups of a switch; None without a lossless group in a pool."""
    lossless = switch.lossless
    pool = next((one.profile.pool for one in lossless if one.profile.pool), None)
    if pool is None:
        return None
    inside = [one for one in switch.groups.values() if one.profile.pool == pool and one.port.is_up]
    reserves = sum(reserve(switch, one.profile) for one in inside)
    headroom = switch.shared_headroom or sum(one.profile.xoff or 0 for one in lossless)
    slices = switch.asic.slices
    shared = None
    if pool.size is not None:
        left = pool.size - (headroom if switch.asic.headroom_in_pool else 0)
        left -= reserves if switch.asic.reserve_in_pool else 0
        shared = left // slices
    return Memory(pool, shared, reserves, headroom, slices, -(-len(lossless) // slices))


def queue_parts(switch: Switch, profile: Profile) -> int:
    """Returns the equal parts of an egress pool, each of which has the limit of a queue by itself."""
    is_of_slice = switch.asic.limit_of_slice or profile.static_th is None
    return switch.asic.slices if is_of_slice else 1


def queue_limit(switch: Switch, profile: Profile, ingress: int | None = None) -> int | None:
    """Returns the most bytes that a single full queue may hold in a part of its egress pool; None if unknown.

    ingress: the size of the ingress pool. On chips with limits of a slice, templates ship egress pools of either size:
        a pool below the ingress pool has the size of a slice.
    """
    pool, parts = profile.pool, queue_parts(switch, profile)
    size = None if pool is None else pool.size
    if size is not None and not (switch.asic.limit_of_slice and ingress is not None and size < ingress):
        size = -(-size // parts)
    if profile.static_th is not None:
        # Zero is no limit.
        limits = [one for one in (profile.static_th or None, size) if one is not None]
        return min(limits) + profile.size if limits else None
    if size is None or profile.alpha is None:
        return None
    if takes_all(switch, profile):
        return size
    return int(profile.alpha * size / (1 + profile.alpha)) + profile.size


def takes_all(switch: Switch, profile: Profile) -> bool:
    """True if a dynamic threshold is no limit."""
    return profile.dynamic_th == 7 and switch.asic.formula == "nvidia"
