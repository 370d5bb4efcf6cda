"""Checks of pools and thresholds: whether sizes fit into memory, and which limit acts first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil

from xoff.sonic.checks.row import Check, Context, Row, depends_on
from xoff.sonic.memory import Memory, queue_limit, queue_parts, reserve, takes_all
from xoff.sonic.switch import Member, Profile, Switch


def profiles_of(members: list[Member]) -> dict[str, Member]:
    """Returns the first member with each profile, by the name of the profile."""
    found: dict[str, Member] = {}
    for one in members:
        found.setdefault(one.profile.name, one)
    return found


def _lossless_queues(switch: Switch) -> list[Member]:
    return [one for one in switch.queues.values() if one.port.is_up and one.number in one.port.lossless_queues()]


def _pool_sum(context: Context) -> Iterator[Row]:
    for switch, memory in context.with_memory():
        pool, asic = memory.pool, switch.asic
        inside = (memory.headroom if asic.headroom_in_pool else 0) + (memory.reserves if asic.reserve_in_pool else 0)
        outside = memory.headroom + memory.reserves - inside
        known = "headroom" if memory.headroom else ""
        if pool.size is None:
            if asic.memory is None:
                yield Row(
                    "pool-sum",
                    "note",
                    switch.name,
                    "",
                    "BUFFER_POOL",
                    pool.name,
                    "size",
                    "",
                    "",
                    "the dynamic buffer model computes the size, and the memory of the chip is unknown: give memory "
                    "with --asic FILE to check the sum",
                )
            elif memory.reserves + memory.headroom > asic.memory:
                yield _over(switch, pool.name, memory.reserves + memory.headroom, asic.memory, "the memory")
            continue
        if known and inside > pool.size:
            yield _over(switch, pool.name, inside, pool.size, "the pool")
        elif asic.memory is not None and pool.size + outside > asic.memory:
            yield _over(switch, pool.name, pool.size + outside, asic.memory, "the memory")


def _over(switch: Switch, pool: str, total: int, limit: int, what: str) -> Row:
    return Row(
        "pool-sum",
        "error",
        switch.name,
        "",
        "BUFFER_POOL",
        pool,
        "size",
        str(limit),
        str(total),
        f"reserves and headroom together take {total} B, and {what} has {limit} B",
    )


def _egress_pool(context: Context) -> Iterator[Row]:
    for switch, memory in context.with_memory():
        if memory.pool.size is None:
            continue
        for member in profiles_of(_lossless_queues(switch)).values():
            pool, limit = member.profile.pool, queue_limit(switch, member.profile, memory.pool.size)
            # A pool of type `both` counts a packet once: its output cannot run out before its input.
            if pool is None or pool == memory.pool or pool.type == "both" or limit is None:
                continue
            if member.profile.static_th is None and not takes_all(switch, member.profile):
                yield from _egress_share(switch, memory, member.profile, limit)
            else:
                yield from _egress_limit(switch, memory, member.profile, limit)


def _egress_limit(switch: Switch, memory: Memory, profile: Profile, limit: int) -> Iterator[Row]:
    """Yields a finding if a static limit is less than what the inputs admit: in a slice, if it is that of a slice."""
    inside = switch.asic.headroom_in_pool
    demand = (memory.pool.size or 0) + (0 if inside else switch.shared_headroom)
    parts = queue_parts(switch, profile)
    share = -(-demand // parts)
    if limit >= share or profile.pool is None:
        return
    is_pool = (profile.pool.size or 0) < demand
    cells = "" if "cell" in switch.asic.unknown else f" ({-(-(share - limit) // switch.asic.cell)} cells)"
    of_slice = f" of each of {parts} slices" if parts > 1 else ""
    yield Row(
        "egress-pool",
        "error",
        switch.name,
        "",
        "BUFFER_POOL" if is_pool else "BUFFER_PROFILE",
        profile.pool.name if is_pool else profile.name,
        "size" if is_pool else "static_th",
        str(profile.pool.size if is_pool else profile.static_th),
        str(demand if is_pool else share),
        f"lossless queues hold {limit} B and inputs{of_slice} admit {share} B, {share - limit} B{cells} more: "
        "the output drops lossless packets before their inputs have used the headroom",
    )


def _egress_share(switch: Switch, memory: Memory, profile: Profile, limit: int) -> Iterator[Row]:
    """Yields a finding if enough full groups hold more than the share of the pool that a queue may take."""
    first = max((one.profile for one in switch.lossless), key=lambda one: one.alpha or 0)
    held = [memory.held(first, reserve(switch, first), n) or 0 for n in range(1, memory.groups + 1)]
    least = next((n for n, size in enumerate(held, 1) if size > limit), None)
    if least is None:
        return
    most, size = max(held), memory.pool.size
    passing = (n for n in range(-8, 8) if (queue_limit(switch, replace(profile, dynamic_th=n), size) or 0) >= most)
    yield Row(
        "egress-pool",
        "warning",
        switch.name,
        "",
        "BUFFER_PROFILE",
        profile.name,
        "dynamic_th",
        str(profile.dynamic_th),
        str(next(passing, f"static_th of {ceil(most)}")),
        f"{least} or more full lossless groups (of {memory.groups} in a slice) hold up to {most:.0f} B, and a lossless "
        f"queue may take {limit} B: the output drops lossless packets before their inputs have used the headroom",
    )


def _level(switch: Switch, profile: Profile) -> str:
    """Returns the level of a finding on a limit: only a lossless group needs the limit, to pause in time."""
    return "warning" if any(one.profile.name == profile.name for one in switch.lossless) else "note"


def _static_above_pool(context: Context) -> Iterator[Row]:
    for switch in context.fabric.switches.values():
        for profile in switch.profiles.values():
            pool = profile.pool
            if profile.static_th and pool and pool.size is not None and profile.static_th > pool.size:
                yield Row(
                    "static-above-pool",
                    _level(switch, profile),
                    switch.name,
                    "",
                    "BUFFER_PROFILE",
                    profile.name,
                    "static_th",
                    str(profile.static_th),
                    str(pool.size),
                    f"pool {pool.name} has {pool.size} B: the limit has no effect",
                )


def _threshold_mode(context: Context) -> Iterator[Row]:
    for switch in context.fabric.switches.values():
        for profile in switch.profiles.values():
            pool = profile.pool
            if pool is None or (profile.dynamic_th is None and profile.static_th is None):
                continue
            given = "static" if profile.dynamic_th is None else "dynamic"
            if given != pool.mode:
                value = profile.static_th if given == "static" else profile.dynamic_th
                yield Row(
                    "threshold-mode",
                    _level(switch, profile),
                    switch.name,
                    "",
                    "BUFFER_PROFILE",
                    profile.name,
                    f"{given}_th",
                    str(value),
                    f"{pool.mode}_th",
                    f"pool {pool.name} has {pool.mode} thresholds; chips differ in whether a profile may have another",
                )


def _alpha_idle(context: Context) -> Iterator[Row]:
    for switch, memory in context.with_memory():
        limits = [
            (limit, member)
            for member in profiles_of(_lossless_queues(switch)).values()
            if (limit := queue_limit(switch, member.profile)) is not None
        ]
        for name, member in profiles_of(switch.lossless).items():
            profile = member.profile
            alone = memory.threshold(profile, 1) if profile.dynamic_th is not None else None
            if alone is None or memory.shared is None:
                continue
            stop = min(limits, key=lambda one: one[0], default=None)
            frames = 2 * member.port.mtu
            if memory.shared < frames:
                why, needed = f"the shared memory has {memory.shared} B, less than two frames", f"{frames} B shared"
            elif stop is not None and alone >= stop[0]:
                name_ = stop[1].profile.name
                why = f"a group alone may hold {alone:.0f} B, and queue profile {name_} ends at {stop[0]} B"
                needed = f"a queue limit above {alone:.0f}"
            else:
                continue
            value = str(profile.dynamic_th)
            yield Row(
                "alpha-idle", "note", switch.name, "", "BUFFER_PROFILE", name, "dynamic_th", value, needed,
                f"{why}: alpha has no effect on one group",
            )  # fmt: skip


def _lossy_ingress_first(context: Context) -> Iterator[Row]:
    for switch in context.fabric.switches.values():
        seen: set[tuple[str, str]] = set()
        for port in switch.up:
            lossless = port.lossless_classes()
            for one in port.maps.classes():
                group = switch.groups.get((port.name, port.maps.group_of(one)))
                queue = switch.queues.get((port.name, port.maps.queue_of(one)))
                if one in lossless or group is None or queue is None:
                    continue
                first, second = group.profile.dynamic_th, queue.profile.dynamic_th
                names = group.profile.name, queue.profile.name
                if first is None or second is None or first >= second or names in seen:
                    continue
                seen.add(names)
                yield Row(
                    "lossy-ingress-first", "warning", switch.name, port.name, "BUFFER_PROFILE", names[0], "dynamic_th",
                    str(first), str(second),
                    f"alpha is below that of queue profile {names[1]} ({second}): lossy packets are dropped by input "
                    "port, so that a victim loses packets of an uncongested output",
                )  # fmt: skip


def _alpha_starves(context: Context) -> Iterator[Row]:
    for switch, memory in context.with_memory():
        for name, member in profiles_of(switch.lossless).items():
            profile = member.profile
            share = memory.threshold(profile, memory.groups) if profile.dynamic_th is not None else None
            if share is None or (held := reserve(switch, profile) + share) >= 2 * member.port.mtu:
                continue
            yield Row(
                "alpha-starves",
                "warning",
                switch.name,
                "",
                "BUFFER_PROFILE",
                name,
                "dynamic_th",
                str(profile.dynamic_th),
                _least(switch, memory.shared or 0, memory.groups, profile, 2 * member.port.mtu),
                f"with {memory.groups} full lossless groups each may hold {held:.0f} B, less than two frames of "
                f"{member.port.mtu} B: a port pauses with each frame",
            )


def _least(switch: Switch, shared: int, groups: int, profile: Profile, wanted: int) -> str:
    """Returns the least dynamic_th that leaves the wanted bytes to each full group."""
    for power in range(-8, 8):
        if reserve(switch, profile) + 2.0**power * shared / (1 + groups * 2.0**power) >= wanted:
            return str(power)
    return f"{wanted} B of size"


def _xon(context: Context) -> Iterator[Row]:
    for switch, memory in context.with_memory():
        for name, member in profiles_of(switch.lossless).items():
            profile = member.profile
            offset = profile.xon_offset or 0
            share = memory.threshold(profile, memory.groups)
            if profile.xon + offset == 0:
                field, value, needed = "xon", "0", f"{2 * switch.asic.unit}"
                why = "xon and xon_offset are zero"
            elif switch.asic.resume == "offset" and share is not None and offset >= share and profile.xon == 0:
                field, value, needed = "xon_offset", str(offset), f"{int(share) - 1}"
                why = f"with {memory.groups} full lossless groups the threshold is {share:.0f} B"
            else:
                continue
            yield Row(
                "xon", "warning", switch.name, "", "BUFFER_PROFILE", name, field, value, needed,
                f"{why}: a paused port resumes only when the group is empty, and the link idles for a round trip",
            )  # fmt: skip


def _cells(context: Context) -> Iterator[Row]:
    for switch in context.fabric.switches.values():
        if "cell" in switch.asic.unknown:
            context.unchecked["cells"] = depends_on(switch, ["cell"])
            continue
        used = {one.profile.name for one in switch.groups.values()}
        places: list[tuple[str, str, str, int, str]] = []
        for pool in switch.pools.values():
            places += [("BUFFER_POOL", pool.name, "size", pool.size or 0, "note")]
            places += [("BUFFER_POOL", pool.name, "xoff", pool.shared_headroom, "note")]
        for profile in (one for name, one in switch.profiles.items() if name in used):
            places += [("BUFFER_PROFILE", profile.name, "xoff", profile.xoff or 0, "warning")]
            places += [("BUFFER_PROFILE", profile.name, "xon_offset", profile.xon_offset or 0, "warning")]
        for table, key, field, value, level in places:
            cell = switch.asic.cell
            if value % cell and value % 1024:
                yield Row(
                    "cells", level, switch.name, "", table, key, field, str(value), str(-(-value // cell) * cell),
                    f"is {value / cell:.2f} cells of {cell} B; the hardware takes whole cells",
                )  # fmt: skip


CHECKS = (
    Check(
        "pool-sum",
        "error",
        "Reserves and headroom together exceed the pool that contains them, or the memory of the chip. Unknown memory "
        "under the dynamic buffer model is a note.",
        "Shared memory is less than nothing: SONiC's orchestration agent refuses the pool, or groups starve.",
        "Make the reserves, the headroom or the number of groups smaller.",
        "SAI `inc/saibuffer.h`: a pool contains the shared headroom; sonic-swss `cfgmgr/buffer_pool_mellanox.lua`.",
        _pool_sum,
        ("headroom_in_pool", "reserve_in_pool"),
    ),
    Check(
        "egress-pool",
        "error",
        "The static limit of a lossless queue is less than the ingress pool, with the shared headroom pool where the "
        "size leaves the shared headroom out. If the limit is that of a slice, the check compares it with the slice's "
        "part. A dynamic limit is a warning if full lossless groups can hold more than the queue's share. Pools of "
        "type `both` are not compared, because they count a packet once.",
        "The output drops lossless packets although their inputs have headroom left.",
        "Give the egress pool and the limit of the queue the printed value.",
        "sonic-net/sonic-buildimage pull requests 21320 (Trident 3) and 25451 (limits of a slice on Tomahawk 5).",
        _egress_pool,
        ("slices", "headroom_in_pool", "reserve_in_pool", "limit_of_slice"),
    ),
    Check(
        "static-above-pool",
        "warning",
        "`static_th` of a lossless group is larger than the pool. For a queue or a lossy group, where templates use "
        "such a value as no limit, the finding is a note.",
        "The limit has no effect: a lossless group pauses only when the pool is full.",
        "Give `static_th` at most the size of the pool.",
        "SAI `inc/saibuffer.h`.",
        _static_above_pool,
    ),
    Check(
        "threshold-mode",
        "warning",
        "A profile has `dynamic_th` in a pool with static thresholds, or `static_th` in one with dynamic thresholds. "
        "For a queue or a lossy group, as templates of Broadcom ship it, the finding is a note.",
        "Some chips refuse the profile, and the group or queue keeps an earlier limit.",
        "Use the threshold of the pool's mode.",
        "SAI `inc/saibuffer.h`: the mode of a profile may replace that of the pool.",
        _threshold_mode,
    ),
    Check(
        "alpha-idle",
        "note",
        "The dynamic threshold of a lossless group never acts: a queue ends first, or shared memory is less than two "
        "frames.",
        "A change of alpha changes nothing.",
        "Raise the limit of the queue, or the size of the pool.",
        "Choudhury and Hahne (1998): one group alone holds αB/(1 + α).",
        _alpha_idle,
        ("slices", "headroom_in_pool", "reserve_in_pool", "limit_of_slice"),
    ),
    Check(
        "lossy-ingress-first",
        "warning",
        "The alpha of a lossy group is below the alpha of its queue.",
        "Lossy packets are dropped by input: one congested output takes memory from flows to other outputs.",
        "Give the group at least the alpha of the queue.",
        "SAI `inc/saibuffer.h`; profiles of sonic-buildimage give lossy groups the larger alpha.",
        _lossy_ingress_first,
    ),
    Check(
        "alpha-starves",
        "warning",
        "With all lossless groups of ports that are up full, reserve and threshold of a group are less than two "
        "frames.",
        "A congested port pauses with each frame, and throughput falls.",
        "Give `dynamic_th` the printed value.",
        "Choudhury and Hahne (1998): n groups hold αB/(1 + nα) each.",
        _alpha_starves,
        ("slices", "headroom_in_pool", "reserve_in_pool"),
    ),
    Check(
        "xon",
        "warning",
        "`xon` and `xon_offset` are zero, or `xon_offset` is at least the threshold of a group when all lossless "
        "groups are full.",
        "A pause ends when the group is empty: the link idles for a round trip after each pause.",
        "Give `xon_offset` two frames.",
        "SAI `inc/saibuffer.h`: a group resumes at the larger of xon and the threshold less the offset.",
        _xon,
        ("cell", "resume", "slices", "headroom_in_pool", "reserve_in_pool"),
    ),
    Check(
        "cells",
        "warning",
        "A size is no whole number of cells, nor of KiB. For pools the finding is a note.",
        "The hardware rounds the size, and computed values are off by a cell.",
        "Give the printed value.",
        "sonic-mgmt `tests/qos`: thresholds are tested in cells.",
        _cells,
    ),
)
