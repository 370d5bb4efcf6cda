"""PFC against closed forms: headroom, stalled outputs, dynamic thresholds, quanta, and the shares of victims.

Notation: C the rate of a link, d its propagation, s the switch's processing, M a full packet on the wire, S = M/C.
"""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.validation.traces import arrivals, events, flow_rows, ingress_counts, ingress_peaks

import xoff

MTU = 1000
FRAMING = {
    "payload": "952B",
    "header": "48B",
    "preamble_and_ifg": "0B",
    "control_frame_size": "64B",
    "min_frame_size": "64B",
}
HOST = {"transport": {"go_back_n": {"rto": "100s"}}}
PS_PER_BYTE = {"10Gbps": 800, "25Gbps": 320, "40Gbps": 200, "100Gbps": 80, "200Gbps": 40, "400Gbps": 20}


def network(links: dict[str, tuple[str, str, int]], switches: list[str]) -> dict[str, Any]:
    """Join each named host by a link, (switch, rate, delay in ps), and the switches in a row by 100 Gb/s links.

    Ports of a switch are numbered in that order; links between switches come last.
    """
    return {
        "explicit": {
            "nodes": [
                *({"name": name, "kind": "host"} for name in links),
                *({"name": name, "kind": "switch"} for name in switches),
            ],
            "links": [
                *({"a": a, "b": b, "rate": rate, "delay": f"{delay}ps"} for a, (b, rate, delay) in links.items()),
                *({"a": a, "b": b, "rate": "100Gbps", "delay": "1us"} for a, b in pairwise(switches)),
            ],
        }
    }


def pfc(xoff_bytes: int, xon_bytes: int = 0, **more: Any) -> dict[str, Any]:
    return {"pfc": {"xoff": f"{xoff_bytes}B", "xon": f"{xon_bytes}B", **more}}


