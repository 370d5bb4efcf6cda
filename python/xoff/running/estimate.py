"""The estimate of a run: packet-hops, CPU-seconds and memory, from a sample of the run itself.

The packet-hops of a run without losses follow from flows and paths. The first part of the run is simulated, and its
CPU time is divided by the share of the run that is done: the share of packet-hops and of other work, such as messages
over NVLink, rows and ends of flows (``crates/scenario/src/results/work.rs``). If the packet-hops are unknown (serving,
`until`), the run's own share is used. What the run spends before its first event (building the network and the flows)
is counted once. Memory is extended from its growth over the second half of the sample. The sample makes the rows of all
tables, as ``xoff run --out`` does.

Example: a sample of two seconds, after a second of building, finishes 10 % of an all-to-all. The estimate is
1 + 2 / 0.1 = 21 CPU-seconds. A run that ends within the sample is measured, not estimated. The estimate is too high if
a job repeats only after the sample, because repeating traffic is fast-forwarded later on. Serving is not estimated if
no token is made within the sample.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from xoff.files import memory
from xoff.running import Prepared, Progress, run_prepared

SAMPLE_SECONDS = 2.0
"""CPU time of a sample after the run has begun."""
_LONGEST_SAMPLE = 5
"""A sample ends after this many times its length, even if less than `_LEAST_SHARE` of the run is done."""
_LEAST_SHARE = 0.01
_SAMPLES_AHEAD = 10
"""Memory is extended by at most this many samples.

Without this bound two jobs that need 1.1 and 0.4 GB were estimated at 3.3 and 1.0 GB."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimated costs of a run on this machine, on one thread."""

    packet_hops: int | None
    """Data packets times links, with fast-forwarded packets; None before anything was delivered."""
    cpu_seconds: float | None
    memory_bytes: int | None
    """Peak memory of the process with ``--out``, at least."""
    sampled_cpu_seconds: float
    share: float
    """The share of the run in the sample; 1.0: the run ended, and the costs are measured."""
    reason: str | None = None
    """Why there is no estimate; None with an estimate."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the estimate with the keys of ``xoff check --estimate --json``."""
        return asdict(self)


class _EnoughError(Exception):
    """The sample is long enough; raised through the core, which then stops the run."""


class _Sample:
    def __init__(self, seconds: float, packet_hops: int | None, *, serves: bool) -> None:
        self._seconds, self._packet_hops, self._serves = seconds, packet_hops, serves
        self._began = time.process_time()
        self._memory: list[tuple[float, int]] = []
        self.build_seconds: float | None = None
        self.last: Progress | None = None
        self.seconds = 0.0

    def report(self, progress: Progress) -> None:
        now = time.process_time() - self._began
        if self.build_seconds is None:
            # The first report follows the first events.
            self.build_seconds = now
        self.last, self.seconds = progress, now
        self._memory.append((self.share(), memory.peak()))
        spent = now - self.build_seconds
        is_long = self.share() >= _LEAST_SHARE or spent >= _LONGEST_SAMPLE * self._seconds
        if spent >= self._seconds and is_long:
            raise _EnoughError

    def share(self) -> float:
        """Returns the share of the run that is done."""
        if self.last is None:
            return 0.0
        if not self._packet_hops:
            return self.last.share
        done = self.last.data_packet_hops + self.last.work_completed
        return min(1.0, done / (self._packet_hops + self.last.work_total))

    def estimate(self) -> Estimate:
        built, last, share = self.build_seconds, self.last, self.share()
        if built is None or last is None or share <= 0:
            what = "serving finished no request" if self._serves else "nothing was delivered"
            reason = f"{what} in {self.seconds:.1f} CPU-seconds"
            return Estimate(None, None, None, round(self.seconds, 2), 0.0, reason)
        return Estimate(
            packet_hops=self._packet_hops or round(last.data_packet_hops / share),
            cpu_seconds=round(built + (self.seconds - built) / share, 2),
            memory_bytes=self._memory_at_end(),
            sampled_cpu_seconds=round(self.seconds, 2),
            share=share,
        )

    def _memory_at_end(self) -> int:
        """Extends the growth over the second half of the sample, by ten samples at most.

        In the first half memory also grows to hold the packets in flight. Without a report in the first half nothing is
        known about the growth, and the memory of now is a lower bound. Memory grows in steps, for example when a list
        doubles, so the growth in a sample of 2 % says little about the end of the run.
        """
        share, held = self._memory[-1]
        earlier = [one for one in self._memory if 2 * one[0] <= share]
        if not earlier:
            return held
        before, held_before = earlier[-1]
        ahead = min(1 - share, _SAMPLES_AHEAD * share)
        return round(held + (held - held_before) / (share - before) * ahead)


def estimate(prepared: Prepared, packet_hops: int | None, *, seconds: float = SAMPLE_SECONDS) -> Estimate:
    """Estimates the costs of a run from a sample of the run.

    packet_hops: those of the whole run without losses, as `check` returns them; None if unknown.
    seconds: CPU time of the sample, without building. A sample in which less than 1 % of the run is done takes up to
        five times as long.

    Raises `InputError` for a scenario that is not valid, and `AuditError` for a run that ends in the sample without a
    result.
    """
    serves = any("serving" in workload for workload in prepared.document.get("workload", ()))
    sample = _Sample(seconds, packet_hops, serves=serves)
    with suppress(_EnoughError):
        result = run_prepared(prepared, keep=("flows",), progress=sample.report)
        performance = result.summary["performance"]
        cpu = performance["cpu_seconds"] + performance["build_cpu_seconds"]
        return Estimate(performance["data_packet_hops"], round(cpu, 2), memory.peak(), round(cpu, 2), 1.0)
    return sample.estimate()
