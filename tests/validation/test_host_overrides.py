"""Hosts that differ (`host.overrides`): both ends of a flow use the source's settings."""

import json
from random import Random
from typing import Any

import pytest
from tests.validation.test_faults import FRAME_PS, WAY_PS, star

import xoff
from xoff.conformance.drawing import draw_scenario
from xoff.conformance.runs import WAYS, same_however_it_runs

Stack = dict[str, Any]

DCQCN: Stack = {"transport": {"go_back_n": {"rto": "100us"}}, "congestion_control": {"dcqcn": {}}}
DCTCP: Stack = {"transport": {"selective": {"rto": "50us"}}, "congestion_control": {"dctcp": {}}}
IRN: Stack = {
    "transport": {"irn": {"bdp_cap": "30KB", "rto_low": "20us", "rto_high": "80us"}},
    "congestion_control": {},
}
HPCC: Stack = {"transport": {"go_back_n": {"rto": "70us"}}, "congestion_control": {"hpcc": {}}}
SWIFT: Stack = {"transport": {"selective": {}}, "congestion_control": {"swift": {}}}
QCN: Stack = {"transport": {"irn": {"bdp_cap": "60KB"}}, "congestion_control": {"qcn": {"increase_interval": "9us"}}}


def pairs(base: Stack, other: Stack | None = None) -> dict[str, Any]:
    """Two hosts send to one by a switch that marks and drops; two hosts at another switch may have other settings."""
    hosts = [{"name": f"host{n}", "kind": "host"} for n in range(6)]
    switches = [{"name": f"switch{n}", "kind": "switch"} for n in range(2)]
    links = [{"a": f"host{n}", "b": f"switch{n // 3}", "rate": "100Gbps", "delay": "1us"} for n in range(6)]
    links.append({"a": "switch0", "b": "switch1", "rate": "100Gbps", "delay": "1us"})
    flows = [{"src": 3 * n + source, "dst": 3 * n + 2, "size": "1MB"} for n in range(2) for source in range(2)]
    overrides = [{"hosts": ["host3", "host4"], **other}] if other else []
    return {
        "network": {"explicit": {"nodes": hosts + switches, "links": links}},
        "switch": {
            "buffer": {"per_port": "60KB"},
            "ecn": {"red": {"kmin": "10KB", "kmax": "40KB", "pmax": 0.5}},
            "telemetry": {},
            "flow_control": {"qcn": {"sample_base": "10KB"}},
        },
        "host": {**base, "overrides": overrides},
        "workload": [{"flows": flows}],
    }


def ends(result: xoff.Result) -> list[tuple[int, int]]:
    return [(row["fct_ps"], row["retransmitted"]) for row in result.flows.sort_by("flow").to_pylist()]


STACKS = {"dcqcn": DCQCN, "dctcp": DCTCP, "irn": IRN, "hpcc": HPCC, "swift": SWIFT, "qcn": QCN}


@pytest.mark.parametrize("other", STACKS)
@pytest.mark.parametrize("base", STACKS)
def test_flows_are_as_their_sources_have_them(base: str, other: str) -> None:
    """Flows without a shared link behave as if all hosts had the source's settings, under marks and losses."""
    mixed = xoff.run(pairs(STACKS[base], STACKS[other]))
    assert set(mixed.audits.values()) == {"ok"}
    first, second = ends(xoff.run(pairs(STACKS[base]))), ends(xoff.run(pairs(STACKS[other])))
    assert ends(mixed) == first[:2] + second[2:]
    assert base == other or first != second


@pytest.mark.parametrize("name", STACKS)
def test_what_says_what_holds_anyway_changes_nothing(name: str) -> None:
    plain, said = xoff.run(pairs(STACKS[name])), xoff.run(pairs(STACKS[name], STACKS[name]))
    assert said.fingerprint == plain.fingerprint
    assert said.tables == plain.tables
    assert all(said.table(table).equals(plain.table(table)) for table in plain.tables)
    timeless = [{k: v for k, v in one.summary.items() if k != "performance"} for one in (plain, said)]
    assert timeless[0] == timeless[1]


CONTROL_OF: dict[str, Stack] = {
    name: {"congestion_control": stack["congestion_control"]}
    for name, stack in STACKS.items()
    if stack["congestion_control"]
}


