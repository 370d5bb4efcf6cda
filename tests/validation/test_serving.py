"""Inference serving: lone requests exactly, queues by their formulas, and the books of requests, tokens and bytes."""

from __future__ import annotations

import math
import random
import statistics
from itertools import pairwise
from typing import Any

import pytest

import xoff

PAYLOAD, HEADER = 4000, 58
DELAY_PS = 500_000
CONTROL_PS = 5_000_000
RATE = 400e9
SWITCH_PS = 300_000

H100 = {"peak": 989e12, "memory": 3.35e12}


def on_star(serving: dict[str, Any], hosts: int = 16, **more: Any) -> dict[str, Any]:
    """A serving workload on hosts at one switch, without flow control."""
    return {
        "seed": more.pop("seed", 1),
        "network": {"star": {"hosts": hosts, "link": {"rate": "400Gbps", "delay": "500ns"}}, **more.pop("network", {})},
        "framing": {"payload": f"{PAYLOAD}B", "header": f"{HEADER}B"},
        "switch": {"forwarding_latency": "300ns", **more.pop("switch", {})},
        "workload": [{"name": "chat", "serving": serving}, *more.pop("beside", [])],
        **more,
    }


def llama(layers: int, **more: Any) -> dict[str, Any]:
    """One request to layers of Llama 3 70B, prefill and decode of one GPU each."""
    return {
        "model": {"preset": "llama3_70b", "layers": layers},
        "compute": {"device": "h100"},
        "requests": [{"arrival": "0s", "input_tokens": 4096, "output_tokens": 4}],
        "prefill": {},
        "decode": {},
        **more,
    }


def seconds_of(flop: float, size: float) -> float:
    return max(flop / H100["peak"], size / H100["memory"])


class Llama:
    """Times of a layer of Llama 3 70B at a rank, from section 3 of the page; picoseconds."""

    hidden, heads, kv_heads, head_dim, network, vocabulary = 8192, 64, 8, 128, 28672, 128256
    attention_parameters = 2 * hidden * head_dim * (heads + kv_heads)
    network_parameters = 3 * hidden * network
    kv_of_token = 2 * kv_heads * head_dim * 2

    def __init__(self, tensor: int = 1) -> None:
        self.tensor = tensor

    def _ps(self, flop: float, size: float) -> int:
        return round(seconds_of(flop / self.tensor, size / self.tensor) * 1e12)

    def attention(self, tokens: int, context: int, pairs: int) -> int:
        """Attention of a layer."""
        flop = 2 * self.attention_parameters * tokens + 2 * self.heads * 2 * self.head_dim * pairs
        return self._ps(flop, 2 * self.attention_parameters + self.kv_of_token * context)

    def layer(self, tokens: int, context: int, pairs: int) -> int:
        """A layer."""
        network = self._ps(2 * self.network_parameters * tokens, 2 * self.network_parameters)
        return self.attention(tokens, context, pairs) + network

    def head(self, sequences: int) -> int:
        """The head for some sequences."""
        weights = self.hidden * self.vocabulary
        return self._ps(2 * weights * sequences, 2 * weights)

    def prefill(self, layers: int, tokens: int, before: int = 0) -> int:
        """A step with a piece of a prompt, after some tokens."""
        pairs = tokens * before + tokens * (tokens + 1) // 2
        return layers * self.layer(tokens, before + tokens, pairs) + self.head(1)

    def decode(self, layers: int, context: int) -> int:
        """A step that makes a token."""
        return layers * self.layer(1, context, context) + self.head(1)


def transfer(size: int) -> int:
    """The time of a message over two links and a switch that stores and forwards, in picoseconds."""
    packets, last = divmod(size, PAYLOAD)
    frames = [PAYLOAD + HEADER] * packets + ([last + HEADER] if last else [])
    wire = [round(8 * frame / RATE * 1e12) for frame in frames]
    # The last frame waits at the switch, if the frame before is longer.
    ends = departs = 0
    for one in wire:
        ends += one
        departs = max(departs, ends) + one
    return departs + 2 * DELAY_PS + SWITCH_PS


