"""Renamed names: each old name is refused with the new name, and `xoff migrate` writes the new name."""

import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import xoff
from small import Command
from xoff import _core, renames
from xoff.renames.migrating import migrate
from xoff.results import counts
from xoff.study import settings

OLD = sorted(renames.table()["scenario"])
SMALL = {
    "network": {"star": {"hosts": 2, "link": {"rate": "100Gbps", "delay": "1us"}}},
    "workload": [{"incast": {"senders": [1], "receiver": 0, "size": "1KB"}}],
}
LISTS = {"fault", "workload", "overrides"}


def _nested(path: str, value: Any) -> dict[str, Any]:
    for key in reversed(path.split(".")):
        value = {key: [value] if key in LISTS else value}
    return dict(value)


def _plain(path: str) -> str:
    return re.sub(r"\[\w*\]", "", path)


def test_the_table_is_there_and_no_old_name_is_a_key() -> None:
    """An unreadable table would be empty, and an old name valid elsewhere could not be refused."""
    known = {_plain(path) for path in settings.kinds()}
    assert len(OLD) >= 40
    assert not known & set(OLD)
    assert set(renames.table()["scenario"].values()) <= known


@pytest.mark.parametrize("old", OLD)
def test_an_old_name_is_refused_wherever_a_setting_is_named(old: str, tmp_path: Path) -> None:
    new = renames.table()["scenario"][old]
    said = rf"renamed to `{re.escape(new.rpartition('.')[2])}`|renamed to `{re.escape(new)}`"
    indexed = re.sub(r"^(fault|workload)\.", r"\1[0].", old)
    with pytest.raises(xoff.InputError, match=said):
        xoff.check(_nested(old, 1))
    base: dict[str, Any] = {"fault": [{}], "workload": [{}]}
    with pytest.raises(xoff.InputError, match=said):
        xoff.check(base, overrides={indexed: 1})
    with pytest.raises(xoff.InputError, match=rf"^axes\..*: renamed to `{re.escape(renames.path(indexed) or '')}`"):
        xoff.sweep({"scenario": SMALL, "axes": {indexed: [1, 2]}}, out=tmp_path / "study")


def test_overrides_of_hosts_and_switches_follow() -> None:
    with pytest.raises(
        xoff.InputError, match=r"^host\.overrides\[0\]\.transport\.irn\.few: renamed to `rto_low_threshold`"
    ):
        xoff.check({"host": {"overrides": [{"hosts": ["*"], "transport": {"irn": {"few": 3}}}]}})
    assert renames.path("host.overrides[1].transport.irn.few") == "host.overrides[1].transport.irn.rto_low_threshold"


SCENARIO = """
# A comment that stays.
framing = { gap = "20B" , control = "64B" } # Another.
[network.retry]
attempts = 3
[switch]
"delay" = "300ns"
flow_control.congestion_isolation = { tell = "30KB", order = 'free' }
[[fault]]
link = "leaf0 -> spine0 # no comment"
for = '''1us'''
[[workload]]
moe.token = "7KB"
"""


def test_a_file_keeps_its_layout(tmp_path: Path, xoff_here: Command) -> None:
    (tmp_path / "old.toml").write_text(SCENARIO, "utf-8")
    done = xoff_here("migrate", tmp_path / "old.toml", "--json")
    assert done.returncode == 0, done.stderr
    changes = json.loads(done.stdout)[str(tmp_path / "old.toml")]
    assert {"old": "network.retry.attempts", "new": "network.link_retry.max_retries"} in changes
    expected = SCENARIO
    for old, new in (
        ("gap =", "preamble_and_ifg ="),
        ('control = "', 'control_frame_size = "'),
        ("network.retry", "network.link_retry"),
        ("attempts", "max_retries"),
        ('"delay"', '"forwarding_latency"'),
        ("tell", "cim_threshold"),
        ("order = 'free'", "preserve_order = false"),
        ("for =", "duration ="),
        ("moe.token", "moe.token_size"),
    ):
        assert old in expected
        expected = expected.replace(old, new)
    assert (tmp_path / "old.toml").read_text("utf-8") == expected
    assert "nothing to rename" in xoff_here("migrate", tmp_path / "old.toml").stdout


