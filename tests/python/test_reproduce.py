"""The published experiments: a verdict that differs from the recorded one is noticed, whichever way it differs."""

from __future__ import annotations

import json
from pathlib import Path

from small import Command
from xoff import reproduce

_RECORDED = reproduce.directory() / "verdicts.json"


def test_quick_verdicts_are_the_recorded_ones(xoff_command: Command, tmp_path: Path) -> None:
    done = xoff_command("reproduce", "--quick", "--json", "--out", tmp_path / "figures")
    verdicts = {claim["id"]: claim["holds"] for claim in json.loads(done.stdout)["claims"]}
    assert verdicts == json.loads(_RECORDED.read_text("utf-8"))
    assert done.returncode == (0 if all(verdicts.values()) else 1)
    assert list((tmp_path / "figures").glob("*.svg"))


def test_every_experiment_says_what_it_reproduces() -> None:
    ids: list[str] = []
    for experiment in reproduce.experiments():
        assert experiment.module.__doc__
        assert experiment.module.CITATION
        ids += experiment.module.CLAIMS
    assert len(ids) == len(set(ids))


def test_choice_and_list(xoff_command: Command) -> None:
    assert "sfc/incast_3_to_1" in xoff_command("reproduce", "--list").stdout
    listed = json.loads(xoff_command("reproduce", "--list", "--json", "sfc/5.1").stdout)
    assert {"id", "experiment", "published"} <= listed["claims"][0].keys()
    one = json.loads(xoff_command("reproduce", "--json", "sfc/5.1").stdout)
    assert [claim["id"] for claim in one["claims"]] == ["sfc/5.1"]
    assert {"id", "published", "measured", "holds"} <= one["claims"][0].keys()
