"""Runs whose outcome a formula tells: completion times, marking, DCQCN and SFC.

Notation: a link sends b bytes in ser(b) = ⌈8·b/C⌉ ps and has propagation d; a switch takes s for what it forwards. A
packet's wire size is max(payload + header, minimum) + gap, a control frame's max(control, minimum) + gap.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.validation.traces import arrivals, departures, egress_counts, events, flow_rows

import xoff

RATES = {
    "10Mbps": 10**7,
    "1Gbps": 10**9,
    "10Gbps": 10**10,
    "25Gbps": 25 * 10**9,
    "40Gbps": 4 * 10**10,
    "56Gbps": 56 * 10**9,
    "100Gbps": 10**11,
    "200Gbps": 2 * 10**11,
    "400Gbps": 4 * 10**11,
    "800Gbps": 8 * 10**11,
    "1600Gbps": 16 * 10**11,
}
PLAIN = {
    "payload": "952B",
    "header": "48B",
    "preamble_and_ifg": "0B",
    "control_frame_size": "64B",
    "min_frame_size": "64B",
}
NO_TIMEOUT = {"transport": {"go_back_n": {"rto": "100s"}}}


def ser(size_bytes: int, rate_bps: int) -> int:
    """Time of a frame on a link, rounded up to a picosecond."""
    return -(-size_bytes * 8 * 10**12 // rate_bps)


def chain(links: Sequence[tuple[str, int]], switch_ps: int, framing: dict[str, int], size_bytes: int) -> dict[str, Any]:
    """Makes two hosts joined by a row of links, each (rate, delay), with switches between, and one flow."""
    names = ["host0", *(f"s{i}" for i in range(1, len(links))), "host1"]
    kinds = ["host", *["switch"] * (len(links) - 1), "host"]
    return {
        "network": {
            "explicit": {
                "nodes": [{"name": name, "kind": kind} for name, kind in zip(names, kinds, strict=True)],
                "links": [
                    {"a": a, "b": b, "rate": rate, "delay": f"{delay}ps"}
                    for (a, b), (rate, delay) in zip(pairwise(names), links, strict=True)
                ],
            }
        },
        "framing": {key: f"{value}B" for key, value in framing.items()},
        "switch": {"forwarding_latency": f"{switch_ps}ps"},
        "host": NO_TIMEOUT,
        "workload": [{"flows": [{"src": "host0", "dst": "host1", "size": f"{size_bytes}B", "start": "5us"}]}],
    }


def chain_times(
    links: Sequence[tuple[str, int]], switch_ps: int, framing: dict[str, int], size_bytes: int
) -> tuple[int, int]:
    """Completion time at the receiver and at the sender of one flow alone on a row of links.

    The last of n packets arrives at the end of the heaviest monotone path through the grid (link, packet). The weight
    of a cell is the packet's time on the link: each cell waits for the preceding packet on its link, and for its own
    packet on the preceding link. All packets but the last weigh the same. A path that reaches the last packet on link a
    therefore weighs at most Σ_{i≤a} ser_i(full) + (n − 2)·max_{i≤a} ser_i(full) + Σ_{i≥a} ser_i(last). The largest
    weight over a counts, plus propagation and processing.

    ACKs return over the same grid with cells of equal weight. The last ACK is delayed by the preceding ACK alone, since
    full packets are no shorter than ACKs: the last ACK starts at the arrival of its packet, or an ACK time on the
    slowest link after the arrival of the preceding packet.
    """
    wire = max(framing["payload"] + framing["header"], framing["min_frame_size"]) + framing["preamble_and_ifg"]
    packets = -(-size_bytes // framing["payload"])
    rest = size_bytes - (packets - 1) * framing["payload"]
    last = max(rest + framing["header"], framing["min_frame_size"]) + framing["preamble_and_ifg"]
    control = max(framing["control_frame_size"], framing["min_frame_size"]) + framing["preamble_and_ifg"]
    assert wire >= control
    rates = [RATES[rate] for rate, _ in links]
    full_ps = [ser(wire, rate) for rate in rates]
    last_ps = [ser(last, rate) for rate in rates]
    ack_ps = [ser(control, rate) for rate in rates]
    way_ps = sum(delay for _, delay in links) + (len(links) - 1) * switch_ps
    if packets == 1:
        fct_ps = way_ps + sum(last_ps)
        return fct_ps, fct_ps + way_ps + sum(ack_ps)
    fct_ps = way_ps + max(
        sum(full_ps[: a + 1]) + (packets - 2) * max(full_ps[: a + 1]) + sum(last_ps[a:]) for a in range(len(links))
    )
    before_ps = way_ps + sum(full_ps) + (packets - 2) * max(full_ps)
    return fct_ps, max(fct_ps, before_ps + max(ack_ps)) + way_ps + sum(ack_ps)


def one_flow(links: Sequence[tuple[str, int]], switch_ps: int, framing: dict[str, int], size_bytes: int) -> None:
    result = xoff.run(chain(links, switch_ps, framing, size_bytes))
    row = flow_rows(result)[0]
    assert (row["fct_ps"], row["fct_acked_ps"]) == chain_times(links, switch_ps, framing, size_bytes)


FRAMING = {"payload": 952, "header": 48, "preamble_and_ifg": 0, "control_frame_size": 64, "min_frame_size": 64}


@pytest.mark.parametrize(
    ("links", "switch_ps", "framing", "size_bytes", "fct_ps"),
    [
        # 10 packets of 1000 B: 80 ns each on the first link, the last once more on the second.
        ([("100Gbps", 0)] * 2, 0, FRAMING, 9520, 10 * 80_000 + 80_000),
        ([("100Gbps", 1_000_000)] * 2, 300_000, FRAMING, 9520, 11 * 80_000 + 2_300_000),
        # The slow second link sets the pace.
        ([("100Gbps", 7), ("10Gbps", 11)], 13, FRAMING, 9520, 80_000 + 10 * 800_000 + 31),
        # The last packet has one byte of payload and is padded to 64 B, and 20 B of gap.
        ([("100Gbps", 0)] * 2, 0, FRAMING | {"preamble_and_ifg": 20}, 953, 1020 * 80 + 1020 * 80 + 84 * 80),
        # Two tiers: four links, three switches.
        ([("200Gbps", 150_000)] * 4, 300_000, FRAMING, 95_200, 103 * 40_000 + 4 * 150_000 + 3 * 300_000),
        # From 10 Mb/s to 1.6 Tb/s and back.
        (
            [("10Mbps", 0), ("1600Gbps", 0), ("1600Gbps", 0), ("10Mbps", 5)],
            0,
            FRAMING,
            2000,
            # 1000 B, 1000 B and 96 + 48 B at 800 ns a byte, then the first two again beside them; 5 ps a byte.
            1000 * 800_000 + 2 * 1000 * 5 + 2 * 1000 * 800_000 + 144 * 800_000 + 5,
        ),
    ],
)
def test_one_flow_alone_in_numbers(
    links: Sequence[tuple[str, int]], switch_ps: int, framing: dict[str, int], size_bytes: int, fct_ps: int
) -> None:
    """`chain_times` equals results computed by hand for each case, which tests the formula itself."""
    assert chain_times(links, switch_ps, framing, size_bytes)[0] == fct_ps
    one_flow(links, switch_ps, framing, size_bytes)


@settings(max_examples=120, derandomize=True)
@given(
    links=st.lists(
        st.tuples(st.sampled_from(sorted(RATES)), st.sampled_from([0, 1, 999, 150_000, 1_000_000, 54_321_987])),
        min_size=2,
        max_size=4,
    ).filter(lambda links: len(links) != 3),
    switch_ps=st.sampled_from([0, 1, 300_000, 12_345_678]),
    framing=st.fixed_dictionaries(
        {
            "payload": st.sampled_from([256, 1000, 1460, 4096, 9000]),
            "header": st.sampled_from([0, 28, 48]),
            "preamble_and_ifg": st.sampled_from([0, 20]),
            "control_frame_size": st.sampled_from([64, 84]),
            "min_frame_size": st.sampled_from([64, 100]),
        }
    ),
    size_bytes=st.integers(1, 120_000),
)
def test_one_flow_alone(
    links: Sequence[tuple[str, int]], switch_ps: int, framing: dict[str, int], size_bytes: int
) -> None:
    """As `chain_times` derives, for two and four links of any rates and delays."""
    one_flow(links, switch_ps, framing, size_bytes)


INCASTS = [(2, 7 * 952), (3, 952 * 20), (8, 952 * 5 + 1), (16, 952 * 3 + 500)]


@pytest.mark.parametrize(("senders", "size_bytes"), INCASTS)
@pytest.mark.parametrize("queueing", ["oq", "voq", "iq"])
def test_incast_completion(queueing: str, senders: int, size_bytes: int) -> None:
    """N senders of n packets each, at once, through one switch without pauses or drops.

    The first packets arrive at S + d + s with S = ser(1000 B), all together. From then on N packets arrive in each S
    while one leaves, so that the output never idles. The packets before the last round occupy the output for (n −
    1)·N·S; then all packets of the last round wait, with r = ser(last) each. The k-th flow to end, k = 1…N, ends at S +
    d + s + (n − 1)·N·S + k·r + d; the mean has (N + 1)/2 in place of k. Ties are broken by port.
    """
    switch_ps, delay_ps, full_ps = 300_000, 1_000_000, 80_000
    packets = -(-size_bytes // 952)
    last_ps = 80 * max(size_bytes - (packets - 1) * 952 + 48, 64)
    result = xoff.run(
        {
            "network": {"star": {"hosts": senders + 1, "link": {"rate": "100Gbps", "delay": f"{delay_ps}ps"}}},
            "framing": PLAIN,
            "switch": {"forwarding_latency": f"{switch_ps}ps", "queueing": queueing},
            "host": NO_TIMEOUT,
            "workload": [{"incast": {"senders": list(range(1, senders + 1)), "receiver": 0, "size": f"{size_bytes}B"}}],
        }
    )
    first_ps = full_ps + delay_ps + switch_ps + (packets - 1) * senders * full_ps + delay_ps
    expected = [first_ps + k * last_ps for k in range(1, senders + 1)]
    assert [row["fct_ps"] for row in flow_rows(result)] == expected
    assert result.summary["fct_ps"]["max"] == expected[-1]
    assert result.summary["fct_ps"]["mean"] == sum(expected) // senders


@pytest.mark.parametrize(("senders", "size_bytes"), INCASTS)
def test_incast_over_two_tiers(senders: int, size_bytes: int) -> None:
    """`test_incast_completion` with a spine for each sender.

    Packets queue at the last switch alone, so only the distance changes: three links and switches instead of one.
    """
    switch_ps, delay_ps, full_ps = 300_000, 150_000, 80_000
    packets = -(-size_bytes // 952)
    last_ps = 80 * max(size_bytes - (packets - 1) * 952 + 48, 64)
    flows = [
        {"src": f"host{i}", "dst": f"host{senders}", "size": f"{size_bytes}B", "via": ["leaf0", f"spine{i}", "leaf1"]}
        for i in range(senders)
    ]
    result = xoff.run(
        {
            "network": {
                "leaf_spine": {
                    "leaves": 2,
                    "spines": senders,
                    "hosts_per_leaf": senders,
                    "link": {"rate": "100Gbps", "delay": f"{delay_ps}ps"},
                }
            },
            "framing": PLAIN,
            "switch": {"forwarding_latency": f"{switch_ps}ps"},
            "host": NO_TIMEOUT,
            "workload": [{"flows": flows}],
        }
    )
    first_ps = 3 * (full_ps + delay_ps + switch_ps) + (packets - 1) * senders * full_ps + delay_ps
    expected = [first_ps + k * last_ps for k in range(1, senders + 1)]
    assert [row["fct_ps"] for row in flow_rows(result)] == expected


def held_queue(ecn: dict[str, Any], packets: int = 12_000) -> tuple[xoff.Result, list[int]]:
    """Holds a queue by a window before a slow link, and returns the queue left behind by each packet.

    The rate cannot fall below the line rate, so that marks change nothing. 64 packets are in flight at any time: one on
    the short path of the slow link, all others in the queue.
    """
    line = {"rate": "100Gbps", "delay": "0ns"}
    dcqcn = {"preset": "hpcc", "minimum_rate": "100Gbps", "cnp": "ack", "cnp_interval": "0ns", "window": "60928B"}
    result = xoff.run(
        {
            "network": {
                "explicit": {
                    "nodes": [
                        {"name": "host0", "kind": "host"},
                        {"name": "host1", "kind": "host"},
                        {"name": "s", "kind": "switch"},
                    ],
                    "links": [{"a": "host0", "b": "s", **line}, {"a": "s", "b": "host1", **line, "rate": "10Gbps"}],
                }
            },
            "framing": PLAIN,
            "switch": {"ecn": ecn},
            "host": NO_TIMEOUT | {"congestion_control": {"dcqcn": dcqcn}},
            "workload": [{"flows": [{"src": "host0", "dst": "host1", "size": f"{packets * 952}B"}]}],
            "probe": {"packets": True},
        }
    )
    left = [count for row, count in egress_counts(result, "s", {0: 1}) if row.event == "depart"]
    assert len(left) == packets
    return result, left


def marked(result: xoff.Result) -> int:
    """Packets marked; with a bit on the ACK of each, the sender heard of all of them."""
    count: int = sum(result.queues["marked"].to_pylist())
    assert flow_rows(result)[0]["notifications"] == count == result.summary["ecn"]["marked"]
    return count


def test_red_marks_half_of_pmax_in_the_middle() -> None:
    """A queue held at (Kmin + Kmax)/2 is marked with probability Pmax/2.

    With 62 packets left behind all the time, Kmin = 42 and Kmax = 82 packets, each packet is marked with
    probability p = 0.5·20/40; over n packets the count has mean n·p and variance n·p·(1 − p). Five deviations are
    allowed.
    """
    result, left = held_queue({"red": {"kmin": "42000B", "kmax": "82000B", "pmax": 0.5}})
    held = [count for count in left if count == 62_000]
    assert len(held) > 0.98 * len(left)
    probabilities = [min(max((count - 42_000) / 40_000, 0.0), 1.0) * 0.5 for count in left]
    mean, variance = sum(probabilities), sum(p * (1 - p) for p in probabilities)
    assert abs(mean / len(left) - 0.25) < 0.005
    assert abs(marked(result) - mean) < 5 * variance**0.5


@pytest.mark.parametrize("threshold", [0, 1000, 30_000, 61_999, 62_000, 62_001])
@pytest.mark.parametrize("kind", ["step", "red"])
def test_everything_above_the_upper_threshold_is_marked(kind: str, threshold: int) -> None:
    """A packet that leaves more than the threshold behind is marked, and no other, for a step and for RED's Kmax.

    Exact, since Kmin = Kmax leaves nothing to chance. 62 packets are left behind most of the time, never more.
    """
    size = f"{threshold}B"
    ecn = {"step": {"threshold": size}} if kind == "step" else {"red": {"kmin": size, "kmax": size, "pmax": 0.2}}
    result, left = held_queue(ecn, packets=500)
    expected = sum(count > threshold for count in left)
    assert marked(result) == expected
    assert expected == 0 if threshold >= 62_000 else expected > 300


LINE_BPS = 100e9


def notified_flow(dcqcn: dict[str, Any], bottleneck: str, packets: int) -> tuple[xoff.Result, int]:
    """Runs a flow into a link that marks every packet before a queue, and returns the first notification's time."""
    result = xoff.run(
        {
            "network": {
                "explicit": {
                    "nodes": [
                        {"name": "host0", "kind": "host"},
                        {"name": "host1", "kind": "host"},
                        {"name": "s", "kind": "switch"},
                    ],
                    "links": [
                        {"a": "host0", "b": "s", "rate": "100Gbps", "delay": "0ns"},
                        {"a": "s", "b": "host1", "rate": bottleneck, "delay": "0ns"},
                    ],
                }
            },
            "framing": {"payload": "152B", "header": "48B", "control_frame_size": "64B", "min_frame_size": "64B"},
            "switch": {"ecn": {"step": {"threshold": "0B"}}},
            "host": NO_TIMEOUT | {"congestion_control": {"dcqcn": {"preset": "hpcc", "cnp": "ack", **dcqcn}}},
            "workload": [{"flows": [{"src": "host0", "dst": "host1", "size": f"{packets * 152}B"}]}],
            "probe": {"packets": True},
        }
    )
    first = next(row.seq for row, left in egress_counts(result, "s", {0: 1}) if row.event == "depart" and left > 0)
    # ACKs name the next expected packet.
    heard = next(row.time_ps for row in events(result, "host0", "ack") if row.seq == first + 1)
    return result, heard


