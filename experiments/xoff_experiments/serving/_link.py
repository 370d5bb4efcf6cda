"""KV traffic beside decode on one link: the scenario, and the closed form of the cost.

A decode rank repeats a layer: 31 senders send D bytes of tokens in all (dispatch and combine as one burst), the rank
computes for c, and then the rank asks all senders for the next layer with a message of 1 B. A KV cache of K bytes comes
from another host. Alone a layer takes c + D/R, with R the payload rate of the link. The KV cache costs decode

    (K / R) q / (c R + q)

in all, where q is the number of KV bytes that a layer has to let go first: the link carries c R + q bytes of KV in each
layer that the KV cache lasts, and each of these layers takes q / R longer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

RATE_GBPS = 100
PAYLOAD, HEADER = 1000, 48
DELAY_NS = 100
BYTES_PER_US = RATE_GBPS * 1e3 / 8 * PAYLOAD / (PAYLOAD + HEADER)
"""R: the payload rate of a link in bytes per microsecond."""
START = 2.0
"""Layers before the KV cache."""
AFTER = 3
"""Layers after the KV cache, at least."""
ONE_CLASS = "one class"
EXPERTS_FIRST, KV_FIRST, EQUAL = "experts first", "KV first", "equal turns"
KV_1_OF_5, KV_4_OF_5 = "weights 1 to 4", "weights 4 to 1"
"""Weights of KV and experts."""
SHARES = {EQUAL: 1 / 2, KV_1_OF_5: 1 / 5, KV_4_OF_5: 4 / 5}
"""The share of KV in the link while both classes wait."""
CLASSES = (EXPERTS_FIRST, KV_1_OF_5, EQUAL, KV_4_OF_5, KV_FIRST)
"""Schedulings with a class for KV (0) and a class for experts (1)."""
_WEIGHTS = {EQUAL: (1, 1), KV_1_OF_5: (1, 4), KV_4_OF_5: (4, 1)}
HEADROOM = 2 * DELAY_NS * RATE_GBPS / 8 + 3 * (PAYLOAD + HEADER) + 64
"""Bytes that may arrive above XOFF: the headroom of PFC (docs/models/pfc.md), for the link of the KV cache."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Traffic of the link."""

    senders: int = 31
    layer_kb: int = 256
    """D."""
    compute_us: int = 20
    """c."""
    kv_mb: float = 3.0
    """K."""
    phase: float = 0.375
    """The start of the KV cache within a layer, as a share of the layer."""

    @property
    def period_us(self) -> float:
        """The time of a layer alone, without delays."""
        return self.compute_us + 1e3 * self.layer_kb / BYTES_PER_US

    @property
    def kv_us(self) -> float:
        """K / R."""
        return 1e6 * self.kv_mb / BYTES_PER_US

    @property
    def start_us(self) -> float:
        """The start of the KV cache."""
        return (START + self.phase) * self.period_us

    @property
    def layers(self) -> int:
        """Layers of a run: enough for a KV cache that takes what experts leave, which is c in each layer."""
        return math.ceil(START) + math.ceil(self.kv_us / self.compute_us) + AFTER


def cost_us(setting: Setting, row: str, layer_us: float, *, reach: float = 0.0) -> float:
    """Returns the closed form of the cost to decode under a scheduling.

    layer_us: the time of a layer alone, c + D/R with all delays.
    reach: the bytes that arrive above XOFF before a pause acts, counted as KV that a layer lets go first.
    """
    if row == KV_FIRST:
        return setting.kv_us
    waits = _waits(setting, row, reach)
    free = layer_us * BYTES_PER_US - 1e3 * setting.layer_kb
    return setting.kv_us * waits / (free + waits)


def layer_share_us(setting: Setting, row: str, layer_us: float) -> float:
    """Returns the share of one layer in the cost: q/R, or c with all delays if KV goes first."""
    if row == KV_FIRST:
        return layer_us - 1e3 * setting.layer_kb / BYTES_PER_US
    return _waits(setting, row, 0.0) / BYTES_PER_US


