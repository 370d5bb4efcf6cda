"""Headroom beside published numbers: NVIDIA's lookup tables by formula, Broadcom's by table, and physics below both.

Source of the tables: sonic-buildimage at 086b03bd70, ``device/*/pg_profile_lookup.ini``; the columns of each row are
speed in Mb/s, cable in metres, size, xon and xoff in bytes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sonic_cases import case
from xoff.sonic import formula
from xoff.sonic.asic import CHIPS
from xoff.sonic.formula import Link, Traffic

WORST = Traffic(1024, 100, is_given=True)
SPEEDS = (10_000, 25_000, 40_000, 50_000, 100_000, 200_000, 400_000, 800_000)
XOFF_KIB: dict[str, tuple[str, str, dict[int, tuple[int, ...]]]] = {
    # Table: chip, generation of the formula, xoff in KiB by cable, in the order of SPEEDS.
    "ACS-MSN2700": (
        "spectrum1",
        "A",
        {5: (29, 29, 29, 29, 30), 40: (29, 31, 32, 33, 38), 300: (36, 47, 58, 65, 102)},
    ),
    "ACS-MSN3700": ("spectrum2", "A", {}),
    "ACS-MSN4700": ("spectrum3", "A", {}),
    "ACS-SN5600": (
        "spectrum4",
        "B",
        {
            5: (44, 47, 56, 62, 111, 128, 226, 251),
            40: (45, 51, 61, 68, 124, 154, 277, 354),
            300: (55, 75, 99, 116, 220, 347, 662, 1124),
        },
    ),
}
XOFF_KIB["ACS-MSN3700"][2].update(
    {5: (32, 32, 33, 33, 33, 35), 40: (33, 35, 37, 38, 43, 54), 300: (40, 53, 65, 74, 115, 199)}
)
XOFF_KIB["ACS-MSN4700"][2].update(
    {5: (32, 32, 33, 33, 33, 35, 38), 40: (33, 35, 37, 38, 43, 54, 76), 300: (40, 53, 65, 74, 115, 199, 365)}
)
# Of these three rows the published size is 1 KiB less than xon + xoff, or than xon + xoff + MTU, rounded up.
SHORT = {("ACS-SN5600", 40_000, 5), ("ACS-SN5600", 800_000, 5), ("ACS-SN5600", 800_000, 300)}


@pytest.mark.parametrize("name", XOFF_KIB)
def test_tables_of_nvidia_come_out_to_the_byte(name: str) -> None:
    chip, generation, rows = XOFF_KIB[name]
    number = 0
    for metres, column in rows.items():
        for speed, kib in zip(SPEEDS, column, strict=False):
            is_wide = speed == (400_000 if chip == "spectrum3" else 800_000)
            link = Link(speed, metres, 9216, 8 if is_wide else 4)
            found = formula.dynamic(CHIPS[chip], link, WORST, has_shared_headroom=False, generation=generation)
            assert found.xoff == kib * 1024, (name, speed, metres)
            assert found.xon == (37 if is_wide and generation == "A" else 38 if is_wide else 19) * 1024
            # A port of eight lanes adds its MTU, 9 KiB.
            assert found.size == found.xon + found.xoff + (9 * 1024 if is_wide else 0)
            number += 1
    assert number == {"ACS-MSN2700": 15, "ACS-MSN3700": 18, "ACS-MSN4700": 21, "ACS-SN5600": 24}[name]
    assert {one[0] for one in SHORT} == {"ACS-SN5600"}


def test_rows_of_the_case() -> None:
    rows = case("s8")
    for generation, key, chip in (("A", "spc1_cell_96", 1), ("A", "spc3_cell_144", 3), ("B", "spc4_cell_192", 4)):
        for speed, metres, xoff in rows[f"generation_{generation}"][key]:
            link = Link(speed, metres, rows["mtu_port"])
            found = formula.dynamic(
                CHIPS[f"spectrum{chip}"], link, WORST, has_shared_headroom=False, generation=generation
            )
            assert found.xoff == xoff


def test_the_script_of_today() -> None:
    """Spectrum 3, 100G, 40 m, MTU 9100, half of the packets small: 51,200 B, and 2 KiB more without shared headroom."""
    link = Link(100_000, 40, 9100)
    shared, own = (
        formula.dynamic(CHIPS["spectrum3"], link, Traffic(), has_shared_headroom=shared) for shared in (True, False)
    )
    assert (shared.xoff, shared.xon, shared.size) == (51_200, 19_456, 19_456)
    assert (own.xoff, own.size) == (53_248, 72_704)


def test_a_gearbox_is_passed_twice() -> None:
    """SN3800: 400 ns each way are 2 · 100,000 · 400 / 8192 B."""
    link = Link(100_000, 5, 9216)
    plain, gearbox = (
        formula.dynamic(CHIPS["spectrum2"], one, WORST, has_shared_headroom=True, generation="A")
        for one in (link, Link(100_000, 5, 9216, gearbox_ns=formula.GEARBOX_NS))
    )
    # 9,765.6 B in cells of 144 B that hold 64 B each: 21,973 B.
    assert 21_973 - 1024 <= gearbox.xoff - plain.xoff <= 21_973 + 1024


def test_pause_quanta_of_802_3() -> None:
    assert formula.response(100_000) == 394 * 64
    assert formula.response(400_000) == 905 * 64
    assert float(formula.response(123)) == pytest.approx(3.8 * formula.KIB)


Z9332F = """
# speed cable   size    xon   xoff   threshold xon_offset
 100000  5m     2540    2540  68580     -2        2540
 100000  40m    2540    2540  74422     -2        2540
 100000  300m   2540    2540  117348    -2        2540
 400000  5m     2540    2540  178562    -2        2540
 400000  40m    2540    2540  201930    -2        2540
 400000  300m   2540    2540  373888    -2        2540
