"""The traffic, queues and pauses of a port."""

from __future__ import annotations

import difflib
from itertools import pairwise
from typing import Any

from xoff import formatting
from xoff._core import InputError
from xoff.results import Result
from xoff.results.spans import covered


def facts(result: Result, name: str) -> dict[str, Any]:
    """Returns the table entries of a port named ``leaf1:3``. Raises `InputError` if there is no such port."""
    node, _, number = name.rpartition(":")
    links = [row for row in result.links.to_pylist() if row["node"] == node]
    link = next((row for row in links if str(row["port"]) == number), None)
    if link is None:
        raise InputError(f"--port {name}: {_missing(result, node, number, len(links))}")
    port = link["port"]

    def here(table: str) -> list[dict[str, Any]]:
        return [row for row in result.table(table).to_pylist() if (row["node"], row["port"]) == (node, port)]

    paused: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for row in here("pauses"):
        end = result.summary["simulated_ps"] if row["end_ps"] is None else row["end_ps"]
        paused.setdefault((row["cause"], row["class"]), []).append((row["start_ps"], end))
    passing = [row for row in result.flows.to_pylist() if _passes(row, node, link["peer"])]
    keys = ("node", "port", "peer", "rate_bps", "delay_ps", "data_bytes", "control_bytes", "busy_ps", "utilisation")
    return {
        **{key: link[key] for key in keys},
        "queues": [{key: row[key] for key in row if key not in {"node", "port", "peer"}} for row in here("queues")],
        "pauses": [
            {
                "cause": cause,
                "class": class_,
                "count": len(spans),
                "ps": covered(spans),
                "longest_ps": max(max(0, end - start) for start, end in spans),
            }
            for (cause, class_), spans in paused.items()
        ],
        "drops": len(here("drops")),
        "flows": [
            {key: row[key] for key in ("flow", "src", "dst", "size_bytes", "fct_ps")}
            for row in sorted(passing, key=lambda row: (-row["size_bytes"], row["flow"]))
        ],
    }


def _passes(flow: dict[str, Any], node: str, peer: str) -> bool:
    """Whether the pinned path of a flow has a link from `node` to `peer`; without a pinned path, ends alone count."""
    way = [flow["src"], *filter(None, flow["via"].split(", ")), flow["dst"]]
    return (node, peer) in pairwise(way)


def _missing(result: Result, node: str, number: str, ports: int) -> str:
    if ports:
        return f"{formatting.plain(node)} has ports 0 to {ports - 1}"
    names = sorted(set(result.links["node"].to_pylist()))
    near = difflib.get_close_matches(node or number, names, 3)
    known = "such as " + ", ".join(formatting.plain(name) for name in near or names[:3])
    return f"name a node and a port, as in {formatting.plain(names[0])}:0; nodes are {known}" if names else "no links"
