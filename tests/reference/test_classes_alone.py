"""Classes of the slow reference simulator against closed forms, without xoff."""

from typing import Any

import pytest
from reference.simulator import simulate
from tests.reference.stars import WIRE_BYTES, departures, flow, star

PACKETS = 600


def loaded(scheduler: Any, classes: int, **switch: Any) -> dict[str, Any]:
    """A host for each class, at the rate of the one output."""
    scenario = star(classes + 1, [], classes=classes, scheduler=scheduler, **switch)
    scenario["workload"] = [{"class": n, "flows": [flow(1 + n, 0, PACKETS)]} for n in range(classes)]
    return scenario | {"until": "40us"}


def shares(scenario: dict[str, Any]) -> list[float]:
    """The share of each class in the packets that left the switch."""
    trace = simulate(scenario).trace
    counts = [len(departures(trace, "s", "data", n)) for n in range(scenario["switch"]["classes"])]
    return [count / sum(counts) for count in counts]


@pytest.mark.parametrize("weights", [(1, 1), (14, 15), (3, 1, 2)])
def test_weights_share_the_output(weights: tuple[int, ...]) -> None:
    scheduler = {"queues": [{"type": "dwrr", "weight": weight} for weight in weights]}
    expected = [weight / sum(weights) for weight in weights]
    assert shares(loaded(scheduler, len(weights))) == pytest.approx(expected, abs=sum(weights) / 350)


def test_a_strict_class_goes_first_and_a_class_without_an_entry_has_weight_1() -> None:
    assert shares(loaded({"queues": [{"type": "dwrr"}, {"type": "strict"}]}, 2))[1] > 0.99
    assert shares(loaded("strict", 3))[2] > 0.99
    assert shares(loaded({"queues": [{"type": "dwrr", "weight": 3}]}, 2)) == pytest.approx([3 / 4, 1 / 4], abs=0.02)


def test_a_class_without_pfc_loses_and_the_other_pauses() -> None:
    pfc = {"xoff": f"{10 * WIRE_BYTES}B", "xon": f"{8 * WIRE_BYTES}B", "classes": [1]}
    buffer = {"per_port": f"{100 * WIRE_BYTES}B"}
    scenario = loaded({"queues": [{"type": "dwrr"}]}, 2, buffer=buffer, flow_control={"pfc": pfc})
    result = simulate(scenario)
    assert {drop.flow for drop in result.drops} == {0}
    assert {row.node for row in result.trace if (row.kind, row.event) == ("pfc", "arrive")} == {"host2"}
    # The class without PFC fills its share, a half. The other class fills a round trip above XOFF at most.
    assert result.ingress_peak_bytes["s", 1, 0] == 50 * WIRE_BYTES
    assert 10 * WIRE_BYTES <= result.ingress_peak_bytes["s", 2, 1] <= 40 * WIRE_BYTES
