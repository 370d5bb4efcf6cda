"""Jobs in GOAL, as text: the sends, receives and computations of each rank, and their dependencies.

Source: LogGOPSim's grammar (``txt2bin.re``). An operation without dependencies is ready at once; on one processor
(``cpu``) of a rank, one computation runs at a time. ``a requires b``: a begins when b is done; ``a irequires b``: a
begins when b has begun, which is when all requirements of b are done. A receive gets the first suitable message to
arrive (``matching.py``).

The parameters of LogGOPS (latency, gaps, overheads, rendezvous) are not imported: xoff simulates the network instead.
"""

from __future__ import annotations

import io
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xoff._core import InputError
from xoff.importing.document import MAX_STAR, Imported, Job, Operation, Table, rate, time
from xoff.importing.matching import matched
from xoff.importing.notes import Notes
from xoff.importing.source import MAX_MESSAGE, MAX_NS, Source, shown

_MAX_OPERATIONS = 2**22
_LABEL = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
# With more requirements than this, the beginning of an operation is a separate operation for others to wait for.
_SHORT = 4
_OPTIONS = ("tag", "cpu", "nic")
# An operation stands at the beginning of a line, after its label; a number follows.
_COUNTED = re.compile(r"^[^\S\n]*(?:\w+:[^\S\n]+)?(?:send|recv|calc)[^\S\n]+[0-9]", re.M)
# A comment that nothing closes is one match up to the end of the file: other comments are not searched in it again.
_REMARK = re.compile(r"/\*.*?(?P<end>\*/|\Z)|//[^\n]*", re.S)
# The file has no rates: these are defaults.
_BPS, _DELAY_PS = 400 * 10**9, 500_000
RATE, DELAY = rate(_BPS), time(_DELAY_PS)


@dataclass(slots=True)
class _One:
    line: int
    kind: str
    size: int = 0
    """Bytes, or nanoseconds of computation."""
    peer: int | None = None
    """None for any source."""
    tag: int | None = 0
    cpu: int = 0
    requires: list[int] = field(default_factory=list)
    begins_with: list[int] = field(default_factory=list)
    is_begun_with: bool = False
    """Whether other operations begin with it."""


ORDERS = ("message", "packet")
"""The order in which a rank's ready messages use its interface: one after another, or packet by packet in turn."""


def convert(file: Source, order: str = "message") -> Imported:
    """Returns a scenario of a schedule: a star of all ranks, with default rates, as the file has no rates.

    order: one of `ORDERS`; LogGOPSim sends the messages of a network interface one after another.

    Raises `InputError` if the schedule is not valid.
    """
    notes = Notes()
    ranks = _ranks(file, notes)
    job = Job("job")
    received = array("q")
    for rank, operations in ranks.items():
        for number, one in enumerate(operations):
            after = _after(operations, one)
            if _has_beginning(one):
                job.operations.append(Operation(rank, "compute", f"b{number}", after, duration=0, where=one.line))
                after = (f"b{number}",)
                received.append(0)
            job.operations.append(_made(rank, number, one, after, order))
            received.append(one.size if one.kind == "recv" else 0)
    given = job.operations
    job.operations, message_of = matched(
        given, {}, lambda one: file.place(one.where), byte_ps=8 * 10**12 // _BPS, latency_ps=2 * _DELAY_PS
    )
    _say_of_messages(given, job.operations, message_of, received, file, notes)
    notes.add(file, (), f"the network is not in the file: a star of {len(ranks):,} hosts at {RATE} with {DELAY} a link")
    if any(one.kind != "calc" for operations in ranks.values() for one in operations):
        text = (
            "L, o, g, G, O and S of LogGOPS are not carried over: the network sets transfer times, and hosts "
            "take no time"
        )
        notes.add(file, (), text)
        says = {
            "message": "messages of a rank leave one after another, as in LogGOPSim; with --order packet they "
            "share the interface",
            "packet": "messages of a rank share the interface packet by packet; LogGOPSim sends one after another",
        }
        notes.add(file, (), says[order])
    network = Table("network.star", {"hosts": max(len(ranks), 1)})
    link = Table("network.star.link", {"rate": RATE, "delay": DELAY})
    pfc = Table("switch.flow_control.pfc")
    if not job.operations:
        file.wrong(file.last, "the schedule has no operations")
    found = Imported(f"A GOAL schedule, {file.name}", "job", tables=[network, link, pfc], job=job, notes=notes)
    found.file, found.place = file.path, lambda _, row: file.place(job.operations[row].where)
    return found


