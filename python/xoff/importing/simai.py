"""Jobs of SimAI: workload files of AICB, a line for each layer with its computation and communication.

Source: SimAI's ``Workload.cc``. All ranks run the same program. Forward, layer by layer: compute, then the layer's
collective, for which the next layer waits. Backward from the last layer: compute the gradient of the input and its
collective, which is waited for; then the gradient of the weights and its collective, which overlaps with the rest.
Forward and input-gradient collectives are of tensor-parallel ranks, weight-gradient collectives of replicas, unless
their names say otherwise.

A job of all ranks is written as the program of every rank (SPMD), with families of groups: the 8,670 operations of a
rank in the place of the 79.9 million operations of 9,216 ranks.

Groups never cross a stage of the pipeline. A stage is W / PP consecutive ranks, in Megatron's rank order
``tp-cp-ep-dp-pp`` (``RankGenerator`` in ``parallel_state.py``). Within a stage, TP ranks are consecutive. Replicas (DP)
are a stride of TP apart; there are W / (TP PP), as in SimAI's ``Layer.cc``. An EP group has one rank, in equal place,
of each of EP consecutive TP groups. Replicas of an expert (DP_EP) are a stride of TP EP apart. SimAI's
``Sys::mock_nccl_comms_init`` sets PP to 1, so its DP groups cross stages and its runs hang, which its maintainers call
a fault.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise

from xoff.importing.document import MAX_SHARED, Imported, Job, Operation, Table
from xoff.importing.notes import Notes
from xoff.importing.simai_network import PAYLOAD, Fabric, fills_servers, of_template, of_topology
from xoff.importing.source import MAX_NS, Source, shown

_KINDS = {
    "ALLREDUCE": "all_reduce",
    "ALLGATHER": "all_gather",
    "REDUCESCATTER": "reduce_scatter",
    "ALLTOALL": "all_to_all",
}
_POLICY = "HYBRID_TRANSFORMER_FWD_IN_BCKWD"
_MAX_LAYERS = 2**16
# GPUs of a server without a topology.
_PER_SERVER = 8
# Computations of a layer at each rank: forward, for the gradient of the input, and for that of the weights.
_COMPUTATIONS = 3
# Values of a layer: name, dependency, three times a computation, a collective and its size; and the time of an update.
_VALUES = 12
_LEAST = 4096
"""The least size in bytes to which forward collectives are rounded up."""


@dataclass(frozen=True, slots=True)
class _Part:
    line: int
    time_ns: int
    kind: str
    """Empty without a collective."""
    group: str
    size: int


@dataclass(frozen=True, slots=True)
class _Family:
    """Groups that divide the ranks: `count` ranks of a group are `stride` apart."""

    name: str
    stride: int
    count: int

    def groups(self, ranks: int) -> Iterator[range]:
        """Yields the ranks of each group, in the order of the first ranks."""
        block = self.stride * self.count
        for first in range(0, ranks, block):
            yield from (range(first + place, first + block, self.stride) for place in range(self.stride))


@dataclass(frozen=True, slots=True)
class _Header:
    ranks: int
    tensor: int
    expert: int
    stages: int
    layers: int


def convert(
    file: Source, topology: Source | None, gpus: int | None, per_server: int | None, library: str | None = None
) -> Imported:
    """Returns the scenario of a workload: on SimAI's topology, on rails as in SimAI's template, or on a star.

    per_server: GPUs of a server; if None, as in the topology, or `_PER_SERVER`.
    library: ``nccl`` or ``textbook``; if None, ``nccl`` where servers with NVLink are known and groups share servers
        evenly.

    Raises `InputError` if the workload is not valid, or the number of GPUs is unknown.
    """
    notes = Notes()
    lines = file.lines()
    header = _header(file, lines, gpus, notes)
    layers = [_layer(file, line, words, notes) for line, words in islice(lines, header.layers)]
    if len(layers) < header.layers:
        file.wrong(file.last, f"{header.layers} layers are announced, and {len(layers)} are in the file")
    for line, words in lines:
        text = "is after the last of the announced layers, and left out, as in SimAI"
        notes.add(file, line, text, matters=len(words) == _VALUES)
    job = Job("job", settings={"ranks": header.ranks})
    families = {one.name: one for one in _families(header)}
    job.operations = _program(layers, families)
    if (total := len(job.operations) * header.ranks) > MAX_SHARED:
        why = f"{len(job.operations):,} operations of {header.ranks:,} GPUs are {total:,}"
        file.wrong(file.last, f"{why}; at most {MAX_SHARED:,} are allowed")
    used = [family for name, family in families.items() if any(one.group == name for one in job.operations)]
    job.families = {one.name: {"stride": one.stride, "count": one.count} for one in used}
    groups = (group for family in used for group in family.groups(header.ranks))
    fabric = _fabric(file, topology, (header.ranks, per_server, groups), library, job, notes)
    tables = [*fabric.tables, Table("framing", {"payload": f"{PAYLOAD}B"}), Table("switch.flow_control.pfc")]
    if not job.operations:
        file.wrong(file.last, "the workload has no layers")
    made = Imported(f"A workload of SimAI, {file.name}", "job", tables=tables, job=job, notes=notes)
    made.nodes, made.links = fabric.nodes, fabric.links
    made.file, made.place = file.path, lambda _, row: file.place(job.operations[row].where)
    return made


def _fabric(
    file: Source,
    topology: Source | None,
    gpus: tuple[int, int | None, Iterator[range]],
    library: str | None,
    job: Job,
    notes: Notes,
) -> Fabric:
    """Returns the network, and sets the library of the job.

    gpus: number of GPUs, GPUs of a server if they were given, and the groups of collectives.
    """
    ranks, given_per_server, groups = gpus
    given = None if topology is None else of_topology(topology, ranks, notes)
    per_server = given_per_server or (_PER_SERVER if given is None else given.per_server)
    if topology is not None and given is not None and per_server != given.per_server:
        topology.wrong(1, f"servers have {given.per_server:,} GPUs; remove --per-server {per_server}")
    why = ""
    if given is not None and not given.has_nvlink:
        why = "the topology has no NVSwitch"
    elif given is None and not fills_servers(ranks, per_server):
        why = "the GPUs do not fill several servers"
    elif not all(_is_even(group, per_server) for group in groups):
        why = "a group shares its servers unevenly"
    if library == "nccl" and why:
        file.wrong(1, f"--library nccl: {why}; give --library textbook")
    is_nccl = library != "textbook" and not why
    _say_of_library(file, "H100" if given is None else given.gpu, why, job, notes, is_nccl=is_nccl)
    if given is None:
        return of_template(file, ranks, per_server, notes, is_nccl=is_nccl)
    return given.fabric(notes, is_nccl=is_nccl)


def _say_of_library(file: Source, gpu: str, why: str, job: Job, notes: Notes, *, is_nccl: bool) -> None:
    """Sets the library of collectives, with notes.

    why: the reason why NCCL's collectives cannot run; empty if they can.
    """
    if is_nccl:
        job.settings["library"] = "nccl"
        text = f"collectives run as NCCL 2.30 runs them on {gpu} (library = nccl); SimAI has a model of its own"
        notes.add(file, (), text)
        return
    job.settings["library"] = "textbook"
    if why:
        notes.add(file, (), f"collectives are those of textbooks (library = textbook), because {why}")
    notes.add(
        file,
        (),
        "a ring has one channel in xoff, and in SimAI a channel for each rank of the group in a server: the bytes "
        "are equal, and the time is not",
    )
    notes.add(file, (), "messages begin at once in xoff; in SimAI after a latency of 6 us or of NCCL's table")


def _is_even(group: range, per_server: int) -> bool:
    """Whether a group has as many ranks in each of its servers."""
    counts = Counter(rank // per_server for rank in group)
    return len(set(counts.values())) == 1


def _header(file: Source, lines: Iterator[tuple[int, list[str]]], gpus: int | None, notes: Notes) -> _Header:
    head = list(islice(lines, 2))
    if len(head) < 2:
        file.wrong(file.last, "the file ends before the layers")
    line, words = head[0]
    policy, *rest = words
    if policy != _POLICY:
        notes.add(file, line, f"is of the policy {shown(policy)}, and is taken for one of {_POLICY}")
    known = {
        *("model_parallel_NPU_group:", "ep:", "pp:", "vpp:", "ga:", "all_gpus:", "pp_comm", "pp_comm:"),
        *("checkpoints:", "checkpoint_initiates:"),
    }
    values: dict[str, int] = {}
    for word, value in pairwise(rest):
        if word in known:
            if word.rstrip(":") in values:
                file.wrong(line, f"{word} is given twice; remove one")
            values[word.rstrip(":")] = file.whole(value, line, word, 2**42)
        elif word.endswith(":"):
            text = f"{shown(word)} is unknown, and left out"
            notes.add(file, line, text, matters=False, many="more keys are unknown, and left out")
    if rest and rest[-1] in known:
        file.wrong(line, f"{rest[-1]} has no value")
    if values.get("checkpoints") or values.get("checkpoint_initiates"):
        notes.add(file, line, "checkpoints are not carried over")
    if values.get("pp", 1) > 1 or values.get("pp_comm"):
        text = (
            "stages of a pipeline work at once and send no messages to each other, as in SimAI's network; the time of"
        )
        text = f"{text} bubbles (vpp, ga) and of messages between stages, a formula in SimAI, is missing"
        notes.add(file, line, text)
    if gpus is not None and values.get("all_gpus", gpus) != gpus:
        file.wrong(line, f"all_gpus: {values['all_gpus']} differs from --gpus {gpus}; remove the option")
    ranks = gpus or values.get("all_gpus")
    if not ranks:
        file.wrong(line, "the number of GPUs is missing; give --gpus")
    sizes = {key: values.get(key, 1) for key in ("model_parallel_NPU_group", "ep", "pp")}
    if (none := next((key for key, size in sizes.items() if not size), None)) is not None:
        file.wrong(line, f"{none}: 0 was given; a number of 1 or more is needed")
    tensor, expert, stages = sizes.values()
    if ranks > 2**16:
        file.wrong(line, f"all_gpus: {ranks} is too many; at most {2**16} are allowed")
    if ranks % (tensor * expert * stages):
        why = f"{stages} stages with EP groups of {expert} TP groups of {tensor} ranks"
        file.wrong(line, f"{ranks} GPUs do not make {why}; TP x EP x PP has to divide the GPUs")
    number, count = head[1]
    layers = file.whole(count[0], number, "layers", _MAX_LAYERS)
    if (least := ranks * layers * _COMPUTATIONS) > MAX_SHARED:
        why = f"{layers:,} layers on {ranks:,} GPUs are {least:,} operations or more"
        file.wrong(number, f"{why}; at most {MAX_SHARED:,} are allowed")
    return _Header(ranks, tensor, expert, stages, layers)


def _layer(file: Source, line: int, words: list[str], notes: Notes) -> tuple[_Part, _Part, _Part]:
    if len(words) != _VALUES:
        file.wrong(line, f"a layer has {_VALUES} values; found: {len(words)}")
    parts = []
    for place, (column, group) in enumerate((("forward", "TP"), ("input gradient", "TP"), ("weight gradient", "DP"))):
        time, kind, size = words[2 + 3 * place : 5 + 3 * place]
        bare = kind
        for suffix in ("_DP_EP", "_EP"):
            if kind.endswith(suffix):
                bare, group = kind.removesuffix(suffix), suffix[1:]
                break
        if bare not in _KINDS and bare != "NONE":
            why = "unknown collective, and left out, as in SimAI"
            notes.add(file, line, f"{column}: {shown(kind)} is an {why}", many=f"more layers have an {why}")
        size_bytes = file.whole(size, line, f"{column}: size", 2**46)
        if place == 0 and 0 < size_bytes < _LEAST:
            text = f"{column}: collectives of less than {_LEAST} B have {_LEAST} B, as in SimAI"
            notes.add(file, line, text, matters=False)
            size_bytes = _LEAST
        found = _KINDS.get(bare, "") if size_bytes else ""
        parts.append(_Part(line, file.whole(time, line, f"{column}: time", MAX_NS), found, group, size_bytes))
    if words[1] != "-1":
        notes.add(file, line, "the dependency (second value) is not carried over, as in SimAI", matters=False)
    if file.whole(words[-1], line, "update time", MAX_NS) and any(part.kind for part in parts):
        text = "the update after each collective of a layer (last value) takes no time in xoff, and this time in SimAI"
        notes.add(file, line, text)
    return parts[0], parts[1], parts[2]


def _families(header: _Header) -> list[_Family]:
    """Returns the groups of each kind. Each rank is in exactly one group of a kind."""
    tensor, expert, stage = header.tensor, header.expert, header.ranks // header.stages
    return [
        _Family("TP", 1, tensor),
        _Family("DP", tensor, stage // tensor),
        _Family("EP", tensor, expert),
        _Family("DP_EP", tensor * expert, stage // (tensor * expert)),
    ]


def _program(layers: list[tuple[_Part, _Part, _Part]], families: dict[str, _Family]) -> list[Operation]:
    """Returns the operations of every rank."""
    found: list[Operation] = []
    last = ""

    def add(kind: str, part: _Part, after: str) -> str:
        name = f"o{len(found)}"
        before = (after,) if after else ()
        if kind == "compute":
            one = Operation(None, kind, name, before, duration=part.time_ns * 1000, where=part.line)
        else:
            one = Operation(None, kind, name, before, size=part.size, group=part.group, where=part.line)
        found.append(one)
        return name

    def sends(part: _Part) -> bool:
        return bool(part.kind) and families[part.group].count > 1

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
    return found
