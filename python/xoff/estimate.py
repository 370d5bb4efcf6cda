"""The estimate of a run: packet-hops, CPU-seconds and memory, from a sample of the run itself.

The first part of the run is simulated, and its costs are divided by the share of the run that is done. What the run
spends before its first event (building the network and the flows) is counted once. Example: a sample of two seconds,
after a second of building, finishes 10 % of an all-to-all. The estimate is 1 + 2 / 0.1 = 21 CPU-seconds. A run that
ends within the sample is measured, not estimated. The estimate is too high where a job repeats only after the sample,
since repeating traffic is fast-forwarded later on.
"""

from __future__ import annotations

import resource
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from xoff.running import Prepared, Progress, run_prepared

SAMPLE_SECONDS = 2.0
"""CPU time of a sample after the run has begun."""
_LONGEST_SAMPLE = 5
"""A sample ends after this many times its length, even if less than `_LEAST_SHARE` of the run is done."""
_LEAST_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimated costs of a run on this machine, on one thread."""

    packet_hops: int | None
    """Data packets times links, with fast-forwarded packets; None before anything was delivered."""
    cpu_seconds: float | None
    memory_bytes: int | None
    """Peak memory of the process, with the rows of tables that a run without ``--out`` discards left out."""
    sampled_cpu_seconds: float
    share: float
    """The share of the run that the sample finished; 1.0: the run ended, and the costs are measured."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the estimate with the keys of ``xoff check --estimate --json``."""
        return asdict(self)


class _EnoughError(Exception):
    """The sample is long enough; raised through the core, which then stops the run."""


class _Sample:
    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._began = time.process_time()
        self._memory = _memory()
        self.build_seconds: float | None = None
        self.last: Progress | None = None
        self.seconds = 0.0

    def report(self, progress: Progress) -> None:
        now = time.process_time() - self._began
        if self.build_seconds is None:
            # The first report follows the first events.
            self.build_seconds, self._built_memory = now, _memory()
        self.last, self.seconds = progress, now
        spent = now - self.build_seconds
        if spent >= self._seconds and (progress.share >= _LEAST_SHARE or spent >= _LONGEST_SAMPLE * self._seconds):
            raise _EnoughError

    def estimate(self) -> Estimate:
        built, last = self.build_seconds, self.last
        if built is None or last is None or last.share <= 0:
            return Estimate(None, None, None, round(self.seconds, 2), 0.0)
        grown = max(0, _memory() - self._built_memory)
        return Estimate(
            packet_hops=round(last.data_packet_hops / last.share),
            cpu_seconds=round(built + (self.seconds - built) / last.share, 2),
            memory_bytes=round(self._built_memory + grown / last.share),
            sampled_cpu_seconds=round(self.seconds, 2),
            share=last.share,
        )


def _memory() -> int:
    """Returns the peak memory of the process, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def estimate(prepared: Prepared, *, seconds: float = SAMPLE_SECONDS) -> Estimate:
    """Estimates the costs of a run from a sample of the run.

    seconds: CPU time of the sample, without building. A sample in which less than 1 % of the run is done takes up to
        five times as long.

    Raises `InputError` for a scenario that is not valid, and `AuditError` for a run that ends in the sample without a
    result.
    """
    sample = _Sample(seconds)
    with suppress(_EnoughError):
        result = run_prepared(prepared, keep=(), progress=sample.report)
        performance = result.summary["performance"]
        cpu = performance["cpu_seconds"] + performance["build_cpu_seconds"]
        return Estimate(performance["data_packet_hops"], round(cpu, 2), _memory(), round(cpu, 2), 1.0)
    return sample.estimate()
