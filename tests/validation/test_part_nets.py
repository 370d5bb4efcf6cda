"""Tests for authors of components: random scenarios that exercise a component and reveal mistakes beyond the audits.

Each mechanism, transport and congestion control runs with the component of its signals, as sender or receiver of the
signals, under incasts and long flows. Three properties hold:

- A run with fast-forward equals a full run. A field missing from a component's `state!` makes both runs differ.
- Each component is fast-forwarded in some draw, or listed in `NEVER_REPEAT` with the reason.
- Each declared count is counted in some draw, or listed in `COUNTED_BY` with the test that counts it.
"""

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.validation.scenario_drawing import draw_scenario
from tests.validation.scenario_schema import CHOICES, registered
from tests.validation.test_fast_forward import PLANS, is_allowed, lengthen, plain, results

import xoff
from xoff import _core, counts
from xoff.running import prepare

DRAWS = 12
NEVER_REPEAT = {
    "bcn": "limiters drift by a constant rate, so rates never recur",
    "credits": "counts of blocks are taken modulo, and are no multiple of a period",
    "hpcc": "windows are floating-point values that approach a limit",
    "hpcc_pint": "windows are floating-point values that follow sampled telemetry",
    "swift": "windows are floating-point values that follow every round trip",
}
"""Components that are never fast-forwarded in these draws, with the reason."""
COUNTED_BY = {
    "pfc.storms": "tests/validation/test_watchdog.py::test_forwarding_only_ignores_pauses",
    "pfc.dropped_in_storms": "tests/validation/test_watchdog.py::test_what_waits_is_dropped_at_once",
    "pfc.late_holds": "crates/models/src/node/effects.rs::a_flow_of_the_host_is_held_and_released",
    "sfc.resumes": "tests/validation/test_sfc.py::test_resumes_end_pauses",
    "sfc.late_holds": "tests/validation/test_sfc.py::test_a_message_for_a_flow_that_is_over_is_harmless_and_counted",
    "sfc.proxy_pauses": "tests/validation/test_sfc.py::test_a_proxy_slows_the_innocent_by_the_share_of_time_that_their_host_is_paused",  # noqa: E501
    "bcn.stops": "tests/validation/test_bcn.py::test_stopped_sources_go_on_at_the_least_rate",
    "credits.recovered": "tests/validation/test_credits.py::test_credits_of_packets_that_were_lost_come_back",
    "adaptive.no_good_port": "tests/validation/test_adaptive.py::test_packets_without_a_good_port_are_counted",
    "rccc.requests": "tests/validation/test_rccc.py::test_a_flow_that_is_not_heard_asks_for_credit",
    "trimming.bounced": "tests/validation/test_ndp.py::test_headers_go_back_only_where_that_is_on",
}
"""Counts that need a special situation, with a test for the situation."""
LISTENERS: dict[str, str] = json.loads(_core.listeners())
COUNTS = {group.name: [count.name for count in group.counts] for group in counts.groups()}
PLACES = ["switch.flow_control", "switch.routing", "host.transport", "host.congestion_control"]
PARTS = [(path, option) for path in PLACES for option in registered(path)] + [
    ("switch.ecn", "red"),
    ("switch.trimming", "limit"),
]


def place(name: str, rng: Random) -> dict[str, str]:
    """Returns the options that force a component; empty for telemetry, which is drawn with its readers."""
    if f"switch.{name}" in CHOICES:
        return {f"switch.{name}": rng.choice(registered(f"switch.{name}"))}
    return next(({path: name} for path in PLACES if name in registered(path)), {})


def pair(path: str, option: str, rng: Random) -> dict[str, str]:
    """Returns a component together with a sender or receiver of the component's signals."""
    name = option if path in PLACES else path.removeprefix("switch.")
    at_host = path.startswith("host.")
    if name in LISTENERS and (at_host or path == "switch.routing"):
        heard = LISTENERS[name]
        beside = {"switch.flow_control": name} if heard == name else place(heard, rng)
    else:
        listeners = sorted(listener for listener, heard in LISTENERS.items() if heard == name)
        beside = at_hosts(rng.choice(listeners)) if listeners else {}
    return {path: option} | beside


def at_hosts(listener: str) -> dict[str, str]:
    """Returns the forced options of a listener: BCN and QCN have components of one name at switches and at hosts."""
    places = [
        path for path in ("host.congestion_control", "host.transport", "switch.routing") if listener in registered(path)
    ]
    return {places[0]: listener}


def loaded(scenario: dict[str, Any], path: str, is_lean: bool, rng: Random) -> dict[str, Any]:
    """Adds long flows to a scenario, half of the time an incast of all hosts into one; lean without other parts."""
    scenario = lengthen(scenario, rng)
    if rng.random() < 0.5:
        receiver = int(scenario["workload"][0]["flows"][0]["dst"])
        hosts = xoff.check(scenario)["network"]["hosts"]
        senders = [host for host in range(hosts) if host != receiver]
        payload = int(scenario["framing"]["payload"].removesuffix("B"))
        size = f"{payload * rng.randint(300, 3000)}B"
        scenario["workload"] = [{"incast": {"senders": senders, "receiver": receiver, "size": size}}]
    if is_lean:
        lean = plain(scenario, path) | {key: scenario[key] for key in ("workload", "audits", "until")}
        scenario = lean if is_allowed(lean) else scenario
    return scenario


def name_of(path: str, option: str) -> str:
    """The name of a part in summaries."""
    return option if path in PLACES else path.removeprefix("switch.")


@pytest.mark.parametrize(("path", "option"), PARTS, ids=[f"{path}={option}" for path, option in PARTS])
def test_a_part_acts_counts_and_is_fast_forwarded_exactly(path: str, option: str) -> None:
    name = name_of(path, option)
    shares, counted = [], Counter[str]()
    for number in range(DRAWS):
        rng = Random(f"net {path}={option} {number}")
        scenario = loaded(draw_scenario(rng, pair(path, option, rng)), path, number % 2 == 1, rng)
        try:
            prepared = prepare(scenario)
            full, whole, tables = results(prepared, threads=1, fast_forward=False)
            summary, performance, found = results(prepared, **rng.choice(PLANS))
            assert summary == full
            assert found.keys() == tables.keys()
            assert all(found[table].equals(tables[table]) for table in tables)
        except Exception as error:
            error.add_note(f"draw {number}: {json.dumps(scenario)}")
            raise
        shares.append(performance["fast_forward"]["packet_hops"] / max(1, whole["data_packet_hops"]))
        counted.update(count for count in COUNTS.get(name, ()) if full[name][count] > 0)
    assert (max(shares) > 0) == (name not in NEVER_REPEAT), f"shares that were fast-forwarded: {shares}"
    silent = {f"{name}.{count}" for count in COUNTS.get(name, ())} - {f"{name}.{count}" for count in counted}
    assert silent <= COUNTED_BY.keys(), (
        "declared counts that nothing adds to; add to them, or name a test in COUNTED_BY"
    )


def test_tests_that_count_are_there() -> None:
    root = Path(__file__).parents[2]
    for count, test in COUNTED_BY.items():
        file, _, function = test.partition("::")
        assert f" {function}(" in (root / file).read_text("utf-8"), count


def test_parts_of_the_lists_are_registered() -> None:
    names = {name_of(path, option) for path, option in PARTS}
    assert names >= NEVER_REPEAT.keys()
    assert {f"{name}.{count}" for name in names for count in COUNTS.get(name, ())} >= COUNTED_BY.keys()
