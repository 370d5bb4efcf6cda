"""Gains of a job predicted by `xoff explain --job` are measured, and equal a run of the changed scenario."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

import xoff
from small import Command
from xoff.insight import job_command, what_if

CONTROLS: list[dict[str, Any]] = [
    {"host": {"congestion_control": {"dcqcn": {"preset": "hpcc"}}}},
    {"host": {"congestion_control": {"nscc": {}}}, "switch": {"trimming": {}}},
    {"host": {"congestion_control": {"swift": {}}}},
    {"host": {"congestion_control": {"timely": {}}}},
    {},
]
SLICE = 12


def small(draw: random.Random) -> tuple[dict[str, Any], dict[str, str]]:
    """Returns a tiny job on a fabric with one slow link, and the override that makes the link slow."""
    leaves, spines, hosts = draw.choice([(2, 1, 2), (2, 2, 1), (3, 1, 1)])
    ranks = leaves * hosts
    ends = [(f"host{host}", f"leaf{host // hosts}") for host in range(ranks)]
    ends += [(f"leaf{leaf}", f"spine{spine}") for leaf in range(leaves) for spine in range(spines)]
    override = {"link": "-".join(draw.choice(ends)), "rate": draw.choice(["50Gbps", "25Gbps", "10Gbps"])}
    model: dict[str, Any] = {
        "layers": 1,
        "hidden": draw.choice([32, 64]),
        "heads": 2,
        "sequence": 32,
        "vocabulary": 200,
    }
    training: dict[str, Any] = {
        "model": model,
        "parallel": {"data": ranks},
        "compute": {"forward": draw.choice(["1us", "20us"])},
    }
    collective: dict[str, Any] = {"operation": "all_reduce", "size": draw.choice(["50KB", "200KB"])}
    job: dict[str, Any] = draw.choice([{"training": training}, {"collective": collective}])
    control = draw.choice(CONTROLS)
    switch: dict[str, Any] = {"buffer": {"shared": {"total": "4MB"}}, **control.get("switch", {})}
    switch["ecn"] = {"red": {"kmin": "10KB", "kmax": "40KB", "pmax": 0.5}}
    if "trimming" not in switch:
        switch["flow_control"] = {"pfc": {}}
    scenario = {
        "seed": draw.randrange(100),
        "network": {
            "leaf_spine": {
                "leaves": leaves,
                "spines": spines,
                "hosts_per_leaf": hosts,
                "link": {"rate": "100Gbps", "delay": "500ns"},
            },
            "overrides": [override],
        },
        "framing": {"payload": "1000B"},
        "switch": switch,
        "host": control.get("host", {}),
        "workload": [{"name": "job", **job}],
    }
    return scenario, override


def ended(result: xoff.Result) -> int:
    """Returns when the job of a result was over."""
    rows = result.operations
    return int(max(rows["end_ps"].to_pylist())) - int(min(rows["start_ps"].to_pylist()))


def judge(seed: int) -> tuple[bool, float, float]:
    """Compares the predictions for a drawn job with runs prepared without `xoff.insight`.

    Returns whether the slow link was measured, the gain, and the gain of a slow link at the others' rate, as shares.
    """
    scenario, override = small(random.Random(seed))
    result = xoff.run(scenario)
    found, forest = job_command.explain(result, Path("result"))
    measured = job_command.gains(result, found, asked=True)
    assert measured is not None
    (one,), (gains,) = found, measured
    whole = json.loads(json.dumps(scenario))
    del whole["network"]["overrides"]
    true = ended(result) - ended(xoff.run(whole))
    (link,) = (gain for gain in gains if gain.change.kind == "link_rate")
    facts = dict(link.change.facts)
    if facts["link"] == override["link"]:
        assert (facts["rate_bps"], link.ps) == (100_000_000_000, true), seed
    else:
        change = {"link": facts["link"], "rate": f"{facts['rate_bps'] // 10**9}Gbps"}
        again = xoff.run(scenario, overrides={"network.overrides": [override, change]})
        assert link.ps == ended(result) - ended(again), seed
    for pauses in (gain for gain in gains if gain.change.kind == "no_pauses"):
        free = {"switch.flow_control.pfc": None, "switch.buffer": None}
        assert pauses.ps == ended(result) - ended(xoff.run(scenario, overrides=free)), seed
    # An unmeasured gain is no bound, and is not called a bound.
    said = [*job_command.sentences(gains), *job_command.sentences(None)]
    assert not [line for line in said if re.search("at most|at least|bound", line)], seed
    assert sum(one.by_marking.values()) == one.by_cause.get("control", 0), seed
    assert forest is not None
    return facts["link"] == override["link"], (link.ps or 0) / ended(result), true / ended(result)


@pytest.mark.parametrize("seed", range(SLICE))
def test_a_gain_is_that_of_a_run_of_the_changed_scenario(seed: int) -> None:
    judge(seed)


@pytest.mark.slow
def test_many_gains_are_those_of_runs_of_changed_scenarios() -> None:
    for seed in range(SLICE, 200):
        judge(seed)


SLOW = """
network.leaf_spine = { leaves = 2, spines = 1, hosts_per_leaf = 2, link = { rate = "400Gbps", delay = "500ns" } }
framing = { payload = "4096B" }
switch.buffer.shared.total = "64MB"
switch.ecn.red = { kmin = "80KB", kmax = "320KB", pmax = 0.2 }
switch.flow_control.pfc = {}
host.congestion_control.dcqcn.preset = "hpcc"
network.overrides = [{ link = "leaf0-spine0", rate = "100Gbps" }]

