"""Parameters of the BCN document: given values and our choices."""

from __future__ import annotations

from collections.abc import Sequence

from xoff.reproduce import Parameter, chosen, given

_GIVEN = [
    given("links", "10 Gb/s, no length", "Baseline Topology"),
    given("switch latency", "1 µs", "Baseline Topology"),
    given("frames", "1500 B, Bernoulli arrivals", "Workload"),
    given("Qeq, W, Ru", "375 pages of 64 B, 2, 1 Mb/s", "Baseline BCN Parameters"),
    given("rate limiter queue", "150 KB", "Baseline Topology"),
]
_LATE = "found by a search"
_GAINS = chosen("Gi, Gd", "0.53, 2.6e-4", "the deck's 5.3 x 10^1 and 2.6 x 10^4 have lost their minus signs")
_LIMITERS = [
    _GAINS,
    chosen("congestion points", "at every switch", "as 802.1au has them; found by a search", "at the core alone"),
    chosen("drift of a limiter", "none", "the deck lists none; found by a search", "1 Mb/s a millisecond"),
    chosen("first rate of a limiter", "the line's", "nothing measures a source", "20 / N Gb/s"),
    chosen("least rate of a limiter", "10 Mb/s", "a thousandth of the line"),
]
BASELINE = [
    *_GIVEN,
    given("sampling", "150 KB and up to 5 KB", "Baseline BCN Parameters"),
    given("sources", "four of 5 Gb/s to one sink", "Workload"),
    given("buffer of the core", "without end", "Baseline Topology"),
    *_LIMITERS,
]


def hot_spot(degree: str, more: Sequence[Parameter] = ()) -> list[Parameter]:
    """Returns the parameter table of an experiment on hot spots of the given degrees."""
    return [
        *_GIVEN,
        given("sampling", "100 KB and up to 5 KB", "Simulation Setup"),
        given("PAUSE", "on at 140 KB, off at 130 KB", "Simulation Setup"),
        given("contending flows", f"{degree}, together 20 Gb/s", "Simulation Setup"),
        given("start", "5 ms", "Hotspot Degree vs Time To Stability"),
        *_LIMITERS,
        chosen(
            "PAUSE goes by",
            "the bytes of each input",
            f"802.1Q's PFC initiator; {_LATE}",
            "the queue of the output",
        ),
        chosen("innocent flows", "2.5 Gb/s an edge switch", "they overload nothing", "1 and 5 Gb/s"),
        chosen("seeds", "eight", "the deck has one run a point", "three with a choice"),
        *more,
    ]
