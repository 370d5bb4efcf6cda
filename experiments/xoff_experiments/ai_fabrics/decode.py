"""KV caches beside decode: the late token.

Prefill sends KV caches to decode over a fabric that is oversubscribed 2:1. The *late token* is the 99th percentile of
the time between two tokens (ITL) of the requests, the *first token* the 99th percentile of the time to the first token
(TTFT). Each setting differs from the main setting in one value, and has four seeds, which draw arrivals and paths.

The sentences were written after single runs of two seeds at the main setting, and before the runs of the page.
D.18 to D.23, on the pause to a target, were written after `ai-fabrics/decode_tuning` had shown this pause at the main
setting.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from xoff.reproduce import chosen, given, run_name
from xoff.reproduce.sentences import Sentence, judged, table
from xoff.results import Result
from xoff_experiments.ai_fabrics._compared import Runs, alike, at_most, by_setting, dots, less, none, told
from xoff_experiments.ai_fabrics._decode import INCAST, NAME, OUTPUT, REQUESTS, STEPS, WINDOW_MS, Setting, scenario
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
    TARGET,
    TURNS,
    Fabric,
)

CITATION = 'An experiment of our own on "SFC simulation", IEEE P802.1Qdw, 2025, Part 3'
MAIN = "main"
_MAIN = Setting()
_FABRIC = Fabric(incast=INCAST)
SETTINGS: dict[str, Setting] = {
    MAIN: _MAIN,
    "1:1": replace(_MAIN, spines=8),
    "4:1": replace(_MAIN, spines=2),
    "prompts of 16,384 tokens": replace(_MAIN, prompt=16_384),
    "10 µs a link": replace(_MAIN, fabric=replace(_FABRIC, link_ns=10_000)),
    "XOFF 8 µs": replace(_MAIN, fabric=replace(_FABRIC, xoff_us=8)),
}
"""Each setting differs from the main setting in one value."""
_EVERYWHERE = (PFC, TURNS, PRIORITY, SFC, DYNAMIC, TARGET, CI, DCQCN)
_MORE = {MAIN: ROWS, "4:1": (*_EVERYWHERE, PROXY, DCQCN_SFC, DCQCN_CI)}
SEEDS = 4
NEAR, SAME = 0.05, 0.01


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenarios by setting, row and seed."""
    made = {}
    for at, setting in SETTINGS.items():
        if quick and at != MAIN:
            continue
        sized = smaller(setting) if quick else setting
        rows = [row for row in ROWS if row in _MORE.get(at, _EVERYWHERE)]
        for row in rows:
            for seed in range(1, 2 if quick else 1 + SEEDS):
                made[run_name(at, row, seed)] = scenario(replace(sized, seed=seed), row)
    return made


def smaller(setting: Setting) -> Setting:
    """Returns a setting of the quick variants."""
    return replace(setting, requests=8, output=8, steps=24)


@dataclass(frozen=True, slots=True)
class Run:
    """The numbers of a run."""

    late_us: float
    """The 99th percentile of the time between two tokens."""
    median_us: float
    first_ms: float
    """The 99th percentile of the time to the first token."""
    kv_us: float
    """The median time of a KV cache on the way."""
    pauses: int
    messages: int
    """SFCMs."""
    memory_kb: float
    """The most bytes that entered by one port in one class and were waiting."""


def read(result: Result) -> Run:
    """Returns the numbers of a run."""
    found: Mapping[str, Any] = result.summary["serving"][NAME]
    return Run(
        found["itl_ps"]["p99"] / 1e6,
        found["itl_ps"]["p50"] / 1e6,
        found["ttft_ps"]["p99"] / 1e9,
        found["kv_transfer_ps"]["p50"] / 1e6,
        result.summary["pfc"]["pauses"],
        result.summary["sfc"]["messages"],
        result.summary["high_water"]["ingress"]["bytes"] / 1e3,
    )


def _runs(results: Mapping[str, Result], choice: str = "", reading: str = "") -> Runs[Run]:
    return Runs(results, read, choice, reading)


