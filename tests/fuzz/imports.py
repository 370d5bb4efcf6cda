"""Files of other simulators, with wrong, missing or repeated words, and flipped bytes."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random

from tests.fuzz import values
from tests.fuzz.case import Case, steps

_EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "import"
_KINDS = {
    "hpcc": ["hpcc-topology.txt", "hpcc-flows.txt", "hpcc-config.txt"],
    "htsim": ["alltoall.cm", "leaf-spine.topo"],
    "goal": ["ring.goal"],
    "simai": ["layers.txt"],
    "simai-topology": ["layers.txt", "rails.topo"],
    "chakra": ["chakra.0.json", "chakra.1.json"],
    "requests": ["requests.jsonl"],
    "requests-azure": ["azure.csv"],
    "requests-burstgpt": ["burstgpt.csv"],
}
# Made here: a published trace is no example.
_MADE = {
    "azure.csv": b"TIMESTAMP,ContextTokens,GeneratedTokens\n"
    b"2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:50.9951690,396,109\n",
    "burstgpt.csv": b"Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    b"5,ChatGPT,472,18,490,Conversation log\n45.5,GPT-4,1087,0,1087,API log\n",
}
_WORDS = [
    "",
    "-1",
    "0",
    "1",
    "9" * 25,
    "nan",
    "1e9",
    "../x",
    "->",
    "\n",
    "\0",
    "☃",
    "KMIN_MAP 3",
    "trigger",
    "1Gbps",
    "2.5",
]


@cache
def _content(name: str) -> bytes:
    return _MADE[name] if name in _MADE else (_EXAMPLES / name).read_bytes()


def draw(rng: Random) -> Case:
    """Draws files with one damaged file."""
    kind = rng.choice(list(_KINDS))
    names = _KINDS[kind]
    files = {name: _content(name) for name in names}
    hit = rng.choice(names)
    if rng.random() < 0.3:
        files[hit] = values.flipped(rng, files[hit])
    else:
        words = files[hit].decode().split(" ")
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(words) + 1)
            words[at : at + rng.choice([0, 1, 1, 3])] = [rng.choice([*_WORDS, rng.choice(words)])]
        files[hit] = " ".join(words).encode()
    return Case(files, steps(["import", kind, *names]))
