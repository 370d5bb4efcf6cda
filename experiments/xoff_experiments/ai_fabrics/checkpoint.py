"""Checkpoint writes beside a training job: the cost to the job.

64 GPUs train, and write their state to eight storage hosts while the next iterations run. The *cost* of a checkpoint is
the time by which the mean iteration is longer than without a checkpoint. Each setting differs from the main setting in
one value, and has four or five seeds, which draw paths and the moment of the checkpoint.

The sentences were written after single runs of one to three seeds at the main setting and with the two other jobs, and
before the runs of the page. C.20 to C.28, on the pause to a target, were written after the variants of
`ai-fabrics/tuning` had shown this pause at two settings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from xoff.reproduce import chosen, given, run_name
from xoff.reproduce.sentences import Sentence, judged, table
from xoff.results import Result
from xoff_experiments.ai_fabrics._checkpoint import (
    ACROSS,
    ALONE,
    CHANNELS,
    EXPERTS,
    FORWARD_US,
    GPUS,
    ITERATIONS,
    JOB,
    START_US,
    STORAGE,
    WRITES,
    Setting,
    scenario,
)
from xoff_experiments.ai_fabrics._compared import Runs, alike, at_most, by_setting, dots, less, none, told
from xoff_experiments.ai_fabrics._rows import (
    CI,
    DCQCN,
    DCQCN_CI,
    DCQCN_SFC,
    DYNAMIC,
    ISOLATION,
    PFC,
    PRIORITY,
    PROXY,
    ROWS,
    SFC,
    SHARED_MB,
    TARGET,
    TURNS,
    Fabric,
)

CITATION = 'An experiment of our own on "SFC simulation", IEEE P802.1Qdw, 2025, Part 3'
MAIN = "main"
_MAIN = Setting()
_FABRIC = Fabric()
SETTINGS: dict[str, Setting] = {
    MAIN: _MAIN,
    "1:1": replace(_MAIN, spines=8),
    "4:1": replace(_MAIN, spines=2),
    "16 writers": replace(_MAIN, writers=16, fabric=replace(_FABRIC, incast=2)),
    "250 KB a writer": replace(_MAIN, megabytes=0.25),
    "9 MB a writer": replace(_MAIN, megabytes=9),
    "1 µs a link": replace(_MAIN, fabric=replace(_FABRIC, link_ns=1000)),
    "10 µs a link": replace(_MAIN, fabric=replace(_FABRIC, link_ns=10_000)),
    "800G": replace(_MAIN, fabric=replace(_FABRIC, gbps=800)),
    "XOFF 8 µs": replace(_MAIN, fabric=replace(_FABRIC, xoff_us=8)),
    "dynamic thresholds": replace(_MAIN, fabric=replace(_FABRIC, xoff_us=0)),
    "VOQs": replace(_MAIN, fabric=replace(_FABRIC, queueing="voq")),
    "spraying": replace(_MAIN, fabric=replace(_FABRIC, sprayed=True)),
    "another job writes": replace(_MAIN, apart=True, fabric=replace(_FABRIC, incast=4)),
    "ring across leaves": replace(_MAIN, job=ACROSS),
    "ring across leaves, 1:1": replace(_MAIN, job=ACROSS, spines=8),
    "experts": replace(_MAIN, job=EXPERTS),
}
"""Each setting differs from the main setting in one value; the last but one in two."""
_EVERYWHERE = (PFC, TURNS, SFC, DYNAMIC, TARGET, CI, DCQCN)
_WITH_ISOLATION = (MAIN, "1:1", "another job writes")
_WITH_ALONE = (MAIN, "ring across leaves", "ring across leaves, 1:1", "experts")
_WITH_MORE = (MAIN, "1:1", "4:1", "another job writes", "ring across leaves")
ALONE_PFC, ALONE_SFC, ALONE_DYNAMIC, ALONE_TARGET, ALONE_DCQCN = ALONE
SEEDS, MAIN_SEEDS = 4, 5
QUICK = {
    MAIN: (*ALONE, *ROWS),
    "ring across leaves": (ALONE_PFC, ALONE_SFC, SFC),
}
NEAR = 0.05


def rows_of(at: str) -> tuple[str, ...]:
    """Returns the rows of a setting, with the job alone."""
    alone = tuple(ALONE) if at in _WITH_ALONE else (ALONE_PFC,)
    isolated = (ISOLATION,) if at in _WITH_ISOLATION else ()
    first = (PRIORITY,) if at in _WITH_ALONE else ()
    more = (PROXY, DCQCN_SFC, DCQCN_CI) if at in _WITH_MORE else ()
    return (*alone, *(row for row in ROWS if row in {*_EVERYWHERE, *isolated, *first, *more}))


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenarios by setting, row and seed."""
    made = {}
    for at, setting in SETTINGS.items():
        for row in QUICK.get(at, ()) if quick else rows_of(at):
            for seed in range(1, 2 if quick else 1 + (MAIN_SEEDS if at == MAIN else SEEDS)):
                made[run_name(at, row, seed)] = scenario(replace(setting, seed=seed), row)
    return made


