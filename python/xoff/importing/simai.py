"""Jobs of SimAI: workload files as AICB writes them, a line for each layer with what it computes and sends.

Source: SimAI's ``Workload.cc``. All ranks do the same. Forward, layer by layer: compute, then the layer's collective,
which the next one waits for. Backward from the last layer: compute the gradient of the input and its collective, which
what comes next waits for, then that of the weights and its collective, which goes on beside it. Collectives of the
first two are of tensor-parallel ranks, those of weights of replicas, unless their names say otherwise.

Groups: TP ranks follow one another; replicas have a stride of W / DP; EP is the same place in as many TP groups that
follow one another; DP_EP has a stride of EP of those.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from xoff.importing.document import Imported, Job, Operation, Table
from xoff.importing.notes import Notes
from xoff.importing.source import Source, shown

_KINDS = {
    "ALLREDUCE": "all_reduce",
    "ALLGATHER": "all_gather",
    "REDUCESCATTER": "reduce_scatter",
    "ALLTOALL": "all_to_all",
}
_POLICY = "HYBRID_TRANSFORMER_FWD_IN_BCKWD"
_MAX_LAYERS = 2**16
_LEAST = 4096
"""What a smaller collective of a layer forward is raised to."""


@dataclass(frozen=True, slots=True)
class _Part:
    time_ns: int
    kind: str
    """None of a collective."""
    group: str
    size: int


@dataclass(frozen=True, slots=True)
class _Header:
    ranks: int
    tensor: int
    expert: int
    layers: int


def convert(file: Source, gpus: int | None, per_server: int) -> Imported:
    """Turn a workload into a scenario: servers on rails as SimAI's template has them."""
    notes = Notes()
    lines = list(file.lines())
    header = _header(file, lines, gpus, notes)
    layers = [_layer(file, line, words, notes) for line, words in lines[2 : 2 + header.layers]]
    if len(layers) < header.layers:
        file.wrong(file.last, f"{header.layers} layers are announced, and {len(layers)} are there")
    for line, _ in lines[2 + header.layers :]:
        notes.add(file, line, "stands after the last layer, and is left out", matters=False)
    job = Job("job")
    groups = {name: _groups(name, header) for name in ("TP", "DP", "EP", "DP_EP")}
    for rank in range(header.ranks):
        _program(job, rank, layers, groups, header)
    used = {one.group for one in job.operations if one.group}
    for name, found in groups.items():
        for number, ranks in enumerate(found):
            if f"{name}{number}" in used:
                job.groups[f"{name}{number}"] = ranks
    text = "the network is not in the file: rails as in SimAI's template, 2880 Gb/s in servers, 400 Gb/s on rails"
    notes.add(file, (), text)
    notes.add(
        file, (), "a ring has one channel here; there as many as a server has of its ranks: the bytes are the same"
    )
    notes.add(file, (), "messages begin at once here; there after a latency of 6 us or of NCCL's table")
    if header.ranks % per_server == 0 and header.ranks > per_server:
        tables = [
            Table("network.rail", {"servers": header.ranks // per_server, "gpus_per_server": per_server}),
            Table("network.rail.scale_up", {"rate": "2880Gbps", "delay": "25ns"}),
            Table("network.rail.rail", {"rate": "400Gbps", "delay": "500ns"}),
        ]
    else:
        tables = [
            Table("network.star", {"hosts": header.ranks}),
            Table("network.star.link", {"rate": "2880Gbps", "delay": "25ns"}),
        ]
    tables += [Table("framing", {"payload": "9000B"}), Table("switch.flow_control.pfc")]
    return Imported(f"A workload of SimAI, {file.name}", "job", tables=tables, job=job, notes=notes)


def _header(file: Source, lines: list[tuple[int, list[str]]], gpus: int | None, notes: Notes) -> _Header:
    if len(lines) < 2:
        file.wrong(file.last, "the file ends before its layers")
    line, words = lines[0]
    policy, *rest = words
    if policy != _POLICY:
        notes.add(file, line, f"is of the policy {shown(policy)}, and is taken for one of {_POLICY}")
    known = {"model_parallel_NPU_group:", "ep:", "pp:", "vpp:", "ga:", "all_gpus:", "pp_comm", "pp_comm:"}
    values: dict[str, int] = {}
    for word, value in pairwise(rest):
        if word in known:
            values[word.rstrip(":")] = file.whole(value, line, word, 2**42)
    if values.get("checkpoints"):
        notes.add(file, line, "checkpoints are not carried over")
    if values.get("pp", 1) > 1 or values.get("pp_comm"):
        notes.add(file, line, "stages of a pipeline are not carried over: nothing is sent between them there, either")
    ranks = gpus or values.get("all_gpus")
    if not ranks:
        file.wrong(line, "it does not say how many GPUs there are; give --gpus")
    tensor, expert = values.get("model_parallel_NPU_group", 1) or 1, values.get("ep", 1) or 1
    if ranks > 2**16 or ranks % tensor or (ranks // tensor) % expert:
        file.wrong(line, f"{ranks} GPUs do not make groups of {tensor} tensor-parallel ranks, and of {expert} of those")
    number, count = lines[1]
    return _Header(ranks, tensor, expert, file.whole(count[0], number, "layers", _MAX_LAYERS))


def _layer(file: Source, line: int, words: list[str], notes: Notes) -> tuple[_Part, _Part, _Part]:
    if len(words) != 12:
        file.wrong(line, f"a layer has 12 values; there are {len(words)}")
    parts = []
    for place, (column, group) in enumerate((("forward", "TP"), ("input gradient", "TP"), ("weight gradient", "DP"))):
        time, kind, size = words[2 + 3 * place : 5 + 3 * place]
        bare = kind
        for suffix in ("_DP_EP", "_EP"):
            if kind.endswith(suffix):
                bare, group = kind.removesuffix(suffix), suffix[1:]
                break
        if bare not in _KINDS and bare != "NONE":
            notes.add(file, line, f"{column}: {shown(kind)} is no collective that is known, and is left out, as there")
        size_bytes = file.whole(size, line, f"{column}: size", 2**46)
        if place == 0 and 0 < size_bytes < _LEAST:
            size_bytes = _LEAST
        found = _KINDS.get(bare, "") if size_bytes else ""
        parts.append(_Part(file.whole(time, line, f"{column}: time", 10**12), found, group, size_bytes))
    return parts[0], parts[1], parts[2]


def _groups(name: str, header: _Header) -> list[list[int]]:
    """Return the groups of a kind, by number."""
    ranks, tensor, expert = header.ranks, header.tensor, header.expert
    if name == "TP":
        return [list(range(first, first + tensor)) for first in range(0, ranks, tensor)]
    if name == "DP":
        return [list(range(place, ranks, tensor)) for place in range(tensor)]
    if name == "EP":
        blocks = range(0, ranks, tensor * expert)
        return [list(range(b + place, b + tensor * expert, tensor)) for b in blocks for place in range(tensor)]
    return [list(range(place, ranks, tensor * expert)) for place in range(tensor * expert)]


def _program(
    job: Job, rank: int, layers: list[tuple[_Part, _Part, _Part]], groups: dict[str, list[list[int]]], header: _Header
) -> None:
    """List what a rank does."""
    last, number = "", 0
    numbers = {
        "TP": rank // header.tensor,
        "DP": rank % header.tensor,
        "EP": rank // (header.tensor * header.expert) * header.tensor + rank % header.tensor,
        "DP_EP": rank % (header.tensor * header.expert),
    }

    def add(kind: str, part: _Part, after: str) -> str:
        nonlocal number
        name = f"o{number}"
        number += 1
        before = (after,) if after else ()
        if kind == "compute":
            job.operations.append(Operation(rank, kind, name, before, duration=part.time_ns * 1000))
        else:
            group = f"{part.group}{numbers[part.group]}"
            one = Operation(rank, kind, name, before, size=part.size, group=group, label=part.group)
            job.operations.append(one)
        return name

    def sends(part: _Part) -> bool:
        return bool(part.kind) and len(groups[part.group][numbers[part.group]]) > 1

    for forward, _, _ in layers:
        last = add("compute", forward, last)
        if sends(forward):
            last = add(forward.kind, forward, last)
    for _, gradient, weights in reversed(layers):
        last = add("compute", gradient, last)
        if sends(gradient):
            last = add(gradient.kind, gradient, last)
        last = add("compute", weights, last)
        if sends(weights):
            add(weights.kind, weights, last)
