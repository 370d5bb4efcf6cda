"""The memory of switches in a report: parts that add up, XOFF beside the core's, and switches that differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import xoff
from xoff import report
from xoff.report import switch_memory

_SHARED: dict[str, Any] = {
    "total": "2MB", "alpha": 0.5, "reserve": "2KB", "headroom": "30KB",
    "groups": [{"classes": [1], "alpha": 8.0, "reserve": "1KB"}],
}  # fmt: skip


def _scenario(**switch: Any) -> dict[str, Any]:
    return {
        "seed": 1,
        "network": {"line": {"switches": 2, "hosts_per_switch": 3, "link": {"rate": "100Gbps", "delay": "1us"}}},
        "switch": {
            "classes": 2,
            "buffer": {"shared": _SHARED},
            "flow_control": {"pfc": {"classes": [0]}},
            **switch,
        },
        "workload": [{"name": "incast", "incast": {"senders": [0, 1, 4], "receiver": 3, "size": "2MB"}}],
    }


def _drawings(**switch: Any) -> list[switch_memory.Drawing]:
    return switch_memory.build(xoff.run(_scenario(**switch)))


def test_parts_add_up_and_are_those_of_the_core() -> None:
    drawn = _drawings()
    # Both switches have four ports: four times 2 KB and 1 KB of reserve, and 30 KB of headroom of class 0 ...
    (one,) = drawn
    assert one.title.endswith("and 1 more with equal memory")
    sizes = {part.kind: part.size_bytes for part in one.legend}
    pool = next(mark for mark in xoff.run(_scenario()).table("high_water").to_pylist() if mark["kind"] == "pool")
    assert sizes == {"reserve": 4 * 3000, "pool": pool["threshold_bytes"], "headroom": 4 * 30_000}
    assert sum(sizes.values()) == 2_000_000
    # ... and a group alone pauses where the core says: r + αB/(1 + α).
    (row,) = xoff.check(_scenario())["headroom"]
    first = one.alpha[0].pieces[0].size_bytes
    assert abs(2000 + first - row["xoff_bytes"]) <= 1
    assert abs(first - 0.5 * sizes["pool"] / 1.5) < 1e-6


@pytest.mark.parametrize("alpha", [0.125, 1.0, 64.0])
def test_bars_are_full(alpha: float) -> None:
    for one in _drawings(buffer={"shared": _SHARED | {"alpha": alpha}}):
        assert [bar.title for bar in one.alpha] == ["1 full group", "2 full groups", "4 full groups"]
        for bar in [one.cut, *one.alpha, *one.used]:
            assert abs(sum(piece.width for piece in bar.pieces) - 100) < 1e-9, bar
        for n, bar in zip((1, 2, 4), one.alpha, strict=True):
            assert abs(bar.pieces[-1].width - 100 / (1 + n * alpha)) < 1e-9


def test_switches_that_differ_have_their_own_drawing() -> None:
    result = xoff.run(_scenario())
    names = sorted(set(result.table("high_water")["node"].to_pylist()))
    drawn = _drawings(overrides=[{"switches": [names[0]], "buffer": {"total": "3MB"}}])
    assert {one.title: one.cut.finding for one in drawn} == {names[0]: "3.0 MB", names[1]: "2.0 MB"}


def test_a_fixed_xoff_is_not_called_a_pause_of_alpha(tmp_path: Path) -> None:
    fixed = _drawings(flow_control={"pfc": {"classes": [0], "xoff": "40KB"}})
    assert fixed[0].alpha[0].finding.startswith("holds ")
    assert _drawings()[0].alpha[0].finding.startswith("pauses at ")
    assert _drawings(buffer="unlimited") == []
    for buffer, sections in (({"shared": _SHARED}, 1), ("unlimited", 0)):
        place = tmp_path / str(sections)
        xoff.run(_scenario(buffer=buffer), out=place)
        page = report.write(place, formats=["html"]).read_text("utf-8")
        assert page.count('<section id="memory">') == sections
