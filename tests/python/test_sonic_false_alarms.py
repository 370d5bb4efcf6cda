"""False alarms: configurations that are right by the published formulas trip no check.

Each configuration is made here from public facts: the cells of a chip, the pause quanta of 802.3, the cable, and the
worst mix of frames. `python tests/python/test_sonic_false_alarms.py` prints the count.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from itertools import product
from pathlib import Path

import pytest

from sonic_cases import Tables, switch, write
from xoff.sonic import asic, check_command, formula
from xoff.sonic.checks import registry
from xoff.sonic.formula import Link, Traffic

CHIPS = ("trident2", "trident3", "tomahawk", "tomahawk2", "tomahawk3", "spectrum1", "spectrum2", "spectrum4")
SPEEDS = (25_000, 100_000, 400_000)
METRES = (5, 40, 300)
PORTS = (4, 16)
_B = 16 * 2**20
"""Bytes for all groups together; the pool has the parts beside that the chip counts there."""


def right(name: str, speed: int, metres: int, ports: int) -> Tables:
    """Returns a leaf whose headroom holds the worst case of its links, with marks before pauses of all groups."""
    chip = asic.CHIPS[name]
    tables = switch(ports, speed=speed, metres=metres)
    del tables["DEVICE_METADATA"]["localhost"]["platform"]
    link, traffic = Link(speed, metres, 9100), Traffic()
    xoff = -(-formula.physics(chip, link, traffic, 100) // chip.unit) * chip.unit
    reserve = 8 * chip.unit
    pool = 2 * ports * xoff
    inside = (pool if chip.headroom_in_pool else 0) + (2 * ports * reserve if chip.reserve_in_pool else 0)
    size = -(-(_B * chip.slices + inside) // chip.unit) * chip.unit
    profile = tables["BUFFER_PROFILE"][f"pg_lossless_{speed}_{metres}m_profile"]
    profile |= {"size": str(reserve), "xoff": str(xoff), "xon": str(4 * chip.unit), "xon_offset": str(16 * chip.unit)}
    tables["BUFFER_POOL"]["ingress_lossless_pool"] |= {"size": str(size), "xoff": str(pool)}
    egress = str(-(-(size + pool) // chip.unit) * chip.unit)
    tables["BUFFER_POOL"]["egress_lossless_pool"]["size"] = egress
    tables["BUFFER_PROFILE"]["egress_lossless_profile"]["static_th"] = egress
    tables["BUFFER_POOL"]["egress_lossy_pool"]["size"] = str(size // chip.unit * chip.unit)
    tables["BUFFER_PROFILE"]["egress_lossy_profile"]["size"] = str(reserve)
    return tables


def alarms(directory: Path, name: str, speed: int, metres: int, ports: int) -> list[str]:
    """Returns the checks that find an error or a warning."""
    write(directory, {"leaf0": right(name, speed, metres, ports)})
    (directory / "asic.toml").write_text(f'base = "{name}"\n', "utf-8")
    rows = registry.findings(check_command.context(directory))
    return [f"{row.id}: {row.field} = {row.value}, {row.why}" for row in rows if row.level in {"error", "warning"}]


@pytest.mark.parametrize("name", CHIPS)
def test_right_configurations_trip_no_check(tmp_path: Path, name: str) -> None:
    for at, (speed, metres, ports) in enumerate(product(SPEEDS, METRES, PORTS)):
        assert alarms(tmp_path / str(at), name, speed, metres, ports) == [], (speed, metres, ports)


def test_a_wrong_value_among_them_is_found(tmp_path: Path) -> None:
    """The count can fail: a cable of ten times the length is an error."""
    tables = right("tomahawk2", 100_000, 40, 4)
    tables["CABLE_LENGTH"]["AZURE"]["Ethernet0"] = "4000m"
    write(tmp_path / "wrong", {"leaf0": tables})
    rows = registry.findings(check_command.context(tmp_path / "wrong"))
    assert "headroom-cable" in {row.id for row in rows if row.level == "error"}


if __name__ == "__main__":
    found: Counter[str] = Counter()
    cases = list(product(CHIPS, SPEEDS, METRES, PORTS))
    with tempfile.TemporaryDirectory() as place:
        for number, one in enumerate(cases):
            found.update(alarm.partition(":")[0] for alarm in alarms(Path(place) / str(number), *one))
    print(f"{len(cases)} configurations, {sum(found.values())} false alarms: {dict(found)}")
