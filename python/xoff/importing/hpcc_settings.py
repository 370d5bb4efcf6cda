"""The file of settings of the HPCC family: ``KEY value …`` in any order.

A word that is no key is passed over, as it is there, so that remarks may stand behind values; at the beginning of a
line it is told of. A key that stands twice has its last value. What is said of the simulators was read in their code.
"""

from __future__ import annotations

import math
import re
from collections import deque
from decimal import Decimal

from xoff.importing.document import Table, Value, rate, size, time
from xoff.importing.hpcc_network import Network
from xoff.importing.notes import Notes
from xoff.importing.source import Source, Words, shown
from xoff.study import settings as known

_MICROSECOND = 10**6
_SECOND = 10**12
_MAPS = ("KMIN_MAP", "KMAX_MAP", "PMAX_MAP")
_MAX_ENTRIES = 1000
# Headers of data, what telemetry adds by CC_MODE, and ACKs.
_HEADER_BYTES = 48
_STAMP_BYTES = {3: 42, 7: 8}
_ACK_BYTES = {3: 88}
_MEGABYTE = 1024 * 1024

_OUTPUTS = (
    *("TRACE_FILE", "TRACE_OUTPUT_FILE", "FCT_OUTPUT_FILE", "PFC_OUTPUT_FILE", "QLEN_MON_FILE", "QLEN_MON_START"),
    *("QLEN_MON_END", "ENABLE_TRACE", "FLOW_INPUT_FILE", "CNP_OUTPUT_FILE", "VOQ_MON_FILE", "VOQ_MON_DETAIL_FILE"),
    *("UPLINK_MON_FILE", "CONN_MON_FILE", "EST_ERROR_MON_FILE", "SW_MONITORING_INTERVAL"),
)
# What a setting does there whatever its value.
_WITHOUT_EFFECT = {
    **dict.fromkeys(_OUTPUTS, "what is written down is chosen by `[probe]` here, and where by `xoff run --out`"),
    **dict.fromkeys(("DATA_RATE", "LINK_DELAY", "LOAD"), "has no effect there"),
    "TOPOLOGY_FILE": "the topology that `xoff import` was given is taken",
    "FLOW_FILE": "the flows that `xoff import` was given are taken",
    "PAUSE_TIME": "pauses last until the resume there, whatever it says; so they do here",
    "USE_DYNAMIC_PFC_THRESHOLD": "thresholds follow the free buffer there, whatever it says; so they do here",
    "L2_CHUNK_SIZE": "has an effect with L2_BACK_TO_ZERO, or an L2_ACK_INTERVAL above 1",
    "FLOWGEN_STOP_TIME": "flows are in their file; the run ends when all are done",
}
# Settings of which xoff models one value, and what is said of others.
_ONE_VALUE = {
    "L2_ACK_INTERVAL": ("1", "every packet is acknowledged here"),
    "L2_BACK_TO_ZERO": ("0", "a loss takes the sender back to the lost packet here, not to the beginning of its chunk"),
    "RATE_BOUND": ("1", "flows are paced here"),
}
_CONTROLS: dict[int, tuple[str, dict[str, str]]] = {
    1: (
        "dcqcn",
        {
            "EWMA_GAIN": "g",
            "ALPHA_RESUME_INTERVAL": "alpha_interval",
            "RATE_DECREASE_INTERVAL": "decrease_interval",
            "RP_TIMER": "increase_interval",
            "FAST_RECOVERY_TIMES": "fast_recovery_steps",
            "RATE_AI": "additive_increase",
            "RATE_HAI": "hyper_increase",
            "MIN_RATE": "minimum_rate",
            "CLAMP_TARGET_RATE": "clamp_target",
        },
    ),
    3: (
        "hpcc",
        {"U_TARGET": "eta", "MI_THRESH": "max_stage", "RATE_AI": "additive_increase", "MIN_RATE": "minimum_rate"},
    ),
    10: (
        "hpcc_pint",
        {
            "U_TARGET": "eta",
            "MI_THRESH": "max_stage",
            "RATE_AI": "additive_increase",
            "MIN_RATE": "minimum_rate",
            "PINT_PROB": "probability",
        },
    ),
    7: ("timely", {"RATE_AI": "additive_increase", "RATE_HAI": "hyper_increase", "MIN_RATE": "minimum_rate"}),
    8: ("dctcp", {"EWMA_GAIN": "g", "DCTCP_RATE_AI": "additive_increase", "MIN_RATE": "minimum_rate"}),
}
"""Congestion controls by CC_MODE: their key here, and their settings."""
_NAMES = {1: "DCQCN", 3: "HPCC", 7: "TIMELY", 8: "DCTCP", 10: "HPCC-PINT"}
# How those that have a window, or telemetry, are configured here, and what is said of other values.
_VARIANTS = {
    "HAS_WIN": ("1", "flows have a window here"),
    "VAR_WIN": ("1", "the window follows the rate here"),
    "GLOBAL_T": ("1", "all flows have the longest round trip of the network here"),
    "FAST_REACT": ("1", "each ACK changes the rate here"),
    "MULTI_RATE": ("0", "a flow has one rate here, not one for each hop"),
    "SAMPLE_FEEDBACK": ("0", "telemetry of every packet counts here"),
}
_WINDOW = ("HAS_WIN", "VAR_WIN", "GLOBAL_T")
_BALANCING = {2: ("DRILL", "drill"), 3: ("CONGA", "conga"), 6: ("LetFlow", "flowlet"), 9: ("ConWeave", "conweave")}
_CONWEAVE = {
    "CONWEAVE_TX_EXPIRY_TIME": "expiry",
    "CONWEAVE_REPLY_TIMEOUT_EXTRA": "reply_slack",
    "CONWEAVE_EXTRA_VOQ_FLUSH_TIME": "flush_slack",
    "CONWEAVE_PATH_PAUSE_TIME": "path_pause",
    "CONWEAVE_DEFAULT_VOQ_WAITING_TIME": "flush_default",
}
_OF_CONTROLS = (
    *dict.fromkeys(key for _, keys in _CONTROLS.values() for key in keys),
    *("FAST_REACT", "MULTI_RATE", "SAMPLE_FEEDBACK", "INT_MULTI", "PINT_LOG_BASE", "PINT_PROB"),
)
# All keys, and how many words follow; those of maps say it themselves.
_WORDS = dict.fromkeys(
    (
        *_WITHOUT_EFFECT, *_ONE_VALUE, *_OF_CONTROLS, *_WINDOW, *_CONWEAVE, "ENABLE_QCN", "ENABLE_PFC", "ENABLE_IRN",
        "PACKET_PAYLOAD_SIZE", "SIMULATOR_STOP_TIME", "FLOWGEN_START_TIME", "CC_MODE", "LB_MODE", "BUFFER_SIZE",
        "RANDOM_SEED", "ERROR_RATE_PER_LINK", "ACK_HIGH_PRIO",
    ), 1,
) | {"LINK_DOWN": 3}  # fmt: skip


