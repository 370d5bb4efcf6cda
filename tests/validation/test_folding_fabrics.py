"""Folded runs on fabrics of several tiers and planes have the results of runs of all nodes, byte for byte."""

from collections.abc import Iterable
from random import Random
from typing import Any

import pytest
from tests.validation.folding_cases import fabric
from tests.validation.test_folding import compare, results

import xoff
from params import first_fast


@pytest.mark.parametrize("seed", first_fast(range(500), 24))
def test_random_fabrics_are_folded_exactly(seed: int) -> None:
    compare(fabric(Random(seed)), threads=1 + seed % 2, fast_forward=seed % 3 > 0)


def test_most_random_fabrics_fold() -> None:
    reports = [results(fabric(Random(seed)))[1] for seed in range(24)]
    obstacles = [report["obstacle"] for report in reports if report and report["obstacle"]]
    assert len(obstacles) < 8, obstacles


def rails(switches: int, flows: Iterable[tuple[int, int]]) -> dict[str, Any]:
    """Two segments of four servers with two GPUs, under aggregation switches."""
    link = {"rate": "100Gbps", "delay": "1us"}
    aggregation = {"switches": switches, "segments": 2, "link": link}
    shape = {"servers": 4, "gpus_per_server": 2, "rail": link, "scale_up": link, "aggregation": aggregation}
    rows = [{"src": src, "dst": dst, "size": "50KB"} for src, dst in flows]
    return {"ties": "relative", "draws": "shared", "network": {"rail": shape}, "workload": [{"flows": rows}]}


def test_equal_servers_use_equal_aggregation_switches() -> None:
    document = rails(8, [(host, (host + 8) % 16) for host in range(16)])
    assert compare(document)["rotations"] == [[1, 2], [2, 4], [8, 2]]


@pytest.mark.parametrize(("switches", "times"), [(8, 4), (6, 2), (3, 1)])
def test_switches_turn_with_servers_if_their_number_fits(switches: int, times: int) -> None:
    document = rails(switches, [(host, host + 8) for host in range(0, 8, 2)])
    folding = compare(document)
    assert folding["times"] == times
    if times == 1:
        assert "the flow from host0 to host8 passes from rail0 to aggregation0" in folding["obstacle"]
    else:
        links = xoff.run(document).table("links").select(["node", "data_packets"]).to_pylist()
        # Flows of equal servers take different switches.
        counts = [row["data_packets"] for row in links if row["node"].startswith("aggregation")]
        assert max(counts) <= 50 * 4 // times


def test_switches_that_no_flow_passes_are_no_obstacle() -> None:
    assert compare(rails(3, [(host, (host + 2) % 8) for host in range(0, 8, 2)]))["times"] == 4
