"""Python functions in studies: rows for each point and seed, and metrics that are computed once a run."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import xoff
from patience import wait_until
from small import Command
from xoff.functions.code import code_digest
from xoff.study import Study
from xoff.study.tune_command import repeat

MODULE = """
import os, random, time
import pyarrow.compute as pc

def web(hosts, seed, count=4, size=10_000):
    draw = random.Random(seed)
    rows = []
    for number in range(count):
        src, dst = draw.sample(range(len(hosts)), 2)
        rows.append({"src": src, "dst": dst, "size": size + draw.randrange(size), "start": f"{number}us"})
    return rows

def unseeded(hosts, seed):
    return [{"src": 0, "dst": 1, "size": 1 + int.from_bytes(os.urandom(4), "big")}]

def picky(hosts, seed, load=1):
    if load > 1:
        raise ValueError(f"load {load} is above 1")
    return web(hosts, seed)

def log(name):
    with open("log", "a") as file:
        file.write(name + " ")

def worst(result):
    log("worst")
    return pc.max(result.flows["fct_ps"])

def sizes(result):
    return int(pc.sum(result.flows["size_bytes"]).as_py())

def nothing(result):
    return None

def deep(result):
    return result.queues.num_rows

def typed(result):
    return "many"

def broken(result):
    return 1 / 0

def infinite(result):
    return float("inf")

def endless(result):
    while True:
        pass

def sleeps(result):
    open("begun", "w").close()
    time.sleep(3600)

def wants(result, more):
    return 1
"""
BASE = """
[network.star]
hosts = 4
link = { rate = "100Gbps", delay = "1us" }
[switch.flow_control.pfc]
[[workload]]
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a module of functions, and a scenario whose rows come from a function."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lab.py").write_text(MODULE, "utf-8")
    (tmp_path / "base.toml").write_text(f'{BASE}python = {{ function = "lab:web" }}\n', "utf-8")
    return tmp_path


COUNT = "workload[0].python.parameters.count"


def study(**more: Any) -> dict[str, Any]:
    return {"base": "base.toml", "axes": {COUNT: [4, 8]}, "seeds": 2, **more}


def column(found: Study, name: str) -> list[Any]:
    values: list[Any] = found.runs[name].to_pylist()
    return values


def calls(place: Path) -> int:
    return len((place / "log").read_text("utf-8").split()) if (place / "log").exists() else 0


@pytest.mark.usefixtures("place")
def test_an_axis_and_seeds_reach_the_function() -> None:
    found = xoff.sweep(study(metrics={"sent_bytes": "lab:sizes"}), out="out", allow_python=True)
    assert found.status().complete == 4
    for values, seed, result in found.results():
        one = xoff.run("base.toml", overrides={COUNT: values["count"]}, seed=seed, allow_python=True)
        assert result.fingerprint == one.fingerprint
        assert result.flows.num_rows == values["count"]
    assert len(set(column(found, "fingerprint"))) == 4
    assert column(found, "sent_bytes") == [pc.sum(one.flows["size_bytes"]).as_py() for *_, one in found.results()]
    assert pq.read_table("out/runs.parquet").equals(found.runs)
    # A run is repeated from the store, without the function.
    Path("lab.py").unlink()
    for _, _, result in found.results():
        assert result.directory is not None
        assert xoff.run(result.directory / "scenario.json").fingerprint == result.fingerprint


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(("workers", "threads"), [(1, 1), (3, 1), (2, 2)])
def test_no_table_depends_on_workers_or_threads(workers: int, threads: int) -> None:
    document = study(metrics={"worst_ps": "lab:worst"})
    first = xoff.sweep(document, out="first", workers=1, allow_python=True)
    found = xoff.sweep(document, out="second", workers=workers, threads=threads, allow_python=True)
    assert found.runs.equals(first.runs)
    assert found.flows.equals(first.flows)


def test_a_value_is_computed_once_a_run_and_again_for_changed_code(place: Path) -> None:
    document = study(metrics={"worst_ps": "lab:worst"})
    first = xoff.sweep(document, out="out", allow_python=True)
    assert calls(place) == 4
    report = Study(document, "out", allow_python=True).run()
    assert (calls(place), report.simulated) == (4, 0)
    # Added runs alone are measured.
    grown = xoff.sweep(study(metrics={"worst_ps": "lab:worst"}, seeds=3), out="out", allow_python=True)
    assert calls(place) == 6
    # Changed code is computed again, from the kept tables.
    changed = MODULE.replace('pc.max(result.flows["fct_ps"])', 'pc.max(result.flows["fct_ps"]).as_py() + 1')
    (place / "lab.py").write_text(changed, "utf-8")
    again = Study(document, "out", allow_python=True)
    assert again.run().simulated == 0
    assert calls(place) == 10
    assert column(again, "worst_ps") == [value + 1 for value in column(first, "worst_ps")]
    assert pq.read_table("out/runs.parquet").equals(again.runs)
    # The code of before has its values still.
    (place / "lab.py").write_text(MODULE, "utf-8")
    assert Study(document, "out", allow_python=True).run().simulated == 0
    assert calls(place) == 10
    assert column(grown, "worst_ps")[:2] == column(first, "worst_ps")[:2]


