"""Draws faults of a scenario: outages, slow, long and noisy links, nodes that are down, hosts that stall."""

from random import Random
from typing import Any

import xoff


def links_of(scenario: dict[str, Any]) -> list[tuple[str, str]]:
    """The links of a scenario's network, by the names of their ends, from a run that ends at once."""
    quiet = {key: value for key, value in scenario.items() if key != "probe"}
    result = xoff.run(quiet | {"until": "1ps", "workload": []})
    return sorted({(row["node"], row["peer"]) for row in result.links.to_pylist()})


def draw_fault(rng: Random, scenario: dict[str, Any], links: list[tuple[str, str]]) -> dict[str, Any]:
    """Draws one entry of `fault`; the faults end, so that flows can continue."""
    link = rng.choice(links)
    hosts = sorted({name for ends in links for name in ends if name[0] == "h"})
    fault: dict[str, Any]
    match rng.choice(["down", "down", "down", "node", "rate", "delay", "errors", "stall"]):
        case "down":
            fault = {"link": "-".join(link), "state": "down", "queued": rng.choice(["flush", "wait"])}
        case "node":
            fault = {"node": link[0], "state": "down"}
        case "rate":
            fault = {"link": " -> ".join(link), "rate": rng.choice(["1Gbps", "25Gbps", "56Gbps", "400Gbps"])}
        case "delay":
            fault = {"link": rng.choice(["-", " -> "]).join(link), "delay": rng.choice(["0ns", "1ns", "777ns", "30us"])}
        case "errors":
            fault = {"link": " -> ".join(link), "bit_error_rate": rng.choice([1e-6, 1e-5, 1.0])}
        case _:
            fault = {"host": rng.choice(hosts), "stall": True}
    if scenario["switch"].get("queueing") == "iq" and "state" in fault and "link" in fault:
        fault["queued"] = "wait"
    if rng.random() < 0.3:
        times = [{"exponential": "20us"}, {"fixed": "7us"}, {"uniform": ["1us", "30us"]}]
        fault |= {"time_between_failures": rng.choice(times), "time_to_repair": rng.choice(times)}
        if rng.random() < 0.5:
            fault["at"] = "10us"
    else:
        fault |= {"at": f"{rng.randint(0, 40_000_000)}ps", "duration": f"{rng.randint(1, 10 ** rng.randint(4, 9))}ps"}
    return fault


def add(scenario: dict[str, Any], key: str, value: Any) -> None:
    """Adds a key to the network, unless the key is refused."""
    before = scenario["network"]
    scenario["network"] = {**before, key: value}
    try:
        xoff.check(scenario)
    except xoff.InputError:
        scenario["network"] = before


def with_faults(rng: Random, scenario: dict[str, Any]) -> dict[str, Any]:
    """Adds a few drawn faults, failover and seldom several planes, as far as the scenario accepts them."""
    scenario = {**scenario, "network": dict(scenario["network"])}
    if rng.random() < 0.3:
        add(scenario, "planes", rng.choice([2, 3]))
    if rng.random() < 0.5:
        times = {"local_repair_delay": rng.choice(["3us", "1ns"]), "convergence_time": rng.choice(["17us", "1us"])}
        add(scenario, "failover", {key: times[key] for key in rng.sample(sorted(times), rng.randint(1, 2))})
    links = links_of(scenario)
    faults: list[dict[str, Any]] = []
    for _ in range(rng.randint(1, 4)):
        fault = draw_fault(rng, scenario, links)
        try:
            xoff.check(scenario | {"fault": [*faults, fault]})
        except xoff.InputError:
            continue
        faults.append(fault)
    return scenario | {"fault": faults}
