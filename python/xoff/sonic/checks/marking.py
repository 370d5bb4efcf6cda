"""Checks of marking: whether lossless queues are marked, and before the switch pauses."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from xoff.sonic.checks.pools import profiles_of
from xoff.sonic.checks.row import Check, Context, Row
from xoff.sonic.switch import Output, Switch

COLOURS = ("green", "yellow", "red")
_GREEN = ("ecn_green", "ecn_green_yellow", "ecn_green_red", "ecn_all")


def is_enabled(fields: dict[str, str]) -> bool:
    """True if a WRED profile has a curve for green packets, of marks or of drops."""
    return fields.get("wred_green_enable") == "true"


def is_marking(fields: dict[str, str]) -> bool:
    """True if a WRED profile marks green packets."""
    return fields.get("ecn", "ecn_none") in _GREEN and is_enabled(fields)


def _profiles(switch: Switch) -> Iterator[tuple[str, dict[str, str], Output]]:
    """Yields the WRED profiles of lossless queues of ports that are up, each with its first queue."""
    seen: set[str] = set()
    for output in switch.outputs:
        name = output.wred
        if name is None or name in seen or not output.port.is_up:
            continue
        if output.queue in output.port.lossless_queues():
            seen.add(name)
            yield name, switch.config.table("WRED_PROFILE")[name], output


def _ecn_off(context: Context) -> Iterator[Row]:
    yield from _unmarked(context)
    for switch in context.fabric.switches.values():
        for name, fields, output in _profiles(switch):
            has_mode = fields.get("ecn", "ecn_none") in _GREEN
            if is_enabled(fields):
                continue
            field, value, needed = (
                ("wred_green_enable", fields.get("wred_green_enable", ""), "true")
                if has_mode
                else ("ecn", fields.get("ecn", ""), "ecn_all, with wred_green_enable true")
            )
            yield Row(
                "ecn-off", "error", switch.name, output.port.name, "WRED_PROFILE", name, field, value, needed,
                f"queue {output.queue} of RoCE has thresholds, and no packet is marked: congestion control never acts",
            )  # fmt: skip


def _unmarked(context: Context) -> Iterator[Row]:
    """Yields the lossless queues without a WRED profile."""
    for switch in context.fabric.switches.values():
        if not switch.outputs:
            context.unchecked["ecn-off"] = (
                f"{switch.name} has no QUEUE table: if the file is complete, nothing is marked"
            )
            continue
        curves = {(one.port.name, one.queue): one.wred for one in switch.outputs if one.wred is not None}
        marking = (name for name, fields in switch.config.table("WRED_PROFILE").items() if is_marking(fields))
        needed = next(marking, "a curve with ecn_all and wred_green_enable true")
        for port in switch.up:
            for queue in sorted({port.maps.queue_of(one) for one in port.lossless_classes()}):
                if (port.name, queue) not in curves:
                    yield Row(
                        "ecn-off", "warning", switch.name, port.name, "QUEUE", f"{port.name}|{queue}", "wred_profile",
                        "", needed, f"lossless queue {queue} has no curve, and no packet is marked: congestion control "
                        "never acts",
                    )  # fmt: skip


def _order(context: Context) -> Iterator[Row]:
    for switch in context.fabric.switches.values():
        places = [
            ("WRED_PROFILE", name, f"{colour}_min_threshold", f"{colour}_max_threshold", fields, colour)
            for name, fields in switch.config.table("WRED_PROFILE").items()
            for colour in COLOURS
        ]
        places += [
            ("SCHEDULER", name, "cir", "pir", fields, "")
            for name, fields in switch.config.table("SCHEDULER").items()
            if "pir" in fields
        ]
        used = {name for one in switch.outputs if one.port.is_up for name in (one.wred, one.scheduler)}
        for table, name, low, high, fields, colour in places:
            least, most = (int(fields.get(one, "0")) for one in (low, high))
            if least <= most:
                continue
            acts = name in used and (not colour or fields.get(f"wred_{colour}_enable") == "true")
            yield Row(
                "order", "error" if acts else "note", switch.name, "", table, name, low, str(least), str(most),
                f"{high} is {most}: SONiC or the chip refuses the entry, or no value lies between the two"
                + ("" if acts else "; no queue of a port that is up uses it"),
            )  # fmt: skip


def _wred_drops_lossless(context: Context) -> Iterator[Row]:
    for switch in context.fabric.switches.values():
        for name, fields, output in _profiles(switch):
            if is_enabled(fields) and fields.get("ecn", "ecn_none") not in _GREEN:
                value = fields.get("ecn", "")
                yield Row(
                    "wred-drops-lossless", "error", switch.name, output.port.name, "WRED_PROFILE", name, "ecn", value,
                    "ecn_all", f"the curve drops packets of lossless queue {output.queue} in place of marking them",
                )  # fmt: skip


def _ecn_above_xoff(context: Context) -> Iterator[Row]:
    for switch, memory in context.with_memory():
        alphas = [alpha for one in profiles_of(switch.lossless).values() if (alpha := one.profile.alpha) is not None]
        if memory.shared is None or memory.shared <= 0 or not alphas:
            continue
        alpha = min(alphas)
        for name, fields, output in _profiles(switch):
            kmin = int(fields.get("green_min_threshold", "0"))
            if not is_marking(fields) or kmin == 0:
                continue
            least = max(1, ceil((alpha * memory.shared / kmin - 1) / alpha))
            if least > memory.groups:
                continue
            fitting = alpha * memory.shared / (1 + memory.groups * alpha)
            yield Row(
                "ecn-above-xoff", "warning", switch.name, output.port.name, "WRED_PROFILE", name, "green_min_threshold",
                str(kmin), str(ceil(fitting) - 1),
                f"with {least} or more full lossless groups (of {memory.groups} in a slice) each pauses at "
                f"{alpha * memory.shared / (1 + least * alpha):.0f} B or less: pauses come before marks",
            )  # fmt: skip


CHECKS = (
    Check(
        "ecn-off",
        "error",
        "A lossless queue has a WRED profile that marks nothing: `ecn` names no green, or `wred_green_enable` is not "
        "true. A lossless queue without a profile is a warning.",
        "No packet is marked: DCQCN never slows down, and PFC alone controls congestion.",
        "Give the queue a profile with `ecn` = `ecn_all` and `wred_green_enable` = `true`.",
        "sonic-net/sonic-buildimage issues 4545 and 21891; SAI `inc/saiwred.h`: the default of enable is false.",
        _ecn_off,
    ),
    Check(
        "order",
        "error",
        "A lower limit is above its upper limit: `green_min_threshold` above `green_max_threshold` (and yellow, red), "
        "or `cir` of a scheduler above `pir`. For a curve that is not enabled, and for an entry that no queue uses, "
        "the finding is a note.",
        "The chip refuses the curve, and the queue keeps an earlier one or none: nothing is marked as intended.",
        "Exchange the values, or raise the upper limit.",
        "sonic-yang-models `sonic-wred-profile.yang` and `sonic-scheduler.yang`; SONiC loads files that break the "
        "rules.",
        _order,
    ),
    Check(
        "ecn-above-xoff",
        "warning",
        "Marking begins at a queue that a full group does not reach before its pause: green_min_threshold is at least "
        "αB/(1 + nα). The message names the smallest number n of full groups.",
        "Pauses come before marks, and spread congestion to flows that do not cause the congestion.",
        "Give `green_min_threshold` at most the printed value, or raise alpha.",
        "Zhu et al., DCQCN (SIGCOMM 2015), section 4: marks must precede pauses.",
        _ecn_above_xoff,
        ("slices", "headroom_in_pool", "reserve_in_pool"),
    ),
    Check(
        "wred-drops-lossless",
        "error",
        "A lossless queue has an enabled curve, and `ecn` does not name green.",
        "The switch drops lossless packets at random.",
        "Set `ecn` to `ecn_all`.",
        "SAI `inc/saiwred.h`: a colour outside of the ECN mode is dropped.",
        _wred_drops_lossless,
    ),
)
