"""One link: the cost of a KV cache to decode, beside the closed form.

A decode rank repeats a layer. Senders send D bytes of tokens in all, in one burst; the rank computes for c; and then
the rank asks all senders for the next layer. A KV cache of K bytes comes from another host to the same rank. The
*cost* is the end of decode with the KV cache, less the end without the KV cache.

The closed form is `(K / R) q / (c R + q)`, with R the payload rate of the link, and q the KV bytes that a layer has to
let go first. Each layer beside the KV cache takes q/R longer, and the link carries c R + q bytes of KV in this layer.
Experts first: q = 0. A share s of KV in two classes with weights: q = D s / (1 − s), and D for equal turns. KV first:
no limit, and the cost is K/R. One class with many senders: q = min(D, XOFF), the KV that PFC lets into the queue.

L.1 to L.6 were written before the runs, L.7 and L.8 after. The runs show two limits of the closed form:

- KV above XOFF delays decode as well. The switch counts a packet after the last bit, and the pause takes a link delay
  to act. L.7 adds the headroom of PFC to XOFF.
- The closed form is a mean over many layers. A KV cache lasts n = K / (c R + q) layers, and delays a whole number
  of layers. L.8 therefore allows the share of one layer: q/R, or c if KV goes first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from matplotlib import rc_context

from xoff.plots import COLOURS, STYLE, canvas, write
from xoff.reproduce import Readings, below, chosen, fact, given
from xoff.reproduce.sentences import Found, Sentence, judged, short, table
from xoff.results import Result
from xoff_experiments.serving._link import (
    CLASSES,
    EQUAL,
    EXPERTS_FIRST,
    HEADROOM,
    KV_1_OF_5,
    KV_4_OF_5,
    KV_FIRST,
    Setting,
    cost_us,
    layer_share_us,
    one_class,
    scenario,
    xoff_of,
)

CITATION = "An experiment of our own, with a closed form"
XOFFS_KB = (10, 20, 40, 80, 160, 320)
ROWS = (*CLASSES, *(one_class(xoff) for xoff in XOFFS_KB))
MAIN = "main"
SETTINGS = {
    MAIN: Setting(),
    "D 64 KB": Setting(layer_kb=64),
    "D 1024 KB": Setting(layer_kb=1024),
    "c 5 µs": Setting(compute_us=5),
    "c 80 µs": Setting(compute_us=80),
    "K 1 MB": Setting(kv_mb=1),
    "K 10 MB": Setting(kv_mb=10),
    "7 senders": Setting(senders=7),
    "KV before a burst": Setting(phase=0),
    "KV during compute": Setting(phase=0.75),
}
"""Each setting differs from the main setting in one value."""
WITH, WITHOUT = "KV", "alone"
EXACT, ROUGH, FREE = 0.03, 0.15, 0.01
"""Largest distances from the closed form: of two classes, of one class; and of a cost of zero, as a share of K/R."""


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenarios by setting and scheduling, each with and without the KV cache."""
    return {
        f"{name}/{row}/{what}": scenario(setting, row, with_kv=what == WITH)
        for name, setting in SETTINGS.items()
        if name == MAIN or not quick
        for row in ROWS
        for what in (WITHOUT, WITH)
    }


class Runs(Readings[Result]):
    """The runs of the link."""

    def __init__(self, results: Mapping[str, Result], choice: str = "", reading: str = "") -> None:
        super().__init__(results, _as_it_is, choice, reading)

    @property
    def settings(self) -> list[str]:
        """The settings that were run."""
        return list(dict.fromkeys(name.split("/")[0] for name in self.names))

    def end_us(self, setting: str, row: str, what: str) -> float:
        """Returns the end of decode."""
        time_ps = self.one(f"{setting}/{row}/{what}").summary["workloads"]["decode"]["job"]["iteration_ps"]
        return math.nan if time_ps is None else time_ps / 1e6

    def cost(self, setting: str, row: str) -> float:
        """Returns the cost to decode in µs."""
        return self.end_us(setting, row, WITH) - self.end_us(setting, row, WITHOUT)

    def formula(self, setting: str, row: str, reach: float = 0.0) -> float:
        """Returns the closed form in µs, with the time of a layer alone."""
        of = SETTINGS[setting]
        return cost_us(of, row, self.end_us(setting, row, WITHOUT) / of.layers, reach=reach)


def _as_it_is(result: Result) -> Result:
    return result


def _near(*rows: str, limit: float, reach: float = 0.0) -> Callable[[Runs], dict[str, Found]]:
    """Returns the predicate: the cost is within a share of the closed form."""

    def decide(runs: Runs) -> dict[str, Found]:
        found = {}
        for setting, row in _places(runs, rows):
            ratio = runs.cost(setting, row) / runs.formula(setting, row, reach)
            found[_place(setting, row, rows)] = Found(fact(abs(ratio - 1) <= limit), ratio)
        return found

    return decide


