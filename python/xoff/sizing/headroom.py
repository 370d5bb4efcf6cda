"""The headroom of PFC: calculated for a link or for each link of a scenario, and measured in the worst case.

The worst case of a port: a neighbour sends at line rate to a receiver that takes hardly any data, and frames of the
largest size keep the return path busy, so that a pause has to wait. The phase between the frames at the moment of
crossing XOFF is worth up to one frame: runs shift the neighbour's start through a frame's time in `PHASES` steps.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from xoff import _core, formatting, running
from xoff._core import InputError
from xoff.sonic import formula

PHASES = 16
"""Number of steps in which the frames of the two directions are shifted."""
_BEFORE = 4
"""Frames that wait when the next frame crosses XOFF."""


def calculate(values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the headroom of a link; keys and errors are those of the core's request."""
    answer: dict[str, Any] = json.loads(_core.size_pfc(json.dumps({k: v for k, v in values.items() if v is not None})))
    return answer


def of_scenario(scenario: running.Source, overrides: running.Overrides = ()) -> Iterator[dict[str, Any]]:
    """Yields a request of `calculate` for each kind of link into a switch of a scenario.

    Raises `InputError` if the scenario has no mechanism that pauses by thresholds of inputs.
    """
    prepared = running.prepare(scenario, overrides=overrides)
    document = json.loads(prepared.resolved)
    rows = running.check(document, tables=prepared.tables)["headroom"]
    if not rows:
        raise InputError("switch.flow_control: no mechanism here pauses by thresholds of inputs; give pfc")
    framing, switch = document["framing"], document["switch"]
    byte = {key: (formatting.quantity(text) or (0, ""))[0] for key, text in framing.items()}
    request = {
        "switch_delay": switch["forwarding_latency"],
        "max_frame": f"{max(byte['payload'] + byte['header'], byte['min_frame_size']) + byte['preamble_and_ifg']}B",
        "pause_frame": f"{max(byte['control_frame_size'], byte['min_frame_size']) + byte['preamble_and_ifg']}B",
    }
    for rate, delay, counted in dict.fromkeys((row["rate"], row["delay"], row["ingress_delay_bytes"]) for row in rows):
        # A cut-through switch counts a frame before it has arrived as a whole.
        cut_through = {} if f"{counted}B" == request["max_frame"] else {"cut_through": f"{counted}B"}
        yield request | cut_through | _response(switch, rate) | {"rate": rate, "link_delay": delay}


def _response(switch: Mapping[str, Any], rate: str) -> dict[str, str]:
    """Returns the response time of neighbours at a rate, if the scenario has one."""
    given = (switch["flow_control"].get("pfc") or {}).get("response")
    if given is None:
        return {}
    bps, _ = formatting.quantity(rate) or (0, "")
    return {"response_time": f"{formula.response_time_ps(bps)}ps" if given == "802.3" else given}


def verify(values: Mapping[str, Any]) -> dict[str, Any]:
    """Measures the least headroom that loses no packet in the worst case of a link, in steps of a frame.

    Returns ``lossless_bytes``, with which no run lost a packet, ``lossy_bytes``, one frame less, with which a run did,
    ``phases``, and the number of runs.
    """
    answer = calculate(values)
    frame = answer["steps"][1]["bytes"]
    xoff = _BEFORE * frame + 1
    runs = 0

    def loses(frames: int) -> bool:
        nonlocal runs
        for phase in range(PHASES):
            runs += 1
            if running.run(_worst_case(values, answer, frames * frame, phase)).summary["drops"]:
                return True
        return False

    # In whole frames: `low` loses packets, `high` loses none.
    low, high = _BEFORE, _BEFORE + answer["headroom_bytes"] // frame + 3
    if loses(high):
        raise RuntimeError(f"a port of {high} frames loses packets: the calculation is wrong; please report this")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if loses(middle) else (low, middle)
    return {"lossless_bytes": high * frame - xoff, "lossy_bytes": low * frame - xoff, "phases": PHASES, "runs": runs}


def _worst_case(values: Mapping[str, Any], answer: Mapping[str, Any], buffer: int, phase: int) -> dict[str, Any]:
    """Returns the scenario: ``sender`` fills a port, ``other`` keeps the return path busy, ``sink`` receives slowly."""
    frame, pause, delay, response = (answer["steps"][i] for i in (1, 2, 3, 4))
    there = f"{delay['time_ps']}ps"
    pfc = {"xoff": f"{_BEFORE * frame['bytes'] + 1}B"}
    if response["time_ps"]:
        pfc["response"] = f"{response['time_ps']}ps"
    crossing = (_BEFORE + 2) * frame["time_ps"]
    lasts = crossing + sum(step["time_ps"] for step in answer["steps"])
    flow = f"{2 * (lasts // frame['time_ps'] + 8) * frame['bytes']}B"
    link = {"b": "switch", "rate": values["rate"]}
    return {
        "until": f"{2 * lasts}ps",
        "network": {
            "explicit": {
                "nodes": [
                    *({"name": name, "kind": "host"} for name in ("sender", "other", "sink")),
                    {"name": "switch", "kind": "switch"},
                ],
                "links": [
                    {"a": "sender", "delay": there, **link},
                    {"a": "other", "delay": "0", **link},
                    {"a": "sink", "delay": "0", "b": "switch", "rate": "1Mbps"},
                ],
            }
        },
        "framing": {
            "payload": f"{frame['bytes']}B",
            "header": "0B",
            "control_frame_size": f"{pause['bytes']}B",
            "min_frame_size": f"{min(frame['bytes'], pause['bytes'])}B",
        },
        "switch": {
            "forwarding_latency": values.get("switch_delay", "0"),
            **({"cut_through": {"header": values["cut_through"]}} if values.get("cut_through") else {}),
            "buffer": {"per_port": f"{buffer}B"},
            "flow_control": {"pfc": pfc},
        },
        "host": {"transport": {"raw": {}}},
        "workload": [
            {"flows": [{"src": "other", "dst": "sender", "size": flow, "start": "0"}]},
            {
                "flows": [
                    {
                        "src": "sender",
                        "dst": "sink",
                        "size": flow,
                        "start": f"{delay['time_ps'] + phase * frame['time_ps'] // PHASES}ps",
                    }
                ]
            },
        ],
        "audits": dict.fromkeys(("loss", "deadlock", "pauses", "completion"), "record"),
    }