def _made(rank: int, number: int, one: _One, after: tuple[str, ...], order: str) -> Operation:
    """Returns an operation of the job."""
    name, unit = f"o{number}", _unit(one, order)
    if one.kind == "calc":
        return Operation(rank, "compute", name, after, unit=unit, duration=one.size * 1000, where=one.line)
    size = one.size if one.kind == "send" else None
    return Operation(rank, one.kind, name, after, unit=unit, peer=one.peer, tag=one.tag, size=size, where=one.line)


def _say_of_messages(
    given: list[Operation],
    made: list[Operation],
    message_of: Sequence[int],
    received: Sequence[int],
    file: Source,
    notes: Notes,
) -> None:
    """Adds notes on matched receives.

    given, made: the operations before and after matching.
    message_of, received: the message of each receive, and the bytes that the file gives for the receive.
    """
    for index, message in enumerate(message_of):
        one = given[index]
        if one.kind != "recv":
            continue
        if one.peer is None or one.tag is None:
            text = (
                "a receive from any rank, or of any tag, gets the message that arrives first in a network without "
                "other traffic; in LogGOPSim queues decide as well"
            )
            notes.add(file, one.where, text)
        elif made[index] is not one:
            text = "messages of one tag arrive in another order than they are listed, and get separate tags"
            notes.add(file, one.where, text, matters=False)
        if given[message].size != max(received[index], 1):
            notes.add(file, one.where, "a receive of another size than its message: the size of the message counts")


def _unit(one: _One, order: str) -> str:
    """Returns the unit that runs one operation at a time: a processor, a network interface, or an empty text."""
    if one.kind == "calc":
        return f"cpu{one.cpu}"
    return "nic0" if one.kind == "send" and order == "message" else ""


def _after(operations: list[_One], one: _One) -> tuple[str, ...]:
    """Returns the names of the operations after which an operation begins."""
    names = {f"o{other}": None for other in one.requires}
    for number in one.begins_with:
        other = operations[number]
        # Few requirements of the other operation are copied; many are collected in an operation of their own.
        waits = {f"b{number}": None} if _has_beginning(other) else {f"o{before}": None for before in other.requires}
        names |= waits
    return tuple(names)


def _has_beginning(one: _One) -> bool:
    """True if the start of an operation is a separate operation, for which other operations wait."""
    return one.is_begun_with and (len(one.requires) > _SHORT or bool(one.begins_with))


def _ranks(file: Source, notes: Notes) -> dict[int, list[_One]]:
    """Returns the operations of each rank."""
    ranks: dict[int, list[_One]] = {}
    count: int | None = None
    current: int | None = None
    labels: dict[str, int] = {}
    requirements: list[tuple[int, list[str]]] = []
    for line, words in _statements(file):
        if count is None:
            if words[0] != "num_ranks" or len(words) != 2:
                file.wrong(line, f"{shown(words[0])}: a schedule begins with num_ranks and the number of ranks")
            count = file.whole(words[1], line, "num_ranks", MAX_STAR)
        elif current is None:
            if words[0] != "rank" or len(words) != 3 or words[2] != "{":
                file.wrong(line, f"{shown(' '.join(words))}: `rank R {{` is expected")
            current = (
                file.whole(words[1], line, "rank", count - 1)
                if count
                else file.wrong(line, "no ranks: num_ranks is missing or 0")
            )
            if current in ranks:
                file.wrong(line, f"rank {current} is listed twice")
            ranks[current], labels, requirements = [], {}, []
        elif words == ["}"]:
            _require(file, ranks[current], labels, requirements)
            current = None
        elif len(words) == 3 and words[1] in {"requires", "irequires"}:
            requirements.append((line, words))
        else:
            _operation(file, line, words, ranks[current], labels, count, notes)
    if count is None or current is not None:
        file.wrong(file.last, "the file ends within a rank")
    for rank in range(count):
        ranks.setdefault(rank, [])
    return dict(sorted(ranks.items()))


