"""Independent components of a network recur separately, until a message connects components."""

import json
from random import Random
from typing import Any

import pytest
from tests.validation.test_audits import ring
from tests.validation.test_fast_forward import PFC, rails, skipped
from tests.validation.test_fast_forward_jobs import LAYERS, job

import xoff
from xoff.conformance.drawing import draw_scenario
from xoff.conformance.loads import RECORDED
from xoff.conformance.runs import FORWARDED, compared, results
from xoff.running import prepare

COMPONENTS = "packet_hops_in_components"
SLOW = {"flow_control": {"pfc": {"xoff": "40KB"}}}


def leaves(count: int, hosts: int) -> dict[str, Any]:
    """Hosts at leaves."""
    link = {"rate": "100Gbps", "delay": "1us"}
    return {"leaf_spine": {"leaves": count, "spines": 2, "hosts_per_leaf": hosts, "link": link, "fabric_link": link}}


def flow(src: int, dst: int, size: str, start: str = "0us") -> dict[str, Any]:
    """Returns a flow."""
    return {"src": src, "dst": dst, "size": size, "start": start}


# At the first leaf two hosts send to one, at the second three, at the third each to the next. Their flows end at
# different times.
APART = [
    *(flow(src, 0, "90MB", f"{src}us") for src in (1, 2)),
    *(flow(src, 4, "60MB", f"{src}us") for src in (5, 6, 7)),
    *(flow(8 + src, 8 + (src + 1) % 4, "170MB", f"{src}300ns") for src in range(4)),
]
# A flow goes from the first leaf to the third while both are fast-forwarded, and another flow starts after its arrival.
BETWEEN = [flow(3, 11, "300KB", "1777us"), flow(6, 1, "3MB", "2900us"), flow(9, 5, "1KB", "3001us")]

COLLECTIVE = {"operation": "all_reduce", "algorithm": "ring", "size": "80MB", "hosts": [8, 9, 10, 11]}
REDUCE = {"name": "reduce", "collective": COLLECTIVE}

# Each scenario with the least share of fast-forward by independent components.
PARTS: dict[str, tuple[float, dict[str, Any]]] = {
    "each leaf by itself": (0.8, {"switch": SLOW, "workload": [{"flows": APART}]}),
    "flows between leaves": (0.6, {"switch": SLOW, "workload": [{"flows": APART + BETWEEN}]}),
    "a flow that waits for another": (
        0.1,
        {
            "switch": SLOW,
            "workload": [
                {"flows": [{**row, "id": f"f{at}"} for at, row in enumerate(APART + BETWEEN)]},
                {"flows": [{"src": 11, "dst": 2, "size": "5MB", "after": ["f9"]}]},
            ],
        },
    ),
    "virtual output queues": (0.3, {"switch": {"queueing": "voq", **SLOW}, "workload": [{"flows": APART + BETWEEN}]}),
    "up to a moment": (0.5, {"switch": SLOW, "workload": [{"flows": APART}], "until": "2345678ns"}),
    "queues looked at": (0.3, {"switch": SLOW, "workload": [{"flows": APART}], "probe": {"queues": "83840ps"}}),
    "each packet": (0.3, {"switch": SLOW, "workload": [{"flows": APART}], "probe": {"packets": True}}),
    "IRN": (0.5, {"switch": SLOW, "workload": [{"flows": APART + BETWEEN}], "host": {"transport": {"irn": {}}}}),
    "credits of links": (0.0, {"switch": {"flow_control": {"credits": {}}}, "workload": [{"flows": APART + BETWEEN}]}),
    "steps of collectives": (0.4, {"switch": SLOW, "workload": [{"flows": APART[:5] + BETWEEN[:1]}, REDUCE]}),
    "a link that fails: nothing rests": (
        0.0,
        {
            "switch": SLOW,
            "workload": [{"flows": APART}],
            "fault": [{"link": "leaf0-spine0", "state": "down", "at": "1ms", "duration": "1ms"}],
        },
    ),
    "nobody answers: nothing rests": (
        0.0,
        {"switch": SLOW, "workload": [{"flows": APART}], "host": {"transport": {"raw": {}}}},
    ),
}


