"""The published experiments: a verdict that differs from the recorded verdict is noticed, in either direction."""

from __future__ import annotations

import errno
import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

import xoff
from counterexamples import CHANGES, SWAPS, WITHOUT_RUNS
from small import Command
from xoff import reproduce
from xoff.reproduce.page import counted, digest, row, text_of
from xoff.reproduce.runs import Results, RunFailed, Runner
from xoff.study.store import Store

_RECORDED: dict[str, str] = json.loads(reproduce.documents()["sfc"].verdicts.read_text("utf-8"))
_DOCUMENTS = list(dict.fromkeys(id.partition("/")[0] for id in _RECORDED))
_SLOW = {"ai-fabrics", "congestion-isolation", "field", "portfc", "serving", "sfc", "sfc-proxy"}
"""Documents with slow quick variants. Each document has a separate test, which can be requested alone."""


_EACH_DOCUMENT = pytest.mark.parametrize(
    "document", [pytest.param(one, marks=pytest.mark.slow if one in _SLOW else ()) for one in _DOCUMENTS]
)


@pytest.fixture
def quick_runs(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Returns the directory of quick variants' runs, shared by all tests and all processes."""
    base = tmp_path_factory.getbasetemp()
    return (base if worker_id == "master" else base.parent) / "quick-runs"


@_EACH_DOCUMENT
def test_quick_verdicts_are_the_recorded_ones(document: str, tmp_path: Path, quick_runs: Path) -> None:
    request = reproduce.Request(reproduce.select([document]), quick=True, runs=quick_runs, ids=[document])
    outcomes = reproduce.evaluate(request, out=tmp_path)
    verdicts = {claim.id: claim.words for outcome in outcomes for claim in outcome.claims}
    assert verdicts == {id: words for id, words in _RECORDED.items() if id.startswith(f"{document}/")}
    page = (tmp_path / f"{document}-quick.md").read_text("utf-8")
    found = json.loads((tmp_path / f"{document}-quick.json").read_text("utf-8"))
    assert found["quick"]
    for claim in found["claims"]:
        assert claim["statement"] in page
    for outcome in outcomes:
        assert f"]({outcome.figure})" in page
        assert (tmp_path / outcome.figure).is_file()
    rows = json.loads((tmp_path / f"{document}-quick.runs.json").read_text("utf-8"))
    assert {id: {*of} for id, of in rows.items()} == {one.experiment: {*one.rows} for one in outcomes}
    figures = {figure for one in outcomes for figure in (one.figure, *one.figures.values())}
    assert {f"{document}-quick.runs.json", *figures} == found["built"].keys()
    assert found["built"] == {name: digest((tmp_path / name).read_bytes()) for name in found["built"]}
    assert found["cpu_seconds"] > 0


def _fails(claim: reproduce.Claim) -> bool:
    """True if a statement fails or is void; with the few seeds of quick runs, by the mean."""
    return claim.direction in {"does not hold", "void"} or not claim.decision.leans


@_EACH_DOCUMENT
def test_each_statement_fails_where_it_should(document: str, quick_runs: Path) -> None:
    swaps = SWAPS.get(document, {})
    chosen = reproduce.select([document])
    with Runner({one.id: one.module.scenarios(True) for one in chosen}, runs=quick_runs) as runner:
        for one in chosen:
            results = runner.results(one.id)
            for short, swap in swaps.items():
                id = f"{document}/{short}"
                if id not in one.module.CLAIMS:
                    continue
                swapped = Results(
                    {name: results.get(swap(name), result) for name, result in results.items()}, results.failures
                )
                assert any(swapped[name] is not result for name, result in results.items()), id
                (claim,) = (claim for claim in one.module.claims(swapped, True) if claim.id == id)
                assert _fails(claim), id


@pytest.mark.slow
@pytest.mark.parametrize("id", list(CHANGES))
def test_each_statement_fails_with_settings_that_break_it(id: str, quick_runs: Path) -> None:
    request = reproduce.Request(reproduce.select([id]), quick=True, runs=quick_runs, changes=CHANGES[id])
    (outcome,) = reproduce.evaluate(request)
    (claim,) = (claim for claim in outcome.claims if claim.id == id)
    assert _fails(claim)


@pytest.mark.parametrize("document", list(SWAPS))
def test_each_experiment_says_what_is_given_and_what_is_chosen(document: str) -> None:
    for one in reproduce.select([document]):
        assert {True} <= {parameter.is_given for parameter in one.parameters}, one.id


@pytest.mark.parametrize("document", list(SWAPS))
def test_each_statement_has_runs_in_which_it_fails(document: str) -> None:
    claims = {id for one in reproduce.select([document]) for id in one.module.CLAIMS}
    wholes = {id for id in claims if any(other.startswith(f"{id}-") for other in claims)}
    listed = {f"{document}/{short}" for short in SWAPS[document]}
    assert claims - wholes - WITHOUT_RUNS - set(CHANGES) <= listed <= claims


def test_no_choice_is_judged_on_one_seed() -> None:
    for one in reproduce.experiments():
        seeds: dict[str, set[str]] = {}
        for name in one.module.scenarios(False):
            case, _, seed = name.rpartition("seed ")
            if reproduce.choice_of(name) and case:
                seeds.setdefault(case, set()).add(seed)
        assert all(len(of) >= 3 for of in seeds.values()), (one.id, min(seeds, key=lambda case: len(seeds[case])))


def test_every_claim_has_a_recorded_verdict() -> None:
    assert set(_RECORDED) == {id for one in reproduce.experiments() for id in one.module.CLAIMS}


def test_a_part_does_not_replace_the_whole(tmp_path: Path) -> None:
    (tmp_path / "sfc.md").write_text("the whole document")
    (one,) = reproduce.select(["sfc/5.1"])
    reproduce.evaluate(reproduce.Request([one], quick=True, ids=["sfc/5.1"]), out=tmp_path)
    assert (tmp_path / "sfc.md").read_text() == "the whole document"
    page = (tmp_path / "sfc-incast_3_to_1-quick.md").read_text("utf-8")
    assert "`xoff reproduce sfc/5.1 --quick`" in page
    assert not list(tmp_path.glob(".*"))


def test_an_interrupted_command_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = reproduce.Request(reproduce.select(["sfc/5.1"]), quick=True)

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(request.experiments[0].module, "figure", stopped)
        with pytest.raises(KeyboardInterrupt):
            reproduce.evaluate(request, out=tmp_path)
    kept = Store(tmp_path / ".unfinished").keys()
    assert kept
    # The runs are found: no run may repeat.
    monkeypatch.setattr("xoff.running.run_prepared", stopped)
    reproduce.evaluate(request, out=tmp_path)
    assert not (tmp_path / ".unfinished").exists()


def test_a_place_that_cannot_be_written_is_noticed_before_the_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("xoff.running.run_prepared", lambda *_: pytest.fail("it ran"))
    with pytest.raises(OSError, match="File exists"):
        reproduce.evaluate(reproduce.Request(reproduce.select(["sfc/5.1"]), quick=True), out=tmp_path / "file")


def test_every_experiment_says_what_it_reproduces() -> None:
    ids: list[str] = []
    for experiment in reproduce.experiments():
        assert experiment.module.__doc__
        assert experiment.module.CITATION
        ids += experiment.module.CLAIMS
    assert len(ids) == len(set(ids))


def test_the_written_pages_have_every_claim_at_full_size() -> None:
    pages = Path(__file__).resolve().parents[2] / "docs" / "experiments"
    for file in pages.glob("*.md"):
        found = json.loads(file.with_suffix(".json").read_text("utf-8"))
        ids = {
            id
            for one in reproduce.experiments()
            if one.id.startswith(f"{found['document']}/")
            for id in one.module.CLAIMS
        }
        assert not found["quick"]
        assert {claim["id"] for claim in found["claims"]} == ids


def test_choice_and_list(xoff_here: Command) -> None:
    assert "sfc/incast_3_to_1" in xoff_here("reproduce", "--list").stdout
    listed = json.loads(xoff_here("reproduce", "--list", "--json", "sfc/5.1").stdout)
    assert {"id", "experiment", "statement"} <= listed["claims"][0].keys()
    done = xoff_here("reproduce", "--json", "sfc/5.1")
    one = json.loads(done.stdout)
    assert [claim["id"] for claim in one["claims"]] == ["sfc/5.1"]
    expected = {"id", "statement", "direction", "verdict", "holds", "size", "reading", "others", "stops", "counted"}
    assert expected | {"measured", "reason", "seeds_that_would_decide"} <= one["claims"][0].keys()
    assert done.returncode == (0 if one["claims"][0]["holds"] else 1)


def test_an_experiment_is_judged_with_changed_settings(tmp_path: Path) -> None:
    changes = [("switch.flow_control.sfc.pause", "1us")]
    request = reproduce.Request(reproduce.select(["sfc/5.1"]), quick=True, ids=["sfc/5.1"], changes=changes)
    (changed,) = reproduce.evaluate(request, out=tmp_path)
    (plain,) = reproduce.evaluate(reproduce.Request(request.experiments, quick=True))
    with_sfc = {name for name in plain.rows if "sfc/seed" in name}
    assert with_sfc
    # Runs without SFC lack the key.
    assert {name for name in plain.rows if changed.rows[name] != plain.rows[name]} == with_sfc
    page = (tmp_path / "sfc-incast_3_to_1-quick-changed.md").read_text("utf-8")
    assert page.startswith("> **Changed:** `switch.flow_control.sfc.pause = 1us`")
    assert "`xoff reproduce sfc/5.1 --quick --set switch.flow_control.sfc.pause=1us`" in page
    assert json.loads((tmp_path / "sfc-incast_3_to_1-quick-changed.json").read_text("utf-8"))["changes"] == dict(
        changes
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ("switch.flow_control.bcn.q_eq", "1KB"),
            "unknown table `switch.flow_control.bcn` in the runs of these experiments",
        ),
        (("switch.flow_control.sfc.pauses", "1us"), "switch.flow_control.sfc.pauses: unknown key"),
    ],
)
def test_a_change_that_no_run_can_take_is_refused(change: tuple[str, str], message: str) -> None:
    request = reproduce.Request(reproduce.select(["sfc/5.1"]), quick=True, changes=[change])
    with pytest.raises(xoff.InputError, match=message):
        reproduce.evaluate(request)


