"""Combinations of settings that were once accepted and went wrong: each is now correct, or refused with its key."""

from typing import Any

import pytest

import xoff

LINK = {"rate": "100Gbps", "delay": "1us"}
PFC = {"pfc": {"xoff": "75KB", "xon": "50KB"}}


def incast(network: dict[str, Any], senders: list[Any], size: str = "1MB", **more: Any) -> dict[str, Any]:
    workload = [{"incast": {"senders": senders, "receiver": 0, "size": size}}]
    return {"network": network, "workload": workload, **more}


def star(hosts: int = 5) -> dict[str, Any]:
    return {"star": {"hosts": hosts, "link": LINK}}


@pytest.mark.parametrize("window", ["10KB", "50KB", "104KB", "200KB"])
def test_irn_sends_again_whatever_the_window(window: str) -> None:
    # A lost packet keeps the window closed until its retransmission.
    result = xoff.run(
        incast(
            star(),
            [1, 2, 3, 4],
            switch={"buffer": {"per_port": "60KB"}, "ecn": {"red": {"kmin": "20KB", "kmax": "50KB", "pmax": 0.2}}},
            host={"transport": {"irn": {}}, "congestion_control": {"dcqcn": {"window": window}}},
        )
    )
    assert result.summary["flows"]["completed"] == 4
    assert result.summary["drops"] <= result.summary["retransmitted"]


def two_networks(order: tuple[str, ...], source: str, destination: str) -> dict[str, Any]:
    """Two switches joined by a host without forwarding."""
    links = [("both", "s1"), ("both", "s2"), ("one", "s1"), ("two", "s2")]
    nodes = [{"name": name, "kind": "host"} for name in order] + [{"name": n, "kind": "switch"} for n in ("s1", "s2")]
    flow = {"src": source, "dst": destination, "size": "10KB"}
    return {
        "network": {"explicit": {"nodes": nodes, "links": [{"a": a, "b": b, **LINK} for a, b in links]}},
        "workload": [{"flows": [flow]}],
    }


@pytest.mark.parametrize("order", [("both", "one", "two"), ("one", "two", "both"), ("two", "both", "one")])
def test_a_host_on_two_networks_joins_none_to_the_other(order: tuple[str, ...]) -> None:
    for source, destination in (("both", "one"), ("both", "two"), ("one", "both"), ("two", "both")):
        assert xoff.run(two_networks(order, source, destination)).summary["flows"]["completed"] == 1
    why = "no path leads from one to two: host both lies between, and a host does not relay"
    with pytest.raises(xoff.InputError, match=why):
        xoff.check(two_networks(order, "one", "two"))
    apart = two_networks(order, "one", "two")
    apart["network"]["explicit"]["links"].pop()
    with pytest.raises(xoff.InputError, match="no path leads from one to two; no chain of links joins the two"):
        xoff.check(apart)
    drawn = two_networks(order, "both", "one")
    drawn["workload"] = [{"poisson": {"load": 0.1, "sizes": "hadoop", "flows": 5}}]
    with pytest.raises(xoff.InputError, match="no path leads"):
        xoff.check(drawn)
    drawn["workload"][0]["poisson"] |= {"sources": ["both"], "destinations": ["one", "two"]}
    assert xoff.run(drawn).summary["flows"]["completed"] == 5


def test_flows_start_beside_the_congested_class() -> None:
    # The default class of a workload is zero, the class of congested queues. Without isolation, switches pause the
    # other class: hosts must send in the other class.
    fabric = {"leaf_spine": {"leaves": 2, "spines": 1, "hosts_per_leaf": 4, "link": LINK}}
    control = {"pfc": {"xoff": "50KB", "xon": "40KB"}, "congestion_isolation": {"low": "800KB", "high": "900KB"}}
    switch = {"classes": 2, "buffer": {"per_queue": "100KB"}, "flow_control": control}
    flows = [{"src": i, "dst": i + 4, "size": "1MB"} for i in range(4)]
    result = xoff.run({"network": fabric, "switch": switch, "workload": [{"flows": flows}]})
    assert result.summary["drops"] == 0
    assert result.summary["congestion_isolation"]["isolated_flows"] == 0 < result.summary["pfc"]["pauses"]


