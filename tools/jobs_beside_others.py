"""Runs jobs in xoff, LogGOPSim and ASTRA-sim, and compares the durations.

    python tools/jobs_beside_others.py list
    python tools/jobs_beside_others.py write out/jobs ring-8
    python tools/jobs_beside_others.py run --peers PEERS --out out/jobs ring-8 all_gather-8

PEERS holds the programs, built as docs/beside-others.md describes, in the directories `LogGOPSim` and `astra-sim`.
Without names, all cases run. The duration of a job is from zero until the last rank is done.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import xoff
from xoff.importing.chakra_messages import METADATA, NODE

# LogGOPSim counts whole nanoseconds: one byte per nanosecond, and three microseconds of network latency.
PACKET = 1000
GOAL_RATE_BPS = 8 * 10**9
LATENCY_NS = 3000
# A GB/s of ASTRA-sim is 2^30 bytes per second.
ASTRA_GB, ASTRA_LATENCY_NS = 50, 500
ASTRA_BPS = ASTRA_GB * 2**30 * 8
ASTRA_PACKET = 1024
# The roofline of the case `roofline-4`.
PEAK_TFLOPS, MEMORY_GB = 100, 1000


@dataclass
class Rank:
    """The operations of a rank, as lines of GOAL."""

    lines: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, what: str, *after: str) -> str:
        """Adds an operation after given operations; returns the label."""
        self.count += 1
        name = f"o{self.count}"
        self.lines.append(f"{name}: {what}")
        self.lines += [f"{name} requires {other}" for other in after if other]
        return name


Program = Callable[[list[Rank]], None]


def goal(count: int, program: Program, *, has_cpus: bool = False) -> str:
    """Returns a schedule of `count` ranks.

    In LogGOPSim a receiving rank's processor, of the number that the sender names, is busy while a message arrives.
    With `has_cpus` each rank sends with its own processor number, so that it can send while messages of others arrive.
    Schedules with `requires` do not use `has_cpus`: an operation would not wait for an incoming message.
    """
    ranks = [Rank() for _ in range(count)]
    program(ranks)
    body = ""
    for number, rank in enumerate(ranks):
        cpu = f" cpu {number + 1}" if has_cpus else ""
        lines = [line + cpu if ": send" in line else line for line in rank.lines]
        body += f"rank {number} {{\n" + "\n".join(lines) + "\n}\n"
    return f"num_ranks {count}\n{body}"


def ring(size: int, *, both_ways: bool = False) -> Program:
    """Returns an all-gather in a ring: each rank passes on the received data."""

    def program(ranks: list[Rank]) -> None:
        for way in (1, -1) if both_ways else (1,):
            for number, rank in enumerate(ranks):
                came = ""
                for step in range(len(ranks) - 1):
                    rank.add(f"send {size}b to {(number + way) % len(ranks)} tag {way + 1}{step}", came)
                    came = rank.add(f"recv {size}b from {(number - way) % len(ranks)} tag {way + 1}{step}")

    return program


def broadcast(size: int) -> Program:
    """Returns a binomial tree; each rank sends to all of its children at once, the nearest first."""

    def program(ranks: list[Rank]) -> None:
        for number, rank in enumerate(ranks):
            step = 1
            while step <= number:
                step *= 2
            came = rank.add(f"recv {size}b from {number - step // 2}") if number else ""
            while number + step < len(ranks):
                rank.add(f"send {size}b to {number + step}", came)
                step *= 2

    return program


def spread(size: int) -> Program:
    """Returns a program in which the first rank sends to all others at once."""

    def program(ranks: list[Rank]) -> None:
        for other in range(1, len(ranks)):
            ranks[0].add(f"send {size}b to {other}")
            ranks[other].add(f"recv {size}b from 0")

    return program


def gather(size: int) -> Program:
    """Returns a program in which all others send to the first rank at once."""

    def program(ranks: list[Rank]) -> None:
        for other in range(1, len(ranks)):
            ranks[other].add(f"send {size}b to 0")
            ranks[0].add(f"recv {size}b from {other}")

    return program


def all_to_all(size: int, *, in_turn: bool) -> Program:
    """Returns an all-to-all at once: each rank begins with the next rank, or all in the same order."""

    def program(ranks: list[Rank]) -> None:
        count = len(ranks)
        for number, rank in enumerate(ranks):
            others = [(number + step) % count for step in range(1, count)] if in_turn else range(count)
            for other in others:
                if other != number:
                    rank.add(f"send {size}b to {other}")
                    rank.add(f"recv {size}b from {other}")

    return program


def doubling(size: int) -> Program:
    """Returns exchanges between pairs, over distances of 1, 2, 4, and so on."""

    def program(ranks: list[Rank]) -> None:
        for number, rank in enumerate(ranks):
            before: tuple[str, ...] = ()
            step = 1
            while step < len(ranks):
                sent = rank.add(f"send {size}b to {number ^ step} tag {step}", *before)
                before = sent, rank.add(f"recv {size}b from {number ^ step} tag {step}", *before)
                step *= 2

    return program


def pipeline(size: int, batches: int, compute_ns: int) -> Program:
    """Returns a pipeline whose stages compute each received batch and send it on."""

    def program(ranks: list[Rank]) -> None:
        for number, rank in enumerate(ranks):
            for batch in range(batches):
                came = rank.add(f"recv {size}b from {number - 1} tag {batch}") if number else ""
                done = rank.add(f"calc {compute_ns}", came)
                if number + 1 < len(ranks):
                    rank.add(f"send {size}b to {number + 1} tag {batch}", done)

    return program


def halo(size: int, side: int, rounds: int, compute_ns: int) -> Program:
    """Returns a square of ranks, each of which computes and exchanges its borders with four neighbours."""

    def program(ranks: list[Rank]) -> None:
        for number, rank in enumerate(ranks):
            row, column = divmod(number, side)
            ways = [(row, (column + 1) % side), (row, (column - 1) % side)]
            ways += [((row + 1) % side, column), ((row - 1) % side, column)]
            before: list[str] = []
            for turn in range(rounds):
                done = rank.add(f"calc {compute_ns}", *before)
                before = []
                for way, (r, c) in enumerate(ways):
                    rank.add(f"send {size}b to {r * side + c} tag {turn}{way}", done)
                    before.append(rank.add(f"recv {size}b from {r * side + c} tag {turn}{way ^ 1}", done))

    return program


def tree(seed: int, *, is_down: bool) -> Program:
    """Returns a random tree: data flow from the root down, with a computation at each rank, or up to the root."""

    def program(ranks: list[Rank]) -> None:
        draw = random.Random(seed)  # noqa: S311 - nothing here is a secret
        above = [draw.randrange(number) if number else -1 for number in range(len(ranks))]
        sizes = [draw.randint(1, 300) * PACKET for _ in ranks]
        for number, rank in enumerate(ranks):
            below = [other for other in range(len(ranks)) if above[other] == number]
            if is_down:
                came = [rank.add(f"recv {sizes[number]}b from {above[number]}")] if number else []
            else:
                came = [rank.add(f"recv {sizes[other]}b from {other}") for other in below]
            done = rank.add(f"calc {draw.randint(1, 100) * 1000}", *came)
            if is_down:
                for other in below:
                    rank.add(f"send {sizes[other]}b to {other}", done)
            elif number:
                rank.add(f"send {sizes[number]}b to {above[number]}", done)

    return program


def drawn(seed: int, messages: int) -> Program:
    """Returns messages between random ranks, each after a computation that follows an earlier operation."""

    def program(ranks: list[Rank]) -> None:
        draw = random.Random(seed)  # noqa: S311 - nothing here is a secret
        last = ["" for _ in ranks]
        for tag in range(messages):
            src, dst = draw.sample(range(len(ranks)), 2)
            size = draw.randint(1, 300) * PACKET
            done = ranks[src].add(f"calc {draw.randint(1, 100) * 1000}", last[src])
            ranks[src].add(f"send {size}b to {dst} tag {tag}", done)
            last[src] = done
            last[dst] = ranks[dst].add(f"recv {size}b from {src} tag {tag}", last[dst])

    return program


GOALS: dict[str, str] = {
    **{f"ring-{n}": goal(n, ring(100 * PACKET)) for n in (2, 4, 8, 16)},
    **{f"double-ring-{n}": goal(n, ring(100 * PACKET, both_ways=True)) for n in (4, 8)},
    **{f"broadcast-{n}": goal(n, broadcast(1000 * PACKET)) for n in (4, 8, 16, 32)},
    **{f"spread-{n}": goal(n, spread(100 * PACKET)) for n in (4, 8)},
    **{f"gather-{n}": goal(n, gather(100 * PACKET)) for n in (4, 8)},
    **{f"all-to-all-{n}": goal(n, all_to_all(100 * PACKET, in_turn=True)) for n in (4, 8, 16)},
    **{f"all-to-all-same-{n}": goal(n, all_to_all(100 * PACKET, in_turn=False)) for n in (4, 8)},
    **{f"doubling-{n}": goal(n, doubling(200 * PACKET)) for n in (4, 8, 16)},
    **{f"chain-{n}": goal(n, pipeline(50 * PACKET, 1, 80_000)) for n in (2, 8)},
    **{f"tree-{seed}": goal(12, tree(seed, is_down=True)) for seed in range(8)},
    **{f"sum-{seed}": goal(12, tree(seed, is_down=False)) for seed in range(8)},
    **{f"pipeline-{n}": goal(n, pipeline(50 * PACKET, 8, 80_000)) for n in (2, 4, 8)},
    "pipeline-slow": goal(4, pipeline(200 * PACKET, 8, 80_000)),
    "small-messages": goal(8, doubling(PACKET)),
    "halo-9": goal(9, halo(50 * PACKET, 3, 3, 100_000)),
    "halo-16": goal(16, halo(50 * PACKET, 4, 3, 100_000)),
    **{f"drawn-{seed}": goal(6, drawn(seed, 40)) for seed in range(8)},
    **{f"all-to-all-{n}-cpus": goal(n, all_to_all(100 * PACKET, in_turn=True), has_cpus=True) for n in (4, 8, 16)},
    **{f"all-to-all-same-{n}-cpus": goal(n, all_to_all(100 * PACKET, in_turn=False), has_cpus=True) for n in (4, 8)},
}


@dataclass(frozen=True)
class Trace:
    """A job of ASTRA-sim: nodes of each rank, the network, and the algorithm of collectives."""

    ranks: list[list[dict[str, Any]]]
    topology: str = "Ring"
    algorithm: str = "ring"
    packet: int = ASTRA_PACKET
    has_roofline: bool = False


def collective(kind: int, size: int, ranks: int) -> list[list[dict[str, Any]]]:
    """Returns one collective of all ranks."""
    return [[{"id": 1, "type": 7, "attr": {"comm_type": kind, "comm_size": size}}] for _ in range(ranks)]


def layers(count: int, ranks: int, *, is_beside: bool) -> list[list[dict[str, Any]]]:
    """Returns layers that compute 20 us and reduce 1 MiB; the next layer waits for the sum, or overlaps."""
    nodes: list[dict[str, Any]] = []
    for layer in range(count):
        after = [2 * layer - 1 if is_beside else 2 * layer] if layer else []
        nodes.append({"id": 2 * layer + 1, "type": 4, "duration_micros": 20, "data_deps": after})
        attributes = {"comm_type": 0, "comm_size": 2**20}
        nodes.append({"id": 2 * layer + 2, "type": 7, "data_deps": [2 * layer + 1], "attr": attributes})
    return [nodes for _ in range(ranks)]


def roofline(ranks: int) -> list[list[dict[str, Any]]]:
    """Returns a compute-bound operation, a memory-bound operation, and an all-reduce of 1 MiB."""
    sizes = [{"num_ops": 10**12, "tensor_size": 10**9}, {"num_ops": 10**9, "tensor_size": 10**9}]
    nodes: list[dict[str, Any]] = [{"id": 1, "type": 4, "attr": sizes[0]}]
    nodes.append({"id": 2, "type": 4, "data_deps": [1], "attr": sizes[1]})
    nodes.append({"id": 3, "type": 7, "data_deps": [2], "attr": {"comm_type": 0, "comm_size": 2**20}})
    return [nodes for _ in range(ranks)]


def stages(ranks: int, batches: int, size: int) -> list[list[dict[str, Any]]]:
    """Returns stages that compute each batch for 10 us and send it on."""
    found: list[list[dict[str, Any]]] = []
    for rank in range(ranks):
        nodes: list[dict[str, Any]] = []
        for batch in range(batches):
            first, tag = 3 * batch + 1, {"comm_tag": batch, "comm_size": size}
            if rank:
                ends = {"comm_src": rank - 1, "comm_dst": rank}
                nodes.append({"id": first, "type": 6, "attr": {**ends, **tag}})
            after = [first] if rank else []
            nodes.append({"id": first + 1, "type": 4, "duration_micros": 10, "data_deps": after})
            if rank + 1 < ranks:
                ends = {"comm_src": rank, "comm_dst": rank + 1}
                nodes.append({"id": first + 2, "type": 5, "data_deps": [first + 1], "attr": {**ends, **tag}})
        found.append(nodes)
    return found


_KINDS = {"all_reduce": 0, "all_gather": 2, "reduce_scatter": 7}
TRACES: dict[str, Trace] = {
    **{f"{name}-{n}": Trace(collective(kind, 2**20, n)) for name, kind in _KINDS.items() for n in (4, 8, 16)},
    # A message is one packet, since ASTRA-sim's switch forwards whole messages.
    **{f"all_to_all-{n}": Trace(collective(6, 4096 * n, n), "Switch", "direct", 4096) for n in (4, 8, 16)},
    "layers-8": Trace(layers(4, 8, is_beside=False)),
    "layers-beside-8": Trace(layers(4, 8, is_beside=True)),
    "roofline-4": Trace(roofline(4), has_roofline=True),
    "stages-4": Trace(stages(4, 6, 2**18), "FullyConnected"),
    "stages-4-slow": Trace(stages(4, 6, 2**20), "FullyConnected"),
}


# Attributes that Chakra's feeder does not read as `int64_val`.
_KINDS_OF_NUMBERS = dict.fromkeys(("comm_src", "comm_dst", "comm_tag"), "int32_val") | {"tensor_size": "uint64_val"}


def encoded(nodes: Iterable[dict[str, Any]]) -> bytes:
    """Returns a trace: metadata, then nodes, each after its length."""
    messages = [METADATA(version="0.0.4")]
    for one in nodes:
        node = NODE(id=one["id"], type=one["type"], duration_micros=one.get("duration_micros", 0))
        node.data_deps.extend(one.get("data_deps", ()))
        node.attr.add(name="is_cpu_op", bool_val=False)
        for key, value in one.get("attr", {}).items():
            node.attr.add(name=key, **{_KINDS_OF_NUMBERS.get(key, "int64_val"): value})
        messages.append(node)
    content = b""
    for message in messages:
        text = message.SerializeToString()
        left, length = len(text), b""
        while left > 0x7F:
            left, length = left >> 7, length + bytes([left & 0x7F | 0x80])
        content += length + bytes([left]) + text
    return content


def write(name: str, folder: Path) -> list[Path]:
    """Writes the files of a case; returns the files that xoff imports."""
    folder.mkdir(parents=True, exist_ok=True)
    if name in GOALS:
        file = folder / f"{name}.goal"
        file.write_text(GOALS[name], "utf-8")
        return [file]
    case = TRACES[name]
    files = []
    for rank, nodes in enumerate(case.ranks):
        files.append(folder / f"{name}.{rank}.et")
        files[-1].write_bytes(encoded(nodes))
    ways = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")
    system: dict[str, Any] = {
        "scheduling-policy": "FIFO",
        "endpoint-delay": 1,
        "active-chunks-per-dimension": 1,
        "preferred-dataset-splits": 1,
        **{f"{way}-implementation": [case.algorithm] for way in ways},
        "collective-optimization": "baseline",
        "local-mem-bw": MEMORY_GB if case.has_roofline else 10**6,
        "boost-mode": 0,
        **({"roofline-enabled": 1, "peak-perf": PEAK_TFLOPS} if case.has_roofline else {}),
    }
    (folder / "system.json").write_text(json.dumps(system, indent=1), "utf-8")
    (folder / "memory.json").write_text('{"memory-type": "NO_MEMORY_EXPANSION"}\n', "utf-8")
    network = f"topology: [ {case.topology} ]\nnpus_count: [ {len(files)} ]\nbandwidth: [ {ASTRA_GB}.0 ]\n"
    (folder / "network.yml").write_text(f"{network}latency: [ {ASTRA_LATENCY_NS}.0 ]\n", "utf-8")
    return files


def commands(name: str, folder: Path, peers: Path) -> list[list[str]]:
    """Returns the commands of the other program; the last one prints the duration of the job."""
    if name in GOALS:
        tools = peers / "LogGOPSim" / "src" / "LogGOPSim"
        schedule = str(folder / f"{name}.bin")
        values = ["-L", str(LATENCY_NS), "-o", "0", "-g", "0", "-G", "1", "-O", "0", "-S", str(10**9)]
        convert = [str(tools / "txt2bin"), "-i", str(folder / f"{name}.goal"), "-o", schedule]
        return [convert, [str(tools / "LogGOPSim"), "-f", schedule, *values]]
    program = peers / "astra-sim/build/astra_analytical/build/bin/AstraSim_Analytical_Congestion_Aware"
    options = {"workload": name, "system": "system.json", "remote-memory": "memory.json", "network": "network.yml"}
    return [[str(program), *(f"--{key}-configuration={folder / file}" for key, file in options.items())]]


def other_ns(name: str, folder: Path, peers: Path) -> int:
    """Runs the other program; returns the duration of the job in nanoseconds."""
    for command in commands(name, folder, peers):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{name}: {command[0]} ended with {done.returncode}: {done.stderr[-300:]}")
    pattern = r"^(?:Host|Maximum finishing time at host) \d+: (\d+)" if name in GOALS else r"finished, (\d+) cycles"
    found = [int(one) for one in re.findall(pattern, done.stdout, re.MULTILINE)]
    if not found:
        raise SystemExit(f"{name}: {command[0]} does not say when its ranks are done")
    return max(found)


def network(name: str) -> dict[str, Any]:
    """Returns the settings with which a message takes as long as in the other program: its bytes, and the latency once.

    xoff's switch stores whole frames: the delay of its two links is reduced by the time of one frame.
    """
    is_goal = name in GOALS
    packet = PACKET if is_goal else TRACES[name].packet
    rate = GOAL_RATE_BPS if is_goal else ASTRA_BPS
    frame = 8 * packet * 10**12 // rate
    # In ASTRA-sim's switch topology each link has the latency, and a message crosses two.
    delay = ASTRA_LATENCY_NS * 1000
    if is_goal or TRACES[name].topology != "Switch":
        delay = ((LATENCY_NS if is_goal else ASTRA_LATENCY_NS) * 1000 - frame) // 2
    sizes = {"payload": f"{packet}B", "header": "0B", "preamble_and_ifg": "0B", "min_frame_size": "64B"}
    link = {"rate": f"{rate}bps", "delay": f"{delay}ps"}
    return {"network.star.link": link, "framing": sizes, "switch": {}, "host.transport.raw": {}}


def imported(name: str, files: list[Path], folder: Path, *, in_turn: bool) -> Path:
    """Imports a case; returns the scenario. `in_turn`: whether a rank sends one message after the other."""
    kind = "goal" if name in GOALS else "chakra"
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "xoff", "import", kind, *map(str, files), "--out", str(folder)]
    if name in TRACES and TRACES[name].has_roofline:
        command += ["--flops", f"{PEAK_TFLOPS}e12", "--memory-bandwidth", f"{MEMORY_GB}e9"]
    if kind == "goal":
        command += ["--order", "message" if in_turn else "packet"]
    subprocess.run(command, capture_output=True, check=True)
    return folder / "scenario.toml"


def xoff_ns(name: str, scenario: Path) -> float:
    """Runs a case in xoff; returns the duration of the job in nanoseconds."""
    result = xoff.run(scenario, overrides=network(name))
    (one,) = result.summary["workloads"].values()
    job: dict[str, Any] = {**one["job"]}
    return float(job["iteration_ps"]) / 1000


def _run(chosen: argparse.Namespace) -> Iterator[str]:
    yield "| case | there, ns | xoff, ns | ratio | messages one after another |"
    yield "|---|---|---|---|---|"
    for name in chosen.cases or [*GOALS, *TRACES]:
        folder = (chosen.out / name).resolve()
        files = write(name, folder)
        there = other_ns(name, folder, chosen.peers.resolve())
        here = xoff_ns(name, imported(name, files, folder / "xoff", in_turn=False))
        row = f"| {name} | {there:,} | {here:,.0f} | {here / there:.4f} |"
        if name in GOALS:
            turn = xoff_ns(name, imported(name, files, folder / "in-turn", in_turn=True))
            row += f" {turn:,.0f} ({turn / there:.4f}) |"
        yield row if name in GOALS else f"{row} – |"


def main() -> int:
    """Runs the requested command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("list", help="names all cases")
    writing = verbs.add_parser("write", help="writes the files of cases")
    writing.add_argument("out", type=Path)
    running = verbs.add_parser("run", help="runs cases in both programs")
    running.add_argument("--peers", type=Path, required=True)
    running.add_argument("--out", type=Path, required=True)
    for one in (writing, running):
        one.add_argument("cases", nargs="*", metavar="CASE", help="default: all")
    chosen = parser.parse_args()
    if unknown := set(getattr(chosen, "cases", ())) - {*GOALS, *TRACES}:
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    if chosen.verb == "list":
        print(*GOALS, *TRACES, sep="\n")
    elif chosen.verb == "write":
        for name in chosen.cases or [*GOALS, *TRACES]:
            write(name, chosen.out / name)
    else:
        for line in _run(chosen):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
