"""The load reported by `xoff check`: by hand on symmetric networks, and against the load of links in runs."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import xoff
from xoff.commands.registry import app

LINK = {"rate": "100Gbps", "delay": "1us"}
CLOS = {"leaf_spine": {"leaves": 4, "spines": 4, "hosts_per_leaf": 8, "link": LINK}}
STAR = {"star": {"hosts": 5, "link": LINK}}


def poisson(load: float = 0.5, **more: Any) -> dict[str, Any]:
    """Flows of one packet of 1000 B, with 48 B of header."""
    return {"poisson": {"load": load, "cdf": [[1000, 0], [1000, 100]], "duration": "20us", **more}}


def layers(network: dict[str, Any], *workload: dict[str, Any], **more: Any) -> dict[str, tuple[float, float]]:
    """Mean and highest load of each layer."""
    found = xoff.check({"network": network, "workload": list(workload), **more})["load"]
    return {layer["layer"]: (layer["mean"], layer["highest"]) for layer in found["layers"]}


def test_two_to_one_oversubscription() -> None:
    """Of 31 others 24 are at another leaf; 8 hosts share 4 uplinks: 0.5 · 1.048 · 24/31 · 2."""
    up, fabric = 0.5 * 1.048, 0.5 * 1.048 * 24 / 31 * 2
    expected = {"host → leaf": up, "leaf → spine": fabric, "spine → leaf": fabric, "leaf → host": up}
    found = layers(CLOS, poisson())
    assert list(found) == list(expected)
    for layer, share in expected.items():
        assert found[layer] == pytest.approx((share, share)), layer


@pytest.mark.parametrize(("n", "hops"), [(4, 24 / 15), (8, (14 + 2 * 49) / 63)])
@pytest.mark.parametrize("first_hop", ["hash", "highest"])
def test_each_packet_of_an_ndc_is_carried_by_one_node_or_two(n: int, hops: float, first_hop: str) -> None:
    """NDC(4, 1) has 1.6 node hops on average: 50 % of both ports is 84 % of the links' capacity, 93 % in NDC(8, 1)."""
    found = layers({"ndc": {"n": n, "link": LINK}}, poisson(), host={"first_hop": first_hop})
    assert set(found) == {"host → level0", "host → level1", "level0 → host", "level1 → host"}
    for mean, highest in found.values():
        assert (mean, highest) == pytest.approx((0.5 * 1.048 * hops,) * 2)


def test_incasts_and_pinned_flows_are_counted_as_they_are() -> None:
    """Ten incasts of 3 MB in 10 ms are 3.144 MB of 12.5 MB each; a pinned flow loads the links of its path."""
    incasts = {"repeated_incast": {"senders": 3, "size": "1MB", "period": "1ms", "count": 10}}
    found = layers(STAR, incasts)
    assert found["host → switch"][0] == found["switch → host"][0] == pytest.approx(3.144 / 12.5 / 5)
    assert found["switch → host"][1] >= 3.144 / 12.5 * 2 / 10
    assert xoff.check({"network": STAR, "workload": [incasts]})["load"]["to_ps"] == 10_000_000_000
    # The same load by its share of the hosts' rates, as payload.
    share = 3 * 8e6 / (1e-3 * 5 * 100e9)
    by_load = {"repeated_incast": {"senders": 3, "size": "1MB", "load": share, "duration": "10ms"}}
    assert layers(STAR, by_load) == found
    flow = {"src": 0, "dst": 31, "size": "1MB", "via": ["leaf0", "spine2", "leaf3"]}
    flows = [flow | {"start": f"{100 * i}us"} for i in range(101)]
    fabric = xoff.check({"network": CLOS, "workload": [{"flows": flows}]})["load"]["layers"][2]
    assert fabric["layer"] == "spine → leaf"
    assert fabric["link"] == "spine2 port 3 (to leaf3)"
    assert fabric["highest"] == pytest.approx(1.048 * 101 / 125) == 16 * fabric["mean"]


def test_flows_beyond_the_end_are_not_offered() -> None:
    half = layers(STAR, poisson(), until="10us")
    assert half["host → switch"] == pytest.approx((0.524, 0.524))
    late = layers(STAR, poisson(), poisson() | {"start": "20us"}, until="20us")
    assert late["host → switch"] == pytest.approx((0.524, 0.524))
    # Two after the other, each half of the time.
    both = layers(STAR, poisson(0.4), poisson(0.2) | {"start": "20us"})
    assert both["host → switch"] == pytest.approx((0.3 * 1.048,) * 2)