def test_an_opened_study_and_its_page_need_no_code(place: Path, xoff_here: Command) -> None:
    xoff.sweep(study(metrics={"worst_ps": "lab:worst"}), out="out", allow_python=True)
    (place / "lab.py").unlink()
    opened = Study.open("out")
    assert opened.metrics() == ["worst_ps"]
    assert [one.interval.count for one in opened.means("worst_ps")] == [2, 2]
    [compared] = opened.compare("worst_ps", 4, 8, of="count")
    assert compared.comparison.difference.count == 2
    done = xoff_here("report", "out")
    assert done.returncode == 0, done.stderr
    assert "worst" in (place / "out/report.html").read_text("utf-8")
    assert calls(place) == 4


def test_metrics_are_listed_beside_those_of_summaries(place: Path, xoff_here: Command) -> None:
    document = {**study(), "metrics": ["workload_flows_fct_mean_ps", {"worst_ps": "lab:worst", "none": "lab:nothing"}]}
    (place / "study.json").write_text(json.dumps(document), "utf-8")
    done = xoff_here("sweep", "study.json", "--allow-python", "--json", "--out", "out")
    assert done.returncode == 0, done.stderr
    means = json.loads(done.stdout)["means"]
    assert [one["metric"] for one in means] == ["workload_flows_fct_mean_ps"] * 2 + ["worst_ps"] * 2
    assert column(Study.open("out"), "none") == [None] * 4


def test_a_search_minimises_a_metric_of_a_function(place: Path) -> None:
    pytest.importorskip("optuna")
    size = "workload[0].python.parameters.size"
    document = {
        "base": "base.toml",
        "axes": {size: [1000, 9000, 30_000, 90_000]},
        "seeds": 2,
        "metrics": {"worst_ps": "lab:worst"},
        "objective": {"maximise": "worst_ps", "runs": 64, "confirm": 2, "constraints": {"worst_ps": {"at_most": "1s"}}},
    }
    found = xoff.tune(document, out="out", allow_python=True)
    assert found.best[0].settings == {size: 90_000}
    assert repeat(found, found.best[0], place / "x").startswith("xoff run base.toml --allow-python --set ")
    runs = found.study.runs.to_pylist()
    assert all(row["worst_ps"] is not None for row in runs)
    # Each run is measured once, also the runs with unseen seeds.
    stored = [one for one in (place / "out/runs").iterdir() if not one.name.startswith(".") and one.name != "inputs"]
    assert calls(place) == len(stored)
    again = xoff.tune(document, out="out", allow_python=True)
    assert (again.report.simulated, calls(place)) == (0, len(stored))


WORDS = [["sweep"], ["sweep", "--status"], ["check"], ["sweep", "--json"]]


@pytest.mark.parametrize("words", [*WORDS, ["tune"]], ids=" ".join)
@pytest.mark.parametrize("of", ["workload", "metric"])
def test_nothing_is_imported_without_permission(place: Path, xoff_here: Command, words: list[str], of: str) -> None:
    (place / "lab.py").write_text("open('imported', 'w').close()\n" + MODULE, "utf-8")
    document = study(metrics={"worst_ps": "lab:worst"}) if of == "metric" else study()
    if of == "metric":
        (place / "base.toml").write_text(f'{BASE}flows = [{{ src = 0, dst = 1, size = "{5}KB" }}]\n', "utf-8")
        document["axes"] = {"switch.flow_control.pfc.xoff": ["50KB", "60KB"]}
    if words[0] == "tune":
        pytest.importorskip("optuna")
        document["objective"] = {"minimise": "fct_mean_ps"}
    (place / "study.json").write_text(json.dumps(document), "utf-8")
    done = xoff_here(words[0], "study.json", *words[1:])
    assert done.returncode == 2
    where = "metrics.worst_ps: `lab:worst`" if of == "metric" else "workload[0].python: `lab:web`"
    assert where in done.stderr
    assert "--allow-python" in done.stderr
    assert not (place / "imported").exists()
    with pytest.raises(xoff.InputError, match="allow_python=True"):
        xoff.tune(document, out="o") if words[0] == "tune" else xoff.sweep(document, out="o")


