"""Marking thresholds and buffer sizes: closed forms with their sources, and runs that measure the same values.

``size ecn``. DCTCP keeps a link busy if marking begins above C · RTT / 7. The queue is then at most that threshold and
a packet of each flow, and falls by half the root of 2 N (C · RTT + K) packets (M. Alizadeh et al., "Data Center TCP",
SIGCOMM 2010, equations 8 to 13). Thresholds of DCQCN are published values scaled by the rate: of its paper (Y. Zhu et
al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, at 40 Gb/s) and of the evaluation of HPCC (Y.
Li et al., SIGCOMM 2019, at 25 Gb/s). NSCC marks between a fifth and four fifths of a bandwidth-delay product (Ultra
Ethernet Specification 1.0). Under PFC, marks must come before pauses for any distribution of the memory: below the
threshold β (B − c n h) / (c n (β + 1)), for n ports, c classes, headroom h and a dynamic threshold of factor β (the
paper of DCQCN, section 4).

``size buffer``. N senders at the rate of the link begin at once with a window W each: (N − 1) W bytes queue. Long flows
with sawtooth windows need C · RTT / √N (G. Appenzeller, I. Keslassy and N. McKeown, "Sizing Router Buffers", SIGCOMM
2004), and under DCTCP K and a packet of each flow. A lossless port needs the headroom of PFC in addition, per class.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xoff import formatting, running
from xoff._core import InputError
from xoff.formatting import literal
from xoff.sizing import headroom
from xoff.sizing.remedies import Change, ChangeError

# 5 ns a metre, as in scenarios.
_PS_PER_METRE = 5_000
CONTROLS = ("dctcp", "dcqcn", "nscc")
# In round trips. The first `_SETTLING` are not measured; `_MEASURED` is long: 1 % of it is four round trips.
_SETTLING, _MEASURED = 100, 400
_NEEDED = 0.99


@dataclass(frozen=True, slots=True)
class Path:
    """The path through a queue: rate, round trip and frame size."""

    rate_bps: int
    round_trip_ps: int
    """The longest round trip, without queues."""
    frame_bytes: int
    """Size of the largest frame."""

    @property
    def product_bytes(self) -> int:
        """The bandwidth-delay product, rounded up: the bytes in flight when the link is busy and no packet queues."""
        return -(-self.rate_bps * self.round_trip_ps // (8 * 10**12))


def quantity(option: str, text: str, unit: str, least: int, most: int) -> int:
    """Reads an option with a unit. A time may be a length, which stands for its propagation delay.

    Raises `InputError` if the text is not a quantity of this unit, or is out of range.
    """
    metres = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?m", text) if unit == "ps" else None
    found = (round(float(metres[1]) * _PS_PER_METRE), "ps") if metres else formatting.quantity(text)
    if text == "0":
        found = (0, unit)
    if found is None or found[1] != unit:
        example = {"ps": "8us", "bytes": "4096B", "bps": "100Gbps"}[unit]
        raise ChangeError(option, f"{literal(text)} is not a quantity", Change(option, example, "for example"))
    if not least <= found[0] <= most:
        ends = [formatting.quantity_text(end, unit) for end in (least, most)]
        nearest = Change(option, ends[found[0] > most], "the nearest value")
        raise ChangeError(option, f"{text} is out of range; allowed are {ends[0]} to {ends[1]}", nearest)
    return found[0]


def of_scenario(scenario: running.Source, overrides: running.Overrides = ()) -> Path:
    """Returns the fastest line of a host of a scenario, its longest round trip, and the largest frame.

    Raises `InputError` if the scenario has no hosts whose round trip could be worked out.
    """
    prepared = running.prepare(scenario, overrides=overrides)
    document = prepared.document
    # The default of DCTCP's round trip is the round trip of the network.
    host = {**document.get("host", {}), "congestion_control": {"dctcp": {}}}
    host["transport"] = {"go_back_n": {}}
    probe = {**document, "host": host}
    switch = dict(document.get("switch", {}))
    switch["ecn"] = {"step": {"threshold": "1MB"}}
    probe["switch"] = switch
    settled = running.check(probe, tables=prepared.tables)["settled"]
    trips = [row for row in settled if row["key"] == "host.congestion_control.dctcp.round_trip"]
    if not trips:
        raise InputError("scenario: no two hosts are connected, so no round trip follows; give --round-trip")
    fastest = max(trips, key=lambda row: (formatting.quantity(row["line"]) or (0, ""))[0])
    size = {key: (formatting.quantity(text) or (0, ""))[0] for key, text in document["framing"].items()}
    frame = max(size["payload"] + size["header"], size["min_frame_size"]) + size["preamble_and_ifg"]
    rate, trip = (formatting.quantity(fastest[key]) or (0, "") for key in ("line", "value"))
    return Path(rate[0], trip[0], frame)


def ecn(path: Path, control: str, flows: int, *, memory: Mapping[str, int | float] | None = None) -> dict[str, Any]:
    """Returns the thresholds at which marking begins and ends, each with its source.

    memory: a shared buffer under PFC: ``total_bytes``, ``ports``, ``classes``, ``headroom_bytes``, ``alpha``.
    """
    product, frame = path.product_bytes, path.frame_bytes
    least = max(-(-product // 7), 2 * frame)
    swing = round(math.sqrt(2 * flows * (product + least) / frame) / 2 * frame)
    answer: dict[str, Any] = {
        "rate_bps": path.rate_bps,
        "round_trip_ps": path.round_trip_ps,
        "product_bytes": product,
        "rows": [],
        "warnings": [],
    }
    if control == "dctcp":
        answer["rows"] = [
            _row(
                "least threshold that keeps the link busy (C · RTT / 7)", least, least, 1.0, "DCTCP, SIGCOMM 2010, (13)"
            ),
        ]
        answer["queue_max_bytes"] = least + flows * frame
        answer["queue_min_bytes"] = max(0, least + flows * frame - swing)
    elif control == "dcqcn":
        at40, at25 = path.rate_bps / 40e9, path.rate_bps / 25e9
        answer["rows"] = [
            _row(
                "of the paper, by rate",
                round(5_000 * at40),
                round(200_000 * at40),
                0.01,
                "DCQCN, SIGCOMM 2015, 40 Gb/s",
            ),
            _row(
                "of HPCC's code, by rate",
                round(100_000 * at25),
                round(400_000 * at25),
                0.2,
                "HPCC, SIGCOMM 2019, 25 Gb/s",
            ),
        ]
    else:
        answer["rows"] = [
            _row("a fifth and four fifths of a product", product // 5, 4 * product // 5, 1.0, "Ultra Ethernet 1.0")
        ]
    if memory is not None:
        bound = below_pfc(memory)
        if bound < 1:
            raise _no_threshold(memory)
        answer["below_pfc_bytes"] = bound
        answer["memory"] = dict(memory)
        for row in answer["rows"]:
            if row["kmin_bytes"] > bound:
                answer["warnings"].append(
                    f"{row['what']}: {formatting.size(row['kmin_bytes'])} is above {formatting.size(bound)}: "
                    "if all ports fill, PFC pauses before switches mark"
                )
    return answer


def _no_threshold(memory: Mapping[str, int | float]) -> ChangeError:
    """Returns the error of a buffer that headroom fills: no marks can precede pauses."""
    queues = memory["classes"] * memory["ports"]
    reserved = queues * memory["headroom_bytes"]
    # The threshold is a byte at least.
    least = math.ceil(reserved + queues * (1 + memory["alpha"]) / memory["alpha"])
    changes = [Change("--buffer", f"{least}B", "the smallest with a threshold")]
    classes = int((memory["total_bytes"] / memory["ports"]) / (memory["headroom_bytes"] + 1 + 1 / memory["alpha"]))
    if classes >= 1:
        changes.append(Change("--classes", str(classes), "the number of lossless classes"))
    queue = f"{memory['ports']} ports with {memory['classes']} lossless classes"
    each = f"{formatting.size(memory['headroom_bytes'])} of headroom each reserve {formatting.size(reserved)}"
    return ChangeError(
        "--buffer",
        f"{formatting.size(memory['total_bytes'])} leave no threshold below that of PFC, because {queue} and {each}",
        *changes,
    )


def check_rows(scenario: running.Source, overrides: running.Overrides, control: str, answer: dict[str, Any]) -> None:
    """Adds the warnings of `xoff check` for the marks of each row. One function decides on the warnings of both."""
    given = list(overrides.items()) if isinstance(overrides, Mapping) else list(overrides)
    for row in answer["rows"]:
        red = {"kmin": f"{row['kmin_bytes']}B", "kmax": f"{row['kmax_bytes']}B", "pmax": row["pmax"]}
        marked = [*given, ("switch.ecn", {"red": red})]
        try:
            # The marks are for this congestion control, even if the scenario has another one.
            found = running.check(scenario, overrides=[*marked, ("host.congestion_control", {control: {}})])
        except InputError:
            found = running.check(scenario, overrides=marked)
        told = dict.fromkeys(one["message"] for one in found["warnings"] if one["path"].startswith("switch.ecn"))
        answer["warnings"] += [f"{row['what']}: {formatting.size(row['kmin_bytes'])}: {message}" for message in told]


def _row(what: str, kmin: int, kmax: int, pmax: float, source: str) -> dict[str, Any]:
    return {"what": what, "kmin_bytes": kmin, "kmax_bytes": kmax, "pmax": pmax, "source": source}


def below_pfc(memory: Mapping[str, int | float]) -> int:
    """Returns the threshold below which marks come before pauses, however memory is distributed.

    The threshold is negative if headroom takes the whole buffer.
    """
    queues = memory["classes"] * memory["ports"]
    free = memory["total_bytes"] - queues * memory["headroom_bytes"]
    return math.floor(memory["alpha"] * free / (queues * (memory["alpha"] + 1)))


def buffer(
    path: Path, flows: int, incast: int | None, window: int | None, headroom_bytes: int | None, classes: int
) -> dict[str, Any]:
    """Returns the bytes a port needs for long flows and for an incast, and with PFC's headroom for losing nothing.

    incast: the number of senders that begin at once, each with a window of `window` bytes (a bandwidth-delay product if
        None).
    """
    product, frame = path.product_bytes, path.frame_bytes
    first = -(-(window if window is not None else product) // frame) * frame
    mark = max(-(-product // 7), 2 * frame)
    rows: list[dict[str, Any]] = [
        {"what": f"{flows:,} long flows with windows in sawtooth (C · RTT / √N)",
         "bytes": math.ceil(product / math.sqrt(flows)), "source": "Appenzeller et al., SIGCOMM 2004"},
        {"what": f"{flows:,} long flows under DCTCP (K and a packet of each)", "bytes": mark + flows * frame,
         "source": "DCTCP, SIGCOMM 2010, (10)"},
    ]  # fmt: skip
    if incast is not None:
        rows.append({
            "what": f"{incast:,} senders start together, with {formatting.size(first)} each ((N − 1) · W)",
            "bytes": (incast - 1) * first, "source": "arrivals at N times the rate for W / C",
        })  # fmt: skip
    answer = {
        "rate_bps": path.rate_bps,
        "round_trip_ps": path.round_trip_ps,
        "product_bytes": product,
        "window_bytes": first,
        "rows": rows,
    }
    if headroom_bytes is not None:
        most = max(row["bytes"] for row in rows)
        answer["headroom_bytes"] = classes * headroom_bytes
        answer["lossless_bytes"] = most + classes * headroom_bytes
    return answer


def pfc_headroom(path: Path, link_delay: str, switch_delay: str) -> int:
    """Returns the headroom in bytes of a link of this rate, as ``size pfc`` computes it."""
    rate = formatting.quantity_text(path.rate_bps, "bps")
    request = {
        "rate": rate,
        "link_delay": link_delay,
        "switch_delay": switch_delay,
        "max_frame": f"{path.frame_bytes}B",
    }
    return int(headroom.calculate(request)["headroom_bytes"])


def verify_ecn(path: Path, control: str, rows: Sequence[Mapping[str, Any]], flows: int) -> list[dict[str, Any]]:
    """Measures the utilisation of a link with long flows and these marks; for DCTCP also with shares of the threshold.

    Returns for each ``kmin_bytes``, ``kmax_bytes``, ``busy`` (a share, without the first hundred round trips) and
    ``queue_max_bytes`` (the first hundred round trips included, in which flows begin at the rate of the link).
    """
    marks = [(row["kmin_bytes"], row["kmax_bytes"], row["pmax"]) for row in rows]
    if control == "dctcp":
        parts = [marks[0][0] // 8, marks[0][0] // 4, marks[0][0] // 2, marks[0][0], 2 * marks[0][0]]
        marks = [(part, part, 1.0) for part in dict.fromkeys(max(part, path.frame_bytes) for part in parts)]
    return [_marked(path, control, one, flows) for one in marks]


def _marked(path: Path, control: str, marks: tuple[int, int, float], flows: int) -> dict[str, Any]:
    begin, end = _SETTLING * path.round_trip_ps, (_SETTLING + _MEASURED) * path.round_trip_ps
    red = {"kmin": f"{marks[0]}B", "kmax": f"{marks[1]}B", "pmax": marks[2]}
    size = 2 * path.rate_bps * end // (8 * 10**12)
    scenario = _star(path, flows) | {
        "switch": {"buffer": "unlimited", "ecn": {"red": red}},
        "host": {"congestion_control": {control: {}}} | ({"transport": {"selective": {}}} if control == "nscc" else {}),
        "workload": [{"incast": {"senders": list(range(1, flows + 1)), "receiver": 0, "size": f"{size}B"}}],
    }
    sent, deepest = [], 0
    for until in (begin, end):
        result = running.run(scenario | {"until": f"{until}ps"})
        sent.append(next(row["busy_ps"] for row in result.links.to_pylist() if row["peer"] == "host0"))
        deepest = max(result.queues["max_bytes"].to_pylist(), default=0)
    return {
        "kmin_bytes": marks[0],
        "kmax_bytes": marks[1],
        "busy": (sent[1] - sent[0]) / (end - begin),
        "queue_max_bytes": deepest,
    }


def is_busy(row: Mapping[str, Any]) -> bool:
    """Whether a measured link was busy for at least 99 % of the time."""
    return bool(row["busy"] >= _NEEDED)


def verify_buffer(path: Path, incast: int, window: int) -> dict[str, Any]:
    """Measures the least buffer in which an incast of `incast` windows loses no packet, in steps of a frame."""
    frame = path.frame_bytes
    window = -(-window // frame) * frame
    runs = 0

    def loses(frames: int) -> bool:
        nonlocal runs
        runs += 1
        scenario = _star(path, incast) | {
            "framing": _framing(frame),
            "switch": {"buffer": {"per_port": f"{frames * frame}B"}},
            "host": {"transport": {"raw": {}}},
            "workload": [{"incast": {"senders": list(range(1, incast + 1)), "receiver": 0, "size": f"{window}B"}}],
            "audits": {"completion": "record"},
        }
        return bool(running.run(scenario).summary["drops"])

    low, high = 0, incast * window // frame
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if loses(middle) else (low, middle)
    return {"lossless_bytes": high * frame, "lossy_bytes": low * frame, "runs": runs}


def _framing(frame: int) -> dict[str, str]:
    return {"payload": f"{frame}B", "header": "0B", "min_frame_size": f"{min(frame, 64)}B"}


def _star(path: Path, senders: int) -> dict[str, Any]:
    """Returns a star of senders and a receiver with the requested round trip, or the least that frames allow."""
    # A round trip is two links there and two back; a frame and its acknowledgement are serialised twice each.
    sending = 2 * (path.frame_bytes + 64) * 8 * 10**12 // path.rate_bps
    delay = max(1000, (path.round_trip_ps - sending) // 4)
    rate = formatting.quantity_text(path.rate_bps, "bps")
    return {
        "network": {"star": {"hosts": senders + 1, "link": {"rate": rate, "delay": f"{delay}ps"}}},
        "framing": {"payload": f"{path.frame_bytes - 48}B" if path.frame_bytes > 100 else f"{path.frame_bytes}B"},
    }
