"""A flow: the state of sender and receiver, and the rules of Go-Back-N."""

from dataclasses import dataclass

from reference.dcqcn import Limiter

# The number of an acknowledgement for a complete flow.
ALL_OF_IT = 2**32 - 1


@dataclass
class Flow:
    """A transfer and the outcome. Unknown times are None."""

    index: int
    src: str
    dst: str
    size_bytes: int
    start_ps: int
    packets: int
    class_number: int = 0
    fct_ps: int | None = None
    fct_acked_ps: int | None = None

    # The sender.
    next: int = 0  # the packet to send next
    acked: int = 0  # the packets before this number are acknowledged
    ever_sent: int = 0  # the packets before this number were sent at least once
    sent: int = 0  # transmissions
    retransmitted: int = 0
    notified: int = 0  # CNPs received
    in_ring: bool = False
    limiter: Limiter | None = None
    may_send_ps: int = 0  # earliest start of the next packet
    pace_timer_ps: int | None = None
    timeouts_set: int = 0  # only the last timeout counts

    # The receiver.
    received: int = 0  # packets accepted; also the number of the expected packet
    nacked: int | None = None  # the packet of the last NACK
    nacked_ps: int = 0
    notified_ps: int | None = None  # time of the last CNP

    def has_more(self) -> bool:
        """Whether there is a packet to send."""
        return self.next < self.packets

    def is_over(self) -> bool:
        """Whether the whole flow is acknowledged."""
        return self.acked == self.packets

    def take_next(self) -> int:
        """Takes the next packet to send; returns the number."""
        seq = self.next
        self.next += 1
        self.sent += 1
        if seq < self.ever_sent:
            self.retransmitted += 1
        self.ever_sent = max(self.ever_sent, self.next)
        return seq

    def on_ack(self, seq: int) -> bool:
        """Processes an acknowledgement; returns whether new packets were acknowledged."""
        count = self.packets if seq == ALL_OF_IT else seq
        if count <= self.acked:
            return False
        self.acked = count
        self.next = max(self.next, count)
        return True

    def on_nack(self, seq: int) -> None:
        """Goes back to the packet that the receiver misses."""
        assert seq >= self.acked, "answers of a flow stay in order"
        self.acked = seq
        self.next = seq

    def on_timeout(self) -> None:
        """Goes back to the oldest unacknowledged packet."""
        self.next = self.acked

    def on_data(self, seq: int, now_ps: int, nack_interval_ps: int) -> tuple[str, int] | None:
        """Accepts or discards a packet; returns the answer, "ack" or "nack" and its number, or None for no answer."""
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