@pytest.mark.usefixtures("place")
def test_a_study_cannot_permit_itself() -> None:
    for key in ("allow_python", "python_timeout"):
        with pytest.raises(xoff.InputError, match=f"{key}: unknown key of a study"):
            Study(study(**{key: True}), "out")


@pytest.mark.parametrize(
    ("metrics", "why"),
    [
        ({"worst": "lab"}, "metrics.worst: 'lab' is not of the form module:function"),
        ({"worst": "../lab:worst"}, "metrics.worst: '../lab:worst' is not of the form"),
        ({"worst": 3}, "metrics.worst: 3 is not of the form"),
        ({"Worst": "lab:worst"}, "metrics: 'Worst' is not a name"),
        ({"a-b": "lab:worst"}, "metrics: 'a-b' is not a name"),
        ({"seed": "lab:worst"}, "metrics: 'seed' is a column of studies"),
        ({"fct_ps": "lab:worst"}, "metrics: 'fct_ps' is a column of studies"),
        ({"fct_mean_ps": "lab:sizes"}, "metrics.fct_mean_ps: runs have this metric without a function"),
        ([{"worst": "lab:worst"}, {"worst": "lab:sizes"}], "metrics.worst: is given twice"),
        (3, "metrics: 3 was given; a list of names, or a table of functions"),
        (["fct_mean_p", {"worst": "lab:worst"}], "metrics: unknown column `fct_mean_p`"),
        ({"worst": "lab:wrost"}, "metrics.worst: `lab:wrost` is missing: `lab` has the functions"),
        ({"worst": "nowhere:worst"}, "metrics.worst: `nowhere:worst` is missing: no `nowhere.py`"),
        ({"worst": "lab:typed"}, "metrics.worst: `lab:typed` returned a value of type str; a number or None is needed"),
        ({"worst": "lab:broken"}, "metrics.worst: `lab:broken` raised ZeroDivisionError: division by zero (lab.py"),
        ({"worst": "lab:infinite"}, "metrics.worst: `lab:infinite` returned inf; a finite number or None is needed"),
        ({"worst": "lab:wants"}, "metrics.worst: `lab:wants` cannot be called with (result): missing a required"),
        ({"worst": "lab:deep"}, "reads the table `queues`, which the study does not keep; "
         'set keep = ["flows", "links", "queues"] in the study'),
    ],
)  # fmt: skip
def test_a_wrong_metric_is_one_message(place: Path, metrics: Any, why: str) -> None:
    with pytest.raises(xoff.InputError) as error:
        xoff.sweep(study(metrics=metrics), out="out", allow_python=True)
    message = str(error.value)
    assert why in message
    assert "\n" not in message
    if any(word in why for word in ("raised", "returned", "reads")):
        assert ", seed" in message
    # The runs stay, and a mended function finds them.
    if "ZeroDivision" in why:
        (place / "lab.py").write_text(MODULE.replace("1 / 0", "1 / 1"), "utf-8")
        again = Study(study(metrics=metrics), "out", allow_python=True)
        assert again.run().found > 0
        assert column(again, "worst") == [1.0] * 4


@pytest.mark.usefixtures("place")
def test_a_kept_table_can_be_read() -> None:
    document = study(metrics={"deep": "lab:deep"}, keep=["flows", "queues"])
    found = xoff.sweep(document, out="out", allow_python=True)
    assert column(found, "deep") == [found.store.result(key).queues.num_rows for key in column(found, "run")]
    # Runs without the table are done again once the study keeps it.
    xoff.sweep(study(), out="other", allow_python=True)
    assert column(xoff.sweep(document, out="other", allow_python=True), "deep") == column(found, "deep")


@pytest.mark.usefixtures("place")
def test_a_metric_that_does_not_return_is_interrupted_and_named() -> None:
    with pytest.raises(xoff.InputError, match=r"metrics\.worst: `lab:endless` did not return within 2 s .* lab\.py"):
        xoff.sweep(study(metrics={"worst": "lab:endless"}), out="out", allow_python=True, python_timeout=2.0)
    assert Study(study(), "out", allow_python=True).status().complete > 0


