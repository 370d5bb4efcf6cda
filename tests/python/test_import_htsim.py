"""Scenarios of htsim: connections, triggers and topologies keep their meaning, and bad files are refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import xoff
from imports import MATRIX, TOPO, Import, document_of, messages, ran, refused
from small import Command


def test_flows_of_htsim_are_those_of_the_input(imported: Import) -> None:
    said = imported("htsim", MATRIX, TOPO)
    rows = [line.split() for line in MATRIX.read_text().splitlines() if "->" in line]
    flows = [row for row in ran(said) if row["workload"] == "connections"]
    assert said["flows"] == len(flows) == len(rows) == 13
    assert said["bytes"] == sum(row["size_bytes"] for row in flows) == 12 * 200_000 + 100_000
    by_id = {row["label"]: row for row in flows}
    for row in rows:
        found = by_id[row[row.index("id") + 1]]
        assert [f"host{end}" for end in row[0].split("->")] == [found["src"], found["dst"]]
    # A flow begins when the preceding flow was acknowledged, except for the time difference of a message and an ACK.
    for before, after in (("1", "2"), ("2", "3"), ("4", "5"), ("8", "9")):
        acked = by_id[before]["start_ps"] + by_id[before]["fct_acked_ps"]
        assert 0 <= by_id[after]["start_ps"] - acked <= 20_000
    # The barrier: host 0 was notified of its last flow's arrival, and flow 6 has arrived.
    third = by_id["3"]["start_ps"] + by_id["3"]["fct_acked_ps"]
    sixth = by_id["6"]["start_ps"] + by_id["6"]["fct_ps"]
    assert 0 <= by_id["13"]["start_ps"] - max(third, sixth) <= 20_000


def test_a_trigger_at_its_own_source_needs_no_message(imported: Import) -> None:
    text = "Nodes 4\nConnections 2\nTriggers 1\n0->1 id 4 start 0 size 9000 recv_done_trigger 2\n"
    text += "1->0 trigger 2 size 8\ntrigger id 2 oneshot\n"
    said = imported("htsim", text)
    first, second = ran(said)
    assert (first["label"], second["label"]) == ("4", "line5")
    assert second["start_ps"] == first["fct_ps"]
    assert len(document_of(said)["workload"]) == 1


def test_triggers_that_never_fire_are_said(imported: Import) -> None:
    lines = [
        "0->1 id 1 trigger 1 size 10 send_done_trigger 2",
        "1->0 id 2 trigger 2 size 10 recv_done_trigger 1",
        "0->1 id 3 trigger 3 size 10",
        "0->1 id 4 start 0 size 10 send_done_trigger 4",
        "2->1 id 5 trigger 4 size 10",
        "0->1 id 6 start 0 size 0 recv_done_trigger 5",
        "1->0 id 7 trigger 5 size 10",
        "trigger id 1 oneshot", "trigger id 2 oneshot", "trigger id 3 oneshot", "trigger id 4 barrier count 2",
        "trigger id 5 oneshot", "failure switch_type AGG switch_id 0 link_id 2",
    ]  # fmt: skip
    said = imported("htsim", "\n".join(["Nodes 4", "Connections 7", "Triggers 5", "Failures 1", *lines]))
    assert [row["label"] for row in xoff.run(said["scenario"]).flows.to_pylist()] == ["4", "6"]
    where = {note["message"].partition(":")[0].partition(",")[0]: note["lines"] for note in said["notes"]}
    # The last of them waits for a flow that never ends.
    assert where["never starts"] == [[5, 7], [9, 9], [11, 11]]
    assert where["size 0"] == [[10, 10]]
    assert all(note["matters"] for note in said["notes"] if note["message"].startswith("never starts"))
    assert where["link failures are not carried over"] == [[17, 17]]


def test_flows_without_an_end_last_until_the_end_of_the_run(imported: Import) -> None:
    """Both directions of one pair, as in htsim's examples: no other flow is on the link."""
    said = imported(
        "htsim", "Nodes 16\nConnections 2\n0->13 start 0 size 0\n13->0 start 2 size 0\n", options=("--start-unit", "us")
    )
    assert (said["flows"], said["endless"], said["bytes"]) == (2, 2, 0)
    assert document_of(said)["until"] == "1002us"
    assert any(note["matters"] and "last until the end of the run" in note["message"] for note in said["notes"])
    for row in xoff.run(said["scenario"]).flows.to_pylist():
        assert row["fct_ps"] is None
        # Frames of 1048 B from start to end, and an ACK for each frame of the flow in the other direction.
        line = (1_002_000_000 - row["start_ps"]) / (1048 * 80)
        assert 0.93 * line < row["packets_sent"] < line


