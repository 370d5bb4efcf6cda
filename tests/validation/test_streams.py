"""Random numbers: each mechanism of each node has its own stream, so that an added mechanism changes no other draw."""

from __future__ import annotations

from typing import Any

import pytest

import xoff

_SCENARIO: dict[str, Any] = {
    "seed": 7,
    "network": {
        "leaf_spine": {
            "leaves": 2,
            "spines": 4,
            "hosts_per_leaf": 4,
            "link": {"rate": "100Gbps", "delay": "1us"},
        }
    },
    "workload": [
        {"flows": [{"src": host, "dst": 4 + (host + 1) % 4, "size": "200KB", "start": "0ns"} for host in range(4)]}
    ],
}
# Each mechanism draws with every packet, or most, and without congestion control has no effect on others.
_ADDED: dict[str, dict[str, Any]] = {
    "marks": {"ecn": {"red": {"kmin": "1KB", "kmax": "10MB", "pmax": 0.9}}},
    "samples": {"flow_control": {"qcn": {}}},
}


def _completion_times(switch: dict[str, Any]) -> list[int]:
    document = {**_SCENARIO, "switch": {"routing": {"spray": {"choice": "random"}}, **switch}}
    result = xoff.run(document)
    return [int(end) for end in result.flows["fct_ps"].to_pylist()]


@pytest.mark.parametrize("name", _ADDED)
def test_what_is_added_moves_no_draw_of_others(name: str) -> None:
    alone = _completion_times({})
    assert _completion_times(_ADDED[name]) == alone


def test_packets_are_sprayed_by_draws() -> None:
    """The test above proves something: with other draws completion times change."""
    other = xoff.run({**_SCENARIO, "seed": 8, "switch": {"routing": {"spray": {"choice": "random"}}}})
    assert [int(end) for end in other.flows["fct_ps"].to_pylist()] != _completion_times({})