def headroom(ps_per_byte: int, delay_ps: int, switch_ps: int) -> int:
    """C·(2d + s), the packet that crosses XOFF, a packet each way that delays the pause, and the pause itself."""
    return -(-(2 * delay_ps + switch_ps) // ps_per_byte) + 3 * MTU + 64


@settings(max_examples=60, derandomize=True)
@given(
    senders=st.integers(2, 5),
    rate=st.sampled_from(sorted(PS_PER_BYTE)),
    delay_ps=st.sampled_from([0, 1, 12_345, 150_000, 1_000_000, 3_333_333]),
    switch_ps=st.sampled_from([0, 1, 300_000, 999_999]),
    queueing=st.sampled_from(["oq", "iq", "voq"]),
    room=st.integers(1000, 40_000),
    starts=st.lists(st.integers(0, 3_000_000), min_size=10, max_size=10),
)
def test_computed_headroom_is_enough(
    senders: int, rate: str, delay_ps: int, switch_ps: int, queueing: str, room: int, starts: list[int]
) -> None:
    """No port ever holds more than XOFF and the headroom: a buffer of exactly this size loses nothing.

    The buffer has room for XOFF = `room` and the headroom, the default XOFF. Some hosts receive data of other hosts, so
    that pauses have to wait for data.
    """
    needed = headroom(PS_PER_BYTE[rate], delay_ps, switch_ps)
    hosts = senders + 1
    flows = [{"src": f"host{1 + i}", "dst": "host0", "size": "60KB", "start": f"{starts[i]}ps"} for i in range(senders)]
    flows += [
        {"src": f"host{1 + i}", "dst": f"host{1 + (i + 1) % senders}", "size": "40KB", "start": f"{starts[5 + i]}ps"}
        for i in range(senders)
    ]
    scenario = {
        "network": {"star": {"hosts": hosts, "link": {"rate": rate, "delay": f"{delay_ps}ps"}}},
        "framing": FRAMING,
        "switch": {
            "forwarding_latency": f"{switch_ps}ps",
            "queueing": queueing,
            "buffer": {"per_port": f"{room + needed}B"},
            "flow_control": {"pfc": {}},
        },
        "host": HOST,
        "workload": [{"flows": flows}],
        "probe": {"packets": True},
    }
    (row,) = xoff.check(scenario)["headroom"]
    assert (row["needed_bytes"], row["xoff_bytes"]) == (needed, room)
    result = xoff.run(scenario)
    assert result.ok
    assert result.summary["drops"] == 0
    peaks = ingress_peaks(result, "switch0")
    assert max(peaks.values()) <= room + needed
    if result.summary["pfc"]["pauses"] == 0:
        assert max(peaks.values()) < room
    else:
        assert max(peaks.values()) >= room


# Of the link into the stalled output's switch: 2d + s + ser(64 B) is 28 packet times and 4 ps more.
SWITCH_PS = 300_000
DELAY_PS = (28 * 80_000 + 4 - SWITCH_PS - 64 * 80) // 2
DISTANCE_PS = 28 * 80_000 + 4
# The first packet forwarded by the upstream switch starts one packet time and one processing time after A's start.
FIRST_PS = 80_000 + SWITCH_PS


def stalled(buffer_bytes: int, xoff_bytes: int, back_ps: int | None, **audits: str) -> dict[str, Any]:
    """Sends from A by way of switch u into switch s, whose output takes 0.8 ms a packet, under PFC.

    Hosts are as close as can be; the link between the switches has d = DELAY_PS. A packet may go from D at s to B
    at u, the way that pauses take, from `back_ps` on.
    """
    flows = [{"src": "A", "dst": "slow", "size": f"{60 * 952}B"}]
    if back_ps is not None:
        flows.append({"src": "D", "dst": "B", "size": "952B", "start": f"{back_ps}ps"})
    near = {"rate": "100Gbps", "delay": "0ns"}
    hosts = ["A", "B", "D", "slow"]
    return {
        "network": {
            "explicit": {
                "nodes": [
                    *({"name": h, "kind": "host"} for h in hosts),
                    *({"name": s, "kind": "switch"} for s in "us"),
                ],
                "links": [
                    {"a": "u", "b": "s", "rate": "100Gbps", "delay": f"{DELAY_PS}ps"},
                    {"a": "A", "b": "u", **near},
                    {"a": "B", "b": "u", **near},
                    {"a": "D", "b": "s", **near},
                    {"a": "slow", "b": "s", **near, "rate": "10Mbps"},
                ],
            }
        },
        "framing": FRAMING,
        "switch": {
            "forwarding_latency": f"{SWITCH_PS}ps",
            "buffer": {"per_port": f"{buffer_bytes}B"},
            "flow_control": pfc(xoff_bytes),
        },
        "host": HOST,
        "workload": [{"flows": flows}],
        "probe": {"packets": True},
        "audits": audits,
        "until": "700us",
    }


@pytest.mark.parametrize("xoff_bytes", [1001, 2000, 10_000, 10_001, 20_500])
def test_peak_at_a_stalled_output(xoff_bytes: int) -> None:
    """Into a stalled output, the peak is XOFF rounded up to a packet, and what was under way, to the byte.

    u sends at 0, S, 2S …, if its first packet starts at 0. The first goes out of s; from then on nothing does. Packet k
    is counted at k·S + d + s, and the count reaches XOFF with packet k = ⌈XOFF/M⌉ + 1. The pause, sent at once, is in
    ser(64 B) + d later, at T = k·S + 2d + s + ser(64 B); ⌈T/S⌉ packets were started before, and all but one wait.
    """
    crossing = -(-xoff_bytes // MTU) + 1
    started = -(-(crossing * 80_000 + DISTANCE_PS) // 80_000)
    assert started == crossing + 29
    result = xoff.run(stalled(200_000, xoff_bytes, None))
    assert ingress_peaks(result, "s")[0] == (started - 1) * MTU
    (pause,) = [row for row in result.pauses.to_pylist() if row["node"] == "u"]
    assert pause["start_ps"] == FIRST_PS + crossing * 80_000 + DISTANCE_PS
    assert (pause["end_ps"], pause["cause"]) == (None, "pfc")


def worst_case() -> tuple[int, int]:
    """Returns the start of a packet to B that delays the pause most, and the peak that follows.

    XOFF = 10 001 B is crossed by packet k = 12, by all but a byte of it, at k·S + d + s. A packet of D that started
    from s to u 1 ps before makes the pause wait S − 1 ps. Until the pause arrives, ⌈(k·S + S − 1 ps + 2d + s + ser(64
    B))/S⌉ packets were started, of which one left. D starts S + s and its own distance before the crossing.
    """
    crossing_ps = 12 * 80_000
    back_ps = FIRST_PS + crossing_ps + DELAY_PS + SWITCH_PS - 1 - (80_000 + SWITCH_PS)
    return back_ps, (-(-(crossing_ps + 79_999 + DISTANCE_PS) // 80_000) - 1) * MTU


def test_computed_headroom_is_reached() -> None:
    """The computed headroom is not too large: in the worst case the peak is within two bytes of it.

    XOFF + C·(2d + s) + 3M + 64 B against the peak that `worst_case` derives.
    """
    back_ps, peak = worst_case()
    limit = 10_001 + headroom(80, DELAY_PS, SWITCH_PS)
    assert 0 <= limit - peak <= 2
    result = xoff.run(stalled(limit, 10_001, back_ps))
    assert result.summary["drops"] == 0
    assert ingress_peaks(result, "s")[0] == peak


@pytest.mark.parametrize("short_bytes", [1, MTU])
def test_less_than_the_headroom_drops(short_bytes: int) -> None:
    """A buffer smaller than the peak of `worst_case` by a packet, or by a single byte, loses one packet."""
    back_ps, peak = worst_case()
    result = xoff.run(stalled(peak - short_bytes, 10_001, back_ps, loss="record"))
    assert result.summary["drops"] == 1
    (drop,) = result.drops.to_pylist()
    # The last of the packets in flight; the first packet left.
    assert (drop["node"], drop["in_port"], drop["seq"], drop["reason"]) == ("s", 0, peak // MTU, "buffer full")
    assert result.audits["loss"].startswith("recorded: ")


@pytest.mark.parametrize("alpha", [0.125, 0.5, 1.0])
@pytest.mark.parametrize("ports", [1, 2, 4, 8])
def test_dynamic_threshold(ports: int, alpha: float) -> None:
    """Each of n saturated ports settles at Q = α·B'/(1 + n·α), which leaves B'/(1 + n·α) free.

    Each port may use α·(B' − total use). Equal ports reach the limit at Q = α·(B' − n·Q). Ports fill in step into a
    stalled output, after its first packet left, without delays: to the threshold within a packet; the headroom takes
    the one or two packets in flight. B' is the total less the headroom of each port, without a reserve.
    """
    pool, each = 4_000_000, 10_000
    senders = [f"a{i}" for i in range(ports)]
    links = dict.fromkeys(senders, ("s", "100Gbps", 0)) | {"slow": ("s", "10Mbps", 0)}
    result = xoff.run(
        {
            "network": network(links, ["s"]),
            "framing": FRAMING,
            "switch": {
                "buffer": {
                    "shared": {
                        "total": f"{pool + each * (ports + 1)}B",
                        "alpha": alpha,
                        "reserve": "0B",
                        "headroom": f"{each}B",
                    }
                },
                "flow_control": {"pfc": {}},
            },
            "host": HOST,
            "workload": [{"flows": [{"src": name, "dst": "slow", "size": "5MB"} for name in senders]}],
            "probe": {"packets": True},
            "until": "700us",
        }
    )
    assert result.ok
    expected = alpha * pool / (1 + ports * alpha)
    peaks = ingress_peaks(result, "s")
    assert sorted(peaks) == list(range(ports))
    for peak in peaks.values():
        assert expected - MTU <= peak <= expected + 3 * MTU
    assert all(row["end_ps"] is None for row in result.pauses.to_pylist())
    assert {row["node"] for row in result.pauses.to_pylist()} == set(senders)


def congested(more: dict[str, Any], queueing: str = "oq") -> dict[str, Any]:
    """Four hosts send to one under PFC with small thresholds."""
    return {
        "network": {"star": {"hosts": 5, "link": {"rate": "100Gbps", "delay": "500ns"}}},
        "framing": FRAMING,
        "switch": {"forwarding_latency": "300ns", "queueing": queueing, "flow_control": pfc(40_000, 30_000, **more)},
        "host": HOST,
        "workload": [{"incast": {"senders": [1, 2, 3, 4], "receiver": 0, "size": "2MB"}}],
        "probe": {"packets": True},
    }


@pytest.mark.parametrize("quanta", [8000, 2000, 700])
def test_refreshed_pauses_hold_like_on_and_off(quanta: int) -> None:
    """A refresh each half of n·512/C keeps a pause standing as long as an explicit resume would end it.

    Refreshes take the way of ACKs, which delays no data: the data packets are where they are without quanta. The
    shortest here, 3.6 µs, is more than the way of a refresh and back.
    """
    plain, timed = xoff.run(congested({})), xoff.run(congested({"quanta": quanta}))
    assert [row["fct_ps"] for row in flow_rows(timed)] == [row["fct_ps"] for row in flow_rows(plain)]
    assert events(timed) == events(plain)


@pytest.mark.parametrize("quanta", [50, 1000, 20_000])
def test_quanta_expire_without_a_refresh(quanta: int) -> None:
    """A pause whose resume never comes ends n·512 bit times after the last pause frame came in.

    All resumes are swallowed; a node that believes to have resumed refreshes no more. At 100 Gb/s a quantum is 5120 ps.
    """
    scenario = congested({"quanta": quanta}) | {"audits": {"pauses": "record"}}
    scenario["switch"]["faults"] = {"lose_resumes": 4_000_000_000}
    result = xoff.run(scenario)
    assert result.summary["flows"]["completed"] == 4
    for host in range(1, 5):
        frames = [row.time_ps for row in events(result, f"host{host}", "pfc") if row.event == "arrive"]
        ends = [row["end_ps"] for row in result.pauses.to_pylist() if row["node"] == f"host{host}"]
        assert ends
        assert set(ends) <= {time_ps + quanta * 5120 for time_ps in frames}
        # Each run of frames sent before the expiry of the preceding frame makes one pause.
        expected = [
            a + quanta * 5120
            for a, b in zip(frames, [*frames[1:], None], strict=True)
            if b is None or b > a + quanta * 5120
        ]
        assert ends == expected


@pytest.mark.parametrize("quanta", [200, 1000, 4000])
def test_a_pause_that_is_not_refreshed_ends_by_itself(quanta: int) -> None:
    """Without refresh, traffic resumes n·512 bit times after the pause arrived, or at an earlier resume.

    The switch pauses again at the next packet above XON, and never before the last pause has ended: two pause frames
    are at least n·512 bit times apart, unless a resume is between them. An input that stayed above XOFF got no packet
    while the link was empty, so that the input loses more time than with refresh.
    """
    result = xoff.run(congested({"quanta": quanta, "refresh": False}) | {"audits": {"pauses": "record"}})
    length = quanta * 5120
    assert result.summary["flows"]["completed"] == 4
    lasted = set()
    for host in range(1, 5):
        frames = [row.time_ps for row in events(result, f"host{host}", "pfc") if row.event == "arrive"]
        for row in result.pauses.to_pylist():
            if row["node"] == f"host{host}":
                lasted.add(row["end_ps"] - row["start_ps"])
                assert row["start_ps"] in frames
                assert row["end_ps"] in frames or row["end_ps"] == row["start_ps"] + length
    assert max(lasted) <= length
    if quanta == 200:
        assert max(lasted) == length


def shares(result: xoff.Result, receiver_of: dict[int, str], begin_ps: int, end_ps: int) -> dict[int, int]:
    """Packets of each flow that arrived in a span of time."""
    return {
        flow: sum(begin_ps <= now < end_ps for now in arrivals(result, node, flow))
        for flow, node in receiver_of.items()
    }


@pytest.mark.parametrize("local", [1, 2, 3, 7])
def test_victim_behind_a_paused_link(local: int) -> None:
    """Two hops: a victim on a shared paused link gets C/N, though the victim's own path is not congested.

    h and v send by switch 0 to switch 1, h to the hot receiver r, v to an idle receiver. N − 1 hosts at switch 1 send
    to r as well. Outputs take turns over their N inputs, all backlogged (XON is more than a round trip), so that each
    gets C/N of r. At switch 0, h and v take turns on the link, so that v gets as much as h: C/N, by head-of-line
    blocking. For N = 2, C/N is half, the link's fair share. The shares of r are exact to a packet. The share of v is
    exact up to the change of h's queue at switch 1: from XON less a round trip to XOFF and the headroom.
    """
    n = local + 1
    hosts = ["h", "v", "r", "idle", *(f"x{i}" for i in range(local))]
    home = {"h": "s0", "v": "s0"}
    scenario = {
        "network": network({name: (home.get(name, "s1"), "100Gbps", 1_000_000) for name in hosts}, ["s0", "s1"]),
        "framing": FRAMING,
        "switch": {"forwarding_latency": "300ns", "queueing": "voq", "flow_control": pfc(100_000, 90_000)},
        "host": HOST,
        "workload": [
            {
                "flows": [
                    {"src": "h", "dst": "r", "size": "50MB"},
                    {"src": "v", "dst": "idle", "size": "50MB"},
                    *({"src": f"x{i}", "dst": "r", "size": "50MB"} for i in range(local)),
                ]
            }
        ],
        "probe": {"packets": True},
        "until": "900us",
    }
    result = xoff.run(scenario)
    got = shares(result, {0: "r", 1: "idle"} | dict.fromkeys(range(2, 2 + local), "r"), 100_000_000, 900_000_000)
    fair = 10_000 / n
    victim = got.pop(1)
    assert all(abs(count - fair) <= 1 for count in got.values()), got
    # 10 packets from XON to XOFF, and twice 2d + s and three packets.
    assert abs(victim - fair) <= 10 + 2 * (29 + 3)
    if n > 2:
        assert any(row["node"] == "s0" and row["peer"] == "s1" for row in result.pauses.to_pylist())


def test_parking_lot() -> None:
    """Three switches in a row, a sender at each, all to a receiver at the last: C/2, C/4 and C/4 under PFC.

    The last switch takes turns between its own sender and the link from the second, which takes turns between its own
    sender and the link from the first: nearer senders get more, halved at each hop but the last.
    """
    links = {"far": ("s0", "100Gbps", 10**6), "middle": ("s1", "100Gbps", 10**6), "near": ("s2", "100Gbps", 10**6)}
    scenario = {
        "network": network(links | {"r": ("s2", "100Gbps", 10**6)}, ["s0", "s1", "s2"]),
        "framing": FRAMING,
        "switch": {"forwarding_latency": "300ns", "queueing": "voq", "flow_control": pfc(100_000, 90_000)},
        "host": HOST,
        "workload": [{"flows": [{"src": name, "dst": "r", "size": "50MB"} for name in links]}],
        "probe": {"packets": True},
        "until": "900us",
    }
    got = shares(xoff.run(scenario), dict.fromkeys(range(3), "r"), 100_000_000, 900_000_000)
    # Senders have the order of their list.
    assert sum(got.values()) == 10_000
    assert all(abs(got[flow] - share) <= 40 for flow, share in enumerate((2500, 2500, 5000))), got


def test_egress_accounting_pauses_all_that_feed() -> None:
    """With egress accounting, a queue at XOFF pauses each port that feeds the queue, at the port's next packet.

    N = 4 senders in step into one output: the queue grows by N packets each S and loses one. A packet of some port
    brings the queue to XOFF = 20 M, and the port is paused first; within S the next packets of all other ports arrive
    above XOFF, too. After ser(64 B) + d each sender stops, having started at most ⌈(2d + s + ser(64 B))/S⌉ more
    packets. The queue's peak is therefore at most XOFF + N·(⌈…⌉ + 1) packets. Bursts of 6 packets from each make at
    most 18 and no pause; bursts of 8 make 24 and pauses, but no pause under ingress accounting, since no port has more
    than its 8.
    """

    def burst(packets: int, accounting: str) -> xoff.Result:
        scenario = congested({})
        scenario["switch"]["flow_control"] = pfc(20_000, 5_000, accounting=accounting)
        scenario["workload"][0]["incast"]["size"] = f"{packets * 952}B"
        return xoff.run(scenario)

    assert burst(6, "egress").summary["pfc"]["pauses"] == 0
    assert burst(8, "egress").summary["pfc"]["pauses"] == 4
    assert burst(8, "ingress").summary["pfc"]["pauses"] == 0
    result = burst(400, "egress")
    first = {row["node"]: row["start_ps"] for row in reversed(result.pauses.to_pylist())}
    assert sorted(first) == ["host1", "host2", "host3", "host4"]
    assert max(first.values()) - min(first.values()) <= 80_000
    more = -(-(1_300_000 + 64 * 80) // 80_000)
    (queue,) = [row for row in result.queues.to_pylist() if row["node"] == "switch0" and row["peer"] == "host0"]
    assert 20_000 <= queue["max_bytes"] <= 20_000 + 4 * (more + 1) * MTU


@pytest.mark.parametrize("queueing", ["oq", "iq", "voq"])
def test_the_longest_quanta_are_on_and_off(queueing: str) -> None:
    """Pauses of 65 535 quanta, 335.5 µs at 100 Gb/s, resumed within half of the time, equal pauses without an end.

    No refresh falls due and no pause expires, so that every frame has the same time as without quanta, to the
    picosecond.
    """
    plain, timed = xoff.run(congested({}, queueing)), xoff.run(congested({"quanta": 65_535}, queueing))
    assert plain.summary["pfc"]["pauses"] > 40
    longest = max(row["end_ps"] - row["start_ps"] for row in plain.pauses.to_pylist())
    assert longest < 167_000_000
    for name in ("pauses", "flows", "packets", "queues", "links"):
        assert timed.table(name).equals(plain.table(name)), name


@pytest.mark.parametrize("quanta", [400, 1000, 3000])
def test_a_pause_is_refreshed_once_each_half_of_it(quanta: int) -> None:
    """While a pause stands, a pause frame goes out at its start and then once each half of n·512/C.

    A pause that stands for t therefore takes 1 + ⌊t/half⌋ frames, however often the port was paused and resumed
    before. t runs from the count's crossing of XOFF to its fall to XON; a refresh at the very end may go either way.
    """
    half_ps = quanta * 512 * 10 // 2
    result = xoff.run(congested({"quanta": quanta}))
    frames: dict[int, list[int]] = {}
    for row in events(result, "switch0", "pfc"):
        if row.event == "depart":
            frames.setdefault(row.port, []).append(row.time_ps)
    since: dict[int, int] = {}
    allowed: dict[int, int] = {}
    for time_ps, port, count in ingress_counts(result, "switch0"):
        if port not in since and count >= 40_000:
            since[port] = time_ps
        elif port in since and count <= 30_000:
            # Pauses, and the resume.
            allowed[port] = allowed.get(port, 0) + 2 + (time_ps - since.pop(port)) // half_ps
    assert not since
    assert {port: len(times) for port, times in frames.items()} == allowed


@pytest.mark.parametrize("quanta", [1, 2])
def test_refreshes_that_the_link_cannot_carry_are_one(quanta: int) -> None:
    """The refresh of a one-quantum pause is due before its own frame has left; waiting frames are merged.

    Nothing is lost, and the switch sends no more frames than its links carry in the time.
    """
    result = xoff.run(
        {
            "network": {"star": {"hosts": 4, "link": {"rate": "100Gbps", "delay": "1us"}}},
            "switch": {"flow_control": {"pfc": {"xoff": "50KB", "quanta": quanta}}},
            "workload": [{"incast": {"senders": [1, 2, 3], "receiver": 0, "size": "200KB"}}],
        }
    )
    summary = result.summary
    assert (summary["flows"]["completed"], summary["drops"]) == (3, 0)
    frame_ps = 64 * 80
    assert summary["pfc"]["frames"] * frame_ps <= 3 * summary["simulated_ps"]
    utilisation = result.links["utilisation"].to_pylist()
    assert max(utilisation) <= 1
