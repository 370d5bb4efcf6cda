"""Parameters of the comparison: values from published evaluations, and our choices."""

from __future__ import annotations

from collections.abc import Sequence

from xoff.reproduce import Parameter, chosen, given


def parameters(more: Sequence[Parameter] = ()) -> list[Parameter]:
    """Returns the parameters of all experiments, followed by the parameters of one experiment."""
    return [
        given("hosts and links", "128 hosts at 8 leaves, 100 Gb/s, 1 µs a link", "BFC's and ConWeave's evaluations"),
        given("buffer of a switch", "12 MB", "BFC's evaluation"),
        given(
            "packets",
            "1000 B of payload; 42 B of telemetry under HPCC, 2 B under HPCC-PINT",
            "code of HPCC, BFC and ConWeave",
        ),
        chosen("thresholds of the buffer", "they move: an eighth of what is free", "the default; as in HPCC's code"),
        chosen("credits", "each port has its share of the buffer", "what credits promise must be there"),
        chosen("mechanisms", "defaults and presets; see `_mechanisms.py`", "nothing is tuned for this page"),
        *more,
    ]


ARRIVALS = [
    chosen("load", "share of what leaves can send up", "2:1 at 50 % offers half of what 1:1 at 50 % does"),
    chosen("end", "10 ms after the last arrival", "some rows never end; what is not over counts with its time so far"),
]
INCASTS = given("incasts", "60 senders of 500 KB, 2 % of the capacity: one a millisecond", "HPCC's evaluation")
