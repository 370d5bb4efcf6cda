"""KV traffic beside decode on one link: what schedulings of classes cost, against the closed form.

A decode rank repeats a layer: 31 senders send D bytes in one burst, and the rank computes for c. A KV cache of K bytes
from another host to the same rank costs decode (K / R) q / (c R + q), where q is the number of KV bytes that a
layer has to let go first (docs/experiments/serving.md).
"""

from __future__ import annotations

from typing import Any

import pytest

import xoff

SENDERS, LAYERS = 31, 18
D, K = 256_000, 3_000_000
COMPUTE_US = 20
RATE = 12_500 * 1000 / 1048
"""R: payload bytes per microsecond of a link of 100 Gb/s."""
FREE = (COMPUTE_US + 0.67) * RATE
"""c R, with the delays of a layer: two links each way, the first packet, and 31 messages of the decode rank."""
HEADROOM = 2 * 1250 + 3 * 1048 + 64
"""Bytes that may arrive above XOFF."""


def scenario(switch: dict[str, Any], kv: int | None, experts: int, size: int = K) -> dict[str, Any]:
    """Decode, and a KV cache in the class `kv` that begins in the burst of the third layer."""
    operations: list[dict[str, Any]] = []
    for layer in range(LAYERS):
        after = {"after": [f"next{layer - 1}"]} if layer else {}
        parts = [f"part{layer}-{rank}" for rank in range(SENDERS)]
        for rank in range(SENDERS):
            operations += [
                {"rank": rank, "kind": "send", "peer": SENDERS, "size": f"{D // SENDERS}B", **after},
                {"rank": rank, "kind": "recv", "peer": SENDERS, "name": f"next{layer}"},
                {"rank": SENDERS, "kind": "recv", "peer": rank, "name": parts[rank]},
            ]
        compute = {"kind": "compute", "duration": f"{COMPUTE_US}us", "name": f"layer{layer}", "after": parts}
        operations.append({"rank": SENDERS, **compute})
        operations += [
            {"rank": SENDERS, "kind": "send", "peer": rank, "size": "1B", "after": [f"layer{layer}"]}
            for rank in range(SENDERS)
        ]
    flows = [{"src": SENDERS + 1, "dst": SENDERS, "size": f"{size}B"}]
    graph = {"ranks": SENDERS + 1, "hosts": list(range(SENDERS + 1)), "operations": operations}
    return {
        "network": {"star": {"hosts": SENDERS + 2, "link": {"rate": "100Gbps", "delay": "100ns"}}},
        "framing": {"payload": "1000B", "header": "48B"},
        "switch": {"flow_control": {"pfc": {}}, **switch},
        "workload": [
            {"name": "decode", "class": experts, "graph": graph},
            *([] if kv is None else [{"name": "kv", "class": kv, "start": "100us", "flows": flows}]),
        ],
    }


def cost(switch: dict[str, Any], kv: int, experts: int, size: int = K) -> float:
    """The end of decode with the KV cache, less the end without, in microseconds."""
    ends = []
    for one in (None, kv):
        time_ps = xoff.run(scenario(switch, one, experts, size)).summary["workloads"]["decode"]["job"]["iteration_ps"]
        assert time_ps is not None
        ends.append(time_ps / 1e6)
    return ends[1] - ends[0]


def formula(waits: float, size: int = K) -> float:
    """The closed form for q bytes."""
    return size / RATE * waits / (FREE + waits)


def turns(kv: int, experts: int) -> dict[str, Any]:
    return {"classes": 2, "scheduler": {"queues": [{"type": "dwrr", "weight": one} for one in (kv, experts)]}}


def pfc(xoff_kb: int) -> dict[str, Any]:
    return {"flow_control": {"pfc": {"xoff": f"{xoff_kb}KB"}}}


def test_the_class_of_experts_goes_first() -> None:
    # Less than a frame in each of the 12 layers beside the KV cache.
    assert 0 <= cost({"classes": 2}, kv=0, experts=1) <= 13 * 0.084


def test_the_class_of_kv_goes_first() -> None:
    assert cost({"classes": 2}, kv=1, experts=0) == pytest.approx(K / RATE, rel=0.03)


# The closed form is a mean over layers. With weights 4 and 1 a KV cache of 3 MB lasts 2.4 layers, of 12 MB 9.5 layers.
@pytest.mark.parametrize(("weights", "size"), [((1, 1), K), ((1, 4), K), ((4, 1), 4 * K)])
def test_two_classes_share_by_weight(weights: tuple[int, int], size: int) -> None:
    found = cost(turns(*weights), kv=0, experts=1, size=size)
    assert found == pytest.approx(formula(D * weights[0] / weights[1], size), rel=0.03)


def test_round_robin_and_drr_take_equal_turns() -> None:
    for scheduler in ("round_robin", {"drr": "1048B"}):
        found = cost({"classes": 2, "scheduler": scheduler}, kv=0, experts=1)
        assert found == pytest.approx(formula(D), rel=0.03)


@pytest.mark.parametrize("xoff_kb", [10, 20, 40, 80, 160, 320])
def test_one_class_waits_for_what_pfc_lets_in(xoff_kb: int) -> None:
    found = cost(pfc(xoff_kb), kv=0, experts=0)
    assert found == pytest.approx(formula(min(D, 1000 * xoff_kb + HEADROOM)), rel=0.15)
    # The headroom matters below 40 KB alone.
    if xoff_kb >= 40:
        assert found == pytest.approx(formula(min(D, 1000 * xoff_kb)), rel=0.15)


def test_equal_turns_cost_more_than_one_class_with_a_small_threshold() -> None:
    equal = cost(turns(1, 1), kv=0, experts=1)
    assert [cost(pfc(xoff_kb), kv=0, experts=0) < equal / times for xoff_kb, times in ((20, 5), (160, 1.4))] == [
        True,
        True,
    ]
