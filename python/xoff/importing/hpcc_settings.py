"""The settings of the HPCC family: ``KEY value …`` in any order.

As in the programs of the family, a word other than a key is skipped: comments may follow values. Such a word at the
beginning of a line is reported. The last value of a repeated key counts. Statements about the programs were verified in
the code of the programs. In the notes of an import, "there" is the imported program, and "here" is xoff.
"""

from __future__ import annotations

import math
import re
from collections import deque
from decimal import Decimal

from xoff.importing.document import Table, Value, listed, rate, size, time
from xoff.importing.hpcc_errors import ERRORS, faults
from xoff.importing.hpcc_keys import (
    BALANCING,
    CONTROLS,
    CONWEAVE,
    DEFAULTS,
    FLAGS,
    MAPS,
    MARKED,
    NAMES,
    NONE,
    OF_CONTROLS,
    OF_HPCC,
    ONE_VALUE,
    VARIANTS,
    WINDOW,
    WITHOUT_EFFECT,
    WORDS,
)
from xoff.importing.hpcc_network import Network
from xoff.importing.notes import Notes
from xoff.importing.source import Source, Words, shown
from xoff.study import settings as known

_NANOSECOND = 10**3
_MICROSECOND = 10**6
_SECOND = 10**12
# Default duration of pauses in ConWeave's program.
_PAUSE_PS = 5 * _MICROSECOND
_MAX_ENTRIES = 1000
_MOST_KILOBYTES = 10**9
# Headers of data, additional telemetry by CC_MODE, and ACKs.
_HEADER_BYTES = 48
_STAMP_BYTES = {3: 42, 7: 8}
_ACK_BYTES = {3: 88}
_MEGABYTE = 1024 * 1024
# The alpha of a port doubles with its rate, up to 1.
_MOST_DOUBLINGS = 3
# The range of round trips in a scenario.
_ROUND_TRIPS_NS = range(10, 10**9 + 1)