def _places(runs: Runs, rows: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    return ((setting, row) for setting in runs.settings for row in rows)


def _place(setting: str, row: str, rows: tuple[str, ...]) -> str:
    return setting if len(rows) == 1 else f"{setting}, {row}"


def _free(runs: Runs) -> dict[str, Found]:
    """Decides that KV costs decode almost nothing if experts go first."""
    shares = {setting: runs.cost(setting, EXPERTS_FIRST) / SETTINGS[setting].kv_us for setting in runs.settings}
    return {setting: Found(fact(share <= FREE), share) for setting, share in shares.items()}


def _dearer(runs: Runs) -> dict[str, Found]:
    """Decides, for thresholds below D, that equal turns cost decode more than one class."""
    found = {}
    for setting, row in _places(runs, _ONE_CLASS):
        if xoff_of(row) < SETTINGS[setting].layer_kb:
            turns, one = runs.cost(setting, EQUAL), runs.cost(setting, row)
            found[f"{setting}, {row}"] = Found(fact(below(one, turns) > 0), turns / one)
    return found


def _layer(runs: Runs) -> dict[str, Found]:
    """Decides that the difference from the closed form is at most the share of one layer."""
    found = {}
    rows = (KV_1_OF_5, EQUAL, KV_4_OF_5, KV_FIRST)
    for setting, row in _places(runs, rows):
        layer_us = runs.end_us(setting, row, WITHOUT) / SETTINGS[setting].layers
        share = abs(runs.cost(setting, row) - runs.formula(setting, row))
        share /= layer_share_us(SETTINGS[setting], row, layer_us)
        # Less than a millionth is the rounding of picoseconds.
        found[_place(setting, row, rows)] = Found(fact(share <= 1), round(share, 6))
    return found


_ONE_CLASS = tuple(one_class(xoff) for xoff in XOFFS_KB)
_RATIO = "measured over closed form"
SENTENCES: dict[str, Sentence[Runs]] = {
    "L.1": Sentence(
        "A class of its own that takes equal turns costs decode more than no class, with XOFF below D",
        _dearer,
        "cost: equal turns, times one class",
    ),
    "L.2": Sentence(
        "If experts go first, KV costs decode less than 1 % of the time of the KV cache", _free, "cost over K/R"
    ),
    "L.3": Sentence("Equal turns cost what the closed form says, within 3 %", _near(EQUAL, limit=EXACT), _RATIO),
    "L.4": Sentence(
        "Weights cost what the closed form says, within 3 %", _near(KV_1_OF_5, KV_4_OF_5, limit=EXACT), _RATIO
    ),
    "L.5": Sentence("KV first costs the time of the KV cache, within 3 %", _near(KV_FIRST, limit=EXACT), _RATIO),
    "L.6": Sentence(
        "One class costs what the closed form says for q = min(D, XOFF), within 15 %",
        _near(*_ONE_CLASS, limit=ROUGH),
        _RATIO,
    ),
    "L.7": Sentence(
        "One class costs what the closed form says for q = min(D, XOFF + headroom), within 15 %",
        _near(*_ONE_CLASS, limit=ROUGH, reach=HEADROOM),
        _RATIO,
    ),
    "L.8": Sentence(
        "With two classes the cost differs from the closed form by the share of one layer at most",
        _layer,
        "difference over the share of one layer",
    ),
}
JUDGED = judged("serving", SENTENCES, Runs)
PARAMETERS = (
    given("headroom", f"{HEADROOM / 1e3:.1f} KB", "docs/models/pfc.md, from IEEE 802.1Q, Annex N"),
    chosen("link", "31 senders at 100 Gb/s, 100 ns a link, packets of 1000 B", "an incast of experts to one rank"),
    chosen("main setting", "D = 256 KB, c = 20 µs, K = 3 MB", "computation and communication of a layer alike"),
    chosen("start of the KV cache", "in the burst of the third layer", "the closed form does not know the start"),
    chosen("other settings", "one value changed: D, c, K, senders, or the start", "see `SETTINGS`"),
)
READS: tuple[str, ...] = ()
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def tables(results: Mapping[str, Result]) -> dict[str, list[list[str]]]:
    """Returns the cost at the main setting, the ratios at all settings, and the sentences."""
    runs = Runs(results)
    main = [["scheduling", "cost (µs)", "closed form (µs)", "closed form with headroom (µs)"]]
    for row in ROWS:
        with_reach = f"{runs.formula(MAIN, row, HEADROOM):.1f}" if xoff_of(row) else "–"
        main.append([row, f"{runs.cost(MAIN, row):.1f}", f"{runs.formula(MAIN, row):.1f}", with_reach])
    ratios = [["setting", *ROWS]]
    for setting in runs.settings:
        cells = []
        for row in ROWS:
            cost, formula = runs.cost(setting, row), runs.formula(setting, row)
            cells.append(f"{cost:.1f} of {formula:.1f}" + (f" ({cost / formula:.2f})" if formula else ""))
        ratios.append([setting, *cells])
    return {"main": main, "sentences": table(SENTENCES, runs), "Cost of the closed form (µs), and the ratio": ratios}


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the cost at the main setting: of one class by XOFF with the closed form, and of the two-class rows."""
    runs = Runs(results)
    with rc_context(STYLE):
        drawing, axes = canvas(7.4, 3.6)
        for colour, row in zip(COLOURS[1:], CLASSES, strict=False):
            cost = runs.cost(MAIN, row)
            axes.axhline(cost, color=colour, linewidth=1.2, label=f"{row}: {short(cost)} µs")
        for reach, style, name in ((0.0, "--", "min(D, XOFF)"), (HEADROOM, ":", "min(D, XOFF + headroom)")):
            formula = [runs.formula(MAIN, one_class(xoff), reach) for xoff in XOFFS_KB]
            axes.plot(XOFFS_KB, formula, style, color=COLOURS[0], label=f"one class, closed form: {name}")
        measured = [runs.cost(MAIN, one_class(xoff)) for xoff in XOFFS_KB]
        axes.plot(XOFFS_KB, measured, "o", color=COLOURS[0], label="one class")
        axes.set_xscale("log", base=2)
        axes.set_xticks(list(XOFFS_KB), [str(xoff) for xoff in XOFFS_KB])
        axes.set_xlabel("XOFF (KB)")
        axes.set_ylabel("cost: time added to decode (µs)")
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=6, loc="upper left", bbox_to_anchor=(1, 1))
        write(drawing, path)
