"""Checks of marking: whether lossless queues are marked, and before the switch pauses."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from xoff.sonic.checks.pools import profiles_of
from xoff.sonic.checks.row import Check, Context, Row
from xoff.sonic.switch import Output, Switch

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
        "true.",
        "No packet is marked: DCQCN never slows down, and PFC alone controls congestion.",
        "Set `ecn` to `ecn_all` and `wred_green_enable` to `true`.",
        "sonic-net/sonic-buildimage issue 4545; SAI `inc/saiwred.h`: the default of enable is false.",
        _ecn_off,
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