def _waits(setting: Setting, row: str, reach: float) -> float:
    """Returns q: the KV bytes that a layer has to let go first."""
    layer = 1e3 * setting.layer_kb
    if xoff_kb := xoff_of(row):
        return min(layer, 1e3 * xoff_kb + reach)
    share = SHARES.get(row, 0.0)
    return layer * share / (1 - share)


def one_class(xoff_kb: int) -> str:
    """Returns the name of the row with one class and an XOFF threshold."""
    return f"{ONE_CLASS}, XOFF {xoff_kb} KB"


def xoff_of(row: str) -> int:
    """Returns the XOFF threshold of a row with one class; zero for a row with two classes."""
    return int(row.split()[-2]) if row.startswith(ONE_CLASS) else 0


def _switch_of(row: str) -> tuple[dict[str, Any], int, int]:
    """Returns `switch` of a scheduling, the class of KV, and the class of experts."""
    if xoff_kb := xoff_of(row):
        return {"flow_control": {"pfc": {"xoff": f"{xoff_kb}KB"}}}, 0, 0
    switch: dict[str, Any] = {"classes": 2, "flow_control": {"pfc": {}}}
    return switch | scheduler_of(row), *classes_of(row)


def classes_of(row: str) -> tuple[int, int]:
    """Returns the classes of KV and experts of a scheduling with two classes. A strict higher class goes first."""
    return (1, 0) if row == KV_FIRST else (0, 1)


def scheduler_of(row: str) -> dict[str, Any]:
    """Returns `switch.scheduler` of a scheduling with two classes; nothing for strict classes, the default."""
    weights = _WEIGHTS.get(row)
    return {"scheduler": {"queues": [{"type": "dwrr", "weight": one} for one in weights]}} if weights else {}


def scenario(setting: Setting, row: str, *, with_kv: bool = True) -> dict[str, Any]:
    """Returns the scenario of a scheduling, with or without the KV cache."""
    switch, of_kv, of_experts = _switch_of(row)
    decode, source = setting.senders, setting.senders + 1
    graph = {"ranks": decode + 1, "hosts": list(range(decode + 1)), "operations": _operations(setting, decode)}
    workload: list[dict[str, Any]] = [{"name": "decode", "class": of_experts, "graph": graph}]
    if with_kv:
        start = f"{round(1e3 * setting.start_us)}ns"
        flow = {"src": source, "dst": decode, "size": f"{round(1e6 * setting.kv_mb)}B"}
        workload.append({"name": "kv", "class": of_kv, "start": start, "flows": [flow]})
    return {
        "name": f"{row}, {'with' if with_kv else 'without'} KV",
        "network": {"star": {"hosts": source + 1, "link": {"rate": f"{RATE_GBPS}Gbps", "delay": f"{DELAY_NS}ns"}}},
        "framing": {"payload": f"{PAYLOAD}B", "header": f"{HEADER}B"},
        "switch": switch,
        "workload": workload,
    }


def _operations(setting: Setting, decode: int) -> list[dict[str, Any]]:
    """Returns the operations of senders and decode rank, layer by layer."""
    size = f"{round(1e3 * setting.layer_kb / setting.senders)}B"
    made: list[dict[str, Any]] = []
    for layer in range(setting.layers):
        asked = {"after": [f"asked{layer - 1}"]} if layer else {}
        names = [f"got{layer}-{rank}" for rank in range(decode)]
        for rank, name in enumerate(names):
            made.append({"rank": rank, "kind": "send", "peer": decode, "size": size, **asked})
            made.append({"rank": rank, "kind": "recv", "peer": decode, "name": f"asked{layer}"})
            made.append({"rank": decode, "kind": "recv", "peer": rank, "name": name})
        compute = {"kind": "compute", "name": f"layer{layer}", "duration": f"{setting.compute_us}us", "after": names}
        made.append({"rank": decode, **compute})
        for rank in range(decode):
            made.append({"rank": decode, "kind": "send", "peer": rank, "size": "1B", "after": [f"layer{layer}"]})
    return made