def request_of(scenario: dict[str, Any]) -> dict[str, Any]:
    result = xoff.run(scenario)
    (row,) = result.requests.to_pylist()
    return dict(row)


@pytest.mark.parametrize("layers", [1, 4])
def test_a_lone_request_with_a_whole_kv_cache(layers: int) -> None:
    """TTFT is the way of the order, the prefill, and the KV cache; each step follows a report by the control delay."""
    row, model = request_of(on_star(llama(layers))), Llama()
    size = 4096 * layers * Llama.kv_of_token
    assert row["kv_bytes"] == size
    assert row["prefill_compute_ps"] == pytest.approx(model.prefill(layers, 4096), abs=4 * layers)
    assert row["kv_transfer_ps"] == row["kv_exposed_ps"] == transfer(size)
    assert row["ttft_ps"] == CONTROL_PS // 2 + row["prefill_compute_ps"] + transfer(size)
    steps = [model.decode(layers, 4096 + token) for token in (1, 2, 3)]
    assert row["decode_compute_ps"] == pytest.approx(sum(steps), abs=12 * layers)
    assert row["e2e_ps"] == row["ttft_ps"] + 3 * CONTROL_PS + row["decode_compute_ps"]
    assert row["itl_max_ps"] == pytest.approx(steps[-1] + CONTROL_PS, abs=4 * layers)


