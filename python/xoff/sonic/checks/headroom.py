"""Checks of headroom: bytes that arrive after a pause, and the sizes that hold them."""

from __future__ import annotations

from collections.abc import Iterator

from xoff.sonic.checks.row import Check, Context, Row
from xoff.sonic.formula import Headroom as Sizes
from xoff.sonic.formula import Link, falls, physics, response
from xoff.sonic.formula import Row as LookupRow
from xoff.sonic.switch import DEFAULT_MTU, Member, Profile, Switch


def _entries(switch: Switch) -> Iterator[tuple[Member, Profile]]:
    """Yields the lossless groups with their profiles, one group for each entry and port."""
    seen: set[tuple[str, str, str]] = set()
    for member in switch.lossless:
        if (place := (member.port.name, member.key, member.profile.name)) not in seen:
            seen.add(place)
            yield member, member.profile


def _unused(context: Context) -> Iterator[tuple[str, str, str, Link, Sizes]]:
    """Yields sizes that no port uses: switch, table, key, link, sizes."""
    for switch in context.fabric.switches.values():
        for profile in switch.unused_profiles():
            speed, metres = profile.cable or (0, 0)
            sizes = Sizes(profile.size, profile.xon, profile.xoff or 0)
            yield switch.name, "BUFFER_PROFILE", profile.name, Link(speed, metres, DEFAULT_MTU), sizes
    if context.lookup is not None:
        for row in _unused_rows(context):
            key = f"{row.speed} {row.metres}m"
            yield "", context.lookup.path.name, key, Link(row.speed, row.metres, DEFAULT_MTU), row.headroom


def _unused_rows(context: Context) -> list[LookupRow]:
    used = {
        (port.speed, port.metres)
        for switch in context.fabric.switches.values()
        if not switch.is_dynamic
        for port in switch.up
        if port.pfc
    }
    rows = context.lookup.rows if context.lookup else ()
    return [row for row in rows if (row.speed, row.metres) not in used]


def _headroom_cable(context: Context) -> Iterator[Row]:
    for switch in context.fabric.switches.values():
        for member, profile in _entries(switch):
            link, xoff = switch.link(member.port), profile.xoff or 0
            if member.port.metres is None or xoff >= link.cable_bytes:
                continue
            yield Row(
                "headroom-cable",
                "error",
                switch.name,
                member.port.name,
                "BUFFER_PROFILE",
                profile.name,
                "xoff",
                str(xoff),
                str(link.cable_bytes),
                f"{link.cable_bytes} B are on {link.metres} m of cable both ways; "
                f"{xoff} B hold those of {_metres(link, xoff)} m at most",
            )
    for name, table, key, link, sizes in _unused(context):
        if sizes.xoff < link.cable_bytes:
            yield Row(
                "headroom-cable",
                "note",
                name,
                "",
                table,
                key,
                "xoff",
                str(sizes.xoff),
                str(link.cable_bytes),
                f"no port uses the row; {link.cable_bytes} B are on {link.metres} m of cable both ways",
            )


def _metres(link: Link, size: int) -> int:
    return size * 8000 // (10 * link.speed)


def _headroom(context: Context) -> Iterator[Row]:
    for switch in context.fabric.switches.values():
        for member, profile in _entries(switch):
            link, xoff = switch.link(member.port), profile.xoff or 0
            if member.port.metres is None:
                context.unchecked["headroom"] = f"{switch.name} {member.port.name} has no CABLE_LENGTH"
                continue
            if xoff < link.cable_bytes:
                continue
            least = physics(switch.asic, link, switch.traffic)
            # Without a pattern the share of small packets is a default, and says nothing about other shares.
            worst = physics(switch.asic, link, switch.traffic, 100) if switch.traffic.is_given else least
            if xoff >= worst:
                continue
            level, needed = ("error", least) if xoff < least else ("note", worst)
            percent = switch.traffic.small_percent if level == "error" else 100
            yield Row(
                "headroom",
                level,
                switch.name,
                member.port.name,
                "BUFFER_PROFILE",
                profile.name,
                "xoff",
                str(xoff),
                str(needed),
                f"cable {link.cable_bytes} B, response {int(response(link.speed))} B, a frame of {link.mtu} B and two "
                f"of {switch.traffic.mtu} B take {needed} B{_in_cells(switch)} if {percent} % of the packets have 64 B",
            )


def _in_cells(switch: Switch) -> str:
    return " or more, as cells waste memory," if "cell" in switch.asic.unknown else f" in cells of {switch.asic.cell} B"


def _headroom_monotone(context: Context) -> Iterator[Row]:
    tables: list[tuple[str, str, tuple[LookupRow, ...]]] = []
    for switch in context.fabric.switches.values():
        rows = tuple(
            LookupRow(0, *one.cable, Sizes(one.size, one.xon, one.xoff or 0))
            for one in switch.profiles.values()
            if one.cable and one.is_lossless
        )
        tables.append((switch.name, "BUFFER_PROFILE", rows))
    if context.lookup is not None:
        tables.append(("", context.lookup.path.name, context.lookup.rows))
    for name, table, rows in tables:
        for more, less in falls(rows):
            is_profile = table == "BUFFER_PROFILE"
            key = f"pg_lossless_{less.speed}_{less.metres}m_profile" if is_profile else f"{less.speed} {less.metres}m"
            yield Row(
                "headroom-monotone",
                "warning",
                name,
                "",
                table,
                key,
                "xoff",
                str(less.headroom.xoff),
                str(more.headroom.xoff),
                f"{more.speed} Mb/s and {more.metres} m have {more.headroom.xoff} B; a longer cable or a higher speed "
                "needs more",
            )


