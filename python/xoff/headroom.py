"""The headroom of PFC: calculated for a link or for each link of a scenario, and measured in the worst case.

The worst case of a port is built and run: a neighbour sends at line rate while nothing leaves the switch for where it
sends to, and frames of the largest size keep the way back busy, so that a pause has to wait. How frames stand to one
another when the threshold is crossed makes up to a frame of difference: the neighbour's start is moved through a
frame's time in steps.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from xoff import _core, running, wording
from xoff._core import InputError

PHASES = 16
"""Steps in which frames are moved against one another."""
_BEFORE = 4
"""Frames that wait when the next one crosses XOFF."""


def calculate(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the headroom of a link; keys and errors are those of the core's request."""
    answer: dict[str, Any] = json.loads(_core.size_pfc(json.dumps({k: v for k, v in values.items() if v is not None})))
    return answer


def of_scenario(scenario: running.Source, overrides: running.Overrides = ()) -> Iterator[dict[str, Any]]:
    """Yield a request for each kind of link into a switch of a scenario."""
    prepared = running.prepare(scenario, overrides=overrides)
    document = json.loads(prepared.resolved)
    rows = running.check(document, tables=prepared.tables)["headroom"]
    if not rows:
        raise InputError("switch.flow_control: no mechanism here pauses by thresholds of inputs; give pfc")
    framing, switch = document["framing"], document["switch"]
    byte = {key: (wording.quantity(text) or (0, ""))[0] for key, text in framing.items()}
    request = {
        "switch_delay": switch["forwarding_latency"],
        "max_frame": f"{max(byte['payload'] + byte['header'], byte['min_frame_size']) + byte['preamble_and_ifg']}B",
        "pause_frame": f"{max(byte['control_frame_size'], byte['min_frame_size']) + byte['preamble_and_ifg']}B",
    }
    for rate, delay, counted in dict.fromkeys((row["rate"], row["delay"], row["counted_after_bytes"]) for row in rows):
        # Where switches cut through, a frame is counted before all of it is in.
        cut_through = {} if f"{counted}B" == request["max_frame"] else {"cut_through": f"{counted}B"}
        yield request | cut_through | {"rate": rate, "link_delay": delay}


def verify(values: Mapping[str, Any]) -> dict[str, Any]:
    """Measure the least headroom that loses nothing in the worst case of a link, in steps of a frame.

    Return ``lossless_bytes``, with which no run lost a packet, ``lossy_bytes``, a frame less, with which some did, and
    how many runs it took.
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

    # In whole frames: with the first of them something is lost, with the last nothing.
    low, high = _BEFORE, _BEFORE + answer["headroom_bytes"] // frame + 3
    if loses(high):
        raise RuntimeError(f"a port of {high} frames loses packets: the calculation is wrong, please report it")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if loses(middle) else (low, middle)
    return {"lossless_bytes": high * frame - xoff, "lossy_bytes": low * frame - xoff, "phases": PHASES, "runs": runs}


def _worst_case(values: Mapping[str, Any], answer: Mapping[str, Any], buffer: int, phase: int) -> dict[str, Any]:
    """Return the scenario: ``sender`` fills a port, ``other`` keeps the way back busy, ``sink`` takes hardly any."""
    frame, pause, delay, response = (answer["steps"][i] for i in (1, 2, 3, 4))
    # A neighbour that takes longer to act is a longer link.
    there = f"{delay['time_ps'] + (response['time_ps'] + 1) // 2}ps"
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
            "flow_control": {"pfc": {"xoff": f"{_BEFORE * frame['bytes'] + 1}B"}},
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