def test_an_experiment_is_exported_as_a_study_that_runs_the_same(tmp_path: Path, xoff_here: Command) -> None:
    done = xoff_here(
        "reproduce", "bcn/baseline", "sfc/5.1", "sfc/P", "--quick", "--export", str(tmp_path / "to"), "--json"
    )
    studies = [Path(one) for one in json.loads(done.stdout)["studies"]]
    # Formulas alone need no simulation.
    assert [study.parent.name for study in studies] == ["incast_3_to_1", "baseline"]
    text = studies[0].read_text("utf-8")
    assert text.startswith("# sfc/incast_3_to_1: SFC simulation")
    assert "# buffer of a port (KB): 400 (given: Part 5, basic settings)" in text
    (one,) = reproduce.select(["sfc/5.1"])
    with Runner({one.id: one.module.scenarios(True)}) as runner:
        results = runner.results(one.id)
    study = xoff.sweep(studies[0], out=tmp_path / "study")
    found = study.runs.select(["variant", "fingerprint"]).to_pylist()
    assert {row["variant"]: row["fingerprint"] for row in found} == {
        name.removesuffix("/seed 1"): result.fingerprint for name, result in results.items()
    }
    for file in (studies[0].parent / "scenarios").iterdir():
        assert xoff.run(file).fingerprint in {result.fingerprint for result in results.values()}
    again = xoff_here("reproduce", "sfc/5.1", "--export", str(tmp_path / "to"))
    assert (again.returncode, "is not empty" in again.stderr) == (2, True)


