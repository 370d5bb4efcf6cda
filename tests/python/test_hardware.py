"""Published measurements: the file is consistent, wrong values are noticed, and pages say what runs and file say."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import xoff
from xoff import reproduce
from xoff.reproduce import as_results
from xoff.reproduce.runs import Runner
from xoff_experiments.hardware import guesses, measurements, misses
from xoff_experiments.hardware._rows import Row, measured, size_name

_ROOT = Path(__file__).resolve().parents[2]
_FILE = reproduce.documents()["hardware"].folder / "measured.csv"
_PAGE = (_ROOT / "docs" / "experiments" / "hardware.md").read_text("utf-8")
_HOW_TO = (_ROOT / "docs" / "how-to" / "slow-nccl-tests.md").read_text("utf-8")
_COLUMNS = {
    *("system", "servers", "gpus_per_server", "nics", "nic_gbps", "gpu", "cpu", "version", "collective", "algorithm"),
    *("protocol", "bytes", "time_us", "busbw_GBps", "judged", "source", "notes"),
}
_MODULES: Mapping[str, ModuleType] = {"measurements": measurements, "guesses": guesses, "misses": misses}
Results = Mapping[str, Mapping[str, Any]]


def _listed() -> list[dict[str, str]]:
    with _FILE.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def quick() -> Results:
    """Returns the results of the quick variants by experiment and name."""
    scenarios = {name: module.scenarios(True) for name, module in _MODULES.items()}
    with Runner(scenarios, reads=dict.fromkeys(scenarios, ())) as runner:
        return {name: dict(runner.results(name).items()) for name in scenarios}


@pytest.fixture(scope="module")
def large() -> Mapping[str, Any]:
    """Returns results of judged rows from 256 MiB that are simulated in a second."""
    rows = [row for row in measured() if row.judged and row.bytes == 1 << 30 and row.servers in (2, 5)]
    assert len(rows) == 5
    return {row.name: xoff.run(row.scenario()) for row in rows}


def test_the_file_names_the_judged_rows_their_versions_cpus_and_public_sources() -> None:
    rows = _listed()
    assert set(rows[0]) == _COLUMNS
    for row in rows:
        assert row["judged"] in {"yes", "no"}
        assert row["cpu"] in {"", "intel", "amd"}
        assert re.fullmatch(r"(\d+\.\d+(\.\d+)?( patched)?)?", row["version"]), row["version"]
        assert re.match(r"https://github\.com/[\w.-]+/[\w.-]+/(issues|pull|blob)/\S+( \(.+\))?$", row["source"])
    dell = [row for row in rows if row["system"].startswith("Dell")]
    assert {(row["cpu"], row["version"], row["judged"]) for row in dell} == {("intel", "2.26.2", "yes")}
    assert {row["cpu"] for row in rows if row["system"].startswith("OCI")} == {"amd"}
    assert {row["collective"] for row in rows if row["system"].startswith("GCP")} == {"all_gather"}


def test_time_and_bandwidth_of_a_row_agree() -> None:
    both = [(row, found) for row, found in zip(_listed_runs(), measured(), strict=True) if row["time_us"]]
    assert len(both) == 136
    for row, found in both:
        bandwidth = found.bytes * found.bus_factor / found.time_us / 1e3
        assert float(row["busbw_GBps"]) == pytest.approx(bandwidth, rel=0.01, abs=6e-4), found.name


def _listed_runs() -> list[dict[str, str]]:
    return [row for row in _listed() if row["gpu"] != "gb10"]


def test_each_row_has_a_run_of_its_own_and_the_page_has_the_counts() -> None:
    rows = measured()
    assert len({row.name for row in rows}) == len(rows)
    assert f"{len(rows)} rows of {len({row.system for row in rows})} systems" in _PAGE
    assert f"`measured.csv` has {len(_listed())} rows. {len(_listed()) - len(rows)} rows have no run" in _PAGE
    assert f"{sum(row.judged for row in rows)} rows are judged" in _PAGE


def test_guesses_are_judged_on_two_and_on_four_servers() -> None:
    names = [name for name in guesses.scenarios(False) if ";" not in name]
    sizes = ("8 B", "64 KiB", "1 MiB", "4 MiB", "32 MiB", "1 GiB")
    for servers in (2, 4):
        rows = [row for row in measured() if row.name in names and row.servers == servers]
        assert {size_name(row.bytes) for row in rows} == set(sizes)
    assert len(guesses.scenarios(False)) == len(names) * (1 + len(guesses.GUESSES))


def test_verdicts_of_the_quick_variants(quick: Results) -> None:
    claims = {claim.id: claim for name, module in _MODULES.items() for claim in module.claims(quick[name], True)}
    assert {id.partition("/")[2]: claim.direction for id, claim in claims.items()} == {
        "H.1": "does not hold",
        "H.2": "does not hold",
        "H.3": "void",
        "H.4": "void",
        "G": "does not hold",
        "M": "holds",
    }
    assert "16 B (ratio 1.103, of NCCL's model 1.037)" in claims["hardware/H.1"].reason
    assert "4194304 B (ratio 0.694, of NCCL's model 0.771)" in claims["hardware/H.2"].reason
    found = claims["hardware/G"].measured
    assert found["proxy's time 2 µs, not 1 µs"] == "+56.1% (4 x 8, 4 MiB)"
    assert found["latency of NVLink 1 µs, not 0.5 µs"] == "+22.2% (2 x 8, 8 B)"


def test_the_tables_of_rows_have_a_title_with_a_source(quick: Results) -> None:
    summary, *titles = measurements.tables(quick["measurements"])
    assert summary.startswith("Ratios by size")
    assert all(
        re.search(r" \((judged|shown)\)\. Source: \[github\.com/.+\]\(https://github\.com/", one) for one in titles
    )
    assert all(f"**{title}**\n\n| bytes |" in _PAGE for title in titles)


def _with(monkeypatch: pytest.MonkeyPatch, name: str, factor: float) -> None:
    """Puts a wrong time into a row."""
    wrong: tuple[Row, ...] = tuple(
        replace(row, time_us=row.time_us * factor) if row.name == name else row for row in measured()
    )
    assert wrong != measured()
    monkeypatch.setattr(measurements, "measured", lambda: wrong)


@pytest.mark.parametrize(("size", "key", "factor"), [(8, "H.1", 1.2), (1 << 16, "H.2", 0.5)])
def test_a_wrong_short_time_is_missed(
    quick: Results, monkeypatch: pytest.MonkeyPatch, size: int, key: str, factor: float
) -> None:
    runs = as_results(quick["measurements"], "", "")
    before = measurements.judge(runs)[key].measured
    name = f"Dell XE9680 HGX, InfiniBand, one fabric, 2 x 8, all_reduce, {size} B"
    _with(monkeypatch, name, factor)
    part = measurements.judge(runs)[key]
    assert part.measured["missed"] == before["missed"] + 1
    assert f"{name} (ratio " in part.reason
    assert not part.found


def test_a_wrong_long_time_fails_its_row_and_its_system(
    large: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = {claim.id: claim.direction for claim in measurements.claims(large, False)}
    assert (right["hardware/H.3"], right["hardware/H.4"]) == ("holds", "holds")
    _with(monkeypatch, next(name for name in large if "H3C" in name and "2 x 8," in name), 1.25)
    wrong = {claim.id: claim.direction for claim in measurements.claims(large, False)}
    assert (wrong["hardware/H.3"], wrong["hardware/H.4"]) == ("does not hold", "does not hold")


def test_the_numbers_of_the_introduction_are_those_of_the_runs() -> None:
    text = " ".join(_PAGE.partition("Written by")[0].split())
    found = {
        claim["id"]: claim for claim in json.loads((_ROOT / "docs/experiments/hardware.json").read_text())["claims"]
    }
    for row, ratios in found["hardware/M"]["measured"].items():
        cells = " | ".join(f"{ratio:.3f}" for ratio in ratios.values())
        assert re.search(rf"\| [^|]*{row.partition(', ')[2]} (\| [\d.]+ ){{2}}\| {re.escape(cells)} ", text), row
    assert f"All {found['hardware/H.3']['measured']['rows']} judged rows from 256 MiB are within 15 %" in text
    short, long = (found[f"hardware/{key}"]["measured"] for key in ("H.1", "H.2"))
    assert f"Of {short['rows']} rows up to 256 B, {short['rows'] - short['missed']} are within 10 %" in text
    assert f"{long['rows'] - long['missed']} of {long['rows']} rows are within 30 %" in text
    assert "4 MiB on four servers 56 % longer and 1 GiB 42 % longer" in text
    assert "8 B on two servers 22 % longer" in text


def test_the_how_to_tells_the_bandwidths_of_its_tables() -> None:
    blocks = re.findall(r"```text\n(.*?)```", _HOW_TO, re.S)
    busbw = {round(float(line.split()[3])) for block in blocks for line in block.splitlines() if line[0] != "#"}
    told = {int(number) for number in re.findall(r"\*\*(\d+)\s+GB/s\*\*", _HOW_TO)}
    cells = re.findall(r"^\| (?!bus|you).* \| (\d+) \| (\d+) \| (\d+) \|$", _HOW_TO, re.M)
    assert len(cells) == 5
    assert told | {int(cell) for row in cells for cell in row} <= busbw
    assert len(told) > 12
    # Each command has a table.
    assert len(blocks) == len(re.findall(r"```sh\n", _HOW_TO))