def test_a_neighbour_that_is_told_too_late_is_warned_of() -> None:
    control = {**PFC, "congestion_isolation": {"low": "20KB", "high": "60KB", "cim_threshold": "30KB"}}
    scenario = incast(star(), [1, 2, 3, 4], switch={"classes": 2, "buffer": {"per_port": "400KB"}})
    scenario["switch"]["flow_control"] = control
    result = xoff.run(scenario)
    assert result.summary["drops"] == 0
    scenario["switch"]["flow_control"]["congestion_isolation"]["cim_threshold"] = "75KB"
    paths = {warning["path"] for warning in xoff.check(scenario)["warnings"]}
    assert "switch.flow_control.congestion_isolation.cim_threshold" in paths


NDC = {"ndc": {"n": 3, "k": 1, "link": LINK}}
SHARED = {"shared": {"total": "8MB"}}
ISOLATION = {"congestion_isolation": {"cim_threshold": "30KB"}}
PROXY = {"sfc": {"threshold": "50KB", "pause": "10us", "mode": "proxy"}}


@pytest.mark.parametrize(
    ("network", "switch", "host", "key"),
    [
        (NDC, {"classes": 2, "flow_control": {**PFC, **ISOLATION}}, {}, "congestion_isolation"),
        (NDC, {"flow_control": {**PFC, **PROXY}}, {}, "sfc.mode"),
        (NDC, {"flow_control": {"portfc": {"xon": "10MB"}}}, {}, "portfc.xon"),
        (NDC, {"queueing": "voq", "flow_control": {"portfc": {}}}, {}, "switch.flow_control.portfc"),
        (star(), {"buffer": SHARED, "flow_control": {"pfc": {"accounting": "egress"}}}, {}, "pfc.xoff"),
        (
            star(),
            {
                "buffer": SHARED,
                "flow_control": {
                    "pfc": {},
                    "sfc": {"dynamic": {"threshold": True}, "pause": "10us", "round_trip": "2us"},
                },
            },
            {},
            "sfc.dynamic.threshold",
        ),
        (star(), {"queueing": "iq", "scheduler": {"drr": "1500B"}, "flow_control": PFC}, {}, "scheduler.drr"),
        (star(), {"flow_control": {"bcn": {"q_eq": "100MB", "w": 1000}}}, {}, "bcn.w"),
        (
            star(),
            {"ecn": {"step": {"threshold": "20KB"}}},
            {"congestion_control": {"dcqcn": {"preset": "paper", "decrease_interval": "10us"}}},
            "dcqcn.decrease_interval",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(
    network: dict[str, Any], switch: dict[str, Any], host: dict[str, Any], key: str
) -> None:
    with pytest.raises(xoff.InputError) as error:
        xoff.check(incast(network, [1, 2], switch=switch, host=host))
    assert f"{key}: " in str(error.value)


def test_classes_of_flows_leave_room_for_relays() -> None:
    scenario = incast(NDC, [4, 8], switch={"classes": 2, "flow_control": {"pfc": {**PFC["pfc"], "hop_classes": True}}})
    assert xoff.check(scenario)
    scenario["workload"][0]["class"] = 1
    with pytest.raises(xoff.InputError, match="hop_classes"):
        xoff.check(scenario)


def test_sfc_beside_portfc_watches_queues_of_every_port() -> None:
    control = {"portfc": {}, "sfc": {"threshold": "20KB", "pause": "10us"}}
    rail = {"rail": {"servers": 8, "gpus_per_server": 4, "scale_up": LINK, "rail": LINK}}
    scenario = {"network": rail, "switch": {"flow_control": control}, "workload": [{"all_to_all": {"size": "20KB"}}]}
    assert xoff.run(scenario).summary["flows"]["completed"] == 32 * 31


def test_an_xoff_that_moves_is_said_to() -> None:
    found = xoff.check(incast(star(), [1, 2], switch={"buffer": SHARED, "flow_control": {"pfc": {}}}))
    assert [row["dynamic"] for row in found["headroom"]] == [True]


def test_unlikely_experts_are_drawn_in_the_end() -> None:
    moe = {"tokens": 1, "token_size": "1KB", "experts_per_token": 16, "zipf_exponent": 10}
    result = xoff.run({"network": star(16), "workload": [{"moe": moe}]})
    # Every host sends to all others, and receives replies.
    assert result.summary["flows"]["total"] == 2 * 16 * 15


@pytest.mark.parametrize(
    ("workload", "key"),
    [
        ({"flows": [{"src": 1, "dst": 0, "size": "1KB", "start": "281s"}]}, r"workload\[0\].flows\[0\].start: "),
        ({"repeated_incast": {"senders": 2, "size": "1KB", "period": "281s", "count": 70_000}}, r"workload\[0\]: "),
    ],
)
def test_the_end_of_time_and_of_memory_is_refused(workload: dict[str, Any], key: str) -> None:
    with pytest.raises(xoff.InputError, match=key):
        xoff.check({"network": star(), "workload": [workload | {"start": "1us"}]})


def test_more_waits_than_fit_into_memory_are_refused() -> None:
    workload = {"parameter_server": {"server": 0, "size": "1KB", "rounds": 2000}}
    with pytest.raises(xoff.InputError, match=r"workload\[0\].parameter_server: .*dependencies between flows exceed"):
        xoff.check({"network": star(200), "workload": [workload]})


def test_a_run_has_to_end_before_the_clock_does() -> None:
    with pytest.raises(xoff.InputError, match="until: "):
        xoff.check(incast(star(), [1], until="281.1s"))


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_numbers_are_finite(value: str) -> None:
    with pytest.raises(xoff.InputError, match=r"dcqcn\.g: .*not a finite number"):
        xoff.check(incast(star(), [1]), overrides={"host.congestion_control.dcqcn.g": float(value)})


@pytest.mark.parametrize("side", ["points", "limiters"])
@pytest.mark.parametrize("name", ["bcn", "qcn"])
def test_points_without_limiters_and_limiters_without_points_are_warned_of(name: str, side: str) -> None:
    scenario = incast(star(), [1, 2])
    if side == "points":
        scenario["switch"] = {"flow_control": {name: {}}}
    else:
        scenario["host"] = {"congestion_control": {name: {}}}
    assert any(warning["path"].endswith(f".{name}") for warning in xoff.check(scenario)["warnings"])


def test_with_a_queue_for_each_input_a_pause_lasts_until_the_target() -> None:
    """A queue per input drains at its share of the rate: as long as one queue with the packets of all inputs."""
    held = {}
    for queueing, threshold, target in (("voq", "100KB", "20KB"), ("oq", "300KB", "60KB")):
        sfc = {"threshold": threshold, "target": target, "round_trip": "0ns"}
        result = xoff.run(
            incast(
                star(4),
                [1, 2, 3],
                "5MB",
                switch={"queueing": queueing, "buffer": "unlimited", "flow_control": {"sfc": sfc}},
            )
        )
        held[queueing] = result.summary["sfc"]["messages"]
    assert held["voq"] == pytest.approx(held["oq"], rel=0.15)


@pytest.mark.parametrize("scheduler", ["round_robin", {"drr": "3KB"}])
@pytest.mark.parametrize("queueing", ["oq", "voq"])
def test_classes_take_turns_however_many_inputs_they_have(queueing: str, scheduler: Any) -> None:
    # Three hosts in one class and one in the other, at one output: half of the link for each class.
    scenario = incast(
        star(),
        [1, 2, 3],
        switch={"queueing": queueing, "classes": 2, "scheduler": scheduler, "buffer": "unlimited"},
        until="400us",
    )
    scenario["workload"].append({"class": 1, "flows": [{"src": 4, "dst": 0, "size": "1GB"}]})
    scenario["workload"][0]["incast"]["size"] = "1GB"
    queues = xoff.run(scenario).queues.to_pylist()
    sent = [
        sum(row["bytes"] for row in queues if row["node"] == "switch0" and row["port"] == 0 and row["class"] == one)
        for one in (0, 1)
    ]
    assert sum(sent) > 4_500_000
    assert sent[0] == pytest.approx(sent[1], rel=0.01)
