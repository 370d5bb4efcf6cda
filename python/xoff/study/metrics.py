"""The metrics of runs: every number of a summary under a name, which is a column of ``study.runs``."""

from __future__ import annotations

import difflib
import re
import types
import typing
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from xoff.results import counts
from xoff.summary import Summary

# Keys of a summary that are not measurements of the network.
_LEFT_OUT = {
    "name", "seed", "version", "fingerprint", "sampled_every_ps", "audits", "incidents", "warnings", "performance",
    "workloads",
}  # fmt: skip
# Keys of words, which may be null.
_WORDS = {"algorithm", "protocol"}
_NAMED = 12
# Tables of a workload that are no kind of traffic.
_BESIDE = frozenset({"nccl", "plugins", "python"})
_UNITS = ("_ps", "_bytes", "_bps")


def metrics(summary: Mapping[str, Any]) -> dict[str, int | float | None]:
    """Returns every number of a summary under a name: ``fct_ps.mean`` is ``fct_mean_ps``.

    The name of a workload's number begins with the workload's name.
    """
    found: dict[str, int | float | None] = {}
    for key, value in summary.items():
        if key not in _LEFT_OUT:
            found.update(_numbers(value, [key]))
    taken: set[str] = set()
    for workload, measured in summary.get("workloads", {}).items():
        slug = re.sub(r"\W+", "_", str(workload)).strip("_").lower() or "unnamed"
        # A workload named like a key of the summary gets a prefix, so that their metrics differ.
        slug = f"workload_{slug}" if slug in summary else slug
        # Names that differ only in punctuation get a suffix.
        while slug in taken:
            slug += "_"
        taken.add(slug)
        found.update(_numbers(measured, [slug]))
    return found


def possible(document: Mapping[str, Any]) -> set[str]:
    """Returns the names of the metrics that a run of a resolved scenario can have."""
    names, collectives = [], set()
    jobs: dict[str, set[str]] = {}
    pools: dict[str, list[str]] = {}
    for workload in document.get("workload", []):
        kind, traffic = next(_traffic(workload), ("flows", []))
        name = str(workload.get("name") or kind)
        names += [name, f"{name} warm"] if isinstance(traffic, dict) and traffic.get("warm_start") else [name]
        collectives |= {name} if kind == "collective" else set()
        if kind in {"graph", "training"} and isinstance(traffic, Mapping):
            jobs.setdefault(name, set()).update(_labels(kind, traffic))
        if kind == "serving" and isinstance(traffic, Mapping):
            pools[name] = [pool for pool in ("prefill", "decode", "aggregated") if traffic.get(pool)]
    classes = document.get("probe", {}).get("size_classes")
    bounds = [0, *classes] if classes else []
    like = _like(Summary, names, bounds)
    # The types of a summary lack the counts of plug-ins.
    for group in counts.groups():
        like.setdefault(group.name, {count.name: 0 for count in group.counts})
    for name in set(names) - collectives:
        del like["workloads"][name]["collective"]
    for name in set(names):
        if name in jobs:
            like["workloads"][name]["job"]["groups"] = {label: dict(_GROUP) for label in jobs[name]}
        else:
            del like["workloads"][name]["job"]
    for name in set(names) - pools.keys():
        del like["serving"][name]
    for name, own in pools.items():
        steps = like["serving"][name]["steps"].popitem()[1] | {"exposed_by_label": dict.fromkeys(_SERVING_LABELS, 0)}
        like["serving"][name]["steps"] = dict.fromkeys(own, steps)
    return set(metrics(like))


_SERVING_LABELS = ("TP", "EP_dispatch", "EP_combine")
_GROUP = {"exposed_ps": 0, "bus_bps": 0}


def _labels(kind: str, job: Mapping[str, Any]) -> set[str]:
    """Returns the labels of exposed time that a job may have."""
    if kind == "training":
        return {"TP", "PP", "DP", "EP", "EDP", "CP"}
    rows = job.get("operations") or ()
    return {"p2p", *(job.get("groups") or ()), *(str(row["label"]) for row in rows if row.get("label"))}


def sizes_differ(document: Mapping[str, Any]) -> bool:
    """Whether flow sizes of a scenario are drawn, which mixes completion times of small and large flows."""
    parts = [traffic for workload in document.get("workload", []) for _, traffic in _traffic(workload)]
    return any(isinstance(one, dict) and not {"sizes", "cdf", "cdf_file"}.isdisjoint(one) for one in parts)


def unknown(name: str, names: Collection[str]) -> str:
    """Returns a message on a missing metric or column, with the nearest name."""
    # Names of workloads have small letters in metrics.
    same = [one for one in names if one.lower() == name.lower()]
    near = same or difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    listed = [f"`{one}`" for one in names]
    every = ", ".join(listed[:_NAMED]) + (f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else "")
    hint = f"did you mean `{near[0]}`?" if near else f"known are {every}"
    return f"unknown column `{name}`; {hint}"


def _traffic(workload: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yields each kind of traffic of a workload and its parameters; none for the rows of a table or function."""
    kinds = {**workload, **workload.get("plugins", {})}
    return ((key, value) for key, value in kinds.items() if isinstance(value, dict | list) and key not in _BESIDE)


def _like(kind: Any, workloads: list[str], bounds: list[int]) -> Any:
    """Returns a value of a type of the summary, with zero for each number."""
    if typing.is_typeddict(kind):
        hints = typing.get_type_hints(kind)
        return {key: _like(hint, workloads, bounds) for key, hint in hints.items()}
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is dict:
        return {name: _like(inner[1], workloads, bounds) for name in workloads}
    if origin is list:
        like = _like(inner[0], workloads, bounds)
        return [like | {"from_bytes": _bytes(bound)} for bound in bounds] if isinstance(like, dict) else []
    if origin in {types.UnionType, typing.Union}:
        return _like(inner[0], workloads, bounds)
    return 0 if kind in {int, float} else ""


def _bytes(bound: Any) -> int:
    from xoff import formatting

    found = formatting.quantity(bound) if isinstance(bound, str) else None
    return found[0] if found else int(bound)


def _numbers(value: Any, keys: list[str]) -> Iterator[tuple[str, int | float | None]]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            if key not in _WORDS:
                yield from _numbers(part, [*keys, key])
    elif isinstance(value, list):
        for part in value:
            if isinstance(part, Mapping) and "from_bytes" in part:
                rest = {key: inner for key, inner in part.items() if key not in {"from_bytes", "below_bytes"}}
                yield from _numbers(rest, [*keys[:-1], f"from_{part['from_bytes']}B"])
    elif value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        unit = next((unit for key in keys for unit in _UNITS if key.endswith(unit)), "")
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            # A foreign value: no count of a run is as large, and no table can hold it.
            value = None
        yield "_".join(key.removesuffix(unit) for key in keys) + unit, value
