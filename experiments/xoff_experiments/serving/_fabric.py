"""A small deployment of a DeepSeek-like model on a leaf-spine fabric, and the scenario of a scheduling.

Six servers of eight H100, each GPU with a NIC of 400 Gb/s, one server at each leaf, eight spines. Four servers compute
prompts (four instances of 8 ranks), and two make tokens (one instance of 16 ranks, in lock-step). The model is
DeepSeek-V3 with 4 of 61 layers, and 32 of 256 experts: two experts at each decode rank, as in DeepSeek's decode units
of 144 GPUs. Each decode rank runs 16 sequences from the start on. Requests arrive beside these sequences.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from xoff_experiments.serving._link import ONE_CLASS, classes_of, scheduler_of

NAME = "chat"
GPUS, PREFILL_SERVERS, DECODE_SERVERS, SPINES = 8, 4, 2, 8
DECODE_RANKS = GPUS * DECODE_SERVERS
GBPS, DELAY_NS, LATENCY_NS = 400, 500, 300
PAYLOAD, HEADER = 4096, 58
BUFFER_MB = 64
LAYERS, ALL_LAYERS, EXPERTS = 4, 61, 32
INPUT, CACHED = 4096, 2304
"""Tokens of a prompt, and the part in the prefix cache: 56.3 % of the input tokens of DeepSeek hit the cache."""
BEFORE_MS = 1.0
"""Sequences of the start arrive before this moment, and count in no percentile."""
SHORT_INPUT = 512
"""The prompt of a sequence of the start."""
LIMITS = {"ttft": "33ms", "tpot": "1300us", "itl": "1600us"}
"""Service levels: 0.5 s, 20 ms and 25 ms with all layers, times 4 / 61."""
_LINE = GBPS * 1e3 / 8
"""Bytes per microsecond."""
BDP_KB = 310
"""Bandwidth-delay product between servers: eight links and six switches there and back, and the frames."""
PFC, SMALL, LARGE = "PFC", "XOFF 20 KB", "XOFF 320 KB"
DCQCN, SFC, NSCC = "DCQCN", "SFC", "NSCC"
ECMP, SPRAY = "ECMP", "spraying"
WHOLE, BY_LAYER = "whole", "layer"


@dataclass(frozen=True, slots=True)
class Setting:
    """Traffic, paths and congestion control of a run."""

    granularity: str = WHOLE
    """Pieces of KV caches."""
    paths: str = ECMP
    control: str = PFC
    """``PFC`` with dynamic thresholds or a fixed XOFF; ``DCQCN`` and ``SFC`` over PFC; ``NSCC`` over trimming."""
    batch: int = 16
    """Sequences of a decode rank from the start on."""
    requests: int = 24
    window_ms: float = 24.0
    """Requests arrive for this long."""
    output: int = 16
    """Output tokens of a request."""
    steps: int = 60
    """Output tokens of a sequence of the start: as many as there are steps in the run."""
    seed: int = 1


_MARKS = {"red": {"kmin": f"{8 * _LINE / 1e3:.0f}KB", "kmax": f"{32 * _LINE / 1e3:.0f}KB", "pmax": 0.2}}
"""The marks of ConWeave's fabric: 8 and 32 us of a line."""
_FIFTHS = {"red": {"kmin": f"{BDP_KB // 5}KB", "kmax": f"{4 * BDP_KB // 5}KB", "pmax": 1.0}}
_SFC = {"threshold": f"{16 * _LINE / 1e3:.0f}KB", "pause": "10us", "interval": "10us"}
_SHARED = {"buffer": {"shared": {"total": f"{BUFFER_MB}MB"}}}
_PATIENT = {"transport": {"selective": {"rto": "4ms"}}}
_CONTROLS: Mapping[str, tuple[dict[str, Any], dict[str, Any]]] = {
    PFC: ({**_SHARED, "flow_control": {"pfc": {}}}, _PATIENT),
    SMALL: ({"flow_control": {"pfc": {"xoff": "20KB"}}}, _PATIENT),
    LARGE: ({"flow_control": {"pfc": {"xoff": "320KB"}}}, _PATIENT),
    DCQCN: (
        {**_SHARED, "flow_control": {"pfc": {}}, "ecn": _MARKS},
        {**_PATIENT, "congestion_control": {"dcqcn": {"window": f"{BDP_KB}KB"}}},
    ),
    SFC: ({**_SHARED, "flow_control": {"pfc": {}, "sfc": _SFC}}, _PATIENT),
    NSCC: (
        {**_SHARED, "ecn": _FIFTHS, "trimming": {"limit": f"{BDP_KB}KB"}},
        {"transport": {"selective": {}}, "congestion_control": {"nscc": {}}},
    ),
}
"""`switch` and `host` of a control. xoff refuses trimming beside PFC: packets are trimmed before PFC would pause."""