class Settings:
    """The settings of a file and their translation; without a file, PFC and flows at line rate."""

    def __init__(self, source: Source | None, network: Network, notes: Notes, *, is_conweave: bool) -> None:
        self.source = source
        self.notes = notes
        self._network = network
        self._is_conweave = is_conweave
        self._found: dict[str, tuple[list[str], int]] = {}
        self._longest: tuple[int, int] | None = None
        self.origins: dict[str, str] = {}
        """The places of the settings in the file, by the key of the scenario."""
        if source is not None:
            self._read(source)

    def _read(self, source: Source) -> None:
        words = Words(source)
        began = 0
        for word, line in words.rest():
            if word in MAPS:
                words.line = line
                entries = words.whole(f"the number of entries of {word}", _MAX_ENTRIES)
                taken = [words.take(f"an entry of {word}") for _ in range(2 * entries)]
            elif word in WORDS:
                taken = [words.take(f"the value of {word}") for _ in range(WORDS[word])]
            else:
                if line != began and re.fullmatch("[A-Z][A-Z0-9_]+", word):
                    why = "unknown, and ignored by the original as well"
                    self.notes.add(source, line, f"{shown(word)} is {why}", matters=False, many=f"more words are {why}")
                began = line
                continue
            began = line
            if word in self._found:
                why = f"{word}: also given in line {line}; the last value counts, as in the original"
                self.notes.add(source, self._found[word][1], why, matters=False)
            self._found[word] = (taken, line)

    def begin(self, default: int) -> int:
        """Returns the start of traffic in the input, in picoseconds."""
        found = self._scaled("FLOWGEN_START_TIME", _SECOND)
        return default if found is None else found

    def top(self, begin: int) -> dict[str, Value]:
        """Returns the settings outside of tables."""
        found: dict[str, Value] = {}
        self._origin("seed", "RANDOM_SEED")
        self._origin("until", "SIMULATOR_STOP_TIME")
        if "RANDOM_SEED" in self._found:
            found["seed"] = self._whole("RANDOM_SEED", 1)
        end = self._scaled("SIMULATOR_STOP_TIME", _SECOND)
        if end is not None and end > begin:
            found["until"] = time(end - begin)
        elif end is not None:
            self._say("SIMULATOR_STOP_TIME", "ignored: before the first flow; the run ends when all flows are done")
        return found

    def tables(self, classes: int) -> list[Table]:
        """Returns all tables except those of network and workloads."""
        if self.source is None:
            framing = Table("framing", self._framing(0, 1000), "Frame sizes of the original, without telemetry.")
            faults = self._faults(0, 1000)
            comment = "No file of settings was given: no packet is lost, and flows send at line rate."
            acks = [] if self._is_conweave else [_acks_at_switches()]
            pfc = Table("switch.flow_control.pfc", comment=comment)
            return [framing, *self._switch(classes, []), pfc, *acks, *faults]
        self._say_of_all()
        mode = self._one_of("CC_MODE", 1, {NONE: "none", **NAMES})
        self._one_of("LB_MODE", 0, {number: name for number, (name, _) in BALANCING.items()})
        payload = self._whole("PACKET_PAYLOAD_SIZE", 1000)
        framing = Table("framing", self._framing(mode, payload), "Frame sizes of the original, without padding.")
        headroom, headrooms = self._headrooms()
        marks, thresholds = self._marks(mode)
        overrides = _overrides(thresholds, self._alphas(), headrooms)
        switch = [self._buffer(headroom), *marks, *self._flow_control(mode, payload), *overrides]
        host = [self._acks(mode), self._retransmission(payload), self._control(mode, payload)]
        faults = self._faults(mode, payload)
        return [framing, *self._switch(classes, switch), *(one for one in host if one), *faults]

    def _acks(self, mode: int) -> Table | None:
        """Returns the place of ACKs. At HPCC's switches ACKs always queue with data; the file has no influence."""
        key = "ACK_HIGH_PRIO"
        if self._is_conweave:
            self._say(key, "ignored: ACKs precede data, as in the original", matters=False)
            return None
        if self._weaves(mode):
            self._say_or_file(key, "in xoff ACKs precede data beside ConWeave")
            return None
        if self._flag(key, 0):
            self._say(key, "ignored: ACKs wait with data at switches, as in the original", matters=False)
        else:
            # The program checks the pause of this one group, whatever groups flows have.
            self._say_or_file(
                key,
                "a pause of priority group 3 holds ACKs at hosts in the original, and not in xoff",
                matters=self._has_pfc(),
            )
        return _acks_at_switches()

    def _framing(self, mode: int, payload: int) -> dict[str, Value]:
        ack = _ACK_BYTES.get(mode, 60)
        self._origin("framing.payload", "PACKET_PAYLOAD_SIZE")
        return {
            "payload": f"{payload}B",
            "header": f"{self._header(mode)}B",
            "control_frame_size": f"{ack}B",
            "min_frame_size": f"{_HEADER_BYTES + 1}B",
        }

    def _faults(self, mode: int, payload: int) -> list[Table]:
        """Returns the faults of links with random losses, at the link's rate or the rate of the settings."""
        key = "ERROR_RATE_PER_LINK"
        given = float(self._decimal(key, most=1))
        if given:
            self._say(key, ERRORS)
        has_pfc = self.source is None or self._has_pfc()
        return faults(self._network, payload + self._header(mode), given, has_pfc=has_pfc)

    def _header(self, mode: int) -> int:
        """Returns the bytes of headers of data."""
        return _HEADER_BYTES + (self._pint_bytes() if mode == 10 else _STAMP_BYTES.get(mode, 0))

    def _pint_base(self) -> float:
        """Returns the base of PINT's logarithm; without the setting, the program's default."""
        return float(self._decimal("PINT_LOG_BASE")) if "PINT_LOG_BASE" in self._found else 1.05

    def _pint_bytes(self) -> int:
        """Returns the bytes of a number from 0 to the logarithm of 512²."""
        base = self._pint_base()
        # A base that xoff refuses takes the largest number of bytes.
        return math.ceil(math.log2(math.log(512**2) / math.log(base)) / 8) if 1.0002 <= base <= 2 else 2

    def _switch(self, classes: int, tables: list[Table]) -> list[Table]:
        """Returns the tables of switches, with the scheduler of classes if there are several."""
        if classes < 2:
            return tables
        comment = "Priority groups are classes from 0 on, in ascending order."
        return [Table("switch", {"classes": classes, "scheduler": "round_robin"}, comment), *tables]

    def _say_of_all(self) -> None:
        """Adds notes on settings without effect, and on settings with a single modelled value."""
        for key in FLAGS:
            self._flag(key, 0)
        for key, text in WITHOUT_EFFECT.items():
            self._say(key, text, matters=False)
        for key, (value, text) in ONE_VALUE.items():
            self._say_unless(key, value, text)
        if "LINK_DOWN" in self._found and self._found["LINK_DOWN"][0][0] != "0":
            self._say("LINK_DOWN", "link failures are not carried over")
        self._say_of_pauses()

    def _say_of_pauses(self) -> None:
        """Adds the note on the duration of pauses: in HPCC's program until the resume, in ConWeave's a fixed time."""
        key = "PAUSE_TIME"
        if not self._has_pfc():
            self._say(key, "has an effect with ENABLE_PFC alone", matters=False)
        elif self._is_conweave:
            # The frame carries whole microseconds.
            found = self._scaled(key, _MICROSECOND)
            last = time(_PAUSE_PS if found is None else found // _MICROSECOND * _MICROSECOND)
            self._say_or_file(
                key,
                f"in the original a pause ends after {last} unless an arriving packet renews the pause, and "
                "outputs drop in spite of "
                "PFC (alpha 1); in xoff pauses last until the resume, and no packet is lost",
            )
        else:
            self._say(key, "ignored: pauses last until the resume, as in the original", matters=False)

    def _has_pfc(self) -> bool:
        return self._flag("ENABLE_PFC", 1)

    def _buffer(self, headroom: int) -> Table:
        """Returns the shared buffer, with the headroom of most ports."""
        megabytes = self._whole("BUFFER_SIZE", 0 if self._is_conweave else 16)
        ports = self._ports().values()
        most = max(ports, default=0)
        if not megabytes:
            text = (
                "no size: 375 kB for each port in the original; in xoff all switches have the buffer of "
                f"{most} ports, the largest"
            )
            # Switches of equal size have equal buffers in both programs.
            self._say_or_file("BUFFER_SIZE", text, matters=len(set(ports)) > 1)
        self._origin("switch.buffer.shared.total", "BUFFER_SIZE")
        total = megabytes * _MEGABYTE or most * 375_000
        values: dict[str, Value] = {"total": f"{total}B", "alpha": 0.0625 if self._is_conweave else 0.125}
        values["reserve"] = "1048B" if self._is_conweave else "4KiB"
        if headroom:
            values["headroom"] = f"{headroom}B"
        said = (
            "A port may take this share of the free buffer (alpha). Reserve and headroom are those of each "
            "port of the original."
        )
        return Table("switch.buffer.shared", values, said)

    def _alphas(self) -> dict[int, dict[str, Value]]:
        """Returns the alpha of ports faster than the ports of hosts: alpha doubles with the rate."""
        found: dict[int, dict[str, Value]] = {}
        host = self._network.host_rate()
        for bps in () if self._is_conweave else self._network.switch_rates():
            doublings, left = 0, bps
            while left > host and doublings < _MOST_DOUBLINGS:
                doublings, left = doublings + 1, left // 2
            if doublings:
                found[bps] = {"buffer.alpha": 0.125 * 2**doublings}
        return found

    def _headrooms(self) -> tuple[int, dict[int, dict[str, Value]]]:
        """Returns the headroom of the most frequent rate of switch ports, and the headroom of each other rate.

        The headroom is 0 if one rate has no usable value, since xoff then has to compute it.
        """
        network = self._network
        of_rate: dict[int, set[int]] = {}
        for a, b, bps, delay in network.links:
            if network.is_switch[a] or network.is_switch[b]:
                of_rate.setdefault(bps, set()).add(self._headroom(bps, delay))
        # If links of one rate differ in delay, the headrooms of their ports differ.
        given = {bps: min(found) if len(found) == 1 else 0 for bps, found in of_rate.items()}
        computed = sorted(bps for bps, headroom in given.items() if not headroom)
        if computed:
            where = "" if len(computed) == len(given) else f" at ports of {listed(map(rate, computed))}"
            text = "xoff computes the headroom of each link from the bytes in transit"
            self._say_of_file(f"headroom of PFC{where}: {text}")
        main = 0 if computed or not given else given[network.main_rate()]
        others = {bps: headroom for bps, headroom in given.items() if headroom not in {0, main}}
        return main, {bps: {"buffer.headroom": f"{headroom}B"} for bps, headroom in others.items()}

    def _headroom(self, bps: int, delay: int) -> int:
        """Returns the headroom of a port in the program; 0 if it is too small for the bytes in flight at a pause."""
        product = bps * (delay // 1000) // 8 // 10**9
        packet = self._whole("PACKET_PAYLOAD_SIZE", 1000) + _HEADER_BYTES + 42
        there = 2 * product + 2 * 1048 if self._is_conweave else 3 * product
        return there if there >= 2 * product + 4 * packet else 0

    def _ports(self) -> dict[int, int]:
        """Returns the number of ports of each switch."""
        found: dict[int, int] = {}
        for a, b, _, _ in self._network.links:
            for end in (a, b):
                if self._network.is_switch[end]:
                    found[end] = found.get(end, 0) + 1
        return found

    def _marks(self, mode: int) -> tuple[list[Table], dict[int, dict[str, Value]]]:
        """Returns the ECN thresholds of the most frequent rate of switch ports, and those of each other rate."""
        others: dict[int, dict[str, Value]] = {}
        if self.source is None:
            return [], others
        if mode not in MARKED:
            self._say("ENABLE_QCN", f"no host reacts to marks with CC_MODE {mode}", matters=False)
        if not self._flag("ENABLE_QCN", 1):
            for key in MAPS:
                self._say(key, "has an effect with ENABLE_QCN alone", matters=False)
            return [], others
        rates = self._network.switch_rates()
        missing = [key for key in MAPS if key not in self._found]
        if missing or not rates:
            self._say_of_file(f"{missing[0] if missing else 'ENABLE_QCN'}: missing: no packet is marked")
            return [], others
        of_rate = {bps: self._thresholds(self.source, bps) for bps in rates}
        main = self._network.main_rate()
        chosen = of_rate[main]
        if chosen is None:
            line = self._found["KMIN_MAP"][1]
            self.source.wrong(
                line, f"KMIN_MAP, KMAX_MAP and PMAX_MAP need an entry for {rate(main)}, the rate of ports"
            )
        if mode not in MARKED:
            for key in MAPS:
                self._say(key, f"left out, because no host reacts to marks with CC_MODE {mode}", matters=False)
            return [], others
        kmin, kmax, pmax = chosen
        for bps, other in sorted(of_rate.items()):
            if other is None:
                lines = [self._found[key][1] for key in MAPS]
                self.notes.add(
                    self.source,
                    lines,
                    f"a port of {rate(bps)} has no thresholds in the original; xoff uses those of {rate(main)}",
                )
            elif other != chosen:
                red: dict[str, Value] = {"ecn.red.kmin": size(other[0]), "ecn.red.kmax": size(other[1])}
                others[bps] = {**red, "ecn.red.pmax": other[2]}
        return [Table("switch.ecn.red", {"kmin": size(kmin), "kmax": size(kmax), "pmax": pmax})], others

    def _thresholds(self, source: Source, bps: int) -> tuple[int, int, float] | None:
        """Returns Kmin and Kmax in bytes, and Pmax, for a rate; None if a map lacks the rate."""
        found = []
        for key in MAPS:
            words, line = self._found[key]
            entries = zip(words[::2], words[1::2], strict=True)
            values = [value for of, value in entries if source.whole(of, line, f"a rate of {key}") == bps]
            if not values:
                return None
            most = 1 if key == "PMAX_MAP" else _MOST_KILOBYTES
            found.append(source.number(values[-1], line, f"a value of {key}", most))
        if found[0] > found[1]:
            line = self._found["KMIN_MAP"][1]
            source.wrong(line, f"KMIN_MAP: {found[0]} kB for {rate(bps)} is above {found[1]} kB, the value of KMAX_MAP")
        return int(found[0] * 1000), int(found[1] * 1000), float(found[2])

    def _flow_control(self, mode: int, payload: int) -> list[Table]:
        """Returns the tables of telemetry, PFC, and load balancing."""
        found = []
        if mode == 3:
            found.append(Table("switch.telemetry"))
        if mode == 10:
            self._origin("switch.telemetry.pint.base", "PINT_LOG_BASE")
            found.append(Table("switch.telemetry.pint", {"base": self._pint_base(), **self._round_trip(payload)}))
        if self._has_pfc():
            found.append(Table("switch.flow_control.pfc"))
        balancing = self._whole("LB_MODE", 0)
        name, key = BALANCING.get(balancing, ("this scheme", ""))
        weaves = self._weaves(mode)
        if weaves:
            given = {one: name for one, name in CONWEAVE.items() if one in self._found}
            times = {name: self._value(one, f"switch.routing.{key}.{name}") for one, name in given.items()}
            found.append(Table(f"switch.routing.{key}", times))
        elif key == "conweave":
            self._say(
                "LB_MODE",
                "ConWeave and telemetry exclude each other; a hash of the flow chooses the path (ECMP)",
            )
        elif balancing and key and known.kind(f"switch.routing.{key}"):
            found.append(Table(f"switch.routing.{key}"))
        elif balancing:
            self._say("LB_MODE", f"xoff does not have {name}; a hash of the flow chooses the path (ECMP)")
        for one in CONWEAVE if not weaves else ():
            why = "a setting of ConWeave" if balancing == 9 else "has an effect with LB_MODE 9 alone"
            self._say(one, why, matters=False)
        return found

    def _weaves(self, mode: int) -> bool:
        """Whether ConWeave chooses paths. With telemetry, packets have no room for its header."""
        return self._whole("LB_MODE", 0) == 9 and mode not in {3, 10}

    def _retransmission(self, payload: int) -> Table | None:
        if not self._flag("ENABLE_IRN", 0):
            return None
        values: dict[str, Value] = {
            "bdp_cap": f"{self._farthest(payload)[1]}B",
            "rto_low": "100us",
            "rto_high": "320us",
        }
        return Table("host.transport.irn", values, "The largest product of bandwidth and delay in the network.")

    def _control(self, mode: int, payload: int) -> Table | None:
        name, keys = CONTROLS.get(mode, ("", {}))
        there = NAMES.get(mode, "")
        is_here = bool(name) and known.kind(f"host.congestion_control.{name}") is not None
        if there and not is_here:
            self._say_or_file("CC_MODE", f"xoff does not have {there}; flows send at line rate")
        values: dict[str, Value] = {}
        if mode == 1:
            values["preset"] = "conweave" if self._is_conweave else "hpcc_config"
        for key in OF_CONTROLS:
            setting = keys.get(key, "")
            path = f"host.congestion_control.{name}.{setting}"
            if setting and is_here and known.kind(path):
                if key in self._found:
                    values[setting] = self._value(key, path)
                else:
                    self._say_of_file(f"{key}: not given; {setting} is that of {values.get('preset', name)}")
            elif key in OF_HPCC and is_here and mode == 3:
                self._say_unless(key, *VARIANTS[key])
            elif key == "INT_MULTI" and mode == 3:
                # The program scales lengths and bytes in telemetry by this number.
                self._say(key, "telemetry is exact in xoff", matters=self._whole(key, 1) != 1)
            elif key == "PINT_LOG_BASE" and mode == 10:
                # The base belongs to the switches' telemetry.
                continue
            else:
                why = f"a setting of another congestion control than CC_MODE {mode}, or absent from the original"
                self._say(key, why, matters=False)
        values |= self._window(mode if is_here else 0, payload)
        return Table(f"host.congestion_control.{name}", values) if is_here else None

    def _window(self, mode: int, payload: int) -> dict[str, Value]:
        """Returns the limit of bytes in flight, and the round trip from which it follows."""
        has_window = self._flag("HAS_WIN", 1)
        if mode == 0 and has_window:
            product = self._farthest(payload)[1]
            self._say_or_file("HAS_WIN", f"flows have a window of {product} B in the original, and none in xoff")
        elif mode == 0:
            self._say("HAS_WIN", "flows have no window in xoff", matters=False)
        if mode == 0 or (mode in {1, 7} and not has_window):
            for key in ("VAR_WIN", "GLOBAL_T"):
                self._say(key, "has an effect with a window alone", matters=False)
            return {}
        if mode == 1:
            self._say_unless("VAR_WIN", "0", "in xoff the window does not follow the rate")
            self._say_unless("GLOBAL_T", *VARIANTS["GLOBAL_T"])
            return {"window": f"{self._farthest(payload)[1]}B"}
        for key in WINDOW:
            self._say_unless(key, *VARIANTS[key])
        self._say_of_products(payload)
        return {**({"window": True} if mode == 7 else {}), **self._round_trip(payload)}

    def _round_trip(self, payload: int) -> dict[str, Value]:
        """Returns the longest round trip as the program computes it; xoff's includes headers and acknowledgements."""
        longest, _ = self._farthest(payload)
        if longest not in _ROUND_TRIPS_NS:
            self._say_of_file("xoff computes the longest round trip: the given value is not between 10 ns and 1 s")
            return {}
        return {"round_trip": time(longest * _NANOSECOND)}

    def _say_of_products(self, payload: int) -> None:
        """Adds a note if some hosts have another window than the program gives to all flows."""
        longest, product = self._farthest(payload)
        ends = ((end, bps) for a, b, bps, _ in self._network.links for end in (a, b))
        rates = {bps for end, bps in ends if not self._network.is_switch[end]}
        if any(_product(longest, bps) != product for bps in rates):
            text = "in xoff the product of a host's rate and the longest round trip"
            self._say_of_file(f"the window of all flows is {product} B in the original; {text}")

    def _origin(self, path: str, key: str) -> None:
        """Notes a key of the file as the origin of a value of the scenario, if the file has the key."""
        if self.source is not None and key in self._found:
            self.origins[path] = f"{self.source.place(self._found[key][1])}: {key}"

    def _value(self, key: str, path: str) -> Value:
        """Returns the value of a setting, of the kind of the path."""
        source, word, line = self._one(key)
        self._origin(path, key)
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

    def _farthest(self, payload: int) -> tuple[int, int]:
        """Returns the longest round trip between two hosts in ns, and the largest bandwidth-delay product in bytes.

        A round trip is twice the delays of a shortest path and the time of one payload on each of its links, in whole
        ns. Of several shortest paths, the path of the first links counts.
        """
        if self._longest is None:
            self._longest = self._search(payload)
        return self._longest

    def _search(self, payload: int) -> tuple[int, int]:
        network = self._network
        last: dict[tuple[int, int], tuple[int, int]] = {}
        for a, b, bps, delay in network.links:
            last[a, b] = last[b, a] = (bps, delay // 1000)
        neighbours: dict[int, list[int]] = {}
        for a, b in last:
            neighbours.setdefault(a, []).append(b)
        longest = most = 0
        for host in network.places():
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
                    longest = max(longest, 2 * delay + sending)
                    most = max(most, _product(2 * delay + sending, narrowest))
        return longest, most

    def _one(self, key: str) -> tuple[Source, str, int]:
        """Returns the file, the word after a key, and its line. Raises `KeyError` if the key is missing."""
        (word, *_), line = self._found[key]
        if self.source is None:
            raise KeyError(key)
        return self.source, word, line

    def _one_of(self, key: str, default: int, known: dict[int, str]) -> int:
        """Returns the number of one of several parts."""
        value = self._whole(key, default)
        if value not in known:
            source, word, line = self._one(key)
            names = listed(f"{number} ({name})" for number, name in known.items())
            source.wrong(line, f"{key}: {shown(word)} is unknown; known are {names}")
        return value

    def _flag(self, key: str, default: int) -> bool:
        if key not in self._found:
            return bool(default)
        source, word, line = self._one(key)
        return bool(source.whole(word, line, key, 1))

    def _whole(self, key: str, default: int) -> int:
        if key not in self._found:
            return default
        source, word, line = self._one(key)
        return source.whole(word, line, key, 2**31)

    def _decimal(self, key: str, most: int | None = None) -> Decimal:
        if key not in self._found:
            return Decimal(0)
        source, word, line = self._one(key)
        return source.number(word, line, key, most)

    def _scaled(self, key: str, unit_ps: int) -> int | None:
        if key not in self._found:
            return None
        source, word, line = self._one(key)
        return source.scaled(word, line, key, unit_ps)

    def _say(self, key: str, text: str, *, matters: bool = True) -> None:
        """Adds a note on a key if the file has the key."""
        if self.source is not None and key in self._found:
            self.notes.add(self.source, self._found[key][1], f"{key}: {text}", matters=matters)

    def _say_unless(self, key: str, value: str, text: str) -> None:
        """Adds a note on a key if it has another value, in the file or by default."""
        if key in self._found and self._found[key][0] != [value]:
            self._say(key, text)
        elif key not in self._found and (default := DEFAULTS.get(key, value)) != value:
            self._say_of_file(f"{key}: missing; the default is {default}; {text}")

    def _say_of_file(self, text: str, *, matters: bool = True) -> None:
        if self.source is not None:
            self.notes.add(self.source, (), text, matters=matters)

    def _say_or_file(self, key: str, text: str, *, matters: bool = True) -> None:
        """Adds a note on a key, which has a value even if the file lacks it."""
        if key in self._found:
            self._say(key, text, matters=matters)
        else:
            self._say_of_file(f"{key}: {text}", matters=matters)


def _acks_at_switches() -> Table:
    comment = "ACKs wait with data at switches and precede data at hosts. ACK_HIGH_PRIO is ignored."
    return Table("host", {"acks": "switches"}, comment)


def _overrides(*differences: dict[int, dict[str, Value]]) -> list[Table]:
    """Returns an override for each rate with differences."""
    found: dict[int, dict[str, Value]] = {}
    for of_rate in differences:
        for bps, values in of_rate.items():
            found.setdefault(bps, {"rate": rate(bps)}).update(values)
    return [Table("switch.overrides", values, is_listed=True) for _, values in sorted(found.items())]


def _product(round_trip_ns: int, bps: int) -> int:
    """Returns the bytes that a rate sends in a round trip."""
    return round_trip_ns * bps // 10**9 // 8