def test_equal_scenarios_run_once_and_failed_ones_fail_when_looked_up(scenario: dict[str, Any]) -> None:
    lossy = scenario | {"switch": {"buffer": {"per_port": "20KB"}, "flow_control": {"pfc": {"xoff": "19KB"}}}}
    experiments = {
        "sfc/one": {"a": scenario, "b": scenario | {"name": "the same"}},
        "sfc/two": {"c": scenario, "d": lossy},
    }
    with Runner(experiments) as runner:
        assert runner.distinct == 2
        one = runner.results("sfc/one")
        flows = one["a"].flows.num_rows
        runner.release("sfc/one")
        two = runner.results("sfc/two")
        # Runs of another experiment are kept, and were not repeated.
        assert two["c"].flows.num_rows == flows == 3
        runner.release("sfc/two")
    assert one["a"].fingerprint == one["b"].fingerprint == two["c"].fingerprint
    with pytest.raises(RunFailed, match=r"d: the run violated an audit"):
        two["d"]
    with pytest.raises(KeyError):
        two["e"]
    # Each result has a name, in any order of runs.
    assert (one["a"].scenario["name"], one["b"].scenario["name"]) == ("small", "the same")


def test_an_experiment_has_the_tables_that_it_reads(scenario: dict[str, Any], tmp_path: Path) -> None:
    # Both experiments have the run of "a" and "b". Progress is told of "d" in any order of the runs: no other
    # experiment has that run.
    experiments = {
        "sfc/one": {"a": scenario, "d": scenario | {"seed": 8}},
        "sfc/two": {"b": scenario, "c": scenario | {"seed": 9}},
    }
    reads = {"sfc/one": ("flows",), "sfc/two": ("links", "packets")}
    told: list[str] = []
    with Runner(experiments, reads=reads, scratch=tmp_path / "scratch") as runner:
        for id, results in runner.each(lambda of, _: told.append(of)):
            # Tables that the run does not record are absent.
            expected = [table for table in reads[id] if table != "packets"]
            assert all(result.tables == expected for result in results.values())
            assert all(result.table(expected[0]).num_rows for result in results.values())
        written = {file.name for file in (tmp_path / "scratch").glob("*/*.parquet")}
    assert written == {"flows.parquet", "links.parquet"}
    assert "sfc/one" in told
    assert set(told) <= set(experiments)
    assert not (tmp_path / "scratch").exists()
    # A user who keeps runs has all tables.
    with Runner(experiments, reads=reads, runs=tmp_path / "runs") as runner:
        assert [results["a"].tables for id, results in runner.each() if id == "sfc/one"] == [["flows"]]
    assert {"flows.parquet", "pauses.parquet", "queues.parquet"} < {
        file.name for file in (tmp_path / "runs").glob("*/*.parquet")
    }


