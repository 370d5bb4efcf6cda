"""HPCC against arithmetic: its fixed point with N flows, queues that stay short, runs that do not depend on threads.

One bottleneck of rate C and N flows of rate R: an update is R = R·η/U + AI, and U is the sum of rates over C. At rest
the sum is S = η·C + N·AI, as long as no queue stands. Rates are of bytes on the wire.
"""

import json
from typing import Any

import pytest

import xoff
from xoff import _core
from xoff.running import prepare

ETA = 0.95
AI = 40e6
LINE = 100e9
# Wire format of HPCC's code: 42 B of telemetry in data and ACK.
FRAMING = {"payload": "1000B", "header": "90B", "control_frame_size": "88B"}
WIRE = 1090
PRODUCT = (12e-6 + 2 * WIRE * 8 / LINE) * LINE / 8
"""Of the line and the longest round trip in a star whose links are 3 us long: four propagations and two packets."""


def star(senders: int, delay_us: int, **more: Any) -> dict[str, Any]:
    """Long flows from each sender to host 0."""
    return {
        "network": {"star": {"hosts": senders + 1, "link": {"rate": "100Gbps", "delay": f"{delay_us}us"}}},
        "framing": FRAMING,
        "switch": {"telemetry": {}},
        "host": {"congestion_control": {"hpcc": {}}},
        "workload": [{"incast": {"senders": list(range(1, senders + 1)), "receiver": 0, "size": "1GB"}}],
        **more,
    }


def rates(scenario: dict[str, Any], from_us: int, to_us: int) -> dict[str, float]:
    """Mean rates on the wire, in bits per second, of each host that sends and of the switch's port to host 0."""
    sent = []
    for until_us in (from_us, to_us):
        result = xoff.run(scenario | {"until": f"{until_us}us"})
        assert result.ok
        sent.append({(row["node"], row["port"]): row["data_bytes"] for row in result.links.to_pylist()})
    names = {key: key[0] for key in sent[0]} | {next(key for key in sent[0] if key[0].startswith("s")): "bottleneck"}
    return {names[key]: (sent[1][key] - sent[0][key]) * 8e6 / (to_us - from_us) for key in sent[0] if sent[1][key]}


def test_a_lone_flow_keeps_the_target_and_its_step() -> None:
    """η·C + AI = 95.04 Gb/s."""
    assert rates(star(1, 3), 250, 1250)["bottleneck"] == pytest.approx(ETA * LINE + AI, rel=2e-4)


@pytest.mark.parametrize(("senders", "share"), [(2, 0.9508), (10, 0.954)])
def test_the_sum_of_rates_is_that_of_the_fixed_point(senders: int, share: float) -> None:
    """Measured over 50 round trips of 60 us, from the 70th on.

    The equation is for a fluid. In the simulation packets of several flows meet, and a waiting packet counts as
    utilisation: for N = 10 the effect is 0.1 % with a round trip of 60 us (0.9531), and 0.3 % with 12 us (0.9511).
    """
    assert share == ETA + senders * AI / LINE
    found = rates(star(senders, 15), 70 * 60, 120 * 60)
    assert found["bottleneck"] / LINE == pytest.approx(share, rel=0.003)
    assert sum(rate for name, rate in found.items() if name != "bottleneck") == pytest.approx(
        found["bottleneck"], rel=1e-3
    )


@pytest.mark.parametrize("senders", [2, 10])
def test_no_queue_stands(senders: int) -> None:
    """After the start at most a packet of each flow waits.

    The utilisation counts the queue behind a departing packet in addition to the sent bytes, and both together are the
    share of the fixed point: the queue contributes no more than its mean.
    """
    scenario = star(senders, 3, probe={"queues": "100ns"})
    found = rates(scenario, 1800, 2400)["bottleneck"] / LINE
    rows = xoff.run(scenario | {"until": "2400us"}).table("samples").to_pylist()
    waiting = [row["bytes"] for row in rows if row["time_ps"] > 1_800_000_000]
    assert max(waiting, default=0) <= senders * WIRE
    mean = sum(waiting) * 100e-9 / 600e-6
    assert found - 1e-4 <= ETA + senders * AI / LINE <= found + mean / PRODUCT