def by_class(base: Stack, of_class: Stack | None = None) -> dict[str, Any]:
    """Two hosts send flows of class 0 to one, and two others flows of class 1; flows of class 1 may have a control."""
    scenario = pairs({"transport": {"selective": {"rto": "50us"}}, **base})
    flows = scenario["workload"][0]["flows"]
    scenario["workload"] = [{"flows": flows[:2], "class": 0}, {"flows": flows[2:], "class": 1}]
    scenario["switch"]["classes"] = 2
    if of_class is not None:
        scenario["host"]["overrides"] = [{"hosts": ["*"], "classes": [1], **of_class}]
    return scenario


@pytest.mark.parametrize("other", CONTROL_OF)
@pytest.mark.parametrize("base", CONTROL_OF)
def test_flows_of_a_class_have_its_congestion_control(base: str, other: str) -> None:
    """Flows without a shared link behave as if all flows had the congestion control of the class."""
    mixed = xoff.run(by_class(CONTROL_OF[base], CONTROL_OF[other]))
    assert set(mixed.audits.values()) == {"ok"}
    first, second = ends(xoff.run(by_class(CONTROL_OF[base]))), ends(xoff.run(by_class(CONTROL_OF[other])))
    assert ends(mixed) == first[:2] + second[2:]
    assert base == other or first != second
    settled = {row["key"] for row in xoff.check(by_class(CONTROL_OF[base], CONTROL_OF[other]))["settled"]}
    assert all(key.startswith(("host.transport", "host.congestion_control", "host.overrides[0]")) for key in settled)


def test_two_classes_of_a_host_share_a_port() -> None:
    """Four flows of a host into one: DCQCN's class hears of marks by packets, and DCTCP's by acknowledgements."""
    scenario = star(
        1, [], switch={"classes": 2, "ecn": {"red": {"kmin": "20KB", "kmax": "80KB"}}, "buffer": {"per_port": "500KB"}}
    )
    scenario["host"] = {**DCQCN, "overrides": [{"hosts": ["*"], "classes": [1], **CONTROL_OF["dctcp"]}]}
    flows = [{"src": n % 2, "dst": 2, "size": "1MB"} for n in range(4)]
    scenario["workload"] = [{"flows": flows, "class": 0}, {"flows": flows, "class": 1}]
    result = xoff.run(scenario, threads=2)
    assert set(result.audits.values()) == {"ok"}
    assert result.fingerprint == xoff.run(scenario).fingerprint
    told = [row["notifications"] for row in result.flows.sort_by("flow").to_pylist()]
    assert min(told[:4]) > 0
    # A later override of the class replaces an earlier one; an override without classes leaves classes alone.
    scenario["host"]["overrides"] = [
        {"hosts": ["*"], "classes": [1], "congestion_control": {"swift": {}}},
        *scenario["host"]["overrides"],
        {"hosts": ["*"], "congestion_control": {"dcqcn": {}}},
    ]
    assert xoff.run(scenario).fingerprint == result.fingerprint


def test_each_host_times_out_after_its_own_time() -> None:
    """All ten packets of both flows are lost, and go again with the first timeout of their source after the outage."""
    outage = {"link": "switch0-host2", "state": "down", "at": "0s", "duration": "50us"}
    host = {
        "transport": {"go_back_n": {"rto": "20us"}},
        "overrides": [{"hosts": ["host1"], "transport": {"go_back_n": {"rto": "300us"}}}],
    }
    scenario = star(10, [outage], host=host)
    scenario["workload"] = [
        {"flows": [{"src": n, "dst": 2, "size": "9520B", "start": f"{n * 20}us"} for n in range(2)]}
    ]
    first, second = ends(xoff.run(scenario))
    assert first[0] == 3 * (20_000_000 + 9 * FRAME_PS) + 9 * FRAME_PS + WAY_PS
    assert second == (300_000_000 + 2 * 9 * FRAME_PS + WAY_PS, 10)


