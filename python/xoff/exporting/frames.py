"""The bytes of frames on a wire, from the Ethernet header up to, but without, the check sequence.

Node n has the address 02:00:00 followed by n in three bytes, and 10.0.0.0 + n + 1. The network is one of routers: the
Ethernet addresses of a frame are those of the ends of its link, the IP addresses those of the ends of its flow.

| frame | form | source |
|---|---|---|
| data, header | RoCEv2: RDMA WRITE, reliable, or unreliable for raw frames | InfiniBand, annex A17 |
| ack, nack | RoCEv2: acknowledge, with AETH; a nack says "PSN sequence error" | InfiniBand 9.7.5 |
| cnp | RoCEv2: CNP, with BECN | InfiniBand, annex A17.9.3 |
| pfc | MAC control 0x8808, opcode 0x0101: classes and quanta | IEEE 802.1Qbb |
| cim | 0x89A2: isolate or not, the flow's addresses, its first bytes | IEEE 802.1Qcz |
| cnm | 0x22E7: quantised feedback, congestion point, the flow's first bytes | IEEE 802.1Qau |
| all others | 0x88B5, which is for experiments: see `_ours` | xoff |

The queue pair of a flow is its number + 2, since 0 and 1 are for management; the number also gives 14 bits of the UDP
source port. A flow is one RDMA WRITE, whose first packet states the length. An echoed mark, for which an
acknowledgement has no field, is the BECN bit. A class is the IP header's class selector; a trimmed packet also has the
lowest bit of the DSCP set.

Unknown fields are zero: payload and its address, measurements of a congestion point other than feedback, credits,
message numbers. Telemetry and VLANs are left out. Checksums (IP, ICRC) are correct. A frame is as long as in the
scenario, less the four bytes of its check sequence, and at least as long as its headers.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass

_CHECK = 4
"""Length of Ethernet's check sequence, and of the ICRC."""
_LONGEST = 60_000
"""The largest packet; a simulation has no longer one."""
_MSDU = 48
"""The least number of bytes of a flow's frame in a notification."""


@dataclass(frozen=True, slots=True)
class Flow:
    """The data of a flow in its frames: the nodes at its ends, and its payload."""

    src: int
    dst: int
    size: int


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame on a link; `flow` is None for a frame without a known flow."""

    kind: str
    sender: int
    receiver: int
    number: int
    """The number of the flow, or the number in its place."""
    flow: Flow | None
    seq: int
    value: int
    length: int
    """Bytes on the wire, with the check sequence and without the gap."""
    classes: int
    is_marked: bool = False
    is_last: bool = False
    is_raw: bool = False


def encode(frame: Frame) -> bytes:
    """Returns the bytes of a frame; a frame of an unknown flow has xoff's own form."""
    form = _FORMS.get(frame.kind, _ours) if frame.flow or frame.kind in _WITHOUT_FLOW else _ours
    data = form(frame)
    # A short frame is padded.
    return data + bytes(max(0, frame.length - _CHECK - len(data)))


def mac(node: int) -> bytes:
    """Returns the Ethernet address of a node."""
    return b"\x02\0\0" + (node & 0xFFFFFF).to_bytes(3, "big")


def address(node: int) -> bytes:
    """Returns the IP address of a node."""
    return (0x0A000001 + (node & 0xFFFFFF)).to_bytes(4, "big")


def _ethernet(frame: Frame, kind: int, payload: bytes, to: bytes | None = None) -> bytes:
    return (to or mac(frame.receiver)) + mac(frame.sender) + struct.pack(">H", kind) + payload


def _data(frame: Frame) -> bytes:
    # First, middle, last, only; in a reliable or an unreliable connection.
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
    # An acknowledgement names the last received packet; credits are not used.
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
    # The frame has the pause of each class; a class that it does not name is unchanged.
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
    # In a network of bridges the frame is addressed to the flow's source, at any distance.
    return _ethernet(frame, 0x22E7, head + first, to=mac(flow.src))


def _ours(frame: Frame) -> bytes:
    """The form of frames without a published form: version, class, kind in 8 letters; flow, `seq`, `payload_field`.

    The last three have 4 bytes each.
    """
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
    """Returns the part of a flow's packet that a notification repeats: the type, and headers."""
    packet = _internet(frame, _flow(frame), (frame.classes & 7) << 5 | 0b10, _transport(0x07, frame.number, seq))
    return (b"\x08\0" + packet).ljust(_MSDU, b"\0")


def _transport(opcode: int, pair: int, psn: int, *, is_back: bool = False, must_answer: bool = False) -> bytes:
    """Returns the base transport header."""
    marks = 0x40 if is_back else 0
    answer = 0x80 if must_answer else 0
    numbers = struct.pack(">II", marks << 24 | pair % 0xFFFFFE + 2, answer << 24 | psn & 0xFFFFFF)
    return struct.pack(">BBH", opcode, 0, 0xFFFF) + numbers


def _internet(frame: Frame, flow: Flow, service: int, payload: bytes) -> bytes:
    """Returns IPv4 and UDP around a payload, which the ICRC follows."""
    whole = 20 + 8 + len(payload) + _CHECK
    ends = address(flow.src) + address(flow.dst)
    head = struct.pack(">BBHHHBBH", 0x45, service, whole, 0, 0x4000, 64, 17, 0) + ends
    total = sum(struct.unpack(">10H", head))
    total = (total & 0xFFFF) + (total >> 16)
    check = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    head = head[:10] + struct.pack(">H", check) + head[12:]
    return head + struct.pack(">HHHH", 0xC000 | frame.number & 0x3FFF, 4791, whole - 20, 0) + payload


def _check(packet: bytes) -> bytes:
    """Returns the invariant CRC, with ones in the fields that routers change and in InfiniBand's own header."""
    masked = bytearray(packet)
    for at in (1, 8, 10, 11, 26, 27, 32):
        masked[at] = 0xFF
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + masked))
