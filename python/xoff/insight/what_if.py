"""The gain of a job by another link or without pauses, measured by repeating its run with that change.

The parts of a critical path do not bound a gain. A slow link also delays a job by serialisation, and by the marks that
make congestion control delay sources. With a faster link, another path is critical.
"""

from __future__ import annotations

import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xoff import formatting, running
from xoff._core import InputError
from xoff.insight.job_causes import Causes
from xoff.insight.job_path import Job, jobs
from xoff.results import AuditError, Result

SHORT_CPU_SECONDS = 10.0
"""A run up to this duration is repeated with a change by default."""
PATIENCE_SECONDS = 60.0
"""Time limit of a repetition that the user did not request."""
_NO_PROBES: dict[str, Any] = {
    "probe.delays": None, "probe.packets": False, "probe.queues": None, "probe.replay": False,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a scenario whose effect on a job is measured."""

    kind: str
    """`link_rate` or `no_pauses`."""
    words: str
    """The change in words, such as ``with leaf0-spine0 at 400 Gb/s``."""
    why: str
    """The reason of this comparison."""
    facts: tuple[tuple[str, Any], ...]
    """The name and rates of a link, or the mechanism of pauses."""
    settings: tuple[tuple[str, Any], ...]
    """The settings of the second run."""


@dataclass(frozen=True, slots=True)
class Gain:
    """The time of a job in a second run, or the reason why there is none."""

    change: Change
    before_ps: int
    after_ps: int | None = None
    problem: str = ""

    @property
    def ps(self) -> int | None:
        """How much earlier the job ends, in picoseconds; negative if it ends later."""
        return None if self.after_ps is None else self.before_ps - self.after_ps

    def to_dict(self) -> dict[str, Any]:
        """Returns the gain with the keys of ``xoff explain --job --json``."""
        found: dict[str, Any] = {"change": self.change.kind, **dict(self.change.facts)}
        found |= {"time_ps": self.after_ps, "gain_ps": self.ps}
        return found | ({"problem": self.problem} if self.problem else {})

    def sentence(self) -> str:
        """Returns the gain in words."""
        if self.after_ps is None or self.ps is None:
            return f"Not measured {self.change.words}: {self.problem}."
        share = f"{abs(self.ps) / (self.before_ps or 1):.1%}"
        less = (
            f"{formatting.time(abs(self.ps))} {'less' if self.ps > 0 else 'more'} ({share})" if self.ps else "as long"
        )
        return f"Measured by a second run: {self.change.words} the job takes {formatting.time(self.after_ps)}, {less}."


def faster_link(result: Result, node: str, peer: str) -> Change:
    """Returns the change of a link to the rate of its group, or to twice its own rate if the group is no faster."""
    rates = {(row["node"], row["peer"]): int(row["rate_bps"]) for row in result.links.to_pylist()}
    own = rates[node, peer]
    group, several = group_rate(result, node, peer)
    to = group if group > own else 2 * own
    name = f"{node}-{peer}"
    why = f"{formatting.plain(name)} runs at {formatting.rate(own)}"
    if group > own:
        why += f", and {several:,} other{'s' if several > 1 else ''} of the same kind at {formatting.rate(to)}"
    elif several and group == own:
        why += f", as {several:,} other{'s' if several > 1 else ''} of the same kind; compared with twice the rate"
    else:
        why += ", the fastest of its kind; compared with twice the rate"
    overrides = list(result.scenario["network"].get("overrides") or [])
    overrides.append({"link": name, "rate": formatting.quantity_text(to, "bps")})
    facts = (("link", name), ("rate_bps", to), ("from_rate_bps", own))
    words = f"with {formatting.plain(name)} at {formatting.rate(to)}"
    return Change("link_rate", words, why, facts, (("network.overrides", overrides),))


def group_rate(result: Result, node: str, peer: str) -> tuple[int, int]:
    """Returns the most frequent rate among other links of a link's kind, and the number of links with this rate.

    Of several most frequent rates the highest counts. Two links are of one kind if the names of the ends differ only in
    numbers, such as ``leaf0-spine1`` and ``leaf3-spine0``. Without such a link, the kind is host and switch, or two
    switches. Without a link of the kind, the result is the link's own rate and 0.
    """
    rows = result.links.to_pylist()
    rates = {frozenset((row["node"], row["peer"])): int(row["rate_bps"]) for row in rows}
    own = frozenset((node, peer))
    hosts = {name for table in ("flows", "messages") for name in _ends(result, table)}
    kinds: list[Callable[[str], Any]] = [lambda name: re.sub(r"\d+", "", name), lambda name: name in hosts]
    for kind in kinds:
        wanted = sorted(map(kind, own))
        found = Counter(rate for ends, rate in rates.items() if ends != own and sorted(map(kind, ends)) == wanted)
        if found:
            rate, count = max(found.items(), key=lambda item: (item[1], item[0]))
            return rate, count
    return rates[own], 0


def _ends(result: Result, table: str) -> set[str]:
    if table not in result.tables:
        return set()
    return {name for column in ("src", "dst") for name in result.table(table)[column].to_pylist()}


def without_pauses(result: Result, mechanism: str) -> Change | None:
    """Returns the change to unlimited buffers without pauses; None if no mechanism of the scenario paused."""
    switch = result.scenario["switch"]
    flow_control = switch.get("flow_control") or {}
    if mechanism not in flow_control:
        return None
    settings: list[tuple[str, Any]] = [(f"switch.flow_control.{mechanism}", None), ("switch.buffer", "unlimited")]
    if "relay" in (result.scenario.get("host") or {}):
        settings.append(("host.relay.buffer", "unlimited"))
    if changes := switch.get("overrides"):
        kept = [{key: value for key, value in one.items() if key not in {mechanism, "buffer"}} for one in changes]
        kept = [one for one in kept if one.keys() & {"cut_through", "ecn"}]
        settings.append(("switch.overrides", kept))
    words = f"without {mechanism}, and with switch memory without limit,"
    why = "A lossless class needs pauses or unlimited memory; compared with unlimited memory"
    return Change("no_pauses", words, why, (("mechanism", mechanism),), tuple(settings))


class Runs:
    """Second runs of a result, each done once."""

    def __init__(self, result: Result, *, patience: float | None, tell: Callable[[str], Any]) -> None:
        """Stores the arguments.

        patience: time limit of a run in seconds; None for no limit.
        tell: called with a sentence before each run.
        """
        self._result = result
        self._patience = patience
        self._tell = tell
        self._done: dict[str, tuple[dict[str, Job] | None, str]] = {}

    def gain(self, job: Job, change: Change) -> Gain:
        """Measures the gain of a job by a change."""
        if change.words not in self._done:
            self._tell(f"runs the job a second time {change.words.rstrip(',')}, to measure the gain")
            self._done[change.words] = self._run(change)
        found, problem = self._done[change.words]
        if found is None:
            return Gain(change, job.total_ps, None, problem)
        after = found.get(job.name)
        if after is None or not after.by_place.keys() >= job.by_place.keys():
            return Gain(change, job.total_ps, None, "the second run ends before the job reaches the same point")
        end = max(int(after.by_place[key]["end_ps"]) for key in job.by_place)
        return Gain(change, job.total_ps, end - after.start_ps)

    def _run(self, change: Change) -> tuple[dict[str, Job] | None, str]:
        result = self._result
        directory = result.directory if result.directory is not None else Path()
        began = time.monotonic()

        def poll() -> None:
            if self._patience is not None and time.monotonic() - began > self._patience:
                raise TimeoutError

        try:
            overrides = [*_NO_PROBES.items(), *change.settings]
            prepared = running.prepare(result.scenario, overrides=overrides, tables=result.inputs, directory=directory)
            second = running.run_prepared(prepared, poll=poll)
            return {job.name: job for job in jobs(second)}, ""
        except TimeoutError:
            return None, f"the second run takes more than {self._patience:.0f} s; --what-if waits for the end"
        except AuditError as error:
            return None, f"that run violates an audit ({error.found})"
        except InputError as error:
            return None, str(error)


def dearest(result: Result, causes: Causes) -> tuple[str, str] | None:
    """Returns the two ends of the link with the most lost time of a path; None if the path lost no time.

    Lost time is waiting behind packets, and sending time beyond the sending time of the link's kind. Pauses count at
    the link of their root. Delay by congestion control counts at the port with the most marks, or, without marks, at
    the slowest port of the path.
    """
    links = {(row["node"], row["port"]): (row["peer"], int(row["rate_bps"])) for row in result.links.to_pylist()}
    slower: dict[tuple[str, int], float] = {}
    sums: dict[tuple[str, str], float] = defaultdict(float)

    def add(place: tuple[str, int], ps: float) -> None:
        node, peer = place[0], links[place][0]
        # Both directions are one link, named by the end that comes first in the table of links.
        sums[(peer, node) if (peer, node) in sums else (node, peer)] += ps

    def excess(place: tuple[str, int]) -> float:
        if place not in slower:
            peer, rate = links[place]
            slower[place] = max(0.0, 1 - rate / (group_rate(result, place[0], peer)[0] or 1))
        return slower[place]

    order = {node: number for number, node in enumerate(dict.fromkeys(result.links["node"].to_pylist()))}
    for (node, _), (peer, _) in links.items():
        if order[node] < order[peer]:
            sums[node, peer] = 0.0
    for (node, port, _), ps in causes.by_queue.items():
        add((node, port), ps)
    for root, ps in causes.by_root.items():
        if root.port is not None:
            add((root.node, root.port), ps)
    for way in causes.ways:
        for place, ps in way.sending.items():
            add(place, ps * excess(place))
        if way.control_ps and way.places:
            add(way.marked or min(way.places, key=lambda one: links[one][1]), way.control_ps)
    return max(sums, key=lambda one: sums[one]) if any(sums.values()) else None
