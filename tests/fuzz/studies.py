"""Study files: examples and small studies, with damaged parts, any axis, and flipped bytes."""

from __future__ import annotations

import json
import tomllib
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz import values
from tests.fuzz.case import Case, steps
from tests.fuzz.documents import SMALL, examples

from xoff.study import settings

_EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
_SHORT = {**tomllib.loads(SMALL), "until": "5us"}


@cache
def _files() -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(_EXAMPLES.glob("sweep-*.toml"))}


def draw(rng: Random) -> Case:
    """Draws a study and its base."""
    base = {"incast.toml": examples()["incast.toml"], "base.json": values.as_json(_SHORT)}
    if rng.random() < 0.3:
        name = rng.choice(list(_files()))
        content = values.flipped(rng, _files()[name])
        return Case({**base, "study.toml": content}, steps(["check-study", "study.toml"]))
    document = _study(rng) if rng.random() < 0.7 else tomllib.loads(rng.choice(list(_files().values())).decode())
    if rng.random() < 0.8:
        document = values.damaged(rng, document)
    return Case({**base, "study.json": values.as_json(document)}, steps(["check-study", "study.json"]))


def _study(rng: Random) -> dict[str, Any]:
    """A study of few short runs."""
    document: dict[str, Any] = {"base": "base.json", "seeds": rng.choice([1, 2, [3, 4]])}
    if rng.random() < 0.8:
        document["axes"] = {_path(rng): _levels(rng) for _ in range(rng.randint(1, 2))}
    if rng.random() < 0.5:
        document["variants"] = {name: {_path(rng): values.amount(rng)} for name in rng.choice([["A"], ["A", "B"]])}
    if rng.random() < 0.3:
        document["metrics"] = [rng.choice(["fct_mean_ps", "pfc_pauses", "fct_p98_ps", "x"])]
    if rng.random() < 0.3:
        document["keep"] = rng.choice([[], ["flows"], ["packets"], ["x"]])
    if rng.random() < 0.3:
        method = rng.choice(["screening", "morris", "sobol", "x"])
        option = rng.choice(["resolution", "trajectories", "levels", "samples", "pairs", "seed", "method"])
        document["design"] = rng.choice(
            [method, {"method": method, option: rng.choice([4, 16, True, values.leaf(rng)])}]
        )
    if rng.random() < 0.2:
        document["with"] = [{"switch.forwarding_latency": ["1us"], "seed": [2]}]
    return document


def _path(rng: Random) -> str:
    right = ["switch.forwarding_latency", "switch.flow_control.pfc.xoff", "workload[0].incast.size", "framing.payload"]
    if rng.random() < 0.7:
        return rng.choice(right)
    return rng.choice(sorted(settings.kinds())).replace("[]", "[0]")


def _levels(rng: Random) -> Any:
    kind = rng.randrange(6)
    if kind == 5:
        return {"from": rng.choice(["1KB", "1us", 1, 0]), "to": rng.choice(["30KB", "2us", 9]), "scale": "linear"}
    if kind == 0:
        return {"from": values.leaf(rng), "to": values.leaf(rng), "points": rng.choice([2, 3, 0, -1, 10**9])}
    if kind == 1:
        return json.loads(json.dumps(values.value(rng, 2)))
    return rng.choice([["1us", "2us"], ["20KB", "100KB"], ["1KB"], [1, 2], []])
