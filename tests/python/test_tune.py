"""``xoff tune`` finds known optima, respects constraints, resumes interrupted searches, and reports unknowns."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import xoff
from small import Command
from xoff import InputError
from xoff.statistics import Comparison, Interval
from xoff.study import objective, tune_figure
from xoff.study.objective import Goal, Limit, Objective
from xoff.study.plan import Point
from xoff.study.tune_conclusion import conclude
from xoff.study.tune_settings import Setting

HEADER, SIZE = 100, 64_000


def packet_study(**goal: Any) -> dict[str, Any]:
    """One flow over two links and a store-and-forward switch: small packets pay for headers, large packets wait.

    With P bytes of payload a flow of S takes (S/P + 1) · (P + H) / C plus the delay of the links: least at P = √(S ·
    H).
    """
    return {
        "scenario": {
            "network": {"star": {"hosts": 2, "link": {"rate": "100Gbps", "delay": "100ns"}}},
            "framing": {"payload": "1000B", "header": f"{HEADER}B"},
            "switch": {"buffer": "unlimited"},
            "host": {"transport": {"raw": {}}},
            "workload": [{"flows": [{"src": 0, "dst": 1, "size": f"{SIZE}B"}]}],
        },
        "keep": [],
        "axes": {"framing.payload": {"from": "200B", "to": "9000B", "scale": "log"}},
        "objective": {"minimise": "fct_mean_ps", "runs": 40, "confirm": 0} | goal,
    }


def closed_form(payload: int) -> float:
    """The completion time in picoseconds: the last packet is shorter."""
    whole, rest = divmod(SIZE, payload)
    last = payload if whole else rest
    wire = SIZE + (whole + (rest > 0)) * HEADER
    return (wire + last + HEADER) * 80 + 200_000


def test_it_finds_the_optimum_of_a_closed_form(tmp_path: Path) -> None:
    found = xoff.tune(packet_study(), out=tmp_path / "tuned")
    best = found.best[0]
    payload = int(best.settings["framing.payload"].removesuffix("B"))
    least = min(closed_form(one) for one in range(200, 9001))
    assert best.seen["fct_mean_ps"].mean <= 1.005 * least
    # The curve is flat around the optimum, and the payload is still near the optimum.
    assert math.sqrt(SIZE * HEADER) == pytest.approx(payload, rel=0.25)
    assert len(found.tried) == 40
    assert found.warnings == []
    # In the other direction the worst point is at an end of the range, and the output says so.
    worst = xoff.tune(packet_study(minimise=[], maximise="fct_mean_ps"), out=tmp_path / "worst")
    assert worst.best[0].seen["fct_mean_ps"].mean >= 0.99 * max(closed_form(200), closed_form(9000))
    assert any("end of payload" in one and "wider range" in one for one in worst.warnings)


FABRIC: dict[str, Any] = {
    "network": {"star": {"hosts": 5, "link": {"rate": "100Gbps", "delay": "1us"}}},
    "framing": {"payload": "1000B"},
    "switch": {"buffer": {"per_port": "400KB"}, "ecn": {"step": {"threshold": "300KB"}}, "flow_control": {"pfc": {}}},
    "host": {"congestion_control": {"dctcp": {}}},
    "workload": [
        {"name": "background", "poisson": {"load": 0.2, "sizes": "hadoop", "duration": "60us"}},
        {"name": "incast", "incast": {"senders": [1, 2, 3, 4], "receiver": 0, "size": "100KB"}},
    ],
}
STUDY: dict[str, Any] = {
    "scenario": FABRIC,
    "seeds": 2,
    "keep": [],
    "axes": {
        "switch.ecn.step.threshold": {"from": "2KB", "to": "390KB", "scale": "log"},
        "switch.flow_control.pfc.xoff": ["30KB", "60KB", "350KB"],
    },
    "objective": {"minimise": "fct_mean_ps", "constraints": {"pfc": {"pauses": 0}}, "runs": 40, "confirm": 3},
}


def test_limits_are_kept_and_seeds_that_were_not_seen_confirm_it(tmp_path: Path) -> None:
    found = xoff.tune(STUDY, out=tmp_path / "tuned")
    assert found.objective.limits[0].metric == "pfc_pauses"
    assert not all(one.keeps for one in found.tried)
    (best, *others) = found.best
    assert best.seen["pfc_pauses"].high == best.unseen["pfc_pauses"].high == 0
    assert best.confirmed
    assert best.of == 3 == best.unseen["fct_mean_ps"].count
    assert set(found.unseen).isdisjoint(found.plan.seeds)
    # The printed value is the result of a run with these settings, with a seed outside the search.
    runs = [xoff.run(FABRIC, overrides=best.settings, seed=seed).summary["fct_ps"]["mean"] for seed in found.unseen]
    assert best.unseen["fct_mean_ps"].mean == pytest.approx(sum(one or 0 for one in runs) / 3)
    kept = [one.values[0] for one in found.tried if one.keeps and one.values]
    seen = min(one.seen["fct_mean_ps"].mean for one in (best, *others))
    assert min(kept) == pytest.approx(seen)
    # The search is a study: its tables have the tried points, and its page the figure.
    study = xoff.Study.open(tmp_path / "tuned")
    assert study.status().done
    assert study.runs.num_rows == 2 * len(study.plan.points)


def test_it_goes_on_where_it_was_and_does_not_depend_on_workers(tmp_path: Path) -> None:
    whole = xoff.tune(STUDY, out=tmp_path / "whole", workers=3)
    short = xoff.tune(STUDY, out=tmp_path / "short", runs=18, workers=1)
    assert [one.shares for one in short.tried] == [one.shares for one in whole.tried[:9]]
    again = xoff.tune(STUDY, out=tmp_path / "short")
    assert [(one.shares, one.values) for one in again.tried] == [(one.shares, one.values) for one in whole.tried]
    assert again.report.found >= short.report.simulated - 3 * 4
    once_more = xoff.tune(STUDY, out=tmp_path / "short")
    assert once_more.report.simulated == 0
    assert once_more.to_dict() == again.to_dict()
    assert once_more.to_dict()["best"] == whole.to_dict()["best"]
    other = xoff.tune(STUDY | {"objective": STUDY["objective"] | {"seed": 2}}, out=tmp_path / "other", runs=18)
    assert [one.shares for one in other.tried] != [one.shares for one in short.tried]


def test_an_interrupted_search_loses_nothing(tmp_path: Path) -> None:
    def stop(advance: Any) -> None:
        if advance.complete >= 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        xoff.tune(STUDY, out=tmp_path / "tuned", progress=stop)
    found = xoff.tune(STUDY, out=tmp_path / "tuned")
    assert found.report.found >= 16
    assert found.to_dict()["best"] == xoff.tune(STUDY, out=tmp_path / "whole").to_dict()["best"]


def test_several_goals_have_a_front(tmp_path: Path) -> None:
    goals = {"minimise": ["background_fct_mean_ps", "incast_fct_max_ps"], "runs": 40, "confirm": 2}
    found = xoff.tune(STUDY | {"objective": goals}, out=tmp_path / "tuned")
    front = found.front()
    assert len(front) >= 1
    for one in front:
        mine = one.values or ()
        others = [other.values for other in found.tried if other.values and other.values != mine]
        beaten = [values for values in others if all(a <= b for a, b in zip(values, mine, strict=True))]
        assert beaten == []
    for one in found.tried:
        assert one in front or any(
            all(a <= b for a, b in zip(other.values or (), one.values or (), strict=True))
            for other in front
            if one.values
        )
    assert len(found.plot.axes) == 3


def test_the_tuned_thresholds_beat_those_of_a_search_by_hand(tmp_path: Path) -> None:
    """Nine plausible combinations of the example's settings, compared on seeds outside the search."""
    file = Path(__file__).resolve().parents[2] / "examples" / "search-incast.toml"
    found = xoff.tune(file, out=tmp_path / "tuned")
    best = found.best[0]
    assert best.confirmed
    by_hand = []
    for kmin in ("20KB", "100KB", "400KB"):
        for kmax in ("400KB", "800KB", "1600KB"):
            marks = {"switch.ecn.red.kmin": kmin, "switch.ecn.red.kmax": kmax}
            runs = [xoff.run(found.plan.base, overrides=marks, seed=seed).summary for seed in found.unseen]
            # None of them respects the limit with all five seeds; the best setting found does.
            if sum(one["pfc"]["pauses"] > 0 for one in runs) <= 1:
                last = [one["workloads"]["incast"]["fct_ps"]["max"] or 0 for one in runs]
                by_hand.append(sum(last) / len(last))
    assert best.unseen["incast_fct_max_ps"].mean < 0.8 * min(by_hand)
    assert found.base is not None
    assert best.against["incast_fct_max_ps"].verdict == "lower"