"""


def test_rows_of_a_table_are_taken_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "lookup.ini").write_text(Z9332F)
    table = formula.lookup(tmp_path / "lookup.ini")
    row = table.exact(400_000, 40)
    assert row is not None
    assert (row.size, row.xon, row.xoff, row.xon_offset, row.dynamic_th) == (2540, 2540, 201930, 2540, -2)
    assert table.exact(400_000, 41) is None
    between = table.between(400_000, 41)
    # 661.4 B a metre.
    assert between is not None
    assert between.xoff == 201930 + 662
    assert "between 40m and 300m" in between.method
    beyond = table.between(100_000, 400)
    assert beyond is not None
    assert beyond.xoff == 117_348 + 100 * (117_348 - 74_422) // 260
    assert table.between(200_000, 40) is None


def test_physics_in_bytes_and_in_cells() -> None:
    """100G, 40 m: 5,000 B on the cable, 25,216 B of response, frames of 9,100 B and twice 1,024 B, a pause of 64 B."""
    link = Link(100_000, 40, 9100)
    assert link.cable_bytes == 5000
    flight = 5000 + 25_216 + 9100 + 64 + 1024
    large = Traffic(1024, 0)
    # A frame of 1,024 B fills five cells of 208 B.
    assert formula.physics(CHIPS["tomahawk"], link, large) == -(-(flight * 1040 / 1024 + 1040) // 208) * 208
    # A frame of 64 B fills one.
    worst = -(-(flight * 208 / 64 + 1040) // 208) * 208
    assert formula.physics(CHIPS["tomahawk"], link, large, 100) == worst


@pytest.mark.parametrize("metres", [5, 40, 300])
def test_published_tables_are_above_physics(metres: int) -> None:
    """Trident 2, Tomahawk 2 and Z9332F at 100G; half of the packets have 64 B."""
    published = {
        "trident2": (47_216, 52_624, 91_728),
        "tomahawk2": (54_080, 59_696, 101_088),
        "tomahawk3": (68_580, 74_422, 117_348),
    }
    for chip, column in published.items():
        least = formula.physics(CHIPS[chip], Link(100_000, metres, 9100), Traffic())
        assert least <= column[(5, 40, 300).index(metres)]
