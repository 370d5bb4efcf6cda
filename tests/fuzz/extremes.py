"""Settings at the ends of their ranges, set one after another on a valid scenario.

Each change stays if the scenario is still valid, so that parts meet in combinations beyond the strategies. Audits that
such a scenario may violate are recorded, and all other audits must hold.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from random import Random
from typing import Any

import xoff

Document = dict[str, Any]
_RECORDED = ("loss", "deadlock", "pauses", "completion")
_UNTIL = ["3us", "30us", "300us", "2ms"]
_MOST = 6


def changed(rng: Random, scenario: Document, fits: Callable[[Document], bool]) -> Document:
    """Returns a scenario with one to six valid changes that fit."""
    found = {**scenario, "audits": dict.fromkeys(_RECORDED, "record"), "until": rng.choice(_UNTIL)}
    if not _is_accepted(found, fits):
        return scenario
    for change in rng.sample(_CHANGES, rng.randint(1, _MOST)):
        tried = copy.deepcopy(found)
        change(rng, tried)
        if _is_accepted(tried, fits):
            found = tried
    return found


def _is_accepted(scenario: Document, fits: Callable[[Document], bool]) -> bool:
    try:
        return fits(xoff.check(scenario))
    except xoff.InputError:
        return False


def _control(document: Document) -> Document:
    control: Document = document["switch"].setdefault("flow_control", {})
    return control


def _collective(rng: Random, document: Document) -> None:
    operation = rng.choice(["all_reduce", "reduce_scatter", "all_gather", "all_to_all"])
    algorithms = ["direct", "rounds"] if operation == "all_to_all" else ["ring", "double_tree", "halving_doubling"]
    document["workload"].append({
        "name": "extreme",
        "collective": {
            "operation": operation,
            "algorithm": rng.choice(algorithms),
            "size": rng.choice(["1B", "3B", "1000B", "100KB"]),
            "channels": rng.choice([1, 2, 3, 8, 64]),
            **({"chunk": rng.choice(["1B", "1000B", "1MB"])} if rng.random() < 0.5 else {}),
        },
    })  # fmt: skip


def _tiny_flows(rng: Random, document: Document) -> None:
    sizes = [rng.choice(["1B", "2B", "63B", "64B", "65B"]) for _ in range(5)]
    document["workload"].append({"flows": [{"src": 0, "dst": 1, "size": size, "start": "1ps"} for size in sizes]})


def _cut_through(rng: Random, document: Document) -> None:
    document["switch"]["cut_through"] = {"header": rng.choice(["1B", "64B", "500B", "9KB"])}


def _mixed_rates(rng: Random, document: Document) -> None:
    links = rng.sample(["host0-*", "host1-*", "*-host1", "*leaf0*", "*"], 2)
    rates = ["10Gbps", "400Gbps", "99999999999bps", "800Gbps"]
    document["network"]["overrides"] = [{"link": link, "rate": rng.choice(rates)} for link in links]


def _mixed_lengths(rng: Random, document: Document) -> None:
    document["network"].setdefault("overrides", []).append(
        {"link": rng.choice(["host0-*", "*-host1", "*"]), "delay": rng.choice(["0ns", "1ps", "20us"])}
    )


def _overrides(rng: Random, document: Document) -> None:
    choices: list[Document] = [
        {"cut_through": {"header": rng.choice(["1B", "500B"])}},
        {"ecn": {"step": {"threshold": rng.choice(["0B", "1B", "1MB"])}}},
        {"pfc": {"xoff": rng.choice(["1B", "3KB", "30KB"]), "xon": rng.choice(["0B", "1B"])}},
        {"buffer": {"alpha": rng.choice([0.001, 64]), "headroom": rng.choice(["0B", "100KB"])}},
    ]
    one = {**rng.choice(choices), "switches": [rng.choice(["*", "*0", "* -> host*", "leaf* -> spine*"])]}
    document["switch"].setdefault("overrides", []).append(one)


def _memory(rng: Random, document: Document) -> None:
    shared = {"total": rng.choice(["50KB", "1MB"]), "alpha": rng.choice([0.01, 8]), "reserve": "0B"}
    document["switch"]["buffer"] = rng.choice(
        [{"per_port": "5KB"}, {"per_port": "20KB"}, {"per_port": "60KB"}, {"per_queue": "10KB"}, {"shared": shared}]
    )


def _lossy(_rng: Random, document: Document) -> None:
    _control(document).pop("pfc", None)


def _watchdog(rng: Random, document: Document) -> None:
    control = _control(document)
    control["pfc"] = {
        **control.get("pfc", {}),
        "watchdog": {
            "detection": rng.choice(["1us", "10us"]),
            "action": rng.choice(["drop", "forward"]),
            **({"poll": rng.choice(["100ns", "1us"])} if rng.random() < 0.5 else {}),
        },
    }


def _short_pfc(rng: Random, document: Document) -> None:
    control = _control(document)
    control["pfc"] = {
        **control.get("pfc", {}),
        "xoff": rng.choice(["1B", "2KB", "18KB"]),
        "xon": rng.choice(["0B", "1B"]),
    }


def _classes(rng: Random, document: Document) -> None:
    switch = document["switch"]
    classes = range(switch.get("classes", 1))
    switch.pop("strict_priority_classes", None)
    kinds = [{"type": "strict"}, {"type": "dwrr"}, {"type": "dwrr", "weight": 1}, {"type": "dwrr", "weight": 100}]
    switch["scheduler"] = {"queues": [rng.choice(kinds) for _ in range(rng.randint(1, len(classes)))]}
    pfc = _control(document).setdefault("pfc", {})
    pfc["classes"] = rng.sample(classes, rng.randint(1, len(classes)))
    if rng.random() < 0.5:
        some = {key: rng.sample(classes, rng.randint(0, len(classes))) for key in ("send", "obey")}
        switch.setdefault("overrides", []).append({"switches": ["*0"], "pfc": some})


def _swallowed(rng: Random, document: Document) -> None:
    _control(document).setdefault("pfc", {})
    document["switch"].setdefault("faults", {})["lose_resumes"] = rng.choice([1, 5])


def _plain(document: Document) -> Document:
    """Returns the document with output queues of one class, without flow control or routing, as some parts require."""
    switch: Document = document["switch"]
    for key in ("overrides", "routing", "trimming", "telemetry", "strict_priority_classes"):
        switch.pop(key, None)
    switch |= {"queueing": "oq", "scheduler": "strict", "classes": 1, "flow_control": {}}
    switch.get("ecn", {}).pop("classes", None)
    for one in document["workload"]:
        one.pop("class", None)
    document.get("host", {}).pop("classify", None)
    document.get("host", {}).pop("congestion_control", None)
    return switch


def _one_queue(rng: Random, document: Document) -> None:
    _plain(document)["flow_control"] = {
        "bfc": {"queues": rng.choice([1, 2]), "entries": 1, "resume": rng.choice(["counted", "threshold"])}
    }


def _credits(rng: Random, document: Document) -> None:
    found: Document = {"scheme": rng.choice(["absolute", "cbfc"])}
    document["switch"].setdefault("faults", {})["lose_credit_updates"] = rng.choice([0, 1, 7])
    if rng.random() < 0.5:
        found |= {"window": rng.choice(["10KB", "64KB"]), "refresh_interval": rng.choice(["100ns", "10us"])}
    if rng.random() < 0.5:
        found["update_interval_bytes"] = rng.choice(["1B", "20KB"])
    document["switch"]["flow_control"] = {"credits": found}


def _conweave(rng: Random, document: Document) -> None:
    switch = _plain(document)
    switch["flow_control"] = rng.choice([{}, {"pfc": {}}])
    switch["routing"] = {
        "conweave": {"queues": rng.choice([1, 64]), "reply_slack": rng.choice(["1ns", "4us"]), "expiry": "300us"}
    }


def _reps(rng: Random, document: Document) -> None:
    switch = _plain(document)
    switch["routing"] = {"reps": {"entropy_values": rng.choice([2, 3, 65536]), "buffer": rng.choice([1, 8])}}
    if rng.random() < 0.5:
        _trimming(rng, document)
        switch["routing"]["reps"]["freeze"] = rng.choice(["1ns", "1ms"])
    else:
        document["host"] = {"transport": {"selective": {"rto": rng.choice(["5us", "100us"])}}}


def _trimming(rng: Random, document: Document) -> None:
    document["switch"]["flow_control"] = {}
    trimming = {"limit": rng.choice(["5KB", "30KB"]), "size": rng.choice(["64B", "65B"]), "turns": rng.choice([1, 255])}
    if rng.random() < 0.5:
        trimming |= {"headers": rng.choice(["64B", "1KB"]), "return_to_sender": rng.random() < 0.5}
    document["switch"]["trimming"] = trimming
    document["host"] = {"transport": {rng.choice(["ndp", "selective"]): {}}}


def _transport(rng: Random, document: Document) -> None:
    options: list[Document] = [
        {"go_back_n": {"rto": "1us", "nack_interval": "0ns"}},
        {"irn": {"rto_low": "1us", "rto_high": "2us", "rto_low_threshold": 0}},
        {"selective": {"rto": "1us", "reordering_threshold": 1}},
        {"ndp": {"window": 1, "rate": 0.01}},
    ]
    document.setdefault("host", {})["transport"] = rng.choice(options)


def _isolation(rng: Random, document: Document) -> None:
    document["switch"]["classes"] = 2
    _control(document)["congestion_isolation"] = {"cim_threshold": rng.choice(["1B", "5KB"])}


def _frames(rng: Random, document: Document) -> None:
    # A line of a hundred gigabits sends a dozen frames of a byte each nanosecond.
    document["until"] = "3us"
    document["framing"] = {
        "payload": rng.choice(["1B", "64B", "9KB"]), "header": rng.choice(["0B", "200B"]),
        "control_frame_size": rng.choice(["1B", "64B", "500B"]), "min_frame_size": rng.choice(["1B", "64B"]),
    }  # fmt: skip


def _probes(_rng: Random, document: Document) -> None:
    document["probe"] = {"delays": "all", "packets": True, "queues": "1us"}


_CHANGES: list[Callable[[Random, Document], None]] = [
    _collective, _tiny_flows, _cut_through, _mixed_rates, _mixed_lengths, _overrides, _memory, _lossy, _watchdog,
    _short_pfc, _classes, _swallowed, _one_queue, _credits, _conweave, _reps, _trimming, _transport, _isolation,
    _frames, _probes,
]  # fmt: skip
