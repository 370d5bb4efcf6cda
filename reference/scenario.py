"""Reading of a scenario: quantities with units, and the refusal of features that the reference does not model."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

UNITS = {
    "time": {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12},
    "size": {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30},
    "rate": {"bps": 1, "Kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9, "Tbps": 10**12},
}

# Every parameter of DCQCN has to be given, so that the result does not depend on a preset.
DCQCN_VALUES = {
    "g",
    "alpha_interval",
    "increase_interval",
    "byte_counter",
    "fast_recovery_steps",
    "additive_increase",
    "hyper_increase",
    "minimum_rate",
    "cnp_interval",
}


def quantity(text: str, what: str) -> int:
    """Returns a number with a unit, such as "1.5us", in picoseconds, bytes or bits per second."""
    digits = len(text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    number, unit = text[:digits], text[digits:]
    if unit not in UNITS[what]:
        raise ValueError(f"{text!r} has no unit of {what}: {sorted(UNITS[what])}")
    value = Decimal(number) * UNITS[what][unit]
    if value < 0 or value != int(value):
        raise ValueError(f"{text!r} is not a whole number of the smallest unit")
    return int(value)


def buffer_bytes(switch: dict[str, Any]) -> int | None:
    """Returns the buffer of a port in bytes, or None for an unlimited one."""
    match switch.get("buffer"):
        case "unlimited":
            return None
        case {"per_port": size, **others} if not others:
            return quantity(size, "size")
        case {"shared": _, **others} if not others:
            return None
    raise ValueError("the reference models unlimited buffers, buffers per port, and shared buffers")


@dataclass(frozen=True)
class Curve:
    """A step: above this queue length packets are marked as they leave, or dropped as they arrive."""

    above_bytes: int
    drops: bool = False


def curves(switch: dict[str, Any], classes: int) -> dict[int, Curve]:
    """Returns the curve of each class that has one."""
    ecn = dict(switch.get("ecn") or {})
    if ecn.pop("scope", "queue") not in ("queue", "port"):
        raise ValueError("the reference compares the packet's queue or all queues of a port")
    listed, profiles = ecn.pop("classes", None), ecn.pop("profiles", [])
    found = dict.fromkeys(range(classes) if listed is None else listed, Curve(_step_bytes(ecn))) if ecn else {}
    for profile in profiles:
        step = {key: value for key, value in profile.items() if key not in ("classes", "ect")}
        found |= dict.fromkeys(profile["classes"], Curve(_step_bytes(step), drops=not profile.get("ect", True)))
    return found


def _step_bytes(curve: dict[str, Any]) -> int:
    """Returns the threshold of a curve that is a step."""
    match curve:
        case {"step": {"threshold": threshold}, **others} if not others:
            return quantity(threshold, "size")
        case {"red": {"kmin": kmin, "kmax": kmax}, **others} if not others and kmin == kmax:
            return quantity(kmin, "size")
    raise ValueError("the reference models marks at a step: nothing random")


def marks_by_port(switch: dict[str, Any]) -> bool:
    """Returns whether all queues of a port are compared with the threshold, and not the packet's queue alone."""
    scope: str = switch.get("ecn", {}).get("scope", "queue")
    return scope == "port"


def refuse_what_is_not_modelled(scenario: dict[str, Any]) -> None:
    """Raises ValueError unless every feature of `scenario` that changes behaviour is modelled."""
    modelled = {
        "": {"name", "description", "seed", "network", "framing", "switch", "host", "workload", "probe", "until"}
        | {"audits", "fault", "ties"},
        "network": {"explicit"},
        "framing": {"payload", "header", "preamble_and_ifg", "control_frame_size", "min_frame_size"},
        "switch": {"forwarding_latency", "queueing", "buffer", "cut_through", "flow_control", "ecn"}
        | {"classes", "scheduler"},
        "switch.cut_through": {"header"},
        "switch.flow_control": {"pfc"},
        "switch.flow_control.pfc": {"xoff", "xon", "resume_at", "response", "classes"},
        "host": {"transport", "congestion_control"},
        "host.transport": {"go_back_n"},
        "host.transport.go_back_n": {"rto", "nack_interval"},
        "host.congestion_control": {"dcqcn"},
        "host.congestion_control.dcqcn": {"preset", *DCQCN_VALUES},
    }
    for path, keys in modelled.items():
        table = scenario
        for step in path.split(".") if path else []:
            table = table.get(step, {})
        if unknown := set(table) - keys:
            raise ValueError(f"the reference does not model {path or 'the scenario'}: {sorted(unknown)}")
    if scenario.get("ties", "relative") != "relative":
        raise ValueError("the reference models ties by port, and relative ties")
    if scenario["switch"].get("queueing", "oq") != "oq":
        raise ValueError("the reference models output queues")
    dcqcn = scenario.get("host", {}).get("congestion_control", {}).get("dcqcn")
    if dcqcn is not None and (dcqcn.get("preset") != "paper" or DCQCN_VALUES - set(dcqcn)):
        raise ValueError("the reference models DCQCN with the preset 'paper' and every value given")
    if any("flows" not in one or set(one) - {"name", "class", "flows"} for one in scenario["workload"]):
        raise ValueError("the reference models workloads of explicit flows")
    flows = [flow for one in scenario["workload"] for flow in one["flows"]]
    if unknown := {key for flow in flows for key in flow} - {"src", "dst", "size", "start", "via"}:
        raise ValueError(f"the reference does not model flows with {sorted(unknown)}")