_SLOW = {"each packet", "credits of links"}
"""Cases with a row or a frame for each packet."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in _SLOW else (), id=name) for name in PARTS]
)
def test_parts_repeat_themselves_apart_from_others(name: str) -> None:
    least, scenario = PARTS[name]
    shares = [
        skipped({"network": leaves(3, 4), "audits": RECORDED, **scenario}, plan, COMPONENTS) for plan in FORWARDED
    ]
    # With shorter windows searches are earlier, and other messages may reach suspended components.
    assert min(shares[:-1]) >= least, shares
    assert "nothing rests" not in name or max(shares) == 0


def test_how_many_parts_rest_is_said() -> None:
    scenario = {"network": leaves(3, 4), "switch": SLOW, "workload": [{"flows": APART}]}
    performance = results(prepare(scenario), threads=1)[1]
    assert performance["fast_forward"]["components"] == 3
    assert (
        performance["packet_hops_simulated"] + performance["fast_forward"]["packet_hops"]
        == performance["data_packet_hops"]
    )
    assert "in independent components)" in dict(xoff.run(scenario).rows())["performance"]


@pytest.mark.parametrize("judgement", ["fail", "record"])
def test_a_deadlock_elsewhere_is_found_at_the_same_moment(judgement: str) -> None:
    # Beside two switches at each of which hosts send to another, a ring of switches stands still soon after it begins.
    scenario = ring()
    network, flows = scenario["network"]["explicit"], scenario["workload"][0]["flows"]
    for row in flows:
        row["start"] = "3ms"
    for switch, size, count in (("t", "100MB", 3), ("u", "70MB", 4)):
        hosts = [f"{switch}{number}" for number in range(count)]
        network["nodes"] += [*({"name": host, "kind": "host"} for host in hosts), {"name": switch, "kind": "switch"}]
        network["links"] += [{**network["links"][0], "a": end, "b": switch} for end in (*hosts, "s0")]
        flows += [{"src": host, "dst": hosts[0], "size": size} for host in hosts[1:]]
    scenario["audits"] = {**RECORDED, "deadlock": judgement}
    shares = [skipped(scenario, plan, COMPONENTS) for plan in FORWARDED]
    assert min(shares) > 0.3, shares


@pytest.mark.parametrize("judgement", ["fail", "record"])
def test_a_deadlock_is_found_at_the_same_moment_beside_jobs_whose_layers_are_fast_forwarded(judgement: str) -> None:
    # A layer takes at least a third of a millisecond: longer than the detection of a possible cycle of waiting ranks.
    scenario = ring()
    network, workload = scenario["network"]["explicit"], scenario["workload"]
    for row in workload[0]["flows"]:
        row["start"] = "20ms"
    for switch, layers, hidden in (("t", 100, 1024), ("u", 104, 1536)):
        hosts = [f"{switch}{number}" for number in range(4)]
        network["nodes"] += [*({"name": host, "kind": "host"} for host in hosts), {"name": switch, "kind": "switch"}]
        network["links"] += [{**network["links"][0], "a": end, "b": switch} for end in (*hosts, "s0")]
        model = {"layers": layers, "hidden": hidden, "sequence": 512}
        (made,) = job(1, 4, {"tensor": 4}, 1, model=model)["workload"]
        workload.append({"name": switch, "training": {**made["training"], "hosts": hosts}})
    scenario["audits"] = {**RECORDED, "deadlock": judgement}
    assert min(skipped(scenario, plan, *LAYERS) for plan in FORWARDED) > 0.6


# Each of two jobs has its own layers.
def test_layers_of_jobs_side_by_side_are_skipped_by_each_for_itself() -> None:
    scenario = job(4, 4, {"tensor": 4}, 2, model={"layers": 40, "hidden": 1024, "sequence": 512})
    (made,) = scenario["workload"]
    model = {**made["training"]["model"], "layers": 34, "hidden": 1536}
    scenario["workload"] = [
        {"name": "a", "training": {**made["training"], "hosts": list(range(8))}},
        {"name": "b", "training": {**made["training"], "model": model, "hosts": list(range(8, 16))}},
    ]
    assert min(skipped(scenario, plan, *LAYERS) for plan in FORWARDED) > 0.3


# Servers of a pipeline do different things at a time.
def test_stages_of_a_pipeline_repeat_their_steps_each_by_itself() -> None:
    model = {"layers": 4, "hidden": 8192, "heads": 32, "sequence": 2048}
    scenario = job(4, 4, {"tensor": 4, "pipeline": 4}, 4, model=model)
    shares = [skipped(scenario, plan, COMPONENTS) for plan in FORWARDED[:3]]
    assert min(shares) > 0.1, shares


# Pipeline stages do not recur. Searches on the stages do not use the budget of other components.
def test_stages_by_themselves_are_looked_at_whatever_others_cost() -> None:
    model = {"layers": 4, "hidden": 8192, "heads": 32, "sequence": 2048}
    assert skipped(job(4, 8, {"tensor": 8, "pipeline": 4}, 4, model=model), FORWARDED[0], COMPONENTS) > 0.35


def drawn(rng: Random) -> dict[str, Any]:
    """Draws components with some long flows each, and a few flows between components."""
    count, hosts = rng.choice([2, 3, 4]), rng.choice([3, 4, 5])
    network = rails(count, hosts) if rng.random() < 0.3 else leaves(count, hosts)
    rows: list[dict[str, Any]] = []
    for leaf in range(count):
        here = rng.sample(range(leaf * hosts, (leaf + 1) * hosts), hosts)
        pairs = rng.choice(
            [
                [(src, here[0]) for src in here[1:]],
                [(here[0], here[1])],
                [(here[0], here[1]), (here[2], here[1]), (here[1], here[2])],
                [(here[at - 1], here[at]) for at in range(hosts)],
            ]
        )
        rows += [flow(*pair, f"{rng.randint(4000, 40000)}KB", f"{rng.randint(0, 60000)}ns") for pair in pairs]
    for _ in range(rng.choice([0, 1, 2, 5])):
        src, dst = rng.sample(range(count * hosts), 2)
        rows.append(flow(src, dst, rng.choice(["1KB", "30KB", "3MB"]), f"{rng.randint(0, 6000)}us"))
    control: dict[str, Any] = rng.choice([{}, {}, {}, {"timely": {}}, {"dcqcn": {}}])
    marks = {"ecn": {"red": {"kmin": "400KB", "kmax": "1600KB", "pmax": 0.2}}} if "dcqcn" in control else {}
    return {
        "network": network,
        "workload": [{"flows": rows}],
        "switch": {"queueing": rng.choice(["oq", "voq"]), **rng.choice([PFC, SLOW]), **marks},
        "host": {"transport": {rng.choice(["go_back_n", "irn", "selective"]): {}}, "congestion_control": control},
        "audits": RECORDED,
        "until": rng.choice(["100ms", "100ms", f"{rng.randint(200, 4000)}us"]),
    }


@pytest.mark.parametrize("group", range(4))
def test_drawn_parts_are_what_they_are_without_skipping(group: int) -> None:
    rngs = [Random(f"islands {group} {number}") for number in range(10)]
    shares = [skipped(drawn(rng), rng.choice(FORWARDED), COMPONENTS) for rng in rngs]
    assert max(shares) > 0.3, shares


def elsewhere(scenario: dict[str, Any], rng: Random) -> dict[str, Any]:
    """Returns a scenario's mechanisms at leaves with separate long flows, and some flows between leaves."""
    payload = int(scenario["framing"]["payload"].removesuffix("B"))
    rows: list[dict[str, Any]] = []
    for leaf in range(3):
        here = rng.sample(range(leaf * 4, leaf * 4 + 4), 4)
        towards_one = [(src, here[0]) for src in here[1:]]
        pairs = rng.choice([towards_one, towards_one[:2], [(here[at - 1], here[at]) for at in range(4)]])
        rows += [flow(*pair, f"{payload * rng.randint(4000, 30000)}B", f"{rng.randint(0, 60000)}ns") for pair in pairs]
    for _ in range(rng.choice([0, 1, 2])):
        src, dst = rng.sample(range(12), 2)
        rows.append(flow(src, dst, f"{payload * rng.choice([1, 30, 900])}B", f"{rng.randint(0, 5000)}us"))
    parts = {key: part for key, part in scenario.items() if key not in ("fault", "probe")}
    until = rng.choice(["6ms", "2345us"])
    return {**parts, "network": leaves(3, 4), "workload": [{"flows": rows}], "audits": RECORDED, "until": until}