def test_a_matrix_whose_flows_never_start_is_refused(xoff_here: Command, tmp_path: Path) -> None:
    text = "Nodes 4\nConnections 1\nTriggers 1\n0->1 id 1 trigger 1 size 10\ntrigger id 1 oneshot\n"
    refused(xoff_here, tmp_path, "htsim", [text], "0.txt", 4, "none of the connections ever starts")


def test_multishot_starts_one_flow_for_each(imported: Import) -> None:
    lines = [
        "0->1 id 1 start 0 size 10 recv_done_trigger 1",
        "2->1 id 2 start 0 size 10 recv_done_trigger 1",
        "1->0 id 3 trigger 1 size 10",
        "1->2 id 4 trigger 1 size 10",
        "1->3 id 5 trigger 1 size 10",
        "trigger id 1 multishot",
    ]
    said = imported("htsim", "\n".join(["Nodes 4", "Connections 5", "Triggers 1", *lines]))
    assert (Path(said["scenario"]).parent / "flows.csv").read_text().split()[3:] == [
        "1,0,10B,0ps,3,1",
        "1,2,10B,0ps,4,2",
    ]
    assert "multishot" in messages(said)


@pytest.mark.parametrize(("unit", "start_ps"), [("us", 2_500_000), ("ns", 2_500), ("ps", 2)])
def test_starts_of_htsim_have_the_unit_that_is_given(imported: Import, unit: str, start_ps: int) -> None:
    said = imported("htsim", "Nodes 4\nConnections 1\n0->1 start 2.5 size 10\n", options=("--start-unit", unit))
    assert ran(said)[0]["start_ps"] == start_ps


def _topo(*tiers: str, nodes: int = 16, pod: int = 4) -> str:
    body = "\n".join(f"Tier {index}\n{text.replace('; ', chr(10))}" for index, text in enumerate(tiers))
    return f"Nodes {nodes}\nTiers {len(tiers)}\nPodsize {pod}\n{body}\n"


