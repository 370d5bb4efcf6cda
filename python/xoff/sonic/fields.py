"""Tables and fields of ``config_db.json`` that xoff reads, with the values that SONiC's YANG models allow.

Source: the YANG models of sonic-buildimage (``src/sonic-yang-models/yang-models``). The reader does not refuse a weight
outside of 1 to 100, or a watchdog that polls too rarely: these are checks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_WHOLE = re.compile(r"[0-9]{1,18}")
_SIGNED = re.compile(r"-?[0-9]{1,9}")
MAX_SIZE = 2**40
"""Above the memory of any switch, in bytes."""


@dataclass(frozen=True, slots=True)
class Kind:
    """The allowed values of a field."""

    low: int | None = None
    high: int = 0
    words: tuple[str, ...] = ()
    pattern: str = ""
    says: str = ""
    """The description of the pattern in messages."""
    refers: str = ""
    """The table of the entry that the field names."""

    def problem(self, text: str) -> str | None:
        """Returns the problem of a value, as a message continues the value; None without one."""
        if self.words and text not in self.words:
            return f"is none of {', '.join(self.words)}"
        if self.low is not None:
            number = _SIGNED if self.low < 0 else _WHOLE
            if not number.fullmatch(text) or not self.low <= int(text) <= self.high:
                return f"is not a whole number from {self.low} to {self.high}"
        if self.pattern and not re.fullmatch(self.pattern, text, re.A):
            return f"is not {self.says}"
        if len(text) > 256:
            return "is longer than 256 characters"
        return None


@dataclass(frozen=True, slots=True)
class Table:
    """The fields of a table."""

    fields: Mapping[str, Kind] = field(default_factory=dict)
    rest: Kind | None = None
    """The values of all other fields; None if the reader leaves other fields out."""


_TEXT = Kind()
_SIZE = Kind(0, MAX_SIZE)
_FLAG = Kind(words=("true", "false"))
_SWITCHED = Kind(words=("on", "off"))
_CLASSES = Kind(pattern=r"([0-7](,[0-7])*)?", says="a list of priorities from 0 to 7, such as 3,4")
_CLASS = Kind(0, 7)
_TRAFFIC_CLASS = Kind(0, 15)


def _to(table: str) -> Kind:
    return Kind(refers=table)


_COLOURS = ("green", "yellow", "red")
_WRED = {
    "ecn": Kind(
        words=(
            "ecn_none", "ecn_green", "ecn_yellow", "ecn_red", "ecn_green_yellow", "ecn_green_red", "ecn_yellow_red",
            "ecn_all",
        )
    ),
    **{f"wred_{colour}_enable": _FLAG for colour in _COLOURS},
    **{f"{colour}_{end}_threshold": _SIZE for colour in _COLOURS for end in ("min", "max")},
    **{f"{colour}_drop_probability": Kind(0, 100) for colour in _COLOURS},
}  # fmt: skip

TABLES: Mapping[str, Table] = {
    "DEVICE_METADATA": Table(
        {
            "hostname": _TEXT, "hwsku": _TEXT, "platform": _TEXT, "type": _TEXT, "switch_type": _TEXT,
            "buffer_model": Kind(words=("traditional", "dynamic")),
        }
    ),
    "PORT": Table(
        {
            "speed": Kind(1, 10**7), "mtu": Kind(68, 9216), "lanes": _TEXT, "alias": _TEXT,
            "admin_status": Kind(words=("up", "down")), "pfc_asym": _SWITCHED,
        }
    ),
    "CABLE_LENGTH": Table(rest=Kind(pattern=r"[0-9]{1,7}m", says="a length in metres, such as 40m")),
    "DEVICE_NEIGHBOR": Table({"name": _TEXT, "port": _TEXT, "local_port": _TEXT}),
    "DEVICE_NEIGHBOR_METADATA": Table({"type": _TEXT}),
    "BUFFER_POOL": Table(
        {
            "type": Kind(words=("ingress", "egress", "both")), "mode": Kind(words=("static", "dynamic")),
            "size": _SIZE, "xoff": _SIZE, "percentage": Kind(0, 100),
        }
    ),
    "BUFFER_PROFILE": Table(
        {
            "pool": _to("BUFFER_POOL"), "size": _SIZE, "xon": _SIZE, "xoff": _SIZE, "xon_offset": _SIZE,
            "dynamic_th": Kind(-8, 7), "static_th": _SIZE, "headroom_type": Kind(words=("static", "dynamic")),
            "packet_discard_action": Kind(words=("drop", "trim")),
        }
    ),
    "BUFFER_PG": Table({"profile": _to("BUFFER_PROFILE")}),
    "BUFFER_QUEUE": Table({"profile": _to("BUFFER_PROFILE")}),
    "BUFFER_PORT_INGRESS_PROFILE_LIST": Table({"profile_list": _TEXT}),
    "BUFFER_PORT_EGRESS_PROFILE_LIST": Table({"profile_list": _TEXT}),
    "DEFAULT_LOSSLESS_BUFFER_PARAMETER": Table(
        {"default_dynamic_th": Kind(-8, 7), "over_subscribe_ratio": Kind(0, 1000)}
    ),
    "LOSSLESS_TRAFFIC_PATTERN": Table({"mtu": Kind(64, 9216), "small_packet_percentage": Kind(0, 100)}),
    "PORT_QOS_MAP": Table(
        {
            "dscp_to_tc_map": _to("DSCP_TO_TC_MAP"), "dot1p_to_tc_map": _to("DOT1P_TO_TC_MAP"),
            "tc_to_pg_map": _to("TC_TO_PRIORITY_GROUP_MAP"), "tc_to_queue_map": _to("TC_TO_QUEUE_MAP"),
            "pfc_to_queue_map": _to("MAP_PFC_PRIORITY_TO_QUEUE"),
            "pfc_to_pg_map": _to("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"),
            "pfc_enable": _CLASSES, "pfcwd_sw_enable": _CLASSES,
        }
    ),
    "DSCP_TO_TC_MAP": Table(rest=_TRAFFIC_CLASS),
    "DOT1P_TO_TC_MAP": Table(rest=_TRAFFIC_CLASS),
    "TC_TO_PRIORITY_GROUP_MAP": Table(rest=_CLASS),
    "TC_TO_QUEUE_MAP": Table(rest=Kind(0, 15)),
    "MAP_PFC_PRIORITY_TO_QUEUE": Table(rest=Kind(0, 15)),
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": Table(rest=_CLASS),
    "SCHEDULER": Table(
        {
            "type": Kind(words=("DWRR", "WRR", "STRICT")), "weight": Kind(0, 10**6),
            "meter_type": Kind(words=("packets", "bytes")), "cir": Kind(0, 10**15), "pir": Kind(0, 10**15),
        }
    ),
    "QUEUE": Table({"scheduler": _to("SCHEDULER"), "wred_profile": _to("WRED_PROFILE")}),
    "WRED_PROFILE": Table(_WRED),
    "PFC_WD": Table(
        {
            "POLL_INTERVAL": Kind(100, 1000), "action": Kind(words=("drop", "forward", "alert")),
            "detection_time": Kind(100, 5000), "restoration_time": Kind(100, 60000),
        }
    ),
    "PORTCHANNEL_MEMBER": Table(),
}  # fmt: skip

PLAIN_MAPS = frozenset(
    {
        "CABLE_LENGTH", "DSCP_TO_TC_MAP", "DOT1P_TO_TC_MAP", "TC_TO_PRIORITY_GROUP_MAP", "TC_TO_QUEUE_MAP",
        "MAP_PFC_PRIORITY_TO_QUEUE", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
    }
)  # fmt: skip
"""Tables whose fields are keys of a map."""

MAP_KEYS: Mapping[str, int] = {
    "DSCP_TO_TC_MAP": 63, "DOT1P_TO_TC_MAP": 7, "TC_TO_PRIORITY_GROUP_MAP": 15, "TC_TO_QUEUE_MAP": 15,
    "MAP_PFC_PRIORITY_TO_QUEUE": 7, "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": 7,
}  # fmt: skip
"""Largest key of each map of numbers."""