@pytest.mark.parametrize("senders", [2, 10])
def test_windows_make_the_first_queue(senders: int) -> None:
    """N flows begin at line rate with a window of a BDP of payload each: one window drains as it arrives."""
    result = xoff.run(star(senders, 3, until="200us"))
    peak = max(row["max_bytes"] for row in result.queues.to_pylist())
    # A packet with its header is 9 % more than its payload, and the first ACKs arrive while windows are sent.
    assert (senders - 1) * PRODUCT <= peak <= (senders - 1) * PRODUCT * WIRE / 1000 + senders * WIRE


def test_flows_leave_room_to_one_that_does_not_listen() -> None:
    """A host with a line of 40 Gb/s, which is also the least rate, sends 0.4·C regardless of feedback.

    The port counts the unresponsive flow as well. For one flow beside it: R = R·η/U + AI with U = (R + 0.4·C)/C.
    """
    link = {"rate": "100Gbps", "delay": "3us"}
    scenario = star(2, 3)
    scenario["network"] = {
        "explicit": {
            "nodes": [{"name": f"host{i}", "kind": "host"} for i in range(3)] + [{"name": "switch0", "kind": "switch"}],
            "links": [
                {"a": "host0", "b": "switch0", **link},
                {"a": "host1", "b": "switch0", **link},
                {"a": "host2", "b": "switch0", **link, "rate": "40Gbps"},
            ],
        }
    }
    scenario["host"] = {"congestion_control": {"hpcc": {"minimum_rate": "40Gbps"}}}
    found = rates(scenario, 840, 1440)
    assert found["host2"] == pytest.approx(40e9, rel=1e-3)
    left = ETA * LINE - 40e9
    # U is slightly above η, so that the step weighs (R + 0.4·C)/R as much.
    assert found["host1"] == pytest.approx(left + AI * (left + 40e9) / left, rel=0.003)


def spread(**more: Any) -> dict[str, Any]:
    """An incast and a permutation through leaves and spines."""
    return {
        "network": {
            "leaf_spine": {"leaves": 4, "spines": 2, "hosts_per_leaf": 3, "link": {"rate": "100Gbps", "delay": "500ns"}}
        },
        "framing": FRAMING,
        "switch": {"telemetry": {}},
        "host": {"congestion_control": {"hpcc": {}}},
        "workload": [
            {"incast": {"senders": [3, 4, 6, 9], "receiver": 0, "size": "300KB"}},
            {"permutation": {"size": "200KB"}},
        ],
        **more,
    }


@pytest.mark.parametrize(
    "switch",
    [{}, {"buffer": {"per_port": "60KB"}}, {"routing": {"spray": {}}}],
    ids=["unlimited", "small-buffer", "sprayed"],
)
def test_telemetry_between_partitions_changes_nothing(switch: dict[str, Any]) -> None:
    """Side records travel with packets from thread to thread, and vanish with dropped packets."""
    scenario = spread(
        switch={"telemetry": {}, **switch}, host={"transport": {"irn": {}}, "congestion_control": {"hpcc": {}}}
    )
    result = xoff.run(scenario)
    assert set(result.audits.values()) == {"ok"}
    assert result.summary["flows"]["completed"] == result.summary["flows"]["total"] == 16
    assert (result.summary["drops"] > 0) == ("buffer" in switch)
    prepared = prepare(scenario)
    plans: list[dict[str, Any]] = [
        {"threads": 1},
        {"threads": 2},
        {"threads": 3},
        {"threads": 1, "partitions": 4},
        {"threads": 2, "partitions": 7},
        {"threads": 2, "partitions": 18, "clusters": False},
    ]
    for plan in plans:
        output = _core.run(prepared.resolved, prepared.tables, **plan)
        assert json.loads(output.summary)["fingerprint"] == result.fingerprint, plan


@pytest.mark.parametrize("transport", ["go_back_n", "irn"])
def test_losses_cost_no_byte_of_the_account(transport: str) -> None:
    """A buffer that the first window overflows: all is sent again, and windows open again after the loss."""
    host: dict[str, Any] = {"transport": {transport: {}}, "congestion_control": {"hpcc": {}}}
    result = xoff.run(spread(switch={"telemetry": {}, "buffer": {"per_port": "20KB"}}, host=host))
    assert result.audits["conservation"] == result.audits["completion"] == "ok"
    assert result.summary["drops"] > 0
    assert result.summary["retransmitted"] >= result.summary["drops"]