def test_a_number_of_flows_takes_its_mean_time() -> None:
    found = layers(STAR, poisson(duration=None, flows=500))
    assert found["host → switch"] == pytest.approx((0.524, 0.524))


def test_only_some_hosts_send_or_receive() -> None:
    """Host 0 and 1 send to 1 and 2: all of host 0 goes to both, all of host 1 to host 2."""
    report = xoff.check({"network": STAR, "workload": [poisson(sources=[0, 1], destinations=[1, 2])]})
    up, down = report["load"]["layers"]
    assert (up["mean"], up["highest"]) == pytest.approx((0.524 * 2 / 5, 0.524))
    assert (down["mean"], down["highest"]) == pytest.approx((0.524 * 2 / 5, 0.524 * 1.5))
    assert down["link"] == "switch0 port 2 (to host2)"


def test_what_waits_and_what_is_warm_is_left_out() -> None:
    flows = [
        {"src": 0, "dst": 1, "size": "1MB", "id": "first"},
        {"src": 1, "dst": 2, "size": "1MB", "after": ["first"]},
    ]
    found = xoff.check({"network": STAR, "workload": [poisson(warm_start=True), {"flows": flows}]})["load"]
    assert found["waiting_flows"] == 1
    first = 1.048e6 / (12.5e9 * 20e-6)
    assert found["layers"][0]["mean"] == pytest.approx(0.524 + first / 5)


def test_a_single_moment_has_no_load() -> None:
    incast = {"incast": {"senders": [1, 2], "receiver": 0, "size": "1MB"}}
    assert xoff.check({"network": STAR, "workload": [incast]})["load"] is None
    assert xoff.check({"network": STAR, "workload": []})["load"] is None


NETWORKS: dict[str, dict[str, Any]] = {
    "clos": {"leaf_spine": CLOS["leaf_spine"] | {"fabric_link": {"rate": "400Gbps", "delay": "1us"}, "parallel": 2}},
    "ndc": {"ndc": {"n": 4, "link": LINK, "levels": [LINK, {"rate": "200Gbps", "delay": "1us"}]}},
    "rail": {
        "rail": {
            "servers": 4,
            "gpus_per_server": 4,
            "scale_up": {"rate": "400Gbps", "delay": "100ns"},
            "rail": LINK,
            "aggregation": {"switches": 2, "link": LINK, "segments": 2},
        }
    },
    "fat-tree": {"fat_tree": {"k": 4, "link": LINK}},
}


@pytest.mark.parametrize("name", NETWORKS)
def test_links_carry_what_they_are_offered(name: str) -> None:
    """At a light load, over 1 ms, layer by layer."""
    scenario: dict[str, Any] = {
        "network": NETWORKS[name],
        "workload": [poisson(0.2, duration="1ms", cdf=[[0, 0], [20_000, 100]])],
    }
    result = xoff.run(scenario)
    carried: dict[str, list[float]] = defaultdict(list)
    for row in result.links.to_pylist():
        layer = " → ".join(row[end].rstrip("0123456789").rstrip("_") for end in ("node", "peer"))
        carried[layer].append(row["data_bytes"] * 8 / row["rate_bps"] / 1e-3)
    offered = xoff.check(scenario)["load"]["layers"]
    assert len(offered) == len(carried)
    for layer in offered:
        found = carried[layer["layer"]]
        assert len(found) == layer["links"]
        assert sum(found) / len(found) == pytest.approx(layer["mean"], rel=0.06), layer["layer"]


def test_the_command_prints_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "one.json"
    file.write_text(json.dumps({"network": CLOS, "workload": [poisson()]}), "utf-8")
    app(["check", str(file)], standalone_mode=False)
    text = capsys.readouterr().out
    assert "load that is offered from 0 ps to 20.000 µs" in text
    assert "81.1%" in next(line for line in text.splitlines() if "leaf → spine" in line)


def test_fewer_flows_than_hosts_come_from_hosts_that_are_drawn() -> None:
    document = {"network": STAR, "workload": [{"poisson": {"load": 0.3, "sizes": "hadoop", "flows": 3}}]}
    drawn = [sorted(xoff.run(document, seed=seed).flows["src"].to_pylist()) for seed in range(30)]
    assert all(len(set(sources)) == 3 for sources in drawn)
    assert xoff.run(document, seed=7).flows["src"].to_pylist() == xoff.run(document, seed=7).flows["src"].to_pylist()
    # Every host is as likely as any other: in 30 runs a host is left out with a chance of 0.4^30.
    assert len({source for sources in drawn for source in sources}) == STAR["star"]["hosts"]
