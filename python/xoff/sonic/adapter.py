"""Settings of network adapters as text: ``mlnx_qos``, ``cma_roce_tos``, DCQCN parameters, and Broadcom's options.

A file has a setting a line: a command line, or the name of a parameter and its value. Parameters of NVIDIA's DCQCN are
those of sysfs (``ecn/roce_np``, ``ecn/roce_rp``) and debugfs (``cc_params``); AMD's driver has the same names.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from xoff import formatting
from xoff.importing.source import Source, read, shown

_MAX_BYTES = 2**20
_ASSIGNED = re.compile(r"(?:.*/)?(\w+)\s*[:=\s]\s*(\S+)")

US = 10**6
"""Picoseconds in a microsecond."""


def _time(value: int) -> str:
    return formatting.quantity_text(value * US, "ps")


def _rate(value: int) -> str:
    return formatting.quantity_text(value * 10**6, "bps")


_CARRIED: Mapping[str, tuple[str, int, int, Callable[[int], str | int | float | bool]]] = {
    "dce_tcp_g": ("g", 1, 1023, lambda value: 1 - value / 1024),
    "dce_tcp_rtt": ("alpha_interval", 1, 131_071, _time),
    "rate_reduce_monitor_period": ("decrease_interval", 1, 131_071, _time),
    "rpg_time_reset": ("increase_interval", 1, 131_071, _time),
    "rpg_byte_reset": ("byte_counter", 1, 32_767, lambda value: formatting.quantity_text(value * 64, "bytes")),
    "rpg_threshold": ("fast_recovery_steps", 1, 31, int),
    "rpg_ai_rate": ("additive_increase", 1, 10**6, _rate),
    "rpg_hai_rate": ("hyper_increase", 1, 10**6, _rate),
    "rpg_min_rate": ("minimum_rate", 1, 10**6, _rate),
    "clamp_tgt_rate": ("clamp_target", 0, 1, bool),
    "min_time_between_cnps": ("cnp_interval", 0, 4095, _time),
}
"""By parameter: the key of ``host.congestion_control.dcqcn``, the range, and the value for the key."""

_DEFAULTS: Mapping[str, int] = {
    "initial_alpha_value": 1023, "rpg_gd": 11, "rpg_min_dec_fac": 50, "rate_to_set_on_first_cnp": 0,
    "clamp_tgt_rate_ati": 1, "cnp_802p_prio": 6, "rpg_max_rate": 0,
}  # fmt: skip
"""Parameters without a key, with NVIDIA's default. At the default there is no note."""

_BROADCOM = frozenset(
    {
        "run_avg_weight_g", "num_phase_per_state", "init_cr", "init_tr", "tos_ecn", "alt_vlan_pcp", "rtt", "cc_mode",
        "inactivity_cp", "ai_rate_incr",
    }
)  # fmt: skip


@dataclass(slots=True)
class Adapter:
    """The settings of the hosts' adapters."""

    dcqcn: dict[str, str | int | float | bool] = field(default_factory=dict)
    """Keys of ``host.congestion_control.dcqcn``."""
    lossless: tuple[int, ...] | None = None
    """Priorities under PFC; None if the file does not name any."""
    trust: str | None = None
    roce_dscp: int | None = None
    cnp_dscp: int | None = None
    is_controlled: bool = True
    """False if congestion control is off."""
    notes: list[tuple[int, str]] = field(default_factory=list)
    """Settings that are not carried over, with the line."""


