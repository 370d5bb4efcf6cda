"""Decode beside KV caches: the deployment of the serving page on an oversubscribed fabric, under the compared rows.

Four servers of eight GPUs compute prompts, and send KV caches to two servers that make tokens (EP 16). Bulk traffic is
KV caches, and urgent traffic is the tokens of experts. The deployment is that of `xoff_experiments.serving._fabric`,
with four spines in the place of eight, and fewer requests.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from xoff_experiments.ai_fabrics._rows import FRAMING, Fabric, link, tables
from xoff_experiments.serving import _fabric as deployment
from xoff_experiments.serving._link import ONE_CLASS

NAME = deployment.NAME
REQUESTS, WINDOW_MS, OUTPUT, STEPS = 16, 14.0, 16, 40
COMPUTED = deployment.INPUT - deployment.CACHED
"""Tokens of a prompt outside the prefix cache: prefill computes as long at all lengths of prompts."""
INCAST = 8
"""Ranks of the other decode server that send tokens of experts to a rank at once: N of the document's formulas."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Prompts, KV caches and fabric of a run."""

    fabric: Fabric = field(default_factory=lambda: Fabric(incast=INCAST))
    spines: int = 4
    """Four spines are oversubscribed 2:1."""
    prompt: int = deployment.INPUT
    requests: int = REQUESTS
    output: int = OUTPUT
    steps: int = STEPS
    seed: int = 1


def scenario(setting: Setting, row: str) -> dict[str, Any]:
    """Returns the scenario of a row."""
    found = tables(row, setting.fabric)
    base = deployment.Setting(
        requests=setting.requests,
        window_ms=WINDOW_MS,
        output=setting.output,
        steps=setting.steps,
        seed=setting.seed,
    )
    made = deployment.scenario(base, ONE_CLASS)
    shape = made["network"]["leaf_spine"] | {"spines": setting.spines, "link": link(setting.fabric)}
    network = made["network"] | {"leaf_spine": shape}
    (workload,) = made["workload"]
    serving = workload["serving"]
    serving = serving | {
        "kv": serving["kv"] | {"class": found.bulk},
        "experts": serving["experts"] | {"class": found.urgent},
        "requests": [_longer(one, setting.prompt) for one in serving["requests"]],
    }
    return made | {
        "name": row,
        "network": network,
        "framing": FRAMING,
        "switch": found.switch,
        "host": found.host,
        "workload": [workload | {"serving": serving}],
    }


def _longer(request: dict[str, Any], prompt: int) -> dict[str, Any]:
    """Returns a request with another length of the prompt; the sequences of the start stay."""
    if request["input_tokens"] != deployment.INPUT:
        return request
    return request | {"input_tokens": prompt, "cached_tokens": prompt - COMPUTED}
