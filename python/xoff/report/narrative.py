"""A scenario in words, from its resolved document and the descriptions in its schema.

The module names no mechanism: a new mechanism appears as soon as the schema describes it.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from xoff import _core, formatting, running
from xoff._core import InputError

_SHOWN_FLOWS = 6


@cache
def _schema() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(_core.schema())
    return schema


def tell(document: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """Returns headings with sentences, as `_told`; for a damaged or foreign document, as much as possible."""
    why = ""
    try:
        running.resolve(document)
    except InputError as error:
        why = f": {error}"
    # A resolved document may still lack a network or traffic.
    with contextlib.suppress(AttributeError, KeyError, TypeError, ValueError):
        return _told(document)
    return [("Scenario", [f"The scenario is damaged, or of another version{why}"])]


def _told(document: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """Returns headings with sentences: the network, the switches, the hosts, the traffic, and recorded audits."""
    switch, host = document.get("switch", {}), document.get("host", {})
    told = [
        ("Network", [_kind(("network",), document["network"])]),
        ("Packets", [f"{_upper(_settings(document.get('framing', {})))}."]),
        ("Switches", _switch(switch)),
        ("Flow control", _several(("switch", "flow_control"), switch.get("flow_control", {})) or ["None."]),
        ("Hosts", _hosts(host)),
        ("Traffic", [_workload(one) for one in document.get("workload", [])] or ["None."]),
        ("Seed", [_seed(document)]),
    ]
    recorded = [
        f"A violation of `{name}` is recorded." for name, rule in document.get("audits", {}).items() if rule == "record"
    ]
    return [*told, ("Audits", recorded)] if recorded else told


def _seed(document: Mapping[str, Any]) -> str:
    until = document.get("until")
    end = f"; the run ends after {value(until)} of simulated time" if until else ""
    return f"{document.get('seed')}{end}."


def _switch(switch: Mapping[str, Any]) -> list[str]:
    queueing = str(switch.get("queueing", "oq"))
    lines = [f"Packets wait ({queueing}): {_lower(_choice(('switch', 'queueing'), queueing))}"]
    lines.append(f"Buffer: {value(switch.get('buffer', 'unlimited'))}.")
    lines.append(f"Forwarding latency: {value(switch.get('forwarding_latency', '0ps'))}.")
    classes = switch.get("classes", 1)
    if classes > 1:
        lines.append(
            f"{classes} classes of data; {_lower(_choice(('switch', 'scheduler'), switch.get('scheduler', 'strict')))}"
        )
    told = {"queueing", "buffer", "forwarding_latency", "classes", "scheduler", "flow_control"}
    lines += [
        f"{_description(('switch', key)).rstrip('.')}: {value(part)}."
        for key, part in switch.items()
        if key not in told and part
    ]
    return lines


def _hosts(host: Mapping[str, Any]) -> list[str]:
    lines = _several(("host", "transport"), host.get("transport", {})) or ["Transport: Go-Back-N with its defaults."]
    lines += _several(("host", "congestion_control"), host.get("congestion_control", {})) or [
        "No congestion control: hosts send at line rate."
    ]
    lines += [
        f"{_upper(_spaced(key))}: {value(part)}."
        for key, part in host.items()
        if key not in {"transport", "congestion_control"} and part
    ]
    return lines


def _workload(one: Mapping[str, Any]) -> str:
    begin = "" if one.get("start", "0ps") == "0ps" else f", from {value(one['start'])} on"
    kind, *_ = (key for key in one if key not in {"name", "start", "class"})
    name = f"“{one['name']}”: " if one.get("name") else ""
    if kind == "flows":
        flows = one["flows"]
        listed = [f"{flow['src']} → {flow['dst']} {value(flow['size'])}" for flow in flows[:_SHOWN_FLOWS]]
        more = f" and {len(flows) - _SHOWN_FLOWS} more" if len(flows) > _SHOWN_FLOWS else ""
        return f"{name}{len(flows)} flow{'s' if len(flows) != 1 else ''}{begin}: {', '.join(listed)}{more}."
    if kind == "table":
        return f"{name}{'the' if name else 'The'} flows of the table {one['table']}{begin}."
    if kind == "serving":
        return f"{name}{_serving(one[kind], begin)}"
    text = _description(("workload", kind))
    return f"{name}{_lower(text) if name else text} {_upper(_settings(one[kind]))}{begin}."


def _serving(found: Mapping[str, Any], begin: str) -> str:
    """Returns a serving workload in sentences: requests and model, pools, KV caches, and service levels."""
    model = value(found["model"]).replace("preset ", "")
    text = f"{_arrivals(found)} to a language model ({model}), computed with {value(found['compute'])}{begin}."
    pools = [f"{_upper(key)}: {_pool(found[key])}." for key in ("prefill", "decode", "aggregated") if found.get(key)]
    kv = found.get("kv") or {}
    if found.get("decode"):
        moves = {"push": "Prefill pushes", "pull": "Decode pulls"}[kv.get("handoff", "push")]
        pieces = {"whole": "after the prompt", "chunk": "by piece of the prompt", "layer": "layer by layer"}
        pools.append(f"{moves} KV caches {pieces[kv.get('granularity', 'whole')]}.")
    if router := found.get("router"):
        pools.append(f"Router: {value(router).replace('policy ', '')}.")
    if levels := {key.upper(): limit for key, limit in (found.get("slo") or {}).items() if limit}:
        pools.append(f"Service levels: {', '.join(f'{key} {value(limit)}' for key, limit in levels.items())}.")
    return " ".join([text, *pools])


def _arrivals(found: Mapping[str, Any]) -> str:
    if table := found.get("requests_table"):
        return f"the requests of the table {table}"
    if listed := found.get("requests"):
        return f"{len(listed):,} listed requests"
    arrivals, lengths = found["arrivals"], found["lengths"]
    count = f"{arrivals['requests']:,} requests" if arrivals.get("requests") else "requests"
    until = f" for {value(arrivals['duration'])}" if arrivals.get("duration") else ""
    tokens = f"{lengths['input']:,} tokens in and {lengths['output']:,} out"
    return f"{count} at random, {arrivals['rate']:g} a second{until}, with {tokens},"


def _pool(found: Mapping[str, Any]) -> str:
    """Returns a pool of a serving workload: instances, and the ranks of an instance."""
    instances, data, tensor, expert = (found.get(key) or 1 for key in ("instances", "data", "tensor", "expert"))
    ranks = f"{data} DP rank{'s' if data != 1 else ''}"
    ranks += f" of {tensor} GPUs (TP)" if tensor != 1 else ""
    ranks += f", experts over {expert} ranks (EP)" if expert != 1 else ""
    count = instances * data * tensor
    several = f"{instances} instances with {ranks} each" if instances != 1 else f"an instance with {ranks}"
    return f"{several}, {count} GPU{'s' if count != 1 else ''} in all"


def _kind(path: tuple[str, ...], found: Mapping[str, Any]) -> str:
    (name, inner), *_ = ((key, part) for key, part in found.items() if part is not None)
    if name == "explicit":
        nodes = len(inner.get("nodes") or []) or "from a table"
        links = len(inner.get("links") or []) or "from a table"
        return f"{_description((*path, name))} Nodes: {nodes}; links: {links}."
    return f"{_description((*path, name))} {_upper(_settings(inner))}."


def _several(path: tuple[str, ...], found: Mapping[str, Any]) -> list[str]:
    return [
        f"{_description((*path, name)).rstrip('.')}: {_settings(part) or 'with its defaults'}."
        for name, part in found.items()
        if part is not None
    ]


def _settings(found: Mapping[str, Any]) -> str:
    """Returns settings as text, without empty tables."""
    texts = {key: value(part) for key, part in found.items() if part is not None}
    return ", ".join(f"{_spaced(key)} {text}" for key, text in texts.items() if text)


def value(found: Any) -> str:
    """Returns a value of a scenario as text: ``200Gbps`` gives ``200 Gb/s``; tables and lists in one line."""
    if isinstance(found, Mapping):
        inner = [f"{_spaced(key)} {value(part)}" for key, part in found.items() if part is not None]
        return " and ".join(inner) if len(inner) == 2 else ", ".join(inner)
    if isinstance(found, list | tuple):
        return _row(found)
    if isinstance(found, bool):
        return "yes" if found else "no"
    if isinstance(found, str) and (quantity := formatting.quantity(found)) is not None:
        return formatting.setting(*quantity)
    return f"{found:g}" if isinstance(found, float) else _spaced(str(found))


def _row(found: Sequence[Any]) -> str:
    texts = [value(part) for part in found]
    if len(texts) > 12:
        return f"{', '.join(texts[:6])}, … {texts[-1]} ({len(texts)} in all)"
    return ", ".join(texts)


def _spaced(key: str) -> str:
    return key.replace("_", " ")


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _description(path: Sequence[str]) -> str:
    text = str(_property(path).get("description", _upper(_spaced(path[-1])) + "."))
    return text.replace("`", "")


def _choice(path: Sequence[str], chosen: Any) -> str:
    if not isinstance(chosen, str):
        return value(chosen) + "."
    for part in _resolved(_property(path)).get("oneOf", []):
        if part.get("const") == chosen:
            return str(part.get("description", chosen))
    return chosen + "."


def _property(path: Sequence[str]) -> dict[str, Any]:
    node: dict[str, Any] = _schema()
    for key in path:
        node = _resolved(node).get("properties", {}).get(key, {})
    return node


def _resolved(node: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the schema that a node refers to, through lists and optional choices."""
    if "items" in node:
        return _resolved(node["items"])
    for part in (node, *node.get("anyOf", ())):
        if "$ref" in part:
            found: dict[str, Any] = _schema()["$defs"][part["$ref"].rpartition("/")[2]]
            return found
    return dict(node)
