"""An export for SONiC passes xoff's own check, or explains which part of the scenario prevents it."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from small import Command
from xoff._core import InputError
from xoff.sonic import asic, check_command, export_command
from xoff.sonic.asic import CHIPS
from xoff.sonic.checks import registry
from xoff.sonic.checks.row import Row

FABRIC = """
framing.payload = "{payload}"
[network.leaf_spine]
leaves = 2
spines = 1
hosts_per_leaf = 2
link = {{ rate = "{rate}", delay = "{delay}" }}
fabric_link = {{ rate = "{fabric_rate}", delay = "100m" }}
[switch]
classes = {classes}
buffer = {{ shared = {{ total = "{total}", alpha = {alpha}{headroom} }} }}
{ecn}
[switch.flow_control.pfc]
classes = [{lossless}]
{response}
"""
DEFAULTS = {
    "payload": "9000B", "rate": "400Gbps", "delay": "30m", "fabric_rate": "800Gbps", "classes": 4, "total": "64MB",
    "alpha": 0.125, "headroom": "", "ecn": 'ecn.red = { kmin = "800KB", kmax = "3200KB", pmax = 0.2 }', "lossless": "3",
    "response": 'response = "802.3"',
}  # fmt: skip


def exported(directory: Path, chip: str | None = None, **values: Any) -> tuple[Path, str]:
    """Returns the folder of an export, and the messages of the command."""
    directory.mkdir(parents=True, exist_ok=True)
    scenario = directory / "scenario.toml"
    scenario.write_text(FABRIC.format(**(DEFAULTS | values)), "utf-8")
    out, said = directory / "out", io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        export_command.command(scenario, switch=None, is_all=True, chip=chip, out=out)
    return out, said.getvalue()


def rows(directory: Path, chip: str | None = None) -> list[Row]:
    """Returns the errors and warnings of the check."""
    found = registry.findings(check_command.context(directory, chip=chip))
    return [row for row in found if row.level != "note"]


@pytest.mark.parametrize("chip", ["trident3", "tomahawk2", "tomahawk5", "tomahawk6", "spectrum1", "spectrum4"])
@pytest.mark.parametrize("response", ['response = "802.3"', ""])
def test_an_export_passes_the_check_on_each_chip(tmp_path: Path, chip: str, response: str) -> None:
    """The headroom of an export without --asic is enough for the largest cells, and its sizes are whole KiB."""
    out, _ = exported(tmp_path / "any", response=response, delay="2000m")
    assert rows(out) == []
    assert rows(out, chip) == []
    out, _ = exported(tmp_path / "chosen", chip, response=response, delay="2000m")
    assert rows(out) == []


def test_a_headroom_of_the_scenario_is_kept_and_explained(tmp_path: Path) -> None:
    out, said = exported(tmp_path, "tomahawk5", headroom=', headroom = "60KB"')
    # 100 m at 800 Gb/s have 100,000 B on the cable both ways.
    assert {row.id for row in rows(out)} == {"headroom", "headroom-cable"}
    assert "check: error headroom: leaf0 Ethernet0" in said
    assert "(from switch.buffer.shared.headroom)" in said
    tables = json.loads((out / "leaf0.json").read_text("utf-8"))
    # 60,000 B are 237 cells.
    assert tables["BUFFER_PROFILE"]["pg_lossless_400000_30m_profile"]["xoff"] == str(237 * 254)


def test_a_scenario_without_marks_is_explained(tmp_path: Path) -> None:
    out, said = exported(tmp_path, ecn="")
    assert {row.id for row in rows(out)} == {"ecn-off"}
    assert "check: warning ecn-off" in said
    assert "(from switch.ecn, which marks no packet of the class)" in said


def test_too_little_memory_for_real_neighbours_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"nothing can be shared: raise total, or give switch\.buffer\.shared\.headroom"
    ):
        exported(tmp_path, total="400KB", alpha=1, response="")
    assert not (tmp_path / "out").exists()


def test_the_values_of_a_chip_file_are_exported(tmp_path: Path) -> None:
    """The file of the chip next to the switches has the values beyond the base."""
    chip = tmp_path / "chip.toml"
    chip.write_text('base = "tomahawk3"\nslices = 2\nheadroom_in_pool = true\n', "utf-8")
    out, _ = exported(tmp_path / "fabric", str(chip))
    assert (out / "asic.toml").read_text("utf-8") == 'base = "tomahawk3"\nslices = 2\nheadroom_in_pool = true\n'


@pytest.mark.parametrize("name", CHIPS)
def test_the_file_of_a_chip_gives_the_chip(tmp_path: Path, name: str) -> None:
    (tmp_path / "asic.toml").write_text(asic.text(CHIPS[name]), "utf-8")
    assert asic.chosen(None, tmp_path).of("", "") == CHIPS[name]


def test_the_shown_defects_of_an_export_are_found(xoff_here: Command, tmp_path: Path) -> None:
    """Swapped thresholds of marks, and a lossless queue without a profile."""
    out, _ = exported(tmp_path)
    file = out / "leaf0.json"
    tables = json.loads(file.read_text("utf-8"))
    (curve,) = tables["WRED_PROFILE"].values()
    low, high = curve["green_min_threshold"], curve["green_max_threshold"]
    curve |= {"green_min_threshold": high, "green_max_threshold": low}
    del tables["QUEUE"]["Ethernet4|3"]["wred_profile"]
    file.write_text(json.dumps(tables), "utf-8")
    done = xoff_here("check", "--sonic", out, "--json")
    found = {(row["id"], row["switch"], row["key"]) for row in json.loads(done.stdout)["rows"]}
    assert {("order", "leaf0", "XOFF_0"), ("ecn-off", "leaf0", "Ethernet4|3")} <= found
    assert done.returncode == 1


RATES = ("10Gbps", "25Gbps", "56Gbps", "100Gbps", "200Gbps", "400Gbps", "800Gbps")
SCENARIOS = st.fixed_dictionaries(
    {
        "payload": st.sampled_from(("256B", "1000B", "1024B", "4096B", "9000B")),
        "rate": st.sampled_from(RATES),
        "fabric_rate": st.sampled_from(RATES),
        "delay": st.sampled_from(("1m", "5m", "30m", "300m", "1700ns", "2000m")),
        "total": st.sampled_from(("1MB", "16MB", "64MB", "165MB")),
        "alpha": st.sampled_from((0.01, 0.125, 0.3, 1, 4)),
        "headroom": st.sampled_from(("", "", ', headroom = "1KB"', ', headroom = "40KB"', ', headroom = "3MB"')),
        "lossless": st.sampled_from(("3", "1, 3", "0, 1, 2, 3")),
        "response": st.sampled_from(('response = "802.3"', "", 'response = "5us"')),
        "ecn": st.sampled_from(
            (
                DEFAULTS["ecn"],
                "",
                'ecn.step = { threshold = "100KB" }',
                'ecn.red = { kmin = "10MB", kmax = "20MB", pmax = 1.0 }',
            )
        ),
    }
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(SCENARIOS, st.sampled_from((None, "trident2", "tomahawk", "tomahawk4", "tomahawk5", "spectrum3", "tofino2")))
def test_a_random_export_passes_or_explains(values: dict[str, Any], chip: str | None) -> None:
    """Each error and warning of the check on an export is among the lines that the export prints."""
    with tempfile.TemporaryDirectory() as place:
        try:
            out, said = exported(Path(place), chip, **values)
        except InputError:
            # The scenario itself is refused, or its memory is too small for the headroom of real neighbours.
            return
        found = rows(out)
        for row in found:
            assert f"check: {row.level} {row.id}: " in said, (row, said)
        if not values["headroom"]:
            assert {row.id for row in found if row.level == "error"} == set()
