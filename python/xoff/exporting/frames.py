"""The bytes of frames as they are on a wire, from Ethernet's header to before its check sequence.

Node n has the address 02:00:00 followed by n in three bytes, and 10.0.0.0 + n + 1. A network of routers is meant: the
Ethernet addresses of a frame are those of the ends of its link, the IP addresses those of the ends of its flow.

| frame | form | source |
|---|---|---|
| data, header | RoCEv2: RDMA WRITE, reliable, or unreliable for raw frames | InfiniBand, annex A17 |
| ack, nack | RoCEv2: acknowledge, with AETH; a nack says "PSN sequence error" | InfiniBand 9.7.5 |
| cnp | RoCEv2: CNP, with BECN | InfiniBand, annex A17.9.3 |
| pfc | MAC control 0x8808, opcode 0x0101: classes and quanta | IEEE 802.1Qbb |
| cim | 0x89A2: isolate or not, the flow's addresses, its first bytes | IEEE 802.1Qcz |
| cnm | 0x22E7: quantised feedback, congestion point, the flow's first bytes | IEEE 802.1Qau |
| all others | 0x88B5, which is for experiments: see `_ours` | ours |

A flow's queue pair is its number + 2, as 0 and 1 are for management; its number gives 14 bits of its UDP source port.
A flow is one RDMA WRITE, of which the first packet says how long it is. An echoed mark, for which an acknowledgement
has no field, is its BECN bit. A class is the IP header's class selector; a packet whose payload was cut
off has the lowest bit of its DSCP set besides.

Zero is what is not known: the data and their address, what a congestion point measured beside its feedback, credits,
message numbers. Telemetry and VLANs are left out. Checks (IP, ICRC) are right. A frame is as long as the scenario says,
less the four bytes of its check sequence, and at least as long as its form.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass

_CHECK = 4
"""The check sequence of Ethernet, and the ICRC."""
_LONGEST = 60_000
"""No packet of a simulation is longer."""
_MSDU = 48
"""How much of a flow's frame a notification carries, at least."""


@dataclass(frozen=True, slots=True)
class Flow:
    """What of a flow its frames say: nodes at its ends, and its payload."""

    src: int
    dst: int
    size: int


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame on a link, of which `flow` is known if it has to do with one."""

    kind: str
    sender: int
    receiver: int
    number: int
    """Of its flow, or what stands in its place."""
    flow: Flow | None
    seq: int
    value: int
    length: int
    """Bytes on the wire, the check sequence included and the gap not."""
    classes: int
    is_marked: bool = False
    is_last: bool = False
    is_raw: bool = False


def encode(frame: Frame) -> bytes:
    """Return a frame's bytes; one that speaks of a flow that is not known takes the form that is ours."""
    form = _FORMS.get(frame.kind, _ours) if frame.flow or frame.kind in _WITHOUT_FLOW else _ours
    data = form(frame)
    # What is short is filled up.
    return data + bytes(max(0, frame.length - _CHECK - len(data)))


def mac(node: int) -> bytes:
    """The Ethernet address of a node."""
    return b"\x02\0\0" + (node & 0xFFFFFF).to_bytes(3, "big")


def address(node: int) -> bytes:
    """The IP address of a node."""
    return (0x0A000001 + (node & 0xFFFFFF)).to_bytes(4, "big")


def _ethernet(frame: Frame, kind: int, payload: bytes, to: bytes | None = None) -> bytes:
    return (to or mac(frame.receiver)) + mac(frame.sender) + struct.pack(">H", kind) + payload


def _data(frame: Frame) -> bytes:
    # First, middle, last, only; in a reliable connection or an unreliable one.
    opcode = (0x0A if frame.is_last else 0x06) if frame.seq == 0 else (0x08 if frame.is_last else 0x07)
    opcode |= 0x20 if frame.is_raw else 0
    dscp = (frame.classes & 7) << 3 | (frame.kind == "header")
    ecn = 0b11 if frame.is_marked else 0b10
    head = _transport(opcode, frame.number, frame.seq, must_answer=frame.is_last and not frame.is_raw)
    if frame.seq == 0:
        head += struct.pack(">QII", 0, 0, min(_flow(frame).size, 0xFFFFFFFF))
    room = min(frame.length, _LONGEST) - _CHECK - 14 - 20 - 8 - len(head) - _CHECK
    packet = _internet(frame, _flow(frame), dscp << 2 | ecn, head + bytes(max(room, 0)))
    return _ethernet(frame, 0x0800, packet + _check(packet))


