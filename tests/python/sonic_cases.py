"""Configurations of SONiC for tests: a healthy leaf, and the cases of public incidents as folders of switches."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any, TypeAlias

Tables: TypeAlias = dict[str, Any]

CASES = Path(__file__).parent / "cases/sonic"
CELL = 208
"""Of Tomahawk 2, whose published profiles the healthy leaf has."""


def case(name: str) -> dict[str, Any]:
    """Returns a case by the start of its name: ``s1``."""
    (path,) = CASES.glob(f"{name}-*.json")
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def switch(ports: int = 4, *, neighbours: bool = True, speed: int = 100_000, metres: int = 40) -> Tables:
    """Returns a healthy leaf: a Tomahawk 2 with the published sizes of 7260CX3, RDMA-CENTRIC, and SONiC's classes."""
    names = [f"Ethernet{4 * at}" for at in range(ports)]
    profile = f"pg_lossless_{speed}_{metres}m_profile"
    tables: Tables = {
        "DEVICE_METADATA": {"localhost": {"hostname": "leaf0", "platform": "x86_64-arista_7260cx3_64"}},
        "PORT": {
            name: {"speed": str(speed), "mtu": "9100", "admin_status": "up", "lanes": "1,2,3,4"} for name in names
        },
        "CABLE_LENGTH": {"AZURE": dict.fromkeys(names, f"{metres}m")},
        "DSCP_TO_TC_MAP": {"AZURE": {"3": "3", "4": "4", "26": "3", "48": "6", "8": "0", "46": "5"}},
        "TC_TO_PRIORITY_GROUP_MAP": {"AZURE": {"0": "0", "3": "3", "4": "4", "5": "0", "6": "0"}},
        "TC_TO_QUEUE_MAP": {"AZURE": {"0": "0", "3": "3", "4": "4", "5": "5", "6": "6"}},
        "MAP_PFC_PRIORITY_TO_QUEUE": {"AZURE": {"3": "3", "4": "4"}},
        "PORT_QOS_MAP": {
            ",".join(names): {
                "dscp_to_tc_map": "AZURE",
                "tc_to_pg_map": "AZURE",
                "tc_to_queue_map": "AZURE",
                "pfc_to_queue_map": "AZURE",
                "pfc_enable": "3,4",
                "pfcwd_sw_enable": "3,4",
            }
        },
        "BUFFER_POOL": {
            "ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "33262528", "xoff": "1331200"},
            "egress_lossless_pool": {"type": "egress", "mode": "static", "size": "34593728"},
            "egress_lossy_pool": {"type": "egress", "mode": "dynamic", "size": "27264848"},
        },
        "BUFFER_PROFILE": {
            "ingress_lossy_profile": {"pool": "ingress_lossless_pool", "size": "0", "dynamic_th": "3"},
            "egress_lossless_profile": {"pool": "egress_lossless_pool", "size": "0", "static_th": "34593728"},
            "egress_lossy_profile": {"pool": "egress_lossy_pool", "size": "1664", "dynamic_th": "3"},
            # Twice the published 59,696 B, which a burst of 64 B packets alone overruns.
            profile: {
                "pool": "ingress_lossless_pool", "size": "1248", "xon": "2288", "xoff": "166400", "xon_offset": "2288",
                "dynamic_th": "0",
            },
        },
        "BUFFER_PG": {
            ",".join(names) + "|0": {"profile": "ingress_lossy_profile"},
            ",".join(names) + "|3-4": {"profile": profile},
        },
        "BUFFER_QUEUE": {
            ",".join(names) + "|3-4": {"profile": "egress_lossless_profile"},
            ",".join(names) + "|0-2": {"profile": "egress_lossy_profile"},
            ",".join(names) + "|5-6": {"profile": "egress_lossy_profile"},
        },
        "SCHEDULER": {
            "scheduler.0": {"type": "DWRR", "weight": "14"},
            "scheduler.1": {"type": "DWRR", "weight": "15"},
            "scheduler.2": {"type": "STRICT"},
        },
        "QUEUE": {
            ",".join(names) + "|0": {"scheduler": "scheduler.0"},
            ",".join(names) + "|3-4": {"scheduler": "scheduler.1", "wred_profile": "AZURE_LOSSLESS"},
            ",".join(names) + "|5-6": {"scheduler": "scheduler.2"},
        },
        "WRED_PROFILE": {
            "AZURE_LOSSLESS": {
                "ecn": "ecn_all", "wred_green_enable": "true", "green_min_threshold": "250000",
                "green_max_threshold": "2097152", "green_drop_probability": "5",
            }
        },
        "PFC_WD": {
            "GLOBAL": {"POLL_INTERVAL": "200"},
            ",".join(names): {"action": "drop", "detection_time": "400", "restoration_time": "400"},
        },
    }  # fmt: skip
    if neighbours:
        tables["DEVICE_NEIGHBOR"] = {name: {"name": f"host{at}", "port": "eth0"} for at, name in enumerate(names)}
    return tables


def pair() -> dict[str, Tables]:
    """Returns two healthy switches that are joined by their last ports."""
    first, second = switch(), switch()
    second["DEVICE_METADATA"]["localhost"]["hostname"] = "leaf1"
    for at, name in enumerate(("Ethernet0", "Ethernet4", "Ethernet8")):
        second["DEVICE_NEIGHBOR"][name] = {"name": f"host{4 + at}", "port": "eth0"}
    first["DEVICE_NEIGHBOR"]["Ethernet12"] = {"name": "leaf1", "port": "Ethernet12"}
    second["DEVICE_NEIGHBOR"]["Ethernet12"] = {"name": "leaf0", "port": "Ethernet12"}
    return {"leaf0": first, "leaf1": second}


def write(directory: Path, switches: dict[str, Tables]) -> Path:
    """Writes one file a switch and returns the folder."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, tables in switches.items():
        (directory / f"{name}.json").write_text(json.dumps(tables), "utf-8")
    return directory


def changed(tables: Tables, *changes: tuple[str, Any]) -> Tables:
    """Returns a copy with values at paths such as ``PORT/Ethernet0/speed``; None removes a value."""
    found = copy.deepcopy(tables)
    for path, value in changes:
        *above, last = path.split("/")
        at = found
        for part in above:
            at = at.setdefault(part, {})
        if value is None:
            del at[last]
        else:
            at[last] = value
    return found
