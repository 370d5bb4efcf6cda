"""A search says what its unseen seeds prove, minimises settings, and starts no run if none can start."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import xoff
from small import Command
from xoff import InputError
from xoff.statistics import cases_needed, largest_share
from xoff.study import objective, tune_conclusion
from xoff.study.tune import Tuning

STUDY: dict[str, Any] = {
    "name": "the smallest buffer without loss",
    "seeds": 2,
    "keep": [],
    "scenario": {
        "network": {"star": {"hosts": 5, "link": {"rate": "100Gbps", "delay": "1us"}}},
        "framing": {"payload": "1000B"},
        "switch": {"buffer": {"per_port": "800KB"}},
        "workload": [{"name": "incast", "incast": {"senders": [1, 2, 3, 4], "receiver": 0, "size": "20KB"}}],
    },
    "axes": {"switch.buffer.per_port": ["10KB", "40KB", "100KB", "200KB", "400KB"]},
    "objective": {
        "minimise": "switch.buffer.per_port",
        "constraints": {"drops": 0},
        "runs": 20,
        "confirm": {"at_most": 0.3},
    },
}


def as_few(found: int, of: int, share: float) -> float:
    """The probability of at most `found` cases, from the definition."""
    return sum(math.comb(of, one) * share**one * (1 - share) ** (of - one) for one in range(found + 1))


@pytest.mark.parametrize("of", [1, 2, 5, 8, 59, 300])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
def test_the_bound_of_a_share_is_the_one_that_the_binomial_tail_gives(of: int, confidence: float) -> None:
    assert largest_share(0, of, confidence) == pytest.approx(1 - (1 - confidence) ** (1 / of))
    assert largest_share(of, of, confidence) == 1
    bounds = [largest_share(found, of, confidence) for found in range(of)]
    assert bounds == sorted(bounds)
    for found in range(0, of, max(1, of // 7)):
        assert as_few(found, of, bounds[found]) == pytest.approx(1 - confidence, rel=1e-6)


@pytest.mark.parametrize("share", [0.01, 0.05, 0.1, 0.3])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99])
def test_the_needed_seeds_are_the_fewest(share: float, confidence: float) -> None:
    needed = cases_needed(share, confidence)
    assert largest_share(0, needed, confidence) <= share * (1 + 1e-9)
    assert needed == 1 or largest_share(0, needed - 1, confidence) > share


def test_numbers_of_the_textbook() -> None:
    assert largest_share(0, 8) == pytest.approx(0.3123, abs=5e-5)
    # 13 of 29: the upper end of the one-sided interval.
    assert largest_share(13, 29) == pytest.approx(0.616, abs=5e-4)
    assert cases_needed(0.05) == 59
    with pytest.raises(ValueError, match="from zero"):
        largest_share(3, 2)
    with pytest.raises(ValueError, match="between 0 and 1"):
        cases_needed(0.0)


def read(**table: Any) -> objective.Objective:
    return objective.read({"objective": {"minimise": "fct_mean_ps", **table}}, 1)


def test_the_number_of_seeds_follows_from_share_and_confidence() -> None:
    assert read(confirm={"at_most": 0.05}).confirm == 59
    assert read(confirm={"at_most": 0.05, "confidence": 0.9}).confirm == 45
    assert read(confirm={}).confirm == 59
    assert read(confirm=8).seeds_needed == 59


@pytest.mark.parametrize(
    ("confirm", "message"),
    [
        ({"at_mots": 0.1}, "objective.confirm.at_mots: unknown key"),
        ({"at_most": 0}, "objective.confirm.at_most: 0 was given; a number between 0 and 1"),
        ({"at_most": "5%"}, "objective.confirm.at_most"),
        ({"confidence": True}, "objective.confirm.confidence"),
        ({"at_most": 0.001}, "needs 2,995 unseen seeds; 1,000 are possible"),
        ([8], "objective.confirm: [8] was given"),
    ],
)
def test_a_confirmation_without_sense_is_refused(confirm: Any, message: str) -> None:
    with pytest.raises(InputError) as error:
        read(confirm=confirm)
    assert message in str(error.value)


def test_the_smallest_setting_within_the_limits_is_found(tmp_path: Path, xoff_here: Command) -> None:
    (tmp_path / "search.json").write_text(json.dumps(STUDY))
    checked = xoff_here("check", "search.json")
    assert "minimise per port; drops at most 0" in checked.stdout
    # 1 − 0.05^(1/9) = 28.3 %: nine seeds are the fewest that show at most 30 %.
    assert "with 9 unseen seeds" in checked.stdout
    assert "at most 28.3 % of all seeds break a limit" in checked.stdout
    done = xoff_here("tune", "search.json", "--out", "tuned", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    # Four flows of 20 KB meet at one port: 40 KB lose packets, and 100 KB hold all.
    assert found["recommended"] == {"switch.buffer.per_port": "100KB"}
    assert found["best"][0]["unseen"]["per_port_bytes"]["mean"] == 100_000
    assert found["base"]["unseen"]["per_port_bytes"]["mean"] == 800_000
    assert found["best"][0]["against_base"]["per_port_bytes"]["verdict"] == "lower"
    assert found["best"][0]["breaking_at_most"] == pytest.approx(largest_share(0, 9))
    assert found["seeds_needed"] == {"breaking_at_most": 0.3, "seeds": 9}
    assert "with all 9 unseen seeds. So with 95 % confidence at most 28.3 % of all seeds" in found["conclusion"]
    assert "needs" not in found["conclusion"]


def test_a_base_without_the_setting_is_no_comparison(tmp_path: Path) -> None:
    limits = {key: part for key, part in STUDY["objective"].items() if key != "minimise"}
    study = {
        **STUDY,
        "axes": {"switch.flow_control.pfc.xoff": ["20KB", "40KB"]},
        "objective": limits | {"maximise": "switch.flow_control.pfc.xoff"},
    }
    found = xoff.tune(study, out=tmp_path / "tuned")
    assert found.base is not None
    assert "xoff_bytes" not in found.base.unseen
    assert "The base has no value of the goal for a comparison." in found.conclusion.text
    assert found.conclusion.recommended is found.best[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"objective": {"minimise": "switch.buffer.shared.total"}},
            "objective.minimise: no axis varies the setting `switch.buffer.shared.total`; add it to [axes]",
        ),
        (
            {"axes": {"host.transport": {"values": {"one": {"raw": {}}, "two": {"selective": {}}}}}},
            "objective.minimise: no axis varies",
        ),
        (
            {"axes": {"switch.buffer.per_port": {"values": {"small": "10KB", "large": "400KB"}}}},
            "objective.minimise: the values of `switch.buffer.per_port` are not numbers",
        ),
    ],
)
def test_a_setting_that_no_goal_can_be_is_refused(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        Tuning(STUDY | change, tmp_path / "tuned")
    assert message in str(error.value)


@pytest.mark.parametrize(("seeds", "told"), [(0, "No unseen seed"), (1, "95 %"), (8, "31.2 %"), (59, "4.95 %")])
def test_the_number_for_a_smaller_share_is_offered_until_it_is_reached(seeds: int, told: str) -> None:
    text = tune_conclusion.proof(read(confirm=seeds))
    assert told in text
    assert ("needs 59 unseen seeds (objective.confirm = { at_most = 0.05 })" in text) == (seeds < 59)


FAULT = {"link": "host0-switch", "bit_error_rate": 1e-5}
CANNOT_START = {**STUDY["scenario"], "audits": {"loss": "record"}, "fault": [FAULT]}


@pytest.mark.parametrize("command", ["check", "tune"])
@pytest.mark.parametrize("kind", ["scenario", "base"])
def test_a_search_that_cannot_start_is_refused_before_its_runs(
    command: str, kind: str, tmp_path: Path, xoff_here: Command
) -> None:
    study = {key: part for key, part in STUDY.items() if key != "scenario"} | {kind: CANNOT_START}
    if kind == "base":
        (tmp_path / "base.json").write_text(json.dumps(CANNOT_START))
        study["base"] = "base.json"
    (tmp_path / "search.json").write_text(json.dumps(study))
    done = xoff_here(command, "search.json")
    assert done.returncode == 2
    where = "base.json: " if kind == "base" else "search.json: [scenario] "
    assert f"{where}fault[0].link: no link is called `host0-switch`" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_search_with_some_settings_that_cannot_start_runs(tmp_path: Path) -> None:
    scenario = CANNOT_START | {"fault": [FAULT | {"link": "host0-switch0"}]}
    study = {**STUDY, "scenario": scenario, "axes": {"fault[0].link": ["host0-switch", "host1-switch"]}}
    study["objective"] = {"minimise": "fct_mean_ps"}
    Tuning(study, tmp_path / "tuned").check_start()


def test_a_sweep_names_the_points_that_cannot_start(tmp_path: Path, xoff_here: Command) -> None:
    study = {key: part for key, part in STUDY.items() if key not in {"objective", "axes"}}
    study |= {"scenario": CANNOT_START | {"fault": [FAULT | {"link": "host0-switch0"}]}}
    study |= {"axes": {"fault[0].link": ["host0-switch0", "host0-switch"]}}
    (tmp_path / "sweep.json").write_text(json.dumps(study))
    done = xoff_here("check", "sweep.json")
    assert done.returncode == 1
    assert "1 point, 2 seeds, 2 runs" in done.stdout
    assert "impossible link host0-switch" in done.stdout
    study["axes"] = {"fault[0].link": ["host0-switch", "host1-switch"]}
    (tmp_path / "sweep.json").write_text(json.dumps(study))
    done = xoff_here("check", "sweep.json")
    assert done.returncode == 2
    assert "with fault[0].link = host0-switch alone, fault[0].link: no link is called" in done.stderr