def gaps_by_time(result: xoff.Result) -> list[tuple[int, int]]:
    """Departure of each packet from the sender, and the time to the next departure."""
    return [(now, then - now) for now, then in pairwise(departures(result, "host0", 0))]


def test_one_isolated_notification() -> None:
    """One notification, preset `hpcc`: C until 4 µs later, then 0.5078·C, then half way back to C each 300 µs.

    It sets alpha to 1 and arms the decrease timer; alpha·255/256 each µs without another, four times before the
    cut: C·(1 − ½·(255/256)⁴). Each increase timer averages rate and target, C; the additive increase changes nothing.
    Packets leave 200 B apart at the rate of the moment at which the one before was sent.
    """
    result, heard_ps = notified_flow({"cnp_interval": "1s"}, "20Gbps", packets=52_000)
    assert flow_rows(result)[0]["notifications"] == 1
    low = LINE_BPS * (1 - 0.5 * (255 / 256) ** 4)
    assert abs(low / LINE_BPS - 0.5078) < 5e-5
    cut_ps = heard_ps + 4_000_000
    seen = [0] * 3
    for now_ps, gap_ps in gaps_by_time(result):
        if now_ps < cut_ps:
            assert gap_ps == 16_000
            continue
        step = (now_ps - cut_ps) // 300_000_000
        if step < len(seen):
            rate = LINE_BPS - (LINE_BPS - low) / 2**step
            assert gap_ps == int(1600e12 / rate)
            seen[step] += 1
    assert all(count > 1000 for count in seen)


