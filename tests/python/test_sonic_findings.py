"""Each kind of finding on a small configuration with the defect, and none on the same configuration without it.

`test_sonic_checks.py` has a configuration for each check. The kinds here are several defects of the same check, and
defects that depend on the chip: a limit of a slice, a pool for both directions, an unknown chip.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from small import Command
from sonic_cases import Tables, changed, pair, switch, write
from xoff._core import InputError
from xoff.sonic import check_command
from xoff.sonic.asic import CHIPS, RANGES, UNKNOWN
from xoff.sonic.checks import registry

PORTS = "Ethernet0,Ethernet4,Ethernet8,Ethernet12"
QOS, QUEUE, WRED = f"PORT_QOS_MAP/{PORTS}", f"QUEUE/{PORTS}|3-4", "WRED_PROFILE/AZURE_LOSSLESS"
INGRESS, EGRESS = "BUFFER_POOL/ingress_lossless_pool", "BUFFER_POOL/egress_lossless_pool"
LIMIT, GROUP = "BUFFER_PROFILE/egress_lossless_profile", "BUFFER_PROFILE/pg_lossless_100000_40m_profile"
LOSSY_GROUPS = (f"BUFFER_PG/{PORTS}|3-4", {"profile": "ingress_lossy_profile"})
NO_PFC = (f"{QOS}/pfc_enable", "")
PLATFORM = "DEVICE_METADATA/localhost/platform"
CELL = 254


def on_slices(*changes: tuple[str, Any]) -> Tables:
    """Returns a Tomahawk 5: two slices, sizes in cells of 254 B, and a pool with the shared headroom inside."""
    sizes = {"size": f"{400_000 * CELL}", "xoff": f"{8000 * CELL}"}
    return changed(
        switch(),
        (PLATFORM, "x86_64-arista_7060x6_64pe_b"),
        *((f"{INGRESS}/{key}", value) for key, value in sizes.items()),
        (f"{EGRESS}/size", f"{400_000 * CELL}"),
        (f"{LIMIT}/static_th", f"{200_000 * CELL}"),
        ("BUFFER_POOL/egress_lossy_pool/size", f"{100_000 * CELL}"),
        *((f"{GROUP}/{key}", f"{cells * CELL}") for key, cells in (("xoff", 1000), ("xon", 8), ("xon_offset", 8))),
        *changes,
    )


def one(*changes: tuple[str, Any], base: Callable[..., Tables] = switch) -> Callable[[bool], dict[str, Tables]]:
    return lambda has_defect: {"leaf0": changed(base(), *(changes if has_defect else ()))}


def _split_queue(has_defect: bool) -> dict[str, Tables]:
    """Queue 3 at a port has no curve, unlike all other lossless queues."""
    tables = switch()
    entry = tables["QUEUE"].pop(f"{PORTS}|3-4")
    for name in PORTS.split(","):
        for queue in (3, 4):
            is_bare = has_defect and (name, queue) == ("Ethernet8", 3)
            tables["QUEUE"][f"{name}|{queue}"] = {"scheduler": entry["scheduler"]} if is_bare else entry
    return {"leaf0": tables}


def _all_lossy(has_defect: bool) -> dict[str, Tables]:
    changes = (NO_PFC, LOSSY_GROUPS) if has_defect else ()
    return {name: changed(tables, *changes) for name, tables in pair().items()}


def _one_lossy_port(has_defect: bool) -> dict[str, Tables]:
    """A port among four has neither PFC nor lossless groups."""
    tables = switch()
    if has_defect:
        others, qos = "Ethernet0,Ethernet4,Ethernet8", tables["PORT_QOS_MAP"].pop(PORTS)
        tables["PORT_QOS_MAP"] = {others: qos, "Ethernet12": qos | {"pfc_enable": ""}}
        profile = tables["BUFFER_PG"].pop(f"{PORTS}|3-4")
        tables["BUFFER_PG"] |= {f"{others}|3-4": profile, "Ethernet12|3-4": {"profile": "ingress_lossy_profile"}}
    return {"leaf0": tables}


KINDS: dict[str, tuple[Callable[[bool], dict[str, Tables]], str, str, str]] = {
    # kind: configuration, id, level, part of the explanation
    "no lossless class in the fabric": (_all_lossy, "dscp-lossy", "error", "pfc_enable of the port is empty"),
    "no lossless class at a port": (_one_lossy_port, "dscp-lossy", "warning", "pfc_enable of the port is empty"),
    "a queue without a profile": (_split_queue, "ecn-off", "warning", "lossless queue 3 has no curve"),
    "no WRED table": (
        one((f"{QUEUE}/wred_profile", None), ("WRED_PROFILE", None)), "ecn-off", "warning", "has no curve"
    ),
    "swapped thresholds": (
        one((f"{WRED}/green_min_threshold", "2097152"), (f"{WRED}/green_max_threshold", "250000")),
        "order", "error", "green_max_threshold is 250000",
    ),
    "swapped thresholds of yellow": (
        one(
            (f"{WRED}/yellow_min_threshold", "2"),
            (f"{WRED}/yellow_max_threshold", "1"),
            (f"{WRED}/wred_yellow_enable", "true"),
        ),
        "order", "error", "yellow_max_threshold is 1",
    ),
    "swapped thresholds without effect": (
        one((f"{WRED}/red_min_threshold", "2"), (f"{WRED}/red_max_threshold", "1")), "order", "note", "no queue",
    ),
    "a rate above its peak": (
        one(("SCHEDULER/scheduler.0/cir", "2"), ("SCHEDULER/scheduler.0/pir", "1")), "order", "error", "pir is 1",
    ),
    "a limit below the slice's part": (
        one((f"{LIMIT}/static_th", f"{199_999 * CELL}"), base=on_slices),
        "egress-pool", "error", "each of 2 slices admit 50800000 B, 254 B (1 cells) more",
    ),
    "an egress pool below the ingress pool": (
        one((f"{EGRESS}/size", "33262528"), (f"{LIMIT}/static_th", "0")), "egress-pool", "error", "1331200 B",
    ),
    "a share below what full groups hold": (
        one(
            (f"{LIMIT}/static_th", None), (f"{LIMIT}/dynamic_th", "-1"), (f"{EGRESS}/mode", "dynamic"),
            base=lambda: on_slices((f"{GROUP}/dynamic_th", "-2")),
        ),
        "egress-pool", "warning", "2 or more full lossless groups (of 4 in a slice)",
    ),
    "a static limit of a group above its pool": (
        one((f"{GROUP}/static_th", "33262736"), (f"{GROUP}/dynamic_th", None), (f"{INGRESS}/mode", "static"),
            ("BUFFER_PROFILE/ingress_lossy_profile/dynamic_th", None)),
        "static-above-pool", "warning", "the limit has no effect",
    ),
    "a priority with a lossy profile": (
        one(LOSSY_GROUPS), "pg-missing", "error", "its profile ingress_lossy_profile has no xoff"
    ),
}  # fmt: skip


def rows(directory: Path, switches: dict[str, Tables], **facts: Any) -> list[Any]:
    """Returns the findings on switches whose hosts send RoCE with DSCP 26."""
    context = check_command.context(write(directory, switches), **({"roce_dscp": 26, "cnp_dscp": 48} | facts))
    return registry.findings(context)


@pytest.mark.parametrize("kind", KINDS)
def test_the_defect_is_the_only_finding(tmp_path: Path, kind: str) -> None:
    made, name, level, says = KINDS[kind]
    assert rows(tmp_path / "without", made(False)) == []
    found = rows(tmp_path / "with", made(True))
    assert {(row.id, row.level) for row in found} == {(name, level)}
    assert all(says in row.why for row in found), found


def test_one_queue_of_one_port_is_named(tmp_path: Path) -> None:
    (row,) = rows(tmp_path / "fabric", _split_queue(True))
    assert (row.port, row.table, row.key, row.field, row.required) == (
        "Ethernet8", "QUEUE", "Ethernet8|3", "wred_profile", "AZURE_LOSSLESS"
    )  # fmt: skip


def test_a_pool_of_type_both_is_not_compared_with_itself(tmp_path: Path) -> None:
    """In a common pool the output cannot run out of memory before the input."""
    both = changed(
        switch(),
        (f"{INGRESS}/type", "both"),
        (f"{LIMIT}/pool", "ingress_lossless_pool"),
        (f"{LIMIT}/static_th", None),
        (f"{LIMIT}/dynamic_th", "-1"),
    )
    assert "egress-pool" not in {row.id for row in rows(tmp_path / "fabric", {"leaf0": both})}


def test_a_file_without_queues_is_not_checked_for_marks(tmp_path: Path) -> None:
    context = check_command.context(write(tmp_path / "fabric", {"leaf0": changed(switch(), ("QUEUE", {}))}))
    assert registry.findings(context) == []
    assert "no QUEUE table" in context.unchecked["ecn-off"]


def test_a_group_may_name_a_profile_that_sonic_makes(tmp_path: Path) -> None:
    """Supermicro SSE-T7132S ships such groups: the row of the lookup table is the profile."""
    tables = changed(switch(), (GROUP, None))
    lookup = tmp_path / "lookup.ini"
    lookup.write_text("100000 40m 1248 2288 166400 0 2288\n", "utf-8")
    assert rows(tmp_path / "fabric", {"leaf0": tables}, lookup=lookup) == []
    lookup.write_text("100000 5m 1248 2288 166400 0 2288\n", "utf-8")
    with pytest.raises(InputError, match="BUFFER_PROFILE has no entry"):
        rows(tmp_path / "fabric", {"leaf0": tables}, lookup=lookup)


UNKNOWN_CHIP = (PLATFORM, "x86_64-acme_9000-r0")


def test_an_unknown_chip_is_named(xoff_here: Command, tmp_path: Path) -> None:
    write(tmp_path / "fabric", {"leaf0": changed(switch(), UNKNOWN_CHIP)})
    done = xoff_here("check", "--sonic", "fabric", "--json")
    assert json.loads(done.stdout)["switches"] == {"leaf0": UNKNOWN}
    done = xoff_here("check", "--sonic", "fabric")
    assert done.returncode == 0, done.stdout
    assert "1 switches (unknown 1)" in done.stdout
    assert "headroom_in_pool" in done.stdout
    assert "of the unknown chip of x86_64-acme_9000-r0; --asic FILE gives the values" in done.stdout.replace("\n", " ")
    assert "guess" not in done.stdout


@pytest.mark.parametrize(
    ("changes", "name", "depends"),
    [
        (((f"{GROUP}/xoff", "41600"),), "headroom", "cell"),
        (((f"{GROUP}/xon_offset", "2289"),), "cells", "cell"),
        (((f"{EGRESS}/size", "33262528"),), "egress-pool", "slices"),
        (
            ((f"{WRED}/green_min_threshold", "3000000"), (f"{WRED}/green_max_threshold", "4000000")),
            "ecn-above-xoff",
            "slices",
        ),
    ],
)
def test_a_finding_that_depends_on_an_unknown_chip_is_not_checked(
    tmp_path: Path, changes: tuple[tuple[str, Any], ...], name: str, depends: str
) -> None:
    """On a known chip, the same change is a finding."""
    tables = changed(switch(), *changes)
    assert name in {row.id for row in rows(tmp_path / "known", {"leaf0": tables})}
    folder = write(tmp_path / "unknown", {"leaf0": changed(tables, UNKNOWN_CHIP)})
    context = check_command.context(folder)
    assert name not in {row.id for row in registry.findings(context)}
    assert context.unchecked[name].startswith("leaf0: ")
    assert depends in context.unchecked[name]
    assert "unknown chip of x86_64-acme_9000-r0" in context.unchecked[name]


def test_a_finding_on_every_chip_needs_no_chip(tmp_path: Path) -> None:
    """11,000 B hold the cable of 40 m both ways, and no chip holds the reaction of the neighbour in them."""
    tables = changed(switch(), UNKNOWN_CHIP, (f"{GROUP}/xoff", "11000"), ("CABLE_LENGTH/AZURE/Ethernet0", "40m"))
    found = [row for row in rows(tmp_path / "fabric", {"leaf0": tables}) if row.level == "error"]
    assert {row.id for row in found} == {"headroom"}
    assert all("or more" in row.why for row in found)


def test_findings_need_only_properties_that_a_chip_has() -> None:
    """A property without a range would stop the checks on a chip without a value."""
    assert {name for check in registry.CHECKS for name in check.needs} <= set(RANGES)
    assert {name for chip in CHIPS.values() for name in chip.unknown} <= set(RANGES)
