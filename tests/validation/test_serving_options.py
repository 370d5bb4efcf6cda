"""Options of serving: popular experts, micro-batches, measured computing times, and KV caches over all NICs."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import pytest
from tests.validation.test_serving import CONTROL_PS, DELAY_PS, llama, on_star, request_of, transfer

import xoff

MIXTRAL = {"preset": "mixtral_8x7b", "layers": 3}


def constant(us: dict[str, int]) -> dict[str, Any]:
    """Computing times that do not depend on tokens."""
    rows = [{"part": part, "tokens": 1 << 16, "context_tokens": 0, "time": f"{time}us"} for part, time in us.items()]
    attention = {"part": "attention", "tokens": 1 << 16, "context_tokens": 1 << 24, "time": f"{us['attention']}us"}
    return {"times": [*rows, attention]}


def experts(**more: Any) -> dict[str, Any]:
    """Eight ranks with a prompt of 512 tokens each, for 8 or 64 experts."""
    return {
        "model": MIXTRAL,
        "compute": {"device": "h100"},
        "requests": [{"arrival": "0s", "input_tokens": 512, "output_tokens": 1} for _ in range(8)],
        "aggregated": {"data": 8, "expert": 8, "max_tokens": 512},
        **more,
    }


def dispatched(result: xoff.Result, step: int) -> dict[tuple[int, int, int], int]:
    """The bytes of dispatches of a step, by layer, sender and receiver."""
    rows = [row for row in result.table("messages").to_pylist() if row["label"] == "EP_dispatch"]
    numbers = sorted({row["operation"] for row in rows})[3 * step : 3 * step + 3]
    return {
        (numbers.index(row["operation"]), row["rank"], row["to_rank"]): row["size_bytes"]
        for row in rows
        if row["operation"] in numbers
    }


def loads(skew: float, redundant: int = 0) -> tuple[xoff.Result, list[list[float]]]:
    """Returns the result, and for each layer the copies of a token at each rank."""
    model = {**MIXTRAL, "experts": 64, "top_k": 4}
    chosen = {"skew": skew, "redundant": redundant}
    result = xoff.run(on_star(experts(model=model, experts=chosen), hosts=8, probe={"delays": "all"}))
    # The second step has the tokens of seven ranks.
    sizes = dispatched(result, 1)
    copies = [[0.0] * 8 for _ in range(3)]
    for (layer, sender, receiver), size in sizes.items():
        if size > 8:
            assert sender != 0
            copies[layer][receiver] = size / (512 * 8192)
    return result, copies


def test_popular_experts_get_more_tokens() -> None:
    """A token has four experts. With Zipf's law the busiest rank gets more than with equal experts, in each layer."""
    _, even = loads(0.0)
    result, copies = loads(1.0)
    for layer in range(3):
        assert even[layer] == pytest.approx([0.5] * 8, rel=1e-4)
        assert sum(copies[layer]) == pytest.approx(4.0, rel=1e-4)
        assert max(copies[layer]) > 0.7
    # Each layer draws an order of its own.
    assert len({tuple(round(copy, 3) for copy in layer) for layer in copies}) == 3
    # Results go back from each rank for the tokens that came.
    combined: dict[tuple[int, int], int] = defaultdict(int)
    there: dict[tuple[int, int], int] = defaultdict(int)
    for row in result.table("messages").to_pylist():
        if row["label"] == "EP_combine":
            combined[row["operation"], row["rank"]] += row["size_bytes"]
        elif row["label"] == "EP_dispatch":
            there[row["operation"], row["to_rank"]] += row["size_bytes"]
    assert combined == there


def test_redundant_experts_even_out_popular_experts() -> None:
    _, copies = loads(1.0)
    _, evened = loads(1.0, redundant=16)
    for layer in range(3):
        assert sum(evened[layer]) == pytest.approx(4.0, rel=1e-4)
        assert max(evened[layer]) < 0.54 < max(copies[layer])