def scenario(setting: Setting, row: str) -> dict[str, Any]:
    """Returns the scenario of a scheduling."""
    switch, host = _CONTROLS[setting.control]
    of_kv, of_experts = (0, 0) if row == ONE_CLASS else classes_of(row)
    more: dict[str, Any] = {} if row == ONE_CLASS else {"classes": 2, **scheduler_of(row)}
    if setting.paths == SPRAY:
        more["routing"] = {"spray": {}}
    link = {"rate": f"{GBPS}Gbps", "delay": f"{DELAY_NS}ns"}
    leaves = PREFILL_SERVERS + DECODE_SERVERS
    return {
        "name": row,
        "seed": setting.seed,
        "network": {
            "servers": {"gpus": GPUS, "gpu": "h100"},
            "leaf_spine": {"leaves": leaves, "spines": SPINES, "hosts_per_leaf": GPUS, "link": link},
        },
        "framing": {"payload": f"{PAYLOAD}B", "header": f"{HEADER}B"},
        "switch": {"forwarding_latency": f"{LATENCY_NS}ns", **switch, **more},
        "host": host,
        "workload": [{"name": NAME, "serving": _serving(setting, of_kv, of_experts)}],
    }


def _serving(setting: Setting, of_kv: int, of_experts: int) -> dict[str, Any]:
    return {
        "model": {"preset": "deepseek_v3", "layers": LAYERS, "experts": EXPERTS},
        "bytes": {"weight": 1},
        "compute": {"device": "h100", "efficiency": 0.5, "memory_efficiency": 0.8},
        "requests": _requests(setting),
        "prefill": {"instances": PREFILL_SERVERS, "data": GPUS, "expert": GPUS, "max_tokens": 8192},
        "decode": {"data": DECODE_RANKS, "expert": DECODE_RANKS},
        "router": {"policy": "least_loaded"},
        # Decode makes the first token, so that no time between two tokens holds the wait for a step.
        "first_token": "decode",
        "kv": {"granularity": setting.granularity, "class": of_kv},
        "experts": {"dispatch": "fp8", "class": of_experts},
        "slo": LIMITS,
        "warmup": f"{BEFORE_MS:g}ms",
    }


def _requests(setting: Setting) -> list[dict[str, Any]]:
    """Returns the sequences of the start, then the requests: a Poisson process, given the number of arrivals."""
    begun = {"input_tokens": SHORT_INPUT, "cached_tokens": SHORT_INPUT - 1, "output_tokens": setting.steps}
    drawn = random.Random(setting.seed)  # noqa: S311
    arrivals = sorted(drawn.random() for _ in range(setting.requests))
    asked = {"input_tokens": INPUT, "cached_tokens": CACHED, "output_tokens": setting.output}
    return [
        *({"arrival": "0s", **begun} for _ in range(setting.batch * DECODE_RANKS)),
        *({"arrival": f"{round(1e6 * (BEFORE_MS + setting.window_ms * one))}ns", **asked} for one in arrivals),
    ]
