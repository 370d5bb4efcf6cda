"""Published times of KV caches and of prefill, and the scenario of each.

``kv_caches.csv`` has a row for each prompt length of a table, with its source. One request is under way at a time. Its
KV cache leaves the eight prefill ranks when the prompt is computed (TP 8 to TP 8). The column ``role`` says
``judged`` for the rows of two tables, and ``shown`` for a single bandwidth.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from xoff.nccl import fabric

PAYLOAD, HEADER = 4096, 48
"""Bytes of a packet."""
LEAST_TOKENS = 1024
"""Shorter prompts do not judge: their times are overheads."""
OF_OVERHEAD = 128
"""The tokens of the row that sets the overhead at the rate of the line."""
OF_RATE = (8192, 32768)
"""The tokens of the rows that set the rate reached, and its overhead."""
OF_PREFILL = (1024, 32768)
"""The tokens of the rows that set efficiency and overhead of prefill."""
REACHED = "rate reached"
SGLANG, VLLM = "SGLang, Qwen3-235B, H20, 4 x 400G", "vLLM, Qwen3-8B, H800, 8 x 200G"
_QWEN3_8B = {"layers": 36, "hidden": 4096, "heads": 32, "kv_heads": 8, "head_dim": 128, "feed_forward": 12288}
_MODELS: dict[str, dict[str, Any]] = {
    "qwen3_235b": {"preset": "qwen3_235b"},
    "qwen3_8b": {**_QWEN3_8B, "vocabulary": 151_936, "sequence": 4096},
    "llama3_70b": {"preset": "llama3_70b"},
    "one_layer": {"preset": "llama3_70b", "layers": 1},
}
_BYTES = {"qwen3_235b": 385_024, "qwen3_8b": 147_456, "llama3_70b": 327_680, "one_layer": 4096}
"""Bytes on the network of a token. Qwen3-235B has four KV heads, and each of eight ranks sends its copy of a head."""


@dataclass(frozen=True, slots=True)
class Row:
    """A prompt length of a table. Times are in ms, bandwidths in 1e9 bytes a second."""

    table: str
    gpu: str
    model: str
    gpus: int
    nics: int
    nic_gbps: int
    tokens: int
    role: str
    transfer_ms: float
    ttft_ms: float
    source: str

    @property
    def name(self) -> str:
        """The name of the run."""
        return f"{self.table}, {self.tokens:,} tokens"

    @property
    def is_long(self) -> bool:
        """True if the row can judge."""
        return self.tokens >= LEAST_TOKENS

    @property
    def bytes(self) -> int:
        """The bytes of the KV cache on the network."""
        return self.tokens * _BYTES[self.model]

    @property
    def line_bytes_per_ms(self) -> float:
        """The payload rate of the NICs of a server."""
        return self.nics * self.nic_gbps * 1e6 / 8 * PAYLOAD / (PAYLOAD + HEADER)

    @property
    def prefill_ms(self) -> float:
        """The measured time to the first token, less the transfer."""
        return self.ttft_ms - self.transfer_ms

    @property
    def link(self) -> str:
        """The source in Markdown: a link, and a remark if there is one."""
        url, _, remark = self.source.partition(" ")
        return f"[{url.removeprefix('https://')}]({url})" + (f" {remark}" if remark else "")

    def scenario(self, *, at_line: bool) -> dict[str, Any]:
        """Returns the scenario of the row, with NICs of the printed rate or of the rate reached."""
        share = 1.0 if at_line else reached(self.table)[0] / self.line_bytes_per_ms
        document = fabric(2, self.gpus, self.nics, f"{self.nic_gbps * share:.6g}Gbps")
        document["network"]["servers"] = {"gpus": self.gpus, "nics": self.nics, "gpu": self.gpu}
        efficiency = prefill_of(self.table)[0] if self.table == SGLANG else 1.0
        pool = {"tensor": self.gpus, "max_tokens": self.tokens}
        serving = {
            "model": _MODELS[self.model],
            "compute": {"device": self.gpu, "efficiency": efficiency},
            "requests": [{"arrival": "0s", "input_tokens": self.tokens, "output_tokens": 1}],
            "prefill": pool,
            "decode": pool,
        }
        return {**document, "workload": [{"name": "chat", "serving": serving}]}


@cache
def measured() -> tuple[Row, ...]:
    """Returns all rows, in the order of the file. A bandwidth alone becomes the time of the transfer."""
    found = []
    with (Path(__file__).parent / "kv_caches.csv").open(newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            gpus, nics, gbps, tokens = (int(line[key]) for key in ("gpus_per_server", "nics", "nic_gbps", "tokens"))
            size = tokens * _BYTES[line["model"]]
            transfer = float(line["transfer_ms"] or 0) or size / float(line["GBps"]) / 1e6
            ttft = float(line["ttft_ms"] or 0)
            found.append(
                Row(
                    line["table"],
                    line["gpu"],
                    line["model"],
                    gpus,
                    nics,
                    gbps,
                    tokens,
                    line["role"],
                    transfer,
                    ttft,
                    line["source"],
                )
            )
    return tuple(found)


def rows_of(table: str) -> list[Row]:
    """Returns the rows of a table."""
    return [row for row in measured() if row.table == table]


def _at(table: str, tokens: Sequence[int]) -> list[Row]:
    return [row for row in rows_of(table) if row.tokens in tokens]


def overhead_ms(table: str) -> float:
    """Returns the overhead at the rate of the line: the time of the shortest prompt, less its bytes at that rate."""
    (row,) = _at(table, (OF_OVERHEAD,))
    return row.transfer_ms - row.bytes / row.line_bytes_per_ms


def reached(table: str) -> tuple[float, float]:
    """Returns the rate reached, in bytes per ms, and the overhead beside it in ms, from two rows."""
    short, long = _at(table, OF_RATE)
    rate = (long.bytes - short.bytes) / (long.transfer_ms - short.transfer_ms)
    return rate, short.transfer_ms - short.bytes / rate


# Qwen3-235B on eight H20, by the equations of docs/models/serving.md.
_LAYERS, _HIDDEN, _HEADS, _KV_HEADS, _HEAD_DIM, _VOCABULARY = 94, 4096, 64, 4, 128, 151_936
_EXPERT, _TOP_K, _RANKS = 3 * 4096 * 1536, 8, 8
_PEAK, _MEMORY = 148e12, 4e12
_NVLINK, _NVLINK_LATENCY_MS = 370.8e9, 0.5e-3


def compute_ms(tokens: int) -> float:
    """Returns the closed form of the computing time of a prompt at full efficiency, without the head.

    From 1,024 tokens on the operations decide, not the bytes.
    """
    attention = 2 * _HIDDEN * _HEAD_DIM * (_HEADS + _KV_HEADS) * tokens
    scores = _HEADS * 2 * _HEAD_DIM * tokens * (tokens + 1) / 2
    experts = _EXPERT * _TOP_K * tokens
    return 1e3 * _LAYERS * 2 * (attention + scores + experts) / _RANKS / _PEAK


def exchange_ms(tokens: int) -> float:
    """Returns the closed form of the all-reduces of a prompt: two rings a layer over NVLink."""
    part = tokens * _HIDDEN * 2 / _RANKS
    return _LAYERS * 2 * 2 * (_RANKS - 1) * (1e3 * part / _NVLINK + _NVLINK_LATENCY_MS)


def head_ms() -> float:
    """Returns the time of the head for one sequence."""
    return 1e3 * _HIDDEN * _VOCABULARY * 2 / _RANKS / _MEMORY


def prefill_of(table: str) -> tuple[float, float]:
    """Returns the efficiency and the overhead of prefill in ms, from two rows."""
    short, long = _at(table, OF_PREFILL)
    exchanges = exchange_ms(long.tokens) - exchange_ms(short.tokens)
    computing = long.prefill_ms - short.prefill_ms - exchanges
    efficiency = (compute_ms(long.tokens) - compute_ms(short.tokens)) / computing
    return efficiency, short.prefill_ms - prefill_line_ms(short.tokens, efficiency)


def prefill_line_ms(tokens: int, efficiency: float) -> float:
    """Returns the closed form of prefill without overhead."""
    return compute_ms(tokens) / efficiency + exchange_ms(tokens) + head_ms()