class Settings:
    """What a file of settings says, and what becomes of it; without a file, PFC and flows at line rate."""

    def __init__(self, source: Source | None, network: Network, notes: Notes, *, is_conweave: bool) -> None:
        self.source = source
        self.notes = notes
        self._network = network
        self._is_conweave = is_conweave
        self._found: dict[str, tuple[list[str], int]] = {}
        if source is not None:
            self._read(source)

    def _read(self, source: Source) -> None:
        words = Words(source)
        began = 0
        for word, line in words.rest():
            if word in _MAPS:
                words.line = line
                entries = words.whole(f"the number of entries of {word}", _MAX_ENTRIES)
                taken = [words.take(f"an entry of {word}") for _ in range(2 * entries)]
            elif word in _WORDS:
                taken = [words.take(f"the value of {word}") for _ in range(_WORDS[word])]
            else:
                if line != began and re.fullmatch("[A-Z][A-Z0-9_]+", word):
                    self.notes.add(source, line, f"{shown(word)} is not known, and passed over there as well")
                began = line
                continue
            began = line
            self._found[word] = (taken, line)

    def begin(self, default: int) -> int:
        """The time there at which traffic begins, in picoseconds."""
        found = self._scaled("FLOWGEN_START_TIME", _SECOND)
        return default if found is None else found

    def top(self, begin: int) -> dict[str, Value]:
        """Settings that stand in no table."""
        found: dict[str, Value] = {}
        if "RANDOM_SEED" in self._found:
            found["seed"] = self._whole("RANDOM_SEED", 1)
        end = self._scaled("SIMULATOR_STOP_TIME", _SECOND)
        if end is not None and end > begin:
            found["until"] = time(end - begin)
        elif end is not None:
            self._say("SIMULATOR_STOP_TIME", "the run would end before traffic begins, and ends when all is done")
        return found

    def tables(self, classes: int) -> list[Table]:
        """All tables but those of network and workloads."""
        if self.source is None:
            framing = Table("framing", self._framing(0, 1000), "Sizes of frames there, without telemetry.")
            comment = "No file of settings was given: nothing is lost, and flows go at line rate."
            return [framing, *self._switch(classes, []), Table("switch.flow_control.pfc", comment=comment)]
        self._say_of_all()
        mode = self._whole("CC_MODE", 1)
        payload = self._whole("PACKET_PAYLOAD_SIZE", 1000)
        framing = Table("framing", self._framing(mode, payload), "Sizes of frames there; they are not padded.")
        switch = [self._buffer(), *self._marks(), *self._flow_control(mode), *self._shares()]
        host = [self._acks(), self._retransmission(payload), self._control(mode, payload)]
        return [framing, *self._switch(classes, [one for one in switch if one]), *(one for one in host if one)]

    def _acks(self) -> Table | None:
        """Where ACKs wait: with the data of their group, unless the file says otherwise; ConWeave has no choice."""
        if self._is_conweave or self._whole("ACK_HIGH_PRIO", 0):
            return None
        if self._weaves(self._whole("CC_MODE", 1)):
            self._say_or_file("ACK_HIGH_PRIO", "ACKs go before data beside ConWeave here")
            return None
        return Table("host", {"acks": "data"}, "ACKs wait with data (ACK_HIGH_PRIO).")

    def _framing(self, mode: int, payload: int) -> dict[str, Value]:
        header = _HEADER_BYTES + (self._pint_bytes() if mode == 10 else _STAMP_BYTES.get(mode, 0))
        ack = _ACK_BYTES.get(mode, 60)
        return {
            "payload": f"{payload}B",
            "header": f"{header}B",
            "control": f"{ack}B",
            "minimum": f"{_HEADER_BYTES + 1}B",
        }

    def _pint_base(self) -> float:
        """The base of what PINT writes; without the setting, that of the program."""
        return float(self._decimal("PINT_LOG_BASE")) if "PINT_LOG_BASE" in self._found else 1.05

    def _pint_bytes(self) -> int:
        """The bytes of a number from 0 to the logarithm of 512²."""
        base = self._pint_base()
        # What xoff refuses takes as many bytes as there may be.
        return math.ceil(math.log2(math.log(512**2) / math.log(base)) / 8) if 1.0002 <= base <= 2 else 2

    def _switch(self, classes: int, tables: list[Table]) -> list[Table]:
        """Tables of switches, below what says how classes take turns if there are several."""
        if classes < 2:
            return tables
        comment = "Priority groups are classes from 0 on, in their order."
        return [Table("switch", {"classes": classes, "scheduler": "round_robin"}, comment), *tables]

    def _say_of_all(self) -> None:
        """Say of every setting that has one meaning here what it is."""
        for key, text in _WITHOUT_EFFECT.items():
            self._say(key, text)
        for key, (value, text) in _ONE_VALUE.items():
            self._say_unless(key, value, text)
        if self._decimal("ERROR_RATE_PER_LINK"):
            self._say("ERROR_RATE_PER_LINK", "links lose no packets at random here")
        if "LINK_DOWN" in self._found and self._found["LINK_DOWN"][0][0] != "0":
            self._say("LINK_DOWN", "links do not fail here")

    def _buffer(self) -> Table:
        """The shared buffer, with the headroom of a port where all ports have the same."""
        megabytes = self._whole("BUFFER_SIZE", 0 if self._is_conweave else 16)
        if not megabytes:
            most = max(self._ports().values(), default=0)
            text = f"no size: 375 kB for each port there; here all switches have what the largest has, {most} ports"
            self._say("BUFFER_SIZE", text) if "BUFFER_SIZE" in self._found else self._say_of_file(
                f"BUFFER_SIZE: {text}"
            )
        total = megabytes * _MEGABYTE or max(self._ports().values(), default=0) * 375_000
        values: dict[str, Value] = {"total": f"{total}B", "alpha": 0.0625 if self._is_conweave else 0.125}
        values["reserve"] = "1048B" if self._is_conweave else "4KiB"
        headrooms = {self._headroom(bps, delay) for a, b, bps, delay in self._network.links}
        if len(headrooms) == 1 and (headroom := headrooms.pop()):
            values["headroom"] = f"{headroom}B"
        else:
            self._say_of_file("headroom of PFC: that of each link is computed here, for what is on its way")
        said = "A port may take this share of what is free (alpha); reserve and headroom are those of each port there."
        return Table("switch.buffer.shared", values, said)

    def _shares(self) -> list[Table]:
        """Of ports that are faster than those of hosts: alpha doubles with the rate."""
        found = []
        for bps in sorted(self._network.switch_rates()):
            doublings = max(0, (bps // max(1, self._network.host_rate())).bit_length() - 1)
            if doublings and not self._is_conweave:
                values: dict[str, Value] = {"rate": rate(bps), "buffer.alpha": min(0.125 * 2**doublings, 1024.0)}
                found.append(Table("switch.overrides", values, is_listed=True))
        return found

    def _headroom(self, bps: int, delay: int) -> int:
        """What a port sets aside there; 0 if that is too little for what is on its way when it pauses."""
        product = bps * (delay // 1000) // 8 // 10**9
        packet = self._whole("PACKET_PAYLOAD_SIZE", 1000) + _HEADER_BYTES + 42
        there = 2 * product + 2 * 1048 if self._is_conweave else 3 * product
        return there if there >= 2 * product + 4 * packet else 0

    def _ports(self) -> dict[int, int]:
        """How many ports each switch has."""
        found: dict[int, int] = {}
        for a, b, _, _ in self._network.links:
            for end in (a, b):
                if self._network.is_switch[end]:
                    found[end] = found.get(end, 0) + 1
        return found

    def _marks(self) -> list[Table]:
        """ECN thresholds of the rate that most ports of switches have, and of each other rate its own."""
        if not self._whole("ENABLE_QCN", 1) or self.source is None:
            return []
        rates = self._network.switch_rates()
        missing = [key for key in _MAPS if key not in self._found]
        if missing or not rates:
            self._say_of_file(f"{missing[0] if missing else 'ENABLE_QCN'}: not given, so that nothing is marked")
            return []
        of_rate = {bps: self._thresholds(self.source, bps) for bps in rates}
        main = max(rates, key=lambda bps: (rates[bps], bps))
        chosen = of_rate[main]
        if chosen is None:
            line = self._found["KMIN_MAP"][1]
            self.source.wrong(
                line, f"KMIN_MAP, KMAX_MAP and PMAX_MAP need an entry for {rate(main)}, the rate of ports"
            )
        kmin, kmax, pmax = chosen
        found = [Table("switch.ecn.red", {"kmin": size(kmin), "kmax": size(kmax), "pmax": pmax})]
        for bps, other in sorted(of_rate.items()):
            if other is None:
                lines = [self._found[key][1] for key in _MAPS]
                self.notes.add(
                    self.source, lines, f"a port of {rate(bps)} has no thresholds there; here those of {rate(main)}"
                )
            elif other != chosen:
                red: dict[str, Value] = {"ecn.red.kmin": size(other[0]), "ecn.red.kmax": size(other[1])}
                values = {"rate": rate(bps), **red, "ecn.red.pmax": other[2]}
                found.append(Table("switch.overrides", values, is_listed=True))
        return found

    def _thresholds(self, source: Source, bps: int) -> tuple[int, int, float] | None:
        """Kmin and Kmax in bytes, and Pmax, for a rate."""
        found = []
        for key in _MAPS:
            words, line = self._found[key]
            entries = zip(words[::2], words[1::2], strict=True)
            values = [value for of, value in entries if source.whole(of, line, f"a rate of {key}") == bps]
            if not values:
                return None
            found.append(source.number(values[-1], line, f"a value of {key}"))
        return int(found[0] * 1000), int(found[1] * 1000), float(found[2])

    def _flow_control(self, mode: int) -> list[Table]:
        """Telemetry, PFC, and who chooses paths."""
        found = []
        if mode == 3:
            found.append(Table("switch.telemetry"))
        if mode == 10:
            found.append(Table("switch.telemetry.pint", {"base": self._pint_base()}))
        if self._whole("ENABLE_PFC", 1):
            found.append(Table("switch.flow_control.pfc"))
        balancing = self._whole("LB_MODE", 0)
        name, key = _BALANCING.get(balancing, ("this scheme", ""))
        weaves = self._weaves(mode)
        if weaves:
            given = {one: name for one, name in _CONWEAVE.items() if one in self._found}
            times = {name: self._value(one, f"switch.routing.{key}.{name}") for one, name in given.items()}
            found.append(Table(f"switch.routing.{key}", times))
        elif key == "conweave":
            self._say(
                "LB_MODE",
                "ConWeave has no room in packets beside telemetry; a hash of the flow chooses its path (ECMP)",
            )
        elif balancing and key and known.kind(f"switch.routing.{key}"):
            found.append(Table(f"switch.routing.{key}"))
        elif balancing:
            self._say("LB_MODE", f"{name} is not there; a hash of the flow chooses its path (ECMP)")
        for one in _CONWEAVE if not weaves else ():
            self._say(one, "a setting of ConWeave" if balancing == 9 else "has an effect with LB_MODE 9 alone")
        return found

    def _weaves(self, mode: int) -> bool:
        """Whether ConWeave chooses paths; beside telemetry packets have no room for what it writes."""
        return self._whole("LB_MODE", 0) == 9 and mode not in {3, 10}

    def _retransmission(self, payload: int) -> Table | None:
        if not self._whole("ENABLE_IRN", 0):
            return None
        values: dict[str, Value] = {"bdp": f"{self._product(payload)}B", "rto_low": "100us", "rto_high": "320us"}
        return Table("host.transport.irn", values, "The largest product of bandwidth and delay in the network.")

    def _control(self, mode: int, payload: int) -> Table | None:
        name, keys = _CONTROLS.get(mode, ("", {}))
        there = _NAMES.get(mode, "")
        is_here = bool(name) and known.kind(f"host.congestion_control.{name}") is not None
        has_window = mode in {3, 8, 10}
        if there and not is_here:
            self._say_or_file("CC_MODE", f"{there} is not there; flows go at line rate")
        values: dict[str, Value] = {}
        if mode == 1:
            values["preset"] = "conweave" if self._is_conweave else "hpcc_config"
            if self._whole("HAS_WIN", 1):
                values["window"] = f"{self._product(payload)}B"
                self._say_unless("VAR_WIN", "0", "the window does not follow the rate here")
                self._say_unless("GLOBAL_T", *_VARIANTS["GLOBAL_T"])
        for key in dict.fromkeys((*_OF_CONTROLS, *_WINDOW)):
            setting = keys.get(key, "")
            path = f"host.congestion_control.{name}.{setting}"
            if key in _WINDOW and mode == 1:
                continue
            if setting and is_here and known.kind(path):
                if key in self._found:
                    values[setting] = self._value(key, path)
                else:
                    self._say_of_file(f"{key}: not given; {setting} is that of {values.get('preset', name)}")
            elif key in _VARIANTS and is_here and has_window:
                self._say_unless(key, *_VARIANTS[key])
            elif key == "INT_MULTI" and mode == 3:
                self._say(key, "telemetry is exact here")
            elif key == "PINT_LOG_BASE" and mode == 10:
                # It stands with what switches write.
                continue
            else:
                self._say(key, f"a setting of another congestion control than CC_MODE {mode} chooses, or not there")
        return Table(f"host.congestion_control.{name}", values) if is_here else None

    def _value(self, key: str, path: str) -> Value:
        """A setting that is there as the scenario has it, of the kind that stands at its path."""
        source, word, line = self._one(key)
        kind = known.kind(path)
        if kind == "ps":
            return time(source.scaled(word, line, key, _MICROSECOND))
        if kind == "bps":
            return rate(source.rate(word, line, key))
        if kind == "boolean":
            return bool(source.whole(word, line, key, 1))
        if kind == "integer":
            return source.whole(word, line, key, 2**31)
        return float(source.number(word, line, key))

    def _product(self, payload: int) -> int:
        """The largest product of bandwidth and round trip between two hosts, in bytes.

        A round trip is twice the delays of a shortest path and the time of one payload on each of its links; where
        several are shortest, that of the links that come first.
        """
        network = self._network
        last: dict[tuple[int, int], tuple[int, int]] = {}
        for a, b, bps, delay in network.links:
            last[a, b] = last[b, a] = (bps, delay // 1000)
        neighbours: dict[int, list[int]] = {}
        for a, b in last:
            neighbours.setdefault(a, []).append(b)
        most = 0
        searched: set[tuple[tuple[int, int, int], ...]] = set()
        for host, is_switch in enumerate(network.is_switch):
            # Hosts with links alike to the same switches are as far from all others.
            place = tuple((other, *last[host, other]) for other in neighbours.get(host, ()))
            if is_switch or place in searched:
                continue
            searched.add(place)
            reached = {host: (0, 0, 0)}
            queue = deque([host])
            while queue:
                at = queue.popleft()
                if at != host and not network.is_switch[at]:
                    continue
                delay, sending, narrowest = reached[at]
                for other in neighbours[at]:
                    if other not in reached:
                        bps, more = last[at, other]
                        along = sending + payload * 8 * 10**9 // bps
                        reached[other] = (delay + more, along, min(narrowest or bps, bps))
                        queue.append(other)
            for other, (delay, sending, narrowest) in reached.items():
                if other != host and not network.is_switch[other]:
                    most = max(most, (2 * delay + sending) * narrowest // 10**9 // 8)
        return most

    def _one(self, key: str) -> tuple[Source, str, int]:
        """The file, the word behind a key, and its line. Raises `KeyError` if the key is not there."""
        (word, *_), line = self._found[key]
        if self.source is None:
            raise KeyError(key)
        return self.source, word, line

    def _whole(self, key: str, default: int) -> int:
        if key not in self._found:
            return default
        source, word, line = self._one(key)
        return source.whole(word, line, key, 2**31)

    def _decimal(self, key: str) -> Decimal:
        if key not in self._found:
            return Decimal(0)
        source, word, line = self._one(key)
        return source.number(word, line, key)

    def _scaled(self, key: str, unit_ps: int) -> int | None:
        if key not in self._found:
            return None
        source, word, line = self._one(key)
        return source.scaled(word, line, key, unit_ps)

    def _say(self, key: str, text: str) -> None:
        """Say something of a key if it is there."""
        if self.source is not None and key in self._found:
            self.notes.add(self.source, self._found[key][1], f"{key}: {text}")

    def _say_unless(self, key: str, value: str, text: str) -> None:
        """Say something of a key if it is there with another value."""
        if key in self._found and self._found[key][0] != [value]:
            self._say(key, text)

    def _say_of_file(self, text: str) -> None:
        if self.source is not None:
            self.notes.add(self.source, (), text)

    def _say_or_file(self, key: str, text: str) -> None:
        """Say something of a key, which has a value there also if it is not in the file."""
        if key in self._found:
            self._say(key, text)
        else:
            self._say_of_file(f"{key}: {text}")