@pytest.mark.parametrize("group", [0, *(pytest.param(group, marks=pytest.mark.slow) for group in range(1, 4))])
def test_parts_rest_under_every_mechanism_as_if_they_did_not(group: int) -> None:
    shares = []
    for number in range(60):
        rng = Random(f"islands of {group} {number}")
        scenario = elsewhere(draw_scenario(rng, {}), rng)
        try:
            shares.append(skipped(scenario, rng.choice(FORWARDED), COMPONENTS))
        except Exception as error:
            error.add_note(json.dumps(scenario))
            raise
    assert max(shares) > 0.1, shares


def serve(rng: Random) -> dict[str, Any]:
    """Draws a serving workload whose instances do the same steps again, apart from each other."""
    leaves, per_leaf = rng.choice([(2, 2), (4, 2), (2, 4)])
    tensor = rng.choice([1, 2, 2])
    instances = leaves * per_leaf // tensor // rng.choice([1, 1, 2])
    link = {"rate": rng.choice(["100Gbps", "400Gbps"]), "delay": rng.choice(["1ns", "500ns"])}
    serving = {
        "model": {"preset": "llama3_70b", "layers": rng.choice([1, 1, 2])},
        "compute": {"device": "h200"},
        "arrivals": {"rate": rng.choice([300, 1245, 4000]), "requests": rng.choice([2, 4, 8])},
        "lengths": {"input": rng.choice([200, 740]), "output": rng.choice([1, 1, 8])},
        "aggregated": {"instances": max(1, instances), "tensor": tensor, "chunk": rng.choice([61, 100])},
    }
    transport: dict[str, Any] = {rng.choice(["ndp", "go_back_n", "selective", "irn"]): {}}
    shape = {"leaves": leaves, "spines": rng.choice([1, 2]), "hosts_per_leaf": per_leaf, "link": link}
    return {
        "seed": rng.randrange(100),
        "network": {"leaf_spine": shape},
        "framing": {"payload": rng.choice(["1000B", "4050B"])},
        "workload": [{"serving": serving}],
        "host": {"transport": transport},
    }


@pytest.mark.parametrize("seed", range(40))
def test_serving_is_suspended_nowhere(seed: int) -> None:
    """A suspended component that is not repeated in the end would send into the past of other nodes."""
    _, _, performance = compared(serve(Random(seed)), {"threads": 1 + seed % 2})
    assert performance["fast_forward"]["components"] == 0
