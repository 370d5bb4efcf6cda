"""Topology files of the HPCC family: the headers of its programs, error rates, and relaying hosts."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xoff
from imports import Import, document_of, messages, refused
from small import Command
from xoff.importing.hpcc_errors import bit_error_rate
from xoff.importing.hpcc_network import Network
from xoff.importing.hpcc_settings import Settings
from xoff.importing.hpcc_topology import read_topology
from xoff.importing.notes import Notes
from xoff.importing.source import Source

# The first line of a star of `hosts` in each program's form: one switch, as many links as hosts.
HEADERS = {
    "HPCC": "{nodes} 1 {hosts}\n{switch}",
    "PowerTCP": "{nodes} 1 1 {hosts}\n{switch}",
    "Reverie": "{nodes} 1 1 {hosts} 25000000000 25000000000\n{switch}",
    "SimAI": "{nodes} {hosts} 0 1 {hosts} H20\n{switch}",
    "SimAI, NVSwitch": "{nodes} {hosts} 1 0 {hosts} H20\n{switch}",
    "switch behind the header": "{nodes} 1 {hosts} {switch}",
    "one line": "{nodes} 1 {hosts} {switch} ",
}
FLOW = "1\n0 1 3 100 1000 2.0\n"


def star(form: str, hosts: int, errors: dict[int, str] | None = None) -> str:
    head = HEADERS[form].format(nodes=hosts + 1, hosts=hosts, switch=hosts)
    given = errors or {}
    links = [f"{host} {hosts} 200Gbps 0.0005ms {given.get(host, 0)}" for host in range(hosts)]
    return head + " ".join(links) + "\n" if form == "one line" else "\n".join([head, *links]) + "\n"


@pytest.mark.parametrize("form", HEADERS)
@settings(deadline=None, max_examples=20)
@given(hosts=st.integers(2, 40))
def test_headers_of_all_programs_are_read(form: str, hosts: int) -> None:
    network = read_topology(Source(Path("topology.txt"), star(form, hosts).encode()), Notes())
    assert network.is_switch == [False] * hosts + [True]
    assert network.links == [(host, hosts, 200 * 10**9, 500_000) for host in range(hosts)]


@pytest.mark.parametrize("form", HEADERS)
def test_programs_have_the_same_run(imported: Import, form: str) -> None:
    said = imported("hpcc", star(form, 4), FLOW)
    row = xoff.run(said["scenario"]).flows.to_pylist()[0]
    # A frame of 1048 B over two links.
    assert (row["src"], row["dst"], row["fct_ps"]) == ("h0", "h1", 2 * (1048 * 40 + 500_000))


@pytest.mark.parametrize(
    ("head", "why"),
    [
        ("9 8 1 0 8\n8\n", "5 values; the first line is `nodes switches links`"),
        ("9 1 8 0 8 9\n8\n", "6 values; the first line is"),
        ("9 1 1 8 25x 25\n8\n", "the rate of servers: `25x` is not a rate"),
        ("9 8 8 8 8 H20\n", "the number of switches: `8` is not a whole number from 0 to 1"),
    ],
)
def test_other_headers_are_refused(xoff_here: Command, tmp_path: Path, head: str, why: str) -> None:
    refused(xoff_here, tmp_path, "hpcc", [head, FLOW], "0.txt", 1, why)


def test_an_error_rate_is_a_fault(imported: Import) -> None:
    """A link that loses one in a thousand packets of 1048 B: about 10 of 10,000, and the run continues after losses."""
    flows = "2\n0 1 3 100 10000000 0\n2 3 3 100 10000000 0\n"
    said = imported("hpcc", star("HPCC", 8, {0: "0.001"}), flows)
    document = document_of(said)
    assert [one["link"] for one in document["fault"]] == ["h0-s8"]
    assert document["fault"][0]["bit_error_rate"] == pytest.approx(1.193e-7, rel=1e-3)
    assert document["switch"]["flow_control"]["pfc"]["quanta"] == 65_535
    assert next(note for note in said["notes"] if "at random" in note["message"])["lines"] == [[3, 3]]
    lost = xoff.run(said["scenario"]).summary["fault"]["lost"]
    assert 3 <= lost <= 20


@given(rate=st.floats(1e-12, 1, exclude_max=True), frame=st.integers(64, 9100))
def test_a_frame_is_lost_as_often_as_there(rate: float, frame: int) -> None:
    bit = bit_error_rate(rate, frame)
    assert -math.expm1(8 * frame * math.log1p(-bit)) == pytest.approx(rate, rel=1e-6)


def test_one_rate_for_all_links_is_one_fault(imported: Import) -> None:
    text, config = star("HPCC", 4), "CC_MODE 0\nPACKET_PAYLOAD_SIZE 4000\nERROR_RATE_PER_LINK 0.01\n"
    said = imported("hpcc", text, FLOW, config)
    faults = document_of(said)["fault"]
    assert [one["link"] for one in faults] == ["*"]
    assert faults[0]["bit_error_rate"] == pytest.approx(bit_error_rate(0.01, 4048))
    assert "ERROR_RATE_PER_LINK: links that lose packets at random" in messages(said)
    # A link's own rate goes before.
    said = imported("hpcc", star("HPCC", 4, {2: "1"}), FLOW, config, out="own")
    rates = {one["link"]: one["bit_error_rate"] for one in document_of(said)["fault"]}
    assert rates == {f"h{host}-s4": 1.0 if host == 2 else faults[0]["bit_error_rate"] for host in range(4)}


def test_without_errors_there_is_no_fault(imported: Import) -> None:
    document: dict[str, Any] = document_of(imported("hpcc", star("HPCC", 4), FLOW))
    assert "fault" not in document
    assert "quanta" not in document["switch"]["flow_control"]["pfc"]


# Four hosts in a ring without a switch.
RING = "4 0 4\n" + "".join(f"{host} {(host + 1) % 4} 400Gbps 500ns 0\n" for host in range(4))


def test_hosts_of_a_mesh_pass_packets_on(imported: Import) -> None:
    said = imported("hpcc", RING, "1\n0 2 3 100 1000 2.0\n")
    assert xoff.run(said["scenario"]).flows.to_pylist()[0]["fct_ps"] == 2 * (1048 * 20 + 500_000)
    assert "flow 0, from h0 to h2, has no path over switches" in messages(said)
    rows = Path(said["scenario"]).with_name("nodes.csv").read_text().split()[1:]
    assert rows == [f"h{host},relay" for host in range(4)]
    # Neighbours need no node between.
    said = imported("hpcc", RING, "1\n0 1 3 100 1000 2.0\n", out="neighbours")
    assert "no path over switches" not in messages(said)
    assert "relay" not in Path(said["scenario"]).with_name("nodes.csv").read_text()


@st.composite
def networks(draw: st.DrawFn) -> Network:
    """Draws trees of switches with hosts of one link or two, of few rates and delays."""
    switches, hosts = draw(st.integers(1, 4)), draw(st.integers(2, 7))
    network = Network([True] * switches + [False] * hosts)
    rate, delay = st.sampled_from([10**10, 10**11]), st.integers(0, 3).map(lambda n: n * 10**6)
    for switch in range(1, switches):
        network.links.append((draw(st.integers(0, switch - 1)), switch, draw(rate), draw(delay)))
    for host in range(switches, switches + hosts):
        for switch in draw(st.sets(st.integers(0, switches - 1), min_size=1, max_size=2)):
            network.links.append((host, switch, draw(rate), draw(delay)))
    return network


@settings(deadline=None, max_examples=200)
@given(network=networks())
def test_the_longest_round_trip_is_that_of_all_hosts(network: Network) -> None:
    def farthest(one: Network) -> tuple[int, int]:
        return Settings(None, one, Notes(), is_conweave=False)._search(1000)

    class OfAll(Network):
        def places(self) -> list[int]:
            return [node for node, is_switch in enumerate(self.is_switch) if not is_switch]

    assert farthest(network) == farthest(OfAll(network.is_switch, network.links))


def test_many_hosts_at_a_switch_are_few_places() -> None:
    """A host for each delay made the search quadratic: 8,000 hosts took a minute."""
    links = [(host, 8000, 10**11, 1000 * host) for host in range(8000)]
    assert Network([False] * 8000 + [True], links).places() == [7999]
