"""Hosts that compute slower for a while (`fault.compute`), against arithmetic."""

from random import Random
from typing import Any

import pytest
from tests.validation.test_job import ended, row, star, summary_of

import xoff
from xoff.conformance.drawing import draw_scenario
from xoff.conformance.runs import WAYS, same_however_it_runs

US = 1_000_000


def computing(*faults: dict[str, Any]) -> int:
    """The end of rank 0's computation of 10 us from the start."""
    scenario = star(
        2, {"operations": [row(0, "compute", "a", duration="10us"), row(1, "compute", "a", duration="1us")]}
    )
    result = xoff.run(scenario | {"fault": [{"host": "host0", **fault} for fault in faults]})
    assert ended(result)[1, "a"] == (0, US)
    return ended(result)[0, "a"][1]


def test_what_is_left_takes_so_many_times_as_long() -> None:
    assert computing({"compute": 1.5}) == 15 * US
    assert computing({"compute": 1.5, "at": "4us"}) == 4 * US + 6 * US * 3 // 2
    # 3 us at two thirds do 2 us of the work.
    assert computing({"compute": 1.5, "at": "4us", "duration": "3us"}) == 11 * US
    assert computing({"compute": 3.0, "at": "10us"}) == 10 * US
    # Two at a time multiply: 1 us in 6, from 4 us to 10 us.
    assert (
        computing({"compute": 2.0, "at": "4us", "duration": "6us"}, {"compute": 3.0, "at": "4us", "duration": "6us"})
        == 15 * US
    )


def test_again_and_again_it_is_slower_each_time() -> None:
    """In each 3 us, 1 us is at half speed: 2.5 us of work are done."""
    again = {"compute": 2.0, "time_between_failures": {"fixed": "2us"}, "time_to_repair": {"fixed": "1us"}}
    assert computing(again) == 12 * US
    assert computing(again | {"at": "1us"}) == 12 * US - US // 2


def test_a_job_waits_for_its_straggler() -> None:
    """Four ranks compute, and reduce their results: the iteration is longer by the delay of the straggler."""

    def iteration(*faults: dict[str, Any]) -> int:
        rows = [row(rank, "compute", "work", duration="20us") for rank in range(4)]
        rows += [row(rank, "all_reduce", "sum", "work", size="64KB", group="all") for rank in range(4)]
        scenario = star(4, {"operations": rows, "groups": {"all": [0, 1, 2, 3]}})
        return int(summary_of(xoff.run(scenario | {"fault": list(faults)}), "job")["iteration_ps"])

    straggler = {"host": "host2", "compute": 1.25}
    assert iteration(straggler) - iteration() == 5 * US
    assert iteration({"host": "host*", "compute": 1.25}) - iteration() == 5 * US


def test_a_fault_of_hosts_that_compute_nothing_is_refused() -> None:
    scenario = star(3, {"operations": [row(0, "compute", "a", duration="1us")]})
    with pytest.raises(xoff.InputError, match=r"fault\[0\]\.compute: no job has a rank at host2"):
        xoff.check(scenario | {"fault": [{"host": "host2", "compute": 2.0}]})
    with pytest.raises(xoff.InputError, match=r"fault\[0\]\.compute"):
        xoff.check(scenario | {"fault": [{"host": "host0", "compute": 1.0}]})


def test_the_table_of_faults_has_it() -> None:
    rows = [
        row(0, "compute", "a", duration="10us"),
        row(0, "send", "m", "a", peer=1, size="1KB"),
        row(1, "recv", "m", peer=0),
    ]
    straggler = {"host": "host0", "compute": 2.0, "at": "2us", "duration": "4us"}
    result = xoff.run(star(2, {"operations": rows}) | {"fault": [straggler]})
    (one,) = result.table("faults").to_pylist()
    assert (one["kind"], one["target"], one["start_ps"], one["end_ps"]) == ("compute", "host0", 2 * US, 6 * US)


@pytest.mark.parametrize("seed", range(12))
def test_whoever_is_slow_threads_change_nothing(seed: int) -> None:
    rng = Random(seed)
    scenario = draw_scenario(rng, {"workload": rng.choice(["graph", "training"])})
    again = {"time_between_failures": {"exponential": "5us"}, "time_to_repair": {"uniform": ["1us", "20us"]}}
    scenario["fault"] = [{"host": "*", "compute": 1.5}, {"host": "*", "compute": 7.0, **again}]
    result = xoff.run(scenario)
    same_however_it_runs(scenario, result, WAYS[seed % 6 :][:2])