_LINK = "Downlink_speed_Gbps 100; Downlink_Latency_ns 1000"
_FAR = "Downlink_speed_Gbps 100; Downlink_Latency_ns 2000"
# A packet of 1048 B takes 83.84 ns at 100 Gb/s, and half of the time at 200.
_HOP, _FAR_HOP, _FAST_HOP = 1_083_840, 2_083_840, 1_041_920
_TOPOLOGIES = {
    "fat tree": (
        _topo(f"{_LINK}; Radix_Down 2; Radix_Up 2", f"{_LINK}; Radix_Down 2; Radix_Up 2", f"{_LINK}; Radix_Down 4"),
        "fat_tree", (16, 20, 48), 4, 6 * _HOP,
    ),
    "leaf spine in bundles": (
        _topo(f"{_LINK}; Radix_Down 4; Radix_Up 4", f"{_LINK}; Radix_Down 8; Bundle 2", pod=16),
        "leaf_spine", (16, 6, 32), 2 * 2 * 2, 4 * _HOP,
    ),
    "oversubscribed, with longer links above": (
        _topo(
            f"{_LINK}; Radix_Down 4; Radix_Up 1; Oversubscribed 4",
            f"{_FAR}; Radix_Down 2; Radix_Up 2", f"{_FAR}; Radix_Down 2", pod=8,
        ),
        "three_tier_clos", (16, 8, 24), 2, 2 * _HOP + 4 * _FAR_HOP,
    ),
    "bundles of slower links at the top": (
        "Nodes 8\nTiers 3\nPodsize 4\n"
        + "Tier 0\nDownlink_speed_Gbps 200\nRadix_Down 2\nRadix_Up 2\nDownlink_Latency_ns 1000\n"
        + "Tier 1\nDownlink_speed_Gbps 200\nRadix_Down 2\nRadix_Up 4\nDownlink_Latency_ns 1000\nBundle 1\n"
        + "Tier 2\nDownlink_speed_Gbps 100\nRadix_Down 4\nDownlink_Latency_ns 1000\nBundle 2\n",
        "explicit", (8, 12, 8 + 8 + 16), 2 * 2 * 2 * 2, 4 * _FAST_HOP + 2 * _HOP,
    ),
    "switches with latencies of their own": (
        _topo(f"{_LINK}; Radix_Down 8; Radix_Up 8; Switch_Latency_ns 300", f"{_LINK}; Radix_Down 2", pod=16),
        "explicit", (16, 10, 32), 8, 4 * _HOP + 2 * 300_000,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", _TOPOLOGIES)
def test_topologies_of_htsim(imported: Import, case: str) -> None:
    """Hosts, switches and links are as many as there; the farthest hosts have as many paths, and are as far."""
    text, shape, sizes, paths, fct_ps = _TOPOLOGIES[case]
    said = imported("htsim", f"Nodes {sizes[0]}\nConnections 1\n0->{sizes[0] - 1} start 0 size 1000\n", text)
    report = xoff.check(said["scenario"])
    assert list(document_of(said)["network"]) == [shape]
    assert tuple(report["network"][key] for key in ("hosts", "switches", "links")) == sizes
    far = max(report["paths"], key=lambda one: one["links"])
    assert far["paths"] == paths
    (flow,) = ran(said)
    assert flow["fct_ps"] == fct_ps


def test_the_cores_of_htsim_are_in_planes(imported: Import) -> None:
    text = _TOPOLOGIES["bundles of slower links at the top"][0]
    said = imported("htsim", "Nodes 8\nConnections 0\n", text)
    links = (Path(said["scenario"]).parent / "links.csv").read_text().split()[1:]
    cores = Counter(tuple(line.split(",")[:2]) for line in links if "core" in line)
    assert cores == {(f"agg{agg}", f"core{core}"): 2 for agg in range(4) for core in (agg % 2, agg % 2 + 2)}


_BAD_MATRICES = {
    "empty": ("", 1, "the number of nodes is missing"),
    "no nodes": ("Connections 1\n0->1 start 0 size 9\n", 2, "the number of nodes is needed"),
    "count": ("Nodes 4\nConnections 2\n0->1 start 0 size 9\n", 2, "Connections 2: there are 1"),
    "huge": ("Nodes 99999999999999999999\n", 1, "Nodes: `99999999999999999999`"),
    "negative host": ("Nodes 4\n-1->2 start 0 size 9\n", 2, "is not two hosts"),
    "no host": ("Nodes 4\n0->4 start 0 size 9\n", 2, "a host: `4`"),
    "itself": ("Nodes 4\n1->1 start 0 size 9\n", 2, "sends to itself"),
    "no size": ("Nodes 4\n0->1 start 0\n", 2, "size is missing"),
    "no start": ("Nodes 4\n0->1 size 9\n", 2, "either a start or a trigger"),
    "both": ("Nodes 4\n0->1 size 9 start 0 trigger 1\n", 2, "either a start or a trigger"),
    "cut": ("Nodes 4\n0->1 size\n", 2, "size: `` is not a whole number"),
    "word": ("Nodes 4\n0->1 start 0 size 9 path ../../x\n", 2, "`path` is not a key"),
    "line": ("Nodes 4\n../../x\n", 2, "`../../x` is none of"),
    "unit": ("Nodes 4\nConnections 1\n0->1 start 5 size 9\n", 3, "give --start-unit"),
    "id": ("Nodes 4\n0->1 id 3 start 0 size 9\n0->1 id 3 start 0 size 9\n", 3, "duplicate id 3 (also in line 2)"),
    "no trigger": ("Nodes 4\nConnections 1\n0->1 trigger 9 size 9\n", 3, "unknown trigger 9"),
    "Nodes twice": ("Nodes 4\nNodes 5\n", 2, "Nodes is also given in line 1"),
    "start twice": ("Nodes 4\n0->1 start 0 size 9 start 5\n", 2, "start is given twice; remove one"),
    "count twice": (
        "Nodes 4\ntrigger id 1 barrier count 2 count 3\n", 2, "`count` is not a key of a trigger, or is given twice",
    ),
    "two shots": (
        "Nodes 4\nConnections 2\nTriggers 1\n0->1 start 0 size 9 send_done_trigger 1\n"
        "0->2 start 0 size 9 send_done_trigger 1\ntrigger id 1 oneshot\n", 5, "a barrier waits for several",
    ),
    "kind": ("Nodes 4\ntrigger id 1\n", 2, "a trigger is one of oneshot"),
    "NUL": ("Nodes \0\n", 1, "Nodes: `\ufffd`"),
}  # fmt: skip


@pytest.mark.parametrize("case", _BAD_MATRICES)
def test_bad_matrices_of_htsim_name_file_and_line(xoff_here: Command, tmp_path: Path, case: str) -> None:
    text, line, why = _BAD_MATRICES[case]
    refused(xoff_here, tmp_path, "htsim", [text], "0.txt", line, why)


_BAD_TOPOLOGIES = {
    "empty": ("", 1, "Tiers: 0"),
    "tiers": ("Tiers 4\n", 1, "Tiers: 4; 2 or 3"),
    "missing tier": ("Nodes 4\nTiers 2\nTier 0\n", 4, "Tier 1 is missing"),
    "key": ("Nodes 4\nBuffer 9\n", 2, "`Buffer` is none of"),
    "twice": ("Nodes 4\nNodes 5\n", 2, "is also given in line 1"),
    "negative": ("Nodes -4\n", 1, "Nodes: `-4`"),
    "two values": ("Nodes 4 5\n", 1, "Nodes has 2 values; give one"),
    "a tier too many": (
        _topo(f"{_LINK}; Radix_Down 2; Radix_Up 2", f"{_LINK}; Radix_Down 2", f"{_LINK}; Radix_Down 2").replace(
            "Tiers 3", "Tiers 2"
        ),
        2,
        "Tiers: 2, and Tier 2 is in the file as well",
    ),
    "place": ("Nodes 4\nRadix_Up 4\n", 2, "Radix_Up is behind a Tier"),
    "cut": ("Nodes", 1, "Nodes: `` is not a whole number"),
    "radix": (_topo(f"{_LINK}; Radix_Down 3; Radix_Up 2", f"{_LINK}; Radix_Down 2", pod=16), 7, "not a multiple of 3"),
    "zero": (
        _topo(f"{_LINK}; Radix_Down 0; Radix_Up 2", f"{_LINK}; Radix_Down 2", pod=16),
        7,
        "radix_down: must be above zero",
    ),
    "bundle": (
        _topo(f"{_LINK}; Radix_Down 4; Radix_Up 4", f"{_LINK}; Radix_Down 8", pod=16),
        8,
        "2 switches of tier 1",
    ),
    "few": (_topo(f"{_LINK}; Radix_Down 2; Radix_Up 2", f"{_LINK}; Radix_Down 2", nodes=4), 1, "has 4 hosts"),
}


@pytest.mark.parametrize("case", _BAD_TOPOLOGIES)
def test_bad_topologies_of_htsim_name_file_and_line(xoff_here: Command, tmp_path: Path, case: str) -> None:
    text, line, why = _BAD_TOPOLOGIES[case]
    refused(xoff_here, tmp_path, "htsim", ["Nodes 8\nConnections 0\n", text], "1.txt", line, why)
