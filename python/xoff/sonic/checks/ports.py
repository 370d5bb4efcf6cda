"""Checks of watchdogs, schedulers and links."""

from __future__ import annotations

from collections.abc import Iterator

from xoff.sonic.checks.pools import profiles_of
from xoff.sonic.checks.row import Check, Context, Row
from xoff.sonic.fabric import Joint
from xoff.sonic.switch import Switch

_LEAST_SHARE = 0.1


def _wd_poll(context: Context) -> Iterator[Row]:
    for switch in context.fabric.switches.values():
        for key, fields in switch.watchdogs.items():
            for field in ("detection_time", "restoration_time"):
                if field not in fields or int(fields[field]) > switch.poll_ms:
                    continue
                value = int(fields[field])
                yield Row(
                    "wd-poll",
                    "error" if value < switch.poll_ms else "warning",
                    switch.name,
                    key,
                    "PFC_WD",
                    key,
                    field,
                    str(value),
                    f"above POLL_INTERVAL ({switch.poll_ms})",
                    f"the watchdog looks every {switch.poll_ms} ms: a pause below {value} ms may count as a storm"
                    if value == switch.poll_ms
                    else f"the watchdog looks every {switch.poll_ms} ms, and cannot see {value} ms",
                )


def _wd_pause(context: Context) -> Iterator[Row]:
    for switch, memory in context.with_memory():
        times = [
            (int(fields["detection_time"]), key)
            for key, fields in switch.watchdogs.items()
            if "detection_time" in fields
        ]
        shares = [
            share
            for one in profiles_of(switch.lossless).values()
            if (share := memory.threshold(one.profile, memory.groups)) is not None
        ]
        if not times or not shares:
            continue
        slowest = min(port.speed for port in switch.up)
        longest = memory.groups * max(shares) * 8 / (slowest * 1000)
        for detection, key in times:
            if detection < longest:
                yield Row(
                    "wd-pause", "warning", switch.name, key, "PFC_WD", key, "detection_time", str(detection),
                    str(int(longest) + 1),
                    f"{memory.groups} full groups drain through an output of {slowest} Mb/s in {longest:.0f} ms: "
                    "a healthy pause counts as a storm",
                )  # fmt: skip


def _weight(context: Context) -> Iterator[Row]:
    for switch in context.fabric.switches.values():
        for name in switch.config.table("SCHEDULER"):
            kind, weight = switch.scheduling(name)
            if kind != "STRICT" and not 1 <= weight <= 100:
                yield Row(
                    "weight", "note", switch.name, "", "SCHEDULER", name, "weight", str(weight), "1 to 100",
                    "the weight is outside of the allowed range",
                )  # fmt: skip
        by_port: dict[str, list[tuple[int, str, int]]] = {}
        for output in switch.outputs:
            if output.scheduler is not None and output.port.is_up:
                kind, weight = switch.scheduling(output.scheduler)
                if kind != "STRICT":
                    by_port.setdefault(output.port.name, []).append((output.queue, output.scheduler, weight))
        for port, queues in by_port.items():
            total = sum(weight for _, _, weight in queues) or 1
            lossless = switch.ports[port].lossless_queues()
            for queue, name, weight in queues:
                if queue in lossless and weight / total < _LEAST_SHARE:
                    yield Row(
                        "weight", "note", switch.name, port, "SCHEDULER", name, "weight", str(weight),
                        str(-(-(total - weight) // 9)),
                        f"lossless queue {queue} has {weight / total:.1%} of the link under load: its group fills and "
                        "pauses",
                    )  # fmt: skip


def _link_mismatch(context: Context) -> Iterator[Row]:
    seen: set[frozenset[tuple[str, str]]] = set()
    for joint in context.fabric.joints():
        if joint.port.neighbour is None:
            continue
        ends = frozenset({(joint.switch.name, joint.port.name), joint.port.neighbour})
        if ends in seen:
            continue
        seen.add(ends)
        if joint.peer is not None:
            yield from _differences(joint, joint.peer, joint.port.neighbour[1])


def _differences(joint: Joint, peer: Switch, peer_port: str) -> Iterator[Row]:
    port, there = joint.port, joint.peer_port
    name = f"{peer.name} {peer_port}"
    found: list[tuple[str, str, str, str, str, str]] = []
    if there is None:
        text = f"{peer.name} has no port {peer_port}"
        found.append(("DEVICE_NEIGHBOR", port.name, "port", peer_port, f"a port of {peer.name}", text))
    elif there.neighbour is not None and there.neighbour != (joint.switch.name, port.name):
        other = " ".join(there.neighbour)
        found.append(("DEVICE_NEIGHBOR", port.name, "port", name, other, f"{name} names {other} as its neighbour"))
    else:
        pairs = (("speed", port.speed, there.speed), ("mtu", port.mtu, there.mtu))
        found += [
            ("PORT", port.name, field, str(here), str(far), f"{name} has {far}")
            for field, here, far in pairs
            if here != far
        ]
        if port.metres is not None and there.metres is not None and port.metres != there.metres:
            text = f"{name} has {there.metres}m: one end has too little headroom"
            found.append(("CABLE_LENGTH", "", port.name, f"{port.metres}m", f"{there.metres}m", text))
    for table, key, field, value, needed, why in found:
        yield Row("link-mismatch", "error", joint.switch.name, port.name, table, key, field, value, needed, why)


CHECKS = (
    Check(
        "wd-poll",
        "error",
        "`detection_time` or `restoration_time` is less than POLL_INTERVAL. If they are equal, the finding is a "
        "warning.",
        "The watchdog takes a short pause for a storm and drops lossless packets.",
        "Set POLL_INTERVAL to at most half of `detection_time`.",
        "sonic-net/sonic-mgmt pull requests 27657 and 4431.",
        _wd_poll,
    ),
    Check(
        "wd-pause",
        "warning",
        "`detection_time` is shorter than the time in which all full lossless groups drain through the slowest output.",
        "A healthy incast counts as a storm, and lossless packets are dropped.",
        "Give `detection_time` the printed value.",
        "Closed form: n groups of threshold T drain in n·T/s.",
        _wd_pause,
        ("slices", "headroom_in_pool", "reserve_in_pool"),
    ),
    Check(
        "weight",
        "note",
        "A weight is outside of 1 to 100, or a lossless queue has less than 10 % of the link under load.",
        "The queue of RoCE drains slowly, and its inputs pause.",
        "Give the scheduler the printed weight.",
        "sonic-yang-models `sonic-scheduler.yang`.",
        _weight,
    ),
    Check(
        "link-mismatch",
        "error",
        "The two ends of a link disagree about neighbour, speed, MTU or length of the cable.",
        "Frames are dropped, or one end has headroom for another cable.",
        "Correct the end that is wrong.",
        "sonic-yang-models `sonic-device_neighbor.yang` and `sonic-cable-length.yang`.",
        _link_mismatch,
    ),
)
