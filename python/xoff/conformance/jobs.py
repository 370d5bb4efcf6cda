"""Random jobs: collectives by themselves, graphs of operations, training, and serving."""

from __future__ import annotations

import math
from typing import Any

from xoff.conformance.draw import Draw
from xoff.conformance.schema import registered

# Collective operations that reduce or gather; the first has all of their algorithms.
REDUCES = ["all_reduce", "reduce_scatter", "all_gather"]
ALGORITHMS = {
    "ring": REDUCES,
    "halving_doubling": REDUCES,
    "double_tree": REDUCES[:1],
    "hierarchical": REDUCES[:1],
    "direct": ["all_to_all", "send_receive"],
    "rounds": ["all_to_all"],
    "chain": ["broadcast", "reduce"],
    "dissemination": ["barrier"],
    "in_network": [*REDUCES, "broadcast", "reduce", "barrier"],
    "tree": REDUCES[:1],
    "nvls": REDUCES,
    "nvls_tree": REDUCES[:1],
    "pat": REDUCES[1:],
    "auto": [*REDUCES, "all_to_all", "broadcast", "reduce", "barrier", "send_receive"],
}
NCCL = ("tree", "nvls", "nvls_tree", "pat", "auto")
"""Algorithms of the library ``nccl`` alone."""
OPERATIONS = sorted({operation for several in ALGORITHMS.values() for operation in several})
MESSAGES = ("collective", "graph", "training")
"""Kinds of traffic with messages that may share connections."""


