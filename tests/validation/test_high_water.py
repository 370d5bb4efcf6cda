"""High-water marks against closed forms, the worst case of a port's headroom, and counts from packets."""

from __future__ import annotations

from typing import Any

import pytest
from tests.validation.test_pfc_closed_forms import FRAMING, HOST, MTU, network, pfc
from tests.validation.traces import events, ingress_peaks

import xoff
from xoff.sizing import headroom

LINK = {"rate": "100Gbps", "link_delay": "500ns", "switch_delay": "300ns", "max_frame": "1000B", "pause_frame": "64B"}


def _marks(result: xoff.Result, kind: str) -> dict[tuple[str, int | None], tuple[int, int | None]]:
    """Marks of a kind, with their thresholds, by node and port; each port has one class."""
    rows = [row for row in result.high_water.to_pylist() if row["kind"] == kind]
    found = {(row["node"], row["port"]): (row["bytes"], row["threshold_bytes"]) for row in rows}
    assert len(found) == len(rows)
    return found


@pytest.mark.parametrize("change", [{}, {"rate": "400Gbps"}, {"link_delay": "0"}, {"max_frame": "9000B"}])
def test_the_worst_case_uses_the_headroom_that_is_measured(change: dict[str, str]) -> None:
    """The maximum above XOFF, over all alignments of frames, equals the result of a search for losses.

    The maximum is read from runs with room for all packets, without any search.
    """
    values = LINK | change
    answer, found = headroom.calculate(values), headroom.verify(values)
    frame = answer["steps"][0]["bytes"]
    ample = 8 * frame + 2 * answer["headroom_bytes"] // frame * frame
    used = []
    for phase in range(headroom.PHASES):
        result = xoff.run(headroom._worst_case(values, answer, ample, phase))
        assert result.summary["drops"] == 0
        mark = result.summary["high_water"]["headroom"]
        assert mark["place"] == "switch port 0 (to sender), class 0"
        assert mark["threshold_bytes"] == ample - (4 * frame + 1)
        used.append(mark["bytes"])
    assert max(used) == found["lossless_bytes"]
    assert answer["headroom_bytes"] - frame < max(used) <= answer["headroom_bytes"]
    assert len(set(used)) > 1


@pytest.mark.parametrize("queueing", ["oq", "iq", "voq"])
def test_marks_are_what_packets_show(queueing: str) -> None:
    """Counts summed from the arrivals and departures of packets reach the same maximum."""
    scenario = {
        "network": {"leaf_spine": {"leaves": 2, "spines": 1, "hosts_per_leaf": 3, "link": _LINK}},
        "framing": FRAMING,
        "switch": {"forwarding_latency": "300ns", "queueing": queueing, "flow_control": pfc(20_000, 10_000)},
        "host": HOST,
        "workload": [{"incast": {"senders": [1, 2, 3, 4, 5], "receiver": 0, "size": "300KB"}}],
        "probe": {"packets": True},
    }
    result = xoff.run(scenario)
    ingress, above = _marks(result, "ingress"), _marks(result, "headroom")
    shown = {
        (switch, port): peak
        for switch in ("leaf0", "leaf1", "spine0")
        for port, peak in ingress_peaks(result, switch).items()
    }
    assert {place: mark for place, (mark, _) in ingress.items()} == shown
    assert {threshold for _, threshold in ingress.values()} == {20_000}
    # No buffer bounds a port: the mark has no room to compare with.
    expected = {place: (peak - 20_000, None) for place, peak in shown.items() if peak > 20_000}
    assert above == expected
    assert expected
    marks = result.summary["high_water"]
    assert marks["ingress"]["bytes"] == max(shown.values())
    assert marks["headroom"]["bytes"] == max(shown.values()) - 20_000
    assert marks["queue"]["bytes"] == max(row["max_bytes"] for row in result.queues.to_pylist())
    assert marks["pool"] == {"bytes": 0, "threshold_bytes": None, "place": ""}
    # A count that never rose is left out.
    lines = dict(result.rows())
    assert (
        lines["ingress high-water mark"] == f"{max(shown.values()) / 1000} KB of 20.0 KB, {marks['ingress']['place']}"
    )
    assert "most of a pool" not in lines


_LINK = {"rate": "100Gbps", "delay": "500ns"}


@pytest.mark.parametrize("alpha", [0.125, 1.0])
@pytest.mark.parametrize("ports", [1, 4])
def test_a_pool_fills_to_the_dynamic_threshold(ports: int, alpha: float) -> None:
    """Each of n saturated ports settles at Q = α·B'/(1 + n·α): n·Q of the pool are used.

    Of the headroom no more is used than what is under way while a pause takes effect.
    """
    pool, each = 4_000_000, 10_000
    senders = [f"a{i}" for i in range(ports)]
    links = dict.fromkeys(senders, ("s", "100Gbps", 0)) | {"slow": ("s", "10Mbps", 0)}
    shared = {"total": f"{pool + each * (ports + 1)}B", "alpha": alpha, "reserve": "0B", "headroom": f"{each}B"}
    scenario: dict[str, Any] = {
        "network": network(links, ["s"]),
        "framing": FRAMING,
        "switch": {"buffer": {"shared": shared}, "flow_control": {"pfc": {}}},
        "host": HOST,
        "workload": [{"flows": [{"src": name, "dst": "slow", "size": "5MB"} for name in senders]}],
        "until": "700us",
    }
    result = xoff.run(scenario)
    expected = ports * alpha * pool / (1 + ports * alpha)
    ((used, size),) = _marks(result, "pool").values()
    assert size == pool
    assert expected - ports * MTU <= used <= expected + ports * MTU
    assert result.summary["high_water"]["pool"] == {"bytes": used, "threshold_bytes": pool, "place": "s"}
    for mark, room in _marks(result, "headroom").values():
        assert room == each
        # The packet that finds the threshold passed, and the packets in flight.
        assert 0 < mark <= 3 * MTU
    # The threshold of the port is dynamic.
    assert {threshold for _, threshold in _marks(result, "ingress").values()} == {None}


def test_egress_accounting_has_no_headroom_at_inputs() -> None:
    scenario = {
        "network": {"star": {"hosts": 3, "link": _LINK}},
        "framing": FRAMING,
        "switch": {"flow_control": pfc(20_000, 10_000, accounting="egress")},
        "host": HOST,
        "workload": [{"incast": {"senders": [1, 2], "receiver": 0, "size": "200KB"}}],
        "probe": {"packets": True},
    }
    result = xoff.run(scenario)
    assert result.summary["pfc"]["pauses"] > 0
    assert _marks(result, "headroom") == {}
    assert {threshold for _, threshold in _marks(result, "ingress").values()} == {None}
    assert result.summary["high_water"]["queue"]["bytes"] > 20_000
    assert len(events(result)) > 0


def test_marks_do_not_depend_on_threads() -> None:
    scenario = {
        "network": {"leaf_spine": {"leaves": 4, "spines": 2, "hosts_per_leaf": 2, "link": _LINK}},
        "switch": {"buffer": {"shared": {"total": "2MB"}}, "flow_control": {"pfc": {}}},
        "workload": [{"incast": {"senders": [1, 2, 3, 4, 5, 6, 7], "receiver": 0, "size": "500KB"}}],
    }
    first, *others = (xoff.run(scenario, threads=threads) for threads in (1, 2, 3))
    for other in others:
        assert other.high_water.equals(first.high_water)
        assert other.summary["high_water"] == first.summary["high_water"]
