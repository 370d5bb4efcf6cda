"""Checks of SONiC configurations: each has a configuration that trips it, and the healthy switch trips none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from small import Command
from sonic_cases import Tables, case, changed, pair, switch, write
from xoff.sonic import check_command
from xoff.sonic.checks import registry
from xoff.sonic.checks.registry import CHECKS
from xoff.sonic.checks.row import Row

PROFILE = "BUFFER_PROFILE/pg_lossless_100000_40m_profile"
PORTS = "Ethernet0,Ethernet4,Ethernet8,Ethernet12"
HEALTHY = {"roce_dscp": 26, "cnp_dscp": 48}


def found(directory: Path, switches: dict[str, Tables], **facts: Any) -> list[Row]:
    """Returns the findings on switches."""
    return registry.findings(check_command.context(write(directory, switches), **(HEALTHY | facts)))


def file(directory: Path, name: str, text: str) -> Path:
    path = directory.parent / name
    path.write_text(text, "utf-8")
    return path


def test_a_healthy_switch_and_a_healthy_pair_are_silent(tmp_path: Path) -> None:
    assert found(tmp_path / "one", {"leaf0": switch()}) == []
    assert found(tmp_path / "two", pair()) == []
    assert found(tmp_path / "large", {"leaf0": switch(32)}) == [] or all(
        row.id == "shp" for row in found(tmp_path / "large", {"leaf0": switch(32)})
    )


def one(*changes: tuple[str, Any]) -> Callable[[], dict[str, Tables]]:
    return lambda: {"leaf0": changed(switch(), *changes)}


def two(*changes: tuple[str, Any]) -> Callable[[], dict[str, Tables]]:
    def made() -> dict[str, Tables]:
        switches = pair()
        return switches | {"leaf1": changed(switches["leaf1"], *changes)}

    return made


EGRESS = (
    ("BUFFER_POOL", "egress_lossless_pool", "size"),
    ("BUFFER_PROFILE", "egress_lossless_profile", "static_th"),
)
MARKS_FROM_0 = "WRED_PROFILE/AZURE_LOSSLESS/green_min_threshold"
LOOKUP = "100000 40m 1248 2288 166400 0 2288\n"
NVIDIA = ("DEVICE_METADATA/localhost/platform", "x86_64-mlnx_msn3700-r0")
TRIPS: dict[str, tuple[Callable[[], dict[str, Tables]], str, str, str, dict[str, str]]] = {
    # id: configuration, level, field, value that would pass, files beside the folder; `roce_dscp` is not given if empty
    "pg-missing": (one((f"BUFFER_PG/{PORTS}|3-4", None), (PROFILE, None)), "error", "profile", "a profile with", {}),
    "pg-no-profile": (one((f"BUFFER_PG/{PORTS}|0", None)), "error", "profile", "a profile of", {}),
    "pfc-missing": (one((f"PORT_QOS_MAP/{PORTS}/pfc_enable", "3")), "error", "pfc_enable", "3,4", {}),
    "pfc-neighbour": (
        two(
            (f"PORT_QOS_MAP/{PORTS}/pfc_enable", "3"),
            (f"BUFFER_PG/{PORTS}|3-4", None),
            (f"BUFFER_PG/{PORTS}|3", {"profile": "pg_lossless_100000_40m_profile"}),
            (f"BUFFER_PG/{PORTS}|4", {"profile": "ingress_lossy_profile"}),
        ),
        "error",
        "pfc_enable",
        "3,4",
        {},
    ),
    "map-neighbour": (two(("DSCP_TO_TC_MAP/AZURE/4", "3")), "error", "4", "priority 4", {}),
    "map-queue": (one(("MAP_PFC_PRIORITY_TO_QUEUE/AZURE/3", "4")), "error", "3", "3", {}),
    "dscp-lossy": (one(("DSCP_TO_TC_MAP/AZURE/26", "0")), "error", "26", "3 or 4", {}),
    "no-lossless": (
        one(
            (f"PORT_QOS_MAP/{PORTS}/pfc_enable", ""),
            (f"BUFFER_PG/{PORTS}|3-4", {"profile": "ingress_lossy_profile"}),
            ("WRED_PROFILE/AZURE_LOSSLESS/ecn", "ecn_none"),
        ),
        "warning",
        "pfc_enable",
        "the priorities of RoCE",
        {"roce_dscp": ""},
    ),
    "cnp-class": (one(("DSCP_TO_TC_MAP/AZURE/48", "3")), "note", "48", "a class whose queue is STRICT", {}),
    "headroom-cable": (one((f"{PROFILE}/xoff", "4992")), "error", "xoff", "5000", {}),
    "headroom": (one((f"{PROFILE}/xoff", "41600")), "error", "xoff", "47424", {}),
    "headroom-monotone": (
        one(
            (
                "BUFFER_PROFILE/pg_lossless_100000_300m_profile",
                {"pool": "ingress_lossless_pool", "size": "1248", "xon": "2288", "xoff": "83200", "dynamic_th": "0"},
            )
        ),
        "warning",
        "xoff",
        "166400",
        {},
    ),
    "size-sum": (
        one(
            NVIDIA,
            ("BUFFER_POOL/ingress_lossless_pool/xoff", None),
            (f"{PROFILE}/xon", "19456"),
            (f"{PROFILE}/xon_offset", None),
            (f"{PROFILE}/xoff", "166912"),
            ("BUFFER_POOL/ingress_lossless_pool/size", "33554432"),
            ("BUFFER_POOL/egress_lossless_pool/size", "34603008"),
            ("BUFFER_PROFILE/egress_lossless_profile/static_th", "34603008"),
            ("BUFFER_POOL/egress_lossy_pool/size", "27262976"),
            (f"{PROFILE}/size", "19456"),
        ),
        "error",
        "size",
        "186368",
        {},
    ),
    "shp": (one(("BUFFER_POOL/ingress_lossless_pool/xoff", "665600")), "note", "xoff", "1331200", {}),
    "pool-sum": (one(), "error", "size", "34603712", {"asic.toml": 'base = "th2"\nmemory = 33554432\n'}),
    "egress-pool": (
        one(
            ("BUFFER_POOL/egress_lossless_pool/size", "33262528"),
            ("BUFFER_PROFILE/egress_lossless_profile/static_th", "33262528"),
        ),
        "error",
        "size",
        "34593728",
        {},
    ),
    "static-above-pool": (
        one(("BUFFER_PROFILE/egress_lossless_profile/static_th", "34593936")),
        "note",
        "static_th",
        "34593728",
        {},
    ),
    "threshold-mode": (
        one(
            (f"{PROFILE}/static_th", "4160000"),
            (f"{PROFILE}/dynamic_th", None),
        ),
        "warning",
        "static_th",
        "dynamic_th",
        {},
    ),
    "alpha-idle": (
        one((f"{PROFILE}/size", "20800"), ("BUFFER_POOL/ingress_lossless_pool/size", "9984"), (MARKS_FROM_0, "0")),
        "note",
        "dynamic_th",
        "18200 B",
        {},
    ),
    "lossy-ingress-first": (
        one(("BUFFER_PROFILE/ingress_lossy_profile/dynamic_th", "0")),
        "warning",
        "dynamic_th",
        "3",
        {},
    ),
    "alpha-starves": (
        one(
            (f"{PROFILE}/dynamic_th", "-8"), ("BUFFER_POOL/ingress_lossless_pool/size", "4160000"), (MARKS_FROM_0, "0")
        ),
        "warning",
        "dynamic_th",
        "-5",
        {},
    ),
    "xon": (one((f"{PROFILE}/xon", "0"), (f"{PROFILE}/xon_offset", "0")), "warning", "xon", "416", {}),
    "ecn-off": (
        one(("WRED_PROFILE/AZURE_LOSSLESS/wred_green_enable", "false")),
        "error",
        "wred_green_enable",
        "true",
        {},
    ),
    "order": (
        one(("WRED_PROFILE/AZURE_LOSSLESS/green_max_threshold", "249999")),
        "error",
        "green_min_threshold",
        "249999",
        {},
    ),
    "ecn-above-xoff": (
        one(
            ("WRED_PROFILE/AZURE_LOSSLESS/green_min_threshold", "3000000"),
            ("WRED_PROFILE/AZURE_LOSSLESS/green_max_threshold", "4000000"),
        ),
        "warning",
        "green_min_threshold",
        "2771877",
        {},
    ),
    "wred-drops-lossless": (one(("WRED_PROFILE/AZURE_LOSSLESS/ecn", "ecn_none")), "error", "ecn", "ecn_all", {}),
    "wd-poll": (one((f"PFC_WD/{PORTS}/detection_time", "100")), "error", "detection_time", "above POLL_INTERVAL", {}),
    "wd-pause": (
        one(
            *((f"PORT/{name}/speed", "100") for name in PORTS.split(",")),
            ("BUFFER_POOL/ingress_lossless_pool/size", "33262528"),
            (f"PFC_WD/{PORTS}/detection_time", "250"),
        ),
        "warning",
        "detection_time",
        "444",
        {},
    ),
    "cells": (one((f"{PROFILE}/xon_offset", "2289")), "warning", "xon_offset", "2496", {}),
    "weight": (
        one(("SCHEDULER/scheduler.0/weight", "100"), ("SCHEDULER/scheduler.1/weight", "10")),
        "note",
        "weight",
        "13",
        {},
    ),
    "link-mismatch": (two(("CABLE_LENGTH/AZURE/Ethernet12", "5m")), "error", "Ethernet12", "5m", {}),
    "name-reuse": (
        one(),
        "note",
        "size, xon, xoff",
        "1248, 2288, 59696",
        {"lookup.ini": LOOKUP.replace("166400", "59696")},
    ),
}


def facts(directory: Path, files: dict[str, str]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    if "roce_dscp" in files:
        return {"roce_dscp": None}
    for name, text in files.items():
        path = file(directory, name, text)
        given["chip" if name == "asic.toml" else "lookup"] = str(path) if name == "asic.toml" else path
    return given


def test_each_check_has_a_case() -> None:
    assert list(TRIPS) == [*dict.fromkeys(TRIPS)]
    assert {check.id for check in CHECKS} == set(TRIPS)
    assert len({check.id for check in CHECKS}) == len(CHECKS)


@pytest.mark.parametrize("name", TRIPS)
def test_a_configuration_trips_the_check_alone(tmp_path: Path, name: str) -> None:
    made, level, field, required, files = TRIPS[name]
    rows = found(tmp_path / "fabric", made(), **facts(tmp_path / "fabric", files))
    assert {row.id for row in rows} == {name}
    assert rows[0].level == level
    assert rows[0].field == field
    assert rows[0].required.startswith(required)
    assert rows[0].why
    assert rows[0].table


def as_folder(directory: Path, name: str) -> tuple[Path, dict[str, Any]]:
    """Returns a case as a folder, filled up with the healthy switch, and the facts beside it."""
    given = case(name)
    ports = given.get("ports", 4)
    base = switch(ports)
    tables = given.get("switches", {}).get("leaf0", {})
    chip = {"base": "generic"} | {key: value for key, value in given.get("asic", {}).items() if key != "unit"}
    if name == "s1":
        # The case has everything beside neighbours; other tables would name profiles that it does not have.
        base = {key: base[key] for key in ("DEVICE_METADATA",)}
    if name == "s2":
        # Alone in their pools, with the reserves of the healthy groups.
        for key in ("egress_lossy_pool",):
            base["BUFFER_POOL"].pop(key)
        base["BUFFER_PROFILE"].pop("egress_lossy_profile")
        base["BUFFER_QUEUE"] = {key: value for key, value in base["BUFFER_QUEUE"].items() if key.endswith("|3-4")}
        base["CABLE_LENGTH"]["AZURE"] = dict.fromkeys(base["PORT"], "300m")
        base["BUFFER_PROFILE"].pop("pg_lossless_100000_40m_profile")
        base["BUFFER_PG"] = {
            key: {"profile": "pg_lossless_100000_300m_profile"} if "|3" in key else value
            for key, value in base["BUFFER_PG"].items()
        }
    if name == "s6":
        base["PFC_WD"] = {}
        base["BUFFER_POOL"]["ingress_lossless_pool"]["xoff"] = str(2 * 96 * 166400)
        for path in (
            ("BUFFER_POOL", "egress_lossless_pool", "size"),
            ("BUFFER_PROFILE", "egress_lossless_profile", "static_th"),
        ):
            base[path[0]][path[1]][path[2]] = str(33262528 + 2 * 96 * 166400)
        base["QUEUE"] = {}
    if name == "s5":
        row = given["profile"]
        base = switch(speed=row["speed"], metres=int(row["cable"][:-1]))
        values = {key: str(row[key]) for key in ("size", "xon", "xoff", "dynamic_th")}
        base["BUFFER_PROFILE"][f"pg_lossless_{row['speed']}_{row['cable']}_profile"] |= values
        base["BUFFER_POOL"]["ingress_lossless_pool"]["xoff"] = str(given["headroom_pool"])
        base["BUFFER_POOL"]["ingress_lossless_pool"]["size"] = "33554432"
        base["BUFFER_POOL"]["egress_lossy_pool"]["size"] = "27262976"
        for path in (
            ("BUFFER_POOL", "egress_lossless_pool", "size"),
            ("BUFFER_PROFILE", "egress_lossless_profile", "static_th"),
        ):
            base[path[0]][path[1]][path[2]] = str(33554432 + given["headroom_pool"])
        del base["BUFFER_PROFILE"]["pg_lossless_400000_1500m_profile"]["xon_offset"]
        chip["base"] = "spectrum3"
    merged: Tables = {table: base.get(table, {}) | tables.get(table, {}) for table in {**base, **tables}}
    beside = "".join(f"{key} = {json.dumps(value)}\n" for key, value in chip.items())
    directory.mkdir(parents=True)
    facts = {"chip": str(file(directory, "asic.toml", beside))}
    if "host" in given:
        facts |= {"roce_dscp": given["host"]["roce_dscp"], "cnp_dscp": given["host"]["cnp_dscp"]}
    return write(directory, {"leaf0": merged}), facts


@pytest.mark.parametrize("name", ["s1", "s2", "s4", "s5", "s6", "s7"])
def test_a_case_trips_its_check_alone(tmp_path: Path, name: str) -> None:
    directory, beside = as_folder(tmp_path / name, name)
    rows = registry.findings(check_command.context(directory, **beside))
    expected = case(name)["expect"]["checks"]
    assert {(row.id, row.level) for row in rows} == {(one["id"], one["severity"]) for one in expected}


def test_the_numbers_of_the_cases(tmp_path: Path) -> None:
    def of(name: str) -> list[Row]:
        directory, beside = as_folder(tmp_path / name, name)
        return registry.findings(check_command.context(directory, **beside))

    first, *_ = of("s1")
    assert (first.port, first.key) == ("Ethernet0", "Ethernet0|3,4")
    cable, *_ = of("s5")
    assert (cable.value, cable.required) == ("427008", "750000")
    assert "854 m at most" in cable.why
    (row,) = of("s2")
    assert (row.value, row.required) == ("32340992", "32689152")
    assert "348160 B (1360 cells)" in row.why
    assert {(row.field, row.value) for row in of("s6")} == {("detection_time", "600"), ("restoration_time", "600")}
    assert {(row.field, row.value, row.required) for row in of("s7")} == {("26", "1", "3 or 4")}


def test_the_how_to_shows_what_the_command_prints(xoff_here: Command) -> None:
    root = Path(__file__).resolve().parents[2]
    page = (root / "docs/how-to/check-sonic.md").read_text("utf-8")
    shown = next(block for block in page.split("```") if block.startswith("\n2 switches")).strip()
    done = xoff_here("check", "--sonic", root / "examples/sonic/before", "--roce-dscp", "26", "--cnp-dscp", "48")
    assert done.returncode == 1
    printed = [line.rstrip() for line in done.stdout.splitlines()]
    assert printed[: len(shown.splitlines())] == [line.rstrip() for line in shown.splitlines()]


def test_a_check_without_input_says_so(tmp_path: Path) -> None:
    def unchecked(*changes: tuple[str, Any]) -> dict[str, str]:
        directory = write(tmp_path / str(len(list(tmp_path.iterdir()))), {"leaf0": changed(switch(), *changes)})
        context = check_command.context(directory)
        registry.findings(context)
        return context.unchecked

    assert set(unchecked()) == {"dscp-lossy", "cnp-class", "name-reuse"}
    down = [(f"PORT/{name}/admin_status", "down") for name in PORTS.split(",")]
    assert unchecked(*down)["leaf0"] == "no port of the switch is up"
    assert "has no size" in unchecked(("BUFFER_POOL/ingress_lossless_pool/size", None))["alpha-starves"]
    assert "no CABLE_LENGTH" in unchecked(("CABLE_LENGTH/AZURE/Ethernet0", None))["headroom"]