def test_equal_experts_with_a_drawn_order_are_those_of_the_closed_form() -> None:
    """A skew that is next to nothing changes no byte of the closed form."""
    for copies in ("expert", "rank"):
        usual = xoff.run(on_star(experts(experts={"copies": copies}), hosts=8))
        drawn = xoff.run(on_star(experts(experts={"copies": copies, "skew": 1e-9}), hosts=8))
        assert drawn.requests.to_pylist() == usual.requests.to_pylist()


def alternating(lanes: int, layers: int, us: dict[str, int], message: int) -> int:
    """The time of a step: micro-batches compute in the order in which they could, and communicate meanwhile."""
    parts = [("attention", 0), ("experts", message)] * layers + [("head", message)]
    ready, place, free = [0] * lanes, [0] * lanes, 0
    while any(place[lane] < len(parts) for lane in range(lanes)):
        open_lanes = [lane for lane in range(lanes) if place[lane] < len(parts)]
        lane = min(open_lanes, key=lambda lane: ready[lane])
        kind, _ = parts[place[lane]]
        free = max(free, ready[lane]) + us[kind] * 1_000_000
        place[lane] += 1
        # A dispatch follows attention, and a combine follows the experts.
        ready[lane] = free + (message if kind != "head" else 0)
    return free


@pytest.mark.parametrize("overhead", [5, 60])
@pytest.mark.parametrize("lanes", [1, 2, 3])
def test_micro_batches_take_turns(lanes: int, overhead: int) -> None:
    """A layer of two micro-batches takes max(2 c, c + m) for a computing time c and messages m."""
    us = {"attention": 20, "experts": 30, "head": 10}
    serving = {
        "model": MIXTRAL,
        "compute": constant(us),
        "requests": [{"arrival": "20ms", "input_tokens": 100, "output_tokens": 1000}],
        "prefill": {},
        "decode": {"data": 2, "expert": 2, "warm": 6, "microbatches": lanes},
        "experts": {"overhead": f"{overhead}us"},
        "router": {"policy": "least_loaded"},
    }
    result = xoff.run(on_star(serving, hosts=4, until="15ms"))
    rows = [row for row in result.steps.to_pylist() if row["step"] == 0]
    assert [row["tokens"] for row in rows] == [6, 6]
    # One of two experts of each token is at the other rank; acknowledgements take turns with data.
    size = 6 // lanes * 8192
    message = overhead * 1_000_000 + transfer(size) + math.ceil(size / 4000) * 1280
    for row in rows:
        lasts = row["end_ps"] - row["start_ps"]
        assert lasts == pytest.approx(alternating(lanes, 3, us, message), rel=2e-3)
        assert row["compute_ps"] == lanes * (3 * 50 + 10) * 1_000_000
        assert row["compute_ps"] + row["exposed_ps"] + row["bubble_ps"] == lasts
    if lanes == 2:
        computes, messages = 50_000_000, 2 * message
        period = max(2 * computes, computes + messages)
        assert lasts == pytest.approx(3 * period, abs=computes + message)


def test_measured_times_win_over_the_roofline() -> None:
    """A prompt of 256 tokens lies between the rows of 0 and 512 tokens."""
    times = [
        {
            "part": "attention",
            "tokens": tokens,
            "context_tokens": context,
            "time": f"{10 + tokens // 8 + context // 64}us",
        }
        for tokens in (0, 512, 8192)
        for context in (0, 1 << 22)
    ]
    serving = llama(4, requests=[{"arrival": "0s", "input_tokens": 256, "output_tokens": 1}])
    usual = request_of(on_star(serving))
    row = request_of(on_star({**serving, "compute": {"device": "h100", "times": times}}))
    attention = 10_000_000 + 256 * 1_000_000 // 8 + 256 * 1_000_000 // 64
    network = 3 * 8192 * 28672 * 2 / 3.35e12 * 1e12
    head = 8192 * 128256 * 2 / 3.35e12 * 1e12
    assert row["prefill_compute_ps"] == pytest.approx(4 * (attention + network) + head, rel=1e-6)
    assert usual["prefill_compute_ps"] != row["prefill_compute_ps"]