def load(path: Path) -> Adapter:
    """Returns the settings of a file. Raises `InputError` for a line that is no setting, or a value out of range."""
    source = read(path, _MAX_BYTES)
    found = Adapter()
    seen: dict[str, int] = {}
    for number, raw in source.rows(2**12):
        text = raw.decode("utf-8").strip()
        if text.startswith("#"):
            continue
        words = _words(source, number, text)
        if words[0] in {"mlnx_qos", "cma_roce_tos"}:
            (_mlnx_qos if words[0] == "mlnx_qos" else _roce_tos)(found, source, number, words[1:])
            continue
        # `echo 5 > /sys/class/net/eth0/ecn/roce_np/min_time_between_cnps`
        echo = re.fullmatch(r"echo\s+(\S+)\s*>\s*(\S+)", text)
        match = _ASSIGNED.fullmatch(f"{echo[2]} {echo[1]}" if echo else text)
        if match is None:
            source.wrong(number, f"{shown(text)} is no setting; a line is NAME VALUE, mlnx_qos … or cma_roce_tos …")
        name, value = match.groups()
        if name in seen:
            source.wrong(number, f"{name} is there twice (also in line {seen[name]})")
        seen[name] = number
        _parameter(found, source, number, name, value)
    return found


def _words(source: Source, line: int, text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError:
        source.wrong(line, "a quotation mark is not closed")
    return words[1:] if words and words[0] == "sudo" and len(words) > 1 else words or [""]


def _mlnx_qos(found: Adapter, source: Source, line: int, words: list[str]) -> None:
    rest = iter(words)
    for word in rest:
        option, _, value = word.partition("=")
        if option in {"--pfc", "-f"}:
            flags = (value or next(rest, "")).split(",")
            if len(flags) != 8 or not set(flags) <= {"0", "1"}:
                source.wrong(line, f"--pfc: {shown(','.join(flags))} is not eight flags, such as 0,0,0,1,0,0,0,0")
            found.lossless = tuple(at for at, flag in enumerate(flags) if flag == "1")
        elif option == "--trust":
            found.trust = value or next(rest, "")
            if found.trust not in {"dscp", "pcp"}:
                source.wrong(line, f"--trust: {shown(found.trust)} is neither dscp nor pcp")
            if found.trust == "pcp":
                found.notes.append((line, "mlnx_qos --trust pcp: classes follow the DSCP in xoff"))
        elif option in {"-i", "--interface"}:
            value = value or next(rest, "")
        else:
            found.notes.append((line, f"mlnx_qos {formatting.plain(word[:60])}: is not carried over"))
            if not value and option.startswith("-"):
                next(rest, "")


def _roce_tos(found: Adapter, source: Source, line: int, words: list[str]) -> None:
    if "-t" in words[:-1]:
        tos = source.whole(words[words.index("-t") + 1], line, "-t", 255)
        found.roce_dscp = tos >> 2
        if tos & 3 not in (1, 2):
            found.notes.append((line, f"cma_roce_tos -t {tos}: packets are not ECT, and no switch marks them"))
    else:
        source.wrong(line, "cma_roce_tos: needs -t TOS, such as -t 106")


def _parameter(found: Adapter, source: Source, line: int, name: str, text: str) -> None:
    """Takes a parameter and its value."""
    if name in _CARRIED:
        key, low, high, converted = _CARRIED[name]
        value = source.whole(text, line, name, high)
        if value < low:
            source.wrong(line, f"{name}: {value} is not from {low} to {high}")
        if key == "cnp_interval" and value == 0:
            found.notes.append(
                (line, f"{name} 0: a CNP for each marked packet is not modelled; the preset's value stays")
            )
            return
        found.dcqcn[key] = converted(value)
    elif name == "cnp_dscp":
        found.cnp_dscp = source.whole(text, line, name, 63)
    elif name in {"roce_dscp", "tos_dscp"}:
        found.roce_dscp = source.whole(text, line, name, 63)
    elif name == "traffic_class":
        found.roce_dscp = source.whole(text, line, name, 255) >> 2
    elif name == "enable_cc":
        found.is_controlled = source.whole(text, line, name, 1) == 1
    elif name in _DEFAULTS:
        if source.whole(text, line, name, 2**32) != _DEFAULTS[name]:
            found.notes.append((line, f"{name} {text}: has no equal in xoff (default {_DEFAULTS[name]})"))
    elif name in _BROADCOM:
        found.notes.append((line, f"{name} {formatting.plain(text[:40])}: the unit is not public; not carried over"))
    else:
        found.notes.append((line, f"{formatting.plain(name[:60])}: is not known and not carried over"))