def _size_sum(context: Context) -> Iterator[Row]:
    for switch in context.fabric.switches.values():
        if switch.has_shared_headroom:
            continue
        if not switch.asic.size_holds:
            if switch.lossless:
                context.unchecked["size-sum"] = f"what a size contains is not known of {switch.chip_name}"
            continue
        seen: set[str] = set()
        for _, profile in _entries(switch):
            needed = (profile.xoff or 0) + (profile.xon if switch.asic.size_holds == "xon+xoff" else 0)
            if profile.size >= needed or profile.name in seen:
                continue
            seen.add(profile.name)
            yield Row(
                "size-sum",
                "error",
                switch.name,
                "",
                "BUFFER_PROFILE",
                profile.name,
                "size",
                str(profile.size),
                str(needed),
                f"without a shared headroom pool {switch.asic.name} takes {switch.asic.size_holds} out of size",
            )


def _shp(context: Context) -> Iterator[Row]:
    for switch, memory in context.with_memory():
        if not switch.shared_headroom:
            continue
        largest = max(one.profile.xoff or 0 for one in switch.lossless)
        total = sum(one.profile.xoff or 0 for one in switch.lossless)
        of_slice = switch.shared_headroom // memory.slices
        if of_slice >= largest and switch.shared_headroom >= total:
            continue
        is_error = of_slice < largest
        fitting = of_slice // largest * memory.slices
        yield Row(
            "shp",
            "error" if is_error else "note",
            switch.name,
            "",
            "BUFFER_POOL",
            memory.pool.name,
            "xoff",
            str(switch.shared_headroom),
            str(largest * memory.slices if is_error else total),
            f"one group needs {largest} B, and a slice of the pool has {of_slice} B"
            if is_error
            else f"all {len(switch.lossless)} groups together need {total / switch.shared_headroom:.1f} times as much; "
            f"the headroom of {fitting} groups fits at once",
        )


def _name_reuse(context: Context) -> Iterator[Row]:
    if context.lookup is None:
        context.unchecked["name-reuse"] = "give --lookup"
        return
    for switch in context.fabric.switches.values():
        for profile in switch.profiles.values():
            row = context.lookup.exact(*profile.cable) if profile.cable else None
            if row is not None and (profile.size, profile.xon, profile.xoff) != (row.size, row.xon, row.xoff):
                yield Row(
                    "name-reuse",
                    "note",
                    switch.name,
                    "",
                    "BUFFER_PROFILE",
                    profile.name,
                    "size, xon, xoff",
                    f"{profile.size}, {profile.xon}, {profile.xoff}",
                    f"{row.size}, {row.xon}, {row.xoff}",
                    f"SONiC keeps a profile of this name and does not take the row of {context.lookup.path.name}",
                )


CHECKS = (
    Check(
        "headroom-cable",
        "error",
        "`xoff` is less than the bytes on the cable both ways: 2 · length · 5 ns/m · speed. A profile or lookup row "
        "that no port uses is a note.",
        "The bytes on the cable exceed the headroom: a pause always comes too late.",
        "Give `xoff` the printed value of check `headroom`, or correct CABLE_LENGTH.",
        "Lookup tables of sonic-buildimage: 20 of 1,462 rows hold less than the cable (SN4700-O8C48: 427,008 B at "
        "400G and 1,500 m).",
        _headroom_cable,
    ),
    Check(
        "headroom",
        "error",
        "`xoff` is less than the cable both ways, the reaction of the neighbour (pause quanta of 802.3), the port's "
        "largest frame in the way of the pause, the pause, and two lossless frames, in cells. The share of 64 B "
        "packets and the largest lossless frame are those of LOSSLESS_TRAFFIC_PATTERN (default 50 %, 1,024 B). With a "
        "pattern, a note means that `xoff` is enough for this share, but not if all packets have 64 B.",
        "Packets are lost when the neighbour reacts as slowly as 802.3 allows.",
        "Give `xoff` the printed value.",
        "IEEE Std 802.3, 31B.3.7; IEEE Std 802.1Q, Annex N; sonic-swss `cfgmgr/buffer_headroom_mellanox.lua`.",
        _headroom,
        ("cell",),
    ),
    Check(
        "headroom-monotone",
        "warning",
        "A longer cable, or a higher speed, has less `xoff` than another row of the same file.",
        "One of the two rows is wrong.",
        "Compute both rows with `xoff size pfc --sonic`.",
        "Lookup tables of sonic-buildimage repeat rows of lower speeds.",
        _headroom_monotone,
    ),
    Check(
        "size-sum",
        "error",
        "Without a shared headroom pool `size` is less than xon + xoff (NVIDIA, Tofino 1), or than xoff (Trident 2).",
        "The group has less headroom than `xoff` says.",
        "Give `size` the printed value.",
        "sonic-swss `cfgmgr/buffer_headroom_mellanox.lua`; lookup tables of Trident 2 in sonic-buildimage.",
        _size_sum,
    ),
    Check(
        "shp",
        "error",
        "The shared headroom pool (of a slice) is smaller than the largest `xoff`. If the pool holds one group, but "
        "not all groups, the finding is a note with the ratio and the number of groups that fit.",
        "One congested port already overruns the pool.",
        "Give BUFFER_POOL.xoff the printed value.",
        "SAI `inc/saibuffer.h`; sonic-mgmt `tests/qos/files/qos_params.th.yaml`.",
        _shp,
        ("slices",),
    ),
    Check(
        "name-reuse",
        "note",
        "A profile `pg_lossless_SPEED_CABLE_profile` differs from the row of its name. The check needs `--lookup`.",
        "SONiC keeps the profile: an update of the lookup table has no effect.",
        "Remove the profile, so that SONiC makes the profile anew, or correct the row.",
        "sonic-swss `cfgmgr/buffermgr.cpp`.",
        _name_reuse,
    ),
)