def test_measured_times_from_a_table(tmp_path: Any) -> None:
    table = tmp_path / "times.csv"
    table.write_text(
        "part,tokens,context_tokens,time\nattention,9000,4000000,30us\nnetwork,9000,,50us\nhead,300,,7us\n"
    )
    serving = llama(4, requests=[{"arrival": "0s", "input_tokens": 256, "output_tokens": 1}])
    row = request_of(on_star({**serving, "compute": {"times_table": str(table)}}))
    assert row["prefill_compute_ps"] == (4 * 80 + 7) * 1_000_000


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([{"part": "head", "tokens": 1, "time": "1us"}], "attention has no rows; add rows, or give a device"),
        (
            constant({"attention": 1, "network": 1, "head": 1})["times"][1:],
            "attention: the last row has",
        ),
        ([{"part": "head", "tokens": 1, "context_tokens": 2, "time": "1us"}], "head has no context_tokens"),
        ([{"part": "head", "tokens": 1, "time": "1us"}] * 2, "row 1: is listed twice"),
    ],
)
def test_mistakes_in_measured_times_are_named(times: list[dict[str, Any]], message: str) -> None:
    compute: dict[str, Any] = {"times": times}
    if "last row" in message:
        compute = {"device": "h100", "times": [{**times[0], "part": "attention", "tokens": 64}]}
    with pytest.raises(xoff.InputError) as caught:
        xoff.run(on_star(llama(1, compute=compute)))
    assert "workload[0].serving.compute.times" in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"experts": {"skew": 11}}, "11 is out of range; allowed are 0 to 10"),
        ({"experts": {"redundant": 3}}, "11 experts with the redundant experts cannot be divided evenly"),
        ({"experts": {"redundant": 64}}, "64 is above 56: an expert has at most a copy at each rank"),
        ({"aggregated": {"data": 8, "microbatches": 5}}, "5 is out of range; allowed are 1 to 4"),
        ({"aggregated": {"data": 8}, "experts": {"redundant": 8}}, "no pool spreads experts; set expert of a pool"),
        ({"model": {"preset": "llama3_70b"}, "aggregated": {}, "experts": {"skew": 1}}, "the model has no experts"),
        ({"kv": {"nics": "server"}}, "`server` needs servers of GPUs; set network.servers"),
    ],
)
def test_a_mistake_in_an_option_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(xoff.InputError) as caught:
        xoff.run(on_star(experts(**change)))
    assert message in str(caught.value)


def test_a_kv_cache_takes_all_nics_of_a_server() -> None:
    """A KV cache of one rank in eight parts: over NVLink to eight GPUs, over eight NICs, and over NVLink to a rank."""
    layers, tokens, nvlink = 8, 4096, 3200
    serving = llama(layers, prefill={"data": 8}, decode={"data": 8}, kv={"nics": "server"})
    servers = {"servers": {"gpus": 8, "nvlink": {"rate": f"{nvlink}Gbps"}}}
    result = xoff.run(on_star(serving, hosts=16, network=servers))
    (row,) = result.requests.to_pylist()
    own = request_of(on_star({**serving, "kv": {"nics": "own"}}, hosts=16, network=servers))
    size = tokens * layers * 2 * 8 * 128 * 2
    assert row["kv_bytes"] == own["kv_bytes"] == size
    assert own["kv_transfer_ps"] == transfer(size)
    # Parts leave the GPU one after the other, and come to the decode rank one after the other.
    part = size // 8
    over_nvlink = 7 * (part * 8000 // nvlink)
    least = transfer(part)
    assert least < row["kv_transfer_ps"] < 2 * (over_nvlink + DELAY_PS) + least
    assert row["kv_transfer_ps"] < own["kv_transfer_ps"] / 2
    out = [
        link["data_bytes"]
        for link in result.table("links").to_pylist()
        if link["node"] in {f"host{i}" for i in range(8)}
    ]
    assert len(out) == 8
    assert max(out) - min(out) < 4058
    # Without an exposed transfer, the parts of the time add up.
    assert row["e2e_ps"] == row["ttft_ps"] + 3 * CONTROL_PS + row["decode_compute_ps"]
    assert xoff.run(on_star(serving, hosts=16, network=servers), threads=3).fingerprint == result.fingerprint