[[workload]]
name = "job"
training.model = { layers = 1, hidden = 256, heads = 4, sequence = 256, vocabulary = 500 }
training.parallel.data = 4
"""


def test_a_slow_link_is_measured_at_the_rate_of_its_kind(xoff_here: Command, tmp_path: Path) -> None:
    (tmp_path / "slow.toml").write_text(SLOW, "utf-8")
    assert xoff_here("run", "slow.toml", "--out", "slow").returncode == 0
    assert xoff_here("run", "slow.toml", "--set", "network.overrides=null", "--out", "whole").returncode == 0
    before, after = ended(xoff.load(tmp_path / "slow")), ended(xoff.load(tmp_path / "whole"))
    text = xoff_here("explain", "slow", "--job").stdout
    assert "leaf0-spine0 runs at 100 Gb/s, and 1 other of the same kind at 400 Gb/s." in text
    assert f"Measured by a second run: with leaf0-spine0 at 400 Gb/s the job takes {xoff_time(after)}" in text
    assert "at most" not in text
    assert "congestion control, by the port with the most marks" in text
    (job,) = json.loads(xoff_here("explain", "slow", "--job", "--json").stdout)["jobs"]
    gain = next(one for one in job["what_if"] if one["change"] == "link_rate")
    assert gain == {
        "change": "link_rate", "link": "leaf0-spine0", "rate_bps": 400 * 10**9, "from_rate_bps": 100 * 10**9,
        "time_ps": after, "gain_ps": before - after,
    }  # fmt: skip
    assert {(one["node"], one["port"]) for one in job["by_marking"]} <= {("leaf0", 2), ("spine0", 0)}


def xoff_time(ps: int) -> str:
    from xoff import formatting

    return formatting.time(ps)


def test_second_runs_can_be_left_out_and_are_left_out_where_runs_are_long(
    xoff_here: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow.toml").write_text(SLOW, "utf-8")
    assert xoff_here("run", "slow.toml", "--out", "slow").returncode == 0
    done = xoff_here("explain", "slow", "--job", "--no-what-if")
    assert ("second time" in done.stderr, "at most" in done.stdout, "--what-if measures" in done.stdout) == (
        False,
        False,
        True,
    )
    monkeypatch.setattr(what_if, "SHORT_CPU_SECONDS", 0.0)
    done = xoff_here("explain", "slow", "--job", "--json")
    assert json.loads(done.stdout)["jobs"][0]["what_if"] is None
    done = xoff_here("explain", "slow", "--job", "--what-if", "--json")
    assert json.loads(done.stdout)["jobs"][0]["what_if"]
    monkeypatch.setattr(what_if, "SHORT_CPU_SECONDS", 10.0)
    monkeypatch.setattr(what_if, "PATIENCE_SECONDS", -1.0)
    assert xoff_here("run", "slow.toml", "--set", 'probe.delays="all"', "--out", "traced").returncode == 0
    monkeypatch.setattr("xoff.running.run_prepared", lambda _, poll: poll())
    assert "takes more than -1 s; --what-if waits for the end" in xoff_here("explain", "traced").stdout
    done = xoff_here("explain", "slow", "--flow", "0", "--what-if")
    assert (done.returncode, "needs --job" in done.stderr) == (2, True)


def test_a_link_as_fast_as_its_kind_is_compared_with_twice_its_rate() -> None:
    scenario, _ = small(random.Random(1))
    del scenario["network"]["overrides"]
    result = xoff.run(scenario)
    change = what_if.faster_link(result, "host0", "leaf0")
    assert dict(change.facts)["rate_bps"] == 2 * dict(change.facts)["from_rate_bps"]
    assert "compared with twice the rate" in change.why


def test_a_run_that_cannot_be_changed_so_says_why(tmp_path: Path) -> None:
    scenario, _ = small(random.Random(1))
    result = xoff.run(scenario)
    found, _ = job_command.explain(result, tmp_path)
    runs = what_if.Runs(result, patience=None, tell=lambda _: None)
    change = what_if.Change("link_rate", "with nothing", "", (), (("network.overrides", [{"link": "no-link"}]),))
    gain = runs.gain(found[0].job, change)
    assert gain.ps is None
    assert gain.sentence().startswith("Not measured with nothing: network.overrides")