def collective(d: Draw) -> dict[str, Any]:
    """An operation by any of its algorithms, with a valid number of ranks."""
    operation = d.forced.get("workload.collective.operation")
    algorithms = [
        one
        for one in registered("workload.collective.algorithm")
        if operation in (None, *ALGORITHMS.get(one, REDUCES[:1])) and one not in NCCL
    ]
    if d.hosts < 4 and "hierarchical" in algorithms:
        algorithms.remove("hierarchical")
    forced = d.forced.get("workload.collective.algorithm")
    by_library = [one for one in NCCL if operation in (None, *ALGORITHMS[one])]
    if forced in NCCL or (forced is None and by_library and not algorithms):
        return by_nccl(d, forced or d.aside.choice(by_library), operation)
    algorithm = d.choose("workload.collective.algorithm", algorithms)
    ranks = d.some_hosts(2)
    settings: dict[str, Any] = {
        "algorithm": algorithm,
        "operation": operation or d.rng.choice(ALGORITHMS.get(algorithm, REDUCES[:1])),
    }
    if algorithm == "halving_doubling":
        ranks = ranks[: 2 ** (len(ranks).bit_length() - 1)]
    if algorithm == "hierarchical":
        ranks = d.rng.sample(range(d.hosts), 4 * d.rng.randint(1, d.hosts // 4))
        settings["group"] = 2
    # At least a byte for each share of each piece of three channels.
    settings |= {"hosts": ranks, "size": f"{d.rng.randint(2000, 60_000)}B", "channels": d.rng.randint(1, 3)}
    settings |= {} if d.rng.random() < 0.5 else {"chunk": f"{d.rng.randint(1500, 4000)}B"}
    if forced is None and by_library and may_use_nccl(d):
        return by_nccl(d, d.aside.choice(by_library), operation)
    return settings


def may_use_nccl(d: Draw) -> bool:
    """Sometimes true, where connections may be persistent."""
    return d.aside.random() < 0.3 and d.forced.get("workload.connections") != "per_message"


def servers(d: Draw, algorithm: str = "auto") -> None:
    """Draws the servers of the network, unless an earlier workload has drawn the servers."""
    if d.servers is not None:
        return
    sizes = [size for size in range(1, 9) if d.hosts % size == 0]
    hosts = {"pat": 1, "nvls": d.hosts}.get(algorithm) or d.aside.choice(sizes)
    shared = 2 if algorithm == "nvls_tree" and hosts == 1 else d.aside.choice([1, 1, 2]) if algorithm != "pat" else 1
    d.servers = {
        "gpus": hosts * shared,
        "nics": hosts,
        "gpu": "h100" if algorithm.startswith("nvls") else d.aside.choice(["h100", "a100", "b200"]),
        "nvlink": {"latency": d.aside.choice(["500ns", "1us"])},
    }


def by_nccl(d: Draw, algorithm: str, operation: str | None) -> dict[str, Any]:
    """An operation of the library ``nccl`` among all GPUs."""
    servers(d, algorithm)
    settings = {
        "library": "nccl",
        "algorithm": algorithm,
        "operation": operation or d.aside.choice(ALGORITHMS[algorithm]),
        "size": f"{d.aside.randint(2000, 60_000)}B",
    }
    return settings if d.aside.random() < 0.7 else {**settings, "chunk": f"{d.aside.randint(1500, 4000)}B"}


def graph(d: Draw) -> dict[str, Any]:
    """Operations, each after earlier operations of its ranks: the graph has no cycle."""
    rng = d.rng
    hosts = d.some_hosts(2)
    ranks = range(len(hosts))
    groups = {"all": list(ranks), "some": rng.sample(ranks, rng.randint(2, len(hosts)))}
    rows: list[dict[str, Any]] = []
    known: dict[int, list[str]] = {rank: [] for rank in ranks}

    def add(rank: int, kind: str, **more: Any) -> None:
        name = f"{kind} {len(known[rank])}"
        before = rng.sample(known[rank], min(len(known[rank]), rng.choice([0, 1, 1, 2])))
        row = {"rank": rank, "kind": kind, "name": name, "after": before, **more}
        if rng.random() < 0.3:
            row["stream"] = rng.choice(["compute", "other"])
        known[rank].append(name)
        rows.append(row)

    for _ in range(rng.randint(3, 15)):
        kind = rng.choice(["compute", "message", "collective"])
        size = f"{rng.randint(1, 20_000)}B"
        if kind == "compute":
            add(rng.choice(ranks), kind, duration=rng.choice(["0ns", "1us", "777ns"]))
        elif kind == "message":
            rank, peer = rng.sample(ranks, 2)
            tag = rng.choice([0, 0, 1])
            add(rank, "send", peer=peer, tag=tag, size=size)
            add(peer, "recv", peer=rank, tag=tag)
        else:
            group = rng.choice(list(groups))
            kind = rng.choice([*REDUCES, "all_to_all", "broadcast", "reduce", "barrier"])
            for rank in groups[group]:
                # A byte at least for each rank.
                add(rank, kind, group=group, **({} if kind == "barrier" else {"size": "20KB"}))
    _classes(d, rows)
    return {"operations": rows, "groups": groups, "hosts": hosts} | library(d)


def _classes(d: Draw, rows: list[dict[str, Any]]) -> None:
    """Gives classes to sends, and to all collectives of a group, where switches have several classes."""
    if d.classes == 1 or d.aside.random() < 0.5:
        return
    of_group: dict[str, int] = {}
    for row in rows:
        if row["kind"] == "send":
            row["class"] = d.aside.randrange(d.classes)
        elif "group" in row:
            row["class"] = of_group.setdefault(row["group"], d.aside.randrange(d.classes))


def training(d: Draw) -> dict[str, Any]:
    """A small model under any parallelism that fits the number of hosts."""
    rng = d.rng
    degrees = {"tensor": 1, "context": 1, "data": 1, "pipeline": 1}
    for axis in rng.sample(sorted(degrees), 4):
        used = degrees["tensor"] * degrees["context"] * degrees["data"] * degrees["pipeline"]
        degrees[axis] = rng.choice([one for one in (1, 2, 4) if used * one <= d.hosts])
    interleave = rng.choice([1, 2]) if degrees["pipeline"] > 1 else 1
    experts = rng.choice([1, 4])
    model = {
        "layers": degrees["pipeline"] * interleave * rng.choice([1, 2]),
        "hidden": 32,
        "heads": 4,
        "kv_heads": rng.choice([1, 4]),
        "sequence": 64,
        "vocabulary": 100,
        "experts": experts,
        "top_k": 2 if experts > 1 else 1,
        "gated": rng.random() < 0.5,
    }
    parallel = {
        **degrees,
        "interleave": interleave,
        "sequence": rng.random() < 0.5,
        "zero": rng.randint(0, 3),
        "expert": rng.choice([one for one in (1, 2, 4) if experts > 1 and degrees["data"] % one == 0] or [1]),
    }
    return {
        "model": model,
        "parallel": parallel,
        "global_batch": degrees["data"] * degrees["pipeline"] * rng.choice([1, 2]),
        "iterations": rng.choice([1, 2]),
        "buckets": rng.choice([1, 3]),
        "overlap": rng.random() < 0.5,
        "compute": {"peak": 1e12, "jitter": rng.choice([0, 0.1])},
        "placement": rng.choice(["linear", "rail", "random"]),
    } | library(d)


def library(d: Draw) -> dict[str, Any]:
    """Sometimes the library ``nccl``, which needs servers and persistent connections."""
    if not may_use_nccl(d):
        return {}
    servers(d)
    return {"library": "nccl"}


def serving(d: Draw) -> dict[str, Any]:
    """Some requests to a small model, in pools that fit the number of hosts."""
    rng = d.apart
    latent = {"kv_lora_rank": 8, "qk_rope_head_dim": 4, "q_lora_rank": 8}
    experts = rng.choice([1, 4, 8])
    model = {
        "layers": rng.choice([1, 3]),
        "hidden": 32,
        "heads": 4,
        "kv_heads": rng.choice([1, 2, 4]),
        "sequence": 64,
        "vocabulary": 100,
        "experts": experts,
        "top_k": 2 if experts > 1 else 1,
        "dense_layers": rng.choice([0, 1]) if experts > 1 else 0,
        **(latent if rng.random() < 0.3 else {}),
    }

    def pool(most: int) -> dict[str, Any]:
        tensor = rng.choice([one for one in (1, 2, 4) if one <= most])
        data = rng.choice([one for one in (1, 2, 4) if one * tensor <= most])
        spreads = 1 < tensor * data <= experts and rng.random() < 0.7
        limits = {"max_sequences": rng.choice([1, 2, 256]), "max_tokens": rng.choice([16, 64])}
        limits |= {"chunk": rng.choice([7, 16])} if rng.random() < 0.5 else {}
        limits |= {"kv_tokens": rng.choice([90, 200])} if rng.random() < 0.5 else {}
        return {"tensor": tensor, "data": data, "expert": tensor * data if spreads else 1, **limits}

    if d.hosts > 1 and rng.random() < 0.8:
        prefill = pool(d.hosts - 1)
        pools = {"prefill": prefill, "decode": pool(d.hosts - prefill["tensor"] * prefill["data"])}
    else:
        pools = {"aggregated": pool(d.hosts)}
    last = pools.get("decode", pools.get("aggregated", {}))
    last |= {"warm": 1} if rng.random() < 0.3 else {}
    requests = [
        {
            "arrival": f"{rng.randrange(50)}us",
            "input_tokens": rng.randint(2, 40),
            "output_tokens": rng.randint(1, 5),
            "cached_tokens": rng.choice([0, 1]),
        }
        for _ in range(rng.randint(1, 6))
    ]
    handoff = rng.choice(["push", "pull"])
    granularity = rng.choice(["whole", "chunk", "layer"]) if handoff == "push" else "whole"
    of_class = {"class": rng.randrange(d.classes)} if rng.random() < 0.5 else {}
    found = {
        "model": model,
        "compute": {"peak": 1e12, "memory": 1e11, "kernel": rng.choice(["0ns", "1us"])},
        "requests": requests,
        **pools,
        "router": {"policy": rng.choice(["round_robin", "random", "least_loaded", "power_of_two"])},
        "kv": {"handoff": handoff, "granularity": granularity, "overhead": rng.choice(["0ns", "2us"]), **of_class},
        "experts": {
            "dispatch": rng.choice(["bf16", "fp8"]),
            "copies": rng.choice(["expert", "rank"]),
            "overhead": rng.choice(["0ns", "1us"]),
        },
        "first_token": rng.choice(["prefill", "transfer", "decode"]),
        "control": {"delay": rng.choice(["1us", "5us"]), "step": rng.choice(["0ns", "3us"])},
        "placement": rng.choice(["linear", "rail", "random"]),
    }
    return with_options(d, found)


def with_options(d: Draw, serving: dict[str, Any]) -> dict[str, Any]:
    """Adds popular experts, micro-batches, all NICs and measured times to a drawn serving workload."""
    rng = d.options
    pools = [serving[name] for name in ("prefill", "decode", "aggregated") if name in serving]
    for pool in pools:
        pool |= {"microbatches": rng.choice([1, 1, 2, 3])}
    if serving["model"]["experts"] > 1 and rng.random() < 0.5:
        serving["experts"] |= {"skew": rng.choice([0.5, 1.5])}
        most = math.lcm(*(pool["expert"] for pool in pools))
        serving["experts"] |= {"redundant": most} if most > 1 and rng.random() < 0.5 else {}
    if d.servers is not None and rng.random() < 0.5:
        serving["kv"] |= {"nics": "server"}
    if rng.random() < 0.3:
        serving["compute"] |= {"times": [{"part": "network", "tokens": 1000, "time": "4us"}]}
    return serving