def _ack(frame: Frame) -> bytes:
    # An acknowledgement names the last packet that came; credits are not used.
    psn = frame.seq - 1 if frame.kind == "ack" else frame.seq
    syndrome = 0x1F if frame.kind == "ack" else 0x60
    payload = _transport(0x11, frame.number, psn, is_back=frame.is_marked) + struct.pack(">I", syndrome << 24)
    return _answer(frame, payload)


def _cnp(frame: Frame) -> bytes:
    return _answer(frame, _transport(0x81, frame.number, 0, is_back=True) + bytes(16))


def _answer(frame: Frame, payload: bytes) -> bytes:
    flow = _flow(frame)
    back = Flow(flow.dst, flow.src, flow.size)
    packet = _internet(frame, back, (frame.classes & 7) << 5, payload)
    return _ethernet(frame, 0x0800, packet + _check(packet))


def _pfc(frame: Frame) -> bytes:
    # It says of each class for how long it is paused; one that it does not name stays as it is.
    quanta = min(frame.value, 0xFFFF)
    times = [quanta if frame.seq >> one & 1 else 0 for one in range(8)]
    control = struct.pack(">HH8H", 0x0101, frame.seq & 0xFF, *times)
    return _ethernet(frame, 0x8808, control, to=bytes.fromhex("0180c2000001"))


def _cim(frame: Frame) -> bytes:
    flow, first = _flow(frame), _first(frame, frame.value)
    head = struct.pack(">B6s6sHH", frame.seq & 1, mac(flow.dst), mac(flow.src), 0, len(first))
    return _ethernet(frame, 0x89A2, head + first)


def _cnm(frame: Frame) -> bytes:
    flow, first = _flow(frame), _first(frame, 0)
    feedback, point = frame.seq & 0x3F, frame.value.to_bytes(8, "big")
    head = struct.pack(">H8sHHH6sH", feedback, point, 0, 0, (frame.classes & 7) << 13, mac(flow.dst), len(first))
    # In a network of bridges it is for the flow's source, however far that is.
    return _ethernet(frame, 0x22E7, head + first, to=mac(flow.src))


def _ours(frame: Frame) -> bytes:
    """What has no published form: version, class, kind in 8 letters; flow, `seq`, `payload_field` in 4 bytes each."""
    name = frame.kind.encode("ascii", "replace")[:8]
    words = (word & 0xFFFFFFFF for word in (frame.number, frame.seq, frame.value))
    return _ethernet(frame, 0x88B5, struct.pack(">BB8s3I", 1, frame.classes & 7, name, *words))


_FORMS: dict[str, Callable[[Frame], bytes]] = {
    "data": _data,
    "header": _data,
    "ack": _ack,
    "nack": _ack,
    "cnp": _cnp,
    "pfc": _pfc,
    "cim": _cim,
    "cnm": _cnm,
}
_WITHOUT_FLOW = {"pfc"}


def _flow(frame: Frame) -> Flow:
    return frame.flow or Flow(frame.sender, frame.receiver, 0)


def _first(frame: Frame, seq: int) -> bytes:
    """What a notification repeats of a packet of its flow: the type, and headers."""
    packet = _internet(frame, _flow(frame), (frame.classes & 7) << 5 | 0b10, _transport(0x07, frame.number, seq))
    return (b"\x08\0" + packet).ljust(_MSDU, b"\0")


def _transport(opcode: int, pair: int, psn: int, *, is_back: bool = False, must_answer: bool = False) -> bytes:
    """The base transport header."""
    marks = 0x40 if is_back else 0
    answer = 0x80 if must_answer else 0
    numbers = struct.pack(">II", marks << 24 | pair % 0xFFFFFE + 2, answer << 24 | psn & 0xFFFFFF)
    return struct.pack(">BBH", opcode, 0, 0xFFFF) + numbers


def _internet(frame: Frame, flow: Flow, service: int, payload: bytes) -> bytes:
    """IPv4 and UDP around a payload, which the ICRC follows."""
    whole = 20 + 8 + len(payload) + _CHECK
    ends = address(flow.src) + address(flow.dst)
    head = struct.pack(">BBHHHBBH", 0x45, service, whole, 0, 0x4000, 64, 17, 0) + ends
    total = sum(struct.unpack(">10H", head))
    total = (total & 0xFFFF) + (total >> 16)
    check = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    head = head[:10] + struct.pack(">H", check) + head[12:]
    return head + struct.pack(">HHHH", 0xC000 | frame.number & 0x3FFF, 4791, whole - 20, 0) + payload


def _check(packet: bytes) -> bytes:
    """The invariant CRC: over the packet, with ones for what routers change, and for the header that InfiniBand has."""
    masked = bytearray(packet)
    for at in (1, 8, 10, 11, 26, 27, 32):
        masked[at] = 0xFF
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + masked))
