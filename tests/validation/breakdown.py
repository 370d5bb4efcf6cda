"""Invariants of completion times cut into parts, for every scenario."""

from collections import Counter, defaultdict
from typing import Any

import xoff


def delays_add_up(scenario: dict[str, Any], result: xoff.Result, *, threads: int = 2) -> xoff.Result:
    """Runs again with `probe.delays` and checks the rows; `result` is the result without the probe."""
    probe = {**scenario.get("probe", {}), "delays": "all"}
    probed = xoff.run({**scenario, "probe": probe}, threads=threads)
    summary, expected = dict(probed.summary), dict(result.summary)
    assert {**summary, "performance": None} == {**expected, "performance": None}
    rows = probed.table("delays").to_pylist()
    # Messages of connections are cut one by one: the audit of delays adds up the parts.
    connections = set(probed.messages["flow"].to_pylist())
    flows = {row["flow"]: row for row in probed.flows.to_pylist() if row["flow"] not in connections}
    assert all((row["operation"] is None) == (row["flow"] in flows) for row in rows)
    rows = [row for row in rows if row["operation"] is None]
    sums: Counter[int] = Counter()
    ways: dict[int, set[tuple[int, str, int]]] = defaultdict(set)
    for row in rows:
        assert row["time_ps"] > 0
        sums[row["flow"]] += row["time_ps"]
        ways[row["flow"]].add((row["hop"], row["node"], row["port"]))
        # The blocking flow is known, and the mechanism of a pause or hold; other parts name neither.
        assert (row["blocking_flow"] is not None) == (row["kind"] == "queueing")
        assert (row["cause"] is not None) == (row["kind"] in {"paused", "source_held"})
        assert (row["start_ps"] is not None) == (row["kind"] == "paused")
        # A port that neither sends nor is paused delays no packet, except packets behind the head of an input.
        assert row["kind"] != "hol_blocking" or scenario["switch"]["queueing"] == "iq", (row, scenario)
    assert sums == {flow: row["fct_ps"] for flow, row in flows.items()}
    peers = {(row["node"], row["port"]): row["peer"] for row in probed.links.to_pylist()}
    for flow, way in ways.items():
        # A way without gaps, from the source to the destination.
        nodes = [node for _, node, _ in sorted(way)]
        ends = [peers[node, port] for _, node, port in sorted(way)]
        assert nodes[0] == flows[flow]["src"]
        assert ends == [*nodes[1:], flows[flow]["dst"]]
    paused_within_pauses(probed, rows)
    return probed


def paused_within_pauses(result: xoff.Result, rows: list[dict[str, Any]]) -> None:
    """Checks that each paused part lies within the pause that it names."""
    pauses = defaultdict(list)
    for row in result.pauses.to_pylist():
        # A pause that ends at its own start delays no packet; the next pause may start at the same moment.
        if row["end_ps"] == row["start_ps"]:
            continue
        pauses[row["node"], row["port"], row["queue"], row["cause"], row["start_ps"]].append(row["end_ps"])
    for row in rows:
        if row["kind"] == "paused":
            [last] = pauses[row["node"], row["port"], row["pause_queue"], row["cause"], row["pause_start_ps"]]
            assert row["pause_start_ps"] <= row["start_ps"]
            assert last is None or row["start_ps"] + row["time_ps"] <= last