def test_dcqcn_and_dctcp_share_a_port() -> None:
    """Two flows of each into one host: all end, none is lost or counted twice, and both controls were told of marks."""
    scenario = star(
        1, [], switch={"ecn": {"red": {"kmin": "20KB", "kmax": "80KB"}}, "flow_control": {"pfc": {"xoff": "200KB"}}}
    )
    scenario["network"]["star"]["hosts"] = 5
    scenario["host"] = {**DCQCN, "overrides": [{"hosts": ["host2", "host3"], **DCTCP}]}
    scenario["workload"] = [{"incast": {"senders": [0, 1, 2, 3], "receiver": 4, "size": "2MB"}}]
    result = xoff.run(scenario)
    assert set(result.audits.values()) == {"ok"}
    assert result.summary["dcqcn"]["notifications"] > 0
    # 8 MB with headers take 671 us at 100 Gb/s.
    assert 8_000 * 1000 * 80 / 952 * 1000 < max(fct for fct, _ in ends(result)) < 1_500_000_000
    settled = {row["key"] for row in xoff.check(scenario)["settled"]}
    assert any(key.startswith("host.overrides[0].congestion_control.dctcp.") for key in settled)
    assert any(key.startswith("host.congestion_control.dcqcn.") for key in settled)


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("host.overrides[0].hosts[0]", {"hosts": ["switch0"], "transport": {"irn": {}}}),
        ("host.overrides[0].hosts", {"hosts": [], "transport": {"irn": {}}}),
        ("host.overrides[0]", {"hosts": ["host1"]}),
        ("host.overrides[0].classes", {"hosts": ["*"], "classes": [1], "congestion_control": {"swift": {}}}),
        ("host.overrides[0].classes", {"hosts": ["*"], "classes": [0], "congestion_control": {"rccc": {}}}),
        ("host.overrides[0].transport", {"hosts": ["*"], "classes": [0], "transport": {"irn": {}}}),
        (
            "host.overrides[0].congestion_control.swift.target",
            {"hosts": ["*"], "classes": [0], "congestion_control": {"swift": {"target": "0s"}}},
        ),
        ("host.overrides[0].transport", {"hosts": ["host1"], "transport": {"raw": {}}}),
        ("host.overrides[0].transport", {"hosts": ["host1"], "transport": {"irn": {}, "selective": {}}}),
        ("host.overrides[0].transport", {"hosts": ["host1"], "transport": {"ndp": {}}}),
        ("host.overrides[0].congestion_control", {"hosts": ["host1"], "congestion_control": {"rccc": {}}}),
        ("host.overrides[0].congestion_control", {"hosts": ["host1"], "congestion_control": {"dctcp": {}, "hpcc": {}}}),
        (
            "host.overrides[0].congestion_control.dctcp",
            {"hosts": ["host1"], "congestion_control": {"dctcp": {"gain": 7}}},
        ),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_key(path: str, change: dict[str, Any]) -> None:
    with pytest.raises(xoff.InputError) as caught:
        xoff.check(star(1, [], host={"overrides": [change]}))
    assert path in str(caught.value)


TRANSPORTS = ["go_back_n", "irn", "selective"]
CONTROLS = ["dcqcn", "dctcp", "swift", "timely", "nscc", "hpcc", "hpcc_pint", "bcn", "qcn"]


def drawn(rng: Random) -> dict[str, Any]:
    forced = {"host.transport": rng.choice(TRANSPORTS), "host.congestion_control": rng.choice(CONTROLS)}
    return draw_scenario(rng, {"workload": "incast", **forced})


def with_another_stack(seed: int) -> dict[str, Any]:
    """A random scenario, and hosts with the transport and the control of another scenario that fit each other."""
    rng = Random(seed)
    while True:
        scenario, host = drawn(rng), drawn(rng)["host"]
        stack = {key: host[key] for key in ("transport", "congestion_control")}
        scenario["host"]["overrides"] = [{"hosts": ["*0"], **stack}]
        try:
            xoff.check(scenario)
        except xoff.InputError:
            continue
        return scenario


@pytest.mark.parametrize("seed", range(40))
def test_whatever_differs_the_audits_hold_and_threads_change_nothing(seed: int) -> None:
    scenario = with_another_stack(seed)
    try:
        result = xoff.run(scenario)
    except xoff.AuditError as error:
        error.add_note(json.dumps(scenario))
        raise
    same_however_it_runs(scenario, result, WAYS[seed % 6 :][:2])
