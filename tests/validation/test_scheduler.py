"""Classes share an output by `switch.scheduler.queues`: strict classes first, then the other classes by weight."""

from typing import Any

import pytest

import xoff

FRAME_BYTES = 1000
DWRR, STRICT = "dwrr", "strict"


def loaded(scheduler: Any, classes: int, queueing: str = "oq", **settings: Any) -> dict[str, Any]:
    """Loads one output with a host for each class, at the line rate of the output, for 400 us."""
    return {
        "network": {"star": {"hosts": 1 + classes, "link": {"rate": "100Gbps", "delay": "1us"}}},
        "framing": {"payload": "952B", "header": "48B"},
        "switch": {"queueing": queueing, "classes": classes, "scheduler": scheduler},
        "workload": [
            {"class": n, "flows": [{"src": 1 + n, "dst": 0, "size": "1GB"} | settings.get(f"flow{n}", {})]}
            for n in range(classes)
        ],
        "until": "400us",
    }


def sent(scenario: dict[str, Any]) -> list[int]:
    """Bytes of each class that left the loaded output."""
    by_class = [0] * scenario["switch"]["classes"]
    for row in xoff.run(scenario).queues.to_pylist():
        if row["node"] == "switch0" and row["port"] == 0:
            by_class[row["class"]] += row["bytes"]
    return by_class


def entries(*queues: tuple[str, int | None]) -> dict[str, Any]:
    made = [{"type": kind} | ({} if weight is None else {"weight": weight}) for kind, weight in queues]
    return {"queues": made}


@pytest.mark.parametrize("queueing", ["oq", "voq"])
def test_weights_of_sonic_share_by_29ths(queueing: str) -> None:
    first, second = sent(loaded(entries((DWRR, 14), (DWRR, 15)), 2, queueing))
    total = first + second
    assert total > 4_900_000
    # Shares differ by a frame each round of 29 frames, and by the last, partial round.
    rounds = total / (29 * FRAME_BYTES)
    assert abs(first - total * 14 / 29) <= FRAME_BYTES * (rounds + 29)
    assert first / total == pytest.approx(14 / 29, abs=0.002)
    assert second / total == pytest.approx(15 / 29, abs=0.002)


def test_a_class_without_an_entry_has_weight_1() -> None:
    shares = sent(loaded(entries((DWRR, 3)), 3))
    assert [share / sum(shares) for share in shares] == pytest.approx([3 / 5, 1 / 5, 1 / 5], abs=0.005)
    assert sent(loaded(entries((DWRR, 3), (DWRR, None), (DWRR, 1)), 3)) == shares


def test_small_frames_share_by_bytes() -> None:
    scenario = loaded(entries((DWRR, 1), (DWRR, 1)), 2)
    # Flows of one packet of 100 B each, in class 1.
    flows = [{"src": 2, "dst": 0, "size": "52B"}] * 40_000
    scenario["workload"][1] = {"class": 1, "flows": flows}
    scenario["until"] = "200us"
    first, second = sent(scenario)
    assert first == pytest.approx(second, abs=30 * FRAME_BYTES)


def test_a_strict_class_goes_before_all_weights() -> None:
    # The strict class is the lowest, and takes what it wants: 40 of 100 Gb/s.
    scenario = loaded(entries((STRICT, None), (DWRR, 1), (DWRR, 2)), 3)
    scenario["network"]["star"].pop("link")
    link = {"rate": "100Gbps", "delay": "1us"}
    scenario["network"] = {
        "explicit": {
            "nodes": [*({"name": f"host{i}", "kind": "host"} for i in range(4)), {"name": "switch0", "kind": "switch"}],
            "links": [
                {"a": f"host{i}", "b": "switch0"} | link | ({"rate": "40Gbps"} if i == 1 else {}) for i in range(4)
            ],
        }
    }
    strict, first, second = sent(scenario)
    total = strict + first + second
    assert total > 4_900_000
    assert [part / total for part in (strict, first, second)] == pytest.approx([0.4, 0.2, 0.4], abs=0.005)


def test_of_two_strict_classes_the_higher_goes_first() -> None:
    lower, rest, higher = sent(loaded(entries((STRICT, None), (DWRR, 100), (STRICT, None)), 3))
    assert higher > 4_900_000
    assert lower + rest == 0


@pytest.mark.parametrize(("weight", "strict"), [(2, 0), (1, 1)])
def test_equal_weights_share_as_drr(weight: int, strict: int) -> None:
    drr = loaded({"drr": f"{weight * FRAME_BYTES}B"}, 3)
    drr["switch"]["strict_priority_classes"] = strict
    kinds = [(DWRR, weight)] * (3 - strict) + [(STRICT, None)] * strict
    assert sent(loaded(entries(*kinds), 3)) == pytest.approx(sent(drr), abs=2 * weight * FRAME_BYTES)


def test_strict_classes_alone_are_strict_priority() -> None:
    expected = xoff.run(loaded("strict", 3) | {"until": "50us"})
    queues = xoff.run(loaded(entries(*[(STRICT, None)] * 3), 3) | {"until": "50us"})
    assert queues.fingerprint == expected.fingerprint
