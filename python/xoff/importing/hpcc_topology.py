"""Topology files of the HPCC family: a line of numbers, the switches, and links.

The first line identifies the program:

- ``nodes switches links``: HPCC, ConWeave, astra-sim
- ``nodes switches tors links``: PowerTCP of ns3-datacenter
- ``nodes switches tors links rate rate``: Reverie of ns3-datacenter
- ``nodes gpus_per_server nvswitches switches links gpu_type``: SimAI

Switches may follow on this line; the third number is then that of links, and larger than that of switches. A link is
``node node rate delay error_rate``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice, takewhile

from xoff.importing.document import rate, time
from xoff.importing.hpcc_errors import ERRORS
from xoff.importing.hpcc_network import Network
from xoff.importing.notes import Notes
from xoff.importing.source import Source, Words

_MAX_NODES = 2**20
_MAX_LINKS = 2**22
# Of a link of xoff.
_MIN_RATE, _MAX_DELAY = 10**6, 10**12
# Each rate has its own thresholds, and the search for round trips visits all links from each place with hosts: beyond
# these limits it takes minutes.
_MAX_RATES = 256
_MAX_SEARCH = 2**29
_FORMS = (
    "`nodes switches links` (HPCC, ConWeave), `nodes switches tors links` (PowerTCP), `nodes switches tors links rate "
    "rate` (Reverie) or `nodes gpus_per_server nvswitches switches links gpu_type` (SimAI)"
)


@dataclass(frozen=True, slots=True)
class _Header:
    nodes: int
    switches: int
    links: int


def read_topology(source: Source, notes: Notes, *, has_servers: bool = False) -> Network:
    """Returns the network of a topology. Raises `InputError` with the line if the file is not one.

    has_servers: whether the importer turns NVSwitches into NVLink of servers.
    """
    words = Words(source)
    header = _header(source, words, notes, has_servers=has_servers)
    nodes = header.nodes
    network = Network([False] * nodes)
    for _ in range(header.switches):
        network.is_switch[words.whole("the number of a switch", nodes - 1)] = True
    linked = [False] * nodes
    seen: set[tuple[int, int]] = set()
    for _ in range(header.links):
        a, b = (words.whole("a node of a link", nodes - 1) for _ in range(2))
        line = words.line
        if a == b:
            source.wrong(line, f"node {a} is linked to itself")
        bps = source.rate(words.take("the rate of a link"), words.line, "the rate of a link")
        if bps < _MIN_RATE:
            source.wrong(words.line, f"the rate of a link: must be above zero, and {rate(_MIN_RATE)} or more")
        delay = source.time(words.take("the delay of a link"), words.line, "the delay of a link")
        if delay > _MAX_DELAY:
            source.wrong(words.line, f"the delay of a link: must be {time(_MAX_DELAY)} or less")
        what = "the error rate of a link"
        error = float(source.number(words.take(what), words.line, what, 1))
        linked[a] = linked[b] = True
        if (pair := (min(a, b), max(a, b))) in seen:
            notes.add(
                source, line, "one more link between two nodes: the original uses the last of them only, xoff all"
            )
        seen.add(pair)
        # Of several links between two nodes the error rate of the last counts, as in the programs.
        network.errors.pop(pair, None)
        if error:
            network.errors[pair] = error
            notes.add(source, line, ERRORS)
        network.links.append((a, b, bps, delay))
    _check(source, words, network, linked)
    notes.add_rest(words, "link", 5)
    return network


def _check(source: Source, words: Words, network: Network, linked: list[bool]) -> None:
    if not all(linked):
        source.wrong(words.line, f"node {linked.index(False)} has no link")
    if (rates := len({bps for _, _, bps, _ in network.links})) > _MAX_RATES:
        source.wrong(1, f"the links have {rates:,} rates; at most {_MAX_RATES} are allowed")
    count = len(network.links)
    if (places := len(network.places())) * count > _MAX_SEARCH:
        why = f"{_MAX_SEARCH:,} are possible, one times the other"
        source.wrong(1, f"hosts at {places:,} places and {count:,} links; {why}")


def _header(source: Source, words: Words, notes: Notes, *, has_servers: bool) -> _Header:
    """Reads the first line."""
    first = [word for word, _ in takewhile(lambda word: word[1] == 1, islice(source.words(), 7))]
    whole = [int(word) if word.isascii() and word.isdigit() and len(word) < 12 else -1 for word in first]
    is_long = 4 <= len(first) <= 6
    if len(first) == 6 and whole[5] < 0:
        return _of_simai(words, source, notes, has_servers=has_servers)
    has_tors = is_long and 0 <= whole[2] <= whole[1]
    if is_long and (len(first) == 5 or not has_tors) and not _has_switches(whole):
        source.wrong(1, f"{len(first)} values; the first line is {_FORMS}")
    nodes = words.whole("the number of nodes", _MAX_NODES)
    switches = words.whole("the number of switches", nodes)
    if has_tors:
        words.whole("the number of ToR switches", switches)
    count = words.whole("the number of links", _MAX_LINKS)
    if has_tors and len(first) == 6:
        for what in ("the rate of servers", "the rate between switches"):
            source.rate(words.take(what), words.line, what)
        notes.add(
            source,
            1,
            "the rates of the first line set buffers in the original; links have rates of their own",
            matters=False,
        )
    return _Header(nodes, switches, count)


def _has_switches(whole: list[int]) -> bool:
    """Whether the numbers after the third one on the first line are switches."""
    nodes, switches, links, *more = whole
    return links >= nodes - 1 > 0 and len(more) <= switches and all(0 <= one < nodes for one in more)


def _of_simai(words: Words, source: Source, notes: Notes, *, has_servers: bool) -> _Header:
    nodes = words.whole("the number of nodes", _MAX_NODES)
    words.whole("the GPUs of a server", _MAX_NODES)
    nvswitches = words.whole("the number of NVSwitches", nodes)
    switches = words.whole("the number of switches", nodes - nvswitches)
    count = words.whole("the number of links", _MAX_LINKS)
    words.take("the type of GPUs")
    if not has_servers:
        text = "NVSwitches are switches as the others are; GPUs per server and the GPU type affect only collectives"
        notes.add(source, 1, text)
    return _Header(nodes, nvswitches + switches, count)
