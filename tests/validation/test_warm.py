"""Flows that are under way when Poisson arrivals begin: M/G/1 queues with processor sharing, in equilibrium."""

from collections import Counter
from math import sqrt
from typing import Any

import pytest

import xoff

HOSTS = 200
LINK = {"rate": "100Gbps", "delay": "100ns"}
POINTS = [[0, 0], [1_000_000, 100]]


def star(warm: bool | float, seed: int = 1, until: str = "1us", **more: Any) -> dict[str, Any]:
    poisson = {"load": 0.6, "cdf": POINTS, "duration": "50us", "warm_start": warm} | more
    return {
        "seed": seed,
        "until": until,
        "network": {"star": {"hosts": HOSTS, "link": LINK}},
        "workload": [{"name": "web", "poisson": poisson}],
        "audits": {"completion": "record"},
    }


def under_way(result: xoff.Result) -> list[dict[str, Any]]:
    return [row for row in result.flows.to_pylist() if row["workload"] == "web warm"]


@pytest.mark.parametrize(("warm", "mean"), [(True, 1.5), (0.5, 0.5), (4, 4.0)])
def test_hosts_begin_with_a_geometric_number_of_flows(warm: bool | float, mean: float) -> None:
    """At load 0.6 the mean is 0.6 / 0.4; the variance of a geometric number is m(1 + m), and P(0) is 1 / (1 + m)."""
    counts: list[int] = []
    for seed in range(1, 6):
        rows = under_way(xoff.run(star(warm, seed)))
        assert all(row["start_ps"] == 0 and row["src"] != row["dst"] for row in rows)
        at = Counter(row["src"] for row in rows)
        counts += [at[f"host{i}"] for i in range(HOSTS)]
    n = len(counts)
    assert sum(counts) / n == pytest.approx(mean, abs=4 * sqrt(mean * (1 + mean) / n))
    none = 1 / (1 + mean)
    assert counts.count(0) / n == pytest.approx(none, abs=4 * sqrt(none * (1 - none) / n))


def test_what_is_left_of_them_is_residual() -> None:
    """Sizes are uniform up to B = 1 MB: what is left is B/3 on average, with a standard deviation of B/sqrt(18)."""
    sizes = [row["size_bytes"] for seed in range(1, 4) for row in under_way(xoff.run(star(True, seed)))]
    assert sum(sizes) / len(sizes) == pytest.approx(1e6 / 3, abs=4 * 1e6 / sqrt(18 * len(sizes)))
    assert max(sizes) <= 1_000_000


def arrivals(result: xoff.Result) -> list[tuple[Any, ...]]:
    keys = ("src", "dst", "size_bytes", "start_ps")
    return sorted(tuple(row[key] for key in keys) for row in result.flows.to_pylist() if row["workload"] == "web")


def test_what_comes_later_is_the_same() -> None:
    cold, warm = (xoff.run(star(warm, until="20us")) for warm in (False, True))
    assert arrivals(cold) == arrivals(warm) != []
    assert xoff.run(star(True, until="20us"), threads=2).fingerprint == warm.fingerprint
    assert cold.fingerprint == xoff.run(star(False, until="20us")).fingerprint != warm.fingerprint
    other = xoff.run(star(True, seed=2, until="20us"))
    assert [row["size_bytes"] for row in under_way(other)] != [row["size_bytes"] for row in under_way(warm)]


def test_they_are_counted_and_have_no_part_in_completion_times() -> None:
    scenario = star(True, cdf=[[0, 0], [20_000, 100]])
    del scenario["until"]
    result = xoff.run(scenario)
    summary, rows = result.summary, result.flows.to_pylist()
    assert summary["flows"]["total"] == summary["flows"]["completed"] == len(rows)
    assert summary["workloads"]["web warm"]["flows"]["total"] == len(under_way(result)) > 0
    assert summary["workloads"]["web"]["flows"]["total"] == len(rows) - len(under_way(result)) > 0
    assert summary["fct_ps"] == summary["workloads"]["web"]["fct_ps"] != summary["workloads"]["web warm"]["fct_ps"]
    assert summary["fct_acked_ps"]["max"] == max(row["fct_acked_ps"] for row in rows if row["workload"] == "web")


def test_the_load_is_carried_from_the_start() -> None:
    """In the first 40 us, the time of a mean flow, a cold network carries little, a warm network nearly its load."""

    def carried(*, warm: bool) -> float:
        shares: list[float] = []
        for seed in range(1, 4):
            scenario = star(warm, seed, until="40us", load=0.3)
            scenario["framing"] = {"payload": "1000B", "header": "0B"}
            links = xoff.run(scenario).links.to_pylist()
            sent = sum(row["data_bytes"] for row in links if row["node"].startswith("host"))
            shares.append(sent / (HOSTS * 100e9 / 8 * 40e-6))
        return sum(shares) / len(shares)

    assert carried(warm=False) < 0.16
    assert 0.25 < carried(warm=True) < 0.31


def test_workloads_of_one_scenario_name_theirs() -> None:
    first = star(True)["workload"][0]
    unnamed = {"poisson": first["poisson"] | {"warm_start": 1}, "start": "300ns"}
    scenario = star(True) | {"workload": [first, {"poisson": first["poisson"] | {"warm_start": False}}, unnamed]}
    rows = xoff.run(scenario).flows.to_pylist()
    found = {(row["workload"], row["start_ps"]) for row in rows if row["workload"].endswith("warm")}
    assert found == {("web warm", 0), ("poisson warm", 300_000)}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"load": 1.0, "warm": True}, "workload[0].poisson.warm_start: at a load of 1 no equilibrium exists"),
        ({"warm": 0}, "workload[0].poisson.warm_start: 0 is out of range"),
        ({"warm": -1.5}, "workload[0].poisson.warm_start: -1.5 is out of range"),
        ({"warm": "yes"}, "workload[0].poisson.warm_start: "),
    ],
)
def test_what_is_no_number_of_flows_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(xoff.InputError) as refused:
        xoff.check(star(**changes))
    assert str(refused.value).startswith(words)


def test_more_than_may_be_listed_are_refused_before_they_are_made() -> None:
    scenario = star(10_000)
    scenario["network"]["star"]["hosts"] = 2000
    with pytest.raises(xoff.InputError, match=r"workload\[0\].poisson.warm_start: too many flows"):
        xoff.check(scenario)
