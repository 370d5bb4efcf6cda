"""The objects of congestion controls in Python, from inside their process: serves the calls of a run.

A request has its length (2 bytes), kind (1), object (4), and a body; a reply has 25 bytes: a byte for failures, rate,
window and timer. The other end, with the same formats, is ``crates/python/src/controls.rs``.
"""

from __future__ import annotations

import copy
import hashlib
import inspect
import math
import os
import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from struct import Struct
from typing import Any

from xoff.functions.events import Ack, Flow, Hop, Line, Sent
from xoff.functions.forks import end_fork

METHODS = ("on_ack", "on_loss", "on_notification", "on_sent", "on_timer")
"""The methods of a class, each optional."""
_ECHOES = (None, "ack", "packet")
_SIGNALS = (None, "ecn", "telemetry")
_LEAST_RATE = 1000
_MAX = 2**64 - 1
_BUFFER = 65536

_HEAD = Struct("<HBI")
_START = Struct("<IQQQQQQIB")
_ACK = Struct("<QQIIBQIQ")
_HOP = Struct("<IIQQIQ")
_REPLY = Struct("<BdQQ")
_START_KIND, _ACK_KIND, _LOSS, _NOTIFICATION, _SENT, _TIMER, _COPY, _DROP = range(8)


class WrongClassError(Exception):
    """A class is no congestion control: the rest of a sentence about the class."""