def _late(run: Run) -> float:
    return run.late_us


def _median(run: Run) -> float:
    return run.median_us


def _first(run: Run) -> float:
    return run.first_ms


def _kv(run: Run) -> float:
    return run.kv_us


def _pauses(run: Run) -> float:
    return run.pauses


_ITL, _TTFT = "p99 ITL", "p99 TTFT"
SENTENCES: dict[str, Sentence[Runs[Run]]] = {
    "D.1": less("SFC makes the first token earlier than PFC alone does", SFC, PFC, _first, _TTFT),
    "D.2": less("SFC makes the late token earlier than PFC alone does", SFC, PFC, _late, _ITL),
    "D.3": less("SFC with a dynamic pause makes the late token earlier than PFC alone", DYNAMIC, PFC, _late, _ITL),
    "D.4": alike(
        "SFC leaves the median token in place: the median ITL is within 1 % of PFC alone",
        SFC,
        PFC,
        _median,
        "median ITL",
        SAME,
    ),
    "D.5": alike(
        "SFC with a dynamic pause leaves the median token in place: the median ITL is within 1 % of PFC alone",
        DYNAMIC,
        PFC,
        _median,
        "median ITL",
        SAME,
    ),
    "D.6": less("SFC with a dynamic pause makes the late token earlier than DCQCN", DYNAMIC, DCQCN, _late, _ITL),
    "D.7": less(
        "SFC with a dynamic pause makes the late token earlier than Congestion Isolation", DYNAMIC, CI, _late, _ITL
    ),
    "D.8": less("Congestion Isolation makes the late token earlier than PFC alone", CI, PFC, _late, _ITL),
    "D.9": less(
        "Congestion Isolation beside DCQCN makes the late token earlier than DCQCN", DCQCN_CI, DCQCN, _late, _ITL
    ),
    "D.10": less(
        "SFC with a dynamic pause beside DCQCN makes the late token earlier than DCQCN", DCQCN_SFC, DCQCN, _late, _ITL
    ),
    "D.11": less(
        "A second class that takes turns makes the late token earlier than SFC with a dynamic pause",
        TURNS,
        DYNAMIC,
        _late,
        _ITL,
    ),
    "D.12": less(
        "A second class with priority makes the late token earlier than DCQCN",
        PRIORITY,
        DCQCN,
        _late,
        _ITL,
    ),
    "D.13": at_most(
        "SFC with a dynamic pause is as good as a second class with priority: the late token is at most 5 % later",
        DYNAMIC,
        PRIORITY,
        _late,
        _ITL,
        NEAR,
    ),
    "D.14": none("Under SFC with a dynamic pause no PFC pause begins", DYNAMIC, _pauses, "PFC pauses"),
    "D.15": at_most(
        "KV caches do not pay: with a dynamic pause the median KV cache takes at most 5 % longer than under PFC alone",
        DYNAMIC,
        PFC,
        _kv,
        "median time of a KV cache",
        NEAR,
    ),
    "D.16": less("SFC's proxy makes the late token earlier than PFC alone does", PROXY, PFC, _late, _ITL),
    "D.17": less(
        "With isolation at the ToR, SFC's proxy makes the late token earlier than without",
        ISOLATION,
        PROXY,
        _late,
        _ITL,
    ),
    "D.18": less("SFC with a pause to a target makes the late token earlier than PFC alone", TARGET, PFC, _late, _ITL),
    "D.19": alike(
        "SFC with a pause to a target leaves the median token in place: the median ITL is within 1 % of PFC alone",
        TARGET,
        PFC,
        _median,
        "median ITL",
        SAME,
    ),
    "D.20": less("SFC with a pause to a target makes the late token earlier than DCQCN", TARGET, DCQCN, _late, _ITL),
    "D.21": at_most(
        "SFC with a pause to a target is as good as a second class with priority: the late token is at most 5 % later",
        TARGET,
        PRIORITY,
        _late,
        _ITL,
        NEAR,
    ),
    "D.22": none("Under SFC with a pause to a target no PFC pause begins", TARGET, _pauses, "PFC pauses"),
    "D.23": less(
        "SFC with a pause to a target makes the first token earlier than PFC alone", TARGET, PFC, _first, _TTFT
    ),
}
JUDGED = judged("ai-fabrics", SENTENCES, _runs)
PARAMETERS = (
    given("packets, delays, SFC, CI", "as beside a checkpoint", "see there"),
    chosen(
        "N", f"{INCAST}: the pause of SFC is 20.8 µs", "ranks of the other decode server that send to a rank at once"
    ),
    chosen("deployment", "4 servers for prefill, 2 for decode, 8 H100 each, 400 Gb/s", "that of the serving page"),
    chosen("network", "a server at each leaf, 4 spines", "2:1; the serving page has 1:1"),
    chosen("model", "DeepSeek-V3, 4 of 61 layers, 32 of 256 experts, EP 16", "that of the serving page"),
    chosen(
        "load",
        f"{REQUESTS} requests in {WINDOW_MS:g} ms, {OUTPUT} tokens each, beside 16 sequences a rank of {STEPS} steps",
        "half of the serving page, for shorter runs",
    ),
    chosen("prompts", "4,096 tokens, of which 2,304 are in the prefix cache", "that of the serving page"),
    chosen("XOFF, CIM threshold, DCQCN", "as beside a checkpoint", "see there"),
    chosen("seeds", str(SEEDS), "they draw arrivals and paths"),
)
READS: tuple[str, ...] = ()
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def tables(results: Mapping[str, Result]) -> dict[str, list[list[str]]]:
    """Returns the rows of the main setting, the sentences, and the late token at all settings."""
    runs = _runs(results)
    heads = [
        "p99 ITL (µs)",
        "median ITL (µs)",
        "p99 TTFT (ms)",
        "median KV cache (µs)",
        "PFC pauses",
        "SFCMs",
        "memory (KB)",
    ]
    main = [["row", *heads]]
    for row in (row for row in ROWS if runs.has(MAIN, (row,))):
        values = (_late, _median, _first, _kv, _pauses, lambda run: run.messages, lambda run: run.memory_kb)
        main.append([row, *(told(runs.values(MAIN, row, one)) for one in values)])
    found = {"main": main, "sentences": table(SENTENCES, runs)}
    for title, value in (
        ("p99 ITL at all settings (µs)", _late),
        ("Median ITL at all settings (µs)", _median),
        ("p99 TTFT at all settings (ms)", _first),
        ("PFC pauses", _pauses),
    ):
        found[title] = by_setting(runs, ROWS, lambda at, row, of=value: told(runs.values(at, row, of)))  # type: ignore[misc]
    return found


def _against(runs: Runs[Run], at: str, row: str, base: str, value: Callable[[Run], float]) -> list[float]:
    """Returns how much larger a value of a row is than the value of another row, in percent, seed by seed."""
    pairs = zip(runs.values(at, row, value), runs.values(at, base, value), strict=True)
    return [100 * (mine / other - 1) for mine, other in pairs]


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the late token by row and setting, and median token and KV caches at the main setting."""
    runs = _runs(results)
    found = {at: [row for row in ROWS if runs.has(at, (row,))] for at in runs.settings}
    late = {at: {row: _against(runs, at, row, PRIORITY, _late) for row in rows} for at, rows in found.items()}
    median = {row: _against(runs, MAIN, row, PRIORITY, _median) for row in found[MAIN]}
    caches = {row: _against(runs, MAIN, row, PFC, _kv) for row in found[MAIN]}
    label = "late token (p99 ITL): later than with a second class with priority by … %"
    main = {
        "late token (p99 ITL): above priority by … %": late.pop(MAIN),
        "median token: above priority by … %": median,
        "KV cache: longer than under PFC by … %": caches,
    }
    dots(main, late, ROWS, path, label)
