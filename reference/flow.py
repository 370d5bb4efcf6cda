"""A flow: what its sender and its receiver remember of it, and what Go-Back-N makes them do."""

from dataclasses import dataclass

from reference.dcqcn import Limiter

# The number on an acknowledgement of all of a flow that is complete.
ALL_OF_IT = 2**32 - 1


@dataclass
class Flow:
    """A transfer and what became of it. Times are None until they are known."""

    index: int
    src: str
    dst: str
    size_bytes: int
    start_ps: int
    packets: int
    fct_ps: int | None = None
    fct_acked_ps: int | None = None

    # Its sender.
    next: int = 0  # the packet to send next
    acked: int = 0  # the packets before this one are acknowledged
    ever_sent: int = 0  # the packets before this one were sent at least once
    sent: int = 0  # transmissions
    retransmitted: int = 0
    notified: int = 0  # CNPs received
    in_ring: bool = False
    limiter: Limiter | None = None
    may_send_ps: int = 0  # its pace allows its next packet then
    pace_timer_ps: int | None = None
    timeouts_set: int = 0  # only the timeout that was set last counts

    # Its receiver.
    received: int = 0  # packets taken, and so the packet that is expected
    nacked: int | None = None  # the packet for which the last NACK was sent, and when
    nacked_ps: int = 0
    notified_ps: int | None = None  # when the last CNP was sent

    def has_more(self) -> bool:
        """Tell whether there is a packet to send."""
        return self.next < self.packets

    def is_over(self) -> bool:
        """Tell whether all of it is acknowledged."""
        return self.acked == self.packets

    def take_next(self) -> int:
        """Return the number of the packet that is sent now."""
        seq = self.next
        self.next += 1
        self.sent += 1
        if seq < self.ever_sent:
            self.retransmitted += 1
        self.ever_sent = max(self.ever_sent, self.next)
        return seq

    def on_ack(self, seq: int) -> bool:
        """Take an acknowledgement; tell whether it was news."""
        count = self.packets if seq == ALL_OF_IT else seq
        if count <= self.acked:
            return False
        self.acked = count
        self.next = max(self.next, count)
        return True

    def on_nack(self, seq: int) -> None:
        """Go back to the packet that the receiver misses."""
        assert seq >= self.acked, "answers of a flow stay in order"
        self.acked = seq
        self.next = seq

    def on_timeout(self) -> None:
        """Go back to the oldest packet that is not acknowledged."""
        self.next = self.acked

    def on_data(self, seq: int, now_ps: int, nack_interval_ps: int) -> tuple[str, int] | None:
        """Take a packet or throw it away; return the answer, "ack" or "nack" and its number, or None for silence."""
        if self.received == self.packets:
            return ("ack", ALL_OF_IT)
        if seq == self.received:
            self.received += 1
            return ("ack", self.received)
        if seq < self.received:
            return ("ack", self.received)
        if self.nacked == self.received and now_ps < self.nacked_ps + nack_interval_ps:
            return None
        self.nacked = self.received
        self.nacked_ps = now_ps
        return ("nack", self.received)
