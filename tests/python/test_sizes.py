"""The calculators reproduce every row of the tables of the document on SFC, with its two slips corrected."""

from __future__ import annotations

import json
from typing import Any

import pytest

from small import Command
from xoff import _core

# links, link ns, switch ns, N, PFC threshold KB, needed headroom KB, SFC threshold KB, pause range µs
_ROWS = [
    (5, 150, 300, 5, 780, 420, 200, 16.8, 24.8),
    (5, 150, 300, 3, 780, 210, 200, 8.4, 16.4),
    (5, 150, 300, 7, 780, 630, 200, 25.2, 33.2),
    (3, 150, 300, 3, 380, 120, 200, 4.8, 12.8),
    (3, 150, 300, 3, 780, 120, 600, 4.8, 28.8),
    (3, 150, 300, 3, 1580, 120, 1400, 4.8, 60.8),
    (3, 150, 300, 3, 2380, 120, 2200, 4.8, 92.8),
    (3, 150, 300, 3, 3180, 120, 3000, 4.8, 124.8),
    (3, 150, 300, 3, 3980, 120, 3800, 4.8, 156.8),
    (3, 150, 300, 5, 380, 240, 200, 9.6, 17.6),
    (3, 150, 300, 5, 780, 240, 600, 9.6, 33.6),
    (3, 150, 300, 5, 780, 240, 400, 9.6, 25.6),
    (3, 150, 300, 5, 780, 240, 200, 9.6, 17.6),
    (3, 150, 300, 5, 1180, 240, 800, 9.6, 41.6),
    (3, 50, 100, 3, 380, 40, 200, 1.6, 9.6),
    (3, 100, 200, 3, 380, 80, 200, 3.2, 11.2),
    (3, 300, 600, 3, 365, 240, 100, 9.6, 13.6),
    (3, 600, 1200, 3, 340, 480, 50, 19.2, 21.2),
    (3, 1200, 2400, 3, 280, 960, 50, 38.4, 40.4),
    (3, 2400, 4800, 3, 160, 1920, 50, 76.8, 78.8),
]


def _sfc(**changes: Any) -> dict[str, Any]:
    request = {
        "incast": 3,
        "links": 3,
        "link_delay": "150ns",
        "switch_delay": "300ns",
        "rate": "200Gbps",
        "pfc_threshold": "380KB",
        "sfc_threshold": "200KB",
    }
    answer: dict[str, Any] = json.loads(_core.size_sfc(json.dumps(request | changes)))
    return answer


@pytest.mark.parametrize("row", _ROWS)
def test_rows_of_the_document(row: tuple[int, int, int, int, int, int, int, float, float]) -> None:
    links, link, switch, incast, pfc, needed, sfc, shortest, longest = row
    answer = _sfc(
        links=links,
        link_delay=f"{link}ns",
        switch_delay=f"{switch}ns",
        incast=incast,
        pfc_threshold=f"{pfc}KB",
        sfc_threshold=f"{sfc}KB",
    )
    assert answer["needed_headroom_bytes"] == needed * 1000
    assert answer["pause_min_ps"] == round(shortest * 1e6)
    assert answer["pause_max_ps"] == round(longest * 1e6)
    assert bool(answer["warnings"]) == (needed > pfc - sfc)


def test_the_command_and_the_reverse_question(xoff_command: Command) -> None:
    done = xoff_command("size", "sfc", "--incast", "3")
    assert done.returncode == 0, done.stderr
    for part in ("120.0 KB", "4.800 µs", "12.800 µs"):
        assert part in done.stdout
    words = ["--links", "5", "--pfc-threshold", "780KB", "--buffer", "800KB"]
    reverse = json.loads(xoff_command("size", "sfc", *words, "--json").stdout)
    # 580 KB hold (N − 1) · 105 KB up to N = 6: the document's 7-to-1 needs 630 KB.
    assert reverse["largest_incast"] == 6


def test_pfc(xoff_command: Command) -> None:
    words = ["--max-frame", "4096B", "--buffer", "400KB"]
    answer = json.loads(xoff_command("size", "pfc", *words, "--json").stdout)
    assert answer["headroom_bytes"] == 15_000 + 3 * 4096 + 64
    assert answer["xoff_bytes"] == 400_000 - answer["headroom_bytes"]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("pfc --max-frame 4KiB --rate 0bps", "--rate: 0bps is out of range; allowed are 1Mbps to 10Tbps"),
        ("pfc --max-frame 4KiB --rate fast", "--rate: `fast`"),
        ("pfc --max-frame 0B", "--max-frame: "),
        ("pfc --max-frame 1TB", "--max-frame: "),
        ("pfc --max-frame 4KiB --pause-frame 0B", "--pause-frame: "),
        ("pfc --max-frame 4KiB --link-delay 100s", "--link-delay: 100s"),
        ("pfc --max-frame 4KiB --switch-delay 100s", "--switch-delay: "),
        ("pfc --max-frame 4KiB --buffer 1B", "--buffer: 1B cannot hold a frame of 4KiB"),
        ("sfc --incast 1000000000000000", "--incast: "),
        ("sfc --links 1000000000000000", "--links: "),
        ("sfc --links 18446744073709551616", "links"),
        ("sfc --incast 3 --sfc-threshold 500KB", "--sfc-threshold: 500KB is not below"),
        ("sfc --sfc-threshold 0B", "--sfc-threshold: "),
        ("sfc --pfc-threshold 500KB", "--pfc-threshold: 500KB is above buffer, 400KB"),
        ("sfc --pause 0s", "--pause: "),
        ("sfc --architecture crossbar", "--architecture: "),
    ],
)
def test_what_has_no_answer_is_refused_by_option(xoff_here: Command, words: str, part: str) -> None:
    done = xoff_here("size", *words.split())
    assert done.returncode == 2
    assert done.stdout == ""
    assert part in done.stderr