def _statements(file: Source) -> Iterator[tuple[int, list[str]]]:
    """Yields number and words of each line that has words; braces are words, comments are not.

    Raises `InputError` with the number of operations at once if the file has too many.
    """
    text = file.content.decode()
    if "/*" in text or "//" in text:

        def blank(found: re.Match[str]) -> str:
            if found["end"] == "":
                file.wrong(text.count("\n", 0, found.start()) + 1, "the comment does not end; close it by `*/`")
            return "\n" * found[0].count("\n")

        text = _REMARK.sub(blank, text)
    if (total := sum(1 for _ in _COUNTED.finditer(text))) > _MAX_OPERATIONS:
        raise InputError(f"{file.path}: has {total:,} operations; at most {_MAX_OPERATIONS:,} are allowed")
    for number, line in enumerate(io.StringIO(text), 1):
        if words := line.replace("{", " { ").replace("}", " } ").split():
            yield number, words


def _operation(
    file: Source, line: int, words: list[str], operations: list[_One], labels: dict[str, int], count: int, notes: Notes
) -> None:
    if words[0].endswith(":"):
        label = words.pop(0)[:-1]
        if not _LABEL.fullmatch(label):
            file.wrong(line, f"{shown(label)} is not a label: a letter, then letters, digits and underscores")
        if label in labels:
            file.wrong(line, f"duplicate label {shown(label)}")
        labels[label] = len(operations)
    match words:
        case ["calc", time, *options]:
            one = _One(line, "calc", file.whole(time, line, "calc", MAX_NS))
        case ["send", size, "to", peer, *options]:
            if not size.endswith("b"):
                file.wrong(line, f"{shown(size)}: a size ends in `b`")
            one = _One(line, "send", file.whole(size[:-1], line, "send", MAX_MESSAGE))
            if not one.size:
                notes.add(file, line, "a message of 0 B is sent as 1 B")
                one.size = 1
            one.peer = file.whole(peer, line, "to", count - 1)
        case ["recv", size, "from", peer, *options]:
            one = _One(line, "recv", file.whole(size.removesuffix("b"), line, "recv", MAX_MESSAGE))
            one.peer = None if peer == "-1" else file.whole(peer, line, "from", count - 1)
        case _:
            file.wrong(line, f"{shown(' '.join(words))}: send, recv, calc, requires or irequires is expected")
    seen = set()
    for place in range(0, len(options), 2):
        name, value = options[place], options[place + 1] if place + 1 < len(options) else ""
        if name not in _OPTIONS or not value:
            file.wrong(line, f"{shown(name)} is not an option with a value; allowed are {', '.join(_OPTIONS)}")
        if name in seen:
            file.wrong(line, f"{name} is given twice; remove one")
        seen.add(name)
        if name == "tag":
            is_any = value == "-1" and one.kind == "recv"
            one.tag = None if is_any else file.whole(value, line, name, 2**63 - 1)
        elif name == "cpu":
            one.cpu = file.whole(value, line, name, 1000)
        elif file.whole(value, line, name):
            notes.add(file, line, "network interfaces beyond the first are not carried over")
    operations.append(one)


def _require(
    file: Source, operations: list[_One], labels: dict[str, int], requirements: list[tuple[int, list[str]]]
) -> None:
    for line, (later, how, earlier) in requirements:
        for label in (later, earlier):
            if label not in labels:
                file.wrong(line, f"no operation of this rank has the label {shown(label)}")
        one = operations[labels[later]]
        if how == "requires":
            one.requires.append(labels[earlier])
        else:
            one.begins_with.append(labels[earlier])
            operations[labels[earlier]].is_begun_with = True