def test_what_fails_is_said_whatever_else_it_stops(
    scenario: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk met by one experiment stops concurrent experiments, and is reported as an error."""
    long = scenario | {"workload": [{"incast": {"senders": [0, 1], "receiver": 3, "size": "100GB"}}]}
    publish = Store.publish

    def full(store: Store, place: Path, key: str, tables: Collection[str]) -> None:
        publish(store, place, key, tables)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Store, "publish", full)
    with (
        pytest.raises(OSError, match="No space left"),
        Runner({"sfc/one": {"a": long}, "sfc/two": {"b": scenario}}, scratch=tmp_path / "scratch") as runner,
    ):
        list(runner.each())


def test_what_runs_ahead_is_stopped_when_the_caller_stops(scenario: dict[str, Any], tmp_path: Path) -> None:
    """An error in a judgement ends the active runs like an interrupt, and complete runs remain."""
    long = scenario | {"workload": [{"incast": {"senders": [0, 1], "receiver": 3, "size": "100GB"}}]}
    experiments = {"sfc/one": {"a": scenario}, "sfc/two": {"b": long, "c": long | {"seed": 9}}}

    def judge() -> None:
        with Runner(experiments, scratch=tmp_path / "scratch") as runner:
            for id, _ in runner.each():
                raise ZeroDivisionError(id)

    with pytest.raises(ZeroDivisionError, match="sfc/one"):
        judge()
    with Runner({"sfc/one": experiments["sfc/one"]}, scratch=tmp_path / "scratch") as runner:
        assert [file.parent.name for file in (tmp_path / "scratch").glob("*/summary.json")] == runner.keys("sfc/one")


def test_kept_runs_are_not_done_again(scenario: dict[str, Any], tmp_path: Path) -> None:
    experiments = {"sfc/one": {"a": scenario}}
    found = []
    for _ in range(2):
        with Runner(experiments, runs=tmp_path / "runs") as runner:
            found.append(runner.results("sfc/one")["a"])
            runner.release("sfc/one")
    # The durations of a run are its own: the second run is the first, read again.
    assert found[0].summary == found[1].summary
    assert found[1].flows.num_rows == 3


def test_a_scenario_that_is_not_valid_names_its_experiment(scenario: dict[str, Any]) -> None:
    with pytest.raises(xoff.InputError, match="experiment sfc/one, scenario a: colour: unknown key"):
        Runner({"sfc/one": {"a": scenario | {"colour": 1}}})


def test_measured_values_read_well() -> None:
    assert text_of({"a": 1.23456, "b": {"c": 123456.7, "d": True}, "e": None}) == "a: 1.235, b: c: 123457, d: yes, e: –"


def test_a_row_of_a_run_has_what_its_parts_counted(scenario: dict[str, Any]) -> None:
    result = xoff.run(scenario)
    counts = counted(result.summary)
    assert counts["PFC pauses"] == result.summary["pfc"]["pauses"]
    assert counts["PFC: paused (µs)"] == result.summary["pfc"]["paused_ps"] / 1e6
    assert not any("SFC" in name for name in counts)
    # Every nonzero count is reported, for any component.
    assert counted({"sfc": {"messages": 2, "late_holds": 0, "above_threshold_ps": 5_000_000}}) == {
        "SFC messages": 2,
        "above the SFC threshold (µs)": 5.0,
    }
    mean_ps = result.summary["fct_ps"]["mean"]
    assert mean_ps is not None
    assert row(result) == {"incast FCT (µs)": pytest.approx(row(result)["mean FCT (µs)"])} | {
        "mean FCT (µs)": mean_ps / 1e6,
        "lost packets": 0,
        **counts,
    }