@dataclass(frozen=True, slots=True)
class Run:
    """The numbers of a run."""

    iteration_us: float
    """The mean of all iterations."""
    longest_us: float
    """The longest iteration."""
    writes_us: float
    """The time from the first to the last byte of the checkpoint; zero without a checkpoint."""
    pauses: int
    messages: int
    """SFCMs."""
    memory_kb: float
    """The most bytes that entered by one port in one class and were waiting."""
    lost: int
    """Packets without room."""


def read(result: Result) -> Run:
    """Returns the numbers of a run."""
    found: Mapping[str, Any] = result.summary["workloads"]
    job = found[JOB]["job"]
    writes = found[WRITES]["fct_ps"]["max"] if WRITES in found else 0
    return Run(
        job["iteration_ps"] / 1e6,
        job["longest_iteration_ps"] / 1e6,
        writes / 1e6,
        result.summary["pfc"]["pauses"],
        result.summary["sfc"]["messages"],
        result.summary["high_water"]["ingress"]["bytes"] / 1e3,
        result.summary["drops"],
    )


def _runs(results: Mapping[str, Result], choice: str = "", reading: str = "") -> Runs[Run]:
    return Runs(results, read, choice, reading)


def _iteration(run: Run) -> float:
    return run.iteration_us


def _longest(run: Run) -> float:
    return run.longest_us


def _writes(run: Run) -> float:
    return run.writes_us


def _pauses(run: Run) -> float:
    return run.pauses