def test_a_study_is_rewritten_wherever_it_names_a_setting(tmp_path: Path) -> None:
    text = """
base = "base.toml"
metrics = ["fct_mean_ps", "transport_duplicates"]
objective.minimise = 'adaptive.told'
objective.constraints = { adaptive_stuck = 0, "sfc.late" = { at_most = 3 } }
unset = ["switch.delay"]
zip = [["fault[0].for", "switch.routing.reps.values"]]
[axes]
"fault[0].for" = ["1us", "2us"]
switch.routing.reps.values = { from = 2, to = 8, points = 3 }
"switch.flow_control.congestion_isolation" = [{ tell = "30KB" }, { order = "kept" }]
[variants."a.b"]
host.transport.irn.few = 5
unset = ['framing.gap']
axes.network.failover.local = ["1us"]
"""
    (tmp_path / "study.toml").write_text(text, "utf-8")
    (changes,) = migrate([tmp_path / "study.toml"]).values()
    assert len(changes) == 13
    found = tomllib.loads((tmp_path / "study.toml").read_text("utf-8"))
    assert found["unset"] == ["switch.forwarding_latency"]
    assert found["zip"] == [["fault[0].duration", "switch.routing.reps.entropy_values"]]
    isolation = "switch.flow_control.congestion_isolation"
    assert list(found["axes"]) == ["fault[0].duration", "switch", isolation]
    assert found["axes"][isolation] == [{"cim_threshold": "30KB"}, {"preserve_order": True}]
    assert found["axes"]["switch"]["routing"]["reps"] == {"entropy_values": {"from": 2, "to": 8, "points": 3}}
    assert found["metrics"] == ["fct_mean_ps", "transport_spurious_retransmissions"]
    assert found["objective"] == {
        "minimise": "adaptive.load_updates",
        "constraints": {"adaptive_no_good_port": 0, "sfc.late_holds": {"at_most": 3}},
    }
    variant = found["variants"]["a.b"]
    assert variant["host"]["transport"]["irn"] == {"rto_low_threshold": 5}
    assert variant["unset"] == ["framing.preamble_and_ifg"]
    assert variant["axes"]["network"]["failover"] == {"local_repair_delay": ["1us"]}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "moved.toml",
            "switch.flow_control.pfc.swallow_resumes = 2\n",
            "moved to another table, switch.faults.lose_resumes",
        ),
        ("bad.toml", "a = [", "this is not TOML"),
        ("bad.json", "[1]", "a table of keys is needed"),
        ("none.toml", None, "no such file"),
    ],
)
def test_what_cannot_be_rewritten_stays_as_it_is(
    name: str, text: str | None, said: str, tmp_path: Path, xoff_here: Command
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text, "utf-8")
    done = xoff_here("migrate", tmp_path / name)
    assert done.returncode == 2
    assert said in done.stderr
    assert text is None or (tmp_path / name).read_text("utf-8") == text
    assert not list(tmp_path.glob("*.part"))


def test_no_file_is_rewritten_where_one_cannot_be(tmp_path: Path, xoff_here: Command) -> None:
    (tmp_path / "old.toml").write_text(SCENARIO, "utf-8")
    os.mkfifo(tmp_path / "pipe.toml")
    done = xoff_here("migrate", tmp_path / "old.toml", tmp_path / "pipe.toml")
    assert done.returncode == 2
    assert "pipe.toml: is not a regular file" in done.stderr
    assert (tmp_path / "old.toml").read_text("utf-8") == SCENARIO