def test_the_command_says_what_to_do_next(tmp_path: Path, xoff_here: Command) -> None:
    file = tmp_path / "search.json"
    # The base pauses, which the best do not.
    pausing = FABRIC | {"switch": FABRIC["switch"] | {"flow_control": {"pfc": {"xoff": "30KB"}}}}
    file.write_text(json.dumps(STUDY | {"scenario": pausing}))
    done = xoff_here("tune", file, "--out", "tuned", "--runs", 24)
    assert done.returncode == 0, done.stderr
    assert "all 3 unseen seeds; the base with 0. So with 95 % confidence at most 63.2 % of all seeds" in done.stdout
    assert "Run it:" in done.stdout
    assert "minimise FCT mean; PFC pauses at most 0" in done.stderr
    assert "unseen seeds" in done.stdout
    assert "xoff run" in done.stdout
    assert "--set switch.ecn.step.threshold=" in done.stdout
    assert (tmp_path / "tuned" / "figures" / "tune.svg").is_file()
    machine = json.loads(xoff_here("tune", file, "--out", "tuned", "--runs", 24, "--json").stdout)
    assert machine["best"][0]["kept_limits"] == machine["best"][0]["of"] == 3
    assert xoff_here("report", "tuned").returncode == 0
    assert "The search" in (tmp_path / "tuned" / "report.html").read_text("utf-8")
    valid = xoff_here("check", file)
    assert valid.returncode == 0
    assert "20 settings × 2 seeds" in valid.stdout
    # No setting respects an impossible limit: the nearest is named, with possible remedies.
    file.write_text(
        json.dumps(
            STUDY | {"objective": {"minimise": "fct_mean_ps", "runs": 16, "constraints": {"fct_mean_ps": "1us"}}}
        )
    )
    none = xoff_here("tune", file, "--out", "none")
    assert none.returncode == 1
    assert "Nearest to the limits is threshold" in none.stdout
    assert "FCT mean at most 1 µs" in none.stdout


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"objective": {}}, "objective: 0 goals were given"),
        ({"objective": {"minimise": "fct_men_ps"}}, "did you mean `fct_mean_ps`?"),
        ({"objective": {"minimise": "fct_mean_ps", "budget": 3}}, "objective.budget: unknown key"),
        ({"objective": {"minimise": "fct_mean_ps", "runs": 1}}, "a whole number from 2 to"),
        ({"objective": {"minimise": "fct_mean_ps", "constraints": {"drops": "many"}}}, "objective.constraints.drops"),
        ({"objective": {"minimise": 3}}, "objective.minimise: 3 was given"),
        ({"design": "morris"}, "design: not allowed with `xoff tune`"),
        ({"axes": {}}, "axes: missing"),
        ({"axes": {"switch.ecn.step.threshold": ["3KB"]}}, "a search needs two at least"),
        ({"axes": {"switch.ecn.step.treshold": ["3KB", "4KB"]}}, "did you mean"),
    ],
)
def test_what_makes_no_sense_is_refused(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r".+") as error:
        xoff.tune(STUDY | change, out=tmp_path / "tuned")
    assert message in str(error.value)