_MEAN, _TAIL = "mean iteration", "longest iteration"
SENTENCES: dict[str, Sentence[Runs[Run]]] = {
    "C.1": less("SFC makes the longest iteration shorter than PFC alone does", SFC, PFC, _longest, _TAIL),
    "C.2": less("SFC costs the job less than PFC alone does", SFC, PFC, _iteration, _MEAN),
    "C.3": less("SFC with a dynamic pause costs the job less than PFC alone", DYNAMIC, PFC, _iteration, _MEAN),
    "C.4": less("SFC with a dynamic pause costs the job less than SFC", DYNAMIC, SFC, _iteration, _MEAN),
    "C.5": alike(
        "SFC leaves a job without a checkpoint alone: the iteration is within 1 % of PFC",
        ALONE_SFC,
        ALONE_PFC,
        _iteration,
        _MEAN,
        0.01,
    ),
    "C.6": alike(
        "SFC with a dynamic pause leaves a job without a checkpoint alone: the iteration is within 1 % of PFC",
        ALONE_DYNAMIC,
        ALONE_PFC,
        _iteration,
        _MEAN,
        0.01,
    ),
    "C.7": less("SFC costs the job less than DCQCN", SFC, DCQCN, _iteration, _MEAN),
    "C.8": less("SFC with a dynamic pause costs the job less than DCQCN", DYNAMIC, DCQCN, _iteration, _MEAN),
    "C.9": less(
        "SFC with a dynamic pause costs the job less than Congestion Isolation", DYNAMIC, CI, _iteration, _MEAN
    ),
    "C.10": less("Congestion Isolation costs the job less than PFC alone", CI, PFC, _iteration, _MEAN),
    "C.11": less("Congestion Isolation beside DCQCN costs less than DCQCN", DCQCN_CI, DCQCN, _iteration, _MEAN),
    "C.12": less("SFC with a dynamic pause beside DCQCN costs less than DCQCN", DCQCN_SFC, DCQCN, _iteration, _MEAN),
    "C.13": less("A second class costs the job less than SFC with a dynamic pause", TURNS, DYNAMIC, _iteration, _MEAN),
    "C.14": at_most(
        "SFC with a dynamic pause is as good as a second class: the iteration is at most 5 % longer",
        DYNAMIC,
        TURNS,
        _iteration,
        _MEAN,
        NEAR,
    ),
    "C.15": alike(
        "A second class with priority costs the job nothing: the iteration is within 1 % of the job alone",
        PRIORITY,
        ALONE_PFC,
        _iteration,
        _MEAN,
        0.01,
    ),
    "C.16": none("Under SFC with a dynamic pause no PFC pause begins", DYNAMIC, _pauses, "PFC pauses"),
    "C.17": at_most(
        "The checkpoint does not pay: with a dynamic pause the last write ends at most 5 % later than under PFC alone",
        DYNAMIC,
        PFC,
        _writes,
        "last write",
        NEAR,
    ),
    "C.18": less("SFC's proxy costs the job less than PFC alone", PROXY, PFC, _iteration, _MEAN),
    "C.19": less("With isolation at the ToR, SFC's proxy costs less than without", ISOLATION, PROXY, _iteration, _MEAN),
    "C.20": less("SFC with a pause to a target costs the job less than PFC alone", TARGET, PFC, _iteration, _MEAN),
    "C.21": less("SFC with a pause to a target costs the job less than SFC", TARGET, SFC, _iteration, _MEAN),
    "C.22": less(
        "SFC with a pause to a target costs the job less than SFC with a dynamic pause",
        TARGET,
        DYNAMIC,
        _iteration,
        _MEAN,
    ),
    "C.23": alike(
        "SFC with a pause to a target leaves a job without a checkpoint alone: the iteration is within 1 % of PFC",
        ALONE_TARGET,
        ALONE_PFC,
        _iteration,
        _MEAN,
        0.01,
    ),
    "C.24": less("SFC with a pause to a target costs less than Congestion Isolation", TARGET, CI, _iteration, _MEAN),
    "C.25": at_most(
        "SFC with a pause to a target is as good as a second class: the iteration is at most 5 % longer",
        TARGET,
        TURNS,
        _iteration,
        _MEAN,
        NEAR,
    ),
    "C.26": none("Under SFC with a pause to a target no PFC pause begins", TARGET, _pauses, "PFC pauses"),
    "C.27": at_most(
        "The checkpoint does not pay: with a pause to a target the last write ends at most 5 % later than under PFC "
        "alone",
        TARGET,
        PFC,
        _writes,
        "last write",
        NEAR,
    ),
    "C.28": less(
        "A second class costs the job less than SFC with a pause to a target", TURNS, TARGET, _iteration, _MEAN
    ),
}
JUDGED = judged("ai-fabrics", SENTENCES, _runs)
_DOCUMENT = "SFC simulation, Parts 4 and 5"
PARAMETERS = (
    given("packets", "4 KB", f"{_DOCUMENT}; 4096 B of payload"),
    given("delays", "150 ns a link, 300 ns a switch", _DOCUMENT),
    given("threshold of SFC", "8 µs of a line (400 KB at 400 Gb/s)", f"{_DOCUMENT}: 200 KB at 200 Gb/s"),
    given(
        "pause and interval of SFC",
        "(N − 1) R + X / 2C: 20.8 µs with N = 8 writers to a storage host",
        f"{_DOCUMENT}, parameter calculation: the middle of the range from (N − 1) R to (N − 1) R + X / C",
    ),
    chosen("target of SFC", "a quarter of the threshold: 2 µs of a line", "the smallest threshold of the document"),
    given("dynamic pause", "(N − 1) R + q / 2C, with the counted sources", f"{_DOCUMENT}, thoughts: future extension"),
    given("curve of CI", "0.8 to 24 µs of a line, 1 %", "Simulation Analysis of CI: 10 to 300 KB at 100 Gb/s"),
    chosen("network", f"{GPUS} GPUs at 8 leaves, {STORAGE} storage hosts at a ninth, 4 spines, 400 Gb/s", "2:1"),
    chosen(
        "XOFF",
        "32 µs of a line (1.6 MB) for each input and class, in all rows",
        "400 KB for 100 Gb/s, as Part 4 has it (780 KB at 200 Gb/s); memory above XOFF is not limited, and measured",
    ),
    chosen("CIM threshold", "half of XOFF", "the default of xoff: the document has no value"),
    chosen("marks of CI", "the packet that selects its flow, and ECN's curve", "only isolation is added to DCQCN"),
    chosen("DCQCN", "preset conweave, marks from 8 to 32 µs of a line, 20 %", "preset and marks of one source"),
    chosen(
        "checkpoint",
        f"3 MB a GPU, at a moment of the first {START_US} µs",
        "Llama 3 writes 1 MB to 4 GB a GPU (its paper, on storage); more bytes repeat the same state",
    ),
    chosen(
        "job",
        f"data parallel, 2 layers, {FORWARD_US} µs a layer, {ITERATIONS} iterations, {CHANNELS} channels",
        "communication is 40 % of an iteration",
    ),
    chosen("dynamic thresholds", f"{SHARED_MB} MB a switch, alpha 1/8", "defaults of xoff"),
    chosen("seeds", f"{MAIN_SEEDS} at the main setting, else {SEEDS}", "they draw paths and the moment"),
)
READS: tuple[str, ...] = ()
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def cost(runs: Runs[Run], at: str, row: str) -> list[float]:
    """Returns the cost of the checkpoint to the job in percent of an iteration alone, seed by seed."""
    pairs = zip(runs.values(at, row, _iteration), runs.values(at, ALONE_PFC, _iteration), strict=True)
    return [100 * (mine / alone - 1) for mine, alone in pairs]