def test_a_link_to_a_file_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "old.toml").write_text(SCENARIO, "utf-8")
    (tmp_path / "link.toml").symlink_to(tmp_path / "old.toml")
    assert migrate([tmp_path / "link.toml"])
    assert (tmp_path / "link.toml").is_symlink()
    assert "cim_threshold" in (tmp_path / "old.toml").read_text("utf-8")


@pytest.mark.parametrize("old", OLD)
def test_any_file_that_uses_an_old_name_is_rewritten(old: str, tmp_path: Path) -> None:
    if renames.table()["scenario"][old].rpartition(".")[0] not in {old.rpartition(".")[0], "network.link_retry"}:
        pytest.skip("it moved to another table")
    document = _nested(old, "1")
    (tmp_path / "old.json").write_text(json.dumps(document), "utf-8")
    lines = [f"{old.removeprefix('fault.').removeprefix('workload.')} = '1'"]
    head = next((f"[[{room}]]" for room in ("fault", "workload") if old.startswith(f"{room}.")), "")
    (tmp_path / "old.toml").write_text("\n".join([head, *lines, ""]), "utf-8")
    migrate([tmp_path / "old.json", tmp_path / "old.toml"])
    new = _nested(renames.table()["scenario"][old], "1")
    assert json.loads((tmp_path / "old.json").read_text("utf-8")) == new
    assert tomllib.loads((tmp_path / "old.toml").read_text("utf-8")) == new


_METRICS = sorted(old for old in renames.table()["summary"] if old != "parts" and not old.startswith("performance."))


@pytest.mark.parametrize("old", _METRICS)
def test_an_old_metric_is_refused(old: str, tmp_path: Path) -> None:
    new = renames.table()["summary"][old]
    group, _, name = new.partition(".")
    assert name in {count.name for one in counts.groups() if one.name == group for count in one.counts}
    metric = old.replace(".", "_")
    study = {"scenario": SMALL, "axes": {"switch.classes": [1, 2]}}
    with pytest.raises(xoff.InputError, match=rf"`{metric}` is renamed to `{new.replace('.', '_')}`"):
        xoff.sweep(study | {"metrics": [metric]}, out=tmp_path / "study")
    with pytest.raises(xoff.InputError, match=rf"is renamed to `{new.replace('.', '_')}`"):
        xoff.tune(study | {"objective": {"minimise": old}}, out=tmp_path / "search")


def test_every_new_column_is_there_and_no_old_one() -> None:
    known = {f"{table['name']}.{column['name']}" for table in json.loads(_core.tables()) for column in table["columns"]}
    for old, new in renames.table()["columns"].items():
        assert f"{old.partition('.')[0]}.{new}" in known
        assert old not in known


@pytest.mark.parametrize("old", sorted(renames.table()["summary"]))
def test_a_result_of_an_earlier_release_is_refused(old: str, tmp_path: Path) -> None:
    result = xoff.run(SMALL)
    result.save(tmp_path / "result")
    file = tmp_path / "result" / "summary.json"
    summary = json.loads(file.read_text("utf-8"))
    *outer, last = old.split(".")
    table = summary
    for key in outer:
        table = table.setdefault(key, {})
    table[last] = 1
    file.write_text(json.dumps(summary), "utf-8")
    with pytest.raises(xoff.InputError, match=r"result: an earlier release wrote .*`xoff migrate .*scenario\.json`"):
        xoff.load(tmp_path / "result")


def test_every_new_key_of_a_summary_is_there() -> None:
    summary: Any = xoff.run(SMALL).summary
    for new in renames.table()["summary"].values():
        table = summary
        for key in new.split("."):
            table = table[key]


def test_every_new_value_of_a_column_is_documented() -> None:
    meanings = {
        f"{table['name']}.{column['name']}": column["meaning"]
        for table in json.loads(_core.tables())
        for column in table["columns"]
    }
    for column, names in renames.table()["column_values"].items():
        assert column in meanings
        if column == "delays.kind":
            assert all(f"`{new}`" in meanings[column] for new in names.values())
