"""The work of every importer grows as its input, also for hostile inputs."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from small import Command
from xoff import InputError
from xoff.importing import chakra, goal, hpcc, htsim, requests, simai
from xoff.importing.source import read


def _goal(body: str) -> str:
    return f"num_ranks 2\nrank 0 {{\n{body}\n}}\nrank 1 {{\n}}\n"


def _star(hosts: int) -> str:
    """Returns a star whose links all have another delay."""
    links = "".join(f"{host} {hosts} 100Gbps {1000 + host}ns 0\n" for host in range(hosts))
    return f"{hosts + 1} 1 {hosts}\n{hosts}\n{links}"


_MAPS = "".join(f"{key} 1 100000000000 {value} " for key, value in (("KMIN_MAP", 1), ("KMAX_MAP", 1), ("PMAX_MAP", 1)))


def _messages(count: int) -> str:
    """Returns messages of one tag, received by any rank, last sent first."""
    sends = "".join(f"s{n}: send 1b to 0\n" for n in range(count))
    waits = "".join(f"s{n} requires s{n + 1}\n" for n in range(count - 1))
    receives = "".join(f"recv 1b from {-1 if n % 2 else 1} tag {n % 3 - 1 if n % 2 else 0}\n" for n in range(count))
    return f"num_ranks 2\nrank 0 {{\n{receives}}}\nrank 1 {{\n{sends}{waits}}}\n"


def _trace(count: int) -> str:
    nodes = [{"Id": n, "NodeType": 4, "runtime": 1, "data_deps": [0] if n else []} for n in range(count)]
    return json.dumps({"workload_graph": nodes})


_FLOWS = "1\n0 1 3 100 1000 2.0\n"
_LAYERS = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 all_gpus: 2\n"
# The texts of the files for a size, by importer and kind of input.
INPUTS: dict[str, Callable[[int], list[str]]] = {
    "goal open comments": lambda n: [_goal("/*x" * n)],
    "goal comments": lambda n: [_goal("calc 1 /*x*/ //y\n" * n)],
    "goal options": lambda n: [_goal("calc 1 " + "cpu 1 " * n)],
    "goal braces": lambda n: ["num_ranks 1\n" + "{" * n],
    "goal starts together": lambda n: [
        _goal("o0: calc 1\n" + "".join(f"o{k}: calc 1\no{k} irequires o{k - 1}\n" for k in range(1, n)))
    ],
    "goal messages": lambda n: [_messages(n)],
    "goal circle": lambda n: [_goal("".join(f"o{k}: calc 1\no{k} requires o{(k + 1) % n}\n" for k in range(n)))],
    "chakra": lambda n: [_trace(n)],
    "chakra zeros": lambda n: ["\0" * n],
    "chakra nested": lambda n: ["[" * n],
    "hpcc places": lambda n: [_star(n), _FLOWS, f"CC_MODE 3\n{_MAPS}"],
    "hpcc flows": lambda n: [_star(4), f"{n}\n" + "0 1 3 100 1000 2.0\n" * n],
    "hpcc more flows": lambda n: [_star(4), _FLOWS + "0 1 3 100 1000 2.0\n" * n],
    "hpcc unknown": lambda n: [_star(4), _FLOWS, "".join(f"KEY_{k} 1\n" for k in range(n))],
    "hpcc repeated": lambda n: [_star(4), _FLOWS, "RATE_BOUND 1\n" * n],
    "hpcc one word": lambda n: ["1" * n, _FLOWS],
    "htsim triggers": lambda n: [
        f"Nodes 2\nConnections {n}\nTriggers {n}\n0->1 id 1 start 0 size 1 send_done_trigger 1\n"
        + "".join(f"0->1 id {k + 1} trigger {k} size 1 send_done_trigger {k + 1}\n" for k in range(1, n))
        + "".join(f"trigger id {k} oneshot\n" for k in range(1, n + 1))
    ],
    "htsim endless": lambda n: [f"Nodes 2\nConnections {n}\n" + "0->1 start 0 size 0\n" * n],
    "htsim topology": lambda n: ["Nodes 4\nConnections 0\n", "Nodes 4\n" + "# Nodes 4\n" * n],
    "simai layers": lambda n: [f"{_LAYERS}{n}\n" + "a -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n" * n],
    "simai kinds": lambda n: [f"{_LAYERS}{n}\n" + "".join(f"a -1 1 K{k} 9 1 NONE 0 1 NONE 0 0\n" for k in range(n))],
    "simai header": lambda n: [_LAYERS.strip() + "".join(f" key{k}: 1" for k in range(n)) + "\n1\n"],
    "requests mooncake": lambda n: [
        "".join(
            f'{{"timestamp": {-k % 9}, "input_length": 9, "output_length": 9, "hash_ids": [{k}]}}\n' for k in range(n)
        )
    ],
    "requests azure": lambda n: [
        "TIMESTAMP,ContextTokens,GeneratedTokens\n" + "2023-11-16 18:15:46.6805900,9,9\n" * n
    ],
    "requests columns": lambda n: [
        "Timestamp,Request tokens,Response tokens" + "".join(f",c{k}" for k in range(n // 8))
    ],
}  # fmt: skip


def _convert(kind: str, files: list[Path]) -> Any:
    sources = [read(file) for file in files]
    match kind.split()[0]:
        case "goal":
            return goal.convert(sources[0])
        case "chakra":
            return chakra.convert(paths=files, groups=None)
        case "hpcc":
            return hpcc.convert(sources[0], sources[1], sources[2] if len(sources) > 2 else None)
        case "htsim":
            return htsim.convert(sources[0], sources[1] if len(sources) > 1 else None, "us")
        case "simai":
            return simai.convert(sources[0], None, None, None)
    return requests.convert(sources[0], requests.Choices())


def _calls(kind: str, folder: Path, size: int) -> int:
    """Returns the number of calls of functions, Python's own included, of an import or a refusal."""
    files = []
    for place, text in enumerate(INPUTS[kind](size)):
        files.append(folder / str(place))
        files[-1].write_text(text)
    count = 0

    def counted(*_: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(counted)
    try:
        with contextlib.suppress(InputError):
            _convert(kind, files)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("kind", INPUTS)
def test_twice_the_input_is_twice_the_work(tmp_path: Path, kind: str) -> None:
    """Counted in calls of functions, after a first import that loads what is needed."""
    _calls(kind, tmp_path, 10)
    once, twice = (_calls(kind, tmp_path, size) for size in (400, 800))
    assert twice < 2.3 * once + 100


@pytest.mark.parametrize(
    ("kind", "content", "why"),
    [
        ("goal", b"num_ranks 1\n" + b"/*x" * 10**6, "line 2: the comment does not end; close it by `*/`"),
        ("chakra", bytes(10**7), "the message at byte 1 is empty"),
    ],
)
def test_what_took_seconds_per_kilobyte_is_refused(
    xoff_here: Command, tmp_path: Path, kind: str, content: bytes, why: str
) -> None:
    """Of the search for the end of each open comment, and of a node for each zero byte, hours would be left."""
    file = tmp_path / "large"
    file.write_bytes(content)
    done = xoff_here("import", kind, file)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"xoff: error: {file}: {why}")