def tables(results: Mapping[str, Result]) -> dict[str, list[list[str]]]:
    """Returns the rows of the main setting, the sentences, and the cost at all settings."""
    runs = _runs(results)
    main = [
        [
            "row",
            "cost to the job (%)",
            "longest iteration (µs)",
            "last write (µs)",
            "PFC pauses",
            "SFCMs",
            "memory (KB)",
        ]
    ]
    rows = [row for row in (*ALONE, *ROWS) if runs.has(MAIN, (row,))]
    for row in rows:
        values: Sequence[Any] = (_longest, _writes, _pauses, lambda run: run.messages, lambda run: run.memory_kb)
        main.append([row, told(cost(runs, MAIN, row)), *(told(runs.values(MAIN, row, one)) for one in values)])
    found = {"main": main, "sentences": table(SENTENCES, runs)}
    found["Cost to the job at all settings (%)"] = by_setting(
        runs, (*ALONE, *ROWS), lambda at, row: told(cost(runs, at, row))
    )
    for title, value in (
        ("Longest iteration at all settings (µs)", _longest),
        ("Last write at all settings (µs)", _writes),
        ("PFC pauses at all settings", _pauses),
        ("Lost packets at all settings", lambda run: run.lost),
    ):
        found[title] = by_setting(runs, ROWS, lambda at, row, of=value: told(runs.values(at, row, of)))  # type: ignore[misc]
    return found


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the cost of the checkpoint to the job, by row and setting, and the last write at the main setting."""
    runs = _runs(results)
    costs = {at: {row: cost(runs, at, row) for row in ROWS if runs.has(at, (row,))} for at in runs.settings}
    others = {at: values for at, values in costs.items() if at != MAIN and values.keys() >= {PFC}}
    later = {row: _later(runs, row) for row in costs[MAIN]}
    label = "cost to the job: the mean iteration is longer than without a checkpoint by … %"
    dots({label: costs[MAIN], "last write: later than under PFC alone by … %": later}, others, ROWS, path, label)


def _later(runs: Runs[Run], row: str) -> list[float]:
    """Returns how much later the last write of the main setting ends than under PFC alone, in percent."""
    pairs = zip(runs.values(MAIN, row, _writes), runs.values(MAIN, PFC, _writes), strict=True)
    return [100 * (mine / base - 1) for mine, base in pairs]
