"""Studies with a design: planned runs, and the effect of each factor."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import xoff
from small import Command
from xoff import InputError
from xoff.study import Study
from xoff.study import design as designs
from xoff.study.axes import Span, factors
from xoff.study.design import Design
from xoff.study.effects import of_values

_RATE = "network.star.link.rate"
_DELAY = "switch.forwarding_latency"
_XOFF = "switch.flow_control.pfc.xoff"
_SMALL = {
    _RATE: ["50Gbps", "100Gbps"],
    "workload[0].incast.size": ["50KB", "100KB"],
    _DELAY: ["0ns", "300ns"],
    "switch.queueing": ["oq", "voq"],
}


def _design(options: dict[str, Any], count: int) -> Design:
    """Returns a design with the given number of factors, a point for each row."""
    asked = designs.read({"design": options})
    assert asked is not None
    axes = {f"workload[{index}].poisson.load": {"from": 0, "to": 1} for index in range(count)}
    rows = designs.rows(*asked, factors({"axes": axes}), 10**6)
    names = tuple(f"x{index + 1}" for index in range(count))
    return Design(*asked, names, (("0", "1"),) * count, tuple(rows), tuple(range(len(rows))))


def _effects(
    design: Design, model: Callable[..., float], noise: Sequence[float] = (0.0,)
) -> dict[tuple[str, str], tuple[float, float]]:
    """Mean and margin of each effect and measure on a function of the places."""
    values = [dict(enumerate(model(*row) + value for value in noise)) for row in design.rows]
    found, _ = of_values(design, values, range(len(noise)))
    return {(one.name, one.measure): (one.interval.mean, one.interval.margin or 0.0) for one in found}


def _linear(first: float, second: float, third: float) -> float:
    return 5 + 2 * first - 7 * second + 0 * third


def _ishigami(*places: float) -> float:
    first, second, third = (math.pi * (2 * place - 1) for place in places)
    return math.sin(first) + 7 * math.sin(second) ** 2 + 0.1 * third**4 * math.sin(first)


@pytest.mark.parametrize("noise", [(0.0,), (-50.0, 0.0, 50.0)])
def test_morris_on_a_linear_function_is_exact(noise: tuple[float, ...]) -> None:
    # A seed's contribution to all runs is in no effect.
    found = _effects(_design({"method": "morris"}, 3), _linear, noise)
    for name, slope in (("x1", 2.0), ("x2", -7.0), ("x3", 0.0)):
        assert found[name, "mu"][0] == pytest.approx(slope, abs=1e-9)
        assert found[name, "mu_star"][0] == pytest.approx(abs(slope), abs=1e-9)
        assert found[name, "sigma"][0] == pytest.approx(0, abs=1e-9)
        assert found[name, "mu_star"][1] == pytest.approx(0, abs=1e-9)


def test_morris_tells_a_factor_that_depends_on_others() -> None:
    found = _effects(_design({"method": "morris", "trajectories": 50}, 2), lambda one, other: 4 * one * other)
    # The elementary effect of a factor is four times the other's value, of which the grid 0, 1/3, 2/3, 1 has the mean
    # 1/2.
    assert found["x1", "mu"][0] == pytest.approx(2, abs=0.4)
    assert found["x1", "sigma"][0] > 1


def test_sobol_indices_of_ishigami() -> None:
    # I. M. Sobol' and Y. L. Levitan (1999): V1 = (1 + b π⁴ / 5)² / 2, V2 = a² / 8, V13 = b² π⁸ 8 / 225.
    one, two, pair = (1 + 0.1 * math.pi**4 / 5) ** 2 / 2, 49 / 8, 0.01 * math.pi**8 * 8 / 225
    every = one + two + pair
    found = _effects(_design({"method": "sobol", "samples": 2048, "pairs": True}, 3), _ishigami)
    for key, index in {
        ("x1", "first"): one / every, ("x2", "first"): two / every, ("x3", "first"): 0.0,
        ("x1", "total"): (one + pair) / every, ("x2", "total"): two / every, ("x3", "total"): pair / every,
        ("x1 × x3", "pair"): pair / every, ("x1 × x2", "pair"): 0.0,
    }.items():  # fmt: skip
        mean, margin = found[key]
        assert mean == pytest.approx(index, abs=0.03), key
        assert abs(mean - index) < 2 * margin


def test_the_chance_of_seeds_widens_intervals() -> None:
    design = _design({"method": "morris"}, 2)
    values = [{seed: row[0] * (1 + 0.3 * seed) + row[1] for seed in (-1, 0, 1)} for row in design.rows]
    found = {one.name: one.interval for one in of_values(design, values, (-1, 0, 1))[0] if one.measure == "mu_star"}
    assert found["x1"].mean == pytest.approx(1)
    # Slopes of 0.7, 1 and 1.3: Student's t of 4.3027, times 0.3 / √3.
    assert found["x1"].margin == pytest.approx(4.30265 * 0.3 / math.sqrt(3), rel=1e-4)
    assert found["x2"].margin == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(("method", "what"), [("morris", "trajectories"), ("sobol", "samples")])
def test_what_is_missing_is_left_out_and_said(method: str, what: str) -> None:
    design = _design({"method": method}, 3)
    values: list[dict[int, float]] = [{1: _linear(*row)} for row in design.rows]
    whole = len(values) // design.block
    values[1].clear()
    found, notes = of_values(design, values, [1])
    assert found
    assert notes == [f"{whole - 1} of {whole} {what} have this number in every run; only these count"]
    for value in values[: -2 * design.block]:
        value.clear()
    assert of_values(design, values, [1]) == (
        [],
        [f"2 of {whole} {what} have this number in every run; at least {design.least} are needed"],
    )


def test_a_number_that_never_changes_has_no_shares() -> None:
    design = _design({"method": "sobol"}, 2)
    found, notes = of_values(design, [{1: 3.0}] * len(design.rows), [1])
    assert (found, notes) == ([], ["the metric is the same in all runs: no variance to divide"])


@pytest.mark.parametrize("hot", range(6))
def test_what_hardly_ever_happens_yields_numbers(hot: int) -> None:
    """A rare event, such as one count above zero in one run of one seed, yields numbers: no warning, no NaN."""
    for options in ({"method": "sobol", "samples": 16, "pairs": True}, {"method": "morris", "trajectories": 4}):
        design = _design(options, 2)
        found, notes = of_values(design, [{1: float(row == hot), 2: 0.0} for row in range(len(design.rows))], (1, 2))
        assert all(math.isfinite(one.interval.mean) and (one.interval.low or 0.0) < math.inf for one in found)
        assert all(
            one.interval.low is None or one.interval.low >= 0 for one in found if one.measure in {"mu_star", "total"}
        )
        assert bool(found) != any("equal at both ends of all samples" in note for note in notes)


@pytest.fixture
def screening(scenario: dict[str, Any]) -> dict[str, Any]:
    """A screening of four choices in a star of four hosts."""
    return {"scenario": scenario, "design": "screening", "axes": _SMALL, "seeds": 2}


def test_a_real_network(screening: dict[str, Any], tmp_path: Path) -> None:
    study = xoff.sweep(screening, out=tmp_path / "study", workers=1)
    assert (len(study.plan.points), study.status().total) == (8, 16)
    found = study.effects("fct_max_ps")
    rate, size = found.of("rate"), found.of("size")
    # Three flows share the last link: the time is the bytes of all flows over the rate, plus the path's delay once.
    wire = 3 * 75_000 * 8 * (1000 + 48) / 1000
    assert rate.interval.mean == pytest.approx(wire * (1 / 100 - 1 / 50) * 1000, rel=0.02)
    assert size.interval.mean == pytest.approx(3 * 50_000 * 8 * 1.048 * (1 / 50 + 1 / 100) / 2 * 1000, rel=0.02)
    assert (rate.verdict, size.verdict) == ("lowers", "raises")
    # The queueing of a switch does not matter with a single output.
    assert found.of("queueing").verdict == "none shown"
    assert found.of("queueing").interval.mean == 0
    assert abs(found.of("forwarding_latency").interval.mean) == pytest.approx(300_000, rel=0.01)
    # Of eight runs with four choices, pairs look alike two and two, and each is found by either name.
    assert found.of("rate", "size") == found.of("queueing", "forwarding_latency")
    assert found.of("rate", "size").aliases == (("forwarding_latency", "queueing"),)
    assert {row["factor"] for row in found.table.to_pylist()[:2]} == {"size", "rate"}
    with pytest.raises(LookupError, match="unknown effect colour"):
        found.of("colour")


def test_effects_are_those_of_its_runs(screening: dict[str, Any], tmp_path: Path) -> None:
    screening["axes"] = {_RATE: ["50Gbps", "100Gbps"], _DELAY: {"from": "0ns", "to": "1us"}}
    study = xoff.sweep(screening, out=tmp_path / "study", workers=1)
    mean: dict[tuple[str, str], Any] = {}
    for rate in ("50Gbps", "100Gbps"):
        for delay in ("0ns", "1us"):
            run = xoff.run(screening["scenario"], overrides={_RATE: rate, _DELAY: delay}, seed=1)
            mean[rate, delay] = run.summary["fct_ps"]["mean"]
    low, high = (sum(mean[rate, delay] for delay in ("0ns", "1us")) / 2 for rate in ("50Gbps", "100Gbps"))
    found = study.effects("fct_mean_ps")
    assert found.of("rate").interval.mean == pytest.approx(high - low, rel=1e-12)
    pair = (mean["100Gbps", "1us"] - mean["50Gbps", "1us"]) - (mean["100Gbps", "0ns"] - mean["50Gbps", "0ns"])
    assert found.of("rate", "forwarding_latency").interval.mean == pytest.approx(pair / 2, abs=1e-3)
    assert Study.open(tmp_path / "study").effects("fct_mean_ps") == found


def test_neither_order_nor_interruption_changes_what_is_found(screening: dict[str, Any], tmp_path: Path) -> None:
    screening["design"] = {"method": "morris", "trajectories": 4}
    screening["axes"] = _SMALL | {_RATE: {"from": "50Gbps", "to": "100Gbps", "scale": "log"}}
    at_once = Study(screening, tmp_path / "at once")
    at_once.run(workers=1)
    parts = [Study(screening, tmp_path / "parts") for _ in range(3)]
    for number, part in enumerate(parts, 1):
        part.run(workers=2, threads=2, shard=(number, 3))
    for table in ("runs", "effects"):
        assert pq.read_table(tmp_path / "at once" / f"{table}.parquet").equals(
            pq.read_table(tmp_path / "parts" / f"{table}.parquet")
        )
    effects = (tmp_path / "at once" / "effects.parquet").read_bytes()
    assert effects == (tmp_path / "parts" / "effects.parquet").read_bytes()
    # All runs are done, and a missing table is written again.
    (tmp_path / "parts" / "effects.parquet").unlink()
    report = parts[0].run(workers=1)
    assert (report.simulated, effects) == (0, (tmp_path / "parts" / "effects.parquet").read_bytes())


def test_factors_are_whatever_can_vary(scenario: dict[str, Any], tmp_path: Path) -> None:
    study = Study(
        {
            "scenario": scenario,
            "design": {"method": "sobol", "samples": 16},
            "axes": {
                "switch.flow_control.pfc": {
                    "xoff": {"from": "90KB", "to": "120KB"},
                    "xon": {"from": "50KB", "to": "80KB"},
                },
                "framing.payload": ["1000B", "2000B", "4000B"],
                "network.star.hosts": {"from": 4, "to": 7},
                "workload[0].incast.senders": [[1, 2], [1, 2, 3]],
            },
            "zip": [["switch.flow_control.pfc.xoff", "switch.flow_control.pfc.xon"]],
            "variants": {"ECMP": {}, "sprayed": {"switch": {"routing": {"spray": {}}}}},
        },
        tmp_path / "study",
    )
    design = study.plan.design
    assert design is not None
    assert design.factors == ("variant", "xoff and xon", "payload", "hosts", "senders")
    assert design.ends[1] == ("90 KB, 50 KB", "120 KB, 80 KB")
    assert len(design.rows) == 16 * (5 + 2)
    for point in study.plan.points:
        settings = dict(point.settings)
        labels = study.plan.values(point)
        # Coupled settings are equally far, and values are round numbers.
        assert labels["xoff_bytes"] - labels["xon_bytes"] == 40_000
        assert labels["xoff_bytes"] % 1 == 0
        assert settings["network.star.hosts"] in {4, 5, 6, 7}
    counts = [
        sum(dict(point.settings)["network.star.hosts"] == count for point in study.plan.points) for count in range(4, 8)
    ]
    assert min(counts) > 0.15 * sum(counts)


def test_places_become_values() -> None:
    (axis,) = factors({"axes": {_DELAY: {"from": "100ns", "to": "10us", "scale": "log"}}})
    assert [axis.at(place).settings[0][1] for place in (0, 0.5, 1)] == ["100ns", "1us", "10us"]
    (axis,) = factors({"axes": {"workload[0].poisson.load": {"from": 0.1, "to": 0.9}}})
    assert [axis.at(place).settings[0][1] for place in (0, 1 / 3, 1)] == [0.1, 0.3667, 0.9]
    (axis,) = factors({"axes": {"switch.queueing": ["oq", "iq", "voq"]}})
    assert [axis.at(place).settings[0][1] for place in (0, 0.3, 1 / 3, 0.99, 1)] == ["oq", "oq", "iq", "voq", "voq"]
    assert isinstance(axis.spans, tuple)
    assert not any(isinstance(span, Span) for span in axis.spans)


def test_a_run_without_a_result_is_not_made_up(screening: dict[str, Any], tmp_path: Path) -> None:
    # With XOFF at the buffer's end packets are lost, which the audit does not allow.
    screening["axes"] = {_RATE: ["50Gbps", "100Gbps"], _XOFF: ["20KB", "59KB"]}
    screening["scenario"]["switch"] = {"buffer": {"per_port": "60KB"}, "flow_control": {"pfc": {"xon": "10KB"}}}
    study = Study(screening, tmp_path / "study")
    study.run(workers=1)
    assert study.status().failed > 0
    found = study.effects("fct_mean_ps")
    assert found.rows == ()
    assert "do not have this number" in found.notes[0]
    assert "no seed has this number in every run" in found.notes[1]
    failed = study.effects("without_result")
    assert failed.of("xoff").interval.mean == 1
    assert failed.of("rate").interval.mean == 0
    table = pq.read_table(tmp_path / "study" / "effects.parquet")
    assert set(table["metric"].to_pylist()) == {"without_result"}


def test_flows_that_did_not_end_are_said(screening: dict[str, Any], tmp_path: Path) -> None:
    late = {"start": "69us", "incast": {"senders": [1], "receiver": 0, "size": "100KB"}}
    screening["scenario"]["workload"].append(late)
    screening["scenario"]["until"] = "70us"
    study = xoff.sweep(screening, out=tmp_path / "study", workers=1)
    assert any("in 16 runs not all flows were complete" in note for note in study.effects("fct_mean_ps").notes)
    assert not any("not all flows" in note for note in study.effects("pfc_pauses").notes)


def test_the_command(screening: dict[str, Any], tmp_path: Path, xoff_here: Command) -> None:
    (tmp_path / "study.json").write_text(json.dumps(screening), "utf-8")
    checked = xoff_here("check", "study.json")
    assert "8 points, 2 seeds, 16 runs" in checked.stdout
    assert "screening of 4 factors" in checked.stdout
    done = xoff_here("sweep", "study.json", "--out", "study", "--workers", 1)
    assert done.returncode == 0, done.stderr
    assert "pairs are confounded with other pairs" in done.stderr
    assert "8 points × 2 seeds: 16 runs\n" in done.stderr
    assert "Effects on FCT mean (2 seeds, ± 95 % interval)" in done.stdout
    assert "confounded with" in done.stdout
    assert "effects.parquet" in done.stdout
    document = json.loads(xoff_here("sweep", "study.json", "--out", "study", "--json").stdout)
    assert "16 runs; 16 are there" in xoff_here("sweep", "study.json", "--out", "study").stderr
    rows = [row for row in document["effects"] if row["metric"] == "fct_mean_ps"]
    assert {row["factor"] for row in rows if row["measure"] == "main"} == {
        "rate",
        "size",
        "forwarding_latency",
        "queueing",
    }
    assert rows == [row for row in pq.read_table(tmp_path / "study" / "effects.parquet").to_pylist() if row in rows]


def test_report_and_figure(screening: dict[str, Any], tmp_path: Path, xoff_here: Command) -> None:
    for design in ("screening", "morris", {"method": "sobol", "samples": 16}):
        place = tmp_path / str(len(list(tmp_path.iterdir())))
        study = xoff.sweep(screening | {"design": design, "seeds": 1}, out=place, workers=2)
        assert xoff_here("report", place).returncode == 0
        page = (place / "report.html").read_text("utf-8")
        assert "Effects on" in page
        assert "data:image/svg+xml;base64," in page
        drawn = (place / "figures" / "effects_fct_mean_ps.svg").read_text("utf-8")
        assert all(name in drawn for name in ("rate", "size", "forwarding_latency", "queueing", "FCT mean"))
        axes = study.plot.effects("fct_mean_ps").axes[0]
        assert axes.get_yticklabels()[0].get_text() in {"rate", "size"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"design": "taguchi"}, "unknown method 'taguchi'; allowed are `screening`, `morris`, `sobol`"),
        ({"design": 3}, "a method, or a table with `method`, is needed"),
        ({"design": {"samples": 64}}, "a method, or a table with `method`, is needed"),
        ({"design": {"method": "morris", "samples": 64}}, "design.samples: unknown key of morris"),
        ({"design": {"method": "morris", "trajectories": 2}}, "design.trajectories: 2 was given; a whole number"),
        ({"design": {"method": "morris", "levels": 3}}, "design.levels: 3 was given; an even number"),
        ({"design": {"method": "sobol", "samples": 50}}, "design.samples: 50 was given; a power of two from 16"),
        ({"design": {"method": "sobol", "pairs": "yes"}}, "design.pairs: 'yes' was given; true or false"),
        ({"design": {"method": "sobol", "seed": 0}}, "design.seed: 0 was given"),
        ({"design": {"method": "screening", "resolution": 2}}, "design.resolution: 2 was given; 3, 4 or 5 is needed"),
        ({"design": {"method": "sobol", "samples": 131072}}, "design.samples: 786,432 points with these factors are"),
        ({"axes": {}}, "design: 1 to 64 factors are allowed, and none is given"),
        ({"axes": {_DELAY: ["1us", "2us", "3us"]}}, "axes.switch.forwarding_latency: 3 values were given"),
        ({"axes": {_DELAY: ["1us"]}}, "axes.switch.forwarding_latency: 1 value was given; a screening compares two"),
        ({"axes": {_DELAY: ["1us"]}, "design": "morris"}, "axes.switch.forwarding_latency: one value was given"),
        ({"axes": {"switch.queueing": {"from": "oq", "to": "voq"}}}, "switch.queueing.from: 'oq' was given; a number"),
        ({"axes": {"network.star.hosts": {"from": 1.5, "to": 4}}}, "axes.network.star.hosts: is a whole number"),
        ({"axes": {_DELAY: {"from": "0ns", "to": "1us", "scale": "log"}}}, "begins above zero"),
        ({"axes": {_XOFF: ["10KB", "100KB"], "switch.flow_control.pfc.xon": ["5KB", "50KB"]}}, "1 of 4 points are"),
    ],
)  # fmt: skip
def test_mistakes(screening: dict[str, Any], tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as raised:
        Study(screening | changes, tmp_path / "study")
    assert message in str(raised.value)


def test_without_a_design_there_are_no_effects(scenario: dict[str, Any], tmp_path: Path) -> None:
    study = xoff.sweep({"scenario": scenario, "axes": {_DELAY: ["0ns", "1us"]}}, out=tmp_path / "study", workers=1)
    with pytest.raises(InputError, match="the study has no design"):
        study.effects("fct_mean_ps")
    with pytest.raises(InputError, match=r"one of `step` and `points` is needed"):
        Study({"scenario": scenario, "axes": {_DELAY: {"from": "0ns", "to": "1us"}}}, tmp_path / "other")


def test_salib_is_needed_only_for_its_methods(
    screening: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SALib", "SALib.sample", "SALib.analyze"):
        monkeypatch.setitem(sys.modules, name, None)
    assert xoff.sweep(screening, out=tmp_path / "screening", workers=1).effects("fct_mean_ps").rows
    with pytest.raises(InputError, match=r'sobol needs SALib.*pip install "xoff\[design\]"'):
        Study(screening | {"design": "sobol"}, tmp_path / "sobol")


@pytest.mark.parametrize(
    "change",
    [
        {"method": "taguchi"}, {"options": {}}, {"rows": []}, {"points": [0, 99]}, {"rows": [[2.0] * 4] * 8},
        {"factors": []}, {"ends": [["a", "b"]]}, {"ends": [["a"]] * 4},
        {"method": "morris", "options": {"resolution": 4}},
        {"rows": [[0.0, 1.0, 0.0, 1.0]] * 8},
        {"rows": [[0.5] * 4] * 8},
    ],
)  # fmt: skip
def test_a_damaged_design_is_no_study(screening: dict[str, Any], tmp_path: Path, change: dict[str, Any]) -> None:
    xoff.sweep(screening, out=tmp_path / "study", workers=1)
    _damage(tmp_path / "study" / "study.json", change)
    with pytest.raises(InputError, match="is not the directory of a study"):
        Study.open(tmp_path / "study")


def _damage(file: Path, change: dict[str, Any]) -> None:
    document = json.loads(file.read_text("utf-8"))
    document["design"] |= change
    file.write_text(json.dumps(document), "utf-8")


@pytest.mark.parametrize(
    "change",
    [
        {"options": {"trajectories": 4, "levels": 3, "seed": 1}},
        {"options": {"trajectories": 4, "levels": 4, "seed": -1}},
        {"options": {"trajectories": "4", "levels": 4, "seed": 1}}, {"rows": [[0.5] * 4] * 20},
        {"rows": [[0.0] * 4, [1.0] * 4] * 10}, {"rows": [[float("nan")] * 4] * 20},
    ],
)  # fmt: skip
def test_damaged_trajectories_are_none(screening: dict[str, Any], tmp_path: Path, change: dict[str, Any]) -> None:
    xoff.sweep(screening | {"design": {"method": "morris", "trajectories": 4}}, out=tmp_path / "study", workers=1)
    _damage(tmp_path / "study" / "study.json", change)
    with pytest.raises(InputError, match="is not the directory of a study"):
        Study.open(tmp_path / "study")
