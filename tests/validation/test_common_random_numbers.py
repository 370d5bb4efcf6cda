"""A flow's random draws follow from its workload's name and its number in the workload alone."""

from __future__ import annotations

from typing import Any

import pytest

import xoff

LINK = {"rate": "100Gbps", "delay": "1us"}
FABRIC = {"leaf_spine": {"leaves": 4, "spines": 4, "hosts_per_leaf": 4, "link": LINK}}
# Each draws sources, destinations, sizes or starts.
KINDS: dict[str, dict[str, Any]] = {
    "permutation": {"permutation": {"size": "20KB"}},
    "poisson": {"poisson": {"load": 0.3, "sizes": "websearch", "duration": "500us"}},
    "bernoulli": {"bernoulli": {"sources": [0, 1, 2, 5], "destinations": [8], "load": 0.2, "duration": "20us"}},
    "repeated_incast": {"repeated_incast": {"senders": 3, "size": "5KB", "period": "10us", "count": 4}},
    "moe": {"moe": {"tokens": 8, "token_size": "1KB"}},
}
ALONE = {"flows": [{"src": 0, "dst": 9, "size": "1KB", "start": "5ms"}], "name": "alone"}


def drawn(workloads: list[dict[str, Any]], name: str) -> list[tuple[Any, ...]]:
    """Returns ends, sizes, starts and ways of the flows of a workload."""
    scenario = {"seed": 5, "network": FABRIC, "until": "20ms", "workload": workloads}
    columns = ["workload", "src", "dst", "size_bytes", "start_ps", "via"]
    rows = xoff.run(scenario).flows.select(columns).to_pylist()
    return sorted(tuple(row.values()) for row in rows if row["workload"] == name)


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("is_first", [False, True])
def test_another_workload_moves_no_draw(kind: str, is_first: bool) -> None:
    # A flow of 1 KB, 5 ms later, moved two of eight other flows to other paths.
    own = KINDS[kind] | {"name": "own"}
    both = [ALONE, own] if is_first else [own, ALONE]
    before = drawn([own], "own")
    assert len(before) > 3
    assert drawn(both, "own") == before
    # A second workload of the same kind, without a name or with the same name, has new draws.
    twice = drawn([own, own], "own")
    assert len(twice) > len(before)
    # Flows that wait for other flows start after those flows.
    without_start = [{row[:4] + row[5:] for row in rows} for rows in (before, twice)]
    assert without_start[0] < without_start[1]
    # Unnamed workloads are numbered in their order.
    first = drawn([KINDS[kind]], kind)
    assert drawn([ALONE, KINDS[kind]], kind) == first


def test_marks_and_sprays_are_those_of_the_packet() -> None:
    # Two senders share a queue with random marks, and two other senders another queue of the same switch.
    def marks(workloads: list[dict[str, Any]]) -> list[Any]:
        scenario = {
            "network": {"star": {"hosts": 8, "link": LINK}},
            "switch": {"ecn": {"red": {"kmin": "1KB", "kmax": "400KB", "pmax": 0.3}}, "classes": 2},
            "host": {"congestion_control": {"dctcp": {}}},
            "workload": workloads,
        }
        rows = xoff.run(scenario).flows.to_pylist()
        return [(row["notifications"], row["fct_ps"]) for row in rows if row["workload"] == "own"]

    own = {"incast": {"senders": [1, 2], "receiver": 0, "size": "400KB"}, "name": "own"}
    other = {"incast": {"senders": [4, 5], "receiver": 6, "size": "400KB"}, "name": "other"}
    alone = marks([own])
    assert alone[0][0] > 0
    assert marks([other, own]) == alone == marks([own, other])


def test_a_fault_that_is_drawn_does_not_depend_on_what_is_listed_before_it() -> None:
    def outages(faults: list[dict[str, Any]]) -> list[tuple[int, int]]:
        scenario = {"network": FABRIC, "workload": [{"permutation": {"size": "20MB"}}], "until": "2ms", "fault": faults}
        scenario["audits"] = {"completion": "record"}
        rows = xoff.run(scenario).table("faults").to_pylist()
        return [(row["start_ps"], row["end_ps"]) for row in rows if row["kind"] == "down"]

    times = {
        "time_between_failures": {"exponential": "200us"},
        "time_to_repair": {"exponential": "50us"},
        "state": "down",
    }
    own, other = {"link": "leaf0-spine1", **times}, {"link": "leaf2-spine2", "rate": "10Gbps", "at": "1us"}
    assert outages([own]) == outages([other, own]) != []