def test_a_sweep_and_a_search_name_one_another(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="`xoff tune` runs the search"):
        xoff.sweep(STUDY, out=tmp_path / "tuned")
    with pytest.raises(InputError, match="`xoff tune` needs goals"):
        xoff.tune({key: part for key, part in STUDY.items() if key != "objective"}, out=tmp_path / "tuned")


def test_limits_have_units_and_two_ends() -> None:
    found = objective.read(
        {
            "objective": {
                "maximise": "fct_mean_ps",
                "constraints": {"fct_p99_ps": {"at_least": "1us", "at_most": "2us"}},
            }
        },
        1,
    )
    (limit,) = found.limits
    assert (limit.least, limit.most) == (1e6, 2e6)
    assert [limit.excess(value) for value in (1.5e6, 3e6, 0.5e6, None)] == [0, 0.5, 0.5, math.inf]


@pytest.mark.parametrize(
    "damage",
    [
        "{}",
        "[]",
        '{"goals": []}',
        '{"tried": [{"shares": [1]}]}',
        '{"tried": [{"shares": [Infinity], "values": [1.0], "keeps": true}]}',
        '{"tried": [{"shares": [0.5], "values": [NaN], "keeps": true}]}',
        '{"factors": [{"name": "x", "ticks": [[]]}]}',
        '{"factors": [{"name": "x", "ticks": [["a", "b"]]}]}',
        '{"base": {"words": "x", "seen": {"a": {"mean": 1e300}}, "unseen": {}}}',
        "not JSON",
    ],
)
def test_a_damaged_outcome_is_told_of(damage: str, tmp_path: Path, xoff_here: Command) -> None:
    place = tmp_path / "tuned"
    whole = xoff.tune(packet_study(runs=8), out=place).to_dict()
    text = damage if damage[0] != "{" else json.dumps(whole | json.loads(damage)) if damage != "{}" else damage
    (place / "tune.json").write_text(text)
    done = xoff_here("report", place)
    assert done.returncode == 2
    assert "tune.json: cannot be read" in done.stderr
    with pytest.raises(ValueError, match=r".+"):
        tune_figure.check({})