def test_a_kv_cache_that_leaves_by_layers_hides_behind_prefill() -> None:
    """If a layer computes longer than its KV cache travels, the cache of the last layer alone is exposed."""
    layers, model = 4, Llama()
    size = 4096 * Llama.kv_of_token
    kv = {"granularity": "layer"}
    row = request_of(on_star(llama(layers, kv=kv)))
    assert transfer(size) < model.layer(4096, 4096, 4096 * 4097 // 2)
    # The cache of the last layer leaves after its attention; its network and the head compute meanwhile.
    after = row["prefill_compute_ps"] - (layers - 1) * model.layer(4096, 4096, 4096 * 4097 // 2)
    after -= model.attention(4096, 4096, 4096 * 4097 // 2)
    assert row["kv_exposed_ps"] == pytest.approx(max(0, transfer(size) - after), abs=20)
    # On a link of 1 Gb/s a layer's cache travels longer than a layer computes: caches follow one another.
    slow = on_star(llama(layers, kv=kv), network={"star": {"hosts": 2, "link": {"rate": "1Gbps", "delay": "500ns"}}})
    row = request_of(slow)
    frames = layers * math.ceil(size / PAYLOAD)
    wire = 8000 * (layers * size + HEADER * frames) + 8000 * (PAYLOAD + HEADER)
    begins = CONTROL_PS // 2 + model.attention(4096, 4096, 4096 * 4097 // 2)
    assert row["ttft_ps"] == pytest.approx(begins + wire + 2 * DELAY_PS + SWITCH_PS, abs=1e7)


def test_chunks_of_a_prompt_send_their_kv_caches() -> None:
    """A prompt of four chunks takes four steps. The cache of the last chunk alone is exposed."""
    layers, model = 4, Llama()
    more = {"prefill": {"chunk": 1024}, "kv": {"granularity": "chunk"}}
    row = request_of(on_star(llama(layers, **more)))
    steps = [model.prefill(layers, 1024, before) for before in (0, 1024, 2048, 3072)]
    assert row["prefill_compute_ps"] == pytest.approx(sum(steps), abs=16 * layers)
    assert row["prefill_queue_ps"] == CONTROL_PS // 2 + 3 * CONTROL_PS
    assert row["kv_exposed_ps"] == transfer(1024 * layers * Llama.kv_of_token)


def test_decode_that_pulls_asks_after_prefill() -> None:
    """`pull` adds a report and a question to the way of `push`."""
    push, pull = (request_of(on_star(llama(2, kv={"handoff": handoff}))) for handoff in ("push", "pull"))
    assert pull["kv_queue_ps"] == CONTROL_PS
    assert pull["ttft_ps"] == push["ttft_ps"] + CONTROL_PS
    assert pull["e2e_ps"] == push["e2e_ps"] + CONTROL_PS


def test_who_shows_the_first_token() -> None:
    """The first token is shown at the end of prefill, with the KV cache, or by decode, which makes one token more."""
    rows = {who: request_of(on_star(llama(2, first_token=who))) for who in ("prefill", "transfer", "decode")}
    assert rows["transfer"]["ttft_ps"] - rows["prefill"]["ttft_ps"] == rows["prefill"]["kv_exposed_ps"]
    first = Llama().decode(2, 4097)
    assert rows["decode"]["ttft_ps"] - rows["transfer"]["ttft_ps"] == pytest.approx(CONTROL_PS + first, abs=10)
    assert rows["prefill"]["e2e_ps"] == rows["transfer"]["e2e_ps"] < rows["decode"]["e2e_ps"]


def test_cached_tokens_are_sent_and_not_computed() -> None:
    requests = [{"arrival": "0s", "input_tokens": 4096, "output_tokens": 1, "cached_tokens": 3072}]
    row = request_of(on_star(llama(2, requests=requests)))
    assert row["prefill_compute_ps"] == pytest.approx(Llama().prefill(2, 1024, 3072), abs=8)
    assert row["kv_bytes"] == 4096 * 2 * Llama.kv_of_token


@pytest.mark.parametrize("over", ["network", "nvlink"])
def test_tensor_parallel_ranks_reduce_in_a_ring(over: str) -> None:
    """An all-reduce of n tokens among t ranks passes 2 (t - 1) parts of n h a / t bytes."""
    layers, tensor, tokens = 2, 4, 4096
    serving = llama(layers, prefill={"tensor": tensor}, decode={"tensor": tensor})
    servers = {"servers": {"gpus": tensor, "nvlink": {"rate": "3200Gbps"}}} if over == "nvlink" else {}
    row = request_of(on_star(serving, hosts=8, network=servers))
    part = tokens * 8192 * 2 // tensor
    # On the network the acknowledgements of the other direction, of 64 B each, take turns with the data.
    over_network = transfer(part) + math.ceil(part / PAYLOAD) * round(8 * 64 / RATE * 1e12)
    one = over_network if over == "network" else part * 8000 // 3200 + DELAY_PS
    assert row["prefill_exposed_ps"] == pytest.approx(2 * layers * 2 * (tensor - 1) * one, rel=1e-3)
    assert row["prefill_compute_ps"] == pytest.approx(Llama(tensor).prefill(layers, tokens), abs=8 * layers)
    # With equal degrees each prefill rank sends its two KV heads to the decode rank at its place.
    assert row["kv_transfer_ps"] == transfer(tokens * layers * Llama.kv_of_token // tensor)


def test_llama_70b_on_eight_gpus_takes_what_the_specification_says() -> None:
    """4,096 tokens of Llama 70B, TP8 to TP8 at 400 Gb/s: 167.8 MB a rank, 3.355 ms without framing."""
    serving = llama(80, prefill={"tensor": 8}, decode={"tensor": 8})
    row = request_of(on_star(serving, hosts=16, network={"servers": {"gpus": 8}}))
    assert row["kv_bytes"] == 4096 * 327_680
    payload_alone = row["kv_bytes"] / 8 * 8 / RATE * 1e12
    assert payload_alone == pytest.approx(3.355e9, rel=2e-4)
    assert row["kv_transfer_ps"] == pytest.approx(payload_alone * (1 + HEADER / PAYLOAD), rel=1e-3)
    assert row["prefill_compute_ps"] == pytest.approx(73.7e9, rel=2e-3)


def test_experts_get_one_message_from_each_rank() -> None:
    """A dispatch takes what the slowest receiver gets, and a combine likewise: bytes by expected copies."""
    ranks, tokens, layers = 8, 512, 3
    serving = {
        "model": {"preset": "mixtral_8x7b", "layers": layers},
        "compute": {"device": "h100"},
        "requests": [{"arrival": "0s", "input_tokens": tokens, "output_tokens": 1} for _ in range(ranks)],
        "aggregated": {"data": ranks, "expert": ranks, "max_tokens": tokens},
        "experts": {"dispatch": "fp8"},
    }
    result = xoff.run(on_star(serving, hosts=ranks))
    steps = [row for row in result.steps.to_pylist() if row["tokens"]]
    assert sum(row["tokens"] for row in steps) == ranks * tokens
    of_token = 4096 + 4 * 4096 // 128 + 16
    payload = sum(row["tokens"] * 2 / ranks * (ranks - 1) * layers * (of_token + 2 * 4096) for row in steps)
    hosts = [link for link in result.table("links").to_pylist() if link["node"].startswith("host")]
    assert sum(link["data_bytes"] for link in hosts) == pytest.approx(payload * (1 + HEADER / PAYLOAD), rel=0.01)
    for row in result.steps.to_pylist():
        parts = row["compute_ps"] + row["exposed_ps"] + row["bubble_ps"]
        assert parts == row["end_ps"] - row["start_ps"]
    # The first request is a step of its own: its rank sends to seven ranks, and gets as many results back. The last
    # rank computes after the last message to it, and sends its result after that.
    (alone,) = (row for row in steps if row["step"] == 0)
    dispatch, combine = (8000 * (tokens * 2 / ranks * size) * (1 + HEADER / PAYLOAD) / 400 for size in (of_token, 8192))
    waited = (alone["exposed_ps"] + alone["bubble_ps"]) / layers
    experts = alone["compute_ps"] / layers
    assert 7 * dispatch + combine < waited < 7 * dispatch + 7 * combine + experts


@pytest.mark.parametrize("copies", ["expert", "rank", "server"])
def test_copies_decide_what_crosses_the_network(copies: str) -> None:
    """16 ranks on two servers: 8 copies of a token, 6.46 copies (ranks reached), or 2 copies (servers reached)."""
    ranks, tokens, layers, experts, top_k = 16, 256, 3, 256, 8
    serving = {
        "model": {"preset": "deepseek_v3", "layers": layers, "dense_layers": 0},
        "compute": {"device": "h100"},
        "requests": [{"arrival": "0s", "input_tokens": tokens, "output_tokens": 1} for _ in range(ranks)],
        "aggregated": {"data": ranks, "expert": ranks, "max_tokens": tokens},
        "experts": {"dispatch": "fp8", "copies": copies},
    }
    result = xoff.run(on_star(serving, hosts=ranks, network={"servers": {"gpus": 8}}))

    def reached(parts: int) -> float:
        missed = math.prod((experts - experts / parts - i) / (experts - i) for i in range(top_k))
        return parts * (1 - missed)

    # A rank sends half of the copies to the other server, which has eight ranks.
    crossing = {"expert": top_k / 2, "rank": reached(ranks) / 2, "server": reached(2) / 2}[copies]
    of_token = 7168 + 4 * 7168 // 128 + 16 + 2 * 7168
    payload = ranks * tokens * layers * crossing * of_token
    hosts = [link for link in result.table("links").to_pylist() if link["node"].startswith("host")]
    assert sum(link["data_bytes"] for link in hosts) == pytest.approx(payload * (1 + HEADER / PAYLOAD), rel=0.02)
    assert result.summary["serving"]["chat"]["completed"] == ranks


def _queue(seed: int, load: float, sizes: list[tuple[int, float]]) -> tuple[float, float]:
    """Runs Poisson arrivals at one GPU. Returns the mean wait over the mean service, and the share without wait."""
    rng = random.Random(seed)
    model = Llama()
    # A step occupies the GPU for its computation, and until the order of the next step is there.
    service = {size: model.prefill(1, size) + CONTROL_PS for size, _ in sizes}
    mean = sum(share * service[size] for size, share in sizes)
    at, rows = 0.0, []
    for _ in range(1500):
        at += rng.expovariate(load / mean)
        size = rng.choices([size for size, _ in sizes], [share for _, share in sizes])[0]
        rows.append({"arrival": f"{round(at)}ps", "input_tokens": size, "output_tokens": 1})
    pool = {"max_tokens": max(size for size, _ in sizes), "max_sequences": 1}
    serving = llama(1, requests=rows, aggregated=pool)
    del serving["prefill"], serving["decode"]
    result = xoff.run(on_star(serving, hosts=1))
    waits = [row["prefill_queue_ps"] - CONTROL_PS // 2 for row in result.requests.to_pylist()]
    return statistics.mean(waits) / mean, sum(wait <= 0 for wait in waits) / len(waits)


@pytest.mark.parametrize("load", [0.5, 0.8])
@pytest.mark.parametrize("sizes", [[(2048, 1.0)], [(1024, 0.8), (8192, 0.2)]], ids=["M/D/1", "M/G/1"])
def test_a_prefill_rank_is_a_queue(load: float, sizes: list[tuple[int, float]]) -> None:
    """The mean wait is λ E[D²] / (2 (1 − ρ)), and a request does not wait with chance 1 − ρ."""
    model = Llama()
    service = {size: model.prefill(1, size) + CONTROL_PS for size, _ in sizes}
    mean = sum(share * service[size] for size, share in sizes)
    second = sum(share * service[size] ** 2 for size, share in sizes) / mean**2
    runs = [_queue(seed, load, sizes) for seed in range(20)]
    for measured, expected in (
        ([wait for wait, _ in runs], load * second / (2 * (1 - load))),
        ([free for _, free in runs], 1 - load),
    ):
        # The interval of 99.9 % of 20 runs: 3.88 standard errors.
        error = statistics.stdev(measured) / math.sqrt(len(measured))
        assert abs(statistics.mean(measured) - expected) < 3.88 * error, (statistics.mean(measured), expected)


def _decode_batch(seed: int, rate: float) -> float:
    """Runs Poisson arrivals at one decode GPU. Returns the mean batch of the later half of the time."""
    tokens_out = 60
    serving = {
        **llama(1, lengths={"input": 64, "output": tokens_out}),
        "arrivals": {"rate": rate, "requests": 1200},
        "prefill": {"instances": 4},
        "router": {"policy": "round_robin"},
    }
    del serving["requests"]
    rows = xoff.run(on_star(serving, hosts=5, seed=seed)).steps.to_pylist()
    steps = [row for row in rows if row["phase"] == "decode"]
    last = max(row["end_ps"] for row in steps) * 0.95
    steps = [row for row in steps if 0.1 * last < row["start_ps"] < last]
    # A batch lasts until the next step begins.
    lasts = [later["start_ps"] - row["start_ps"] for row, later in pairwise(steps)]
    busy = [
        (row["sequences"], min(time, row["end_ps"] - row["start_ps"] + CONTROL_PS))
        for row, time in zip(steps, lasts, strict=False)
    ]
    return float(sum(batch * time for batch, time in busy) / sum(lasts))


def test_the_batch_of_decode_balances() -> None:
    """A step of b sequences lasts T(b) = α + β b. The mean batch is α λ O / (1 − β λ O), for O tokens in decode."""
    model, made = Llama(), 59
    context = 64 + 60 / 2
    one, two = (
        model._ps(
            2 * model.attention_parameters * b + 4 * model.heads * model.head_dim * b * context,
            2 * model.attention_parameters + model.kv_of_token * b * context,
        )
        + model._ps(2 * model.network_parameters * b, 2 * model.network_parameters)
        + model.head(b)
        + CONTROL_PS
        for b in (1, 2)
    )
    beta = (two - one) * 1e-12
    alpha = one * 1e-12 - beta
    rate = 200.0
    expected = alpha * rate * made / (1 - beta * rate * made)
    runs = [_decode_batch(seed, rate) for seed in range(8)]
    error = statistics.stdev(runs) / math.sqrt(len(runs))
    assert abs(statistics.mean(runs) - expected) < max(5.4 * error, 0.01 * expected), (runs, expected)


def test_a_warm_start_begins_at_the_equilibrium() -> None:
    """The first batches have the size of α λ O / (1 − β λ O), which `xoff check` prints; no memory stays reserved."""
    serving: dict[str, Any] = {
        **llama(1, lengths={"input": 64, "output": 60}),
        "arrivals": {"rate": 200.0, "requests": 100},
        "prefill": {"instances": 4},
        "decode": {"warm": True, "kv_tokens": 100_000},
    }
    del serving["requests"]
    prefill, decode = xoff.check(on_star(serving, hosts=5))["serving"]
    assert decode["pool"] == "decode"
    assert float(decode["load"]) == pytest.approx(0.05, abs=0.01)
    assert float(decode["batch"]) == pytest.approx(13.5, abs=0.1)
    assert float(prefill["load"]) < 0.1
    first = []
    for seed in range(8):
        result = xoff.run(on_star(serving, hosts=5, seed=seed))
        rows = [row for row in result.steps.to_pylist() if row["phase"] == "decode"]
        first += [row["sequences"] for row in rows[:30]]
        assert result.summary["serving"]["chat"]["completed"] == 100
        # A request has 59 tokens of decode. The sequences that ran at the start make more.
        assert sum(row["tokens"] for row in rows) > 100 * 59
    assert statistics.mean(first) == pytest.approx(13.5, rel=0.15)
    serving["decode"]["warm"] = 3
    rows = xoff.run(on_star(serving, hosts=5)).steps.to_pylist()
    assert next(row["sequences"] for row in rows if row["phase"] == "decode") == 3


def test_requests_whose_messages_are_lost_for_good_are_censored() -> None:
    """Raw frames of a KV cache that overflow a buffer are lost, and decode waits without end."""
    scenario = on_star(
        llama(1, prefill={"instances": 3}, router={"policy": "round_robin"}),
        hosts=4,
        switch={"buffer": {"per_port": "20KB"}},
        host={"transport": {"raw": {}}},
    )
    rows = [{"arrival": "0s", "input_tokens": 4096, "output_tokens": 4} for _ in range(3)]
    scenario["workload"][0]["serving"]["requests"] = rows
    serving = xoff.run(scenario).summary["serving"]["chat"]
    assert (serving["completed"], serving["censored"]) == (1, 2)
    assert serving["ttft_ps"]["p50"] is None


def test_a_run_that_is_cut_has_censored_requests() -> None:
    """Requests without an end at `until` have null ends, and make the percentiles null that they could move."""
    rows = [{"arrival": f"{10 * n}ms", "input_tokens": 4096, "output_tokens": 8} for n in range(4)]
    whole = xoff.run(on_star(llama(1, requests=rows)))
    result = xoff.run(on_star(llama(1, requests=rows), until="38ms"))
    serving = result.summary["serving"]["chat"]
    assert (serving["requests"], serving["completed"], serving["censored"]) == (4, 3, 1)
    assert serving["e2e_ps"]["mean"] is serving["e2e_ps"]["p99"] is None
    assert serving["e2e_ps"]["p50"] == whole.summary["serving"]["chat"]["e2e_ps"]["p50"]
    ends = {row["request"]: row["e2e_ps"] for row in result.requests.to_pylist()}
    assert ends[3] is None
    assert all(ends[number] is not None for number in range(3))


def test_arrivals_may_draw_lengths_from_rows() -> None:
    """With arrivals the rows give lengths, which are drawn together; the arrivals of the rows do not count."""
    rows = [{"arrival": "1s", "input_tokens": 100 * n, "output_tokens": n, "cached_tokens": n} for n in range(1, 5)]
    result = xoff.run(on_star(llama(1, requests=rows, arrivals={"rate": 500.0, "requests": 200})))
    found = [(row["input_tokens"], row["output_tokens"], row["cached_tokens"]) for row in result.requests.to_pylist()]
    assert {row: found.count(row) > 25 for row in found} == {(100 * n, n, n): True for n in range(1, 5)}
    arrivals = [row["arrival_ps"] for row in result.requests.to_pylist()]
    assert max(arrivals) / len(arrivals) == pytest.approx(2e9, rel=0.25)


def test_jitter_moves_computing_times_and_not_their_mean() -> None:
    """A part of a layer varies with the given deviation; the sum of many parts hardly changes."""
    rows = [{"arrival": "0s", "input_tokens": 64, "output_tokens": 60}]
    steps = {}
    for jitter in (0.0, 0.1):
        compute = {"device": "h100", "jitter": jitter}
        result = xoff.run(on_star(llama(1, requests=rows, compute=compute)))
        steps[jitter] = [row["compute_ps"] for row in result.steps.to_pylist() if row["phase"] == "decode"]
    assert statistics.mean(steps[0.1]) == pytest.approx(statistics.mean(steps[0.0]), rel=0.03)
    # Attention, network and head of a layer vary independently.
    parts = [Llama().attention(1, 94, 94), Llama().layer(1, 94, 94) - Llama().attention(1, 94, 94), Llama().head(1)]
    expected = 0.1 * math.hypot(*parts)
    assert statistics.stdev(steps[0.1]) == pytest.approx(expected, rel=0.25)
    assert statistics.stdev(steps[0.0]) < 0.01 * expected


def test_requests_of_a_table_are_those_of_the_scenario(tmp_path: Any) -> None:
    rows = [{"arrival": f"{n}ms", "input_tokens": 100 + n, "output_tokens": 2, "cached_tokens": n} for n in range(5)]
    text = "arrival,input_tokens,output_tokens,cached_tokens\n"
    text += "".join(",".join(str(value) for value in row.values()) + "\n" for row in rows)
    (tmp_path / "requests.csv").write_text(text)
    serving = llama(1)
    del serving["requests"]
    listed = xoff.run(on_star({**serving, "requests": rows}))
    read = xoff.run(on_star({**serving, "requests_table": str(tmp_path / "requests.csv")}))
    assert listed.requests.equals(read.requests)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prefill": {"tensor": 16}}, "17 ranks"),
        ({"decode": {"kv_tokens": 4000}}, "4000 is below the 4100 tokens of a request; give 4100 or more"),
        ({"prefill": {"tensor": 3}}, "64 heads cannot be divided evenly among 3 ranks"),
        ({"decode": {"expert": 2, "data": 2}}, "the model has no experts"),
        ({"aggregated": {}}, "mutually exclusive with prefill and decode"),
        ({"kv": {"handoff": "pull", "granularity": "layer"}}, 'needs kv.handoff = "push"'),
        ({"compute": {}}, "missing; give a device, peak and memory, or times"),
        ({"compute": {"device": "h100", "peak": 1e15}}, "mutually exclusive with peak and memory"),
        ({"requests": []}, "missing; give arrivals and lengths, or requests"),
        ({"lengths": {"input": 1, "output": 1}}, "mutually exclusive with lengths, which the rows have"),
        (
            {"requests": [{"arrival": "0s", "input_tokens": 4, "output_tokens": 1, "cached_tokens": 4}]},
            "row 0: 4 cached tokens; at most 3 can be",
        ),
        (
            {"model": {"preset": "mixtral_8x7b"}, "decode": {"data": 8, "expert": 8}, "experts": {"copies": "server"}},
            "`server` needs servers of GPUs; set network.servers",
        ),
        ({"prefill": {"warm": True}}, "prefill has no running sequences; give decode.warm"),
        ({"decode": {"warm": True}}, "requests arrive at once; give a number of sequences"),
        ({"decode": {"warm": 300}}, "300 is above max_sequences, which is 256"),
        (
            {
                "requests": [{"arrival": f"{n}us", "input_tokens": 4096, "output_tokens": 9} for n in range(9)],
                "decode": {"warm": True},
            },
            "and there is no equilibrium above 1; lower the rate of requests or give more DP ranks",
        ),
        (
            {"requests": [{"arrival": "0s", "input_tokens": 10**7, "output_tokens": 1} for _ in range(500)]},
            "less than 2^32 are possible on a connection; give fewer requests, fewer layers or a larger",
        ),
        ({"compute": {"device": "h100", "jitter": 0.7}}, "0.7 is out of range; allowed are 0 to 0.5"),
        ({"kv": {"class": 3}}, "3 is out of range; the switches have 1"),
        ({"control": {"delay": "100ns"}}, "allowed are 200ns"),
        ({"decode": {"hosts": [1]}}, "missing; the other pool has hosts"),
        ({"prefill": {"hosts": [1]}, "decode": {"hosts": [1]}}, "a host is listed for two ranks"),
    ],
)
def test_a_mistake_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(xoff.InputError) as caught:
        xoff.run(on_star({**llama(1), **change}))
    assert "workload[0].serving" in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize("copies", ["rank", "server"])
def test_threads_and_servers_change_nothing(copies: str) -> None:
    """DeepSeek on two servers, with expert parallelism, layers of KV caches, and NVLink."""
    serving = {
        "model": {"preset": "deepseek_v3", "layers": 4},
        "bytes": {"weight": 1},
        "compute": {"device": "h100"},
        "arrivals": {"rate": 2000.0, "requests": 12, "cv": 2.0},
        "lengths": {"input": 256, "output": 6},
        "prefill": {"data": 4, "expert": 4},
        "decode": {"data": 8, "expert": 8, "instances": 2},
        "kv": {"granularity": "layer"},
        "experts": {"copies": copies, "dispatch": "fp8"},
        "router": {"policy": "power_of_two"},
    }
    scenario = on_star(serving, hosts=20, network={"servers": {"gpus": 4}}, switch={"flow_control": {"pfc": {}}})
    result = xoff.run(scenario, threads=3)
    assert result.fingerprint == xoff.run(scenario).fingerprint
    decode = [row for row in result.steps.to_pylist() if row["phase"] == "decode"]
    assert sum(row["tokens"] for row in decode) == 12 * 5
    # Lock-step: the DP ranks of an instance begin each step within the control delay.
    starts: dict[tuple[int, int], set[int]] = {}
    for row in decode:
        starts.setdefault((row["instance"], row["step"]), set()).add(row["start_ps"])
    assert all(max(times) - min(times) <= CONTROL_PS for times in starts.values())


def test_a_straggler_slows_all_ranks_of_its_instance() -> None:
    """A host that computes half as fast doubles the computing time of its steps."""
    fault = {"host": "host0", "compute": 2.0}
    serving = llama(2, requests=[{"arrival": "0s", "input_tokens": 512, "output_tokens": 1}])
    usual = request_of(on_star(serving))
    slow = request_of(on_star(serving, fault=[fault]))
    assert slow["prefill_compute_ps"] == pytest.approx(2 * usual["prefill_compute_ps"], abs=10)
