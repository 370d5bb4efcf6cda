"""The rate of a flow under DCQCN, as in its paper: every notification cuts the rate."""

from copy import copy
from dataclasses import dataclass
from typing import Any

from reference.scenario import quantity


@dataclass(frozen=True)
class Values:
    """The parameters of DCQCN in a scenario; the README describes each. Rates are bits per second."""

    g: float
    alpha_interval_ps: int
    increase_interval_ps: int
    byte_counter: int
    fast_recovery_steps: int
    additive_increase: float
    hyper_increase: float
    minimum_rate: float
    cnp_interval_ps: int


def read_values(dcqcn: dict[str, Any]) -> Values:
    """Returns the parameters of the table `host.congestion_control.dcqcn`."""
    return Values(
        g=dcqcn["g"],
        alpha_interval_ps=quantity(dcqcn["alpha_interval"], "time"),
        increase_interval_ps=quantity(dcqcn["increase_interval"], "time"),
        byte_counter=quantity(dcqcn["byte_counter"], "size"),
        fast_recovery_steps=dcqcn["fast_recovery_steps"],
        additive_increase=float(quantity(dcqcn["additive_increase"], "rate")),
        hyper_increase=float(quantity(dcqcn["hyper_increase"], "rate")),
        minimum_rate=float(quantity(dcqcn["minimum_rate"], "rate")),
        cnp_interval_ps=quantity(dcqcn["cnp_interval"], "time"),
    )


class Limiter:
    """The rate of one flow, and the bits of the last packet still to be paced out.

    Only the flow reads the limiter, so the timers run when the flow reads the limiter.
    """

    def __init__(self, values: Values, line: float) -> None:
        self.values = values
        self.line = line
        self.rate = line
        self.target = line
        self.alpha = 1.0
        self.time_steps = 0
        self.byte_steps = 0
        self.bytes = 0
        # The timers start with the first cut.
        self.next_alpha_ps: int | None = None
        self.next_increase_ps: int | None = None
        self.left_bits = 0.0
        self.since_ps = 0

    def due_ps(self) -> int:
        """Returns the start time of the next packet, if no notification arrives."""
        ahead = copy(self)
        while ahead.next_increase_ps is not None and ahead.ends_ps() > ahead.next_increase_ps:
            ahead.run_timers(ahead.next_increase_ps)
        return ahead.ends_ps()

    def ends_ps(self) -> int:
        """Returns the time at which all bits are paced out at the current rate."""
        return self.since_ps + int(self.left_bits * 1e12 / self.rate)

    def end_stretch(self, now_ps: int) -> None:
        """Paces bits out until `now_ps`."""
        self.left_bits = max(0.0, self.left_bits - (now_ps - self.since_ps) * self.rate / 1e12)
        self.since_ps = now_ps

    def on_sent(self, frame_bytes: int, now_ps: int) -> None:
        """Counts the bytes of a frame that starts now, and sets the bits to pace out."""
        self.run_timers(now_ps)
        self.count_bytes(frame_bytes)
        self.left_bits = frame_bytes * 8.0
        self.since_ps = now_ps

    def count_bytes(self, frame_bytes: int) -> None:
        """Counts sent bytes, and takes a step if there are enough."""
        if self.rate >= self.line:
            return
        self.bytes += frame_bytes
        if self.bytes >= self.values.byte_counter:
            self.bytes -= self.values.byte_counter
            self.byte_steps += 1
            self.step()

    def on_notification(self, now_ps: int) -> None:
        """Cuts the rate."""
        self.run_timers(now_ps)
        self.end_stretch(now_ps)
        self.target = self.rate
        minimum = min(self.values.minimum_rate, self.line)
        self.rate = max(self.rate * (1 - self.alpha / 2), minimum)
        self.alpha = (1 - self.values.g) * self.alpha + self.values.g
        self.time_steps = 0
        self.byte_steps = 0
        self.bytes = 0
        self.next_alpha_ps = now_ps + self.values.alpha_interval_ps
        self.next_increase_ps = now_ps + self.values.increase_interval_ps

    def run_timers(self, now_ps: int) -> None:
        """Performs the actions of the timers up to `now_ps`, in order."""
        while self.next_alpha_ps is not None:
            increase_ps = self.next_increase_ps
            if self.next_alpha_ps <= now_ps and (increase_ps is None or self.next_alpha_ps <= increase_ps):
                self.alpha = (1 - self.values.g) * self.alpha
                self.next_alpha_ps += self.values.alpha_interval_ps
            elif increase_ps is not None and increase_ps <= now_ps:
                self.end_stretch(increase_ps)
                self.time_steps += 1
                self.step()
                is_at_line = self.rate >= self.line and self.target >= self.line
                self.next_increase_ps = None if is_at_line else increase_ps + self.values.increase_interval_ps
            else:
                return

    def step(self) -> None:
        """Raises the target by the amount of the current stage, and the rate halfway to it."""
        low = min(self.time_steps, self.byte_steps)
        high = max(self.time_steps, self.byte_steps)
        if low >= self.values.fast_recovery_steps:
            self.target += self.values.hyper_increase * (low - self.values.fast_recovery_steps + 1)
        elif high >= self.values.fast_recovery_steps:
            self.target += self.values.additive_increase
        self.target = min(self.target, self.line)
        self.rate = (self.rate + self.target) / 2
        if self.line - self.rate < 1:
            self.rate = self.line