def drawn_setting(words: str, kept: int, of: int, verdicts: dict[str, str]) -> Setting:
    """Returns a setting that ran again, with these verdicts against the base."""
    point = Point(0, (), {})
    nothing = Interval(0.0, None, None, 1)
    against = {metric: Comparison(1.0, 1.0, nothing, 0.0, None, verdict) for metric, verdict in verdicts.items()}
    return Setting(point, words, {}, {}, kept, of, against)


VERDICTS = ("lower", "higher", "no difference shown", "the same", "one seed")


@pytest.mark.parametrize("seed", range(40))
def test_a_setting_is_recommended_only_if_it_is_confirmed_and_better(seed: int) -> None:
    draw = random.Random(seed)
    goals = [Goal(f"g{number}", draw.random() < 0.5) for number in range(draw.choice([1, 1, 2]))]
    of = draw.choice([0, 1, 5])
    best = [
        drawn_setting(
            f"s{number}", draw.choice([of, draw.randint(0, of)]), of, {g.metric: draw.choice(VERDICTS) for g in goals}
        )
        for number in range(draw.randint(0, 4))
    ]
    base = draw.choice([None, drawn_setting("base", draw.choice([of, draw.randint(0, of)]), of, {})])
    limits = draw.choice([(), (Limit("drops", 0.0, 0.0),)])
    found = conclude(Objective(tuple(goals), limits, 1, 1, 1, of), base, best)
    one = found.recommended
    if one is None:
        for other in best:
            better = any(other.against[g.metric].verdict == ("lower" if g.is_least else "higher") for g in goals)
            assert not (other.confirmed and of and (better or base is None or not base.confirmed))
        assert "The best:" not in found.text
        return
    assert one.confirmed
    assert one.words in found.text
    better = any(one.against[g.metric].verdict == ("lower" if g.is_least else "higher") for g in goals)
    assert better or not of or base is None or not base.confirmed


def test_all_of_the_best_that_exceed_a_limit_are_warned_of(tmp_path: Path) -> None:
    found = xoff.tune(STUDY, out=tmp_path / "tuned", runs=24)
    assert found.best
    for which in range(len(found.best)):
        found.best[which] = replace(found.best[which], kept=2)
        told = [one for one in found._warned() if "kept the limits with 2 of 3" in one]
        assert len(told) == which + 1
    assert found.conclusion.recommended is None
    assert "None of the best kept the limits with all 3 unseen seeds" in found.conclusion.text
    assert found.to_dict()["recommended"] is None


def test_a_search_without_an_effect_recommends_nothing(tmp_path: Path, xoff_here: Command) -> None:
    """The varied settings decide nothing: no pause is ever sent."""
    idle = STUDY | {
        "axes": {"switch.flow_control.pfc.xoff": {"from": "200KB", "to": "350KB"}},
        "objective": {"minimise": "fct_mean_ps", "runs": 8, "confirm": 3},
    }
    (tmp_path / "idle.json").write_text(json.dumps(idle))
    done = xoff_here("tune", "idle.json", "--out", "idle")
    assert done.returncode == 0
    assert "No difference between the base and" in done.stdout
    assert ("Run it" in done.stdout, "The best:" in done.stdout) == (False, False)
    found = json.loads((tmp_path / "idle" / "tune.json").read_text())
    assert found["recommended"] is None
    assert found["conclusion"].startswith("No difference")
