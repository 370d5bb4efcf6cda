"""The data that a congestion control in Python gets: its line, its flow, and events. Times are picoseconds."""

from __future__ import annotations

from typing import NamedTuple


class Line(NamedTuple):
    """The line by which a flow leaves its host."""

    rate_bps: int
    """The rate in bits per second."""
    round_trip_ps: int
    """The longest round trip of the network without queues: propagation both ways, and a full packet one way."""
    payload_bytes: int
    """Payload of a full packet."""
    header_bytes: int
    """Bytes of each packet on the wire beside the payload."""


class Flow(NamedTuple):
    """A flow that starts."""

    size: int | None
    """Payload in bytes; None for a connection, whose messages are posted later."""
    seed: int
    """A number below 2³² for random draws: of the seed of the scenario and of the flow."""
    priority: int
    """The priority class."""


class Hop(NamedTuple):
    """The state of a switch output when the answered packet left (in-band telemetry)."""

    node: int
    """The number of the switch."""
    port: int
    """The number of its port."""
    at_ps: int
    """The start of the packet."""
    sent_bytes: int
    """Wire bytes that the port sent before the packet."""
    queued_bytes: int
    """Bytes of data queued behind the packet."""
    rate_bps: int
    """The rate of the port in bits per second."""


class Ack(NamedTuple):
    """An answer of the receiver."""

    bytes: int
    """Payload that the answer acknowledges for the first time."""
    in_flight: int
    """Payload in flight after the answer."""
    acknowledged: int
    """The oldest packet without ACK after the answer; packets count from 0."""
    next: int
    """The next packet of the flow."""
    is_marked: bool
    """Whether the answer echoes a mark."""
    is_loss: bool
    """Whether the answer reports a loss, which ``on_loss`` handled."""
    rtt_ps: int | None
    """The time from the start of the answered packet; None if the answered copy is unknown."""
    hops: int
    """The number of nodes that forwarded the answer."""
    telemetry: tuple[Hop, ...]
    """Records of the outputs on the path; empty without ``switch.telemetry``."""
    now_ps: int
    """The time of the arrival."""


class Sent(NamedTuple):
    """The start of a packet."""

    bytes: int
    """Bytes on the wire."""
    is_last: bool
    """Whether the flow has no further packet now."""
    now_ps: int
    """The time of the start."""