def declared(found: Any, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the declarations of a class, as `host.congestion_control.python.declared` without the code.

    Raises `WrongClassError` for another object than a class, an unknown attribute, or arguments that the class lacks.
    """
    if not inspect.isclass(found):
        raise WrongClassError(f"is no class, but of type {type(found).__name__}")
    try:
        inspect.signature(found).bind(None, None, **parameters)
    except TypeError as error:
        raise WrongClassError(f"cannot be called with ({', '.join(['line', 'flow', *parameters])}): {error}") from None
    except ValueError:
        pass  # A class in C may have no signature.
    named = [name for name in dir(found) if name.startswith("on_") and callable(getattr(found, name))]
    if unknown := next((name for name in named if name not in METHODS), None):
        raise WrongClassError(f"has the method `{unknown}`, which is never called; methods are {', '.join(METHODS)}")
    answer: dict[str, Any] = {"methods": [name for name in METHODS if name in named]}
    for name, allowed in (("echo", _ECHOES), ("listens_to", _SIGNALS)):
        value = getattr(found, name, None)
        if not any(value is one or (isinstance(value, str) and value == one) for one in allowed):
            words = ", ".join("None" if one is None else f'"{one}"' for one in allowed)
            raise WrongClassError(f"has {name} = {_shown(value)}; allowed are {words}")
        if value is not None:
            answer[name] = value
    interval = getattr(found, "echo_interval_ps", 0)
    if type(interval) is not int or not 0 <= interval < 2**63:
        raise WrongClassError(f"has echo_interval_ps = {_shown(interval)}; a whole number of picoseconds is needed")
    return {**answer, "echo_interval": f"{interval}ps"}


class _AttributeError(Exception):
    """An object has a wrong attribute: the rest of a sentence about the method before."""


def serve(
    listener: socket.socket,
    classes: Sequence[tuple[type[Any], Mapping[str, Any]]],
    raised: Callable[[BaseException], str],
) -> None:
    """Serves the calls of one connection until the connection ends.

    classes: the classes with their arguments, by number.
    raised: returns the words for an exception.
    """
    server = _Objects(classes)
    own = os.getpid()
    waiting = b""
    connection, _ = listener.accept()
    with connection:
        while part := connection.recv(_BUFFER):
            data = waiting + part if waiting else part
            at = 0
            while len(data) - at >= _HEAD.size:
                size, kind, number = _HEAD.unpack_from(data, at)
                if len(data) - at < size:
                    break
                try:
                    reply = server.reply(kind, number, data, at + _HEAD.size, at + size)
                except _AttributeError as error:
                    reply = _failure(str(error))
                except BaseException as error:
                    reply = _failure(raised(error))
                end_fork(own)
                if reply:
                    connection.sendall(reply)
                at += size
            waiting = data[at:]


def _failure(why: str) -> bytes:
    text = why.encode("utf-8", "replace")[:_BUFFER]
    return _REPLY.pack(1, 0.0, len(text), 0) + text


class _Objects:
    """The objects of the flows."""

    def __init__(self, classes: Sequence[tuple[type[Any], Mapping[str, Any]]]) -> None:
        self._classes = classes
        self._objects: dict[int, Any] = {}

    def reply(self, kind: int, number: int, data: bytes, at: int, end: int) -> bytes:
        """Returns the reply to a request whose body is ``data[at:end]``; empty for a request without a reply."""
        if kind == _ACK_KIND:
            found = self._objects[number]
            payload, in_flight, acknowledged, following, flags, rtt, hops, now = _ACK.unpack_from(data, at)
            at += _ACK.size
            records = tuple(Hop._make(one) for one in _HOP.iter_unpack(data[at:end])) if at < end else ()
            found.on_ack(
                Ack(
                    payload,
                    in_flight,
                    acknowledged,
                    following,
                    flags & 1 != 0,
                    flags & 2 != 0,
                    None if rtt == _MAX else rtt,
                    hops,
                    records,
                    now,
                )
            )
            return _limits(found)
        if kind == _SENT:
            found = self._objects[number]
            payload, is_last, now = struct.unpack_from("<Q?Q", data, at)
            found.on_sent(Sent(payload, is_last, now))
            return _limits(found)
        if kind == _DROP:
            self._objects.pop(number, None)
            return b""
        return self._seldom(kind, number, data, at)

    def _seldom(self, kind: int, number: int, data: bytes, at: int) -> bytes:
        if kind == _START_KIND:
            found = self._objects[number] = self._started(data, at)
            if not hasattr(found, "rate") and not hasattr(found, "window"):
                raise _AttributeError("sets neither `rate` nor `window`")
            return _limits(found)
        if kind == _COPY:
            (original,) = struct.unpack_from("<I", data, at)
            found = self._objects[number] = copy.deepcopy(self._objects[original])
            return _limits(found)
        found = self._objects[number]
        if kind == _LOSS:
            is_timeout, now = struct.unpack_from("<?Q", data, at)
            found.on_loss("timeout" if is_timeout else "reported", now)
        elif kind == _NOTIFICATION:
            found.on_notification(*struct.unpack_from("<Q", data, at))
        elif kind == _TIMER:
            (now,) = struct.unpack_from("<Q", data, at)
            found.timer_ps = None
            found.on_timer(now)
            if found.timer_ps is not None and not found.timer_ps > now:
                raise _AttributeError(f"leaves timer_ps = {_shown(found.timer_ps)}; a time after {now} is needed")
        return _limits(found)

    def _started(self, data: bytes, at: int) -> Any:
        number, rate, round_trip, seed, payload, header, size, key, priority = _START.unpack_from(data, at)
        made, parameters = self._classes[number]
        draw = int.from_bytes(hashlib.sha256(f"{seed}/flow/{key}".encode()).digest()[:4], "big")
        flow = Flow(None if size == _MAX else size, draw, priority)
        # Each object has arguments of its own, which a method may change.
        return made(Line(rate, round_trip, payload, header), flow, **copy.deepcopy(dict(parameters)))


def _limits(found: Any) -> bytes:
    """Returns the reply with the attributes of an object. Raises `_AttributeError` for a wrong attribute."""
    rate = getattr(found, "rate", None)
    window = getattr(found, "window", None)
    timer = getattr(found, "timer_ps", None)
    try:
        if rate is None:
            rate = 0.0
        elif isinstance(rate, bool) or not _LEAST_RATE <= rate < math.inf:
            raise ValueError
        if window is None:
            window = _MAX
        elif isinstance(window, bool) or not 1 <= window < math.inf:
            raise ValueError
        if timer is None:
            timer = _MAX
        elif isinstance(timer, bool) or not 0 <= timer < 2**63:
            raise ValueError
        return _REPLY.pack(0, rate, min(int(window), _MAX), int(timer))
    except (TypeError, ValueError, ArithmeticError, struct.error):
        raise _AttributeError(_wrong(found)) from None


def _wrong(found: Any) -> str:
    """Returns the words for the first wrong attribute of an object."""
    needs = {
        "rate": (_LEAST_RATE, math.inf, f"a finite number of at least {_LEAST_RATE} bit/s, or None, is needed"),
        "window": (1, math.inf, "a finite number of at least 1 byte, or None, is needed"),
        "timer_ps": (0, 2**63, "a number of picoseconds, or None, is needed"),
    }
    for name, (least, end, needed) in needs.items():
        value = getattr(found, name, None)
        try:
            is_right = value is None or (not isinstance(value, bool) and least <= float(value) < end)
        except (TypeError, ValueError, ArithmeticError):
            is_right = False
        if not is_right:
            return f"leaves {name} = {_shown(value)}; {needed}"
    return "leaves a `rate`, `window` or `timer_ps` that is no number"


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except Exception:
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:60]}…"