def test_notifications_on_every_ack() -> None:
    """Every ACK carries a notification: alpha stays 1 and the rate halves each 4 µs down to the minimum.

    The bottleneck sends a 200 B packet each 0.8 µs, slower than the minimum rate, so that every packet is marked and at
    least one notification falls into each alpha interval of 1 µs.
    """
    result, heard_ps = notified_flow({"cnp_interval": "0ns", "minimum_rate": "2500Mbps"}, "2Gbps", packets=3000)
    seen = set()
    for now_ps, gap_ps in gaps_by_time(result):
        cuts = max(0, (now_ps - heard_ps) // 4_000_000)
        rate = max(LINE_BPS / 2**cuts, 2.5e9)
        assert gap_ps == int(1600e12 / rate)
        seen.add(rate)
    assert sorted(seen) == [2.5e9, 3.125e9, 6.25e9, 12.5e9, 25e9, 50e9, 100e9]


@pytest.mark.parametrize("preset", ["conweave", "hpcc"])
def test_flows_under_dcqcn_share_fairly(preset: str) -> None:
    """N flows that start together get C/N each in the long run: Jain's index (Σx)²/(N·Σx²) above 0.95.

    With four 25 Gb/s senders and one 25 Gb/s receiver, over the second half of 8 ms.
    """
    result = xoff.run(
        {
            "network": {"star": {"hosts": 5, "link": {"rate": "25Gbps", "delay": "1us"}}},
            "framing": {"payload": "4000B"},
            "switch": {"ecn": {"red": {"kmin": "40KB", "kmax": "160KB", "pmax": 0.2}}},
            "host": NO_TIMEOUT | {"congestion_control": {"dcqcn": {"preset": preset}}},
            "workload": [{"incast": {"senders": [1, 2, 3, 4], "receiver": 0, "size": "1GB"}}],
            "probe": {"packets": True},
            "until": "8ms",
        }
    )
    shares = [sum(now > 4 * 10**9 for now in arrivals(result, "host0", flow)) for flow in range(4)]
    jain = sum(shares) ** 2 / (4 * sum(share**2 for share in shares))
    assert jain > 0.95, shares
    # And the link is in use: 4 ms at 25 Gb/s are 3088 packets of 4048 B.
    assert sum(shares) > 0.8 * 3088


@pytest.mark.parametrize(("payload_bytes", "about_peak", "about_trough"), [(4000, 348_000, 100_000), (500, None, None)])
def test_sfc_saw_tooth(payload_bytes: int, about_peak: int | None, about_trough: int | None) -> None:
    """The egress queue under SFC, `oq`, N = 3 senders at C = 200 Gb/s, L = 3 links away, X = 200 KB, pause 10 µs.

    From the trigger until the pauses take effect the queue grows by (N − 1)·C·(RTT + (L − 1)·packet time), RTT =
    2L·150 ns + (2L − 1)·300 ns = 2.4 µs: the messages' way back and the packets' way there, which waits for a whole
    packet at each of L − 1 switches on the way. Then the sources are silent for the pause: it falls by C·pause.
    Counted in whole packets, by N senders: within N + 1 packets (peak), and N more (trough), but what lies between them
    within one. At 4 KB packets that is about 348 and 100 KB, and as packets shrink 320 and 70 KB.
    """
    result = xoff.run(
        {
            "network": {
                "leaf_spine": {
                    "leaves": 2,
                    "spines": 3,
                    "hosts_per_leaf": 3,
                    "link": {"rate": "200Gbps", "delay": "150ns"},
                }
            },
            "framing": {"payload": f"{payload_bytes}B", "header": "48B"},
            "switch": {
                "forwarding_latency": "300ns",
                "flow_control": {"sfc": {"threshold": "200KB", "pause": "10us", "interval": "10us"}},
            },
            "host": NO_TIMEOUT,
            "workload": [
                {
                    "flows": [
                        {"src": f"host{i}", "dst": "host3", "size": "2MB", "via": ["leaf0", f"spine{i}", "leaf1"]}
                        for i in range(3)
                    ]
                }
            ],
            "probe": {"packets": True},
        }
    )
    wire = payload_bytes + 48
    growth = 2 * (2_400_000 + 2 * wire * 40) // 40
    peak_expected = 200_000 + growth
    trough_expected = peak_expected - 250_000
    # The first tooth: until the queue first returns to its threshold, then down to its minimum.
    depths = [(row.time_ps, count) for row, count in egress_counts(result, "leaf1", dict.fromkeys(range(3), 0))]
    top = max(depths[: len(depths) // 3], key=lambda point: point[1])
    trough = min(count for time_ps, count in depths if top[0] < time_ps < top[0] + 14_000_000)
    assert abs(top[1] - peak_expected) <= 4 * wire
    assert abs(trough - trough_expected) <= 7 * wire
    assert abs(top[1] - trough - 250_000) <= wire
    assert top[1] == max(row["max_bytes"] for row in result.queues.to_pylist() if row["node"] == "leaf1")
    if about_peak is not None and about_trough is not None:
        assert abs(top[1] - about_peak) <= wire
        assert abs(trough - about_trough) <= 3 * wire
    else:
        assert abs(top[1] - 320_000) <= 9000
        assert abs(trough - 70_000) <= 9000


@pytest.mark.parametrize("rates", [("10Gbps", "100Gbps"), ("100Gbps", "10Gbps"), ("100Gbps", "100Gbps")])
def test_a_flow_alone_has_no_slowdown(rates: tuple[str, str]) -> None:
    """`ideal_fct_ps` is the time of the flow alone. A short last packet after the slowest link takes its own time only.

    10 -> 100 Gb/s, 1000 B and 64 B: 800 + 80 (first packet) against 851.2 + 5.12 ns (last), not 851.2 + 80.
    """
    nodes = [{"name": "a", "kind": "host"}, {"name": "b", "kind": "host"}, {"name": "s", "kind": "switch"}]
    links = [
        {"a": "a", "b": "s", "rate": rates[0], "delay": "0ns"},
        {"a": "s", "b": "b", "rate": rates[1], "delay": "0ns"},
    ]
    result = xoff.run(
        {
            "network": {"explicit": {"nodes": nodes, "links": links}},
            "framing": {"payload": "952B"},
            "workload": [{"flows": [{"src": "a", "dst": "b", "size": "953B"}]}],
        }
    )
    (row,) = result.flows.to_pylist()
    assert row["ideal_fct_ps"] == row["fct_ps"]
