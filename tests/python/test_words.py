"""Dead ends of the command: each message names the problem, its place, and the next action."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import xoff
from small import TOML, Command
from xoff import InputError

_FABRIC: dict[str, Any] = {
    "network": {
        "leaf_spine": {"leaves": 2, "spines": 2, "hosts_per_leaf": 2, "link": {"rate": "100Gbps", "delay": "1us"}}
    },
    "framing": {"payload": "1000B"},
    "switch": {"buffer": {"per_port": "400KB"}, "flow_control": {"pfc": {}}},
    "workload": [{"incast": {"senders": [1, 2, 3], "receiver": 0, "size": "100KB"}}],
}


def warnings(**overrides: Any) -> list[str]:
    changes = {key.replace("__", "."): value for key, value in overrides.items()}
    return [f"{one['path']}: {one['message']}" for one in xoff.check(_FABRIC, overrides=changes)["warnings"]]


def test_a_rate_of_an_override_is_blamed_where_it_stands() -> None:
    slow = [{"link": "leaf0-spine0", "rate": "0bps"}]
    with pytest.raises(InputError, match=r"^network\.overrides\[0\]\.rate: .*below the minimum of 1Mbps.*fault"):
        xoff.check(_FABRIC, overrides={"network.overrides": slow})


def test_a_size_for_a_buffer_says_whose_it_is() -> None:
    with pytest.raises(InputError, match=r'switch\.buffer: .*per_port = "32MB".*shared = \{ total = "32MB" \}'):
        xoff.check(_FABRIC | {"switch": {"buffer": "32MB"}})
    # For another word the message lists the allowed words alone.
    with pytest.raises(InputError, match=r"allowed are `unlimited`, `per_port`, `per_queue`, `shared`$"):
        xoff.check(_FABRIC | {"switch": {"buffer": "much"}})


def test_trimming_beside_pfc_says_what_to_leave_out() -> None:
    with pytest.raises(InputError, match=r"^switch\.trimming: mutually exclusive with pfc.*remove switch\.trimming"):
        xoff.check(_FABRIC, overrides={"switch.trimming.limit": "64KB"})


@pytest.mark.parametrize("scheme", ["spray", "drill", "flowlet"])
@pytest.mark.parametrize("transport", ["go_back_n", "selective", "irn"])
def test_spraying_under_go_back_n_is_warned_of(scheme: str, transport: str) -> None:
    parameters = {"timeout": "50us"} if scheme == "flowlet" else {}
    found = warnings(**{f"switch__routing__{scheme}": parameters, f"host__transport__{transport}": {}})
    told = [one for one in found if "drops and retransmits out-of-order packets" in one]
    # Flowlets keep their order: a gap is longer than the difference of paths.
    assert bool(told) == (transport == "go_back_n" and scheme != "flowlet")
    assert all(one.startswith(f"switch.routing.{scheme}: ") and "host.transport.selective" in one for one in told)


def test_spraying_under_go_back_n_is_as_bad_as_the_warning_says() -> None:
    traffic = [{"permutation": {"size": "200KB"}}]
    sprayed = {"switch.routing.spray": {}, "network.overrides": [{"link": "leaf0-spine0", "delay": "20us"}]}
    runs = [
        xoff.run(_FABRIC | {"workload": traffic}, overrides=sprayed | {f"host.transport.{one}": {}}).summary["fct_ps"]
        for one in ("go_back_n", "selective")
    ]
    assert (runs[0]["mean"] or 0) > 3 * (runs[1]["mean"] or 0)


@pytest.mark.parametrize(("kmin", "is_told"), [("1048B", True), ("2KB", True), ("3KB", False), ("100KB", False)])
def test_marks_from_the_first_packet_on_are_warned_of(kmin: str, is_told: bool) -> None:
    control: dict[str, Any] = {"host__congestion_control__dcqcn": {}}
    found = warnings(switch__ecn={"red": {"kmin": kmin, "kmax": "200KB", "pmax": 0.2}}, **control)
    assert [one.startswith("switch.ecn.red.kmin: ") for one in found] == [True] * is_told
    found = warnings(switch__ecn={"step": {"threshold": kmin}}, **control)
    assert [one.startswith("switch.ecn.step.threshold: ") for one in found] == [True] * is_told


def test_a_loss_names_the_headroom_that_check_knows() -> None:
    """One figure of headroom: in `check`, in `size pfc`, and in a run that lost nothing with the headroom."""
    small = {
        "switch.flow_control.pfc.xoff": "398KB",
        "workload": [{"incast": {"senders": [1, 2, 3], "receiver": 0, "size": "5MB"}}],
    }
    with pytest.raises(xoff.AuditError, match=r"B above XOFF; `xoff check` warns of switch\.flow_control\.pfc\.xoff"):
        xoff.run(_FABRIC, overrides=small)
    needed = {row["needed_bytes"] for row in xoff.check(_FABRIC, overrides=small)["headroom"]}
    from xoff.sizing import headroom

    assert needed == {headroom.calculate(one)["headroom_bytes"] for one in headroom.of_scenario(_FABRIC, small)}
    least = 400_000 - max(needed)
    assert xoff.run(_FABRIC, overrides=small | {"switch.flow_control.pfc.xoff": f"{least}B"}).ok
    assert re.match(r"\d+$", str(least))


@pytest.mark.parametrize(("name", "kind"), [("study.toml", "sweep"), ("search.toml", "tune")])
def test_a_study_given_to_run_names_the_command_that_runs_it(
    name: str, kind: str, tmp_path: Path, xoff_here: Command
) -> None:
    (tmp_path / "small.toml").write_text(TOML)
    text = 'base = "small.toml"\n[axes]\n"switch.forwarding_latency" = ["0", "1us"]\n'
    (tmp_path / name).write_text(text + ('[objective]\nminimise = "fct_mean_ps"\n' if kind == "tune" else ""))
    done = xoff_here("run", name)
    assert done.returncode == 2
    assert f"is a study; run: xoff {kind} {name}" in done.stderr
    if kind == "tune":
        assert "xoff tune search.toml" in xoff_here("sweep", name).stderr


@pytest.mark.parametrize("name", ["empty.toml", "empty.json"])
@pytest.mark.parametrize("command", ["run", "check", "sweep", "tune"])
def test_an_empty_file_says_how_to_begin(name: str, command: str, tmp_path: Path, xoff_here: Command) -> None:
    (tmp_path / name).write_text("\n")
    done = xoff_here(command, name)
    assert done.returncode == 2
    what = "study" if command in {"sweep", "tune"} else "scenario"
    assert done.stderr == f"xoff: error: {name}: is empty; `xoff new {what}` writes one to begin with\n"


def study(base: Path, **keys: str) -> str:
    return "\n".join([f'base = "{base.name}"', *(f"{key} = {value}" for key, value in keys.items()), "[axes]"])


def test_a_run_of_a_study_is_explained(scenario_file: Path, xoff_here: Command) -> None:
    """The run keeps flows and links alone, and has to be repeated."""
    axes = '\n"switch.forwarding_latency" = ["0", "1us"]\n'
    (scenario_file.parent / "study.toml").write_text(study(scenario_file) + axes)
    assert xoff_here("sweep", "study.toml", "--out", "study").returncode == 0
    place = Path("study/named/forwarding_latency_1us_seed_7")
    done = xoff_here("explain", place)
    assert done.returncode == 0, done.stderr
    assert "lacks pauses, queues, drops; a study keeps the tables of --keep" in done.stderr
    # The explanation equals the explanation of a separate run with these settings.
    xoff.run(scenario_file, overrides={"switch.forwarding_latency": "1us"}, out=scenario_file.parent / "alone")
    alone = xoff_here("explain", "alone").stdout
    assert done.stdout.replace(str(place), "alone").split() == alone.split()
    assert (
        xoff_here("explain", place, "--port", "switch0:1").stdout
        == xoff_here("explain", "alone", "--port", "switch0:1").stdout
    )
    more = xoff_here("sweep", "study.toml", "--out", "study", "--keep", "pauses", "--keep", "queues", "--keep", "drops")
    assert "2 simulated" in more.stdout
    assert "lacks" not in xoff_here("explain", place, "--port", "switch0:1").stderr
    assert (
        "is a study; name one of its runs: xoff explain study/named/forwarding_latency_0_seed_7"
        in xoff_here("explain", "study").stderr
    )
    assert "unknown table `pause`" in xoff_here("sweep", "study.toml", "--out", "study", "--keep", "pause").stderr


def test_a_run_without_its_study_says_where_its_tables_are(scenario_file: Path, xoff_here: Command) -> None:
    (scenario_file.parent / "flows.csv").write_text("src,dst,size,start\nhost1,host0,10KB,0\n")
    text = scenario_file.read_text().replace(
        'incast = { senders = [1, 2, 3], receiver = 0, size = "100KB" }', 'table = "flows.csv"'
    )
    scenario_file.write_text(text)
    (scenario_file.parent / "study.toml").write_text(study(scenario_file) + '\n"switch.forwarding_latency" = ["0"]\n')
    assert xoff_here("sweep", "study.toml", "--out", "study").returncode == 0
    (scenario_file.parent / "flows.csv").unlink()
    [run] = (scenario_file.parent / "study" / "named").iterdir()
    shutil.copytree(run, scenario_file.parent / "moved")
    done = xoff_here("explain", "moved")
    assert done.returncode == 2
    assert "which the study keeps in runs/inputs: name the run inside the study" in done.stderr
    assert xoff_here("explain", run).returncode == 0


def test_directories_of_runs_have_names_and_columns_an_order(scenario_file: Path) -> None:
    keys = {"scenario": str(scenario_file)}
    document = {
        "base": keys["scenario"],
        "axes": {"switch.forwarding_latency": ["0", "1us"]},
        "metrics": ["pfc_pauses", "drops"],
    }
    found = xoff.sweep(document | {"seeds": 2}, out=scenario_file.parent / "study")
    place = scenario_file.parent / "study" / "named"
    assert {path.name for path in place.iterdir()} == {
        f"forwarding_latency_{d}_seed_{s}" for d in ("0", "1us") for s in (1, 2)
    }
    assert xoff.load(place / "forwarding_latency_1us_seed_2").scenario["switch"]["forwarding_latency"] == "1us"
    named = found.runs.column_names
    assert named[named.index("fingerprint") + 1 :][:2] == ["pfc_pauses", "drops"]
    # No name of a removed setting remains.
    xoff.sweep(document | {"seeds": 1}, out=scenario_file.parent / "study")
    assert sorted(path.name for path in place.iterdir()) == [
        "forwarding_latency_0_seed_1",
        "forwarding_latency_1us_seed_1",
    ]


def test_xoff_is_swept_alone_where_xon_follows_it(scenario_file: Path) -> None:
    base = {"base": str(scenario_file), "axes": {"switch.flow_control.pfc.xoff": ["60KB", "150KB"]}}
    fixed = scenario_file.read_text().replace(
        "[switch.flow_control.pfc]", '[switch.flow_control.pfc]\nxoff = "150KB"\nxon = "100KB"'
    )
    scenario_file.write_text(fixed)
    refused = xoff.Study(base, scenario_file.parent / "refused").plan.impossible
    assert ["remove it to derive xon from xoff" in one.message for one in refused] == [True]
    found = xoff.sweep(base | {"unset": ["switch.flow_control.pfc.xon"]}, out=scenario_file.parent / "study")
    assert found.status().complete == 2
    assert all("xon" not in one.scenario["switch"]["flow_control"]["pfc"] for _, _, one in found.results())
    with pytest.raises(InputError, match=r"^unset: no scenario has a setting"):
        xoff.sweep(base | {"unset": ["switch.xon"]}, out=scenario_file.parent / "wrong")
    with pytest.raises(InputError, match=r"^unset: 'switch' was given"):
        xoff.sweep(base | {"unset": "switch"}, out=scenario_file.parent / "wrong")


def test_a_pace_names_who_set_it(scenario: dict[str, Any], tmp_path: Path, xoff_here: Command) -> None:
    switch = scenario["switch"] | {"ecn": {"step": {"threshold": "20KB"}}}
    slow = scenario | {"switch": switch, "host": {"congestion_control": {"dcqcn": {"preset": "conweave"}}}}
    result = xoff.run(slow, overrides={"workload[0].incast.size": "400KB"}, out=tmp_path / "slow")
    row = max(result.flows.to_pylist(), key=lambda one: one["fct_ps"])
    told = xoff_here("explain", "slow", "--flow", row["flow"]).stdout
    assert row["notifications"] > 0
    assert f"paced below line rate, after {row['notifications']:,} notification" in told
    rate = float(re.findall(r"at ([\d.]+) Gb/s on average", told)[0])
    # No faster than its line, and no slower than its whole time implies.
    assert 0.99 * row["size_bytes"] * 8e3 / row["fct_ps"] <= rate < 100


def test_a_sweep_into_a_log_says_how_far_it_is(
    scenario_file: Path, xoff_here: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from xoff import display

    axes = '\n"workload[0].incast.size" = { from = "1MB", to = "30MB", step = "1MB" }\n'
    (scenario_file.parent / "study.toml").write_text(study(scenario_file) + axes)
    assert xoff_here("sweep", "study.toml", "--out", "silent").stderr == ""
    monkeypatch.setattr(display, "LOG_SECONDS", 0.0)
    told = xoff_here("sweep", "study.toml", "--out", "told").stderr.splitlines()
    assert told
    assert all(re.match(r"xoff: \d+ of 30 runs", line) for line in told)