def test_a_function_at_fault_ends_the_study_with_the_point(place: Path) -> None:
    (place / "base.toml").write_text(f'{BASE}python = {{ function = "lab:picky" }}\n', "utf-8")
    document = {"base": "base.toml", "axes": {"workload[0].python.parameters.load": [1, 2]}, "seeds": 1}
    with pytest.raises(xoff.InputError) as error:
        Study(document, "out", allow_python=True)
    line = next(number for number, one in enumerate(MODULE.splitlines(), 1) if "raise ValueError" in one)
    assert str(error.value) == (
        f"workload[0].python: `lab:picky` raised ValueError: load 2 is above 1 (lab.py, line {line}); at load 2, seed 1"
    )
    (place / "base.toml").write_text(f'{BASE}python = {{ function = "lab:unseeded" }}\n', "utf-8")
    with pytest.raises(xoff.InputError, match="`lab:unseeded` returned other rows when called again"):
        xoff.sweep({"base": "base.toml", "seeds": 2}, out="out", allow_python=True)
    assert Study({"base": "base.toml", "seeds": 2}, "out", allow_python=True).status().complete == 0


@pytest.mark.parametrize("of", ["workload", "metric"])
def test_ctrl_c_ends_a_function_of_a_study(place: Path, of: str) -> None:
    document = study(metrics={"worst": "lab:sleeps"}) if of == "metric" else study()
    if of == "workload":
        sleeping = MODULE.replace("def web(hosts, seed", "def web(hosts, seed, nap=0").replace(
            "    draw = random.Random(seed)\n    rows", "    sleeps(None)\n    rows", 1
        )
        (place / "lab.py").write_text(sleeping, "utf-8")
    (place / "study.json").write_text(json.dumps(document), "utf-8")
    words = [str(Path(sys.executable).with_name("xoff")), "sweep", "study.json", "--allow-python", "--workers", "1"]
    with subprocess.Popen(words, cwd=place, text=True, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        wait_until((place / "begun").exists, process)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate()
    assert process.returncode == 130, told
    assert "Traceback" not in told
    assert "interrupted" in told


def test_two_shards_share_the_values(place: Path) -> None:
    document = study(metrics={"worst_ps": "lab:worst"})
    for number in (1, 2):
        Study(document, "out", allow_python=True).run(shard=(number, 2))
    found = Study.open("out")
    assert found.status().missing == 0
    assert calls(place) == 4
    assert None not in column(found, "worst_ps")
    assert pq.read_table("out/runs.parquet").equals(found.runs)


def test_the_hash_covers_imports_of_the_folder_alone(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("import json\nfrom two import x\nimport package.three\n", "utf-8")
    (tmp_path / "two.py").write_text("x = 1\n", "utf-8")
    (tmp_path / "package").mkdir()
    (tmp_path / "package/__init__.py").write_text("", "utf-8")
    (tmp_path / "package/three.py").write_text("from . import four\n", "utf-8")
    (tmp_path / "package/four.py").write_text("y = 1\n", "utf-8")
    (tmp_path / "other.py").write_text("z = 1\n", "utf-8")

    def now() -> str:
        return code_digest("one", "f", tmp_path, tmp_path / "one.py")

    (tmp_path / "one.py").write_text("import json\nfrom two import x\nimport package.three\nimport odd\n", "utf-8")
    (tmp_path / "odd.py").write_text("no Python\n", "utf-8")
    known = now()
    assert code_digest("one", "g", tmp_path, None) != known
    (tmp_path / "other.py").write_text("z = 2\n", "utf-8")
    assert now() == known
    for name in ("one.py", "two.py", "package/__init__.py", "package/three.py", "package/four.py"):
        with (tmp_path / name).open("a") as file:
            file.write("# changed\n")
        assert now() != known, name
        known = now()


def test_a_foreign_study_cannot_name_other_files(place: Path) -> None:
    xoff.sweep(study(metrics={"worst_ps": "lab:worst"}), out="out", allow_python=True)
    document = json.loads(Path("out/study.json").read_text("utf-8"))
    [[name, function, digest]] = document["functions"]
    for wrong in (["../x", function, digest], [name, function, "../../etc"], [name, function], [name, 3, digest]):
        Path("out/study.json").write_text(json.dumps({**document, "functions": [wrong]}), "utf-8")
        with pytest.raises(xoff.InputError, match="is not the directory of a study"):
            Study.open("out")
    Path("out/study.json").write_text(json.dumps(document), "utf-8")
    [kept, *_] = Path("out/runs").glob("*/metric-*.json")
    for text in ('{"value": "many"}', "[1]", "no JSON", '{"value": 1e999}', "{}"):
        kept.write_text(text, "utf-8")
        # A damaged value is a missing value, and is computed again.
        assert Study.open("out").runs.num_rows == 4
    xoff.sweep(study(metrics={"worst_ps": "lab:worst"}), out="out", allow_python=True)
    assert calls(place) == 5
    assert kept.stat().st_size > 5
